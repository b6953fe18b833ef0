"""Quantiles of mixtures over hyperparameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from bayes_lssvm import FullyBayesianLSSVR, marginalise
from bayes_lssvm.kernels import RBF
from bayes_lssvm.marginal.quantiles import mixture_quantiles


def test_quantiles_invert_the_distribution():
    rng = np.random.default_rng(0)
    means, sds = rng.normal(size=(5, 40)), rng.uniform(0.1, 3.0, size=(5, 40))
    weights = rng.dirichlet(np.ones(40))
    levels = np.array([0.001, 0.05, 0.5, 0.975])
    found = mixture_quantiles(means, sds, weights, levels)
    for j, level in enumerate(levels):
        np.testing.assert_allclose(ndtr((found[:, j, None] - means) / sds) @ weights, level, atol=1e-12)


def test_one_component_has_the_quantiles_of_its_gaussian():
    found = mixture_quantiles(np.array([[2.0]]), np.array([[3.0]]), np.ones(1), np.array([0.1, 0.9]))
    np.testing.assert_allclose(found[0], norm.ppf([0.1, 0.9], 2.0, 3.0), rtol=1e-14)


@pytest.fixture(scope="module")
def few():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, size=(20, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=20)


def test_intervals_are_those_of_a_dense_sum_over_the_hyperparameters(few):
    """The predictive distribution by its definition: a grid over (log μ, log ζ), the model solved at each node."""
    X, y = few
    Z, t = (X - X.mean()) / X.std(ddof=1), (y - y.mean()) / y.std(ddof=1)
    kernel, new = RBF(1.0), np.array([[0.0], [1.4], [4.0]])
    K = kernel(Z)
    grid = np.linspace(-9.0, 9.0, 61)
    center = np.eye(20) - 0.05
    lam, V = np.linalg.eigh(center @ K @ center)
    lam, V = np.maximum(lam[1:], 0.0), V[:, 1:]
    means, sds, logs = [], [], []
    for a in grid:
        for b in grid:
            v = lam / np.exp(a) + np.exp(-b)
            logs.append(
                np.sum(norm.logpdf(V.T @ t, 0.0, np.sqrt(v))) + norm.logpdf(a, 0.0, 3.0) + norm.logpdf(b, 0.0, 3.0)
            )
            # the bias with a prior so wide that it is flat
            cov = K / np.exp(a) + 1e6 + np.eye(20) * np.exp(-b)
            k = kernel(new, Z) / np.exp(a) + 1e6
            solved = np.linalg.solve(cov, np.column_stack([t, k.T]))
            means.append(k @ solved[:, 0])
            own = 1.0 / np.exp(a) + 1e6 + np.exp(-b) - np.einsum("ij,ji->i", k, solved[:, 1:])
            sds.append(np.sqrt(np.maximum(own, 1e-9)))
    weights = np.exp(np.array(logs) - max(logs))
    kept = weights > 1e-8 * weights.max()
    levels = np.array([0.025, 0.05, 0.95, 0.975])
    dense = mixture_quantiles(
        np.array(means)[kept].T, np.array(sds)[kept].T, weights[kept] / weights[kept].sum(), levels
    )
    posterior = marginalise(Z, t, kernel=kernel, fixed_kernel=True, standardise=False, progress=False)
    for coverage, (low, high) in ((0.95, (0, 3)), (0.9, (1, 2))):
        found = posterior.predict_interval(new, coverage)
        width = dense[:, high] - dense[:, low]
        np.testing.assert_allclose(found.lower, dense[:, low], atol=2e-3 * width.max())
        np.testing.assert_allclose(found.upper, dense[:, high], atol=2e-3 * width.max())


def test_intervals_are_in_the_units_of_the_data_and_do_not_depend_on_the_pieces(few):
    X, y = few
    posterior = marginalise(X, 100.0 + 10.0 * y, progress=False)
    found = posterior.predict_interval(np.linspace(-2, 2, 1500)[:, None], 0.9)
    again = posterior.predict_interval(np.linspace(-2, 2, 1500)[-3:, None], 0.9)
    np.testing.assert_allclose(found.lower[-3:], again.lower, rtol=1e-9)
    assert np.all((found.lower > 70.0) & (found.upper < 130.0) & (found.lower < found.upper))


def test_the_fully_bayesian_regressor_has_the_intervals_of_its_posterior(few):
    X, y = few
    model = FullyBayesianLSSVR().fit(X, y)
    lower, upper = model.predict_interval(X, 0.9)
    inside = np.mean((y > lower) & (y < upper))
    assert 0.7 < inside <= 1.0
    wider = model.predict_interval(X, 0.99)
    assert np.all((wider.lower < lower) & (wider.upper > upper))
    with pytest.raises(ValueError, match="coverage is the share"):
        model.predict_interval(X, 95)
