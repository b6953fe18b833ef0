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
