"""What a scale for each input does to the log loss where the rule takes scales, and where it does not.

`python -m benchmarks.input_scales [--names TEXT ...]`: half of the rows of each set to train on, more than 1000, with
200 landmarks. The rule is switched off for a second fit, so that scales are seen where it keeps one width, too. The
sets are those of `benchmarks.class_probabilities` and problems that were made to be with the rule or against it;
letter, magic, penbased and USPS are left out, since the study of many rows reports them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_gaussian_quantiles
from sklearn.model_selection import train_test_split

from bayes_lssvm import FixedSizeLSSVC
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.fixed_size import scales
from benchmarks.class_probabilities import LANDMARKS, losses, sets

ROWS = 8000


def made() -> Iterator[tuple[str, Array, AnyArray]]:
    """Functions along the inputs and rotated, of few inputs or with many more; distances; whole numbers."""
    rng = np.random.default_rng(11)
    for d in (5, 20, 60):
        X = rng.normal(size=(ROWS, d))
        Q, _ = np.linalg.qr(rng.normal(size=(d, d)))
        yield f"rotated {d}", X, _labels(X @ Q, rng)
        yield f"axes {d}", X, _labels(X, rng)
    for d in (10, 40):
        X, y = make_gaussian_quantiles(n_samples=ROWS, n_features=d, n_classes=3, random_state=5)
        yield f"quantiles {d}", X, _flipped(y, 3, 0.1, rng)
    X = rng.integers(0, 12, size=(ROWS, 10)).astype(float)
    y = np.tanh((X - 5.5) / 3 @ rng.normal(size=(10, 4))).argmax(axis=1)
    yield "whole numbers", X, _flipped(y, 4, 0.05, rng)


def _labels(Z: Array, rng: np.random.Generator) -> AnyArray:
    f = np.sin(1.5 * Z[:, 0]) + Z[:, 1] * Z[:, 2] / 1.5 + 0.4 * rng.logistic(size=len(Z))
    return np.asarray(f > 0.0).astype(int)


def _flipped(y: AnyArray, classes: int, share: float, rng: np.random.Generator) -> AnyArray:
    flip = rng.random(len(y)) < share
    return np.where(flip, rng.integers(classes, size=len(y)), y)


def compared(X: Array, y: AnyArray, seed: int) -> tuple[bool, Array, Array]:
    """Whether the rule takes scales, and losses on the other half with one width and with scales."""
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    rule = scales.least_gain
    models = [FixedSizeLSSVC(kernel, n_landmarks=LANDMARKS).fit(X, y) for kernel in ("rbf", "auto")]
    taken = models[1].kernel_ != models[0].kernel_
    if not taken:
        scales.least_gain = lambda n, d: -np.inf
        try:
            models[1] = FixedSizeLSSVC(n_landmarks=LANDMARKS).fit(X, y)
        finally:
            scales.least_gain = rule
    found = [losses(model.predict_proba(X_new), y_new) for model in models]
    return taken, found[0], found[1]


def main(argv: list[str] | None = None) -> int:
    """A line for each set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.input_scales", description=__doc__)
    parser.add_argument("--names", nargs="+", default=[""], metavar="TEXT", help="sets with one of these in their name")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    print(f"{'set':32} {'rows':>6} {'inputs':>6} {'classes':>7} {'rule':>6}  {'one width':>9} {'scales':>8}")
    for name, X, y in (*sets(), *made()):
        if len(y) // 2 <= scales.FEWEST_ROWS or not any(part in name for part in options.names):
            continue
        taken, one, each = compared(X, y, 0)
        change = each - one
        print(
            f"{name:32} {len(y) // 2:6} {X.shape[1]:6} {y.max() + 1:7} {'scales' if taken else 'width':>6}  "
            f"{one.mean():9.4f} {each.mean():8.4f} {change.mean():+9.4f} ± {change.std() / np.sqrt(len(change)):.4f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
