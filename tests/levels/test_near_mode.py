"""Laplace's evidence near its mode, by a Cholesky factor, against the reduction that finds the mode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.near_mode import near_mode, random_signs
from bayes_lssvm.levels.objective import Objective

N = 80


@pytest.fixture(params=["labels", "targets", "weights"])
def objective(request):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.4 * rng.normal(size=N)
    weights = rng.uniform(0.3, 3.0, N) if request.param == "weights" else None
    if request.param == "labels":
        y = np.where(y > 0.3, 1.0, -1.0)
    found = Objective(X, y, weights=weights)
    return replace(found, prior=default_prior(RBF(1.7), X, y, classes=request.param == "labels", weights=weights))


def at_mode(objective, kernel):
    exact = objective.evaluate(kernel, gradient=True)
    x = np.log([exact.level2.mu, exact.level2.zeta])
    return exact, x, random_signs(N, np.random.default_rng(0))


def test_at_the_mode_it_is_the_evidence_with_its_gradient(objective):
    exact, x, signs = at_mode(objective, RBF(2.0))
    near = near_mode(objective, RBF(2.0), x, signs, slope="exact")
    assert near.density + near.volume == pytest.approx(exact.value, abs=1e-9)
    assert near.gradient[:2] == pytest.approx(np.zeros(2), abs=1e-8)
    assert near.precision == pytest.approx(exact.posterior.precision, rel=1e-9)
    assert near.gradient[2:] + near.volume_slope == pytest.approx(exact.gradient, abs=1e-8)


def test_an_estimated_slope_is_within_its_error(objective):
    _, x, _ = at_mode(objective, RBF(2.0))
    x = x + np.array([0.1, -0.05])
    exact = near_mode(objective, RBF(2.0), x, random_signs(N, np.random.default_rng(0)), slope="exact")
    found = [
        near_mode(objective, RBF(2.0), x, random_signs(N, np.random.default_rng(k)), slope="estimated")
        for k in range(24)
    ]
    errors = np.array([float((f.volume_slope - exact.volume_slope)[0]) for f in found])
    declared = np.array([f.slope_error for f in found])
    assert exact.slope_error == 0.0
    assert abs(errors.mean()) < 3.0 * errors.std(ddof=1) / np.sqrt(len(errors))
    assert 0.5 < np.sqrt(np.mean(declared**2)) / errors.std(ddof=1) < 2.0
    assert errors.std(ddof=1) < 0.2
    assert found[0].gradient == pytest.approx(exact.gradient, abs=1e-9)


@pytest.mark.parametrize("slope", ["no", "estimated"])
def test_a_rough_look_loses_no_more_than_it_says(objective, slope):
    _, x, signs = at_mode(objective, RBF(2.0))
    for away in (0.0, 0.3):
        exact, rough = (near_mode(objective, RBF(2.0), x + away, signs, slope=slope, rough=r) for r in (False, True))
        assert exact.rounding == 0.0 < rough.rounding < 1e-2
        lost = np.abs(rough.gradient - exact.gradient).max()
        assert lost < rough.rounding
        assert lost > 0.0
        assert rough.density == pytest.approx(exact.density, abs=rough.rounding)
        assert rough.precision == pytest.approx(exact.precision, abs=rough.rounding)
        assert rough.volume == pytest.approx(exact.volume, abs=rough.rounding)
        if slope == "estimated":
            assert rough.volume_slope == pytest.approx(exact.volume_slope, abs=rough.rounding)


def test_what_single_precision_cannot_tell_is_looked_at_in_double(objective):
    x, signs = np.array([0.0, 6.0]), random_signs(N, np.random.default_rng(0))
    exact, rough = (near_mode(objective, RBF(2.0), x, signs, rough=r) for r in (False, True))
    assert rough.rounding == 0.0
    np.testing.assert_array_equal(rough.gradient, exact.gradient)


def test_kernels_that_see_no_neighbour_share_level_2():
    """Only the prior of the width tells them apart; the next objective starts anew."""
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    objective = Objective(X, y, prior=default_prior(RBF(1.0), X, y, classes=False))
    narrow = [objective.evaluate(RBF(sigma), gradient=True) for sigma in (0.01, 0.02)]
    anew = replace(objective).evaluate(RBF(0.02), gradient=True)
    assert narrow[1].posterior is narrow[0].posterior
    assert narrow[1].value == anew.value
    assert narrow[1].gradient == pytest.approx(anew.gradient, abs=1e-12)
    assert narrow[1].value - narrow[0].value == pytest.approx(
        float(np.diff(objective.prior.kernel[0].log_density(np.log([0.01, 0.02])))[0]), abs=1e-12
    )


def test_several_parameters_have_a_slope_each(objective):
    kernel = ARD((1.5, 2.0, 4.0))
    several = replace(objective, prior=replace(objective.prior, kernel=(objective.prior.kernel[0],) * 3))
    exact, x, signs = at_mode(several, kernel)
    near = near_mode(several, kernel, x, signs, slope="exact")
    assert near.gradient[2:] + near.volume_slope == pytest.approx(exact.gradient, abs=1e-8)
    assert near_mode(several, kernel, x, signs).gradient == pytest.approx(near.gradient, abs=1e-9)


def test_the_gradient_is_that_of_the_density(objective):
    point, signs = np.array([0.3, 1.0, np.log(1.4)]), random_signs(N, np.random.default_rng(1))

    def density(v):
        return near_mode(objective, RBF(float(np.exp(v[2]))), v[:2], signs).density

    found = near_mode(objective, RBF(1.4), point[:2], signs)
    steps = 1e-5 * np.eye(3)
    differences = [(density(point + h) - density(point - h)) / 2e-5 for h in steps]
    assert found.gradient == pytest.approx(differences, rel=1e-6, abs=1e-6)


def test_the_volume_aside_of_the_mode_is_that_at_the_mode_to_first_order(objective):
    _, x, signs = at_mode(objective, RBF(2.0))
    top = near_mode(objective, RBF(2.0), x, signs)
    for step in 0.05 * np.eye(2):
        aside = near_mode(objective, RBF(2.0), x + step, signs)
        bare = np.log(2.0 * np.pi) - 0.5 * np.log(np.linalg.det(aside.precision))
        assert abs(aside.volume - top.volume) < max(0.4 * abs(bare - top.volume), 3e-3)
