"""Rows added to a posterior, against a posterior of all rows at once."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.grown import GrownPosterior
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.linalg.append import append_rows
from bayes_lssvm.linalg.factor import Factor
from bayes_lssvm.press.leave_one_out import leave_one_out

MU, ZETA = 1.7, 23.0


def test_a_bordered_factor_is_the_factor_of_the_whole():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(12, 20))
    A = F @ F.T
    S = Factor.of(A[:8, :8], 0.0).inverse_factor()
    found = append_rows(S, A[8:, :8], A[8:, 8:])
    np.testing.assert_allclose(found, Factor.of(A, 0.0).inverse_factor(), atol=1e-10)
    assert found.flags.f_contiguous


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [RBF(1.2), RBF(40.0), Linear()])
def test_rows_in_parts_are_rows_at_once(kernel, weighted):
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(40, 2)) + 3.0, rng.normal(size=(6, 2)) + 3.0
    y = np.sin(X[:, 0]) + 10.0 + 0.1 * rng.normal(size=40)
    w = rng.uniform(0.2, 5.0, size=40) if weighted else None

    def part(a, b):
        return None if w is None else w[a:b]

    K = kernel(X)
    whole = DualPosterior.from_kernel_matrix(kernel, X, K, y, mu=MU, zeta=ZETA, weights=w)
    K = kernel(X[:25])
    first = DualPosterior.from_kernel_matrix(kernel, X[:25], K, y[:25], mu=MU, zeta=ZETA, weights=part(0, 25))
    grown = GrownPosterior.of(first).with_rows(X[25:26], y[:26], part(25, 26)).with_rows(X[26:], y, part(26, 40))
    np.testing.assert_allclose(grown.alpha, whole.alpha, atol=1e-8)
    assert grown.intercept == pytest.approx(whole.intercept, abs=1e-8)
    for found, expected in zip(grown.latent_moments(new), whole.latent_moments(new), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(grown.latent_covariance(new), whole.latent_covariance(new), atol=1e-8)
    for found, expected in zip(grown.left_out_moments(y), whole.left_out_moments(y), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(grown.kernel_means, whole.kernel_means, atol=1e-10)
    exact = leave_one_out(kernel(X), y, ZETA / MU, mu=MU, weights=w)
    np.testing.assert_allclose(grown.inverse_diagonal, exact.inverse_diagonal, rtol=1e-7)
    leverage = 1.0 - MU / ZETA * exact.inverse_diagonal / (1.0 if w is None else w)
    assert grown.gamma_eff == pytest.approx(leverage.sum(), rel=1e-8)


def test_several_targets_of_the_same_rows():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(20, 1)), rng.normal(size=(20, 3))
    first = DualPosterior.from_kernel_matrix(RBF(1.0), X[:12], RBF(1.0)(X[:12]), Y[:12, 0], mu=MU, zeta=ZETA)
    grown = GrownPosterior.of(first).with_rows(X[12:], Y[:, 0])
    alpha, intercept = grown.support(Y)
    for k in range(3):
        alone = DualPosterior.from_kernel_matrix(RBF(1.0), X, RBF(1.0)(X), Y[:, k], mu=MU, zeta=ZETA)
        np.testing.assert_allclose(alpha[:, k], alone.alpha, atol=1e-9)
        assert intercept[k] == pytest.approx(alone.intercept, abs=1e-9)
