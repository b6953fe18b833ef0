"""The evidence of a reference to rounding, where all parameters but one have a Gaussian integral.

For a regression y ~ Normal(Xβ, σ²I) with QR = X, s = Qᵀy and r² = |y − Qs|², the integral over β given σ is

    (2πσ²)^{−(N−d)/2} e^{−r²/2σ²} / |det R|                             for a flat prior,
    (2πσ²)^{−(N−d)/2} e^{−r²/2σ²} Normal(s; 0, σ²I + v²RRᵀ)             for β ~ Normal(0, v²I).

For the eight schools y_j ~ Normal(μ, s_j² + τ²) once θ is integrated out, and μ has a normal prior. What is left, over
log σ or log τ, is a smooth function that decays at both ends: the trapezoidal rule is then exact to rounding.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from scipy.stats import halfcauchy, halfnorm

from bayes_lssvm.base.typing import Array
from models.reference.regression import LinearRegression

_NODES = 4001
_WIDTH = 14.0  # of the range of log σ on either side of its middle, in standard deviations
_RANGE_OF_TAU = (-60.0, 60.0)  # of log τ: the density falls as τ towards 0 and as τ^{−9} beyond the data


def regression(program: LinearRegression, X: Array, y: Array) -> float:
    """Log evidence of a regression."""
    n, d = X.shape
    Q, R = np.linalg.qr(X)
    s = Q.T @ y
    rest = float(np.sum((y - Q @ s) ** 2))
    log_sigma = 0.5 * np.log(rest / (n - d)) + np.linspace(-_WIDTH, _WIDTH, _NODES) / np.sqrt(2.0 * (n - d))
    variance = np.exp(2.0 * log_sigma)
    values = -0.5 * (n - d) * np.log(2.0 * np.pi * variance) - 0.5 * rest / variance
    if program.coefficient_sd is None:
        values -= float(np.sum(np.log(np.abs(np.diag(R)))))
    else:
        eigenvalues, U = np.linalg.eigh(R @ R.T)
        spread = variance[:, None] + program.coefficient_sd**2 * eigenvalues
        values -= 0.5 * np.sum(np.log(2.0 * np.pi * spread) + (U.T @ s) ** 2 / spread, axis=1)
    return _trapezoid(values + _log_noise_prior(program, np.exp(log_sigma)), log_sigma)


def autoregression(before: Array, y: Array) -> float:
    """Log evidence of `models.reference.series.autoregression`, a regression on a constant and what came before."""
    program = LinearRegression(coefficient_sd=10.0, noise="half-cauchy", noise_scale=2.5)
    return regression(program, np.column_stack([np.ones(len(y)), before]), y)


def eight_schools(y: Array, sd: Array) -> float:
    """Log evidence of `models.reference.small.eight_schools`."""
    log_tau = np.linspace(*_RANGE_OF_TAU, _NODES)
    precision = 1.0 / (sd**2 + np.exp(2.0 * log_tau)[:, None])  # [nodes, schools]
    total = precision.sum(axis=1) + 1.0 / 25.0  # of μ given τ; its prior is Normal(0, 5²)
    mean = (precision @ y) / total
    values = 0.5 * np.sum(np.log(precision / (2.0 * np.pi)) - precision * y**2, axis=1)
    values += 0.5 * total * mean**2 - 0.5 * np.log(25.0 * total)
    return _trapezoid(values + halfcauchy.logpdf(np.exp(log_tau), scale=5.0), log_tau)


def _log_noise_prior(program: LinearRegression, sigma: Array) -> Array:
    if program.noise == "flat":
        return np.zeros_like(sigma)
    return {"half-cauchy": halfcauchy, "half-normal": halfnorm}[program.noise].logpdf(sigma, scale=program.noise_scale)


def _trapezoid(log_values: Array, log_scale: Array) -> float:
    """Log ∫ values dσ, by equal steps of log σ; the ends are negligible."""
    return float(logsumexp(log_values + log_scale) + np.log(log_scale[1] - log_scale[0]))
