"""Predictions of a mixture over hyperparameters: a few kernels, and for each of them a few values of γ.

What is predicted is a smooth function of the hyperparameters, so few nodes are enough if they are well placed: the
nodes of the Gauss rule that belongs to the posterior of the kernel's parameter, and for each kernel the Gauss rule of
log γ given the kernel. m nodes integrate polynomials of degree 2m − 1 exactly against the posterior.

With the spectrum λ, V of the centred kernel matrix and p(x) = Vᵀθ(x), every γ costs two products with a vector of
length r: Σ_i p_i t_i/(λ_i + s) for the mean and Σ_i (p_i − c_i)²/(λ_i + s) for the variance. Directions whose λ_i are
negligible against s are left out: they explain at most k(x, x) Σ λ_i/s of the variance. At given γ the variances are
proportional to 1/μ, so that μ enters through the posterior mean of 1/μ: exactly for the mixture's mean and variance,
and to second order in the narrow width of log μ given γ, √(2/N), for class probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal

from .._blas import product
from .._typing import AnyArray, Array
from ..kernels import Kernel
from ..level1 import ClassMoments
from ..moderation import class_log_odds, softmax_log_odds, target_log_odds
from ..spectrum import CentredSpectrum
from ._level2_quadrature import Level2Integral

_GAMMA_NODES = 14
_NEGLIGIBLE_VARIANCE = 1e-14  # of k(x, x), left unexplained by the directions that are dropped; means err by its root


class Rows(NamedTuple):
    """Values of s = 1/γ of one kernel with their weights and the mean of 1/μ at each, all of shape (G,)."""

    s: Array
    weight: Array
    inverse_mu: Array

    @property
    def inverse_zeta(self) -> Array:
        """The mean of 1/ζ at each γ."""
        return self.s * self.inverse_mu


@dataclass(frozen=True)
class PredictionNode:
    """One kernel of the mixture: its share, and γ given it."""

    kernel: Kernel
    weight: float
    rows: Rows


def gauss_rule(x: Array, weights: Array, m: int) -> tuple[Array, Array]:
    """Nodes and weights of the m-point Gauss rule of a discrete distribution (Lanczos with reorthogonalisation)."""
    order = np.argsort(x)
    x, weights = x[order], weights[order] / weights.sum()
    centre, scale = float(weights @ x), max(float(np.ptp(x)), 1e-300)
    z = (x - centre) / scale
    basis = [np.sqrt(weights)]
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(m):
        r = z * basis[-1]
        diagonal.append(float(basis[-1] @ r))
        for vector in basis + basis:  # twice is enough
            r = r - (vector @ r) * vector
        norm = float(np.linalg.norm(r))
        if norm < 1e-10:
            break
        beside.append(norm)
        basis.append(r / norm)
    values, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    return centre + scale * values, vectors[0] ** 2


def rows_of(integral: Level2Integral) -> Rows:
    """The Gauss rule of log γ for one kernel's quadrature."""
    weights = np.exp(integral.log_weights - integral.log_weights.max())
    u, group = np.unique(np.round(integral.log_zeta - integral.log_mu, 8), return_inverse=True)
    total = np.bincount(group, weights).astype(float)
    log_inverse_mu = np.log(np.bincount(group, weights * np.exp(-integral.log_mu)) / total)
    nodes, shares = gauss_rule(u, total, _GAMMA_NODES)
    return Rows(np.exp(-nodes), shares, np.exp(np.interp(nodes, u, log_inverse_mu)))


def rows_of_gaussian(mean: Array, covariance: Array) -> Rows:
    """The Gauss rule of log γ for a Gaussian of (log μ, log ζ), with the mean of 1/μ given γ."""
    z, weight = np.polynomial.hermite_e.hermegauss(_GAMMA_NODES)
    to_gamma = np.array([-1.0, 1.0])
    variance = float(to_gamma @ covariance @ to_gamma)
    with_gamma = float(covariance[0] @ to_gamma)
    sd = np.sqrt(max(variance, 1e-300))
    u = float(to_gamma @ mean) + sd * z
    rest = max(float(covariance[0, 0]) - with_gamma**2 / max(variance, 1e-300), 0.0)
    log_mu = float(mean[0]) + with_gamma / sd * z
    return Rows(np.exp(-u), weight / weight.sum(), np.exp(-log_mu + 0.5 * rest))


def rows_of_draws(log_mu: Array, log_zeta: Array, weights: Array) -> Rows:
    """Each draw is a row of its own."""
    return Rows(np.exp(log_mu - log_zeta), weights / weights.sum(), np.exp(-log_mu))


class NodePredictor:
    """Moments of new points for each γ of one kernel."""

    def __init__(self, node: PredictionNode, X: Array, y: Array) -> None:
        self.kernel, self.X, self.y, self.rows, self.weight = node.kernel, X, y, node.rows, node.weight
        K = self.kernel(X)
        spectrum = CentredSpectrum.from_kernel_matrix(K, y)
        # Σ of the eigenvalues that are dropped, the smallest, over s bounds what they would explain
        limit = _NEGLIGIBLE_VARIANCE * self.rows.s.min()
        kept = slice(int(np.searchsorted(np.cumsum(spectrum.eigenvalues), limit)), None)
        self.eigenvalues = spectrum.eigenvalues[kept]
        self.vectors = np.asfortranarray(spectrum.vectors[:, kept])  # [N, r]
        self.inverse = 1.0 / (self.eigenvalues[:, None] + self.rows.s)  # [r, G]
        self.coefficients = spectrum.t[kept, None] * self.inverse  # [r, G]
        self.kernel_means, self.y_mean = spectrum.kernel_means, spectrum.y_mean
        members = np.stack([y > 0, y <= 0], axis=1)
        if members.any(axis=0).all():
            self.class_weights = members / members.sum(axis=0)
            self.class_rows = product(K, self.class_weights)  # [N, 2]
            self.noise = self._class_noise(members)

    def _class_noise(self, members: AnyArray) -> Array:
        """1/ζ_* at each γ."""
        fitted = product(self.vectors, self.eigenvalues[:, None] * self.coefficients)  # MΩα, [N, G]
        deviations = fitted - members @ (self.class_weights.T @ fitted)
        remaining = len(self.y) - 1.0 - (self.eigenvalues[:, None] * self.inverse).sum(axis=0)  # N − γ_eff
        return np.asarray(np.einsum("ig,ig->g", deviations, deviations) / np.maximum(remaining, 1e-100))

    @property
    def bytes(self) -> int:
        """Memory that keeping this predictor takes."""
        return self.vectors.nbytes

    def _project(self, X_new: Array) -> tuple[Array, Array, Array]:
        theta = self.kernel(X_new, self.X)
        projected = product(theta, self.vectors)
        return theta, projected, product(projected, self.coefficients)

    def _explained(self, projected: Array, row: Array) -> Array:
        """Σ_i (p_i − c_i)²/(λ_i + s) for each point and γ, about the centre whose kernel row is given."""
        deviation = projected - product(self.vectors.T, row)
        deviation *= deviation
        return product(deviation, self.inverse)

    def latent(self, X_new: Array) -> tuple[Array, Array]:
        """Mean and variance of z, each of shape (n, G)."""
        theta, projected, outputs = self._project(X_new)
        means = self.kernel_means
        alpha_means = product(product(self.vectors.T, means)[None, :], self.coefficients)[0]
        intercept = self.y_mean - alpha_means
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
        theta, projected, outputs = self._project(X_new)
        centres = product(product(self.class_rows.T.copy(), self.vectors), self.coefficients)  # m̂_d•, [2, G]
        diagonal, to_class = self.kernel.diag(X_new), product(theta, self.class_weights)
        moments = []
        for c in (0, 1):
            squared = diagonal - 2.0 * to_class[:, c] + float(self.class_weights[:, c] @ self.class_rows[:, c])
            own = np.maximum(squared[:, None] - self._explained(projected, self.class_rows[:, c].copy()), 0.0)
            moments.append(ClassMoments(outputs - centres[c], own * self.rows.inverse_mu + self.noise))
        return class_log_odds(moments[0], moments[1], np.inf)
