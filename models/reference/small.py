"""Two small classics: the eight schools, and a Gaussian process on eleven points."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from models.reference.files import Draws


def eight_schools(y: jax.Array, sd: jax.Array) -> None:
    """Effects y_j ~ Normal(θ_j, s_j²), θ_j = μ + τ η_j, η_j ~ Normal(0, 1)."""
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    eta = numpyro.sample("theta_trans", dist.Normal(0.0, 1.0).expand([y.shape[0]]).to_event(1))
    theta = numpyro.deterministic("theta", mu + tau * eta)
    numpyro.sample("y", dist.Normal(theta, sd).to_event(1), obs=y)


def schools_sites(draws: Draws) -> Draws:
    """The reference has θ in the place of η."""
    mu, tau = draws["mu"], draws["tau"]
    return {"mu": mu, "tau": tau, "theta_trans": (draws["theta"] - mu[..., None]) / tau[..., None]}


def gp_regression(x: jax.Array, y: jax.Array) -> None:
    """Targets y ~ Normal(0, α² e^{−(x−x')²/2ρ²} + σI): σ is a variance, as in the specification."""
    rho = numpyro.sample("rho", dist.Gamma(25.0, 4.0))
    alpha = numpyro.sample("alpha", dist.HalfNormal(2.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    K = alpha**2 * jnp.exp(-0.5 * ((x[:, None] - x) / rho) ** 2)
    covariance = K + sigma * jnp.eye(x.shape[0])
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros_like(x), covariance), obs=y)
