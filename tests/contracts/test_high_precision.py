"""Levels 2 and 3 against mpmath at 50 digits on an ill-conditioned kernel matrix.

A wide RBF kernel on 28 close points: the eigenvalues of the centred matrix run from 1.1 down to 4e-15, below the
rounding eps·‖Ω‖ = 6e-15 of the matrix itself. The reference starts from the same inputs, evaluates the kernel in 50
digits, and uses other formulas than the library: the restricted likelihood by a Cholesky factor for the evidence, the
KKT system for E_W, E_D and γ_eff, an N × N determinant for J3 and J4, and differences of 1e-15 for all derivatives.

No method that starts from the matrix in double precision can have relative errors much below eps·γ‖Ω‖. 1e-8 is asked
up to γ = 1e6, where Ω + I/γ has the condition number 3e7; at γ = 1e9, condition number 3e10, five times that bound.
"""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np
import pytest

from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels import level2, level3
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction

N, SIGMA = 28, 2.0
DIGITS = 50
STEP = "1e-15"


def _data():
    rng = np.random.default_rng(4)
    X = rng.uniform(-0.5, 0.5, size=(N, 2))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.15 * rng.normal(size=N) > 0.1, 1.0, -1.0)
    return X, y


X, Y = _data()
K = RBF(SIGMA)(X)
REDUCTIONS = {
    "spectral": CentredSpectrum.from_kernel_matrix(K, Y),
    "tridiagonal": TridiagonalReduction.from_kernel_matrix(K, Y),
}


@pytest.fixture(autouse=True)
def _precision():
    with mp.workdps(DIGITS):
        yield


@cache
def exact_kernel():
    """Ω from the floating-point inputs, in 50 digits."""
    points = [[mp.mpf(float(v)) for v in row] for row in X]
    return mp.matrix(
        [
            [mp.exp(-sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) / mp.mpf(SIGMA) ** 2) for z in points]
            for x in points
        ]
    )


@cache
def exact_centred_kernel():
    M = mp.eye(N) - mp.ones(N, N) / N
    return M * exact_kernel() * M


@cache
def exact_targets():
    return mp.matrix([mp.mpf(float(v)) for v in Y])


def _solve(L, b):
    """C⁻¹b from the lower factor of C."""
    n = L.rows
    x = b.copy()
    for i in range(n):
        x[i] = (x[i] - mp.fsum(L[i, k] * x[k] for k in range(i))) / L[i, i]
    for i in reversed(range(n)):
        x[i] = (x[i] - mp.fsum(L[k, i] * x[k] for k in range(i + 1, n))) / L[i, i]
    return x


def exact_log_evidence(log_mu, log_zeta):
    """The restricted likelihood: −½[log det C + log 1ᵀC⁻¹1 + yᵀPy + (N−1) log 2π] with C = Ω/μ + I/ζ."""
    L = mp.cholesky(exact_kernel() * mp.exp(-log_mu) + mp.eye(N) * mp.exp(-log_zeta))
    ones, y = mp.ones(N, 1), exact_targets()
    rho, nu = _solve(L, ones), _solve(L, y)
    total = mp.fdot(ones, rho)
    quadratic = mp.fdot(y, nu) - mp.fdot(ones, nu) ** 2 / total
    log_det = 2 * mp.fsum(mp.log(L[i, i]) for i in range(N))
    return -(log_det + mp.log(total) + quadratic + (N - 1) * mp.log(2 * mp.pi)) / 2


def exact_determinant_and_quadratic(s):
    """Σ_{N−1} log(λ + s) and yᵀM(MΩM + sI)⁻¹My; the constant vector has the eigenvalue s."""
    L = mp.cholesky(exact_centred_kernel() + s * mp.eye(N))
    mean = mp.fsum(exact_targets()) / N
    centred = exact_targets() - mean * mp.ones(N, 1)
    log_det = 2 * mp.fsum(mp.log(L[i, i]) for i in range(N)) - mp.log(s)
    return log_det, mp.fdot(centred, _solve(L, centred))


def exact_j3(mu, zeta):
    """4.3, without the constant of N."""
    log_det, q = exact_determinant_and_quadratic(mu / zeta)
    # det(MΩM/μ + I/ζ) over the complement of 1, where 4.3's last term takes the rest away
    return (mu * q + log_det - (N - 1) * mp.log(mu)) / 2


def exact_j4(gamma):
    """4.8."""
    log_det, q = exact_determinant_and_quadratic(1 / gamma)
    return log_det + (N - 1) * mp.log(q / 2)


def exact_level_1(gamma):
    """E_W, E_D and γ_eff from the KKT system 2.19 and its inverse."""
    system = mp.zeros(N + 1, N + 1)
    for i in range(N):
        system[0, i + 1] = system[i + 1, 0] = 1
        for j in range(N):
            system[i + 1, j + 1] = exact_kernel()[i, j] + (1 / gamma if i == j else 0)
    inverse = system**-1
    R = inverse[1:, 1:]  # maps y to α
    alpha = R * exact_targets()
    e_w = (alpha.T * exact_kernel() * alpha)[0] / 2
    e_d = mp.fdot(alpha, alpha) / (2 * gamma**2)
    return e_w, e_d, N - mp.fsum(R[i, i] for i in range(N)) / gamma


def difference(function, x):
    h = mp.mpf(STEP)
    return (function(x + h) - function(x - h)) / (2 * h)


def exact_gradient_and_hessian(log_mu, log_zeta):
    h, f = mp.mpf(STEP), exact_log_evidence
    at = {(i, j): f(log_mu + i * h, log_zeta + j * h) for i in (-1, 0, 1) for j in (-1, 0, 1)}
    gradient = [(at[1, 0] - at[-1, 0]) / (2 * h), (at[0, 1] - at[0, -1]) / (2 * h)]
    mixed = (at[1, 1] - at[1, -1] - at[-1, 1] + at[-1, -1]) / (4 * h**2)
    first = (at[1, 0] - 2 * at[0, 0] + at[-1, 0]) / h**2
    second = (at[0, 1] - 2 * at[0, 0] + at[0, -1]) / h**2
    return gradient, [[first, mixed], [mixed, second]]


@cache
def reference(gamma):
    """Every level-2 quantity at (μ, ζ) = (γ^(−1/2), γ^(1/2))."""
    with mp.workdps(DIGITS):
        g = mp.mpf(gamma)
        mu, zeta = 1 / mp.sqrt(g), mp.sqrt(g)
        e_w, e_d, gamma_eff = exact_level_1(g)
        gradient, hessian = exact_gradient_and_hessian(mp.log(mu), mp.log(zeta))
        return {
            "log evidence": exact_log_evidence(mp.log(mu), mp.log(zeta)),
            "E_W": e_w,
            "E_D": e_d,
            "γ_eff": gamma_eff,
            "J3": exact_j3(mu, zeta),
            "J4": exact_j4(g),
            "∂J4/∂γ": difference(exact_j4, g),
            "∂J3/∂μ": -gradient[0] / mu,
            "∂J3/∂ζ": -gradient[1] / zeta,
            "∂²/∂log μ²": hessian[0][0],
            "∂²/∂log μ ∂log ζ": hessian[0][1],
            "∂²/∂log ζ²": hessian[1][1],
        }


def library(reduction, gamma):
    mu, zeta = gamma**-0.5, gamma**0.5
    gradient = level2.j3_gradient(reduction, mu, zeta)
    hessian = level2.log_evidence_hessian(reduction, mu, zeta)
    return {
        "log evidence": level2.log_evidence(reduction, mu, zeta),
        "E_W": level2.e_w(reduction, gamma),
        "E_D": level2.e_d(reduction, gamma),
        "γ_eff": level2.gamma_eff(reduction, gamma),
        "J3": level2.j3(reduction, mu, zeta),
        "J4": level2.j4(reduction, gamma)[0],
        "∂J4/∂γ": level2.j4_gradient(reduction, gamma)[0],
        "∂J3/∂μ": gradient[0],
        "∂J3/∂ζ": gradient[1],
        "∂²/∂log μ²": hessian[0, 0],
        "∂²/∂log μ ∂log ζ": hessian[0, 1],
        "∂²/∂log ζ²": hessian[1, 1],
    }


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("gamma", [1e2, 1e6, 1e9])
def test_level_2_quantities(gamma, name):
    """E_W, E_D, γ_eff, J3, J4, the evidence, all first and second derivatives (4.2–4.13)."""
    exact, found = reference(gamma), library(REDUCTIONS[name], gamma)
    tolerance = max(1e-8, 5 * np.finfo(float).eps * gamma * np.linalg.norm(K))
    errors = {key: float(abs(found[key] / value - 1)) for key, value in exact.items()}
    assert max(errors.values()) < tolerance, errors


@cache
def exact_mode():
    """γ_MP as the root of ∂J4/∂log γ, with μ by 4.7."""
    with mp.workdps(DIGITS):
        start = mp.log(level2.optimise(REDUCTIONS["spectral"]).gamma)
        slope = lambda u: difference(lambda v: exact_j4(mp.exp(v)), u)  # noqa: E731
        gamma = mp.exp(mp.findroot(slope, (start, start + mp.mpf("1e-6")), tol=mp.mpf("1e-30")))
        mu = (N - 1) / exact_determinant_and_quadratic(1 / gamma)[1]
        return gamma, mu


@cache
def exact_level_3(prior_sd):
    """5.2 and 5.3 with MacKay's and the exact Hessian's error bars at the mode."""
    with mp.workdps(DIGITS):
        gamma, mu = exact_mode()
        zeta = gamma * mu
        _, _, gamma_eff = exact_level_1(gamma)
        log_evidence = exact_log_evidence(mp.log(mu), mp.log(zeta))
        mackay = mp.sqrt(2 / (gamma_eff - 1)), mp.sqrt(2 / (N - gamma_eff))
        _, hessian = exact_gradient_and_hessian(mp.log(mu), mp.log(zeta))
        covariance = (-mp.matrix(hessian)) ** -1
        widths = mp.sqrt(covariance[0, 0]), mp.sqrt(covariance[1, 1])
        occam = mp.log(mackay[0] * mackay[1] / prior_sd**2)
        log_det = exact_determinant_and_quadratic(1 / gamma)[0] + (N - 1) * mp.log(gamma)  # Σ log(1 + γλ)
        return {
            "γ_MP": gamma,
            "μ_MP": mu,
            "ζ_MP": zeta,
            "γ_eff": gamma_eff,
            "log evidence without Occam": log_evidence,
            "log Occam factor": occam,
            "log evidence": log_evidence + occam,
            "eq 5.3": ((N - 1) * mp.log(zeta) - log_det - mp.log(gamma_eff - 1) - mp.log(N - gamma_eff)) / 2,
            "MacKay σ_logμ": mackay[0],
            "MacKay σ_logζ": mackay[1],
            "Hessian σ_logμ": widths[0],
            "Hessian σ_logζ": widths[1],
            "correlation": covariance[0, 1] / (widths[0] * widths[1]),
            "Hessian's log Occam factor": mp.log(mp.det(covariance)) / 2 - 2 * mp.log(prior_sd),
        }


@pytest.mark.parametrize("name", REDUCTIONS)
def test_level_3_quantities_at_the_mode(name):
    """μ_MP, ζ_MP, γ_eff, 5.2, 5.3, the Occam factor and both kinds of error bars to 1e-8."""
    result = level3.evaluate(REDUCTIONS[name], prior_sd=3.0)
    mode = result.level2
    found = {
        "γ_MP": mode.gamma,
        "μ_MP": mode.mu,
        "ζ_MP": mode.zeta,
        "γ_eff": mode.gamma_eff,
        "log evidence without Occam": result.log_evidence_without_occam,
        "log Occam factor": result.log_occam_factor,
        "log evidence": result.log_evidence,
        "eq 5.3": result.log_eq_5_3,
        "MacKay σ_logμ": result.mackay.log_mu,
        "MacKay σ_logζ": result.mackay.log_zeta,
        "Hessian σ_logμ": result.hessian.log_mu,
        "Hessian σ_logζ": result.hessian.log_zeta,
        "correlation": result.hessian.correlation,
        "Hessian's log Occam factor": result.log_occam_factor_hessian,
    }
    errors = {key: float(abs(found[key] / value - 1)) for key, value in exact_level_3(3.0).items()}
    assert max(errors.values()) < 1e-8, errors


def test_the_case_is_as_ill_conditioned_as_said():
    eigenvalues = mp.eigsy(exact_centred_kernel(), eigvals_only=True)
    assert 0 < eigenvalues[1] < np.finfo(float).eps * np.linalg.norm(K)  # the first is the constant vector's zero
    assert 1e10 < (np.linalg.norm(K, 2) + 1e-9) / 1e-9 < 1e11
