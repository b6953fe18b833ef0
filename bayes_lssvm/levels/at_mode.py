"""Laplace's evidence at its mode from the factor of the posterior of level 1, where the mode is known all but exactly.

A search ends beside the mode x̂ of x = (log μ, log ζ) of its last kernel. A model needs the Cholesky factor of
MΩM + sI, s = μ/ζ, in any case, and a third of N³ multiplications more give the density's gradient g and A = −∂²/∂x²
there (`linalg.one_gamma`). Newton's step A⁻¹g says how far the mode is, and ½gᵀA⁻¹g how much higher. Where log μ at its
best for this s leaves a millionth of a nat, s stays. Otherwise there is another factor.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..base.typing import Array
from ..kernels import Kernel, check_positive_semidefinite
from ..linalg.blas import squared_norm
from ..linalg.one_gamma import OneGamma
from ..priors import LogPrior
from .level1 import DualPosterior
from .level2 import at_gamma
from .level2_posterior import Level2Posterior
from .objective import Evaluation, Objective, Solved

__all__ = ["at_mode"]

_CLOSE = 1e-6  # nats
_FACTORS, _STEPS = 3, 4
_FREE = 1e5  # γ times the mean eigenvalue of MΩM, up to which S has the digits that differences of sums lose


def at_mode(objective: Objective, kernel: Kernel, x: Array, pull: Array) -> Evaluation | None:
    """The evaluation of one kernel, with level 1; None where it is not found near, or is beyond what a factor can tell.

    Parameters
    ----------
    objective : Objective
        With a prior.
    kernel : Kernel
    x : array of shape (2,)
        Beside the mode of (log μ, log ζ).
    pull : array of shape (2,)
        The derivative there of the volume log 2π − ½ log det A, about.
    """
    assert objective.prior is not None
    X, y, w = objective.X, objective.y, objective.weights
    prior_mu, prior_zeta, *own = objective.prior.components(len(kernel.log_params))
    K = kernel(X)
    check_positive_semidefinite(kernel, K)
    size = float((np.diagonal(K) - K.mean(axis=0)).mean())
    norm = float(np.sqrt(squared_norm(K))) * (1.0 if w is None else float(w.max()))
    for _ in range(_FACTORS):
        mu, zeta = np.exp(x).tolist()
        if not zeta / mu * max(1.0, size) <= _FREE:
            return None
        level1 = DualPosterior.from_kernel_matrix(kernel, X, K, y, mu=mu, zeta=zeta, weights=w)
        reduction = OneGamma.of(level1.inverse_factor, level1.alpha, y, zeta / mu, norm, w)
        for _ in range(_STEPS):  # log μ to its best for this γ, which squares a small error each time
            value, gradient, precision = _around(reduction, prior_mu, prior_zeta, x)
            if not (precision[0, 0] > 0.0 and np.linalg.det(precision) > 0.0):
                return None
            x = x + gradient.sum() / precision.sum()
        lag = np.linalg.solve(precision, gradient)
        gain = 0.5 * float(gradient @ lag)
        if gain < _CLOSE:
            break
        x = x + lag
    else:
        return None
    volume = float(np.log(2.0 * np.pi) - 0.5 * np.log(np.linalg.det(precision)) + pull @ lag)
    density, level2 = value + gain, at_gamma(reduction, reduction.gamma, float(np.exp(x[0])))
    found = Level2Posterior(level2, density, precision, density + volume, True)
    value = found.log_evidence + sum(float(p.log_density(v)) for p, v in zip(own, kernel.log_params, strict=True))
    solved = Solved(K, replace(level1, mu=level2.mu, zeta=level2.zeta))
    return Evaluation(kernel, value, level2, reduction, posterior=found, solved=solved)


def _around(reduction: OneGamma, prior_mu: LogPrior, prior_zeta: LogPrior, x: Array) -> tuple[float, Array, Array]:
    """The log density of (log μ, log ζ), its gradient, and minus its Hessian."""
    parts = [(prior_mu, x[0]), (prior_zeta, x[1])]
    mu = float(np.exp(x[0]))
    local = reduction.local_evidence(mu, mu * reduction.gamma)
    value = local.value + sum(float(prior.log_density(v)) for prior, v in parts)
    gradient = local.gradient + np.array([float(prior.gradient(v)) for prior, v in parts])
    return value, gradient, np.diag([float(prior.curvature(v)) for prior, v in parts]) - local.hessian
