"""The centred kernel matrix, reduced once so that every γ afterwards costs O(N).

With M = I − 11ᵀ/N, all of levels 2 and 3 depends on the kernel matrix Ω only through MΩM (paper 0, eq 3.15). We work
in an orthonormal basis of the complement of the constant vector, made by one Householder reflection, in which exactly
N − 1 eigenvalues λ_i remain, zeros included, and t = Vᵀy holds all of the centred targets. With s = 1/γ, a few sums
say everything:

    log_det = Σ log(λ_i + s)        q_k = Σ t_i² / (λ_i + s)^k        tr_k = Σ 1 / (λ_i + s)^k

    E_W + γ E_D = q_1 / 2      E_D = s² q_2 / 2      E_W = (q_1 − s q_2) / 2      γ_eff = N − s tr_1

`TridiagonalReduction` gives these sums from T = QᵀMΩMQ without eigenvalues: one LAPACK `sytrd`, a fraction of an
eigendecomposition, whose basis starts at the targets, so that t = ‖t‖e₁. `CentredSpectrum` has eigenvalues and
eigenvectors; it is computed once, for the kernel that is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import blas, eigh, lapack, solve_banded

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import Array
from .blas import fortran_copy, product, squared_norm

_EPS = float(np.finfo(float).eps)
# stands for the scale of a kernel matrix of zeros
TINY = 1e-100
# γ λ_max beyond which 1/γ is below any noise that double precision could tell from none
_MAX_GAMMA_LAMBDA = 1e12
# Eigenvalues of the centred matrix carry the rounding of the whole one: about eps·‖Ω‖, however small they are.
_ROUNDING = 100 * _EPS
# products of eight pivots stay far from overflow and underflow, and one logarithm serves them all
_LOG_GROUP = 8


class SpectralSums(NamedTuple):
    """The sums of the module's docstring, each of the shape of γ.

    Two are there in two forms, because a difference of nearly equal numbers would lose their digits at one end of γ:
    tr1 = (N − γ_eff)/s with d_eff = γ_eff − 1, and q2 = 2 E_D/s² with w = 2 E_W. The eigenvalues give all of them
    without a difference; the tridiagonal form has to subtract for d_eff and w, which are good to N·eps there.
    """

    log_det: Array
    q1: Array
    q2: Array
    tr1: Array
    d_eff: Array
    w: Array


class Reduction(Protocol):
    """What levels 2 and 3 need to know of a kernel matrix and its targets."""

    @property
    def n(self) -> int:
        """Number of data points N."""

    @property
    def lambda_max(self) -> float:
        """The largest eigenvalue of MΩM, or a bound of its size."""

    @property
    def total(self) -> float:
        """‖My‖², the centred sum of squares of the targets."""

    @property
    def gamma_max(self) -> float:
        """The largest γ at which 1/γ stands above the rounding of the eigenvalues."""

    def sums(self, gamma: Array) -> SpectralSums:
        """The sums for each γ."""

    def values(self, gamma: Array) -> tuple[Array, Array]:
        """log_det and q_1 for each γ."""

    def evidence_hessian(self, mu: float, zeta: float) -> Array:
        """Exact Hessian of log p(D | μ, ζ) in (log μ, log ζ), of shape (2, 2), in O(N)."""


def reflector(x: Array) -> tuple[Array, float]:
    """V and τ with (I − τvvᵀ)x = ∓‖x‖e₁."""
    v = x.copy()
    norm = float(np.linalg.norm(x))
    if norm == 0.0:
        return v, 0.0
    v[0] += np.copysign(norm, x[0])
    return v, 2.0 / float(v @ v)


def reflect_symmetric(A: Array, v: Array, tau: float) -> Array:
    """(I − τvvᵀ) A (I − τvvᵀ) in place, in the lower triangle of a Fortran-ordered A only."""
    if tau == 0.0:
        return A
    p = tau * blas.dsymv(1.0, A, v, lower=1)
    w = p - (0.5 * tau * float(v @ p)) * v
    return np.asarray(blas.dsyr2(-1.0, v, w, lower=1, a=A, overwrite_a=1))


def largest_gamma(lambda_max: float, kernel_norm: float) -> float:
    """The largest γ that can be told from infinity: beyond, 1/γ is below the rounding of the kernel matrix."""
    return 1.0 / max(lambda_max / _MAX_GAMMA_LAMBDA, _ROUNDING * kernel_norm)


def centre_and_reflect(K: Array, y: Array) -> tuple[Array, Array, Array, float]:
    """MΩM and My in a basis of the complement of 1 (lower triangle), with the reflection that made it."""
    n = len(y)
    if n < 3:
        raise ValueError(f"At least 3 data points are needed for a bias and two hyperparameters, got {n}.")
    v, tau = reflector(np.full(n, 1.0 / np.sqrt(n)))
    A = reflect_symmetric(fortran_copy(K), v, tau)
    centred = y - y.mean()  # first, so that an offset does not cost digits
    t = (centred - tau * float(v @ centred) * v)[1:]
    if float(np.linalg.norm(t)) <= 10 * _EPS * float(np.linalg.norm(y)):
        t[:] = 0.0  # equal targets: what remains is rounding
    return np.asfortranarray(A[1:, 1:]), t, v, tau


@dataclass(frozen=True)
class TridiagonalReduction:
    """T = QᵀMΩMQ with t = ‖t‖e₁: O(N) for every γ without an eigendecomposition."""

    diagonal: Array
    off_diagonal: Array
    total: float
    lambda_max: float
    kernel_norm: float

    @property
    def n(self) -> int:
        return len(self.diagonal) + 1

    @property
    def gamma_max(self) -> float:
        return largest_gamma(self.lambda_max, self.kernel_norm)

    @classmethod
    def from_kernel_matrix(cls, K: Array, y: Array) -> TridiagonalReduction:
        """Reduce the kernel matrix Ω of shape (N, N) with targets y of shape (N,)."""
        A, t, _, _ = centre_and_reflect(K, y)
        v, tau = reflector(t)
        A = reflect_symmetric(A, v, tau)
        lwork = int(lapack.dsytrd_lwork(len(A), lower=1)[0])
        # the reflections of sytrd leave e₁ alone, so the targets stay there
        _, d, e, _, info = lapack.dsytrd(A, lower=1, lwork=lwork, overwrite_a=1)
        if info != 0:  # pragma: no cover - only for an illegal argument
            raise RuntimeError(f"LAPACK sytrd failed with info = {info}.")
        e_left, e_right = np.append(0.0, np.abs(e)), np.append(np.abs(e), 0.0)
        bound = float(np.max(np.abs(d) + e_left + e_right))  # Gershgorin
        reduction = cls(d, e, float(t @ t), max(bound, TINY), max(float(np.sqrt(squared_norm(K))), TINY))
        reduction._pivots(np.array([1.0 / reduction.gamma_max]), reverse=False)  # refuses an indefinite matrix at once
        return reduction

    def _pivots(self, s: Array, *, reverse: bool) -> Array:
        """D of T + sI = LDLᵀ for each s, all factorised in one call of LAPACK's pttrf: shape (G, N − 1)."""
        m = len(self.diagonal)
        d, e = (self.diagonal[::-1], self.off_diagonal[::-1]) if reverse else (self.diagonal, self.off_diagonal)
        stacked_d = (d + s[:, None]).ravel()
        stacked_e = np.zeros((len(s), m))  # a zero between the blocks uncouples them
        stacked_e[:, : m - 1] = e
        D, _, info = lapack.dpttrf(stacked_d, stacked_e.ravel()[:-1], overwrite_d=1, overwrite_e=1)
        if info != 0:
            self._refuse_indefinite()
        return np.asarray(D).reshape(len(s), m)

    def _refuse_indefinite(self) -> None:
        eigenvalues, info = lapack.dsterf(self.diagonal, self.off_diagonal)
        smallest = float(np.min(eigenvalues)) if info == 0 else float("nan")
        raise NotPositiveSemidefiniteError(
            f"The centred kernel matrix is not positive semi-definite: its smallest eigenvalue is {smallest:.3g}, "
            f"its largest {float(np.max(eigenvalues)):.3g}. The evidence needs a kernel that is an inner product."
        )

    def values(self, gamma: Array) -> tuple[Array, Array]:
        """log_det and q_1 for each γ: what J4 needs, from one factorisation that ends at the targets."""
        s = 1.0 / np.atleast_1d(np.asarray(gamma, dtype=float))
        D = self._pivots(s, reverse=True)
        # (T + s)⁻¹₁₁ is the inverse of the last pivot of the reversed factorisation
        return log_product(D), self.total / D[:, -1]

    def sums(self, gamma: Array) -> SpectralSums:
        s = 1.0 / np.atleast_1d(np.asarray(gamma, dtype=float))
        backward = self._pivots(s, reverse=True)
        forward = self._pivots(s, reverse=False)
        # the diagonal of the inverse from the two factorisations: 1 / (d⁺_i + d⁻_i − T_ii)
        inverse_diagonal = 1.0 / (forward + backward[:, ::-1] - (self.diagonal + s[:, None]))
        tr1 = inverse_diagonal.sum(axis=1)
        q1, q2 = self.total / backward[:, -1], self._q2(s)
        d_eff, w = len(self.diagonal) - s * tr1, q1 - s * q2
        return SpectralSums(log_product(backward), q1, q2, tr1, np.maximum(d_eff, 0.0), np.maximum(w, 0.0))

    def _q2(self, s: Array) -> Array:
        rhs = np.zeros(len(self.diagonal))
        rhs[0] = np.sqrt(self.total)
        q2 = np.empty_like(s)
        for i, shift in enumerate(s):
            _, _, x, info = lapack.dptsv(self.diagonal + shift, self.off_diagonal, rhs)
            if info != 0:
                self._refuse_indefinite()
            q2[i] = float(np.vdot(x, x))
        return q2

    def evidence_hessian(self, mu: float, zeta: float) -> Array:
        """Exact Hessian of log p(D | μ, ζ) in (log μ, log ζ).

        With s = μ/ζ, log p = ½(N−1) log μ − ½ log_det(s) − ½ μ q_1(s) + const; the chain rule from (log μ, log s).
        """
        s = mu / zeta
        sums = self.sums(np.array([1.0 / s]))
        tr2, q3 = self._second_order(s)
        mm, ms = -0.5 * mu * float(sums.q1[0]), 0.5 * mu * s * float(sums.q2[0])
        ss = -0.5 * s * float(sums.tr1[0]) + 0.5 * s**2 * tr2 + ms - mu * s**2 * q3
        return np.array([[mm + 2.0 * ms + ss, -(ms + ss)], [-(ms + ss), ss]])

    def _second_order(self, s: float) -> tuple[float, float]:
        """tr_2 and q_3 at s = 1/γ.

        For i < j, G = (T + s)⁻¹ has G_ij = G_jj Π_{k=i}^{j−1} (−e_k/d⁺_k), so that Σ_{i<j} G_ij² = G_jj² S_j with the
        recurrence S_{j+1} = r_j(1 + S_j), r_j = (e_j/d⁺_j)²: a bidiagonal system.
        """
        shift = np.array([s])
        forward, backward = self._pivots(shift, reverse=False)[0], self._pivots(shift, reverse=True)[0, ::-1]
        G = 1.0 / (forward + backward - (self.diagonal + s))
        r = (self.off_diagonal / forward[:-1]) ** 2
        band = np.stack([np.ones_like(G), np.append(-r, 0.0)])
        S = solve_banded((1, 0), band, np.append(0.0, r), check_finite=False)
        rhs = np.zeros_like(G)
        rhs[0] = np.sqrt(self.total)
        _, _, x, _ = lapack.dptsv(self.diagonal + s, self.off_diagonal, rhs)
        _, _, z, _ = lapack.dptsv(self.diagonal + s, self.off_diagonal, x)
        return float(np.sum(G**2 * (1.0 + 2.0 * S))), float(np.vdot(x, z))


def log_product(D: Array) -> Array:
    """Σ_j log D_ij for positive D, with one logarithm for each group of eight factors."""
    whole = D.shape[1] // _LOG_GROUP * _LOG_GROUP
    with np.errstate(over="ignore", under="ignore"):
        grouped = D[:, :whole].reshape(len(D), -1, _LOG_GROUP).prod(axis=2)
    tail = D[:, whole:]
    if not np.all((grouped > 1e-280) & (grouped < 1e280)):  # extreme scales: the plain sum
        return np.asarray(np.log(D).sum(axis=1))
    return np.asarray(np.log(grouped).sum(axis=1) + np.log(tail).sum(axis=1))


@dataclass(frozen=True)
class CentredSpectrum:
    """Eigenvalues λ and eigenvectors V of MΩM on the complement of 1, with t = Vᵀy (eq 3.15, all N − 1 of them).

    Attributes
    ----------
    eigenvalues : array of shape (N − 1,)
        λ_i in ascending order; rounding below zero is set to zero.
    vectors : array of shape (N, N − 1)
        Orthonormal, each orthogonal to the constant vector.
    t : array of shape (N − 1,)
        Vᵀy.
    y_mean : float
        m̂_Y, the mean of the targets.
    kernel_means : array of shape (N,)
        Ω1/N: the inner products of the points with the mean m̂_Υ of the features.
    kernel_norm : float
        Frobenius norm of Ω, the scale of rounding.
    """

    eigenvalues: Array
    vectors: Array
    t: Array
    y_mean: float
    kernel_means: Array
    kernel_norm: float

    @property
    def n(self) -> int:
        return len(self.eigenvalues) + 1

    @property
    def gamma_max(self) -> float:
        return largest_gamma(self.lambda_max, self.kernel_norm)

    @property
    def total(self) -> float:
        return float(self.t @ self.t)

    @property
    def lambda_max(self) -> float:
        return max(float(self.eigenvalues[-1]), TINY)

    @property
    def rank(self) -> int:
        """N_eff: the number of eigenvalues above rounding. Counts only; no value depends on it."""
        return int(np.sum(self.eigenvalues > _ROUNDING * self.kernel_norm))

    @classmethod
    def from_kernel_matrix(cls, K: Array, y: Array) -> CentredSpectrum:
        """Decompose the kernel matrix Ω of shape (N, N) with targets y of shape (N,)."""
        A, t, v, tau = centre_and_reflect(K, y)
        eigenvalues, U = eigh(A, lower=True, driver="evd", overwrite_a=True, check_finite=False)
        kernel_norm, largest = max(float(np.sqrt(squared_norm(K))), TINY), max(float(eigenvalues[-1]), 0.0)
        if eigenvalues[0] < -_ROUNDING * kernel_norm:
            raise NotPositiveSemidefiniteError(
                "The centred kernel matrix is not positive semi-definite: its smallest eigenvalue is "
                f"{eigenvalues[0]:.3g}, its largest {largest:.3g}. The evidence needs a kernel that is an inner "
                "product."
            )
        coefficients = product(U.T, t)
        V = np.empty((len(y), len(y) - 1), order="F")
        V[0] = 0.0
        V[1:] = U
        V -= np.outer(tau * v, product(U.T, v[1:]))  # back through the reflection
        return cls(np.maximum(eigenvalues, 0.0), V, coefficients, float(np.mean(y)), K.mean(axis=1), kernel_norm)

    def with_targets(self, y: Array) -> CentredSpectrum:
        """The same kernel matrix with other targets: no new decomposition."""
        y = np.asarray(y, dtype=float)
        return replace(self, t=self.vectors.T @ y, y_mean=float(y.mean()))

    def sums(self, gamma: Array) -> SpectralSums:
        shifted = self.eigenvalues + 1.0 / np.atleast_1d(np.asarray(gamma, dtype=float))[:, None]  # [G, N-1]
        inverse = 1.0 / shifted
        t2 = self.t**2
        return SpectralSums(
            log_det=np.log(shifted).sum(axis=1),
            q1=inverse @ t2,
            q2=inverse**2 @ t2,
            tr1=inverse.sum(axis=1),
            d_eff=inverse @ self.eigenvalues,
            w=inverse**2 @ (self.eigenvalues * t2),
        )

    def values(self, gamma: Array) -> tuple[Array, Array]:
        """log_det and q_1 for each γ."""
        sums = self.sums(gamma)
        return sums.log_det, sums.q1

    def evidence_hessian(self, mu: float, zeta: float) -> Array:
        """Exact Hessian of log p(D | μ, ζ) in (log μ, log ζ).

        With v = λ/μ + 1/ζ and L = −½ Σ (log v + t²/v): ∂v/∂log μ = −λ/μ and ∂v/∂log ζ = −1/ζ.
        """
        a, c = self.eigenvalues / mu, 1.0 / zeta
        v, t2 = a + c, self.t**2
        first = -0.5 / v + 0.5 * t2 / v**2  # ∂L/∂v
        second = 0.5 / v**2 - t2 / v**3  # ∂²L/∂v²
        mixed = float(np.sum(second * a * c))
        weights, noise = float(np.sum(second * a**2 + first * a)), float(np.sum(second * c**2 + first * c))
        return np.array([[weights, mixed], [mixed, noise]])
