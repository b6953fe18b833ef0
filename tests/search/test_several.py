"""Searches of several scales: the density on a subset, one optimum counted once, and the optimum on all data."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.estimators.choice import with_prior
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.search import refinement
from bayes_lssvm.search.climb import Stop
from bayes_lssvm.search.refinement import refine_objective, spherical_start
from bayes_lssvm.search.several import climb_density, climb_with_volume

BOX = np.array([[-3.0, 5.0]] * 4)
FAR = Stop(1e-10, 1e-5, 200)


@pytest.fixture(scope="module")
def objective():
    """Two inputs that matter and two that do not, 420 points, with the default prior."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((420, 4))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.3 * rng.standard_normal(420)
    y = (y - y.mean()) / y.std()
    return with_prior(X, y, default_prior(ARD((2.0,) * 4), X, y, classes=False))


def test_the_climb_of_the_density_ends_near_the_optimum_of_the_evidence(objective):
    small, kernel = refinement.on_some(objective, 150, np.random.default_rng(0)), ARD((2.0,) * 4)
    found = climb_density(small, kernel, small.evaluate(kernel), BOX, FAR)
    exact = refinement._climb(small, kernel, kernel.log_params, BOX).evaluation
    assert small.evaluate(kernel).value < exact.value - 5.0
    assert exact.value - 0.3 < found.value <= exact.value + 1e-9  # the volume was left out


def test_without_a_mode_there_is_no_climb_of_the_density(objective):
    kernel = ARD((2.0,) * 4)
    flat = refinement.replace(objective, prior=None).evaluate(kernel)
    assert flat.posterior is None
    assert climb_density(objective, kernel, flat, BOX, FAR) is None
    assert climb_with_volume(objective, objective, flat, BOX, np.random.default_rng(0)) is None


def test_optima_with_a_valley_between_them_are_two_and_those_without_are_one():
    """Along one parameter: a coarse and a fine structure have an optimum each, and beside an optimum there is none."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-2.0, 2.0, 300))[:, None]
    y = np.sin(2.0 * x[:, 0]) + 0.4 * np.sin(30.0 * x[:, 0]) + 0.4 * rng.standard_normal(300)
    objective = with_prior(x, y, default_prior(RBF(1.0), x, y, classes=False))
    ends = [
        refinement._climb(objective, RBF(1.0), np.log([width]), np.array([[-6.0, 5.0]])).evaluation
        for width in (0.1, 1.5)
    ]
    assert abs(np.diff([float(end.kernel.log_params[0]) for end in ends])[0]) > 1.0
    beside = objective.evaluate(RBF(1.05 * ends[0].kernel.sigma))
    starts = [refinement._Start(end, None) for end in sorted([*ends, beside], key=lambda e: -e.rank)]
    kept = refinement._without_a_valley(objective, starts)
    assert {id(start.evaluation) for start in kept} == {id(end) for end in ends}


def test_the_fast_search_ends_where_the_exhaustive_one_does(objective):
    fast, slow = (refine_objective(objective, ARD((2.0,) * 4), exhaustive=e).optima[0] for e in (False, True))
    assert fast.value == pytest.approx(slow.value, abs=1e-3)
    np.testing.assert_allclose(fast.kernel.log_params[:2], slow.kernel.log_params[:2], atol=0.02)
    assert np.all(fast.kernel.log_params[2:] > fast.kernel.log_params[:2].max() + 1.0)


def test_the_start_of_several_scales_is_about_the_best_width(objective):
    one = refinement.replace(objective, prior=refinement.replace(objective.prior, kernel=objective.prior.kernel[0]))
    best = refine_objective(one, RBF(2.0)).optima[0].kernel
    assert np.log(spherical_start(one, 0).sigma / best.sigma) == pytest.approx(0.0, abs=0.3)
    few = refinement.on_some(one, 100, np.random.default_rng(0))
    assert spherical_start(few, 0) == refine_objective(few, RBF(2.0)).optima[0].kernel
