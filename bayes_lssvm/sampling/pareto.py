"""Pareto-smoothed importance weights and the shape k̂ of their tail.

The largest weights are replaced by quantiles of a generalised Pareto distribution that is fitted to them (Vehtari,
Simpson, Gelman, Yao and Gabry 2024, Pareto smoothed importance sampling). The fit is that of Zhang and Stephens (2009,
A new and efficient estimation method for the generalized Pareto distribution): with b = −k/σ the profile likelihood of
n excesses x,

    k(b) = mean log(1 − b x),    ℓ(b) = n [log(−b/k(b)) − k(b) − 1],

is averaged over a grid of b. A weak prior draws k̂ towards ½ as ten excesses would.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from ..base.typing import Array

_EQUAL = 1e-9  # log weights of a tail that differ by rounding only: no distribution can be fitted to them
_NOTHING = 1000.0  # nats below the largest log weight at which a weight is zero
_FEWEST_WEIGHTS = 25  # a fifth of fewer would leave the generalised Pareto fit fewer than five points
_MANY_WEIGHTS = 225  # up to which the tail is a fifth of them, and 3√n beyond
_GRID = 30  # values of b, and √n more
_SPREAD = 3.0  # of the grid, in inverse first quartiles
_NEGLIGIBLE = 10.0 * np.finfo(float).eps  # a weight of b
_PRIOR_SHAPE, _PRIOR_EXCESSES = 0.5, 10


def pareto_smooth(log_weights: Array) -> tuple[Array, float]:
    """Pareto-smoothed importance weights and the shape k̂ of their tail.

    The largest weights are replaced by quantiles of a generalised Pareto distribution fitted to them; the others keep
    their values, so the mean of the weights is still an estimate of the evidence. Zero weights (−inf) stay zero.

    Parameters
    ----------
    log_weights : array of shape (n,)
        Not normalised; at least 25 of them finite.

    Returns
    -------
    smoothed : array of shape (n,)
        On the scale of `log_weights`.
    k_hat : float
        Above 0.7 the weights cannot be trusted. −inf where the tail's weights are all equal, inf where the fit fails.
    """
    given = np.asarray(log_weights, dtype=float)
    finite = np.isfinite(given)
    if given.ndim != 1 or finite.sum() < _FEWEST_WEIGHTS or np.any(np.isnan(given) | (given == np.inf)):
        raise ValueError(
            f"Pareto smoothing needs a vector of at least {_FEWEST_WEIGHTS} finite log weights (−inf for a weight of "
            f"zero), got {int(finite.sum())} finite ones in an array of shape {given.shape}. Draw more."
        )
    kept, top = given[finite], float(given[finite].max())
    n_tail = len(kept) // 5 if len(kept) <= _MANY_WEIGHTS else int(3.0 * np.sqrt(len(kept)))
    order = np.argsort(kept, kind="stable")
    below, tail = order[-n_tail - 1], order[-n_tail:]
    if np.ptp(kept[tail]) < _EQUAL:
        return given.copy(), -np.inf
    cutoff = np.exp(max(kept[below] - top, -_NOTHING))
    shape, scale = _generalised_pareto(np.exp(np.maximum(kept[tail] - top, -_NOTHING)) - cutoff)
    if not (np.isfinite(shape) and scale > 0.0):
        return given.copy(), np.inf
    # no weight above the largest that was drawn
    kept[tail] = top + np.log(np.minimum(cutoff + scale * _quantiles(n_tail, shape), 1.0))
    smoothed = given.copy()
    smoothed[finite] = kept
    return smoothed, shape


def _generalised_pareto(excesses: Array) -> tuple[float, float]:
    """Shape and scale of the distribution of sorted excesses of shape (n,); not finite where there is no fit."""
    n = len(excesses)
    m = _GRID + int(np.sqrt(n))
    with np.errstate(all="ignore"):
        quartile = excesses[int(n / 4 + 0.5) - 1]
        b = 1.0 / excesses[-1] + (1.0 - np.sqrt(m / (np.arange(m) + 0.5))) / (_SPREAD * quartile)
        k = np.log1p(-b[:, None] * excesses).mean(axis=1)
        weights = softmax(n * (np.log(-b / k) - k - 1.0))
        weights = np.where(weights < _NEGLIGIBLE, 0.0, weights)
        best = float(b @ weights / weights.sum())
        shape = float(np.log1p(-best * excesses).mean())
        return (n * shape + _PRIOR_EXCESSES * _PRIOR_SHAPE) / (n + _PRIOR_EXCESSES), -shape / best


def _quantiles(n: int, shape: float) -> Array:
    """Quantiles at (i − ½)/n of the distribution with scale 1."""
    exponential = -np.log1p(-(np.arange(n) + 0.5) / n)
    return exponential if shape == 0.0 else np.expm1(shape * exponential) / shape
