"""Weighted rows, noise precision ζw_i: densities, posteriors and leave-one-out, each derived another way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as SklearnRBF
from sklearn.gaussian_process.kernels import ConstantKernel

from bayes_lssvm.base.rows import group_equal_inputs
from bayes_lssvm.base.standardisation import moments
from bayes_lssvm.base.weights import check_weights, counted, row_count
from bayes_lssvm.kernels import ARD, RBF, Polynomial
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior, PrimalPosterior
from bayes_lssvm.levels.level2 import log_evidence, log_evidence_hessian
from bayes_lssvm.levels.logistic_map import LogisticMap, left_out_cost
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.levels.solvers import solve_cg, solve_cholesky, solve_spectral
from bayes_lssvm.linalg.reduction import log_constant
from bayes_lssvm.linalg.repeats import decomposed, reduced, repeated_inputs
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction
from bayes_lssvm.press.leave_one_out import LeaveOneOutSpectrum, leave_one_out
from bayes_lssvm.priors import Normal, as_hyper_prior

MU, ZETA = 0.7, 5.0
KERNEL = RBF(1.3)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=30) + 4.0
    return X, y, rng.gamma(1.0, 1.0, 30) + 0.05


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(4).integers(1, 5, 30).astype(float)


def dense_log_evidence(K, y, w, mu, zeta):
    """log ∫ Normal(y; b1, K/μ + (ζW)⁻¹) db by a dense factor: an independent derivation."""
    S = K / mu + np.diag(1.0 / (zeta * w))
    one = np.ones(len(y))
    precision = np.linalg.solve(S, np.stack([one, y], axis=1))
    total = one @ precision[:, 0]
    b = one @ precision[:, 1] / total
    misfit = (y - b) @ np.linalg.solve(S, y - b)
    return -0.5 * (np.linalg.slogdet(S)[1] + np.log(total) + misfit + (len(y) - 1) * np.log(2.0 * np.pi))


@pytest.mark.parametrize("reduce", [TridiagonalReduction.from_kernel_matrix, CentredSpectrum.from_kernel_matrix])
def test_the_weighted_evidence_is_that_of_the_dense_gaussian(data, reduce):
    X, y, w = data
    K = KERNEL(X)
    for mu, zeta in ((MU, ZETA), (0.01, 50.0), (20.0, 0.5)):
        assert log_evidence(reduce(K, y, w), mu, zeta) == pytest.approx(dense_log_evidence(K, y, w, mu, zeta), abs=1e-9)


def test_equal_inputs_of_any_weights_are_one_of_their_sum(data):
    """The grouped reduction and decomposition of rows with repeats are those of all rows."""
    X, y, w = data
    X = X[np.r_[:30, 3, 3, 7, 11]]
    y, w = np.r_[y, 4.4, 3.9, 5.0, 4.1], np.r_[w, 0.3, 1.7, 0.9, 2.2]
    rows = repeated_inputs(group_equal_inputs(X, y, w))
    K = KERNEL(rows.X)
    grouped, whole = reduced(K, y, rows), dense_log_evidence(KERNEL(X), y, w, MU, ZETA)
    assert grouped.n_zeros == 4
    assert log_evidence(grouped, MU, ZETA) == pytest.approx(whole, abs=1e-9)
    spectrum, plain = decomposed(K, y, rows), CentredSpectrum.from_kernel_matrix(KERNEL(X), y, w)
    assert log_evidence(spectrum, MU, ZETA) == pytest.approx(whole, abs=1e-9)
    np.testing.assert_allclose(spectrum.vectors.T @ (spectrum.vectors / w[:, None]), np.eye(33), atol=1e-12)
    first, second = solve_spectral(spectrum, 2.0), solve_spectral(plain, 2.0)
    np.testing.assert_allclose(first.alpha, second.alpha, atol=1e-10)
    assert first.intercept == pytest.approx(second.intercept, abs=1e-10)
    np.testing.assert_allclose(
        grouped.local_evidence(MU, ZETA).hessian, log_evidence_hessian(plain, MU, ZETA), rtol=1e-8, atol=1e-8
    )


def test_a_whole_weight_is_the_row_repeated(data, counts):
    """Level 1 to rounding; level 2 but for (ζ/2π)^{(n−1)/2} n^{−½} of each row, what n equal measurements say of ζ."""
    X, y, _ = data
    times = counts.astype(int)
    X_rep, y_rep = X.repeat(times, axis=0), y.repeat(times)
    K, K_rep = KERNEL(X), KERNEL(X_rep)
    for mu, zeta in ((MU, ZETA), (0.05, 40.0), (3.0, 0.8)):
        weighted = log_evidence(TridiagonalReduction.from_kernel_matrix(K, y, counts), mu, zeta)
        repeated = log_evidence(CentredSpectrum.from_kernel_matrix(K_rep, y_rep), mu, zeta)
        within = 0.5 * (len(y_rep) - len(y)) * np.log(zeta / (2.0 * np.pi)) - 0.5 * np.log(counts).sum()
        assert repeated == pytest.approx(weighted + within, abs=1e-8)
    one = DualPosterior.from_kernel_matrix(KERNEL, X, K, y, mu=MU, zeta=ZETA, weights=counts)
    other = DualPosterior.from_kernel_matrix(KERNEL, X_rep, K_rep, y_rep, mu=MU, zeta=ZETA)
    new = np.random.default_rng(0).normal(size=(9, 2))
    for a, b in zip(one.latent_moments(new), other.latent_moments(new), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)
    np.testing.assert_allclose(one.latent_covariance(new), other.latent_covariance(new), atol=1e-8)
    np.testing.assert_allclose(one.alpha, np.bincount(np.repeat(np.arange(30), times), other.alpha), atol=1e-8)
    # of n equal rows one is left out
    outputs, variances = other.left_out_moments(y_rep)
    first = np.cumsum(times) - times
    np.testing.assert_allclose(one.left_out_moments(y)[0], outputs[first], atol=1e-8)
    np.testing.assert_allclose(one.left_out_moments(y)[1], variances[first], atol=1e-8)
    found = leave_one_out(K, y, ZETA / MU, mu=MU, weights=counts).one_of_each()
    np.testing.assert_allclose(found[0], outputs[first], atol=1e-8)
    np.testing.assert_allclose(found[1], variances[first], atol=1e-8)


def test_level_1_is_that_of_an_explicit_feature_space(data):
    X, y, w = data
    kernel = Polynomial(2, 1.5)
    dual = DualPosterior.from_kernel_matrix(kernel, X, kernel(X), y, mu=MU, zeta=ZETA, weights=w)
    primal = PrimalPosterior.fit(kernel.feature_map(X), y, mu=MU, zeta=ZETA, weights=w)
    new = np.random.default_rng(1).normal(size=(12, 2))
    features = kernel.feature_map(new)
    mean, variance = dual.latent_moments(new)
    np.testing.assert_allclose(mean, primal.latent_mean(features), atol=1e-9)
    np.testing.assert_allclose(variance, primal.latent_variance(features), atol=1e-9)
    from_spectrum = DualPosterior.from_spectrum(
        kernel, X, CentredSpectrum.from_kernel_matrix(kernel(X), y, w), mu=MU, zeta=ZETA
    )
    np.testing.assert_allclose(from_spectrum.latent_moments(new)[1], variance, atol=1e-9)


def test_mean_error_bars_and_evidence_are_those_of_a_gaussian_process_with_alpha_for_each_point(data):
    """scikit-learn's GPR, to which a flat level is added: by its own predictions for y − b and for the constant 1."""
    X, y, w = data
    kernel = ConstantKernel(1.0 / MU) * SklearnRBF(1.3 / np.sqrt(2.0))
    process = GaussianProcessRegressor(kernel, alpha=1.0 / (ZETA * w), optimizer=None)
    K = KERNEL(X)
    ours = DualPosterior.from_kernel_matrix(KERNEL, X, K, y, mu=MU, zeta=ZETA, weights=w)
    new = np.random.default_rng(2).normal(size=(11, 2))
    constant = process.fit(X, np.ones(len(y)))
    total, share = constant.alpha_.sum(), 1.0 - constant.predict(new)
    own = process.fit(X, y - ours.intercept)
    mean, std = own.predict(new, return_std=True)
    z, variance = ours.latent_moments(new)
    np.testing.assert_allclose(z, mean + ours.intercept, atol=1e-8)
    np.testing.assert_allclose(variance, std**2 + share**2 / total, atol=1e-8)
    value = own.log_marginal_likelihood_value_ - 0.5 * np.log(total / (2.0 * np.pi))
    assert log_evidence(TridiagonalReduction.from_kernel_matrix(K, y, w), MU, ZETA) == pytest.approx(value, abs=1e-8)


def test_leave_one_out_is_the_refit_without_the_row(data):
    X, y, w = data
    K = KERNEL(X)
    found = leave_one_out(K, y, ZETA / MU, mu=MU, weights=w)
    spectrum = LeaveOneOutSpectrum.from_spectrum(CentredSpectrum.from_kernel_matrix(K, y, w)).at(ZETA / MU, mu=MU)
    posterior = DualPosterior.from_kernel_matrix(KERNEL, X, K, y, mu=MU, zeta=ZETA, weights=w)
    for i in (0, 13, 29):
        kept = np.arange(30) != i
        less = DualPosterior.from_kernel_matrix(
            KERNEL, X[kept], K[np.ix_(kept, kept)], y[kept], mu=MU, zeta=ZETA, weights=w[kept]
        )
        mean, variance = less.latent_moments(X[i : i + 1])
        for outputs, variances in (
            (found.predictions, found.latent_variances),
            (spectrum.predictions, spectrum.latent_variances),
            posterior.left_out_moments(y),
        ):
            assert outputs[i] == pytest.approx(mean[0], abs=1e-9)
            assert variances[i] == pytest.approx(variance[0], abs=1e-9)


def test_the_solvers_agree(data):
    X, y, w = data
    K = KERNEL(X)
    first = solve_cholesky(K, y, 3.0, w)
    second = solve_spectral(CentredSpectrum.from_kernel_matrix(K, y, w), 3.0)
    third = solve_cg(KERNEL, X, y, 3.0, weights=w, preconditioner_rank=5, progress=False)
    for other in (second, third):
        np.testing.assert_allclose(other.alpha, first.alpha, atol=1e-7)
        assert other.intercept == pytest.approx(first.intercept, abs=1e-7)
    np.testing.assert_allclose(y - K @ first.alpha - first.intercept, first.alpha / (3.0 * w), atol=1e-9)  # e = α/(γw)


@pytest.mark.parametrize("settings", [{"occam": True}, {"occam": False}, {"prior": as_hyper_prior(Normal(0.0, 2.0))}])
def test_gradients_of_the_weighted_evidence(data, settings):
    X, y, w = data
    objective = Objective(X, y, weights=w, **settings)
    x = np.log([1.1, 2.0])
    found = objective.evaluate(ARD((1.1, 2.0)), gradient=True)
    numeric = approx_fprime(x, lambda z: objective.evaluate(ARD(tuple(np.exp(z)))).value, 1e-6)
    np.testing.assert_allclose(found.gradient, numeric, rtol=2e-5, atol=2e-5)
    joint = objective.joint(ARD((1.1, 2.0)), float(np.log(found.level2.gamma)))
    assert joint.value == pytest.approx(
        log_evidence(
            found.reduction,
            (len(y) - 1) / found.reduction.values(np.array([found.level2.gamma]))[1][0],
            found.level2.gamma * (len(y) - 1) / found.reduction.values(np.array([found.level2.gamma]))[1][0],
        ),
        abs=1e-8,
    )


def test_only_ratios_of_weights_matter(data):
    X, y, w = data
    K = KERNEL(X)
    one = TridiagonalReduction.from_kernel_matrix(K, y, w)
    other = TridiagonalReduction.from_kernel_matrix(K, y, 10.0 * w)
    assert log_evidence(one, MU, ZETA) == pytest.approx(log_evidence(other, MU, ZETA / 10.0), abs=1e-9)
    assert log_constant(30, w) != log_constant(30)


def test_weighted_class_centres_are_those_of_repeated_rows(data, counts):
    X, y, _ = data
    labels = np.where(y > 4.0, 1.0, -1.0)
    times = counts.astype(int)
    centres = []
    for inputs, signs, weights in ((X, labels, counts), (X.repeat(times, axis=0), labels.repeat(times), None)):
        K = KERNEL(inputs)
        posterior = DualPosterior.from_kernel_matrix(KERNEL, inputs, K, signs, mu=MU, zeta=ZETA, weights=weights)
        centres.append((posterior, ClassCentres.from_posterior(posterior, signs, 5.0, K)))
    (one, weighted), (other, repeated) = centres
    assert weighted.zeta_star == pytest.approx(repeated.zeta_star, rel=1e-9)
    for a, b in zip(weighted.moments(one, X[:5]), repeated.moments(other, X[:5]), strict=True):
        np.testing.assert_allclose(a.mean, b.mean, atol=1e-8)
        np.testing.assert_allclose(a.variance, b.variance, atol=1e-8)


def test_the_weighted_map_to_probabilities_is_that_of_repeated_outputs(counts):
    rng = np.random.default_rng(5)
    z, labels = rng.normal(size=30), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    times = counts.astype(int)
    one = LogisticMap.fit(z, z**2, labels, counts)
    other = LogisticMap.fit(z.repeat(times), (z**2).repeat(times), labels.repeat(times))
    assert [one.slope, one.offset, one.bound] == pytest.approx([other.slope, other.offset, other.bound], abs=1e-9)
    value, slopes = left_out_cost(z, labels, counts)
    assert value == pytest.approx(left_out_cost(z.repeat(times), labels.repeat(times))[0], abs=1e-9)
    numeric = approx_fprime(z, lambda v: left_out_cost(v, labels, counts)[0], 1e-6)
    np.testing.assert_allclose(slopes, numeric, atol=1e-4)


def test_weighted_moments_are_those_of_repeated_rows(data, counts):
    X, _, w = data
    mean, scale, _ = moments(X, counts)
    repeated = X.repeat(counts.astype(int), axis=0)
    np.testing.assert_allclose(mean, repeated.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(scale, repeated.std(axis=0, ddof=1), atol=1e-14)
    np.testing.assert_allclose(moments(X, w)[1], moments(X, 7.0 * w)[1], atol=1e-14)  # precisions have no unit
    assert row_count(counts, 30) == counts.sum()
    assert row_count(w, 30) == 30.0
    assert counted(w, 30).sum() == pytest.approx(30.0)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -1.0, 2.0], "row 1 has -1"),
        ([1.0, np.nan, 2.0], "must be finite; row 1"),
        ([1.0, np.inf, 2.0], "must be finite; row 1"),
        ([0.0, 0.0, 0.0], "is zero for every row"),
        ([1.0, 2.0], r"each of the 3 rows; its shape is \(2,\)"),
        ([[1.0], [2.0], [3.0]], "its shape is"),
        (["a", "b", "c"], "must be numbers"),
        ([1e-9, 1.0, 1e9], "a wider range than double precision"),
    ],
)
def test_bad_weights_get_a_sentence(weights, words):
    with pytest.raises(ValueError, match=words):
        check_weights(weights, 3)


def test_weights_of_one_are_none():
    assert check_weights(None, 3) is None
    assert check_weights(1, 3) is None
    assert check_weights(np.ones(3), 3) is None
    np.testing.assert_array_equal(check_weights(2, 3), [2.0, 2.0, 2.0])
