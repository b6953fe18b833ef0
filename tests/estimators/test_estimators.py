"""The four estimators: scikit-learn's contract, the numbers of section 7.1, decisions, invariances, composition."""

from __future__ import annotations

import io
import json
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.utils.estimator_checks import check_estimator

import bayes_lssvm
from bayes_lssvm import LSSVC, LSSVR, BayesianLSSVC, BayesianLSSVR, BayesLSSVMWarning, __version__, datasets
from bayes_lssvm.kernels import ARD, RBF, Kernel, Linear, Polynomial
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.level2_posterior import most_probable
from bayes_lssvm.linalg.spectrum import CentredSpectrum

CLASSIFIERS = (LSSVC, BayesianLSSVC)
REGRESSORS = (LSSVR, BayesianLSSVR)
MODERATIONS = ("loo", "class", "target", "softmax")


@pytest.fixture(scope="module")
def ripley_raw():
    """Ripley's data with the labels of the file, 0 and 1."""
    data = datasets.load("ripley")
    return data.data, data.target, data.test_data, data.test_target


@pytest.fixture(scope="module")
def designed(ripley_raw):
    """The classifier of section 7.1, without the Occam factor and with it."""
    X, y, _, _ = ripley_raw
    return {occam: BayesianLSSVC(occam=occam, prior="flat", moderation="class").fit(X, y) for occam in (False, True)}


@pytest.fixture(scope="module")
def default(ripley_raw):
    """The classifier with nothing named."""
    X, y, _, _ = ripley_raw
    return BayesianLSSVC().fit(X, y)


@pytest.fixture(scope="module")
def waves():
    """A smooth surface with noise: X, y, N = 100."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=100)


def targets_for(estimator, waves):
    X, y = waves
    return X, (y > 0).astype(int) if isinstance(estimator, CLASSIFIERS) else y


def output(estimator, X):
    """The continuous output: log odds or latent value of a classifier, mean of a regressor."""
    return estimator.decision_function(X) if isinstance(estimator, CLASSIFIERS) else estimator.predict(X)


# --- scikit-learn's contract ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")  # the checks fit noise and separable classes
@pytest.mark.parametrize(
    "estimator",
    [
        LSSVC(),
        LSSVR(),
        BayesianLSSVC(),
        BayesianLSSVR(),
        LSSVC("linear", solver="cg"),
        LSSVC("poly3", gamma=0.1, solver="spectral"),
        LSSVR("rbf", gamma=100.0, solver="cg"),
        LSSVR("poly2", solver="spectral", standardise=False),
        BayesianLSSVC("linear", occam=False),
        BayesianLSSVC(moderation="target", refine=False),
        BayesianLSSVC(moderation="softmax", refine=False, standardise=False),
        BayesianLSSVC("poly2", class_prior="equal", refine=False),
        BayesianLSSVR("poly2", refine=False, occam=False),
        BayesianLSSVR("ard", refine=False, prior_sd=(2.0, 5.0)),
        BayesianLSSVR("linear", standardise=False),
    ],
    ids=str,
)
def test_estimator_passes_the_checks_of_scikit_learn(estimator):
    # by the papers' rule repeated rows are measurements of ζ, which weights are not
    papers = {"check_sample_weight_equivalence_on_dense_data"} if getattr(estimator, "occam", True) is False else set()
    results = check_estimator(
        estimator, on_skip=None, on_fail=None, expected_failed_checks=dict.fromkeys(papers, "papers' rule")
    )
    assert len(results) > 50
    failed = [(r["check_name"], repr(r["exception"])) for r in results if r["status"] == "failed"]
    assert not failed
    # The array API is not asked for, and nothing else may be left out.
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input", *papers}


@pytest.mark.parametrize("estimator", [LSSVC(), LSSVR(), BayesianLSSVC(), BayesianLSSVR()], ids=str)
def test_fit_returns_self_and_sets_the_attributes_of_every_estimator(estimator, waves):
    X, y = targets_for(estimator, waves)
    assert estimator.fit(X, y) is estimator
    assert isinstance(estimator.kernel_, Kernel)
    assert isinstance(estimator.intercept_, float)
    assert estimator.alpha_.shape == (100,)
    assert estimator.alpha_.dtype == np.float64
    assert estimator.alpha_.sum() == pytest.approx(0.0, abs=1e-10)  # eq 2.19, first row
    assert estimator.n_features_in_ == 2
    if isinstance(estimator, CLASSIFIERS):
        np.testing.assert_array_equal(estimator.classes_, [0, 1])
    else:
        assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize(
    "estimator",
    [
        BayesianLSSVC(),
        BayesianLSSVR(),
        BayesianLSSVR(occam=False),
        BayesianLSSVC(prior="flat"),
        BayesianLSSVR(prior="flat"),
    ],
    ids=str,
)
def test_evidence_attributes_hold_what_their_names_say(estimator, waves):
    X, y = targets_for(estimator, waves)
    model = estimator.fit(X, y)
    scalars = ["mu_", "zeta_", "gamma_", "gamma_eff_", "log_evidence_", "log_occam_factor_"]
    if isinstance(model, BayesianLSSVC):
        scalars.append("zeta_star_")
    for name in scalars:
        assert isinstance(getattr(model, name), float), name
        assert np.isfinite(getattr(model, name)), name
    assert model.mu_ > 0
    assert model.zeta_ > 0
    assert model.gamma_ == pytest.approx(model.zeta_ / model.mu_, rel=1e-14)
    assert 1.0 < model.gamma_eff_ < 100
    assert model.log_occam_factor_ <= 0.0
    assert set(model.hyper_std_) >= {"log_mu", "log_zeta", "log_mu_hessian", "log_zeta_hessian"}
    # below 5.2: σ²_logμ|D = 2/(γ_eff − 1), σ²_logζ|D = 2/(N − γ_eff)
    assert model.hyper_std_["log_mu"] == pytest.approx(np.sqrt(2 / (model.gamma_eff_ - 1)), rel=1e-10)
    assert model.hyper_std_["log_zeta"] == pytest.approx(np.sqrt(2 / (100 - model.gamma_eff_)), rel=1e-10)
    assert model.hyper_std_["log_mu_hessian"] > 0
    assert model.hyper_std_["log_zeta_hessian"] > 0
    level3 = model.level3_
    if model.has_prior:
        prior = default_prior(model.kernel_, model.X_fit_, model.y_fit_, classes=isinstance(model, BayesianLSSVC))
        reduction = CentredSpectrum.from_kernel_matrix(model.kernel_(model.X_fit_), model.y_fit_)
        best = most_probable(reduction, prior.mu, prior.zeta)
        assert best.has_mode
        assert (model.mu_, model.zeta_) == pytest.approx((best.level2.mu, best.level2.zeta), rel=1e-6)
        assert model.log_evidence_ == pytest.approx(best.log_evidence, abs=1e-8)
    else:
        assert model.log_evidence_ == (level3.log_evidence if model.occam else level3.log_evidence_without_occam)
    assert level3.log_evidence - level3.log_evidence_without_occam == pytest.approx(model.log_occam_factor_)


def test_zeta_star_is_the_precision_of_the_errors_around_the_projected_class_centres(ripley_raw, designed):
    """ζ_* = (N − γ_eff)/Σ e²_{i,•} with e_{i,•} = wᵀ(φ(x_i) − m̂_•), from the outputs alone (text below 3.13)."""
    X, y, _, _ = ripley_raw
    model = designed[True]
    z = model.latent(X)
    scatter = sum(np.sum((z[y == c] - z[y == c].mean()) ** 2) for c in (0, 1))
    assert model.zeta_star_ == pytest.approx((len(y) - model.gamma_eff_) / scatter, rel=1e-9)


@pytest.mark.parametrize("gamma", [0.01, 1.0, 1e4])
@pytest.mark.parametrize("kernel", ["linear", "poly3", "rbf"])
def test_the_three_solvers_give_one_classifier(kernel, gamma, ripley_raw):
    X, y, X_test, _ = ripley_raw
    fits = [LSSVC(kernel, gamma, solver=solver).fit(X, y) for solver in ("cholesky", "spectral", "cg")]
    reference = fits[0].decision_function(X_test)
    for other in fits[1:]:
        np.testing.assert_allclose(other.decision_function(X_test), reference, rtol=0, atol=1e-7)


def test_the_plain_classifier_is_the_kernel_expansion(ripley_raw):
    """f(x) = Σ α_i K(x, x_i) + b (2.22 without the y_i of the print), α = γe."""
    X, y, X_test, _ = ripley_raw
    model = LSSVC(RBF(1.3), gamma=1.7, standardise=False).fit(X, y)
    expansion = RBF(1.3)(X_test, X) @ model.alpha_ + model.intercept_
    np.testing.assert_allclose(model.decision_function(X_test), expansion, rtol=1e-12, atol=1e-12)
    errors = np.where(y == 1, 1.0, -1.0) - model.decision_function(X)
    np.testing.assert_allclose(model.alpha_, 1.7 * errors, rtol=0, atol=1e-11)


def test_the_designed_classifier_is_the_plain_one_at_the_designed_gamma(ripley_raw, designed):
    X, y, X_test, _ = ripley_raw
    model = designed[False]
    plain = LSSVC(model.kernel_, model.gamma_).fit(X, y)
    np.testing.assert_allclose(plain.decision_function(X_test), model.latent(X_test), rtol=0, atol=1e-10)


# --- section 7.1 of paper 0 ----------------------------------------------------------------------------------------


def unbalanced(X, y):
    """The test set of section 7.1 with every negative three times: 1500 against 500."""
    negative = y == 0
    return np.vstack([X, X[negative], X[negative]]), np.concatenate([y, y[negative], y[negative]])


@pytest.mark.parametrize(
    ("occam", "sigma", "mu", "zeta"), [(False, 1.3111, 1.667, 2.741), (True, 1.3283, 1.639, 2.738)]
)
def test_ripley_hyperparameters(occam, sigma, mu, zeta, designed):
    """Without the Occam factor and by eq 5.3 (errata to section 7.1)."""
    model = designed[occam]
    assert model.kernel_.sigma == pytest.approx(sigma, abs=5e-5)
    assert model.mu_ == pytest.approx(mu, abs=1e-3)
    assert model.zeta_ == pytest.approx(zeta, abs=1e-3)


@pytest.mark.parametrize(("occam", "correct"), [(False, 906), (True, 907)])
def test_ripley_accuracy_by_sign_and_by_moderated_output(occam, correct, ripley_raw, designed):
    _, _, X_test, y_test = ripley_raw
    model = designed[occam]
    assert int(np.sum((model.latent(X_test) > 0) == (y_test == 1))) == correct
    assert int(np.sum(model.predict(X_test) == y_test)) == correct


@pytest.mark.parametrize(("occam", "ignoring"), [(False, 0.909), (True, 0.9095)])
@pytest.mark.parametrize("form", ["at predict", "as a parameter", "as a mapping"])
def test_ripley_unbalanced_accuracy_rises_with_the_class_prior(occam, ignoring, form, ripley_raw, designed):
    X, y, *test = ripley_raw
    X_test, y_test = unbalanced(*test)
    model = designed[occam]
    assert model.score(X_test, y_test) == pytest.approx(ignoring, abs=1e-12)
    if form == "at predict":
        labels = model.predict(X_test, class_prior=[0.75, 0.25])
    else:
        prior = [0.75, 0.25] if form == "as a parameter" else {1: 0.25, 0: 0.75}
        settings = {"refine": False, "prior": "flat", "moderation": "class"}
        again = BayesianLSSVC(model.kernel_, class_prior=prior, **settings).fit(X, y)
        labels = again.predict(X_test)
    assert np.mean(labels == y_test) == pytest.approx(0.925, abs=1e-12)


def test_ripley_evidence_is_that_of_equation_5_2(designed):
    """The table of Laplace against quadrature: eq 5.2 at σ = 1.311 and for the linear kernel, and with σ free."""
    comparison = designed[True].compare(["linear", RBF(1.311)], refine=False, progress=False)
    assert comparison.candidates[0].log_evidence == pytest.approx(-256.475 - 0.037, abs=2e-3)
    assert comparison.candidates[1].log_evidence == pytest.approx(-275.127 + 0.067, abs=2e-3)


def test_compare_ranks_kernels_as_their_own_fits_do(ripley_raw, designed, default):
    X, y, _, _ = ripley_raw
    for model in (*designed.values(), default):
        comparison = model.compare(["linear", "rbf", "poly2"], kernel_parameters="maximised", progress=False)
        kinds = [type(candidate.kernel) for candidate in comparison]
        assert kinds == [RBF, Polynomial, Linear]
        assert comparison.best.log_evidence == pytest.approx(model.log_evidence_, abs=1e-6)
        own = BayesianLSSVC("linear", occam=model.occam, prior=model.prior).fit(X, y)
        assert comparison.candidates[2].log_evidence == pytest.approx(own.log_evidence_, abs=1e-9)
        assert comparison.log_bayes_factors[0, 2] == pytest.approx(model.log_evidence_ - own.log_evidence_, abs=1e-6)
        assert comparison.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
        assert comparison.rows()[2]["evidence_for_best"] == "very strong"
        kind = "by Laplace's method" if model.has_prior else "with the" if model.occam else "without the"
        assert f"log evidence {kind}" in str(comparison)


def test_compare_follows_prior_probabilities_of_the_kernels(designed):
    model = designed[True]
    kernels = [RBF(1.3), RBF(1.4)]
    equal = model.compare(kernels, refine=False, progress=False)
    skewed = model.compare(kernels, refine=False, progress=False, prior_probabilities=[0.2, 0.8])
    odds = {c.kernel: p for c, p in zip(skewed, skewed.probabilities, strict=True)}
    before = {c.kernel: p for c, p in zip(equal, equal.probabilities, strict=True)}
    ratio = (odds[RBF(1.4)] / odds[RBF(1.3)]) / (before[RBF(1.4)] / before[RBF(1.3)])
    assert ratio == pytest.approx(4.0, rel=1e-10)


def test_compare_works_on_a_regressor(waves):
    X, y = waves
    model = BayesianLSSVR().fit(X, y)
    comparison = model.compare(["rbf", "linear"], kernel_parameters="maximised", progress=False)
    assert isinstance(comparison.best.kernel, RBF)
    assert comparison.best.log_evidence == pytest.approx(model.log_evidence_, abs=1e-6)
    integrated = model.compare(["rbf", "linear"], progress=False)
    assert isinstance(integrated.best.kernel, RBF)
    assert integrated.best.evidence.prior == default_prior(RBF(1.0), model.X_fit_, y, classes=False)


# --- probabilities and decisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("moderation", MODERATIONS)
def test_predict_agrees_with_probabilities_and_with_the_decision_function(moderation, ripley_raw, designed):
    X, y, X_test, _ = ripley_raw
    model = BayesianLSSVC(designed[True].kernel_, refine=False, moderation=moderation).fit(X, y)
    P, decision, labels = model.predict_proba(X_test), model.decision_function(X_test), model.predict(X_test)
    assert P.shape == (1000, 2)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(labels, model.classes_[P.argmax(axis=1)])
    np.testing.assert_array_equal(labels, model.classes_[(decision > 0).astype(int)])
    np.testing.assert_allclose(decision, np.log(P[:, 1]) - np.log(P[:, 0]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("moderation", MODERATIONS)
@pytest.mark.parametrize("costs", [[[0, 1], [1, 0]], [[0, 8], [1, 0]], [[-1, 3], [2, 0.5]]])
def test_predict_has_the_least_expected_cost(costs, moderation, ripley_raw, designed):
    """Section 6.2 with costs: the decision j of the least Σ_i P(i | x) c_ij."""
    X, y, X_test, _ = ripley_raw
    model = BayesianLSSVC(designed[True].kernel_, refine=False, moderation=moderation, costs=costs).fit(X, y)
    expected = model.predict_proba(X_test) @ np.asarray(costs, dtype=float)
    np.testing.assert_array_equal(model.predict(X_test), model.classes_[expected.argmin(axis=1)])
    without = BayesianLSSVC(designed[True].kernel_, refine=False, moderation=moderation).fit(X, y)
    np.testing.assert_array_equal(without.predict(X_test, costs=costs), model.predict(X_test))
    np.testing.assert_allclose(without.predict_proba(X_test), model.predict_proba(X_test), rtol=0, atol=0)


@pytest.mark.parametrize("moderation", MODERATIONS)
def test_a_class_prior_moves_the_log_odds_by_its_own(moderation, ripley_raw, designed):
    """3.17: P(y | x) ∝ P(y) p(x | y), so the prior adds to the log odds and to nothing else."""
    X, y, X_test, _ = ripley_raw
    model = BayesianLSSVC(designed[True].kernel_, refine=False, moderation=moderation).fit(X, y)
    shift = model.decision_function(X_test, class_prior={0: 0.9, 1: 0.1}) - model.decision_function(X_test)
    np.testing.assert_allclose(shift, np.log(0.1 / 0.9), rtol=1e-10)  # the training set has 125 of each


def test_probabilities_are_calibrated_on_ripleys_test_set(ripley_raw, designed):
    """Within three standard errors in each of five bins of 200 points."""
    _, _, X_test, y_test = ripley_raw
    P = designed[True].predict_proba(X_test)[:, 1]
    for block in np.array_split(np.argsort(P, kind="stable"), 5):
        error = np.sqrt(np.sum(P[block] * (1 - P[block]))) / len(block)
        assert abs(np.mean(y_test[block] == 1) - P[block].mean()) < 3 * error


def test_the_log_score_of_ripleys_test_set_is_that_of_the_papers_form_or_better(ripley_raw, designed, default):
    """Within the standard error of their difference."""
    _, _, X_test, y_test = ripley_raw
    scores = [np.log(model.predict_proba(X_test)[np.arange(1000), y_test]) for model in (designed[True], default)]
    gain = scores[1] - scores[0]
    assert gain.mean() > -gain.std(ddof=1) / np.sqrt(1000)


@pytest.mark.parametrize(
    ("first", "second"),
    [("no", "yes"), (False, True), (0, 1), (-1, 1), (1, 2), (3.0, 7.0), ("A", "a"), (10, 9), ("z", "b"), (True, False)],
)
@pytest.mark.parametrize("estimator", [LSSVC("rbf"), BayesianLSSVC("rbf", refine=False)], ids=["LSSVC", "Bayesian"])
def test_any_two_labels_give_the_same_classifier(estimator, first, second, ripley_raw):
    X, y, X_test, _ = ripley_raw
    reference = clone(estimator).fit(X, y)
    labels = np.where(y == 1, second, first)
    model = clone(estimator).fit(X, labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    assert model.classes_.dtype == labels.dtype
    expected = np.where(reference.predict(X_test) == 1, second, first)
    np.testing.assert_array_equal(model.predict(X_test), expected)
    in_order = first < second
    if isinstance(model, BayesianLSSVC):
        columns = [0, 1] if in_order else [1, 0]
        np.testing.assert_allclose(
            model.predict_proba(X_test)[:, columns], reference.predict_proba(X_test), rtol=0, atol=1e-10
        )
    sign = 1.0 if in_order else -1.0
    np.testing.assert_allclose(
        model.decision_function(X_test), sign * reference.decision_function(X_test), rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("container", [list, pd.Series, lambda v: np.array(v, dtype=object), pd.Categorical])
def test_text_labels_in_other_containers(container, ripley_raw):
    X, y, X_test, _ = ripley_raw
    model = BayesianLSSVC(refine=False).fit(X, container(["ill" if v else "fit" for v in y]))
    assert list(model.classes_) == ["fit", "ill"]
    assert set(model.predict(X_test)) == {"fit", "ill"}


# --- containers and composition ------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [LSSVC(), LSSVR(), BayesianLSSVC(), BayesianLSSVR()], ids=str)
def test_a_data_frame_is_the_array_with_names(estimator, waves):
    X, y = targets_for(estimator, waves)
    frame = pd.DataFrame(X, columns=["width", "height"])
    from_array, from_frame = clone(estimator).fit(X, y), clone(estimator).fit(frame, pd.Series(y))
    assert list(from_frame.feature_names_in_) == ["width", "height"]
    assert not hasattr(from_array, "feature_names_in_")
    # a frame is stored by columns, so that sums may be rounded otherwise
    np.testing.assert_allclose(output(from_frame, frame), output(from_array, X), rtol=0, atol=1e-10)
    with pytest.raises(
        ValueError, match=r"feature names should match those that were passed during fit.*\n.*\n- depth"
    ):
        from_frame.predict(frame.rename(columns={"height": "depth"}))
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        from_frame.predict(frame[["height", "width"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        from_frame.predict(X)


@pytest.mark.parametrize(
    "estimator",
    [
        LSSVC(ARD((1.0, 2.0)), 3.0, solver="spectral", standardise=False),
        LSSVR(RBF(0.7) + 0.5 * Linear(), 3.0, solver="cg"),
        BayesianLSSVC(Polynomial(2), refine=False, occam=False, class_prior={0: 0.3, 1: 0.7}, costs=[[0, 1], [2, 0]]),
        BayesianLSSVR(RBF(0.7) * Linear(), refine=False, prior_sd=(2.0, 4.0), random_state=7),
    ],
    ids=["LSSVC", "LSSVR", "BayesianLSSVC", "BayesianLSSVR"],
)
def test_clone_pickle_and_joblib_keep_everything(estimator, waves):
    X, y = targets_for(estimator, waves)
    model = estimator.fit(X, y)
    twin = clone(model)
    assert not hasattr(twin, "alpha_")
    assert {k: repr(v) for k, v in twin.get_params().items()} == {k: repr(v) for k, v in model.get_params().items()}
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(stream), twin.fit(X, y)):
        np.testing.assert_array_equal(output(copy, X), output(model, X))
        assert copy.kernel_ == model.kernel_


def test_set_params_changes_what_fit_does(waves):
    X, y = targets_for(BayesianLSSVC(), waves)
    model = BayesianLSSVC().set_params(kernel="linear", occam=False).fit(X, y)
    assert model.kernel_ == Linear()
    assert model.log_evidence_ == model.level3_.log_evidence_without_occam


def test_a_pipeline_ends_in_the_estimator(waves):
    X, y = waves
    expanded = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    pipeline = make_pipeline(PolynomialFeatures(2, include_bias=False), BayesianLSSVR("linear"))
    pipeline.fit(X, y)
    direct = BayesianLSSVR("linear").fit(expanded, y)
    mean, std = pipeline.predict(X, return_std=True)
    for got, wanted in zip((mean, std), direct.predict(expanded, return_std=True), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_grid_search_over_kernels_and_gamma(ripley_raw):
    X, y, X_test, y_test = ripley_raw
    grid = {"kernel": ["linear", "poly3", RBF(0.1), RBF(1.3)], "gamma": [0.01, 1.0, 1000.0]}
    search = GridSearchCV(LSSVC(), grid, cv=StratifiedKFold(5, shuffle=True, random_state=0)).fit(X, y)
    assert len(search.cv_results_["params"]) == 12
    assert search.best_params_["kernel"] == RBF(1.3)
    assert search.score(X_test, y_test) > 0.9


def test_cross_validation_of_every_estimator(waves):
    for estimator in (LSSVC(), LSSVR(), BayesianLSSVC(), BayesianLSSVR()):
        X, y = targets_for(estimator, waves)
        scores = cross_val_score(estimator, X, y, cv=4)
        assert scores.shape == (4,)
        assert np.all(scores > 0.6)


def test_a_plain_classifier_can_be_calibrated_by_scikit_learn(ripley_raw):
    X, y, X_test, y_test = ripley_raw
    shuffled = StratifiedKFold(3, shuffle=True, random_state=0)
    model = CalibratedClassifierCV(LSSVC(gamma=2.0), cv=shuffled).fit(X, y)
    P = model.predict_proba(X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert model.score(X_test, y_test) > 0.89


@pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")  # setosa is separable, so level 2 interpolates
def test_more_classes_by_a_wrapper():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"3 classes.*MulticlassLSSVC"):
        LSSVC().fit(X, y)
    rows = np.arange(len(y)) % 3 != 0
    model = OneVsOneClassifier(BayesianLSSVC()).fit(X[rows], y[rows])
    assert len(model.estimators_) == 3
    assert model.score(X[~rows], y[~rows]) > 0.93


# --- determinism and invariances -----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [LSSVC(), LSSVR(), BayesianLSSVC(), BayesianLSSVR("ard")], ids=str)
def test_two_fits_are_equal_to_the_last_bit(estimator, waves):
    X, y = targets_for(estimator, waves)
    one, two = clone(estimator).fit(X, y), clone(estimator).fit(X, y)
    np.testing.assert_array_equal(one.alpha_, two.alpha_)
    assert one.kernel_ == two.kernel_
    np.testing.assert_array_equal(output(one, X), output(two, X))


def test_many_points_are_deterministic_by_random_state():
    """Beyond a few hundred points starts are sifted on a subset that random_state chooses; the optimum is one."""
    X, y = datasets.make_ringnorm(420, seed=1)
    fits = [BayesianLSSVC(random_state=seed).fit(X, y) for seed in (0, 0, 5)]
    assert fits[0].kernel_ == fits[1].kernel_
    np.testing.assert_array_equal(fits[0].alpha_, fits[1].alpha_)
    # the search ends when less than 1e-6 nats are to be had, where a width is known to some 1e-3 of its error bar
    assert fits[2].log_evidence_ == pytest.approx(fits[0].log_evidence_, abs=1e-6)
    assert fits[2].kernel_.sigma == pytest.approx(fits[0].kernel_.sigma, rel=1e-3)


@pytest.mark.parametrize("estimator", [LSSVC(), LSSVR(), BayesianLSSVC(), BayesianLSSVR()], ids=str)
def test_the_order_of_the_rows_does_not_matter(estimator, waves):
    X, y = targets_for(estimator, waves)
    order = np.random.default_rng(0).permutation(len(y))
    one, two = clone(estimator).fit(X, y), clone(estimator).fit(X[order], y[order])
    np.testing.assert_allclose(output(two, X), output(one, X), rtol=0, atol=1e-6)
    np.testing.assert_allclose(two.alpha_, one.alpha_[order], rtol=0, atol=1e-6)
    if hasattr(one, "log_evidence_"):
        assert two.log_evidence_ == pytest.approx(one.log_evidence_, abs=1e-8)


@pytest.mark.parametrize("estimator", [LSSVC(), LSSVR(), BayesianLSSVC(), BayesianLSSVR()], ids=str)
def test_units_and_offsets_of_the_inputs_do_not_matter(estimator, waves):
    """Section 6.1 step 1: inputs are standardised inside."""
    X, y = targets_for(estimator, waves)
    moved = FunctionTransformer(lambda A: A * np.array([1e-6, -1e5]) + np.array([3.0, 1e7])).transform(X)
    one, two = clone(estimator).fit(X, y), clone(estimator).fit(moved, y)
    np.testing.assert_allclose(output(two, moved), output(one, X), rtol=0, atol=1e-6)


def test_the_standard_deviation_of_the_standardisation_is_that_of_n_minus_one(waves):
    X, y = waves
    model = BayesianLSSVR().fit(X, y)
    np.testing.assert_allclose(model.X_fit_, (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), rtol=0, atol=1e-14)
    raw = BayesianLSSVR(standardise=False).fit(X, y)
    np.testing.assert_array_equal(raw.X_fit_, X)


@pytest.mark.parametrize(("scale", "offset"), [(1e6, 0.0), (1e-6, 0.0), (1e6, 1e9), (1.0, -1e3), (1.0, 1e9), (-1.0, 0)])
def test_units_and_offset_of_the_targets_do_not_matter(scale, offset, waves):
    """y ↦ cy + d: f ↦ cf + d, μ ↦ μ/c², ζ ↦ ζ/c² and log p(D) ↦ log p(D) − (N−1) log|c|."""
    X, y = waves
    one, two = BayesianLSSVR().fit(X, y), BayesianLSSVR().fit(X, scale * y + offset)
    # what the targets lose to rounding at this offset is the only error allowed, with room for its amplification
    loss = max(1e-9, 30 * np.spacing(abs(offset)) / abs(scale))
    assert two.kernel_.sigma == pytest.approx(one.kernel_.sigma, rel=loss)
    assert two.mu_ * scale**2 == pytest.approx(one.mu_, rel=10 * loss)
    assert two.zeta_ * scale**2 == pytest.approx(one.zeta_, rel=10 * loss)
    assert two.log_evidence_ + 99 * np.log(abs(scale)) == pytest.approx(one.log_evidence_, abs=100 * loss)
    (mean, std), (scaled, scaled_std) = one.predict(X, return_std=True), two.predict(X, return_std=True)
    np.testing.assert_allclose((scaled - offset) / scale, mean, rtol=0, atol=10 * loss)
    np.testing.assert_allclose(scaled_std / abs(scale), std, rtol=10 * loss)


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "cg"])
def test_an_offset_of_the_targets_goes_into_the_intercept_of_the_plain_regressor(solver, waves):
    X, y = waves
    one, two = LSSVR(solver=solver).fit(X, y), LSSVR(solver=solver).fit(X, y + 1e6)
    np.testing.assert_allclose(two.alpha_, one.alpha_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(two.predict(X) - 1e6, one.predict(X), rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "kernel",
    [RBF(0.9), Polynomial(3, 3.0), ARD((0.5, 4.0)), RBF(0.5) + 2.0 * Linear()],
    ids=["rbf", "poly", "ard", "sum"],
)
def test_refine_false_takes_the_kernel_as_given(kernel, waves):
    for estimator in (BayesianLSSVC(kernel, refine=False), BayesianLSSVR(kernel, refine=False)):
        model = estimator.fit(*targets_for(estimator, waves))
        assert model.kernel_ == kernel
        assert model.refinement_ is None
        refined = clone(estimator).set_params(refine=True).fit(*targets_for(estimator, waves))
        assert refined.kernel_ != kernel
        assert refined.log_evidence_ > model.log_evidence_
        assert refined.kernel == kernel  # the parameter is left alone


@pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")  # three points never say much
@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("kernel", ["linear", "poly2", "rbf", "ard"])
def test_three_and_four_points_are_enough_to_predict(kernel, n):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(n, 2)), rng.normal(size=(20, 2))
        for y in ([0, 1, 1, 0][:n], [0, 0, 0, 1][-n:]):
            P = BayesianLSSVC(kernel).fit(X, y).predict_proba(new)
            assert np.all((P >= 0) & (P <= 1))
            assert np.all(np.isfinite(LSSVC(kernel).fit(X, y).decision_function(new)))
        mean, std = BayesianLSSVR(kernel).fit(X, rng.normal(size=n)).predict(new, return_std=True)
        assert np.all(np.isfinite(mean))
        assert np.all(std > 0)
        assert np.all(np.isfinite(std))


# --- regression error bars -----------------------------------------------------------------------------------------


def test_error_bars_are_the_variance_of_the_function_and_of_the_noise(waves):
    """√(σ_z² + 1/ζ)."""
    X, y = waves
    model = BayesianLSSVR().fit(X, y)
    new = np.random.default_rng(1).normal(size=(50, 2))
    mean, std = model.predict(new, return_std=True)
    z, sigma_z = model.latent(new, return_std=True)
    np.testing.assert_array_equal(mean, z)
    np.testing.assert_array_equal(mean, model.predict(new))
    np.testing.assert_allclose(std, np.sqrt(sigma_z**2 + 1 / model.zeta_), rtol=1e-12)
    assert np.all(std > 1 / np.sqrt(model.zeta_))


@pytest.mark.parametrize("seed", range(3))
def test_error_bars_cover_new_targets_as_often_as_they_say(seed):
    """95 % intervals on 4000 new targets of a smooth function with noise of standard deviation 0.2, N = 200."""
    rng = np.random.default_rng(seed)

    def draw(n):
        X = rng.uniform(-2, 2, size=(n, 2))
        return X, np.sin(3 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.normal(size=n)

    model = BayesianLSSVR().fit(*draw(200))
    X, y = draw(4000)
    mean, std = model.predict(X, return_std=True)
    assert 0.92 < np.mean(np.abs(y - mean) < 1.96 * std) < 0.98
    assert 1 / np.sqrt(model.zeta_) == pytest.approx(0.2, rel=0.15)


def test_error_bars_grow_away_from_the_data(waves):
    X, y = waves
    _, std = BayesianLSSVR().fit(X, y).predict([[0.0, 0.0], [3.0, 3.0], [50.0, 50.0]], return_std=True)
    assert std[0] < std[1] < std[2]


# --- provenance ----------------------------------------------------------------------------------------------------


def test_provenance_names_data_versions_and_settings(waves):
    X, y = waves
    record = BayesianLSSVR(RBF(0.8), refine=False, prior_sd=(2.0, 3.0), random_state=4).fit(X, y).provenance_
    assert len(record["data_sha256"]) == 64
    assert record["shapes"] == [[100, 2], [100]]
    assert set(record["versions"]) == {"bayes_lssvm", "python", "numpy", "scipy", "scikit-learn"}
    assert record["versions"]["bayes_lssvm"] == __version__
    assert record["settings"]["kernel"] == "RBF(sigma=0.8)"
    assert record["settings"]["refine"] is False
    assert record["settings"]["random_state"] == 4
    assert json.loads(json.dumps(record)) == record


@pytest.mark.parametrize("cls", [BayesianLSSVC, BayesianLSSVR])
def test_provenance_hash_follows_the_data_and_nothing_else(cls, waves):
    X, y = targets_for(cls(), waves)

    def sha(X, y, **params):
        return cls("linear", **params).fit(X, y).provenance_["data_sha256"]

    changed_X, changed_y = X.copy(), y.copy()
    changed_X[17, 1] = np.nextafter(changed_X[17, 1], np.inf)
    changed_y[17] = 1 - changed_y[17]
    assert sha(X, y) == sha(X.copy(), y.tolist(), occam=False)
    assert len({sha(X, y), sha(changed_X, y), sha(X, changed_y), sha(X[:-1], y[:-1])}) == 4


def test_every_warning_of_the_library_can_be_silenced_by_one_class():
    warnings = [getattr(bayes_lssvm, name) for name in bayes_lssvm.__all__ if name.endswith("Warning")]
    assert len(warnings) == 7
    assert all(issubclass(w, BayesLSSVMWarning) for w in warnings)


@pytest.mark.parametrize(("coding", "rows"), [("ovo", [15, 20, 11]), ("ova", [23, 23, 23])])
def test_a_fit_is_announced_by_the_rows_of_each_bit(coding, rows, monkeypatch):
    """Classes of 12, 3 and 8 rows: one against one leaves out those that a code does not care about."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(23, 2)), np.repeat([0, 1, 2], [12, 3, 8])
    said = []
    monkeypatch.setattr("bayes_lssvm.estimators.classifier.announce", lambda n, p, _: said.append((sorted(n), p)))
    monkeypatch.setattr(BayesianLSSVC, "_design_several", lambda *_: None)
    monkeypatch.setattr(BayesianLSSVC, "_design_two", lambda *_: None)
    BayesianLSSVC(RBF(1.0), coding=coding).fit(X, y)
    assert said == [(sorted(rows), 1)]
    BayesianLSSVC(RBF(1.0)).fit(X[:15], y[:15])
    assert said[1] == ([15], 1)
