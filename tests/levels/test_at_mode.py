"""Laplace's evidence from the posterior's factor, against the reduction that finds the mode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.at_mode import at_mode
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.levels.level3 import level3_at
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.linalg.one_gamma import OneGamma
from bayes_lssvm.linalg.spectrum import CentredSpectrum

N = 70
NOTHING = np.zeros(2)


@pytest.fixture(params=["labels", "targets", "weights"])
def objective(request):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(N, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=N)
    weights = rng.uniform(0.3, 3.0, N) if request.param == "weights" else None
    if request.param == "labels":
        y = np.where(y > 0.3, 1.0, -1.0)
    found = Objective(X, y, weights=weights)
    return replace(found, prior=default_prior(RBF(1.7), X, y, classes=request.param == "labels", weights=weights))


def mode_of(exact):
    return np.log([exact.level2.mu, exact.level2.zeta])


def test_the_sums_are_those_of_the_eigenvalues(objective):
    K, gamma = RBF(2.0)(objective.X), 3.7
    spectrum = CentredSpectrum.from_kernel_matrix(K, objective.y, objective.weights)
    posterior = DualPosterior.from_kernel_matrix(
        RBF(2.0), objective.X, K, objective.y, mu=0.8, zeta=0.8 * gamma, weights=objective.weights
    )
    found = OneGamma.of(posterior.inverse_factor, posterior.alpha, objective.y, gamma, 1.0, objective.weights)
    for own, expected in zip(found.sums(np.array([gamma])), spectrum.sums(np.array([gamma])), strict=True):
        assert own == pytest.approx(expected, rel=1e-10)
    expected = np.concatenate(spectrum.values(np.array([gamma])))
    assert np.concatenate(found.values(np.array([gamma]))) == pytest.approx(expected, rel=1e-10)
    own, expected = found.local_evidence(0.8, 0.8 * gamma), spectrum.local_evidence(0.8, 0.8 * gamma)
    assert own.value == pytest.approx(expected.value, rel=1e-12)
    assert own.gradient == pytest.approx(expected.gradient, rel=1e-9)
    assert own.hessian == pytest.approx(expected.hessian, rel=1e-9)
    with pytest.raises(ValueError, match="alone"):
        found.sums(np.array([2.0 * gamma]))


def test_at_the_mode_it_is_the_evaluation_by_a_reduction(objective):
    exact = objective.evaluate(RBF(2.0))
    found = at_mode(objective, RBF(2.0), mode_of(exact), NOTHING)
    assert found.value == pytest.approx(exact.value, abs=1e-9)
    assert found.posterior.log_evidence == pytest.approx(exact.posterior.log_evidence, abs=1e-9)
    assert found.posterior.precision == pytest.approx(exact.posterior.precision, rel=1e-8)
    assert found.posterior.has_mode
    own, expected = (level3_at(e.reduction, e.level2) for e in (found, exact))
    assert own.log_eq_5_3 == pytest.approx(expected.log_eq_5_3, abs=1e-8)
    assert own.hessian == pytest.approx(expected.hessian, rel=1e-8)
    for name in ("mu", "zeta", "gamma_eff", "d_eff", "e_w", "e_d", "log_evidence", "log_gain"):
        assert getattr(own.level2, name) == pytest.approx(getattr(expected.level2, name), rel=1e-8), name
    assert own.level2.status == expected.level2.status


def test_from_beside_the_mode_it_is_found_with_its_posterior(objective):
    exact = objective.evaluate(RBF(2.0))
    found = at_mode(objective, RBF(2.0), mode_of(exact) + np.array([0.1, -0.15]), NOTHING)
    assert found.value == pytest.approx(exact.value, abs=1e-5)
    assert np.log(found.level2.gamma) == pytest.approx(np.log(exact.level2.gamma), abs=1e-3)
    K, posterior = found.solved
    again = DualPosterior.from_kernel_matrix(
        RBF(2.0), objective.X, K, objective.y, mu=found.level2.mu, zeta=found.level2.zeta, weights=objective.weights
    )
    assert posterior.alpha == pytest.approx(again.alpha, rel=1e-9, abs=1e-12)
    assert posterior.inverse_factor == pytest.approx(again.inverse_factor, rel=1e-9, abs=1e-12)
    assert posterior.intercept == pytest.approx(again.intercept, rel=1e-9)
    assert (posterior.mu, posterior.zeta) == (found.level2.mu, found.level2.zeta)


def test_a_small_way_to_the_mode_is_made_good_in_the_evidence(objective):
    """γ stays where that costs less than a millionth of a nat; the value is that of the mode."""
    exact = objective.evaluate(RBF(2.0))
    x = mode_of(exact) + np.array([-5e-5, 5e-5])
    eps = 1e-3
    volumes = []
    for step in eps * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]):
        mu, zeta = np.exp(mode_of(exact) + step)
        bends = [float(p.curvature(v)) for p, v in zip(objective.prior.components(1), np.log([mu, zeta]), strict=False)]
        precision = np.diag(bends) - exact.reduction.local_evidence(mu, zeta).hessian
        volumes.append(-0.5 * np.log(np.linalg.det(precision)))
    pull = np.array([volumes[0] - volumes[1], volumes[2] - volumes[3]]) / (2.0 * eps)
    found = at_mode(objective, RBF(2.0), x, pull)
    assert np.log(found.level2.gamma / exact.level2.gamma) == pytest.approx(1e-4, rel=1e-6)
    assert found.value == pytest.approx(exact.value, abs=1e-8)


def test_far_from_any_mode_or_beyond_its_digits_there_is_none(objective):
    exact = mode_of(objective.evaluate(RBF(2.0)))
    assert at_mode(objective, RBF(2.0), exact + np.array([-9.0, 9.0]), NOTHING) is None
    assert at_mode(objective, RBF(2.0), np.array([-10.0, 5.0]), NOTHING) is None
