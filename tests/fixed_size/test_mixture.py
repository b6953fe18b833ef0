"""Hyperparameters integrated out on sums over rows: with every row as a landmark it is the exact marginalisation."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import FixedSizeLSSVC, FixedSizeLSSVR, load, marginalise
from bayes_lssvm.kernels import ARD, RBF, Linear
from bayes_lssvm.priors import HyperPrior, Normal

PRIOR = HyperPrior(Normal(0.0, 2.0), Normal(1.0, 2.0), Normal(0.3, 0.7))


def waves(n, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def both():
    """Eighty rows, each of them a landmark, and the exact posterior."""
    X, y = waves(80)
    model = FixedSizeLSSVR(landmarks=X, prior=PRIOR, integrate=True, standardise=False).fit(X, y)
    return X, model, marginalise(X, y, kernel=RBF(1.0), prior=PRIOR, standardise=False, progress=False)


def test_evidence_and_moments_are_those_of_the_exact_integral(both):
    _, model, exact = both
    found = model.mixture_
    assert abs(found.log_evidence - exact.log_evidence) < min(1e-3, found.error + exact.log_evidence_error)
    mean, sd = found.parameter_mean_and_sd
    names = ("log_mu", "log_zeta", "log_sigma")
    means, sds = ([values[name] for name in names] for values in (exact.mean(), exact.sd()))
    assert mean == pytest.approx(means[-1], abs=2e-3)
    assert sd == pytest.approx(sds[-1], abs=2e-3)
    np.testing.assert_allclose(found.means[0], means[:2], atol=2e-3)
    np.testing.assert_allclose(found.sds[0], sds[:2], atol=2e-3)


def test_predictions_are_averaged(both):
    X, model, exact = both
    new = np.random.default_rng(5).normal(scale=1.5, size=(40, 2))
    mean, std = model.predict(new, return_std=True)
    expected = exact.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected[0], atol=2e-3)
    np.testing.assert_allclose(std, expected[1], rtol=5e-3)
    plug_in = FixedSizeLSSVR(landmarks=X, prior=PRIOR, standardise=False).fit(*waves(80))
    assert np.abs(mean - plug_in.predict(new)).max() > 5e-3  # averaging does something here


def test_a_kernel_without_parameters_and_one_with_several():
    X, y = waves(60)
    linear = FixedSizeLSSVR(Linear(), prior=PRIOR, integrate=True, standardise=False).fit(X, y)
    exact = marginalise(X, y, kernel=Linear(), prior=PRIOR, standardise=False, progress=False)
    assert linear.mixture_.log_evidence == pytest.approx(exact.log_evidence, abs=1e-6)
    assert linear.mixture_.parameter_mean_and_sd is None
    ard = FixedSizeLSSVR(ARD((1.0, 2.0)), landmarks=X[:20], prior=PRIOR, integrate=True).fit(X, y)
    assert len(ard.mixture_.nodes) == 1  # its scales are held


@pytest.fixture(scope="module")
def classes():
    X, z = waves(300, seed=2)
    y = np.array(["low", "middle", "up"])[(z > -0.5).astype(int) + (z > 0.5)]
    return X, y, FixedSizeLSSVC(n_landmarks=25, integrate=True).fit(X, y)


def test_classes_share_the_kernel_and_have_probabilities(classes):
    X, y, model = classes
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.75
    assert model.mixture_.means.shape == (3, 2)
    assert -np.log(P[np.arange(300), np.searchsorted(model.classes_, y)]).mean() < 0.6
    assert model.mixture_.error < 0.01


def test_saved_and_loaded_and_rows_added(classes, tmp_path):
    X, _, model = classes
    again = load(model.save(tmp_path / "model.npz"))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-10)
    assert again.mixture_.log_evidence == pytest.approx(model.mixture_.log_evidence, abs=1e-8)
    again.partial_fit(*_more())
    assert again.mixture_.nodes[0].statistics.n == 350


def _more():
    X, z = waves(50, seed=9)
    return X, np.array(["low", "middle", "up"])[(z > -0.5).astype(int) + (z > 0.5)]


def test_with_many_rows_the_width_of_the_posterior_is_found():
    """Few landmarks for 3000 rows: σ is known to a per cent, and the rule of nodes is as wide as that."""
    X, y = waves(3000, seed=4, noise=0.1)
    model = FixedSizeLSSVR(n_landmarks=40, integrate=True).fit(X, y)
    _, sd = model.mixture_.parameter_mean_and_sd
    assert 1e-4 < sd < 0.1
    assert model.mixture_.weights[[0, -1]].max() < 1e-3
    assert 7 <= len(model.mixture_.nodes) <= 25
