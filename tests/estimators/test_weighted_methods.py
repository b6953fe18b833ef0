"""What fitted models with weights, or with noise that was found, do beside predictions: each is right, or refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from scipy.stats import t as student_t

import bayes_lssvm
from bayes_lssvm import LSSVR, BayesianLSSVC, BayesianLSSVR, EvidenceDisplay, LeftOutDisplay, ReliabilityDisplay
from bayes_lssvm.estimators.intervals import student_interval
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.levels.level2 import optimise
from bayes_lssvm.linalg.spectrum import TridiagonalReduction

NEW = np.linspace(-2.0, 2.0, 7)[:, None]


def varying(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + np.exp(0.8 * X[:, 0] - 1.5) * rng.normal(size=n)


@pytest.fixture(scope="module")
def weighted():
    X, y = varying(0, 40)
    return BayesianLSSVR().fit(X, y, sample_weight=np.exp(-1.6 * X[:, 0]))


@pytest.fixture(scope="module")
def learned():
    X, y = varying(1, 120)
    model = BayesianLSSVR(noise="learned").fit(X, y)
    assert model.noise_ == "learned"
    return model


@pytest.fixture(scope="module")
def student():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.7, 1.7, size=(80, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=80)
    y[:8] += rng.choice([-4.0, 4.0], 8)
    model = BayesianLSSVR(noise="student").fit(X, y, sample_weight=rng.choice([0.5, 2.5], 80))
    assert model.noise_ == "student"
    return model


def left_out_refits(model, inputs):
    """Outputs at new inputs, errors and variances of the function, by a posterior of the other rows each."""
    n = len(model.y_fit_)
    outputs, errors, variances = np.empty((len(inputs), n)), np.empty(n), np.empty(n)
    for i in range(n):
        rest = np.arange(n) != i
        X, y = model.X_fit_[rest], model.y_fit_[rest]
        posterior = DualPosterior.from_kernel_matrix(
            model.kernel_, X, model.kernel_(X), y, mu=model.mu_, zeta=model.zeta_, weights=model.weights_[rest]
        )
        outputs[:, i] = posterior.latent_mean(inputs)
        mean, variance = posterior.latent_moments(model.X_fit_[i : i + 1])
        errors[i], variances[i] = model.y_fit_[i] - mean[0], variance[0]
    return outputs, errors, variances


def noise_of(model):
    """Noise variances of the training rows and of new targets, as the model has them."""
    inputs = model.standardiser_(NEW)
    if model.noise_ == "learned":
        at = [model.log_variance_.variances(X) / model.zeta_ for X in (model.X_fit_, inputs)]
        return at[0], at[1]
    if model.noise_ == "student":
        level = student_t.ppf(norm.cdf(1.0), model.nu_) ** 2 / model.zeta_
        return level * model.noise_weights_ / model.weights_, np.full(len(NEW), level)
    return 1.0 / (model.zeta_ * model.weights_), np.full(len(NEW), 1.0 / model.zeta_)


@pytest.mark.parametrize("which", ["weighted", "learned", "student"])
def test_left_out_intervals_bring_errors_to_the_noise_of_the_new_target(which, request):
    model = request.getfixturevalue(which)
    outputs, errors, latent = left_out_refits(model, model.standardiser_(NEW))
    rows, new = noise_of(model)
    size = np.abs(errors) * np.sqrt((latent + new[:, None]) / (latent + rows))
    k = int(0.1 * (len(errors) + 1))
    lower, upper = model.predict_interval(NEW, 0.9)
    np.testing.assert_allclose(lower, np.sort(outputs - size, axis=1)[:, k - 1], atol=1e-7)
    np.testing.assert_allclose(upper, np.sort(outputs + size, axis=1)[:, -k], atol=1e-7)
    again = model.predict_interval(NEW, 0.9, "cv+", n_blocks=len(errors))
    np.testing.assert_allclose(again, (lower, upper), atol=1e-9)
    assert np.all(np.diff(model.predict_interval(NEW, 0.9, "cv+", n_blocks=5), axis=0) > 0.0)


def test_left_out_intervals_follow_learned_noise(learned):
    lower, upper = learned.predict_interval([[-1.5], [1.5]], 0.9)
    assert (upper - lower)[1] > 4.0 * (upper - lower)[0]  # e^2.4 = 11 by the truth


def test_weighted_intervals_cover_targets_of_weight_one():
    """200 sets of 40 rows whose noise differs sixteenfold; three standard errors and half a per cent are allowed."""
    shares = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-3.0, 3.0, size=(90, 1))
        w = np.r_[rng.choice([1.0 / 16.0, 1.0, 16.0], 40), np.ones(50)]
        y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=90) / np.sqrt(w)
        model = LSSVR(RBF(1.0), 10.0, standardise=False).fit(X[:40], y[:40], sample_weight=w[:40])
        lower, upper = model.predict_interval(X[40:], 0.9)
        shares.append(np.mean((lower <= y[40:]) & (y[40:] <= upper)))
    assert abs(np.mean(shares) - (1.0 - 4.0 / 41.0)) < 3.0 * np.std(shares) / np.sqrt(200) + 0.005


def test_a_new_target_of_weight_one_is_noisier_than_rows_of_weight_two():
    X, y = varying(3, 30)
    one = LSSVR(RBF(1.0), 10.0).fit(X, y, sample_weight=np.full(30, 2.0)).predict_interval(NEW)
    other = LSSVR(RBF(1.0), 20.0).fit(X, y).predict_interval(NEW)
    assert np.all(one.upper - one.lower > other.upper - other.lower)


def test_plug_in_intervals_of_student_noise_have_its_tails(student):
    mean, std = student.latent(NEW, return_std=True)
    noise = student_t(student.nu_, scale=student.zeta_**-0.5)
    for coverage in (0.5, 0.99):
        lower, upper = student.predict_interval(NEW, coverage, "plug-in")
        for m, s, a, b in zip(mean, std, lower, upper, strict=True):
            inside = quad(lambda f, m=m, s=s, a=a, b=b: norm.pdf(f, m, s) * (noise.cdf(b - f) - noise.cdf(a - f)),
                          m - 9 * s, m + 9 * s, epsabs=1e-11)[0]  # fmt: skip
            assert inside == pytest.approx(coverage, abs=1e-8)
    for nu in (4.0, 30.0, 200.0):
        sharp = student_interval(np.zeros(2), np.array([1e-9, 1e6]), 2.0, nu, 0.999)
        ends = [2.0 * student_t.ppf(0.9995, nu), 1e6 * norm.ppf(0.9995)]
        np.testing.assert_allclose(sharp.upper, ends, rtol=1e-9)


def test_draws_of_student_noise_have_its_tails(student):
    draws = student.sample_y(NEW, 100_000, 0)
    for coverage in (0.683, 0.999):
        lower, upper = student.predict_interval(NEW, coverage, "plug-in")
        inside = np.mean((lower[:, None] < draws) & (draws < upper[:, None]))
        assert inside == pytest.approx(coverage, abs=4.0 * np.sqrt(coverage * (1.0 - coverage) / draws.size))
    both = BayesianLSSVR(noise="student", refine=False).fit(
        student.X_fit_, np.column_stack([student.y_fit_, student.y_fit_])
    )
    assert both.sample_y(NEW, 3).shape == (7, 2, 3)


def test_marginal_intervals_are_refused_for_noise_that_was_found(learned, student):
    for model in (learned, student):
        with pytest.raises(ValueError, match=f"constant noise, and this model has found {model.noise_} noise"):
            model.predict_interval(NEW, 0.9, "marginal")


@pytest.mark.parametrize("which", ["weighted", "learned", "student"])
def test_the_display_of_left_out_rows_knows_weights_and_noise(which, request):
    model = request.getfixturevalue(which)
    _, errors, latent = left_out_refits(model, model.standardiser_(NEW))
    display = LeftOutDisplay.from_estimator(model, plot=False)
    np.testing.assert_allclose(display.y_true - display.y_pred, errors, atol=1e-8)
    np.testing.assert_allclose(display.std, np.sqrt(latent + noise_of(model)[0]), rtol=1e-7)


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
@pytest.mark.parametrize("settings", [{}, {"coding": "ova"}, {"shared_kernel": True}], ids=str)
def test_weights_of_several_classes_are_kept_for_trust(settings, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(36, 2))
    y = np.arange(36) % 3
    X[:, 0] += 2.0 * y
    model = BayesianLSSVC("linear", **settings).fit(X, y, sample_weight=np.where(y == 2, 2.5, 1.0))
    restored = bayes_lssvm.load(model.save(tmp_path / "model.npz"))
    assert restored.trust(progress=False).calibration == model.trust(progress=False).calibration
    for call in (model.marginalise, lambda: model.compare(["linear", "rbf"])):
        with pytest.raises(ValueError, match="for two classes, and there are 3"):
            call()


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("by_class", [False, True])
def test_label_sets_of_whole_weights_are_those_of_repeated_rows(m, by_class):
    rng = np.random.default_rng(m)
    y = np.arange(60) % m
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])[y] + rng.normal(size=(60, 2))
    new, times = 1.5 * rng.normal(size=(200, 2)), rng.integers(1, 4, 60)
    one = BayesianLSSVC("linear").fit(X, y, sample_weight=times)
    other = BayesianLSSVC("linear").fit(X.repeat(times, axis=0), y.repeat(times))
    found = one.predict_set(new, 0.9, by_class=by_class)
    np.testing.assert_array_equal(found, other.predict_set(new, 0.9, by_class=by_class))
    equal = BayesianLSSVC("linear").fit(X, y)
    assert np.any(found != equal.predict_set(new, 0.9, by_class=by_class))


def test_rows_are_not_added_to_noise_that_was_found(learned):
    with pytest.raises(ValueError, match="partial_fit keeps the noise fixed: fit all rows again"):
        learned.partial_fit(NEW, NEW[:, 0])


def test_the_curves_of_the_evidence_are_those_of_the_weighted_model(weighted):
    at = weighted.kernel_.sigma
    curves = EvidenceDisplay.from_estimator(weighted, values=[at], plot=False).curves
    expected = optimise(
        TridiagonalReduction.from_kernel_matrix(weighted.kernel_(weighted.X_fit_), weighted.y_fit_, weighted.weights_)
    )
    assert curves["without an Occam factor"][0] == pytest.approx(expected.log_evidence, abs=1e-6)


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
@pytest.mark.parametrize("m", [2, 3])
def test_rows_of_weight_zero_are_no_rows_to_leave_out(m):
    rng = np.random.default_rng(m)
    y = np.arange(60) % m
    X, w = 2.0 * y[:, None] + rng.normal(size=(60, 1)), np.where(np.arange(60) % 5, 1.5, 0.0)
    model = BayesianLSSVC("linear").fit(X, y, sample_weight=w)
    with pytest.raises(ValueError, match="fitted to 48 rows, but 60 were given"):
        ReliabilityDisplay.from_estimator(model, X, y, left_out=True, plot=False)
    display = ReliabilityDisplay.from_estimator(model, X[w > 0.0], y[w > 0.0], left_out=True, plot=False)
    assert np.all((display.prob_pred >= 0.0) & (display.prob_pred <= 1.0))
