"""∫∫ p(D | μ, ζ) p(log μ) p(log ζ) dlog μ dlog ζ for one kernel, to rounding.

With γ = ζ/μ and u = log γ, m = log μ, the integrand at given u is exp[½(N−1)m − ½e^m q_1(γ)] times the priors: one
narrow peak in m, integrated by Gauss–Legendre nodes about its mode. The integral over u is a trapezoidal rule, which
converges faster than any power of its step for a smooth integrand that dies away at both ends; the step is halved until
the answer stands still. All that depends on the data, log_det and q_1, costs O(N) a value of γ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base.typing import Array
from ...linalg.spectrum import Reduction
from ...priors import LogPrior
from .convergence import error_after

_INNER = 32
_INNER_SPAN = 8.5  # standard deviations of the peak in log μ
_FEW = 40  # points; with fewer the peak in log μ is wide and skew
_LEGENDRE = np.polynomial.legendre.leggauss(_INNER)
_LEGENDRE_OF_FEW = np.polynomial.legendre.leggauss(3 * _INNER)
_NEGLIGIBLE = 36.0  # nats below the maximum
_LOWEST_GAMMA_LAMBDA = 1e-10


class GammaRows(NamedTuple):
    """The integrand over log γ, with log μ integrated out, on a grid of equal steps; each of shape (G,)."""

    log_gamma: Array
    log_density: Array
    log_q1: Array


class Level2Integral(NamedTuple):
    """Nodes (log μ, log ζ) with log weights that sum to the integral."""

    log_mu: Array
    log_zeta: Array
    log_weights: Array
    log_z: float
    error: float
    tail: float  # share of the integral at the ends of the range of γ that can be computed
    rows: GammaRows


def integrate(
    reduction: Reduction, prior_mu: LogPrior, prior_zeta: LogPrior, *, tolerance: float = 1e-9, max_halvings: int = 8
) -> Level2Integral:
    """The integral with its nodes and its error as estimated from the last halvings."""
    low, high = _range_of_log_gamma(reduction, prior_mu, prior_zeta)
    u = np.linspace(low, high, max(int(np.ceil((high - low) / 0.5)), 8) + 1)
    rows = _rows(reduction, u, prior_mu, prior_zeta)
    value, change, error = _trapezoid(u, rows.log_integral), np.inf, np.inf
    for _ in range(max_halvings):
        middle = 0.5 * (u[1:] + u[:-1])
        order = np.argsort(np.concatenate([u, middle]), kind="stable")
        u = np.concatenate([u, middle])[order]
        fresh = _rows(reduction, middle, prior_mu, prior_zeta)
        rows = _Rows(*(np.concatenate(pair)[order] for pair in zip(rows, fresh, strict=True)))
        new = _trapezoid(u, rows.log_integral)
        error = error_after(abs(new - value), change)
        value, change = new, abs(new - value)
        if error < tolerance:
            break
    step = float(u[1] - u[0])
    log_weights = (rows.log_inner + np.log(step)).ravel()
    keep = log_weights > log_weights.max() - _NEGLIGIBLE
    # an end of the prior's support cuts nothing off
    open_ends = [
        value
        for value, end, own in (
            (rows.log_integral[0], u[0], prior_zeta.support[0] - prior_mu.support[1]),
            (rows.log_integral[-1], u[-1], prior_zeta.support[1] - prior_mu.support[0]),
        )
        if not np.isclose(end, own)
    ]
    ends = np.exp(max(open_ends, default=-np.inf) - rows.log_integral.max())
    log_mu = rows.log_mu.ravel()
    log_zeta = (rows.log_mu + u[:, None]).ravel()
    kept = GammaRows(u, rows.log_integral, rows.log_q1)
    return Level2Integral(log_mu[keep], log_zeta[keep], log_weights[keep], value, error, float(ends), kept)


class _Rows(NamedTuple):
    log_mu: Array  # [G, K]
    log_inner: Array  # [G, K] log integrand plus log inner weights
    log_integral: Array  # [G]
    log_q1: Array  # [G]


def _rows(reduction: Reduction, u: Array, prior_mu: LogPrior, prior_zeta: LogPrior) -> _Rows:
    n = reduction.n
    log_det, q1 = reduction.values(np.exp(u))
    mode, width = peak(n, q1, u, prior_mu, prior_zeta)
    lowest, highest = support_of_log_mu(u, prior_mu, prior_zeta)
    # below its peak the density of log μ falls like e^{½(N−1)m}: slowly, for a handful of points
    below = np.maximum(_INNER_SPAN * width, 2.0 * _NEGLIGIBLE / (n - 1))
    low, high = np.maximum(mode - below, lowest), np.minimum(mode + _INNER_SPAN * width, highest)
    nodes, weights = _LEGENDRE if n > _FEW else _LEGENDRE_OF_FEW
    half = 0.5 * np.maximum(high - low, 0.0)
    m = 0.5 * (low + high)[:, None] + half[:, None] * nodes
    args = (log_det[:, None], q1[:, None], u[:, None], m)
    with np.errstate(divide="ignore"):
        log_inner = log_integrand(n, *args, prior_mu, prior_zeta) + np.log(weights) + np.log(half)[:, None]
    return _Rows(m, log_inner, log_sum_exp(log_inner), np.log(q1))


def log_integrand(
    n: int, log_det: Array, q1: Array, u: Array, m: Array, prior_mu: LogPrior, prior_zeta: LogPrior
) -> Array:
    """The log integrand, log p(D | μ, ζ) + log p(log μ) + log p(log ζ), at log μ = m and log γ = u."""
    fit = 0.5 * ((n - 1) * (m - np.log(2.0 * np.pi)) - np.exp(m) * q1 - log_det - np.log(n))
    return np.asarray(fit + prior_mu.log_density(m) + prior_zeta.log_density(m + u))


def peak(n: int, q1: Array, u: Array, prior_mu: LogPrior, prior_zeta: LogPrior) -> tuple[Array, Array]:
    """Mode and width in log μ at each u, by Newton steps on a log-concave function."""
    low, high = support_of_log_mu(u, prior_mu, prior_zeta)
    m = np.log((n - 1) / q1)
    for _ in range(60):
        slope = 0.5 * (n - 1) - 0.5 * np.exp(m) * q1 + prior_mu.gradient(m) + prior_zeta.gradient(m + u)
        curvature = 0.5 * np.exp(m) * q1 + np.maximum(prior_mu.curvature(m) + prior_zeta.curvature(m + u), 0.0)
        step = np.clip(slope / curvature, -1.0, 1.0)
        m = m + step
        if np.abs(step).max() < 1e-3:  # Newton: the next step would be its square
            break
    m = np.clip(m, low, high)
    width = 1.0 / np.sqrt(0.5 * np.exp(m) * q1 + np.maximum(prior_mu.curvature(m) + prior_zeta.curvature(m + u), 0.0))
    # where the support ends before the peak, the density falls from its edge by the slope there
    slope = np.abs(0.5 * (n - 1) - 0.5 * np.exp(m) * q1 + prior_mu.gradient(m) + prior_zeta.gradient(m + u))
    return m, np.minimum(width, _NEGLIGIBLE / (_INNER_SPAN * np.maximum(slope, 1e-300)))


def support_of_log_mu(u: Array, prior_mu: LogPrior, prior_zeta: LogPrior) -> tuple[Array, Array]:
    """Bounds of log μ at log γ = u: its own support, and that of log ζ = log μ + u."""
    low = np.maximum(prior_mu.support[0], prior_zeta.support[0] - u)
    high = np.minimum(prior_mu.support[1], prior_zeta.support[1] - u)
    return low, np.maximum(high, low)


def _trapezoid(u: Array, log_integral: Array) -> float:
    log_weights = np.full(len(u), np.log(u[1] - u[0]))
    log_weights[[0, -1]] -= np.log(2.0)
    return float(log_sum_exp(log_integral + log_weights))


def log_sum_exp(x: Array) -> Array:
    """Log Σ exp over the last axis; SciPy's does more, at three times the cost for arrays of this size."""
    top = x.max(axis=-1)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(np.exp(x - top[..., None]).sum(axis=-1)))


def _range_of_log_gamma(reduction: Reduction, prior_mu: LogPrior, prior_zeta: LogPrior) -> tuple[float, float]:
    """Where the integrand is within 36 nats of its maximum, and γ can be computed and is in the prior's support."""
    top = np.log(reduction.gamma_max)
    low = max(np.log(_LOWEST_GAMMA_LAMBDA / reduction.lambda_max) - 40.0, prior_zeta.support[0] - prior_mu.support[1])
    high = min(top, prior_zeta.support[1] - prior_mu.support[0])
    low = min(low, high - 1.0) if np.isfinite(prior_zeta.support[0] - prior_mu.support[1]) else min(low, high - 100.0)
    u = np.linspace(low, high, int(np.ceil(high - low)) + 1)  # a peak between two of them is still seen from both
    log_det, q1 = reduction.values(np.exp(u))
    m, width = peak(reduction.n, q1, u, prior_mu, prior_zeta)
    values = log_integrand(reduction.n, log_det, q1, u, m, prior_mu, prior_zeta) + np.log(width)
    inside = np.flatnonzero(values > np.nanmax(values) - _NEGLIGIBLE)
    return float(u[max(inside[0] - 1, 0)]), float(u[min(inside[-1] + 1, len(u) - 1)])
