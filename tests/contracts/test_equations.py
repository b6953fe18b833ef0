"""Equations of paper 0 that no other test shows on their own; docs/theory/equations.md maps every one to its tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from bayes_lssvm import LSSVC, BayesianLSSVR
from bayes_lssvm.kernels import RBF, Linear, Polynomial
from bayes_lssvm.levels import level2
from bayes_lssvm.levels.fisher import fisher_discriminant
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior, PrimalPosterior
from bayes_lssvm.levels.moderation import class_log_odds, discriminant, log_odds, probabilities
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from tests.helpers_feature_space import FeatureSpace

EXPLICIT = [(Linear(), 40, 3), (Linear(), 12, 20), (Polynomial(2, 2.0), 30, 3)]


@pytest.fixture(scope="module", params=EXPLICIT, ids=str)
def space(request):
    kernel, n, width = request.param
    return FeatureSpace.random(kernel, n=n, width=width, n_plus=n // 3, mu=0.6, zeta=2.4, seed=3)


# Section 2


def test_signs_of_probabilities_and_of_log_densities_decide_alike():
    """2.1–2.3: sign g₀, sign g₁, and P(y=±1 | x) = ½(1 ± g₀(x)), from densities and priors by Bayes' rule."""
    space = FeatureSpace.random(RBF(1.5), n=40, width=2, n_plus=12, mu=0.6, zeta=2.4, seed=3)
    posterior = DualPosterior.from_spectrum(space.kernel, space.X, space.spectrum, mu=space.mu, zeta=space.zeta)
    centres = ClassCentres.from_posterior(posterior, space.y, level2.gamma_eff(space.spectrum, space.gamma))
    new = np.random.default_rng(0).normal(size=(200, 2)) * 2.0
    moments = centres.moments(posterior, new)
    densities = [norm.pdf(m.mean, scale=np.sqrt(1 / centres.zeta_star + m.variance)) for m in moments]
    joint = np.stack([0.3 * densities[0], 0.7 * densities[1]])  # p(x | y) P(y) for y = +1, −1
    g0 = (joint[0] - joint[1]) / joint.sum(axis=0)
    g1 = np.log(joint[0]) - np.log(joint[1])
    odds = log_odds(posterior, centres, new, prior_plus=0.3, training_plus=0.3)
    np.testing.assert_allclose(probabilities(odds), np.stack([(1 - g0) / 2, (1 + g0) / 2], axis=1), rtol=1e-9)
    np.testing.assert_allclose(odds, g1, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(class_log_odds(*moments, centres.zeta_star), np.log(densities[0] / densities[1]))
    np.testing.assert_array_equal(np.sign(g0), np.sign(odds))
    assert 0 < np.sum(g0 > 0) < 200


def test_linear_kernel_without_regularisation_has_the_direction_of_the_linear_discriminant():
    """2.4: w ∝ Σ⁻¹(m₊ − m₋) with the pooled covariance of two normal classes; scikit-learn's LDA is the reference."""
    rng = np.random.default_rng(4)
    y = np.repeat([1.0, -1.0], [30, 50])
    X = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.6], [0.6, 2.0]], size=80) + np.outer(y, [0.5, -1.0])
    reference = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).coef_[0]
    fisher = fisher_discriminant(Linear()(X), y, 1e6).coefficients @ X
    machine = LSSVC("linear", gamma=1e6, solver="spectral", standardise=False).fit(X, y).alpha_ @ X
    for w in (fisher, machine):
        assert w @ reference > 0
        assert abs(w[0] * reference[1] - w[1] * reference[0]) < 1e-6 * np.linalg.norm(w) * np.linalg.norm(reference)


@pytest.mark.parametrize("prior_plus", [0.5, 0.2])
def test_bias_of_the_linear_discriminant_is_that_of_3_18(prior_plus):
    """2.4: b = −½ wᵀ(m₊ + m₋) + log P₊/P₋, with the within-class scatter over N − γ_eff for the covariance."""
    rng = np.random.default_rng(5)
    y = np.repeat([1.0, -1.0], [20, 60])
    X = rng.multivariate_normal([0.4, 0.0], [[1.0, 0.6], [0.6, 2.0]], size=80) + np.outer(y, [0.5, -1.0])
    plus, minus = X[y > 0], X[y < 0]
    scatter = 19 * np.cov(plus.T) + 59 * np.cov(minus.T)
    gamma_eff = 3.0  # two weights and the bias
    w = np.linalg.solve(scatter / (80 - gamma_eff), plus.mean(axis=0) - minus.mean(axis=0))
    b = -0.5 * w @ (plus.mean(axis=0) + minus.mean(axis=0)) + np.log(prior_plus / (1 - prior_plus))
    posterior = DualPosterior.from_kernel_matrix(Linear(), X, Linear()(X), y, mu=1e6, zeta=1e13)  # no variance left
    new = rng.standard_normal((30, 2))
    found = discriminant(posterior, ClassCentres.from_posterior(posterior, y, gamma_eff), new, prior_plus=prior_plus)
    scale = (posterior.alpha @ X) @ w / (w @ w)
    assert scale > 0
    np.testing.assert_allclose(found.value, scale * (new @ w + b), atol=1e-5 * np.abs(found.value).max())


def test_errors_about_the_margin_and_about_the_targets_have_one_sum_of_squares(space):
    """2.10–2.13: e_c = 1 − y f = y e, so Σe_c² = Σe² = 2E_D, and the classifier is a regression on ±1.

    (w, b) from the constraints 2.11, y_i(wᵀφ_i + b) = 1 − e_c,i, as a least-squares problem of its own.
    """
    rows = np.sqrt(space.zeta) * space.y[:, None] * space.design
    decay = np.sqrt(space.mu) * space.weight_decay[:-1]
    targets = np.append(np.full(space.n, np.sqrt(space.zeta)), np.zeros(space.n_f))
    wb = np.linalg.lstsq(np.vstack([rows, decay]), targets, rcond=None)[0]
    np.testing.assert_allclose(wb, space.mean, atol=1e-9)
    model = LSSVC(space.kernel, space.gamma, standardise=False).fit(space.X, space.y)
    f = model.decision_function(space.X)
    np.testing.assert_allclose(f, space.design @ wb, atol=1e-9)
    e_c, e = 1 - space.y * f, space.y - f
    np.testing.assert_allclose(e_c, space.y * e, atol=1e-12)
    assert np.sum(e_c**2) == pytest.approx(2 * level2.e_d(space.spectrum, space.gamma), rel=1e-9)
    # 2.14 = 2.10 at the minimum
    j2 = 0.5 * space.mu * wb[:-1] @ wb[:-1] + 0.5 * space.zeta * np.sum(e_c**2)
    assert 0.5 * space.mu * space.spectrum.values(np.array([space.gamma]))[1][0] == pytest.approx(j2, rel=1e-9)


def test_least_squares_output_tends_to_the_bayes_discriminant():
    """2.17: two normal classes on a line, g₀ known; the mean square distance of the output from g₀ falls with N."""

    def draw(n, rng):
        y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
        return (1.0 * y + rng.normal(size=n))[:, None], y

    grid = np.linspace(-4, 4, 401)
    joint = np.stack([0.4 * norm.pdf(grid, 1.0), 0.6 * norm.pdf(grid, -1.0)])
    g0, p = (joint[0] - joint[1]) / joint.sum(axis=0), joint.sum(axis=0)
    errors = []
    for n in (30, 120, 480):
        mse = []
        for seed in range(5):
            X, y = draw(n, np.random.default_rng(seed))
            f, std = BayesianLSSVR(RBF(1.0), refine=False).fit(X, y).predict(grid[:, None], return_std=True)
            assert std.shape == f.shape
            mse.append(np.sum((f - g0) ** 2 * p) / np.sum(p))
        errors.append(np.mean(mse))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[-1] < 0.01


# Section 3 and appendix A


def test_posterior_times_evidence_is_likelihood_times_prior(space):
    """3.1 with the prior 3.2 (p(b) = 1), the errors 3.3 and 3.4, and the posterior 3.5 and 3.6: at any (w, b)."""
    fit = PrimalPosterior.fit(space.phi, space.y, mu=space.mu, zeta=space.zeta)
    posterior = multivariate_normal(np.append(fit.w, fit.b), fit.covariance)
    evidence = level2.log_evidence(space.spectrum, space.mu, space.zeta)
    mode = np.append(fit.w, fit.b)
    rng = np.random.default_rng(5)
    for wb in [mode, *(mode + rng.normal(size=(5, space.n_f + 1)))]:
        e = space.y - space.design @ wb
        likelihood = norm.logpdf(e, scale=space.zeta**-0.5).sum()  # 3.4
        prior = norm.logpdf(wb[:-1], scale=space.mu**-0.5).sum()  # 3.2
        assert posterior.logpdf(wb) + evidence == pytest.approx(likelihood + prior, rel=1e-8)
        # 3.5: J2 is all of the posterior that depends on (w, b)
        j2 = 0.5 * space.mu * wb[:-1] @ wb[:-1] + 0.5 * space.zeta * e @ e
        j2_mode = space.mu * space.e_w + space.zeta * space.e_d
        assert posterior.logpdf(wb) - posterior.logpdf(mode) == pytest.approx(j2_mode - j2, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 2.0), RBF(1.5)], ids=str)
def test_variance_about_the_class_centres_as_printed(kernel):
    """3.11 with θ of 3.12, U_G = V_G D_G^(−1/2) of 3.13 and D_G of 3.14, over the nonzero eigenvalues of 3.15."""
    space = FeatureSpace.random(kernel, n=30, width=2, n_plus=9, mu=0.6, zeta=2.4, seed=6)
    X, y, mu, zeta, K = space.X, space.y, space.mu, space.zeta, kernel(space.X)
    spectrum = CentredSpectrum.from_kernel_matrix(K, y)
    lam, V = spectrum.eigenvalues[-spectrum.rank :], spectrum.vectors[:, -spectrum.rank :]
    keep = lam > 1e-9 * lam[-1]  # the printed form divides by √λ
    U = V[:, keep] / np.sqrt(lam[keep])  # 3.13
    weights = 1 / mu - 1 / (mu + zeta * lam[keep])  # with D_G of 3.14
    new = np.random.default_rng(7).normal(size=(20, 2)) * 1.5
    theta = kernel(new, X)  # 3.12
    M = np.eye(space.n) - 1 / space.n
    posterior = DualPosterior.from_kernel_matrix(kernel, X, K, y, mu=mu, zeta=zeta)
    centres = ClassCentres.from_posterior(posterior, y, level2.gamma_eff(spectrum, zeta / mu))
    for sign, moments in zip((1, -1), centres.moments(posterior, new), strict=True):
        own = y == sign
        printed = (kernel.diag(new) - 2 * theta[:, own].mean(axis=1) + K[np.ix_(own, own)].mean()) / mu
        row = (theta - K[own].mean(axis=0)) @ M @ U
        printed -= np.einsum("ij,j,ij->i", row, weights, row)
        np.testing.assert_allclose(moments.variance, printed, rtol=1e-7)


def test_eigenvectors_of_the_centred_kernel_matrix_give_those_of_the_centred_covariance(space):
    """A.3, A.4: ΥMv is an eigenvector of G = ΥMΥᵀ with the eigenvalue of MΩM, and P₁ = ΥMU_G is orthonormal."""
    spectrum = space.spectrum
    lam, V = spectrum.eigenvalues[-spectrum.rank :], spectrum.vectors[:, -spectrum.rank :]
    G = space.phi.T @ space.M @ space.phi
    mapped = space.phi.T @ space.M @ V
    np.testing.assert_allclose(G @ mapped, mapped * lam, atol=1e-9 * lam[-1])
    np.testing.assert_allclose(space.centred_kernel @ V, V * lam, atol=1e-9 * lam[-1])
    P = mapped / np.sqrt(lam)
    np.testing.assert_allclose(P.T @ P, np.eye(len(lam)), atol=1e-9)
    # the inverse after A.4, with P₂P₂ᵀ = I − P₁P₁ᵀ
    inverse = (P * (1 / (space.mu + space.zeta * lam) - 1 / space.mu)) @ P.T + np.eye(space.n_f) / space.mu
    np.testing.assert_allclose(inverse, np.linalg.inv(space.mu * np.eye(space.n_f) + space.zeta * G), atol=1e-9)


# Appendix B


def test_error_term_in_feature_space(space):
    """B.1's first form, with MΥᵀ where the print has MΥ, and w_MP = (ΥMΥᵀ + I/γ)⁻¹ΥMY; B.2 is ½‖w_MP‖²."""
    U, M = space.phi.T, space.M
    inverse = np.linalg.inv(U @ M @ U.T + np.eye(space.n_f) / space.gamma)
    left = np.eye(space.n) - M @ U.T @ inverse @ U @ M
    centred = space.y - space.y.mean()
    assert 0.5 * centred @ left @ left @ centred == pytest.approx(level2.e_d(space.spectrum, space.gamma), rel=1e-9)
    w = inverse @ U @ M @ space.y
    np.testing.assert_allclose(w, space.mean[:-1], atol=1e-9)
    assert 0.5 * w @ w == pytest.approx(level2.e_w(space.spectrum, space.gamma), rel=1e-9)
    if space.n_f != space.n:  # as printed the shapes do not even match
        with pytest.raises(ValueError):
            _ = M @ U
