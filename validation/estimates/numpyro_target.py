"""A NumPyro model as a `Target`: prior and likelihood apart, for SMC, importance and nested sampling.

Prior: the latent sites with their Jacobians. Likelihood: the observed sites and the factors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import compute_log_probs, constrain_fn

from bayes_lssvm.base.typing import Array

from .numpyro_model import DEFAULT_CHUNK, UnconstrainedModel, in_chunks, vectorised, widened
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
    args, kwargs = widened(tuple(model_args)), widened(dict(model_kwargs or {}))
    with jax.enable_x64(True):
        try:
            first = jax.eval_shape(lambda key: _prior_draw(model, args, kwargs, key), jax.random.key(0))
        except NotImplementedError as error:
            raise ValueError(
                "A site of the model has no distribution to draw from (an improper prior?): SMC, importance and "
                "nested sampling start from the prior. Bridge sampling takes such models."
            ) from error
    density = UnconstrainedModel.from_draws(
        model, args, kwargs, {name: np.zeros((1, *value.shape)) for name, value in first.items()}, chunk=chunk
    )

    prior = UnconstrainedModel(handlers.block(model, hide=density.observed), args, kwargs, density.sites, (), chunk)

    def likelihood_of(x: Any) -> Any:
        parts, _ = compute_log_probs(model, args, kwargs, constrain_fn(model, args, kwargs, density.split(x)))
        return sum((parts[name] for name in density.observed), start=jnp.zeros(()))

    def draw(key: Any) -> Any:
        values = _prior_draw(model, args, kwargs, key, unconstrained=True)
        return jnp.concatenate([jnp.ravel(values[site.name]) for site in density.sites])

    likelihood, drawn = vectorised(likelihood_of), vectorised(draw)

    def log_likelihood(x: Array) -> Array:
        return in_chunks(likelihood, np.asarray(x, dtype=float), chunk, "likelihoods")

    def sample_prior(n: int, rng: np.random.Generator) -> Array:
        with jax.enable_x64(True):
            keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), -(-n // chunk))
            return np.concatenate([np.asarray(drawn(jax.random.split(key, chunk))) for key in keys])[:n]

    return Target(
        names=density.names,
        log_likelihood=log_likelihood,
        log_prior=prior.log_density,
        sample_prior=sample_prior,
        source=f"NumPyro model {getattr(model, '__name__', repr(model))}",
    )


def _prior_draw(
    model: Callable[..., Any], args: Any, kwargs: Any, key: Any, *, unconstrained: bool = False
) -> dict[str, Any]:
    """One draw of the latent sites from their priors, constrained or not."""
    trace = handlers.trace(handlers.seed(model, key)).get_trace(*args, **kwargs)
    latent = {n: s for n, s in trace.items() if s["type"] == "sample" and not s["is_observed"]}
    if unconstrained:
        return {name: biject_to(site["fn"].support).inv(site["value"]) for name, site in latent.items()}
    return {name: site["value"] for name, site in latent.items()}
