"""The Cholesky factor of Ω + diag(noise) and the projected inverse, against plain linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import NotPositiveSemidefiniteError
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.gaussian_process import GaussianProcess
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.levels.solvers import solve_cholesky
from bayes_lssvm.linalg.blas import multiple_of_identity, trace_of_product
from bayes_lssvm.linalg.factor import Factor, ProjectedInverse, projected_inverse
from bayes_lssvm.press.derivative import press_derivative
from bayes_lssvm.press.leave_one_out import leave_one_out

N = 25
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 2))
K = RBF(1.3)(X)
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=N)
NOISES = [0.07, RNG.uniform(0.05, 0.5, size=N)]
every_noise = pytest.mark.parametrize("noise", NOISES, ids=["equal", "own"])


def shifted(noise):
    return K + np.diag(np.broadcast_to(noise, N))


@every_noise
def test_factor_solves_and_inverts(noise):
    M, before = shifted(noise), K.copy()
    factor = Factor.of(K, noise)
    np.testing.assert_array_equal(K, before)
    np.testing.assert_allclose(factor.L @ factor.L.T, M, rtol=0, atol=1e-14)
    np.testing.assert_allclose(factor.log_det, np.linalg.slogdet(M)[1], rtol=1e-12)
    np.testing.assert_allclose(factor.solve(Y), np.linalg.solve(M, Y), rtol=1e-10)
    S = Factor.of(K, noise).inverse_factor()
    np.testing.assert_allclose(S.T @ S, np.linalg.inv(M), rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.tril(Factor.of(K, noise).inverse()), np.tril(np.linalg.inv(M)), rtol=0, atol=1e-10)


@every_noise
def test_projected_inverse_is_the_block_of_the_bordered_inverse(noise):
    """R is the inverse of [[0, 1ᵀ], [1, M]] without the row and column of the bias."""
    bordered = np.block([[np.zeros((1, 1)), np.ones((1, N))], [np.ones((N, 1)), shifted(noise)]])
    R = np.linalg.inv(bordered)[1:, 1:]
    parts = ProjectedInverse.of(K, noise)
    np.testing.assert_allclose(parts.apply(Y), R @ Y, rtol=0, atol=1e-10)
    np.testing.assert_allclose(parts.trace, np.trace(R), rtol=1e-11)
    np.testing.assert_allclose(parts.log_det, np.linalg.slogdet(shifted(noise))[1], rtol=1e-12)
    np.testing.assert_allclose(projected_inverse(K, noise), R, rtol=0, atol=1e-10)
    np.testing.assert_allclose(projected_inverse(K, noise) @ np.ones(N), 0.0, atol=1e-10)
    np.testing.assert_allclose(projected_inverse(K, noise, bias=False), np.linalg.inv(shifted(noise)), atol=1e-10)


@every_noise
def test_single_precision_stays_single(noise):
    parts, exact = ProjectedInverse.in_place(np.array(K, np.float32, order="F"), noise), ProjectedInverse.of(K, noise)
    assert parts.C.dtype == np.float32
    assert parts.log_det == pytest.approx(exact.log_det, abs=1e-4)
    np.testing.assert_allclose(np.tril(parts.lower()), np.tril(exact.lower()), rtol=0, atol=1e-3)


@pytest.mark.parametrize("n", [1, 7, 128, 300])
def test_the_trace_of_a_product_is_told_by_lower_triangles(n):
    """What is above the diagonal of the second matrix has no say."""
    R, A = (B + B.T for B in np.random.default_rng(n).normal(size=(2, n, n)))
    found = trace_of_product(np.asfortranarray(np.tril(R)), np.asfortranarray(np.tril(A) + 5.0 * np.triu(A, 1)))
    assert found == pytest.approx(float(np.trace(R @ A)), rel=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_multiple_of_the_identity_is_known(order):
    for n in (2, 3, 40):
        A = np.array(2.5 * np.eye(n), order=order)
        assert multiple_of_identity(A) == 2.5
        for i, j, value in ((n - 1, 0, 1e-15), (0, n - 1, -1e-15), (n - 1, n - 2, 1e-15), (n - 1, n - 1, 2.6)):
            other = A.copy(order="K")
            other[i, j] = value
            assert multiple_of_identity(other) is None
        A[0, 1] = A[1, 0] = 1e-17
        assert multiple_of_identity(A) == 2.5


def test_with_equal_noise_it_is_the_inverse_of_the_centred_matrix():
    centring, s = np.eye(N) - 1.0 / N, 0.07
    expected = centring @ np.linalg.inv(centring @ K @ centring + s * np.eye(N)) @ centring
    np.testing.assert_allclose(projected_inverse(K, s), expected, rtol=0, atol=1e-10)


TIED = np.repeat(RNG.normal(size=(3, 2)), 10, axis=0)  # thirty points, rank three
T = RNG.normal(size=30)
TOO_LARGE = 1e18


@pytest.mark.parametrize(
    "refused",
    [
        lambda: Factor.of(-np.eye(3), 0.5),
        lambda: ProjectedInverse.of(RBF(1.0)(TIED), 1.0 / TOO_LARGE),
        lambda: solve_cholesky(RBF(1.0)(TIED), T, TOO_LARGE),
        lambda: leave_one_out(RBF(1.0)(TIED), T, TOO_LARGE),
        lambda: press_derivative(RBF(1.0)(TIED), T, TOO_LARGE, np.ones(30)),
        lambda: Objective(TIED, T).joint(RBF(1.0), float(np.log(TOO_LARGE))),
        lambda: DualPosterior.from_kernel_matrix(Linear(), TIED, Linear()(TIED), T, mu=1.0, zeta=TOO_LARGE),
        lambda: GaussianProcess.fit(RBF(1.0), TIED, T, mu=1.0, zeta=TOO_LARGE),
    ],
    ids=["factor", "projected", "solver", "leave-one-out", "press", "objective", "posterior", "gaussian process"],
)
def test_the_same_failure_is_the_same_error_everywhere(refused):
    with pytest.raises(NotPositiveSemidefiniteError, match="is not numerically positive definite: γ is too large") as e:
        refused()
    assert isinstance(e.value, ValueError)
    assert isinstance(e.value, np.linalg.LinAlgError)
