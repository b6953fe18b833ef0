"""The maximum of a function of one number by few evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.search.line import follow_parabolas, maximise_on_line


def test_maximum_on_a_line_is_found_by_few_evaluations_and_at_bounds():
    bounds = np.array([-4.0, 4.0])
    found = maximise_on_line(lambda u: -np.cosh(u - 1.3), -2.0, 0.3, bounds, 1e-8)
    assert found.position == pytest.approx(1.3, abs=1e-3)
    assert found.converged
    assert found.n_evaluations < 14
    assert found.curvature == pytest.approx(-1.0, rel=0.05)
    near = maximise_on_line(lambda u: -50 * (u - 0.11) ** 2 + u**3, 0.0, 0.07, bounds, 1e-4, curvature=-90.0)
    assert near.position == pytest.approx((100 - np.sqrt(100**2 - 12 * 11)) / 6, abs=1e-3)
    assert near.n_evaluations <= 4
    edge = maximise_on_line(lambda u: u, 0.0, 0.3, bounds, 1e-8)
    assert edge.position == 4.0
    holes = maximise_on_line(lambda u: -((u - 1.0) ** 2) if u < 1.5 else -np.inf, 0.0, 0.4, bounds, 1e-8)
    assert holes.position == pytest.approx(1.0, abs=1e-3)


def counted(function):
    calls = []

    def value(u):
        calls.append(u)
        return function(u)

    return value, calls


def test_parabolas_are_followed_to_a_maximum_that_is_near():
    """A curvature that is off by a third: five evaluations for four digits, though no point is beyond the maximum."""
    bounds = np.array([-5.0, 5.0])
    function, calls = counted(lambda u: -40.0 * (u - 0.31) ** 2 + 6.0 * (u - 0.31) ** 3 + 2.0)
    found = follow_parabolas(function, 0.2, 0.08, bounds, 3e-4, curvature=-110.0)
    assert found.converged
    assert found.position == pytest.approx(0.31, abs=3e-4)
    assert found.n_evaluations == len(calls) <= 6
    assert found.curvature == pytest.approx(-80.0, rel=0.05)


def test_a_start_on_the_maximum_is_not_believed_without_a_parabola_of_its_own():
    bounds = np.array([-5.0, 5.0])
    function, calls = counted(lambda u: -((u - 0.02) ** 2) * (1.0 + 3.0 * (u > 0.1)))
    found = follow_parabolas(function, 0.0, 0.4, bounds, 1e-3, curvature=-2.0)
    assert len(calls) > 3
    assert found is None or found.position == pytest.approx(0.02, abs=1e-3)


@pytest.mark.parametrize(
    ("function", "curvature"),
    [
        (lambda u: u**2, -1.0),  # opens upwards
        (lambda u: -(u**2), np.nan),  # nothing is known
        (lambda u: 10.0 * u - 0.01 * u**2, -1.0),  # the maximum is out of the box
        (lambda u: -np.inf if u > 0.05 else -(u**2), -1.0),  # not defined beside the start
    ],
)
def test_what_parabolas_do_not_lead_to_is_left_to_the_other_search(function, curvature):
    assert follow_parabolas(function, 0.0, 0.1, np.array([-1.0, 1.0]), 1e-3, curvature=curvature) is None
