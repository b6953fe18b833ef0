"""One descent of a PRESS criterion, and where descents start.

The search runs in x = (log₂ γ, log₂ θ) by L-BFGS-B, within the kernel's own bounds and a range of γ that goes from a
model without inputs to 10⁹ over the mean of K(x, x). The criterion "press" is
descended as ½ℓ log Q, so that a unit is a nat for all criteria. The starts are the kernel's starting points, each
with the γ of the least PRESS by one decomposition on at most 300 points: the minima along them, and seeded
perturbations of the best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.rounding import ROUNDING
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..search.climb import Stop, climb, to_zero_slope
from ..search.starts import spread_subset, starting_points
from .criterion import LOG_2, PressEvaluation, PressObjective, sensitivities
from .leave_one_out import LeaveOneOutSpectrum

__all__ = ["PressOutcome", "PressStart", "descend", "fall_to_flat", "search_box", "settled", "starts"]

_SIFTED = 300  # points on which starts are compared
_GAMMAS = 40
_MAX_MINIMA = 3
_HIGH, _MODERATE = 1e3, 1e2  # γ times the mean of K(x, x)
_MAX_GAMMA = 1e9  # times the mean of K(x, x): beyond, rounding makes the criterion too rough to descend
_ENOUGH, _SETTLED = Stop(1e-10, 1e-4), Stop(0.0, 1e-8)
_LEVEL = 1e-5  # of the value: a curvature, for units of log₂, that leaves an end to rounding
_FLAT = 1e-4  # 1 − mean K(x, z)/mean K(x, x) below which a kernel is as good as constant or linear
_STALLED = 0.1  # between 0, at a minimum, and 1, where the penalty alone is left; settled on simulated labels


@dataclass(frozen=True)
class PressStart:
    """Where a descent starts: a kernel, γ, and PRESS there a point of the sifting data, where it was evaluated."""

    kernel: Kernel
    gamma: float
    press: float | None = None


@dataclass(frozen=True)
class PressOutcome:
    """Where a descent ended.

    Attributes
    ----------
    start : PressStart
    kernel : Kernel
        Over the inputs that are left.
    gamma : float
    selected : array of bool of shape (d,)
        The inputs that are left.
    evaluation : PressEvaluation
        The criterion at the end.
    at_bound : tuple of str
        "gamma" and names of kernel parameters that stand at an edge of the searched box.
    flat_limit : bool
        Whether a criterion with a penalty ran to where it has no minimum: a kernel that varies by less than 10⁻⁴ over
        the data, or γ at its lower end; for a penalty on the slope also a kernel that is zero between points.
    stalled : bool
        Whether a descent of criterion 15 ended on its way to the flat limit: see `fall_to_flat`.
    interpolates : bool
        Whether γ stands at the upper end of its range.
    n_evaluations : int
    converged : bool
    message : str
        What the optimiser said.
    """

    start: PressStart
    kernel: Kernel
    gamma: float
    selected: AnyArray
    evaluation: PressEvaluation
    at_bound: tuple[str, ...]
    flat_limit: bool
    stalled: bool
    interpolates: bool
    n_evaluations: int
    converged: bool
    message: str


def search_box(objective: PressObjective, kernel: Kernel) -> Array:
    """Bounds of (log₂ γ, log₂ θ), of shape (1 + P, 2)."""
    traces = [_trace(kernel.with_log_params(p), objective.X) for p in kernel.starting_points(objective.X)]
    heaviest = float(objective.w.max())
    largest = _MAX_GAMMA * objective.n / (min(traces) * heaviest)
    gamma = np.log2([1e-6 / max(traces), min(largest, 0.5 / (ROUNDING * min(traces) * heaviest))])
    return np.vstack([gamma, kernel.log_bounds(objective.X).reshape(-1, 2) / LOG_2])


def _trace(kernel: Kernel, X: Array) -> float:
    return float(kernel.diag(X).sum())


def point_of(kernel: Kernel, gamma: float, box: Array) -> Array:
    """The point x = (log₂ γ, log₂ θ) of a kernel and γ, moved into the box."""
    return np.clip(np.append(np.log2(gamma), kernel.log_params / LOG_2), box[:, 0], box[:, 1])


def model_at(kernel: Kernel, x: Array) -> tuple[Kernel, float]:
    """The kernel and γ at a point x."""
    return kernel.with_log_params(x[1:] * LOG_2), float(2.0 ** x[0])


def starts(objective: PressObjective, kernel: Kernel, *, n_restarts: int, seed: int) -> tuple[PressStart, ...]:
    """The minima along the kernel's starting points, the best first, then perturbations of the best.

    Parameters
    ----------
    objective : PressObjective
    kernel : Kernel
    n_restarts : int
        Number of perturbations, Normal(0, 1) in each log₂ parameter.
    seed : int
        Of the perturbations, and of the subset on which the starting points are compared.
    """
    rng = np.random.default_rng(seed)
    box = search_box(objective, kernel)
    points = starting_points(kernel, objective.X, box[1:] * LOG_2)
    rows = np.arange(objective.n)
    if objective.n > _SIFTED:
        rows = spread_subset(objective.y, _SIFTED, rng)
    found = [s for p in points if (s := _sift(objective, kernel.with_log_params(p), rows, box[0])) is not None]
    if not found:
        objective.matrix(kernel, 1.0)  # says what is wrong with it
        raise NotPositiveSemidefiniteError(f"{kernel!s} cannot be evaluated at any of its starting points.")
    found.sort(key=lambda s: tuple(s.kernel.log_params))
    values = np.array([s.press for s in found])
    left, right = np.append(np.inf, values[:-1]), np.append(values[1:], np.inf)
    minima = [found[i] for i in np.flatnonzero((values <= left) & (values <= right))]
    best = sorted(minima, key=lambda s: s.press or 0.0)[:_MAX_MINIMA]
    chosen = list(best)
    scale = 1.0 / float(np.mean(best[0].kernel.diag(objective.X)))
    if best[0].gamma > _HIGH * scale:
        # a spherical kernel on irrelevant inputs may do best by interpolating; an elliptical one need not
        chosen.append(PressStart(best[0].kernel, _MODERATE * scale))
    for _ in range(n_restarts):
        x = np.append(np.log2(min(best[0].gamma, _HIGH * scale)), best[0].kernel.log_params / LOG_2)
        x = np.clip(x + rng.normal(size=len(x)), box[:, 0], box[:, 1])
        chosen.append(PressStart(*model_at(kernel, x)))
    return tuple(chosen)


def _sift(objective: PressObjective, kernel: Kernel, rows: AnyArray, log2_gamma: Array) -> PressStart | None:
    """The γ of the least PRESS for one kernel; None where its matrix is no inner product, not finite, or of no use."""
    gammas = 2.0 ** np.linspace(log2_gamma[0], log2_gamma[1], _GAMMAS)
    K = kernel(objective.X[rows])
    if objective.criterion == "press-slope" and _apart(K):
        return None  # points so far apart that the fit is level at each: there is no slope to penalise
    gammas = gammas[1.0 / gammas > ROUNDING * objective.n * float(np.mean(np.diagonal(K)))]
    try:
        spectrum = LeaveOneOutSpectrum.from_kernel_matrix(
            K, objective.y[rows], weights=objective.w[rows], bias=objective.bias
        )
        press = spectrum.at(gammas).press / len(rows)
    except ValueError:  # NotPositiveSemidefiniteError is one
        return None
    least = int(np.argmin(press))
    return PressStart(kernel, float(gammas[least]), float(press[least]))


def settled(objective: PressObjective, end: PressOutcome, *, max_iter: int = 200) -> PressOutcome:
    """The end of a descent, descended from once more until rounding stops it: far closer than a descent must come."""
    own = replace(objective, X=objective.X[:, end.selected]) if not end.selected.all() else objective
    again = descend(own, PressStart(end.kernel, end.gamma), max_iter=max_iter, stop=_SETTLED)
    if again.evaluation.value > end.evaluation.value:
        again = replace(end, n_evaluations=end.n_evaluations + again.n_evaluations)
    else:
        again = replace(
            again,
            start=end.start,
            selected=end.selected,
            converged=end.converged,
            message=end.message,
            n_evaluations=end.n_evaluations + again.n_evaluations,
        )
    found, level = _at_zero_slope(own, again)
    return _at_the_end_of_a_plateau(own, found, max_iter) if level else found


def _at_the_end_of_a_plateau(objective: PressObjective, end: PressOutcome, max_iter: int) -> PressOutcome:
    """The end, or a better one from an edge of the box of its kernel's only parameter.

    A criterion that becomes level on the way to an edge, as where a polynomial has lost its lower terms, ends a descent
    where rounding does. γ follows the size of the kernel there, which is many powers of ten larger at one edge: as it
    is it would be lost in rounding.
    """
    box = search_box(objective, end.kernel)
    if len(box) != 2 or end.at_bound:
        return end
    weight = end.gamma * _trace(end.kernel, objective.X)
    for edge in box[1]:
        kernel = end.kernel.with_log_params(np.array([edge * LOG_2]))
        start = PressStart(kernel, weight / _trace(kernel, objective.X))
        try:
            other = descend(objective, start, max_iter=max_iter, stop=_SETTLED)
        except NotPositiveSemidefiniteError:  # no inner product at that edge
            continue
        better = other.evaluation.value < end.evaluation.value and not (other.flat_limit or other.stalled)
        count = end.n_evaluations + other.n_evaluations
        if better:
            end, _ = _at_zero_slope(objective, replace(other, start=end.start, selected=end.selected))
        end = replace(end, n_evaluations=count)
    return end


def _at_zero_slope(objective: PressObjective, end: PressOutcome) -> tuple[PressOutcome, bool]:
    """An end moved to where the gradient is zero, and whether the criterion is nearly level there.

    That matters where γ stands at the upper end of its range, or where the criterion is nearly level. An end so close
    to where 1/γ is lost in rounding that no difference can be taken stays where it is.
    """
    box = search_box(objective, end.kernel)
    x = point_of(end.kernel, end.gamma, box)

    def evaluated(x: Array) -> PressEvaluation:
        return objective.evaluate(*model_at(end.kernel, x), gradient=True)

    def slope(x: Array) -> Array:
        found = evaluated(x)
        assert found.gradient is not None
        return found.gradient

    try:
        moved, curvature = to_zero_slope(slope, x, box)
    except NotPositiveSemidefiniteError:
        return end, False
    level = curvature < _LEVEL * max(1.0, abs(end.evaluation.value))
    if not np.array_equal(moved, x):
        kernel, gamma = model_at(end.kernel, moved)
        end = replace(end, kernel=kernel, gamma=gamma, evaluation=evaluated(moved))
    return end, level


def descend(objective: PressObjective, start: PressStart, *, max_iter: int = 200, stop: Stop = _ENOUGH) -> PressOutcome:
    """L-BFGS-B from one start.

    Parameters
    ----------
    objective : PressObjective
    start : PressStart
    max_iter : int
    stop : Stop
        But for the number of iterations.
    """
    kernel, box = start.kernel, search_box(objective, start.kernel)

    def height(x: Array) -> tuple[float, Array]:
        found = objective.evaluate(*model_at(kernel, x), gradient=True)
        assert found.gradient is not None
        if objective.criterion == "press":
            return -0.5 * objective.n * float(np.log(found.value)), -found.zeta * found.gradient
        return -found.value, -found.gradient

    found = climb(height, point_of(kernel, start.gamma, box), box, stop._replace(iterations=max_iter))
    log2_gamma = float(found.position[0])
    end, gamma = model_at(kernel, found.position)
    evaluation = objective.evaluate(end, gamma, gradient=True)
    flat = _is_flat(objective, end, at_lower_end=bool(np.isclose(log2_gamma, box[0, 0], atol=1e-6)))
    return PressOutcome(
        start=start,
        kernel=end,
        gamma=gamma,
        selected=np.ones(objective.X.shape[1], dtype=bool),
        evaluation=evaluation,
        at_bound=tuple(compress(("gamma", *kernel.param_names), found.at_edge)),
        flat_limit=flat,
        stalled=not flat and fall_to_flat(objective, end, evaluation) > _STALLED,
        interpolates=bool(np.isclose(log2_gamma, box[0, 1], atol=1e-6)),
        n_evaluations=found.n_evaluations,
        converged=found.converged,
        message=found.message,
    )


def _is_flat(objective: PressObjective, kernel: Kernel, *, at_lower_end: bool) -> bool:
    """Whether a criterion with a penalty ran to where it has no minimum: a kernel all but constant, or γ → 0.

    That of the slope has none either where the kernel of most pairs of points is as good as zero.
    """
    if objective.criterion in ("press", "loo") or not sensitivities(kernel).regularised.any():
        return False
    K = kernel(objective.X)
    if objective.criterion == "press-slope" and _apart(K):
        return True
    return at_lower_end or bool(1.0 - float(K.mean()) / float(np.diagonal(K).mean()) < _FLAT)


def fall_to_flat(objective: PressObjective, kernel: Kernel, found: PressEvaluation) -> float:
    """How fast criterion 15 falls towards its flat limit, of what its penalty alone falls by.

    The way there is η → η/c² for all relevances, with γ → γc⁴, so that the quadratic terms of the kernel keep their
    weight beside 1/γ. Along it ½d log Ω falls by 2d nats for each factor e of c. The share is 0 at a minimum, and 1
    where PRESS has become level. In between a descent has stalled: it ran into the upper end of γ, or into rounding,
    and its value says where that is and nothing of the data. 0 for other criteria.

    Parameters
    ----------
    objective : PressObjective
    kernel : Kernel
    found : PressEvaluation
        The criterion there, with its gradient.
    """
    power = sensitivities(kernel).power
    if objective.criterion != "press-br" or not power.any():
        return 0.0
    assert found.gradient is not None
    regularised = power != 0.0
    along = np.divide(-2.0, power, out=np.zeros_like(power), where=regularised)  # of log₂ θ, a factor 2 of c
    slope = 4.0 * float(found.gradient[0]) + float(found.gradient[1:] @ along)
    return -slope / (2.0 * LOG_2 * float(regularised.sum()))


def _apart(K: Array) -> bool:
    """Whether the kernel between points is as good as zero."""
    own = float(np.diagonal(K).mean())
    return float(K.mean()) - own / len(K) < _FLAT * own
