"""Virtual leave-one-out against refits, other implementations and published figures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cholesky, solve_triangular
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as LengthScale
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.linear_model import Ridge, RidgeCV

from bayes_lssvm import NotPositiveSemidefiniteError
from bayes_lssvm.kernels import RBF, Linear, Polynomial
from bayes_lssvm.levels.gaussian_process import GaussianProcess
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.levels.solvers import solve_cholesky
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.press.leave_one_out import (
    LeaveOneOutSpectrum,
    _finish,
    gp_leave_one_out,
    leave_one_out,
    ridge_leave_one_out,
)

N, GAMMA, MU = 30, 3.7, 0.8
KERNELS = {"rbf": RBF(1.5), "linear": Linear(), "poly3": Polynomial(3, 5.0)}


def problem(*, labels: bool, seed: int = 0, n: int = N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 0.5
    f = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 2.0
    y = np.sign(f + 0.5 * rng.normal(size=n) - 2.2) if labels else f + 0.3 * rng.normal(size=n)
    return X, y, rng.uniform(0.2, 4.0, size=n)


def refit(K, y, noise, i, bias):
    """Prediction and μ times the variance of target i by a fit of the other points: dense solves, no shared formula."""
    rest = np.delete(np.arange(len(y)), i)
    M, k = K[np.ix_(rest, rest)] + np.diag(noise[rest]), K[i, rest]
    if not bias:
        weights = np.linalg.solve(M, k)
        return weights @ y[rest], K[i, i] - k @ weights + noise[i]
    m = len(rest)
    kkt = np.zeros((m + 1, m + 1))
    kkt[:m, :m], kkt[m, :m], kkt[:m, m] = M, 1.0, 1.0
    prediction = np.append(k, 1.0) @ np.linalg.solve(kkt, np.append(y[rest], 0.0))
    # universal kriging: what the unknown bias adds to the variance
    inverse_k, inverse_1 = np.linalg.solve(M, k), np.linalg.solve(M, np.ones(m))
    return prediction, K[i, i] - k @ inverse_k + (1.0 - inverse_1 @ k) ** 2 / inverse_1.sum() + noise[i]


@pytest.fixture(params=[False, True], ids=["regression", "labels"])
def labels(request):
    return request.param


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_residuals_and_variances_equal_refits(name, bias, weighted, labels):
    X, y, w = problem(labels=labels)
    weights = w if weighted else None
    w = w if weighted else np.ones(N)
    K = KERNELS[name](X)
    found = leave_one_out(K, y, GAMMA, mu=MU, weights=weights, bias=bias)
    noise = 1.0 / (GAMMA * w)
    expected = np.array([refit(K, y, noise, i, bias) for i in range(N)])
    np.testing.assert_allclose(found.predictions, expected[:, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.residuals, y - expected[:, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.variances, expected[:, 1] / MU, rtol=1e-9)
    np.testing.assert_allclose(found.latent_variances, (expected[:, 1] - noise) / MU, rtol=1e-7, atol=1e-9)
    assert found.press == pytest.approx(0.5 * np.sum(w * (y - expected[:, 0]) ** 2), rel=1e-10)
    density = norm.logpdf(y, expected[:, 0], np.sqrt(expected[:, 1] / MU))
    assert found.negative_log_predictive == pytest.approx(-density.sum(), rel=1e-10)
    if labels:
        assert found.error_rate == np.mean(y * expected[:, 0] <= 0)
        assert found.smoothed_error(1e6) == pytest.approx(found.error_rate, abs=1e-6)
        assert found.smoothed_error(2.0) == pytest.approx(np.mean(1 / (1 + np.exp(2 * y * expected[:, 0]))), rel=1e-12)


def test_erratum_1_2_2_the_diagonal_is_in_the_column_sums():
    """M⁻¹ = SᵀS with S = R⁻¹ lower triangular: Σ_j s_ji², not the printed Σ_j s_ij²."""
    X, y, _ = problem(labels=False)
    K = RBF(1.5)(X)
    M = K + np.eye(N) / GAMMA
    S = solve_triangular(cholesky(M, lower=True), np.eye(N), lower=True)
    rho = np.linalg.solve(M, np.ones(N))
    schur = -rho.sum()  # S_M of the paper
    alpha = solve_cholesky(K, y, GAMMA).alpha
    residuals = np.array([y[i] - refit(K, y, np.full(N, 1 / GAMMA), i, True)[0] for i in range(N)])
    columns = (S**2).sum(axis=0) + rho**2 / schur
    rows = (S**2).sum(axis=1) + rho**2 / schur
    np.testing.assert_allclose(alpha / columns, residuals, rtol=0, atol=1e-9)
    assert np.abs(alpha / rows - residuals).max() > 0.1  # as printed
    np.testing.assert_allclose(leave_one_out(K, y, GAMMA).residuals, residuals, rtol=0, atol=1e-9)


def test_the_model_of_all_points_is_the_one_of_the_solvers():
    X, y, _ = problem(labels=True)
    K = RBF(1.5)(X)
    found, solution = leave_one_out(K, y, GAMMA), solve_cholesky(K, y, GAMMA)
    np.testing.assert_allclose(found.alpha, solution.alpha, atol=1e-12)
    assert found.intercept == pytest.approx(solution.intercept, abs=1e-12)


def test_variances_are_those_of_level_1():
    X, y, _ = problem(labels=True)
    kernel = RBF(1.5)
    found = leave_one_out(kernel(X), y, GAMMA, mu=MU)
    for i in (0, 7, 29):
        rest = np.delete(np.arange(N), i)
        posterior = DualPosterior.from_kernel_matrix(kernel, X[rest], kernel(X[rest]), y[rest], mu=MU, zeta=GAMMA * MU)
        mean, variance = posterior.latent_moments(X[i : i + 1])
        assert found.predictions[i] == pytest.approx(mean[0], abs=1e-10)
        assert found.latent_variances[i] == pytest.approx(variance[0], rel=1e-9)


def test_gaussian_process_equals_two_other_implementations():
    X, y, w = problem(labels=False)
    kernel, zeta = RBF(1.5), 2.9
    found = gp_leave_one_out(kernel(X), y, mu=MU, zeta=zeta)
    weighted = gp_leave_one_out(kernel(X), y, mu=MU, zeta=zeta, weights=w)
    peer_kernel = ConstantKernel(1.0 / MU, "fixed") * LengthScale(1.5 / np.sqrt(2.0), "fixed")
    for i in range(0, N, 5):
        rest = np.delete(np.arange(N), i)
        ours = GaussianProcess.fit(kernel, X[rest], y[rest], mu=MU, zeta=zeta)
        assert found.predictions[i] == pytest.approx(ours.mean(X[i : i + 1])[0], abs=1e-9)
        assert found.latent_variances[i] == pytest.approx(ours.variance(X[i : i + 1])[0], rel=1e-9)
        for result, noise in ((found, np.full(N, 1 / zeta)), (weighted, 1 / (zeta * w))):
            peer = GaussianProcessRegressor(peer_kernel, alpha=noise[rest]).fit(X[rest], y[rest])
            mean, sd = peer.predict(X[i : i + 1], return_std=True)
            assert result.predictions[i] == pytest.approx(mean[0], abs=1e-9)
            assert result.latent_variances[i] == pytest.approx(sd[0] ** 2, rel=1e-8)


# --- all γ at once -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_spectrum_gives_all_gammas(name, bias, weighted):
    X, y, w = problem(labels=True)
    weights = w if weighted else None
    K = KERNELS[name](X)
    gammas = np.logspace(-4, 4, 9)
    path = LeaveOneOutSpectrum.from_kernel_matrix(K, y, weights=weights, bias=bias).at(gammas)
    assert path.residuals.shape == (9, N)
    assert path.press.shape == path.error_rate.shape == path.negative_log_predictive.shape == (9,)
    for i, gamma in enumerate(gammas):
        one = leave_one_out(K, y, gamma, weights=weights, bias=bias)
        np.testing.assert_allclose(path.residuals[i], one.residuals, rtol=0, atol=1e-9)
        np.testing.assert_allclose(path.variances[i], one.variances, rtol=1e-8)
        np.testing.assert_allclose(path.alpha[i], one.alpha, rtol=0, atol=1e-9 * max(1.0, np.abs(one.alpha).max()))
        assert np.broadcast_to(path.intercept, 9)[i] == pytest.approx(one.intercept, abs=1e-9)
        assert path.negative_log_predictive[i] == pytest.approx(one.negative_log_predictive, rel=1e-9)
        assert path.smoothed_error()[i] == pytest.approx(one.smoothed_error(), abs=1e-9)


def test_the_spectrum_of_levels_2_and_3_serves_too():
    X, y, _ = problem(labels=False)
    K = RBF(1.5)(X)
    found = LeaveOneOutSpectrum.from_spectrum(CentredSpectrum.from_kernel_matrix(K, y)).at(GAMMA, mu=MU)
    one = leave_one_out(K, y, GAMMA, mu=MU)
    np.testing.assert_allclose(found.residuals, one.residuals, atol=1e-12)
    assert found.negative_log_predictive == pytest.approx(one.negative_log_predictive, rel=1e-12)
    assert found.intercept == pytest.approx(one.intercept, abs=1e-12)


# --- ridge regression ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
@pytest.mark.parametrize("width", [1, 4, 60], ids=["d=1", "d=4", "d=60"])
def test_ridge_equals_scikit_learn(intercept, width):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, width)) + 1.0
    y = X[:, 0] + 0.5 * rng.normal(size=40) + 3.0
    penalties = np.array([0.01, 1.0, 30.0])
    path = ridge_leave_one_out(X, y, penalties, intercept=intercept)
    peer = RidgeCV(penalties, fit_intercept=intercept, store_cv_results=True).fit(X, y)
    np.testing.assert_allclose(path.residuals**2, peer.cv_results_.T, rtol=1e-7, atol=1e-10)
    assert penalties[np.argmin(path.press)] == peer.alpha_
    for i, penalty in enumerate(penalties):
        dual = leave_one_out(Linear()(X), y, 1.0 / penalty, bias=intercept)
        np.testing.assert_allclose(path.residuals[i], dual.residuals, rtol=0, atol=1e-9)
        np.testing.assert_allclose(path.variances[i], dual.variances, rtol=1e-8)
        assert np.broadcast_to(path.intercept, 3)[i] == pytest.approx(dual.intercept, abs=1e-9)


@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "none"])
def test_weighted_ridge_equals_refits_by_scikit_learn(intercept):
    X, y, w = problem(labels=False)
    found = ridge_leave_one_out(X, y, 0.7, intercept=intercept, weights=w)
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        model = Ridge(0.7, fit_intercept=intercept).fit(X[rest], y[rest], sample_weight=w[rest])
        assert found.predictions[i] == pytest.approx(model.predict(X[i : i + 1])[0], abs=1e-9)


# --- figures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gamma", "sig2", "mean_square", "misclassified"),
    [(0.1, 2.0, 0.44843, 0.160), (1.0, 0.85936, 0.38172, 0.128), (100.0, 0.2, 0.44093, 0.132)],
)
def test_figures_of_lssvmlab_on_ripley(gamma, sig2, mean_square, misclassified, ripley_standardised):
    """LS-SVMlab 1.8; its kernel is exp(−d²/(2 sig2))."""
    X, y = ripley_standardised
    found = leave_one_out(RBF(np.sqrt(2 * sig2))(X), y, gamma)
    assert found.mean_square == pytest.approx(mean_square, abs=6e-6)
    assert found.error_rate == pytest.approx(misclassified, abs=1e-12)


def test_mu_is_the_one_of_the_largest_predictive_density():
    X, y, _ = problem(labels=False)
    K = RBF(1.5)(X)
    best = leave_one_out(K, y, GAMMA)
    for factor in (0.9, 1.1):
        other = leave_one_out(K, y, GAMMA, mu=best.mu * factor)
        assert other.negative_log_predictive > best.negative_log_predictive
    np.testing.assert_allclose(best.residuals, other.residuals)


@settings(max_examples=25, deadline=None)
@given(offset=st.floats(-1e3, 1e3), scale=st.floats(1e-3, 1e3), seed=st.integers(0, 100))
def test_residuals_follow_the_targets(offset, scale, seed):
    X, y, w = problem(labels=False, seed=seed, n=12)
    K = RBF(2.0)(X)
    one = leave_one_out(K, y, 5.0, weights=w)
    moved = leave_one_out(K, scale * y + offset, 5.0, weights=w)
    np.testing.assert_allclose(moved.residuals, scale * one.residuals, rtol=1e-7, atol=1e-9 * (abs(offset) + scale))


# --- bad input and extremes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": np.eye(2), "y": [1.0, 2.0]}, "at least 3 data points"),
        ({"K": np.ones((3, 4))}, "must be square"),
        ({"y": [1.0, 2.0, 3.0, 4.0]}, "4 targets"),
        ({"y": [1.0, np.nan, 3.0]}, "not finite"),
        ({"y": np.ones((3, 1))}, "one number per point"),
        ({"K": np.full((3, 3), np.inf)}, "not finite"),
        ({"weights": [1.0, 0.0, 1.0]}, "positive finite numbers"),
        ({"weights": [1.0, 1.0]}, "positive finite numbers"),
        ({"gamma": 0.0}, "gamma must be a positive"),
        ({"gamma": np.inf}, "gamma must be a positive"),
        ({"mu": -1.0}, "mu must be a positive"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_refused(change, message):
    arguments = {"K": np.eye(3), "y": [1.0, 2.0, 4.0], "gamma": 1.0} | change
    with pytest.raises(ValueError, match=message):
        leave_one_out(arguments.pop("K"), arguments.pop("y"), arguments.pop("gamma"), **arguments)


def test_bad_input_of_ridge_and_spectrum():
    X, y, _ = problem(labels=False)
    with pytest.raises(ValueError, match="penalty must be a positive"):
        ridge_leave_one_out(X, y, 0.0)
    with pytest.raises(ValueError, match="finite numbers"):
        ridge_leave_one_out(X[:, :0], y, 1.0)
    with pytest.raises(ValueError, match="for 29 points"):
        ridge_leave_one_out(X[1:], y, 1.0)
    with pytest.raises(ValueError, match="gamma must be a positive"):
        LeaveOneOutSpectrum.from_kernel_matrix(RBF(1.0)(X), y).at(np.array([1.0, -1.0]))
    with pytest.raises(NotPositiveSemidefiniteError, match="smallest eigenvalue"):
        LeaveOneOutSpectrum.from_kernel_matrix(-np.eye(N), y)
    with pytest.raises(ValueError, match="labels −1 and \\+1"):
        _ = leave_one_out(RBF(1.0)(X), y, 1.0).error_rate


def test_a_gamma_that_rounding_cannot_carry_is_refused():
    X, y, _ = problem(labels=False)
    twice = np.vstack([X, X])  # every point twice: no noise can be told from none
    with pytest.raises(NotPositiveSemidefiniteError, match="γ is too large"):
        leave_one_out(RBF(1.5)(twice), np.concatenate([y, y + 1.0]), 1e30)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_a_tiny_gamma_predicts_by_the_mean_of_the_others(bias):
    X, y, w = problem(labels=False)
    found = leave_one_out(RBF(1.5)(X), y, 1e-200, weights=w, bias=bias)
    expected = [np.average(np.delete(y, i), weights=np.delete(w, i)) if bias else 0.0 for i in range(N)]
    np.testing.assert_allclose(found.predictions, expected, rtol=0, atol=1e-12)


def test_constant_and_duplicated_columns_change_nothing_that_they_should_not():
    X, y, _ = problem(labels=False)
    plain = leave_one_out(RBF(1.5)(X), y, GAMMA)
    constant = leave_one_out(RBF(1.5)(np.column_stack([X, np.full(N, 7.0)])), y, GAMMA)
    np.testing.assert_allclose(constant.residuals, plain.residuals, atol=1e-10)
    doubled = leave_one_out(RBF(1.5 * np.sqrt(2.0))(np.hstack([X, X])), y, GAMMA)
    np.testing.assert_allclose(doubled.residuals, plain.residuals, atol=1e-10)


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3, 1e5])
def test_the_dual_posterior_has_the_same_left_out_points(gamma, ripley_standardised):
    X, y = ripley_standardised
    K, mu = RBF(1.3)(X), 1.7
    posterior = DualPosterior.from_kernel_matrix(RBF(1.3), X, K, y, mu=mu, zeta=gamma * mu)
    outputs, variances = posterior.left_out_moments(y)
    expected = leave_one_out(K, y, gamma, mu=mu)
    np.testing.assert_allclose(outputs, expected.predictions, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(variances, expected.latent_variances, rtol=1e-6, atol=1e-7)


def test_one_point_without_a_variance_is_enough_to_refuse():
    y, ones = np.arange(3.0), np.ones(3)
    with pytest.raises(NotPositiveSemidefiniteError):
        _finish(y, ones, 1.0, None, ones, np.array([1.0, -1e-9, 2.0]), 0.0)


def test_the_spectrum_of_the_levels_has_the_targets_themselves():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(15, 2)), 3.0 + rng.normal(size=15)
    K = RBF(0.9)(X)
    found = LeaveOneOutSpectrum.from_spectrum(CentredSpectrum.from_kernel_matrix(K, y)).at(2.5)
    expected = leave_one_out(K, y, 2.5)
    assert found.targets == pytest.approx(y, abs=1e-12)
    assert found.predictions == pytest.approx(expected.predictions, abs=1e-10)
    assert found.intercept == pytest.approx(expected.intercept, abs=1e-10)
