"""What the probabilities of one method say next to another's, and next to what happened."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from bayes_lssvm.base.typing import AnyArray, Array

BINS = 10
COVERAGE = 0.95


class Gain(NamedTuple):
    """Mean difference of the log score (nats a point) and its standard error, over the same test points."""

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether it is more than two standard errors from nothing."""
        return abs(self.mean) > 2.0 * self.error


class Bin(NamedTuple):
    """Test points of about the same probability.

    Attributes
    ----------
    probability, frequency : float
        Mean probability, and share that is of the second class.
    n : int
    low, high : float
        Where 95 % of the frequencies of n points lie if their probabilities are right.
    """

    probability: float
    frequency: float
    n: int
    low: float
    high: float

    @property
    def outside(self) -> bool:
        """Whether the frequency is not what chance explains."""
        return not self.low <= self.frequency <= self.high


def gain(probability: Array, reference: Array, truth: AnyArray) -> Gain:
    """Log score of P(second class) minus the reference's, for truths of −1 and +1."""

    def log_probability(p: Array) -> Array:
        p = np.clip(p, 1e-12, 1.0 - 1e-12)
        return np.log(np.where(np.asarray(truth) > 0, p, 1.0 - p))

    difference = log_probability(probability) - log_probability(reference)
    return Gain(float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference))))


def reliability(probability: Array, truth: AnyArray, bins: int = BINS) -> tuple[Bin, ...]:
    """Bins of equal count in the order of the probability; fewer where a bin would hold less than five points."""
    p, right = np.asarray(probability, dtype=float), np.asarray(truth) > 0
    found = []
    for rows in np.array_split(np.argsort(p, kind="stable"), max(1, min(bins, len(p) // 5))):
        mean, n = float(p[rows].mean()), len(rows)
        low, high = binom.interval(COVERAGE, n, mean)
        found.append(Bin(mean, float(right[rows].mean()), n, float(low) / n, float(high) / n))
    return tuple(found)
