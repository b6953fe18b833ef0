"""Student-t noise as a mixture of Gaussians of different precisions: weights that the errors themselves suggest.

A t distribution of ν degrees of freedom is e | τ ~ Normal(0, 1/(ζτ)) with τ ~ Gamma(ν/2, ν/2). With a factor q(τ_i) for
each row and one for the function, the best of each given the other are (variational Bayes)

    q(τ_i) = Gamma(½(ν + 1), ½(ν + ζ⟨e_i²⟩)),      ⟨e_i²⟩ = (y_i − f_i)² + var f_i,
    q(f)   = the posterior of the weighted model,   w_i = ⟨τ_i⟩ = (ν + 1)/(ν + ζ⟨e_i²⟩).

For the best q(f) the lower bound of the log evidence is that of the weighted model plus

    Σ ½(⟨log τ_i⟩ − log⟨τ_i⟩) − KL(q(τ_i) ‖ Gamma(ν/2, ν/2)).

For ν → ∞ all τ are one and nothing is added: a bound above the Gaussian's evidence is a preference for the t noise.
Given ⟨e²⟩, the ν of the largest bound is that of the largest Σ log t_ν(√⟨e_i²⟩).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln
from scipy.stats import t as student_t

from ..base.typing import Array

__all__ = ["ScaleMixture", "one_sigma"]

SMALLEST, LARGEST = 4.0, 200.0
"""Of ν. At 4 rows without fault keep nearly all of their say, which smaller ν take from them for a few gross errors."""
_ONE_SIGMA = 0.8413447460685429  # Φ(1)


@dataclass(frozen=True)
class ScaleMixture:
    """Factors q(τ_i) of the rows.

    Attributes
    ----------
    nu : float
        ν.
    rates : array of shape (N,)
        ½(ν + ζ⟨e_i²⟩).
    """

    nu: float
    rates: Array

    @classmethod
    def of(cls, scaled: Array) -> ScaleMixture:
        """For ζ⟨e_i²⟩ of shape (N,), ν the best in its range."""

        def cost(log_nu: float) -> float:
            nu = float(np.exp(log_nu))
            own = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(nu)
            return -float(len(scaled) * own - 0.5 * (nu + 1.0) * np.sum(np.log1p(scaled / nu)))

        found = minimize_scalar(cost, bounds=(np.log(SMALLEST), np.log(LARGEST)), method="bounded")
        nu = float(np.exp(found.x))
        return cls(nu, 0.5 * (nu + scaled))

    @property
    def shape(self) -> float:
        """½(ν + 1)."""
        return 0.5 * (self.nu + 1.0)

    @property
    def weights(self) -> Array:
        """⟨τ_i⟩."""
        return self.shape / self.rates

    @property
    def log_factor(self) -> float:
        """What the bound has beside the evidence of the weighted model."""
        a, b, c = self.shape, self.rates, 0.5 * self.nu
        spread = 0.5 * (digamma(a) - np.log(a))  # ⟨log τ⟩ − log⟨τ⟩, the same for all rows
        divergence = (a - c) * digamma(a) - gammaln(a) + gammaln(c) + c * np.log(b / c) + a * (c - b) / b
        return float(len(b) * spread - np.sum(divergence))


def one_sigma(nu: float) -> float:
    """The error that 68.3 % of t noise of unit scale stay below, as those of a Gaussian stay below its σ."""
    return float(student_t.ppf(_ONE_SIGMA, nu))
