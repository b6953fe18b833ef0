"""From the optimum on a subset to that on all data for kernels with several parameters, by a factor a step.

Laplace's evidence with its prior is log p(D, x̂, θ) + volume(θ), with the mode x̂ of x = (log μ, log ζ). The density is
climbed in (x, θ) jointly, with one Cholesky factor a step and the average information for a curvature (`informed`), and
the volume stands by its slope, which changes little: first that of fewer points, then one that is estimated near the
top (`levels.near_mode`), and where the exact gradient at the end shows that this was not enough, the exact one. On the
subset itself, where the way begins, the volume is left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import Array
from ..kernels import Kernel
from ..levels.near_mode import near_mode, random_signs
from ..levels.objective import Evaluation, Objective
from ..priors import LogPrior
from .climb import Stop, climb
from .informed import Informed, informed_ascent
from .stages import stages

__all__ = ["climb_density", "climb_with_volume", "point_of"]

_PROMISE = 5e-4  # nats of a last step that is taken on trust
_PASSED = 0.02  # the same on fewer points, and before the slope of the volume is looked at again
_ROUNDS = 3
_SAME_MODE = 0.1  # in log μ and log ζ
_AROUND = 20.0  # log μ and log ζ about the start
_LEAST_CURVATURE = 1e-3  # of a prior that is flat


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
    *between, _ = stages(objective, len(small.y), rng)
    many = _informed(objective, kernel)
    try:
        slope = _learnt(small, kernel, at)
        for stage in between:
            at = informed_ascent(_tilted(_informed(stage, kernel), slope), at, box, _PASSED).position
            if stage is between[-1]:
                slope = _learnt(stage, kernel, at)
        near = informed_ascent(_tilted(many, slope), at, box, _PASSED)
        at, steps, count = near.position, near.steps, near.n_evaluations + 1
        estimated = _volume_slope(objective, kernel, at, rng)
        if estimated is None:
            return None
        slope = estimated
        for _ in range(_ROUNDS):
            end = informed_ascent(_tilted(many, slope), at, box, _PROMISE, steps)
            here = objective.evaluate(kernel.with_log_params(end.position[2:]), gradient=True)
            assert here.gradient is not None
            count, steps = count + end.n_evaluations + 1, end.steps
            # the scan of γ may find a better mode than the one that was followed
            if not end.converged or np.abs(point_of(here)[:2] - end.position[:2]).max() > _SAME_MODE:
                return None
            free = (here.kernel.log_params > bounds[:, 0]) & (here.kernel.log_params < bounds[:, 1])
            left = np.append([0.0, 0.0], np.where(free, here.gradient, 0.0))
            if 0.5 * float(left @ end.inverse @ left) < _PROMISE:
                return here, count
            at = point_of(here)
            slope = here.gradient - many(at).gradient[2:]
    except NotPositiveSemidefiniteError:
        return None
    return None


def _learnt(objective: Objective, kernel: Kernel, at: Array) -> Array:
    """The slope of the volume in θ at a point, exactly."""
    exact = objective.evaluate(kernel.with_log_params(at[2:]), gradient=True)
    assert exact.gradient is not None
    return np.asarray(exact.gradient - _density(objective, kernel)(point_of(exact))[1][2:])


def _volume_slope(objective: Objective, kernel: Kernel, at: Array, rng: np.random.Generator) -> Array | None:
    """The slope of the volume in θ at a point, from random signs; None where there is no mode near."""
    signs = random_signs(len(objective.y), rng)
    return near_mode(objective, kernel.with_log_params(at[2:]), at[:2], signs, slope="estimated").volume_slope


def climb_density(
    objective: Objective, kernel: Kernel, start: Evaluation, bounds: Array, stop: Stop
) -> Evaluation | None:
    """The maximum over (x, θ) of the density without its volume, evaluated; None where the mode of x was lost."""
    if start.posterior is None or not start.posterior.has_mode:
        return None
    at = point_of(start)
    box = np.vstack([at[:2, None] + np.array([-_AROUND, _AROUND]), bounds])
    try:
        end = climb(_density(objective, kernel), at, box, stop)
        found = objective.evaluate(kernel.with_log_params(end.position[2:]))
    except NotPositiveSemidefiniteError:
        return None
    # the scan of γ may find a better mode than the one that was followed
    lost = np.abs(point_of(found)[:2] - end.position[:2]).max() > _SAME_MODE
    return None if lost or not end.converged else found


def point_of(found: Evaluation) -> Array:
    """(log μ, log ζ, log θ)."""
    return np.append(np.log([found.level2.mu, found.level2.zeta]), found.kernel.log_params)


def _density(objective: Objective, kernel: Kernel) -> Callable[[Array], tuple[float, Array]]:
    """The density log p(D, x, θ) with its gradient at points (x, θ)."""
    priors = _priors(objective, kernel)

    def density(point: Array) -> tuple[float, Array]:
        log_mu, log_zeta, *_ = point.tolist()
        found = objective.at(kernel.with_log_params(point[2:]), log_mu, log_zeta)
        own = list(zip(priors, point.tolist(), strict=True))
        value = found.value + sum(float(prior.log_density(x)) for prior, x in own)
        return value, found.gradient + np.array([float(prior.gradient(x)) for prior, x in own])

    return density


def _informed(objective: Objective, kernel: Kernel) -> Callable[[Array], Informed]:
    """The same, with the average information and the curvature of the prior.

    Where parameters flatten out, ∂²K/∂θ² is about −2 ∂K/∂θ, which the information leaves out: what the data want is
    to be seen less of an input fades twice as fast as it is moved.
    """
    priors = _priors(objective, kernel)

    def informed(point: Array) -> Informed:
        log_mu, log_zeta, *_ = point.tolist()
        found = objective.informed(kernel.with_log_params(point[2:]), log_mu, log_zeta)
        own = list(zip(priors, point.tolist(), strict=True))
        value = found.value + sum(float(prior.log_density(x)) for prior, x in own)
        bends = np.array([max(float(prior.curvature(x)), _LEAST_CURVATURE) for prior, x in own])
        if kernel.flattens:
            bends[2:] += np.maximum(2.0 * found.gradient[2:], 0.0)
        gradient = found.gradient + np.array([float(prior.gradient(x)) for prior, x in own])
        return Informed(value, gradient, found.information + np.diag(bends))

    return informed


def _priors(objective: Objective, kernel: Kernel) -> tuple[LogPrior, ...]:
    assert objective.prior is not None
    return objective.prior.components(len(kernel.log_params))


def _tilted(function: Callable[[Array], Informed], slope: Array) -> Callable[[Array], Informed]:
    """The function with a plane in θ added."""

    def tilted(point: Array) -> Informed:
        found = function(point)
        gradient = found.gradient + np.append([0.0, 0.0], slope)
        return found._replace(value=found.value + float(slope @ point[2:]), gradient=gradient)

    return tilted
