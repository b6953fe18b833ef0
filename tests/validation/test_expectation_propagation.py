"""Expectation propagation: exact cases, definitions, derivatives, and GPy, which visits site after site."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from bayes_lssvm import datasets
from bayes_lssvm.base.errors import NotPositiveSemidefiniteError
from validation import expectation_propagation as ep
from validation.expectation_propagation import expectation_propagation
from validation.papers.paper0.section_3_2 import distinct


def covariance(X, Z, variance, width):
    return variance * np.exp(-0.5 * np.sum((X[:, None] - Z[None]) ** 2, axis=2) / width**2)


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=60) > 0.0, 1.0, -1.0), rng.normal(size=(40, 2))


def test_one_label_is_exact():
    """Mean and variance of f given y = 1 under Normal(0, v) Φ(f), by quadrature."""
    v = 3.0
    found = expectation_propagation(np.array([[v]]), np.array([1.0]))
    assert found.log_evidence == pytest.approx(np.log(0.5), abs=1e-12)
    mean, variance = found.latent(np.array([[v]]), np.array([v]))
    f = np.linspace(-15.0, 15.0, 60_001)
    density = np.exp(-0.5 * f**2 / v) * ndtr(f)
    density /= density.sum()
    assert mean[0] == pytest.approx(density @ f, abs=1e-8)
    assert variance[0] == pytest.approx(density @ f**2 - (density @ f) ** 2, abs=1e-8)


def test_independent_labels_are_exact():
    found = expectation_propagation(np.diag([0.5, 2.0, 9.0]), np.array([1.0, -1.0, -1.0]))
    assert found.log_evidence == pytest.approx(3.0 * np.log(0.5), abs=1e-12)


def test_the_evidence_is_near_the_probability_of_an_orthant(overlapping):
    """p(y) is the probability that y_i (f_i + e_i) > 0 with e ~ Normal(0, 1)."""
    X, y, _ = overlapping
    K = covariance(X[:5], X[:5], 2.0, 1.0)
    flipped = np.outer(y[:5], y[:5]) * (K + np.eye(5))
    exact = np.log(multivariate_normal(np.zeros(5), flipped).cdf(np.zeros(5), rng=np.random.default_rng(0)))
    assert expectation_propagation(K, y[:5]).log_evidence == pytest.approx(exact, abs=5e-3)


def test_the_slope_is_that_of_the_evidence(overlapping):
    X, y, _ = overlapping

    def value(logs):
        return expectation_propagation(covariance(X, X, *np.exp(logs)), y, tolerance=1e-11).log_evidence

    def slope(logs):
        K = covariance(X, X, *np.exp(logs))
        pull = expectation_propagation(K, y, tolerance=1e-11).slope() * K
        squares = np.sum((X[:, None] - X[None]) ** 2, axis=2)
        return np.array([pull.sum(), np.sum(pull * squares) / np.exp(2.0 * logs[1])])

    assert check_grad(value, slope, np.array([1.0, 0.3])) < 1e-5


def test_a_start_changes_the_sweeps_and_not_the_fixed_point(overlapping):
    X, y, _ = overlapping
    near, K = (covariance(X, X, variance, 1.0) for variance in (4.0, 4.2))
    cold = expectation_propagation(K, y, tolerance=1e-11)
    warm = expectation_propagation(K, y, start=expectation_propagation(near, y).sites, tolerance=1e-11)
    assert warm.sweeps < cold.sweeps
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-10)
    assert np.allclose(warm.weights, cold.weights, atol=1e-9)


def test_where_rows_repeat_mixing_settles_what_goes_round_in_circles(monkeypatch):
    """Titanic: 120 rows with fourteen distinct inputs or fewer."""
    X, y = datasets.load("tit").Xy
    X, y = X[::18][:120], np.where(y == y[0], 1.0, -1.0)[::18][:120]
    assert len(np.unique(X, axis=0)) <= 14
    K = covariance(X, X, 100.0, 1.0)
    found = expectation_propagation(K, y)
    weights = y * ndtr_slope(K @ found.weights, found, K, y)
    assert np.allclose(found.weights, weights, atol=1e-5)
    monkeypatch.setattr(ep._Mixing, "__call__", lambda self, point, move: point + move)
    with pytest.raises(NotPositiveSemidefiniteError, match="did not settle in 500 sweeps"):
        expectation_propagation(K, y)


def ndtr_slope(mean, found, K, y):
    """φ(z)/Φ(z)/√(1 + v) at the cavities: at the fixed point it is the weight of each row, up to its label."""
    _, variance = found.latent(K, np.diag(K))
    cavity = 1.0 / (1.0 / variance - found.sites.precision)
    m = cavity * (mean / variance - found.sites.shift)
    z = y * m / np.sqrt(1.0 + cavity)
    return np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) / ndtr(z) / np.sqrt(1.0 + cavity)


def test_what_is_no_covariance_is_refused():
    with pytest.raises(NotPositiveSemidefiniteError, match="broke down"):
        expectation_propagation(np.array([[1.0, 3.0], [3.0, 1.0]]), np.array([1.0, -1.0]))


@pytest.mark.skipif(find_spec("GPy") is None, reason="GPy is not installed")
@pytest.mark.parametrize(("variance", "width"), [(1.0, 1.4), (20.0, 0.8), (400.0, 4.0)])
def test_it_is_gpys(overlapping, variance, width):
    X, y, new = overlapping
    GPy = import_module("GPy")
    before = np.random.get_state()  # noqa: NPY002 - the generator that GPy uses
    np.random.seed(1)  # noqa: NPY002
    try:
        method = GPy.inference.latent_function_inference.EP(epsilon=1e-14, ep_mode="nested")
        kernel = GPy.kern.RBF(2, variance=variance, lengthscale=width)
        theirs = GPy.models.GPClassification(X, (y[:, None] > 0).astype(float), kernel=kernel, inference_method=method)
    finally:
        np.random.set_state(before)  # noqa: NPY002
    K = covariance(X, X, variance, width)
    ours = expectation_propagation(K, y, tolerance=1e-10)
    assert ours.log_evidence == pytest.approx(float(theirs.log_likelihood()), abs=1e-6)
    mean, spread = ours.latent(covariance(new, X, variance, width), np.full(len(new), variance))
    assert np.allclose(ndtr(mean / np.sqrt(1.0 + spread)), np.asarray(theirs.predict(new)[0])[:, 0], atol=1e-6)
    assert (ours.slope() * K).sum() == pytest.approx(variance * float(theirs.kern.variance.gradient[0]), abs=1e-5)


def test_rows_that_repeat_may_be_counted():
    """Titanic: the evidence, its slope and predictions are those of all rows; a start near by leads to the same."""
    X, y = datasets.load("tit").Xy
    X, y = X[::18], np.where(y == y[0], 1.0, -1.0)[::18]
    rows, labels, counts = distinct(X, y)
    assert len(labels) < len(y) / 4
    assert counts.sum() == len(y)
    for variance, width in ((1.0, 1.4), (60.0, 1.0)):
        K = covariance(X, X, variance, width)
        whole = expectation_propagation(K, y, tolerance=1e-10)
        few = covariance(rows, rows, variance, width)
        counted = expectation_propagation(few, labels, counts=counts, tolerance=1e-10)
        assert counted.log_evidence == pytest.approx(whole.log_evidence, abs=1e-7)
        assert (counted.slope() * few).sum() == pytest.approx((whole.slope() * K).sum(), abs=1e-6)
        for new in (rows, rows + 0.3):
            found = counted.latent(covariance(new, rows, variance, width), np.full(len(new), variance))
            expected = whole.latent(covariance(new, X, variance, width), np.full(len(new), variance))
            assert np.allclose(found, expected, atol=1e-6)
        again = expectation_propagation(few, labels, counts=counts, start=counted.sites)
        assert again.sweeps == 1
