"""Noise that varies, and gross errors: what is kept, what intervals cover, what is named."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import norm

import bayes_lssvm
from bayes_lssvm import BayesianLSSVR
from bayes_lssvm.levels.level1 import DualPosterior

EDGES = [-0.567, 0.567]  # of thirds of the range


def varying(seed, n, *, slope=0.8):
    """A sine whose noise has the standard deviation exp(slope·x − 1.5)."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.7, 1.7, n)
    return x[:, None], np.sin(2.0 * x) + np.exp(slope * x - 1.5) * rng.normal(size=n)


def coverage(model, seed, slope=0.8):
    X, y = varying(seed + 10_000, 3000, slope=slope)
    mean, std = model.predict(X, return_std=True)
    inside = np.abs(y - mean) < 1.6449 * std
    third = np.digitize(X[:, 0], EDGES)
    return np.array([inside[third == k].mean() for k in range(3)])


def test_error_bars_follow_the_noise():
    """One set; `test_intervals_cover_in_each_third` has many."""
    X, y = varying(0, 200)
    constant, learned = BayesianLSSVR().fit(X, y), BayesianLSSVR(noise="learned").fit(X, y)
    assert learned.noise_ == "learned"
    assert learned.noise_gain_ > 40.0
    assert learned.log_evidence_ == pytest.approx(constant.log_evidence_ + learned.noise_gain_)
    _, std = learned.predict([[-1.5], [1.5]], return_std=True)
    assert std[1] / std[0] == pytest.approx(np.exp(0.8 * 3.0), rel=0.5)
    wide, narrow = coverage(constant, 0), coverage(learned, 0)
    assert wide[0] > 0.99
    assert wide[2] < 0.84
    assert np.abs(narrow - 0.9).max() < 0.07
    np.testing.assert_allclose(np.log(learned.noise_weights_).mean(), 0.0, atol=1e-10)


@pytest.mark.slow
def test_intervals_cover_in_each_third():
    """90 % intervals, 40 sets of 300 rows: 87 to 93 % in each third of the range, on average."""
    found = np.mean([coverage(BayesianLSSVR(noise="learned").fit(*varying(s, 300)), s) for s in range(40)], axis=0)
    assert np.all((found > 0.87) & (found < 0.93)), found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_constant_noise_wins_where_it_is_constant_and_nothing_is_lost(seed):
    X, y = varying(seed, 120, slope=0.0)
    constant, learned = BayesianLSSVR().fit(X, y), BayesianLSSVR(noise="learned").fit(X, y)
    assert learned.noise_ == "constant"
    assert learned.noise_weights_ is None
    assert learned.log_evidence_ == constant.log_evidence_
    for a, b in zip(learned.predict(X, return_std=True), constant.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(a, b)


def with_errors(seed, n, share):
    """A sine with noise of 0.2, and gross errors of 5 to 15 in a share of the rows: X, y, the rows without fault."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.7, 1.7, n)
    y = np.sin(2.0 * x) + 0.2 * rng.normal(size=n)
    bad = rng.choice(n, round(share * n), replace=False)
    y[bad] += rng.choice([-1.0, 1.0], len(bad)) * rng.uniform(5.0, 15.0, len(bad))
    return x[:, None], y, np.setdiff1d(np.arange(n), bad)


def error_of(model):
    grid = np.linspace(-1.7, 1.7, 300)
    return np.mean((model.predict(grid[:, None]) - np.sin(2.0 * grid)) ** 2)


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.NoSignalWarning")  # of the plain fit
def test_gross_errors_cost_little():
    """Root mean squared error over six sets: within 1.2 times that of fits without the faulty rows."""
    robust, clean, plain = [], [], []
    for seed in range(6):
        X, y, good = with_errors(seed, 120, 0.1)
        model = BayesianLSSVR(noise="student").fit(X, y)
        assert model.noise_ == "student"
        assert model.nu_ >= 4.0
        named = model.outliers()
        assert set(named.rows.tolist()) >= set(range(120)) - set(good.tolist())
        assert len(named.rows) <= 14
        assert model.noise_weights_[named.rows[:12]].max() < 0.1 < 0.5 < np.median(model.noise_weights_)
        robust.append(error_of(model))
        clean.append(error_of(BayesianLSSVR().fit(X[good], y[good])))
        plain.append(error_of(BayesianLSSVR().fit(X, y)))
    assert np.sqrt(np.mean(robust)) < 1.2 * np.sqrt(np.mean(clean))
    assert np.sqrt(np.mean(plain)) > 3.0 * np.sqrt(np.mean(clean))


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_robustness_costs_nothing_where_there_are_no_gross_errors(seed):
    X, y, _ = with_errors(seed, 100, 0.0)
    plain, robust = BayesianLSSVR().fit(X, y), BayesianLSSVR(noise="student").fit(X, y)
    assert np.sqrt(error_of(robust)) < 1.01 * np.sqrt(error_of(plain))
    assert robust.log_evidence_ >= plain.log_evidence_


def test_outliers_of_constant_noise_a_table_and_a_plot():
    X, y, _ = with_errors(7, 80, 0.0)
    quiet = BayesianLSSVR().fit(X, y).outliers()
    assert len(quiet.rows) == 0
    assert "No row of 80" in str(quiet)
    y[11] += 4.0
    found = BayesianLSSVR().fit(X, y).outliers()
    assert found.rows.tolist() == [11]
    assert np.argmax(np.abs(found.alpha)) == 11
    (row,) = found.table()
    assert row["row"] == 11
    assert row["deviation"] > 5.0
    assert row["target"] == pytest.approx(y[11])
    assert "deviation" in str(found)
    ax = found.plot()
    assert ax.get_ylabel() == "support value α"
    plt.close(ax.figure)
    fitted = BayesianLSSVR().fit(X, y)
    for chance in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="chance must lie between 0 and 1"):
            fitted.outliers(chance=chance)
    assert 11 in fitted.outliers(chance=0.999).rows


def test_outliers_by_support_values_are_those_of_refits():
    """Paper 0, section 2.2: α_i = γe_i tells of the fit; the deviation is that of a refit without row i."""
    X, y, _ = with_errors(7, 40, 0.0)
    y[11] += 2.0
    model = BayesianLSSVR(standardise=False).fit(X, y)
    found = model.outliers(chance=0.2)
    np.testing.assert_allclose(found.alpha, model.gamma_ * (y - model.latent(X)), atol=1e-9)
    for i in (0, 11, 25):
        rest = np.arange(40) != i
        K = model.kernel_(X[rest])
        fixed = DualPosterior.from_kernel_matrix(model.kernel_, X[rest], K, y[rest], mu=model.mu_, zeta=model.zeta_)
        expected = fixed.latent_mean(X[[i]])[0]
        spread = np.sqrt(fixed.latent_variance(X[[i]])[0] + 1.0 / model.zeta_)
        assert found.predictions[i] == pytest.approx(expected, abs=1e-8)
        assert found.deviations[i] == pytest.approx((y[i] - expected) / spread, rel=1e-8)
    order = sorted(range(40), key=lambda i: -abs(found.deviations[i]))
    named = [i for i in order if 40 * 2.0 * norm.sf(abs(found.deviations[i])) < 0.2]
    assert found.rows.tolist() == named
    assert named[0] == 11


@pytest.mark.parametrize("noise", ["learned", "student"])
def test_found_noise_goes_with_given_weights_and_into_files(noise, tmp_path):
    X, y = varying(4, 100) if noise == "learned" else with_errors(4, 100, 0.1)[:2]
    weights = np.random.default_rng(0).choice([0.5, 2.5], 100)
    model = BayesianLSSVR(noise=noise).fit(X, y, sample_weight=weights)
    assert model.noise_ == noise
    np.testing.assert_allclose(model.weights_, weights * model.noise_weights_)
    again = bayes_lssvm.load(model.save(tmp_path / "model.npz"))
    for a, b in zip(again.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    assert again.noise_ == noise
    np.testing.assert_allclose(again.outliers().deviations, model.outliers().deviations, rtol=1e-6)


def test_noise_that_does_not_exist():
    X, y = varying(0, 30)
    with pytest.raises(ValueError, match="noise must be one of constant, learned, student"):
        BayesianLSSVR(noise="cauchy").fit(X, y)
    with pytest.raises(ValueError, match='use criterion="evidence", not'):
        BayesianLSSVR(noise="student", criterion="press").fit(X, y)
