"""∫∫ p(D | μ, ζ) p(log μ) p(log ζ) dlog μ dlog ζ for one kernel, to rounding.

With u = log γ, γ = ζ/μ, the integrand at given u is one narrow peak in log μ, integrated by nodes about its mode
(`log_mu`). The integral over u is a trapezoidal rule, which converges faster than any power of its step for a smooth
integrand that dies away at both ends; the step is halved until the answer stands still. All that depends on the data,
log_det and q_1, costs O(N) a value of γ.

The error has three parts: that of the rules; what may lie beyond the γ that can be computed (`cut`); and the rounding δ
of the kernel matrix, which changes the log integrand at given γ by up to ½δ(tr_1 + μq_2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...base.typing import Array
from ...linalg.reduction import FARTHEST, ROUNDING_ERROR, Reduction, largest_log_gamma
from ...priors import LogPrior
from ..log_mu import DEEP_ENOUGH, NEGLIGIBLE, LogMu, log_sum_exp, support_of_log_gamma
from .cut import log_mass_beyond
from .trapezoid import equal_steps, error_after, log_trapezoid

_LOWEST_GAMMA_LAMBDA = 1e-10
_STRIDE = 32  # of log γ, beyond which a range that has died away is not taken up again
_BESIDE_THE_CUT = 1e-3  # of the error of the cut: finer rules are wasted


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
    error: float  # of the rule and of rounding
    tail: float  # what may be missing at the ends of the range of γ that can be computed, over the integral
    rows: GammaRows


def integrate(
    reduction: Reduction, prior_mu: LogPrior, prior_zeta: LogPrior, *, tolerance: float = 1e-9, max_halvings: int = 8
) -> Level2Integral:
    """The integral with its nodes and its error as estimated from the last halvings."""
    low, high = _range_of_log_gamma(reduction, prior_mu, prior_zeta)
    u = equal_steps(low, high, 0.5, 8)
    rows = _rows(reduction, u, prior_mu, prior_zeta)
    value, change, error = log_trapezoid(u, rows.log_integral), np.inf, np.inf
    beyond = log_mass_beyond(reduction, prior_mu, prior_zeta, value)
    for _ in range(max_halvings):
        middle = 0.5 * (u[1:] + u[:-1])
        order = np.argsort(np.concatenate([u, middle]), kind="stable")
        u = np.concatenate([u, middle])[order]
        fresh = _rows(reduction, middle, prior_mu, prior_zeta)
        rows = _Rows(*(np.concatenate(pair)[order] for pair in zip(rows, fresh, strict=True)))
        new = log_trapezoid(u, rows.log_integral)
        error = error_after(abs(new - value), change)
        value, change = new, abs(new - value)
        if error < max(tolerance, _BESIDE_THE_CUT * float(np.logaddexp(0.0, beyond - value))):
            break
    step = float(u[1] - u[0])
    log_weights = (rows.log_inner + np.log(step)).ravel()
    keep = log_weights > log_weights.max() - DEEP_ENOUGH
    # an end of the prior's support cuts nothing off
    both = zip((0, -1), support_of_log_gamma(prior_mu, prior_zeta), strict=True)
    open_ends = [rows.log_integral[i] for i, edge in both if not np.isclose(u[i], edge)]
    ends = np.exp(max(open_ends, default=-np.inf) - rows.log_integral.max())
    tail = float(ends) + float(np.exp(min(beyond - value, 700.0)))
    best = u[[int(np.argmax(rows.log_integral))]]
    error += _rounding(reduction, u, rows) + float(LogMu.of(reduction, best, prior_mu, prior_zeta).rule_error()[0])
    log_mu = rows.log_mu.ravel()
    log_zeta = (rows.log_mu + u[:, None]).ravel()
    kept = GammaRows(u, rows.log_integral, rows.log_q1)
    return Level2Integral(log_mu[keep], log_zeta[keep], log_weights[keep], value, error, tail, kept)


class _Rows(NamedTuple):
    log_mu: Array  # [G, K]
    log_inner: Array  # [G, K] log integrand plus log inner weights
    log_integral: Array  # [G]
    log_q1: Array  # [G]
    log_det: Array  # [G]


def _rows(reduction: Reduction, u: Array, prior_mu: LogPrior, prior_zeta: LogPrior) -> _Rows:
    log_mu = LogMu.of(reduction, u, prior_mu, prior_zeta)
    m, log_inner = log_mu.nodes()
    return _Rows(m, log_inner, log_sum_exp(log_inner), np.log(log_mu.q1), log_mu.log_det)


def _rounding(reduction: Reduction, u: Array, rows: _Rows) -> float:
    """The mean of ½δ(tr_1 + μq_2) over the posterior; directions of known zeros have no rounding."""
    finite = np.isfinite(rows.log_integral)
    top = float(rows.log_integral[finite].max(initial=-np.inf))
    share, gamma = np.exp(rows.log_integral - top), np.exp(u)
    tr1 = np.maximum(-np.gradient(rows.log_det, u) - reduction.n_zeros, 0.0) * gamma
    q2 = np.maximum(np.gradient(np.exp(rows.log_q1), u) * gamma - reduction.within * gamma**2, 0.0)
    mu = np.exp(log_sum_exp(rows.log_inner + rows.log_mu) - np.where(finite, rows.log_integral, 0.0))
    noise = 0.5 * ROUNDING_ERROR * reduction.kernel_norm * (tr1 + mu * q2)
    sums = ROUNDING_ERROR * reduction.n * float(np.abs(u).max())  # of logarithms, which are of the size of u each
    return sums + float(np.sum(share * np.minimum(noise, 1e6)) / share.sum()) if finite.any() else sums


def _range_of_log_gamma(reduction: Reduction, prior_mu: LogPrior, prior_zeta: LogPrior) -> tuple[float, float]:
    """Where the integrand is within 36 nats of its maximum, and γ can be computed and is in the prior's support."""
    lowest, highest = support_of_log_gamma(prior_mu, prior_zeta)
    high = min(np.log(reduction.gamma_max), highest)
    low = max(np.log(_LOWEST_GAMMA_LAMBDA / reduction.lambda_max) - 40.0, lowest)
    low = min(low, high - (1.0 if np.isfinite(lowest) else 100.0))
    u = equal_steps(low, high, 1.0)  # a peak between two of them is still seen from both

    def heights(more: Array) -> Array:
        return LogMu.of(reduction, more, prior_mu, prior_zeta).log_height()

    scan = u, heights(u)
    scan = _taken_on(*scan, min(largest_log_gamma(reduction), highest), 1.0, heights)
    down = _taken_on(scan[0][::-1], scan[1][::-1], max(-FARTHEST, lowest), -1.0, heights)
    u, values = down[0][::-1], down[1][::-1]
    inside = np.flatnonzero(values > np.nanmax(values) - NEGLIGIBLE)
    return float(u[max(inside[0] - 1, 0)]), float(u[min(inside[-1] + 1, len(u) - 1)])


def _taken_on(
    u: Array, values: Array, last: float, sign: float, heights: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """A scan that goes on behind its last value, up or down, until it has died away or come to an end."""
    while sign * (last - u[-1]) > 0.0:
        more = np.linspace(u[-1], u[-1] + sign * min(_STRIDE, abs(last - u[-1])), _STRIDE + 1)[1:]
        found = heights(more)
        if not found.max() >= np.nanmax(values) - NEGLIGIBLE:
            break
        u, values = np.append(u, more), np.append(values, found)
    return u, values
