"""kernel="precomputed": estimators give what they give with the kernel itself, in cross-validation and files too."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags

from bayes_lssvm import (
    LSSVC,
    LSSVR,
    BayesianLSSVC,
    BayesianLSSVR,
    FullyBayesianLSSVC,
    FullyBayesianLSSVR,
    NotPositiveSemidefiniteError,
    SparseLSSVC,
    load,
)
from bayes_lssvm.kernels import RBF, Linear, Precomputed, as_kernel

RNG = np.random.default_rng(4)
X, NEW = RNG.normal(size=(45, 2)), RNG.normal(size=(8, 2))
ANGLE = np.arctan2(X[:, 1], X[:, 0])
LATENT = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * RNG.normal(size=45)
TARGETS = {"numbers": LATENT, "two": LATENT > 0.0, "three": np.digitize(ANGLE, [-1.0, 1.0])}
KERNEL = RBF(1.5)
CASES = {
    "LSSVC": (LSSVC, {}, "two"),
    "LSSVR": (LSSVR, {}, "numbers"),
    "LSSVR by conjugate gradients": (LSSVR, {"solver": "cg"}, "numbers"),
    "BayesianLSSVR": (BayesianLSSVR, {"refine": False}, "numbers"),
    "two classes": (BayesianLSSVC, {"refine": False}, "two"),
    "two classes, moderated by class": (BayesianLSSVC, {"refine": False, "moderation": "class"}, "two"),
    "three classes": (BayesianLSSVC, {"refine": False}, "three"),
    "three classes, one against all": (BayesianLSSVC, {"refine": False, "coding": "ova", "prior": "flat"}, "three"),
    "FullyBayesianLSSVR": (FullyBayesianLSSVR, {"fixed_kernel": True}, "numbers"),
    "FullyBayesianLSSVC": (FullyBayesianLSSVC, {"fixed_kernel": True}, "two"),
    "FullyBayesianLSSVC of three": (FullyBayesianLSSVC, {"fixed_kernel": True}, "three"),
}


def fitted(case, kernel):
    kind, settings, target = CASES[case]
    direct = kind(kernel, standardise=False, **settings).fit(X, TARGETS[target])
    return direct, kind("precomputed", **settings).fit(kernel(X), TARGETS[target])


@pytest.mark.parametrize("case", CASES)
def test_a_matrix_gives_what_its_kernel_gives(case):
    direct, given = fitted(case, KERNEL)
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(direct, method):
            expected, found = getattr(direct, method)(NEW), getattr(given, method)(KERNEL(NEW, X))
            if method == "predict" and found.dtype.kind != "f":
                np.testing.assert_array_equal(found, expected)
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
    assert given.n_features_in_ == len(X)


def test_error_bars_need_the_kernel_of_a_point_with_itself_where_it_varies():
    kernel = Linear()
    direct, given = fitted("BayesianLSSVR", kernel)
    K = kernel(NEW, X)
    mean, std = direct.predict(NEW, return_std=True)
    found, bars = given.predict(np.column_stack([K, kernel.diag(NEW)]), return_std=True)
    np.testing.assert_allclose(found, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(bars, std, rtol=1e-7)
    found, wider = given.predict(K, return_std=True)
    np.testing.assert_allclose(found, mean, rtol=1e-8, atol=1e-9)
    inside = kernel.diag(NEW) <= kernel.diag(X).max()
    assert np.all(wider[inside] >= bars[inside] - 1e-12)


def test_cross_validation_takes_rows_and_columns():
    for model, target in ((BayesianLSSVR("precomputed"), "numbers"), (BayesianLSSVC("precomputed"), "two")):
        assert get_tags(model).input_tags.pairwise
        assert not get_tags(clone(model).set_params(kernel="rbf")).input_tags.pairwise
        direct = clone(model).set_params(kernel=KERNEL, standardise=False, refine=False)
        np.testing.assert_allclose(
            cross_val_score(model, KERNEL(X), TARGETS[target], cv=3),
            cross_val_score(direct, X, TARGETS[target], cv=3),
            rtol=1e-6,
        )
    best = GridSearchCV(LSSVR("precomputed"), {"gamma": [0.1, 10.0]}, cv=3).fit(KERNEL(X), LATENT)
    assert best.predict(KERNEL(NEW, X)).shape == (8,)


@pytest.mark.parametrize("case", [case for case in CASES if "Bayesian" in case or "classes" in case])
def test_models_are_saved_and_loaded(case, tmp_path):
    _, given = fitted(case, KERNEL)
    again = load(given.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.predict(KERNEL(NEW, X)), given.predict(KERNEL(NEW, X)))
    if hasattr(given, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(KERNEL(NEW, X)), given.predict_proba(KERNEL(NEW, X)))


def test_leave_one_out_outputs_are_those_of_the_kernel():
    direct, given = fitted("two classes", KERNEL)
    np.testing.assert_allclose(given.left_out_log_odds(), direct.left_out_log_odds(), rtol=1e-7, atol=1e-9)


def test_what_is_no_kernel_matrix_gets_a_sentence():
    K = KERNEL(X)
    with pytest.raises(ValueError, match=r"square matrix K\(train, train\); got one of shape \(45, 44\)"):
        BayesianLSSVR("precomputed").fit(K[:, :-1], LATENT)
    with pytest.raises(ValueError, match="symmetric"):
        LSSVR("precomputed").fit(np.triu(K), LATENT)
    with pytest.raises(NotPositiveSemidefiniteError, match="not positive semi-definite"):
        BayesianLSSVR("precomputed").fit(-K, LATENT)
    model = BayesianLSSVR("precomputed").fit(K, LATENT)
    with pytest.raises(ValueError, match="44 features"):
        model.predict(KERNEL(NEW, X[:44]))
    with pytest.raises(ValueError, match="must be finite"):
        model.predict(np.column_stack([KERNEL(NEW, X), np.full(8, np.nan)]))
    with pytest.raises(ValueError, match="compare needs inputs"):
        model.compare(["linear", "rbf"])
    with pytest.raises(ValueError, match="Here inputs are needed"):
        SparseLSSVC("precomputed").fit(K, TARGETS["two"])
    with pytest.raises(ValueError, match="Here inputs are needed"):
        as_kernel("precomputed", 3)
    with pytest.raises(ValueError, match="not in sums"):
        (Precomputed(1.0) + Linear())(X)
