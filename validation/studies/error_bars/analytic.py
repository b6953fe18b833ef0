"""Error bars without sampling: MacKay's formulas, the Hessian, and quadrature with its density for the figures.

    MacKay     σ²_logμ|D = 2/(γ_eff − 1), σ²_logζ|D = 2/(N − γ_eff), no correlation; at the evidence's mode
    Hessian    inverse of −∇² log p(D | μ, ζ) at the evidence's mode, and of −∇² log p(D, μ, ζ), the prior in it, at the
               posterior's mode
    exact      moments of the posterior by quadrature

With σ free, MacKay's formulas hold for μ and ζ at each σ, and 5.2 is integrated over σ; the Hessian has three rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayes_lssvm import BayesLSSVMWarning, marginalise
from bayes_lssvm.base.typing import Array
from bayes_lssvm.levels.level2 import log_evidences
from bayes_lssvm.levels.level3 import ErrorBars, evaluate
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.marginal import HyperPosterior
from bayes_lssvm.priors import HyperPrior, LogPrior, Normal
from validation.harness import CellResult, Check

from .problems import Problem

PRIOR = HyperPrior(Normal(0.0, 3.0), Normal(0.0, 3.0), Normal(0.0, 1.0))
QUADRATURE_ERROR = 1e-4  # nats: far below anything that the study says
_GRID = 61  # points of a density along each axis
_REACH = 4.5  # standard deviations
_FLOOR = -20.0  # nats below the density's maximum


def names_of(posterior: HyperPosterior) -> tuple[str, ...]:
    """The log parameters that were integrated over; log γ is a function of them."""
    return tuple(name for name in posterior.names if name != "log_gamma")


def moments(posterior: HyperPosterior) -> dict[str, Any]:
    """Means, standard deviations and correlations of the log parameters, by name."""
    names = names_of(posterior)
    mean, sd, correlation = posterior.mean(), posterior.sd(), posterior.correlation()
    at = [posterior.names.index(name) for name in names]
    return {
        "mean": {name: mean[name] for name in names},
        "sd": {name: sd[name] for name in names},
        "correlation": {
            pair(a, b): float(correlation[at[i], at[j]])
            for i, a in enumerate(names)
            for j, b in enumerate(names)
            if i < j
        },
    }


def pair(a: str, b: str) -> str:
    """The key of a correlation."""
    return f"{a} {b}"


def exact(problem: Problem, X: Array, y: Array) -> HyperPosterior:
    """The posterior by quadrature."""
    return marginalise(X, y, kernel=problem.function, prior=PRIOR, fixed_kernel=problem.free is False, progress=False)


def closed_forms(problem: Problem, X: Array, y: Array) -> CellResult:
    """Error bars by MacKay's formulas and by the Hessian."""
    options: dict[str, Any] = {"kernel": problem.function, "prior": PRIOR, "progress": False}
    values: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)  # that modes are missed is a result here
        if problem.free:
            values["mackay"] = moments(marginalise(X, y, method="mackay", **options))
        else:
            level3 = evaluate(TridiagonalReduction.from_kernel_matrix(problem.function(X), y))
            mode = {"log_mu": np.log(level3.level2.mu), "log_zeta": np.log(level3.level2.zeta)}
            values["mackay"] = _bars(level3.mackay, mode)
            values["hessian_without_prior"] = _bars(level3.hessian, mode)
            values |= {"gamma_eff": level3.level2.gamma_eff, "status": level3.level2.status}
        laplace = marginalise(X, y, method="laplace", fixed_kernel=not problem.free, **options)
    values["hessian"] = moments(laplace)
    values |= {key: laplace.diagnostics[key] for key in ("n_modes", "modes", "missed_mass")}
    return CellResult(values)


def _bars(bars: ErrorBars, mode: dict[str, float]) -> dict[str, Any]:
    sd = {"log_mu": bars.log_mu, "log_zeta": bars.log_zeta}
    return {"mean": mode, "sd": sd, "correlation": {pair(*mode): bars.correlation}}


def quadrature(problem: Problem, X: Array, y: Array) -> CellResult:
    """Exact moments, central intervals, and the density over two of the log parameters."""
    posterior = exact(problem, X, y)
    values = moments(posterior)
    interval = posterior.interval(0.9)
    values["interval_90"] = {name: interval[name] for name in names_of(posterior)}
    values["log_evidence"] = posterior.log_evidence
    values["density"] = _density(problem, posterior, X, y)
    return CellResult(values, (quadrature_check(posterior),))


def quadrature_check(posterior: HyperPosterior) -> Check:
    """Whether the quadrature agrees with itself when it is refined."""
    error = posterior.log_evidence_error
    sentence = f"Refining the quadrature changed the log evidence by {error:.1e} nats (at most {QUADRATURE_ERROR:g})."
    return Check("quadrature error", error, QUADRATURE_ERROR, bool(error <= QUADRATURE_ERROR), sentence)


def _density(problem: Problem, posterior: HyperPosterior, X: Array, y: Array) -> dict[str, Any]:
    """Log density relative to its maximum over (log μ, log ζ), or over (log μ, log σ) where σ is free."""
    axes = {name: _axis(posterior, name) for name in names_of(posterior)}
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


def _axis(posterior: HyperPosterior, name: str) -> Array:
    values = posterior.points[:, posterior.names.index(name)]
    mean, sd = posterior.mean()[name], posterior.sd()[name]
    low, high = np.quantile(values, [0.0005, 0.9995])
    grid: Array = np.linspace(min(low, mean - _REACH * sd), max(high, mean + _REACH * sd), _GRID)
    return np.asarray(np.round(grid, 5), dtype=float)
