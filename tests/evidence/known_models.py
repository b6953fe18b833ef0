"""NumPyro models of many kinds whose evidence is known, in closed form or by quadrature over two parameters.

They are what the limits of `trust_model` were chosen on. In some Laplace's method is exact, in some it is off by a
tenth of a nat, in some by several nats, and some have no mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

from bayes_lssvm.evidence.numpyro_model import UnconstrainedModel

SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


class Known(NamedTuple):
    """A model, its arguments and its log evidence."""

    model: Callable[..., Any]
    args: tuple[Any, ...]
    log_z: float


def copies(name, distribution, d):
    """d independent sites of one distribution, as one."""
    return numpyro.sample(name, distribution.expand([d]).to_event(1))


def on_a_grid(model, args, low, high, nodes=1201):
    """log Z of a model of two parameters by the trapezoidal rule over its unconstrained plane."""
    axes = [np.linspace(a, b, nodes) for a, b in zip(low, high, strict=True)]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    values = UnconstrainedModel.of(model, args, {}, chunk=4096).log_density(points)
    return float(logsumexp(values[~np.isnan(values)]) + sum(np.log(axis[1] - axis[0]) for axis in axes))


def linear(d, n):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((n, d))
    y = X.sum(axis=1) + rng.standard_normal(n)

    def model(X, y):
        w = copies("w", dist.Normal(0.0, 2.0), d)
        numpyro.sample("y", dist.Normal(X @ w, 1.0), obs=y)

    return Known(model, (X, y), stats.multivariate_normal(np.zeros(n), np.eye(n) + 4.0 * X @ X.T).logpdf(y))


def poisson(a, d, count):
    def model(y):
        rate = copies("rate", dist.Gamma(a, 1.0), d)
        numpyro.sample("y", dist.Poisson(rate).to_event(1), obs=y)

    one = gammaln(a + count) - gammaln(a) - (a + count) * np.log(2.0) - gammaln(count + 1)
    return Known(model, (np.full(d, count),), float(d * one))


def unknown_variance(n):
    y = np.random.default_rng(n).normal(1.0, 2.0, n)

    def model(y):
        v = numpyro.sample("v", dist.InverseGamma(1.5, 1.0))
        m = numpyro.sample("m", dist.Normal(0.0, 3.0 * jnp.sqrt(v)))
        numpyro.sample("y", dist.Normal(m, jnp.sqrt(v)), obs=y)

    scale = (np.eye(n) + 9.0 * np.ones((n, n))) / 1.5
    return Known(model, (y,), float(stats.multivariate_t(np.zeros(n), scale, df=3).logpdf(y)))


def binomial(a, successes, trials, d):
    def model():
        p = copies("p", dist.Beta(a, a), d)
        numpyro.sample("k", dist.Binomial(trials, p).to_event(1), obs=np.full(d, successes))

    failures = trials - successes
    chosen = gammaln(trials + 1) - gammaln(successes + 1) - gammaln(failures + 1)
    return Known(model, (), float(d * (chosen + betaln(a + successes, a + failures) - betaln(a, a))))


def hierarchy(y, error, *, centred):
    def model(y, error):
        mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
        tau = numpyro.sample("tau", dist.HalfNormal(10.0))
        if centred:
            effect = copies("effect", dist.Normal(mean, tau), len(y))
        else:
            effect = mean + tau * copies("z", dist.Normal(0.0, 1.0), len(y))
        numpyro.sample("y", dist.Normal(effect, error), obs=y)

    mean, log_tau = np.meshgrid(np.linspace(-80, 90, 801), np.linspace(-12, 6, 801))
    tau = np.exp(log_tau)
    values = stats.norm(0, 10).logpdf(mean) + stats.halfnorm(scale=10).logpdf(tau) + log_tau
    for value, sd in zip(y, error, strict=True):
        values += stats.norm.logpdf(value, mean, np.hypot(tau, sd))
    return Known(model, (y, error), float(logsumexp(values) + np.log(170 / 800 * 18 / 800)))


def logistic(n, sd, *, separable):
    rng = np.random.default_rng(n)
    x = np.sort(rng.standard_normal(n))
    y = (x > 0).astype(int) if separable else (x + rng.logistic(size=n) > 0).astype(int)

    def model(x, y):
        b = numpyro.sample("b", dist.Normal(0.0, sd))
        w = numpyro.sample("w", dist.Normal(0.0, sd))
        numpyro.sample("y", dist.Bernoulli(logits=b + w * x), obs=y)

    return Known(model, (x, y), on_a_grid(model, (x, y), (-6 * sd,) * 2, (6 * sd,) * 2))


def mixture(gap):
    rng = np.random.default_rng(7)
    y = np.concatenate([rng.normal(-gap, 1.0, 12), rng.normal(gap, 1.0, 12)])

    def model(y):
        m = copies("m", dist.Normal(0.0, 4.0), 2)
        parts = dist.MixtureSameFamily(dist.Categorical(probs=jnp.ones(2) / 2), dist.Normal(m, 1.0))
        numpyro.sample("y", parts.expand([24]).to_event(1), obs=y)

    return Known(model, (y,), on_a_grid(model, (y,), (-20.0, -20.0), (20.0, 20.0)))


def student(degrees, d):
    return Known(lambda: copies("x", dist.StudentT(degrees, 0.0, 1.0), d), (), 0.0)


def autoregression(n):
    y = np.cumsum(np.random.default_rng(n).standard_normal(n))

    def model(y):
        r = numpyro.sample("r", dist.Uniform(-1.0, 1.0))
        s = numpyro.sample("s", dist.HalfNormal(2.0))
        numpyro.sample("y", dist.Normal(r * y[:-1], s), obs=y[1:])

    return Known(model, (y,), on_a_grid(model, (y,), (-12.0, -6.0), (60.0, 4.0)))


def square(sd):
    def model():
        t = numpyro.sample("t", dist.Normal(0.0, 2.0))
        u = numpyro.sample("u", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(t**2 + u, sd), obs=4.0)

    return Known(model, (), on_a_grid(model, (), (-15.0, -8.0), (15.0, 8.0)))


def horseshoe(d):
    def model(y):
        scale = copies("scale", dist.HalfCauchy(1.0), len(y))
        w = copies("w", dist.Normal(0.0, 1.0), len(y))
        numpyro.sample("y", dist.Normal(scale * w, 1.0), obs=y)

    return Known(model, (np.ones(d),), d * on_a_grid(model, (np.ones(1),), (-25.0, -9.0), (25.0, 9.0)))


def banana(bend):
    def model():
        x = numpyro.sample("x", dist.Normal(0.0, 1.5))
        numpyro.sample("z", dist.Normal(bend * (x**2 - 1.0), 1.0))

    return Known(model, (), 0.0)


def funnel(sd, d):
    def model():
        v = numpyro.sample("v", dist.Normal(0.0, sd))
        copies("x", dist.Normal(0.0, jnp.exp(v / 2)), d)

    return Known(model, (), 0.0)


def edge(n):
    """Uniform data with an unknown upper end, whose prior is Pareto: log(end/largest) is exponential."""
    y = np.random.default_rng(n).uniform(0.0, 3.0, n)
    top = float(y.max())

    def model():
        end = numpyro.sample("end", dist.Pareto(top, 2.0))
        numpyro.factor("data", -n * jnp.log(end))

    return Known(model, (), float(np.log(2.0 / (2.0 + n)) - n * np.log(top)))


def known_models() -> dict[str, Callable[[], Known]]:
    """All of them by name, each made when it is called."""
    precise = ERRORS / 8
    return {
        "linear d2": lambda: linear(2, 10),
        "linear d12": lambda: linear(12, 40),
        "poisson a0.2 d1": lambda: poisson(0.2, 1, 0),
        "poisson a0.3 d4": lambda: poisson(0.3, 4, 0),
        "poisson a0.5 d8": lambda: poisson(0.5, 8, 1),
        "poisson a0.5 d20": lambda: poisson(0.5, 20, 3),
        "poisson a2 d3": lambda: poisson(2.0, 3, 4),
        "poisson a1 d10": lambda: poisson(1.0, 10, 0),
        "poisson a0.1 d2": lambda: poisson(0.1, 2, 0),
        "unknown variance n2": lambda: unknown_variance(2),
        "unknown variance n5": lambda: unknown_variance(5),
        "unknown variance n30": lambda: unknown_variance(30),
        "binomial 0/1 d3": lambda: binomial(1.0, 0, 1, 3),
        "binomial 0/3 d6": lambda: binomial(0.5, 0, 3, 6),
        "binomial 4/10 d5": lambda: binomial(1.0, 4, 10, 5),
        "binomial 0/5 d15": lambda: binomial(0.5, 0, 5, 15),
        "schools, centred": lambda: hierarchy(SCHOOLS, ERRORS, centred=True),
        "schools, not centred": lambda: hierarchy(SCHOOLS, ERRORS, centred=False),
        "schools precise, centred": lambda: hierarchy(SCHOOLS, precise, centred=True),
        "schools precise, not centred": lambda: hierarchy(SCHOOLS, precise, centred=False),
        "two schools, centred": lambda: hierarchy(SCHOOLS[:2], ERRORS[:2], centred=True),
        "two schools, not centred": lambda: hierarchy(SCHOOLS[:2], ERRORS[:2], centred=False),
        "logistic n4, separable": lambda: logistic(4, 20.0, separable=True),
        "logistic n6, separable": lambda: logistic(6, 5.0, separable=True),
        "logistic n20": lambda: logistic(20, 2.0, separable=False),
        "logistic n100": lambda: logistic(100, 2.0, separable=False),
        "mixture 0.5": lambda: mixture(0.5),
        "mixture 1.5": lambda: mixture(1.5),
        "mixture 3": lambda: mixture(3.0),
        "student 1.5 d2": lambda: student(1.5, 2),
        "student 3 d4": lambda: student(3.0, 4),
        "student 3 d15": lambda: student(3.0, 15),
        "student 5 d3": lambda: student(5.0, 3),
        "student 8 d8": lambda: student(8.0, 8),
        "autoregression n8": lambda: autoregression(8),
        "autoregression n60": lambda: autoregression(60),
        "square 0.2": lambda: square(0.2),
        "square 1": lambda: square(1.0),
        "square 3": lambda: square(3.0),
        "horseshoe d1": lambda: horseshoe(1),
        "horseshoe d3": lambda: horseshoe(3),
        "horseshoe d8": lambda: horseshoe(8),
        "banana 0.1": lambda: banana(0.1),
        "banana 0.5": lambda: banana(0.5),
        "banana 2": lambda: banana(2.0),
        "funnel 0.5 d3": lambda: funnel(0.5, 3),
        "funnel 1 d3": lambda: funnel(1.0, 3),
        "funnel 1.5 d5": lambda: funnel(1.5, 5),
        "funnel 3 d9": lambda: funnel(3.0, 9),
        "edge n2": lambda: edge(2),
        "edge n10": lambda: edge(10),
    }
