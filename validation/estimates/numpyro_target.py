"""A NumPyro model as a `Target`: prior and likelihood apart, for SMC, importance and nested sampling.

Prior: the latent sites with their Jacobians. Likelihood: the observed sites and the factors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer.util import compute_log_probs, constrain_fn

from bayes_lssvm.base.typing import Array
from bayes_lssvm.evidence.numpyro_model import DEFAULT_CHUNK, UnconstrainedModel, in_chunks, vectorised

from .target import Target


def numpyro_target(
    model: Callable[..., Any],
    model_args: tuple[Any, ...] = (),
    model_kwargs: Mapping[str, Any] | None = None,
    *,
    chunk: int = DEFAULT_CHUNK,
) -> Target:
    """The posterior of a NumPyro model over its unconstrained parameters; every prior must be one to draw from.

    Parameters
    ----------
    model : callable
    model_args, model_kwargs : tuple and dict
        Observed data included.
    chunk : int
        Densities that are evaluated at a time.
    """
    density = UnconstrainedModel.of(model, tuple(model_args), model_kwargs or {}, chunk=chunk)
    if density.improper:
        density.prior_draws(1, 0)  # refused, in a sentence
    args, kwargs = density.args, density.kwargs
    prior = UnconstrainedModel(handlers.block(model, hide=density.observed), args, kwargs, density.sites, (), chunk)

    def likelihood_of(x: Any) -> Any:
        parts, _ = compute_log_probs(model, args, kwargs, constrain_fn(model, args, kwargs, density.split(x)))
        return sum((parts[name] for name in density.observed), start=jnp.zeros(()))

    likelihood = vectorised(likelihood_of)

    def log_likelihood(x: Array) -> Array:
        return in_chunks(likelihood, np.asarray(x, dtype=float), chunk, "likelihoods")

    def sample_prior(n: int, rng: np.random.Generator) -> Array:
        return density.prior_draws(n, int(rng.integers(2**31)))

    return Target(
        names=density.names,
        log_likelihood=log_likelihood,
        log_prior=prior.log_density,
        sample_prior=sample_prior,
        source=f"NumPyro model {density.title}",
    )
