"""The variance from the leading eigenvalues alone (paper 0, appendix A).

With the eigenvalues λ_1 ≥ λ_2 ≥ … of the centred kernel matrix and P_r the first r of its eigenvectors in feature
space,

    (μI + ζG)⁻¹ ≈ μ⁻¹I − P_r diag(ζλ_i / (μ(μ + ζλ_i))) P_rᵀ .

Each eigenvalue takes something off μ⁻¹I, so that leaving some out can only make a variance larger: a truncation never
adds certainty. What is left out is known, and with it the rank that is worth its work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from ..base.errors import require_positive
from ..base.rounding import negative_rounding
from ..base.typing import Array
from ..kernels import Kernel


def certainty(eigenvalues: Array, mu: float, zeta: float) -> Array:
    """ζλ_i / (μ(μ + ζλ_i)): what each direction takes off the prior's variance 1/μ."""
    gain = zeta * np.asarray(eigenvalues, dtype=float)
    return np.asarray(gain / (mu * (mu + gain)))


def truncation_errors(eigenvalues: Array, mu: float, zeta: float) -> Array:
    """‖(μI + ζG)⁻¹ − (μI + ζG_r)⁻¹‖ in the Frobenius norm for r = 0, 1, …, the largest eigenvalues kept first.

    No other matrix of rank r comes closer (appendix A). Of shape (n + 1,) for n eigenvalues in any order; the last is
    zero.
    """
    left_out = np.sort(certainty(eigenvalues, mu, zeta))  # ascending: sums of the smallest lose no digits
    return np.append(np.sqrt(np.cumsum(left_out**2)[::-1]), 0.0)


def optimal_rank(eigenvalues: Array, mu: float, zeta: float, *, tolerance: float = 1e-3) -> int:
    """r_G: the smallest rank whose truncation is within `tolerance` of 1/μ, the prior's variance in any direction."""
    require_positive("tolerance", tolerance)
    return int(np.argmax(truncation_errors(eigenvalues, mu, zeta) <= tolerance / mu))


@dataclass(frozen=True)
class LeadingSpectrum:
    """The r largest eigenvalues of MΩM, with their eigenvectors.

    Attributes
    ----------
    kernel, X : the kernel and the training inputs of shape (N, d)
    eigenvalues : array of shape (r,), descending
    vectors : array of shape (N, r)
        Orthonormal, each orthogonal to the constant vector.
    kernel_means : array of shape (N,)
        Ω1/N.
    """

    kernel: Kernel
    X: Array
    eigenvalues: Array
    vectors: Array
    kernel_means: Array

    @classmethod
    def of(cls, kernel: Kernel, X: Array, rank: int, *, seed: int = 0) -> LeadingSpectrum:
        """By Lanczos iterations (ARPACK): products with the kernel matrix and no decomposition of it."""
        n = len(X)
        if not 1 <= rank <= n - 1:
            raise ValueError(f"rank must be from 1 to N − 1 = {n - 1}, got {rank}.")
        K = kernel(X)
        means = K.mean(axis=1)
        if rank > n // 3:  # ARPACK needs a basis of twice the rank
            centred = K - means - means[:, None] + means.mean()
            values, vectors = np.linalg.eigh(centred)
            return cls(kernel, X, *_descending(values[-rank:], vectors[:, -rank:]), means)

        def centred_product(v: Array) -> Array:
            v = v - v.mean()
            v = K @ v
            return np.asarray(v - v.mean())

        start = np.random.default_rng(seed).normal(size=n)
        operator = LinearOperator((n, n), matvec=centred_product, dtype=float)
        return cls(kernel, X, *_descending(*eigsh(operator, k=rank, which="LA", v0=start - start.mean())), means)

    def scores(self, X: Array) -> Array:
        """Kernel principal components of each row of X, of shape (n, r): (φ(x) − m̂_Υ)ᵀ(ΥMv_k)/√λ_k.

        They are the coordinates of φ(x) along the leading eigenvectors of the centred covariance G (A.3). A direction
        whose eigenvalue is zero, or no more than rounding, has none: its score is zero.
        """
        return self._inner(self.kernel(X, self.X))

    def _inner(self, rows: Array) -> Array:
        """The scores from the kernel's values with all training points, rows of shape (n, N)."""
        centred = rows - self.kernel_means
        inner = (centred - centred.mean(axis=1, keepdims=True)) @ self.vectors
        # divided by the root of an eigenvalue that is rounding alone, rounding would look like a coordinate
        real = self.eigenvalues > negative_rounding(len(self.X), float(self.eigenvalues[0]))
        return np.asarray(inner / np.sqrt(np.where(real, self.eigenvalues, np.inf)))

    def latent_variance(self, X: Array, mu: float, zeta: float) -> Array:
        """σ_z² of z(x) = wᵀφ(x) + b for each row of X; never below the variance by all eigenvalues."""
        require_positive("mu", mu)
        require_positive("zeta", zeta)
        rows = self.kernel(X, self.X)
        # φ(x) − m̂_Υ: its squared norm, and its inner products with the eigenvectors in feature space
        squared = self.kernel.diag(X) - 2.0 * rows.mean(axis=1) + self.kernel_means.mean()
        known = self._inner(rows) ** 2 @ certainty(self.eigenvalues, mu, zeta)
        return np.asarray(np.maximum(squared / mu - known, 0.0) + 1.0 / (len(self.X) * zeta))


def _descending(values: Array, vectors: Array) -> tuple[Array, Array]:
    order = np.argsort(-values)
    return np.maximum(values[order], 0.0), np.ascontiguousarray(vectors[:, order])
