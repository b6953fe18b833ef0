"""Refinement of kernel parameters: the evidence of level 3 climbed by its gradient in log parameters.

For kernel parameters θ let F(θ) = log p(D | μ_MP(θ), ζ_MP(θ), θ), level 2 solved anew for every θ. With s = 1/γ_MP,
C = (Ω + sI)⁻¹, ρ = C1 and

    R = C − ρρᵀ/1ᵀρ = M(MΩM + sI)⁺M,    α = Ry,    β = Rα,    q_k = yᵀRᵏy,    tr_k = tr Rᵏ on the complement of 1,

the mode is stationary, so the explicit derivative is the whole one: dF = Σ_ij W_ij dΩ_ij with

    W = −½ [ R − (N−1) ααᵀ/q_1 ].

The Occam factor −½[log(γ_eff − 1) + log(N − γ_eff)] with γ_eff = N − s·tr_1 is not stationary in s. Its share follows
from ds/dθ = −h_θ/h_s, where h = tr_1 − (N−1)q_2/q_1 = 0 defines the mode:

    h_s = −tr_2 + (N−1)(2q_3/q_1 − q_2²/q_1²)
    h_θ = Σ_ij [ −R² + (N−1)(αβᵀ + βαᵀ)/q_1 − (N−1)q_2 ααᵀ/q_1² ]_ij dΩ_ij
    dγ_eff = s·Σ_ij (R²)_ij dΩ_ij + (s·tr_2 − tr_1) ds

One Cholesky factor gives R; `Kernel.contract` turns W into the gradient for all parameters at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from ._typing import Array
from .kernels import Kernel, check_positive_semidefinite
from .level2 import Level2, optimise
from .level3 import DEFAULT_PRIOR_SD, as_prior_sd, log_occam, mackay_error_bars
from .spectrum import TridiagonalReduction

# Up to this many points every start is climbed on all data; beyond, the starts are sifted on a subset of this size.
_SUBSET = 400
_SAME_OPTIMUM = 0.05
_MAX_CLIMBS = 3


@dataclass(frozen=True)
class Evaluation:
    """The evidence of one kernel, and its gradient in the kernel's log parameters where it was asked for."""

    kernel: Kernel
    value: float
    level2: Level2
    gradient: Array | None = None
    occam_capped: bool = False


@dataclass(frozen=True)
class Refinement:
    """The best kernel found, and how.

    Attributes
    ----------
    kernel : Kernel
        The kernel with its parameters at the maximum of the evidence.
    value : float
        The criterion there: log evidence with or without the Occam factor.
    optima : tuple of Evaluation
        Each optimum that was climbed to on all data, the best first.
    n_evaluations : int
        Evaluations of the evidence on all data.
    converged : bool
    at_bound : tuple of str
        Parameters that stand at the edge of the searched box.
    """

    kernel: Kernel
    value: float
    optima: tuple[Evaluation, ...]
    n_evaluations: int
    converged: bool
    at_bound: tuple[str, ...]


@dataclass(frozen=True)
class Objective:
    """The evidence as a function of a kernel, on given data.

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
    occam : bool
        Whether the Occam factor belongs to the criterion (5.2, 5.3) or not.
    prior_sd : pair of floats
        Prior widths of log μ and log ζ.
    """

    X: Array
    y: Array
    occam: bool = True
    prior_sd: tuple[float, float] = (DEFAULT_PRIOR_SD, DEFAULT_PRIOR_SD)

    def evaluate(self, kernel: Kernel, *, gradient: bool = False) -> Evaluation:
        """The criterion for one kernel: one tridiagonal reduction, and one Cholesky factor for the gradient."""
        K = kernel(self.X)
        check_positive_semidefinite(kernel, K)
        result = optimise(TridiagonalReduction.from_kernel_matrix(K, self.y))
        occam = log_occam(result, self.prior_sd)
        value = result.log_evidence + (occam.total if self.occam else 0.0)
        slope = self._gradient(kernel, K, result) if gradient else None
        return Evaluation(kernel, value, result, slope, self.occam and occam.capped)

    def _gradient(self, kernel: Kernel, K: Array, result: Level2) -> Array:
        W = self._derivative_in_kernel_matrix(K, result)
        return kernel.contract(self.X, W, K)

    def _derivative_in_kernel_matrix(self, K: Array, result: Level2) -> Array:
        """W = ∂(criterion)/∂Ω of shape (N, N), symmetric."""
        n, s = result.n, 1.0 / result.gamma
        R = _projected_inverse(K, s)
        alpha = R @ self.y
        q1 = float(self.y @ alpha)
        bars = mackay_error_bars(result)
        # ∂(log Occam)/∂γ_eff; an error bar capped at the prior's width does not move
        slope = 0.0
        if self.occam:
            slope -= 0.5 / result.d_eff if bars.log_mu < self.prior_sd[0] else 0.0
            slope += 0.5 / (n - result.gamma_eff) if bars.log_zeta < self.prior_sd[1] else 0.0
        if slope == 0.0:
            R *= -0.5
            R += np.outer((0.5 * (n - 1) / q1) * alpha, alpha)
            return R
        beta = R @ alpha
        q2, q3 = float(alpha @ alpha), float(alpha @ beta)
        tr1, tr2 = float(np.trace(R)), float(np.vdot(R, R))
        h_s = -tr2 + (n - 1) * (2.0 * q3 / q1 - (q2 / q1) ** 2)
        along = 0.0 if result.at_boundary or h_s == 0.0 else -slope * (s * tr2 - tr1) / h_s
        W = R @ R
        W *= slope * s - along  # γ_eff's own share, and −R² of h_θ
        R *= -0.5
        W += R
        del R
        W += np.outer((0.5 * (n - 1) / q1 - along * (n - 1) * q2 / q1**2) * alpha, alpha)
        mixed = np.outer((along * (n - 1) / q1) * alpha, beta)
        W += mixed
        W += mixed.T
        return W


def _projected_inverse(K: Array, s: float) -> Array:
    """R = C − ρρᵀ/1ᵀρ with C = (K + sI)⁻¹, from a Cholesky factor."""
    M = np.array(K, dtype=float, order="F")
    M[np.diag_indices_from(M)] += s
    factor, info = lapack.dpotrf(M, lower=1, overwrite_a=1)
    if info == 0:
        inverse, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if info != 0:
        raise np.linalg.LinAlgError(
            f"The kernel matrix plus 1/γ = {s:.3g} is not positive definite to rounding; γ is too large for it."
        )
    C = _symmetric_from_lower(np.asarray(inverse))
    rho = C.sum(axis=1)
    C -= np.outer(rho / rho.sum(), rho)
    return C


def _symmetric_from_lower(A: Array) -> Array:
    """Copy the lower triangle into the upper one, in place and by blocks."""
    size = 256
    for start in range(0, len(A), size):
        stop = min(start + size, len(A))
        A[start:stop, stop:] = A[stop:, start:stop].T
        block = A[start:stop, start:stop]
        block[:] = np.tril(block) + np.tril(block, -1).T
    return A


def refine(
    kernel: Kernel,
    X: Array,
    y: Array,
    *,
    occam: bool = True,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    seed: int = 0,
) -> Refinement:
    """Kernel parameters of the largest evidence, from several starts.

    Parameters
    ----------
    kernel : Kernel
        Its present parameters are one of the starts.
    X : array of shape (N, d)
    y : array of shape (N,)
    occam : bool
        Which evidence to climb: with the Occam factor (5.2, 5.3) or without it.
    prior_sd : float or pair of floats
        Prior widths of log μ and log ζ (they bound MacKay's error bars).
    seed : int
        Chooses the subset on which starts are sifted when there are more than 400 points.
    """
    objective = Objective(X, y, occam, as_prior_sd(prior_sd))
    if kernel.log_params.size == 0:
        only = objective.evaluate(kernel)
        return Refinement(kernel, only.value, (only,), 1, True, ())
    bounds = kernel.log_bounds(X)
    starts = np.clip(kernel.starting_points(X), bounds[:, 0], bounds[:, 1])
    if len(y) > _SUBSET:
        subset = _stratified_subset(y, _SUBSET, np.random.default_rng(seed))
        small = Objective(X[subset], y[subset], occam, objective.prior_sd)
        climbed = [_climb(small, kernel, start, bounds)[0] for start in _promising(small, kernel, starts)]
        starts = np.array([evaluation.kernel.log_params for evaluation in _distinct(climbed)])
    else:
        starts = _promising(objective, kernel, starts)
    climbs = [_climb(objective, kernel, start, bounds) for start in starts]
    optima = _distinct([evaluation for evaluation, _, _ in climbs])
    best = optima[0]
    position = best.kernel.log_params
    edge = np.isclose(position, bounds[:, 0], atol=1e-6) | np.isclose(position, bounds[:, 1], atol=1e-6)
    names = tuple(name for name, out in zip(kernel.param_names, edge, strict=True) if out)
    return Refinement(
        kernel=best.kernel,
        value=best.value,
        optima=tuple(optima),
        n_evaluations=sum(count for _, count, _ in climbs),
        converged=all(ok for _, _, ok in climbs),
        at_bound=names,
    )


def _stratified_subset(y: Array, size: int, rng: np.random.Generator) -> Array:
    """About `size` points spread evenly over the sorted targets, so that small classes stay represented."""
    order = np.lexsort((rng.random(len(y)), y))
    return np.sort(order[np.linspace(0, len(y) - 1, size).round().astype(int)])


def _promising(objective: Objective, kernel: Kernel, starts: Array) -> Array:
    """The starts worth climbing from: those no worse than their neighbours along the list, the best three of them."""
    values = np.array([objective.evaluate(kernel.with_log_params(start)).value for start in starts])
    if starts.shape[1] == 1:
        order = np.argsort(starts[:, 0], kind="stable")
        ranked = values[order]
        padded = np.concatenate([[-np.inf], ranked, [-np.inf]])
        peaks = order[(ranked >= padded[:-2]) & (ranked >= padded[2:])]
    else:
        peaks = np.arange(len(starts))
    return starts[peaks[np.argsort(-values[peaks], kind="stable")][:_MAX_CLIMBS]]


def _climb(objective: Objective, kernel: Kernel, start: Array, bounds: Array) -> tuple[Evaluation, int, bool]:
    best: Evaluation | None = None

    def cost(log_params: Array) -> tuple[float, Array]:
        nonlocal best
        evaluation = objective.evaluate(kernel.with_log_params(log_params), gradient=True)
        if best is None or evaluation.value > best.value:
            best = evaluation
        assert evaluation.gradient is not None
        return -evaluation.value, -evaluation.gradient

    outcome = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-12, "gtol": 1e-5, "maxiter": 200},
    )
    assert best is not None
    return best, int(outcome.nfev), bool(outcome.success)


def _distinct(evaluations: list[Evaluation]) -> list[Evaluation]:
    """The best of each cluster of optima, best first."""
    kept: list[Evaluation] = []
    for candidate in sorted(evaluations, key=lambda e: -e.value):
        distances = [np.abs(candidate.kernel.log_params - k.kernel.log_params).max() for k in kept]
        if not distances or min(distances) > _SAME_OPTIMUM:
            kept.append(candidate)
    return kept
