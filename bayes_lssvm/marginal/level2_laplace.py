"""The Laplace approximation over (log μ, log ζ) with the exact Hessian and the prior in it.

    log p(D | H) ≃ log p(D | μ̂, ζ̂) + log p(log μ̂) + log p(log ζ̂) + log 2π − ½ log det(−∇²)

at the mode (μ̂, ζ̂) of the posterior. Where MacKay's 5.2 takes the evidence's mode and separate error bars, this takes
what the approximation is meant to be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.typing import Array
from ..levels.level2 import log_evidence, log_evidence_gradient, log_evidence_hessian, optimise
from ..linalg.spectrum import Reduction
from ..priors import HyperPrior
from ..search.climb import Stop, climb_from_each

_SMALLEST = 1e-100  # of γλ, whose square must not underflow
_EXACT = Stop(1e-15, 1e-8, 1000)


class LaplaceEvidence(NamedTuple):
    """log p(D | H) with the mode of (log μ, log ζ) and the covariance there."""

    log_evidence: float
    mode: Array
    covariance: Array


def laplace_evidence(reduction: Reduction, prior: HyperPrior) -> LaplaceEvidence:
    """Laplace's approximation of the evidence of one kernel, for any prior, flat ones included."""
    parts = prior.components(0)
    gammas = np.array([mode.gamma for mode in optimise(reduction).modes] + [1.0 / reduction.lambda_max])
    mus = (reduction.n - 1) / reduction.values(gammas)[1]  # 4.7
    starts = np.log(np.stack([mus, gammas * mus], axis=1))

    def within(x: Array) -> tuple[float, float]:
        """μ and ζ; a line search may look farther than γ can go."""
        mu, gamma = float(np.exp(x[0])), float(np.exp(x[1] - x[0]))
        return mu, mu * min(max(gamma, _SMALLEST / reduction.lambda_max), reduction.gamma_max)

    def log_density(x: Array) -> tuple[float, Array]:
        mu, zeta = within(x)
        value = log_evidence(reduction, mu, zeta) + sum(float(p.log_density(v)) for p, v in zip(parts, x, strict=True))
        own = np.array([float(p.gradient(v)) for p, v in zip(parts, x, strict=True)])
        return value, log_evidence_gradient(reduction, mu, zeta) + own

    limits = np.array([p.support for p in parts])
    best = climb_from_each(log_density, np.clip(starts, *limits.T), limits, _EXACT)[0]
    mode = best.position
    precision = -log_evidence_hessian(reduction, *within(mode)) + np.diag(
        [float(p.curvature(v)) for p, v in zip(parts, mode, strict=True)]
    )
    sign, log_det = np.linalg.slogdet(precision)
    if sign <= 0:
        raise ValueError(
            "The posterior of log μ and log ζ has no mode with curvature, so Laplace's method has nothing to say."
        )
    value = best.value + np.log(2.0 * np.pi) - 0.5 * log_det
    return LaplaceEvidence(float(value), mode, np.asarray(np.linalg.inv(precision), dtype=float))
