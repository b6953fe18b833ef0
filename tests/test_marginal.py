"""Full marginalisation by quadrature: reference numbers, brute force, and the plug-in posterior at its nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from bayes_lssvm._errors import BayesLSSVMWarning
from bayes_lssvm.kernels import RBF, Linear, Polynomial
from bayes_lssvm.level1 import ClassCentres, DualPosterior
from bayes_lssvm.level2 import log_evidence
from bayes_lssvm.level3 import evidence_of
from bayes_lssvm.marginal import laplace_evidence, marginalise
from bayes_lssvm.marginal._predictions import NodePredictor
from bayes_lssvm.moderation import log_odds
from bayes_lssvm.priors import Box, Flat, HyperPrior, ImproperPriorError, Normal, as_hyper_prior
from bayes_lssvm.spectrum import CentredSpectrum, TridiagonalReduction

# Reference values on Ripley's data, Normal(0, 3²) on log μ and log ζ:
# log Z, 5.2 minus exact, exact-Hessian Laplace minus exact, sd(log μ)
TABLE = {
    "rbf 0.2": (RBF(0.2), -304.305, -0.205, -0.005, 0.157),
    "rbf 1": (RBF(1.0), -257.977, +0.031, -0.004, 0.322),
    "rbf 1.311": (RBF(1.311), -256.475, -0.037, -0.003, 0.383),
    "rbf 4": (RBF(4.0), -264.128, -0.260, +0.011, 0.847),
    "rbf 8": (RBF(8.0), -271.239, +0.363, -0.445, 1.634),  # the better of two modes; the other one gives −0.410
    "linear": (Linear(), -275.127, +0.067, -0.047, 1.173),
    "poly 3": (Polynomial(3, 1.0), -270.077, +0.472, -0.020, 0.546),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_the_ladder_over_mu_and_zeta_on_ripley(row, ripley_standardised):
    kernel, log_z, mackay, laplace, sd = row
    X, y = ripley_standardised
    posterior = marginalise(X, y, kernel=kernel, prior=Normal(0, 3), fixed_kernel=True)
    assert posterior.log_evidence == pytest.approx(log_z, abs=6e-4)
    assert posterior.log_evidence_error < 1e-8
    assert posterior.tail < 1e-12
    assert posterior.sd()["log_mu"] == pytest.approx(sd, abs=6e-4)
    assert evidence_of(kernel(X), y).log_evidence - posterior.log_evidence == pytest.approx(mackay, abs=6e-4)
    reduction = TridiagonalReduction.from_kernel_matrix(kernel(X), y)
    approximation = laplace_evidence(reduction, HyperPrior())
    assert approximation.log_evidence - posterior.log_evidence == pytest.approx(laplace, abs=6e-4)


@pytest.mark.parametrize(
    ("kernel", "expected"), [(RBF(1.311), -258.813), (RBF(4.0), -266.241), (Linear(), -277.397)], ids=str
)
def test_a_broader_prior(kernel, expected, ripley_standardised):
    posterior = marginalise(*ripley_standardised, kernel=kernel, prior=Normal(0, 10), fixed_kernel=True)
    assert posterior.log_evidence == pytest.approx(expected, abs=6e-4)


def test_a_box_changes_bayes_factors_little(ripley_standardised):
    values = [
        marginalise(*ripley_standardised, kernel=k, prior=Box(-10, 10), fixed_kernel=True).log_evidence
        for k in (RBF(1.311), RBF(4.0), Linear())
    ]
    assert values[1] - values[0] == pytest.approx(-7.40, abs=6e-3)
    assert values[2] - values[0] == pytest.approx(-18.58, abs=6e-3)


def test_all_three_hyperparameters_on_ripley(ripley_standardised):
    prior = HyperPrior(Normal(0, 3), Normal(0, 3), Normal(0, 1))
    posterior = marginalise(*ripley_standardised, kernel=RBF(1.0), prior=prior)
    assert posterior.log_evidence == pytest.approx(-258.188107, abs=1e-6)
    assert posterior.log_evidence_error < 1e-6
    mean, sd = posterior.mean(), posterior.sd()
    expected = {"log_sigma": (0.3217, 0.1984), "log_mu": (0.3802, 0.4944), "log_zeta": (0.9951, 0.0961)}
    for name, (m, s) in expected.items():
        assert mean[name] == pytest.approx(m, abs=6e-5)
        assert sd[name] == pytest.approx(s, abs=6e-5)
    names = list(posterior.names)
    correlation = posterior.correlation()[names.index("log_mu"), names.index("log_sigma")]
    assert correlation == pytest.approx(-0.556, abs=6e-4)
    assert posterior.expectation(lambda x: np.ones(len(x))) == pytest.approx(1.0)
    assert "log_sigma" in posterior.summary()


@pytest.mark.parametrize("prior", [Normal(0.5, 1.5), Box(-4.0, 5.0)], ids=str)
def test_brute_force_on_a_dense_grid(prior):
    """A plain double sum over log μ and log ζ that shares only the evidence of level 1."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(15, 2))
    y = X[:, 0] + 0.4 * rng.normal(size=15)
    kernel = RBF(1.7)
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    low, high = prior.support if np.isfinite(prior.support[0]) else (-8.5, 9.5)
    nodes, weights = np.polynomial.legendre.leggauss(120)
    axis, weights = 0.5 * (low + high) + 0.5 * (high - low) * nodes, 0.5 * (high - low) * weights
    values = np.array([[log_evidence(spectrum, float(np.exp(a)), float(np.exp(b))) for b in axis] for a in axis])
    joint = values + prior.log_density(axis)[:, None] + prior.log_density(axis)[None, :]
    brute = logsumexp(joint + np.log(weights)[:, None] + np.log(weights)[None, :])
    posterior = marginalise(X, y, kernel=kernel, prior=prior, fixed_kernel=True)
    assert posterior.log_evidence == pytest.approx(brute, abs=1e-6)
    probability = np.exp(joint - brute) * np.outer(weights, weights)
    assert posterior.mean()["log_zeta"] == pytest.approx(float((probability.sum(axis=0) * axis).sum()), abs=1e-5)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.4 + 0.4 * rng.normal(size=60) > 0, 1.0, -1.0)
    return X, y, rng.normal(size=(9, 2))


def test_predictions_at_a_node_are_those_of_the_plug_in_posterior(small):
    """At one γ, with μ set so that 1/μ is the node's mean, the closed forms of level 1 must come out."""
    X, y, new = small
    posterior = marginalise(X, y, kernel=RBF(1.5), fixed_kernel=True)
    predictor = NodePredictor(posterior.kernel_nodes[0], X, y)
    z, variance = predictor.latent(new)
    odds = {m: predictor.log_odds(new, m, 0.3, 0.1) for m in ("class", "target", "softmax")}
    plus = {"prior_plus": float(expit(0.3)), "training_plus": float(expit(0.1))}
    for g in (0, len(predictor.rows.s) // 2, len(predictor.rows.s) - 1):
        mu = 1.0 / predictor.rows.inverse_mu[g]
        zeta = mu / predictor.rows.s[g]
        dual = DualPosterior.from_kernel_matrix(RBF(1.5), X, RBF(1.5)(X), y, mu=mu, zeta=zeta)
        gamma_eff = 1.0 + float(np.sum(predictor.spectrum.eigenvalues * predictor.inverse[:, g]))
        centres = ClassCentres.from_posterior(dual, y, gamma_eff)
        mean, spread = dual.latent_moments(new)
        assert z[:, g] == pytest.approx(mean, abs=1e-8)
        assert variance[:, g] == pytest.approx(spread, rel=1e-8)
        for moderation, values in odds.items():
            expected = log_odds(dual, centres, new, moderation=moderation, **plus)
            assert values[:, g] == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_the_mixture_follows_the_law_of_total_variance(small):
    X, y, new = small
    posterior = marginalise(X, y, kernel=RBF(1.5), prior=HyperPrior(kernel=Normal(0, 1)))
    mean, std = posterior.predict(new, return_std=True)
    # draws of (μ, ζ, σ) from the nodes, each with its own closed form
    rng = np.random.default_rng(0)
    picks = rng.choice(len(posterior.weights), size=400, p=posterior.weights)
    means, variances = [], []
    for log_mu, log_zeta, _, log_sigma in posterior.nodes[picks]:
        kernel = RBF(float(np.exp(log_sigma)))
        dual = DualPosterior.from_kernel_matrix(
            kernel, X, kernel(X), y, mu=float(np.exp(log_mu)), zeta=float(np.exp(log_zeta))
        )
        z, v = dual.latent_moments(new)
        means.append(z)
        variances.append(v + np.exp(-log_zeta))
    sampled = np.array(means)
    error = sampled.std(axis=0) / np.sqrt(len(picks))
    assert np.all(np.abs(sampled.mean(axis=0) - mean) < 4.5 * error)
    total = np.mean(variances, axis=0) + sampled.var(axis=0)
    assert std == pytest.approx(np.sqrt(total), rel=0.1)


def test_probabilities_sum_to_one_and_follow_the_prior(small):
    X, y, new = small
    posterior = marginalise(X, y, kernel=RBF(1.5), fixed_kernel=True)
    for moderation in ("class", "target", "softmax"):
        P = posterior.predict_proba(new, moderation=moderation)
        assert np.all((P >= 0) & (P <= 1))
        assert P.sum(axis=1) == pytest.approx(1.0)
        more = posterior.predict_proba(new, moderation=moderation, class_prior=(0.1, 0.9))
        assert np.all(more[:, 1] > P[:, 1])


def test_marginalisation_does_not_hurt_on_ripley(ripley, ripley_standardised):
    X, _, X_test, y_test = ripley
    posterior = marginalise(*ripley_standardised, prior=HyperPrior(kernel=Normal(0, 1)))
    new = (X_test - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    P = posterior.predict_proba(new)[:, 1]
    assert np.mean((P > 0.5) == (y_test > 0)) == pytest.approx(0.908, abs=1e-3)
    loss = -np.mean(np.log(np.where(y_test > 0, P, 1 - P)))
    assert loss == pytest.approx(0.2361, abs=5e-4)  # plug-in by eq 5.3: 0.2372


def test_permuted_labels_give_a_proper_answer(ripley_standardised):
    X, y = ripley_standardised
    shuffled = np.random.default_rng(0).permutation(y)
    posterior = marginalise(X, shuffled, kernel=RBF(1.311), fixed_kernel=True)
    assert np.isfinite(posterior.log_evidence)
    assert posterior.sd()["log_mu"] > 1.0  # the data say little about μ
    P = posterior.predict_proba(X[:50])
    assert np.abs(P[:, 1] - 0.5).max() < 0.2


def test_improper_priors_are_refused_with_the_reason(small):
    X, y, _ = small
    for prior in (Flat(), HyperPrior(mu=Flat()), HyperPrior(kernel=Flat())):
        with pytest.raises(ImproperPriorError, match="tends to a constant as γ → 0"):
            marginalise(X, y, kernel=RBF(1.0), prior=prior)
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(1.0)(X), y)
    assert np.isfinite(laplace_evidence(reduction, as_hyper_prior(Flat())).log_evidence)


def test_bad_calls_get_a_sentence(small):
    X, y, _ = small
    with pytest.raises(ValueError, match="one kernel parameter at most"):
        marginalise(X, y, kernel="ard")
    with pytest.raises(ValueError, match="method must be one of"):
        marginalise(X, y, method="guessing")
    with pytest.raises(ValueError, match="prior must be"):
        marginalise(X, y, prior="broad")
    with pytest.raises(ValueError, match="needs targets ±1"):
        marginalise(X, y + 0.5, kernel="linear").predict_proba(X)
    with pytest.raises(ValueError, match="kernel components"):
        marginalise(X, y, kernel="linear", prior=HyperPrior(kernel=(Normal(),)))


def test_a_tail_beyond_the_range_is_warned_of(small):
    X, y, _ = small
    noiseless = X @ np.array([1.0, -2.0])
    with pytest.warns(BayesLSSVMWarning, match="misses a tail"):
        marginalise(X, noiseless, kernel="linear", prior=Normal(0, 30))
    # four points and a singular kernel are no trouble
    assert np.isfinite(marginalise(X[[0, 0, 1, 2]], y[[0, 0, 1, 5]], kernel="linear").log_evidence)


@pytest.mark.parametrize("prior", [Normal(0.3, 2.0), Box(-1.0, 2.5)], ids=str)
def test_a_prior_is_one_object_in_all_its_roles(prior):
    grid = np.linspace(-20, 20, 400_001)
    density = np.exp(prior.log_density(grid))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-4)
    mean = np.trapezoid(density * grid, grid)
    assert np.sqrt(np.trapezoid(density * (grid - mean) ** 2, grid)) == pytest.approx(prior.width, rel=1e-3)
    draws = prior.sample(200_000, np.random.default_rng(0))
    assert draws.std() == pytest.approx(prior.width, rel=0.01)
    inner = np.array([0.1, 1.3])
    slope = (prior.log_density(inner + 1e-6) - prior.log_density(inner - 1e-6)) / 2e-6
    assert prior.gradient(inner) == pytest.approx(slope, abs=1e-6)


def test_priors_refuse_nonsense():
    with pytest.raises(ValueError, match="positive sd"):
        Normal(0, -1)
    with pytest.raises(ValueError, match="low < high"):
        Box(2, 1)
    with pytest.raises(ImproperPriorError, match="no distribution to draw from"):
        Flat().sample(3, np.random.default_rng(0))
