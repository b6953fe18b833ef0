"""Quantiles of new targets under a mixture over hyperparameters.

Given μ, ζ and the kernel a new target is Gaussian; with the hyperparameters integrated out it has the distribution

    P(y ≤ q | x, D) = Σ_k w_k Φ((q − m_k(x))/s_k(x)),

whose tails are heavier than those of the Gaussian of its mean and variance. A quantile is the root of this function,
which grows in q: bisection between the smallest and the largest quantile of the components, which hold it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from ..base.typing import Array
from .predictions import MEAN, MixturePredictor

_STEPS = 45  # halvings: to 3e-14 of the distance between the ends


def mixture_quantiles(means: Array, sds: Array, weights: Array, levels: Array) -> Array:
    """Quantiles of n mixtures of K Gaussians, of shape (n, Q).

    Parameters
    ----------
    means, sds : arrays of shape (n, K)
    weights : array of shape (K,)
        They sum to one.
    levels : array of shape (Q,)
        Between 0 and 1.
    """
    found = np.empty((len(means), len(levels)))
    for j, level in enumerate(levels):
        own = means + ndtri(level) * sds
        low, high = own.min(axis=1), own.max(axis=1)
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            below = ndtr((middle[:, None] - means) / sds) @ weights < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found[:, j] = 0.5 * (low + high)
    return found


def target_quantiles(predictor: MixturePredictor, X_new: Array, levels: Array) -> Array:
    """Quantiles of a new target at each row of X_new, noise included, of shape (n, Q)."""
    found: list[Array] = []
    pieces: list[tuple[Array, Array, Array]] = []
    at = slice(0, 0)
    for part, node, own, outputs in predictor(X_new, MEAN):
        if part != at and pieces:
            found.append(_quantiles(pieces, levels))
            pieces = []
        at = part
        fine = node.fine
        # σ_z² + 1/ζ: the variance about the mean of the features, that of the bias, and the noise
        variance = own[0][:, node.at] * fine.inverse_mu + fine.inverse_zeta * (1.0 + 1.0 / node.total)
        pieces.append(((outputs + node.intercept)[:, node.at], np.sqrt(variance), node.weight * fine.weight))
    return np.concatenate([*found, _quantiles(pieces, levels)])


def _quantiles(pieces: list[tuple[Array, Array, Array]], levels: Array) -> Array:
    means, sds, weights = (np.concatenate(each, axis=-1) for each in zip(*pieces, strict=True))
    kept = weights > 1e-12 * weights.max()
    return mixture_quantiles(means[:, kept], sds[:, kept], weights[kept] / weights[kept].sum(), levels)
