"""Gaussian process regression: the LS-SVM without a bias term, and with the bias in the kernel (paper 0, section 2.3).

    (Ω + (μ/ζ) I) α* = y                                 (2.23)        ŷ(x) = θ(x)ᵀα*                      (2.24)
    C(x, z) = K(x, z)/μ + σ_b² + δ/ζ                     (2.25)        ŷ(x) = θ(x)ᵀ(Ω/μ + I/ζ)⁻¹y/μ        (2.26)

With σ_b² = 0 this is the GP without bias; with σ_b² > 0 the bias has the prior Normal(0, σ_b²). As σ_b² → ∞ the
prediction tends to the LS-SVM's, and log p(D) + ½ log(2πσ_b²) to the LS-SVM's evidence with p(b) = 1. Everything is
computed from a Cholesky factor of the covariance matrix, by a route of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from ..base.errors import require_positive
from ..base.typing import Array
from ..kernels import Kernel
from ..linalg.factor import Factor


@dataclass(frozen=True)
class GaussianProcess:
    """A fitted Gaussian process with noise precision ζ, weight precision μ and bias variance σ_b².

    Attributes
    ----------
    dual : array of shape (N,)
        C⁻¹y; the support values of 2.23 are α* = dual/μ.
    cholesky : array of shape (N, N)
        Lower factor of the covariance matrix of the targets.
    log_marginal_likelihood : float
        log p(D | μ, ζ, σ_b²), all constants kept.
    """

    kernel: Kernel
    X: Array
    mu: float
    zeta: float
    bias_variance: float
    dual: Array
    cholesky: Array
    log_marginal_likelihood: float

    @classmethod
    def fit(
        cls, kernel: Kernel, X: Array, y: Array, *, mu: float, zeta: float, bias_variance: float = 0.0
    ) -> GaussianProcess:
        """Condition the process on the data (X, y)."""
        require_positive("mu", mu)
        require_positive("zeta", zeta)
        if not (np.isfinite(bias_variance) and bias_variance >= 0):
            raise ValueError(f"bias_variance must be finite and not negative, got {bias_variance!r}.")
        factor = Factor.of(kernel(X) / mu + bias_variance, 1.0 / zeta)
        dual = factor.solve(y)
        log_ml = -0.5 * (float(y @ dual) + factor.log_det + len(y) * float(np.log(2 * np.pi)))
        return cls(kernel, X, mu, zeta, bias_variance, dual, factor.L, log_ml)

    @property
    def alpha(self) -> Array:
        """α* of 2.23."""
        return self.dual / self.mu

    def mean(self, X: Array) -> Array:
        """Predictive mean ŷ(x) (2.26), the bias included."""
        return np.asarray((self.kernel(X, self.X) / self.mu + self.bias_variance) @ self.dual)

    def variance(self, X: Array) -> Array:
        """Variance of the latent function; the error bar of a new target has 1/ζ more."""
        cross = self.kernel(self.X, X) / self.mu + self.bias_variance  # [N, n]
        reduced = solve_triangular(self.cholesky, cross, lower=True, check_finite=False)
        prior = self.kernel.diag(X) / self.mu + self.bias_variance
        return np.maximum(prior - np.einsum("ij,ij->j", reduced, reduced), 0.0)
