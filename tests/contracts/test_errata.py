"""Errata: where the papers' print and the mathematics differ, one test a row.

Each shows that the print fails and that the corrected form, which the library computes, holds in an explicit feature
space. Paper 0 is Van Gestel et al. (2002), paper 2 the multiclass LS-SVMs, paper 4 the lecture.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import norm

from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.fisher import fisher_discriminant, lssvm_scale
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior, PrimalPosterior
from bayes_lssvm.levels.level2 import e_d, e_w, j4, log_evidence, log_evidence_hessian, optimise
from bayes_lssvm.levels.level3 import evaluate, mackay_error_bars
from bayes_lssvm.levels.moderation import discriminant, log_odds, probabilities
from bayes_lssvm.levels.solvers import solve_cholesky
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction

MU, ZETA = 0.7, 2.3
GAMMA = ZETA / MU


@pytest.fixture(scope="module")
def case():
    """Forty unbalanced points of two classes, a linear kernel, and (w, b) as the minimum of J2 = μE_W + ζE_D."""
    rng = np.random.default_rng(7)
    y = np.repeat([1.0, -1.0], [12, 28])
    X = rng.standard_normal((40, 3)) + 0.8 * np.outer(y, [1.0, -0.5, 0.0]) + [0.6, -1.0, 0.3]
    ones = np.ones(40)
    # least squares with the rows √μ w = 0 below √ζ (Xw + b) = √ζ y: the library and the normal equations take no part
    rows = np.vstack(
        [np.sqrt(ZETA) * np.column_stack([X, ones]), np.sqrt(MU) * np.hstack([np.eye(3), np.zeros((3, 1))])]
    )
    wb = np.linalg.lstsq(rows, np.append(np.sqrt(ZETA) * y, np.zeros(3)), rcond=None)[0]
    K, kernel = X @ X.T, Linear()
    spectrum = CentredSpectrum.from_kernel_matrix(K, y)
    posterior = DualPosterior.from_spectrum(kernel, X, spectrum, mu=MU, zeta=ZETA)
    gamma_eff = 1 + np.sum(GAMMA * spectrum.eigenvalues / (1 + GAMMA * spectrum.eigenvalues))
    return SimpleNamespace(
        X=X,
        y=y,
        n=40,
        K=K,
        w=wb[:-1],
        b=wb[-1],
        new=rng.standard_normal((25, 3)) * 1.5,
        m_plus=X[y > 0].mean(axis=0),
        m_minus=X[y < 0].mean(axis=0),
        centring=np.eye(40) - 1 / 40,
        spectrum=spectrum,
        posterior=posterior,
        centres=ClassCentres.from_posterior(posterior, y, gamma_eff),
    )


def test_erratum_2_22_has_no_labels_with_the_alpha_of_2_19(case):
    """Paper 0, 2.22: f = Σ α_i K(x, x_i) + b; the y_i of the print belongs to paper 2's eq 4, whose α is y_i α_i."""
    alpha, b = solve_cholesky(case.K, case.y, GAMMA)
    truth, cross = case.new @ case.w + case.b, case.new @ case.X.T
    np.testing.assert_allclose(cross @ alpha + b, truth, atol=1e-10)
    assert np.abs(cross @ (alpha * case.y) + b - truth).max() > 1.0
    assert np.any(np.sign(cross @ (alpha * case.y) + b) != np.sign(truth))
    y = case.y
    system = np.block([[np.zeros((1, 1)), y[None, :]], [y[:, None], np.outer(y, y) * case.K + np.eye(case.n) / GAMMA]])
    other = np.linalg.solve(system, np.append(0.0, np.ones(case.n)))  # paper 2, eq 4
    np.testing.assert_allclose(other[1:], y * alpha, atol=1e-10)
    np.testing.assert_allclose(other[0], b, atol=1e-10)


def test_erratum_alpha_of_paper_4_is_mu_times_that_of_paper_0(case):
    """Paper 4: Ω/μ + I/ζ and f = (1/μ) Σ α K + b. The same f; the library's α is paper 0's: α = γe, Σα = 0."""
    bordered = np.ones((case.n + 1, case.n + 1))
    bordered[0, 0] = 0.0
    bordered[1:, 1:] = case.K / MU + np.eye(case.n) / ZETA
    solution = np.linalg.solve(bordered, np.append(0.0, case.y))
    b4, alpha4 = solution[0], solution[1:]
    cross = case.new @ case.X.T
    np.testing.assert_allclose(cross @ alpha4 / MU + b4, case.new @ case.w + case.b, atol=1e-10)
    np.testing.assert_allclose(alpha4, MU * case.posterior.alpha, atol=1e-10)
    errors = case.y - (case.X @ case.w + case.b)
    np.testing.assert_allclose(case.posterior.alpha, GAMMA * errors, atol=1e-10)
    assert abs(case.posterior.alpha.sum()) < 1e-10
    assert np.abs(cross @ alpha4 + b4 - (case.new @ case.w + case.b)).max() > 0.1  # one paper's α in the other's f


def test_erratum_2_30_right_side_is_the_sum_of_targets(case):
    """Paper 0, 2.30: [ΥY; 1ᵀY], not [ΥY; Υ1] (which has n_f rows too many); b = (N₊ − N₋)/N − wᵀm̂."""
    U = case.X.T  # Υ, of shape (n_f, N)
    system = np.block(
        [[U @ U.T + np.eye(3) / GAMMA, U.sum(axis=1)[:, None]], [U.sum(axis=1)[None, :], np.full((1, 1), case.n)]]
    )
    right = np.append(U @ case.y, case.y.sum())
    np.testing.assert_allclose(np.linalg.solve(system, right), np.append(case.w, case.b), atol=1e-10)
    printed = np.concatenate([U @ case.y, U @ np.ones(case.n)])
    assert printed.shape != right.shape
    with pytest.raises(ValueError):
        np.linalg.solve(system, printed[:, None])
    n_plus, n_minus = 12, 28
    along = case.w @ (n_plus * case.m_plus + n_minus * case.m_minus) / case.n
    assert (n_plus - n_minus) / case.n - along == pytest.approx(case.b, abs=1e-10)
    assert abs((n_plus - n_minus) / case.n + along - case.b) > 0.1
    fit = PrimalPosterior.fit(case.X, case.y, mu=MU, zeta=ZETA)
    np.testing.assert_allclose(np.append(fit.w, fit.b), np.append(case.w, case.b), atol=1e-10)


def test_erratum_fisher_identity_has_the_factor_n_plus_n_minus_over_n(case):
    """Paper 0, after 2.30: (S_WC + c ddᵀ) w = 2c d holds with c = N₊N₋/N and not with N₊N₋/N²."""
    d = case.m_plus - case.m_minus
    within = np.eye(3) / GAMMA
    for label, centre in ((1, case.m_plus), (-1, case.m_minus)):
        deviations = case.X[case.y == label] - centre
        within += deviations.T @ deviations
    for c, holds in ((12 * 28 / 40, True), (12 * 28 / 40**2, False)):
        residual = (within + c * np.outer(d, d)) @ case.w - 2 * c * d
        assert (np.abs(residual).max() < 1e-9) == holds
    fisher = fisher_discriminant(case.K, case.y, GAMMA)
    np.testing.assert_allclose(lssvm_scale(fisher, case.y) * fisher.coefficients @ case.X, case.w, atol=1e-10)


def test_erratum_4_11_and_4_13_need_all_dimensions(case):
    """Paper 0: over the N_eff nonzero eigenvectors alone E_D loses the part of MY outside the range of MΩM."""
    truth_d = 0.5 * np.sum((case.y - case.X @ case.w - case.b) ** 2)
    truth_w = 0.5 * case.w @ case.w
    values, vectors = np.linalg.eigh(case.centring @ case.K @ case.centring)
    kept = values > 1e-9 * values.max()
    assert kept.sum() == 3
    lam, t = values[kept], vectors[:, kept].T @ (case.centring @ case.y)
    assert 0.5 / GAMMA**2 * np.sum(t**2 / (lam + 1 / GAMMA) ** 2) < 0.01 * truth_d  # 4.11 as printed
    assert 0.5 * np.sum(t**2 / (lam + 1 / GAMMA)) < 0.1 * (truth_w + GAMMA * truth_d)  # 4.13, first form
    assert 0.5 * np.sum(lam * t**2 / (lam + 1 / GAMMA) ** 2) == pytest.approx(truth_w, rel=1e-9)  # 4.12 is right
    centred = case.centring @ case.y
    inverse = np.linalg.inv(case.centring @ case.K @ case.centring + np.eye(case.n) / GAMMA)
    assert 0.5 * centred @ inverse @ centred == pytest.approx(truth_w + GAMMA * truth_d, rel=1e-9)  # B.3, last form
    for reduction in (case.spectrum, TridiagonalReduction.from_kernel_matrix(case.K, case.y)):
        assert e_d(reduction, GAMMA) == pytest.approx(truth_d, rel=1e-9)
        assert e_w(reduction, GAMMA) == pytest.approx(truth_w, rel=1e-9)


def test_erratum_a_1_off_diagonal_block_is_zeta_upsilon_one(case):
    """Paper 0, A.1: H12 = ζΥ1. The print's ζΥ1ᵀ multiplies (n_f × N) by (1 × N)."""
    U, one = case.X.T, np.ones((case.n, 1))
    with pytest.raises(ValueError):
        _ = U @ one.T

    def gradient(wb):  # of J2, from its definition 2.14
        e = case.y - case.X @ wb[:-1] - wb[-1]
        return np.append(MU * wb[:-1] - ZETA * case.X.T @ e, -ZETA * e.sum())

    # J2 is quadratic, so differences of its gradient are its Hessian
    H = np.array([gradient(step) - gradient(np.zeros(4)) for step in np.eye(4)])
    np.testing.assert_allclose(H[:3, 3:], ZETA * U @ one, rtol=1e-10)
    fit = PrimalPosterior.fit(case.X, case.y, mu=MU, zeta=ZETA)
    np.testing.assert_allclose(fit.covariance @ H, np.eye(4), atol=1e-10)
    G = U @ case.centring @ U.T
    np.testing.assert_allclose(fit.covariance[:3, :3], np.linalg.inv(MU * np.eye(3) + ZETA * G), atol=1e-12)  # A.2


def test_erratum_3_18_has_the_noise_of_3_16(case):
    """Paper 0, 3.18: 1/ζ_* + σ_e². With it the zero of the discriminant is that of 3.17; with 1/ζ it is elsewhere."""
    prior_plus = 0.8
    shift = np.log(prior_plus / (1 - prior_plus))
    plus, minus = case.centres.moments(case.posterior, case.new)
    sigma_e2 = np.sqrt(plus.variance * minus.variance)
    zeta_star = case.centres.zeta_star
    assert abs(np.log(zeta_star / ZETA)) > 0.1
    scale = np.sqrt(1 / zeta_star + sigma_e2)  # 3.16 where σ_e₊² = σ_e₋² = σ_e²
    odds = norm.logpdf(plus.mean, scale=scale) - norm.logpdf(minus.mean, scale=scale) + shift
    output = case.new @ case.w
    m_plus, m_minus = case.w @ case.m_plus, case.w @ case.m_minus
    for zeta, holds in ((zeta_star, True), (ZETA, False)):
        value = output - (m_plus + m_minus) / 2 + (1 / zeta + sigma_e2) / (m_plus - m_minus) * shift
        assert np.allclose(value * (m_plus - m_minus) / scale**2, odds, atol=1e-9) == holds
        library = discriminant(case.posterior, case.centres, case.new, prior_plus=prior_plus).value
        assert np.allclose(library, value, atol=1e-9) == holds


def test_erratum_6_2_step_3_needs_both_class_densities(case):
    """Paper 0, section 6.2: p(x | y=+1) twice would return the prior for every x; the second is y = −1."""
    plus, minus = case.centres.moments(case.posterior, case.new)
    noise = 1 / case.centres.zeta_star
    p_plus, p_minus = (norm.pdf(m.mean, scale=np.sqrt(noise + m.variance)) for m in (plus, minus))
    odds = log_odds(case.posterior, case.centres, case.new, prior_plus=0.3, training_plus=0.3)
    found = probabilities(odds)[:, 1]
    np.testing.assert_allclose(found, 0.3 * p_plus / (0.3 * p_plus + 0.7 * p_minus), rtol=1e-9)
    printed = 0.3 * p_plus / (0.3 * p_plus + 0.7 * p_plus)
    np.testing.assert_allclose(printed, 0.3, rtol=1e-12)
    assert np.abs(found - printed).max() > 0.3


def test_erratum_7_1_sigma_is_not_the_maximum_of_5_3(ripley_standardised):
    """Paper 0, section 7.1: 1.3110 is the maximum without the Occam factor; 5.3 peaks at 1.3283, the integral at 1.342.

    The integral is over flat log μ and log ζ: log μ in closed form (4.8), log γ by the trapezoidal rule.
    """
    X, y = ripley_standardised
    log_gamma = np.linspace(-8.0, 10.0, 361)  # the evidence is 40 nats and more below its maximum at both ends

    def criteria(log_sigma):
        spectrum = CentredSpectrum.from_kernel_matrix(RBF(float(np.exp(log_sigma)))(X), y)
        result = evaluate(spectrum)
        marginal = -0.5 * j4(spectrum, np.exp(log_gamma))
        assert marginal[[0, -1]].max() < marginal.max() - 40
        return result.log_evidence_without_occam, result.log_eq_5_3, float(logsumexp(marginal))

    peaks = [
        float(
            np.exp(
                minimize_scalar(
                    lambda u, i=i: -criteria(u)[i], bounds=(0.1, 0.5), method="bounded", options={"xatol": 1e-6}
                ).x
            )
        )
        for i in range(3)
    ]
    assert peaks[0] == pytest.approx(1.3111, abs=6e-5)
    assert peaks[1] == pytest.approx(1.3283, abs=6e-5)
    assert peaks[2] == pytest.approx(1.342, abs=1e-3)
    assert abs(peaks[1] - 1.3110) > 0.015  # the print


def test_erratum_flat_prior_of_section_4_1_is_improper(ripley_standardised):
    """Paper 0, section 4.1: at γ → 0, and at γ → ∞ with full rank N − 1, the marginal over log μ tends to a constant.

    Its integral over log γ then grows in proportion to the range, for ever; where the data say enough it hides.
    """
    X, y = ripley_standardised
    noise = np.random.default_rng(0).permutation(y)
    n = len(y)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.311)(X), noise)
    limit = -0.5 * (n - 1) * np.log(0.5 * np.sum((noise - noise.mean()) ** 2))
    np.testing.assert_allclose(-0.5 * j4(spectrum, np.exp([-30.0, -60.0, -120.0])), limit, atol=1e-8)

    # a kernel whose centred matrix has full rank to rounding: the other end is a constant as well
    few = np.random.default_rng(1).standard_normal((30, 2))
    targets = np.random.default_rng(2).standard_normal(30)
    narrow = CentredSpectrum.from_kernel_matrix(RBF(0.3)(few), targets)
    assert narrow.rank == 29
    interpolating = np.log(narrow.eigenvalues).sum() + 29 * np.log(0.5 * np.sum(narrow.t**2 / narrow.eigenvalues))
    np.testing.assert_allclose(j4(narrow, np.exp([40.0, 80.0])), interpolating, rtol=1e-9)

    def log_integral(half_width):
        u = np.linspace(-half_width, half_width, int(20 * half_width) + 1)
        return logsumexp(-0.5 * j4(spectrum, np.exp(u))) + np.log(u[1] - u[0])

    growth = np.exp(log_integral(160) - limit) - np.exp(log_integral(80) - limit)
    assert growth == pytest.approx(80.0, rel=1e-3)  # each unit of log γ adds the same mass
    signal = CentredSpectrum.from_kernel_matrix(RBF(1.311)(X), y)
    spread = np.linspace(-60, 60, 2401)
    mass = -0.5 * j4(signal, np.exp(spread))
    assert mass[0] < mass.max() - 50  # Ripley's own labels: the constant is there, too small to be seen


def test_erratum_4_8_is_also_the_exact_marginal_over_log_mu(case):
    """Paper 0, 4.8: for flat log μ, ∫ p(D | μ, γ) dlog μ ∝ exp(−J4(γ)/2); the profile over μ has the same shape."""
    gammas = np.array([1e-3, 0.1, 1.0, 30.0])
    marginal, profile = [], []
    for gamma in gammas:
        best = optimum_in_mu(case.spectrum, gamma)
        top = log_evidence(case.spectrum, best, gamma * best)
        value, _ = quad(
            lambda u, g=gamma, top=top, best=best: np.exp(
                log_evidence(case.spectrum, best * np.exp(u), g * best * np.exp(u)) - top
            ),
            -4,
            4,
            epsabs=1e-13,
            epsrel=1e-12,
        )
        marginal.append(np.log(value) + top)
        profile.append(top)
    cost = -0.5 * j4(case.spectrum, gammas)
    assert np.ptp(np.array(marginal) - cost) < 1e-9
    assert np.ptp(np.array(profile) - cost) < 1e-9
    assert np.ptp(cost) > 1.0


def optimum_in_mu(spectrum: CentredSpectrum, gamma: float) -> float:
    """μ that maximises p(D | μ, γ), by a scalar search."""
    search = minimize_scalar(
        lambda u: -log_evidence(spectrum, np.exp(u), gamma * np.exp(u)), bounds=(-25, 25), options={"xatol": 1e-9}
    )
    return float(np.exp(search.x))


@pytest.mark.parametrize(("sigma", "mackay", "exact"), [(1.311, 0.345, 0.383), (4.0, 0.496, 0.847)])
def test_erratum_5_2_error_bars_are_neither_exact_nor_separable(sigma, mackay, exact, ripley_standardised):
    """Paper 0, 5.2: √(2/(γ_eff − 1)) falls short; the closed-form Hessian has an off-diagonal term.

    `exact` is sd(log μ) of the posterior under Normal(0, 3²) priors, by quadrature.
    """
    X, y = ripley_standardised
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(sigma)(X), y)
    mode = optimise(spectrum)
    bars = mackay_error_bars(mode)
    assert bars.log_mu == pytest.approx(mackay, abs=1e-3)
    assert bars.log_mu == pytest.approx(np.sqrt(2 / (mode.gamma_eff - 1)), rel=1e-12)
    assert bars.log_zeta == pytest.approx(np.sqrt(2 / (len(y) - mode.gamma_eff)), rel=1e-12)
    assert bars.correlation == 0.0
    at, h = np.log([mode.mu, mode.zeta]), 1e-3

    def value(i, j):
        return log_evidence(spectrum, *np.exp(at + h * np.array([i, j])))

    mixed = (value(1, 1) - value(1, -1) - value(-1, 1) + value(-1, -1)) / (4 * h**2)
    hessian = log_evidence_hessian(spectrum, mode.mu, mode.zeta)
    assert hessian[0, 1] == pytest.approx(mixed, rel=1e-4)
    assert abs(hessian[0, 1]) > 0.1
    bars = evaluate(spectrum).hessian
    assert bars.correlation < -0.05
    assert abs(bars.log_mu - exact) < 0.2 * abs(mackay - exact)  # the print's error is five times larger, or more


def test_erratum_paper_2_eq_12_has_a_minus_in_its_fifth_term(case):
    """Paper 2, eq 12: σ_z² = (φ − m̂)ᵀ(μI + ζG)⁻¹(φ − m̂) + 1/(Nζ) needs −(2/(Nμ)) θᵀY."""
    y, n = case.y, case.n
    omega = np.outer(y, y) * case.K
    project = np.eye(n) - np.outer(y, y) / n
    values, vectors = np.linalg.eigh(project @ omega @ project)  # eq 13: v lies in the range of the projection
    kept = values > 1e-9 * values.max()
    U = vectors[:, kept] / np.sqrt(np.einsum("ij,ik,kj->j", vectors[:, kept], omega, vectors[:, kept]))
    H_D = U @ np.diag(1 / (MU + ZETA * values[kept]) - 1 / MU) @ U.T
    theta = case.new @ case.X.T * y  # [new, N]
    own = np.einsum("ij,ij->i", case.new, case.new)

    def eq_12(sign):
        fixed = 1 / (n * ZETA) + y @ omega @ H_D @ omega @ y / n**2 + y @ omega @ y / (MU * n**2)
        moving = np.einsum("ij,jk,ik->i", theta, H_D, theta) - 2 / n * theta @ H_D @ omega @ y
        return moving + own / MU + sign * 2 / (n * MU) * theta @ y + fixed

    m, G = case.X.mean(axis=0), case.X.T @ case.centring @ case.X
    u = case.new - m
    truth = np.einsum("ij,jk,ik->i", u, np.linalg.inv(MU * np.eye(3) + ZETA * G), u) + 1 / (n * ZETA)
    np.testing.assert_allclose(eq_12(-1), truth, atol=1e-9)
    assert np.abs(eq_12(+1) - truth).max() > 1.0
    assert eq_12(+1).min() < 0  # as printed it is not even a variance
    np.testing.assert_allclose(case.posterior.latent_variance(case.new), truth, atol=1e-9)


def test_erratum_paper_4_variance_of_a_class_error_needs_the_block_of_the_inverse(case):
    """e_• = wᵀ(φ(x) − m̂_•): with H11⁻¹, the covariance of w for a known bias, its variance is too small."""
    h11 = MU * np.eye(3) + ZETA * case.X.T @ case.X
    h12, h22 = ZETA * case.X.sum(axis=0), ZETA * case.n
    hessian = np.block([[h11, h12[:, None]], [h12[None, :], np.array([[h22]])]])
    draws = np.linalg.solve(np.linalg.cholesky(hessian).T, np.random.default_rng(0).standard_normal((4, 200_000)))
    of_classes = case.centres.moments(case.posterior, case.new)
    for centre, moments in zip((case.m_plus, case.m_minus), of_classes, strict=True):
        off = case.new - centre
        held, averaged = (
            np.einsum("ij,jk,ik->i", off, np.linalg.inv(block), off) for block in (h11, h11 - np.outer(h12, h12) / h22)
        )
        np.testing.assert_allclose(moments.variance, averaged, rtol=1e-10)
        np.testing.assert_allclose(moments.variance, np.var(off @ draws[:3], axis=1), rtol=0.02)
        assert np.all(held < averaged)
        assert np.max(averaged / held) > 1.1


def test_erratum_papers_0_and_2_have_different_moderated_outputs(case):
    """3.8–3.17 centres on the projected class means with ζ_*, paper 2's eq 11 on the targets ±1 with ζ."""
    outputs = {
        name: probabilities(
            log_odds(case.posterior, case.centres, case.new, prior_plus=0.5, training_plus=0.3, moderation=name)
        )[:, 1]
        for name in ("class", "target")
    }
    H = ZETA * np.column_stack([case.X, np.ones(case.n)]).T @ np.column_stack([case.X, np.ones(case.n)])
    H[:3, :3] += MU * np.eye(3)
    Q = np.linalg.inv(H)
    z, g = case.new @ case.w + case.b, np.column_stack([case.new, np.ones(len(case.new))])
    scale = np.sqrt(1 / ZETA + np.einsum("ij,jk,ik->i", g, Q, g))
    target = [norm.pdf(1 - s * z, scale=scale) for s in (1, -1)]
    np.testing.assert_allclose(outputs["target"], target[0] / sum(target), rtol=1e-9)
    class_form = []
    for m in (case.m_plus, case.m_minus):
        u = case.new - m
        variance = 1 / case.centres.zeta_star + np.einsum("ij,jk,ik->i", u, Q[:3, :3], u)
        class_form.append(norm.pdf(u @ case.w, scale=np.sqrt(variance)))
    np.testing.assert_allclose(outputs["class"], class_form[0] / sum(class_form), rtol=1e-9)
    # with equal priors the class-centred boundary lies between the projected means, the other where z = 0
    assert np.abs(outputs["class"] - outputs["target"]).max() > 0.1
    assert np.any((outputs["class"] > 0.5) != (outputs["target"] > 0.5))
