"""The climb: maxima within a box, walls where a function cannot be computed, and what is said of the end."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.base.errors import NotPositiveSemidefiniteError
from bayes_lssvm.search.climb import Stop, at_edge, climb, climb_from_each

TIGHT = Stop(1e-15, 1e-10, 200)
BOX = np.array([[-4.0, 4.0], [-4.0, 4.0]])


def hill(x):
    centre = np.array([1.0, -2.0])
    return -float(np.sum((x - centre) ** 2)), -2.0 * (x - centre)


def two_hills(x):
    """Maxima at −2 (height 0) and +2 (height about 1)."""
    heights = np.array([-((x[0] + 2.0) ** 2), 1.0 - (x[0] - 2.0) ** 2])
    i = int(np.argmax(heights))
    return float(heights[i]), np.array([-2.0 * (x[0] - (-2.0, 2.0)[i])])


def test_a_maximum_inside_the_box():
    end = climb(hill, np.zeros(2), BOX, TIGHT)
    np.testing.assert_allclose(end.position, [1.0, -2.0], atol=1e-8)
    assert end.value == hill(end.position)[0]
    assert end.converged
    assert not end.at_edge.any()
    assert end.n_evaluations >= 2


def test_a_maximum_at_an_edge_is_told():
    end = climb(hill, np.zeros(2), np.array([[-4.0, 0.5], [-4.0, 4.0]]), TIGHT)
    np.testing.assert_allclose(end.position, [0.5, -2.0], atol=1e-8)
    assert end.at_edge.tolist() == [True, False]


def test_of_several_starts_the_highest_end_comes_first_and_equal_ones_keep_their_order():
    starts = [np.array([-3.0]), np.array([1.0]), np.array([3.0])]
    ends = climb_from_each(two_hills, starts, np.array([[-4.0, 4.0]]), TIGHT)
    np.testing.assert_allclose([end.position[0] for end in ends], [2.0, 2.0, -2.0], atol=1e-8)
    np.testing.assert_allclose([end.value for end in ends], [1.0, 1.0, 0.0], atol=1e-12)
    level = climb_from_each(lambda x: (0.0, np.zeros(1)), starts, np.array([[-4.0, 4.0]]), TIGHT)
    assert [end.position[0] for end in level] == [-3.0, 1.0, 3.0]


@pytest.mark.parametrize("how", ["raises", "not finite"])
def test_a_line_search_turns_back_where_there_is_no_value(how):
    met = []

    def function(x):
        if x[0] > 1.5:
            met.append(x[0])
            if how == "raises":
                raise NotPositiveSemidefiniteError("no factor")
            return -np.inf, np.full(1, np.nan)
        return -((x[0] - 1.0) ** 4), -4.0 * (x - 1.0) ** 3

    end = climb(function, np.array([-0.5]), np.array([[-10.0, 10.0]]), TIGHT)
    assert met
    assert end.position[0] == pytest.approx(1.0, abs=1e-2)


def cliff(x, falls=1.0):
    """Uphill to x₀ = 1, a fall there and downhill beyond; a parabola along x₁."""
    beyond = x[0] > 1.0
    height = -abs(x[0] - 1.0) - (x[1] - 0.5) ** 2 - falls * beyond
    return float(height), np.array([-1.0 if beyond else 1.0, -2.0 * (x[1] - 0.5)])


@pytest.mark.parametrize("start", [(-0.93, 0.1), (-2.3, -1.7)])
def test_a_climb_ends_beside_a_cliff_at_the_same_point_whatever_rounding_does(start):
    rng = np.random.default_rng(0)
    ends = []
    for _ in range(5):
        off = 1.0 + 1e-13 * rng.normal()
        ends.append(climb(lambda x, off=off: cliff(x * off), np.array(start), BOX, TIGHT))
    for end in ends:
        assert 1.0 - 1e-3 < end.position[0] < 1.0
        assert end.value == pytest.approx(cliff(end.position)[0], abs=1e-12)
        assert not end.converged
        assert "cliff" in end.message
        assert end.n_evaluations == ends[0].n_evaluations < 60
        np.testing.assert_allclose(end.position, ends[0].position, atol=1e-9)


def test_a_steep_slope_and_a_small_step_are_no_cliffs():
    small = climb(lambda x: cliff(x, 0.01), np.array([-1.0, 0.0]), BOX, TIGHT)
    assert "cliff" not in small.message
    steep = climb(lambda x: tuple(1e6 * part for part in hill(x)), np.array([0.9999, -2.0001]), BOX, TIGHT)
    np.testing.assert_allclose(steep.position, [1.0, -2.0], atol=1e-8)


def test_a_start_that_cannot_be_computed_is_an_error():
    def nothing(x):
        raise NotPositiveSemidefiniteError("no factor")

    with pytest.raises(NotPositiveSemidefiniteError, match="no factor"):
        climb(nothing, np.zeros(1), np.array([[-1.0, 1.0]]), TIGHT)


def test_a_climb_that_runs_out_of_steps_says_so():
    def narrow(x):  # minus Rosenbrock's function
        a, b = x
        slope = np.array([-400.0 * a * (b - a**2) - 2.0 * (1.0 - a), 200.0 * (b - a**2)])
        return -(100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2), -slope

    end = climb(narrow, np.array([-1.2, 1.0]), BOX, Stop(iterations=3))
    assert not end.converged
    assert "ITERATIONS" in end.message.upper()


def test_infinite_bounds_are_no_edges():
    assert at_edge(np.array([0.0, 3.0]), np.array([[-np.inf, np.inf], [0.0, 3.0]])).tolist() == [False, True]
