"""Log μ at given γ and kernel: its integral and its quantiles.

With m = log μ and u = log γ, the posterior at given u and kernel is

    f(m) = exp{½[(N−1)(m − log 2π) − e^m q_1 − log_det − log N]} p_μ(m) p_ζ(m + u)

one peak, whose integral is taken by Gauss–Legendre nodes between the points where it has fallen by 25 nats. A quantile
solves Φ⁻¹(C(m)) = ε for the distribution function C. The left side is nearly a straight line in m, so Newton's steps
are few; a bracket keeps them safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri

from ..base.typing import Array
from ..priors import LogPrior
from .rules.level2 import log_integrand, peak, support_of_log_mu

_DEPTH = 25.0  # nats below the peak at which the tails are cut
_FARTHEST = 60.0  # widths from the mode, where a tail falls slower than any that can be integrated
_MOST_STEPS = 60
# Where the data are few, the left tail falls as e^{(N−1)m/2} only, and the skewed peak needs more nodes. For smooth
# priors either rule is right to 1e-7.
_FEW_DATA = 20
_LEGENDRE = np.polynomial.legendre.leggauss(24)
_LEGENDRE_FEW = np.polynomial.legendre.leggauss(40)


class Span(NamedTuple):
    """Where the peak lies: its mode, its width there, and the points where it has fallen to nothing, each (M,)."""

    mode: Array
    width: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class LogMu:
    """The posterior of log μ at many (u, kernel) at once.

    Parameters
    ----------
    n : int
        Number of data points N.
    u, log_det, q1 : arrays of shape (M,)
        log γ, and the sums of the spectrum there.
    prior_mu, prior_zeta : LogPrior
    """

    n: int
    u: Array
    log_det: Array
    q1: Array
    prior_mu: LogPrior
    prior_zeta: LogPrior

    def log_density(self, m: Array) -> Array:
        """Log f at m of shape (M,) or (M, K): log p(D | μ, ζ) plus the log priors of μ and ζ."""
        columns = [c if m.ndim == 1 else c[:, None] for c in (self.log_det, self.q1, self.u)]
        return log_integrand(self.n, columns[0], columns[1], columns[2], m, self.prior_mu, self.prior_zeta)

    def log_integral(self) -> Array:
        """Log ∫ f dm, of shape (M,): log p(D | γ, kernel) with the prior of ζ in it; −inf off the support."""
        span = self._span()
        return self._log_integral(span.low, span.high)

    def quantile(self, epsilon: Array) -> Array:
        """The m below which lies the share Φ(ε) of f, for ε of shape (M,)."""
        mode, width, low, high = self._span()
        total = self._log_integral(low, high)
        below, above = low, high
        margin = 1e-3 * (high - low)
        m = np.clip(mode + epsilon * width, low + margin, high - margin)
        for _ in range(_MOST_STEPS):
            share = np.exp(self._log_integral(low, m) - total)
            normal = ndtri(np.clip(share, 1e-300, 1.0 - 1e-16))
            gap = normal - epsilon
            below, above = np.where(gap < 0.0, m, below), np.where(gap > 0.0, m, above)
            log_slope = self.log_density(m) - total + 0.5 * (normal**2 + np.log(2.0 * np.pi))
            new = m - gap * np.exp(np.minimum(-log_slope, 300.0))
            new = np.where((new > below) & (new < above), new, 0.5 * (below + above))
            new = np.where(np.abs(gap) < 1e-12, m, new)
            moved = np.abs(new - m) / width
            m = new
            if not np.any(moved > 1e-7):
                break
        return np.asarray(m)

    def _log_integral(self, low: Array, high: Array) -> Array:
        nodes, weights = _LEGENDRE if self.n > _FEW_DATA else _LEGENDRE_FEW
        half = 0.5 * (high - low)
        m = 0.5 * (low + high)[:, None] + half[:, None] * nodes
        with np.errstate(divide="ignore"):
            return np.asarray(logsumexp(self.log_density(m) + np.log(weights), axis=1) + np.log(half))

    def _span(self) -> Span:
        mode, width = peak(self.n, self.q1, self.u, self.prior_mu, self.prior_zeta)
        lowest, highest = support_of_log_mu(self.u, self.prior_mu, self.prior_zeta)
        low = np.maximum(self._fallen(mode, width, -1.0), lowest)
        high = np.minimum(self._fallen(mode, width, 1.0), highest)
        return Span(mode, width, low, np.maximum(high, low))

    def _fallen(self, mode: Array, width: Array, side: float) -> Array:
        """The point on one side of the mode where log f is 25 nats lower; supports have no say in it."""
        slope, precision = side * self._slope(mode), width**-2.0  # the slope is zero but at an edge of the support
        m = mode + side * (slope + np.sqrt(slope**2 + 2.0 * _DEPTH * precision)) / precision  # of a parabola
        target = self._without_edges(mode) - _DEPTH
        for _ in range(6):
            outward = side * self._slope(m)
            distance = side * (m - mode) + (target - self._without_edges(m)) / np.minimum(outward, -1e-3 / width)
            m = mode + side * np.clip(distance, 0.0, _FARTHEST * width)
        return m

    def _slope(self, m: Array) -> Array:
        own = self.prior_mu.gradient(m) + self.prior_zeta.gradient(m + self.u)
        return np.asarray(0.5 * (self.n - 1) - 0.5 * np.exp(m) * self.q1 + own)

    def _without_edges(self, m: Array) -> Array:
        """Log f but for constants, its priors outside their supports as at the edge."""
        prior = self.prior_mu.log_density(np.clip(m, *self.prior_mu.support))
        prior = prior + self.prior_zeta.log_density(np.clip(m + self.u, *self.prior_zeta.support))
        return np.asarray(0.5 * ((self.n - 1) * m - np.exp(m) * self.q1) + prior)
