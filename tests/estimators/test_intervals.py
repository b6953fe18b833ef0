"""`predict_interval`: by which formulas, how often it covers, and what bad input gets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from bayes_lssvm import LSSVR, BayesianLSSVR, FixedSizeLSSVR
from bayes_lssvm.estimators.refits import FEW
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.press.conformal import folds


def data(n, seed, d=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, d))
    return X, np.sinc(X[:, 0]) + 0.2 * rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    return BayesianLSSVR().fit(*data(40, 0))


def test_jackknife_plus_of_a_fitted_model_equals_refits_with_its_hyperparameters(fitted):
    X, y = data(40, 0)
    new = np.linspace(-4.0, 4.0, 9)[:, None]
    Z, at = fitted.standardiser_(X), fitted.standardiser_(new)
    predictions, errors = np.empty((9, 40)), np.empty(40)
    for i in range(40):
        rest = np.arange(40) != i
        model = LSSVR(fitted.kernel_, fitted.gamma_, standardise=False).fit(Z[rest], y[rest])
        predictions[:, i], errors[i] = model.predict(at), y[i] - model.predict(Z[i : i + 1])[0]
    low = np.sort(predictions - np.abs(errors), axis=1)[:, 3]  # the ⌊0.1·41⌋ = 4th smallest
    high = np.sort(predictions + np.abs(errors), axis=1)[:, -4]
    lower, upper = fitted.predict_interval(new, refit=False)
    np.testing.assert_allclose(lower, low, atol=1e-8)
    np.testing.assert_allclose(upper, high, atol=1e-8)
    plain = LSSVR(fitted.kernel_, fitted.gamma_).fit(X, y)
    np.testing.assert_allclose(plain.predict_interval(new, 0.9).lower, low, atol=1e-8)


def test_cv_plus_with_as_many_blocks_as_rows_is_jackknife_plus(fitted):
    new = np.linspace(-4.0, 4.0, 9)[:, None]
    held = {"refit": False}
    one, other = (
        fitted.predict_interval(new, 0.8, **held),
        fitted.predict_interval(new, 0.8, "cv+", n_blocks=40, **held),
    )
    np.testing.assert_allclose(one, other, atol=1e-10)
    few = fitted.predict_interval(new, 0.8, "cv+", n_blocks=4, **held)
    assert not np.allclose(one, few)


def test_marginal_intervals_are_those_of_marginalise_and_plug_in_those_of_the_error_bars(fitted):
    new = np.linspace(-4.0, 4.0, 9)[:, None]
    found = fitted.predict_interval(new, 0.95, "marginal")
    np.testing.assert_array_equal(found, fitted.marginalise(progress=False).predict_interval(new, 0.95))
    mean, std = fitted.predict(new, return_std=True)
    lower, upper = fitted.predict_interval(new, 0.95, "plug-in")
    np.testing.assert_allclose(upper, mean + norm.ppf(0.975) * std)
    np.testing.assert_allclose(lower, mean - norm.ppf(0.975) * std)


def test_a_kernel_with_several_parameters_is_integrated_by_a_design():
    X, y = data(30, 1, d=2)
    model = BayesianLSSVR("ard").fit(X, y)
    lower, upper = model.predict_interval(X, 0.9, "marginal")
    assert model.hyper_posterior_.method == "ccd"
    assert np.all(lower < upper)
    model.fit(*data(30, 2, d=2))
    assert not hasattr(model, "hyper_posterior_")


# --- hyperparameters chosen anew -------------------------------------------------------------------------------------


def by_hand(X, y, w, new, k, blocks):
    """Jackknife+ or CV+ from fits to the rows of all other blocks, in the units of the data."""
    low, high = np.empty((2, len(new), len(y)))
    for rows in blocks:
        rest = np.setdiff1d(np.arange(len(y)), rows)
        model = BayesianLSSVR(RBF(1.0), refine=False).fit(X[rest], y[rest], None if w is None else w[rest])
        size = np.abs(y[rows] - model.predict(X[rows]))
        if w is not None:
            u = model.latent(X[rows], return_std=True)[1] ** 2
            size = size * np.sqrt((u + 1.0 / model.zeta_) / (u + 1.0 / (model.zeta_ * w[rows])))
        low[:, rows] = model.predict(new)[:, None] - size
        high[:, rows] = model.predict(new)[:, None] + size
    return np.sort(low, axis=1)[:, k - 1], np.sort(high, axis=1)[:, -k]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
def test_refits_are_fits_to_the_other_rows(method, weighted):
    X, y = data(24, 3)
    y += X[:, 0]
    w = np.random.default_rng(0).integers(1, 5, 24).astype(float) if weighted else None
    new = np.linspace(-4.0, 4.0, 5)[:, None]
    model = BayesianLSSVR(RBF(1.0), refine=False, random_state=7).fit(100.0 * X + 3.0, y, w)
    found = model.predict_interval(100.0 * new + 3.0, 0.8, method, n_blocks=5, refit=True)
    blocks = [[i] for i in range(24)] if method == "jackknife+" else folds(24, 5, 7)
    np.testing.assert_allclose(found, by_hand(X, y, w, new, 5, blocks), atol=1e-8)  # ⌊0.2·25⌋ = 5


def test_refits_of_learned_noise_and_of_several_outputs():
    X, y = data(16, 3)
    y += X[:, 0]
    outputs = BayesianLSSVR(RBF(1.0), refine=False).fit(X, np.stack([y, 10.0 * X[:, 0] - y], axis=1))
    alone = BayesianLSSVR(RBF(1.0), refine=False).fit(X, y)
    both = outputs.predict_interval(X, 0.8)
    np.testing.assert_allclose(np.stack(both)[:, :, 0], alone.predict_interval(X, 0.8, refit=True), atol=1e-9)
    learned = BayesianLSSVR(RBF(1.0), refine=False, noise="learned").fit(X, y)
    assert learned.noise_ == "constant"  # there is nothing to learn, and so it is without each row
    np.testing.assert_allclose(learned.predict_interval(X, 0.8, refit=True), alone.predict_interval(X, 0.8), atol=1e-9)
    assert not np.allclose(learned.predict_interval(X, 0.8), alone.predict_interval(X, 0.8))


def test_refits_are_the_default_of_few_rows_and_kept_until_rows_come():
    X, y = data(FEW + 2, 3)
    y += X[:, 0]
    few = BayesianLSSVR(RBF(1.0), refine=False).fit(X[:FEW], y[:FEW])
    np.testing.assert_array_equal(few.predict_interval(X), few.predict_interval(X, refit=True))
    assert not np.array_equal(few.predict_interval(X), few.predict_interval(X, refit=False))
    assert len(few.refits_[None]) == FEW
    few.partial_fit(X[FEW:], y[FEW:])
    assert not hasattr(few, "refits_")
    np.testing.assert_array_equal(few.predict_interval(X), few.predict_interval(X, refit=False))
    many = BayesianLSSVR(RBF(1.0), refine=False).fit(X, y)
    np.testing.assert_array_equal(many.predict_interval(X), many.predict_interval(X, refit=False))
    two = BayesianLSSVR(ARD((1.0,)), refine=False).fit(X[:20], y[:20])
    two.columns_ = two.columns_[:0]  # as where a criterion has removed inputs
    with pytest.raises(ValueError, match="inputs were removed"):
        two.predict_interval(X, refit=True)


def test_what_is_wrong_with_a_refit_is_a_sentence(fitted):
    new = np.zeros((1, 1))
    with pytest.raises(ValueError, match="refit must be True, False or None for the default, got 'yes'"):
        fitted.predict_interval(new, refit="yes")
    with pytest.raises(ValueError, match='refit=True is for method="jackknife\\+" and "cv\\+"'):
        fitted.predict_interval(new, method="plug-in", refit=True)
    X, y = data(20, 0)
    matrix = BayesianLSSVR("precomputed").fit(RBF(1.0)(X), y)
    with pytest.raises(ValueError, match='with kernel="precomputed" there are no inputs'):
        matrix.predict_interval(RBF(1.0)(new, X), refit=True)
    assert np.all(np.isfinite(matrix.predict_interval(RBF(1.0)(new, X))))


@pytest.mark.parametrize("n", [20, 60])
def test_jackknife_plus_covers_with_given_hyperparameters(n):
    """200 sets, noise with heavy tails; the standard error of the coverage is below 0.8 %, and three are allowed."""
    shares = []
    for seed in range(200):
        rng = np.random.default_rng(1000 * n + seed)
        X = rng.uniform(-3.0, 3.0, size=(n + 50, 1))
        y = np.sin(X[:, 0]) + 0.2 * rng.standard_t(3, size=n + 50)
        lower, upper = LSSVR(RBF(1.0), 5.0).fit(X[:n], y[:n]).predict_interval(X[n:], 0.9)
        shares.append(np.mean((lower <= y[n:]) & (y[n:] <= upper)))
    k = np.floor(0.1 * (n + 1))
    expected = 1.0 - k / (n + 1)  # of an exchangeable score
    assert abs(np.mean(shares) - expected) < 3.0 * np.std(shares) / np.sqrt(200) + 0.005


def test_what_is_wrong_is_a_sentence(fitted):
    new = np.zeros((1, 1))
    for coverage in (0.0, 1.0, 90, "0.9", None, True, np.nan):
        with pytest.raises(ValueError, match="coverage is the share of new targets"):
            fitted.predict_interval(new, coverage)
    with pytest.raises(
        ValueError, match="method must be one of jackknife\\+, cv\\+, marginal, plug-in, got 'jacknife'"
    ):
        fitted.predict_interval(new, method="jacknife")
    with pytest.raises(ValueError, match="method must be one of jackknife\\+, cv\\+, got 'marginal'"):
        LSSVR().fit(*data(20, 0)).predict_interval(new, method="marginal")
    with pytest.raises(ValueError, match=r'at least 99 of them, and there are 40\. Use method="marginal"'):
        fitted.predict_interval(new, 0.99)
    with pytest.raises(ValueError, match="number of blocks must be between 2 and the number of rows, 40; got 1"):
        fitted.predict_interval(new, method="cv+", n_blocks=1)
    with pytest.raises(ValueError, match="1 features"):
        fitted.predict_interval(np.zeros((1, 2)))


@pytest.mark.parametrize("integrate", [False, True])
def test_models_of_fixed_size_have_the_left_out_errors_of_their_rows(integrate):
    X, y = data(300, 5)
    new, targets = data(2000, 6)
    model = FixedSizeLSSVR(n_landmarks=25, integrate=integrate).fit(X, y)
    lower, upper = model.predict_interval(new, 0.9)
    half = 0.5 * (upper - lower)
    np.testing.assert_allclose(0.5 * (upper + lower), model.predict(new))
    np.testing.assert_allclose(half, half[0])
    assert 0.86 < np.mean((lower <= targets) & (targets <= upper)) < 0.94
    if not integrate:  # the exact model with the same kernel and γ, whose rows are left out by their own factor
        exact = LSSVR(model.kernel_, model.gamma_).fit(X, y)
        np.testing.assert_allclose(half[0], 0.5 * np.median(np.subtract(*exact.predict_interval(new)[::-1])), rtol=0.02)
    with pytest.raises(ValueError, match="needs at least 999 of them, and there are 300"):
        model.predict_interval(new, 0.999)
