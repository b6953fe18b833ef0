"""Targets that stand far from zero lose no digits: a constant beside them is taken out before anything is multiplied.

The targets are whole numbers of thousandths (of 1/1024), so that the sum of 2³⁰ and a target is exact, and so is the
mean. Whoever multiplies by them first keeps 2³⁰ · 10⁻¹⁶ ≈ 10⁻⁷ of each value only.
"""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.marginal.density import Density
from bayes_lssvm.marginal.left_out import left_out_moments
from bayes_lssvm.marginal.predictions import MixturePredictor, PredictionNode, Rows
from bayes_lssvm.press.leave_one_out import LeaveOneOutSpectrum, leave_one_out, ridge_leave_one_out
from bayes_lssvm.priors import Gamma, HyperPrior, Normal

FAR = 2.0**30
KERNEL = RBF(1.2)


@pytest.fixture(params=["plain", "weighted"])
def data(request):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(16, 2))
    y = np.round(1024.0 * (np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=16))) / 1024.0
    weights = np.repeat([0.5, 1.0, 2.0, 4.5], 4)  # they sum to 32
    return X, y, weights if request.param == "weighted" else None


def test_support_values_and_intercept(data):
    X, y, w = data
    K = KERNEL(X)
    near, far = (DualPosterior.from_kernel_matrix(KERNEL, X, K, y + c, mu=0.7, zeta=5.0, weights=w) for c in (0.0, FAR))
    np.testing.assert_allclose(far.alpha, near.alpha, rtol=1e-10, atol=1e-12)
    assert far.intercept - FAR == pytest.approx(near.intercept, abs=1e-6)
    for model in (near, far):
        np.testing.assert_allclose(model.left_out_moments(y)[1], near.left_out_moments(y)[1], rtol=1e-10)


def test_a_kernel_far_from_zero(data):
    """A constant of the kernel is the bias's: support values, intercept and projected centres do not know it."""
    X, y, w = data
    K = np.round(4096.0 * KERNEL(X)) / 4096.0
    labels = np.where(y > 0.0, 1.0, -1.0)
    near, far = (DualPosterior.from_kernel_matrix(KERNEL, X, K + c, y, mu=0.7, zeta=5.0, weights=w) for c in (0.0, FAR))
    np.testing.assert_allclose(far.alpha, near.alpha, rtol=1e-9, atol=1e-11)
    assert far.intercept == pytest.approx(near.intercept, rel=1e-10)
    own, other = (ClassCentres.from_posterior(p, labels, 4.0, K + c) for p, c in ((near, 0.0), (far, FAR)))
    np.testing.assert_allclose(other.projected_mean, own.projected_mean, rtol=1e-9)
    assert other.zeta_star == pytest.approx(own.zeta_star, rel=1e-9)


def test_outputs_of_the_decomposition(data):
    X, y, w = data
    spectra = [CentredSpectrum.from_kernel_matrix(KERNEL(X), y + c, w) for c in (0.0, FAR)]
    near, far = (DualPosterior.from_spectrum(KERNEL, X, spectrum, mu=0.7, zeta=5.0) for spectrum in spectra)
    np.testing.assert_allclose(spectra[1].t, spectra[0].t, rtol=1e-9, atol=1e-11)
    assert far.intercept - FAR == pytest.approx(near.intercept, abs=1e-6)


PRIOR = HyperPrior(Normal(0.0, 3.0), Gamma(0.5, 2.0), Normal(0.5, 1.0))


@pytest.mark.parametrize("prior", [None, PRIOR], ids=["no prior", "prior"])
def test_the_evidence_and_its_gradient(prior, data):
    X, y, w = data
    own, other = (Objective(X, y + c, prior=prior, weights=w).evaluate(KERNEL, gradient=True) for c in (0.0, FAR))
    assert other.value == pytest.approx(own.value, abs=1e-9)
    np.testing.assert_allclose(other.gradient, own.gradient, rtol=1e-8)


def test_the_derivative_of_laplaces_evidence_in_the_matrix(data):
    X, y, w = data
    near, far = (Objective(X, y + c, prior=PRIOR, weights=w) for c in (0.0, FAR))
    found = near.evaluate(KERNEL).posterior
    own, other = (one.laplace_derivative(KERNEL(X), found, (PRIOR.mu, PRIOR.zeta)) for one in (near, far))
    np.testing.assert_allclose(other, own, rtol=1e-9, atol=1e-10)


def test_given_mu_and_zeta(data):
    X, y, w = data
    near, far = (Objective(X, y + c, weights=w) for c in (0.0, FAR))
    for name in ("at", "informed"):
        own, other = (getattr(objective, name)(KERNEL, 0.2, 1.3) for objective in (near, far))
        assert other.value == pytest.approx(own.value, abs=1e-9)
        np.testing.assert_allclose(other.gradient, own.gradient, rtol=1e-9)
    own, other = (objective.joint(KERNEL, 1.5) for objective in (near, far))
    np.testing.assert_allclose(other.gradient, own.gradient, rtol=1e-9)


@pytest.mark.parametrize("kernel", [RBF(1.2), ARD((1.2, 0.8))], ids=str)
def test_inputs_far_from_zero(kernel, data):
    """Kernels of differences know no origin, nor do their derivatives; squares of 2³⁰ would leave no digit."""
    X, y, _ = data
    X = np.round(1024.0 * X) / 1024.0
    W = np.outer(y, y)
    np.testing.assert_allclose(kernel(X + FAR), kernel(X), rtol=1e-9)
    np.testing.assert_allclose(kernel(X + FAR, X[:5] + FAR), kernel(X, X[:5]), rtol=1e-9)
    np.testing.assert_allclose(kernel.contract(X + FAR, W), kernel.contract(X, W), rtol=1e-9)
    np.testing.assert_allclose(kernel.slopes_times(X + FAR, y), kernel.slopes_times(X, y), rtol=1e-9, atol=1e-10)


def test_left_out_residuals(data):
    X, y, w = data
    K = KERNEL(X)
    for of in (
        lambda targets: leave_one_out(K, targets, 6.0, weights=w),
        lambda targets: LeaveOneOutSpectrum.from_kernel_matrix(K, targets, weights=w).at(6.0),
        lambda targets: ridge_leave_one_out(X, targets, 0.2, weights=w),
    ):
        near, far = of(y), of(y + FAR)
        np.testing.assert_allclose(far.residuals, near.residuals, rtol=1e-9)


@pytest.mark.parametrize("repeated", [False, True])
def test_densities_of_hyperparameters(repeated, data):
    X, y, w = data
    X = X[np.arange(16) // 2] if repeated else X
    parts = (Normal(0.0, 3.0), Normal(0.5, 2.0), Normal(0.1, 1.0))
    points = np.array([[0.1, 1.2, 0.0], [0.4, 0.9, 0.0], [-0.3, 0.2, 0.3]])  # two of one kernel, one alone
    near, far = (Density(X, y + c, KERNEL, parts, w) for c in (0.0, FAR))
    np.testing.assert_allclose(far.values(points), near.values(points), atol=1e-8)
    for x in points[1:]:
        own, other = (one.value_and_gradient(x) for one in (near, far))
        assert other.value == pytest.approx(own.value, abs=1e-8)
        np.testing.assert_allclose(other.gradient, own.gradient, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(far.hessian(x), near.hessian(x), rtol=1e-6, atol=1e-6)


def test_predictions_of_a_mixture(data):
    X, y, w = data
    rows = Rows(np.array([0.1, 0.4]), np.array([0.3, 0.7]), np.array([1.2, 0.9]))
    nodes = tuple(PredictionNode(RBF(width), share, rows) for width, share in ((1.0, 0.4), (1.7, 0.6)))
    of = (
        lambda targets: MixturePredictor(nodes, X, targets, w).moments(X[:5] + 0.1),
        lambda targets: left_out_moments(nodes, X, targets, w),
    )
    for moments in of:
        (mean, variance), (far_mean, far_variance) = (moments(y + c) for c in (0.0, FAR))
        np.testing.assert_allclose(far_mean - FAR, mean, atol=1e-6)
        np.testing.assert_allclose(far_variance, variance, rtol=1e-5)
