"""`marginalise`, `model.marginalise`, `model.trust` and `FullyBayesianLSSVC` lead to the same answers."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import (
    BayesianLSSVC,
    BayesianLSSVR,
    EvidenceSelector,
    FixedSizeLSSVC,
    FullyBayesianLSSVC,
    FullyBayesianLSSVR,
    HyperPosterior,
    ladder,
    load,
    marginalise,
    search_kernels,
    trust,
)
from bayes_lssvm.datasets import load as load_data
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.calibration import calibration


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(60, 2))
    shift, scale = np.array([3.0, -100.0]), np.array([5.0, 0.01])
    labels = np.where(z[:, 0] ** 2 + 0.5 * z[:, 1] + 0.1 * rng.normal(size=60) > 0.5, "yes", "no")
    return shift + scale * z[:50], labels[:50], shift + scale * z[50:]


@pytest.fixture(scope="module")
def posterior(labelled):
    X, y, _ = labelled
    return marginalise(X, y)


def test_any_two_labels_and_any_units(posterior, labelled):
    X, y, new = labelled
    scaled = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    by_hand = marginalise(scaled, np.where(y == "yes", 1.0, -1.0), standardise=False)
    assert posterior.log_evidence == pytest.approx(by_hand.log_evidence, abs=1e-10)
    at = (new - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    assert posterior.predict_proba(new) == pytest.approx(by_hand.predict_proba(at), abs=1e-10)
    assert posterior.surface.classes == ("no", "yes")
    with pytest.raises(ValueError, match="FullyBayesianLSSVC takes any number"):
        marginalise(X, np.arange(50) % 3, task="classification")
    with pytest.raises(ValueError, match="task must be one of"):
        marginalise(X, y, task="classes")


def test_every_way_in_is_the_same(posterior, labelled, tmp_path):
    X, y, new = labelled
    model = BayesianLSSVC().fit(X, y)
    of_model, estimator = model.marginalise(), FullyBayesianLSSVC(moderation="class").fit(X, y)
    assert of_model.log_evidence == posterior.log_evidence == estimator.log_evidence_
    assert np.array_equal(of_model.predict_proba(new), posterior.predict_proba(new))
    assert estimator.predict_proba(new) == pytest.approx(posterior.predict_proba(new), abs=1e-12)
    again = HyperPosterior.load(posterior.save(tmp_path / "posterior.nc"))
    assert again.predict_proba(new) == pytest.approx(posterior.predict_proba(new), abs=1e-12)
    assert again.surface.classes == ("no", "yes")
    held = model.marginalise(fixed_kernel=True)
    assert held.kernel == model.kernel_
    assert held.names == ("log_mu", "log_zeta", "log_gamma")


def test_real_targets_keep_their_units(labelled, tmp_path):
    X, _, new = labelled
    rng = np.random.default_rng(0)
    y = 1e3 + 40.0 * X[:, 0] + 10.0 * rng.normal(size=50)
    found, estimator, model = marginalise(X, y), FullyBayesianLSSVR().fit(X, y), BayesianLSSVR().fit(X, y)
    assert found.log_evidence == pytest.approx(estimator.log_evidence_, abs=1e-9)
    assert found.log_evidence == pytest.approx(model.marginalise().log_evidence, abs=1e-9)
    # the density of other units differs by the Jacobian of the 49 dimensions that the bias leaves
    assert marginalise(X, y / 7.0).log_evidence == pytest.approx(found.log_evidence + 49.0 * np.log(7.0), abs=1e-6)
    expected = estimator.predict(new, return_std=True)
    for mean, sd in (found.predict(new, return_std=True), model.marginalise().predict(new, return_std=True)):
        assert mean == pytest.approx(expected[0], rel=1e-9)
        assert sd == pytest.approx(expected[1], rel=1e-9)
    estimator.save(tmp_path / "regression.blssvm")
    assert np.array_equal(load(tmp_path / "regression.blssvm").predict(new), estimator.predict(new))
    with pytest.raises(ValueError, match="targets are equal"):
        marginalise(X, np.ones(50))


@pytest.mark.parametrize("fully", [False, True])
def test_a_models_trust_is_that_of_its_data(fully, labelled):
    X, y, _ = labelled
    kernel = RBF(1.5)
    model = FullyBayesianLSSVC(kernel).fit(X, y) if fully else BayesianLSSVC(kernel).fit(X, y)
    report, expected = model.trust(seed=3), trust(X, y, kernel=kernel, seed=3)
    assert report.ladder == expected.ladder
    assert report.checks == expected.checks
    assert repr(report).startswith(f"TrustReport({report.verdict!r}")
    assert all(check.name in report._repr_html_() for check in report.checks)


def test_short_words_of_results(posterior, labelled):
    X, y, _ = labelled
    assert len(repr(posterior)) < 160
    assert "log_evidence=" in repr(posterior)
    assert posterior._repr_html_().count("<tr>") == 1 + 2 * len(posterior.names)
    comparison = BayesianLSSVC().fit(X, y).compare(["rbf", "linear"])
    assert "2 kernels" in repr(comparison)
    assert comparison._repr_html_().count("<tr>") == 3
    assert all(f">{name}<" in comparison._repr_html_() for name in ("log evidence", "log B", "P(H|D)"))
    assert "{" not in comparison._repr_html_()  # settings of priors are for programs: rows() has them
    Z, signs = (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == "yes", 1.0, -1.0)
    rungs = ladder(Z, signs, kernel="linear", rungs=("mackay", "quadrature"), progress=False)
    assert rungs._repr_html_().count("<tr>") == 3
    found = search_kernels(X, y, kernels=["linear"], budget=20)
    assert found._repr_html_().count("<tr>") == 1 + len(found.path)
    path = EvidenceSelector(kernel="rbf").fit(X, y).path_
    assert path._repr_html_().count("<tr>") == 1 + len(path.steps)
    fewer = FixedSizeLSSVC(n_landmarks=10, refine=False).fit(X, y).convergence_
    assert fewer._repr_html_().count("<tr>") == 1 + len(fewer.rows())


@pytest.fixture(scope="module")
def three_classes():
    X, y = load_data("iris").Xy
    names = np.array(["setosa", "versicolor", "virginica"])[np.unique(y, return_inverse=True)[1]]
    return X[::3], names[::3], X[1::3], names[1::3]


@pytest.mark.parametrize(("coding", "moderation"), [("ovo", "loo"), ("ova", "class")])
def test_any_number_of_classes(coding, moderation, three_classes, tmp_path):
    X, y, new, truth = three_classes
    model = FullyBayesianLSSVC(coding=coding, moderation=moderation, fixed_kernel=True, kernel=RBF(2.0)).fit(X, y)
    shares = model.predict_proba(new)
    assert shares.shape == (50, 3)
    assert shares.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert model.score(new, truth) > 0.9
    assert model.log_evidence_ == pytest.approx(sum(p.log_evidence for p in model.posteriors_), abs=1e-9)
    model.save(tmp_path / "model.blssvm")
    again = load(tmp_path / "model.blssvm")
    assert np.array_equal(again.predict_proba(new), shares)
    assert np.array_equal(again.predict(new), model.predict(new))
    assert again.posteriors_[0].mean() == model.posteriors_[0].mean()
    equal = model.predict_proba(new, class_prior="equal")
    assert equal.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    # every training row is found again in the members, class by class or as given
    inputs, labels = model.multiclass_.training_rows()
    order, expected = np.lexsort(inputs.T), np.lexsort(model.standardiser_(X).T)
    assert inputs[order] == pytest.approx(model.standardiser_(X)[expected])
    assert np.array_equal(labels[order], y[expected])


def test_three_classes_are_trusted_and_calibrated(three_classes):
    X, y, new, truth = three_classes
    model = FullyBayesianLSSVC("linear").fit(X, y)
    report = model.trust()
    assert report.calibration is not None
    assert report.n_used == 50
    found = calibration(model.predict_proba(new), np.searchsorted(model.classes_, truth), np.arange(len(truth)))
    assert found.gain > 0.3  # nats ahead of class frequencies
