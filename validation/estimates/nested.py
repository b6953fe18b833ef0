"""Nested sampling of the evidence, by dynesty.

    Z = ∫ L dX ≃ Σ L_i ΔX_i

where X is the prior mass above likelihood L, which shrinks by a factor of about exp(−1/n) as the worst of n live
points is replaced by a better draw of the prior (Skilling 2006; dynesty: Speagle 2020). dynesty is no dependency: this
module imports it when it is called.
"""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np

from bayes_lssvm.base.provenance import provenance
from bayes_lssvm.base.typing import Array
from bayes_lssvm.evidence import EvidenceEstimate

from .target import Target, settings_of


def nested_sampling(target: Target, *, seed: int, n_live: int = 500, tolerance: float = 0.01) -> EvidenceEstimate:
    """Evidence of a target by static nested sampling.

    Parameters
    ----------
    target : Target
        With a `prior_transform`.
    seed : int
    n_live : int
        Live points; the standard error falls as 1/√n_live.
    tolerance : float
        Stop when the live points can add no more than this to log Z.
    """
    transform = target.prior_transform
    if transform is None:
        raise ValueError(
            "Nested sampling starts from the unit cube and needs a target with a prior_transform; this target has "
            "none, because the quantiles of its prior are not known. Use bridge sampling or SMC."
        )
    if n_live < 10 * target.dim:
        raise ValueError(f"n_live must be at least ten times the dimension {target.dim}, got {n_live}.")
    try:
        dynesty = import_module("dynesty")
    except ImportError as error:
        raise ImportError("Nested sampling needs dynesty, which is not installed: pip install dynesty.") from error

    def log_likelihood(x: Array) -> float:
        return float(target.log_likelihood(np.asarray(x, dtype=float)[None])[0])

    sampler = dynesty.NestedSampler(
        log_likelihood, transform, target.dim, nlive=n_live, rstate=np.random.default_rng(seed)
    )
    sampler.run_nested(dlogz=tolerance, print_progress=sys.stderr.isatty())
    results = sampler.results
    diagnostics = {
        "iterations": int(results["niter"]),
        "likelihood_calls": int(np.sum(results["ncall"])),
        "information": float(np.asarray(results["information"])[-1]),
        "concerns": (),
    }
    settings = settings_of(target, seed=seed, n_live=n_live, tolerance=tolerance, dynesty=dynesty.__version__)
    return EvidenceEstimate(
        log_z=float(np.asarray(results["logz"])[-1]),
        standard_error=float(np.asarray(results["logzerr"])[-1]),
        method="nested sampling",
        diagnostics=diagnostics,
        provenance=provenance(settings=settings, data=()),
    )
