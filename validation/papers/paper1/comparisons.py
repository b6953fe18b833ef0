"""Columns of a table of error rates against each other: z-scores as paper 1 has them, paired ones, and Wilcoxon's test.

The paper's z of two columns is z = (ŷ − x̂)/√(e_x² + e_y²) with the standard errors e of the two means (section 3), as
if partitions were not shared, and 1.64 counts as significant. Partitions are shared, so that the mean difference over
its own standard error is a sharper figure (`Comparison.paired`). Both take partitions for independent, though their
rows overlap. Over sets the paper follows Demšar (2006): Wilcoxon's signed rank test of the mean errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from bayes_lssvm.base.typing import Array
from validation.harness.ranks import wilcoxon

from ..table import Published
from .published import SIGNIFICANCE

__all__ = ["Comparison", "compare", "published_comparison", "wilcoxon_p"]

FEWEST = 6  # sets that differ: the smallest two-sided p of five is 0.0625


class Comparison(NamedTuple):
    """One column against another on one set, over the partitions that both have; positive where the second is better.

    Attributes
    ----------
    difference : float
        Mean error of the first − mean error of the second, in %.
    z : float
        The paper's, from the two standard errors; nan for one partition.
    paired : float
        The mean difference over its own standard error; nan for one partition and for printed figures.
    error : float
        That standard error.
    partitions : int
        Number of partitions; 0 for printed figures.
    """

    difference: float
    z: float
    paired: float
    error: float
    partitions: int

    @property
    def significant(self) -> bool:
        """Whether the second is better at 95 % by the paper's z."""
        return self.z >= SIGNIFICANCE

    @property
    def significant_paired(self) -> bool:
        """Whether it is by a one-sided paired t-test."""
        return self.partitions > 1 and self.paired >= float(t.ppf(0.95, self.partitions - 1))


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> Comparison | None:
    """Two columns of a set, each as errors by partition; None where no partition is shared."""
    shared = sorted(first.keys() & second.keys())
    if not shared:
        return None
    x, y = (np.array([scores[number] for number in shared]) for scores in (first, second))
    error = _standard_error(x - y)
    difference = float(np.mean(x - y))
    return Comparison(
        difference,
        _ratio(difference, math.hypot(_standard_error(x), _standard_error(y))),
        _ratio(difference, error),
        error,
        len(shared),
    )


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def published_comparison(first: Published, second: Published) -> Comparison:
    """The same from printed figures."""
    assert first.spread is not None
    assert second.spread is not None
    difference = first.mean - second.mean
    return Comparison(difference, _ratio(difference, math.hypot(first.spread, second.spread)), math.nan, math.nan, 0)


def _ratio(difference: float, error: float) -> float:
    if error == 0.0:
        return 0.0 if difference == 0.0 else math.copysign(math.inf, difference)
    return difference / error


def wilcoxon_p(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided p of Wilcoxon's signed rank test on mean errors over sets; None where fewer than six differ."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return wilcoxon(a, b) if np.sum(np.abs(a - b) > 1e-10) >= FEWEST else None
