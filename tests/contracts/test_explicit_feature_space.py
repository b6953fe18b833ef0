"""The dual closed forms against the primal model in an explicit feature space, to 1e-8 relative (paper 0, all levels).

Every reference value is a definition evaluated in feature space (`helpers_feature_space`): a Gaussian posterior, a
Gaussian integral, sums over its own eigenvalues. N < n_f and N > n_f, balanced and unbalanced classes.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy.linalg import eigh

from bayes_lssvm.kernels import Linear, Polynomial
from bayes_lssvm.levels import level2
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior, PrimalPosterior
from bayes_lssvm.levels.solvers import solve_cholesky, solve_spectral
from tests.helpers_feature_space import FeatureSpace, complex_step, relative_error

TOLERANCE = 1e-8
PROBLEMS = {
    "linear, N > n_f, balanced": (Linear(), 40, 5, 20),
    "linear, N < n_f, unbalanced": (Linear(), 12, 30, 3),
    "cubic, N > n_f, unbalanced": (Polynomial(3, 1.0), 40, 2, 8),
    "quadratic, N < n_f, balanced": (Polynomial(2, 3.0), 20, 6, 10),
    "sum, N < n_f, unbalanced": (Linear() + 0.3 * Polynomial(2, 2.0), 15, 4, 4),
}
HYPERPARAMETERS = [(0.7, 3.1), (2.5, 0.2), (0.2, 4.0)]


@pytest.fixture(scope="module", params=[(p, h) for p in PROBLEMS for h in HYPERPARAMETERS], ids=str)
def space(request):
    problem, (mu, zeta) = request.param
    kernel, n, width, n_plus = PROBLEMS[problem]
    return FeatureSpace.random(kernel, n=n, width=width, n_plus=n_plus, mu=mu, zeta=zeta, seed=1)


@pytest.fixture(params=["spectral", "tridiagonal"])
def reduction(request, space):
    return space.spectrum if request.param == "spectral" else space.tridiagonal


@pytest.fixture(scope="module", params=["spectral", "Cholesky"])
def dual(request, space):
    known = {"mu": space.mu, "zeta": space.zeta}
    if request.param == "spectral":
        return DualPosterior.from_spectrum(space.kernel, space.X, space.spectrum, **known)
    return DualPosterior.from_kernel_matrix(space.kernel, space.X, space.kernel(space.X), space.y, **known)


@pytest.fixture(scope="module")
def new_points(space):
    """Points around the data, and the training points themselves, where the variance is smallest."""
    rng = np.random.default_rng(5)
    return np.vstack([1.5 * rng.normal(size=(30, space.X.shape[1])), space.X])


def close(value, reference):
    """Every component to the tolerance, relative to itself."""
    np.testing.assert_allclose(value, reference, rtol=TOLERANCE, atol=0.0)


# Level 1


def test_weights_are_the_features_times_the_support_values(space):
    """2.18: w = Σ α_i φ(x_i), b, α = γe and Σα = 0, from 2.19 by spectrum and by Cholesky."""
    posterior = PrimalPosterior.fit(space.phi, space.y, mu=space.mu, zeta=space.zeta)
    assert relative_error(np.append(posterior.w, posterior.b), space.mean) < TOLERANCE
    for solution in (
        solve_spectral(space.spectrum, space.gamma),
        solve_cholesky(space.kernel(space.X), space.y, space.gamma),
    ):
        assert relative_error(space.phi.T @ solution.alpha, space.mean[:-1]) < TOLERANCE
        close(solution.intercept, space.mean[-1])
        assert relative_error(solution.alpha, space.gamma * space.errors) < TOLERANCE
        assert abs(solution.alpha.sum()) < 1e-12 * np.abs(solution.alpha).sum()


def test_posterior_covariance_and_its_blocks(space):
    """3.7 and A.2: Q = H⁻¹ with Q₁₁ = (μI + ζG)⁻¹ = (I − ΥVD(VΥ)ᵀ)/μ, Q₁₂ = −Q₁₁m̂_Υ, Q₂₂ = 1/(Nζ) + m̂_ΥᵀQ₁₁m̂_Υ."""
    posterior = PrimalPosterior.fit(space.phi, space.y, mu=space.mu, zeta=space.zeta)
    assert relative_error(posterior.covariance, space.covariance) < TOLERANCE
    close(posterior.log_det_hessian, np.linalg.slogdet(space.hessian)[1])
    features = space.phi.T @ space.spectrum.vectors  # [n_f, N − 1]
    weights = space.gamma / (1.0 + space.gamma * space.spectrum.eigenvalues)
    q11 = (np.eye(space.n_f) - (features * weights) @ features.T) / space.mu
    centre = space.phi.mean(axis=0)
    assert relative_error(q11, space.covariance[:-1, :-1]) < TOLERANCE
    assert relative_error(-q11 @ centre, space.covariance[:-1, -1]) < TOLERANCE
    close(1.0 / (space.n * space.zeta) + centre @ q11 @ centre, space.covariance[-1, -1])


def test_latent_mean_variance_and_covariance(space, dual, new_points):
    """Paper 2's σ_z² = gᵀH⁻¹g with g = [φ(x); 1], and z_MP = wᵀφ(x) + b."""
    features = space.kernel.feature_map(new_points)
    g = np.column_stack([features, np.ones(len(features))])
    covariance = g @ space.covariance @ g.T
    mean, variance = dual.latent_moments(new_points)
    assert relative_error(mean, g @ space.mean) < TOLERANCE
    close(variance, np.diag(covariance))
    close(dual.latent_variance(new_points), variance)
    assert relative_error(dual.latent_covariance(new_points), covariance) < TOLERANCE
    posterior = PrimalPosterior.fit(space.phi, space.y, mu=space.mu, zeta=space.zeta)
    assert relative_error(posterior.latent_mean(features), g @ space.mean) < TOLERANCE
    close(posterior.latent_variance(features), np.diag(covariance))


def test_moments_about_the_class_centres(space, dual, new_points):
    """3.9–3.11: m_e• and σ_e•² about m̂_±, and ζ_* of section 4.1."""
    gamma_eff = level2.gamma_eff(space.spectrum, space.gamma)
    centres = ClassCentres.from_posterior(dual, space.y, gamma_eff)
    features = space.kernel.feature_map(new_points)
    q11, w = space.covariance[:-1, :-1], space.mean[:-1]
    scatter = 0.0
    for sign, moments in zip((1, -1), centres.moments(dual, new_points), strict=True):
        members = space.phi[space.y == sign]
        u = features - members.mean(axis=0)
        assert relative_error(moments.mean, u @ w) < TOLERANCE
        close(moments.variance, np.einsum("ij,jk,ik->i", u, q11, u))
        scatter += np.sum(((members - members.mean(axis=0)) @ w) ** 2)
    close(centres.zeta_star, (space.n - gamma_eff) / scatter)


# Level 2


def test_determinant_of_the_hessian(space):
    """Appendix B: det H = Nζ μ^(n_f − N_eff) Π(μ + ζλ_i), by eigenvalues and rank, and in the primal space."""
    rank = space.spectrum.rank
    nonzero = space.spectrum.eigenvalues[-rank:]
    assert rank == len(space.centred_eigenvalues) <= min(space.n - 1, space.n_f)
    by_eigenvalues = (
        np.log(space.n * space.zeta)
        + (space.n_f - rank) * np.log(space.mu)
        + np.log(space.mu + space.zeta * nonzero).sum()
    )
    by_hessian = np.linalg.slogdet(space.hessian)[1]
    close(by_eigenvalues, by_hessian)
    primal = PrimalPosterior.fit(space.phi, space.y, mu=space.mu, zeta=space.zeta)
    close(primal.log_det_hessian, by_hessian)


def test_weight_and_error_terms(space, reduction):
    """4.11–4.13 with all N − 1 dimensions, and the expressions in α of section 4.2."""
    e_w, e_d = level2.e_w(reduction, space.gamma), level2.e_d(reduction, space.gamma)
    close([e_w, e_d], [space.e_w, space.e_d])
    close(0.5 * reduction.values(np.array([space.gamma]))[1], space.e_w + space.gamma * space.e_d)
    alpha, b = solve_cholesky(space.kernel(space.X), space.y, space.gamma)
    close(alpha @ alpha / (2 * space.gamma**2), e_d)
    close(0.5 * alpha @ (space.y - alpha / space.gamma - b), e_w)


def test_restricted_sums_of_the_print_lose_the_part_outside_the_range(space):
    """4.11 and 4.13 over nonzero eigenvalues only are short by ½ and ½γ times the part of My outside the range."""
    rank, s = space.spectrum.rank, 1.0 / space.gamma
    nonzero, t2 = space.spectrum.eigenvalues[-rank:], space.spectrum.t[-rank:] ** 2
    outside = space.spectrum.totals[0] - t2.sum()
    e_d = s**2 / 2 * np.sum(t2 / (nonzero + s) ** 2)
    total = np.sum(t2 / (nonzero + s)) / 2
    close(np.sum(nonzero * t2 / (nonzero + s) ** 2) / 2, space.e_w)  # 4.12 is right as printed
    close(e_d + 0.5 * outside, space.e_d)
    close(total + 0.5 * space.gamma * outside, space.e_w + space.gamma * space.e_d)
    if rank < space.n - 1:
        assert e_d < 0.2 * space.e_d
        assert total < 0.8 * (space.e_w + space.gamma * space.e_d)


def test_effective_number_of_parameters(space, reduction):
    """4.4: γ_eff = Σ λ_u/λ_r, the eigenvalues of the unregularised Hessian in units of the regularised one."""
    ratios = eigh(space.zeta * space.design.T @ space.design, space.hessian, eigvals_only=True)
    close(level2.gamma_eff(reduction, space.gamma), ratios.sum())


def test_evidence_is_the_gaussian_integral(space, reduction):
    """4.1 with p(b) = 1 and every constant, in the primal."""
    close(level2.log_evidence(reduction, space.mu, space.zeta), space.log_evidence())


@pytest.fixture(scope="module")
def wide_prior_limit(space):
    """log Normal(y; 0, Ω/μ + I/ζ + s²11ᵀ) + ½ log(2πs²) in 60 digits, so that s² = 1e30 can be taken."""
    with mp.workdps(60):
        n, s2 = space.n, mp.mpf(10) ** 30
        phi = mp.matrix(space.phi.tolist())
        C = phi * phi.T / mp.mpf(space.mu) + s2 * mp.ones(n, n) + mp.eye(n) / mp.mpf(space.zeta)
        L = mp.cholesky(C)
        reduced = mp.lu_solve(L, mp.matrix(space.y.tolist()))
        log_density = -mp.fdot(reduced, reduced) / 2 - sum(mp.log(2 * mp.pi * L[i, i] ** 2) for i in range(n)) / 2
        return float(log_density + mp.log(2 * mp.pi * s2) / 2)


def test_evidence_is_the_limit_of_a_wide_prior_of_the_bias(space, reduction, wide_prior_limit):
    """3.2: b ~ Normal(0, s²) with s → ∞ gives p(b) = 1 up to its normaliser."""
    close(level2.log_evidence(reduction, space.mu, space.zeta), wide_prior_limit)


def test_level_2_cost_in_both_printed_forms(space, reduction):
    """J3 as 4.2 (nonzero eigenvalues of G) and as 4.3 (an N × N determinant)."""
    lam, mu, zeta = space.centred_eigenvalues, space.mu, space.zeta
    eq_4_2 = (
        mu * space.e_w
        + zeta * space.e_d
        + 0.5 * np.log(mu + zeta * lam).sum()
        - 0.5 * len(lam) * np.log(mu)
        - 0.5 * (space.n - 1) * np.log(zeta)
    )
    C, centred = space.centred_kernel / mu + np.eye(space.n) / zeta, space.M @ space.y
    eq_4_3 = 0.5 * centred @ np.linalg.solve(C, centred) + 0.5 * np.linalg.slogdet(C)[1] - 0.5 * np.log(1.0 / zeta)
    close(level2.j3(reduction, mu, zeta), eq_4_2)
    close(level2.j3(reduction, mu, zeta), eq_4_3)


def test_gradient_of_the_level_2_cost(space, reduction):
    """4.5 and 4.6 as printed, and the derivative of the primal integral by a complex step."""
    lam, mu, zeta = space.centred_eigenvalues, space.mu, space.zeta
    eq_4_5 = space.e_w + 0.5 * np.sum(1.0 / (mu + zeta * lam)) - 0.5 * len(lam) / mu
    eq_4_6 = space.e_d + 0.5 * np.sum(lam / (mu + zeta * lam)) - 0.5 * (space.n - 1) / zeta
    gradient = level2.j3_gradient(reduction, mu, zeta)
    close(gradient, [eq_4_5, eq_4_6])
    by_step = [
        complex_step(lambda m: space.log_evidence(mu=m), mu),
        complex_step(lambda z: space.log_evidence(zeta=z), zeta),
    ]
    close(gradient, np.negative(by_step))
    close(level2.log_evidence_gradient(reduction, mu, zeta), np.multiply(by_step, [mu, zeta]))


def test_hessian_in_log_mu_and_log_zeta(space, reduction):
    """∂² log p(D | μ, ζ) from the posterior moments of E_W and E_D in feature space.

    For log ∫ exp(−μE_W − ζE_D): ∂² in log μ is −μ⟨E_W⟩ + μ²var(E_W), and the mixed one is μζ cov(E_W, E_D); the
    moments of quadratic forms of a Gaussian are traces.
    """
    A, B, Q, m = space.weight_decay, space.design.T @ space.design, space.covariance, space.mean
    # E_D = ½(x − m)ᵀB(x − m) − eᵀ(design)(x − m) + ½eᵀe about its value at the mode
    slope = {"w": A @ m, "d": -space.design.T @ space.errors}
    mean_w = space.e_w + 0.5 * np.trace(A @ Q)
    mean_d = space.e_d + 0.5 * np.trace(B @ Q)

    def covariance(S, s, T, t):
        return 0.5 * np.trace(S @ Q @ T @ Q) + s @ Q @ t

    mu, zeta = space.mu, space.zeta
    mixed = mu * zeta * covariance(A, slope["w"], B, slope["d"])
    expected = [
        [-mu * mean_w + mu**2 * covariance(A, slope["w"], A, slope["w"]), mixed],
        [mixed, -zeta * mean_d + zeta**2 * covariance(B, slope["d"], B, slope["d"])],
    ]
    close(level2.log_evidence_hessian(reduction, mu, zeta), expected)


def test_scalar_cost_and_its_gradient(space, reduction):
    """J4 (4.8) and ∂J4/∂γ: 4.9 as printed and a complex step through N × N determinants."""
    n, centred = space.n, space.M @ space.y

    def j4(gamma):
        C = space.centred_kernel + np.eye(n) / gamma
        sign, log_abs = np.linalg.slogdet(C)
        log_det = log_abs + np.log(sign) + np.log(gamma)  # without the eigenvalue 1/γ of the constant vector
        return log_det + (n - 1) * np.log(0.5 * centred @ np.linalg.solve(C, centred))

    gamma, lam = space.gamma, np.append(space.centred_eigenvalues, np.zeros(n - 1 - len(space.centred_eigenvalues)))
    close(level2.j4(reduction, gamma), j4(complex(gamma)).real)
    eq_4_9 = -np.sum(1 / (gamma + lam * gamma**2)) + (n - 1) * space.e_d / (space.e_w + gamma * space.e_d)
    close(level2.j4_gradient(reduction, gamma), eq_4_9)
    close(level2.j4_gradient(reduction, gamma), complex_step(j4, gamma))


@pytest.mark.parametrize(
    ("kernel", "n", "width", "n_plus"),
    [
        (Linear(), 40, 5, 20),
        (Linear(), 25, 30, 6),
        (Polynomial(3, 1.0), 60, 2, 15),
        (Polynomial(2, 3.0), 40, 8, 20),
        (Linear() + 0.3 * Polynomial(2, 2.0), 15, 4, 4),
    ],
    ids=str,
)
def test_relations_at_the_mode(kernel, n, width, n_plus):
    """At the optimum, in feature space: 2μE_W = γ_eff − 1, 2ζE_D = N − γ_eff, 4.7, 4.10, and a flat evidence."""
    start = FeatureSpace.random(kernel, n=n, width=width, n_plus=n_plus, separation=1.0, seed=1)
    result = level2.optimise(start.spectrum)
    assert result.status == "interior"
    assert not result.at_boundary
    space = FeatureSpace(kernel, start.X, start.y, result.mu, result.zeta)
    gamma_eff = eigh(space.zeta * space.design.T @ space.design, space.hessian, eigvals_only=True).sum()
    close([result.gamma_eff, result.d_eff], [gamma_eff, gamma_eff - 1.0])
    close([result.e_w, result.e_d, result.log_evidence], [space.e_w, space.e_d, space.log_evidence()])
    close(2 * space.mu * space.e_w, gamma_eff - 1.0)
    close(2 * space.zeta * space.e_d, n - gamma_eff)
    close(2 * space.mu * (space.e_w + space.gamma * space.e_d), n - 1.0)  # 4.7
    close((n - gamma_eff) / (gamma_eff - 1.0) * space.e_w / space.e_d, space.gamma)  # 4.10
    slopes = [
        complex_step(lambda m: space.log_evidence(mu=m), space.mu) * space.mu,
        complex_step(lambda z: space.log_evidence(zeta=z), space.zeta) * space.zeta,
    ]
    np.testing.assert_allclose(slopes, 0.0, atol=TOLERANCE)


@pytest.mark.parametrize("gamma", [1e1, 1e2, 1e3, 1e4, 1e5])
def test_rounding_of_the_weight_term_grows_with_gamma_squared(gamma):
    """A kernel of low rank at large γ: zero eigenvalues are known to eps·‖Ω‖ only, and E_W = ½αᵀΩα has α = γe.

    The error of E_W is thus of the order eps·‖Ω‖γ²E_D, as for any method that sees the data through Ω alone.
    """
    space = FeatureSpace.random(Linear(), n=40, width=5, n_plus=20, mu=1.0, zeta=gamma, seed=1)
    rounding = np.finfo(float).eps * space.spectrum.kernel_norm
    for reduction in (space.spectrum, space.tridiagonal):
        assert abs(level2.e_w(reduction, gamma) - space.e_w) < rounding * gamma**2 * space.e_d
        close(level2.e_d(reduction, gamma), space.e_d)
