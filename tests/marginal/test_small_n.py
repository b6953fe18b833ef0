"""Few data points: wide posteriors with long tails, against a dense grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from bayes_lssvm import datasets, marginalise
from bayes_lssvm.kernels import RBF, Linear, Scaled
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction
from bayes_lssvm.marginal.rules.kernel import quadrature
from bayes_lssvm.marginal.rules.level2 import integrate as integrate_level2
from bayes_lssvm.marginal.rules.stretch import Stretch
from bayes_lssvm.marginal.rules.trapezoid import aliased
from bayes_lssvm.priors import Normal, as_hyper_prior
from tests.helpers_dense import given_width, integrate


def problem(seed, n, classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, int(rng.integers(1, 7))))
    f = rng.normal(0.0, 1.5) * np.sin(rng.uniform(0.5, 2.0) * X[:, 0]) + rng.normal() * X[:, -1]
    y = f + rng.uniform(0.1, 1.5) * rng.normal(size=n)
    y = np.where(y > np.median(y), 1.0, -1.0) if classes else (y - y.mean()) / y.std(ddof=1)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y


def check(seed, n, classes, prior_sd):
    X, y = problem(seed, n, classes)
    exact = integrate(X, y, prior_sd)
    found = marginalise(X, y, prior=Normal(0.0, prior_sd), standardise=False)
    assert abs(found.log_evidence - exact.log_evidence) <= found.log_evidence_error + 1e-9  # the grid's own error
    assert found.log_evidence_error < 1e-4
    assert found.sd()["log_sigma"] == pytest.approx(exact.sd, rel=2e-5, abs=1e-4)
    assert found.mean()["log_sigma"] == pytest.approx(exact.mean, rel=2e-5, abs=1e-4)


@pytest.mark.parametrize(("seed", "n", "classes"), [(3, 11, True), (8, 14, False)])
def test_the_declared_error_covers_the_true_one(seed, n, classes):
    check(seed, n, classes, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_the_declared_error_covers_the_true_one_in_many_problems(seed):
    wide = seed % 5 == 4
    n = 12 if wide else int(np.random.default_rng(seed).integers(10, 61))
    check(1000 + seed, n, seed % 2 == 0, 30.0 if wide else 3.0)


@pytest.mark.parametrize(("seed", "n"), [(2, 12), (5, 30), pytest.param(6, 100, marks=pytest.mark.slow)])
def test_class_probabilities_against_a_dense_grid(seed, n):
    X, y = problem(seed, n, True)
    new = 1.5 * np.random.default_rng(seed).normal(size=(20, X.shape[1]))
    exact = integrate(X, y, 3.0, new, points=8)
    found = marginalise(X, y, standardise=False).predict_proba(new, moderation="target")[:, 1]
    assert np.abs(found - exact.probabilities).max() < 1e-3


def test_a_wide_prior_at_a_held_kernel():
    X, y = problem(7, 12, True)
    prior = Normal(0.0, 30.0)
    wide = marginalise(X, y, kernel=RBF(1.0), prior=prior, fixed_kernel=True, standardise=False)
    exact, _ = given_width(X, y, 0.0, 30.0, np.empty((0, X.shape[1])))
    assert abs(wide.log_evidence - exact) <= wide.log_evidence_error + 1e-12
    assert wide.log_evidence_error < 1e-6


def test_a_range_that_goes_on_beyond_the_kernels_bounds():
    """Every fourth row of sonar: the posterior of log σ does not end where the search for kernels does."""
    X, labels = datasets.load("sonar").Xy
    X, y = X[::4], np.where(labels[::4] == np.unique(labels)[1], 1.0, -1.0)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    exact = integrate(X, y, 3.0, points=12)
    found = marginalise(X, y, standardise=False)
    assert abs(found.log_evidence - exact.log_evidence) <= found.log_evidence_error + 1e-9
    assert found.log_evidence_error < 1e-5
    assert found.sd()["log_sigma"] == pytest.approx(exact.sd, abs=1e-5)
    assert exact.sd == pytest.approx(1.0209, abs=1e-4)


def test_the_range_of_a_sum_goes_on_beyond_the_bounds_of_its_part():
    """With another kernel beside it a width has no end either: below it adds I, above nothing."""
    X, labels = datasets.load("sonar").Xy
    X, y = X[::4], np.where(labels[::4] == np.unique(labels)[1], 1.0, -1.0)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    prior = Normal(0.0, 3.0)
    line = np.arange(-18.0, 24.0, 0.1)
    logs = []
    for u in line:
        wide = RBF(float(np.exp(u)))
        K = Linear()(X) + (wide(X) if u < 5.0 else wide.up_to_constant(X))
        logs.append(integrate_level2(TridiagonalReduction.from_kernel_matrix(K, y), prior, prior).log_z)
    exact = logsumexp(np.array(logs) + prior.log_density(line)) + np.log(0.1)
    assert Scaled(2.0, Linear()).unchanged_below(X) is (RBF(1.0) + RBF(2.0)).unchanged_below(X) is None
    found = marginalise(X, y, kernel=Linear() + RBF(1.0), prior=prior, standardise=False)
    assert abs(found.log_evidence - exact) <= found.log_evidence_error + 1e-8
    assert found.log_evidence_error < 1e-5


def test_every_kernel_of_a_rule_has_its_share_among_the_nodes():
    """Wide priors have more nodes than are kept; those of far kernels are few, and decide on the spread of log σ."""
    X, y = problem(1049, 12, False)
    prior = as_hyper_prior(Normal(0.0, 30.0))
    rule = quadrature(X, y, RBF(1.0), prior, tolerance=1e-3, progress=False)
    logs = np.array([node.log_weight for node in rule.nodes])
    shares = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    theta = np.array([node.kernel.log_params[0] for node in rule.nodes])
    found = marginalise(X, y, kernel=RBF(1.0), prior=prior, tolerance=1e-3, standardise=False)
    assert found.mean()["log_sigma"] == pytest.approx(shares @ theta, abs=1e-9)
    assert found.sd()["log_sigma"] == pytest.approx(np.sqrt(shares @ (theta - shares @ theta) ** 2), abs=1e-9)


@pytest.mark.parametrize(("seed", "n"), [(3009, 19), pytest.param(3010, 44, marks=pytest.mark.slow)])
def test_one_halving_is_not_taken_for_two(seed, n):
    """The last change of a rule, squared, was its declared error after the first halving; it is not its error."""
    X, y = problem(seed, n, seed % 2 == 0)
    prior = as_hyper_prior(Normal(0.0, 3.0))
    kernel = RBF(float(np.sqrt(X.shape[1])))
    coarse, fine = (quadrature(X, y, kernel, prior, tolerance=t, progress=False) for t in (1e-6, 1e-10))
    assert abs(coarse.log_evidence - fine.log_evidence) <= coarse.error


def test_beyond_the_bounds_kernels_are_what_their_limits_say():
    X, y = problem(4, 15, False)
    low = RBF().unchanged_below(X)
    assert np.array_equal(RBF(float(np.exp(low)))(X), np.eye(15))
    wide = RBF(1e5)
    assert np.abs(wide.up_to_constant(X) - (wide(X) - 1.0)).max() < 1e-15
    eigenvalues = CentredSpectrum.from_kernel_matrix(RBF(1e12).up_to_constant(X), y).eigenvalues
    within, factor = RBF(1e12).within_bounds(X)
    expected = factor * CentredSpectrum.from_kernel_matrix(within(X), y).eigenvalues
    large = expected > 1e-3 * expected.max()  # those of a linear kernel
    assert large.sum() == X.shape[1]
    assert np.allclose(eigenvalues[large], expected[large], rtol=1e-4)


def test_the_stretched_coordinate():
    t = np.linspace(-12.0, 14.0, 101)
    assert np.array_equal(Stretch()(t), t)
    stretch = Stretch(-4.0, 7.0)
    slope = np.gradient(stretch(t), t)
    assert np.allclose(np.exp(stretch.log_slope(t))[1:-1], slope[1:-1], rtol=0.05)
    assert stretch.inverse(float(stretch(np.asarray(9.3)))) == pytest.approx(9.3, abs=1e-12)


@pytest.mark.parametrize("width", [0.2, 0.25, 0.3])
def test_an_error_that_is_small_by_accident_is_seen(width):
    # a narrow peak beside a wide one: at some phase the last halving changes nothing, though the rule is too coarse
    for shift in np.linspace(0.0, 0.5, 11):
        x = np.arange(-8.0, 8.0, 0.5) + shift
        integrand = np.exp(-0.5 * (x / 1.5) ** 2) / 1.5 + 0.05 * np.exp(-0.5 * ((x - 0.1) / width) ** 2) / width
        error = abs(0.5 * integrand.sum() / (1.05 * np.sqrt(2.0 * np.pi)) - 1.0)
        assert aliased(np.log(integrand)) > error


@pytest.mark.parametrize("seed", [16, 38, 44, 50])
def test_rows_in_any_order_are_integrated_on_one_grid(seed):
    """The range of log γ is a whole number of steps long; rounding on either side of that gave one step more."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(11, 3)), rng.normal(size=11)
    grids = []
    for _ in range(6):
        rows = rng.permutation(11)
        reduction = TridiagonalReduction.from_kernel_matrix(RBF(4.0)(X[rows]), y[rows])
        grids.append(integrate_level2(reduction, Normal(0.0, 3.0), Normal(0.0, 3.0)).rows.log_gamma)
    assert len({len(grid) for grid in grids}) == 1
    assert np.ptp(grids, axis=0).max() < 1e-9
