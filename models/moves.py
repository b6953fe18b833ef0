"""Moves beside NUTS, for programs whose hyperparameters may have several modes and whose weights are whitened.

A step of NUTS moves the hyperparameters x; then

    jumps     x' from Student distributions at the modes, whichever mode the chain is at, and now and then from a wide
              one: a long tail, or a slab under a spike, is no mode of its own
    fresh u   u' from a standard normal, the distribution of whitened weights if their map fits

each accepted with the probability of Metropolis and Hastings, min(1, π(x')q(x)/π(x)q(x')), so that the posterior stays
what it is wherever the modes lie and whatever the map. A jump costs a density without its gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln, logsumexp
from jax.scipy.stats import norm

from models.modes import Mixture

Sites = dict[str, jax.Array]
_DEGREES = 4.0  # of freedom: tails wider than those of the posterior
_WIDER = 1.1  # than Laplace's Gaussian
_WIDE, _SPREAD = 0.15, 2.0  # share of the wide distribution, and its standard deviation in unconstrained parameters


class Moved(NamedTuple):
    """Where the moves ended: hyperparameters, the other sites, minus the log density, and the share accepted."""

    x: jax.Array
    rest: Sites
    potential: jax.Array
    accepted: jax.Array


def with_wide(mixture: Mixture) -> Mixture:
    """The modes with one more part, wide in all directions round the highest."""
    wide = _SPREAD * jnp.eye(mixture.means.shape[1])
    weights = jnp.append(mixture.log_weights + jnp.log1p(-_WIDE), jnp.log(_WIDE))
    return Mixture(
        jnp.concatenate([mixture.means, mixture.means[:1]]), jnp.concatenate([mixture.factors, wide[None]]), weights
    )


def propose(key: jax.Array, mixture: Mixture) -> jax.Array:
    """A point of shape (k,) from the Student distributions at the modes."""
    which, normal, scale = jax.random.split(key, 3)
    i = jax.random.categorical(which, mixture.log_weights)
    k = mixture.means.shape[1]
    spread = jnp.sqrt(_DEGREES / (2.0 * jax.random.gamma(scale, 0.5 * _DEGREES)))
    return mixture.means[i] + _WIDER * spread * (mixture.factors[i] @ jax.random.normal(normal, (k,)))


def log_proposal(x: jax.Array, mixture: Mixture) -> jax.Array:
    """The log density of `propose`."""
    k = x.shape[0]

    def one(mean: jax.Array, factor: jax.Array) -> jax.Array:
        e = solve_triangular(factor, x - mean, lower=True) / _WIDER
        log_det = jnp.log(jnp.diag(factor)).sum() + k * jnp.log(_WIDER)
        constant = gammaln(0.5 * (_DEGREES + k)) - gammaln(0.5 * _DEGREES) - 0.5 * k * jnp.log(_DEGREES * jnp.pi)
        return constant - log_det - 0.5 * (_DEGREES + k) * jnp.log1p(e @ e / _DEGREES)

    return logsumexp(jax.vmap(one)(mixture.means, mixture.factors) + mixture.log_weights)


def move(
    key: jax.Array,
    x: jax.Array,
    rest: Sites,
    energy: jax.Array,
    potential: Callable[[jax.Array, Sites], jax.Array],
    mixture: Mixture,
    jumps: int,
) -> Moved:
    """Some jumps of x, and a proposal of all other sites."""
    mixture = with_wide(mixture)

    def jump(carry: Moved, key: jax.Array) -> tuple[Moved, None]:
        of_x, coin = jax.random.split(key)
        at = propose(of_x, mixture)
        there = potential(at, rest)
        log_ratio = carry.potential - there + log_proposal(carry.x, mixture) - log_proposal(at, mixture)
        yes = jnp.log(jax.random.uniform(coin)) < log_ratio  # never where the density is not a number
        moved = jnp.where(yes, at, carry.x), jnp.where(yes, there, carry.potential)
        return Moved(moved[0], rest, moved[1], carry.accepted + yes / jumps), None

    key, last = jax.random.split(key)
    moved = jax.lax.scan(jump, Moved(x, rest, energy, jnp.zeros(())), jax.random.split(key, jumps))[0]
    return _refreshed(last, moved, potential) if rest else moved


def _refreshed(key: jax.Array, at: Moved, potential: Callable[[jax.Array, Sites], jax.Array]) -> Moved:
    key, coin = jax.random.split(key)
    keys = dict(zip(at.rest, jax.random.split(key, len(at.rest)), strict=True))
    fresh = {name: jax.random.normal(keys[name], old.shape) for name, old in at.rest.items()}
    there = potential(at.x, fresh)
    own = sum((norm.logpdf(at.rest[name]) - norm.logpdf(fresh[name])).sum() for name in fresh)
    yes = jnp.log(jax.random.uniform(coin)) < at.potential - there + own
    rest = {name: jnp.where(yes, fresh[name], old) for name, old in at.rest.items()}
    return at._replace(rest=rest, potential=jnp.where(yes, there, at.potential))
