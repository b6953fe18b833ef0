"""The Laplace prior over the relevances of inputs: some become exactly zero (paper 1, section 4.2).

For K = exp(−Σ η_i (x_i − z_i)²) and N inputs with η_i > 0 the criterion is

    L = ½ℓ log Q(γ, η) + N log Ω,     Ω = Σ η_i,   η_i ≥ 0,

and at its minimum, with ζ = ℓ/(2Q) and ξ = N/Ω,

    −∂Q/∂η_i = ξ/ζ  where η_i > 0,     −∂Q/∂η_i ≤ ξ/ζ  where η_i = 0:

an input whose relevance lowers PRESS too slowly has exactly none, and leaves the kernel. The inputs that are left are
searched in log η, like any other kernel parameter. After each descent those of the smallest relevance are set to
zero, and the condition decides there, at zero, which of them stay removed and which removed ones come back: the
derivative ∂Q/∂η_i exists for them too. N is 1 in the first descent, so that the pull of the prior is weakest first (a
strong pull runs past minima inside), and then the number of inputs that are left, until nothing changes any more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..base.typing import AnyArray, Array
from ..kernels import ARD
from .criterion import PressEvaluation, PressObjective
from .derivative import press_derivative
from .descent import PressOutcome, PressStart, descend

__all__ = ["descend_with_pruning", "press_sensitivity"]

_MAX_ROUNDS = 20
# A relevance η_i takes ξη_i nats of the penalty, 1 on average; below this it is tried at zero.
_SMALL = 0.02
_RETURNING = 0.1
_MARGIN = 1e-3


def press_sensitivity(objective: PressObjective, eta: Array, gamma: float) -> Array:
    """−∂Q/∂η_i of shape (d,): how fast PRESS falls as an input gains relevance, for removed inputs (η_i = 0) too.

    Parameters
    ----------
    objective : PressObjective
    eta : array of shape (d,)
        Relevances, at least one of them positive.
    gamma : float
    """
    eta = np.asarray(eta, dtype=float)
    if eta.shape != (objective.X.shape[1],) or not (np.all(eta >= 0.0) and np.any(eta > 0.0)):
        raise ValueError(f"eta must hold one number ≥ 0 for each of the {objective.X.shape[1]} inputs, not all zero.")
    left = eta > 0.0
    K = _restricted(objective, left).matrix(ARD(tuple(eta[left] ** -0.5)), gamma)
    W = press_derivative(K, objective.y, gamma, objective.w, bias=objective.bias).matrix
    # at unit scales the contraction is 2 Σ W_ij K_ij (x_ik − x_jk)² for every column, whatever the kernel in K
    return 0.5 * ARD((1.0,) * len(eta)).contract(objective.X, W, K)


def descend_with_pruning(objective: PressObjective, start: PressStart, *, max_iter: int = 200) -> PressOutcome:
    """Minimise the criterion with the Laplace prior from one start, removing inputs.

    Parameters
    ----------
    objective : PressObjective
        With the criterion "press-laplace".
    start : PressStart
        With an `ARD` kernel.
    max_iter : int
        Of each descent.
    """
    kernel = start.kernel
    if objective.criterion != "press-laplace" or not isinstance(kernel, ARD):
        raise ValueError(
            "The Laplace prior removes inputs, so it needs a relevance for each: give the criterion press-laplace and "
            f"an ARD kernel, not {objective.criterion} and {kernel!s}."
        )
    eta, gamma = np.exp(-2.0 * kernel.log_params), start.gamma
    count, evaluations, seen, settled = 1, 0, set(), False
    for _ in range(_MAX_ROUNDS):
        left = eta > 0.0
        found = descend(
            replace(_restricted(objective, left), count=count),
            PressStart(ARD(tuple(eta[left] ** -0.5)), gamma, start.press),
            max_iter=max_iter,
        )
        evaluations += found.n_evaluations
        eta, gamma = np.zeros_like(eta), found.gamma
        eta[left] = np.exp(-2.0 * found.kernel.log_params)
        eta, changed = _revised(objective, eta, gamma, found.evaluation)
        remaining = int(np.sum(eta > 0.0))
        settled = not changed and remaining == count
        state = (remaining, tuple(eta > 0.0), count)
        if settled or (changed and state in seen):  # the same removal again: round in a circle
            break
        seen.add(state)
        count = remaining
    final = _restricted(objective, left)
    return replace(
        found,
        start=start,
        selected=left,
        evaluation=final.evaluate(found.kernel, gamma, gradient=True),
        n_evaluations=evaluations,
        converged=found.converged and settled,
        message=found.message if settled else "the number of remaining inputs did not settle",
    )


def _restricted(objective: PressObjective, left: AnyArray) -> PressObjective:
    return replace(objective, X=objective.X[:, left])


def _revised(objective: PressObjective, eta: Array, gamma: float, found: PressEvaluation) -> tuple[Array, bool]:
    """Relevances after the condition has been tried at zero, and whether inputs were removed or came back."""
    left, threshold = eta > 0.0, found.xi / found.zeta
    small = left & (found.xi * eta < _SMALL)
    small[np.argmax(eta)] = False  # a kernel needs an input
    tried = np.where(small, 0.0, eta)
    sensitivity = press_sensitivity(objective, tried, gamma)
    while np.any(
        wrong := small & (sensitivity > threshold)
    ):  # the steepest comes back first: it may explain the others
        worst = int(np.argmax(np.where(wrong, sensitivity, -np.inf)))
        small[worst] = False
        tried[worst] = eta[worst]
        sensitivity = press_sensitivity(objective, tried, gamma)
    back = ~left & (sensitivity > threshold * (1.0 + _MARGIN))
    tried[back] = _RETURNING / found.xi
    return tried, bool(small.any() or back.any())
