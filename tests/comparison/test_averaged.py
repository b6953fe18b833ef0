"""Mixtures of kernels: their weights, their predictions, leave-one-out densities, files and scikit-learn's checks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import check_estimator

from bayes_lssvm import AveragedLSSVC, AveragedLSSVR, FullyBayesianLSSVC, compare, load, marginalise, save
from bayes_lssvm.comparison.evidence import kernel_evidence
from bayes_lssvm.comparison.mixture import KernelMixture, left_out_log_densities, stacking_weights
from bayes_lssvm.comparison.problem import as_problem
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.priors import HyperPrior, Normal

PRIOR = HyperPrior(Normal(0.0, 2.0), Normal(1.0, 2.0), Normal(0.5, 1.0))


def regression(n=30):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, 0.7 * X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * rng.normal(size=n)


def classes(n=45, count=3):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=n)
    return X, np.array(["low", "middle", "up"])[
        np.digitize(score, np.quantile(score, [1 / count, 2 / count][: count - 1]))
    ]


@pytest.mark.parametrize(
    "model",
    [
        AveragedLSSVC(("linear",)),
        AveragedLSSVR(("linear",)),
        pytest.param(AveragedLSSVC(("linear", "rbf")), marks=pytest.mark.slow),
        pytest.param(AveragedLSSVR(("linear", "rbf"), weights="stacking"), marks=pytest.mark.slow),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore")
def test_the_estimators_keep_to_scikit_learn_s_conventions(model):
    # rows that repeat are measurements of ζ, which weights are not
    repeats = {"check_sample_weight_equivalence_on_dense_data": "rows are measurements"}
    check_estimator(model, expected_failed_checks=repeats)


def test_the_average_is_the_mixture_by_posterior_probabilities():
    X, y = regression()
    comparison = compare(X[:20], y[:20], ["linear", "rbf"], prior_probabilities=[0.9, 0.1], progress=False)
    mean, std = comparison.average().predict(X[20:], return_std=True)
    parts = []
    for candidate in comparison:
        prior = default_prior(candidate.kernel, X[:20], y[:20], classes=False)
        own = marginalise(X[:20], y[:20], kernel=candidate.kernel, prior=prior, standardise=False, progress=False)
        parts.append(own.predict(X[20:], return_std=True))
    means, sds = (np.stack([part[i] for part in parts]) for i in (0, 1))
    p = comparison.probabilities[:, None]
    assert comparison.probabilities.min() > 0.01  # both kernels have a say
    np.testing.assert_allclose(mean, (p * means).sum(axis=0), atol=2e-3)
    expected = (p * (sds**2 + means**2)).sum(axis=0) - (p * means).sum(axis=0) ** 2
    np.testing.assert_allclose(std, np.sqrt(expected), rtol=5e-3)


def test_two_classes_are_those_of_the_fully_bayesian_classifier():
    X, y = classes(count=2)
    prior = HyperPrior(Normal(0.0, 3.0), Normal(0.0, 3.0), Normal(0.3, 1.0))
    ours = AveragedLSSVC([RBF(1.0)], prior=prior).fit(X, y)
    other = FullyBayesianLSSVC(RBF(1.0), prior=prior).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=2e-3)
    moved = ours.predict_proba(X, class_prior=[0.8, 0.2])
    odds = np.log(moved[:, 1] / moved[:, 0]) - np.log(ours.predict_proba(X)[:, 1] / ours.predict_proba(X)[:, 0])
    frequencies = ours.training_frequencies_
    np.testing.assert_allclose(odds, np.log(0.25) - np.log(frequencies[1] / frequencies[0]), atol=1e-9)


def test_leave_one_out_densities_are_ratios_of_evidences():
    """p(y_i | y_−i) = p(y)/p(y_−i), both by quadrature; nothing is held."""
    X, y = regression(14)
    for kernel, tolerance in ((Linear(), 1e-5), (RBF(1.0), 5e-3)):
        found = kernel_evidence(as_problem(X, y), kernel, prior=PRIOR, progress=False)
        problem = as_problem(X, y)
        densities = left_out_log_densities(problem, found, KernelMixture.of(problem, found))
        for i in (0, 5, 13):
            rest = np.delete(np.arange(14), i)
            without = kernel_evidence(as_problem(X[rest], y[rest]), kernel, prior=PRIOR, progress=False)
            assert densities[i] == pytest.approx(found.log_evidence - without.log_evidence, abs=tolerance)


def test_stacking_weights_are_the_maximum():
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(50, 4)) - np.array([0.0, 0.3, 0.1, 5.0])

    def score(weights):
        return float(np.log(np.exp(logs) @ weights).mean())

    found = stacking_weights(logs)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found >= 0.0).all()
    best = minimize(
        lambda w: -score(w),
        np.full(4, 0.25),
        bounds=[(0.0, 1.0)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert score(found) >= -best.fun - 1e-6
    assert score(found) > max(score(e) for e in np.eye(4))
    one = stacking_weights(np.column_stack([logs[:, 0], logs[:, 0] - 1.0]))
    assert one[0] == pytest.approx(1.0, abs=1e-4)


def test_stacked_weights_maximise_the_leave_one_out_score():
    X, y = classes()
    comparison = compare(X, y, ["linear", "poly2", "rbf"], progress=False)
    stacked = comparison.stack()
    problem = comparison.problem
    logs = np.stack([np.log(mix.left_out_probabilities()) for mix in stacked.mixtures_])[
        :, np.arange(len(y)), problem.y
    ]
    mixed = np.log((stacked.kernel_weights_[:, None] * np.exp(logs)).sum(axis=0)).mean()
    assert mixed >= logs.mean(axis=1).max() - 1e-7
    assert stacked.predict_proba(X).shape == (45, 3)
    np.testing.assert_allclose(stacked.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("weights", ["evidence", "stacking"])
def test_models_come_back_from_files(weights, tmp_path):
    X, y = classes()
    model = AveragedLSSVC(["linear", RBF(1.0)], weights=weights).fit(X, y)
    again = load(save(model, tmp_path / "classes.npz"))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.kernels_ == model.kernels_
    assert again.get_params()["kernels"] == ["linear", RBF(1.0)]
    X, y = regression()
    model = compare(X, y, ["linear", "rbf"], progress=False).average()
    again = load(model.save(tmp_path / "numbers.npz"))
    for ours, theirs in zip(again.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [({"weights": "votes"}, "weights must be one of evidence, stacking"), ({"kernels": "rbf"}, "must be a list")],
)
def test_settings_that_make_no_sense_get_a_sentence(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        AveragedLSSVR(**settings).fit(*regression())


def test_maximised_kernels_are_not_averaged():
    found = compare(*regression(), ["linear"], kernel_parameters="maximised", progress=False)
    with pytest.raises(ValueError, match="not averaged"):
        found.average()
    with pytest.raises(ValueError, match="have no prior"):
        found.prior_sensitivity()
