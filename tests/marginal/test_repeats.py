"""Rows that repeat inputs, and γ beyond double precision: against 200 digits, and every method against the others."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

from bayes_lssvm.base.errors import BayesLSSVMWarning, quiet
from bayes_lssvm.base.rows import group_equal_inputs
from bayes_lssvm.kernels import ARD, RBF, Polynomial
from bayes_lssvm.linalg.repeats import decomposed, reduced, repeated_inputs, spectrum_of
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.marginal.density import Density
from bayes_lssvm.marginal.rules.level2 import integrate
from bayes_lssvm.priors import Normal
from tests.helpers_high_precision import rbf_log_evidence


def _with_repeats(seed, *, equal=False):
    """Some of 5 … 20 distinct inputs in one to three dimensions, up to three times each, with equal targets or not."""
    rng = np.random.default_rng(seed)
    distinct, d = int(rng.integers(5, 21)), int(rng.integers(1, 4))
    X = rng.normal(size=(distinct, d))
    counts = rng.integers(1, 4, size=distinct)
    counts[0] = 2
    X = np.repeat(X, counts, axis=0)
    f = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, -1]
    noise = rng.choice([0.01, 0.1, 0.5])
    y = f + noise * (np.repeat(rng.normal(size=distinct), counts) if equal else rng.normal(size=len(X)))
    order = rng.permutation(len(X))
    return X[order], y[order], float(rng.choice([0.5, 1.0, 2.0]))


def _without(seed):
    rng = np.random.default_rng(1000 + seed)
    n, d = int(rng.integers(5, 61)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    y = np.sin(2.0 * X[:, 0]) + rng.choice([0.0, 0.01, 0.1, 0.5]) * rng.normal(size=n)
    return X, y, float(rng.choice([0.3, 1.0, 3.0]))


def _declared_covers(X, y, sigma):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = marginalise(X, y, kernel=RBF(sigma), fixed_kernel=True, standardise=False)
    error = abs(found.log_evidence - rbf_log_evidence(X, y, sigma))
    assert error <= found.log_evidence_error
    # where the evidence may be wrong by more than a tenth of a nat, it is said
    assert found.log_evidence_error < 0.1 or any("miss a tail" in str(w.message) for w in said)


def test_twelve_points_twice():
    """The range of γ used to end at 1e12, twenty-odd powers of ten before the peak, with an error of 1e-16."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=12)
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    found = marginalise(X, y, kernel=RBF(1.0), fixed_kernel=True, standardise=False)
    assert found.log_evidence == pytest.approx(141.584473226365, abs=1e-10)
    assert found.log_evidence == pytest.approx(rbf_log_evidence(X, y, 1.0), abs=1e-10)
    assert found.log_evidence_error < 1e-10


def test_what_cannot_be_computed_is_said():
    """On a line, one eigenvalue of the twelve distinct points is lost in rounding, and the evidence with it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=12)
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    with pytest.warns(BayesLSSVMWarning, match="miss a tail"):
        found = marginalise(X, y, kernel=RBF(1.0), fixed_kernel=True, standardise=False)
    assert abs(found.log_evidence - rbf_log_evidence(X, y, 1.0)) < found.log_evidence_error


def test_labels_that_repeat_without_noise_have_an_error_that_is_a_number():
    """Log γ is 378 there, and γ² beyond the range of doubles: the error was not a number, and NumPy said so."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(140, 3)).astype(float)
    y = np.where(X.sum(axis=1) > 4.5, 1.0, -1.0)
    rows = group_equal_inputs(X, y)
    assert rows.copies
    found = marginalise(X, y, kernel=RBF(1.0), fixed_kernel=True, standardise=False, prior=Normal(0.0, 3.0))
    assert found.mean()["log_gamma"] > 355.0
    assert found.log_evidence_error < 1e-6


def test_rounding_is_measured_where_its_estimate_is_large():
    """The estimate takes all eigenvalues to be moved one way: 5.5e-5 nats here, and the truth is 2.6e-7."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(32, 2))
    y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 1e-3 * rng.normal(size=32)
    prior = Normal(0.0, 3.0)
    estimate = integrate(reduced(RBF(4.0)(X), y), prior, prior).rounding
    assert estimate > 2e-5
    found = marginalise(X, y, kernel=RBF(4.0), fixed_kernel=True, standardise=False, prior=prior)
    assert abs(found.log_evidence - rbf_log_evidence(X, y, 4.0)) < found.log_evidence_error < 0.5 * estimate
    # the same where rows have weights, and where some repeat, so that groups are put in another order with the matrix
    options = {"kernel": RBF(4.0), "fixed_kernel": True, "standardise": False, "prior": prior}
    twice, again = np.vstack([X, X[:4]]), np.append(y, y[:4] + 1e-3)
    rows = repeated_inputs(group_equal_inputs(twice, again))
    with quiet():  # 1e-5 nats is warned of
        weighted = marginalise(X, y, sample_weight=np.full(32, 2.0), **options)
        repeated = marginalise(twice, again, **options)
    assert weighted.log_evidence_error < 0.5 * estimate
    assert repeated.log_evidence_error < integrate(reduced(RBF(4.0)(rows.X), again, rows), prior, prior).rounding


def test_rounding_of_small_eigenvalues_is_declared_where_the_prior_ends_the_range_of_gamma():
    """Ten points on a line, each twice with equal labels: an eigenvalue of 1e-9, known to 1e-6, and γ near e^65.

    Rounding moves the log evidence by 1e-5; by differences of log_det, whose part in it vanishes beside that of the
    known zeros, the declared error was 1e-12.
    """
    rng = np.random.default_rng(6)
    X = rng.normal(size=(10, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 0]
    y = np.where(y > np.median(y), 1.0, -1.0)
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)
        found = marginalise(X, y, kernel=RBF(1.0), fixed_kernel=True, standardise=False)
    error = abs(found.log_evidence - rbf_log_evidence(X, y, 1.0))
    assert 1e-9 < error <= found.log_evidence_error < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_declared_error_with_repeats(seed):
    _declared_covers(*_with_repeats(seed, equal=seed % 2 == 0))


@pytest.mark.parametrize("seed", range(4))
def test_declared_error_without_repeats(seed):
    _declared_covers(*_without(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 28))
def test_declared_error_with_repeats_of_many(seed):
    _declared_covers(*_with_repeats(seed, equal=seed % 3 == 0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 54))
def test_declared_error_without_repeats_of_many(seed):
    _declared_covers(*_without(seed))


# ------------------------------------------------------------------------------------------- the same numbers as before


@cache
def _mixed():
    X, y, _ = _with_repeats(3)
    return X, y, repeated_inputs(group_equal_inputs(X, y))


@pytest.mark.parametrize("kernel", [RBF(1.0), Polynomial(2, 1.0)])
def test_the_reduction_is_that_of_all_rows(kernel):
    X, y, rows = _mixed()
    own, whole = reduced(kernel(rows.X), y, rows), TridiagonalReduction.from_kernel_matrix(kernel(X), y)
    gammas = np.array([1e-3, 1.0, 50.0])
    for mine, theirs in zip(own.sums(gammas), whole.sums(gammas), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)  # w is a difference
    for mine, theirs in zip(own.values(gammas), whole.values(gammas), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)
    np.testing.assert_allclose(
        own.local_evidence(0.7, 5.0).hessian, whole.local_evidence(0.7, 5.0).hessian, rtol=1e-9, atol=1e-9
    )
    assert own.n == whole.n
    assert own.totals[0] == pytest.approx(whole.totals[0], rel=1e-12)
    assert own.log_constant == whole.log_constant


def test_the_spectrum_is_that_of_all_rows():
    X, y, rows = _mixed()
    kernel = RBF(1.0)
    own, whole = decomposed(kernel(rows.X), y, rows), CentredSpectrum.from_kernel_matrix(kernel(X), y)
    np.testing.assert_allclose(own.eigenvalues, whole.eigenvalues, atol=1e-13)
    assert np.count_nonzero(own.eigenvalues == 0.0) >= len(y) - len(rows.counts)
    np.testing.assert_allclose(own.vectors.T @ own.vectors, np.eye(len(y) - 1), atol=1e-13)
    np.testing.assert_allclose(own.vectors @ own.t, y - y.mean(), atol=1e-13)
    np.testing.assert_allclose(own.kernel_means, whole.kernel_means, atol=1e-14)


@pytest.mark.parametrize("y", [(1.0, 1.0, -1.0, -1.0, -1.0), (1.0, 1.2, -1.0, -1.3, -1.0)])
def test_two_distinct_inputs_leave_one_eigenvalue(y):
    X, y, kernel = np.array([[0.0], [1.0]])[[0, 0, 1, 1, 1]], np.array(y), RBF(1.0)
    rows = repeated_inputs(group_equal_inputs(X, y))
    whole = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    for own in (reduced(kernel(rows.X), y, rows), decomposed(kernel(rows.X), y, rows), spectrum_of(kernel(X), X, y)):
        for mine, theirs in zip(own.sums(np.array([0.1, 3.0])), whole.sums(np.array([0.1, 3.0])), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
        mine, theirs = own.local_evidence(1.0, 3.0), whole.local_evidence(1.0, 3.0)
        assert mine.value == pytest.approx(theirs.value, rel=1e-13)
        np.testing.assert_allclose(mine.hessian, theirs.hessian, rtol=1e-11)


@pytest.mark.parametrize("kernel", [RBF(1.0), ARD((1.0, 2.0))])
def test_the_density_and_its_gradient(kernel):
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(10, 2)), 2, axis=0)
    y = rng.normal(size=20)
    density = Density(X, y, kernel, (Normal(),) * (2 + kernel.log_params.size))
    x = np.concatenate([[0.3, 1.2], kernel.log_params + 0.1])
    found = density.value_and_gradient(x)
    whole = TridiagonalReduction.from_kernel_matrix(density.kernel_at(x)(X), y)
    log_det, q1 = whole.values(np.exp([0.9]))
    own = 0.5 * (19 * (0.3 - np.log(2 * np.pi)) - np.exp(0.3) * q1[0] - log_det[0] - np.log(20))
    assert found.value == pytest.approx(own + float(density.log_prior(x)), abs=1e-11)
    assert density.values(x[None])[0] == pytest.approx(found.value, abs=1e-11)
    steps = 1e-5 * np.eye(len(x))
    slopes = [(density.value_and_gradient(x + s).value - density.value_and_gradient(x - s).value) / 2e-5 for s in steps]
    np.testing.assert_allclose(found.gradient, slopes, rtol=1e-6, atol=1e-6)


def test_equal_targets_have_no_spread_within_groups():
    X = np.repeat(np.arange(5.0), 3)[:, None]
    y = np.repeat(1e6 + np.random.default_rng(0).normal(size=5), 3)
    assert group_equal_inputs(X, y).squares == 0.0


# ------------------------------------------------------------------------------------------------- all methods agree


@cache
def _twice():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=12)
    return np.vstack([X, X]), np.concatenate([y, y])


@pytest.mark.parametrize(("method", "within"), [("laplace", 0.03), ("importance", 0.03), ("nuts", 0.01)])
def test_methods_agree_far_beyond_rounding(method, within):
    X, y = _twice()
    found = marginalise(X, y, kernel=RBF(1.0), fixed_kernel=True, method=method, progress=False, standardise=False)
    assert found.log_evidence == pytest.approx(141.5845, abs=within)
    assert found.mean()["log_gamma"] == pytest.approx(52.5, abs=2.0)
    mean, sd = found.predict(X, return_std=True)  # γ = e^52: an interpolation
    np.testing.assert_allclose(mean, y, atol=1e-4)
    assert np.all(sd < 1e-3)


def test_the_declared_error_is_a_number_however_large_gamma_is():
    """Forty inputs four times with one label: γ is some exp(700), whose square is no number in double precision."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 2)), 4, axis=0)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1.0, -1.0)
    coarse, fine = (
        marginalise(X, y, kernel=RBF(1.0), fixed_kernel=True, standardise=False, tolerance=tolerance)
        for tolerance in (1e-3, 1e-6)
    )
    assert coarse.log_evidence > 1e4
    assert abs(coarse.log_evidence - fine.log_evidence) <= coarse.log_evidence_error + fine.log_evidence_error
    assert 0.0 < fine.log_evidence_error <= coarse.log_evidence_error < 1e-2


def test_repeats_are_no_slower():
    """The rule over γ used to be halved to its limit, because the integrand was cut."""
    X, y = _twice()
    rows = repeated_inputs(group_equal_inputs(X, y))
    found = integrate(reduced(RBF(1.0)(rows.X), y, rows), Normal(), Normal())
    assert len(found.rows.log_gamma) < 500
