"""Hidden Markov models with two states, the states summed out by the forward algorithm.

    log a_1(k) = log p(y_1 | k),     log a_t(k) = log p(y_t | k) + log Σ_j a_{t−1}(j) θ_jk,     p(y) = Σ_k a_T(k)

The first state has weight one on either side, as in the specification. Emission parameters are ordered, so that the
states keep their names; their normal priors are restricted to that order and not normalised anew.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints


def forward(log_emission: jax.Array, transition: jax.Array) -> jax.Array:
    """Log likelihood, from log p(y_t | k) of shape (T, K) and P(k | j) in row j of shape (K, K)."""
    log_transition = jnp.log(transition)

    def step(log_a: jax.Array, emitted: jax.Array) -> tuple[jax.Array, None]:
        return emitted + jax.nn.logsumexp(log_a[:, None] + log_transition, axis=0), None

    log_a, _ = jax.lax.scan(step, log_emission[0], log_emission[1:])
    return jax.nn.logsumexp(log_a)


def _transition(alpha: jax.Array) -> jax.Array:
    """Rows theta1 and theta2 under Dirichlet priors."""
    return jnp.stack([numpyro.sample(f"theta{k + 1}", dist.Dirichlet(alpha[k])) for k in range(2)])


def _ordered(name: str, support: constraints.Constraint, means: tuple[float, float]) -> jax.Array:
    """Two ordered values with normal priors of unit variance."""
    values = numpyro.sample(name, dist.ImproperUniform(support, (), (2,)))
    numpyro.factor(f"{name}_prior", dist.Normal(jnp.asarray(means), 1.0).log_prob(values).sum())
    return values


def normal_states(y: jax.Array) -> None:
    """One output, Normal(μ_k, 1) in state k; transitions uniform."""
    transition = _transition(jnp.ones((2, 2)))
    mu = _ordered("mu", constraints.positive_ordered_vector, (3.0, 10.0))
    numpyro.factor("y", forward(dist.Normal(mu, 1.0).log_prob(y[:, None]), transition))


def drive_exponential(u: jax.Array, v: jax.Array, alpha: jax.Array) -> None:
    """Two outputs, exponential with rates φ_k and λ_k in state k."""
    transition = _transition(alpha)
    phi = _ordered("phi", constraints.positive_ordered_vector, (0.0, 3.0))
    rate = _ordered("lambda", constraints.positive_ordered_vector, (0.0, 3.0))
    emitted = dist.Exponential(phi).log_prob(u[:, None]) + dist.Exponential(rate).log_prob(v[:, None])
    numpyro.factor("y", forward(emitted, transition))


def drive_normal(u: jax.Array, v: jax.Array, alpha: jax.Array, tau: jax.Array, rho: jax.Array) -> None:
    """Two outputs, Normal(φ_k, τ²) and Normal(λ_k, ρ²) in state k."""
    transition = _transition(alpha)
    phi = _ordered("phi", constraints.ordered_vector, (0.0, 3.0))
    mean = _ordered("lambda", constraints.ordered_vector, (0.0, 3.0))
    emitted = dist.Normal(phi, tau).log_prob(u[:, None]) + dist.Normal(mean, rho).log_prob(v[:, None])
    numpyro.factor("y", forward(emitted, transition))
