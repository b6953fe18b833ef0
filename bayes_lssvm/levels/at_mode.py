"""Laplace's evidence at its mode from the factor of the posterior of level 1, where the mode is known all but exactly.

A search ends beside the mode x̂ of x = (log μ, log ζ) of its last kernel. A model needs the Cholesky factor of
MΩM + sI, s = μ/ζ, in any case, and a third of N³ multiplications more give the density's gradient g and A = −∂²/∂x²
there (`linalg.one_gamma`). Newton's step A⁻¹g says how far the mode is; where s moves by no more than a hundred-
thousandth of itself, it stays, and log μ goes to the best for this s. Otherwise there is another factor.
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

_STILL = 1e-5  # of log s: evidences change by its square
_FACTORS = 3
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
        gradient, precision = _around(reduction, prior_mu, prior_zeta, x)[1:]
        if not (precision[0, 0] > 0.0 and np.linalg.det(precision) > 0.0):
            return None
        step = np.linalg.solve(precision, gradient)
        if abs(step[1] - step[0]) < _STILL:
            break
        x = x + step
    else:
        return None
    x = x + _along_mu(reduction, prior_mu, prior_zeta, x)
    mu = float(np.exp(x[0]))
    value, gradient, precision = _around(reduction, prior_mu, prior_zeta, x)
    lag = np.linalg.solve(precision, gradient)
    density = value + 0.5 * float(gradient @ lag)
    volume = float(np.log(2.0 * np.pi) - 0.5 * np.log(np.linalg.det(precision)) + pull @ lag)
    level2 = at_gamma(reduction, reduction.gamma, mu)
    found = Level2Posterior(level2, density, precision, density + volume, True)
    value = found.log_evidence + sum(float(p.log_density(v)) for p, v in zip(own, kernel.log_params, strict=True))
    solved = Solved(K, replace(level1, mu=level2.mu, zeta=level2.zeta))
    return Evaluation(kernel, value, level2, reduction, posterior=found, solved=solved)


def _around(
    reduction: OneGamma, prior_mu: LogPrior, prior_zeta: LogPrior, x: Array
) -> tuple[float, Array, Array]:
    """The log density of (log μ, log ζ), its gradient, and minus its Hessian."""
    parts = [(prior_mu, x[0]), (prior_zeta, x[1])]
    mu = float(np.exp(x[0]))
    local = reduction.local_evidence(mu, mu * reduction.gamma)
    value = local.value + sum(float(prior.log_density(v)) for prior, v in parts)
    gradient = local.gradient + np.array([float(prior.gradient(v)) for prior, v in parts])
    return value, gradient, np.diag([float(prior.curvature(v)) for prior, v in parts]) - local.hessian


def _along_mu(reduction: OneGamma, prior_mu: LogPrior, prior_zeta: LogPrior, x: Array) -> float:
    """How far log μ is from its best for this γ, with ζ = γμ: one step of Newton's method, which squares a small error."""
    _, gradient, precision = _around(reduction, prior_mu, prior_zeta, x)
    return float(gradient.sum() / precision.sum())
