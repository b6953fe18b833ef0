"""The reductions of the centred kernel matrix: against KernelPCA, dense algebra and each other."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from sklearn.decomposition import KernelPCA

from bayes_lssvm import NotPositiveSemidefiniteError
from bayes_lssvm.kernels import ARD, MLP, RBF, Linear, Polynomial
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction

EPS = np.finfo(float).eps
N = 50


def _points(seed=0, n=N):
    return np.random.default_rng(seed).standard_normal((n, 3))


def _labels(X):
    noise = np.random.default_rng(1).standard_normal(len(X))
    return np.where(X[:, 0] + 0.8 * noise > 0.4, 1.0, -1.0)


X = _points()
DUPLICATED = np.repeat(X[: N // 5], 5, axis=0)
MATRICES = {
    "rbf": RBF(1.5)(X),
    "narrow rbf": RBF(0.05)(X),
    "wide rbf": RBF(1e3)(X),
    "ard": ARD((0.7, 2.0, 9.0))(X),
    "linear, rank 3": Linear()(X),
    "polynomial, rank 19": Polynomial(3, 1.0)(X),
    "sum": (RBF(0.5) + 0.1 * Linear())(X),
    "product": (RBF(2.0) * Polynomial(2, 3.0))(X),
    "duplicate points": RBF(1.0)(DUPLICATED),
    "constant": np.ones((N, N)),
}
RANKS = {"linear, rank 3": 3, "polynomial, rank 19": 19, "duplicate points": N // 5 - 1, "constant": 0, "rbf": N - 1}
TARGETS = {"labels": _labels(X), "real": 3.0 + X[:, 1] ** 2}
every_matrix = pytest.mark.parametrize("K", MATRICES.values(), ids=MATRICES.keys())
every_target = pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS.keys())
both_reductions = pytest.mark.parametrize("reduction", [CentredSpectrum, TridiagonalReduction])
M = np.eye(N) - 1.0 / N


# -------------------------------------------------------------------------------------------- the decomposition


@every_matrix
def test_eigenvalues_equal_kernel_pca(K):
    pca = KernelPCA(n_components=N - 1, kernel="precomputed", eigen_solver="dense").fit(K)
    spectrum = CentredSpectrum.from_kernel_matrix(K, TARGETS["labels"])
    # both carry the rounding of the whole matrix
    np.testing.assert_allclose(spectrum.eigenvalues[::-1], pca.eigenvalues_, rtol=1e-12, atol=10 * EPS * N * K.max())


@every_matrix
@every_target
def test_decomposition_of_the_centred_matrix(K, y):
    """MΩM = VΛVᵀ (eq 3.15) with all N − 1 dimensions of the complement of 1, zeros included."""
    spectrum = CentredSpectrum.from_kernel_matrix(K, y)
    V, values = spectrum.vectors, spectrum.eigenvalues
    assert values.shape == (N - 1,)
    assert V.shape == (N, N - 1)
    assert spectrum.n == N
    assert np.all(values >= 0)
    assert np.all(np.diff(values) >= 0)
    np.testing.assert_allclose(V.T @ V, np.eye(N - 1), rtol=0, atol=1e-13)
    np.testing.assert_allclose(V.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose((V * values) @ V.T, M @ K @ M, rtol=0, atol=1e-13 * np.linalg.norm(K))
    # none of the targets is lost: a spectrum without its zeros would keep 3 of 49 dimensions for the linear kernel
    assert spectrum.totals[0] == pytest.approx(((y - y.mean()) ** 2).sum(), rel=1e-13)
    np.testing.assert_allclose(V @ spectrum.t, y - y.mean(), rtol=0, atol=1e-13 * np.abs(y).max())
    assert spectrum.y_mean == pytest.approx(y.mean(), rel=1e-15)
    np.testing.assert_allclose(spectrum.kernel_means, K.mean(axis=0), rtol=1e-14)


def test_dropping_the_smallest_eigenvector_instead_would_lose_targets():
    """Where λ = 0 is multiple, 1 is not the eigenvector of MΩM that a solver returns first."""
    y = TARGETS["real"]
    _, V = np.linalg.eigh(M @ Linear()(X) @ M)
    total = ((y - y.mean()) ** 2).sum()
    assert abs(((V[:, 1:].T @ y) ** 2).sum() - total) > 0.01 * total
    assert CentredSpectrum.from_kernel_matrix(Linear()(X), y).totals[0] == pytest.approx(total, rel=1e-13)


@pytest.mark.parametrize(("name", "rank"), RANKS.items())
def test_rank_counts_the_eigenvalues_above_rounding(name, rank):
    assert CentredSpectrum.from_kernel_matrix(MATRICES[name], TARGETS["labels"]).rank == rank


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["rbf", "linear, rank 3", "product"])
def test_norm_and_means_are_those_of_the_matrix(name, weighted):
    """What sets the scale of rounding, and what a new point is centred with."""
    K, w = MATRICES[name], np.random.default_rng(3).uniform(0.2, 3.0, N)
    spectrum = CentredSpectrum.from_kernel_matrix(K, TARGETS["real"], w if weighted else None)
    shares = w / w.sum() if weighted else np.full(N, 1.0 / N)
    tridiagonal = TridiagonalReduction.from_kernel_matrix(K, TARGETS["real"], w if weighted else None)
    norm = np.linalg.norm(K) * (w.max() if weighted else 1.0)
    assert [spectrum.kernel_norm, tridiagonal.kernel_norm] == pytest.approx([norm, norm], rel=1e-12)
    np.testing.assert_allclose(spectrum.kernel_means, K @ shares, rtol=1e-12)


@pytest.mark.parametrize("n", [3, 4])
@both_reductions
def test_the_smallest_data_sets(reduction, n):
    K, y = RBF(1.0)(X[:n]), np.arange(n) - 0.5
    sums = reduction.from_kernel_matrix(K, y).sums(np.array([0.3, 2.0]))
    expected = np.stack([list(dense_sums(K, y, gamma).values()) for gamma in (0.3, 2.0)], axis=1)
    np.testing.assert_allclose(np.stack(sums), expected, rtol=1e-12)


def test_new_targets_need_no_new_decomposition():
    K = MATRICES["rbf"]
    first = CentredSpectrum.from_kernel_matrix(K, TARGETS["labels"])
    moved = first.with_targets(TARGETS["real"])
    fresh = CentredSpectrum.from_kernel_matrix(K, TARGETS["real"])
    assert moved.vectors is first.vectors
    assert moved.y_mean == fresh.y_mean
    np.testing.assert_allclose(np.abs(moved.t), np.abs(fresh.t), rtol=0, atol=1e-11)
    for a, b in zip(moved.sums(np.array([0.1, 10.0])), fresh.sums(np.array([0.1, 10.0])), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert first.totals[0] == pytest.approx(((TARGETS["labels"] - TARGETS["labels"].mean()) ** 2).sum())


@both_reductions
def test_the_kernel_matrix_and_the_targets_are_left_alone(reduction):
    K, y = MATRICES["rbf"].copy(), TARGETS["labels"].copy()
    reduction.from_kernel_matrix(K, y).sums(np.array([1.0]))
    np.testing.assert_array_equal(K, MATRICES["rbf"])
    np.testing.assert_array_equal(y, TARGETS["labels"])


# --------------------------------------------------------------------------------------------------- the sums


def dense_sums(K, y, gamma):
    """The sums from (MΩM + I/γ)⁻¹ without a decomposition; the constant direction has the eigenvalue 1/γ."""
    n, s = len(y), 1.0 / gamma
    centring = np.eye(n) - 1.0 / n
    G = centring @ K @ centring
    inverse = np.linalg.inv(G + s * np.eye(n))
    t = y - y.mean()
    return {
        "log_det": np.linalg.slogdet(G + s * np.eye(n))[1] - np.log(s),
        "q1": t @ inverse @ t,
        "q2": t @ inverse @ inverse @ t,
        "tr1": np.trace(inverse) - gamma,
        "d_eff": np.trace(inverse @ G),
        "w": t @ inverse @ G @ inverse @ t,
    }


@both_reductions
@every_matrix
@every_target
@pytest.mark.parametrize("gamma", [1e-3, 0.2, 5.0, 1e3])
def test_sums_equal_dense_algebra(reduction, K, y, gamma):
    reduced = reduction.from_kernel_matrix(K, y)
    sums = reduced.sums(gamma)
    expected = dense_sums(K, y, gamma)
    unit = 50 * EPS * (1.0 + gamma * np.linalg.norm(K))  # condition of Ω + I/γ times rounding
    scales = expected | {
        # the logs of the eigenvalues, and what d_eff and w are differences of
        "log_det": N * (1.0 + abs(np.log(gamma)) + np.log1p(np.linalg.norm(K))),
        "d_eff": N,
        "w": expected["q1"],
    }
    assert reduced.n == N
    for name, value in expected.items():
        assert getattr(sums, name).shape == (1,)
        assert abs(getattr(sums, name)[0] - value) <= unit * scales[name], name


@every_matrix
@every_target
def test_tridiagonal_sums_equal_spectral_sums_for_every_gamma(K, y):
    """Both reductions perturb eigenvalues by a few eps·‖Ω‖, hence every sum by a few eps·γ·‖Ω‖ relative; not more."""
    spectrum = CentredSpectrum.from_kernel_matrix(K, y)
    tridiagonal = TridiagonalReduction.from_kernel_matrix(K, y)
    gamma = np.logspace(-8, np.log10(spectrum.gamma_max), 60)
    a, b = spectrum.sums(gamma), tridiagonal.sums(gamma)
    unit = 10 * EPS * (1.0 + gamma * spectrum.kernel_norm)
    logs = np.abs(np.log(spectrum.eigenvalues + 1.0 / gamma[:, None])).sum(axis=1)
    # d_eff and w are differences here (N − 1 − s·tr1 and q1 − s·q2): their errors are those of what is subtracted
    scales = {"log_det": N + logs, "q1": a.q1, "q2": a.q2, "tr1": a.tr1, "d_eff": N, "w": a.q1}
    for name, scale in scales.items():
        error = np.abs(getattr(a, name) - getattr(b, name)) / scale
        assert np.all(error <= unit), (name, np.max(error / unit))
    assert tridiagonal.n == spectrum.n == N
    assert tridiagonal.totals[0] == pytest.approx(spectrum.totals[0], rel=1e-13)
    assert tridiagonal.kernel_norm == spectrum.kernel_norm
    # Gershgorin's bound is above the largest eigenvalue, and of its size
    rounding = 100 * EPS * spectrum.kernel_norm
    assert spectrum.lambda_max - rounding <= tridiagonal.lambda_max <= 3.0 * spectrum.lambda_max + rounding


def exact_sums(K, y, gamma):
    """The sums from a dense inverse of HᵀΩH + I/γ at 50 digits, with Helmert's basis H of the complement of 1."""
    with mpmath.workdps(50):
        n, s = len(y), 1 / mpmath.mpf(gamma)
        H = mpmath.matrix(n, n - 1)
        for j in range(1, n):
            norm = mpmath.sqrt(j * (j + 1))
            for i in range(j):
                H[i, j - 1] = 1 / norm
            H[j, j - 1] = -j / norm
        A = H.T * mpmath.matrix(K.tolist()) * H + s * mpmath.eye(n - 1)
        t, inverse = H.T * mpmath.matrix(y.tolist()), A**-1
        x = inverse * t
        q1, q2, tr1 = (t.T * x)[0], (x.T * x)[0], sum(inverse[i, i] for i in range(n - 1))
        sums = mpmath.log(mpmath.det(A)), q1, q2, tr1, n - 1 - s * tr1, q1 - s * q2
        return np.array([float(value) for value in sums])


@pytest.mark.parametrize("gamma", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("kernel", [RBF(1.0), RBF(30.0), Linear(), Polynomial(2, 1.0)], ids=str)
def test_sums_equal_fifty_digits(kernel, gamma):
    K, y = kernel(X[:9]), X[:9, 1] + 3.0
    exact = exact_sums(K, y, gamma)
    unit = 20 * EPS * (1.0 + gamma * np.linalg.norm(K))  # the condition of Ω + I/γ times rounding
    scales = np.abs(exact)
    scales[0], scales[4:] = 9.0 + scales[0], (9.0, exact[1])  # sums of 9 terms, and the w that is a part of q1
    for reduction in (CentredSpectrum, TridiagonalReduction):
        got = np.concatenate(reduction.from_kernel_matrix(K, y).sums(gamma))
        assert np.all(np.abs(got - exact) <= unit * scales), reduction
    if gamma == 1e-6:
        # γ_eff − 1 and E_W are 1e-6 of what they are differences of: eigenvalues keep their digits all the same
        spectral = CentredSpectrum.from_kernel_matrix(K, y).sums(gamma)
        loss = np.linalg.norm(K) / CentredSpectrum.from_kernel_matrix(K, y).eigenvalues.sum()
        np.testing.assert_allclose([spectral.d_eff[0], spectral.w[0]], exact[4:], rtol=100 * EPS * loss)


@both_reductions
@pytest.mark.parametrize("kernel", [RBF(1.0), Linear(), RBF(1e3)], ids=str)
def test_effective_parameters_and_weights_grow_with_gamma(reduction, kernel):
    """0 ≤ γ_eff − 1 ≤ N − 1 and 0 ≤ 2E_W ≤ q₁ for every γ; both grow with it, but for rounding."""
    reduced = reduction.from_kernel_matrix(kernel(X), X[:, 1])
    gamma = np.geomspace(1e-8, reduced.gamma_max, 80)
    sums = reduced.sums(gamma)
    assert np.all((sums.d_eff >= 0) & (sums.d_eff <= N - 1))
    assert np.all((sums.w >= 0) & (sums.w <= sums.q1))
    slack = 20 * N * EPS * (1.0 + gamma[1:] * reduced.kernel_norm)
    assert np.all(np.diff(sums.d_eff) >= -slack)
    assert np.all(np.diff(sums.w) >= -slack * sums.q1[1:])


@both_reductions
@every_matrix
def test_values_are_the_first_two_sums(reduction, K):
    reduced = reduction.from_kernel_matrix(K, TARGETS["labels"])
    gamma = np.logspace(-4, 6, 21)
    sums = reduced.sums(gamma)
    log_det, q1 = reduced.values(gamma)
    np.testing.assert_allclose(log_det, sums.log_det, rtol=1e-14)
    np.testing.assert_allclose(q1, sums.q1, rtol=1e-14)


@both_reductions
def test_many_gammas_at_once_equal_one_at_a_time(reduction):
    reduced = reduction.from_kernel_matrix(MATRICES["sum"], TARGETS["labels"])
    gamma = np.logspace(-3, 5, 9)
    together = np.stack(reduced.sums(gamma))
    single = np.concatenate([np.stack(reduced.sums(g)) for g in gamma], axis=1)
    np.testing.assert_allclose(together, single, rtol=1e-13)


@both_reductions
@every_matrix
@every_target
@pytest.mark.parametrize("gamma", [0.05, 3.0])
def test_sums_are_the_energies_of_the_solution(reduction, K, y, gamma):
    """E_D = s²q₂/2 = ½Σe² (eq 2.16) and E_W = (q₁ − s q₂)/2 = ½αᵀΩα (eq 2.15) of the dense solution of eq 2.19."""
    s = 1.0 / gamma
    system = np.block([[np.zeros((1, 1)), np.ones((1, N))], [np.ones((N, 1)), K + s * np.eye(N)]])
    solution = np.linalg.solve(system, np.append(0.0, y))
    b, alpha = solution[0], solution[1:]
    e = y - K @ alpha - b
    sums = reduction.from_kernel_matrix(K, y).sums(gamma)
    np.testing.assert_allclose(0.5 * s**2 * sums.q2, 0.5 * e @ e, rtol=1e-9)
    np.testing.assert_allclose(0.5 * sums.w, 0.5 * alpha @ K @ alpha, rtol=1e-9, atol=1e-11 * (y @ y))


@both_reductions
@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_log_determinant_neither_overflows_nor_underflows(reduction, scale):
    """Pivots are multiplied in groups before the logarithm; (1e60)⁸ would be infinite."""
    K, y = MATRICES["rbf"], TARGETS["labels"]
    plain, scaled = (reduction.from_kernel_matrix(c * K, y).sums(7.0 / c) for c in (1.0, scale))
    assert scaled.log_det[0] == pytest.approx(plain.log_det[0] + (N - 1) * np.log(scale), rel=1e-13)
    assert scaled.q1[0] * scale == pytest.approx(plain.q1[0], rel=1e-12)


# ---------------------------------------------------------------------------------------------- invariances


@both_reductions
@pytest.mark.parametrize(
    "change",
    [
        lambda K, y, p: (K + 3.0, y),
        lambda K, y, p: (K - 3.0, y),  # no longer semi-definite itself, but its centred form is
        lambda K, y, p: (K, y + 100.0),
        lambda K, y, p: (K[np.ix_(p, p)], y[p]),
    ],
    ids=["constant added to the kernel", "constant subtracted", "targets shifted", "points permuted"],
)
def test_only_the_centred_matrix_and_the_centred_targets_matter(reduction, change):
    K, y = MATRICES["rbf"], TARGETS["labels"]
    gamma = np.array([0.1, 1.0, 100.0])
    expected = reduction.from_kernel_matrix(K, y).sums(gamma)
    changed = reduction.from_kernel_matrix(*change(K, y, np.random.default_rng(0).permutation(N))).sums(gamma)
    for a, b in zip(expected, changed, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-11)


@both_reductions
def test_a_constant_kernel_matrix_explains_nothing(reduction):
    """Ω = 11ᵀ has MΩM = 0: every sum is that of N − 1 zeros."""
    y = TARGETS["labels"]
    reduced = reduction.from_kernel_matrix(np.ones((N, N)), y)
    gamma = np.array([1e-3, 1.0, 1e3])
    sums, total = reduced.sums(gamma), ((y - y.mean()) ** 2).sum()
    np.testing.assert_allclose(sums.log_det, -(N - 1) * np.log(gamma), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(sums.q1, gamma * total, rtol=1e-10)
    np.testing.assert_allclose(sums.q2, gamma**2 * total, rtol=1e-10)
    np.testing.assert_allclose(sums.tr1, gamma * (N - 1), rtol=1e-10)
    np.testing.assert_allclose(sums.d_eff, 0.0, atol=1e-9)


@both_reductions
def test_constant_targets_have_nothing_to_explain(reduction):
    reduced = reduction.from_kernel_matrix(MATRICES["rbf"], np.full(N, 2.5))
    assert reduced.totals[0] == pytest.approx(0.0, abs=1e-25)
    assert np.all(np.isfinite(np.stack(reduced.sums(np.array([0.1, 10.0])))))


# -------------------------------------------------------------------------------- what is refused, and limits

INDEFINITE = {
    "mlp": MLP(1.0, -1.0)(0.3 * X),
    "negative distances": -(np.abs(X[:, :1] - X[:, :1].T) ** 3),
    "one negative eigenvalue": MATRICES["rbf"]
    - 5.0 * np.outer(np.r_[1.0, -1.0, np.zeros(N - 2)], np.r_[1, -1, np.zeros(N - 2)]),
}


@pytest.mark.parametrize("K", INDEFINITE.values(), ids=INDEFINITE.keys())
def test_the_spectrum_refuses_an_indefinite_matrix(K):
    assert np.linalg.eigvalsh(M @ K @ M)[0] < -1e-6
    with pytest.raises(
        NotPositiveSemidefiniteError, match=r"smallest eigenvalue is -.*needs a kernel that is an inner"
    ):
        CentredSpectrum.from_kernel_matrix(K, TARGETS["labels"])


@pytest.mark.parametrize("K", INDEFINITE.values(), ids=INDEFINITE.keys())
def test_the_tridiagonal_reduction_refuses_an_indefinite_matrix(K):
    """At once, not only when a γ is asked for at which the negative eigenvalue shows."""
    smallest = np.linalg.eigvalsh(M @ K @ M)[0]
    with pytest.raises(NotPositiveSemidefiniteError, match=f"smallest eigenvalue is {smallest:.3g}"):
        TridiagonalReduction.from_kernel_matrix(K, TARGETS["labels"])


def almost_constant(lowest):
    """A matrix of norm 1 that is constant but for eigenvalues up to 1e-6, one of which is as low as given."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(np.column_stack([np.ones(60), rng.normal(size=(60, 59))]))[0]
    K = (Q * np.concatenate([[1.0], 1e-6 * rng.uniform(size=58), [lowest]])) @ Q.T
    return 0.5 * (K + K.T), rng.normal(size=60)


@pytest.mark.parametrize("reduction", [CentredSpectrum, TridiagonalReduction])
def test_one_rule_says_what_is_rounding_below_zero(reduction):
    """10 N eps ‖Ω‖: the tridiagonal form refused a matrix that the spectrum took."""
    eps = np.finfo(float).eps
    for share in (150, 400):
        found = reduction.from_kernel_matrix(*almost_constant(-share * eps))
        assert np.isfinite(found.values(np.array([found.gamma_max]))).all()
    with pytest.raises(NotPositiveSemidefiniteError, match="not positive semi-definite"):
        reduction.from_kernel_matrix(*almost_constant(-700 * eps))


@both_reductions
@every_matrix
def test_gamma_max_is_finite_and_within_reach_of_double_precision(reduction, K):
    """At γ_max the noise 1/γ is ≥ 100 eps·‖Ω‖ and ≥ 1e-12 λ_max, and the sums are finite and in order."""
    reduced = reduction.from_kernel_matrix(K, TARGETS["labels"])
    gamma = reduced.gamma_max
    assert np.isfinite(gamma)
    assert 1.0 / gamma >= 100 * EPS * np.linalg.norm(K) * (1 - 1e-12)
    assert gamma * reduced.lambda_max <= 1e12 * (1 + 1e-12)
    sums = reduced.sums(gamma)
    assert np.all(np.isfinite(np.stack(sums)))
    assert 0.0 <= sums.d_eff[0] <= N - 1
    assert 0.0 <= sums.w[0] <= sums.q1[0]


@every_matrix
@every_target
def test_the_bound_of_the_largest_eigenvalue_holds_and_is_not_far_off(K, y):
    """By the rows of the tridiagonal form, whose entries beside the diagonal have either sign."""
    exact, bound = (
        reduction.from_kernel_matrix(K, y).lambda_max for reduction in (CentredSpectrum, TridiagonalReduction)
    )
    assert exact * (1.0 - 1e-9) <= bound <= 2.0 * exact + 1e-12


@both_reductions
def test_gamma_max_of_a_very_wide_rbf_still_separates_the_linear_part(reduction):
    """For σ = 1e3 all entries are 1 − O(1e-6), yet the three directions of the linear kernel stand out."""
    reduced = reduction.from_kernel_matrix(MATRICES["wide rbf"], TARGETS["labels"])
    linear = CentredSpectrum.from_kernel_matrix(2e-6 * MATRICES["linear, rank 3"], TARGETS["labels"])
    assert 1e11 < reduced.gamma_max < 1e13
    assert reduced.gamma_max * linear.eigenvalues[-3] > 1e6
    # K ≈ const + 2xᵀz/σ² to first order in 1/σ²; the next order is 1e-6 of it
    for a, b in zip(reduced.sums(1e5), linear.sums(1e5), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


@pytest.mark.parametrize("name", ["rbf", "sum"])
def test_several_sets_of_targets_are_each_as_it_is_alone(name):
    """One reduction with L sets has the sums of L reductions with one, whichever set stands first."""
    K, Y = MATRICES[name], np.stack([TARGETS["real"], TARGETS["labels"], 3.0 - 2.0 * TARGETS["real"] ** 2], axis=1)
    together, gamma = TridiagonalReduction.from_kernel_matrix(K, Y), np.array([0.02, 1.0, 30.0])
    log_det, q1 = together.values(gamma)
    assert q1.shape == (3, 3)
    two, one = (TridiagonalReduction.from_kernel_matrix(K, Y[:, :sets]).values(gamma)[1] for sets in (2, 1))
    np.testing.assert_allclose(two, q1[:, :2], rtol=1e-10)
    np.testing.assert_allclose(one, q1[:, 0], rtol=1e-10)  # of a single set without its axis
    pairs = together.sums(gamma, np.array([2, 0, 1]))  # a set of its own for each γ
    for k, y in enumerate(Y.T):
        alone = TridiagonalReduction.from_kernel_matrix(K, y)
        np.testing.assert_allclose(together.totals[k], alone.totals[0], rtol=1e-13)
        np.testing.assert_allclose(log_det, alone.values(gamma)[0], rtol=1e-11)
        np.testing.assert_allclose(q1[:, k], alone.values(gamma)[1], rtol=1e-10)
        i = [2, 0, 1].index(k)
        for a, b, c in zip(together.sums(gamma, k), alone.sums(gamma), pairs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)
            np.testing.assert_allclose(c[i], b[i], rtol=1e-9)
