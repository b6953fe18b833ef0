"""Evidence from samples: the LS-SVM on Ripley's data by each estimator, and targets."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import stats

from bayes_lssvm.evidence import log_evidence
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.level2 import log_evidence as level2_evidence
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.priors import Box, Flat, HyperPrior, ImproperPriorError, LogPrior, Normal
from tests.evidence.conjugate import gamma_poisson, regression
from validation.estimates import (
    EvidenceEstimate,
    Target,
    importance_sampling,
    lssvm_target,
    nested_sampling,
    numpyro_target,
    tempered_smc,
)


def close(estimate: EvidenceEstimate, exact: float, *, largest_error: float) -> bool:
    """Within 3.5 of its own standard errors, which must be small enough to say something."""
    assert 0.0 < estimate.standard_error < largest_error
    return abs(estimate.log_z - exact) < 3.5 * estimate.standard_error


# --- Ripley's data ----------------------------------------------------------------------------------------------------

KERNELS = {"rbf": (RBF(1.311), -256.475), "linear": (Linear(), -275.127)}  # exact to 5e-4


@pytest.fixture(scope="module", params=KERNELS)
def on_ripley(request, ripley_standardised):
    """Data, kernel and the exact evidence with Normal(0, 3) on log μ and log ζ."""
    kernel, printed = KERNELS[request.param]
    X, y = ripley_standardised
    exact = marginalise(X, y, kernel=kernel, prior=Normal(0, 3), fixed_kernel=True, standardise=False).log_evidence
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


def test_bridge_on_metropolis_draws_of_ripley(target, metropolis_draws, on_ripley):
    estimate = log_evidence(target.log_density, draws=metropolis_draws, seed=2)["bridge"]
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


# --- targets ------------------------------------------------------------------------------------------------------


def test_the_target_is_the_evidence_of_level_2(on_ripley, target):
    X, y, kernel, _ = on_ripley
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    points = target.sample_prior(20, np.random.default_rng(0))
    expected = [level2_evidence(spectrum, *np.exp(point)) for point in points]
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


# --- one interface ------------------------------------------------------------------------------------------------


def test_an_estimate_says_what_it_is(small_target):
    draws = np.random.default_rng(0).normal([0.5, 0.5], 0.5, size=(4, 100, 2))
    one = importance_sampling(small_target, seed=2, n=500, draws=draws)
    assert one.provenance["settings"]["seed"] == 2
    assert "log_mu, log_zeta" in one.provenance["settings"]["parameters"]
    assert str(one).startswith(f"log Z = {one.log_z:.4f} ± ")
    other = importance_sampling(small_target, seed=1, n=500)
    factor = one.log_bayes_factor(other)
    assert factor.value == one.log_z - other.log_z
    assert factor.standard_error == pytest.approx(np.hypot(one.standard_error, other.standard_error))
    assert importance_sampling(small_target, seed=2, n=500, draws=draws) == one


# --- what goes wrong is said --------------------------------------------------------------------------------------


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
