"""`predict_set`: against its definition by refits, and how often it covers."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.errors import quiet
from bayes_lssvm.estimators.left_out import left_out_probabilities
from bayes_lssvm.kernels import RBF
from bayes_lssvm.press.conformal import folds


def classes(n, seed, m=2):
    """Gaussian classes that overlap."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(m, size=n)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])[:m]
    return centres[labels] + rng.normal(size=(n, 2)), labels


def test_the_set_of_two_classes_by_its_definition():
    X, y = classes(60, 0)
    new, _ = classes(30, 1)
    model = BayesianLSSVC().fit(X, y)
    own = left_out_probabilities(model, X, y)[np.arange(60), y]
    least = np.sort(own)[5]  # the ⌊0.1·61⌋ = 6th smallest
    found = model.predict_set(new)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, model.predict_proba(new) >= least)
    assert np.mean(own >= least) >= 0.9
    wider = model.predict_set(new, 0.95)
    assert np.all(wider >= found)


@pytest.mark.parametrize("coding", ["ovo", "ova", "ecoc"])
def test_the_set_of_several_classes_knows_its_rows_without_being_given_them(coding):
    X, y = classes(90, 2, m=3)
    names = np.array(["x", "y", "z"])[y]
    model = BayesianLSSVC("linear", coding=coding).fit(X, names)
    several = model.multiclass_
    np.testing.assert_allclose(several.left_out_probabilities(), left_out_probabilities(model, X, names), atol=1e-12)
    sets = model.predict_set(X, 0.9)
    assert sets.shape == (90, 3)
    assert 0.85 < np.mean(sets[np.arange(90), y]) <= 1.0


def test_class_priors_do_not_move_the_sets():
    X, y = classes(60, 0)
    new, _ = classes(30, 1)
    model = BayesianLSSVC().fit(X, y)
    found = model.predict_set(new)
    model.class_prior = [0.01, 0.99]
    np.testing.assert_array_equal(model.predict_set(new), found)


@pytest.mark.filterwarnings("ignore:.*No signal")
@pytest.mark.parametrize("by_class", [False, True])
def test_sets_cover_with_a_given_kernel(by_class):
    """120 sets of 40 rows; the standard error of the coverage is below 1 %, and three are allowed beside 1/(N + 1)."""
    shares = []
    for seed in range(120):
        X, y = classes(240, 100 + seed)
        model = BayesianLSSVC(RBF(2.0), refine=False).fit(X[:40], y[:40])
        sets = model.predict_set(X[40:], 0.9, by_class=by_class)
        held = sets[np.arange(200), y[40:]]
        shares.append([held.mean(), held[y[40:] == 0].mean(), held[y[40:] == 1].mean()])
    mean, error = np.mean(shares, axis=0), np.std(shares, axis=0) / np.sqrt(120)
    expected = 0.9 if not by_class else 0.92  # of 20 rows one may be left out: 1 − 1/21 at most, 0.9 at least
    checked = slice(0, 1) if not by_class else slice(1, 3)
    assert np.all(np.abs(mean[checked] - expected) < 3.0 * error[checked] + 0.03)


# --- hyperparameters and maps chosen anew ----------------------------------------------------------------------------


def fitted_again(X, names, w, rest):
    with quiet():
        return BayesianLSSVC("linear").fit(X[rest], names[rest], None if w is None else w[rest])


@pytest.mark.parametrize(("m", "blocks", "weighted"), [(2, None, True), (3, 6, False), (3, 6, True)])
@pytest.mark.parametrize("by_class", [False, True])
def test_sets_of_refits_by_their_definition(m, blocks, weighted, by_class):
    """A class is left out where rows that stand for (1 − α)(N + 1) or more speak against it."""
    X, y = classes(24, 3, m=m)
    new, _ = classes(20, 4, m=m)
    names, labels = np.array(["x", "y", "z"])[y], np.array(["x", "y", "z"])[:m]
    w = np.random.default_rng(0).integers(1, 3, 24).astype(float) if weighted else None
    counts = np.ones(24) if w is None else w
    against = np.zeros((20, m))
    for rows in [[i] for i in range(24)] if blocks is None else folds(24, blocks, 0):
        model = fitted_again(X, names, w, np.setdiff1d(np.arange(24), rows))
        assert list(model.classes_) == list(labels)
        own, there = model.predict_proba(X[rows]), model.predict_proba(new)
        for i, row in enumerate(rows):
            for c in [y[row]] if by_class else range(m):
                against[:, c] += counts[row] * (there[:, c] < own[i, y[row]])
    totals = np.array([counts[y == c].sum() if by_class else counts.sum() for c in range(m)])
    model = fitted_again(X, names, w, np.arange(24))
    found = model.predict_set(new, 0.8, by_class=by_class, refit=True, n_blocks=blocks)
    np.testing.assert_array_equal(found, against < 0.8 * (totals + 1.0) - 1e-9)
    model.refits_.clear()
    model.predict_set(new, 0.8)
    assert bool(model.refits_) == (m == 3 and not weighted)  # the default of few rows of more than two classes


def test_a_class_that_a_block_takes_away_has_no_probability_without_it():
    X, y = classes(20, 5)
    y[:] = 0
    y[:2] = 1
    X[:2] += 3.0
    with quiet():
        model = BayesianLSSVC("linear").fit(X, y)
        sets = model.predict_set(X, 0.9, refit=True, n_blocks=2)
    assert sets.shape == (20, 2)
    assert sets[:, 0].sum() >= 16


def test_refits_serve_shared_kernels_and_other_moderations():
    X, y = classes(30, 0, m=3)
    new, _ = classes(10, 1, m=3)
    for settings in ({"shared_kernel": True, "coding": "ova"}, {"moderation": "class"}):
        model = BayesianLSSVC("linear", **settings).fit(X, y)
        with pytest.raises(ValueError, match=r"moderation=\"loo\"|members with a kernel each"):
            model.predict_set(new)
        assert 0 < model.predict_set(new, refit=True, n_blocks=3).sum() <= 30


def test_what_is_wrong_is_a_sentence():
    X, y = classes(60, 0)
    with pytest.raises(ValueError, match="coverage is the share"):
        BayesianLSSVC("linear").fit(X, y).predict_set(X, 1.5)
    with pytest.raises(ValueError, match='is for moderation="loo"'):
        BayesianLSSVC("linear", moderation="class").fit(X, y).predict_set(X)
    with pytest.raises(ValueError, match=r"needs at least 199 of them, and there are 60\. Ask for a smaller coverage"):
        BayesianLSSVC("linear").fit(X, y).predict_set(X, 0.995)
    with pytest.raises(ValueError, match="refit must be True, False or None"):
        BayesianLSSVC("linear").fit(X, y).predict_set(X, refit=1)
    X, y = classes(60, 0, m=3)
    with pytest.raises(ValueError, match=r"needs at least 199 of them, and there are 60\. Ask for a smaller coverage"):
        BayesianLSSVC("linear").fit(X, y).predict_set(X, 0.995, refit=True, n_blocks=2)
    shared = BayesianLSSVC("linear", shared_kernel=True, coding="ova").fit(X, y)
    with pytest.raises(ValueError, match="need LS-SVM members with a kernel each"):
        shared.predict_set(X)
