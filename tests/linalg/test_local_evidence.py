"""The evidence at a point with its first and second derivatives, by every reduction."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.base.rows import group_equal_inputs
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level2 import log_evidence, log_evidence_gradient
from bayes_lssvm.linalg.repeats import reduced
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction


def reductions():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20, 2))
    X = X[rng.integers(20, size=45)]
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=45)
    rows = group_equal_inputs(X, y)
    yield "tridiagonal", TridiagonalReduction.from_kernel_matrix(RBF(1.2)(X), y)
    yield "spectrum", CentredSpectrum.from_kernel_matrix(RBF(1.2)(X), y)
    yield "repeated", reduced(RBF(1.2)(rows.X), y, rows)
    yield "weighted", TridiagonalReduction.from_kernel_matrix(RBF(1.2)(rows.X), rows.means, rows.counts)


@pytest.mark.parametrize(("name", "reduction"), list(reductions()), ids=[name for name, _ in reductions()])
@pytest.mark.parametrize(("mu", "zeta"), [(0.7, 9.0), (3.0, 0.5)])
def test_derivatives_are_those_of_the_value(name, reduction, mu, zeta):
    x, h = np.log([mu, zeta]), 1e-4
    found = reduction.local_evidence(mu, zeta)
    assert found.value == pytest.approx(log_evidence(reduction, mu, zeta), abs=1e-9)
    np.testing.assert_allclose(found.gradient, log_evidence_gradient(reduction, mu, zeta), rtol=1e-8, atol=1e-8)
    for i, e in enumerate(h * np.eye(2)):
        up, down = (reduction.local_evidence(*np.exp(x + s * e)).gradient for s in (1, -1))
        np.testing.assert_allclose(found.hessian[i], (up - down) / (2 * h), rtol=1e-5, atol=1e-6)


def test_reductions_of_the_same_rows_agree():
    by_name = dict(reductions())
    one, *others = (by_name[name].local_evidence(0.7, 9.0) for name in ("tridiagonal", "spectrum", "repeated"))
    for other in others:
        assert other.value == pytest.approx(one.value, abs=1e-8)
        np.testing.assert_allclose(other.hessian, one.hessian, rtol=1e-6, atol=1e-6)
