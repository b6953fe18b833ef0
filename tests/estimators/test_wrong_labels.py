"""Labels that the model of the other rows does not expect (paper 0, section 2.2: support values detect outliers)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.datasets import load
from bayes_lssvm.levels.level1 import DualPosterior


def apart(seed, n=200, flipped=5):
    """Inputs, labels of which some are exchanged, and which; no row is near the boundary."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    side = X[:, 0] + np.sin(2.0 * X[:, 1])
    X, y = X[np.abs(side) > 0.3], np.sign(side[np.abs(side) > 0.3])
    wrong = rng.choice(len(y), flipped, replace=False)
    y[wrong] *= -1.0
    return X, y, set(wrong.tolist())


def test_exchanged_labels_are_named_and_no_others():
    found = 0
    for seed in range(4):
        X, y, wrong = apart(seed)
        named = set(BayesianLSSVC().fit(X, y).outliers().rows.tolist())
        assert named <= wrong
        found += len(named)
        y[list(wrong)] *= -1.0
        assert not len(BayesianLSSVC().fit(X, y).outliers().rows)
    assert found >= 15  # of 20


def test_a_row_on_the_wrong_side_of_classes_that_overlap_is_no_outlier():
    X, y = load("ripley").Xy
    model = BayesianLSSVC().fit(X, y)
    assert np.mean(model.predict(X) != y) > 0.1
    assert not len(model.outliers().rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_refits_and_only_the_other_side_counts(weighted):
    rng, n = np.random.default_rng(8), 60
    y = rng.permutation(np.repeat([-1.0, 1.0], n // 2))
    X = np.stack([y + 0.2 * rng.normal(size=n), rng.normal(size=n)], axis=1)
    X[0] = [7.0 * y[0], 0.0]  # far on its own side, where a linear function is far beyond the label
    y[[20, 40]] *= -1.0
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], n) if weighted else None
    model = BayesianLSSVC("linear", standardise=False).fit(X, y, sample_weight=weights)
    w = np.ones(n) if weights is None else weights
    found = model.outliers(chance=0.9)
    np.testing.assert_allclose(found.alpha, model.gamma_ * w * (y - model.latent(X)), atol=1e-8)
    np.testing.assert_array_equal(found.weights, w)
    deviations = []
    for i in range(n):
        rest = np.arange(n) != i
        K = model.kernel_(X[rest])
        own = None if weights is None else weights[rest]
        fixed = DualPosterior.from_kernel_matrix(
            model.kernel_, X[rest], K, y[rest], mu=model.mu_, zeta=model.zeta_, weights=own
        )
        spread = np.sqrt(fixed.latent_variance(X[[i]])[0] + 1.0 / (model.zeta_ * w[i]))
        deviations.append((y[i] - fixed.latent_mean(X[[i]])[0]) / spread)
    np.testing.assert_allclose(found.deviations, deviations, rtol=1e-6)
    order = np.argsort(-y * deviations)
    named = [i for i in order.tolist() if n * norm.sf(y[i] * deviations[i]) < 0.9]
    assert found.rows.tolist() == named
    assert 20 in named
    assert np.all(y[named] * found.alpha[named] > 0.0)
    assert n * norm.sf(-y[0] * deviations[0]) < 0.1  # as unlikely, and no fault
    assert 0 not in named


def test_three_classes_are_asked_for_by_their_members():
    X, y = load("ripley").Xy
    labels = np.where(X[:, 0] > 0.3, 2, y)
    model = BayesianLSSVC(refine=False).fit(X, labels)
    with pytest.raises(ValueError, match=r"outliers is for two classes, and there are 3: use members_\[i\].outliers"):
        model.outliers()
    assert len(model.members_[0].outliers().deviations) == len(model.members_[0].y_fit_)
