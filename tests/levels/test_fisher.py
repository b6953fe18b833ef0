"""Kernel Fisher discriminant analysis: primal, Rayleigh quotient, the LS-SVM's direction, errata around eq 2.30."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from bayes_lssvm.kernels import ARD, RBF, Linear, Polynomial
from bayes_lssvm.levels.fisher import (
    centre_classes,
    class_difference,
    fisher_discriminant,
    lssvm_scale,
    rayleigh_quotient,
)
from bayes_lssvm.levels.solvers import solve_cholesky

N = 48
EXPLICIT = [Linear(), Polynomial(2, 3.0), Polynomial(3, 4.0), Linear() + 0.2 * Polynomial(2)]
IMPLICIT = [RBF(1.5), ARD((0.8, 2.0, 6.0)), RBF(1.0) * Polynomial(2, 3.0)]
GAMMAS = [1e-2, 1.0, 100.0]


def _data():
    rng = np.random.default_rng(15)
    X = rng.standard_normal((N, 3))
    order = np.argsort(np.argsort(-(X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.standard_normal(N))))
    return X, {f"{n_plus} of {N}": np.where(order < n_plus, 1.0, -1.0) for n_plus in (24, 40, 5, 1)}


X, LABELS = _data()
X_NEW = np.random.default_rng(16).standard_normal((40, 3))
every_label = pytest.mark.parametrize("y", LABELS.values(), ids=LABELS.keys())
every_gamma = pytest.mark.parametrize("gamma", GAMMAS)
explicit_kernels = pytest.mark.parametrize("kernel", EXPLICIT, ids=str)
all_kernels = pytest.mark.parametrize("kernel", EXPLICIT + IMPLICIT, ids=str)


def primal(kernel, y, gamma):
    """Features, m̂₊, m̂₋ and S_WC with its regularisation (below eq 2.28)."""
    phi = kernel.feature_map(X)
    m_plus, m_minus = phi[y > 0].mean(axis=0), phi[y < 0].mean(axis=0)
    deviations = phi - np.where(y[:, None] > 0, m_plus, m_minus)
    return phi, m_plus, m_minus, deviations.T @ deviations + np.eye(phi.shape[1]) / gamma


def dense_lssvm(kernel, y, gamma):
    """w and b of eq 2.19 by a general solve, w = Σα_iφ(x_i)."""
    K = kernel(X)
    system = np.block([[np.zeros((1, 1)), np.ones((1, N))], [np.ones((N, 1)), K + np.eye(N) / gamma]])
    solution = np.linalg.solve(system, np.append(0.0, y))
    return kernel.feature_map(X).T @ solution[1:], solution[0]


def assert_close(actual, expected, tolerance=1e-8):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


# ------------------------------------------------------------------------------------------------ the discriminant


@explicit_kernels
@every_label
@every_gamma
def test_dual_discriminant_equals_the_primal(kernel, y, gamma):
    """w = S_WC⁻¹(m̂₊ − m̂₋) (eq 2.29)."""
    phi, m_plus, m_minus, scatter = primal(kernel, y, gamma)
    w = np.linalg.solve(scatter, m_plus - m_minus)
    discriminant = fisher_discriminant(kernel(X), y, gamma)
    assert_close(phi.T @ discriminant.coefficients, w)
    assert discriminant.separation == pytest.approx(w @ (m_plus - m_minus), rel=1e-8)
    assert discriminant.criterion == pytest.approx((w @ (m_plus - m_minus)) ** 2 / (w @ scatter @ w), rel=1e-8)


@explicit_kernels
@every_label
@every_gamma
def test_criterion_is_the_largest_generalised_eigenvalue(kernel, y, gamma):
    """(m̂₊ − m̂₋)(m̂₊ − m̂₋)ᵀw = λ S_WC w, from which the paper obtains 2.29."""
    _, m_plus, m_minus, scatter = primal(kernel, y, gamma)
    difference = m_plus - m_minus
    largest = eigh(np.outer(difference, difference), scatter, eigvals_only=True)[-1]
    assert fisher_discriminant(kernel(X), y, gamma).criterion == pytest.approx(largest, rel=1e-8)


@all_kernels
@every_label
@every_gamma
def test_at_the_maximum_the_quotient_is_the_separation(kernel, y, gamma):
    """With w = S_WC⁻¹m, (wᵀm)²/(wᵀS_WCw) = wᵀm."""
    discriminant = fisher_discriminant(kernel(X), y, gamma)
    assert discriminant.criterion == pytest.approx(discriminant.separation, rel=1e-9)


@explicit_kernels
@every_label
def test_rayleigh_quotient_of_any_direction_equals_the_primal(kernel, y):
    """Eqs 2.27 and 2.28 for w = Υa, a arbitrary."""
    gamma = 2.0
    phi, m_plus, m_minus, scatter = primal(kernel, y, gamma)
    for a in np.random.default_rng(17).standard_normal((5, N)):
        w = phi.T @ a
        expected = (w @ (m_plus - m_minus)) ** 2 / (w @ scatter @ w)
        assert rayleigh_quotient(kernel(X), y, gamma, a) == pytest.approx(expected, rel=1e-9)
        assert rayleigh_quotient(kernel(X), y, gamma, -3.0 * a) == pytest.approx(expected, rel=1e-9)  # no scale


@all_kernels
@every_label
@every_gamma
def test_no_perturbed_direction_has_a_larger_quotient(kernel, y, gamma):
    """The discriminant maximises 2.28."""
    K = kernel(X)
    discriminant = fisher_discriminant(K, y, gamma)
    a, rng = discriminant.coefficients, np.random.default_rng(18)
    for size in (1e-2, 0.1, 1.0, 10.0):
        for step in rng.standard_normal((10, N)):
            moved = a + size * np.linalg.norm(a) / np.sqrt(N) * step
            assert rayleigh_quotient(K, y, gamma, moved) < discriminant.criterion


def test_helpers_centre_each_class_and_take_the_difference_of_their_means():
    y = LABELS[f"5 of {N}"]
    A = np.random.default_rng(19).standard_normal((N, 4))
    before = A.copy()
    centred = centre_classes(A, y)
    np.testing.assert_array_equal(A, before)
    for members in (y > 0, y < 0):
        np.testing.assert_allclose(centred[members].mean(axis=0), 0.0, atol=1e-15)
        np.testing.assert_allclose(centred[members], A[members] - A[members].mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(class_difference(y) @ A, A[y > 0].mean(axis=0) - A[y < 0].mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan])
def test_gamma_that_is_not_positive_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma must be a positive finite number"):
        fisher_discriminant(RBF()(X), LABELS[f"5 of {N}"], gamma)


# --------------------------------------------------------------------------------------------- and the LS-SVM


@all_kernels
@every_label
@every_gamma
def test_the_ls_svm_is_parallel_to_the_discriminant(kernel, y, gamma):
    """Section 2.4: the same direction, and with the factor of the mended identity the same vector, to 1e-8."""
    K, K_new = kernel(X), kernel(X_NEW, X)
    discriminant = fisher_discriminant(K, y, gamma)
    alpha = solve_cholesky(K, y, gamma).alpha
    f, g = K_new @ alpha, K_new @ discriminant.coefficients
    f_centred, g_centred = f - f.mean(), g - g.mean()
    correlation = f_centred @ g_centred / np.sqrt((f_centred @ f_centred) * (g_centred @ g_centred))
    assert correlation == pytest.approx(1.0, abs=1e-12)
    # ‖w − c·v‖ / ‖w‖ in feature space: 1 − cos would hide an angle of 1e-8
    difference = alpha - lssvm_scale(discriminant, y) * discriminant.coefficients
    assert np.sqrt(abs(difference @ K @ difference)) <= 1e-8 * np.sqrt(alpha @ K @ alpha)
    assert_close(lssvm_scale(discriminant, y) * discriminant.coefficients, alpha)
    assert_close(lssvm_scale(discriminant, y) * g, f)


@explicit_kernels
@every_label
@every_gamma
def test_the_ls_svm_is_parallel_to_the_primal_discriminant(kernel, y, gamma):
    """Eq 2.29 against eq 2.19, neither by the library: the part of w across S_WC⁻¹(m̂₊ − m̂₋) is rounding."""
    _, m_plus, m_minus, scatter = primal(kernel, y, gamma)
    direction = np.linalg.solve(scatter, m_plus - m_minus)
    direction /= np.linalg.norm(direction)
    w, _ = dense_lssvm(kernel, y, gamma)
    assert np.linalg.norm(w - (w @ direction) * direction) <= 1e-8 * np.linalg.norm(w)


# ---------------------------------------------------------------------------------------------------- errata


@explicit_kernels
@every_label
@every_gamma
def test_the_right_side_of_the_primal_system(kernel, y, gamma):
    """Erratum to eq 2.30: the right side is [ΥY; 1ᵀY]; [ΥY; Υ1] as printed has n_f − 1 entries too many."""
    phi = kernel.feature_map(X)
    n_f = phi.shape[1]
    system = np.block([[phi.T @ phi + np.eye(n_f) / gamma, phi.sum(axis=0)[:, None]], [phi.sum(axis=0)[None, :], N]])
    solution = np.linalg.solve(system, np.append(phi.T @ y, y.sum()))
    w, b = dense_lssvm(kernel, y, gamma)
    assert_close(solution[:-1], w)
    assert solution[-1] == pytest.approx(b, abs=1e-8)
    assert np.append(phi.T @ y, phi.sum(axis=0)).size == len(system) + n_f - 1


@every_label
@every_gamma
def test_the_printed_right_side_fails_where_it_has_the_right_length(y, gamma):
    """With one feature [ΥY; Υ1] of eq 2.30 fits the system, but does not solve the LS-SVM; [ΥY; 1ᵀY] does."""
    phi = X[:, :1]
    system = np.block([[phi.T @ phi + 1.0 / gamma, phi.sum(keepdims=True)], [phi.sum(keepdims=True), N]])
    kkt = np.block([[np.zeros((1, 1)), np.ones((1, N))], [np.ones((N, 1)), phi @ phi.T + np.eye(N) / gamma]])
    dual = np.linalg.solve(kkt, np.append(0.0, y))
    expected = np.append(phi.T @ dual[1:], dual[0])
    mended = np.linalg.solve(system, np.append(phi.T @ y, y.sum()))
    printed = np.linalg.solve(system, np.append(phi.T @ y, phi.sum()))
    np.testing.assert_allclose(mended, expected, rtol=0, atol=1e-8)
    assert np.abs(printed - expected).max() > 1e-2


@explicit_kernels
@every_label
@every_gamma
def test_the_sign_in_the_bias(kernel, y, gamma):
    """Erratum below eq 2.30: b = (N₊ − N₋)/N − wᵀ(N₊m̂₊ + N₋m̂₋)/N, not plus."""
    _, m_plus, m_minus, _ = primal(kernel, y, gamma)
    n_plus, n_minus = np.sum(y > 0), np.sum(y < 0)
    w, b = dense_lssvm(kernel, y, gamma)
    centre = w @ (n_plus * m_plus + n_minus * m_minus) / N
    assert b == pytest.approx((n_plus - n_minus) / N - centre, abs=1e-8)
    printed = centre + (n_plus - n_minus) / N
    assert abs(printed - b) == pytest.approx(abs(2.0 * centre), rel=1e-6)
    assert abs(printed - b) > 1e-4


@explicit_kernels
@every_label
@every_gamma
def test_the_factor_in_the_identity(kernel, y, gamma):
    """Erratum after eq 2.30: (S_WC + c·mmᵀ)w = 2c·m, m = m̂₊ − m̂₋, with c = N₊N₋/N, not N₊N₋/N²."""
    _, m_plus, m_minus, scatter = primal(kernel, y, gamma)
    m, n_plus, n_minus = m_plus - m_minus, np.sum(y > 0), np.sum(y < 0)
    w, _ = dense_lssvm(kernel, y, gamma)

    def solution(c):
        return np.linalg.solve(scatter + c * np.outer(m, m), 2.0 * c * m)

    mended, printed = solution(n_plus * n_minus / N), solution(n_plus * n_minus / N**2)
    assert_close(mended, w)
    # as printed the vector is too short, although its direction is right
    assert np.linalg.norm(printed) < 0.9 * np.linalg.norm(w)
    assert printed @ w == pytest.approx(np.linalg.norm(printed) * np.linalg.norm(w), rel=1e-9)
