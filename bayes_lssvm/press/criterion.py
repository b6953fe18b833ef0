"""PRESS as a criterion for γ and the kernel, plain and with Bayesian regularisation (paper 1, sections 1.3 and 2).

Q(θ) = ½ Σ w_i (y_i − ŷ_i^(−i))² is easy to over-fit where a kernel has many parameters. Paper 1 adds a term that
prefers smooth kernels, ζQ + ξΩ (eq 14), and integrates ξ and ζ out under Jeffreys' priors. Of d regularised
parameters η_i and ℓ points,

    "press"            Q
    "press-br"         ½ℓ log Q + ½d log Ω,     Ω = ½ Σ η_i²                   Gaussian prior (15)
    "press-laplace"    ½ℓ log Q + d log Ω,      Ω = Σ η_i                      Laplace prior (section 4.2)
    "press-curvature"  ½ℓ log Q + ½d log Ω,     Ω = 1/(2ℓ) Σ_ij (∂²ŷ_i/∂x_ij²)²
    "press-slope"      ½ℓ log Q + ½d log Ω,     Ω = 1/(2ℓ) Σ_ij (∂ŷ_i/∂x_ij)²

which is what eq 14 would be with ζ = ℓ/(2Q) and ξ = d/(2Ω) (d/Ω for the Laplace prior) at every step (section 2.2):
`PressEvaluation.zeta` and `PressEvaluation.xi`. Section 4.2 prints Ω = ½ Σ|η_i| beside a density of Σ|η_i|; the
factor is a constant in the criterion, and the density's form is the one that agrees with the printed condition for
pruning. For curvature and slope no normaliser is printed; it is taken as that of the Gaussian prior, ξ^(−d/2).

η is what paper 1 calls a kernel parameter: K = exp(−Σ η_i (x_i − z_i)²). In terms of this library's kernels η = σ⁻²
(RBF), s_i⁻² (ARD), ℓ⁻² (other kernels with a length scale) and 1/scale (Polynomial); large η means a less smooth
kernel. γ is 1/μ of paper 1 and is left unregularised, as there. Gradients are in log₂ of this library's parameters, γ
first.

For labels ±1 there is also the likelihood that calibrated probabilities give to labels that were left out,

    "loo"              −Σ log P(y_i | z_i^(−i)) − log p(γ) − log p(θ),

with P by the best logistic map of the outputs (`levels.logistic_map`), log γ ~ Normal(0, 3) and the default prior of
the kernel's parameters (`levels.default_prior`).

The criteria with Ω have no lower bound: as all η → 0 with γ growing as 1/η the kernel model tends to a linear one, Q
to the linear model's, and log Ω to −∞. That of the slope does so as γ → 0, and as all η → ∞, when the fit has a bump at
each point and is level on top of it. What is meant is a minimum inside; `press_selection` says when there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError, require_positive
from ..base.rounding import ROUNDING
from ..base.typing import Array
from ..kernels import ARD, MLP, Kernel, OnInputs, Polynomial, Product, Scaled, Sum, check_positive_semidefinite
from ..levels.default_prior import default_prior
from ..levels.logistic_map import left_out_cost
from ..priors import Normal
from .curvature import curvature_derivative, slope_derivative
from .derivative import left_out_derivative, press_derivative
from .leave_one_out import check_points, leave_one_out

__all__ = ["ALL_CRITERIA", "CRITERIA", "PressEvaluation", "PressObjective", "Sensitivity", "sensitivities"]

CRITERIA = ("press", "press-br", "press-laplace", "press-curvature", "press-slope")
"""Of paper 1, for any targets."""
ALL_CRITERIA = (*CRITERIA, "loo")
LOG_2 = float(np.log(2.0))
_LEAST = 1e-300  # of Ω: a fit that is level at points far apart has none
_OF_THE_FIT = {"press-curvature": curvature_derivative, "press-slope": slope_derivative}
_GAMMA_PRIOR = Normal(0.0, 3.0)
_POWERS = {"sigma": -2.0, "length_scale": -2.0}  # of widths by their names; other parameters are not regularised


class Sensitivity(NamedTuple):
    """Paper 1's kernel parameters η_p = θ_p^power_p, of shape (P,); power 0 marks one that is not regularised."""

    eta: Array
    power: Array

    @property
    def regularised(self) -> Array:
        """Which parameters the prior is about, as booleans of shape (P,)."""
        return self.power != 0.0


def sensitivities(kernel: Kernel) -> Sensitivity:
    """The η of paper 1 for a kernel: σ⁻², s_i⁻², ℓ⁻², 1/scale of a polynomial, κ of an MLP; no other parameters."""
    power = _powers(kernel)
    return Sensitivity(np.exp(power * kernel.log_params), power)


def _powers(kernel: Kernel) -> Array:
    if isinstance(kernel, ARD):
        return np.full(kernel.log_params.size, -2.0)
    if isinstance(kernel, Polynomial):
        return np.array([-1.0])
    if isinstance(kernel, MLP):
        return np.array([1.0, 0.0])[: kernel.log_params.size]
    if isinstance(kernel, Scaled):
        return np.append(0.0, _powers(kernel.kernel))
    if isinstance(kernel, OnInputs):
        return _powers(kernel.kernel)
    if isinstance(kernel, Sum | Product):
        return np.concatenate([_powers(part) for part in kernel.parts])
    return np.array([_POWERS.get(name, 0.0) for name in kernel.param_names])


@dataclass(frozen=True)
class PressEvaluation:
    """A criterion at one kernel and γ.

    Attributes
    ----------
    value : float
        The criterion, to be minimised.
    press : float
        Q.
    penalty : float
        Ω; zero for the criterion "press" and for kernels without regularised parameters.
    xi, zeta : float
        ξ_eff and ζ_eff of section 2.2; ξ_eff is zero where there is no penalty.
    gradient : array of shape (1 + P,), optional
        Derivatives of the value in log₂ γ and in log₂ of the kernel's parameters.
    """

    value: float
    press: float
    penalty: float
    xi: float
    zeta: float
    gradient: Array | None = None


class _Parts(NamedTuple):
    """Q and Ω with their gradients in (log γ, log θ); empty gradients where they were not asked for."""

    press: float
    penalty: float
    press_gradient: Array
    penalty_gradient: Array


@dataclass(frozen=True)
class PressObjective:
    """One of the criteria as a function of the kernel and γ, on given data.

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
        Targets or labels ±1.
    criterion : str
        One of `CRITERIA`.
    weights : array of shape (N,), optional
        Noise precisions of the points in units of ζ; they weigh the squares in Q too.
    bias : bool
        Whether the model has a bias.
    count : int, optional
        d of the criteria with a penalty, if not the number of regularised parameters.
    """

    X: Array
    y: Array
    criterion: str = "press"
    weights: Array | None = None
    bias: bool = True
    count: int | None = None

    def __post_init__(self) -> None:
        if self.criterion not in ALL_CRITERIA:
            raise ValueError(f"There is no criterion {self.criterion!r}; choose one of {', '.join(ALL_CRITERIA)}.")
        X, y, w = check_points(self.X, self.y, self.weights)
        mean = float(w @ y / w.sum()) if self.bias else 0.0
        if not np.any(np.abs(y - mean) > 1e-14 * np.abs(y).max()):
            raise ValueError("The targets do not vary, so PRESS is zero for every kernel and nothing can be selected.")
        if self.criterion == "loo" and not np.all(np.abs(y) == 1.0):
            raise ValueError(
                'criterion="loo" is the likelihood of labels ±1; for real targets use "evidence" or "press".'
            )
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y - mean)
        object.__setattr__(self, "weights", w)

    @property
    def n(self) -> int:
        """Number of points ℓ."""
        return len(self.y)

    @property
    def baseline(self) -> float:
        """PRESS of the model without inputs: the weighted mean of the other points, or zero where there is no bias."""
        w = self.w
        left = w / w.sum() if self.bias else np.zeros_like(w)
        return 0.5 * float(np.sum(w * (self.y / (1.0 - left)) ** 2))

    @property
    def w(self) -> Array:
        """Weights of the points, ones where none were given."""
        assert self.weights is not None  # set when the objective was made
        return self.weights

    def matrix(self, kernel: Kernel, gamma: float) -> Array:
        """The kernel matrix, refused where it is not finite, not positive semi-definite, or rounding exceeds 1/γ."""
        require_positive("gamma", gamma)
        K = kernel(self.X)
        check_positive_semidefinite(kernel, K)
        if 1.0 / (gamma * self.w.max()) < ROUNDING * float(np.trace(K)):
            raise NotPositiveSemidefiniteError(
                f"γ = {gamma:.3g} is too large for {kernel!s} on these data: 1/γ is lost in the rounding of the matrix."
            )
        return K

    def evaluate(self, kernel: Kernel, gamma: float, *, gradient: bool = False) -> PressEvaluation:
        """The criterion: one Cholesky factor and its inverse, and one symmetric product more for the gradient."""
        if self.criterion == "loo":
            return self._likelihood(kernel, gamma)
        parts = self._parts(kernel, gamma, gradient)
        zeta = 0.5 * self.n / parts.press
        own = int(sensitivities(kernel).regularised.sum())
        count = own if self.count is None else min(own, self.count)
        if self.criterion == "press":
            slope = LOG_2 * parts.press_gradient if gradient else None
            return PressEvaluation(parts.press, parts.press, 0.0, 0.0, zeta, slope)
        value = 0.5 * self.n * float(np.log(parts.press))
        slope = zeta * parts.press_gradient
        if count == 0:
            return PressEvaluation(value, parts.press, 0.0, 0.0, zeta, LOG_2 * slope if gradient else None)
        parts = parts._replace(penalty=max(parts.penalty, _LEAST))
        exponent = float(count) if self.criterion == "press-laplace" else 0.5 * count
        xi = exponent / parts.penalty
        value += exponent * float(np.log(parts.penalty))
        slope = LOG_2 * (slope + xi * parts.penalty_gradient) if gradient else None
        return PressEvaluation(value, parts.press, parts.penalty, xi, zeta, slope)

    def _likelihood(self, kernel: Kernel, gamma: float) -> PressEvaluation:
        """−log likelihood of the labels that were left out, less the log prior, with its gradient."""
        labels = np.sign(self.y)

        def cost(residuals: Array) -> tuple[float, Array]:
            value, slopes = left_out_cost(labels - residuals, labels, self.w)
            return value, -slopes

        K = self.matrix(kernel, gamma)
        step = left_out_derivative(K, self.y, gamma, self.w, cost, bias=self.bias)
        own = default_prior(kernel, self.X, labels, classes=True, weights=self.w).components(len(kernel.log_params))[2:]
        point = np.append(np.log(gamma), kernel.log_params)
        penalty = -sum(float(p.log_density(x)) for p, x in zip((_GAMMA_PRIOR, *own), point, strict=True))
        slope = np.append(step.along_log_gamma, kernel.contract(self.X, step.matrix, K))
        slope = slope - [float(p.gradient(x)) for p, x in zip((_GAMMA_PRIOR, *own), point, strict=True)]
        press = 0.5 * float(np.sum(self.w * step.residuals**2))
        return PressEvaluation(step.value + penalty, press, penalty, 0.0, 0.5 * self.n / press, LOG_2 * slope)

    def regularised(self, kernel: Kernel, gamma: float, *, xi: float, zeta: float) -> PressEvaluation:
        """Eq 14, ζQ + ξΩ at given ξ and ζ, with its gradient."""
        parts = self._parts(kernel, gamma, gradient=True)
        value = zeta * parts.press + xi * parts.penalty
        slope = LOG_2 * (zeta * parts.press_gradient + xi * parts.penalty_gradient)
        return PressEvaluation(value, parts.press, parts.penalty, xi, zeta, slope)

    def _parts(self, kernel: Kernel, gamma: float, gradient: bool) -> _Parts:
        K = self.matrix(kernel, gamma)
        of_the_fit = _OF_THE_FIT.get(self.criterion)
        if not gradient and of_the_fit is None:
            press = float(leave_one_out(K, self.y, gamma, weights=self.w, bias=self.bias).press)
            return _Parts(press, self._prior(kernel)[0], np.empty(0), np.empty(0))
        step = press_derivative(K, self.y, gamma, self.w, bias=self.bias)
        penalty, slope = self._prior(kernel)
        if of_the_fit is not None:
            bent = of_the_fit(kernel, self.X, self.y, gamma, self.w, bias=self.bias, K=K, inverse=step.inverse)
            penalty, slope = bent.value, np.append(bent.along_log_gamma, bent.along_log_params)
        along = np.append(step.along_log_gamma, kernel.contract(self.X, step.matrix, K))
        return _Parts(step.value, penalty, along, slope)

    def _prior(self, kernel: Kernel) -> tuple[float, Array]:
        """Ω(η) with its gradient in (log γ, log θ)."""
        eta, power = sensitivities(kernel)
        eta = np.where(power != 0.0, eta, 0.0)
        if self.criterion == "press-laplace":
            return float(eta.sum()), np.append(0.0, power * eta)
        if self.criterion == "press-br":
            return 0.5 * float(eta @ eta), np.append(0.0, power * eta**2)
        return 0.0, np.zeros(1 + len(eta))
