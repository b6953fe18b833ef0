"""The way along the ridge ends where an exhaustive search does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.levels import level2_posterior
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.search.refinement import refine_objective
from bayes_lssvm.search.ridge import follow_ridge, ridge
from bayes_lssvm.search.stages import SUBSET, on_some, stages, subset_size
from benchmarks.kernel_width import various


def problem(n, d, *, labels, weights=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(1.5 * X[:, 0]) + 0.4 * X[:, -1] ** 2
    y = f + 0.5 * rng.normal(size=n)
    y = np.where(y > np.median(y), 1.0, -1.0) if labels else y
    w = rng.uniform(0.5, 2.0, n) if weights else None
    kernel = RBF(float(np.sqrt(d)))
    return Objective(X, y, prior=default_prior(kernel, X, y, classes=labels, weights=w), weights=w), kernel


@pytest.mark.parametrize(("labels", "weights"), [(True, False), (False, False), (False, True)])
def test_the_search_along_the_ridge_ends_at_the_exhaustive_one(labels, weights):
    """On data of this test's own making; the tolerances of the search were set on others."""
    objective, kernel = problem(340, 2, labels=labels, weights=weights)
    fast = refine_objective(objective, kernel)
    slow = refine_objective(objective, kernel, exhaustive=True)
    assert fast.kernel.log_params == pytest.approx(slow.kernel.log_params, abs=1e-3)
    assert fast.value == pytest.approx(slow.value, abs=1e-4)
    assert fast.n_evaluations < slow.n_evaluations


def test_a_mode_that_is_behind_on_few_points_is_found():
    """A broad wave and a fine one: 300 points prefer the broad one by eight nats, all 420 the fine one."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.7, 1.7, 420)
    X, y = x[:, None], np.sin(2.0 * x) + 0.45 * np.sin(40.0 * x) + 0.6 * rng.normal(size=420)
    broad, fine = RBF(1.5), RBF(0.0707)
    objective = Objective(X, y, prior=default_prior(broad, X, y, classes=False))
    few = on_some(objective, SUBSET, np.random.default_rng(0))
    assert few.evaluate(broad).rank > few.evaluate(fine).rank + 3.0
    found = refine_objective(objective, RBF(1.0))
    assert found.value > objective.evaluate(broad).value + 0.5
    assert found.value > objective.evaluate(fine).value - 1e-3


def test_what_it_found_is_the_exact_evidence():
    objective, kernel = problem(340, 2, labels=True)
    found = refine_objective(objective, kernel)
    again = objective.evaluate(found.kernel)
    assert found.value == pytest.approx(again.value, abs=1e-9)
    assert found.optima[0].level2.gamma == pytest.approx(again.level2.gamma, rel=1e-9)


@pytest.mark.slow
def test_several_scales_end_at_the_exhaustive_ones():
    objective, _ = problem(330, 2, labels=False)
    kernel = ARD((1.5, 1.5))
    objective = replace(objective, prior=replace(objective.prior, kernel=(objective.prior.kernel[0],) * 2))
    fast = refine_objective(objective, kernel)
    slow = refine_objective(objective, kernel, exhaustive=True)
    assert fast.value == pytest.approx(slow.value, abs=1e-3)


def test_the_top_of_a_ridge_is_found_from_either_side():
    objective, kernel = problem(200, 2, labels=False)
    best = refine_objective(objective, kernel).optima[0]
    top = np.append(np.log([best.level2.mu, best.level2.zeta]), best.kernel.log_params)
    look, bounds = ridge(objective, kernel, np.random.default_rng(0)), kernel.log_bounds(objective.X)[0]
    for away in (-0.3, 0.3):
        found = follow_ridge(look, top + np.array([0.2, 0.0, away]), bounds, 1e-4)
        assert found is not None
        assert found.position == pytest.approx(top, abs=2e-3)
        assert found.value == pytest.approx(best.value, abs=1e-2)


def test_a_top_outside_the_range_is_not_found():
    objective, kernel = problem(200, 2, labels=False)
    best = refine_objective(objective, kernel).optima[0]
    start = np.append(np.log([best.level2.mu, best.level2.zeta]), best.kernel.log_params + 0.6)
    bounds = np.array([start[2] - 0.2, start[2] + 1.0])
    assert follow_ridge(ridge(objective, kernel, np.random.default_rng(0)), start, bounds, 1e-4) is None


@pytest.mark.parametrize(("n", "sizes"), [(700, [700]), (1000, [500, 1000]), (4000, [800, 2000, 4000])])
def test_stages_grow_to_all_points(n, sizes):
    objective = Objective(np.zeros((n, 1)), np.arange(float(n)))
    assert [len(stage.y) for stage in stages(objective, SUBSET, np.random.default_rng(0))] == sizes
    assert min(sizes) > SUBSET
    own = stages(objective, subset_size(n), np.random.default_rng(0))
    assert [len(stage.y) for stage in own] == [size for size in sizes if size > n / 3]


def test_a_slope_that_is_estimated_leads_to_the_top():
    """With the volume's slope from signs alone, where the curvature makes its error small."""
    objective, kernel = problem(500, 1, labels=False)
    best = refine_objective(objective, kernel).optima[0]
    top = np.append(np.log([best.level2.mu, best.level2.zeta]), best.kernel.log_params)
    asked = []
    look = ridge(objective, kernel, np.random.default_rng(0))

    def noted(point, slope, rough):
        asked.append(slope)
        return look(point, slope, rough)

    found = follow_ridge(noted, top + np.array([0.05, 0.0, 0.05]), kernel.log_bounds(objective.X)[0], 5e-3)
    assert found is not None
    assert "estimated" in asked
    assert "exact" not in asked
    assert found.position[2] == pytest.approx(top[2], abs=5e-3)


def test_looks_that_are_close_in_the_width_only_tell_no_curvature():
    """On half of these points two of them are, where the weights are still far from their mode."""
    (found,) = (p for p in various(32, 20261) if p.name.startswith("regression 31,"))
    best = refine_objective(found.objective, found.kernel).optima[0]
    slopes = found.objective.evaluate(best.kernel, gradient=True).gradient
    assert abs(float(slopes[0])) < 0.1  # nats; with a curvature from them it was 6


@pytest.mark.parametrize("close", [1e-2, 1e-8])
def test_looks_are_rough_unless_that_could_be_seen(close):
    objective, kernel = problem(200, 2, labels=False)
    best = refine_objective(objective, kernel).optima[0]
    top = np.append(np.log([best.level2.mu, best.level2.zeta]), best.kernel.log_params)
    look, asked = ridge(objective, kernel, np.random.default_rng(0)), []

    def noted(point, slope, rough):
        asked.append(rough)
        return look(point, slope, rough)

    start, bounds = top + np.array([0.05, 0.0, 0.05]), kernel.log_bounds(objective.X)[0]
    found = follow_ridge(noted, start, bounds, close, sure=1e-2)
    assert asked[:2] == [True, True]  # until a curvature is known
    assert len(asked) > 2
    if close == 1e-2:
        assert all(asked)
        assert found.position == pytest.approx(top, abs=1e-2)
    else:
        assert not any(asked[2:])


@pytest.mark.parametrize(("labels", "weights"), [(True, False), (False, True)])
def test_a_search_that_solves_its_end_finds_the_same(labels, weights):
    objective, kernel = problem(340, 2, labels=labels, weights=weights)
    plain, found = (refine_objective(objective, kernel, solved=solved) for solved in (False, True))
    assert found.kernel == plain.kernel
    assert found.value == pytest.approx(plain.value, abs=1e-6)
    own, expected = found.optima[0], plain.optima[0]
    assert np.log(own.level2.gamma) == pytest.approx(np.log(expected.level2.gamma), abs=1e-3)
    assert expected.solved is None
    np.testing.assert_allclose(own.solved.K, found.kernel(objective.X), rtol=0.0, atol=1e-15)
    level1 = own.solved.posterior
    again = DualPosterior.from_kernel_matrix(
        found.kernel, objective.X, own.solved.K, objective.y, mu=level1.mu, zeta=level1.zeta, weights=objective.weights
    )
    assert level1.alpha == pytest.approx(again.alpha, rel=1e-9, abs=1e-12)
    assert (level1.mu, level1.zeta) == (own.level2.mu, own.level2.zeta)


def test_another_peak_on_few_points_asks_for_all_of_the_range_on_all(monkeypatch):
    """However low it is: the end is then evaluated from a reduction, which scans every γ."""
    objective, kernel = problem(340, 2, labels=True)
    assert refine_objective(objective, kernel, solved=True).optima[0].solved is not None
    scan = level2_posterior._scanned_peaks
    monkeypatch.setattr(level2_posterior, "_scanned_peaks", lambda *args: (scan(*args)[0], False))
    assert refine_objective(objective, kernel, solved=True).optima[0].solved is None
