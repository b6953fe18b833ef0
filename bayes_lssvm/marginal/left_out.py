"""Leave-one-out outputs of a mixture over hyperparameters: what every point looks like to the others.

At one kernel and γ they are y_i − α_i/(C⁻¹)_ii (paper 1, eq 12), with (C⁻¹)_ii = Σ_k V_ik²/(λ_k + 1/γ) from the
spectrum of the centred kernel matrix. The mixture has the weights of the posterior of all points.

Its density of a left-out target has to be that of the posterior without the point. Bayes' rule for that one point,
p(θ | D) ∝ p(θ | D_−i) p(y_i | D_−i, θ), gives it from the posterior of all points,

    1 / p(y_i | D_−i) = E[1 / p(y_i | D_−i, θ) | D]

and the densities on the right are Gaussian. With nodes of a quadrature rule this is exact leave-one-out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..base.typing import Array
from ..base.weights import one_of_each
from ..kernels import Kernel
from ..levels.logistic_map import LogisticMap
from ..linalg.blas import product
from ..linalg.repeats import spectrum_of
from .predictions import PredictionNode


def left_out_map(nodes: Sequence[PredictionNode], X: Array, y: Array, weights: Array | None = None) -> LogisticMap:
    """The map to class probabilities from the mean and variance of new targets (`HyperPosterior.predict`)."""
    return LogisticMap.fit(*left_out_moments(nodes, X, y, weights), y, weights)


def left_out_moments(
    nodes: Sequence[PredictionNode], X: Array, y: Array, weights: Array | None = None
) -> tuple[Array, Array]:
    """Mean and variance of each left-out target, noise included as in `HyperPosterior.predict`; of shape (N,).

    With weights, the noise is that of weight one, and a row whose weight counts equal rows loses one of them.
    """
    error, square = np.zeros(len(y)), np.zeros(len(y))
    total = sum(node.weight for node in nodes)
    for node in nodes:
        spectrum = spectrum_of(node.kernel(X), X, y, weights)
        rows, _ = node.rows.by_gamma()
        inverse = 1.0 / (spectrum.eigenvalues[:, None] + rows.s)  # [N-1, G]
        diagonal = product(spectrum.vectors**2, inverse)  # (C⁻¹)_ii, [N, G]
        alpha = product(spectrum.vectors, spectrum.t[:, None] * inverse)  # [N, G]
        residuals, variances = alpha / diagonal, rows.inverse_mu / diagonal
        if weights is not None:
            own, noise = weights[:, None], rows.inverse_zeta
            residuals, latent = one_of_each(residuals, np.maximum(variances - noise / own, 0.0), own, 1.0 / noise)
            variances = latent + noise
        shares = rows.weight * (node.weight / (total * rows.weight.sum()))
        error += residuals @ shares  # about the target, so that squares keep their digits far from zero
        square += (residuals**2 + variances) @ shares
    return y - error, np.maximum(square - error**2, 0.0)


class LeftOut(NamedTuple):
    """Every target given all others and each of n sets of hyperparameters; both of shape (n, N).

    Attributes
    ----------
    log_density : array
        log p(y_i | D_−i, μ, ζ, θ).
    leverage : array
        h_ii, by how much the output at a point moves with its own target, between 1/N and 1.
    """

    log_density: Array
    leverage: Array


def left_out(points: Array, kernel: Kernel, X: Array, y: Array) -> LeftOut:
    """Leave-one-out at rows (log μ, log ζ, log θ…) of `points`; rows without θ take the kernel as it is."""
    density, leverage = np.empty((len(points), len(y))), np.empty((len(points), len(y)))
    distinct, group = np.unique(points[:, 2:], axis=0, return_inverse=True)
    for g, theta in enumerate(distinct):
        rows = np.flatnonzero(group.ravel() == g)
        own, factor = (kernel.with_log_params(theta) if theta.size else kernel).within_bounds(X)
        spectrum = spectrum_of(own(X), X, y)
        mu = np.exp(points[rows, :1]) / factor
        s = mu / np.exp(points[rows, 1:2])
        inverse = 1.0 / (spectrum.eigenvalues + s)  # [n, N-1]
        alpha, c = product(inverse * spectrum.t, spectrum.vectors.T), product(inverse, (spectrum.vectors**2).T)
        # y_i | D_−i ~ Normal(y_i − α_i/c_i, 1/(μc_i))
        density[rows] = 0.5 * np.log(mu * c / (2.0 * np.pi)) - 0.5 * mu * alpha**2 / c
        leverage[rows] = 1.0 - s * c
    return LeftOut(density, leverage)


def integrated(log_density: Array, weights: Array) -> Array:
    """Log p(y_i | D_−i) of shape (N,), from those given hyperparameters and the posterior's weights of these."""
    return np.asarray(-logsumexp(-log_density, axis=0, b=weights[:, None] / weights.sum()))
