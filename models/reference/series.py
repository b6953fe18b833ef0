"""Time series: an autoregression of order K, and ARMA(1, 1)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayes_lssvm.base.typing import Array
from models.reference.files import Data

_NOISE = dist.HalfCauchy(2.5)


def lags(data: Data) -> tuple[Array, Array]:
    """The K values before each y_t, the latest first, of shape (T − K, K), and y_t from t = K + 1 on."""
    y, order = data["y"], int(data["K"])
    return np.column_stack([y[order - k : len(y) - k] for k in range(1, order + 1)]), y[order:]


def autoregression(before: jax.Array, y: jax.Array) -> None:
    """y_t ~ Normal(α + Σ_k β_k y_{t−k}, σ²), given the first K values."""
    alpha = numpyro.sample("alpha", dist.Normal(0.0, 10.0))
    beta = numpyro.sample("beta", dist.Normal(0.0, 10.0).expand([before.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", _NOISE)
    numpyro.sample("y", dist.Normal(alpha + before @ beta, sigma).to_event(1), obs=y)


def arma11(y: jax.Array) -> None:
    """y_t = μ + φ y_{t−1} + θ e_{t−1} + e_t with e_t ~ Normal(0, σ²), e_0 = 0, and μ in the place of y_0."""
    mu = numpyro.sample("mu", dist.Normal(0.0, 10.0))
    phi = numpyro.sample("phi", dist.Normal(0.0, 2.0))
    theta = numpyro.sample("theta", dist.Normal(0.0, 2.0))
    sigma = numpyro.sample("sigma", _NOISE)

    def step(error: jax.Array, pair: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        before, now = pair
        error = now - (mu + phi * before + theta * error)
        return error, error

    before = jnp.concatenate([mu[None], y[:-1]])
    _, errors = jax.lax.scan(step, jnp.zeros_like(mu), (before, y))
    numpyro.factor("y", dist.Normal(0.0, sigma).log_prob(errors).sum())
