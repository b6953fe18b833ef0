"""`partial_fit` against a fit to all rows with the same hyperparameters."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import LSSVC, LSSVR, BayesianLSSVC, BayesianLSSVR, load
from bayes_lssvm.datasets import load as load_data
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior
from bayes_lssvm.levels.logistic_map import LogisticMap

N = 60


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2)) * [1.0, 40.0] + 5.0
    return X, np.sin(X[:, 0]) + 3.0 + 0.2 * rng.normal(size=N), rng.normal(size=(7, 2)) * [1.0, 40.0] + 5.0


def in_parts(model, X, y, *, first=40, **options):
    model.fit(X[:first], y[:first])
    for rows in (slice(first, first + 1), slice(first + 1, len(X))):
        own = {name: values[rows] for name, values in options.items()}
        assert model.partial_fit(X[rows], y[rows], **own) is model
    return model


def posterior_of_all(model, X, targets):
    """A fit to all rows with the model's hyperparameters and scales."""
    Z = model.standardiser_(X)
    K = model.kernel_(Z)
    return DualPosterior.from_kernel_matrix(model.kernel_, Z, K, targets, mu=model.mu_, zeta=model.zeta_), K


def test_the_bayesian_regressor_equals_a_fit_to_all_rows_with_its_hyperparameters():
    X, y, new = data()
    model = in_parts(BayesianLSSVR(), X, y)
    held = BayesianLSSVR().fit(X[:40], y[:40])
    assert (model.kernel_, model.mu_, model.zeta_) == (held.kernel_, held.mu_, held.zeta_)
    whole, _ = posterior_of_all(model, X, y)
    at = model.standardiser_(new)
    mean, std = model.predict(new, return_std=True)
    expected, variance = whole.latent_moments(at)
    np.testing.assert_allclose(mean, expected, atol=1e-8)
    np.testing.assert_allclose(std, np.sqrt(variance + 1.0 / model.zeta_), atol=1e-8)
    np.testing.assert_allclose(model.alpha_, whole.alpha, atol=1e-8)
    plain = LSSVR(model.kernel_, model.gamma_, standardise=False).fit(model.standardiser_(X), y)
    np.testing.assert_allclose(model.predict_interval(new), plain.predict_interval(at), atol=1e-8)
    assert model.level3_ == held.level3_
    assert len(model.X_fit_) == len(model.y_fit_) == N


def test_intervals_after_new_rows_are_of_all_rows():
    X, y, new = data()
    model = BayesianLSSVR().fit(X[:40], y[:40])
    before = model.predict_interval(new, method="marginal")
    model.partial_fit(X[40:], y[40:])
    assert not np.allclose(before, model.predict_interval(new, method="marginal"))


def test_several_outputs_take_new_rows():
    X, y, new = data()
    Y = np.column_stack([y, X[:, 0] + 0.1 * np.random.default_rng(5).normal(size=N)])
    model = in_parts(BayesianLSSVR(), X, Y)
    for k in range(2):
        output = model.outputs_[k]
        Z = model.standardiser_(X)
        whole = DualPosterior.from_kernel_matrix(
            model.kernel_, Z, model.kernel_(Z), Y[:, k], mu=output.mu_, zeta=output.zeta_
        )
        np.testing.assert_allclose(model.predict(new)[:, k], whole.latent_mean(model.standardiser_(new)), atol=1e-8)
    assert model.alpha_.shape == model.y_fit_.shape == (N, 2)


def test_the_bayesian_classifier_has_probabilities_by_the_map_of_all_rows():
    X, y, new = data()
    signs = np.where(y > 3.0, 1.0, -1.0)
    model = in_parts(BayesianLSSVC(), X, signs)
    whole, K = posterior_of_all(model, X, signs)
    np.testing.assert_allclose(model.latent(new), whole.latent_mean(model.standardiser_(new)), atol=1e-8)
    loo = LogisticMap.fit(*whole.left_out_moments(signs), signs)
    np.testing.assert_allclose(list(vars(model.loo_map_).values()), list(vars(loo).values()), atol=1e-7)
    z, variance = whole.latent_moments(model.standardiser_(new))
    odds = loo.log_odds(z, variance)
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], 1.0 / (1.0 + np.exp(-odds)), atol=1e-8)
    centres = ClassCentres.from_posterior(whole, signs, model.gamma_eff_, K)
    np.testing.assert_allclose(model.centres_.projected_mean, centres.projected_mean, atol=1e-8)
    np.testing.assert_allclose(
        [m.variance for m in model.centres_.moments(model.posterior_, model.standardiser_(new))],
        [m.variance for m in centres.moments(whole, model.standardiser_(new))],
        atol=1e-8,
    )
    np.testing.assert_allclose(model.training_frequencies_[1], np.mean(signs > 0))


def test_the_members_of_several_classes_take_the_rows_of_their_classes():
    iris = load_data("iris")
    order = np.random.default_rng(0).permutation(150)
    X, y = iris.data[order], iris.target[order]
    model = in_parts(BayesianLSSVC("linear"), X, y, first=100)
    several = model.multiclass_
    labels = np.searchsorted(model.classes_, y)
    for bit, member in enumerate(several.members_):
        signs = several.code_book_[labels, bit]
        rows = np.flatnonzero(signs)
        Z = model.standardiser_(X)[rows]
        whole = DualPosterior.from_kernel_matrix(
            member.kernel_, Z, member.kernel_(Z), signs[rows], mu=member.mu_, zeta=member.zeta_
        )
        np.testing.assert_allclose(member.latent(Z), whole.latent_mean(Z), atol=1e-8)
    np.testing.assert_allclose(model.training_frequencies_, np.bincount(labels) / 150)
    assert model.predict_set(X).shape == (150, 3)


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "cg"])
def test_the_plain_estimators_equal_a_fit_to_all_rows(solver):
    X, y, new = data()
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=N)
    model = in_parts(LSSVR("rbf", 7.0, solver=solver, standardise=False), X, np.column_stack([y, -(y**2)]))
    whole = LSSVR("rbf", 7.0, standardise=False).fit(X, np.column_stack([y, -(y**2)]))
    np.testing.assert_allclose(model.predict(new), whole.predict(new), atol=1e-8)
    np.testing.assert_allclose(model.alpha_, whole.alpha_, atol=1e-8)
    labels = np.where(y > 3.0, "b", "a")
    model = in_parts(LSSVC("rbf", 7.0, solver=solver, standardise=False), X, labels, sample_weight=w)
    expected = LSSVC("rbf", 7.0, standardise=False).fit(X, labels, np.append(np.ones(40), w[40:]))
    np.testing.assert_allclose(model.decision_function(new), expected.decision_function(new), atol=1e-8)


def test_weights_of_new_rows():
    X, y, new = data()
    w = np.append(np.ones(40), np.random.default_rng(1).uniform(0.5, 2.0, size=20))
    w[50] = 0.0
    model = in_parts(BayesianLSSVR(), X, y, sample_weight=w)
    kept = w > 0.0
    Z = model.standardiser_(X[kept])
    whole = DualPosterior.from_kernel_matrix(
        model.kernel_, Z, model.kernel_(Z), y[kept], mu=model.mu_, zeta=model.zeta_, weights=w[kept]
    )
    np.testing.assert_allclose(model.predict(new), whole.latent_mean(model.standardiser_(new)), atol=1e-8)


def test_a_first_call_fits():
    X, y, new = data()
    np.testing.assert_array_equal(
        BayesianLSSVR().partial_fit(X, y).predict(new), BayesianLSSVR().fit(X, y).predict(new)
    )
    labels = np.where(y > 3.0, "b", "a")
    first = BayesianLSSVC().partial_fit(X, labels, classes=["a", "b"])
    np.testing.assert_array_equal(first.predict_proba(new), BayesianLSSVC().fit(X, labels).predict_proba(new))


@pytest.mark.filterwarnings("ignore:.*No signal")
@pytest.mark.parametrize("kind", ["regressor", "classifier", "classes"])
def test_a_grown_model_is_kept_by_its_file_and_grows_on(kind, tmp_path):
    X, y, new = data()
    cuts = {"regressor": y, "classifier": np.where(y > 3.0, 1, 0), "classes": np.digitize(y, [2.5, 3.4])}
    model = in_parts(BayesianLSSVR() if kind == "regressor" else BayesianLSSVC(), X[:50], cuts[kind][:50])
    again = load(model.save(tmp_path / "model.npz"))
    for each in (model, again):
        each.partial_fit(X[50:], cuts[kind][50:])
    np.testing.assert_allclose(again.predict(new), model.predict(new), atol=1e-12)
    if kind != "regressor":
        np.testing.assert_allclose(again.predict_proba(new), model.predict_proba(new), atol=1e-12)
        np.testing.assert_array_equal(again.predict_set(new), model.predict_set(new))


@pytest.mark.filterwarnings("ignore:.*No signal")
def test_what_is_wrong_is_a_sentence():
    X, y, _ = data()
    labels = np.where(y > 3.0, "b", "a")
    model = BayesianLSSVC().fit(X, labels)
    with pytest.raises(ValueError, match=r"label 'c' is not one of the classes \['a', 'b'\] .* Fit all rows again"):
        model.partial_fit(X[:1], ["c"])
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:, :1], labels)
    with pytest.raises(ValueError, match="row 0 has -1"):
        model.partial_fit(X[:1], labels[:1], sample_weight=[-1.0])
    with pytest.raises(ValueError, match="no rows of the class 'z': the first rows must contain every class"):
        BayesianLSSVC().partial_fit(X, labels, classes=["a", "b", "z"])
    shared = BayesianLSSVC(shared_kernel=True, coding="ova").fit(X, np.digitize(y, [2.5, 3.4]))
    with pytest.raises(ValueError, match="partial_fit needs LS-SVM members with a kernel each"):
        shared.partial_fit(X[:1], [0])
    with pytest.raises(ValueError, match="The model has one output"):
        BayesianLSSVR().fit(X, y).partial_fit(X[:2], np.ones((2, 2)))
    K = X @ X.T / 1000.0
    with pytest.raises(ValueError, match='partial_fit needs inputs, and with kernel="precomputed" there are none'):
        LSSVR("precomputed").fit(K, y).partial_fit(K, y)
