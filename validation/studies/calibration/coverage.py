"""How often central intervals cover the truth, with the binomial uncertainty of the count.

The central interval of probability q covers the truth if and only if |PIT − ½| ≤ q/2. The uncertainty of a share k/n
is Wilson's (1927) score interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from bayes_lssvm.base.typing import Array

LEVELS = (0.5, 0.8, 0.9, 0.95)


class Coverage(NamedTuple):
    """Share of sets whose central interval covers, and the interval in which the true share lies.

    `low` and `high` are Wilson's limits of 95 %.
    """

    level: float
    share: float
    low: float
    high: float

    @property
    def honest(self) -> bool:
        """Whether the nominal level is inside the uncertainty."""
        return self.low <= self.level <= self.high


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a binomial share."""
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"A share needs 0 ≤ successes ≤ n and n ≥ 1, got {successes} of {n}.")
    z = float(norm.ppf(0.5 + 0.5 * confidence))
    p = successes / n
    centre = (p + z**2 / (2 * n)) / (1.0 + z**2 / n)
    half = z / (1.0 + z**2 / n) * float(np.sqrt(p * (1.0 - p) / n + z**2 / (4.0 * n**2)))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def coverage(pit: Array, levels: tuple[float, ...] = LEVELS) -> tuple[Coverage, ...]:
    """Coverage of central intervals of each level, from the truth's probability integral transforms."""
    distance = 2.0 * np.abs(np.asarray(pit, dtype=float) - 0.5)
    found = []
    for level in levels:
        # an interval of a point mass, with PIT 0 or 1, never covers
        inside = int(np.sum(distance <= level))
        found.append(Coverage(level, inside / len(distance), *wilson(inside, len(distance))))
    return tuple(found)
