"""The log variance of the noise and Student's scale mixture: against direct optimisation, integrals and refits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import gamma, norm
from scipy.stats import t as student_t

from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.log_variance import LogVariance, corrected_squares
from bayes_lssvm.levels.student import ScaleMixture, one_sigma

MU = 0.8


@pytest.fixture(scope="module")
def squares():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-2.0, 2.0, (40, 1)), axis=0)
    return X, np.exp(1.2 * X[:, 0]) * rng.chisquare(1, 40)


def penalised(kernel, X, q, mu):
    """Cost of (a, b) with h = Ka + b, and its gradient."""
    K = kernel(X)

    def cost(point):
        a, b = point[:-1], point[-1]
        h = K @ a + b
        slope = 0.5 * (1.0 - q * np.exp(-h))
        value = 0.5 * np.sum(h + q * np.exp(-h)) + 0.5 * mu * a @ K @ a
        return value, np.append(K @ slope + mu * K @ a, slope.sum())

    return K, cost


def test_h_is_the_most_probable_function(squares):
    X, q = squares
    kernel = RBF(1.5)
    found = LogVariance.fit(kernel, X, q, MU)
    K, cost = penalised(kernel, X, q, MU)
    start = np.append(np.zeros(40), np.log(q.mean()))
    best = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 20000, "ftol": 1e-15, "gtol": 1e-10})
    h = K @ best.x[:-1] + best.x[-1]
    np.testing.assert_allclose(found.posterior.latent_mean(X), h, atol=2e-3)
    # stationary: α = (q e^{−h} − 1)/(2μ), and the level too
    own = found.posterior.latent_mean(X)
    np.testing.assert_allclose(found.posterior.alpha, (q * np.exp(-own) - 1.0) / (2.0 * MU), atol=1e-6)
    assert np.sum(q * np.exp(-own)) == pytest.approx(40.0, abs=1e-5)


def test_the_gain_of_h_is_laplaces(squares):
    """Against a dense Hessian with the information ½ at each row, the level's share common to both."""
    X, q = squares
    kernel = RBF(1.5)
    found = LogVariance.fit(kernel, X, q, MU)
    K, cost = penalised(kernel, X, q, MU)
    point = np.append(found.posterior.alpha, found.posterior.intercept)
    constant = np.append(np.zeros(40), np.log(q.mean()))
    M = np.eye(40) - 1.0 / 40
    occam = 0.5 * np.linalg.slogdet(np.eye(40) + M @ K @ M / (2.0 * MU))[1]
    assert found.log_gain == pytest.approx(cost(constant)[0] - cost(point)[0] - occam, abs=1e-6)
    assert found.cost == pytest.approx(0.5 * MU * point[:-1] @ K @ point[:-1] + occam, abs=1e-6)
    assert found.log_gain > 5.0
    quiet = LogVariance.fit(kernel, X, np.random.default_rng(1).chisquare(1, 40), MU)
    assert quiet.log_gain < 2.0


def test_precisions_and_variances_follow_h(squares):
    X, q = squares
    found = LogVariance.fit(RBF(1.5), X, q, MU)
    assert np.log(found.precisions()).mean() == pytest.approx(0.0, abs=1e-10)
    mean, variance = found.posterior.latent_moments(X[:3])
    np.testing.assert_allclose(found.variances(X[:3]), np.exp(mean - found.level + 0.5 * variance))
    assert np.corrcoef(-np.log(found.precisions()), X[:, 0])[0, 1] > 0.9


def test_corrected_squares_are_unbiased_where_the_noise_is_right():
    rng = np.random.default_rng(2)
    noise, latent = np.full(200_000, 0.5), np.full(200_000, 0.3)
    q = corrected_squares(np.sqrt(noise + latent) * rng.normal(size=200_000), latent, noise)
    assert q.mean() == pytest.approx(0.5, rel=0.01)
    assert np.all(corrected_squares(np.array([0.0, 1.0]), np.zeros(2), np.ones(2)) > 0.0)


def test_the_factors_of_the_scale_mixture_are_gammas_and_the_bound_is_what_they_give():
    """⟨τ⟩ and the added term by quadrature over τ."""
    scaled = np.array([0.1, 1.0, 3.0, 30.0, 200.0])
    mixture = ScaleMixture.of(scaled)
    a, c = mixture.shape, 0.5 * mixture.nu
    total = 0.0
    for i, rate in enumerate(mixture.rates):
        q, p = gamma(a, scale=1.0 / rate), gamma(c, scale=1.0 / c)
        low, high = q.ppf(1e-13), q.ppf(1.0 - 1e-13)
        mean = quad(lambda x, q=q: x * q.pdf(x), low, high, limit=200)[0]
        assert mixture.weights[i] == pytest.approx(mean, rel=1e-6)
        assert mixture.weights[i] == pytest.approx((mixture.nu + 1.0) / (mixture.nu + scaled[i]))
        log_tau = quad(lambda x, q=q: np.log(x) * q.pdf(x), low, high, limit=200)[0]
        divergence = quad(lambda x, q=q, p=p: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), low, high, limit=200)[0]
        total += 0.5 * (log_tau - np.log(mean)) - divergence
    assert mixture.log_factor == pytest.approx(total, abs=1e-5)


def test_the_bound_of_a_known_function_is_students_density():
    """With the function known, the bound over q(τ) is tight: Σ log t_ν."""
    errors = np.random.default_rng(3).standard_t(5, 60)
    mixture = ScaleMixture.of(errors**2)
    weighted = norm(0.0, 1.0 / np.sqrt(mixture.weights)).logpdf(errors).sum()
    assert weighted + mixture.log_factor == pytest.approx(student_t.logpdf(errors, mixture.nu).sum(), abs=1e-8)


def test_nu_is_the_most_likely_one():
    errors = np.random.default_rng(4).standard_t(8, 3000)
    nu = ScaleMixture.of(errors**2).nu
    values = [student_t.logpdf(errors, v).sum() for v in (0.9 * nu, nu, 1.1 * nu)]
    assert values[1] > max(values[0], values[2])
    assert ScaleMixture.of(np.random.default_rng(5).normal(size=3000) ** 2).nu > 50.0
    assert student_t.cdf(one_sigma(6.0), 6.0) == pytest.approx(norm.cdf(1.0))
