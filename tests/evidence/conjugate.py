"""NumPyro models whose evidence has a closed form, with exact draws of their posteriors."""

from __future__ import annotations

import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from scipy import stats
from scipy.special import betaln, gammaln

from bayes_lssvm.levels.level2 import log_evidence as level2_evidence
from bayes_lssvm.linalg.spectrum import CentredSpectrum

CHAINS, N = 4, 500


def normal_normal(rng):
    y = np.array([1.2, 0.4, 2.2, 0.9])

    def model(y):
        theta = numpyro.sample("theta", dist.Normal(0.5, 2.0))
        numpyro.deterministic("twice", 2 * theta)
        with numpyro.plate("data", len(y)):
            numpyro.sample("y", dist.Normal(theta, 0.7), obs=y)

    precision = 1 / 4 + len(y) / 0.49
    mean = (0.5 / 4 + y.sum() / 0.49) / precision
    exact = stats.multivariate_normal(np.full(4, 0.5), 0.49 * np.eye(4) + 4.0).logpdf(y)
    theta = rng.normal(mean, precision**-0.5, size=(CHAINS, N))
    return model, (y,), {"theta": theta, "twice": 2 * theta}, exact


def beta_binomial(rng):
    def model(successes, trials=10):
        p = numpyro.sample("p", dist.Beta(2.0, 3.0))
        numpyro.sample("y", dist.Binomial(trials, p), obs=successes)

    exact = gammaln(11) - gammaln(8) - gammaln(4) + betaln(9, 6) - betaln(2, 3)
    return model, (7,), {"p": rng.beta(9, 6, size=(CHAINS, N))}, exact


def gamma_poisson(rng):
    y = np.array([3, 5, 2])

    def model(y):
        rate = numpyro.sample("rate", dist.Gamma(2.0, 0.5))
        numpyro.sample("y", dist.Poisson(rate).expand([3]).to_event(1), obs=y)

    a, b = 2.0 + y.sum(), 0.5 + 3
    exact = 2 * np.log(0.5) - gammaln(2) + gammaln(a) - a * np.log(b) - gammaln(y + 1).sum()
    return model, (y,), {"rate": rng.gamma(a, 1 / b, size=(CHAINS, N))}, exact


def dirichlet_multinomial(rng):
    counts, alpha = np.array([4, 9, 2]), np.array([1.0, 2.0, 0.7])

    def model(counts):
        p = numpyro.sample("p", dist.Dirichlet(alpha))
        numpyro.sample("counts", dist.Multinomial(15, p), obs=counts)

    exact = gammaln(16) - gammaln(counts + 1).sum() + gammaln(alpha.sum()) - gammaln(15 + alpha.sum())
    exact += np.sum(gammaln(alpha + counts) - gammaln(alpha))
    return model, (counts,), {"p": rng.dirichlet(alpha + counts, size=(CHAINS, N))}, exact


def regression(rng):
    """A vector site, and a flat intercept: the improper density counts as one, as p(b) = 1 does in the library."""
    X = rng.normal(size=(12, 2))
    y = X @ [1.0, -0.5] + 2.0 + 0.3 * rng.normal(size=12)

    def model(X, y):
        w = numpyro.sample("w", dist.Normal(0.0, 1.5).expand([2]).to_event(1))
        b = numpyro.sample("b", dist.ImproperUniform(dist.constraints.real, (), ()))
        numpyro.sample("y", dist.Normal(X @ w + b, 0.3), obs=y)

    spectrum = CentredSpectrum.from_kernel_matrix(X @ X.T, y)
    exact = level2_evidence(spectrum, 1 / 1.5**2, 1 / 0.3**2)
    Phi = np.column_stack([X, np.ones(12)])
    precision = Phi.T @ Phi / 0.09 + np.diag([1 / 2.25, 1 / 2.25, 0.0])
    mean = np.linalg.solve(precision, Phi.T @ y / 0.09)
    draws = rng.multivariate_normal(mean, np.linalg.inv(precision), size=(CHAINS, N))
    return model, (X, y), {"w": draws[..., :2], "b": draws[..., 2]}, exact


def moving_support(rng):
    """u ~ Uniform(0, τ) with τ latent and nothing observed but a factor: the evidence is the factor."""

    def model():
        tau = numpyro.sample("tau", dist.LogNormal(0.0, 0.5))
        with numpyro.plate("several", 3):
            numpyro.sample("u", dist.Uniform(0.0, tau))
        numpyro.factor("weight", -4.25)

    tau = np.exp(0.5 * rng.standard_normal((CHAINS, N)))
    return model, (), {"tau": tau, "u": tau[..., None] * rng.uniform(size=(CHAINS, N, 3))}, -4.25


def masked_and_scaled(rng):
    """Sites under `mask` and `scale` handlers count as NumPyro counts them: not at all, and twice."""

    def model():
        x = numpyro.sample("x", dist.Normal(0.0, 1.0))
        with handlers.mask(mask=False):
            numpyro.sample("ignored", dist.Normal(x, 1.0), obs=100.0)
        with handlers.scale(scale=2.0):
            numpyro.sample("twice", dist.Normal(x, 1.0), obs=0.5)

    # ∫ N(x; 0, 1) N(½; x, 1)² dx, and N(½; x, 1)² = N(½; x, ½) / √(4π)
    exact = stats.norm(0.0, np.sqrt(1.5)).logpdf(0.5) - 0.5 * np.log(4 * np.pi)
    return model, (), {"x": rng.normal(1 / 3, np.sqrt(1 / 3), size=(CHAINS, N))}, exact


CONJUGATE = [
    normal_normal,
    beta_binomial,
    gamma_poisson,
    dirichlet_multinomial,
    regression,
    moving_support,
    masked_and_scaled,
]
