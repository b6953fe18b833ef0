"""Refinement of kernel parameters: the evidence of level 3 climbed by its gradient, from several starts.

Up to 300 points every promising start is climbed on all data (L-BFGS, level 2 solved at each step). Beyond, the search
begins on a subset that is spread evenly over the targets, and each optimum found there is polished on more points and
then on all: with a prior by a Cholesky factor a step, for one parameter along the ridge (`ridge`) and for several
jointly (`several`). Where that is lost, values along a line or a climb take its place. At the end level 2 is scanned
over all γ once more on all data, so that a better mode there is not missed, and all that is reported is of that exact
evaluation. Where a model is made of the optimum of one parameter and the scan on the subset has seen one peak only, the
factor that the model needs gives the same numbers in place of that scan (`levels.at_mode`).

For one parameter the subset has a fifth of the points, at least 300. Every peak over the starts is climbed there, even
one that is 30 nats behind, and where there are several they are compared on half of the points and, if that leaves more
than one, on all: a fine structure is a low peak on few points and may be the best model of all. Starts of several
parameters are sifted on 150 points and climbed on 300, with a prior by the density alone; ends without a valley between
them are one optimum. What does not show there at all can be missed. Kernels for which γ runs to an end of its
range are taken only if they beat every other by a clear margin (`Evaluation.rank`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import Array
from ..kernels import ARD, RBF, Kernel
from ..levels.at_mode import at_mode
from ..levels.level3 import DEFAULT_PRIOR_SD, as_prior_sd
from ..levels.objective import Evaluation, Objective
from ..priors import within_support
from .climb import Stop, at_edge, climb, with_bar
from .line import LineMaximum, follow_parabolas, maximise_on_line, parabola
from .order import OrderedSearch
from .polish import POLISHED, polish
from .ridge import RidgeTop, follow_ridge, ridge
from .several import climb_density, climb_with_volume, point_of
from .stages import SIFTED, SUBSET, on_some, stages, subset_size
from .starts import distinct, promising, starting_points
from .ties import Candidate, warn_of_alike_columns, warn_of_idle_parameters, warn_of_ties

__all__ = ["Refinement", "best_ard", "best_spherical", "climb_nearby", "refine", "refine_objective", "spherical_start"]

_WORTH_A_LOOK = 10.0  # nats behind the best, on the subset or on half of the points
_WORTH_POLISHING = 5.0  # nats behind the best, on all data
_ALL_THE_WAY = Stop(1e-12, 1e-5, 200)
_NEARBY = Stop(1e-7, 1e-2, 100)
# Of the search along one parameter: nats that a further vertex promises, nats between the first two points, the step
# between them in logs, and that of the differences
_LINE_PROMISE, _LINE_DROP, _DIFFERENCE = 1e-5, 0.5, 1e-2
_LINE_CLOSE, _STAGE_CLOSE = 1e-4, 2e-2  # in logs
# The same along the ridge, by the steps and by the slope of the volume; bounds, which are twice what happens or more.
# Up to so many points a further step takes milliseconds: to about 1e-6 nats there
_RIDGE_CLOSE, _RIDGE_SURE = 3e-4, 5e-4
_FEW, _CLOSER = 600, 3e-5
_STAGES = 2.0  # times the subset, beyond which there is a stage between
_SAME_MODE = 0.05  # nats
_SHORTEST_STEP, _LONGEST_STEP = 0.02, 0.4
_ON_SUBSET = Stop(1e-6, 1e-2, 200)  # its optimum need be known to a fraction of its distance from the whole's


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
        Chooses the subset on which starts are sifted when there are more than 300 points.
    """
    return refine_objective(Objective(X, y, occam, as_prior_sd(prior_sd)), kernel, seed)


def refine_objective(
    objective: Objective, kernel: Kernel, seed: int = 0, *, exhaustive: bool = False, solved: bool = False
) -> Refinement:
    """As `refine`, of a given objective.

    Parameters
    ----------
    objective : Objective
    kernel : Kernel
    seed : int
    exhaustive : bool
        Climb every promising start on all data, exactly.
    solved : bool
        A model is made of the best optimum. Where the way there was along a ridge, level 1 is then solved at the end,
        in place of a reduction, and is part of the best of the optima. Its γ is the most probable one to 1e-6 nats.
    """
    if kernel.log_params.size == 0:
        only = objective.evaluate(kernel)
        return Refinement(kernel, only.value, (only,), 1, True, ())
    ordered, search = _ordered(objective, kernel)
    at_end = (lambda k, x, pull: _solved(objective, search, k, x, pull)) if solved else None
    climbs = _climbs(ordered, search.there(kernel), seed, exhaustive, at_end)
    found = _distinct([climb.evaluation for climb in climbs])
    # sums over the spectrum have no order of rows, so that what was found in one order holds in the other
    optima = [replace(end, kernel=search.back(end.kernel), gradient=None) for end in found]
    optima[1:] = [replace(end, solved=None) for end in optima[1:]]
    best, own = optima[0], kernel.log_bounds(objective.X)  # an edge that a prior has set was asked for
    warn_of_ties(objective.y, [Candidate(objective.X, e.kernel, e.level2.gamma, e.rank) for e in optima])
    if isinstance(best.kernel, ARD):
        warn_of_alike_columns(search.order.alike, np.square(best.kernel.scales) ** -1.0)
    edges = at_edge(best.kernel.log_params, own)
    warn_of_idle_parameters(lambda k: objective.evaluate(k).value, best.kernel, objective.X, edges)
    return Refinement(
        kernel=best.kernel,
        value=best.value,
        optima=tuple(optima),
        n_evaluations=sum(climb.n_evaluations for climb in climbs),
        converged=all(climb.converged for climb in climbs),
        at_bound=tuple(compress(kernel.param_names, edges)),
    )


def _ordered(objective: Objective, kernel: Kernel) -> tuple[Objective, OrderedSearch]:
    """The objective as a search sees it, whatever the order of rows and columns, and the way back."""
    search = OrderedSearch.of(objective.X, objective.y, kernel, objective.weights)
    order = search.order
    moved = objective.at_rows(order.inputs(objective.X), order.rows, order.sign)
    return replace(moved, prior=search.prior(objective.prior)), search


def _solved(objective: Objective, search: OrderedSearch, kernel: Kernel, x: Array, pull: Array) -> Evaluation | None:
    """The evaluation of a kernel of the columns in order, on rows in the caller's order, with level 1."""
    try:
        found = at_mode(objective, search.back(kernel), x, pull)
    except NotPositiveSemidefiniteError:
        return None
    return None if found is None else replace(found, kernel=kernel)


def _climbs(
    objective: Objective, kernel: Kernel, seed: int, exhaustive: bool, at_end: _AtEnd | None = None
) -> list[_Climb]:
    """Climbs from all promising starts, on all data in the end."""
    bounds = within_support(kernel.log_bounds(objective.X), objective.prior)
    starts = starting_points(kernel, objective.X, bounds)
    if len(objective.y) > SUBSET and not exhaustive:
        return _climb_by_subset(objective, kernel, starts, bounds, np.random.default_rng(seed), at_end)
    return [_climb(objective, kernel, start, bounds) for start in with_bar(_promising(objective, kernel, starts))]


def spherical_start(objective: Objective, seed: int) -> RBF:
    """About the best width of an RBF kernel, from some of many points: where the search of several scales begins."""
    kernel = RBF(float(np.sqrt(objective.X.shape[1])))
    if len(objective.y) <= SUBSET:
        best = refine_objective(objective, kernel, seed).optima[0].kernel
    else:
        rng = np.random.default_rng(seed)
        small = on_some(_ordered(objective, kernel)[0], SUBSET, rng)
        bounds = within_support(kernel.log_bounds(objective.X), objective.prior)
        starts = starting_points(kernel, objective.X, bounds)
        best = _on_subset(small, kernel, _between_starts(small, kernel, starts)[0], bounds, rng).evaluation.kernel
    assert isinstance(best, RBF)
    return best


def best_spherical(objective: Objective, seed: int) -> Evaluation:
    """The RBF kernel of the largest evidence."""
    start = RBF(float(np.sqrt(objective.X.shape[1])))
    return refine_objective(objective, start, seed).optima[0]


def best_ard(objective: Objective, spherical: Evaluation, seed: int) -> Evaluation:
    """The ARD kernel of the largest evidence, from the spherical one and from other widths."""
    assert isinstance(spherical.kernel, RBF)
    start = ARD((spherical.kernel.sigma,) * objective.X.shape[1])
    return refine_objective(objective, start, seed).optima[0]


def climb_nearby(objective: Objective, kernel: Kernel) -> Evaluation:
    """The evidence climbed from one kernel on all data, less far than `refine` does; the best evaluation on the way."""
    given = objective.evaluate(kernel)
    if kernel.log_params.size == 0:
        return given
    ordered, search = _ordered(objective, kernel)
    start = search.there(kernel)
    bounds = within_support(start.log_bounds(ordered.X), ordered.prior)
    end = _climb(ordered, start, np.clip(start.log_params, bounds[:, 0], bounds[:, 1]), bounds, _NEARBY)
    return max(given, objective.evaluate(search.back(end.evaluation.kernel)), key=lambda e: e.rank)


# An evaluation of a kernel near (log μ, log ζ), where its volume has that derivative; None where it has no mode there
_AtEnd = Callable[[Kernel, Array, Array], Evaluation | None]


@dataclass(frozen=True)
class _Climb:
    evaluation: Evaluation
    n_evaluations: int
    converged: bool


class _Start(NamedTuple):
    """An optimum on a subset: an evaluation there, or where the way began, and the ridge if one was followed."""

    evaluation: Evaluation
    top: RidgeTop | None

    @property
    def at(self) -> Array:
        """(log μ, log ζ, log θ)."""
        return point_of(self.evaluation) if self.top is None else self.top.position

    @property
    def kernel(self) -> Kernel:
        """The kernel there."""
        return self.evaluation.kernel.with_log_params(self.at[2:])


def _climb(objective: Objective, kernel: Kernel, start: Array, bounds: Array, stop: Stop = _ALL_THE_WAY) -> _Climb:
    """The evidence climbed with level 2 solved at every step; the best evaluation on the way."""
    best: Evaluation | None = None

    def evidence(log_params: Array) -> tuple[float, Array]:
        nonlocal best
        evaluation = objective.evaluate(kernel.with_log_params(log_params), gradient=True)
        if best is None or evaluation.rank > best.rank:
            best = evaluation
        assert evaluation.gradient is not None
        return evaluation.value, evaluation.gradient

    end = climb(evidence, start, bounds, stop)
    assert best is not None
    return _Climb(best, end.n_evaluations, end.converged)


def _promising(objective: Objective, kernel: Kernel, starts: Array) -> Array:
    return promising(lambda k: objective.evaluate(k).rank, kernel, starts)


def _distinct(evaluations: list[Evaluation]) -> list[Evaluation]:
    """The best of each cluster of optima, best first."""
    return distinct(sorted(evaluations, key=lambda e: -e.rank), lambda e: e.kernel.log_params)


def _climb_by_subset(
    objective: Objective,
    kernel: Kernel,
    starts: Array,
    bounds: Array,
    rng: np.random.Generator,
    at_end: _AtEnd | None,
) -> list[_Climb]:
    line = starts.shape[1] == 1
    small = on_some(objective, subset_size(len(objective.y)) if line else SUBSET, rng)
    # a fine structure that all data have shows as a peak on the subset, if a low one, but not always on fewer points
    if line and objective.prior is not None:
        begins = _between_starts(small, kernel, starts)
        several = len(begins) > 1  # of which the ends are compared
        climbed = [_on_subset(small, kernel, begin, bounds, rng, evaluated=several) for begin in with_bar(begins)]
    else:
        chosen = _promising(small if line else on_some(objective, SIFTED, rng), kernel, starts)
        climbed = [_from_start(small, kernel, start, bounds, rng) for start in with_bar(chosen)]
    climbed = distinct(sorted(climbed, key=lambda s: -s.evaluation.rank), lambda s: s.evaluation.kernel.log_params)
    climbed = climbed if line else _without_a_valley(small, climbed)
    kept, extra = _worth_polishing(objective, climbed, len(small.y) if line else None, rng)
    climbs = [_polished(objective, small, start, bounds, rng, at_end) for start in with_bar(kept)]
    climbs[0] = replace(climbs[0], n_evaluations=climbs[0].n_evaluations + extra)
    return climbs


def _between_starts(small: Objective, kernel: Kernel, starts: Array) -> list[Evaluation]:
    """The promising starts of one parameter, each at the vertex of a parabola through its neighbours if that is better.

    Starts stand a factor of two apart, so that a vertex saves the first steps of a climb.
    """
    seen: dict[float, Evaluation] = {}

    def rank(k: Kernel) -> float:
        found = small.evaluate(k)
        seen[float(k.log_params[0])] = found
        return found.rank

    begins = [seen[float(kernel.with_log_params(x).log_params[0])] for x in promising(rank, kernel, starts)]
    line = np.array(sorted(seen))
    for k, begin in enumerate(begins):
        i = int(np.flatnonzero(line == begin.kernel.log_params[0])[0])
        if not 0 < i < len(line) - 1:
            continue
        near = line[i - 1 : i + 2]
        vertex, _, bend = parabola(near, np.array([seen[float(u)].rank for u in near]), 1)
        if bend < 0.0:
            with suppress(NotPositiveSemidefiniteError):
                begins[k] = max(begin, small.evaluate(kernel.with_log_params(np.array([vertex]))), key=lambda e: e.rank)
    return begins


def _without_a_valley(small: Objective, climbed: list[_Start]) -> list[_Start]:
    """The optima without those that are level with a better one halfway to it: one optimum along a flat direction."""
    kept: list[_Start] = []
    for start in climbed:
        end = start.evaluation
        middles = [0.5 * (end.kernel.log_params + other.evaluation.kernel.log_params) for other in kept]
        if all(small.evaluate(end.kernel.with_log_params(x)).rank < end.rank for x in middles):
            kept.append(start)
    return kept


def _worth_polishing(
    objective: Objective, starts: list[_Start], subset: int | None, rng: np.random.Generator
) -> tuple[list[_Start], int]:
    """The optima of a subset that may be the best on all data, and the evaluations there that it took to say so.

    With the size of the subset they are first compared on half of all points, if these are more.
    """

    def near(data: Objective, within: float) -> list[_Start]:
        values = [data.evaluate(start.evaluation.kernel).rank for start in starts]
        return [start for start, value in zip(starts, values, strict=True) if value > max(values) - within]

    if subset is None:
        starts = [s for s in starts if s.evaluation.rank > starts[0].evaluation.rank - _WORTH_A_LOOK]
    elif len(starts) > 1:
        *between, _ = stages(objective, subset, rng)
        starts = near(between[-1], _WORTH_A_LOOK) if between else starts
    return (near(objective, _WORTH_POLISHING), len(starts)) if len(starts) > 1 else (starts, 0)


def _from_start(small: Objective, kernel: Kernel, start: Array, bounds: Array, rng: np.random.Generator) -> _Start:
    """An optimum on the subset from parameters that were not evaluated there."""
    if small.prior is None:
        return _Start(_climb(small, kernel, start, bounds, _ON_SUBSET).evaluation, None)
    return _on_subset(small, kernel, small.evaluate(kernel.with_log_params(start)), bounds, rng)


def _on_subset(
    small: Objective,
    kernel: Kernel,
    first: Evaluation,
    bounds: Array,
    rng: np.random.Generator,
    *,
    evaluated: bool = True,
) -> _Start:
    """An optimum on the subset: with a prior along the ridge or by the density, where these find one, or by a climb."""
    start = first.kernel.log_params
    if small.prior is not None:
        if len(start) > 1:
            found = climb_density(small, kernel, first, bounds, _ON_SUBSET)
            if found is not None:
                return _Start(found, None)
        elif first.posterior is not None and first.posterior.has_mode:
            top = follow_ridge(ridge(small, kernel, rng), point_of(first), bounds[0], _STAGE_CLOSE)
            if top is not None:
                return _Start(small.evaluate(kernel.with_log_params(top.position[2:])) if evaluated else first, top)
    return _Start(_climb(small, kernel, start, bounds, _ON_SUBSET).evaluation, None)


def _along_ridge(
    objective: Objective, start: _Start, bounds: Array, rng: np.random.Generator, at_end: _AtEnd | None
) -> _Climb | None:
    """The maximum over one parameter from that of a subset, by way of more points and more; None where it is lost."""
    found, top = start.evaluation, start.top
    if found.posterior is None or not found.posterior.has_mode:
        return None
    kernel, size, at = found.kernel, subset_size(len(objective.y)), start.at
    for stage in stages(objective, size, rng):
        close, sure = _STAGE_CLOSE, _STAGE_CLOSE
        if stage is objective:
            close, sure = (_CLOSER, _CLOSER) if len(stage.y) <= _FEW else (_RIDGE_CLOSE, _RIDGE_SURE)
        look, growth = ridge(stage, kernel, rng), len(stage.y) / size
        top = follow_ridge(look, at, bounds[0], close, sure=sure, before=top, growth=growth)
        if top is None:
            return None
        size, at = len(stage.y), top.position
    assert top is not None
    # where few points know of one mode over γ only, however low others would be, all of them need not be scanned again
    if at_end is not None and found.posterior.alone and top.pull is not None:
        end = at_end(kernel.with_log_params(at[2:]), at[:2], top.pull)
        if end is not None and abs(end.value - top.value) <= _SAME_MODE:
            return _Climb(end, top.n_evaluations + 1, True)
    final = objective.evaluate(kernel.with_log_params(at[2:]))
    # the scan of γ may find a better mode than the one that was followed
    if final.posterior is None or not final.posterior.has_mode or abs(final.value - top.value) > _SAME_MODE:
        return _climb(objective, final.kernel, final.kernel.log_params, bounds)
    return _Climb(final, top.n_evaluations + 1, True)


def _on_line(objective: Objective, kernel: Kernel, curvature: float, bounds: Array, rng: np.random.Generator) -> _Climb:
    """The maximum over one parameter by values alone: a gradient of Laplace's evidence costs as much as three.

    With a curvature that is known from fewer points, two values on all data make a parabola, and a third one near its
    vertex a better one. From the start on few points the way is long; √n times as many of them are on it.
    """
    n = len(objective.y)
    between = int(np.sqrt(SUBSET * n))
    if n > _STAGES * SUBSET:
        stage = on_some(objective, between, rng)
        end, seen = _line(stage, kernel, curvature * between / n, bounds, _STAGE_CLOSE)
        kernel, curvature = _best(seen).kernel.with_log_params(np.array([end.position])), end.curvature * n / between
    end, seen = _line(objective, kernel, curvature, bounds, _LINE_CLOSE)
    best = _best(seen)
    if end.position not in seen:
        best = max(best, objective.evaluate(kernel.with_log_params(np.array([end.position]))), key=lambda e: e.rank)
    if not end.converged or best.posterior is None or not best.posterior.has_mode:
        return _climb(objective, best.kernel, best.kernel.log_params, bounds)
    return _Climb(best, len(seen) + 1, True)


def _best(seen: dict[float, Evaluation]) -> Evaluation:
    return max(seen.values(), key=lambda evaluation: evaluation.rank)


def _line(
    objective: Objective, kernel: Kernel, curvature: float, bounds: Array, close: float
) -> tuple[LineMaximum, dict[float, Evaluation]]:
    seen: dict[float, Evaluation] = {}

    def value(u: float) -> float:
        try:
            seen[u] = objective.evaluate(kernel.with_log_params(np.array([u])))
        except NotPositiveSemidefiniteError:
            return -np.inf
        return seen[u].rank

    step = float(np.clip(np.sqrt(_LINE_DROP / max(-curvature, 1e-12)), _SHORTEST_STEP, _LONGEST_STEP))
    start = float(np.clip(kernel.log_params[0], *bounds[0]))
    end = follow_parabolas(value, start, step, bounds[0], close, curvature=curvature)
    if end is None:
        best = _best(seen) if seen else objective.evaluate(kernel)
        end = maximise_on_line(value, float(best.kernel.log_params[0]), step, bounds[0], _LINE_PROMISE)
    return end, seen


def _curvature(objective: Objective, kernel: Kernel, bounds: Array) -> float:
    """The second derivative in the only log parameter, by a difference of slopes."""
    x = float(kernel.log_params[0])
    slopes = []
    for u in (x - _DIFFERENCE, x + _DIFFERENCE):
        moved = kernel.with_log_params(np.array([np.clip(u, *bounds[0])]))
        gradient = objective.evaluate(moved, gradient=True).gradient
        assert gradient is not None
        slopes.append(float(gradient[0]))
    return (slopes[1] - slopes[0]) / (2.0 * _DIFFERENCE)


def _polished(
    objective: Objective,
    small: Objective,
    begin: _Start,
    bounds: Array,
    rng: np.random.Generator,
    at_end: _AtEnd | None,
) -> _Climb:
    """From the optimum on a subset to the optimum on all data."""
    found, kernel = begin.evaluation, begin.kernel
    start = kernel.log_params
    if found.level2.at_boundary:  # no mode to follow: the robust way
        return _climb(objective, kernel, start, bounds)
    if objective.prior is not None and len(start) == 1:
        top = _along_ridge(objective, begin, bounds, rng, at_end)
        if top is not None:
            return top
        curvature = _curvature(small, kernel, bounds) * (len(objective.y) / len(small.y))
        return _on_line(objective, kernel, curvature, bounds, rng)
    if objective.prior is not None:
        end = climb_with_volume(objective, small, found, bounds, rng)
        return _Climb(*end, True) if end is not None else _climb(objective, kernel, start, bounds)
    return _polished_without_prior(objective, small, found, bounds)


def _polished_without_prior(objective: Objective, small: Objective, found: Evaluation, bounds: Array) -> _Climb:
    """By the papers' rule: with the Occam factor level 2 is solved at each step, without it γ is climbed too."""
    start, kernel = found.kernel.log_params, found.kernel
    if objective.occam:
        box = bounds

        def ascend(data: Objective, x: Array) -> tuple[float, Array]:
            evaluation = data.evaluate(kernel.with_log_params(x), gradient=True)
            assert evaluation.gradient is not None
            return evaluation.value, evaluation.gradient

    else:
        log_gamma = float(np.log(found.level2.gamma))
        start = np.append(log_gamma, start)
        box = np.vstack([[log_gamma - 20.0, log_gamma + 20.0], bounds])

        def ascend(data: Objective, x: Array) -> tuple[float, Array]:
            return data.joint(kernel.with_log_params(x[1:]), float(x[0]))

    share = len(small.y) / len(objective.y)
    end = polish(lambda x: ascend(objective, x), lambda x: ascend(small, x), share, start, box)
    if end is None:
        return _climb(objective, kernel, found.kernel.log_params, bounds)
    final = objective.evaluate(kernel.with_log_params(end.position[len(end.position) - len(bounds) :]))
    # the scan of γ may find a better mode than the one that was followed
    if end.converged and abs(final.value - end.value) < 1e-3 + 2.0 * POLISHED:
        return _Climb(final, end.n_evaluations + 1, True)
    again = _climb(objective, kernel, final.kernel.log_params, bounds)
    return replace(again, n_evaluations=again.n_evaluations + end.n_evaluations + 1)
