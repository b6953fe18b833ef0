"""Probabilities that hold by default: where the evidence runs away, rows repeat, classes are rare or separable."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import astuple

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegressionCV

import bayes_lssvm
from bayes_lssvm import (
    BayesianLSSVC,
    BayesianLSSVR,
    FullyBayesianLSSVC,
    InterpolationWarning,
    NoSignalWarning,
)
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.logistic_map import OFFSET_SD, SLOPE_MEAN, SLOPE_SD, LogisticMap, label_log_odds
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.marginal.left_out import left_out_moments
from bayes_lssvm.press.leave_one_out import leave_one_out
from bayes_lssvm.priors import Box, Flat, Gamma, HyperPrior, Normal


def log_loss(model, X, y):
    """Mean −log P of what came out, for labels 0, 1, …"""
    with np.errstate(divide="ignore"):
        return -np.mean(np.log(model.predict_proba(X)[np.arange(len(y)), y]))


def a_cluster_and_its_surroundings(n, seed):
    """A tight class and a wide one around it in eight dimensions; 3 % of the labels are wrong."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.35).astype(int)
    wide, tight = 2.0 + 1.5 * rng.normal(size=(n, 8)), 0.3 * rng.normal(size=(n, 8))
    return np.where(y[:, None] == 1, wide, tight), np.where(rng.random(n) < 0.03, 1 - y, y)


def waves(n, seed):
    """Two classes with a curved boundary and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)


def rare(n, seed):
    """Four inputs, two of which tell 4 % of the points from the rest."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.04).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, :2] += 1.8 * y[:, None]
    return X, y


def three_classes(n, seed, apart=1.5):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    centres = apart * np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])
    return centres[y] + rng.normal(size=(n, 2)), y


@pytest.fixture(scope="module")
def fitted():
    return BayesianLSSVC().fit(*waves(80, 0))


# --- data on which the papers' rule fails --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_labels_that_a_kernel_can_interpolate_are_not_taken_for_targets_without_noise(seed):
    X, y = a_cluster_and_its_surroundings(100, seed)
    new = a_cluster_and_its_surroundings(2000, 100 + seed)
    with pytest.warns(InterpolationWarning, match="prior=None, the default, labels are not mistaken for targets"):
        papers = BayesianLSSVC(prior="flat", moderation="class").fit(X, y)
    assert papers.zeta_ > 1e8
    model = BayesianLSSVC().fit(X, y)  # a warning would be an error
    # Gamma(½, 1/(2p₊p₋)) bounds ζ by (N + 1)·2p₊p₋ if all errors were zero
    share = model.training_frequencies_
    assert model.zeta_ < (len(y) + 1) * 2.0 * share[0] * share[1]
    assert model.level3_.level2.status == "interior"
    base = -np.mean(np.log(share[new[1]]))
    assert log_loss(papers, *new) > base
    assert log_loss(model, *new) < 0.3 * base
    assert model.score(*new) >= papers.score(*new)


def test_the_map_alone_cures_probabilities_where_the_kernel_is_the_papers():
    X, y = a_cluster_and_its_surroundings(100, 1)
    new = a_cluster_and_its_surroundings(2000, 101)
    with pytest.warns(InterpolationWarning):
        model = BayesianLSSVC(prior="flat").fit(X, y)
    assert log_loss(model, *new) < -np.mean(np.log(model.training_frequencies_[new[1]]))


@pytest.mark.parametrize("seed", range(3))
def test_repeated_rows_say_what_their_distinct_rows_say(seed):
    """Each row three times: the noise of one row is three times that of the mean of three."""
    X, y = waves(80, seed)
    once = BayesianLSSVC().fit(X, y)
    with pytest.warns(InterpolationWarning, match="160 of 240 rows repeat another row"):
        papers = BayesianLSSVC(prior="flat").fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    thrice = BayesianLSSVC().fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert papers.zeta_ > 1e8
    # what differs is the pull of the prior on ζ, which has one error's weight
    assert thrice.kernel_.sigma == pytest.approx(once.kernel_.sigma, rel=0.1)
    assert thrice.mu_ == pytest.approx(once.mu_, rel=0.1)
    assert 3.0 * thrice.zeta_ == pytest.approx(once.zeta_, rel=0.15)
    new, truth = waves(2000, 50 + seed)
    np.testing.assert_allclose(thrice.latent(new), once.latent(new), atol=0.15)
    assert log_loss(thrice, new, truth) < log_loss(once, new, truth) + 0.05


def test_repeated_inputs_with_different_labels_are_their_mean_label():
    """The evidence of grouped rows is that of their means; the order of the rows does not matter."""
    X, y = waves(80, 0)
    X, y = np.vstack([X, X[:20]]), np.concatenate([y, 1 - y[:5], y[5:20]])
    model = BayesianLSSVC().fit(X, y)
    prior = default_prior(model.kernel_, model.X_fit_, model.y_fit_, classes=True)
    counts = np.where(np.arange(80) < 20, 2.0, 1.0)
    means = np.concatenate([np.zeros(5), 2.0 * y[5:80] - 1.0])
    grouped = Objective(model.X_fit_[:80], means, prior=prior, weights=counts).evaluate(model.kernel_)
    assert (model.mu_, model.gamma_) == pytest.approx((grouped.level2.mu, grouped.level2.gamma), rel=1e-6)
    assert model.log_evidence_ == pytest.approx(grouped.posterior.log_evidence, abs=1e-8)
    order = np.random.default_rng(0).permutation(100)
    other = BayesianLSSVC().fit(X[order], y[order])
    assert other.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_four_per_cent_of_positives(seed):
    X, y = rare(600, seed)
    new, truth = rare(4000, 90 + seed)
    model = BayesianLSSVC().fit(X, y)
    share = model.training_frequencies_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of parameters that are about to be renamed
        other = LogisticRegressionCV(scoring="neg_log_loss", max_iter=1000).fit(X, y)
    ours = log_loss(model, new, truth)
    assert ours < 0.6 * -np.mean(np.log(share[truth]))
    assert ours < 1.2 * log_loss(other, new, truth)
    assert model.predict_proba(new)[:, 1].mean() == pytest.approx(truth.mean(), rel=0.3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_separable_classes_have_finite_odds(kernel):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 3)) + 20.0 * y[:, None]
    model = BayesianLSSVC(kernel).fit(X, y)
    far = np.vstack([X, 1e3 * X, -1e9 * X])
    P = model.predict_proba(far)
    assert np.all((P > 0) & (P < 1))
    assert np.all(np.abs(model.decision_function(far)) <= 2.0 * np.log(61.0) + 1e-12)
    np.testing.assert_array_equal(model.predict(X), y)
    assert log_loss(model, X, y) < 0.05


# --- priors, costs, far points -------------------------------------------------------------------------------------


def test_class_priors_and_costs_act_by_bayes_rule(fitted):
    X, _ = waves(200, 7)
    P, share = fitted.predict_proba(X), fitted.training_frequencies_
    moved = P / share * [0.9, 0.1]
    found = fitted.predict_proba(X, class_prior=[0.9, 0.1])
    np.testing.assert_allclose(found, moved / moved.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(fitted.predict_proba(X, class_prior=share), P, rtol=1e-9)
    costs = np.array([[0.0, 1.0], [7.0, 0.0]])
    np.testing.assert_array_equal(fitted.predict(X, costs=costs), np.argmin(P @ costs, axis=1))
    np.testing.assert_array_equal(fitted.predict(X, costs=costs), (P[:, 1] > 1 / 8).astype(int))


def test_far_points_tend_to_the_class_prior():
    """The variance of an RBF kernel's output levels off away from the data, and with it what the odds keep."""
    X, y = rare(300, 0)
    model = BayesianLSSVC(RBF(1.0), refine=False).fit(X, y)
    share = model.training_frequencies_[1]
    for prior in (None, [0.5, 0.5], [0.2, 0.8]):
        wanted = share if prior is None else prior[1]
        far = model.predict_proba(np.array([[1e3, 0, 0, 0], [0, -1e4, 0, 0]]), class_prior=prior)[:, 1]
        near = model.predict_proba(X[y == 1], class_prior=prior)[:, 1]
        assert np.all(np.abs(logit(far) - logit(wanted)) < np.abs(logit(near) - logit(wanted)).max())
        np.testing.assert_allclose(far[0], far[1], rtol=1e-6)
    loo = model.loo_map_
    odds = loo.log_odds(np.full(3, 0.7), np.array([0.0, 1e4, 1e12]))
    assert odds[0] > odds[1] > odds[2]
    assert odds[2] == pytest.approx(loo.class_log_odds, abs=1e-4)
    assert expit(loo.class_log_odds) == pytest.approx(share, rel=1e-12)


def test_a_map_that_knows_nothing_is_warned_of_and_gives_the_class_frequencies():
    """Alternating labels on a line: each point is unlike its neighbours, and left-out outputs have the wrong sign."""
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    with pytest.warns(NoSignalWarning):
        model = BayesianLSSVC(RBF(0.2), refine=False).fit(X, y)
    assert model.loo_map_.slope == 0.0
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=1e-12)


# --- three classes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coding", ["ovo", "ova"])
def test_three_classes_sum_to_one_and_are_never_certain(coding):
    X, y = three_classes(90, 0, apart=12.0)
    model = BayesianLSSVC(coding=coding).fit(X, y)
    far = np.vstack([X, 1e3 * X, -1e6 * X])
    P = model.predict_proba(far)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert P.min() > 1e-6
    assert P.max() < 1.0
    np.testing.assert_array_equal(model.predict(X), y)


def test_three_classes_are_better_than_their_frequencies_and_than_the_papers_forms():
    X, y = three_classes(120, 1)
    new, truth = three_classes(2000, 2)
    model = BayesianLSSVC().fit(X, y)
    papers = BayesianLSSVC(prior="flat", moderation="class", decoding="bayes").fit(X, y)
    assert log_loss(model, new, truth) < 0.7 * -np.mean(np.log(model.training_frequencies_[truth]))
    assert log_loss(model, new, truth) < log_loss(papers, new, truth)


# --- the map -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_map_is_the_optimum_that_a_general_method_finds(seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(70) < [0.5, 0.1, 0.9, 0.3, 0.5][seed], 1.0, -1.0)
    z = [0.6, 1.0, 0.2, 5.0, 0.01][seed] * y + 0.7 * rng.normal(size=70)
    found = LogisticMap.fit(z, np.linspace(0.1, 0.9, 70), y)
    h, t, centre = label_log_odds(z), y > 0, np.log(np.sum(y > 0) / np.sum(y < 0))

    def cost(point):
        odds = point[0] * h + point[1]
        prior = ((point[0] - SLOPE_MEAN) / SLOPE_SD) ** 2 + ((point[1] - centre) / OFFSET_SD) ** 2
        return np.sum(np.logaddexp(0.0, odds) - t * odds) + 0.5 * prior

    best = minimize(cost, [0.5, 0.0], bounds=[(0.0, None), (None, None)], tol=1e-14)
    assert (found.slope, found.offset) == pytest.approx(tuple(best.x), abs=2e-5)
    assert found.class_log_odds == pytest.approx(centre)
    assert found.largest_variance == pytest.approx(0.9)
    assert found.bound == pytest.approx(2.0 * np.log(71.0))


def test_the_slope_of_the_map_is_never_negative():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.where(np.arange(30) < 10, 1.0, -1.0)
        found = LogisticMap.fit(-0.4 * y + 0.3 * rng.normal(size=30), np.ones(30), y)
        assert (found.slope, found.offset) == (0.0, pytest.approx(np.log(0.5)))
        odds = found.log_odds(np.linspace(-3, 3, 7), np.ones(7))
        np.testing.assert_allclose(odds, np.log(0.5))
        assert LogisticMap.fit(rng.normal(size=30), np.ones(30), y).slope >= 0.0


def test_the_maps_input_is_the_log_odds_of_the_output_between_the_labels():
    z = np.linspace(-0.6, 0.6, 13)
    np.testing.assert_allclose(label_log_odds(z), np.log((1 + z) / (1 - z)), atol=0.15)
    np.testing.assert_allclose(label_log_odds(-z), -label_log_odds(z), atol=1e-12)
    steep = label_log_odds(np.array([-1e8, -50.0, -49.0, 49.0, 50.0, 1e8]))
    assert np.all(np.isfinite(steep))
    assert np.all(np.diff(steep) > 0)


def test_the_map_is_fitted_to_exact_leave_one_out_outputs(fitted):
    """Those of fits without the point, at the same kernel and γ."""
    K, y = fitted.kernel_(fitted.X_fit_), fitted.y_fit_
    left_out = leave_one_out(K, y, fitted.gamma_, mu=fitted.mu_)
    expected = LogisticMap.fit(left_out.predictions, left_out.latent_variances, y)
    assert astuple(fitted.loo_map_) == pytest.approx(astuple(expected), rel=1e-7)
    for i in (0, 17, 42):
        rest = np.delete(np.arange(len(y)), i)
        plain = bayes_lssvm.LSSVC(fitted.kernel_, fitted.gamma_, standardise=False)
        plain.fit(fitted.X_fit_[rest], y[rest])
        assert plain.decision_function(fitted.X_fit_[[i]])[0] == pytest.approx(left_out.predictions[i], abs=1e-9)


# --- hyperparameters integrated out --------------------------------------------------------------------------------


def test_integrated_hyperparameters_have_the_same_map():
    X, y = waves(80, 0)
    new, truth = waves(2000, 50)
    model = FullyBayesianLSSVC().fit(X, y)
    assert isinstance(model.loo_map_, LogisticMap)
    P = model.predict_proba(new)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert np.all((P > 0) & (P < 1))
    # no worse than the fixed ones, whose map is another
    assert log_loss(model, new, truth) < log_loss(BayesianLSSVC().fit(X, y), new, truth) + 0.02
    moved = P / model.training_frequencies_ * [0.9, 0.1]
    found = model.predict_proba(new, class_prior=[0.9, 0.1])
    np.testing.assert_allclose(found, moved / moved.sum(axis=1, keepdims=True), rtol=1e-9)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(new[:9]), model.predict_proba(new[:9]))


def test_variances_of_the_mixture_are_of_one_kind_at_left_out_and_at_new_points():
    """Noise included in both: among the data nothing is shrunk for want of data."""
    X, y = waves(60, 3)
    model = FullyBayesianLSSVC(RBF(1.3), fixed_kernel=True).fit(X, y)
    inputs, signs = model.posterior_.X, model.posterior_.y
    mean, variance = left_out_moments(model.posterior_.prediction_nodes, inputs, signs)
    _, sd = model.posterior_.predict(inputs, return_std=True)
    assert np.all(sd**2 < 1.05 * variance)  # a point that was left out is less certain, mixture of weights aside
    assert np.max(sd**2) < model.loo_map_.largest_variance
    unshrunk = model.loo_map_.slope * label_log_odds(model.posterior_.predict(inputs)) + model.loo_map_.offset
    expected = np.clip(unshrunk, -model.loo_map_.bound, model.loo_map_.bound)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)
    assert np.corrcoef(mean, signs)[0, 1] > 0.5


def test_integrated_hyperparameters_warn_where_nothing_is_known():
    X, y = np.arange(30.0)[:, None], np.arange(30) % 2
    with pytest.warns(NoSignalWarning, match="left-out points are predicted no better than by the class frequencies"):
        model = FullyBayesianLSSVC(RBF(0.2), fixed_kernel=True).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=1e-12)


# --- files and settings --------------------------------------------------------------------------------------------

USER_PRIORS = {
    "default": None,
    "flat": "flat",
    "one for all": Normal(0.0, 1.0),
    "each its own": HyperPrior(Normal(0.0, 2.0), Gamma(0.5, 2.0), Box(-1.0, 1.0)),
}


@pytest.mark.parametrize("prior", USER_PRIORS.values(), ids=USER_PRIORS)
def test_saved_models_keep_the_map_and_the_prior(prior, tmp_path):
    X, y = waves(60, 5)
    model = BayesianLSSVC(prior=prior).fit(X, y)
    read = bayes_lssvm.load(model.save(tmp_path / "model.npz"))
    assert read.loo_map_ == model.loo_map_
    assert read.log_evidence_ == model.log_evidence_
    wanted = HyperPrior(prior, prior, prior) if isinstance(prior, Normal) else prior
    assert read.prior == wanted
    for other in (read, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("prior", USER_PRIORS.values(), ids=USER_PRIORS)
def test_saved_models_of_three_classes_keep_their_probabilities(prior, tmp_path):
    X, y = three_classes(60, 3)
    model = BayesianLSSVC("linear", prior=prior).fit(X, y)
    read = bayes_lssvm.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_allclose(read.predict_proba(X), model.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("prior", ["wide", "default", 3.0, (0.0, 3.0), {"mu": 1}, np.ones(2), Normal])
@pytest.mark.parametrize("cls", [BayesianLSSVC, BayesianLSSVR])
def test_what_is_no_prior_gets_a_sentence(cls, prior):
    with pytest.raises(ValueError, match=r'prior must be None for the default, "flat" for the papers. rule, or an obj'):
        cls(prior=prior).fit(*waves(30, 0))
    with pytest.raises(ValueError, match="prior must be None for the default"):
        BayesianLSSVC(prior=prior).fit(*three_classes(30, 0))


def test_a_prior_of_too_many_parameters_gets_a_sentence():
    prior = HyperPrior(kernel=(Normal(), Normal()))
    with pytest.raises(ValueError, match="has 2 kernel components, but the kernel has 1 parameters"):
        BayesianLSSVC(prior=prior).fit(*waves(30, 0))


@pytest.mark.parametrize("cls", [BayesianLSSVC, BayesianLSSVR])
def test_the_users_prior_has_its_say(cls):
    X, y = waves(60, 6)
    y = y if cls is BayesianLSSVC else X[:, 0] + 0.5 * np.random.default_rng(0).normal(size=60)
    narrow = cls(prior=HyperPrior(kernel=Normal(np.log(5.0), 0.01))).fit(X, y)
    assert narrow.kernel_.sigma == pytest.approx(5.0, rel=0.05)
    boxed = cls(prior=HyperPrior(kernel=Box(np.log(0.4), np.log(0.5)))).fit(X, y)
    assert 0.4 <= boxed.kernel_.sigma <= 0.5
    noisy = cls(prior=HyperPrior(zeta=Normal(0.0, 0.01))).fit(X, y)
    assert noisy.zeta_ == pytest.approx(1.0, rel=0.1)
    assert np.isfinite(cls(prior=Flat()).fit(X, y).log_evidence_)


@pytest.mark.parametrize(("scale", "offset"), [(1e3, 0.0), (1e-4, 7.0), (-2.5, -1e3)])
def test_units_of_the_targets_change_nothing(scale, offset):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(60, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=60)
    one, two = BayesianLSSVR().fit(X, y), BayesianLSSVR().fit(X, scale * y + offset)
    assert two.kernel_.sigma == pytest.approx(one.kernel_.sigma, rel=1e-6)
    assert (two.mu_ * scale**2, two.zeta_ * scale**2) == pytest.approx((one.mu_, one.zeta_), rel=1e-6)
    assert two.log_evidence_ + 59 * np.log(abs(scale)) == pytest.approx(one.log_evidence_, abs=1e-6)
    mean, std = one.predict(X, return_std=True)
    moved, moved_std = two.predict(X, return_std=True)
    np.testing.assert_allclose((moved - offset) / scale, mean, atol=1e-6)
    np.testing.assert_allclose(moved_std / abs(scale), std, rtol=1e-6)
