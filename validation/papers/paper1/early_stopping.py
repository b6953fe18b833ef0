"""The evidence stopped early by leave-one-out errors (paper 1, section 4.1, after Qi et al. 2004).

The evidence of an elliptical kernel is climbed from the best spherical one. At every point with a larger evidence than
all before it, the leave-one-out error of the classifier is known in closed form (eq 12). The point with the fewest
left-out labels wrong is taken, of equal ones the first. Qi et al. did so for a logistic regression, whose leave-one-out
error came from expectation propagation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import ARD, RBF, Kernel
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.press.leave_one_out import leave_one_out
from bayes_lssvm.search.climb import Stop, climb
from bayes_lssvm.search.refinement import refine_objective

__all__ = ["Stopped", "climb_and_stop"]

MOST_ITERATIONS = 200


class Step(NamedTuple):
    """A kernel on the way with its γ, evidence and share of left-out labels that are wrong."""

    kernel: Kernel
    gamma: float
    log_evidence: float
    loo_error: float


class Stopped(NamedTuple):
    """The way of a climb.

    Attributes
    ----------
    steps : tuple of Step
        From the spherical kernel to the end, each with a larger evidence than the one before.
    best : int
        The first step with the least leave-one-out error.
    """

    steps: tuple[Step, ...]
    best: int

    @property
    def end(self) -> Step:
        """The maximum of the evidence."""
        return self.steps[-1]

    @property
    def chosen(self) -> Step:
        """Where the climb is stopped."""
        return self.steps[self.best]


def climb_and_stop(X: Array, y: Array, seed: int) -> Stopped:
    """Climb the evidence of an ARD kernel for inputs of shape (N, d), standardised as a rule, and labels ±1."""
    objective = Objective(X, y)
    spherical = refine_objective(objective, RBF(float(np.sqrt(X.shape[1]))), seed).kernel
    assert isinstance(spherical, RBF)
    start = ARD((spherical.sigma,) * X.shape[1])
    steps: list[Step] = []

    def evidence(log_params: Array) -> tuple[float, Array]:
        kernel = start.with_log_params(log_params)
        found = objective.evaluate(kernel, gradient=True)
        if not steps or found.value > steps[-1].log_evidence:
            left = leave_one_out(kernel(X), y, found.level2.gamma)
            steps.append(Step(kernel, found.level2.gamma, found.value, float(left.error_rate)))
        assert found.gradient is not None
        return found.value, found.gradient

    climb(evidence, start.log_params, start.log_bounds(X), Stop(1e-8, 1e-3, iterations=MOST_ITERATIONS))
    return Stopped(tuple(steps), int(np.argmin([step.loo_error for step in steps])))
