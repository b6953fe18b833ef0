"""Estimators whose hyperparameters are integrated out."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from bayes_lssvm import BayesianLSSVC, FullyBayesianLSSVC, FullyBayesianLSSVR, datasets, marginalise
from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.kernels import RBF
from bayes_lssvm.priors import HyperPrior, Normal


@pytest.mark.parametrize(
    "estimator",
    [
        FullyBayesianLSSVC("linear"),
        FullyBayesianLSSVR(RBF(1.0), fixed_kernel=True),
        pytest.param(FullyBayesianLSSVC(), marks=pytest.mark.slow),  # minutes: the checks fit some fifty sets each
        pytest.param(FullyBayesianLSSVR(), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_scikit_learns_contract(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit noise, constants and a handful of points
        # rows that repeat are measurements of ζ, which weights are not
        repeats = {"check_sample_weight_equivalence_on_dense_data": "rows are measurements"}
        outcome = check_estimator(estimator, on_fail=None, expected_failed_checks=repeats)
    assert [c["check_name"] for c in outcome if c["status"] == "failed"] == []
    assert sum(c["status"] == "passed" for c in outcome) > 35
    left = {c["check_name"] for c in outcome if c["status"] != "passed"}
    assert left <= {"check_array_api_input", *repeats}


def test_the_classifier_is_the_posterior_of_the_standardised_data(ripley):
    X, y, X_test, _ = ripley
    prior = HyperPrior(kernel=Normal(0, 1))
    model = FullyBayesianLSSVC(prior=prior, tolerance=1e-7, moderation="class").fit(X, np.where(y > 0, "yes", "no"))
    assert model.log_evidence_ == pytest.approx(-258.188107, abs=1e-6)
    scaled = Standardiser.fit(X)
    direct = marginalise(scaled(X), y, prior=prior, tolerance=1e-7, standardise=False).predict_proba(scaled(X_test))
    P = model.predict_proba(X_test)
    assert pytest.approx(direct, abs=1e-10) == P
    assert list(model.classes_) == ["no", "yes"]
    assert np.array_equal(model.predict(X_test) == "yes", P[:, 1] > 0.5)
    assert np.array_equal(model.decision_function(X_test) > 0, P[:, 1] > 0.5)
    tilted = model.predict_proba(X_test, class_prior={"no": 0.75, "yes": 0.25})
    assert np.all(tilted[:, 1] < P[:, 1])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X_test[:5]), model.predict_proba(X_test[:5]))


@pytest.mark.parametrize("name", ["hea", "cra"])
def test_probabilities_are_no_worse_than_plug_in_ones(name):
    """Mean log loss over three splits, beside the plug-in classifier's."""
    X, y = datasets.load(name).Xy
    losses = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: 2 * len(y) // 3], order[2 * len(y) // 3 :]
        row = []
        for model in (BayesianLSSVC(), FullyBayesianLSSVC()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                P = clone(model).fit(X[train], y[train]).predict_proba(X[test])
            classes = np.unique(y)
            chosen = P[np.arange(len(test)), np.searchsorted(classes, y[test])]
            row.append(-np.mean(np.log(np.maximum(chosen, 1e-300))))
        losses.append(row)
    plug_in, full = np.mean(losses, axis=0)
    assert full < plug_in + 0.01


def test_regression_error_bars_and_units():
    rng = np.random.default_rng(2)
    X = rng.uniform(-3, 3, size=(80, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=80)
    new = np.linspace(-3, 3, 500)[:, None]
    truth = np.sin(2 * new[:, 0]) + 0.2 * rng.normal(size=500)
    mean, std = FullyBayesianLSSVR().fit(X, y).predict(new, return_std=True)
    assert 0.91 < np.mean(np.abs(truth - mean) < 1.96 * std) < 0.985
    scaled = FullyBayesianLSSVR().fit(X, 1e4 * y + 3e5)
    other, other_std = scaled.predict(new, return_std=True)
    assert other == pytest.approx(1e4 * mean + 3e5, rel=1e-6)
    assert other_std == pytest.approx(1e4 * std, rel=1e-5)
    assert scaled.log_evidence_ == pytest.approx(
        FullyBayesianLSSVR().fit(X, y).log_evidence_ - 79 * np.log(1e4), abs=1e-4
    )


@pytest.mark.parametrize("far", [1e6, 1e8, 1e10])
def test_a_model_with_one_far_outlier_predicts(far):
    """The fit went well, and predictions refused the kernel matrix as indefinite."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=6)
    X[0] = far
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)
        model = FullyBayesianLSSVR(method="laplace").fit(X, y)
    mean, sd = model.predict(X, return_std=True)
    assert np.all(np.isfinite(mean) & (sd > 0.0))
