"""From the optimum on a subset to that on all data for kernels with several parameters, by a factor a step.

Laplace's evidence with its prior is log p(D, x̂, θ) + volume(θ), with the mode x̂ of x = (log μ, log ζ). The density is
climbed in (x, θ) jointly, with one Cholesky factor a step (`levels.near_mode`), and the volume stands by its slope,
which changes little: first the subset's, then one that is estimated near the top, and where the exact gradient at the
end shows that this was not enough, the exact one. On the subset itself, where the way begins, the volume is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import Array
from ..kernels import Kernel
from ..levels.near_mode import near_mode, random_signs
from ..levels.objective import Evaluation, Objective
from .climb import Stop, climb
from .polish import Polished, inverse_curvature, quasi_newton
from .stages import stages

__all__ = ["climb_density", "climb_with_volume", "point_of"]

_PROMISE = 5e-4  # nats of a last step that is taken on trust
_PASSED = 0.02  # the same on fewer points, and before the slope of the volume is looked at again
_ROUNDS = 3
_SAME_MODE = 0.1  # in log μ and log ζ
_AROUND = 20.0  # log μ and log ζ about the start


def climb_with_volume(
    objective: Objective, small: Objective, found: Evaluation, bounds: Array, rng: np.random.Generator
) -> tuple[Evaluation, int] | None:
    """The optimum on all data and the number of evaluations there; None where it is not found soon.

    Parameters
    ----------
    objective, small : Objective
        With a prior, on all data and on the subset.
    found : Evaluation
        The optimum on the subset.
    bounds : array of shape (P, 2)
    """
    if found.posterior is None or not found.posterior.has_mode:
        return None
    kernel, at = found.kernel, point_of(found)
    box = np.vstack([at[:2, None] + np.array([-_AROUND, _AROUND]), bounds])
    begun = _learnt(small, kernel, at, box, rng)
    *between, _ = stages(objective, len(small.y), rng)
    for stage in between:
        passed = _passed(stage, kernel, begun, box, rng)
        if passed is None:
            return None
        known = begun._replace(at=passed.position, inverse=passed.inverse, size=len(stage.y))
        begun = _learnt(stage, kernel, passed.position, box, rng) if stage is between[-1] else known
    many = _density(objective, kernel, rng)
    try:
        near = quasi_newton(_tilted(many, begun.slope), begun.at, begun.inverse_on(objective), box, _PASSED)
        at, inverse, count = near.position, near.inverse, near.n_evaluations + 1
        slope = _volume_slope(objective, kernel, at, rng)
    except NotPositiveSemidefiniteError:
        return None
    if slope is None:
        return None
    for _ in range(_ROUNDS):
        try:
            end = quasi_newton(_tilted(many, slope), at, inverse, box, _PROMISE)
            here = objective.evaluate(kernel.with_log_params(end.position[2:]), gradient=True)
        except NotPositiveSemidefiniteError:
            return None
        assert here.gradient is not None
        count, inverse = count + end.n_evaluations + 1, end.inverse
        # the scan of γ may find a better mode than the one that was followed
        if not end.converged or np.abs(point_of(here)[:2] - end.position[:2]).max() > _SAME_MODE:
            return None
        free = (here.kernel.log_params > bounds[:, 0]) & (here.kernel.log_params < bounds[:, 1])
        left = np.append([0.0, 0.0], np.where(free, here.gradient, 0.0))
        if 0.5 * float(left @ inverse @ left) < _PROMISE:
            return here, count
        at, slope = point_of(here), here.gradient - many(point_of(here))[1][2:]
    return None


class _Begun(NamedTuple):
    """Where a climb begins: (x, θ), the slope of the volume, and the inverse curvature on that many points."""

    at: Array
    slope: Array
    inverse: Array
    size: int

    def inverse_on(self, objective: Objective) -> Array:
        """The inverse curvature on other points: curvatures grow with their number."""
        return self.size / len(objective.y) * self.inverse


def _learnt(objective: Objective, kernel: Kernel, at: Array, box: Array, rng: np.random.Generator) -> _Begun:
    """What differences and one exact gradient tell of a point."""
    density, exact = _density(objective, kernel, rng), objective.evaluate(kernel.with_log_params(at[2:]), gradient=True)
    assert exact.gradient is not None
    at = point_of(exact)
    return _Begun(at, exact.gradient - density(at)[1][2:], inverse_curvature(density, at, box), len(objective.y))


def _passed(stage: Objective, kernel: Kernel, begun: _Begun, box: Array, rng: np.random.Generator) -> Polished | None:
    """The optimum on more points, about."""
    density = _tilted(_density(stage, kernel, rng), begun.slope)
    try:
        return quasi_newton(density, begun.at, begun.inverse_on(stage), box, _PASSED)
    except NotPositiveSemidefiniteError:
        return None


def _volume_slope(objective: Objective, kernel: Kernel, at: Array, rng: np.random.Generator) -> Array | None:
    """The slope of the volume in θ at a point, from random signs; None where there is no mode near."""
    signs = random_signs(len(objective.y), rng)
    return near_mode(objective, kernel.with_log_params(at[2:]), at[:2], signs, slope="estimated").volume_slope


def climb_density(
    objective: Objective, kernel: Kernel, start: Evaluation, bounds: Array, stop: Stop, rng: np.random.Generator
) -> Evaluation | None:
    """The maximum over (x, θ) of the density without its volume, evaluated; None where the mode of x was lost."""
    if start.posterior is None or not start.posterior.has_mode:
        return None
    at = point_of(start)
    box = np.vstack([at[:2, None] + np.array([-_AROUND, _AROUND]), bounds])
    try:
        end = climb(_density(objective, kernel, rng), at, box, stop)
        found = objective.evaluate(kernel.with_log_params(end.position[2:]))
    except NotPositiveSemidefiniteError:
        return None
    # the scan of γ may find a better mode than the one that was followed
    lost = np.abs(point_of(found)[:2] - end.position[:2]).max() > _SAME_MODE
    return None if lost or not end.converged else found


def point_of(found: Evaluation) -> Array:
    """(log μ, log ζ, log θ)."""
    return np.append(np.log([found.level2.mu, found.level2.zeta]), found.kernel.log_params)


def _density(objective: Objective, kernel: Kernel, rng: np.random.Generator) -> Callable[[Array], tuple[float, Array]]:
    """The density log p(D, x, θ) with its gradient at points (x, θ)."""
    signs = random_signs(len(objective.y), rng)

    def density(point: Array) -> tuple[float, Array]:
        found = near_mode(objective, kernel.with_log_params(point[2:]), point[:2], signs)
        return found.density, found.gradient

    return density


def _tilted(function: Callable[[Array], tuple[float, Array]], slope: Array) -> Callable[[Array], tuple[float, Array]]:
    """The function with a plane in θ added."""

    def tilted(point: Array) -> tuple[float, Array]:
        value, gradient = function(point)
        return value + float(slope @ point[2:]), gradient + np.append([0.0, 0.0], slope)

    return tilted
