"""Virtual leave-one-out: every point predicted by the model of all other points, no refit (paper 1, section 1.2).

Let Ω be the kernel matrix, w_i the weight of point i (its noise precision is ζw_i; all ones by default), γ = ζ/μ and
M = Ω + diag(1/(γw_i)). With the bias, C is the matrix of eqs 7 and 11; without it, C = M. Then

    y_i − ŷ_i^(−i) = α_i / (C⁻¹)_ii                                                                      (12)

One Cholesky factor M = LLᵀ and its inverse S = L⁻¹ give everything. As M⁻¹ = SᵀS, the diagonal is in the column sums,

    (M⁻¹)_ii = Σ_j S_ji²,     ρ = M⁻¹1,     (C⁻¹)_ii = (M⁻¹)_ii − ρ_i²/1ᵀρ,

where section 1.2.2 prints the row sums Σ_j S_ij². From the spectrum of W^½ΩW^½ on the complement of W^½1, all γ
follow:

    α = W^½ V (λ + 1/γ)⁻¹ Vᵀ W^½ y,     (C⁻¹)_ii = w_i Σ_k V_ik² / (λ_k + 1/γ).

The predictive distribution of the left-out target is Normal(ŷ_i^(−i), 1/(μ (C⁻¹)_ii)), its noise 1/(ζw_i) included.
A row of weight w_i that counts w_i equal ones loses one of them and keeps u = w_i − 1. With v = (1/(C⁻¹)_ii −
1/(γw_i))/μ, the variance of the function without the row, Bayes' rule for the rest gives

    y_i − ŷ_i = r_i/(1 + ζuv),     var = v/(1 + ζuv).
The Gaussian process with covariance K/μ and noise 1/ζ is the case without bias, ridge regression that of the linear
kernel with γ = 1/penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, svd
from scipy.special import expit

from ..base.errors import require_positive
from ..base.typing import Array
from ..base.weights import one_of_each
from ..linalg.blas import fortran_copy, product
from ..linalg.factor import Factor, not_positive_definite, require_total
from ..linalg.reduction import back_from_complement, on_complement, without_rounding
from ..linalg.spectrum import CentredSpectrum

__all__ = [
    "LeaveOneOut",
    "LeaveOneOutSpectrum",
    "gp_leave_one_out",
    "leave_one_out",
    "ridge_leave_one_out",
]


@dataclass(frozen=True)
class LeaveOneOut:
    """What every point looks like to the model of the others.

    The arrays have the shape (N,), or (G, N) for G values of γ at once; figures that are sums over the points then
    have the shape (G,).

    Attributes
    ----------
    targets : array of shape (N,)
    weights : array of shape (N,)
        w_i: the noise precision of point i is ζw_i.
    gamma : float or array of shape (G,)
    mu : float or array of shape (G,)
        The weight precision at which variances are given. Where none was asked for it is the one of the largest
        leave-one-out predictive density, N / Σ (C⁻¹)_ii (y_i − ŷ_i^(−i))².
    residuals : array of shape (..., N)
        y_i − ŷ_i^(−i) (eq 12).
    inverse_diagonal : array of shape (..., N)
        (C⁻¹)_ii.
    alpha : array of shape (..., N)
        Support values of the model of all points.
    intercept : float or array of shape (G,)
        Its bias b.
    """

    targets: Array
    weights: Array
    gamma: float | Array
    mu: float | Array
    residuals: Array
    inverse_diagonal: Array
    alpha: Array
    intercept: float | Array

    @property
    def predictions(self) -> Array:
        """ŷ_i^(−i)."""
        return self.targets - self.residuals

    @property
    def press(self) -> Array:
        """PRESS as paper 1 has it, with the points weighted: Q = ½ Σ w_i (y_i − ŷ_i^(−i))²."""
        return 0.5 * np.sum(self.weights * self.residuals**2, axis=-1)

    @property
    def mean_square(self) -> Array:
        """Σ (y_i − ŷ_i^(−i))² / N, every point counted once."""
        return np.mean(self.residuals**2, axis=-1)

    @property
    def variances(self) -> Array:
        """Variance 1/(μ (C⁻¹)_ii) of each left-out target, its noise included."""
        return 1.0 / (_column(self.mu) * self.inverse_diagonal)

    @property
    def latent_variances(self) -> Array:
        """Variance of the function at each left-out point: that of the target less the noise 1/(ζw_i)."""
        noise = 1.0 / (_column(self.mu) * _column(self.gamma) * self.weights)
        return np.maximum(self.variances - noise, 0.0)

    def one_of_each(self) -> tuple[Array, Array]:
        """Outputs and variances of the function where each row loses one of the rows that its weight counts.

        Rows of weights that are no whole numbers are left out as a whole.
        """
        zeta = _column(self.mu) * _column(self.gamma)
        residuals, variances = one_of_each(self.residuals, self.latent_variances, self.weights, zeta)
        return self.targets - residuals, variances

    @property
    def error_rate(self) -> Array:
        """Share of labels ±1 that the model of the other points gets wrong; an output of zero counts as wrong."""
        return np.mean(self._margins() <= 0.0, axis=-1)

    def smoothed_error(self, slope: float = 10.0) -> Array:
        """Mean of 1/(1 + exp(slope · y_i ŷ_i^(−i))) for labels ±1: a differentiable stand-in for the error rate.

        Parameters
        ----------
        slope : float
            The larger, the closer to the error rate.
        """
        return np.mean(expit(-require_positive("slope", slope) * self._margins()), axis=-1)

    @property
    def log_predictive(self) -> Array:
        """Log density of each target under its leave-one-out predictive distribution, of shape (..., N)."""
        v = self.variances
        return -0.5 * (np.log(2.0 * np.pi * v) + self.residuals**2 / v)

    @property
    def negative_log_predictive(self) -> Array:
        """−Σ_i log p(y_i | all other points, μ, ζ), in nats."""
        return -np.sum(self.log_predictive, axis=-1)

    def _margins(self) -> Array:
        if not np.all(np.abs(self.targets) == 1.0):
            raise ValueError(
                f"An error rate needs labels −1 and +1; the targets lie between {self.targets.min():.4g} and "
                f"{self.targets.max():.4g}. Use press or mean_square for real targets."
            )
        return self.targets * self.predictions


def _column(value: float | Array) -> Array:
    """A figure for each γ as a column, so that it goes with arrays of shape (G, N)."""
    return np.asarray(value, dtype=float)[..., None]


def _check_targets(y: Array, weights: Array | None, width: int) -> tuple[Array, Array]:
    """Targets and weights as float arrays of shape (N,), or a `ValueError` that says what is wrong with them."""
    y = np.asarray(y, dtype=float)
    if y.ndim != 1:
        raise ValueError(f"The targets must be one number per point; their array has the shape {y.shape}.")
    n = len(y)
    if n < 3:
        raise ValueError(f"Leave-one-out needs at least 3 data points, got {n}.")
    if width != n:
        raise ValueError(f"There are {n} targets, but inputs or a kernel matrix for {width} points.")
    if not np.isfinite(y).all():
        raise ValueError("The targets hold values that are not finite; remove those points first.")
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    if w.shape != (n,) or not (np.isfinite(w).all() and (w > 0).all()):
        raise ValueError(
            f"weights must be {n} positive finite numbers, one per point; a point of zero weight must be removed "
            "instead."
        )
    return y, w


def check_points(X: Array, y: Array, weights: Array | None) -> tuple[Array, Array, Array]:
    """Inputs of shape (N, d), targets and weights as float arrays, or a `ValueError`."""
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] == 0 or not np.isfinite(X).all():
        raise ValueError(
            f"X must hold finite numbers, one row per point and one column per input; its shape is {X.shape}."
        )
    return X, *_check_targets(y, weights, len(X))


def _check_matrix(K: Array, y: Array, weights: Array | None) -> tuple[Array, Array, Array]:
    K = np.asarray(K, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"The kernel matrix must be square; its shape is {K.shape}.")
    y, w = _check_targets(y, weights, len(K))
    if not np.isfinite(K.sum()):
        raise ValueError("The kernel matrix has entries that are not finite.")
    return K, y, w


def _finish(
    y: Array, w: Array, gamma: float | Array, mu: float | None, alpha: Array, c: Array, b: float | Array
) -> LeaveOneOut:
    """Eq 12, and μ where it was not given."""
    if not np.all(c > 0.0):
        raise not_positive_definite(1.0 / (np.max(gamma) * w))
    residuals = alpha / c
    if mu is not None:
        given: float | Array = require_positive("mu", mu)
        return LeaveOneOut(
            y, w, gamma, given * np.ones_like(gamma) if np.ndim(gamma) else given, residuals, c, alpha, b
        )
    # residuals of zero leave the precision without a bound: the largest number stands for it
    power = np.maximum(np.sum(c * residuals**2, axis=-1), np.finfo(float).tiny)
    best = len(y) / power
    return LeaveOneOut(y, w, gamma, best if np.ndim(gamma) else float(best), residuals, c, alpha, b)


def leave_one_out(
    K: Array, y: Array, gamma: float, *, mu: float | None = None, weights: Array | None = None, bias: bool = True
) -> LeaveOneOut:
    """Leave-one-out of the LS-SVM at one γ: a Cholesky factor and a triangular inversion.

    Parameters
    ----------
    K : array of shape (N, N)
        Kernel matrix Ω.
    y : array of shape (N,)
        Targets or labels ±1.
    gamma : float
    mu : float, optional
        Weight precision for the variances. By default the one of the largest leave-one-out predictive density.
    weights : array of shape (N,), optional
        Noise precisions of the points in units of ζ.
    bias : bool
        Whether the model has the bias b (LS-SVM) or not (Gaussian process).
    """
    require_positive("gamma", gamma)
    K, y, w = _check_matrix(K, y, weights)
    offset = float(w @ y / w.sum()) if bias else 0.0  # taken out first, so that it costs no digits
    noise = 1.0 / (gamma * w)
    S = Factor.of(K, noise).inverse_factor()
    rho, nu = product(S.T, product(S, np.stack([np.ones_like(y), y - offset], axis=1))).T  # eq 10
    c = np.einsum("ij,ij->j", S, S)  # column sums: M⁻¹ = SᵀS
    if not bias:
        return _finish(y, w, gamma, mu, nu, c, 0.0)
    total = require_total(rho, noise)
    b = float(nu.sum()) / total
    return _finish(y, w, gamma, mu, nu - b * rho, c - rho * (rho / total), offset + b)


def gp_leave_one_out(K: Array, y: Array, *, mu: float, zeta: float, weights: Array | None = None) -> LeaveOneOut:
    """Leave-one-out of the Gaussian process with covariance K/μ and noise 1/ζ, or 1/(ζw_i) for weighted points.

    Parameters
    ----------
    K : array of shape (N, N)
    y : array of shape (N,)
    mu, zeta : float
    weights : array of shape (N,), optional
    """
    require_positive("zeta", zeta)
    return leave_one_out(K, y, zeta / require_positive("mu", mu), mu=mu, weights=weights, bias=False)


@dataclass(frozen=True)
class LeaveOneOutSpectrum:
    """The decomposition from which leave-one-out costs O(N²) for each γ.

    Attributes
    ----------
    eigenvalues : array of shape (m,)
        λ of W^½ΩW^½, on the complement of W^½1 if there is a bias: m = N − 1, else m = N.
    vectors : array of shape (N, m)
    targets, weights : arrays of shape (N,)
    offset : float
        Weighted mean of the targets if there is a bias, else zero.
    kernel_means : array of shape (N,)
        Ωw/Σw with a bias, else zeros.
    """

    eigenvalues: Array
    vectors: Array
    targets: Array
    weights: Array
    offset: float
    kernel_means: Array

    @classmethod
    def from_kernel_matrix(
        cls, K: Array, y: Array, *, weights: Array | None = None, bias: bool = True
    ) -> LeaveOneOutSpectrum:
        """Decompose the kernel matrix of shape (N, N) for targets y of shape (N,)."""
        K, y, w = _check_matrix(K, y, weights)
        root, scale = np.sqrt(w), float(np.linalg.norm(K)) * float(w.max())
        A = fortran_copy(K)
        A *= root[:, None]
        A *= root
        if not bias:
            eigenvalues, V = eigh(A, lower=True, driver="evd", overwrite_a=True, check_finite=False)
            return cls(without_rounding(eigenvalues, scale), V, y, w, 0.0, np.zeros(len(y)))
        inner, v, tau = on_complement(A, root)
        eigenvalues, U = eigh(inner, lower=True, driver="evd", overwrite_a=True, check_finite=False)
        V, share = back_from_complement(U, v, tau), w / w.sum()
        return cls(without_rounding(eigenvalues, scale), V, y, w, float(share @ y), product(K, share))

    @classmethod
    def from_spectrum(cls, spectrum: CentredSpectrum) -> LeaveOneOutSpectrum:
        """The decomposition that levels 2 and 3 have made, for a bias."""
        y = spectrum.at_points(spectrum.t) + spectrum.y_mean
        w = np.ones(spectrum.n) if spectrum.weights is None else spectrum.weights
        vectors = spectrum.vectors / np.sqrt(w)[:, None]
        return cls(spectrum.eigenvalues, vectors, y, w, spectrum.y_mean, spectrum.kernel_means)

    def at(self, gammas: float | Array, *, mu: float | None = None) -> LeaveOneOut:
        """Leave-one-out for each γ: arrays of shape (G, N), or (N,) for one number.

        Parameters
        ----------
        gammas : float or array of shape (G,)
        mu : float, optional
            As in `leave_one_out`, the same for all γ.
        """
        gammas = np.asarray(gammas, dtype=float)
        for gamma in gammas.ravel():
            require_positive("gamma", gamma)
        root = np.sqrt(self.weights)
        t = product(self.vectors.T, root * (self.targets - self.offset))
        inverse = 1.0 / (self.eigenvalues + 1.0 / np.atleast_1d(gammas)[:, None])  # [G, m]
        alpha = product(inverse * t, self.vectors.T) * root
        c = product(inverse, (self.vectors**2).T) * self.weights
        b = self.offset - product(np.ascontiguousarray(alpha), self.kernel_means)
        if gammas.ndim == 0:
            return _finish(self.targets, self.weights, float(gammas), mu, alpha[0], c[0], float(b[0]))
        return _finish(self.targets, self.weights, gammas, mu, alpha, c, b)


def ridge_leave_one_out(
    X: Array,
    y: Array,
    penalty: float | Array,
    *,
    intercept: bool = True,
    weights: Array | None = None,
) -> LeaveOneOut:
    """Leave-one-out of ridge regression, min Σ w_i (y_i − xᵢᵀβ − b)² + penalty·‖β‖², in O(Nd·min(N, d)).

    It is the LS-SVM with the linear kernel and γ = 1/penalty, by the singular values of the inputs instead of a kernel
    matrix: y_i − ŷ_i^(−i) = e_i/(1 − h_ii) with the errors e and the hat matrix h, and (C⁻¹)_ii = γw_i(1 − h_ii).

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
    penalty : float or array of shape (G,)
    intercept : bool
    weights : array of shape (N,), optional
    """
    X, y, w = check_points(X, y, weights)
    penalties = np.asarray(penalty, dtype=float)
    for value in np.atleast_1d(penalties):
        require_positive("penalty", value)
    share = w / w.sum() if intercept else np.zeros_like(w)
    root, offset, centre = np.sqrt(w), float(share @ y), share @ X
    U, singular, Vt = svd(root[:, None] * (X - centre), full_matrices=False, check_finite=False)
    # directions without variance stay outside; with more inputs than points the constant is one of them
    rank = int(np.sum(singular > max(X.shape) * np.finfo(float).eps * max(singular[0], np.finfo(float).tiny)))
    U, singular, Vt = U[:, :rank], singular[:rank], Vt[:rank]
    t = U.T @ (root * (y - offset))
    kept = singular**2 + np.atleast_1d(penalties)[:, None]  # [G, k]
    # what lies outside the range of the inputs stays whole; inside, penalty/(S² + penalty) remains of it
    outside = np.maximum(1.0 - share - np.einsum("ik,ik->i", U, U), 0.0)
    if rank == len(y) - int(intercept):
        outside = np.zeros_like(outside)  # the difference would be rounding
    remains = np.atleast_1d(penalties)[:, None] / kept
    unexplained = outside + remains @ (U**2).T  # 1 − h_ii
    errors = ((root * (y - offset) - U @ t) + (remains * t) @ U.T) / root
    beta = (singular / kept * t) @ Vt  # [G, d]
    gammas = 1.0 / np.atleast_1d(penalties)
    alpha, c = gammas[:, None] * w * errors, gammas[:, None] * w * unexplained
    b = offset - beta @ centre
    if penalties.ndim == 0:
        return _finish(y, w, float(gammas[0]), None, alpha[0], c[0], float(b[0]))
    return _finish(y, w, gammas, None, alpha, c, b)
