"""Weight space with the scale of a polynomial kernel free: a program of its own, which knows no kernel matrix.

The features of (1 + xᵀz/s)^p are monomials; one of degree q carries s^{−q/2}. On the features at s = 1 that is a prior
variance of the weight, so the model is

    log μ, log ζ, log s ~ prior;   w_j ~ Normal(0, 1/(μ s^{q_j}));   b flat;   y ~ Normal(Φw + b, 1/ζ)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array as JaxArray

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Linear, Polynomial
from bayes_lssvm.priors import HyperPrior
from models import WeightSpace, features, to_numpyro
from models.priors import sample_bias


@dataclass(frozen=True)
class PolynomialWeights:
    """The program; call it with the arguments that `weight_space` gives.

    Parameters
    ----------
    prior : HyperPrior
        Of log μ, log ζ and log s.
    degrees : tuple of int
        q_j of each feature.
    """

    prior: HyperPrior
    degrees: tuple[int, ...]

    def __call__(self, design: JaxArray, targets: JaxArray) -> None:
        """The generative program, on a rotated design: targets beyond its rows have mean zero."""
        parts = self.prior.components(1)
        log_mu, log_zeta, log_scale = (
            numpyro.sample(name, to_numpyro(part))
            for name, part in zip(("log_mu", "log_zeta", "log_scale"), parts, strict=True)
        )
        sd = jnp.exp(-0.5 * (log_mu + jnp.array(self.degrees, dtype=float) * log_scale))
        w = numpyro.sample("w", dist.Normal(0.0, sd).to_event(1))
        b = sample_bias(None)
        fitted = design @ jnp.append(w, b)
        mean = jnp.concatenate([fitted, jnp.zeros(len(targets) - len(design))])
        numpyro.sample("y", dist.Normal(mean, jnp.exp(-0.5 * log_zeta)).to_event(1), obs=targets)


def n_features(degree: int, d: int) -> int:
    """Number of weights of a model: d for the linear one, all monomials up to the degree for a polynomial."""
    return d if degree == 1 else comb(d + degree, degree)


def weight_space(
    degree: int, prior: HyperPrior, X: Array, y: Array
) -> tuple[WeightSpace | PolynomialWeights, tuple[Array, Array]]:
    """The program of a linear (degree 1) or polynomial model, and its arguments."""
    linear = WeightSpace(HyperPrior(prior.mu, prior.zeta))
    if degree == 1:
        return linear, linear.data(features(Linear(), X), y)
    counts = [comb(X.shape[1] + q - 1, q) for q in range(degree + 1)]  # the features come in the order of their degree
    degrees = tuple(q for q, count in enumerate(counts) for _ in range(count))
    return PolynomialWeights(prior, degrees), linear.data(features(Polynomial(degree, 1.0), X), y)
