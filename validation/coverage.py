"""How often intervals and label sets hold new targets: simulated sets, counted.

    python -m validation.coverage --sets 1000 --n 20 50 100
    python -m validation.coverage --what sets --sets 1000 --n 30 60 120

For each set N rows are drawn, a model is fitted, and 100 new rows are counted. Intervals are tried with noise of four
kinds: Gaussian, with heavy tails (Student, 3 degrees of freedom), skewed (exponential) and growing with x. `given` is
`LSSVR` with kernel and γ that no row has a say in, where the bound of jackknife+ holds as it is proved; `evidence` is
`BayesianLSSVR`, whose hyperparameters have seen all rows. With `--refits M` they are also chosen anew without the rows
left out, on the first M sets.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm import LSSVR, BayesianLSSVC, BayesianLSSVR
from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.base.progress import tqdm
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import RBF

NEW = 100
Pair = tuple[float, float]
NOISES = ("gaussian", "heavy tails", "skewed", "growing")


class Coverage(NamedTuple):
    """Share of new targets that were held, its standard error over sets, and the median size of what holds them."""

    share: float
    error: float
    size: float


def regression_set(n: int, noise: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of a smooth function of one input, with noise of standard deviation 0.3 about it."""
    x = rng.uniform(-3.0, 3.0, size=n)
    draws: dict[str, Callable[[], Array]] = {
        "gaussian": lambda: rng.normal(size=n),
        "heavy tails": lambda: rng.standard_t(3, size=n) / np.sqrt(3.0),
        "skewed": lambda: rng.exponential(size=n) - 1.0,
        "growing": lambda: rng.normal(size=n) * (x + 3.0) / np.sqrt(12.0),
    }
    return x[:, None], np.sin(1.5 * x) + 0.3 * draws[noise]()


def class_set(n: int, classes: int, rng: np.random.Generator) -> tuple[Array, AnyArray]:
    """Rows of Gaussian classes that overlap."""
    labels = rng.integers(classes, size=n)
    while len(np.unique(labels)) < classes:
        labels = rng.integers(classes, size=n)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    return centres[labels] + rng.normal(size=(n, 2)), labels


def interval_coverage(
    n: int,
    noise: str,
    model: str,
    methods: tuple[str, ...],
    coverage: float,
    sets: int,
    seed: int = 0,
    refits: int = 0,
) -> dict[str, Coverage]:
    """Coverage of intervals by each method over simulated sets of n rows, hyperparameters held, or `refitted` too."""
    held: dict[str, list[Pair]] = {method: [] for method in methods}
    again: dict[str, list[Pair]] = {method: [] for method in methods}
    for k in tqdm(range(sets), desc=f"{model} {noise} {n}", disable=None, leave=False):
        X, y = regression_set(n + NEW, noise, np.random.default_rng([seed, n, k, NOISES.index(noise)]))
        estimator: Any = LSSVR(RBF(0.8), 10.0) if model == "given" else BayesianLSSVR()
        estimator.fit(X[:n], y[:n])
        for method in methods:
            for found, refit in ((held, False), (again, True))[: 1 + (model == "evidence" and k < refits)]:
                how = {} if model == "given" else {"refit": refit}
                lower, upper = estimator.predict_interval(X[n:], coverage, method, **how)
                inside = float(np.mean((lower <= y[n:]) & (y[n:] <= upper)))
                found[method].append((inside, float(np.median(upper - lower))))
    return coverages(held, again)


def set_coverage(
    n: int, classes: int, coverage: float, sets: int, seed: int = 0, refits: int = 0
) -> dict[str, Coverage]:
    """Coverage of label sets over simulated sets of n rows; their size is the mean number of labels."""
    held: list[Pair] = []
    again: list[Pair] = []
    for k in tqdm(range(sets), desc=f"{classes} classes {n}", disable=None, leave=False):
        X, labels = class_set(n + NEW, classes, np.random.default_rng([seed, n, k, classes]))
        if len(np.unique(labels[:n])) < classes or np.bincount(labels[:n]).min() < 3:
            continue
        model = BayesianLSSVC("linear").fit(X[:n], labels[:n])
        for found, refit in ((held, False), (again, True))[: 1 + (len(held) < refits)]:
            which = model.predict_set(X[n:], coverage, refit=refit)
            found.append((float(np.mean(which[np.arange(NEW), labels[n:]])), float(which.sum(axis=1).mean())))
    return coverages({"predict_set": held}, {"predict_set": again})


def coverages(held: dict[str, list[Pair]], again: dict[str, list[Pair]]) -> dict[str, Coverage]:
    """By each method, and by its refits where there are any.

    Refits are as many times the work. They are made for the first sets, where coverage by held hyperparameters is close
    to theirs: the mean difference there is added to the mean over all sets.
    """
    found = {}
    for method, pairs in held.items():
        shares, sizes = np.array(pairs).T
        found[method] = Coverage(float(shares.mean()), _error(shares), float(np.median(sizes)))
        if again[method]:
            others, sizes = np.array(again[method]).T
            change = others - shares[: len(others)]
            both = 2.0 * float(np.cov(change, shares[: len(others)])[0, 1]) / len(shares)
            error = float(np.sqrt(_error(shares) ** 2 + _error(change) ** 2 + both))
            share = found[method].share + float(change.mean())
            found[f"{method}, refitted"] = Coverage(share, error, float(np.median(sizes)))
    return found


def _error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def main(argv: list[str] | None = None) -> int:
    """Print a line for each N, kind of noise or number of classes, and method."""
    parser = argparse.ArgumentParser(prog="python -m validation.coverage", description="How often intervals cover.")
    parser.add_argument("--what", choices=("intervals", "sets"), default="intervals")
    parser.add_argument("--model", nargs="+", choices=("given", "evidence"), default=["given", "evidence"])
    parser.add_argument("--noise", nargs="+", choices=NOISES, default=list(NOISES))
    parser.add_argument("--methods", nargs="+", default=["jackknife+", "cv+"])
    parser.add_argument("--classes", nargs="+", type=int, default=[2, 3])
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--n", nargs="+", type=int, default=[20, 50, 100])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--refits", type=int, default=0, metavar="M")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore", BayesLSSVMWarning)
    for n in options.n:
        if options.what == "sets":
            for classes in options.classes:
                each = set_coverage(n, classes, options.coverage, options.sets, options.seed, options.refits)
                for method, found in each.items():
                    _say(n, f"{classes} classes", method, found)
            continue
        for model in options.model:
            for noise in options.noise:
                methods = tuple(options.methods)
                each = interval_coverage(
                    n, noise, model, methods, options.coverage, options.sets, options.seed, options.refits
                )
                for method, found in each.items():
                    _say(n, f"{model}, {noise}", method, found)
    return 0


def _say(n: int, what: str, method: str, found: Coverage) -> None:
    size = f"size {found.size:.3f}"
    print(
        f"N = {n:<5d} {what:22s} {method:21s} {100 * found.share:6.2f} ± {100 * found.error:.2f} %  {size}", flush=True
    )


if __name__ == "__main__":
    raise SystemExit(main())
