"""The search for the kernel that all members share: the maximum of the sum of their evidences.

A kernel with one parameter is refined by values alone, a reduction of the kernel matrix each, through parabolas; one
with several parameters by gradients, an eigendecomposition each. Beyond 300 points (more if there are many classes) the
starts are sifted and climbed on subsets spread over the classes, and the best optimum is polished on all data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..search.climb import Stop, at_edge, climb
from ..search.line import maximise_on_line
from ..search.refinement import inverse_curvature, is_peak, quasi_newton, spread_subset, without_repeats
from .objective import SharedObjective, tasks_of

_SUBSET, _SIFTED, _POINTS_A_CLASS = 300, 150, 15
_MAX_CLIMBS = 3
_HOPELESS = 30.0  # nats a member behind the best, at the starts
_POLISHED, _ROUGH = 1e-4, 1e-2  # nats a member that a further step promises, on all data and on the subset
_FIRST_STEP, _POLISHING_STEP = 0.3, 0.07  # in a log parameter
_SAME_OPTIMUM = 0.05


@dataclass(frozen=True)
class SharedRefinement:
    """The kernel of the largest summed evidence, and how it was found.

    Attributes
    ----------
    kernel : Kernel
    n_evaluations : int
        Evaluations on all data.
    converged : bool
    at_bound : tuple of str
        Parameters that stand at the edge of the searched box.
    """

    kernel: Kernel
    n_evaluations: int
    converged: bool
    at_bound: tuple[str, ...]


def refine_shared(
    kernel: Kernel, objective: SharedObjective, labels: AnyArray, code: Array, seed: int
) -> SharedRefinement:
    """The shared kernel's parameters at the maximum of F, from several starts.

    Parameters
    ----------
    kernel : Kernel
        Its present parameters are one of the starts.
    objective : SharedObjective
    labels : array of int of shape (N,)
        Numbers of the classes, over which subsets are spread.
    code : array of shape (M, L)
    seed : int
        Chooses the subsets when there are more than 300 points.
    """
    if kernel.log_params.size == 0:
        return SharedRefinement(kernel, 0, True, ())
    bounds = kernel.log_bounds(objective.X)
    starts = without_repeats(np.clip(kernel.starting_points(objective.X), bounds[:, 0], bounds[:, 1]))
    rng = np.random.default_rng(seed)
    small, smallest = (_subset(objective, labels, code, size, rng) for size in (_SUBSET, _SIFTED))
    ascend = _climb_line if kernel.log_params.size == 1 else _climb_gradient
    chosen = _promising(smallest, kernel, starts)
    climbed = [ascend(small, kernel, start, bounds, _POLISHED if small is objective else _ROUGH) for start in chosen]
    best = _best(small, kernel, climbed)
    if small is not objective:
        best = _polish(objective, small, kernel, best, bounds)
    edge = at_edge(best.position, bounds)
    names = tuple(name for name, out in zip(kernel.param_names, edge, strict=True) if out)
    return SharedRefinement(kernel.with_log_params(best.position), best.n_evaluations, best.converged, names)


@dataclass(frozen=True)
class _Climb:
    position: Array
    n_evaluations: int
    converged: bool
    curvature: float = np.nan


def _subset(
    objective: SharedObjective, labels: AnyArray, code: Array, size: int, rng: np.random.Generator
) -> SharedObjective:
    """The objective on some points of all, spread over the classes; itself where there are no more."""
    size = max(size, _POINTS_A_CLASS * len(code))
    if len(labels) <= max(size, _SUBSET):
        return objective
    chosen = spread_subset(labels, size, rng)
    return replace(objective, X=objective.X[chosen], tasks=tasks_of(code, labels[chosen], whole=False))


def _rank_or_nothing(objective: SharedObjective, kernel: Kernel) -> float:
    try:
        return objective.rank(kernel)
    except NotPositiveSemidefiniteError:
        return -np.inf


def _promising(objective: SharedObjective, kernel: Kernel, starts: Array) -> Array:
    """The starts worth climbing from: peaks along a line of starts, the best three, none hopelessly behind."""
    ranks = np.array([_rank_or_nothing(objective, kernel.with_log_params(start)) for start in starts])
    if not np.isfinite(ranks).any():
        objective.rank(kernel)  # says what is wrong with it
    order = np.argsort(starts[:, 0], kind="stable")
    peaks = order[is_peak(ranks[order])] if starts.shape[1] == 1 else np.arange(len(starts))
    best_first = peaks[np.argsort(-ranks[peaks], kind="stable")][:_MAX_CLIMBS]
    return starts[best_first[ranks[best_first] > ranks[best_first[0]] - _HOPELESS * objective.n_members]]


def _best(objective: SharedObjective, kernel: Kernel, climbs: list[_Climb]) -> _Climb:
    """The best of the climbs that ended in different places."""
    kept: list[_Climb] = []
    for end in climbs:
        if all(np.abs(end.position - other.position).max() > _SAME_OPTIMUM for other in kept):
            kept.append(end)
    total = sum(end.n_evaluations for end in climbs)
    if len(kept) > 1:
        ranks = [_rank_or_nothing(objective, kernel.with_log_params(end.position)) for end in kept]
        kept = [kept[int(np.argmax(ranks))]]
        total += len(ranks)
    return replace(kept[0], n_evaluations=total)


def _climb_line(
    objective: SharedObjective,
    kernel: Kernel,
    start: Array,
    bounds: Array,
    tolerance: float,
    step: float = _FIRST_STEP,
    curvature: float = np.nan,
) -> _Climb:
    """By values, for one parameter."""

    def rank(u: float) -> float:
        return _rank_or_nothing(objective, kernel.with_log_params(np.array([u])))

    enough = tolerance * objective.n_members
    found = maximise_on_line(rank, float(start[0]), step, bounds[0], enough, curvature=curvature)
    return _Climb(np.array([found.position]), found.n_evaluations, found.converged, found.curvature)


def _climb_gradient(
    objective: SharedObjective, kernel: Kernel, start: Array, bounds: Array, tolerance: float
) -> _Climb:
    """By gradients, for several parameters."""
    end = climb(
        lambda position: objective.value_and_gradient(kernel.with_log_params(position)),
        start,
        bounds,
        Stop(1e-2 * tolerance, 1e-3, 100),
    )
    return _Climb(end.position, end.n_evaluations, end.converged)


def _polish(objective: SharedObjective, small: SharedObjective, kernel: Kernel, found: _Climb, bounds: Array) -> _Climb:
    """From the optimum on a subset to the optimum on all data."""
    if kernel.log_params.size == 1:
        curvature = found.curvature * len(objective.X) / len(small.X)
        return _climb_line(objective, kernel, found.position, bounds, _POLISHED, _POLISHING_STEP, curvature)
    try:
        scale = len(small.X) / len(objective.X)
        inverse = scale * inverse_curvature(
            lambda x: small.value_and_gradient(kernel.with_log_params(x))[1], found.position, bounds
        )
        end, _, count, converged = quasi_newton(
            lambda x: objective.value_and_gradient(kernel.with_log_params(x)), found.position, inverse, bounds
        )
    except (np.linalg.LinAlgError, NotPositiveSemidefiniteError):  # a step too far for the matrix
        return _climb_gradient(objective, kernel, found.position, bounds, _POLISHED)
    return _Climb(end, count, converged)
