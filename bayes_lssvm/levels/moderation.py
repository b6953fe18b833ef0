"""Moderated outputs: class probabilities with the weights integrated out, and the decisions they imply.

Four forms, each with class priors P(y) and misclassification costs:

"loo"      a logistic map of z fitted to exact leave-one-out outputs (`levels.logistic_map`), the default: it holds
           where the model interpolates, and where classes or rows are uneven.
"class"    paper 0 (3.8–3.17): Gaussian errors around the projected class centres m̂_d•,
               p(x | y = •1) = Normal(m_e•; 0, 1/ζ_* + σ_e•²),      P(y | x) ∝ P(y) p(x | y).
"target"   paper 2 (eqs 10, 11): Gaussian errors around the targets ±1,
               p(x | y) = Normal(1 − y z_MP; 0, 1/ζ + σ_z²).
"softmax"  logistic function of z with MacKay's marginalisation,
               P(y = +1 | x) = 1 / (1 + exp(−κ z_MP)),     κ = (1 + πσ_z²/8)^(−1/2),
           which has the training set's class frequencies in it; other priors move the log odds by the difference.

All is computed in log odds, so that probabilities stay in [0, 1] and sum to one for any finite input.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit

from ..base.typing import Array
from .level1 import ClassCentres, ClassMoments, DualPosterior
from .logistic_map import LogisticMap

Moderation = Literal["loo", "class", "target", "softmax"]
_LARGEST_DIAGONAL = 1e100
MODERATIONS: tuple[str, ...] = ("loo", "class", "target", "softmax")
PAPERS_MODERATIONS: tuple[str, ...] = MODERATIONS[1:]


class Discriminant(NamedTuple):
    """The linear discriminant 3.18: its value is Σα_iK(x, x_i) + Δb(x), each of shape (n,)."""

    value: Array
    bias_correction: Array


def _log_normal(deviation: Array, variance: Array) -> Array:
    """Up to a constant."""
    return np.asarray(-0.5 * (np.log(variance) + deviation**2 / variance))


def class_log_odds(plus: ClassMoments, minus: ClassMoments, zeta_star: float) -> Array:
    """Log p(x | y=+1) − log p(x | y=−1) of 3.16."""
    noise = 1.0 / zeta_star
    return _log_normal(plus.mean, noise + plus.variance) - _log_normal(minus.mean, noise + minus.variance)


def target_log_odds(z: Array, variance: Array, zeta: float) -> Array:
    """Log p(x | y=+1) − log p(x | y=−1) of paper 2's eq 11: −[(1 − z)² − (1 + z)²]/(2v) = 2z/v."""
    return np.asarray(2.0 * z / (1.0 / zeta + variance))


def softmax_log_odds(z: Array, variance: Array) -> Array:
    """Log P(y=+1 | x) − log P(y=−1 | x) of the logistic function with the weights integrated out."""
    return np.asarray(z / np.sqrt(1.0 + np.pi * variance / 8.0))


def log_odds(
    posterior: DualPosterior,
    centres: ClassCentres,
    X: Array,
    *,
    prior_plus: float,
    training_plus: float,
    moderation: Moderation = "class",
    loo: LogisticMap | None = None,
) -> Array:
    """Log P(y=+1 | x) − log P(y=−1 | x) for each row of X.

    Parameters
    ----------
    prior_plus : float
        P(y = +1).
    training_plus : float
        N₊/N, which the softmax form and the map have built in.
    loo : LogisticMap
        What moderation="loo" needs.
    """
    X = within_range(posterior, X)
    prior = float(np.log(prior_plus) - np.log1p(-prior_plus))
    if moderation == "class":
        return class_log_odds(*centres.moments(posterior, X), centres.zeta_star) + prior
    z, variance = posterior.latent_moments(X)
    if moderation == "target":
        return target_log_odds(z, variance, posterior.zeta) + prior
    training = float(np.log(training_plus) - np.log1p(-training_plus))
    if moderation == "softmax":
        return softmax_log_odds(z, variance) + prior - training
    if moderation == "loo" and loo is not None:
        return loo.log_odds(z, variance) + prior - training
    raise ValueError(f"moderation must be one of {', '.join(MODERATIONS)}, got {moderation!r}.")


def within_range(posterior: DualPosterior, X: Array) -> Array:
    """X with points so far out that K(x, x) overflows drawn in towards the origin.

    The log odds of a linear or polynomial kernel tend to a limit along each ray, so that at K(x, x) = 1e100 the point
    stands where it stood, to rounding.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        far = ~(posterior.kernel.diag(X) <= _LARGEST_DIAGONAL)
        if not far.any():
            return X
        X = X.copy()
        while far.any():
            X[far] *= 0.1
            far = ~(posterior.kernel.diag(X) <= _LARGEST_DIAGONAL)
    return X


def probabilities(odds: Array) -> Array:
    """[P(y=−1), P(y=+1)] of shape (n, 2) from log odds."""
    return np.stack([expit(-odds), expit(odds)], axis=1)


def cost_log_odds(costs: Array) -> float:
    """What to add to the log odds so that their sign is the decision of least expected cost.

    `costs[i, j]` is the cost of deciding for class j where i is true (0 is class −1, 1 is class +1). Deciding +1 costs
    less where P(+1)(c₁₀ − c₁₁) > P(−1)(c₀₁ − c₀₀).
    """
    return float(np.log(costs[1, 0] - costs[1, 1]) - np.log(costs[0, 1] - costs[0, 0]))


def discriminant(posterior: DualPosterior, centres: ClassCentres, X: Array, *, prior_plus: float) -> Discriminant:
    """The linear discriminant 3.18 with its bias correction Δb(x).

    σ_e² is the geometric mean of the two variances, and the noise is 1/ζ_* (3.16), not the 1/ζ of the print.
    """
    plus, minus = centres.moments(posterior, within_range(posterior, X))
    m_plus, m_minus = centres.projected_mean
    output = plus.mean + m_plus
    sigma_e2 = np.sqrt(plus.variance * minus.variance)
    prior = float(np.log(prior_plus) - np.log1p(-prior_plus))
    separation = max(float(m_plus - m_minus), float(np.finfo(float).tiny))
    correction = -0.5 * (m_plus + m_minus) + (1.0 / centres.zeta_star + sigma_e2) * (prior / separation)
    return Discriminant(output + correction, correction)
