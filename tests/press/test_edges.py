"""Leave-one-out where digits are short: far from the origin, with hardly any inputs' variance, with one bad point."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import NotPositiveSemidefiniteError
from bayes_lssvm.kernels import ARD, RBF, Linear
from bayes_lssvm.linalg.factor import projected_inverse
from bayes_lssvm.press import derivative as derivative_module
from bayes_lssvm.press.curvature import curvature_derivative, slope_derivative
from bayes_lssvm.press.derivative import left_out_derivative, press_derivative
from bayes_lssvm.press.leave_one_out import LeaveOneOutSpectrum, leave_one_out, ridge_leave_one_out


def problem(n=12, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("seed", range(6))
def test_the_constant_is_no_direction_of_the_inputs_however_many_there_are(seed):
    """Inputs far from zero, many more than points: what rounding leaves along the constant is no fifth direction."""
    rng = np.random.default_rng(seed)
    X, y = 300.0 + rng.normal(size=(5, 4000)), rng.normal(size=5)
    for penalty in (1e-3, 1.0, 1e3):
        found = ridge_leave_one_out(X, y, penalty)
        expected = leave_one_out(Linear()(X - X.mean(axis=0)), y, 1.0 / penalty)
        assert found.residuals == pytest.approx(expected.residuals, rel=1e-6)
        assert found.inverse_diagonal == pytest.approx(expected.inverse_diagonal, rel=1e-6)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("of", [curvature_derivative, slope_derivative])
@pytest.mark.parametrize("kernel", [RBF(1.2), ARD((0.9, 1.7))], ids=str)
def test_penalties_do_not_know_where_the_inputs_are(kernel, of, bias):
    """A hundred thousand standard deviations away, with the kernel matrix of where they were."""
    X, y, weights = problem()
    K = kernel(X)
    R = projected_inverse(K, 1.0 / (3.0 * weights), bias=bias)
    near = of(kernel, X, y, 3.0, weights, bias=bias)
    given = of(kernel, X, y, 3.0, weights, bias=bias, K=K, inverse=R)
    assert given.value == pytest.approx(near.value, rel=1e-12)
    far = of(kernel, X + np.array([1e5, -2e5]), y, 3.0, weights, bias=bias, K=K, inverse=R)
    assert far.value == pytest.approx(near.value, rel=1e-7)
    assert far.along_log_gamma == pytest.approx(near.along_log_gamma, rel=1e-7)


@pytest.mark.parametrize("wrong", [-1e-9, 0.0, np.nan])
def test_one_point_without_a_variance_is_enough_to_refuse_a_derivative(wrong, monkeypatch):
    X, y, weights = problem()

    def with_one_wrong(K, noise, *, bias):
        R = projected_inverse(K, noise, bias=bias)
        R[4, 4] = wrong
        return R

    monkeypatch.setattr(derivative_module, "projected_inverse", with_one_wrong)
    for of in (press_derivative, lambda *args: left_out_derivative(*args, lambda r: (float(r @ r), 2.0 * r))):
        with pytest.raises(NotPositiveSemidefiniteError):
            of(RBF(1.0)(X), y, 3.0, weights)


@pytest.mark.parametrize("bias", [True, False])
def test_any_function_of_the_residuals_has_the_slope_of_its_differences(bias):
    """Half their weighted squares are PRESS; a sum of cosines stands for the others."""
    X, y, weights = problem(seed=3)
    K = RBF(1.1)(X)

    def squares(r):
        return 0.5 * float(weights @ r**2), weights * r

    def cosines(r):
        return float(np.cos(2.0 * r).sum()), -2.0 * np.sin(2.0 * r)

    press = press_derivative(K, y, 2.5, weights, bias=bias)
    same = left_out_derivative(K, y, 2.5, weights, squares, bias=bias)
    assert same.value == pytest.approx(press.value)
    assert same.matrix == pytest.approx(press.matrix, abs=1e-10)
    assert same.along_log_gamma == pytest.approx(press.along_log_gamma)
    exact = leave_one_out(K, y, 2.5, weights=weights, bias=bias)
    assert press.residuals == pytest.approx(exact.residuals)
    assert press.value == pytest.approx(float(exact.press))
    assert press.inverse @ y == pytest.approx(press.alpha)

    def value(matrix, gamma):
        return float(np.cos(2.0 * leave_one_out(matrix, y, gamma, weights=weights, bias=bias).residuals).sum())

    found = left_out_derivative(K, y, 2.5, weights, cosines, bias=bias)
    along = [value(K, 2.5 * np.exp(h)) for h in (1e-5, -1e-5)]
    assert found.along_log_gamma == pytest.approx((along[0] - along[1]) / 2e-5, rel=1e-6)
    direction = np.random.default_rng(4).normal(size=K.shape)
    direction += direction.T
    ends = [value(K + h * direction, 2.5) for h in (1e-6, -1e-6)]
    assert float(np.vdot(found.matrix, direction)) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_one_number_that_is_none_among_many_is_refused(wrong):
    X, y, weights = problem()
    K = RBF(1.0)(X)
    with pytest.raises(ValueError, match="values that are not finite"):
        leave_one_out(K, np.where(np.arange(12) == 5, wrong, y), 2.0)
    for bad in (wrong, 0.0, -1.0):
        with pytest.raises(ValueError, match="positive finite numbers"):
            leave_one_out(K, y, 2.0, weights=np.where(np.arange(12) == 3, bad, weights))
    with pytest.raises(ValueError, match="entries that are not finite"):
        leave_one_out(np.where(np.eye(12) * (np.arange(12) == 4) > 0, wrong, K), y, 2.0)
    with pytest.raises(ValueError, match="X must hold finite numbers"):
        ridge_leave_one_out(np.where(X[2, 1] == X, wrong, X), y, 1.0)


def test_one_target_that_is_no_label_is_enough_for_no_error_rate():
    X, y, _ = problem()
    labels = np.sign(y)
    found = leave_one_out(RBF(1.0)(X), labels, 2.0)
    wrong = sum(1 for t, p in zip(labels, found.predictions, strict=True) if t * p <= 0.0)
    assert found.error_rate == pytest.approx(wrong / 12.0)
    labels[7] = 0.5
    with pytest.raises(ValueError, match="An error rate needs labels"):
        _ = leave_one_out(RBF(1.0)(X), labels, 2.0).error_rate


def test_a_precision_that_is_given_goes_with_every_gamma():
    X, y, weights = problem()
    spectrum = LeaveOneOutSpectrum.from_kernel_matrix(RBF(1.0)(X), y, weights=weights)
    gammas = np.array([0.3, 2.0, 9.0])
    several = spectrum.at(gammas, mu=0.8)
    assert several.mu.tolist() == [0.8, 0.8, 0.8]
    assert several.variances.shape == (3, 12)
    for k, gamma in enumerate(gammas.tolist()):
        alone = spectrum.at(gamma, mu=0.8)
        assert (alone.mu, np.ndim(alone.mu)) == (0.8, 0)
        assert alone.variances.shape == (12,)
        assert several.variances[k] == pytest.approx(alone.variances)
        assert several.latent_variances[k] == pytest.approx(alone.latent_variances)
        assert several.negative_log_predictive[k] == pytest.approx(float(alone.negative_log_predictive))
        best = spectrum.at(gamma)
        power = float(np.sum(best.inverse_diagonal * best.residuals**2))
        assert best.mu == pytest.approx(12.0 / power)
        assert spectrum.at(gammas).mu[k] == pytest.approx(best.mu)
