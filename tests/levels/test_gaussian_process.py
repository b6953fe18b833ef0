"""Gaussian processes without and with a bias in the kernel: scikit-learn, eqs 2.23–2.26, feature space, the LS-SVM."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gpk

from bayes_lssvm.kernels import ARD, RBF, Linear, Matern, OnInputs, Periodic, Polynomial, RationalQuadratic
from bayes_lssvm.levels import level2
from bayes_lssvm.levels.gaussian_process import GaussianProcess
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.levels.solvers import solve_cholesky
from bayes_lssvm.linalg.spectrum import CentredSpectrum

N = 45


def _data():
    rng = np.random.default_rng(13)
    X = rng.standard_normal((N, 2))
    latent = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(N)
    return X, {"regression": 2.0 + latent, "unbalanced labels": np.where(latent > 0.9, 1.0, -1.0)}


X, TARGETS = _data()
X_NEW = np.random.default_rng(14).uniform(-4, 4, (30, 2))
PRECISIONS = [(0.4, 5.0), (3.0, 0.2), (1e-2, 50.0)]
every_target = pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS.keys())
every_precision = pytest.mark.parametrize(("mu", "zeta"), PRECISIONS)
EXPLICIT = [Linear(), Polynomial(2, 3.0), 0.5 * Linear() + Polynomial(3, 5.0)]
IMPLICIT = [RBF(1.2), ARD((0.8, 3.0)), RBF(0.5) + Linear()]


# ------------------------------------------------------------------------------------------------ scikit-learn

SKLEARN = {
    "rbf": (RBF(1.2), gpk.RBF(1.2 / np.sqrt(2))),
    "ard": (ARD((0.8, 3.0)), gpk.RBF(np.array([0.8, 3.0]) / np.sqrt(2))),
    "product": (RBF(2.0) * Linear(), gpk.RBF(np.sqrt(2.0)) * gpk.DotProduct(1e-150, sigma_0_bounds="fixed")),
    "matern12": (Matern(1.4, 0.5), gpk.Matern(1.4, nu=0.5)),
    "matern32": (Matern(0.8, 1.5), gpk.Matern(0.8, nu=1.5)),
    "matern52": (Matern(1.9, 2.5), gpk.Matern(1.9, nu=2.5)),
    "rational quadratic": (RationalQuadratic(1.2, 0.7), gpk.RationalQuadratic(1.2, 0.7)),
}


@pytest.mark.parametrize("pair", SKLEARN.values(), ids=SKLEARN.keys())
@every_target
@every_precision
@pytest.mark.parametrize("bias_variance", [0.0, 0.3, 4.0])
def test_equals_scikit_learns_regressor(pair, y, mu, zeta, bias_variance):
    """Mean, standard deviation and log marginal likelihood to 1e-8; K = exp(−d²/σ²) has the length scale σ/√2."""
    kernel, other = pair
    other = gpk.ConstantKernel(1.0 / mu) * other
    if bias_variance:
        other = other + gpk.ConstantKernel(bias_variance)
    reference = GaussianProcessRegressor(other, alpha=1.0 / zeta, optimizer=None).fit(X, y)
    mean, std = reference.predict(X_NEW, return_std=True)
    gp = GaussianProcess.fit(kernel, X, y, mu=mu, zeta=zeta, bias_variance=bias_variance)
    np.testing.assert_allclose(gp.mean(X_NEW), mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(np.sqrt(gp.variance(X_NEW)), std, rtol=1e-8, atol=1e-8)
    assert gp.log_marginal_likelihood == pytest.approx(reference.log_marginal_likelihood_value_, rel=1e-8)


FIRST = X[:, :1]  # scikit-learn's periodic kernel is one of a single input
ON_ONE_INPUT = {
    "matern12": (Matern(1.4, 0.5), gpk.Matern(1.4, nu=0.5)),
    "matern32": (Matern(0.8, 1.5), gpk.Matern(0.8, nu=1.5)),
    "matern52": (Matern(1.9, 2.5), gpk.Matern(1.9, nu=2.5)),
    "periodic": (Periodic(0.9, 2.1), gpk.ExpSineSquared(0.9, 2.1)),
    "periodic, short": (Periodic(2.0, 0.11), gpk.ExpSineSquared(2.0, 0.11)),
    "periodic times matern": (Periodic(0.9, 2.1) * Matern(2.0), gpk.ExpSineSquared(0.9, 2.1) * gpk.Matern(2.0)),
}


@pytest.mark.parametrize("pair", ON_ONE_INPUT.values(), ids=ON_ONE_INPUT.keys())
@every_target
@every_precision
def test_the_evidence_with_the_bias_integrated_out_is_that_of_scikit_learn(pair, y, mu, zeta):
    """Log p(y − b) of a regressor without bias is a parabola in b: three of its values give ∫ p(y − b) db, p(b) = 1."""
    kernel, other = pair
    other = gpk.ConstantKernel(1.0 / mu) * other
    low, middle, high = (
        GaussianProcessRegressor(other, alpha=1.0 / zeta, optimizer=None)
        .fit(FIRST, y - b)
        .log_marginal_likelihood_value_
        for b in (-1.0, 0.0, 1.0)
    )
    slope, bend = 0.5 * (high - low), 2.0 * middle - low - high
    expected = middle + 0.5 * slope**2 / bend + 0.5 * np.log(2.0 * np.pi / bend)
    for chosen, inputs in ((kernel, FIRST), (OnInputs(kernel, (0,)), X)):
        spectrum = CentredSpectrum.from_kernel_matrix(chosen(inputs), y)
        assert spectrum.local_evidence(mu, zeta).value == pytest.approx(expected, rel=1e-8)


# ------------------------------------------------------------------------------------------ the paper's formulas


@pytest.mark.parametrize("kernel", EXPLICIT + IMPLICIT, ids=str)
@every_target
@every_precision
def test_the_ls_svm_without_bias_is_the_gaussian_process(kernel, y, mu, zeta):
    """2.23 and 2.24 (LS-SVM, no bias) = 2.26 (GP), and what `GaussianProcess` gives."""
    K, theta = kernel(X), kernel(X_NEW, X)
    alpha = np.linalg.solve(K + mu / zeta * np.eye(N), y)  # 2.23
    lssvm = theta @ alpha  # 2.24
    process = theta @ np.linalg.solve(K / mu + np.eye(N) / zeta, y) / mu  # 2.26
    gp = GaussianProcess.fit(kernel, X, y, mu=mu, zeta=zeta)
    scale = np.abs(lssvm).max()
    np.testing.assert_allclose(process, lssvm, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(gp.mean(X_NEW), lssvm, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(gp.alpha, alpha, rtol=0, atol=1e-9 * np.abs(alpha).max())


@pytest.mark.parametrize("kernel", IMPLICIT, ids=str)
@pytest.mark.parametrize("bias_variance", [0.0, 2.0])
def test_evidence_is_the_density_of_the_targets(kernel, bias_variance):
    """Normal(y; 0, C_N) with C of eq 2.25 and the bias's σ_b² added."""
    mu, zeta, y = 0.4, 5.0, TARGETS["regression"]
    C = kernel(X) / mu + bias_variance + np.eye(N) / zeta
    gp = GaussianProcess.fit(kernel, X, y, mu=mu, zeta=zeta, bias_variance=bias_variance)
    assert gp.log_marginal_likelihood == pytest.approx(multivariate_normal(np.zeros(N), C).logpdf(y), rel=1e-11)
    np.testing.assert_allclose(gp.cholesky @ gp.cholesky.T, C, rtol=0, atol=1e-13 * np.abs(C).max())


@pytest.mark.parametrize("kernel", EXPLICIT, ids=str)
@every_target
@every_precision
@pytest.mark.parametrize("bias_variance", [0.0, 1.5])
def test_equals_bayesian_linear_regression_in_feature_space(kernel, y, mu, zeta, bias_variance):
    """w ~ Normal(0, I/μ), b ~ Normal(0, σ_b²): mean, variance and evidence from the weights instead of the kernel."""
    phi, phi_new = kernel.feature_map(X), kernel.feature_map(X_NEW)
    precision = np.full(phi.shape[1], mu)
    if bias_variance:
        phi, phi_new = (np.hstack([f, np.ones((len(f), 1))]) for f in (phi, phi_new))
        precision = np.append(precision, 1.0 / bias_variance)
    H = np.diag(precision) + zeta * phi.T @ phi
    w = np.linalg.solve(H, zeta * phi.T @ y)
    e = y - phi @ w
    log_evidence = (
        0.5 * np.log(precision).sum()
        + 0.5 * N * np.log(zeta / (2 * np.pi))
        - 0.5 * np.linalg.slogdet(H)[1]
        - 0.5 * (precision * w) @ w
        - 0.5 * zeta * e @ e
    )
    gp = GaussianProcess.fit(kernel, X, y, mu=mu, zeta=zeta, bias_variance=bias_variance)
    np.testing.assert_allclose(gp.mean(X_NEW), phi_new @ w, rtol=0, atol=1e-8 * np.abs(phi_new @ w).max())
    variance = np.einsum("ij,ji->i", phi_new, np.linalg.solve(H, phi_new.T))
    # prior minus explained: the rounding is that of the prior variance
    atol = 1e-12 * (kernel.diag(X_NEW).max() / mu + bias_variance)
    np.testing.assert_allclose(gp.variance(X_NEW), variance, rtol=1e-8, atol=atol)
    assert gp.log_marginal_likelihood == pytest.approx(log_evidence, rel=1e-8)


# --------------------------------------------------------------------------------------- towards the LS-SVM

# No wider than 1e4: C then holds σ_b² beside 1/ζ, and its factor loses the digits of their ratio.
BIAS_VARIANCES = np.array([1.0, 10.0, 1e2, 1e3, 1e4])


@pytest.mark.parametrize("kernel", [RBF(1.2), Linear(), Polynomial(2, 3.0)], ids=str)
@every_target
@pytest.mark.parametrize(("mu", "zeta"), [(0.4, 5.0), (3.0, 0.7)])
def test_evidence_tends_to_that_of_the_unregularised_bias(kernel, y, mu, zeta):
    """log p(D) + ½ log 2πσ_b² → log evidence with p(b) = 1, the error falling as 1/σ_b²; for finite σ_b² it is known.

    The posterior of b under p(b) = 1 is Normal(b_MP, v), v = 1/(1ᵀ(Ω/μ + I/ζ)⁻¹1), so that the ratio of the two
    evidences is ∫Normal(b; b_MP, v) exp(−b²/(2σ_b²)) db.
    """
    K = kernel(X)
    flat = level2.log_evidence(CentredSpectrum.from_kernel_matrix(K, y), mu, zeta)
    b = solve_cholesky(K, y, zeta / mu).intercept
    v = 1.0 / np.linalg.solve(K / mu + np.eye(N) / zeta, np.ones(N)).sum()
    error = np.array(
        [
            GaussianProcess.fit(kernel, X, y, mu=mu, zeta=zeta, bias_variance=s2).log_marginal_likelihood
            + 0.5 * np.log(2 * np.pi * s2)
            - flat
            for s2 in BIAS_VARIANCES
        ]
    )
    expected = -0.5 * np.log1p(v / BIAS_VARIANCES) - 0.5 * b**2 / (BIAS_VARIANCES + v)
    # what a factor of C can hold: eps times the condition of C, which grows as N·ζ·σ_b²
    rounding = 1e-11 + 8.0 * np.finfo(float).eps * N * zeta * BIAS_VARIANCES
    assert np.all(np.abs(error - expected) < rounding)
    np.testing.assert_allclose(error[-1] / error[-2], 0.1, rtol=0.02)  # first order in 1/σ_b²
    assert abs(error[-1]) < 1e-3


@pytest.mark.parametrize("kernel", [RBF(1.2), Linear(), Polynomial(2, 3.0)], ids=str)
@every_target
@pytest.mark.parametrize(("mu", "zeta"), [(0.4, 5.0), (3.0, 0.7)])
def test_prediction_tends_to_the_ls_svm(kernel, y, mu, zeta):
    """Mean → Σα_iK(x, x_i) + b (eq 2.19) and variance → σ_z² of level 1, both errors falling as 1/(σ_b² + v).

    v is the posterior variance of b under p(b) = 1. With C = Ω/μ + I/ζ and r(x) = 1 − θ(x)ᵀC⁻¹1/μ, by which z(x) moves
    with b, the finite σ_b² shrinks b by the factor σ_b²/(σ_b² + v): the mean is lower by r·b·v/(σ_b² + v) and the
    variance by r²·v²/(σ_b² + v).
    """
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    posterior = DualPosterior.from_spectrum(kernel, X, spectrum, mu=mu, zeta=zeta)
    processes = [GaussianProcess.fit(kernel, X, y, mu=mu, zeta=zeta, bias_variance=s2) for s2 in BIAS_VARIANCES]
    mean, variance = posterior.latent_moments(X_NEW)
    ones = np.linalg.solve(kernel(X) / mu + np.eye(N) / zeta, np.ones(N))
    v, r = 1.0 / ones.sum(), 1.0 - kernel(X_NEW, X) @ ones / mu
    for s2, gp in zip(BIAS_VARIANCES, processes, strict=True):
        lower = r * posterior.intercept * v / (s2 + v)
        np.testing.assert_allclose(mean - gp.mean(X_NEW), lower, rtol=0, atol=1e-9 * np.abs(mean).max())
        np.testing.assert_allclose(variance - gp.variance(X_NEW), r**2 * v**2 / (s2 + v), rtol=0, atol=1e-8)
    mean_error = np.array([np.abs(gp.mean(X_NEW) - mean).max() for gp in processes])
    variance_error = np.array([np.abs(gp.variance(X_NEW) - variance).max() for gp in processes])
    assert mean_error[-1] < 1e-3
    assert variance_error[-1] < 1e-3


# ------------------------------------------------------------------------------------------------- behaviour


def test_far_from_the_data_the_prior_returns():
    y = TARGETS["regression"]
    gp = GaussianProcess.fit(RBF(1.0), X, y, mu=0.5, zeta=10.0)
    far = np.full((1, 2), 1e3)
    assert gp.mean(far)[0] == pytest.approx(0.0, abs=1e-12)
    assert gp.variance(far)[0] == pytest.approx(2.0, rel=1e-12)


def test_variance_is_never_negative_where_the_noise_is_tiny():
    gp = GaussianProcess.fit(RBF(1.0), X, TARGETS["regression"], mu=1.0, zeta=1e12)
    assert np.all(gp.variance(X) >= 0.0)
    assert np.all(gp.variance(X) < 1e-9)


@pytest.mark.parametrize("name", ["mu", "zeta"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_precisions_that_are_not_positive_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a positive finite number"):
        GaussianProcess.fit(RBF(), X, TARGETS["regression"], **({"mu": 1.0, "zeta": 1.0} | {name: value}))


@pytest.mark.parametrize("value", [-1e-3, np.nan, np.inf])
def test_a_bias_variance_that_is_no_variance_is_refused(value):
    with pytest.raises(ValueError, match="bias_variance must be finite and not negative"):
        GaussianProcess.fit(RBF(), X, TARGETS["regression"], mu=1.0, zeta=1.0, bias_variance=value)
