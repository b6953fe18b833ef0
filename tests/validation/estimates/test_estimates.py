"""Evidence from samples: NumPyro models whose evidence is known, and the LS-SVM on Ripley's data, by each estimator."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import MCMC, NUTS
from numpyro.infer.reparam import LocScaleReparam
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.level2 import log_evidence
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.priors import Box, Flat, HyperPrior, ImproperPriorError, LogPrior, Normal
from validation.estimates import (
    EvidenceEstimate,
    Target,
    bridge_numpyro,
    bridge_target,
    importance_sampling,
    lssvm_target,
    nested_sampling,
    numpyro_target,
    tempered_smc,
)

CHAINS, N = 4, 500


def close(estimate: EvidenceEstimate, exact: float, *, largest_error: float) -> bool:
    """Within 3.5 of its own standard errors, which must be small enough to say something."""
    assert 0.0 < estimate.standard_error < largest_error
    return abs(estimate.log_z - exact) < 3.5 * estimate.standard_error


# --- bridge sampling on NumPyro models with conjugate answers; the draws are exact ---------------------------------


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
    exact = log_evidence(spectrum, 1 / 1.5**2, 1 / 0.3**2)
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


@pytest.mark.parametrize("case", CONJUGATE, ids=lambda case: case.__name__)
def test_bridge_on_models_with_known_evidence(case):
    model, args, draws, exact = case(np.random.default_rng(1))
    estimate = bridge_numpyro(model, args, draws=draws, seed=0)
    assert close(estimate, exact, largest_error=0.02)
    assert estimate.diagnostics["improper_sites"] == (("b",) if case is regression else ())
    assert bool(estimate.concerns) == (case is regression)


PRIORS = {
    "half-normal": dist.HalfNormal(3.0),
    "beta": dist.Beta(2.0, 2.0),
    "truncated": dist.TruncatedNormal(0.0, 1.0, low=-1.0, high=2.0),
    "inverse-gamma": dist.InverseGamma(3.0, 1.0),
    "simplex": dist.Dirichlet(jnp.array([1.0, 2.0, 3.0, 4.0])),
    "covariance": dist.MultivariateNormal(jnp.zeros(2), jnp.array([[2.0, 0.9], [0.9, 1.0]])),
    "correlation": dist.LKJCholesky(3, 2.0),
    "ordered": dist.TransformedDistribution(
        dist.Normal(jnp.zeros(3), 1.0).to_event(1), dist.transforms.OrderedTransform()
    ),
}


def drawn_by_numpy(rng):
    """Draws of some of the priors, made without JAX."""
    shape = (CHAINS, N)
    x = rng.standard_normal((*shape, 3))
    return {
        "half-normal": 3.0 * np.abs(rng.standard_normal(shape)),
        "beta": rng.beta(2.0, 2.0, size=shape),
        "truncated": stats.truncnorm(-1.0, 2.0).rvs(shape, random_state=rng),
        "simplex": rng.dirichlet([1.0, 2.0, 3.0, 4.0], size=shape),
        "covariance": rng.multivariate_normal([0.0, 0.0], [[2.0, 0.9], [0.9, 1.0]], size=shape),
        "ordered": np.cumsum(np.concatenate([x[..., :1], np.exp(x[..., 1:])], axis=-1), axis=-1),
    }


def evidence_of_priors(draws):
    def model():
        for name in draws:
            numpyro.sample(name, PRIORS[name])

    return bridge_numpyro(model, draws=draws, seed=0)


def test_supports_keep_their_constants():
    """Priors alone integrate to one: their normalising constants and the Jacobians of their supports are all there."""
    assert close(evidence_of_priors(drawn_by_numpy(np.random.default_rng(0))), 0.0, largest_error=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_every_support_keeps_its_constants(name):
    draws = {name: PRIORS[name].sample(jax.random.key(1), (CHAINS, N))}
    assert close(evidence_of_priors(draws), 0.0, largest_error=0.02)


# --- a hierarchy, and Ripley's data -----------------------------------------------------------------------------------

SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(y, error):
    mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
    tau = numpyro.sample("tau", dist.HalfNormal(10.0))
    with numpyro.plate("schools", len(y)):
        effect = numpyro.sample("effect", dist.Normal(mean, tau))
        numpyro.sample("y", dist.Normal(effect, error), obs=y)


def eight_schools_by_quadrature(rng):
    """log Z with the effects integrated by hand, mean and log τ on a grid; and draws of all three from it."""
    mean, log_tau = np.meshgrid(np.linspace(-60, 70, 601), np.linspace(-9, 5, 601))
    tau = np.exp(log_tau)
    values = stats.norm(0, 10).logpdf(mean) + stats.halfnorm(scale=10).logpdf(tau) + log_tau
    for y, error in zip(SCHOOLS, ERRORS, strict=True):
        values += stats.norm.logpdf(y, mean, np.hypot(tau, error))
    total = logsumexp(values)
    pick = rng.choice(values.size, size=(CHAINS, 1000), p=np.exp(values - total).ravel())
    m, t = mean.ravel()[pick][..., None], tau.ravel()[pick][..., None]
    precision = t**-2 + ERRORS**-2
    effect = (m / t**2 + SCHOOLS / ERRORS**2) / precision + rng.standard_normal((CHAINS, 1000, 8)) / np.sqrt(precision)
    step = (mean[0, 1] - mean[0, 0]) * (log_tau[1, 0] - log_tau[0, 0])
    return total + np.log(step), {"mean": m[..., 0], "tau": t[..., 0], "effect_decentered": (effect - m) / t}


def test_a_hierarchical_model_against_quadrature():
    """Ten parameters, the effects not centred by NumPyro's own handler."""
    exact, draws = eight_schools_by_quadrature(np.random.default_rng(0))
    model = handlers.reparam(eight_schools, config={"effect": LocScaleReparam(0.0)})
    estimate = bridge_numpyro(model, (SCHOOLS, ERRORS), draws=draws, seed=0)
    assert close(estimate, exact, largest_error=0.02)
    assert estimate.diagnostics["dim"] == 10
    assert "effect_decentered[7]" in estimate.diagnostics["parameters"]
    assert estimate.concerns == ()


def collapsed(eigenvalues, t):
    """The LS-SVM's evidence with weights and bias integrated out, as a NumPyro program (contract 2)."""
    log_mu = numpyro.sample("log_mu", dist.Normal(0.0, 3.0))
    log_zeta = numpyro.sample("log_zeta", dist.Normal(0.0, 3.0))
    scale = jnp.sqrt(eigenvalues * jnp.exp(-log_mu) + jnp.exp(-log_zeta))
    numpyro.sample("t", dist.Normal(0.0, scale), obs=t)
    numpyro.factor("bias", -0.5 * jnp.log(len(t) + 1.0))


KERNELS = {"rbf": (RBF(1.311), -256.475), "linear": (Linear(), -275.127)}  # exact to 5e-4


@pytest.fixture(scope="module", params=KERNELS)
def on_ripley(request, ripley_standardised):
    """Data, kernel and the exact evidence with Normal(0, 3) on log μ and log ζ."""
    kernel, printed = KERNELS[request.param]
    X, y = ripley_standardised
    exact = marginalise(X, y, kernel=kernel, prior=Normal(0, 3), fixed_kernel=True).log_evidence
    assert exact == pytest.approx(printed, abs=6e-4)
    return X, y, kernel, exact


@pytest.fixture(scope="module")
def small_target(ripley_standardised):
    X, y = (part[::10] for part in ripley_standardised)
    return lssvm_target(X, y, Linear(), prior=Normal(0, 2))


@pytest.fixture(scope="module")
def target(on_ripley):
    X, y, kernel, _ = on_ripley
    return lssvm_target(X, y, kernel, prior=Normal(0, 3), fixed_kernel=True)


@pytest.fixture(scope="module")
def metropolis_draws(target):
    """40 random-walk Metropolis chains of 200 + 800 draws on the target, of shape (40, 800, 2)."""
    rng = np.random.default_rng(5)
    x = np.array([0.5, 1.0]) + 0.3 * rng.standard_normal((40, 2))
    value = target.log_density(x)
    kept = []
    scale = np.array([0.5, 0.15]) if "RBF" in target.source else np.array([1.5, 0.15])
    for step in range(1000):
        proposed = x + scale * rng.standard_normal(x.shape)
        new = target.log_density(proposed)
        take = np.log(rng.random(len(x))) < new - value
        x, value = np.where(take[:, None], proposed, x), np.where(take, new, value)
        if step >= 200:
            kept.append(x)
    return np.stack(kept, axis=1)


@pytest.mark.parametrize("name", ["rbf", pytest.param("linear", marks=pytest.mark.slow)])
def test_bridge_on_nuts_draws_of_ripley(name, ripley_standardised):
    (kernel, _), (X, y) = KERNELS[name], ripley_standardised
    exact = marginalise(X, y, kernel=kernel, prior=Normal(0, 3), fixed_kernel=True).log_evidence
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    args = (spectrum.eigenvalues, spectrum.t)
    with jax.enable_x64(True):
        mcmc = MCMC(
            NUTS(collapsed),
            num_warmup=300,
            num_samples=1200,
            num_chains=4,
            chain_method="vectorized",
            progress_bar=False,
        )
        mcmc.run(jax.random.key(0), *args)
    estimate = bridge_numpyro(collapsed, args, draws=mcmc, seed=1)
    assert close(estimate, exact, largest_error=0.005)
    assert bridge_numpyro(collapsed, args, draws=mcmc.get_samples(group_by_chain=True), seed=1) == estimate
    assert estimate.concerns == ()


def test_bridge_on_metropolis_draws_of_ripley(target, metropolis_draws, on_ripley):
    estimate = bridge_target(target, metropolis_draws, seed=2)
    assert close(estimate, on_ripley[-1], largest_error=0.005)
    # the draws are far from independent, and the error says so
    assert estimate.diagnostics["effective_draws"] < 0.25 * metropolis_draws.shape[0] * metropolis_draws.shape[1]


def test_importance_sampling_on_ripley(target, metropolis_draws, on_ripley):
    for draws in (None, metropolis_draws):
        estimate = importance_sampling(target, seed=0, n=8000, draws=draws)
        assert close(estimate, on_ripley[-1], largest_error=0.008)
        assert estimate.diagnostics["k_hat"] < 0.5
        assert estimate.diagnostics["effective_draws"] > 4000


def test_tempered_smc_on_ripley(target, metropolis_draws, on_ripley):
    estimate = tempered_smc(target, seed=0, n_particles=300, runs=6)
    assert close(estimate, on_ripley[-1], largest_error=0.08)
    particles = estimate.diagnostics["particles"].reshape(-1, 2)
    assert particles.mean(axis=0) == pytest.approx(metropolis_draws.mean(axis=(0, 1)), abs=0.15)
    assert particles.std(axis=0) == pytest.approx(metropolis_draws.std(axis=(0, 1)), rel=0.15)


@pytest.mark.skipif(find_spec("dynesty") is None, reason="dynesty is not installed")
@pytest.mark.parametrize("name", ["rbf", pytest.param("linear", marks=pytest.mark.slow)])
def test_nested_sampling_on_ripley(name, ripley_standardised):
    kernel, exact = KERNELS[name]
    target = lssvm_target(*ripley_standardised, kernel, prior=Normal(0, 3), fixed_kernel=True)
    estimate = nested_sampling(target, seed=0, n_live=150)
    assert close(estimate, exact, largest_error=0.25)


def test_nested_sampling_says_what_is_missing(small_target, monkeypatch):
    monkeypatch.setitem(sys.modules, "dynesty", None)  # an import of it now fails
    with pytest.raises(ImportError, match="pip install dynesty"):
        nested_sampling(small_target, seed=0)


@pytest.mark.slow
def test_all_three_hyperparameters_on_ripley(ripley_standardised):
    """σ free too: one kernel matrix a density, so the estimators that need the fewest."""
    prior = HyperPrior(Normal(0, 3), Normal(0, 3), Normal(0, 1))
    target = lssvm_target(*ripley_standardised, RBF(1.0), prior=prior)
    assert target.names == ("log_mu", "log_zeta", "log_sigma")
    estimate = importance_sampling(target, seed=0, n=4000)
    assert close(estimate, -258.188107, largest_error=0.03)
    smc = tempered_smc(target, seed=0, n_particles=80, runs=4)
    assert close(smc, -258.188107, largest_error=0.3)
    fitted = importance_sampling(target, seed=1, n=4000, draws=smc.diagnostics["particles"])
    assert close(fitted, -258.188107, largest_error=0.03)


# --- targets -------------------------------------------------------------------------------------------------------


def test_the_target_is_the_evidence_of_level_2(on_ripley, target):
    X, y, kernel, _ = on_ripley
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    points = target.sample_prior(20, np.random.default_rng(0))
    expected = [log_evidence(spectrum, *np.exp(point)) for point in points]
    assert target.log_likelihood(points) == pytest.approx(expected, rel=1e-10)
    assert target.log_prior(points) == pytest.approx(stats.norm(0, 3).logpdf(points).sum(axis=1))


def test_a_free_kernel_is_rebuilt_at_each_point(ripley_standardised):
    X, y = (part[::5] for part in ripley_standardised)
    free = lssvm_target(X, y, RBF(1.0), prior=Normal(0, 1))
    points = free.sample_prior(5, np.random.default_rng(0))
    for point, value in zip(points, free.log_likelihood(points), strict=True):
        fixed = lssvm_target(X, y, RBF(float(np.exp(point[2]))), fixed_kernel=True)
        assert value == pytest.approx(float(fixed.log_likelihood(point[None, :2])[0]), rel=1e-9)


def test_the_prior_transform_gives_the_prior(ripley_standardised):
    X, y = (part[::10] for part in ripley_standardised)
    target = lssvm_target(X, y, Linear(), prior=HyperPrior(Normal(1, 2), Box(-3, 5)))
    u = np.random.default_rng(0).uniform(size=(4000, 2))
    x = target.prior_transform(u)
    assert stats.kstest(x[:, 0], stats.norm(1, 2).cdf).pvalue > 1e-3
    assert stats.kstest(x[:, 1], stats.uniform(-3, 8).cdf).pvalue > 1e-3
    assert np.isneginf(target.log_density(np.array([[0.0, 6.0]])))[0]


def test_a_numpyro_model_as_a_target():
    """Prior and likelihood apart, on a model with a constrained site and a known evidence."""
    model, args, draws, exact = gamma_poisson(np.random.default_rng(0))
    target = numpyro_target(model, args)
    x = np.log(draws["rate"][0, :7])[:, None]
    rate = np.exp(x[:, 0])
    assert target.log_prior(x) == pytest.approx(stats.gamma(2, scale=2).logpdf(rate) + x[:, 0])
    assert target.log_likelihood(x) == pytest.approx(stats.poisson.logpmf(args[0], rate[:, None]).sum(axis=1))
    prior = np.exp(target.sample_prior(4000, np.random.default_rng(0)))[:, 0]
    assert stats.kstest(prior, stats.gamma(2, scale=2).cdf).pvalue > 1e-3
    assert close(importance_sampling(target, seed=0, n=2000), exact, largest_error=0.02)
    assert close(tempered_smc(target, seed=0, n_particles=200, runs=4), exact, largest_error=0.1)


def test_smc_finds_both_of_two_modes():
    """Where one chain would see one of them."""

    def log_likelihood(x):
        return np.logaddexp(*(stats.norm.logpdf(x[:, 0], loc=c, scale=0.1) for c in (-4.0, 4.0)))

    def log_prior(x):
        return stats.norm.logpdf(x[:, 0], scale=3.0)

    two = Target(("x",), log_likelihood, log_prior, lambda n, rng: 3.0 * rng.standard_normal((n, 1)))
    exact = np.log(2.0) + stats.norm.logpdf(4.0, scale=np.sqrt(9.01))
    estimate = tempered_smc(two, seed=0, n_particles=600, runs=5)
    assert close(estimate, exact, largest_error=0.2)
    assert np.mean(estimate.diagnostics["particles"] > 0) == pytest.approx(0.5, abs=0.2)
    # a proposal at one mode misses the other, and k̂ cannot know; one that is too narrow it can tell
    narrow = importance_sampling(two, seed=0, draws=0.03 * np.random.default_rng(0).standard_normal((100, 1)) + 4.0)
    assert narrow.log_z == pytest.approx(exact - np.log(2.0), abs=0.1)


# --- one interface -------------------------------------------------------------------------------------------------


def test_an_estimate_says_what_it_is(small_target):
    draws = np.random.default_rng(0).normal([0.5, 0.5], 0.5, size=(4, 100, 2))
    estimate = bridge_target(small_target, draws, seed=2)
    assert estimate.provenance["settings"]["seed"] == 2
    assert "log_mu, log_zeta" in estimate.provenance["settings"]["parameters"]
    assert estimate.provenance["versions"]["numpyro"] == numpyro.__version__
    assert str(estimate).startswith(f"log Z = {estimate.log_z:.4f} ± ")
    other = importance_sampling(small_target, seed=1, n=500)
    factor = estimate.log_bayes_factor(other)
    assert factor.value == estimate.log_z - other.log_z
    assert factor.standard_error == pytest.approx(np.hypot(estimate.standard_error, other.standard_error))
    assert bridge_target(small_target, draws, seed=2) == estimate


def test_single_precision_outside_changes_nothing():
    """The caller's mode is left alone, and the answer is computed in 64 bits in either."""
    model, args, draws, _ = regression(np.random.default_rng(1))
    mode = jax.config.jax_enable_x64
    in_64 = bridge_numpyro(model, args, draws=draws, seed=0)
    with jax.enable_x64(False):
        narrow = {name: jnp.asarray(value) for name, value in draws.items()}
        in_32 = bridge_numpyro(model, tuple(jnp.asarray(a) for a in args), draws=narrow, seed=0)
        assert jnp.ones(1).dtype == jnp.float32
    assert jax.config.jax_enable_x64 == mode
    assert in_32.log_z == pytest.approx(in_64.log_z, abs=2e-4)  # data rounded to 32 bits, nothing else


@pytest.mark.slow
def test_the_import_leaves_the_precision_alone():
    code = "import validation.estimates, jax; print(jax.config.jax_enable_x64)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


# --- what goes wrong is said ---------------------------------------------------------------------------------------


def simple(y=0.3):
    x = numpyro.sample("x", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    numpyro.sample("y", dist.Normal(x.sum(), 1.0), obs=y)


def with_discrete_site():
    z = numpyro.sample("z", dist.Bernoulli(0.5))
    numpyro.sample("x", dist.Normal(z, 1.0))


def with_subsample():
    with numpyro.plate("data", 10, subsample_size=5):
        numpyro.sample("x", dist.Normal(0.0, 1.0))


def with_param():
    scale = numpyro.param("scale", 1.0)
    numpyro.sample("x", dist.Normal(0.0, scale))


def observed_only():
    numpyro.sample("x", dist.Normal(0.0, 1.0), obs=0.0)


DRAWS = np.random.default_rng(0).normal(size=(2, 100, 2))


@pytest.mark.parametrize(
    ("model", "draws", "message"),
    [
        (simple, {}, "not empty"),
        (simple, DRAWS, "dictionary"),
        (simple, {"w": DRAWS}, "no draws of the latent sites x; found w"),
        (simple, {"x": DRAWS, "w": DRAWS}, "draws of w, which the model does not have"),
        (simple, {"x": DRAWS[..., :1]}, r"has shape \(2,\) in the model, but its draws have shape \(2, 100, 1\)"),
        (simple, {"x": DRAWS[0, 0]}, r"shape \(chains, n, …\)"),
        (with_discrete_site, {"z": DRAWS[..., 0] > 0, "x": DRAWS[..., 0]}, "Sites z are discrete"),
        (with_subsample, {"x": DRAWS.reshape(2, 40, 5)}, "random subsample"),
        (with_param, {"x": DRAWS[..., 0]}, "numpyro.param"),
        (observed_only, {"x": DRAWS[..., 0]}, "no latent sites"),
    ],
)
def test_models_and_draws_that_do_not_fit(model, draws, message):
    with pytest.raises(ValueError, match=message):
        bridge_numpyro(model, draws=draws, seed=0)


def test_draws_on_an_edge_and_bad_options():
    model, args, draws, _ = beta_binomial(np.random.default_rng(0))
    draws["p"][0, :3] = 1.0
    with pytest.raises(ValueError, match="3 draws lie on the boundary"):
        bridge_numpyro(model, args, draws=draws, seed=0)
    with pytest.raises(ValueError, match="chunk must be"):
        bridge_numpyro(model, args, draws=draws, seed=0, chunk=0)


class Logistic(LogPrior):
    """A prior of the user's own."""

    def log_density(self, x):
        return stats.logistic.logpdf(x)

    def gradient(self, x):
        return -np.tanh(np.asarray(x) / 2)

    def sample(self, n, rng):
        return rng.logistic(size=n)

    @property
    def width(self):
        return np.pi / np.sqrt(3)


def test_targets_and_settings_that_cannot_work(small_target, ripley_standardised):
    X, y = (part[::10] for part in ripley_standardised)
    with pytest.raises(ImproperPriorError, match="flat prior makes the integral infinite"):
        lssvm_target(X, y, Linear(), prior=Flat())
    with pytest.raises(ValueError, match="100 draws or more"):
        importance_sampling(small_target, seed=0, n=10)
    with pytest.raises(ValueError, match="20 or more points of 2 parameters"):
        importance_sampling(small_target, seed=0, draws=np.zeros((5, 2)))
    with pytest.raises(ValueError, match="3 runs or more"):
        tempered_smc(small_target, seed=0, runs=1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        tempered_smc(small_target, seed=0, keep=1.5)
    with pytest.raises(ValueError, match="no distribution to draw from"):
        numpyro_target(regression(np.random.default_rng(0))[0], regression(np.random.default_rng(0))[1])
    own = lssvm_target(X, y, Linear(), prior=HyperPrior(Logistic(), Logistic()))
    assert own.prior_transform is None
    with pytest.raises(ValueError, match="prior_transform"):
        nested_sampling(own, seed=0)
    zero = Target(
        ("x",), lambda x: np.full(len(x), -np.inf), lambda x: -(x[:, 0] ** 2), lambda n, rng: rng.normal(size=(n, 1))
    )
    with pytest.raises(ValueError, match="zero at every draw"):
        tempered_smc(zero, seed=0, runs=3, n_particles=100)
