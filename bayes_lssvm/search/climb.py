"""A function climbed by its gradient within a box: bounded L-BFGS, from one start or from each of several.

Every search by gradients is such a climb: of the evidence, of a posterior density, of minus a PRESS criterion. A line
search may step to where the function cannot be computed, because a matrix has no Cholesky factor there or a value is
not finite. Such a point is a level wall, a thousand nats below the best point so far, at which the line search turns
back. At the start itself it is an error. A climb that does not converge says so in its result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.optimize import minimize

from ..base.errors import NotPositiveSemidefiniteError
from ..base.progress import tqdm
from ..base.typing import AnyArray, Array

__all__ = ["Climb", "Stop", "at_edge", "climb", "climb_from_each", "to_zero_slope", "with_bar"]

_WALL = 1e3  # nats
_CLIFF, _BESIDE = 0.05, 1e-3  # nats that no slope explains, and the distance within which they are lost
_INSIDE = 1e-3  # from an edge of the box, farther than the differences of gradients reach
_DIFFERENCE, _NEAR = 1e-4, 1e-3  # their step, and the longest step of Newton
_FEW, _NEWTON_STEPS = 12, 2  # coordinates for which the Hessian is worth its gradients

Item = TypeVar("Item")


class Stop(NamedTuple):
    """When a climb ends; SciPy's limits by default.

    Attributes
    ----------
    gain : float
        Relative gain of a step.
    slope : float
        Largest component of the gradient, projected on the box.
    iterations, evaluations : int
        At most.
    """

    gain: float = 1e7 * float(np.finfo(float).eps)
    slope: float = 1e-5
    iterations: int = 15000
    evaluations: int = 15000


class _AtCliff(Exception):
    """Beside the best point so far the function falls off."""


@dataclass(frozen=True)
class Climb:
    """Where a climb ended.

    Attributes
    ----------
    position : array of shape (P,)
    value : float
        The function there.
    at_edge : array of bool of shape (P,)
        Coordinates that stand at an edge of the box.
    n_evaluations : int
    converged : bool
    message : str
        What the optimiser said.
    """

    position: Array
    value: float
    at_edge: AnyArray
    n_evaluations: int
    converged: bool
    message: str


def climb(function: Callable[[Array], tuple[float, Array]], start: Array, bounds: Array, stop: Stop) -> Climb:
    """A maximum of a function within a box, from one start.

    Parameters
    ----------
    function : callable
        Value and gradient at a point; `NotPositiveSemidefiniteError` or a value that is not finite where there is none.
    start : array of shape (P,)
    bounds : array of shape (P, 2)
    stop : Stop
    """
    best, slope, top, count = -np.inf, 0.0, np.asarray(start), 0

    def cost(x: Array) -> tuple[float, Array]:
        nonlocal best, slope, top, count
        count += 1
        try:
            value, gradient = function(x)
        except NotPositiveSemidefiniteError:
            if not np.isfinite(best):
                raise
            value = np.nan
        if np.isfinite(best) and not np.isfinite(value):
            return -best + _WALL, np.zeros_like(x)
        own = float(np.abs(gradient).sum())
        if value > best:
            best, slope, top = value, own, x.copy()
        distance = float(np.abs(x - top).max(initial=0.0))
        if distance < _BESIDE and best - value > _CLIFF + max(slope, own) * distance:
            raise _AtCliff
        return -value, -gradient

    options = {"ftol": stop.gain, "gtol": stop.slope, "maxiter": stop.iterations, "maxfun": stop.evaluations}
    try:
        end = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    except _AtCliff:
        return Climb(top, best, at_edge(top, bounds), count, False, "At a cliff of the function")
    x = np.asarray(end.x)
    return Climb(x, -float(end.fun), at_edge(x, bounds), int(end.nfev), bool(end.success), str(end.message))


def to_zero_slope(gradient: Callable[[Array], Array], x: Array, bounds: Array) -> tuple[Array, float]:
    """A minimum moved by Newton's steps to where the gradient within the box is zero, and the least curvature there.

    Values leave a minimum undecided within the root of their rounding, gradients within their rounding. The Hessian is
    of differences of gradients. The point stays where it is, with an infinite curvature where nothing was tried, if too
    many coordinates are free or none, if there is no minimum that differences can see, or if a step is no short one.

    Parameters
    ----------
    gradient : callable
        At a point of shape (P,).
    x : array of shape (P,)
    bounds : array of shape (P, 2)
    """
    free = np.flatnonzero((x > bounds[:, 0] + _INSIDE) & (x < bounds[:, 1] - _INSIDE))
    least = np.inf
    if not 0 < len(free) <= _FEW:
        return x, least
    here = gradient(x)[free]
    for _ in range(_NEWTON_STEPS):
        axes = _DIFFERENCE * np.eye(len(x))[free]
        H = np.array([gradient(x + axis)[free] - gradient(x - axis)[free] for axis in axes]) / (2.0 * _DIFFERENCE)
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        least = float(values[0])
        if least <= 0.0:
            break
        step = -vectors @ ((vectors.T @ here) / values)
        moved = x.copy()
        moved[free] += step
        if np.abs(step).max() > _NEAR:
            break
        there = gradient(moved)[free]
        if np.abs(there).max() >= np.abs(here).max():
            break
        x, here = moved, there
    return x, least


def climb_from_each(
    function: Callable[[Array], tuple[float, Array]], starts: Iterable[Array], bounds: Array, stop: Stop
) -> tuple[Climb, ...]:
    """Climbs from several starts, the highest first; of equal ones the one of the first start."""
    ends = [climb(function, start, bounds, stop) for start in with_bar(list(starts))]
    return tuple(sorted(ends, key=lambda end: -end.value))


def with_bar(items: Collection[Item], what: str = "kernel parameters") -> Iterable[Item]:
    """The items, with a bar and an estimate on a terminal where they take longer than two seconds."""
    shown: Iterable[Item] = tqdm(items, desc=what, delay=2.0, disable=None, leave=False)
    return shown


def at_edge(x: Array, bounds: Array) -> AnyArray:
    """Which coordinates of a point stand at an edge of the box, as booleans of shape (P,)."""
    low, high = np.asarray(bounds).T
    return np.asarray(np.isclose(x, low, atol=1e-6) | np.isclose(x, high, atol=1e-6))
