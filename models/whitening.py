"""Weights and bias in the coordinates of the Gaussian that they follow when the hyperparameters are given.

    z ~ Normal(0, I),   p(b) ∝ exp(−½ b²/v) or 1,   y ~ Normal(Φz/√μ + b·1, I/ζ)

With a map (z, b) = T(u) for u as long as (z, b), the density of u is that of (z, b) times |∂T/∂u|. The program computes
prior, likelihood and Jacobian as they stand: nothing is integrated out, and every invertible map gives the same
posterior of the hyperparameters. A map that fits makes u a standard normal vector that knows nothing of them, so that
scale and width move without the weights resisting, whether the data say much or little.

    dense       (z, b) = R⁻ᵀ(R⁻¹h + u),  R Rᵀ = [[I + γΦᵀΦ, ·], [·, ζN + 1/v]],  γ = ζ/μ
    orthogonal  the same where Φ has orthogonal columns: b first, then each z_i by itself
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.linalg import solve_triangular

Map = Callable[[jax.Array], tuple[jax.Array, jax.Array, jax.Array]]
"""From u to z, b and log |∂(z, b)/∂u|."""


def dense(
    phi: jax.Array, ones: jax.Array, targets: jax.Array, log_mu: jax.Array, log_zeta: jax.Array, bias_precision: float
) -> Map:
    """The map for features of shape (m, n_f); `ones` is what the bias is multiplied by, of shape (m,)."""
    design = jnp.column_stack([jnp.exp(-0.5 * log_mu) * phi, ones])  # [m, n_f + 1]
    zeta, n_f = jnp.exp(log_zeta), phi.shape[1]
    own = jnp.append(jnp.ones(n_f), bias_precision)
    R = jnp.linalg.cholesky(zeta * (design.T @ design) + jnp.diag(own))
    half = solve_triangular(R, zeta * (design.T @ targets), lower=True)

    def to_weights(u: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        both = solve_triangular(R, half + u, lower=True, trans=1)
        return both[:-1], both[-1], -jnp.log(jnp.diag(R)).sum()

    return to_weights


def orthogonal(
    s: jax.Array, ones: jax.Array, targets: jax.Array, log_mu: jax.Array, log_zeta: jax.Array, bias_precision: float
) -> Map:
    """The map for features diag(s) with rows of zeros below."""
    zeta, n_f = jnp.exp(log_zeta), len(s)
    scaled = jnp.exp(-0.5 * log_mu) * s
    precision = 1.0 + zeta * scaled**2
    weights = zeta * jnp.append(1.0 / precision, jnp.ones(len(ones) - n_f))
    of_bias = weights @ ones**2 + bias_precision

    def to_weights(u: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        b = (weights @ (ones * targets)) / of_bias + u[-1] * of_bias**-0.5
        z = zeta * scaled * (targets - b * ones)[:n_f] / precision + u[:-1] * precision**-0.5
        return z, b, -0.5 * jnp.log(precision).sum() - 0.5 * jnp.log(of_bias)

    return to_weights


def sample_through(to_weights: Map, n_f: int, bias_variance: float | None) -> tuple[jax.Array, jax.Array]:
    """The site u, and z and b through the map; prior and Jacobian stand in a factor."""
    u = numpyro.sample("u", dist.Normal(0.0, 1.0).expand([n_f + 1]).to_event(1))
    z, b, log_jacobian = to_weights(u)
    own = dist.Normal(0.0, 1.0).log_prob(z).sum()
    if bias_variance is not None:
        own = own + dist.Normal(0.0, bias_variance**0.5).log_prob(b)
    numpyro.factor("weights", own + log_jacobian - dist.Normal(0.0, 1.0).log_prob(u).sum())
    return z, numpyro.deterministic("b", b)
