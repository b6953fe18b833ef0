"""The KKT system 2.19 by Cholesky, spectrum and conjugate gradients: one solution, three ways, several conventions."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, field

import mpmath as mp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bayes_lssvm.base.errors import NotPositiveSemidefiniteError
from bayes_lssvm.kernels import RBF, Linear, Polynomial
from bayes_lssvm.levels import solvers
from bayes_lssvm.levels.level1 import PrimalPosterior
from bayes_lssvm.levels.solvers import (
    _pivoted_cholesky,
    _Preconditioner,
    kernel_product,
    solve_cg,
    solve_cholesky,
    solve_distinct,
    solve_spectral,
)
from bayes_lssvm.linalg.spectrum import CentredSpectrum

N = 60
GAMMAS = [1e-3, 0.5, 10.0, 1e3]
KERNELS = {
    "rbf": RBF(1.5),
    "linear": Linear(),
    "poly3": Polynomial(3, 4.0),
    "sum": RBF(0.8) + 0.3 * Linear(),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def _data():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N, 3))
    latent = X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.5 * rng.standard_normal(N)
    return X, {
        "balanced": np.where(latent > np.median(latent), 1.0, -1.0),
        "unbalanced": np.where(latent > np.quantile(latent, 0.92), 1.0, -1.0),
        "regression": 100.0 + 5.0 * latent,
    }


X, TARGETS = _data()
X_NEW = np.random.default_rng(8).standard_normal((25, 3))
every_target = pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS.keys())


def dense_kkt(K, y, gamma):
    """b and α of eq 2.19 by a general solve of the whole, indefinite system."""
    n = len(y)
    system = np.block([[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), K + np.eye(n) / gamma]])
    solution = np.linalg.solve(system, np.append(0.0, y))
    return solution[1:], solution[0]


def by_cholesky(kernel, X, y, gamma):
    return solve_cholesky(kernel(X), y, gamma)


def by_spectrum(kernel, X, y, gamma):
    return solve_spectral(CentredSpectrum.from_kernel_matrix(kernel(X), y), gamma)


def by_distinct(kernel, X, y, gamma):
    return solve_distinct(kernel, X, y, gamma)


def by_cg(kernel, X, y, gamma):
    return solve_cg(kernel, X, y, gamma, tolerance=1e-13, progress=False)


every_solver = pytest.mark.parametrize("solve", [by_cholesky, by_spectrum, by_distinct, by_cg])


# ---------------------------------------------------------------------------------------------- one solution


@every_solver
@every_kernel
@every_target
@pytest.mark.parametrize("gamma", GAMMAS)
def test_solution_equals_the_dense_kkt_system(solve, kernel, y, gamma):
    """Eq 2.19."""
    alpha, b = dense_kkt(kernel(X), y, gamma)
    solution = solve(kernel, X, y, gamma)
    scale = np.abs(y).max()
    np.testing.assert_allclose(solution.alpha, alpha, rtol=0, atol=1e-9 * np.abs(alpha).max())
    assert type(solution.intercept) is float
    assert solution.intercept == pytest.approx(b, abs=1e-9 * scale)
    f = kernel(X_NEW, X) @ solution.alpha + solution.intercept
    np.testing.assert_allclose(f, kernel(X_NEW, X) @ alpha + b, rtol=0, atol=1e-9 * scale)


@every_solver
@every_kernel
@every_target
@pytest.mark.parametrize("gamma", GAMMAS)
def test_conditions_for_optimality(solve, kernel, y, gamma):
    """Eq 2.18: Σα = 0, α = γe and y = wᵀφ + b + e with w = Σα_iφ(x_i)."""
    alpha, b = solve(kernel, X, y, gamma)[:2]
    assert type(b) is float
    e = y - (kernel(X) @ alpha + b)
    size = np.abs(alpha).max()
    assert abs(alpha.sum()) <= 1e-9 * N * size
    np.testing.assert_allclose(alpha, gamma * e, rtol=0, atol=1e-9 * size)
    assert abs(e.sum()) <= 1e-9 * N * np.abs(y).max()  # the training errors have zero mean


@every_solver
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 3.0), Polynomial(3, 4.0)], ids=str)
@every_target
@pytest.mark.parametrize("gamma", [0.1, 10.0])
def test_dual_solution_is_the_primal_one(solve, kernel, y, gamma):
    """w = Σα_iφ(x_i) and b minimise μE_W + ζE_D (eqs 2.14, 2.30) in an explicit feature space, N > n_f and N < n_f."""
    for rows in (slice(None), slice(0, N, 6)):
        features, targets = kernel.feature_map(X[rows]), y[rows]
        primal = PrimalPosterior.fit(features, targets, mu=2.0, zeta=2.0 * gamma)
        alpha, b = solve(kernel, X[rows], targets, gamma)[:2]
        assert type(b) is float
        np.testing.assert_allclose(features.T @ alpha, primal.w, rtol=0, atol=1e-9 * np.abs(primal.w).max())
        assert b == pytest.approx(primal.b, abs=1e-9 * np.abs(y).max())


@every_solver
def test_solution_minimises_the_cost(solve):
    """No random step of (α, b) lowers E_W + γE_D (eq 2.14)."""
    kernel, y, gamma = KERNELS["rbf"], TARGETS["unbalanced"], 3.0
    K = kernel(X)
    alpha, b = solve(kernel, X, y, gamma)[:2]
    assert type(b) is float

    def cost(a, c):
        return 0.5 * a @ K @ a + 0.5 * gamma * ((y - K @ a - c) ** 2).sum()

    rng = np.random.default_rng(9)
    best = cost(alpha, b)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            assert cost(alpha + size * rng.standard_normal(N), b + size * rng.standard_normal()) > best


@every_solver
@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf])
def test_gamma_that_is_not_positive_is_refused(solve, gamma):
    with pytest.raises(ValueError, match=r"gamma must be a positive finite number, got .*"):
        solve(RBF(), X, TARGETS["balanced"], gamma)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 14)], ids=["alike", "weighted"])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("gamma", [1e-2, 1.0, 5e11])
def test_rows_that_repeat_have_their_support_values_to_rounding(weights, equal, gamma):
    """Against 50 digits: the system of all rows has errors of 1e-4 at the largest γ, where targets repeat too."""
    rng = np.random.default_rng(3)
    inputs, kernel = 3.0 * rng.normal(size=(9, 2)), RBF(1.5)
    group = np.r_[np.arange(9), [0, 0, 4, 5, 5]]
    targets = np.where(rng.normal(size=9) > 0, 1.0, -1.0)[group]
    if not equal:
        targets[-5:] *= -1.0
    own = np.ones(14) if weights is None else weights
    with mp.workdps(50):
        A = mp.zeros(15)
        for i in range(14):
            A[i, i] = 1 / (mp.mpf(gamma) * mp.mpf(own[i]))
            A[i, 14] = A[14, i] = 1
            for j in range(14):
                apart = sum(
                    (mp.mpf(a) - mp.mpf(b)) ** 2 for a, b in zip(inputs[group[i]], inputs[group[j]], strict=True)
                )
                A[i, j] += mp.exp(-apart / mp.mpf(1.5) ** 2)
        exact = np.array([float(v) for v in mp.lu_solve(A, mp.matrix([*targets, 0]))])
    alpha, intercept = solve_distinct(kernel, inputs[group], targets, gamma, weights)
    np.testing.assert_allclose(alpha, exact[:-1], rtol=1e-11, atol=1e-11 * np.abs(exact[:-1]).max())
    assert intercept == pytest.approx(exact[-1], abs=1e-11)


def test_one_decomposition_serves_every_gamma_and_every_target():
    K = RBF(1.0)(X)
    spectrum = CentredSpectrum.from_kernel_matrix(K, TARGETS["unbalanced"])
    for gamma in np.geomspace(1e-4, 1e4, 9):
        for y in TARGETS.values():
            alpha, b = dense_kkt(K, y, gamma)
            solution = solve_spectral(spectrum.with_targets(y), gamma)
            np.testing.assert_allclose(solution.alpha, alpha, rtol=0, atol=1e-9 * np.abs(alpha).max())
            assert solution.intercept == pytest.approx(b, abs=1e-9 * np.abs(y).max())


def test_cholesky_leaves_the_matrix_alone():
    K = RBF()(X)
    before = K.copy()
    solve_cholesky(K, TARGETS["balanced"], 1.0)
    np.testing.assert_array_equal(K, before)


# ------------------------------------------------------------------------------- the papers' other conventions


@every_solver
@every_kernel
@pytest.mark.parametrize("labels", ["balanced", "unbalanced"])
def test_labels_in_the_classifier_belong_to_paper_2s_system(solve, kernel, labels):
    """Erratum to eq 2.22: with the system 2.19 the classifier is sign[Σα_iK(x, x_i) + b], without y_i.

    Paper 2's eq 4 has y_iy_jK in the matrix, Y beside it and 1 on the right; its α is y_i times ours, and its eq 5,
    which multiplies by y_i again, is the same f.
    """
    y, gamma = TARGETS[labels], 2.0
    K, K_new = kernel(X), kernel(X_NEW, X)
    alpha, b = solve(kernel, X, y, gamma)[:2]

    system = np.block([[np.zeros((1, 1)), y[None, :]], [y[:, None], np.outer(y, y) * K + np.eye(N) / gamma]])
    solution = np.linalg.solve(system, np.append(0.0, np.ones(N)))
    b_2, alpha_2 = solution[0], solution[1:]

    np.testing.assert_allclose(alpha_2, y * alpha, rtol=0, atol=1e-9 * np.abs(alpha).max())
    assert type(b) is float  # of one target, and no array
    assert b_2 == pytest.approx(b, abs=1e-9)
    ours, theirs, printed = K_new @ alpha + b, K_new @ (alpha_2 * y) + b_2, K_new @ (alpha * y) + b
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-9)
    # eq 2.22 as printed, with the α of 2.19, is another function, and a worse classifier of its own training set
    assert np.abs(printed - ours).max() > 0.1
    assert np.mean(np.sign(K @ alpha + b) == y) > np.mean(np.sign(K @ (alpha * y) + b) == y)


@every_solver
@every_kernel
@every_target
def test_paper_4_scales_the_support_values_by_mu(solve, kernel, y):
    """Ω/μ + I/ζ and f = (1/μ)Σα_iK + b: the same f and b, and μ times our α."""
    mu, zeta = 0.03, 0.6
    alpha, b = solve(kernel, X, y, zeta / mu)[:2]
    K = kernel(X)
    system = np.block([[np.zeros((1, 1)), np.ones((1, N))], [np.ones((N, 1)), K / mu + np.eye(N) / zeta]])
    solution = np.linalg.solve(system, np.append(0.0, y))
    b_4, alpha_4 = solution[0], solution[1:]
    np.testing.assert_allclose(alpha_4, mu * alpha, rtol=0, atol=1e-9 * np.abs(mu * alpha).max())
    assert b_4 == pytest.approx(b, abs=1e-9 * np.abs(y).max())
    K_new = kernel(X_NEW, X)
    np.testing.assert_allclose(K_new @ alpha_4 / mu + b_4, K_new @ alpha + b, rtol=0, atol=1e-9 * np.abs(y).max())


# ---------------------------------------------------------------------------------------- conjugate gradients


@dataclass(frozen=True)
class RecordingRBF(RBF):
    """An RBF kernel that notes the shape of every block it is asked for."""

    shapes: list = field(default_factory=list, compare=False)

    def __call__(self, X, Z=None):
        self.shapes.append((len(X), len(X if Z is None else Z)))
        return super().__call__(X, Z)


class Negative(Linear):
    """Minus an inner product, which says of itself that it is one."""

    def __call__(self, X, Z=None):
        return -super().__call__(X, Z)

    def diag(self, X):
        return -super().diag(X)


@pytest.mark.parametrize("inputs", [np.resize([-1.0, 1.0], 20), np.ones(20)], ids=["targets", "ones"])
def test_conjugate_gradients_refuse_a_matrix_on_which_one_system_has_no_minimum(inputs):
    """−xxᵀ + 1/γ is negative along x alone, which is orthogonal to the right side of the other system."""
    with pytest.raises(NotPositiveSemidefiniteError, match="not positive definite on these data"):
        solve_cg(Negative(), inputs[:, None], np.resize([-1.0, 1.0], 20), 1.0, preconditioner_rank=0, progress=False)


@pytest.mark.parametrize("limit", [1, N, 7 * N, 7 * N + 5])
def test_conjugate_gradients_never_form_the_whole_matrix(monkeypatch, limit):
    monkeypatch.setattr(solvers, "_BLOCK_DOUBLES", limit)
    kernel, y = RecordingRBF(1.5), TARGETS["unbalanced"]
    solution = solve_cg(kernel, X, y, 5.0, preconditioner_rank=10, tolerance=1e-12, progress=False)
    assert kernel.shapes  # it did ask
    # a row is the least that a product needs; beyond that, nothing above the limit
    assert max(rows * columns for rows, columns in kernel.shapes) <= max(limit, N)
    # every iteration sees each row once, and the preconditioner one row for each of its columns
    assert sum(rows for rows, _ in kernel.shapes) == solution.iterations * N + 10
    alpha, b = dense_kkt(RBF(1.5)(X), y, 5.0)
    np.testing.assert_allclose(solution.alpha, alpha, rtol=0, atol=1e-9 * np.abs(alpha).max())
    assert solution.intercept == pytest.approx(b, abs=1e-9)


def test_conjugate_gradients_need_a_fraction_of_the_matrix(monkeypatch):
    n = 500
    monkeypatch.setattr(solvers, "_BLOCK_DOUBLES", 10 * n)
    rng = np.random.default_rng(10)
    points, y = rng.standard_normal((n, 3)), np.where(rng.random(n) < 0.3, 1.0, -1.0)
    tracemalloc.start()
    try:
        solution = solve_cg(RBF(2.0), points, y, 1.0, preconditioner_rank=20, progress=False)
        peak = tracemalloc.get_traced_memory()[1] / 8
    finally:
        tracemalloc.stop()
    assert solution.converged
    assert peak < 0.3 * n**2


def test_conjugate_gradients_end_after_as_many_steps_as_there_are_eigenvalues():
    """A linear kernel of three inputs has three eigenvalues beside 0: each direction is new, and four are all."""
    solution = solve_cg(Linear(), X, TARGETS["unbalanced"], 10.0, preconditioner_rank=0, tolerance=1e-9, progress=False)
    assert solution.converged
    assert solution.iterations <= 4


def test_too_few_iterations_are_a_warning_and_are_told():
    with pytest.warns(
        ConvergenceWarning, match=r"stopped after 3 iterations at a relative residual of .*wanted 1.0e-10"
    ):
        solution = solve_cg(RBF(), X, TARGETS["balanced"], 1e3, max_iter=3, preconditioner_rank=0, progress=False)
    assert not solution.converged
    assert solution.iterations == 3
    assert solution.residual > 1e-10
    assert np.all(np.isfinite(solution.alpha))


@every_target
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_the_residual_that_is_told_is_the_larger_of_the_two_systems(monkeypatch, y, tolerance):
    """‖Mρ − 1‖/‖1‖ and ‖Mν − y‖/‖y‖, computed afresh; Σα = 0 holds at any tolerance, since b is chosen last."""
    gamma, seen = 10.0, {}
    combine = solvers._combine
    monkeypatch.setattr(solvers, "_combine", lambda rho, nu: seen.update(rho=rho, nu=nu) or combine(rho, nu))
    solution = solve_cg(RBF(1.0), X, y, gamma, tolerance=tolerance, preconditioner_rank=5, progress=False)
    M = RBF(1.0)(X) + np.eye(N) / gamma
    left = [np.linalg.norm(M @ x - r) / np.linalg.norm(r) for x, r in ((seen["rho"], np.ones(N)), (seen["nu"], y))]
    assert solution.converged
    assert solution.residual <= tolerance
    assert solution.residual == pytest.approx(max(left), rel=1e-3, abs=1e-14)
    assert abs(solution.alpha.sum()) <= 1e-12 * np.abs(solution.alpha).sum()


def test_convergence_comes_back_as_data():
    kernel, y, gamma = RBF(1.5), TARGETS["balanced"], 10.0
    solution = solve_cg(kernel, X, y, gamma, tolerance=1e-8, progress=False)
    assert solution.converged
    assert solution.residual <= 1e-8
    # a looser tolerance stops earlier
    assert solve_cg(kernel, X, y, gamma, tolerance=1e-2, preconditioner_rank=5, progress=False).iterations < (
        solve_cg(kernel, X, y, gamma, tolerance=1e-12, preconditioner_rank=5, progress=False).iterations
    )


@pytest.mark.parametrize("gamma", [100.0, 1e3])
def test_preconditioner_saves_iterations_and_changes_nothing_else(gamma):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((200, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    runs = {
        rank: solve_cg(RBF(1.5), X, y, gamma, tolerance=1e-11, preconditioner_rank=rank, progress=False)
        for rank in (0, 10, 40, 120)
    }
    iterations = [runs[rank].iterations for rank in (0, 10, 40, 120)]
    assert iterations == sorted(iterations, reverse=True)
    assert runs[120].iterations * 5 < runs[0].iterations
    alpha, b = dense_kkt(RBF(1.5)(X), y, gamma)
    for run in runs.values():
        np.testing.assert_allclose(run.alpha, alpha, rtol=0, atol=1e-6 * np.abs(alpha).max())
        assert run.intercept == pytest.approx(b, abs=1e-8)


def test_a_preconditioner_of_full_rank_solves_at_once():
    """Linear kernel of rank 3: its pivoted factor is exact after three columns, whatever rank is asked for."""
    solution = solve_cg(Linear(), X, TARGETS["regression"], 10.0, preconditioner_rank=50, progress=False)
    assert solution.iterations <= 3
    L = solvers._pivoted_cholesky(Linear(), X, 50)
    assert L.shape == (N, 3)
    np.testing.assert_allclose(L @ L.T, Linear()(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("rank", [5, 20, N])
def test_pivoted_factor_never_overshoots(rank):
    """Ω − LLᵀ is what is left: positive semi-definite, zero at the pivots, and its trace only falls."""
    K = RBF(1.0)(X)
    L = solvers._pivoted_cholesky(RBF(1.0), X, rank)
    left = K - L @ L.T
    assert np.linalg.eigvalsh(left)[0] > -1e-12
    assert np.trace(left) < np.trace(K) * (1.0 - 0.5 * rank / N)
    assert np.sum(np.abs(np.diag(left)) < 1e-12) >= L.shape[1]


@every_kernel
def test_identical_points_and_a_constant_input_do_not_stop_the_iteration(kernel):
    X_twice, y_twice = np.vstack([X, X]), np.r_[TARGETS["balanced"], TARGETS["balanced"]]
    X_twice[:, 2] = 1.0
    alpha, b = dense_kkt(kernel(X_twice), y_twice, 2.0)
    solution = solve_cg(kernel, X_twice, y_twice, 2.0, tolerance=1e-13, progress=False)
    np.testing.assert_allclose(solution.alpha, alpha, rtol=0, atol=1e-9)
    assert solution.intercept == pytest.approx(b, abs=1e-9)


@every_kernel
@pytest.mark.parametrize("limit", [1, 3 * N + 1, 4_000_000])
@pytest.mark.parametrize("columns", [None, 1, 3])
def test_product_by_blocks_equals_the_product(monkeypatch, kernel, limit, columns):
    monkeypatch.setattr(solvers, "_BLOCK_DOUBLES", limit)
    B = np.random.default_rng(12).standard_normal((N,) if columns is None else (N, columns))
    product = kernel_product(kernel, X_NEW, X, B)
    assert product.shape == (len(X_NEW), *B.shape[1:])
    np.testing.assert_allclose(product, kernel(X_NEW, X) @ B, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [RBF(0.8), Linear(), Polynomial(2, 1.0)], ids=str)
def test_a_whole_preconditioner_leaves_hardly_a_step(kernel, weighted):
    """With the whole matrix in it the preconditioner is the inverse; without any the steps are many."""
    rng = np.random.default_rng(21)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    weights = rng.uniform(0.05, 5.0, 60) if weighted else None
    exact = solve_cholesky(kernel(X), y, 30.0, weights=weights)
    whole = solve_cg(kernel, X, y, 30.0, weights=weights, preconditioner_rank=60, progress=False)
    none = solve_cg(kernel, X, y, 30.0, weights=weights, preconditioner_rank=0, progress=False)
    for found in (whole, none):
        assert found.converged
        assert found.residual <= 1e-10
        np.testing.assert_allclose(found.alpha, exact.alpha, rtol=1e-6, atol=1e-6 * np.abs(exact.alpha).max())
        assert found.intercept == pytest.approx(exact.intercept, abs=1e-6)
    assert whole.iterations <= 3
    assert none.iterations > 2 * whole.iterations
    n, d = np.linalg.matrix_rank(kernel(X)), 1.0 / 30.0 if weights is None else 1.0 / (30.0 * weights)
    L = _pivoted_cholesky(kernel, X, 60)
    if not isinstance(kernel, RBF):
        assert L.shape == (60, n)
    np.testing.assert_allclose(L @ L.T, kernel(X), atol=1e-6 * kernel(X).max())
    applied = _Preconditioner(L, np.broadcast_to(d, 60)[:, None])(np.eye(60))
    np.testing.assert_allclose(applied, np.linalg.inv(L @ L.T + np.diag(np.broadcast_to(d, 60))), atol=1e-6 / np.min(d))


def test_a_partial_factor_takes_the_largest_of_what_is_left():
    """Nyström's approximation from the pivots, each the point of the largest remaining variance."""
    rng = np.random.default_rng(22)
    X = rng.normal(size=(40, 2)) * [3.0, 1.0]
    kernel = RBF(1.0) + Linear()
    K, pivots = kernel(X), []
    L = _pivoted_cholesky(kernel, X, 7)
    for k in range(7):
        chosen = K[:, pivots]
        left = K - chosen @ np.linalg.solve(K[np.ix_(pivots, pivots)], chosen.T) if pivots else K
        np.testing.assert_allclose(np.diag(K - L[:, :k] @ L[:, :k].T), np.diag(left), atol=1e-9)
        pivots.append(int(np.argmax(np.diag(left))))
    chosen = K[:, pivots]
    np.testing.assert_allclose(L @ L.T, chosen @ np.linalg.solve(K[np.ix_(pivots, pivots)], chosen.T), atol=1e-8)


def test_steps_run_out_one_by_one():
    rng = np.random.default_rng(23)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    needed = solve_cg(RBF(0.5), X, y, 5.0, preconditioner_rank=0, progress=False).iterations
    assert solve_cg(RBF(0.5), X, y, 5.0, preconditioner_rank=0, max_iter=needed, progress=False).converged
    with pytest.warns(ConvergenceWarning, match=f"after {needed - 1} iterations"):
        found = solve_cg(RBF(0.5), X, y, 5.0, preconditioner_rank=0, max_iter=needed - 1, progress=False)
    assert not found.converged
    assert found.residual > 1e-10
