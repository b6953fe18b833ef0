"""ξ and ζ of the regularised PRESS by the evidence framework, against integrating them out (paper 1, section 2.2).

At given ξ and ζ, ζQ(θ) + ξΩ(θ) with Ω = ½ Σ η_i² is minimised over γ and the kernel's parameters (eq 14). With
λ_i the eigenvalues of the Hessian of ζQ in η at the minimum, the log evidence of ξ and ζ is

    −ξΩ − ζQ − ½ Σ log(λ_i + ξ) + ½d log ξ + ½ℓ log ζ − ½ℓ log 2π

and its derivatives vanish at

    ξ = γ_w/(2Ω),     ζ = (ℓ − γ_w)/(2Q),     γ_w = Σ λ_i/(λ_i + ξ):

γ_w is the number of kernel parameters that the data determine. Section 2.2 prints the λ_i as eigenvalues of the
Hessian of Q; the evidence needs those of ζQ. γ (1/μ of paper 1) belongs to θ but has no prior, so that the Hessian in
η is the one with log γ eliminated (a Schur complement). It is taken by differences of the analytic gradient: 2(d + 1)
gradients. A negative λ_i, possible as Q is not convex, counts as zero.

Integrating out instead gives ξ_eff = d/(2Ω) and ζ_eff = ℓ/(2Q): γ_w = d in the first and 0 in the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..base.errors import warn
from ..base.typing import Array
from ..kernels import Kernel
from ..search.climb import Climb, Stop, climb
from .criterion import LOG_2, PressObjective, sensitivities
from .descent import model_at, point_of, search_box

__all__ = ["PressEvidence", "determination", "optimise_xi_zeta"]

_STEP = 1e-3  # of log γ and log η in the differences


@dataclass(frozen=True)
class PressEvidence:
    """The regularised PRESS with ξ and ζ at the maximum of their evidence.

    Attributes
    ----------
    kernel : Kernel
    gamma : float
    xi, zeta : float
        At the fixed point of the updates.
    xi_eff, zeta_eff : float
        What integrating out would use at the same kernel and γ.
    well_determined : float
        γ_w.
    n_regularised : int
        d, of which γ_w is a part.
    press, penalty : float
        Q and Ω.
    log_evidence : float
        Of ξ and ζ, constants kept as above.
    at_bound : tuple of str
    n_iterations : int
        Updates of ξ and ζ.
    converged : bool
    """

    kernel: Kernel
    gamma: float
    xi: float
    zeta: float
    xi_eff: float
    zeta_eff: float
    well_determined: float
    n_regularised: int
    press: float
    penalty: float
    log_evidence: float
    at_bound: tuple[str, ...]
    n_iterations: int
    converged: bool


def determination(objective: PressObjective, kernel: Kernel, gamma: float, *, zeta: float) -> Array:
    """λ_i, of shape (d,): eigenvalues of the Hessian of ζQ in η with log γ eliminated, negative ones set to zero.

    Parameters
    ----------
    objective : PressObjective
    kernel : Kernel
    gamma : float
    zeta : float
        γ_w is then Σ λ_i/(λ_i + ξ).
    """
    eta, power = sensitivities(kernel)
    chosen = np.flatnonzero(power)
    eta, power = eta[chosen], power[chosen]
    x = np.append(np.log(gamma), kernel.log_params)

    def gradient(x: Array) -> Array:
        """∂Q/∂(log γ, log η) of the regularised parameters."""
        found = objective.regularised(kernel.with_log_params(x[1:]), float(np.exp(x[0])), xi=0.0, zeta=1.0)
        assert found.gradient is not None
        slope = found.gradient / LOG_2
        return np.append(slope[0], slope[1:][chosen] / power)

    columns = []
    steps = np.zeros((1 + len(chosen), len(x)))  # of log γ, then of each log η
    steps[0, 0] = _STEP
    steps[1 + np.arange(len(chosen)), 1 + chosen] = _STEP / power
    for shift in steps:
        columns.append((gradient(x + shift) - gradient(x - shift)) / (2.0 * _STEP))
    H = np.stack(columns)
    H = 0.5 * (H + H.T)
    # ∂²Q/∂η² = (∂²Q/∂(log η)² − diag ∂Q/∂log η)/(ηη'), then log γ eliminated where Q is convex in it
    inner = (H[1:, 1:] - np.diag(gradient(x)[1:])) / np.outer(eta, eta)
    across = H[1:, 0] / eta
    if H[0, 0] > 0.0:
        inner -= np.outer(across, across) / H[0, 0]
    return np.maximum(zeta * np.linalg.eigvalsh(inner), 0.0)


def optimise_xi_zeta(
    objective: PressObjective,
    kernel: Kernel,
    gamma: float,
    *,
    tolerance: float = 1e-3,
    max_iter: int = 50,
) -> PressEvidence:
    """ξ, ζ, γ and the kernel's parameters by alternating minimisation of eq 14 and updates of ξ and ζ.

    Parameters
    ----------
    objective : PressObjective
        With the criterion "press-br".
    kernel : Kernel
        Where to start, for instance at the kernel of `select_by_press(criterion="press-br")`.
    gamma : float
        Likewise.
    tolerance : float
        Largest change of log ξ and log ζ at which the updates stop.
    max_iter : int
        Updates at most; running out of them is a `ConvergenceWarning`.
    """
    if objective.criterion != "press-br":
        raise ValueError(f"The updates are those of the Gaussian prior: press-br, not {objective.criterion}.")
    d = int(sensitivities(kernel).regularised.sum())
    if d == 0:
        raise ValueError(f"{kernel!s} has no parameter that the prior applies to; its γ follows from PRESS alone.")
    box = search_box(objective, kernel)
    x = point_of(kernel, gamma, box)
    start = objective.evaluate(*model_at(kernel, x))
    xi, zeta, iteration, change = start.xi, start.zeta, 0, np.inf
    while True:
        lowest = _minimise(objective, kernel, x, box, xi, zeta, tolerance)
        x = lowest.position
        end, gamma = model_at(kernel, x)
        found = objective.evaluate(end, gamma)
        values = determination(objective, end, gamma, zeta=zeta)
        count = float(np.sum(values / (values + xi)))
        if change < tolerance or iteration == max_iter:
            break
        new_xi = max(count, 1e-6) / (2.0 * found.penalty)
        new_zeta = (objective.n - count) / (2.0 * found.press)
        change = max(abs(float(np.log(new_xi / xi))), abs(float(np.log(new_zeta / zeta))))
        xi, zeta, iteration = new_xi, new_zeta, iteration + 1
    converged = change < tolerance
    if not converged:
        warn(
            f"The updates of ξ and ζ have not converged after {iteration} rounds (the last changed them by a "
            f"factor of {np.exp(change):.3g}). A larger max_iter may help; it need not if γ_w falls to zero.",
            ConvergenceWarning,
        )
    log_evidence = (
        -xi * found.penalty
        - zeta * found.press
        - 0.5 * float(np.sum(np.log(values + xi)))
        + 0.5 * d * float(np.log(xi))
        + 0.5 * objective.n * float(np.log(zeta / (2.0 * np.pi)))
    )
    return PressEvidence(
        kernel=end,
        gamma=gamma,
        xi=xi,
        zeta=zeta,
        xi_eff=found.xi,
        zeta_eff=found.zeta,
        well_determined=count,
        n_regularised=d,
        press=found.press,
        penalty=found.penalty,
        log_evidence=log_evidence,
        at_bound=tuple(compress(("gamma", *kernel.param_names), lowest.at_edge)),
        n_iterations=iteration,
        converged=converged,
    )


def _minimise(
    objective: PressObjective, kernel: Kernel, x: Array, box: Array, xi: float, zeta: float, tolerance: float
) -> Climb:
    """The minimum of eq 14 near x = (log₂ γ, log₂ θ), as far as updates that stand still to a tolerance ask for."""

    def height(x: Array) -> tuple[float, Array]:
        found = objective.regularised(*model_at(kernel, x), xi=xi, zeta=zeta)
        assert found.gradient is not None
        return -found.value, -found.gradient

    # a point that is off by the tolerance is off in value by its square
    return climb(height, x, box, Stop(min(1e-12, tolerance**2), min(1e-5, tolerance), 200))
