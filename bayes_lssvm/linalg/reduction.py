"""The centred kernel matrix, reduced once so that every γ afterwards costs O(N): what a reduction is and begins with.

With M = I − 11ᵀ/N, all of levels 2 and 3 depends on the kernel matrix Ω only through MΩM (paper 0, eq 3.15). We work
in an orthonormal basis of the complement of the constant vector, made by one Householder reflection, in which exactly
N − 1 eigenvalues λ_i remain, zeros included, and t = Vᵀy holds all of the centred targets. With s = 1/γ, a few sums
say everything:

    log_det = Σ log(λ_i + s)        q_k = Σ t_i² / (λ_i + s)^k        tr_k = Σ 1 / (λ_i + s)^k

    E_W + γ E_D = q_1 / 2      E_D = s² q_2 / 2      E_W = (q_1 − s q_2) / 2      γ_eff = N − s tr_1

A point that stands for w_i equal inputs has the noise precision ζw_i. With W = diag(w), W^½ΩW^½ and W^½y then take the
places of Ω and y, and W^½1 that of the constant vector; all sums keep their meaning.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import blas

from ..base.errors import NotPositiveSemidefiniteError
from ..base.rounding import EPS, ROUNDING, negative_rounding
from ..base.typing import AnyArray, Array
from .blas import fortran_copy, product

# stands for the scale of a kernel matrix of zeros
TINY = 1e-100
# γ λ_max beyond which 1/γ is below any noise that double precision could tell from none
_MAX_GAMMA_LAMBDA = 1e12
# What rounding changes in all eigenvalues together, in units of ‖Ω‖, where an estimate is wanted and not a bound
ROUNDING_ERROR = 2 * EPS
RESOLVED = 0.01  # sum of s/(λ_i + s) below which all eigenvalues stand far above s
FARTHEST = 650.0  # log γ; its exponential still leaves room for squares of targets


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


class LocalEvidence(NamedTuple):
    """log p(D | μ, ζ) at a point, with its gradient of shape (2,) and Hessian of shape (2, 2) in (log μ, log ζ)."""

    value: float
    gradient: Array
    hessian: Array


class LocalReduction(Protocol):
    """What levels 2 and 3 need to know of a kernel matrix and L sets of targets at given γ.

    As a rule there is one set, and L = 1. Sets are numbered from 0, and where no number is given the first is meant.
    """

    @property
    def n(self) -> int:
        """Number of data points N."""

    @property
    def gamma_max(self) -> float:
        """The largest γ at which 1/γ stands above the rounding of the eigenvalues."""

    @property
    def totals(self) -> Array:
        """‖My‖², the centred sum of squares of each set of targets, of shape (L,)."""

    @property
    def log_constant(self) -> float:
        """What log p(D | μ, ζ) has beside the N − 1 normal densities: −½ log N, or −½ log Σw_i + ½ Σ log w_i."""

    def values(self, gamma: Array, target: AnyArray | None = None) -> tuple[Array, Array]:
        """log_det of shape (G,) for each γ, and q_1 of the same shape, or (G, L) for several sets of targets.

        With the numbers of sets, one for each γ, q_1 has the shape (G,) in any case.
        """

    def sums(self, gamma: Array, target: int | AnyArray = 0) -> SpectralSums:
        """The sums for each γ and one set of targets, or the sets of these numbers, one for each γ."""

    def local_evidence(self, mu: float, zeta: float) -> LocalEvidence:
        """Log p(D | μ, ζ) with its gradient and Hessian in (log μ, log ζ), in O(N)."""


class Reduction(LocalReduction, Protocol):
    """The same at any γ, with what a search over γ needs to know."""

    @property
    def lambda_max(self) -> float:
        """The largest eigenvalue of MΩM, or a bound of its size."""

    @property
    def kernel_norm(self) -> float:
        """Norm of Ω, the scale of rounding."""

    @property
    def n_zeros(self) -> int:
        """Eigenvalues that are known to be zero, whatever rounding makes of them: N − G where rows repeat inputs."""

    @property
    def within(self) -> float:
        """Squared length of the targets in the directions of the known zeros."""

    def components(self) -> tuple[Array, Array]:
        """Eigenvalues as they were computed, the known zeros left out, and t_i² of the first set of targets."""


def evidence_by_sums(
    m: int, mu: float, s: float, log_det: float, q: tuple[float, float, float], tr: tuple[float, float]
) -> LocalEvidence:
    """Log p(D | μ, ζ) without its constant, and its derivatives, from q_1 … q_3 and tr_1, tr_2 at s = μ/ζ.

    With m = N − 1, log p = ½m log μ − ½ log_det(s) − ½ μ q_1(s) + const; the chain rule from (log μ, log s).
    """
    value = 0.5 * (m * np.log(mu / (2.0 * np.pi)) - log_det - mu * q[0])
    noise = 0.5 * s * (tr[0] - mu * q[1])
    mm, ms = -0.5 * mu * q[0], 0.5 * mu * s * q[1]
    ss = -0.5 * s * tr[0] + 0.5 * s**2 * tr[1] + ms - mu * s**2 * q[2]
    hessian = np.array([[mm + 2.0 * ms + ss, -(ms + ss)], [-(ms + ss), ss]])
    return LocalEvidence(float(value), np.array([0.5 * (m - mu * q[0]) - noise, noise]), hessian)


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


def on_complement(A: Array, x: Array) -> tuple[Array, Array, float]:
    """A in a basis of the complement of the vector x (lower triangle), with the reflection that made it.

    A is symmetric, in Fortran order, and its memory is used up.
    """
    v, tau = reflector(x / np.linalg.norm(x))
    return np.asfortranarray(reflect_symmetric(A, v, tau)[1:, 1:]), v, tau


def back_from_complement(U: Array, v: Array, tau: float) -> Array:
    """Columns of U of shape (N − 1, m), taken back through the reflection: shape (N, m)."""
    V = np.empty((len(v), U.shape[1]), order="F")
    V[0] = 0.0
    V[1:] = U
    V -= np.outer(tau * v, product(U.T, v[1:]))
    return V


def centre_and_reflect(K: Array, y: Array, weights: Array | None = None) -> tuple[Array, Array, Array, float]:
    """MΩM and My in a basis of the complement of 1 (lower triangle), with the reflection that made it.

    The targets y are of shape (N,), or (N, L) for L sets; with weights, of shape (N,), W^½ΩW^½ and W^½y are reduced.
    """
    n = len(y)
    if n < (3 if weights is None else 2):  # two distinct inputs can stand for more rows
        raise ValueError(f"At least 3 data points are needed for a bias and two hyperparameters, got {n}.")
    A, constant = fortran_copy(K), np.ones(n)
    centred = y - np.average(y, axis=0, weights=weights)  # first, so that an offset does not cost digits
    if weights is not None:
        constant = np.sqrt(weights)
        A *= constant[:, None]
        A *= constant
        centred = (centred.T * constant).T
    A, v, tau = on_complement(A, constant)
    t = (centred - np.multiply.outer(v, tau * (v @ centred)))[1:]
    # equal targets: what remains is rounding
    t[..., np.linalg.norm(t, axis=0) <= 10 * EPS * np.linalg.norm(y, axis=0)] = 0.0
    return A, t, v, tau


def log_constant(n: int, weights: Array | None = None) -> float:
    """−½ log N, or −½ log Σw_i + ½ Σ log w_i: from the bias with p(b) = 1, and from the weighted noise."""
    if weights is None:
        return -0.5 * float(np.log(n))
    return 0.5 * float(np.log(weights).sum() - np.log(weights.sum()))


def largest_gamma(lambda_max: float, kernel_norm: float) -> float:
    """The largest γ that can be told from infinity: beyond, 1/γ is below the rounding of the kernel matrix."""
    return 1.0 / max(lambda_max / _MAX_GAMMA_LAMBDA, ROUNDING * kernel_norm)


def largest_log_gamma(reduction: Reduction) -> float:
    """The largest log γ at which the evidence can be computed: any, where no eigenvalue is lost in rounding."""
    return FARTHEST if unresolved(reduction) < RESOLVED else float(np.log(reduction.gamma_max))


def unresolved(reduction: Reduction) -> float:
    """How many eigenvalues do not stand above 1/γ_max, in s·tr_1; those that are known to be zero are not counted."""
    gamma = reduction.gamma_max
    return max(float(reduction.sums(np.array([gamma])).tr1[0]) / gamma - reduction.n_zeros, 0.0)


def indefinite(smallest: float, largest: float) -> NotPositiveSemidefiniteError:
    """The error of a kernel matrix with an eigenvalue below zero by more than rounding."""
    return NotPositiveSemidefiniteError(
        f"The kernel matrix is not positive semi-definite: its smallest eigenvalue is {smallest:.3g}, its largest "
        f"{largest:.3g}. The model needs a kernel that is an inner product; use another one or other parameters."
    )


def without_rounding(eigenvalues: Array, norm: float) -> Array:
    """Ascending eigenvalues with rounding below zero set to zero; one beyond the rounding of ‖Ω‖ is refused."""
    if eigenvalues[0] < -negative_rounding(len(eigenvalues), norm):
        raise indefinite(float(eigenvalues[0]), float(eigenvalues[-1]))
    return np.maximum(eigenvalues, 0.0)
