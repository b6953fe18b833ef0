"""Predictions at every γ of one kernel's quadrature at once, from one eigendecomposition.

With the spectrum λ, V of the centred kernel matrix and p(x) = Vᵀθ(x), every γ costs two products with a vector of
length N − 1: Σ_i p_i t_i/(λ_i + s) for the mean and Σ_i (p_i − c_i)²/(λ_i + s) for the variance. At given γ the
variances are proportional to 1/μ, so that μ enters through the posterior mean of 1/μ: exactly for the mixture's mean
and variance, and to second order in the narrow width of log μ given γ, √(2/N), for class probabilities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._blas import product
from .._typing import Array
from ..level1 import ClassMoments
from ..moderation import class_log_odds, softmax_log_odds, target_log_odds
from ..spectrum import CentredSpectrum
from ._kernel_quadrature import KernelNode

_LIGHTEST = 1e-7  # share of a kernel's weight below which a γ does not matter to predictions


class Rows(NamedTuple):
    """The values of γ of one kernel with their weights and the means of 1/μ and 1/ζ at each, all of shape (G,)."""

    s: Array
    weight: Array
    inverse_mu: Array
    inverse_zeta: Array


def rows_of(node: KernelNode) -> Rows:
    """Collect the nodes of equal γ."""
    integral = node.integral
    weights = np.exp(integral.log_weights - integral.log_weights.max())
    u, group = np.unique(np.round(integral.log_zeta - integral.log_mu, 8), return_inverse=True)
    total = np.bincount(group, weights)
    keep = total > _LIGHTEST * total.sum()
    inverse_mu = np.bincount(group, weights * np.exp(-integral.log_mu)) / total
    inverse_zeta = np.bincount(group, weights * np.exp(-integral.log_zeta)) / total
    return Rows(np.exp(-u[keep]), total[keep] / total[keep].sum(), inverse_mu[keep], inverse_zeta[keep])


class NodePredictor:
    """Moments of new points for each γ of one kernel."""

    def __init__(self, node: KernelNode, X: Array, y: Array) -> None:
        self.kernel, self.X, self.y, self.rows = node.kernel, X, y, rows_of(node)
        self.K = self.kernel(X)
        self.spectrum = CentredSpectrum.from_kernel_matrix(self.K, y)
        self.inverse = 1.0 / (self.spectrum.eigenvalues[:, None] + self.rows.s)  # [r, G]
        self.coefficients = self.spectrum.t[:, None] * self.inverse  # [r, G]

    def _project(self, X_new: Array) -> tuple[Array, Array, Array]:
        theta = self.kernel(X_new, self.X)
        projected = product(theta, self.spectrum.vectors)
        return theta, projected, product(projected, self.coefficients)

    def _explained(self, projected: Array, row: Array) -> Array:
        """Σ_i (p_i − c_i)²/(λ_i + s) for each point and γ, about the centre whose kernel row is given."""
        deviation = projected - product(self.spectrum.vectors.T, row)
        return product(deviation**2, self.inverse)

    def latent(self, X_new: Array) -> tuple[Array, Array]:
        """Mean and variance of z, each of shape (n, G)."""
        theta, projected, outputs = self._project(X_new)
        means = self.spectrum.kernel_means
        alpha_means = product(product(self.spectrum.vectors.T, means)[None, :], self.coefficients)[0]
        intercept = self.spectrum.y_mean - alpha_means
        squared = self.kernel.diag(X_new) - 2.0 * theta.mean(axis=1) + means.mean()
        own = np.maximum(squared[:, None] - self._explained(projected, means), 0.0)
        return outputs + intercept, own * self.rows.inverse_mu + self.rows.inverse_zeta / len(self.y)

    def log_odds(self, X_new: Array, moderation: str, prior: float, training: float) -> Array:
        """Log odds of class +1 for each point and γ, of shape (n, G)."""
        if moderation == "class":
            return self._class_log_odds(X_new) + prior
        z, variance = self.latent(X_new)
        if moderation == "target":
            return target_log_odds(z, variance + self.rows.inverse_zeta, np.inf) + prior
        return softmax_log_odds(z, variance) + prior - training

    def _class_log_odds(self, X_new: Array) -> Array:
        members = np.stack([self.y > 0, self.y <= 0], axis=1)
        weights = members / members.sum(axis=0)
        class_rows = product(self.K, weights)  # [N, 2]
        theta, projected, outputs = self._project(X_new)
        centres = product(product(class_rows.T.copy(), self.spectrum.vectors), self.coefficients)  # m̂_d•, [2, G]
        fitted = product(self.spectrum.vectors, self.spectrum.eigenvalues[:, None] * self.coefficients)  # MΩα, [N, G]
        deviations = fitted - members @ (weights.T @ fitted)
        remaining = len(self.y) - 1.0 - (self.spectrum.eigenvalues[:, None] * self.inverse).sum(axis=0)  # N − γ_eff
        noise = np.einsum("ig,ig->g", deviations, deviations) / np.maximum(remaining, 1e-100)  # 1/ζ_*
        diagonal, to_class = self.kernel.diag(X_new), product(theta, weights)
        moments = []
        for c in (0, 1):
            squared = diagonal - 2.0 * to_class[:, c] + float(weights[:, c] @ class_rows[:, c])
            own = np.maximum(squared[:, None] - self._explained(projected, class_rows[:, c].copy()), 0.0)
            moments.append(ClassMoments(outputs - centres[c], own * self.rows.inverse_mu + noise))
        return class_log_odds(moments[0], moments[1], np.inf)
