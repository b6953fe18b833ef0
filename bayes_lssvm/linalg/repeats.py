"""The reductions of data in which inputs repeat, from the kernel matrix of the distinct inputs.

Let G distinct inputs stand for N rows, n_g rows each, with mean targets ȳ_g and the sum SS of the squared deviations
from them. Within a group only the noise differs, so that

    p(D | μ, ζ) = p(ȳ | μ, ζ; noise precisions ζn_g) · Π_g (2π/ζ)^{−(n_g−1)/2} n_g^{−½} exp(−ζ SS_g/2).

In the terms of `linalg.reduction`: MΩM has the G − 1 eigenvalues of the weighted matrix and N − G that are zero, in
whose directions the targets have the squared length SS. Zeros that are known need no rounding, whereas the kernel
matrix of all rows would have eigenvalues of any sign there, of the size of its rounding, and hide what happens at
large γ.

Rows with weights w_i have W_g = Σ w_i, the weighted mean and the weighted SS in the places of n_g, ȳ_g and SS, and a
factor Π w_i^½ W_g^{−½} in the place of n_g^{−½}. A row of whole weight n is so the mean of n rows, and n copies of it
say the same of the function; but as measurements they would also say that the noise is nil, by (2π/ζ)^{−(n−1)/2}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from ..base.rows import GroupedRows, group_equal_inputs
from ..base.typing import AnyArray, Array
from ..base.weights import weighted_mean
from .blas import product
from .reduction import (
    LocalEvidence,
    Reduction,
    SpectralSums,
    back_from_complement,
    centre_and_reflect,
    log_constant,
    without_rounding,
)
from .spectrum import CentredSpectrum, TridiagonalReduction

FEWEST = 2  # distinct inputs that a reduction needs: one eigenvalue is left of them


@dataclass(frozen=True)
class RepeatedReduction:
    """The reduction of N rows from that of G distinct inputs with their numbers of rows as weights.

    Attributes
    ----------
    distinct : TridiagonalReduction
        Of the mean targets, weighted.
    n_zeros : int
        N − G.
    within : float
        SS.
    log_constant : float
        That of all rows.
    """

    distinct: TridiagonalReduction
    n_zeros: int
    within: float
    log_constant: float

    @property
    def n(self) -> int:
        return self.distinct.n + self.n_zeros

    @property
    def lambda_max(self) -> float:
        return self.distinct.lambda_max

    @property
    def gamma_max(self) -> float:
        return self.distinct.gamma_max

    @property
    def kernel_norm(self) -> float:
        return self.distinct.kernel_norm

    @property
    def totals(self) -> Array:
        return self.distinct.totals + self.within

    def values(self, gamma: Array, target: AnyArray | None = None) -> tuple[Array, Array]:
        """log_det and q_1 for each γ; there is one set of targets."""
        gamma = np.atleast_1d(np.asarray(gamma, dtype=float))
        log_det, q1 = self.distinct.values(gamma, target)
        return log_det - self.n_zeros * np.log(gamma), q1 + self.within * gamma

    def sums(self, gamma: Array, target: int | AnyArray = 0) -> SpectralSums:
        """The sums for each γ; there is one set of targets, number 0."""
        gamma = np.atleast_1d(np.asarray(gamma, dtype=float))
        found = self.distinct.sums(gamma, target)
        return SpectralSums(
            log_det=found.log_det - self.n_zeros * np.log(gamma),
            q1=found.q1 + self.within * gamma,
            q2=found.q2 + self.within * gamma**2,
            tr1=found.tr1 + self.n_zeros * gamma,
            d_eff=found.d_eff,
            w=found.w,
        )

    def components(self) -> tuple[Array, Array]:
        """Eigenvalues of the weighted matrix, and t_i²."""
        return self.distinct.components()

    def local_evidence(self, mu: float, zeta: float) -> LocalEvidence:
        """Log p(D | μ, ζ) with its derivatives in (log μ, log ζ); the groups add ½(N−G) log ζ − ½ζSS."""
        between = self.distinct.local_evidence(mu, zeta)
        within = 0.5 * (self.n_zeros * np.log(zeta / (2.0 * np.pi)) - zeta * self.within)
        value = between.value + float(within) + self.log_constant - self.distinct.log_constant
        slope = np.array([0.0, 0.5 * (self.n_zeros - zeta * self.within)])
        bend = np.diag([0.0, 0.5 * zeta * self.within])
        return LocalEvidence(value, between.gradient + slope, between.hessian - bend)


def reduced(K: Array, y: Array, rows: GroupedRows | None = None, weights: Array | None = None) -> Reduction:
    """The tridiagonal reduction for targets y of shape (N,), from Ω, or from that of the distinct inputs in `rows`."""
    if rows is None:
        return TridiagonalReduction.from_kernel_matrix(K, y, weights)
    distinct = TridiagonalReduction.from_kernel_matrix(K, rows.means, rows.counts)
    return RepeatedReduction(distinct, len(y) - len(rows.means), rows.squares, log_constant(len(y), rows.weights))


def decomposed(K: Array, y: Array, rows: GroupedRows | None = None, weights: Array | None = None) -> CentredSpectrum:
    """The spectrum for targets y of shape (N,), from Ω, or from that of the distinct inputs in `rows`."""
    if rows is None:
        return CentredSpectrum.from_kernel_matrix(K, y, weights)
    root, own = np.sqrt(rows.counts), 1.0 if rows.weights is None else rows.weights[:, None]
    A, _, v, tau = centre_and_reflect(K, rows.means, rows.counts)
    eigenvalues, U = eigh(A, lower=True, driver="evd", overwrite_a=True, check_finite=False)
    norm = float(np.sqrt(rows.counts @ K**2 @ rows.counts))
    eigenvalues = without_rounding(eigenvalues, norm)
    between = own * (back_from_complement(U, v, tau) / root[:, None])[rows.group]  # [N, G − 1]
    vectors = np.column_stack([_contrasts(rows), between])
    means = product(np.ascontiguousarray(K), rows.counts / rows.counts.sum())[rows.group]
    zeros = np.zeros(len(y) - len(root))
    mean = float(weighted_mean(y, rows.weights))
    t = vectors.T @ (y - mean)
    return CentredSpectrum(np.append(zeros, eigenvalues), vectors, t, mean, means, norm, rows.weights)


def spectrum_of(K: Array, X: Array, y: Array, weights: Array | None = None) -> CentredSpectrum:
    """The spectrum of Ω of shape (N, N) for inputs X of shape (N, d) that may repeat, with targets y of shape (N,)."""
    rows = repeated_inputs(group_equal_inputs(X, y, weights))
    if rows is None:
        return decomposed(K, y, weights=weights)
    first = np.unique(rows.group, return_index=True)[1]
    return decomposed(K[np.ix_(first, first)], y, rows)


def _contrasts(rows: GroupedRows) -> Array:
    """Vectors within the groups, each of sum zero there, of shape (N, N − G): W^½ times orthonormal ones (Helmert's).

    With sums S_k of the first k weights, the k-th has √(w_j w_k/(S_k S_{k+1})) for j < k and −√(S_k/S_{k+1}) at k.
    """
    n = len(rows.group)
    weights = np.ones(n) if rows.weights is None else rows.weights
    vectors = np.zeros((n, n - len(rows.counts)))
    column = 0
    for g in np.flatnonzero(np.bincount(rows.group) > 1):
        members = np.flatnonzero(rows.group == g)
        sums = np.cumsum(weights[members])
        for k in range(1, len(members)):
            scale = np.sqrt(weights[members[k]] / (sums[k - 1] * sums[k]))
            vectors[members[:k], column] = weights[members[:k]] * scale
            vectors[members[k], column] = -sums[k - 1] * scale
            column += 1
    return vectors


def repeated_inputs(rows: GroupedRows) -> GroupedRows | None:
    """The groups where inputs repeat and enough of them are distinct, else None."""
    return rows if rows.repeated and len(rows.counts) >= FEWEST else None
