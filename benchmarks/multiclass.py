"""Many members with one kernel against a single one: what sharing the decomposition saves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.multiclass import MulticlassLSSVC
from benchmarks.timing import Measured, readable, side_by_side


def classes(n: int, n_classes: int, seed: int = 0) -> tuple[Array, AnyArray]:
    """Overlapping Gaussian classes in eight dimensions."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    return rng.normal(size=(n_classes, 8))[labels] + rng.normal(size=(n, 8)), labels


def shared_design(n: int, n_classes: int, repeats: int) -> Measured:
    """Error-correcting code, σ shared: kernel, μ and ζ of all bits against the design of the first bit alone."""
    X, labels = classes(n, n_classes)
    several = MulticlassLSSVC(coding="ecoc", shared_kernel=True)
    one = BayesianLSSVC()
    bit = several.fit(X, labels).code_book_[labels, 0]
    ours, single = side_by_side(lambda: several.fit(X, labels), lambda: one.fit(X, bit), repeats)
    name = f"ECOC, {several.code_book_.shape[1]} bits, σ shared, N={n}"
    return Measured(name, readable(ours), f"one bit {readable(single)}", ours / single, 1.5, True)


def rows(*, quick: bool) -> Iterator[Measured]:
    """Every multiclass benchmark; the quick ones are small, to see that they run."""
    if quick:
        yield shared_design(60, 4, 1)
        return
    yield shared_design(1000, 4, 3)
    yield shared_design(1000, 10, 3)
