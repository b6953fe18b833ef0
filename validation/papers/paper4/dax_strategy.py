"""What forecasts are worth: hit rate, its test, and profit after costs.

A strategy holds s_t = +1 (long) or −1 (short) on day t, the sign of the forecast made the evening before; a forecast of
exactly zero keeps the position. The stake is the same every day, so that profits add up. With the simple return
R_t = P_t/P_{t−1} − 1 and the cost c of each unit of the stake that is bought or sold,

    profit_t = s_t R_t − c |s_t − s_{t−1}|,      s_0 = 0

A turn from long to short costs 2c. Paper 4 states no costs; c = 0.1 % is what its field used for an index.

The test of Pesaran and Timmermann (1992) asks whether the signs of forecasts and outcomes are independent. With P the
hit rate, P_y and P_x the shares of positive outcomes and forecasts and P* = P_yP_x + (1 − P_y)(1 − P_x), the statistic
(P − P*)/√(var P − var P*) is standard normal if they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from bayes_lssvm.base.typing import Array

COST = 0.001
"""Share of the stake, for each purchase or sale."""
DAYS_A_YEAR = 250


class SignTest(NamedTuple):
    """Pesaran and Timmermann's statistic and its one-sided probability; nan where all signs are equal."""

    statistic: float
    p_value: float


def positions(forecasts: Array) -> Array:
    """s_t = ±1 for each day, of shape (n,); 0 until the first forecast that is not zero."""
    signs = np.sign(forecasts)
    last = np.maximum.accumulate(np.where(signs != 0.0, np.arange(len(signs)), -1))
    return np.where(last >= 0, signs[np.maximum(last, 0)], 0.0)


def profits(held: Array, simple_returns: Array, cost: float = COST) -> Array:
    """Profit of each day, as a share of the stake, of shape (n,)."""
    return np.asarray(held * simple_returns - cost * np.abs(np.diff(held, prepend=0.0)))


def turnover(held: Array) -> float:
    """Units of the stake that were bought or sold in all."""
    return float(np.abs(np.diff(held, prepend=0.0)).sum())


def hit_rate(forecasts: Array, outcomes: Array) -> float:
    """Share of the days with the right sign, in %; days without a change are left out."""
    moved = outcomes != 0.0
    return 100.0 * float(np.mean(np.sign(forecasts[moved]) == np.sign(outcomes[moved]))) if moved.any() else math.nan


def sign_test(forecasts: Array, outcomes: Array) -> SignTest:
    """Whether forecasts say something about the sign of the outcomes (Pesaran and Timmermann, 1992)."""
    moved = outcomes != 0.0
    x, y = forecasts[moved] > 0.0, outcomes[moved] > 0.0
    n = len(x)
    if n < 2 or x.all() or y.all() or not (x.any() and y.any()):
        return SignTest(math.nan, math.nan)
    px, py = float(x.mean()), float(y.mean())
    expected = py * px + (1.0 - py) * (1.0 - px)
    of_hits = expected * (1.0 - expected) / n
    of_expected = (
        (2.0 * py - 1.0) ** 2 * px * (1.0 - px) / n
        + (2.0 * px - 1.0) ** 2 * py * (1.0 - py) / n
        + 4.0 * py * px * (1.0 - py) * (1.0 - px) / n**2
    )
    statistic = (float(np.mean(x == y)) - expected) / math.sqrt(of_hits - of_expected)
    return SignTest(statistic, float(norm.sf(statistic)))


def log_scores(mean: Array, sd: Array, outcomes: Array) -> Array:
    """Log density of each outcome under its Gaussian forecast, in nats."""
    return np.asarray(norm.logpdf(outcomes, mean, sd))
