"""How often intervals and label sets hold new targets: simulated sets, counted.

    python -m validation.coverage --sets 1000 --n 20 50 100
    python -m validation.coverage --what sets --sets 1000 --n 30 60 120

For each set N rows are drawn, a model is fitted, and 100 new rows are counted. Intervals are tried with noise of four
kinds: Gaussian, with heavy tails (Student, 3 degrees of freedom), skewed (exponential) and growing with x. `given` is
`LSSVR` with kernel and γ that no row has a say in, where the bound of jackknife+ holds as it is proved; `evidence` is
`BayesianLSSVR`, whose hyperparameters have seen all rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from bayes_lssvm import LSSVR, BayesianLSSVC, BayesianLSSVR
from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import RBF

NEW = 100
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
    n: int, noise: str, model: str, methods: tuple[str, ...], coverage: float, sets: int, seed: int = 0
) -> dict[str, Coverage]:
    """Coverage of intervals by each method over simulated sets of n rows."""
    found: dict[str, list[tuple[float, float]]] = {method: [] for method in methods}
    for k in tqdm(range(sets), desc=f"{model} {noise} {n}", disable=None, leave=False):
        X, y = regression_set(n + NEW, noise, np.random.default_rng([seed, n, k, NOISES.index(noise)]))
        estimator: Any = LSSVR(RBF(0.8), 10.0) if model == "given" else BayesianLSSVR()
        estimator.fit(X[:n], y[:n])
        for method in methods:
            lower, upper = estimator.predict_interval(X[n:], coverage, method)
            found[method].append((float(np.mean((lower <= y[n:]) & (y[n:] <= upper))), float(np.median(upper - lower))))
    return {method: _coverage(pairs) for method, pairs in found.items()}


def set_coverage(n: int, classes: int, coverage: float, sets: int, seed: int = 0) -> Coverage:
    """Coverage of label sets over simulated sets of n rows; their size is the mean number of labels."""
    pairs = []
    for k in tqdm(range(sets), desc=f"{classes} classes {n}", disable=None, leave=False):
        X, labels = class_set(n + NEW, classes, np.random.default_rng([seed, n, k, classes]))
        if len(np.unique(labels[:n])) < classes or np.bincount(labels[:n]).min() < 3:
            continue
        held = BayesianLSSVC("linear").fit(X[:n], labels[:n]).predict_set(X[n:], coverage)
        pairs.append((float(np.mean(held[np.arange(NEW), labels[n:]])), float(held.sum(axis=1).mean())))
    return _coverage(pairs)


def _coverage(pairs: list[tuple[float, float]]) -> Coverage:
    shares, sizes = np.array(pairs).T
    return Coverage(float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(len(shares))), float(np.median(sizes)))


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
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore", BayesLSSVMWarning)
    for n in options.n:
        if options.what == "sets":
            for classes in options.classes:
                found = set_coverage(n, classes, options.coverage, options.sets, options.seed)
                _say(n, f"{classes} classes", "predict_set", found)
            continue
        for model in options.model:
            for noise in options.noise:
                methods = tuple(options.methods)
                each = interval_coverage(n, noise, model, methods, options.coverage, options.sets, options.seed)
                for method, found in each.items():
                    _say(n, f"{model}, {noise}", method, found)
    return 0


def _say(n: int, what: str, method: str, found: Coverage) -> None:
    size = f"size {found.size:.3f}"
    print(
        f"N = {n:<5d} {what:22s} {method:12s} {100 * found.share:6.2f} ± {100 * found.error:.2f} %  {size}", flush=True
    )


if __name__ == "__main__":
    raise SystemExit(main())
