"""An ascent whose curvature is known at every point, about, and mended by what the last steps have shown.

Where a function gives an approximation of minus its Hessian with each gradient, as the average information is one of
the evidence, a step is Newton's with that matrix, corrected by the changes of the gradient along the last steps as in
L-BFGS, of which it is the first matrix. Twenty parameters that start some tens of nats below the maximum take about ten
evaluations, where BFGS from the curvature of fewer points takes twenty. Each parameter's step is held to a length of
its own, so that one of which little is known does not shorten the steps of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..base.typing import AnyArray, Array

__all__ = ["Ascent", "Informed", "Step", "informed_ascent"]

_LONGEST_STEP = 1.0
_REMEMBERED = 8  # steps
_MAX_EVALUATIONS = 60
_LEAST_TURN = 1e-12  # of a gradient along a step, that tells of a curvature


class Informed(NamedTuple):
    """A function's value and gradient at a point, and about minus its Hessian, positive definite."""

    value: float
    gradient: Array
    curvature: Array


class Step(NamedTuple):
    """How far a step went, and how the gradient fell along it."""

    moved: Array
    turned: Array


class Ascent(NamedTuple):
    """Where an ascent ended.

    Attributes
    ----------
    position : array of shape (P,)
        The last step's target, which was not evaluated: it promised less than was asked for.
    value : float
        Before that step.
    n_evaluations : int
    converged : bool
    inverse : array of shape (P, P)
        About the inverse of minus the Hessian, zero for parameters that are held at an end of their range.
    steps : tuple of Step
        The last ones; they serve another ascent of about the same function.
    """

    position: Array
    value: float
    n_evaluations: int
    converged: bool
    inverse: Array
    steps: tuple[Step, ...]


def informed_ascent(
    function: Callable[[Array], Informed], x: Array, bounds: Array, promise: float, steps: tuple[Step, ...] = ()
) -> Ascent:
    """A maximum within a box of shape (P, 2), from x.

    Parameters
    ----------
    function : callable
    x : array of shape (P,)
    bounds : array of shape (P, 2)
    promise : float
        Nats below which a last step is taken on trust.
    steps : tuple of Step
        Of an ascent before.
    """
    here, count = function(x), 1
    while True:
        held = ((x <= bounds[:, 0]) & (here.gradient < 0.0)) | ((x >= bounds[:, 1]) & (here.gradient > 0.0))
        inverse = _inverse(here.curvature, held)
        step = np.clip(_newton(inverse, here.gradient, steps, held), -_LONGEST_STEP, _LONGEST_STEP)
        target = np.clip(x + step, bounds[:, 0], bounds[:, 1])
        promised = 0.5 * float(here.gradient @ (target - x))
        if not promised >= 0.0:  # the steps before misled: the curvature alone never does
            steps = ()
            target = np.clip(x + np.clip(inverse @ here.gradient, -_LONGEST_STEP, _LONGEST_STEP), *bounds.T)
            promised = 0.5 * float(here.gradient @ (target - x))
        if promised < promise or count >= _MAX_EVALUATIONS:
            return Ascent(target, here.value, count, promised < promise, inverse, steps)
        there, count = function(target), count + 1
        while there.value < here.value and count < _MAX_EVALUATIONS:
            target = 0.5 * (x + target)
            there, count = function(target), count + 1
        taken = Step(target - x, here.gradient - there.gradient)
        if float(taken.moved @ taken.turned) > _LEAST_TURN:
            steps = (*steps, taken)[-_REMEMBERED:]
        x, here = target, there


def _inverse(curvature: Array, held: AnyArray) -> Array:
    inverse = np.zeros_like(curvature)
    free = np.ix_(~held, ~held)
    inverse[free] = np.linalg.inv(curvature[free])
    return inverse


def _newton(inverse: Array, gradient: Array, steps: tuple[Step, ...], held: AnyArray) -> Array:
    """The inverse curvature times the gradient, after corrections by the last steps (L-BFGS in two loops)."""
    free = [Step(np.where(held, 0.0, step.moved), np.where(held, 0.0, step.turned)) for step in steps]
    known = [step for step in free if float(step.moved @ step.turned) > _LEAST_TURN]
    rest, shares = np.where(held, 0.0, gradient), []
    for step in reversed(known):
        shares.append(float(step.moved @ rest) / float(step.moved @ step.turned))
        rest = rest - shares[-1] * step.turned
    found = inverse @ rest
    for step, share in zip(known, reversed(shares), strict=True):
        found = found + step.moved * (share - float(step.turned @ found) / float(step.moved @ step.turned))
    return np.asarray(found)
