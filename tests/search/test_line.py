"""The maximum of a function of one number by few evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.search.line import maximise_on_line


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
