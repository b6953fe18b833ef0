"""Bridge sampling on the draws of a target or of any NumPyro model.

The estimator is `bayes_lssvm.sampling.bridge.bridge`; this module gives it draws and densities in one space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
import numpyro

from bayes_lssvm.base.provenance import provenance
from bayes_lssvm.base.typing import Array
from bayes_lssvm.sampling.bridge import BridgeEstimate, Warp, bridge

from .estimate import EvidenceEstimate
from .numpyro_model import DEFAULT_CHUNK, Draws, UnconstrainedModel
from .target import Target, settings_of


@runtime_checkable
class HasSamples(Protocol):
    """What `numpyro.infer.MCMC` offers after a run."""

    def get_samples(self, group_by_chain: bool = False) -> Draws:
        """Draws by site."""


def bridge_target(
    target: Target,
    draws: Array,
    *,
    seed: int,
    warp: Warp = "III",
    swap_halves: bool = True,
    n_proposals: int | None = None,
) -> EvidenceEstimate:
    """Evidence of a target from draws of its posterior, of shape (chains, n, d) or (n, d)."""
    found = bridge(draws, target.log_density, seed=seed, warp=warp, swap_halves=swap_halves, n_proposals=n_proposals)
    settings = settings_of(target, seed=seed, warp=warp, swap_halves=swap_halves, n_proposals=n_proposals)
    return _estimate(found, settings, draws, {})


def bridge_numpyro(
    model: Callable[..., Any],
    model_args: tuple[Any, ...] = (),
    model_kwargs: Mapping[str, Any] | None = None,
    *,
    draws: Draws | HasSamples,
    seed: int,
    warp: Warp = "III",
    swap_halves: bool = True,
    n_proposals: int | None = None,
    chunk: int = DEFAULT_CHUNK,
) -> EvidenceEstimate:
    """Log p(D) of a NumPyro model from draws of its posterior.

    Parameters
    ----------
    model : callable
        The model that was sampled, with its handlers (`reparam`, `condition`, `mask`, `scale`) around it.
    model_args, model_kwargs : tuple and dict
        What it was sampled with, observed data included.
    draws : dict of arrays, or an MCMC object after its run
        {site: array of shape (chains, n, …) or (n, …)} in the model's own (constrained) parameters, warm-up left
        out. Deterministic sites may be among them and are not used.
    seed : int
        Of the proposal's draws.
    warp, swap_halves, n_proposals
        As for `bayes_lssvm.sampling.bridge.bridge`.
    chunk : int
        Densities that are evaluated at a time; less needs less memory.

    Returns
    -------
    EvidenceEstimate
        `diagnostics` holds those of the bridge, "parameters" (the names of the unconstrained ones) and
        "improper_sites": with such a site, whose density counts as one, log Z has a meaning only next to models that
        have the same site.
    """
    if chunk < 1:
        raise ValueError(f"chunk must be 1 or more, got {chunk}.")
    given: Draws = draws.get_samples(group_by_chain=True) if isinstance(draws, HasSamples) else draws
    if not isinstance(given, Mapping) or not given:
        raise ValueError("draws must be a dictionary {site: array} that is not empty, or a numpyro.infer.MCMC object.")
    density = UnconstrainedModel.from_draws(model, tuple(model_args), dict(model_kwargs or {}), given, chunk=chunk)
    points = density.unconstrain(given)
    if not np.all(np.isfinite(points)):
        raise ValueError(
            f"{np.sum(~np.isfinite(points).all(axis=-1))} draws lie on the boundary of a support, where they have no "
            "unconstrained value. Single-precision chains do that: sample in 64 bits (numpyro.enable_x64())."
        )
    found = bridge(points, density.log_density, seed=seed, warp=warp, swap_halves=swap_halves, n_proposals=n_proposals)
    improper = tuple(site.name for site in density.sites if site.improper)
    concerns = tuple(f"site {name!r} is improper: log Z holds for a prior density of one" for name in improper)
    settings = {"model": getattr(model, "__name__", repr(model)), "seed": seed, "warp": warp}
    settings |= {"swap_halves": swap_halves, "n_proposals": n_proposals}
    extra = {"parameters": density.names, "improper_sites": improper}
    return _estimate(found, settings, points, extra, concerns)


def _estimate(
    found: BridgeEstimate, settings: dict[str, Any], draws: Array, extra: dict[str, Any], concerns: tuple[str, ...] = ()
) -> EvidenceEstimate:
    record = provenance(settings=settings, data=(np.asarray(draws),))
    record["versions"] |= {"jax": jax.__version__, "numpyro": numpyro.__version__}
    diagnostics = {**found.diagnostics, **extra, "iterations": found.iterations, "converged": found.converged}
    diagnostics["concerns"] = (*found.diagnostics["concerns"], *concerns)
    return EvidenceEstimate(found.log_z, found.standard_error, "bridge sampling", diagnostics, record)
