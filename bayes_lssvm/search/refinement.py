"""Refinement of kernel parameters: the evidence of level 3 climbed by its gradient, from several starts.

Up to 300 points every promising start is climbed on all data (L-BFGS, level 2 solved at each step). Beyond, the starts
are sifted on 150 points and climbed on 300, spread evenly over the targets, and each optimum found there is polished on
all data by a quasi-Newton iteration that begins with the subset's curvature: four to six gradients on all data, as a
rule. At the end level 2 is scanned over all γ once more on all data, so that a better mode there is not missed. What
only all data show, such as a ripple too fine for the subset, can be missed. Kernels for which γ runs to an end of its
range are taken only if they beat every other by a clear margin (`Evaluation.rank`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..levels.level3 import DEFAULT_PRIOR_SD, as_prior_sd
from ..levels.objective import Evaluation, Objective
from .climb import Stop, at_edge, climb

__all__ = ["Evaluation", "Objective", "Refinement", "refine"]

_SUBSET = 300
_SIFTED = 150
_SAME_OPTIMUM = 0.05
_MAX_CLIMBS = 3
_HOPELESS = 30.0  # nats behind the best, at the starts
_WORTH_A_LOOK = 10.0  # nats behind the best, on the subset
_WORTH_POLISHING = 2.0  # nats behind the best, on all data
_POLISHED = 1e-4  # nats that a further quasi-Newton step promises
_LONGEST_STEP = 0.7
_ALL_THE_WAY = Stop(1e-12, 1e-5, 200)
_ON_SUBSET = Stop(1e-6, 1e-2, 200)  # where its optimum is need be known to a fraction of its distance from the whole's


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
class EvidenceClimb:
    """The best evaluation of a climb of the evidence, and how it came about."""

    evaluation: Evaluation
    n_evaluations: int
    converged: bool


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
    objective = Objective(X, y, occam, as_prior_sd(prior_sd))
    if kernel.log_params.size == 0:
        only = objective.evaluate(kernel)
        return Refinement(kernel, only.value, (only,), 1, True, ())
    bounds = kernel.log_bounds(X)
    starts = without_repeats(np.clip(kernel.starting_points(X), bounds[:, 0], bounds[:, 1]))
    if len(y) <= _SUBSET:
        climbs = [climb_evidence(objective, kernel, start, bounds) for start in _promising(objective, kernel, starts)]
    else:
        climbs = _climb_by_subset(objective, kernel, starts, bounds, np.random.default_rng(seed))
    optima = _distinct([climb.evaluation for climb in climbs])
    best = optima[0]
    edge = at_edge(best.kernel.log_params, bounds)
    return Refinement(
        kernel=best.kernel,
        value=best.value,
        optima=tuple(optima),
        n_evaluations=sum(climb.n_evaluations for climb in climbs),
        converged=all(climb.converged for climb in climbs),
        at_bound=tuple(name for name, out in zip(kernel.param_names, edge, strict=True) if out),
    )


def without_repeats(starts: Array) -> Array:
    """Starts, one a row, that differ by more than a hundredth, in their order."""
    _, first = np.unique(np.round(starts, 2), axis=0, return_index=True)
    return starts[np.sort(first)]


def _promising(objective: Objective, kernel: Kernel, starts: Array) -> Array:
    """The starts worth climbing from: peaks along a line of starts, the best three, none hopelessly behind."""
    values = np.array([_rank_or_nothing(objective, kernel.with_log_params(start)) for start in starts])
    if not np.isfinite(values).any():
        objective.evaluate(kernel)  # says what is wrong with it
    order = np.argsort(starts[:, 0], kind="stable")
    peaks = order[is_peak(values[order])] if starts.shape[1] == 1 else np.arange(len(starts))
    ranked = peaks[np.argsort(-values[peaks], kind="stable")][:_MAX_CLIMBS]
    return starts[ranked[values[ranked] > values[ranked[0]] - _HOPELESS]]


def _rank_or_nothing(objective: Objective, kernel: Kernel) -> float:
    """The rank of a kernel, or −inf where its matrix is indefinite, as an MLP kernel's may be for some parameters."""
    try:
        return objective.evaluate(kernel).rank
    except NotPositiveSemidefiniteError:
        return -np.inf


def is_peak(values: Array) -> AnyArray:
    """Where a sequence is no lower than its neighbours and higher than one of them; the maximum in any case."""
    values = np.where(np.isfinite(values), values, values[np.isfinite(values)].min() - 1.0)
    left, right = np.append(values[0], values[:-1]), np.append(values[1:], values[-1])
    higher = np.maximum(values - left, values - right) > 1e-6
    return np.asarray((values >= left) & (values >= right) & higher) | (np.arange(len(values)) == np.argmax(values))


def climb_evidence(
    objective: Objective, kernel: Kernel, start: Array, bounds: Array, stop: Stop = _ALL_THE_WAY
) -> EvidenceClimb:
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
    return EvidenceClimb(best, end.n_evaluations, end.converged)


def _climb_by_subset(
    objective: Objective, kernel: Kernel, starts: Array, bounds: Array, rng: np.random.Generator
) -> list[EvidenceClimb]:
    small, smallest = _subset(objective, _SUBSET, rng), _subset(objective, _SIFTED, rng)
    chosen = _promising(smallest, kernel, starts)
    climbed = _distinct([climb_evidence(small, kernel, start, bounds, _ON_SUBSET).evaluation for start in chosen])
    sifted = [found for found in climbed if found.rank > climbed[0].rank - _WORTH_A_LOOK]
    extra = 0
    if len(sifted) > 1:
        values = [objective.evaluate(found.kernel).rank for found in sifted]
        extra = len(values)
        sifted = [f for f, v in zip(sifted, values, strict=True) if v > max(values) - _WORTH_POLISHING]
    climbs = [_polish(objective, small, found, bounds) for found in sifted]
    climbs[0] = replace(climbs[0], n_evaluations=climbs[0].n_evaluations + extra)
    return climbs


def _subset(objective: Objective, size: int, rng: np.random.Generator) -> Objective:
    """The objective on `size` points of all."""
    chosen = spread_subset(objective.y, size, rng)
    return replace(objective, X=objective.X[chosen], y=objective.y[chosen])


def spread_subset(y: AnyArray, size: int, rng: np.random.Generator) -> AnyArray:
    """Indices of `size` points spread evenly over the sorted targets, so that small classes stay represented."""
    order = np.lexsort((rng.random(len(y)), y))
    return np.sort(order[np.linspace(0, len(order) - 1, size).round().astype(int)])


def _polish(objective: Objective, small: Objective, found: Evaluation, bounds: Array) -> EvidenceClimb:
    """From the optimum on a subset to the optimum on all data."""
    start, kernel = found.kernel.log_params, found.kernel
    if found.level2.at_boundary:  # no mode to follow: the robust way
        return climb_evidence(objective, kernel, start, bounds)
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

    try:
        scale = len(small.y) / len(objective.y)
        inverse = scale * inverse_curvature(lambda x: ascend(small, x)[1], start, box)
        end, value, count, converged = quasi_newton(lambda x: ascend(objective, x), start, inverse, box)
    except (np.linalg.LinAlgError, NotPositiveSemidefiniteError):  # a step too far for the matrix
        return climb_evidence(objective, kernel, found.kernel.log_params, bounds)
    final = objective.evaluate(kernel.with_log_params(end if objective.occam else end[1:]))
    # the scan of γ may find a better mode than the one that was followed
    if converged and abs(final.value - value) < 1e-3:
        return EvidenceClimb(final, count + 1, True)
    climb = climb_evidence(objective, kernel, final.kernel.log_params, bounds)
    return replace(climb, n_evaluations=climb.n_evaluations + count + 1)


def inverse_curvature(gradient: Callable[[Array], Array], x: Array, bounds: Array) -> Array:
    """Inverse of minus the Hessian at x by differences of gradients, made positive definite."""
    step = 1e-3
    centre = gradient(x)
    columns = []
    for i in range(len(x)):
        sign = -1.0 if x[i] + step > bounds[i, 1] else 1.0
        columns.append((centre - gradient(x + sign * step * np.eye(len(x))[i])) / (sign * step))
    H = np.array(columns)
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    floored = np.maximum(np.abs(values), 1e-3 * max(float(np.abs(values).max()), 1e-3))
    return np.asarray((vectors / floored) @ vectors.T)


def quasi_newton(
    function: Callable[[Array], tuple[float, Array]], x: Array, inverse: Array, bounds: Array, max_iter: int = 40
) -> tuple[Array, float, int, bool]:
    """BFGS ascent from x with a given inverse curvature: the last point, its value, evaluations, whether it converged.

    The last step is taken without an evaluation when it promises less than 1e-4 nats: convergence is superlinear, so
    that it ends far closer than that.
    """
    value, gradient = function(x)
    count = 1
    for _ in range(max_iter):
        step = inverse @ gradient
        step *= min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        target = np.clip(x + step, bounds[:, 0], bounds[:, 1])
        promised = 0.5 * float(gradient @ (target - x))
        if abs(promised) < _POLISHED:
            return target, value, count, True
        new_value, new_gradient = function(target)
        count += 1
        while new_value < value and count < max_iter:
            target = 0.5 * (x + target)
            new_value, new_gradient = function(target)
            count += 1
        moved, turned = target - x, gradient - new_gradient
        curvature = float(moved @ turned)
        if curvature > 1e-12:
            E = np.eye(len(x)) - np.outer(moved, turned) / curvature
            inverse = E @ inverse @ E.T + np.outer(moved, moved) / curvature
        x, value, gradient = target, new_value, new_gradient
    return x, value, count, False


def _distinct(evaluations: list[Evaluation]) -> list[Evaluation]:
    """The best of each cluster of optima, best first."""
    kept: list[Evaluation] = []
    for candidate in sorted(evaluations, key=lambda e: -e.rank):
        distances = [np.abs(candidate.kernel.log_params - k.kernel.log_params).max() for k in kept]
        if not distances or min(distances) > _SAME_OPTIMUM:
            kept.append(candidate)
    return kept
