"""The priors of `bayes_lssvm.priors` as NumPyro distributions.

`Normal` and `Box` become NumPyro's own. Any other `LogPrior` is wrapped: its `log_density` and `gradient` are called
back in NumPy, so a prior written once serves quadrature and NUTS alike; its `support` tells the transformation to the
real line. `Flat` is refused: the posterior has no integral.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.priors import Box, HyperPrior, ImproperPriorError, LogPrior, Normal


def to_numpyro(prior: LogPrior) -> dist.Distribution:
    """The distribution of one log parameter."""
    if not prior.proper:
        raise ImproperPriorError(
            f"{prior!r} is not a distribution, so there is nothing to sample: the posterior has an infinite integral "
            "at γ → 0, and at γ → ∞ where the centred kernel has full rank. Use Normal or Box priors."
        )
    if isinstance(prior, Normal):
        return dist.Normal(prior.mean, prior.sd)
    if isinstance(prior, Box):
        return dist.Uniform(prior.low, prior.high)
    return CalledBack(prior)


def sample_kernel_parameters(prior: HyperPrior, names: tuple[str, ...]) -> jax.Array:
    """A site log_θ for each named parameter of a kernel; together of shape (P,)."""
    parts = prior.components(len(names))[2:]
    sites = [numpyro.sample(f"log_{name}", to_numpyro(part)) for name, part in zip(names, parts, strict=True)]
    return jnp.stack(sites) if sites else jnp.zeros(0)


def sample_bias(variance: float | None) -> jax.Array:
    """The site b: flat, p(b) = 1, for None; Normal(0, variance) otherwise."""
    flat = dist.ImproperUniform(constraints.real, (), ())
    return numpyro.sample("b", flat if variance is None else dist.Normal(0.0, variance**0.5))


def _from_bits(bits: AnyArray) -> Array:
    return np.ascontiguousarray(bits).view(np.float64)[..., 0]


def _to_bits(values: AnyArray) -> AnyArray:
    return np.ascontiguousarray(np.asarray(values, dtype=np.float64)[..., None]).view(np.uint32)


def _call(function: Callable[[AnyArray], AnyArray], bits: jax.Array, shape: tuple[int, ...], method: str) -> jax.Array:
    """Call back with and for 32-bit words.

    JAX runs callbacks in threads of its own, where a 64-bit mode that is scoped to ours does not reach: a double would
    arrive there in single precision. Words pass unchanged.
    """
    if jnp.result_type(float) != jnp.float64:
        raise ValueError("A user-defined prior needs JAX in 64-bit mode: use models.sample, or jax.enable_x64(True).")
    words = jax.eval_shape(lambda: jnp.zeros((*shape, 2), jnp.uint32))
    answer = jax.pure_callback(function, words, bits, vmap_method=method)
    return jax.lax.bitcast_convert_type(answer, jnp.float64)


def _called_back(function: Callable[[Array], Array]) -> Callable[[jax.Array], jax.Array]:
    """An elementwise NumPy function as one that JAX can trace and map."""

    def in_numpy(bits: AnyArray) -> AnyArray:
        x = _from_bits(bits)
        return _to_bits(np.broadcast_to(function(x), x.shape))

    def in_jax(x: jax.Array) -> jax.Array:
        x = jnp.asarray(x, dtype=jnp.result_type(float))
        return _call(in_numpy, jax.lax.bitcast_convert_type(x, jnp.uint32), x.shape, "broadcast_all")

    return in_jax


class CalledBack(dist.Distribution):  # type: ignore[misc]
    """A user's `LogPrior` as a NumPyro distribution of a scalar."""

    def __init__(self, prior: LogPrior) -> None:
        self.prior = prior
        slope = _called_back(prior.gradient)

        @jax.custom_jvp
        def log_density(x: jax.Array) -> jax.Array:
            return _called_back(prior.log_density)(x)

        @log_density.defjvp
        def log_density_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
            return log_density(primals[0]), slope(primals[0]) * tangents[0]

        self._log_density = log_density
        super().__init__(batch_shape=(), event_shape=(), validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        """Where the density is positive."""
        low, high = self.prior.support
        if np.isfinite(low) and np.isfinite(high):
            return constraints.interval(low, high)
        if np.isfinite(low):
            return constraints.greater_than(low)
        return constraints.less_than(high) if np.isfinite(high) else constraints.real

    def log_prob(self, value: jax.Array) -> jax.Array:
        """Log density, differentiable once."""
        return self._log_density(jnp.asarray(value))

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Draws by the prior's own `sample`, seeded from the key."""
        seeds = jax.random.bits(key, (2,), dtype=jnp.uint32)

        def in_numpy(seeds: AnyArray) -> AnyArray:
            rng = np.random.default_rng(np.asarray(seeds).tolist())
            return _to_bits(self.prior.sample(int(np.prod(sample_shape, dtype=int)), rng).reshape(sample_shape))

        return _call(in_numpy, seeds, sample_shape, "sequential")
