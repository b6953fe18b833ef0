"""Differential equations with log-normal measurements: lynx and hare, and a drug in one compartment.

Solutions are by the classical Runge–Kutta method with fixed steps, so that densities have derivatives of every order,
in forward and in reverse mode. The steps are so small that halving them moves no log density by 10⁻⁴ on the reference
draws; a test says so.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayes_lssvm.base.typing import Array

YEAR_STEPS = 20  # steps a year, for lynx and hare
DOSE_STEPS = 30  # steps until the first measurement; a tenth of it between any two later ones
_SMALLEST = 1e-12  # concentration whose logarithm is taken for zero's

Field = Callable[[jax.Array, jax.Array], jax.Array]


def runge_kutta(field: Field, state: jax.Array, times: jax.Array) -> jax.Array:
    """States at the times, the first of which has the state given; of shape (len(times), …)."""

    def step(state: jax.Array, span: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        t, h = span
        k1 = field(t, state)
        k2 = field(t + 0.5 * h, state + 0.5 * h * k1)
        k3 = field(t + 0.5 * h, state + 0.5 * h * k2)
        k4 = field(t + h, state + h * k3)
        state = state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return state, state

    _, states = jax.lax.scan(step, state, (times[:-1], jnp.diff(times)))
    return jnp.concatenate([state[None], states])


def lotka_volterra(times: jax.Array, y_init: jax.Array, y: jax.Array, *, steps: int = YEAR_STEPS) -> None:
    """Prey u and predators v with u' = (α − βv)u, v' = (−γ + δu)v, measured at time 0 and at times 1, 2, …, N.

    The logarithms of u and v are integrated: they stay finite, and are what the measurements are about.
    """
    rates = dist.TruncatedNormal(jnp.array([1.0, 0.05, 1.0, 0.05]), jnp.array([0.5, 0.05, 0.5, 0.05]), low=0.0)
    theta = numpyro.sample("theta", rates.to_event(1))
    z_init = numpyro.sample("z_init", dist.LogNormal(jnp.log(10.0), 1.0).expand([2]).to_event(1))
    sigma = numpyro.sample("sigma", dist.LogNormal(-1.0, 1.0).expand([2]).to_event(1))
    alpha, beta, gamma, delta = theta

    def field(t: jax.Array, log_z: jax.Array) -> jax.Array:
        u, v = jnp.exp(log_z)
        return jnp.array([alpha - beta * v, -gamma + delta * u])

    n = times.shape[0]
    grid = jnp.interp(jnp.arange(n * steps + 1) / steps, jnp.arange(n + 1), jnp.concatenate([jnp.zeros(1), times]))
    log_z = runge_kutta(field, jnp.log(z_init), grid)[::steps]
    measured = jnp.concatenate([y_init[None], y])
    numpyro.sample("y", dist.LogNormal(log_z, sigma).to_event(2), obs=measured)


def one_compartment(
    times: jax.Array, dose: jax.Array, volume: jax.Array, measured: jax.Array, *, steps: int = DOSE_STEPS
) -> None:
    """First-order absorption and Michaelis–Menten elimination of a concentration C, C(0) = 0.

        C' = k_a (D/V) e^{−k_a t} − (V_m/V) C/(K_m + C)

    C passes K_m at once, however small it is; so the steps before the first measurement grow as the cube of time.
    """
    k_a, K_m, V_m, sigma = (numpyro.sample(name, dist.HalfCauchy(1.0)) for name in ("k_a", "K_m", "V_m", "sigma"))

    def field(t: jax.Array, C: jax.Array) -> jax.Array:
        C = jnp.maximum(C, 0.0)  # where a step went too far, far from the posterior
        return k_a * dose / volume * jnp.exp(-k_a * t) - V_m / volume * C / (K_m + C)

    between = steps // 10
    first = times[0] * (jnp.arange(steps) / steps) ** 3
    n = times.shape[0]
    later = jnp.interp(jnp.arange((n - 1) * between + 1) / between, jnp.arange(n), times)
    C = runge_kutta(field, jnp.zeros(()), jnp.concatenate([first, later]))[steps::between]
    numpyro.sample("C_hat", dist.LogNormal(jnp.log(jnp.maximum(C, _SMALLEST)), sigma).to_event(1), obs=measured)


def measured_populations(data: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Times, first populations and later ones of lynx and hare."""
    return data["ts"], data["y_init"], data["y"]


def measured_concentrations(data: dict[str, Array]) -> tuple[Array, Array, Array, Array]:
    """Times, dose, volume and concentrations."""
    return data["times"], np.asarray(data["D"], float), np.asarray(data["V"], float), data["C_hat"]
