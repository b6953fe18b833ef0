"""The search for the kernel that all members share: the maximum of the sum of their evidences.

A kernel with one parameter is refined by values alone, a reduction of the kernel matrix each, through parabolas; one
with several parameters by gradients, an eigendecomposition each. Beyond 300 points (more if there are many classes) the
starts are sifted and climbed on subsets spread over the classes, and the best optimum is polished on all data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from ..base.canonical import canonical_classes
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..search.climb import Stop, at_edge, climb
from ..search.line import maximise_on_line
from ..search.order import OrderedSearch
from ..search.polish import POLISHED, polish
from ..search.stages import SIFTED, SUBSET
from ..search.starts import distinct, promising, rank_or_nothing, spread_subset, starting_points
from ..search.ties import warn_of_idle_parameters
from .objective import SharedObjective
from .tasks import tasks_of

_POINTS_A_CLASS = 15
_ROUGH = 1e-2  # nats a member that a further step promises, on the subset
_FIRST_STEP, _POLISHING_STEP = 0.3, 0.07  # in a log parameter


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

    Examples
    --------
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.kernels import RBF
    >>> from bayes_lssvm.multiclass import code_book, design_shared
    >>> iris = load("iris")
    >>> book = code_book("ova", 3)
    >>> design = design_shared(iris.data, iris.target, book, RBF(2.0), refine=True, occam=True, prior_sd=(3.0, 3.0))
    >>> design.refinement.converged
    True
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
    given = objective
    search, objective, labels, code = _ordered(kernel, objective, labels, code)
    kernel = search.there(kernel)
    bounds = objective.criterion.bounds(kernel, objective.X)
    starts = starting_points(kernel, objective.X, bounds)
    rng = np.random.default_rng(seed)
    small, smallest = (_subset(objective, labels, code, size, rng) for size in (SUBSET, SIFTED))
    ascend = _climb_line if kernel.log_params.size == 1 else _climb_gradient
    chosen = promising(smallest.rank, kernel, starts, smallest.n_members)
    climbed = [ascend(small, kernel, start, bounds, POLISHED if small is objective else _ROUGH) for start in chosen]
    best = _best(small, kernel, climbed)
    if small is not objective:
        best = _polished(objective, small, kernel, best, bounds)
    found = search.back(kernel.with_log_params(best.position))
    edges = at_edge(best.position, bounds)[search.places]
    names = tuple(compress(kernel.param_names, edges))
    warn_of_idle_parameters(given.rank, found, given.X, edges)
    return SharedRefinement(found, best.n_evaluations, best.converged, names)


def _ordered(
    kernel: Kernel, objective: SharedObjective, labels: AnyArray, code: Array
) -> tuple[OrderedSearch, SharedObjective, AnyArray, Array]:
    """The objective, labels and code as a search sees them, whatever the order of rows, columns and classes."""
    classes = canonical_classes(objective.X, labels, objective.weights).numbers
    labels = np.argsort(classes)[labels]
    search = OrderedSearch.of(objective.X, labels.astype(float), kernel, objective.weights)
    code = code[classes]
    code = code * np.array([column[np.flatnonzero(column)[0]] for column in code.T])  # signs carry no meaning
    code, labels = code[:, np.lexsort(code)], labels[search.order.rows]
    inputs, weights = search.order.inputs(objective.X), objective.weights
    weights = None if weights is None else weights[search.order.rows]
    tasks, criterion = tasks_of(code, labels, weights), objective.criterion.ordered(search)
    return search, replace(objective, X=inputs, tasks=tasks, criterion=criterion, weights=weights), labels, code


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
    if len(labels) <= max(size, SUBSET):
        return objective
    chosen = spread_subset(labels, size, rng)
    weights = None if objective.weights is None else objective.weights[chosen]
    tasks = tasks_of(code, labels[chosen], weights, whole=False)
    return replace(objective, X=objective.X[chosen], tasks=tasks, weights=weights)


def _best(objective: SharedObjective, kernel: Kernel, climbs: list[_Climb]) -> _Climb:
    """The best of the climbs that ended in different places."""
    kept = distinct(climbs, lambda end: end.position)
    total = sum(end.n_evaluations for end in climbs)
    if len(kept) > 1:
        ranks = [rank_or_nothing(objective.rank, kernel.with_log_params(end.position)) for end in kept]
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
        return rank_or_nothing(objective.rank, kernel.with_log_params(np.array([u])))

    enough = tolerance * objective.n_members
    found = maximise_on_line(rank, float(start[0]), step, bounds[0], enough, curvature=curvature)
    return _Climb(np.array([found.position]), found.n_evaluations, found.converged, found.curvature)


def _climb_gradient(
    objective: SharedObjective, kernel: Kernel, start: Array, bounds: Array, tolerance: float
) -> _Climb:
    """By gradients, for several parameters."""
    stop = Stop(1e-2 * tolerance, 1e-3, 100)
    end = climb(lambda x: objective.value_and_gradient(kernel.with_log_params(x)), start, bounds, stop)
    return _Climb(end.position, end.n_evaluations, end.converged)


def _polished(
    objective: SharedObjective, small: SharedObjective, kernel: Kernel, found: _Climb, bounds: Array
) -> _Climb:
    """From the optimum on a subset to the optimum on all data."""
    if kernel.log_params.size == 1:
        curvature = found.curvature * len(objective.X) / len(small.X)
        return _climb_line(objective, kernel, found.position, bounds, POLISHED, _POLISHING_STEP, curvature)
    end = polish(
        lambda x: objective.value_and_gradient(kernel.with_log_params(x)),
        lambda x: small.value_and_gradient(kernel.with_log_params(x)),
        len(small.X) / len(objective.X),
        found.position,
        bounds,
    )
    if end is None:
        return _climb_gradient(objective, kernel, found.position, bounds, POLISHED)
    return _Climb(end.position, end.n_evaluations, end.converged)
