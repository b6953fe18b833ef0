"""From the optimum on a subset to the optimum on all data: BFGS that begins with the subset's curvature.

Four to six gradients on all data, as a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..base.typing import Array

__all__ = ["POLISHED", "Polished", "inverse_curvature", "polish", "quasi_newton"]

POLISHED = 1e-4  # nats that a further step promises
_LONGEST_STEP = 0.7
_MAX_ITER = 40


class Polished(NamedTuple):
    """Where it ended.

    The last step is taken without an evaluation when it promises less than `POLISHED`: convergence is superlinear, so
    that it ends far closer than that. `value` is the one before that step, and `inverse` the inverse of minus the
    Hessian as far as it is known, of shape (P, P).
    """

    position: Array
    value: float
    n_evaluations: int
    converged: bool
    inverse: Array


def polish(
    whole: Callable[[Array], tuple[float, Array]],
    subset: Callable[[Array], tuple[float, Array]],
    share: float,
    start: Array,
    bounds: Array,
    promise: float = POLISHED,
) -> Polished | None:
    """A maximum near that of a subset; None where a step went too far for the matrix.

    Parameters
    ----------
    whole, subset : callable
        Value and gradient at a point on all data, and on the subset.
    share : float
        Of the points that the subset has: curvatures grow with their number.
    start : array of shape (P,)
        The maximum on the subset.
    bounds : array of shape (P, 2)
    promise : float
        Nats below which a last step is taken on trust.
    """
    try:
        return quasi_newton(whole, start, share * inverse_curvature(subset, start, bounds), bounds, promise)
    except np.linalg.LinAlgError:
        return None


def inverse_curvature(function: Callable[[Array], tuple[float, Array]], x: Array, bounds: Array) -> Array:
    """Inverse of minus the Hessian at x by differences of gradients, made positive definite."""
    step = 1e-3
    centre = function(x)[1]
    columns = []
    for i in range(len(x)):
        sign = -1.0 if x[i] + step > bounds[i, 1] else 1.0
        columns.append((centre - function(x + sign * step * np.eye(len(x))[i])[1]) / (sign * step))
    H = np.array(columns)
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    floored = np.maximum(np.abs(values), 1e-3 * max(float(np.abs(values).max()), 1e-3))
    return np.asarray((vectors / floored) @ vectors.T)


def quasi_newton(
    function: Callable[[Array], tuple[float, Array]], x: Array, inverse: Array, bounds: Array, promise: float
) -> Polished:
    """BFGS ascent from x with a given inverse curvature."""
    value, gradient = function(x)
    count = 1
    for _ in range(_MAX_ITER):
        step = inverse @ gradient
        step *= min(1.0, _LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        target = np.clip(x + step, bounds[:, 0], bounds[:, 1])
        promised = 0.5 * float(gradient @ (target - x))
        if abs(promised) < promise:
            return Polished(target, value, count, True, inverse)
        new_value, new_gradient = function(target)
        count += 1
        while new_value < value and count < _MAX_ITER:
            target = 0.5 * (x + target)
            new_value, new_gradient = function(target)
            count += 1
        moved, turned = target - x, gradient - new_gradient
        curvature = float(moved @ turned)
        if curvature > 1e-12:
            E = np.eye(len(x)) - np.outer(moved, turned) / curvature
            inverse = E @ inverse @ E.T + np.outer(moved, moved) / curvature
        x, value, gradient = target, new_value, new_gradient
    return Polished(x, value, count, False, inverse)
