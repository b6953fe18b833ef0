"""Pruning of training points: half of Ripley's points removed, paths with their losses, the estimator, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from bayes_lssvm import BayesianLSSVC, ConstantFeatureWarning, NoSignalWarning, datasets
from bayes_lssvm.estimators.sparse import SparseLSSVC
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level2 import log_evidence, optimise
from bayes_lssvm.levels.solvers import solve_cholesky
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.selection.points import prune


@pytest.fixture(scope="module")
def ripley():
    return datasets.load("ripley")


@pytest.fixture(scope="module")
def standardised(ripley):
    """Inputs and labels ±1 of the training and the test set."""
    mean, scale = ripley.data.mean(axis=0), ripley.data.std(axis=0, ddof=1)
    return (
        (ripley.data - mean) / scale,
        np.where(ripley.target == 1, 1.0, -1.0),
        (ripley.test_data - mean) / scale,
        np.where(ripley.test_target == 1, 1.0, -1.0),
    )


@pytest.fixture(scope="module")
def model(ripley):
    return SparseLSSVC().fit(ripley.data, ripley.target)


@pytest.fixture(scope="module")
def negative(standardised):
    return prune(*standardised[:2], rule="negative")


# --- Ripley --------------------------------------------------------------------------------------------------------


def test_half_of_the_points_are_removed_at_no_loss_of_accuracy(ripley, model):
    """At most 125 of 250 points, accuracy on 1000 test points within one standard error of the whole model's."""
    whole = BayesianLSSVC().fit(ripley.data, ripley.target).score(ripley.test_data, ripley.test_target)
    pruned = model.score(ripley.test_data, ripley.test_target)
    assert len(model.support_) <= 125
    assert pruned >= whole - np.sqrt(whole * (1.0 - whole) / 1000)


def test_easy_points_go_until_no_support_value_is_negative(standardised, negative):
    X, y, new, labels = standardised
    assert "No support value" in negative.stopped
    for before, after in zip(negative.steps[:-1], negative.steps[1:], strict=True):
        np.testing.assert_array_equal(after.kept, before.kept[y[before.kept] * before.alpha >= 0.0])
    last = negative.chosen
    assert negative.best == len(negative.steps) - 1
    assert np.all(y[last.kept] * last.alpha >= 0.0)
    assert 150 <= len(last.kept) < 200
    output = last.kernel(new, X[last.kept]) @ last.alpha + last.intercept
    assert np.mean(output * labels > 0) >= 0.907 - 0.0092


# --- paths ---------------------------------------------------------------------------------------------------------


def test_every_step_is_the_lssvm_of_its_points_at_the_mode(standardised, model):
    X, y, _, _ = standardised
    spectrum = CentredSpectrum.from_kernel_matrix(model.kernel_(X), y)
    for step in model.path_.steps[:: len(model.path_.steps) // 3]:
        K = step.kernel(X[step.kept])
        mode = optimise(CentredSpectrum.from_kernel_matrix(K, y[step.kept]))
        assert step.mu == pytest.approx(mode.mu, rel=1e-6)
        assert step.zeta == pytest.approx(mode.zeta, rel=1e-6)
        assert step.gamma_eff == pytest.approx(mode.gamma_eff, rel=1e-6)
        assert step.log_evidence == pytest.approx(mode.log_evidence)
        assert step.log_evidence_all == pytest.approx(log_evidence(spectrum, step.mu, step.zeta))
        solution = solve_cholesky(K, y[step.kept], step.zeta / step.mu)
        np.testing.assert_allclose(step.alpha, solution.alpha)
        output = step.kernel(X, X[step.kept]) @ solution.alpha + solution.intercept
        assert step.accuracy == np.mean(output * y > 0)


def test_smallest_support_values_go_first(standardised, model):
    before, after = model.path_.steps[:2]
    removed = np.setdiff1d(before.kept, after.kept)
    assert len(removed) == 12  # five of a hundred of 250
    assert np.abs(before.alpha[removed]).max() <= np.abs(before.alpha[after.kept]).min()


def test_evidence_is_lost_along_the_path(model, negative):
    """μ and ζ of all points are the mode of their evidence, so that any others lose."""
    for path in (model.path_, negative):
        assert path.evidence_loss[0] == 0.0
        assert np.all(path.evidence_loss[1:] > 0.0)
        assert "best" in str(path)


def test_pruning_stops_by_the_validation_set(standardised):
    X, y, new, labels = standardised
    path = prune(X, y, kernel=RBF(1.3), refine_first=False, validation=(new[::3], labels[::3]), retune="nothing")
    start = path.steps[0].validation_accuracy
    assert path.lowest_accuracy == pytest.approx(start - np.sqrt(start * (1 - start) / 334))
    assert path.chosen.validation_accuracy >= path.lowest_accuracy
    assert {(step.mu, step.zeta) for step in path.steps} == {(path.steps[0].mu, path.steps[0].zeta)}
    assert path.best == len(path.steps) - 2 > 1
    assert path.steps[-1].status == "no signal"
    assert path.stopped == "By the evidence, the remaining points contain no signal."


def test_pruning_stops_where_the_accuracy_falls(standardised):
    """By a fifth of a standard error: the step before is chosen."""
    X, y, new, labels = standardised
    settings = {"validation": (new[::3], labels[::3]), "refine_first": False, "tolerance": 0.2}
    path = prune(X[::3], y[::3], kernel=RBF(1.3), **settings)
    start = path.steps[0].validation_accuracy
    assert path.lowest_accuracy == pytest.approx(start - 0.2 * np.sqrt(start * (1 - start) / 334))
    assert path.best == len(path.steps) - 2 > 1
    assert path.steps[-1].validation_accuracy < path.lowest_accuracy
    assert all(step.validation_accuracy >= path.lowest_accuracy for step in path.steps[:-1])
    assert path.stopped == f"The accuracy fell below {path.lowest_accuracy:.3f}."


def test_kernel_is_tuned_again_if_asked_for(standardised):
    X, y = standardised[0][::3], standardised[1][::3]
    path = prune(X, y, rule="negative", retune="kernel")
    assert len({step.kernel.sigma for step in path.steps}) == len(path.steps) > 1


def test_nothing_is_pruned_without_signal():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 2)), np.resize([-1.0, 1.0], 40)
    path = prune(X, y, kernel="linear")
    assert len(path.steps) == 1
    assert "no signal" in path.stopped
    with pytest.warns(NoSignalWarning, match="nothing was pruned"):
        fitted = SparseLSSVC("linear").fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X), 0.5, atol=0.2)


def test_both_classes_keep_two_points():
    """Two far clusters: all is easy."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 10)
    path = prune(rng.normal(size=(20, 2)) + 5.0 * y[:, None], y, kernel=RBF(3.0), refine_first=False, fraction=0.5)
    for step in path.steps:
        assert min(np.sum(y[step.kept] > 0), np.sum(y[step.kept] < 0)) >= 2


# --- the estimator -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")
@pytest.mark.parametrize(
    "estimator",
    [SparseLSSVC("linear", rule="negative"), pytest.param(SparseLSSVC(), marks=pytest.mark.slow)],
    ids=str,
)
def test_classifier_passes_the_checks_of_scikit_learn(estimator):
    papers = {"check_sample_weight_equivalence_on_dense_data": "rows are counted"}
    results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=papers)
    assert len(results) > 50
    assert not [(r["check_name"], repr(r["exception"])) for r in results if r["status"] == "failed"]
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input", *papers}


def test_attributes_are_those_of_the_chosen_step(ripley, model):
    step = model.path_.chosen
    np.testing.assert_array_equal(model.support_, step.kept)
    np.testing.assert_allclose(model.alpha_, step.alpha, atol=1e-9)
    assert model.intercept_ == pytest.approx(step.intercept)
    assert model.gamma_ == pytest.approx(model.zeta_ / model.mu_)
    proba = model.predict_proba(ripley.test_data)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(ripley.test_data), model.classes_[(proba[:, 1] > 0.5).astype(int)])


def test_labels_may_be_texts_and_a_validation_set_is_translated(ripley):
    labels = np.where(ripley.target == 1, "b", "a")
    test = np.where(ripley.test_target == 1, "b", "a")
    fitted = SparseLSSVC(rule="negative", refine=False).fit(
        ripley.data, labels, validation=(ripley.test_data[::5], test[::5])
    )
    assert fitted.path_.chosen.validation_accuracy > 0.85
    assert set(fitted.predict(ripley.test_data)) == {"a", "b"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "largest"}, "rule must be"),
        ({"retune": "all"}, "retune must be"),
        ({"fraction": 0.0}, "fraction must be"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"kernel": "cubic"}, "no kernel named"),
        ({"prior_sd": -1.0}, "prior_sd"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_settings_are_refused(ripley, standardised, settings, message):
    with pytest.raises(ValueError, match=message):
        prune(*standardised[:2], **settings)
    with pytest.raises(ValueError, match=message):
        SparseLSSVC(**settings).fit(ripley.data, ripley.target)


def test_bad_data_are_refused(standardised, ripley):
    X, y, new, labels = standardised
    with pytest.raises(ValueError, match="labels −1 and \\+1"):
        prune(X, np.arange(250.0))
    with pytest.raises(ValueError, match="two classes"):
        prune(X, np.ones(250))
    with pytest.raises(ValueError, match="columns"):
        prune(X, y, validation=(new[:, :1], labels))
    with pytest.raises(ValueError, match="not occur in the training set"):
        SparseLSSVC().fit(ripley.data, ripley.target, validation=(ripley.data, ripley.target + 5))
    with pytest.raises(ValueError, match="moderation"):
        SparseLSSVC(moderation="none").fit(ripley.data, ripley.target)


def test_constant_columns_are_warned_of(ripley):
    X = np.column_stack([ripley.data[::5], np.ones(50)])
    with pytest.warns(ConstantFeatureWarning):
        SparseLSSVC(refine=False, rule="negative").fit(X, ripley.target[::5])
