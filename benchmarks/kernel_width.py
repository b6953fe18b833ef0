"""Does the fast search of σ find what the exhaustive one finds?

`python -m benchmarks.kernel_width` draws data sets, takes those of the papers, searches σ by the default route
and by one that climbs every promising start on all rows with exact gradients, and prints how far apart they are: in
log σ, and in nats of the criterion. `--bimodal` draws sets with a coarse and a fine structure, whose evidence has two
modes as a rule, and counts how often the better one is found. `--ard` searches a scale for each of 3 to 10 inputs, of
which some do not matter; their scales have no optimum, so that the criterion counts. The sets are of N = 320 to 1500,
beyond the threshold below which both routes are the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.datasets import load, make_waveform
from bayes_lssvm.estimators.choice import with_prior
from bayes_lssvm.kernels import ARD, RBF, Kernel
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.search.refinement import refine_objective

MEASURED = ("pid", "gcr", "wbc", "bal", "cra", "veh", "led")
_SAME_WIDTH, _SAME_VALUE = 1e-3, 1e-6
_SAME_OF_SEVERAL = 1e-3  # nats, of a search of several scales


class Problem(NamedTuple):
    """A data set, standardised, with labels ±1 or real targets."""

    name: str
    X: Array
    y: Array
    ard: bool = False

    @property
    def objective(self) -> Objective:
        """The criterion that a default fit climbs."""
        classes = bool(np.all(np.abs(self.y) == 1.0))
        return with_prior(self.X, self.y, default_prior(self.kernel, self.X, self.y, classes=classes))

    @property
    def kernel(self) -> Kernel:
        """Where a default fit starts."""
        width, d = float(np.sqrt(self.X.shape[1])), self.X.shape[1]
        return ARD((width,) * d) if self.ard else RBF(width)


def _standardised(X: Array) -> Array:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))


def _labels(f: Array, noise: Array, share: float) -> Array:
    """Labels ±1 of which about that share is +1."""
    z = f + noise
    return np.where(z > np.quantile(z, 1.0 - share), 1.0, -1.0)


def various(count: int, seed: int) -> Iterator[Problem]:
    """Sets that differ in N, d, noise, smoothness and class balance."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        n, d = int(rng.integers(320, 1500)), int(rng.choice([1, 2, 3, 5, 8, 15, 30]))
        X = _standardised(rng.standard_normal((n, d)) if k % 3 else rng.uniform(-2.0, 2.0, (n, d)))
        direction = rng.standard_normal((d, 3)) / np.sqrt(d)
        u = X @ direction * float(rng.choice([0.7, 1.5, 3.0]))
        f = np.sin(u[:, 0]) + 0.5 * u[:, 1] ** 2 * (k % 2) + np.tanh(u[:, 2])
        noise = rng.standard_normal(n) * np.std(f) * float(rng.choice([0.05, 0.3, 1.0, 3.0]))
        if k % 2:
            yield Problem(f"regression {k}, N = {n}, d = {d}", X, f + noise)
        else:
            yield Problem(f"classes {k}, N = {n}, d = {d}", X, _labels(f, noise, float(rng.choice([0.5, 0.3, 0.1]))))
    for n in (400, 900, 1400):
        X, labels = make_waveform(n, seed=seed + n)
        yield Problem(f"waveform, N = {n}", _standardised(X), np.where(labels == labels.max(), 1.0, -1.0))


def measured() -> Iterator[Problem]:
    """Sets that were not drawn, of more than 300 rows: the first class against the rest."""
    for name in MEASURED:
        try:
            found = load(name)
        except FileNotFoundError:  # not shipped
            continue
        X = np.asarray(found.data, dtype=float)
        if len(X) > 300:
            target = np.asarray(found.target)
            labels = np.where(target == np.unique(target)[0], 1.0, -1.0)
            X = _standardised(X[:, np.ptp(X, axis=0) > 0.0])
            yield Problem(f"{name}, N = {len(X)}, d = {X.shape[1]}", X, labels)


def two_scales(count: int, seed: int) -> Iterator[Problem]:
    """A coarse wave and a fine one, of sizes that make either the better model."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        n = int(rng.integers(320, 520))
        x = np.sort(rng.uniform(-2.0, 2.0, n))
        coarse, fine = rng.uniform(0.3, 1.0), rng.uniform(0.1, 0.9)
        f = coarse * np.sin(rng.uniform(1.0, 3.0) * x) + fine * np.sin(rng.uniform(15.0, 40.0) * x)
        noise = rng.standard_normal(n) * rng.uniform(0.2, 0.8)
        X = _standardised(x[:, None])
        y = f + noise if k % 2 else _labels(f, noise, 0.5)
        yield Problem(f"two scales {k}, N = {n}", X, y)


def some_inputs(count: int, seed: int) -> Iterator[Problem]:
    """Functions of one to three of several inputs, some of them in two terms of different smoothness."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        n, d = int(rng.integers(320, 800)), int(rng.integers(3, 11))
        X = _standardised(rng.standard_normal((n, d)))
        f = np.sin(rng.uniform(0.5, 4.0) * X[:, 0]) + rng.uniform(0.0, 1.0) * X[:, 1] * X[:, 2]
        f = f + (k % 3 == 0) * np.cos(rng.uniform(2.0, 6.0) * X[:, 1])
        noise = rng.standard_normal(n) * np.std(f) * float(rng.choice([0.1, 0.3, 1.0]))
        y = (f + noise) / np.std(f + noise) if k % 2 else _labels(f, noise, float(rng.choice([0.5, 0.2])))
        yield Problem(f"some inputs {k}, N = {n}, d = {d}", X, y, ard=True)


class Outcome(NamedTuple):
    """What two searches found: Δ log σ, and how much lower the fast one ends, in nats."""

    name: str
    width: float
    behind: float
    fast: float
    slow: float
    several: bool = False

    @property
    def same(self) -> bool:
        """Whether the fast search is as near as is wanted, or better."""
        return abs(self.width) < _SAME_WIDTH or self.behind < (_SAME_OF_SEVERAL if self.several else _SAME_VALUE)

    @property
    def same_mode(self) -> bool:
        """Whether it found the mode, or a better one."""
        return self.behind < 0.05


def compared(problem: Problem) -> Outcome:
    """The default search of σ beside the exhaustive one."""
    objective, kernel = problem.objective, problem.kernel
    start = time.process_time()
    found = refine_objective(objective, kernel, solved=True).optima[0]
    middle = time.process_time()
    best = refine_objective(objective, kernel, exhaustive=True).optima[0]
    end = time.process_time()
    gaps = found.kernel.log_params - best.kernel.log_params
    gap = float(gaps[np.argmax(np.abs(gaps))])
    return Outcome(problem.name, gap, best.rank - found.rank, middle - start, end - middle, problem.ard)


def main() -> None:
    """Print a line a set and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bimodal", action="store_true", help="sets with two modes")
    parser.add_argument("--ard", action="store_true", help="a scale for each input")
    parser.add_argument("--sets", type=int, default=47, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--json", type=Path, help="a file for all outcomes")
    options = parser.parse_args()
    if options.bimodal:
        problems = two_scales(options.sets, options.seed)
    elif options.ard:
        problems = some_inputs(options.sets, options.seed)
    else:
        problems = (p for part in (various(options.sets, options.seed), measured()) for p in part)
    outcomes = []
    for problem in problems:
        outcomes.append(compared(problem))
        o = outcomes[-1]
        print(f"{o.name}: Δ log σ = {o.width:+.1e}, behind by {o.behind:+.1e} nats, {o.slow / o.fast:.1f} × faster")
        sys.stdout.flush()
    if options.json:
        options.json.write_text(json.dumps([o._asdict() for o in outcomes], indent=1), encoding="utf-8")
    within = [o for o in outcomes if o.same_mode]
    print(
        f"{len(outcomes)} sets: σ within {_SAME_WIDTH:g} in log or a criterion as good in "
        f"{sum(o.same for o in outcomes)}, the same or a better mode in {len(within)}, worst gap in the same mode "
        f"{max((abs(o.width) for o in within), default=np.nan):.1e}."
    )


if __name__ == "__main__":
    main()
