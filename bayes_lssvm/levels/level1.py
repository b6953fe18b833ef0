"""Level 1: the posterior of the weights w and the bias b given μ and ζ (paper 0, section 3 and appendix A).

The posterior is Gaussian and exact. In the primal, for an explicit feature map,

    Q = H⁻¹,   H = [[μI + ζΥΥᵀ, ζΥ1], [ζ1ᵀΥᵀ, ζN]]                                         (3.7, A.1 with H12 = ζΥ1)

In the dual only kernel evaluations appear. With Q₁₁ = (μI + ζG)⁻¹, s = 1/γ and M the centring matrix,

    uᵀQ₁₁u' = (1/μ) [ uᵀu' − (Υᵀu)ᵀ R (Υᵀu') ],     R = M(MΩM + sI)⁻¹M = Σ_i v_iv_iᵀ γ/(1 + γλ_i)     (3.11)

for u = φ(x) − m̂_• (paper 0's class-centred form) and for u = φ(x) − m̂_Υ, where z = wᵀφ(x) + b has the variance

    σ_z² = (φ(x) − m̂_Υ)ᵀ Q₁₁ (φ(x) − m̂_Υ) + 1/(Nζ)                                       (paper 2, eq 12, sign mended)

The sum over eigenvectors and the Cholesky factor of MΩM + sI give the same R; the factor is the cheaper one to apply,
and unlike the printed form it divides by no eigenvalue.

Where point i has the noise precision ζw_i, means are weighted, M = I − 1wᵀ/Σw, and R = Mᵀ(MΩMᵀ + sW⁻¹)⁻¹M; N becomes
Σw in 1/(Nζ) and ζN, and ζΥWΥᵀ, ζΥW1 stand in H.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from ..base.errors import require_positive
from ..base.typing import AnyArray, Array
from ..base.weights import one_of_each, row_count, weighted_mean
from ..kernels import Kernel
from ..linalg.blas import fortran_copy, product
from ..linalg.factor import Factor
from ..linalg.spectrum import CentredSpectrum

BLOCK_DOUBLES = 8_000_000
_ROWS = 128  # at a time


@dataclass(frozen=True)
class PrimalPosterior:
    """Gaussian posterior of (w, b) in an explicit feature space.

    Attributes
    ----------
    w : array of shape (n_f,)
    b : float
    covariance : array of shape (n_f + 1, n_f + 1)
        Q, the bias last.
    log_det_hessian : float
        log det H.
    """

    w: Array
    b: float
    covariance: Array
    log_det_hessian: float
    mu: float
    zeta: float

    @classmethod
    def fit(cls, features: Array, y: Array, *, mu: float, zeta: float, weights: Array | None = None) -> PrimalPosterior:
        """Posterior for the features φ(X) of shape (N, n_f) and targets y of shape (N,), with weights or without."""
        require_positive("mu", mu)
        require_positive("zeta", zeta)
        n, n_f = features.shape
        w = np.ones(n) if weights is None else weights
        weighted = features * w[:, None]
        H = np.empty((n_f + 1, n_f + 1))
        H[:n_f, :n_f] = zeta * weighted.T @ features
        H[np.arange(n_f), np.arange(n_f)] += mu
        H[:n_f, n_f] = H[n_f, :n_f] = zeta * weighted.sum(axis=0)
        H[n_f, n_f] = w.sum() * zeta
        factor = Factor.of(H, 0.0)
        mean = factor.solve(zeta * np.append(weighted.T @ y, w @ y))  # 2.30 with the right side 1ᵀY
        return cls(mean[:-1], float(mean[-1]), factor.solve(np.eye(n_f + 1)), factor.log_det, mu, zeta)

    def latent_mean(self, features: Array) -> Array:
        """z_MP = wᵀφ(x) + b."""
        return np.asarray(features @ self.w + self.b)

    def latent_variance(self, features: Array) -> Array:
        """σ_z² = gᵀH⁻¹g with g = [φ(x); 1]."""
        g = np.hstack([features, np.ones((len(features), 1))])
        return np.asarray(np.einsum("ij,jk,ik->i", g, self.covariance, g))

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Draws of [w; b], of shape (n_samples, n_f + 1)."""
        mean = np.append(self.w, self.b)
        return rng.multivariate_normal(mean, self.covariance, size=n_samples, method="cholesky")


class ClassMoments(NamedTuple):
    """Mean and variance of e_• = wᵀ(φ(x) − m̂_•) for one class, each of shape (n,) (3.9, 3.10)."""

    mean: Array
    variance: Array


class Projection(NamedTuple):
    """What a block of new points needs of its kernel rows."""

    output: Array  # [n]  Σ α_i K(x, x_i)
    whitened: Array  # [n, N]  p with pᵀp = θ(x)ᵀ R θ(x)
    cross_mean: Array  # [n]  mean_i K(x, x_i)
    class_means: Array  # [n, C]  mean over each given group of points
    diagonal: Array  # [n]  K(x, x)


@dataclass(frozen=True)
class DualPosterior:
    """Gaussian posterior of the latent function z(x) = wᵀφ(x) + b for any kernel.

    Attributes
    ----------
    kernel, X : the kernel and the (standardised) training inputs of shape (N, d)
    alpha : array of shape (N,)
        Support values.
    intercept : float
        b_MP.
    inverse_factor : array of shape (N, N)
        L⁻¹, lower triangular, with LLᵀ = MΩM + I/γ, or MΩMᵀ + W⁻¹/γ.
    kernel_means : array of shape (N,)
        Ω1/N, or Ωw/Σw.
    weights : array of shape (N,) or None
        w: the noise precision of point i is ζw_i.
    """

    kernel: Kernel
    X: Array
    alpha: Array
    intercept: float
    mu: float
    zeta: float
    inverse_factor: Array
    kernel_means: Array
    weights: Array | None = None

    @classmethod
    def from_kernel_matrix(
        cls,
        kernel: Kernel,
        X: Array,
        K: Array,
        y: Array,
        *,
        mu: float,
        zeta: float,
        weights: Array | None = None,
    ) -> DualPosterior:
        """The posterior at (μ, ζ) from the kernel matrix: one Cholesky factor and its inverse."""
        C, level = fortran_copy(K), float(K.mean())
        C -= level  # without rounding where K is nearly constant, as it is for wide kernels
        means = C.mean(axis=1) if weights is None else product(C, weights / weights.sum())
        # less m_i + m_j − m̄, in the lower triangle, which is what a factor looks at
        own = means - 0.5 * weighted_mean(means, weights)
        C = blas.dsyr2(-1.0, own, np.ones(len(own)), lower=1, a=C, overwrite_a=1)
        return cls._from_centred(kernel, X, C, y, level + means, mu, zeta, weights)

    @classmethod
    def from_spectrum(
        cls, kernel: Kernel, X: Array, spectrum: CentredSpectrum, *, mu: float, zeta: float
    ) -> DualPosterior:
        """The posterior at (μ, ζ) from the decomposition of the kernel matrix."""
        V = spectrum.at_points(np.eye(len(spectrum.eigenvalues))).T
        C = np.asfortranarray((V * spectrum.eigenvalues) @ V.T)
        y = V @ spectrum.t + spectrum.y_mean
        return cls._from_centred(kernel, X, C, y, spectrum.kernel_means, mu, zeta, spectrum.weights)

    @classmethod
    def _from_centred(
        cls,
        kernel: Kernel,
        X: Array,
        C: Array,
        y: Array,
        means: Array,
        mu: float,
        zeta: float,
        weights: Array | None = None,
    ) -> DualPosterior:
        require_positive("mu", mu)
        require_positive("zeta", zeta)
        S = Factor.in_place(C, mu / zeta if weights is None else mu / (zeta * weights)).inverse_factor()
        level = float(weighted_mean(y, weights))
        alpha = product(S.T, product(S, y - level))
        alpha -= alpha.mean() if weights is None else weights * (alpha.sum() / weights.sum())  # Mᵀ on the left of R
        return cls(kernel, X, alpha, float(level - (means - means.mean()) @ alpha), mu, zeta, S, means, weights)

    @property
    def n(self) -> int:
        """Number of training points."""
        return len(self.alpha)

    @property
    def total(self) -> float:
        """Σw, or N."""
        return float(self.n) if self.weights is None else float(self.weights.sum())

    @property
    def shares(self) -> Array:
        """The share of each point in means, of shape (N,)."""
        return np.full(self.n, 1.0 / self.n) if self.weights is None else self.weights / self.weights.sum()

    def _row_means(self, rows: Array) -> Array:
        """Means along the last axis over the training points."""
        return np.asarray(rows.mean(axis=-1) if self.weights is None else rows @ self.shares)

    def whiten(self, rows: Array) -> Array:
        """Rows p of shape (n, N) with pp'ᵀ = θ R θ'ᵀ for rows θ of shape (n, N), which are overwritten."""
        rows -= self._row_means(rows)[:, None]
        return np.asarray(blas.dtrmm(1.0, self.inverse_factor, rows.T, side=0, lower=1, overwrite_b=1)).T

    def left_out_moments(self, y: Array) -> tuple[Array, Array]:
        """Outputs of the training points, each by the model of the others (paper 1, eq 12), and their variances.

        A row whose weight counts equal rows loses one of them (`one_of_each`).
        The diagonal of R is free: R = SᵀS − (γ/Σw)wwᵀ with S = L⁻¹, as w has the eigenvalue zero in MΩMᵀ. Digits are
        lost as the square of γ times the eigenvalues of MΩM: for a kernel of values up to one eight are left at
        γ = 1e5. `press.leave_one_out` has them all.
        """
        gamma, w = self.zeta / self.mu, np.ones(self.n) if self.weights is None else self.weights
        diagonal = np.einsum("ji,ji->i", self.inverse_factor, self.inverse_factor) - gamma * w**2 / self.total
        diagonal = np.maximum(diagonal, np.finfo(float).tiny)
        variances = np.maximum(1.0 / diagonal - 1.0 / (gamma * w), 0.0) / self.mu
        residuals, variances = one_of_each(self.alpha / diagonal, variances, self.weights, self.zeta)
        return y - residuals, variances

    def latent_mean(self, X: Array) -> Array:
        """z_MP(x) = Σ α_i K(x, x_i) + b for each row of X."""
        return np.concatenate([p.output for p in self.project(X, variance=False)]) + self.intercept

    def latent_variance(self, X: Array) -> Array:
        """σ_z²(x) for each row of X."""
        return self.latent_moments(X)[1]

    def latent_moments(self, X: Array) -> tuple[Array, Array]:
        """z_MP and σ_z² for each row of X, from one pass over the kernel rows."""
        centre = self.whiten(self.kernel_means[None, :].copy())  # [1, N]
        grand_mean = float(self._row_means(self.kernel_means))
        means, variances = [], []
        for p in self.project(X):
            means.append(p.output + self.intercept)
            squared = p.diagonal - 2.0 * p.cross_mean + grand_mean  # ‖φ(x) − m̂_Υ‖²
            about = self.variance_about(squared[:, None], p.whitened, centre)[:, 0]
            variances.append(about + 1.0 / (self.total * self.zeta))
        return np.concatenate(means), np.concatenate(variances)

    def latent_covariance(self, X: Array) -> Array:
        """Covariance of z at the rows of X, of shape (n, n)."""
        K = self.kernel(X, self.X)
        row = self._row_means(K)
        centred = self.whiten(K - self.kernel_means)
        inner = self.kernel(X) - row[:, None] - row[None, :] + self._row_means(self.kernel_means)
        return np.asarray((inner - centred @ centred.T) / self.mu + 1.0 / (self.total * self.zeta))

    def variance_about(self, squared: Array, whitened: Array, centres: Array) -> Array:
        """(φ(x) − m)ᵀQ₁₁(φ(x) − m), of shape (n, C), for C centres m whose whitened kernel rows are given.

        `squared` of shape (n, C) holds ‖φ(x) − m‖². The sum over directions is expanded, ‖p − c‖² = ‖p‖² − 2pᵀc + ‖c‖²,
        so that several centres cost one pass over the rows.
        """
        own = np.einsum("ij,ij->i", whitened, whitened)[:, None]
        explained = own - 2.0 * product(whitened, centres.T) + np.einsum("ij,ij->i", centres, centres)
        return np.asarray(np.maximum(squared - explained, 0.0) / self.mu)

    def project(self, X: Array, *, groups: tuple[AnyArray, ...] = (), variance: bool = True) -> Iterator[Projection]:
        """Kernel rows of X in blocks, reduced to what moments need.

        Parameters
        ----------
        X : array of shape (n, d)
        groups : tuple of boolean arrays of shape (N,)
            Groups of training points whose (weighted) mean kernel value is wanted.
        variance : bool
            Whether the whitened rows are needed.
        """
        rows = max(1, BLOCK_DOUBLES // max(self.n, 1))
        own = self.shares
        averages = np.stack([g * own / (g @ own) for g in groups], axis=1) if groups else np.empty((self.n, 0))
        columns = np.column_stack([self.alpha, own, averages])
        level = float(self.kernel_means.mean())  # Σα = 0: outputs do not know it, and large α would round with it
        for start in range(0, len(X), rows):
            block = X[start : start + rows]
            K = self.kernel(block, self.X)
            K -= level
            linear = product(K, columns)
            linear[:, 1:] += level
            whitened = self.whiten(K) if variance else np.empty((len(block), 0))
            yield Projection(linear[:, 0], whitened, linear[:, 1], linear[:, 2:], self.kernel.diag(block))


@dataclass(frozen=True)
class ClassCentres:
    """The two class centres m̂_± in feature space, as the posterior sees them (3.9–3.11).

    Attributes
    ----------
    members : array of bool of shape (N, 2)
        Points of class +1 and of class −1.
    projected_mean : array of shape (2,)
        m̂_d•: the mean of Σ_i α_i K(x_i, x_j) over the class.
    inner : array of shape (2,)
        ‖m̂_•‖².
    centre : array of shape (2, N)
        The centres' kernel rows, whitened.
    zeta_star : float
        ζ_*, the precision of the errors around the projected class centres.
    """

    members: AnyArray
    projected_mean: Array
    inner: Array
    centre: Array
    zeta_star: float

    @classmethod
    def from_posterior(
        cls, posterior: DualPosterior, y: Array, gamma_eff: float, K: Array | None = None
    ) -> ClassCentres:
        """Class centres for labels y = ±1; K is the kernel matrix where the caller has it."""
        members = np.stack([y > 0, y <= 0], axis=1)
        own = members * posterior.shares[:, None]
        weights = own / own.sum(axis=0)  # [N, 2]
        K = posterior.kernel(posterior.X) if K is None else K
        level = float(posterior.kernel_means.mean())  # as `project` has them
        outputs = np.concatenate([product(K[i : i + _ROWS] - level, posterior.alpha) for i in range(0, len(K), _ROWS)])
        class_rows = product(K, weights)
        projected_mean = weights.T @ outputs
        deviations = outputs - members @ projected_mean  # e_{i,•}
        n = row_count(posterior.weights, posterior.n)
        scatter = n * float(posterior.shares @ deviations**2)
        # all points of a class on one spot: a precision beyond any use, but finite
        zeta_star = max(n - gamma_eff, 1e-100) / max(scatter, 1e-200)
        return cls(
            members,
            projected_mean,
            np.einsum("ij,ij->j", weights, class_rows),
            posterior.whiten(np.ascontiguousarray(class_rows.T)),
            zeta_star,
        )

    def moments(self, posterior: DualPosterior, X: Array) -> tuple[ClassMoments, ClassMoments]:
        """Mean and variance of e₊ and e₋ for each row of X."""
        groups = (self.members[:, 0], self.members[:, 1])
        means: list[Array] = []
        variances: list[Array] = []
        for p in posterior.project(X, groups=groups):
            means.append(p.output[:, None] - self.projected_mean)
            squared = p.diagonal[:, None] - 2.0 * p.class_means + self.inner  # ‖φ(x) − m̂_•‖²
            variances.append(posterior.variance_about(squared, p.whitened, self.centre))
        mean, variance = np.concatenate(means), np.concatenate(variances)
        return ClassMoments(mean[:, 0], variance[:, 0]), ClassMoments(mean[:, 1], variance[:, 1])
