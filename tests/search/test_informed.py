"""An ascent with a curvature that is about right at every point."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.search.informed import Informed, informed_ascent

WIDE = np.array([[-50.0, 50.0]] * 5)
RNG = np.random.default_rng(2)
ROOT = RNG.normal(size=(5, 5))
HESSIAN = ROOT @ ROOT.T + np.eye(5)
TOP = RNG.normal(size=5)


def quadratic(curvature, seen):
    def function(x):
        seen.append(x)
        away = x - TOP
        return Informed(-0.5 * float(away @ HESSIAN @ away), -HESSIAN @ away, curvature)

    return function


def test_with_the_exact_curvature_one_step_is_enough():
    seen = []
    found = informed_ascent(quadratic(HESSIAN, seen), TOP + 0.3, WIDE, 1e-9)
    assert found.converged
    assert found.n_evaluations == len(seen) == 2
    np.testing.assert_allclose(found.position, TOP, atol=1e-12)
    np.testing.assert_allclose(found.inverse, np.linalg.inv(HESSIAN), atol=1e-12)


def test_a_wrong_curvature_is_mended_by_the_steps():
    seen, unmended = [], []
    wrong = np.diag(np.diag(HESSIAN)) * 1.5
    found = informed_ascent(quadratic(wrong, seen), TOP + 0.5, WIDE, 1e-8)
    assert found.converged
    np.testing.assert_allclose(found.position, TOP, atol=1e-3)
    x = TOP + 0.5
    while 0.5 * (x - TOP) @ HESSIAN @ (x - TOP) > 1e-8 and len(unmended) < 500:
        unmended.append(x)
        x = x - np.linalg.solve(wrong, HESSIAN @ (x - TOP))
    assert len(seen) < 0.5 * len(unmended)
    again = []
    assert informed_ascent(quadratic(wrong, again), TOP + 0.2, WIDE, 1e-8, found.steps).converged
    assert len(again) < len(seen)


def test_parameters_at_an_edge_are_held_there():
    box = WIDE.copy()
    box[0] = [TOP[0] + 0.4, 50.0]
    found = informed_ascent(quadratic(HESSIAN, []), np.append(box[0, 0], TOP[1:] + 0.3), box, 1e-10)
    assert found.position[0] == box[0, 0]
    rest = -np.linalg.solve(HESSIAN[1:, 1:], HESSIAN[1:, 0]) * 0.4
    np.testing.assert_allclose(found.position[1:], TOP[1:] + rest, atol=1e-6)
    assert not found.inverse[0].any()


def test_a_step_that_goes_down_is_halved_and_no_end_is_said():
    def hill(x):  # a curvature far too small: steps of the longest length overshoot
        return Informed(-float(np.sum(x**4)), -4.0 * x**3, 1e-3 * np.eye(5))

    found = informed_ascent(hill, np.full(5, 0.6), WIDE, 1e-9)
    assert found.converged
    assert np.abs(found.position).max() < 0.05

    def endless(x):
        return Informed(float(x.sum()), np.ones(5), np.eye(5))

    assert not informed_ascent(endless, np.zeros(5), np.array([[-1e9, 1e9]] * 5), 1e-9).converged


@pytest.mark.parametrize("start", [0.3, -2.0])
def test_the_end_does_not_depend_on_the_start(start):
    found = informed_ascent(quadratic(2.0 * HESSIAN, []), TOP + start, WIDE, 1e-10)
    np.testing.assert_allclose(found.position, TOP, atol=1e-4)
