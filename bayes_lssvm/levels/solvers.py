"""The linear system of the LS-SVM (paper 0, eq 2.19) in three ways.

    [ 0    1ᵀ       ] [ b ]   [ 0 ]
    [ 1    Ω + I/γ  ] [ α ] = [ y ]        f(x) = Σ_i α_i K(x, x_i) + b,   α = γe,   Σ α_i = 0

It is not definite, but with M = Ω + I/γ the two definite systems Mρ = 1 and Mν = y give b = 1ᵀν / 1ᵀρ and α = ν − bρ
(paper 1, section 1.1.2). `solve_cholesky` factorises M; `solve_spectral` has every γ from one decomposition;
`solve_cg` runs conjugate gradients (Hestenes and Stiefel) on both systems at once and sees the kernel matrix only in
blocks of rows. Where point i has the noise precision ζw_i, its diagonal element is 1/(γw_i) instead of 1/γ.
`solve_distinct` puts rows with equal inputs together first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..base.errors import NotPositiveSemidefiniteError, require_positive, warn
from ..base.progress import tqdm
from ..base.rounding import EPS
from ..base.rows import group_equal_inputs
from ..base.typing import Array
from ..kernels import Kernel, check_positive_semidefinite
from ..linalg.factor import Factor
from ..linalg.spectrum import CentredSpectrum

_BLOCK_DOUBLES = 4_000_000  # 32 MB of kernel rows at a time
_CHECKED = 1000  # points on which a kernel that may be indefinite is looked at: one bad corner condemns the matrix


class KKTSolution(NamedTuple):
    """Support values α of shape (N,) and bias b; of shape (N, L) and (L,) for L outputs."""

    alpha: Array
    intercept: Any


class CGSolution(NamedTuple):
    """A solution by conjugate gradients, with what it took."""

    alpha: Array
    intercept: float
    iterations: int
    residual: float
    converged: bool


def _noise(gamma: float, weights: Array | None) -> float | Array:
    """1/γ, or 1/(γw_i) for each point."""
    return 1.0 / gamma if weights is None else 1.0 / (gamma * weights)


def solve_cholesky(K: Array, y: Array, gamma: float, weights: Array | None = None) -> KKTSolution:
    """Solve 2.19 by one Cholesky factor of Ω + I/γ, for targets y of shape (N,), or (N, L) for L outputs."""
    require_positive("gamma", gamma)
    solved = Factor.of(K, _noise(gamma, weights)).solve(np.column_stack([np.ones(len(y)), y]))
    return _combine(solved[:, 0], solved[:, 1:].reshape(y.shape))


def solve_distinct(kernel: Kernel, X: Array, y: Array, gamma: float, weights: Array | None = None) -> KKTSolution:
    """Solve 2.19 for targets y of shape (N,) by one Cholesky factor of the distinct inputs.

    Rows with equal inputs share f. With their weighted mean ȳ_g and sum of weights W_g, γW_g(ȳ_g − f) is the sum of
    their support values, and each has its share of that and γw_i(y_i − ȳ_g). By the system of all rows these values
    would have the rounding of y_i − f times γ, which is most of them where γ is large.
    """
    rows = group_equal_inputs(X, y, weights)
    if not rows.repeated:
        return solve_cholesky(kernel(X), y, gamma, weights)
    sums, intercept = solve_cholesky(kernel(rows.X), rows.means, gamma, rows.counts)
    beside = y - rows.means[rows.group]
    beside[np.abs(beside) <= 4.0 * EPS * np.abs(y).max()] = 0.0  # of the mean of equal targets
    alpha = (sums / rows.counts)[rows.group] + gamma * beside
    return KKTSolution(alpha if weights is None else weights * alpha, intercept)


def solve_spectral(spectrum: CentredSpectrum, gamma: float) -> KKTSolution:
    """Solve 2.19 in O(N²) from the decomposition of the centred kernel matrix."""
    require_positive("gamma", gamma)
    alpha = spectrum.vectors @ (spectrum.t / (spectrum.eigenvalues + 1.0 / gamma))
    # zero mean error: b = m̂_Y − wᵀm̂_Υ
    return KKTSolution(alpha, spectrum.y_mean - float(spectrum.kernel_means @ alpha))


def _combine(rho: Array, nu: Array) -> KKTSolution:
    intercept = nu.sum(axis=0) / rho.sum()
    return KKTSolution(nu - np.multiply.outer(rho, intercept), float(intercept) if nu.ndim == 1 else intercept)


def kernel_product(kernel: Kernel, X: Array, Z: Array, B: Array) -> Array:
    """K(X, Z) B by blocks of rows, without the whole block in memory."""
    rows = max(1, _BLOCK_DOUBLES // max(len(Z), 1))
    out = np.empty((len(X), *B.shape[1:]))
    for start in range(0, len(X), rows):
        out[start : start + rows] = kernel(X[start : start + rows], Z) @ B
    return out


def _pivoted_cholesky(kernel: Kernel, X: Array, rank: int) -> Array:
    """L of shape (N, r) with LLᵀ ≈ Ω: the greedy partial factor, one kernel row a column."""
    remaining = kernel.diag(X).copy()
    floor = 1e-12 * float(remaining.max())
    L = np.zeros((len(X), min(rank, len(X))))
    for k in range(L.shape[1]):
        pivot = int(np.argmax(remaining))
        if remaining[pivot] <= floor:
            return L[:, :k]
        row = kernel(X[pivot : pivot + 1], X)[0]
        L[:, k] = (row - L[:, :k] @ L[pivot, :k]) / np.sqrt(remaining[pivot])
        remaining = np.maximum(remaining - L[:, k] ** 2, 0.0)
        remaining[pivot] = 0.0
    return L


class _Preconditioner:
    """(LLᵀ + D)⁻¹ for a diagonal D by the matrix inversion lemma: D⁻¹ − D⁻¹L(I + LᵀD⁻¹L)⁻¹LᵀD⁻¹."""

    def __init__(self, L: Array, noise: Array) -> None:
        self.L, self.noise = L, noise
        self.factor = Factor.of(L.T @ (L / noise), 1.0) if L.shape[1] else None

    def __call__(self, R: Array) -> Array:
        own = R / self.noise
        if self.factor is None:
            return np.asarray(own)
        return np.asarray(own - (self.L @ self.factor.solve(self.L.T @ own)) / self.noise)


def solve_cg(
    kernel: Kernel,
    X: Array,
    y: Array,
    gamma: float,
    *,
    weights: Array | None = None,
    tolerance: float = 1e-10,
    max_iter: int | None = None,
    preconditioner_rank: int = 100,
    progress: bool = True,
) -> CGSolution:
    """Solve 2.19 without ever holding the kernel matrix: O(N) memory times the preconditioner's rank.

    Parameters
    ----------
    kernel : Kernel
    X : array of shape (N, d)
    y : array of shape (N,)
    gamma : float
    weights : array of shape (N,), optional
    tolerance : float
        Largest relative residual ‖Mx − r‖/‖r‖ of the two systems at which the iteration stops.
    max_iter : int, optional
        Default 10 N, at most 5000. Running out of iterations is a `ConvergenceWarning`.
    preconditioner_rank : int
        Columns of the pivoted partial Cholesky factor that preconditions the iteration; 0 for none.
    progress : bool
        Show a progress bar on a terminal.
    """
    require_positive("gamma", gamma)
    limit = min(10 * len(y), 5000) if max_iter is None else max_iter
    noise = np.broadcast_to(_noise(gamma, weights), y.shape)[:, None]  # [N, 1]
    precondition = _Preconditioner(_pivoted_cholesky(kernel, X, preconditioner_rank), noise)
    check_positive_semidefinite(kernel, kernel(X[:_CHECKED]) if not kernel.is_psd else np.empty((0, 0)))
    y = np.asarray(y, dtype=float)
    B = np.stack([np.ones_like(y), y], axis=1)  # [N, 2]
    norms = np.linalg.norm(B, axis=0)
    norms[norms == 0.0] = 1.0
    solution = np.zeros_like(B)
    R = B.copy()
    Z = precondition(R)
    P = Z.copy()
    rz = np.einsum("ij,ij->j", R, Z)
    residual, iteration = 1.0, 0
    with tqdm(total=limit, desc="conjugate gradients", disable=None if progress else True, leave=False) as bar:
        while residual > tolerance and iteration < limit:
            MP = kernel_product(kernel, X, X, P) + noise * P
            # a system that has converged keeps its solution: its step is zero
            curvature = np.einsum("ij,ij->j", P, MP)
            if np.any((curvature <= 0.0) & (rz > 0.0)):
                raise NotPositiveSemidefiniteError(
                    f"The kernel matrix of {kernel!s} plus 1/γ is not positive definite on these data; use another "
                    "kernel or other parameters."
                )
            step = np.divide(rz, curvature, out=np.zeros(2), where=curvature > 0)
            solution += step * P
            R -= step * MP
            Z = precondition(R)
            rz_new = np.einsum("ij,ij->j", R, Z)
            P = Z + np.divide(rz_new, rz, out=np.zeros(2), where=rz > 0) * P
            rz = rz_new
            residual = float(np.max(np.linalg.norm(R, axis=0) / norms))
            iteration += 1
            bar.set_postfix_str(f"residual {residual:.1e}", refresh=False)
            bar.update()
    converged = residual <= tolerance
    if not converged:
        warn(
            f"Conjugate gradients stopped after {iteration} iterations at a relative residual of {residual:.1e} "
            f"(wanted {tolerance:.1e}). A smaller gamma, a larger preconditioner_rank or max_iter may help.",
            ConvergenceWarning,
        )
    alpha, intercept = _combine(solution[:, 0], solution[:, 1])
    return CGSolution(alpha, intercept, iteration, residual, converged)
