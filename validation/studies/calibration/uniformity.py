"""Is a sample of probability integral transforms uniform? Three tests, and the band that a figure shows.

    chi-square     20 bins of equal width
    Kolmogorov     largest distance of the empirical distribution function from the diagonal
    ECDF band      counts R_k of values ≤ z_k = k/K, all K − 1 of them inside binomial limits at once

The band is that of Säilynoja, Bürkner and Vehtari (2022, Statistics and Computing 32:32). At each z the count is
Binomial(n, z), so that P_k = 2 min(P(R ≤ R_k), P(R ≥ R_k)) is a pointwise p value. Their minimum over k is small for
some k by chance alone; its distribution for uniform samples is simulated, and the α-quantile γ of it gives the limits
that hold for all k together with probability 1 − α. The share of simulated minima below the observed one is a p value.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, chisquare, kstest

from bayes_lssvm.base.typing import Array

BINS = 20
POINTS = 100
_SIMULATED = 20_000


class Band(NamedTuple):
    """Limits of the empirical distribution function of n uniform values at the points z, each of shape (K − 1,).

    Attributes
    ----------
    z, low, high : arrays
        low ≤ ECDF(z) ≤ high holds at all points together with probability `level`.
    pointwise : float
        γ: one minus the probability of the interval at each point alone.
    """

    z: Array
    low: Array
    high: Array
    level: float
    pointwise: float


class Uniformity(NamedTuple):
    """p values of the three tests."""

    n: int
    ks: float
    chi_square: float
    band: float


def _points(points: int) -> Array:
    return np.arange(1, points) / points


@lru_cache(maxsize=64)
def _tail_table(n: int, points: int) -> Array:
    """2 min(P(R ≤ r), P(R ≥ r)), at most 1, for each r in 0 … n and each point: shape (n + 1, K − 1)."""
    r, z = np.arange(n + 1)[:, None], _points(points)
    table = 2.0 * np.minimum(binom.cdf(r, n, z), binom.sf(r - 1, n, z))
    return np.asarray(np.minimum(table, 1.0))


@lru_cache(maxsize=64)
def _null_minima(n: int, points: int, seed: int, simulated: int) -> Array:
    """Sorted minima of the pointwise p values over uniform samples of size n."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, np.full(points, 1.0 / points), size=simulated)[:, :-1].cumsum(axis=1)
    return np.sort(_tail_table(n, points)[counts, np.arange(points - 1)].min(axis=1))


def ecdf(pit: Array, z: Array) -> Array:
    """Share of the values at or below each z."""
    return np.searchsorted(np.sort(pit), z, side="right") / len(pit)


def ecdf_band(n: int, *, level: float = 0.95, points: int = POINTS, seed: int = 0, simulated: int = _SIMULATED) -> Band:
    """Simultaneous limits for the empirical distribution function of n uniform values."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"The level of a band must be between 0 and 1, got {level!r}.")
    z = _points(points)
    pointwise = float(np.quantile(_null_minima(n, points, seed, simulated), 1.0 - level, method="lower"))
    inside = _tail_table(n, points) >= pointwise
    low = inside.argmax(axis=0) / n
    high = (n - inside[::-1].argmax(axis=0)) / n
    return Band(z, low, high, level, pointwise)


def band_p_value(pit: Array, *, points: int = POINTS, seed: int = 0, simulated: int = _SIMULATED) -> float:
    """Probability that a uniform sample strays from the diagonal at least as far, at its worst point, as this one."""
    n = len(pit)
    counts = np.round(ecdf(pit, _points(points)) * n).astype(int)
    worst = _tail_table(n, points)[counts, np.arange(points - 1)].min()
    minima = _null_minima(n, points, seed, simulated)
    # equal up to rounding counts as equal: the statistic is discrete
    below = int(np.searchsorted(minima, worst * (1.0 + 1e-9), side="right"))
    return (below + 1.0) / (simulated + 1.0)


def uniformity(pit: Array, *, bins: int = BINS) -> Uniformity:
    """All three tests of a sample with values in [0, 1]."""
    pit = np.asarray(pit, dtype=float)
    if pit.ndim != 1 or len(pit) < 5 * bins:
        raise ValueError(f"Tests with {bins} bins need {5 * bins} values or more, got an array of shape {pit.shape}.")
    if not np.all((pit >= 0.0) & (pit <= 1.0)):
        raise ValueError("Probability integral transforms lie between 0 and 1; some of these do not.")
    counts = np.histogram(pit, bins=bins, range=(0.0, 1.0))[0]
    return Uniformity(
        len(pit), float(kstest(pit, "uniform").pvalue), float(chisquare(counts).pvalue), band_p_value(pit)
    )
