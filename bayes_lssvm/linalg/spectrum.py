"""Two reductions of the centred kernel matrix (see `linalg.reduction`): tridiagonal, and by its eigenvalues.

`TridiagonalReduction` gives the sums from T = QᵀMΩMQ without eigenvalues: one LAPACK `sytrd`, a fraction of an
eigendecomposition. For targets of shape (N,) the basis starts at them, so that t = ‖t‖e₁. Blocks for different γ,
and for different sets of targets, are stacked into one tridiagonal system, uncoupled by zeros, so that a whole scan is
one call of LAPACK. `CentredSpectrum` has eigenvalues and eigenvectors; it is made once, for the kernel that is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import blas, eigh, eigh_tridiagonal, eigvalsh_tridiagonal, lapack

from ..base.errors import NotPositiveSemidefiniteError
from ..base.rounding import ROUNDING, negative_rounding
from ..base.typing import AnyArray, Array
from ..base.weights import weighted_mean
from .blas import product, squared_norm
from .reduction import (
    TINY,
    LocalEvidence,
    SpectralSums,
    back_from_complement,
    centre_and_reflect,
    evidence_by_sums,
    indefinite,
    largest_gamma,
    log_constant,
    reflect_symmetric,
    reflector,
    without_rounding,
)

# products of eight pivots stay far from overflow and underflow, and one logarithm serves them all
_LOG_GROUP = 8
_PANEL = 16  # columns that sytrd reduces at a time: LAPACK's own choice of 32 takes 14 % longer at N = 250, 8 % at 500


@dataclass(frozen=True)
class TridiagonalReduction:
    """T = QᵀMΩMQ with L sets of targets: O(N) for every γ without an eigendecomposition.

    Attributes
    ----------
    diagonal, off_diagonal : arrays of shape (N − 1,) and (N − 2,)
        T.
    targets : array of shape (L, N − 1)
        QᵀMy of each set.
    totals : array of shape (L,)
        ‖My‖².
    aligned : bool
        Whether the basis starts at the only set, so that it is ‖My‖e₁: for targets of shape (N,).
    lambda_max : float
        A bound of the largest eigenvalue.
    kernel_norm : float
        Frobenius norm of Ω, the scale of rounding.
    log_constant : float
        −½ log N, and what weights add to it.
    """

    diagonal: Array
    off_diagonal: Array
    targets: Array
    totals: Array
    aligned: bool
    lambda_max: float
    kernel_norm: float
    log_constant: float
    n_zeros: ClassVar[int] = 0
    within: ClassVar[float] = 0.0

    @property
    def n(self) -> int:
        return len(self.diagonal) + 1

    @property
    def gamma_max(self) -> float:
        return largest_gamma(self.lambda_max, self.kernel_norm)

    @property
    def rank(self) -> int:
        """N_eff: the number of eigenvalues above rounding, by O(N²) without a decomposition of Ω."""
        return int(np.sum(eigvalsh_tridiagonal(self.diagonal, self.off_diagonal) > ROUNDING * self.kernel_norm))

    @classmethod
    def from_kernel_matrix(cls, K: Array, y: Array, weights: Array | None = None) -> TridiagonalReduction:
        """Reduce the kernel matrix Ω of shape (N, N) with targets y of shape (N,), or (N, L) for L sets.

        With weights of shape (N,), the noise precision of point i is ζw_i.
        """
        A, t, _, _ = centre_and_reflect(K, y, weights)
        aligned, t = t.ndim == 1, t.reshape(len(t), -1)
        if aligned:
            A = reflect_symmetric(A, *reflector(t[:, 0]))
        lwork = _PANEL * len(A)
        # the reflections of sytrd leave e₁ alone, so that targets that are alone stay there
        reflections, d, e, factors, info = lapack.dsytrd(A, lower=1, lwork=lwork, overwrite_a=1)
        if info != 0:  # pragma: no cover - only for an illegal argument
            raise RuntimeError(f"LAPACK sytrd failed with info = {info}.")
        totals = np.array([column @ column for column in t.T])
        if aligned:
            targets = np.zeros((1, len(d)))
            targets[0, 0] = np.sqrt(totals[0])
        else:
            targets = np.ascontiguousarray(_rotated(t, reflections, factors).T)
        e_left, e_right = np.append(0.0, np.abs(e)), np.append(np.abs(e), 0.0)
        bound = float(np.max(np.abs(d) + e_left + e_right))  # Gershgorin
        norm = max(float(np.sqrt(squared_norm(K))), TINY) * (1.0 if weights is None else float(weights.max()))
        reduction = cls(d, e, targets, totals, aligned, max(bound, TINY), norm, log_constant(len(y), weights))
        return reduction._positive(norm)

    def _positive(self, norm: float) -> TridiagonalReduction:
        """The same with eigenvalues that rounding has put below zero lifted; an indefinite one is refused."""
        try:
            self._factorise(np.array([1.0 / self.gamma_max]), reverse=False)
        except NotPositiveSemidefiniteError:
            smallest = float(np.min(lapack.dsterf(self.diagonal, self.off_diagonal)[0]))
            if smallest < -negative_rounding(len(self.diagonal), norm):
                raise
            return replace(self, diagonal=self.diagonal - smallest)
        return self

    def _factorise(self, s: Array, *, reverse: bool) -> tuple[Array, Array]:
        """D of shape (G, N − 1) and the subdiagonals of L, stacked, with T + sI = LDLᵀ: one call for all s."""
        m = len(self.diagonal)
        d, e = (self.diagonal[::-1], self.off_diagonal[::-1]) if reverse else (self.diagonal, self.off_diagonal)
        stacked_e = np.zeros((len(s), m))  # a zero between the blocks uncouples them
        stacked_e[:, : m - 1] = e
        between = stacked_e.ravel()[: max(stacked_e.size - 1, 1)]  # LAPACK's wrapper wants one even where there is none
        D, L, info = lapack.dpttrf((d + s[:, None]).ravel(), between, overwrite_d=1, overwrite_e=1)
        if info != 0:
            eigenvalues, _ = lapack.dsterf(self.diagonal, self.off_diagonal)
            raise indefinite(float(np.min(eigenvalues)), float(np.max(eigenvalues)))
        return np.asarray(D).reshape(len(s), m), np.asarray(L)

    def values(self, gamma: Array, target: AnyArray | None = None) -> tuple[Array, Array]:
        """log_det and q_1: what J4 needs, from one factorisation that ends at e₁."""
        D, L = self._factorise(_inverses(gamma), reverse=True)
        if self.aligned:
            return log_product(D), self._q1_alone(D)
        if target is None:
            q1 = self._q1_together(D, L)
            return log_product(D), q1[:, 0] if len(self.targets) == 1 else q1
        t = np.ascontiguousarray(self.targets[target, ::-1])
        return log_product(D), np.einsum("ij,ij->i", t, _solved(D, L, t))

    def _q1_alone(self, D: Array) -> Array:
        """q_1 of targets at e₁: (T + s)⁻¹₁₁ is the inverse of the last pivot of the reversed factorisation."""
        return np.asarray(self.totals[0] / D[:, -1])

    def _q1_together(self, D: Array, L: Array) -> Array:
        """q_1 of several sets, of shape (G, L): Σ_i z_i²/D_i for Lz = t in the reversed factorisation.

        The recurrence runs along T for all γ and sets at once, which is several times faster than a solve for each.
        """
        t = self.targets[:, ::-1]
        inverse, below = (1.0 / D).T[:, :, None], np.append(L, 0.0).reshape(D.shape).T[:, :, None]  # [N-1, G, 1]
        z = np.tile(t[:, 0], (len(D), 1))  # [G, L]
        q1 = z * z * inverse[0]
        square = np.empty_like(z)
        for i in range(1, len(inverse)):
            z *= below[i - 1]
            np.subtract(t[:, i], z, out=z)
            np.multiply(z, z, out=square)
            square *= inverse[i]
            q1 += square
        return q1

    def sums(self, gamma: Array, target: int | AnyArray = 0) -> SpectralSums:
        s = _inverses(gamma)
        forward, L = self._factorise(s, reverse=False)
        backward, _ = self._factorise(s, reverse=True)
        # the diagonal of the inverse from the two factorisations: 1 / (d⁺_i + d⁻_i − T_ii)
        inverse_diagonal = 1.0 / (forward + backward[:, ::-1] - (self.diagonal + s[:, None]))
        tr1 = inverse_diagonal.sum(axis=1)
        t = self.targets[np.zeros(len(s), dtype=np.intp) + target]  # [G, N-1]
        x = _solved(forward, L, t)
        q1 = self._q1_alone(backward) if self.aligned else np.einsum("ij,ij->i", t, x)
        q2 = np.array([row @ row for row in x])
        d_eff, w = len(self.diagonal) - s * tr1, q1 - s * q2
        return SpectralSums(log_product(backward), q1, q2, tr1, np.maximum(d_eff, 0.0), np.maximum(w, 0.0))

    def alone(self, target: int) -> TridiagonalReduction:
        """The reduction with one of its sets of targets."""
        if self.aligned:
            return self
        one = slice(target, target + 1)
        return replace(self, targets=self.targets[one], totals=self.totals[one])

    def components(self) -> tuple[Array, Array]:
        """Eigenvalues of T in ascending order, and t_i² of the first set of targets: a decomposition, for rare use."""
        eigenvalues, vectors = eigh_tridiagonal(self.diagonal, self.off_diagonal)
        return eigenvalues, np.square(product(np.asfortranarray(vectors).T, self.targets[0]))

    def local_evidence(self, mu: float, zeta: float) -> LocalEvidence:
        """Log p(D | μ, ζ) with its derivatives in (log μ, log ζ), from two factorisations.

        For i < j, G = (T + s)⁻¹ has G_ij = G_jj Π_{k=i}^{j−1} (−e_k/d⁺_k), so that Σ_{i<j} G_ij² = G_jj² S_j with the
        recurrence S_{j+1} = r_j(1 + S_j), r_j = (e_j/d⁺_j)²: a bidiagonal system.
        """
        m, s = len(self.diagonal), mu / zeta
        shift = np.array([s])
        forward, L = self._factorise(shift, reverse=False)
        backward, _ = self._factorise(shift, reverse=True)
        G = 1.0 / (forward[0] + backward[0, ::-1] - (self.diagonal + s))
        r = (self.off_diagonal / forward[0, :-1]) ** 2
        band = np.ones((2, m), order="F")
        band[1, :-1] = -r
        S = blas.dtbsv(1, band, np.append(0.0, r), lower=1, diag=1, overwrite_x=1)
        t = self.targets[:1]
        x = _solved(forward, L, t)
        z = _solved(forward, L, x)
        q1 = float(self._q1_alone(backward)[0]) if self.aligned else float(np.vdot(t, x))
        q2, q3 = float(np.vdot(x, x)), float(np.vdot(x, z))
        tr1, tr2 = float(G.sum()), float(np.sum(G**2 * (1.0 + 2.0 * S)))
        found = evidence_by_sums(m, mu, s, float(log_product(backward)[0]), (q1, q2, q3), (tr1, tr2))
        return found._replace(value=found.value + self.log_constant)


def _inverses(gamma: Array) -> Array:
    """S = 1/γ of shape (G,)."""
    return np.asarray(1.0 / np.atleast_1d(np.asarray(gamma, dtype=float)))


def _solved(D: Array, L: Array, t: Array) -> Array:
    """(LDLᵀ)⁻¹t for stacked factors, each of shape (G, N − 1)."""
    return np.asarray(lapack.dpttrs(D.ravel(), L, t.ravel())[0]).reshape(t.shape)


def _rotated(t: Array, reflections: Array, factors: Array) -> Array:
    """Qᵀt of shape (N − 1, L) for the Q of `sytrd`."""
    if len(t) > 2:
        # Q leaves e₁ alone; below it the reflectors stand as those of a QR decomposition
        below = np.asfortranarray(reflections[1:, : len(factors)])
        t[1:], _, _ = lapack.dormqr("L", "T", below, factors, t[1:], lwork=64 * t.shape[1])
    return t


def log_product(D: Array) -> Array:
    """Σ_j log D_ij for positive D, with one logarithm for each group of eight factors."""
    whole = D.shape[1] // _LOG_GROUP * _LOG_GROUP
    with np.errstate(over="ignore", under="ignore"):
        # factors of a group stand far apart, so that neighbours are multiplied by neighbours
        grouped = D[:, :whole].reshape(len(D), _LOG_GROUP, -1).prod(axis=1)
    tail = D[:, whole:]
    if not np.all((grouped > 1e-280) & (grouped < 1e280)):  # extreme scales: the plain sum
        return np.asarray(np.log(D).sum(axis=1))
    return np.asarray(np.log(grouped).sum(axis=1) + np.log(tail).sum(axis=1))


@dataclass(frozen=True)
class CentredSpectrum:
    """Eigenvalues λ and eigenvectors V of MΩM on the complement of 1, with t = Vᵀy (eq 3.15, all N − 1 of them).

    With weights they are those of W^½ΩW^½ on the complement of W^½1, and V stands for W^½ times the eigenvectors: then
    t = Vᵀy, α = V(λ + s)⁻¹t and R = V(λ + s)⁻¹Vᵀ as without them, and the centred function at the points is W⁻¹Va.

    Attributes
    ----------
    eigenvalues : array of shape (N − 1,)
        λ_i in ascending order; rounding below zero is set to zero.
    vectors : array of shape (N, N − 1)
        V, each column orthogonal to the constant vector; orthonormal without weights.
    t : array of shape (N − 1,)
        Vᵀy.
    y_mean : float
        m̂_Y, the (weighted) mean of the targets.
    kernel_means : array of shape (N,)
        Ωw/Σw: the inner products of the points with the mean m̂_Υ of the features.
    kernel_norm : float
        Frobenius norm of Ω, the scale of rounding.
    weights : array of shape (N,) or None
        w_i: the noise precision of point i is ζw_i.
    """

    eigenvalues: Array
    vectors: Array
    t: Array
    y_mean: float
    kernel_means: Array
    kernel_norm: float
    weights: Array | None = None
    n_zeros: ClassVar[int] = 0
    within: ClassVar[float] = 0.0

    @property
    def n(self) -> int:
        return len(self.eigenvalues) + 1

    @property
    def total(self) -> float:
        """Σw, or N: the precision of the level is ζ times it."""
        return float(self.n) if self.weights is None else float(self.weights.sum())

    @property
    def gamma_max(self) -> float:
        return largest_gamma(self.lambda_max, self.kernel_norm)

    @property
    def totals(self) -> Array:
        return np.array([self.t @ self.t])

    @property
    def lambda_max(self) -> float:
        return max(float(self.eigenvalues[-1]), TINY)

    @property
    def log_constant(self) -> float:
        return log_constant(self.n, self.weights)

    @property
    def rank(self) -> int:
        """N_eff: the number of eigenvalues above rounding. Counts only; no value depends on it."""
        return int(np.sum(self.eigenvalues > ROUNDING * self.kernel_norm))

    @classmethod
    def from_kernel_matrix(cls, K: Array, y: Array, weights: Array | None = None) -> CentredSpectrum:
        """Decompose the kernel matrix Ω of shape (N, N) with targets y, and weights if any, of shape (N,)."""
        A, t, v, tau = centre_and_reflect(K, y, weights)
        eigenvalues, U = eigh(A, lower=True, driver="evd", overwrite_a=True, check_finite=False)
        norm = max(float(np.sqrt(squared_norm(K))), TINY) * (1.0 if weights is None else float(weights.max()))
        eigenvalues, V = without_rounding(eigenvalues, norm), back_from_complement(U, v, tau)
        means = K.mean(axis=1)
        if weights is not None:
            V *= np.sqrt(weights)[:, None]
            means = product(np.ascontiguousarray(K), weights / weights.sum())
        return cls(eigenvalues, V, product(U.T, t), float(weighted_mean(y, weights)), means, norm, weights)

    def with_targets(self, y: Array) -> CentredSpectrum:
        """The same kernel matrix with other targets: no new decomposition."""
        y = np.asarray(y, dtype=float)
        return replace(self, t=self.vectors.T @ y, y_mean=float(weighted_mean(y, self.weights)))

    def at_points(self, a: Array) -> Array:
        """The centred function of coefficients a of shape (…, N − 1) at the points, of shape (…, N)."""
        values = a @ self.vectors.T
        return np.asarray(values if self.weights is None else values / self.weights)

    def sums(self, gamma: Array, target: int | AnyArray = 0) -> SpectralSums:
        """The sums for each γ; there is one set of targets, number 0."""
        shifted = self.eigenvalues + _inverses(gamma)[:, None]  # [G, N-1]
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

    def values(self, gamma: Array, target: AnyArray | None = None) -> tuple[Array, Array]:
        """log_det and q_1 for each γ; there is one set of targets, number 0."""
        sums = self.sums(gamma)
        return sums.log_det, sums.q1

    def components(self) -> tuple[Array, Array]:
        """λ_i and t_i²."""
        return self.eigenvalues, self.t**2

    def local_evidence(self, mu: float, zeta: float) -> LocalEvidence:
        """Log p(D | μ, ζ) with its derivatives in (log μ, log ζ).

        With v = λ/μ + 1/ζ and L = −½ Σ (log v + t²/v): ∂v/∂log μ = −λ/μ and ∂v/∂log ζ = −1/ζ.
        """
        a, c = self.eigenvalues / mu, 1.0 / zeta
        v, t2 = a + c, self.t**2
        first = -0.5 / v + 0.5 * t2 / v**2  # ∂L/∂v
        second = 0.5 / v**2 - t2 / v**3  # ∂²L/∂v²
        value = -0.5 * float(np.sum(np.log(2.0 * np.pi * v) + t2 / v)) + self.log_constant
        mixed = float(np.sum(second * a * c))
        weights, noise = float(np.sum(second * a**2 + first * a)), float(np.sum(second * c**2 + first * c))
        gradient = -np.array([float(np.sum(first * a)), float(np.sum(first * c))])
        return LocalEvidence(value, gradient, np.array([[weights, mixed], [mixed, noise]]))
