"""ARD against one width: what maximised scales get wrong, integrated ones get right."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import compare
from bayes_lssvm.kernels import ARD, RBF


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 13))
@pytest.mark.parametrize("relevant", [6, 2])
def test_scales_are_preferred_where_inputs_differ_and_not_where_they_do_not(seed, relevant):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 6))
    scales = np.full(6, 2.9) if relevant == 6 else np.array([1.5, 1.5, 1e6, 1e6, 1e6, 1e6])
    factor = np.linalg.cholesky(RBF(1.0)(X / scales) + 1e-9 * np.eye(80))
    y = factor @ rng.normal(size=80) + 0.3 * rng.normal(size=80)
    found = compare(X, y, ["rbf", "ard"], progress=False)
    assert isinstance(found.best.kernel, ARD if relevant == 2 else RBF)
    assert found.log_bayes_factors[0, 1] > found.log_bayes_factor_errors[0, 1]
