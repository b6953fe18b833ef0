"""Every rung of the ladder of approximations to log p(D | σ), for one width.

| rung               | what it is                                                                                  |
| ------------------ | ------------------------------------------------------------------------------------------- |
| without Occam      | log p(D | μ_MP, ζ_MP, σ): no price for the hyperparameters; no approximation of the integral |
| MacKay             | 5.2 with MacKay's error bars, none wider than the prior                                       |
| Hessian            | 5.2 with the determinant of the exact Hessian at the evidence's mode                          |
| Laplace            | Laplace's method with the prior in it, at the posterior's highest mode                        |
| importance         | Student draws at the posterior's modes with Pareto-smoothed weights                           |
| quadrature         | the integral over log μ and log ζ                                                            |

Each is a number of nats on the same scale: all constants are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level2 import log_evidences
from bayes_lssvm.levels.level3 import Level3, evaluate, log_occam
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.trust import Ladder
from validation.ladder import PRIOR, ladder_at

WIDTHS = (PRIOR.mu.width, PRIOR.zeta.width)
RUNGS = ("without_occam", "mackay", "hessian", "laplace", "importance", "quadrature")
_GAMMA_GRID = np.linspace(-14.0, 14.0, 281)  # log γ
_MU_STEPS = np.linspace(-8.0, 8.0, 65)  # about the peak in log μ, in its widths
_FLOOR = -30.0  # nats


def rung(name: str, sigma: float, X: Array, y: Array, seed: int) -> float:
    """One rung's log p(D | σ); −inf where it has none."""
    if name == "without_occam":
        return _level3(ladder_at(sigma, X, y, ("mackay",), seed)).log_evidence_without_occam
    value = ladder_at(sigma, X, y, (name,), seed)[name].log_evidence
    return value if np.isfinite(value) else -np.inf


def _level3(found: Ladder) -> Level3:
    assert found.level3 is not None
    return found.level3


def rungs_at(sigma: float, X: Array, y: Array, seed: int) -> dict[str, Any]:
    """All rungs at one width, their own errors, the Occam factor taken apart, and how many modes there are."""
    found = ladder_at(sigma, X, y, RUNGS[1:], seed)
    level3 = _level3(found)
    level2, modes = level3.level2, found["laplace"].integral.diagnostics
    without = {"without_occam": level3.log_evidence_without_occam}
    return {
        "sigma": sigma,
        "log_evidence": without | {name: found[name].log_evidence for name in RUNGS[1:]},
        "importance_error": found["importance"].error,
        "k_hat": found["importance"].integral.diagnostics["k_hat"],
        "quadrature_error": found["quadrature"].error,
        "occam": _occam(level3, found["quadrature"].log_evidence),
        "prior_offset": _prior_offset(level2.mu, level2.zeta),
        "mu": level2.mu,
        "zeta": level2.zeta,
        "gamma_eff": level2.gamma_eff,
        "status": level2.status,
        "n_modes_evidence": len(level2.modes),
        "n_modes_posterior": modes["n_modes"],
        "missed_mass": modes["missed_mass"],
    }


def _occam(level3: Level3, exact: float) -> dict[str, float]:
    """Log p(D | σ) = best fit + log Occam factor; by MacKay's bars the factor is that of μ times that of ζ."""
    factor = log_occam(level3.level2, WIDTHS)
    return {
        "best_fit": level3.log_evidence_without_occam,
        "mackay_mu": factor.log_mu,
        "mackay_zeta": factor.log_zeta,
        "capped": factor.capped,
        "hessian": level3.log_occam_factor_hessian,
        "exact": exact - level3.log_evidence_without_occam,
    }


def _prior_offset(mu: float, zeta: float) -> float:
    """Log prior density at its centre minus that at (μ, ζ): 5.2 knows the prior's widths and takes it to be centred."""
    mode = np.log([mu, zeta])
    return float(PRIOR.log_density(np.zeros(2)) - PRIOR.log_density(mode))


def gamma_profile(sigma: float, X: Array, y: Array) -> dict[str, Any]:
    """Over log γ: log p(D | γ) with μ at its best, and log of the posterior's density with log μ integrated out.

    Both relative to their maxima.
    """
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(sigma)(X), y)
    grid = _GAMMA_GRID[np.log(reduction.gamma_max) > _GAMMA_GRID]
    n, q1 = reduction.n, reduction.values(np.exp(grid))[1]
    best = np.log((n - 1) / q1)  # 4.7
    profile = log_evidences(reduction, best, best + grid)
    # at given γ the evidence is a narrow peak in log μ, of width √(2/(N−1)) whatever γ
    steps = np.sqrt(2.0 / (n - 1)) * _MU_STEPS
    rows = [best + step for step in steps]
    joint = [
        log_evidences(reduction, m, m + grid) + PRIOR.mu.log_density(m) + PRIOR.zeta.log_density(m + grid) for m in rows
    ]
    density = logsumexp(np.stack(joint), axis=0)
    level2 = evaluate(reduction, prior_sd=WIDTHS).level2
    return {
        "sigma": sigma,
        "log_gamma": np.round(grid, 6),
        "log_profile": np.round(np.maximum(profile - profile.max(), _FLOOR), 5),
        "log_density": np.round(np.maximum(density - density.max(), _FLOOR), 5),
        "modes": [float(np.log(mode.gamma)) for mode in level2.modes],
    }
