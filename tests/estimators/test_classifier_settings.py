"""`BayesianLSSVC` and `BayesianLSSVR` with more than two classes, and with kernels chosen by leave-one-out errors."""

from __future__ import annotations

import json
import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator

import bayes_lssvm
from bayes_lssvm import (
    LSSVC,
    BayesianLSSVC,
    BayesianLSSVR,
    ConstantFeatureWarning,
    InterpolationWarning,
    ModelFileError,
    datasets,
)
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.levels.level2 import at_gamma, log_evidence_gradient, optimise
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.multiclass import MulticlassLSSVC
from bayes_lssvm.press.leave_one_out import leave_one_out
from bayes_lssvm.press.selection import select_by_press

CODINGS = ("ovo", "ova", "moc", "ecoc")
DECODINGS = ("bayes", "hamming", "loss")


@pytest.fixture(scope="module")
def three():
    """Three overlapping classes in the plane, named by text, with points to test on."""
    rng = np.random.default_rng(5)
    centres = np.array([[0.0, 0.0], [2.2, 0.3], [0.8, 2.0]])
    labels = np.repeat([0, 1, 2], [50, 40, 60])
    X = centres[labels] * 3.0 + rng.normal(size=(150, 2)) * [3.0, 2.0] + 100.0
    names = np.array(["ash", "beech", "cedar"])[labels]
    train = np.arange(150) % 3 != 0
    return X[train], names[train], X[~train], names[~train]


@pytest.fixture(scope="module")
def relevant():
    """Ninety targets of two inputs among five."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 5))
    return X, np.sin(1.5 * X[:, 0]) + 0.7 * X[:, 1] + 0.4 * rng.normal(size=90)


# --- more than two classes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coding", "decoding"), list(product(CODINGS, DECODINGS)))
def test_more_classes_are_the_multiclass_classifier_on_standardised_inputs(coding, decoding, three):
    X, y, X_test, y_test = three
    model = BayesianLSSVC("linear", coding=coding, decoding=decoding).fit(X, y)
    other = MulticlassLSSVC("linear", coding=coding, decoding=decoding).fit(X, y)
    np.testing.assert_array_equal(model.classes_, ["ash", "beech", "cedar"])
    np.testing.assert_array_equal(model.code_book_, other.code_book_)
    np.testing.assert_allclose(model.decision_function(X_test), other.decision_function(X_test), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X_test), other.predict(X_test))
    assert model.score(X_test, y_test) > 0.7
    assert len(model.members_) == model.code_book_.shape[1]
    assert model.log_evidence_ == pytest.approx(sum(member.log_evidence_ for member in model.members_))
    assert hasattr(model, "predict_proba") == (decoding == "bayes")


def test_probabilities_of_more_classes_follow_priors_and_costs(three):
    X, y, X_test, _ = three
    model = BayesianLSSVC("linear").fit(X, y)
    P = model.predict_proba(X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    prior = {"ash": 0.1, "beech": 0.1, "cedar": 0.8}
    shifted = P / model.training_frequencies_ * [0.1, 0.1, 0.8]
    expected = shifted / shifted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X_test, class_prior=prior), expected, rtol=1e-9)
    costs = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 20.0, 0.0]])
    np.testing.assert_array_equal(model.predict(X_test, costs=costs), model.classes_[np.argmin(P @ costs, axis=1)])
    equal = BayesianLSSVC("linear", class_prior="equal").fit(X, y)
    np.testing.assert_allclose(equal.predict_proba(X_test), model.predict_proba(X_test, class_prior=[1 / 3] * 3))


@pytest.mark.parametrize("settings", [{}, {"coding": "ova", "shared_kernel": True}], ids=["own kernels", "shared"])
def test_outputs_of_the_members_have_error_bars(settings, three):
    X, y, X_test, _ = three
    # members that share a kernel are designed by the papers' rule
    model = BayesianLSSVC(RBF(1.5), refine=False, prior="flat", **settings).fit(X, y)
    z, std = model.latent(X_test, return_std=True)
    np.testing.assert_allclose(model.latent(X_test), z, atol=1e-12)
    inputs = model.standardiser_(X)
    for bit, column in enumerate(model.code_book_.T):
        targets = column[np.searchsorted(model.classes_, y)]
        rows = targets != 0
        alone = BayesianLSSVC(RBF(1.5), refine=False, standardise=False, prior="flat")
        alone.fit(inputs[rows], targets[rows].astype(int))
        expected = alone.latent(model.standardiser_(X_test), return_std=True)
        np.testing.assert_allclose(z[:, bit], expected[0], atol=1e-8)
        np.testing.assert_allclose(std[:, bit], expected[1], atol=1e-8)


def test_two_classes_have_one_member_and_need_no_coding():
    X, y = datasets.load("ripley").Xy
    model = BayesianLSSVC(coding="ecoc", decoding="hamming").fit(X, y)
    plain = BayesianLSSVC().fit(X, y)
    assert model.members_ == [model]
    np.testing.assert_array_equal(model.code_book_, [[-1.0], [1.0]])
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_a_classifier_fitted_again_forgets_the_other_kind(three):
    X, y, _, _ = three
    model = BayesianLSSVC(RBF(1.0), refine=False).fit(X, y)
    assert not hasattr(model, "mu_")
    two = y != "ash"
    model.fit(X[two], y[two])
    assert (model.mu_ > 0, model.relevance_.shape, len(model.members_)) == (True, (2,), 1)
    model.set_params(kernel="linear").fit(X, y)
    assert not any(hasattr(model, name) for name in ("mu_", "posterior_", "relevance_", "centres_"))
    assert not hasattr(clone(model), "members_")


def test_names_of_columns_are_checked_and_used_in_warnings(three):
    X, y, _, _ = three
    frame = pd.DataFrame({"height": X[:, 0], "width": X[:, 1], "same": 1.0})
    with pytest.warns(ConstantFeatureWarning, match="same"):
        model = BayesianLSSVC("linear").fit(frame, y)
    assert model.predict(frame).shape == y.shape
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"width": "breadth"}))


def test_what_is_for_two_classes_says_so(three):
    X, y, _, _ = three
    model = BayesianLSSVC("linear").fit(X, y)
    with pytest.raises(ValueError, match=r"compare is for two classes, and there are 3: bayes_lssvm\.compare"):
        model.compare(["linear", "rbf"])
    with pytest.raises(ValueError, match="discriminant is for two classes, and there are 3"):
        model.discriminant(X)
    with pytest.raises(AttributeError, match="not fitted"):
        BayesianLSSVC().members_  # noqa: B018
    with pytest.raises(AttributeError, match="predict_proba") as caught:
        BayesianLSSVC(decoding="loss").fit(X, y).predict_proba(X)
    assert "gives no probabilities for more than two classes" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"coding": "pairs"}, "coding must be one of"),
        ({"decoding": "vote"}, "decoding must be one of"),
        ({"coding": [[1], [-1]]}, "2 rows, but there are 3 classes"),
        ({"class_prior": [0.5, 0.5]}, "class_prior must be 3 positive probabilities"),
        ({"costs": [[0, 1], [1, 0]]}, "costs must be a 3 × 3 matrix"),
        ({"criterion": "press", "shared_kernel": True}, "each member has its own"),
        ({"criterion": "aic"}, "criterion must be one of evidence, press"),
    ],
)
def test_settings_for_more_classes_are_looked_at_first(settings, words, three):
    X, y, _, _ = three
    with pytest.raises(ValueError, match=words):
        BayesianLSSVC("linear", **settings).fit(X, y)


@pytest.mark.parametrize(
    "settings",
    [{}, {"coding": "ecoc"}, {"criterion": "press"}, {"coding": [[1, -1], [-1, -1], [0, 1]], "decoding": "hamming"}],
    ids=["ovo", "shared design", "press", "own code"],
)
def test_model_files_and_pickles_hold_all_members(settings, three, tmp_path):
    X, y, X_test, _ = three
    model = BayesianLSSVC("linear", **settings).fit(X, y)
    read = bayes_lssvm.load(model.save(tmp_path / "model.npz"))
    for other in (read, pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(other.decision_function(X_test), model.decision_function(X_test), rtol=1e-12)
        np.testing.assert_array_equal(other.predict(X_test), model.predict(X_test))
        assert other.log_evidence_ == model.log_evidence_
        assert [member.gamma_ for member in other.members_] == [member.gamma_ for member in model.members_]
        assert repr(other.get_params()) == repr(model.get_params())


def test_a_model_file_that_lacks_a_member_is_refused(three, tmp_path):
    X, y, _, _ = three
    path = BayesianLSSVC("linear").fit(X, y).save(tmp_path / "model.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    for lost in ("1/alpha", "code_book", "frequencies"):
        np.savez(tmp_path / "part.npz", **{name: array for name, array in arrays.items() if name != lost})
        with pytest.raises(ModelFileError, match="damaged"):
            bayes_lssvm.load(tmp_path / "part.npz")


def test_a_model_file_of_the_first_version_is_still_read(tmp_path):
    X, y = datasets.load("ripley").Xy
    model = BayesianLSSVC("linear").fit(X, y)
    with np.load(model.save(tmp_path / "model.npz")) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays.pop("header")))
    del header["columns"]
    new = ("criterion", "coding", "decoding", "shared_kernel", "n_jobs", "folder")
    header |= {"version": 1, "params": {k: v for k, v in header["params"].items() if k not in new}}
    np.savez(tmp_path / "old.npz", header=np.array(json.dumps(header)), **arrays)
    np.testing.assert_array_equal(bayes_lssvm.load(tmp_path / "old.npz").predict_proba(X), model.predict_proba(X))


# --- kernels chosen by leave-one-out errors ------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["press", "press-br", "press-curvature"])
def test_the_kernel_and_gamma_are_those_of_the_criterion(criterion, relevant):
    X, y = relevant
    model = BayesianLSSVR(criterion=criterion).fit(X, y)
    inputs = Standardiser.fit(X)(X)
    found = select_by_press(RBF(np.sqrt(5.0)), inputs, y, criterion=criterion)
    assert model.kernel_.sigma == pytest.approx(found.kernel.sigma, rel=1e-6)
    assert model.gamma_ == pytest.approx(found.gamma, rel=1e-6)
    assert model.press_.criterion == criterion
    plain = bayes_lssvm.LSSVR(model.kernel_, gamma=model.gamma_).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-8)
    held_out = leave_one_out(model.kernel_(inputs), y, model.gamma_, mu=model.mu_)
    # left-out targets deviate by as much as the model says
    assert np.mean(held_out.residuals**2 / held_out.variances) == pytest.approx(1.0, rel=1e-8)


def test_mu_at_a_given_gamma_is_the_most_probable_one(relevant):
    X, y = relevant
    reduction = CentredSpectrum.from_kernel_matrix(RBF(2.0)(Standardiser.fit(X)(X)), y)
    best = optimise(reduction)
    same = at_gamma(reduction, best.gamma)
    assert (same.mu, same.zeta, same.log_evidence) == pytest.approx((best.mu, best.zeta, best.log_evidence))
    for gamma in (0.01, 1.0, 300.0):
        held = at_gamma(reduction, gamma)
        assert held.zeta / held.mu == pytest.approx(gamma)
        # along log μ with γ held the evidence is stationary: both partial derivatives together
        assert log_evidence_gradient(reduction, held.mu, held.zeta).sum() == pytest.approx(0.0, abs=1e-8)
        assert held.log_evidence <= best.log_evidence
    assert at_gamma(reduction, 1e300).status == "interpolation"


def test_the_laplace_prior_takes_inputs_out_of_the_classifier(relevant):
    X, y = relevant
    model = BayesianLSSVC("ard", criterion="press-laplace").fit(X, np.where(y > 0, "up", "down"))
    gone = np.setdiff1d(np.arange(5), model.columns_)
    assert len(gone) > 0
    assert np.all(model.relevance_[gone] == 0.0)
    assert {0, 1} <= set(model.selected_.tolist()) <= set(model.columns_.tolist())
    assert model.X_fit_.shape == (90, len(model.columns_)) == (90, len(model.kernel_.scales))
    other = X.copy()
    other[:, gone] = 1e3 * np.random.default_rng(0).normal(size=(90, len(gone)))
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))
    changed = X.copy()
    changed[:, 0] += 1.0
    assert not np.allclose(model.predict_proba(changed), model.predict_proba(X))


def test_a_model_without_some_inputs_is_saved_and_read(relevant, tmp_path):
    X, y = relevant
    model = BayesianLSSVC("ard", criterion="press-laplace").fit(X, y > 0)
    read = bayes_lssvm.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(read.relevance_, model.relevance_)
    np.testing.assert_array_equal(read.selected_, model.selected_)


def test_relevance_by_the_evidence_starts_from_the_best_spherical_kernel(relevant):
    X, y = relevant
    spherical, model = BayesianLSSVR().fit(X, y), BayesianLSSVR("ard").fit(X, y)
    assert model.log_evidence_ > spherical.log_evidence_
    np.testing.assert_array_equal(np.sort(np.argsort(-model.relevance_)[:2]), [0, 1])
    np.testing.assert_allclose(model.relevance_, np.square(model.kernel_.scales) ** -1.0)
    assert {0, 1} <= set(model.selected_.tolist())
    np.testing.assert_allclose(spherical.relevance_, spherical.kernel_.sigma**-2.0)
    assert not hasattr(BayesianLSSVR("linear").fit(X, y), "relevance_")


def test_more_classes_by_leave_one_out_errors(three):
    X, y, X_test, y_test = three
    model = BayesianLSSVC(criterion="press").fit(X, y)
    assert all(member.press_ is not None for member in model.members_)
    assert model.score(X_test, y_test) > 0.7
    np.testing.assert_allclose(model.predict_proba(X_test).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"criterion": "gcv"},
            "one of evidence, press, press-br, press-laplace, press-curvature, press-slope, loo",
        ),
        ({"criterion": "press", "refine": False}, "refine=False leaves it nothing to do"),
        ({"criterion": "press-laplace"}, 'needs kernel="ard", not RBF'),
    ],
)
def test_criteria_that_cannot_work_are_refused(settings, words, relevant):
    for estimator, target in ((BayesianLSSVR, relevant[1]), (BayesianLSSVC, relevant[1] > 0)):
        with pytest.raises(ValueError, match=words):
            estimator(**settings).fit(relevant[0], target)


def test_constant_and_repeated_columns_do_no_harm(relevant):
    X, y = relevant
    wide = np.column_stack([X, np.full(90, 3.0), X[:, 0]])
    for criterion in ("evidence", "press", "press-br", "press-laplace"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = BayesianLSSVR("ard", criterion=criterion).fit(wide, y)
        constant = [w for w in caught if issubclass(w.category, ConstantFeatureWarning)]
        assert ["Column 5 of X" in str(w.message) for w in constant] == [True]
        assert 5 not in model.selected_
        assert np.corrcoef(model.predict(wide), y)[0, 1] > 0.8


def test_in_a_pipeline_and_with_one_input(relevant):
    X, y = relevant
    pipe = make_pipeline(MinMaxScaler(), BayesianLSSVC("ard")).fit(X[:, :1], y > 0)
    assert pipe[-1].selected_.tolist() == [0]
    assert isinstance(pipe[-1].kernel_, ARD)


_REPEATS = "check_sample_weight_equivalence_on_dense_data"


@pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")  # the checks fit noise and separable classes
@pytest.mark.parametrize(
    "estimator",
    [
        BayesianLSSVC("linear", coding="ecoc"),
        BayesianLSSVC("linear", coding="ova", decoding="loss"),
        BayesianLSSVC("linear", criterion="press"),
        BayesianLSSVR("linear", criterion="press"),
    ],
    ids=str,
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator):
    # PRESS leaves whole rows out, not one of those that a weight counts
    own = {} if estimator.criterion == "evidence" else {_REPEATS: "rows are counted, not weights"}
    results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=own)
    assert not [(r["check_name"], repr(r["exception"])) for r in results if r["status"] == "failed"]


def test_a_plain_classifier_in_a_code_book(three):
    """What the sentence of `LSSVC` points to."""
    X, y, X_test, y_test = three
    model = MulticlassLSSVC(member=LSSVC("linear"), decoding="loss").fit(X, y)
    assert model.score(X_test, y_test) > 0.7


def test_repeated_rows_that_make_the_evidence_unbounded_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=40) > 0, 1, -1)
    twice, labels = np.vstack([X, X[:15]]), np.concatenate([y, y[:15]])
    with pytest.warns(InterpolationWarning, match="15 of 55 rows repeat another row and its target") as record:
        BayesianLSSVC(RBF(0.3), refine=False, prior="flat").fit(twice, labels)
    assert "prior=None, the default, labels are not mistaken for" in str(record[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesianLSSVC(RBF(0.3), refine=False, occam=False).fit(X, y)
        BayesianLSSVC(RBF(0.3), refine=False).fit(twice, labels)
