"""log p(D | σ) from draws: NUTS and warp-III bridge sampling, with Monte-Carlo errors, beside quadrature.

The collapsed sampler draws (log μ, log ζ) from the closed-form evidence; the Gaussian process of `models` shares no
algebra with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayes_lssvm.base.errors import quiet
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.trust import ladder
from models import GaussianProcess
from validation.harness import CellResult
from validation.ladder import PRIOR, distance_check
from validation.sampled import SampledPosterior, chains_of, lengths, sample_program

from .rungs import rung


def bridged(program: str, sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> CellResult:
    """The evidence at one width by NUTS ("collapsed" or "gp") and bridge sampling."""
    with quiet():  # a check that fails is kept as one
        found = _SAMPLERS[program](sigma, X, y, settings, seed)
    exact = rung("quadrature", sigma, X, y, seed)
    z = (found.log_evidence - exact) / found.error
    values = {
        "sigma": sigma,
        "program": program,
        "log_evidence": found.log_evidence,
        "error": found.error,
        "exact": exact,
        "z": z,
        "n_rows": len(y),
        "min_ess": found.diagnostics.min_ess,
    }
    agreement = distance_check(z, f"Bridge sampling at σ = {sigma:g}")
    return CellResult(values, (*found.diagnostics.checks, agreement), found.tree())


def _collapsed(sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> SampledPosterior:
    options: dict[str, Any] = {"fixed_kernel": True, "seed": seed, "progress": False, **lengths(settings)}
    return chains_of(ladder(X, y, kernel=RBF(sigma), prior=PRIOR, rungs=("nuts",), **options)["nuts"])


def _gp(sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> SampledPosterior:
    program = GaussianProcess(RBF(sigma), prior=PRIOR, fixed_kernel=True)
    return sample_program(program, program.data(X, y), settings, seed, bridge=True)


_SAMPLERS = {"collapsed": _collapsed, "gp": _gp}
