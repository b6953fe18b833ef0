"""The log posterior density of all hyperparameters, log p(D | μ, ζ, θ) + log p(log μ, log ζ, log θ), up to p(D | H).

A point is x = (log μ, log ζ, log θ₁, …). One Cholesky factor gives a value, and with its inverse the gradient; many
points of one kernel cost one tridiagonal reduction and O(N) each. Rows that repeat inputs are put together first
(`linalg.repeats`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.rows import GroupedRows, group_equal_inputs
from ..base.typing import AnyArray, Array
from ..kernels import Kernel, check_positive_semidefinite
from ..levels.level2 import log_evidence, log_evidence_gradient, log_evidence_hessian, log_evidences
from ..levels.objective import Objective
from ..linalg.factor import Factor
from ..linalg.reduction import FARTHEST, Reduction, largest_log_gamma, log_constant
from ..linalg.repeats import reduced, repeated_inputs
from ..priors import LogPrior
from ..search.order import OrderedSearch

_FARTHEST = 300.0  # log μ
_SMALLEST = 1e-100  # of γλ, whose square must not underflow
_SQUARED = 1e100  # of γ, whose square times a sum of squares must not overflow
_WELL_CONDITIONED = 1e6  # γ times the trace of Ω, up to which a Cholesky factor is as good as a reduction
_STEP = 1e-3  # of the differences of gradients: their error is of order step⁴


class Value(NamedTuple):
    """The log density at a point and its gradient."""

    value: float
    gradient: Array


@dataclass(frozen=True)
class Density:
    """The log posterior density on given data, not normalised: its integral is the evidence p(D | H).

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
    kernel : Kernel
    parts : tuple of LogPrior
        Priors of log μ, log ζ and of each free log parameter of the kernel.
    weights : array of shape (N,) or None
        Of the rows: row i has the noise precision ζw_i.
    """

    X: Array
    y: Array
    kernel: Kernel
    parts: tuple[LogPrior, ...]
    weights: Array | None = None
    objective: Objective = field(init=False)
    rows: GroupedRows | None = field(init=False)  # where inputs repeat

    def __post_init__(self) -> None:
        rows = repeated_inputs(group_equal_inputs(self.X, self.y, self.weights))
        object.__setattr__(self, "rows", rows)
        whole = Objective(self.X, self.y, occam=False, weights=self.weights)
        own = whole if rows is None else Objective(rows.X, rows.means, occam=False, weights=rows.counts)
        object.__setattr__(self, "objective", own)

    @property
    def dimension(self) -> int:
        """Number of hyperparameters, 2 + P."""
        return len(self.parts)

    @property
    def kernel_is_free(self) -> bool:
        """Whether the kernel has parameters that are not held."""
        return len(self.parts) > 2

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the log parameters."""
        free = self.kernel.param_names if self.kernel_is_free else ()
        return ("log_mu", "log_zeta", *(f"log_{name}" for name in free))

    def ordered(self) -> tuple[Density, AnyArray]:
        """The same density with data in an order of its own (`base.canonical`), and which parameter stands where."""
        search = OrderedSearch.of(self.X, self.y, self.kernel, self.weights)
        order = np.append([0, 1], 2 + search.parameters) if self.kernel_is_free else np.arange(2)
        X, y = search.order.inputs(self.X), search.order.targets(self.y)
        weights = None if self.weights is None else self.weights[search.order.rows]
        parts = tuple(self.parts[i] for i in order.tolist())
        return Density(X, y, search.there(self.kernel), parts, weights), order

    def kernel_at(self, x: Array) -> Kernel:
        """The kernel of a point."""
        return self.kernel.with_log_params(np.asarray(x[2:])) if self.kernel_is_free else self.kernel

    def log_prior(self, points: Array) -> Array:
        """Log prior density of points of shape (…, 2 + P)."""
        points = np.asarray(points, dtype=float)
        return np.asarray(sum(part.log_density(points[..., i]) for i, part in enumerate(self.parts)))

    def value_and_gradient(self, x: Array) -> Value:
        """The log density at one point and its gradient; −inf where the matrix is not positive definite."""
        x = np.asarray(x, dtype=float)
        prior = float(self.log_prior(x))
        if not np.isfinite(prior):
            return Value(-np.inf, np.zeros_like(x))
        try:
            found = self.objective.at(self.kernel_at(x), float(x[0]), float(x[1]), along_kernel=self.kernel_is_free)
        except (np.linalg.LinAlgError, FloatingPointError, ValueError):
            return Value(-np.inf, np.zeros_like(x))
        within = Value(0.0, np.zeros_like(x)) if self.rows is None else _within_groups(self.rows, x)
        return Value(found.value + within.value + prior, found.gradient + within.gradient + _slopes(self.parts, x))

    def hessian(self, x: Array) -> Array:
        """The Hessian at a point, of shape (2 + P, 2 + P).

        The block of log μ and log ζ is exact; rows of kernel parameters are fourth-order differences of the exact
        gradient.
        """
        x = np.asarray(x, dtype=float)
        H = np.zeros((len(x), len(x)))
        for p in range(2, len(x)):
            H[p] = _difference(lambda z: self.value_and_gradient(z).gradient, x, p)
            H[p, p] += float(self.parts[p].curvature(x[p]))  # the prior's own is added below for all
        H[2:, 2:] = 0.5 * (H[2:, 2:] + H[2:, 2:].T)
        H[:2, 2:] = H[2:, :2].T
        H[:2, :2] = log_evidence_hessian(self.reduction(self.kernel_at(x)), *np.exp(x[:2]))
        return H - _curvatures(self.parts, x)

    def reduction(self, kernel: Kernel) -> Reduction:
        """The reduced kernel matrix of one kernel."""
        K = kernel.up_to_constant(self.X if self.rows is None else self.rows.X)
        check_positive_semidefinite(kernel, K)
        return reduced(K, self.y, self.rows, self.weights)

    def values(self, points: Array, *, tick: Callable[[], object] | None = None) -> Array:
        """The log density at each of the points of shape (n, 2 + P).

        A reduction for each distinct kernel; a Cholesky factor, a quarter of that, where it has one point only.
        """
        points = np.atleast_2d(np.asarray(points, dtype=float))
        prior = self.log_prior(points)
        result = np.full(len(points), -np.inf)
        inside = np.isfinite(prior)
        _, group = np.unique(points[:, 2:], axis=0, return_inverse=True)
        group = group.ravel()
        by_factor = self._by_factor()
        for g in np.unique(group[inside]):
            members = np.flatnonzero(inside & (group == g))
            try:
                alone = by_factor(points[members[0]]) if len(members) == 1 else None
                found = self._by_reduction(points[members]) if alone is None else alone
            except NotPositiveSemidefiniteError:
                continue
            result[members] = found + prior[members]
            if tick is not None:
                tick()
        return result

    def _by_reduction(self, points: Array) -> Array:
        return log_evidences(self.reduction(self.kernel_at(points[0])), points[:, 0], points[:, 1])

    def _by_factor(self) -> Callable[[Array], float | None]:
        """Log p(D | μ, ζ, θ) of a point; None where a Cholesky factor would lose digits.

        With M = Ω + sW⁻¹ = LLᵀ, det(W^½ΩW^½ + s) on the complement of W^½1 is det M·Πw_i·1ᵀM⁻¹1/Σw_i, and
        q_1 = yᵀM⁻¹y − (1ᵀM⁻¹y)²/1ᵀM⁻¹1; the three products are those of L⁻¹y and L⁻¹1.
        """
        block, w = self.kernel.blocks(self.objective.X), self.objective.weights
        own = np.ones(len(self.objective.y)) if w is None else w
        y = self.objective.y - np.average(self.objective.y, weights=w)
        sides = np.asfortranarray(np.column_stack([y, np.ones(len(y))]))
        log_own = float(np.log(own).sum() - np.log(own.sum()))
        constant = log_constant(len(y), w) - 0.5 * ((len(y) - 1) * np.log(2.0 * np.pi) + log_own)
        widest = self.kernel.log_bounds(self.X)[:, 1] if self.kernel_is_free else np.empty(0)

        def value(x: Array) -> float | None:
            kernel, s = self.kernel_at(x), float(np.exp(x[0] - x[1]))
            if np.any(x[2:] > widest):
                return None
            K = block(kernel)
            check_positive_semidefinite(kernel, K)
            if float(np.trace(K)) > _WELL_CONDITIONED * s:
                return None
            factor = Factor.of(K, s / own)
            white = factor.whiten(sides)
            products = white.T @ white
            total = float(products[1, 1])
            q1 = float(products[0, 0]) - float(products[0, 1]) ** 2 / total
            misfit = np.exp(x[0]) * q1 - (len(y) - 1) * x[0] + factor.log_det + np.log(total)
            within = 0.0 if self.rows is None else _within_groups(self.rows, x).value
            return float(constant - 0.5 * misfit) + within

        return value


@dataclass(frozen=True)
class Level2Density:
    """The log posterior density of (log μ, log ζ) of one kernel, from its reduced matrix: O(N) a point.

    Parameters
    ----------
    reduction : Reduction
    parts : tuple of LogPrior
        Priors of log μ and log ζ; flat ones will do.
    """

    reduction: Reduction
    parts: tuple[LogPrior, ...]

    def value_and_gradient(self, x: Array) -> Value:
        """The log density at one point and its gradient."""
        mu, zeta = self._within(x)
        prior = sum(float(part.log_density(x[i])) for i, part in enumerate(self.parts))
        if zeta > _SQUARED * mu:  # sums that have γ² in them would leave doubles
            _, gradient, _ = self.reduction.local_evidence(mu, zeta)
        else:
            gradient = log_evidence_gradient(self.reduction, mu, zeta)
        return Value(log_evidence(self.reduction, mu, zeta) + prior, gradient + _slopes(self.parts, x))

    def hessian(self, x: Array) -> Array:
        """The Hessian at a point, of shape (2, 2)."""
        return log_evidence_hessian(self.reduction, *self._within(x)) - _curvatures(self.parts, x)

    def _within(self, x: Array) -> tuple[float, float]:
        """μ and ζ; a line search may look farther than γ can go, or than doubles do."""
        low, high = np.log(_SMALLEST / self.reduction.lambda_max), largest_log_gamma(self.reduction)
        log_mu = float(np.clip(x[0], -_FARTHEST, _FARTHEST))
        log_zeta = min(log_mu + min(max(float(x[1] - x[0]), low), high), FARTHEST)
        return float(np.exp(log_mu)), float(np.exp(log_zeta))


def _within_groups(rows: GroupedRows, x: Array) -> Value:
    """Log Π_g (2π/ζ)^{−(n_g−1)/2} n_g^{−½} exp(−ζ SS_g/2) and its gradient: what the means of the groups leave out.

    Rows with weights have Π w_i^½ W_g^{−½} in the place of n_g^{−½} (`linalg.repeats`).
    """
    n_zeros, misfit = len(rows.group) - len(rows.counts), 0.5 * float(np.exp(x[1])) * rows.squares
    own = 0.0 if rows.weights is None else float(np.log(rows.weights).sum())
    value = 0.5 * (n_zeros * (float(x[1]) - np.log(2.0 * np.pi)) + own - float(np.log(rows.counts).sum())) - misfit
    gradient = np.zeros_like(x)
    gradient[1] = 0.5 * n_zeros - misfit
    return Value(float(value), gradient)


def _slopes(parts: tuple[LogPrior, ...], x: Array) -> Array:
    return np.array([float(part.gradient(x[i])) for i, part in enumerate(parts)])


def _curvatures(parts: tuple[LogPrior, ...], x: Array) -> Array:
    return np.diag([float(part.curvature(x[i])) for i, part in enumerate(parts)])


def _difference(function: Callable[[Array], Array], x: Array, i: int) -> Array:
    """∂f/∂x_i by central differences of fourth order."""
    step = _STEP * np.eye(len(x))[i]
    near = function(x + step) - function(x - step)
    far = function(x + 2.0 * step) - function(x - 2.0 * step)
    return (8.0 * near - far) / (12.0 * _STEP)
