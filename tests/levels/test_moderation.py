"""Moderated outputs against draws of (w, b), the decisions they imply, and the case study of section 7.1."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.kernels import ARD, RBF, Linear, Polynomial
from bayes_lssvm.levels.level1 import ClassCentres, ClassMoments, DualPosterior
from bayes_lssvm.levels.level2 import optimise
from bayes_lssvm.levels.logistic_map import LogisticMap
from bayes_lssvm.levels.moderation import (
    PAPERS_MODERATIONS,
    class_log_odds,
    cost_log_odds,
    discriminant,
    log_odds,
    probabilities,
    softmax_log_odds,
    target_log_odds,
)
from bayes_lssvm.linalg.spectrum import CentredSpectrum

N_DRAWS = 1_000_000
STANDARD_ERRORS = 4.5  # seven in a million by chance, for each of some sixty comparisons


class Design:
    """A dual posterior with its class centres, and the same model in an explicit feature space."""

    def __init__(self, kernel, X, y, *, mu=None, zeta=None):
        spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
        mode = optimise(spectrum)
        self.kernel, self.X, self.y = kernel, X, y
        self.mu, self.zeta = mu or mode.mu, zeta or mode.zeta
        self.gamma_eff = 1 + np.sum(1 - 1 / (1 + self.zeta / self.mu * spectrum.eigenvalues))
        self.posterior = DualPosterior.from_spectrum(kernel, X, spectrum, mu=self.mu, zeta=self.zeta)
        self.centres = ClassCentres.from_posterior(self.posterior, y, self.gamma_eff)
        self.training_plus = float(np.mean(y > 0))

    def odds(self, X, prior_plus=0.5, moderation="class"):
        return log_odds(
            self.posterior,
            self.centres,
            X,
            prior_plus=prior_plus,
            training_plus=self.training_plus,
            moderation=moderation,
        )


@pytest.fixture(scope="module")
def unbalanced(ripley_standardised):
    """Sixty of Ripley's points, a quarter of them of class +1."""
    X, y = ripley_standardised
    chosen = np.concatenate([np.flatnonzero(y > 0)[:15], np.flatnonzero(y < 0)[:45]])
    return X[chosen], y[chosen]


POINTS = np.array([[0.3, -0.2], [-1.5, 0.8], [2.0, 2.0], [0.0, 1.1]])


@pytest.fixture(scope="module", params=[Linear(), Polynomial(2, 2.0)], ids=str)
def sampled(request, unbalanced):
    """A design, and what a million draws of (w, b) from N(H⁻¹ζ[ΥY; 1ᵀY], H⁻¹) say of e₊, e₋ and z at POINTS."""
    X, y = unbalanced
    design = Design(request.param, X, y)
    phi, new = request.param.feature_map(X), request.param.feature_map(POINTS)
    extended = np.hstack([phi, np.ones((len(y), 1))])
    H = design.zeta * extended.T @ extended + design.mu * np.diag(np.append(np.ones(phi.shape[1]), 0.0))  # 3.7
    mean = np.linalg.solve(H, design.zeta * extended.T @ y)
    rng = np.random.default_rng(2002)
    noise = np.linalg.solve(np.linalg.cholesky(H).T, rng.standard_normal((len(H), N_DRAWS)))
    draws = (mean[:, None] + noise).T  # [draws, n_f + 1]
    w, b = draws[:, :-1], draws[:, -1:]
    e = {side: w @ (new - phi[y == side].mean(axis=0)).T for side in (1, -1)}  # 3.8
    return design, e, w @ new.T + b, phi, mean


def standard_score(values: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Distance of the mean of draws from its closed form, in Monte-Carlo standard errors, one for each point."""
    return np.abs(values.mean(axis=0) - expected) / (values.std(axis=0) / np.sqrt(len(values)))


def odds_score(plus: np.ndarray, minus: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The same for log mean(plus) − log mean(minus), whose standard error the delta method gives."""
    p, m = plus.mean(axis=0), minus.mean(axis=0)
    error = (plus / p - minus / m).std(axis=0) / np.sqrt(len(plus))
    return np.abs(np.log(p / m) - expected) / error


def test_moments_of_class_errors_are_those_of_a_million_draws(sampled):
    """m_e• (3.9) and σ_e•² (3.10, 3.11)."""
    design, e, *_ = sampled
    for side, closed in zip((1, -1), design.centres.moments(design.posterior, POINTS), strict=True):
        assert np.all(standard_score(e[side], closed.mean) < STANDARD_ERRORS)
        assert np.all(standard_score((e[side] - closed.mean) ** 2, closed.variance) < STANDARD_ERRORS)


def test_moments_of_the_latent_are_those_of_a_million_draws(sampled):
    """z_MP and σ_z² of paper 2's eqs 11 and 12."""
    design, _, z, *_ = sampled
    mean, variance = design.posterior.latent_moments(POINTS)
    assert np.all(standard_score(z, mean) < STANDARD_ERRORS)
    assert np.all(standard_score((z - mean) ** 2, variance) < STANDARD_ERRORS)


@pytest.mark.parametrize("prior_plus", [0.25, 0.5, 0.9])
def test_class_probability_is_the_normalised_average_of_the_likelihood(sampled, prior_plus):
    """Eq 3.17: the likelihood 3.8 averaged over draws of w, then Bayes' rule."""
    design, e, *_ = sampled
    scale = design.centres.zeta_star**-0.5
    plus, minus = (prior * norm.pdf(e[s], scale=scale) for s, prior in ((1, prior_plus), (-1, 1 - prior_plus)))
    odds = design.odds(POINTS, prior_plus)
    assert np.all(odds_score(plus, minus, odds) < STANDARD_ERRORS)
    from_draws = plus.mean(axis=0) / (plus.mean(axis=0) + minus.mean(axis=0))
    np.testing.assert_allclose(probabilities(odds)[:, 1], from_draws, atol=2e-3)


def test_target_probability_is_the_normalised_average_of_its_likelihood(sampled):
    """Paper 2, eqs 10 and 11: normal errors around the targets ±1 with precision ζ, averaged over draws of z."""
    design, _, z, *_ = sampled
    plus, minus = (norm.pdf(1 - s * z, scale=design.zeta**-0.5) for s in (1, -1))
    assert np.all(odds_score(plus, minus, design.odds(POINTS, moderation="target")) < STANDARD_ERRORS)


def test_softmax_probability_is_close_to_the_average_of_the_logistic_function(sampled):
    """MacKay's (1 + πσ²/8)^(−1/2) is an approximation: within 0.01 of the draws' average at these points."""
    design, _, z, *_ = sampled
    average = (1 / (1 + np.exp(-z))).mean(axis=0)
    probability = probabilities(softmax_log_odds(*design.posterior.latent_moments(POINTS)))[:, 1]
    np.testing.assert_allclose(probability, average, atol=0.01)
    # better than no marginalisation at all
    plain = 1 / (1 + np.exp(-design.posterior.latent_mean(POINTS)))
    assert np.abs(probability - average).sum() < 0.5 * np.abs(plain - average).sum()


def test_zeta_star_is_the_scatter_around_the_projected_class_centres(sampled):
    """1/ζ_* = Σ e_{i,•}² / (N − γ_eff), from w in feature space (section 4.1)."""
    design, _, _, phi, mean = sampled
    scatter = sum(np.sum(((phi[design.y == s] - phi[design.y == s].mean(axis=0)) @ mean[:-1]) ** 2) for s in (1, -1))
    assert design.centres.zeta_star == pytest.approx((len(design.y) - design.gamma_eff) / scatter, rel=1e-9)
    assert design.centres.zeta_star != pytest.approx(design.zeta, rel=0.1)


def test_class_odds_are_the_densities_of_3_16(unbalanced):
    design = Design(RBF(1.3), *unbalanced)
    plus, minus = design.centres.moments(design.posterior, POINTS)
    noise = 1 / design.centres.zeta_star
    densities = [norm.pdf(m.mean, scale=np.sqrt(noise + m.variance)) for m in (plus, minus)]
    expected = 0.3 * densities[0] / (0.3 * densities[0] + 0.7 * densities[1])
    np.testing.assert_allclose(probabilities(design.odds(POINTS, 0.3))[:, 1], expected, rtol=1e-9)


def test_target_odds_are_the_densities_of_paper_2(unbalanced):
    """Paper 2, eq 11, from the two normal densities, and the label that it gives with equal priors."""
    design = Design(RBF(1.3), *unbalanced)
    z, variance = design.posterior.latent_moments(POINTS)
    scale = np.sqrt(1 / design.zeta + variance)
    densities = [norm.pdf(1 - s * z, scale=scale) for s in (1, -1)]
    expected = 0.3 * densities[0] / (0.3 * densities[0] + 0.7 * densities[1])
    np.testing.assert_allclose(probabilities(design.odds(POINTS, 0.3, "target"))[:, 1], expected, rtol=1e-9)


@pytest.mark.parametrize("kernel", [RBF(1.3), Linear(), Polynomial(3, 1.0)], ids=str)
def test_target_form_with_equal_priors_decides_by_the_sign_of_z(kernel, unbalanced, ripley):
    design = Design(kernel, *unbalanced)
    X = np.random.default_rng(0).uniform(-3, 3, (500, 2))
    np.testing.assert_array_equal(np.sign(design.odds(X, 0.5, "target")), np.sign(design.posterior.latent_mean(X)))


def test_softmax_with_the_training_frequencies_decides_by_the_sign_of_z(unbalanced):
    """The logistic form has the training set's frequencies built in, so as prior they change nothing."""
    design = Design(RBF(1.3), *unbalanced)
    z, variance = design.posterior.latent_moments(POINTS)
    odds = design.odds(POINTS, design.training_plus, "softmax")
    np.testing.assert_allclose(odds, z / np.sqrt(1 + np.pi * variance / 8), rtol=1e-12)
    moved = design.odds(POINTS, 0.5, "softmax") - odds
    np.testing.assert_allclose(moved, np.log(0.75 / 0.25), rtol=1e-12)


EXTREME_KERNELS = [
    RBF(1.3),
    ARD((1.0, 3.0)),
    Linear(),
    Polynomial(3, 1.0),
    RBF(1.3) + Linear(),
    RBF(1.3) * Polynomial(2, 1.0),
]


@pytest.mark.parametrize("moderation", PAPERS_MODERATIONS)
@pytest.mark.parametrize("kernel", EXTREME_KERNELS, ids=str)
def test_probabilities_are_finite_and_sum_to_one_for_extreme_inputs(moderation, kernel, unbalanced):
    """Even where K(x, x) overflows; tiny inputs, training points and what all but coincides with them as well."""
    X, y = unbalanced
    design = Design(kernel, X, y)
    values = [1e300, 9e153, 1e80, 1e3, 0.0, 5e-324]
    extreme = np.array([[a * s, b] for a in values for b in values for s in (1, -1)])
    everything = np.vstack([extreme, X, X[:3], X[:3] + 1e-12])
    P = probabilities(design.odds(everything, 0.3, moderation))
    assert np.all(np.isfinite(P))
    assert P.min() >= 0.0
    assert P.max() <= 1.0
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    with np.errstate(all="ignore"):
        held = kernel.diag(everything) < 1e300  # the rest is drawn in before moments are taken
    for moments in design.centres.moments(design.posterior, everything[held]):
        assert np.all(moments.variance >= 0.0)


@pytest.mark.parametrize("moderation", PAPERS_MODERATIONS)
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 1.0)], ids=str)
def test_log_odds_tend_to_a_limit_along_each_ray(moderation, kernel, unbalanced):
    """So what is said of points whose K(x, x) overflows is what is said of those that are merely very far."""
    design = Design(kernel, *unbalanced)
    direction = np.array([[1.0, 0.4], [-0.3, 1.0], [-1.0, -1.0]])
    near, far, beyond = (design.odds(r * direction, 0.3, moderation) for r in (1e12, 1e15, 1e200))
    np.testing.assert_allclose(near, far, rtol=1e-9)
    np.testing.assert_allclose(far, beyond, rtol=1e-9)


@pytest.mark.parametrize("moderation", PAPERS_MODERATIONS)
def test_probabilities_survive_duplicated_training_points(moderation, unbalanced):
    X, y = unbalanced
    design = Design(RBF(1.3), np.vstack([X, X]), np.concatenate([y, y]))
    P = probabilities(design.odds(np.vstack([X, POINTS]), 0.3, moderation))
    assert np.all(np.isfinite(P))
    # an infinitesimal shift of one of each pair makes it an ordinary data set with nearly the same answer
    shifted = Design(RBF(1.3), np.vstack([X, X + 1e-7]), np.concatenate([y, y]), mu=design.mu, zeta=design.zeta)
    np.testing.assert_allclose(P, probabilities(shifted.odds(np.vstack([X, POINTS]), 0.3, moderation)), atol=1e-5)


@pytest.mark.parametrize("moderation", PAPERS_MODERATIONS)
def test_probability_rises_with_the_prior(moderation, unbalanced):
    design = Design(RBF(1.3), *unbalanced)
    priors = [1e-12, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-12]
    P = np.array([probabilities(design.odds(POINTS, p, moderation))[:, 1] for p in priors])
    assert np.all(np.diff(P, axis=0) > 0)
    np.testing.assert_allclose(P[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(P[-1], 1.0, atol=1e-9)


def test_an_unknown_moderation_is_refused(unbalanced):
    design = Design(RBF(1.3), *unbalanced)
    with pytest.raises(ValueError, match="moderation must be one of loo, class, target, softmax"):
        design.odds(POINTS, 0.5, "probit")


@pytest.mark.parametrize("seed", range(5))
def test_costs_give_the_decision_of_least_expected_cost(seed):
    """Brute force: the cheaper of the two decisions under P(y | x), gains for right decisions included."""
    rng = np.random.default_rng(seed)
    costs = rng.uniform(-1, 1, (2, 2))
    costs[[0, 1], [1, 0]] = costs.diagonal() + rng.exponential(2.0, 2)  # wrong dearer than right
    odds = np.concatenate([rng.normal(0, 4, 2000), [-800.0, 800.0]])
    expected_cost = probabilities(odds) @ costs  # [n, decision]
    decided = odds + cost_log_odds(costs) > 0
    np.testing.assert_array_equal(decided, np.argmin(expected_cost, axis=1) == 1)


@pytest.mark.parametrize("moderation", PAPERS_MODERATIONS)
def test_the_classifier_decides_at_least_cost(moderation, ripley):
    X, y, X_test, _ = ripley
    model = BayesianLSSVC(RBF(1.311), refine=False, prior="flat", moderation=moderation).fit(X, y)
    for costs in ([[0, 1], [1, 0]], [[0, 10], [1, 0]], [[-1, 0.5], [7, 2]]):
        cheapest = np.argmin(model.predict_proba(X_test) @ np.array(costs, float), axis=1)
        np.testing.assert_array_equal(model.predict(X_test, costs=costs), model.classes_[cheapest])


# The linear discriminant 3.18


@pytest.mark.parametrize("prior_plus", [0.1, 0.5, 0.75])
def test_3_18_is_3_17_where_the_two_variances_are_equal(prior_plus, unbalanced):
    """With σ_e₊² = σ_e₋² = σ_e² the log odds are (m̂_d₊ − m̂_d₋)/(1/ζ_* + σ_e²) times 3.18; with 1/ζ they are not."""
    design = Design(RBF(1.3), *unbalanced)
    X = np.random.default_rng(1).uniform(-2.5, 2.5, (200, 2))
    plus, minus = design.centres.moments(design.posterior, X)
    sigma_e2 = np.sqrt(plus.variance * minus.variance)
    prior = np.log(prior_plus / (1 - prior_plus))
    equal = [ClassMoments(m.mean, sigma_e2) for m in (plus, minus)]
    odds = class_log_odds(*equal, design.centres.zeta_star) + prior
    found = discriminant(design.posterior, design.centres, X, prior_plus=prior_plus)
    separation = design.centres.projected_mean[0] - design.centres.projected_mean[1]
    np.testing.assert_allclose(
        found.value * separation / (1 / design.centres.zeta_star + sigma_e2), odds, rtol=1e-8, atol=1e-10
    )
    # Δb(x) is what is added to Σ α_i K(x, x_i)
    output = design.posterior.latent_mean(X) - design.posterior.intercept
    np.testing.assert_allclose(found.value, output + found.bias_correction, rtol=1e-9, atol=1e-12)
    if prior_plus != 0.5:  # the print's 1/ζ misplaces the boundary as soon as the priors differ
        printed = output - design.centres.projected_mean.mean() + (1 / design.zeta + sigma_e2) * prior / separation
        assert np.any(np.sign(printed) != np.sign(odds))
        assert np.abs(printed - found.value).min() > 0.05


@pytest.mark.parametrize("prior_plus", [0.25, 0.5])
def test_3_18_agrees_with_3_17_on_ripley(prior_plus, ripley):
    """Where the two variances are within ten per cent of each other every label agrees, with either prior."""
    X, y, X_test, _ = ripley
    model = BayesianLSSVC(RBF(1.3111), refine=False, prior="flat", moderation="class").fit(X, y)
    inputs = (X_test - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    plus, minus = model.centres_.moments(model.posterior_, inputs)
    close = np.abs(np.log(plus.variance / minus.variance)) < 0.1
    assert close.sum() > 150
    prior = [1 - prior_plus, prior_plus]
    linear = np.sign(model.discriminant(X_test, class_prior=prior).value)
    quadratic = np.sign(model.decision_function(X_test, class_prior=prior))
    np.testing.assert_array_equal(linear[close], quadratic[close])
    assert np.mean(linear == quadratic) > 0.99


# Away from the data, and section 7.1


@pytest.mark.parametrize("moderation", PAPERS_MODERATIONS)
@pytest.mark.parametrize("prior_plus", [0.1, 0.5, 0.9])
def test_far_from_ripleys_data_the_probability_is_near_the_prior(moderation, prior_plus, ripley):
    """σ_e² is at its largest there, so that little but the prior is left: within 0.08 of it for every form."""
    X, y, X_test, _ = ripley
    model = BayesianLSSVC(RBF(1.3111), refine=False, prior="flat", moderation=moderation).fit(X, y)
    far = np.array([[40.0, 0.0], [0.0, -40.0], [-1e6, 1e6]])
    prior = [1 - prior_plus, prior_plus]
    probability = model.predict_proba(far, class_prior=prior)[:, 1]
    np.testing.assert_allclose(probability, prior_plus, atol=0.08)
    # in log odds, which the prior only shifts, the data say several times more where there are some
    shift = np.log(prior_plus / (1 - prior_plus))
    said = [np.abs(model.decision_function(Z, class_prior=prior) - shift).max() for Z in (far, X_test)]
    assert said[1] > 4 * said[0]


def test_variances_grow_away_from_the_data_up_to_the_priors(ripley_standardised):
    """Along rays from the edge of Ripley's data σ_z² and σ_e•² rise to what an unseen feature vector has."""
    X, y = ripley_standardised
    design = Design(RBF(1.3111), X, y)
    radius = np.linspace(2.5, 12.0, 40)
    for angle in np.linspace(0, 2 * np.pi, 8, endpoint=False):
        ray = radius[:, None] * [np.cos(angle), np.sin(angle)]
        plus, minus = design.centres.moments(design.posterior, ray)
        for variance in (design.posterior.latent_variance(ray), plus.variance, minus.variance):
            assert np.all(np.diff(variance) > -1e-12)
            assert variance[-1] > variance[0]
    # K(x, x_i) = 0: uᵀQ₁₁u = 1/μ + m̂ᵀQ₁₁m̂ for u = φ(x) − m̂, and the part 1/μ dominates
    far = design.posterior.latent_variance(np.array([[1e3, 0.0]]))[0]
    assert far > 1 / design.mu
    assert far > 3 * design.posterior.latent_variance(X).max()


@pytest.fixture(scope="module", params=[(False, 0.906, 0.909), (True, 0.907, 0.9095)], ids=["no occam", "eq 5.3"])
def case_study(request, ripley):
    occam, *figures = request.param
    return BayesianLSSVC(occam=occam, prior="flat", moderation="class").fit(*ripley[:2]), figures


def test_ripley_accuracy(case_study, ripley):
    """Section 7.1: 90.6 % for the sign of z and for the moderated output; 90.7 % at the maximum of 5.3."""
    model, (accuracy, _) = case_study
    _, _, X_test, y_test = ripley
    assert np.mean(np.sign(model.latent(X_test)) == y_test) == pytest.approx(accuracy, abs=1e-9)
    assert model.score(X_test, y_test) == pytest.approx(accuracy, abs=1e-9)


def test_ripley_with_an_unbalanced_test_set(case_study, ripley):
    """Section 7.1: negatives three times; 90.9 % if the priors are ignored, 92.5 % if they are used (3.17, 3.18)."""
    model, (_, ignoring) = case_study
    _, _, X_test, y_test = ripley
    X = np.vstack([X_test[y_test < 0]] * 3 + [X_test[y_test > 0]])
    y = np.repeat([-1.0, 1.0], [3 * np.sum(y_test < 0), np.sum(y_test > 0)])
    prior = [0.75, 0.25]
    assert np.mean(y < 0) == 0.75
    assert np.mean(model.predict(X) == y) == pytest.approx(ignoring, abs=1e-9)
    assert np.mean(model.predict(X, class_prior=prior) == y) == pytest.approx(0.925, abs=1e-9)
    assert np.mean(np.sign(model.discriminant(X, class_prior=prior).value) == y) == pytest.approx(0.925, abs=1e-9)


def test_target_log_odds_are_odd_and_proportional_to_z():
    z = np.array([-3.0, 0.0, 0.2, 3.0])
    np.testing.assert_allclose(target_log_odds(z, np.full(4, 0.5), 2.0), 2 * z, rtol=1e-12)


@pytest.mark.parametrize("share", [0.02, 0.06, 0.2])
def test_where_labels_err_at_random_normal_densities_are_too_sure(share):
    """Two inputs, at each of which a share ε of labels is wrong: outputs have two values, and no normal density.

    In the limit of many rows the class centres are ±(1 − 2ε)² and the variance about them is 4ε(1 − ε)(1 − 2ε)², so
    that 3.17 gives log odds of (1 − 2ε)/(2ε(1 − ε)) where log((1 − ε)/ε) is right. The map of leave-one-out outputs is.
    """
    side = np.repeat([1.0, -1.0], 500)
    wrong = np.tile(np.arange(500) < round(500 * share), 2)
    X, y = side[:, None], np.where(wrong, -side, side)
    model = BayesianLSSVC("linear", prior="flat", moderation="class", standardise=False).fit(X, y)
    (odds,) = model.decision_function([[1.0]])
    assert odds == pytest.approx((1.0 - 2.0 * share) / (2.0 * share * (1.0 - share)), rel=0.02)
    right = np.log((1.0 - share) / share)
    assert odds > 1.3 * right
    (mapped,) = model.set_params(moderation="loo").decision_function([[1.0]])
    assert mapped == pytest.approx(right, rel=0.02)


@pytest.mark.parametrize("prior_plus", [0.25, 0.5, 0.9])
def test_each_read_out_has_its_formula_and_the_prior_in_the_place_of_the_training_frequencies(unbalanced, prior_plus):
    """A quarter of the rows are of class +1; two of the forms have that built in."""
    X, y = unbalanced
    design, new = Design(RBF(1.5), X, y), X[::4] + 0.2
    loo = LogisticMap(1.7, -0.4, float(np.log(1.0 / 3.0)), 0.05, 8.0)
    z, variance = design.posterior.latent_mean(new), design.posterior.latent_variance(new)
    of_prior, of_training = np.log(prior_plus / (1.0 - prior_plus)), np.log(0.25 / 0.75)
    expected = {
        "class": class_log_odds(*design.centres.moments(design.posterior, new), design.centres.zeta_star) + of_prior,
        "target": target_log_odds(z, variance, design.zeta) + of_prior,
        "softmax": softmax_log_odds(z, variance) + of_prior - of_training,
        "loo": loo.log_odds(z, variance) + of_prior - of_training,
    }
    for moderation, wanted in expected.items():
        options = {"prior_plus": prior_plus, "training_plus": 0.25, "moderation": moderation, "loo": loo}
        found = log_odds(design.posterior, design.centres, new, **options)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="moderation must be one of"):
        log_odds(design.posterior, design.centres, new, **{**options, "loo": None})
