"""Polishing: from the optimum on a subset to that on all data, by few evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.base.errors import NotPositiveSemidefiniteError
from bayes_lssvm.search.polish import polish

BOX = np.array([[-5.0, 5.0], [-5.0, 5.0]])
H = np.array([[3.0, 1.0], [1.0, 2.0]])


def parabola(top, n):
    """A log density whose curvature grows with the number of points."""

    def function(x):
        return -0.5 * n * float((x - top) @ H @ (x - top)), -n * H @ (x - top)

    return function


def test_a_parabola_takes_one_step():
    start, top = np.array([0.3, -0.2]), np.array([0.5, 0.1])
    end = polish(parabola(top, 400), parabola(start, 100), 0.25, start, BOX)
    assert end is not None
    np.testing.assert_allclose(end.position, top, atol=1e-8)
    assert end.converged
    assert end.n_evaluations == 2


def test_a_wrong_curvature_is_mended_on_the_way_and_edges_hold():
    def quartic(x):
        return -float(np.sum((x - 1.0) ** 4 + (x - 1.0) ** 2)), -(4.0 * (x - 1.0) ** 3 + 2.0 * (x - 1.0))

    end = polish(quartic, parabola(np.zeros(2), 1.0), 1.0, np.zeros(2), BOX)
    assert end is not None
    assert end.converged
    np.testing.assert_allclose(end.position, 1.0, atol=0.02)
    edge = polish(quartic, parabola(np.zeros(2), 1.0), 1.0, np.zeros(2), np.array([[-1.0, 0.5], [-1.0, 2.0]]))
    assert edge is not None
    assert edge.position[0] == 0.5


@pytest.mark.parametrize("error", [np.linalg.LinAlgError, NotPositiveSemidefiniteError])
def test_a_step_too_far_for_the_matrix_gives_nothing(error):
    def broken(x):
        raise error("no factor")

    assert polish(broken, parabola(np.zeros(2), 1.0), 1.0, np.zeros(2), BOX) is None
