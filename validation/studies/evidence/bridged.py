"""log p(D | σ) from draws: NUTS and warp-III bridge sampling, with Monte-Carlo errors, beside quadrature.

The collapsed sampler draws (log μ, log ζ) from the closed-form evidence; weight space and the Gaussian process of
`models` share no algebra with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from models import GaussianProcess, WeightSpace, features
from validation.harness import CellResult
from validation.ladder import PRIOR, distance_check
from validation.sampled import NUTS_EVERY, SampledPosterior, sample_collapsed, sample_program, why

from .rungs import rung


def bridged(program: str, sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> CellResult:
    """The evidence at one width by NUTS ("collapsed", "weights" or "gp") and bridge sampling."""
    found = why(_SAMPLERS[program](sigma, X, y, settings, seed), X, y, RBF(sigma))
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
    return CellResult(values, (*found.checks, agreement), found.tree())


def _collapsed(sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> SampledPosterior:
    return sample_collapsed(X, y, settings, seed, kernel=RBF(sigma), prior=PRIOR, fixed_kernel=True)


def _weights(sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> SampledPosterior:
    program = WeightSpace(prior=PRIOR, whitened=True)
    arguments = program.data(features(RBF(sigma), X, empirical=True), y)
    return sample_program(program, arguments, settings, seed, bridge=True)


def _gp(sigma: float, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> SampledPosterior:
    program = GaussianProcess(RBF(sigma), prior=PRIOR, fixed_kernel=True, whitened_bias=True)
    return sample_program(program, program.data(X, y), settings, seed, bridge=True, nuts_every=NUTS_EVERY)


_SAMPLERS = {"collapsed": _collapsed, "weights": _weights, "gp": _gp}
