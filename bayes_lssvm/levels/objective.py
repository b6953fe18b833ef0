"""The evidence as a function of the kernel's parameters, with its gradient.

For kernel parameters θ let F(θ) = log p(D | μ_MP(θ), ζ_MP(θ), θ), level 2 solved anew for every θ. With s = 1/γ_MP,
C = (Ω + sI)⁻¹, ρ = C1 and

    R = C − ρρᵀ/1ᵀρ = M(MΩM + sI)⁻¹M,    α = Ry,    β = Rα,    q_k = yᵀRᵏy,    tr_k = tr Rᵏ on the complement of 1,

the mode is stationary, so the explicit derivative is the whole one: dF = Σ_ij W_ij dΩ_ij with

    W = −½ [ R − (N−1) ααᵀ/q_1 ].

The Occam factor −½[log(γ_eff − 1) + log(N − γ_eff)] with γ_eff = N − s·tr_1 is not stationary in s. Its share follows
from ds/dθ = −h_θ/h_s, where h = tr_1 − (N−1)q_2/q_1 = 0 defines the mode:

    h_s = −tr_2 + (N−1)(2q_3/q_1 − q_2²/q_1²)
    h_θ = Σ_ij [ −R² + (N−1)(αβᵀ + βαᵀ)/q_1 − (N−1)q_2 ααᵀ/q_1² ]_ij dΩ_ij
    dγ_eff = s·Σ_ij (R²)_ij dΩ_ij + (s·tr_2 − tr_1) ds

One Cholesky factor gives R; `Kernel.contract` turns W into the gradient for all parameters at once. Without the Occam
factor the evidence can also be climbed in (log γ, θ) jointly, where one Cholesky factor is all that a step costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas

from ..base.typing import AnyArray, Array
from ..kernels import Kernel, Matrices, check_positive_semidefinite
from ..linalg.blas import mirror_lower, multiple_of_identity, product, square, squared_norm, trace_of_product
from ..linalg.factor import ProjectedInverse
from ..linalg.reduction import LocalReduction, log_constant
from ..linalg.spectrum import TridiagonalReduction
from ..priors import HyperPrior, LogPrior
from .level1 import DualPosterior
from .level2 import Level2, optimise
from .level2_posterior import LaplaceDerivative, Level2Posterior, laplace_derivative, most_probable
from .level3 import DEFAULT_PRIOR_SD, log_occam, occam_slope

BOUNDARY_MARGIN = 10.0  # nats
_BLOCK = 128  # rows at a time
_UNSEEN = 1e-10  # of R, which has more rounding where the kernel interpolates


class Solved(NamedTuple):
    """The kernel matrix, of shape (N, N), and level 1 at the most probable μ and ζ."""

    K: Array
    posterior: DualPosterior


@dataclass(frozen=True)
class Evaluation:
    """The evidence of one kernel, and its gradient in the kernel's log parameters where it was asked for."""

    kernel: Kernel
    value: float
    level2: Level2
    reduction: LocalReduction
    gradient: Array | None = None
    occam_capped: bool = False
    posterior: Level2Posterior | None = None  # where the criterion has a prior in it
    solved: Solved | None = None  # where the evaluation is from the factor that the model needs

    @property
    def rank(self) -> float:
        """The value by which optima are ordered: an end of the range of γ must win by a clear margin.

        At γ → ∞ or 0 there is no mode, so that no error bars and no Occam factor are paid for it. Labels ±1 in
        particular can be interpolated about as well as modelled, by a kernel too narrow to predict anything.
        """
        at_end = self.level2.at_boundary if self.posterior is None else not self.posterior.has_mode
        return self.value - BOUNDARY_MARGIN if at_end else self.value


class JointEvaluation(NamedTuple):
    """log p(D | γ, θ) with μ at its optimum, and its gradient in (log γ, log θ)."""

    value: float
    gradient: Array


class InformedEvaluation(NamedTuple):
    """log p(D | μ, ζ, θ), its gradient in (log μ, log ζ, log θ), and the average information.

    That is ½ fᵢᵀC⁻¹fⱼ with fᵢ = ∂C/∂xᵢ C⁻¹y for the covariance C = Ω/μ + 1/ζ of the targets: the mean of minus the
    Hessian and its expected value where C is linear in x, about that elsewhere, and never indefinite.
    """

    value: float
    gradient: Array
    information: Array


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
    prior : HyperPrior, optional
        A prior of log μ, log ζ and the kernel's log parameters. With one, the criterion is Laplace's evidence with the
        prior in it (`levels.level2_posterior`) times the prior density of the kernel's parameters, and `occam` and
        `prior_sd` have no part in it.
    weights : array of shape (N,), optional
        The noise precision of a point is ζw_i: it may stand for w_i equal inputs.
    """

    X: Array
    y: Array
    occam: bool = True
    prior_sd: tuple[float, float] = (DEFAULT_PRIOR_SD, DEFAULT_PRIOR_SD)
    prior: HyperPrior | None = None
    weights: Array | None = None

    def at_rows(self, X: Array, rows: AnyArray, sign: float = 1.0) -> Objective:
        """The same of some rows, or of all in another order, with inputs X there and targets times the sign."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=X, y=sign * self.y[rows], weights=weights)

    @cached_property
    def _kept(self) -> dict[type[Kernel], Matrices]:
        return {}

    def _matrices(self, kernel: Kernel) -> Matrices:
        """Matrices of the kernel's family at these points; what they share is computed at the first of them."""
        family = type(kernel)
        if family not in self._kept:
            self._kept[family] = kernel.on(self.X)
        return self._kept[family]

    @cached_property
    def _bare(self) -> dict[float, tuple[TridiagonalReduction, Level2Posterior]]:
        """Level 2 of kernels so narrow that their matrix is a multiple of the identity, by that multiple."""
        return {}

    def evaluate(self, kernel: Kernel, *, gradient: bool = False) -> Evaluation:
        """The criterion for one kernel: one tridiagonal reduction, and one Cholesky factor for the gradient."""
        matrices = self._matrices(kernel)
        K = matrices(kernel)
        check_positive_semidefinite(kernel, K)
        if self.prior is not None:
            return self._with_prior(self.prior, kernel, K, gradient)
        reduction = TridiagonalReduction.from_kernel_matrix(K, self.y, self.weights)
        result = optimise(reduction)
        occam = log_occam(result, self.prior_sd)
        value = result.log_evidence + (occam.total if self.occam else 0.0)
        slope = None
        if gradient:
            slope = matrices.contract(kernel, self._derivative_in_kernel_matrix(K, result), K)
        return Evaluation(kernel, value, result, reduction, slope, self.occam and occam.capped)

    def _with_prior(self, prior: HyperPrior, kernel: Kernel, K: Array, gradient: bool) -> Evaluation:
        """Laplace's evidence with the prior of (log μ, log ζ) in it, times that of the kernel's parameters."""
        prior_mu, prior_zeta, *own = prior.components(len(kernel.log_params))
        bare = multiple_of_identity(K)
        if bare in self._bare:
            reduction, found = self._bare[bare]
        else:
            reduction = TridiagonalReduction.from_kernel_matrix(K, self.y, self.weights)
            found = most_probable(reduction, prior_mu, prior_zeta)
            if bare is not None:
                self._bare[bare] = reduction, found
        at = list(zip(own, kernel.log_params, strict=True))
        value = found.log_evidence + sum(float(part.log_density(x)) for part, x in at)
        slope = None
        if gradient:
            W = self.laplace_derivative(K, found, (prior_mu, prior_zeta))
            slope = self._matrices(kernel).contract(kernel, W, K)
            slope = slope + np.array([float(part.gradient(x)) for part, x in at])
        return Evaluation(kernel, value, found.level2, reduction, slope, posterior=found)

    def laplace_derivative(self, K: Array, found: Level2Posterior, priors: tuple[LogPrior, LogPrior]) -> Array:
        """W = ∂(Laplace's evidence)/∂Ω of shape (N, N); with weights, R² stands for RW⁻¹R and R³ for RW⁻¹RW⁻¹R."""
        s = 1.0 / found.level2.gamma
        w = self.weights
        inverse = ProjectedInverse.of(K, s if w is None else s / w)
        y = self.y - np.average(self.y, weights=w)
        alpha = inverse.apply(y)
        R = mirror_lower(inverse.lower()).T
        return laplace_weights(R, y, alpha, w, lambda q, tr: laplace_derivative(found, priors, q, tr))

    def joint(self, kernel: Kernel, log_gamma: float) -> JointEvaluation:
        """Log p(D | γ, θ), μ eliminated, without the Occam factor; every step costs one Cholesky factor."""
        n, s = len(self.y), float(np.exp(-log_gamma))
        step = self._step(kernel, s, sloped=True)
        value = -0.5 * (step.log_det + (n - 1) * (np.log(2.0 * np.pi * step.q1 / (n - 1)) + 1.0))
        value += log_constant(n, self.weights)
        along_gamma = 0.5 * s * (step.tr1 - (n - 1) * step.q2 / step.q1)
        along_kernel = self._along_kernel(kernel, step, 0.5 * (n - 1) / step.q1)
        return JointEvaluation(float(value), np.append(along_gamma, along_kernel))

    def at(self, kernel: Kernel, log_mu: float, log_zeta: float, *, along_kernel: bool = True) -> JointEvaluation:
        """Log p(D | μ, ζ, θ), nothing eliminated, with its gradient in (log μ, log ζ, log θ)."""
        n, mu, s = len(self.y), float(np.exp(log_mu)), float(np.exp(log_mu - log_zeta))
        step = self._step(kernel, s, sloped=along_kernel)
        value = -0.5 * ((n - 1) * (np.log(2.0 * np.pi) - log_mu) + mu * step.q1 + step.log_det)
        value += log_constant(n, self.weights)
        noise = 0.5 * s * (step.tr1 - mu * step.q2)
        weights = 0.5 * (n - 1 - mu * step.q1) - noise
        rest = self._along_kernel(kernel, step, 0.5 * mu) if along_kernel else np.empty(0)
        return JointEvaluation(float(value), np.concatenate([[weights, noise], rest]))

    def informed(self, kernel: Kernel, log_mu: float, log_zeta: float) -> InformedEvaluation:
        """As `at`, with the average information: about minus the Hessian, for some products with vectors more."""
        mu, s = float(np.exp(log_mu)), float(np.exp(log_mu - log_zeta))
        step, n = self._step(kernel, s), len(self.y)
        along_mu = product(step.K, step.alpha)
        noise = s * step.alpha if self.weights is None else s * step.alpha / self.weights
        vectors = np.column_stack([-along_mu, -noise, kernel.slopes_times(self.X, step.alpha, step.K)])
        value = -0.5 * ((n - 1) * (np.log(2.0 * np.pi) - log_mu) + mu * step.q1 + step.log_det)
        along_zeta = 0.5 * s * (step.tr1 - mu * step.q2)
        R = step.inverse.lower()
        information = 0.5 * mu * vectors.T @ blas.dsymm(1.0, R, np.asfortranarray(vectors), lower=1)
        W = evidence_derivative(R, step.alpha, 0.5 * mu)
        along_kernel = self._matrices(kernel).contract(kernel, W, step.K)
        gradient = np.concatenate([[0.5 * (n - 1 - mu * step.q1) - along_zeta, along_zeta], along_kernel])
        return InformedEvaluation(float(value + log_constant(n, self.weights)), gradient, information)

    def _step(self, kernel: Kernel, s: float, *, sloped: bool = False) -> _Step:
        """What one Cholesky factor of Ω + sI tells; `sloped` where the slope along the kernel is wanted, and no Ω."""
        w = self.weights
        noise = s if w is None else s / w
        if sloped and kernel.log_params.size == 1 and type(self._matrices(kernel)) is Matrices:
            K, dK = kernel.lower_with_slope(self.X)
            inverse = ProjectedInverse.in_place(K, noise)
        else:
            K, dK = self._matrices(kernel)(kernel), None
            inverse = ProjectedInverse.of(K, noise)
        alpha, q1 = self._support(inverse)
        if w is None:
            # det(MΩM + s) on the complement of 1 is det(Ω + s)·1ᵀC1/N
            log_det = inverse.log_det + float(np.log(inverse.total / len(self.y)))
            return _Step(K, dK, inverse, alpha, q1, float(alpha @ alpha), inverse.trace, log_det)
        # det(W^½ΩW^½ + s) on the complement of W^½1 is det(Ω + sW⁻¹)·Πw_i·1ᵀC1/Σw_i, and R is W^{−½}RW^{−½} there
        log_det = inverse.log_det + float(np.log(w).sum() + np.log(inverse.total / w.sum()))
        trace = float((np.diag(inverse.C) - inverse.rho**2 / inverse.total) @ (1.0 / w))
        return _Step(K, dK, inverse, alpha, q1, float(alpha @ (alpha / w)), trace, log_det)

    def _along_kernel(self, kernel: Kernel, step: _Step, weight: float) -> Array:
        """Derivatives in log θ by W = −½R + weight·ααᵀ; uses up the inverse."""
        R = step.inverse.lower()
        if step.dK is not None:
            fit = float(step.alpha @ blas.dsymv(1.0, step.dK, step.alpha, lower=1))
            return np.array([weight * fit - 0.5 * trace_of_product(R, step.dK)])
        W = evidence_derivative(R, step.alpha, weight)
        return self._matrices(kernel).contract(kernel, W, step.K)

    def _support(self, inverse: ProjectedInverse) -> tuple[Array, float]:
        """α = Ry and q_1 = yᵀRy."""
        # R annihilates constants; taking them out first saves digits
        y = self.y - np.average(self.y, weights=self.weights)
        alpha = inverse.apply(y)
        return alpha, float(y @ alpha)

    def _derivative_in_kernel_matrix(self, K: Array, result: Level2) -> Array:
        """W = ∂(criterion)/∂Ω of shape (N, N), symmetric; with weights, R² stands for RW⁻¹R."""
        n, s, w = result.n, 1.0 / result.gamma, self.weights
        inverse = ProjectedInverse.of(K, s if w is None else s / w)
        alpha, q1 = self._support(inverse)
        slope = occam_slope(result, self.prior_sd) if self.occam else 0.0
        if slope == 0.0:
            return evidence_derivative(inverse.lower(), alpha, 0.5 * (n - 1) / q1)
        R, noise = inverse.lower(), np.ones(n) if w is None else 1.0 / w
        if result.at_boundary:  # where γ does not move, the only other term is slope·s·R², beside −½R
            norm = float(np.sqrt(trace_of_product(R, R)))
            if abs(slope) * s * norm * float(noise.max()) < _UNSEEN:  # as it is where γ is the largest there is
                return evidence_derivative(R, alpha, 0.5 * (n - 1) / q1)
        R = mirror_lower(R).T
        beta = product(R, noise * alpha)
        q2, q3 = float(alpha @ (noise * alpha)), float(alpha @ (noise * beta))
        W = square(R) if w is None else product(R * noise, R)
        traces = (float(np.diagonal(R) @ noise), squared_norm(R) if w is None else float(np.diagonal(W) @ noise))
        c = derivative_coefficients(n, s, slope, (q1, q2, q3), traces, still=result.at_boundary)
        W *= c.square
        R *= -0.5
        W += R
        del R, inverse
        W += np.outer(c.own * alpha, alpha)
        mixed = np.outer(c.mixed * alpha, beta)
        W += mixed
        W += mixed.T
        return W


def laplace_weights(
    R: Array,
    y: Array,
    alpha: Array,
    weights: Array | None,
    coefficients: Callable[[Sequence[float], Sequence[float]], LaplaceDerivative],
) -> Array:
    """W = ∂(Laplace's evidence)/∂Ω of shape (N, N), in the memory of R, which is whole and in C order.

    Parameters
    ----------
    R : array of shape (N, N)
    y, alpha : arrays of shape (N,)
        Targets round their mean, and Ry.
    weights : array of shape (N,) or None
    coefficients : callable
        From q_1 … q_4 and tr_1 … tr_3.
    """
    root = None if weights is None else np.sqrt(weights)
    if root is not None:  # W^{−½}RW^{−½}, W^½y and W^{−½}α have the sums and products of equal weights
        R /= root[:, None]
        R /= root
        y, alpha = root * y, alpha / root
    beta = product(R, alpha)
    eta = product(R, beta)
    second = square(R)
    traces = (float(np.trace(R)), squared_norm(R), float(np.einsum("ij,ij->", R, second)))
    moments = [float(v) for v in (y @ alpha, alpha @ alpha, alpha @ beta, beta @ beta)]
    c = coefficients(moments, traces)
    vectors = np.stack([alpha, beta, eta], axis=1)  # [N, 3]
    forms = np.array([[c.own, c.mixed, c.far], [c.mixed, c.far, 0.0], [c.far, 0.0, 0.0]])
    right = np.ascontiguousarray((vectors @ forms).T)
    # a block of rows of W needs the same rows of R only, and takes their place; its half to the right is mirrored
    for start in range(0, len(y), _BLOCK):
        stop = min(start + _BLOCK, len(y))
        rows, left = slice(start, stop), slice(0, stop)
        block = product(c.cube * R[rows], second[:, left])
        block += c.square * second[rows, left]
        block -= 0.5 * R[rows, left]
        block += product(np.ascontiguousarray(vectors[rows]), np.ascontiguousarray(right[:, left]))
        R[rows, left] = block
    if root is not None:
        R *= root[:, None]
        R *= root
    return mirror_lower(R)


class DerivativeCoefficients(NamedTuple):
    """Numbers, or one for each set of targets, with W = −½R + square·R² + own·ααᵀ + mixed·(αβᵀ + βαᵀ)."""

    square: Any
    own: Any
    mixed: Any


def derivative_coefficients(
    n: int, s: Any, slope: Any, q: tuple[Any, Any, Any], tr: tuple[Any, Any], *, still: Any
) -> DerivativeCoefficients:
    """How the criterion changes with Ω (the module's docstring), for numbers or for arrays of one shape.

    Parameters
    ----------
    n : int
    s : 1/γ
    slope : ω = ∂(log Occam factor)/∂γ_eff
    q, tr : q_1, q_2, q_3 and tr_1, tr_2
    still : whether γ is an end of its range, which does not move
    """
    q1, q2, q3 = q
    tr1, tr2 = tr
    h_s = -tr2 + (n - 1) * (2.0 * q3 / q1 - (q2 / q1) ** 2)
    still = still | (h_s == 0.0)
    along = np.where(still, 0.0, -slope * (s * tr2 - tr1) / np.where(still, 1.0, h_s))  # κ, the share of ds/dθ
    own = 0.5 * (n - 1) / q1 - along * (n - 1) * q2 / q1**2
    return DerivativeCoefficients(slope * s - along, own, along * (n - 1) / q1)  # γ_eff's own share, and −R² of h_θ


class _Step(NamedTuple):
    """The kernel matrix, R by its parts, α = Ry and the sums q_1, q_2, tr_1, log_det at one s = 1/γ.

    Where the matrix of the only slope is there, in its lower triangle, the kernel matrix is used up.
    """

    K: Array
    dK: Array | None
    inverse: ProjectedInverse
    alpha: Array
    q1: float
    q2: float
    tr1: float
    log_det: float


def evidence_derivative(R: Array, alpha: Array, weight: float) -> Array:
    """W = −½R + weight·ααᵀ, built in the memory of R, of which the lower triangle is given, and mirrored."""
    R *= -0.5
    W = blas.dsyr(weight, alpha, lower=1, a=R, overwrite_a=1)
    return mirror_lower(W).T  # symmetric; the transpose has the kernel matrix's memory order
