"""log p(D | σ) from draws: NUTS and warp-III bridge sampling, with Monte-Carlo errors, beside quadrature.

The collapsed sampler draws (log μ, log ζ) from the closed-form evidence; the Gaussian process of `models` shares no
algebra with it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from bayes_lssvm import BayesLSSVMWarning, marginalise
from bayes_lssvm.base.arviz import datatree
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.sampling.diagnostics import Diagnostics
from models import GaussianProcess, sample
from validation.estimates import bridge_numpyro
from validation.harness import CellResult, Check

from .rungs import PRIOR, rung

# In standard errors, as in the study of error bars: a figure beyond 3 can be chance among many, one beyond 4 hardly.
DISAGREEMENT = 4.0


def bridged(program: str, sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> CellResult:
    """The evidence at one width by NUTS ("collapsed" or "gp") and bridge sampling."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)  # a check that fails is kept as one
        value, error, diagnostics, points = _SAMPLERS[program](sigma, X, y, settings, seed)
    exact = rung("quadrature", sigma, X, y, seed)
    z = (value - exact) / error
    sentence = f"Bridge sampling at σ = {sigma:g} is {abs(z):.1f} of its standard errors from quadrature (at most "
    agreement = Check(
        "distance from quadrature", abs(z), DISAGREEMENT, bool(abs(z) <= DISAGREEMENT), f"{sentence}{DISAGREEMENT:g})."
    )
    values = {
        "sigma": sigma,
        "program": program,
        "log_evidence": value,
        "error": error,
        "exact": exact,
        "z": z,
        "n_rows": len(y),
        "min_ess": diagnostics.min_ess,
    }
    return CellResult(values, (*diagnostics.checks, agreement), datatree({"posterior": points}))


def _collapsed(
    sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int
) -> tuple[float, float, Diagnostics, dict[str, Array]]:
    found = marginalise(
        X,
        y,
        kernel=RBF(sigma),
        prior=PRIOR,
        method="nuts",
        fixed_kernel=True,
        draws=settings["draws"],
        warmup=settings["warmup"],
        check=False,
        seed=seed,
        progress=False,
    )
    assert found.chains is not None
    diagnostics = Diagnostics.from_dict(found.diagnostics["chains"])
    points = {"log_mu": found.chains.points[..., 0], "log_zeta": found.chains.points[..., 1]}
    return found.log_evidence, found.log_evidence_error, diagnostics, points


def _gp(
    sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int
) -> tuple[float, float, Diagnostics, dict[str, Array]]:
    program = GaussianProcess(RBF(sigma), prior=PRIOR, fixed_kernel=True)
    arguments = program.data(X, y)
    lengths = {"draws": settings["draws"], "warmup": settings["warmup"]}
    found = sample(program, *arguments, seed=seed, check=False, progress=False, **lengths)
    estimate = bridge_numpyro(program, arguments, draws=found.draws, seed=seed)
    return estimate.log_z, estimate.standard_error, found.diagnostics, found.draws


_SAMPLERS = {"collapsed": _collapsed, "gp": _gp}
