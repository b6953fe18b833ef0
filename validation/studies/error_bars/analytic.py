"""Error bars without sampling: MacKay's formulas, the Hessian, and quadrature with its density for the figures.

    MacKay     σ²_logμ|D = 2/(γ_eff − 1), σ²_logζ|D = 2/(N − γ_eff), no correlation; at the evidence's mode
    Hessian    inverse of −∇² log p(D | μ, ζ) at the evidence's mode, and of −∇² log p(D, μ, ζ), the prior in it, at the
               posterior's mode
    exact      moments of the posterior by quadrature

With σ free, MacKay's formulas hold for μ and ζ at each σ, and 5.2 is integrated over σ; the Hessian has three rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayes_lssvm.base.errors import quiet
from bayes_lssvm.base.typing import Array
from bayes_lssvm.levels.level2 import log_evidences
from bayes_lssvm.levels.level3 import ErrorBars
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.priors import LogPrior
from bayes_lssvm.trust import Ladder, Rung, ladder
from validation.harness import CellResult
from validation.ladder import PRIOR

from .problems import Problem

_GRID = 61  # points of a density along each axis
_REACH = 4.5  # standard deviations
_FLOOR = -20.0  # nats below the density's maximum


def moments(rung: Rung) -> dict[str, Any]:
    """Means, standard deviations and correlations of the log parameters, by name."""
    names = list(rung.mean)
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    correlation = {pair(names[i], names[j]): float(rung.correlation[i, j]) for i, j in pairs}
    return {"mean": rung.mean, "sd": rung.sd, "correlation": correlation}


def pair(a: str, b: str) -> str:
    """The key of a correlation."""
    return f"{a} {b}"


def climbed(rungs: tuple[str, ...], problem: Problem, X: Array, y: Array, **options: Any) -> Ladder:
    """Rungs of the ladder on a problem."""
    held = not problem.free
    return ladder(X, y, kernel=problem.function, prior=PRIOR, rungs=rungs, fixed_kernel=held, progress=False, **options)


def closed_forms(problem: Problem, X: Array, y: Array) -> CellResult:
    """Error bars by MacKay's formulas and by the Hessian."""
    with quiet():  # that modes are missed is a result here
        found = climbed(("mackay", "laplace"), problem, X, y)
    values: dict[str, Any] = {"mackay": moments(found["mackay"])}
    if found.level3 is not None:
        level3, mode = found.level3, found["mackay"].mean
        values = {"mackay": _bars(level3.mackay, mode), "hessian_without_prior": _bars(level3.hessian, mode)}
        values |= {"gamma_eff": level3.level2.gamma_eff, "status": level3.level2.status}
    values["hessian"] = moments(found["laplace"])
    modes = found["laplace"].integral.diagnostics
    return CellResult(values | {key: modes[key] for key in ("n_modes", "modes", "missed_mass")})


def _bars(bars: ErrorBars, mode: dict[str, float]) -> dict[str, Any]:
    sd = {"log_mu": bars.log_mu, "log_zeta": bars.log_zeta}
    return {"mean": mode, "sd": sd, "correlation": {pair(*mode): bars.correlation}}


def quadrature(problem: Problem, X: Array, y: Array) -> CellResult:
    """Exact moments, central intervals, and the density over two of the log parameters."""
    rung = climbed(("quadrature",), problem, X, y)["quadrature"]
    posterior, values = rung.integral, moments(rung)
    interval = posterior.interval(0.9)
    values["interval_90"] = {name: interval[name] for name in rung.mean}
    values["log_evidence"] = rung.log_evidence
    values["density"] = _density(problem, rung, X, y)
    return CellResult(values, rung.checks)


def _density(problem: Problem, rung: Rung, X: Array, y: Array) -> dict[str, Any]:
    """Log density relative to its maximum over (log μ, log ζ), or over (log μ, log σ) where σ is free."""
    axes = {name: _axis(rung, name) for name in rung.mean}
    log_mu, log_zeta = np.meshgrid(axes["log_mu"], axes["log_zeta"], indexing="ij")
    parts = PRIOR.components(int(problem.free))

    def over_mu_and_zeta(log_sigma: float | None) -> Array:
        kernel = problem.function if log_sigma is None else problem.function.with_log_params(np.array([log_sigma]))
        reduction = TridiagonalReduction.from_kernel_matrix(kernel(X), y)
        found = log_evidences(reduction, log_mu.ravel(), log_zeta.ravel()).reshape(log_mu.shape)
        return found + parts[0].log_density(log_mu) + parts[1].log_density(log_zeta)

    if problem.free:
        rows = [over_mu_and_zeta(s) for s in axes["log_sigma"]]
        prior: LogPrior = parts[2]
        values = np.stack([logsumexp(row, axis=1) for row in rows], axis=1) + prior.log_density(axes["log_sigma"])
        shown = ("log_mu", "log_sigma")
    else:
        values, shown = over_mu_and_zeta(None), ("log_mu", "log_zeta")
    relative = np.round(np.maximum(values - values.max(), _FLOOR), 3)
    return {"names": shown, "x": axes[shown[0]], "y": axes[shown[1]], "log_density": relative}


def _axis(rung: Rung, name: str) -> Array:
    values = rung.integral.points[:, rung.integral.names.index(name)]
    mean, sd = rung.mean[name], rung.sd[name]
    low, high = np.quantile(values, [0.0005, 0.9995])
    grid: Array = np.linspace(min(low, mean - _REACH * sd), max(high, mean + _REACH * sd), _GRID)
    return np.asarray(np.round(grid, 5), dtype=float)
