"""Along the ridge of (log μ, log ζ, log θ) to the best parameter θ of a kernel that has one, by a factor a step.

Laplace's evidence with its prior is F(θ) = log p(D, x̂, θ) + volume(θ), with the mode x̂ of x = (log μ, log ζ) for every
θ. Each point (x, θ) that `levels.near_mode` looks at has the gradient g = (g_x, g_θ) of the density and A = −∂²/∂x²
exactly. What is left of minus the Hessian, its column (b, c) of θ, follows from the last two points, which leave no
freedom in it. So does the slope v of the volume, about; where that is not enough it is estimated, or computed. The step
is Newton's:

    (c − bᵀA⁻¹b) dθ = g_θ + v − bᵀA⁻¹g_x          A dx = g_x − b dθ

It converges as the secant method does. The start and a first (b, c, v) come from fewer data points, so that three or
four factors on all data are enough. They are in single precision unless that could move θ by a third of the error that
is small enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import Array
from ..kernels import Kernel
from ..levels.near_mode import HowExact, NearMode, near_mode, random_signs
from ..levels.objective import Objective

__all__ = ["Bend", "RidgeTop", "Slope", "follow_ridge", "ridge"]

_LONGEST = 0.5  # steps in log θ
_LONGEST_OF_X = 1.5
_PROBING = 0.1  # the first step where no bend is known
_UPHILL = 0.3  # a step where the ridge bends upwards
_SMALLEST_MOVE = 1e-5  # in log θ, of which a bend can be told
_GROWTH = 0.75  # power of the number of points with which curvatures grow, about: more points, narrower kernels
_OTHER_BEND = 0.5  # the share of a bend from other data points that may be wrong
# Errors of the volume's slope, in nats: unknown, from other data points, for a squared distance from the ridge, for the
# distance between two points
_UNKNOWN_SLOPE, _OTHER_POINTS, _OFF_RIDGE, _TURNING = 0.5, 0.1, 0.3, 0.25
_SURE = 2.0  # standard errors
_NEAR = 0.1  # a step to where the exact slope is of use
_ROUGH = 0.3  # the share of an error of log θ that is small enough, that single precision may have
_LEVEL = 1e-12  # nats: a ridge without curvature
_MOST = 12


class Slope(NamedTuple):
    """The slope v of the volume along the ridge, and its error, about."""

    value: float = 0.0
    error: float = _UNKNOWN_SLOPE


class Bend(NamedTuple):
    """The column of θ in minus the Hessian of the density, b of shape (2,) and c, with A where it was found."""

    cross: Array
    own: float
    precision: Array

    @property
    def along(self) -> float:
        """Minus the second derivative of the density along the ridge, c − bᵀA⁻¹b."""
        return self.own - float(self.cross @ np.linalg.solve(self.precision, self.cross))

    def at(self, precision: Array, growth: float) -> Bend:
        """On other points, where A is another one and the curvature along the ridge so many times as large."""
        stretch = np.sqrt(np.diag(precision) / np.diag(self.precision))
        cross = np.sqrt(growth) * stretch * self.cross
        own = growth * self.along + float(cross @ np.linalg.solve(precision, cross))
        return Bend(cross, own, precision)


class RidgeTop(NamedTuple):
    """Where the way along the ridge ends.

    Attributes
    ----------
    position : array of shape (3,)
        The last step's target, which was not evaluated.
    value : float
        F there, as the last step promises it.
    bend : Bend
    slope : Slope
    n_evaluations : int
    pull : array of shape (2,) or None
        The derivative of the volume in (log μ, log ζ), about.
    """

    position: Array
    value: float
    bend: Bend
    slope: Slope
    n_evaluations: int
    pull: Array | None = None


class _Look(NamedTuple):
    at: Array
    near: NearMode

    @property
    def lags(self) -> Array:
        """From x to the mode of this θ, about."""
        return np.asarray(np.linalg.solve(self.near.precision, self.near.gradient[:2]))

    @property
    def lag(self) -> float:
        """How far that is."""
        return float(np.abs(self.lags).max())


Looker = Callable[[Array, HowExact, bool], NearMode]


def ridge(objective: Objective, kernel: Kernel, rng: np.random.Generator) -> Looker:
    """The evidence around a point (log μ, log ζ, log θ) of shape (3,), with the volume's slope or without, or rough."""
    signs = random_signs(len(objective.y), rng)

    def look(point: Array, slope: HowExact, rough: bool) -> NearMode:
        return near_mode(objective, kernel.with_log_params(point[2:]), point[:2], signs, slope=slope, rough=rough)

    return look


def follow_ridge(
    look: Looker,
    start: Array,
    bounds: Array,
    close: float,
    *,
    sure: float | None = None,
    before: RidgeTop | None = None,
    growth: float = 1.0,
) -> RidgeTop | None:
    """The top of the ridge near a start; None where it is not found soon, or at an end of the range of θ.

    Parameters
    ----------
    look : callable
        From `ridge`.
    start : array of shape (3,)
    bounds : pair of floats
        Of log θ.
    close : float
        An error of log θ that is small enough.
    sure : float, optional
        The same of what the slope of the volume does to log θ, whose exact value is dear; as close by default.
    before : RidgeTop, optional
        The top on fewer data points.
    growth : float
        How many times as many these are.
    """
    looks: list[_Look] = []
    sure = close if sure is None else sure
    slope = Slope() if before is None else Slope(before.slope.value, before.slope.error + _OTHER_POINTS)
    bend, doubt = (None, np.inf) if before is None else (before.bend, _OTHER_BEND)
    at = start
    wanted: HowExact = "no"
    rough = True
    for count in range(1, _MOST + 1):
        try:
            here = look(at, wanted, rough)
        except NotPositiveSemidefiniteError:
            return None
        if not (np.isfinite(here.density) and np.isfinite(here.volume)):
            return None
        looks.append(_Look(at, here))
        if count == 1 and bend is not None:
            bend = bend.at(here.precision, growth**_GROWTH)
        elif count > 1:
            fresh, stale = _doubts(looks[-2], looks[-1], doubt, 1.0 if bend is None else max(abs(bend.along), _LEVEL))
            if bend is None or fresh < stale:
                bend = _bend(looks[-2], looks[-1])
            doubt = min(fresh, stale)
        slope = min([slope, *_slopes(looks)], key=lambda s: s.error)
        step = _step(here, bend, slope.value)
        move = abs(float(step[2]))
        if not bounds[0] < at[2] + step[2] < bounds[1]:
            return None
        wanted = "no"
        if bend is not None and bend.along > 0.0:
            error = (slope.error + _TURNING * move) / bend.along
            off = abs(float(bend.cross @ looks[-1].lags)) / bend.along  # how far θ follows x, which b says
            unseen = here.rounding < _ROUGH * close * bend.along
            rough = rough and unseen
            ended = doubt < 1.0 and (move + off) * doubt < close and unseen
            if ended and float(np.abs(step).max()) < _LONGEST and error < sure:
                gain = 0.5 * (float(here.gradient @ step) + slope.value * float(step[2]))
                return RidgeTop(at + step, here.density + here.volume + gain, bend, slope, count, here.pull)
            if move < _NEAR and slope.error > sure * bend.along:
                wanted = "estimated" if here.volume_slope is None else "exact"
        at, slope = at + step, Slope(slope.value, slope.error + _TURNING * move)
    return None


def _doubts(before: _Look, here: _Look, doubt: float, along: float) -> tuple[float, float]:
    """The share that may be wrong of a bend from two points, and of the one before, which had that doubt.

    Third derivatives act by dθ, and by dx² for a gradient, which is dx²/dθ for a bend, as what rounding has done is.
    """
    dx, dtheta = float(np.abs(here.at[:2] - before.at[:2]).max()), abs(float(here.at[2] - before.at[2]))
    lost = (before.near.rounding + here.near.rounding) / along
    return dtheta + (dx**2 + lost) / dtheta if dtheta > _SMALLEST_MOVE else np.inf, doubt + dtheta + dx


def _bend(before: _Look, here: _Look) -> Bend:
    """(b, c) from two points: what the change of the gradient leaves once A is known."""
    moved, turned = here.at - before.at, before.near.gradient - here.near.gradient
    dx, dtheta = moved[:2], float(moved[2])
    cross = (turned[:2] - 0.5 * (before.near.precision + here.near.precision) @ dx) / dtheta
    return Bend(cross, (float(turned[2]) - float(cross @ dx)) / dtheta, here.near.precision)


def _slopes(looks: list[_Look]) -> Iterator[Slope]:
    """The slope at the last point: exact but for its distance from the ridge, or from two points.

    The error from two points has that of their volumes, is of second order in how far each is from the ridge, and of
    first order in their gap.
    """
    *others, here = looks
    if here.near.volume_slope is not None:
        yield Slope(float(here.near.volume_slope[0]), here.lag + _SURE * here.near.slope_error)
    for before in others:
        moved = float(here.at[2] - before.at[2])
        if abs(moved) > _SMALLEST_MOVE:
            signs = _SURE * (before.near.volume_error + here.near.volume_error)
            apart = _OFF_RIDGE * (before.lag**2 + here.lag**2) + signs
            error = apart / abs(moved) + _TURNING * abs(moved)
            yield Slope((here.near.volume - before.near.volume) / moved, error)


def _step(here: NearMode, bend: Bend | None, slope: float) -> Array:
    """Newton's step, or one of a fair length uphill where the bend is not known or upwards."""
    gx, gtheta = here.gradient[:2], float(here.gradient[2])
    if bend is None:
        return np.array([0.0, 0.0, float(np.copysign(_PROBING, gtheta))])
    reduced = gtheta + slope - float(bend.cross @ np.linalg.solve(here.precision, gx))
    dtheta = reduced / bend.along if bend.along > 0.0 else float(np.copysign(_UPHILL, reduced))
    dtheta = float(np.clip(dtheta, -_LONGEST, _LONGEST))
    dx = np.linalg.solve(here.precision, gx - bend.cross * dtheta)
    return np.append(np.clip(dx, -_LONGEST_OF_X, _LONGEST_OF_X), dtheta)
