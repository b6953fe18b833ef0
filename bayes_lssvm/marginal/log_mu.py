"""Log μ at given γ and kernel: its peak, its integral and its quantiles.

With m = log μ and u = log γ, the posterior at given u and kernel is

    f(m) = exp{½[(N−1)(m − log 2π) − e^m q_1 − log_det] + c} p_μ(m) p_ζ(m + u),

c = −½ log N, or −½ log Σw_i + ½ Σ log w_i where rows have weights (`Reduction.log_constant`): one narrow peak,
integrated by Gauss–Legendre nodes about its mode. A quantile solves Φ⁻¹(C(m)) = ε for the distribution function C. The
left side is nearly a straight line in m, so Newton's steps are few; a bracket keeps them safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ..base.typing import Array
from ..linalg.reduction import Reduction
from ..priors import LogPrior

NEGLIGIBLE = 36.0  # nats below a maximum
DEEP_ENOUGH, _SLOWER = 28.0, 3.0  # nats below a maximum: a trillionth; and what is no matter of the priors
_SPAN = 8.5  # standard deviations of the peak
_FEW = 40  # data points; with fewer the peak is wide and skew
_LEGENDRE = np.polynomial.legendre.leggauss(32)
_LEGENDRE_OF_FEW = np.polynomial.legendre.leggauss(96)
_MOST_STEPS = 60
_GRID = 97
_MOST_HALVINGS = 30
_SAFETY = 3.0  # times what more nodes at one γ change


class Peak(NamedTuple):
    """Where f is: its mode, its width there, and the ends between which it is integrated, each of shape (M,)."""

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
    log_constant : float or None
        c; −½ log N by default.
    """

    n: int
    u: Array
    log_det: Array
    q1: Array
    prior_mu: LogPrior
    prior_zeta: LogPrior
    log_constant: float | None = None

    @classmethod
    def of(cls, reduction: Reduction, u: Array, prior_mu: LogPrior, prior_zeta: LogPrior) -> LogMu:
        """The posteriors of one kernel at values u of log γ."""
        log_det, q1 = reduction.values(np.exp(u))
        return cls(reduction.n, u, log_det, q1, prior_mu, prior_zeta, reduction.log_constant)

    def log_density(self, m: Array) -> Array:
        """Log f at m of shape (M,) or (M, K): log p(D | μ, ζ) plus the log priors of μ and ζ."""
        log_det, q1, u = (c if m.ndim == 1 else c[:, None] for c in (self.log_det, self.q1, self.u))
        c = -0.5 * float(np.log(self.n)) if self.log_constant is None else self.log_constant
        fit = 0.5 * ((self.n - 1) * (m - np.log(2.0 * np.pi)) - np.exp(m) * q1 - log_det) + c
        return np.asarray(fit + self.prior_mu.log_density(m) + self.prior_zeta.log_density(m + u))

    @cached_property
    def peak(self) -> Peak:
        """The mode by Newton steps on a log-concave function, and what is round it."""
        lowest, highest = self._support()
        m = np.log((self.n - 1) / self.q1)
        for _ in range(60):
            step = np.clip(self._slope(m) / self._curvature(m), -1.0, 1.0)
            m = m + step
            if np.abs(step).max() < 1e-3:  # Newton: the next step would be its square
                break
        m = np.clip(m, lowest, highest)
        # where the support ends before the peak, the density falls from its edge by the slope there
        steepness = np.maximum(np.abs(self._slope(m)), 1e-300)
        width = np.minimum(1.0 / np.sqrt(self._curvature(m)), NEGLIGIBLE / (_SPAN * steepness))
        # below its peak the density falls like e^{½(N−1)m}: slowly, for a handful of points
        below = np.maximum(_SPAN * width, 2.0 * NEGLIGIBLE / (self.n - 1))
        below = self._deepened(m, below, lowest)
        return Peak(m, width, np.maximum(m - below, lowest), np.minimum(m + _SPAN * width, highest))

    def _deepened(self, m: Array, below: Array, lowest: Array) -> Array:
        """A longer way down where priors far from the data's peak make the density fall more slowly than that."""
        top, own = self.log_density(m), 0.5 * (self.n - 1) * (np.exp(-below) - 1.0 + below)  # as far as data go
        wanted = np.minimum(DEEP_ENOUGH, own - _SLOWER)
        for _ in range(_MOST_STEPS):
            low = np.maximum(m - below, lowest)
            with np.errstate(invalid="ignore"):  # outside a support both are −inf, and there is nothing to deepen
                shallow = (top - self.log_density(low) < wanted) & (low > lowest) & np.isfinite(top)
            if not shallow.any():
                break
            below, wanted = np.where(shallow, 1.3 * below, below), np.where(shallow, DEEP_ENOUGH, wanted)
        return below

    def nodes(self) -> tuple[Array, Array]:
        """Nodes m, and log f plus the logs of their weights, each of shape (M, K); −inf off the support."""
        return self._nodes(self.peak.low, self.peak.high)

    def log_integral(self) -> Array:
        """Log ∫ f dm, of shape (M,): log p(D | γ, kernel) with the prior of ζ in it; −inf off the support."""
        return log_sum_exp(self.nodes()[1])

    def log_height(self) -> Array:
        """Log of the height times the width of f, of shape (M,): its integral, but for a factor of about √2π."""
        return np.asarray(self.log_density(self.peak.mode) + np.log(self.peak.width))

    def rule_error(self) -> Array:
        """What more nodes would change in `log_integral`, of shape (M,); 0 for few data points, which have them."""
        low, high = self.peak.low, self.peak.high
        lowest = self._support()[0]
        low = np.maximum(self.peak.mode - 2.0 * (self.peak.mode - low), lowest)
        finer = log_sum_exp(self._nodes(low, high, _LEGENDRE_OF_FEW)[1])
        return np.asarray(_SAFETY * np.abs(finer - self.log_integral()))

    def quantile(self, epsilon: Array) -> Array:
        """The m below which lies the share Φ(ε) of f, for ε of shape (M,)."""
        mode, width, low, high = self.peak
        total = self.log_integral()
        below, above = low, high
        margin = 1e-3 * (high - low)
        m = np.clip(mode + epsilon * width, low + margin, high - margin)
        for _ in range(_MOST_STEPS):
            share = np.exp(log_sum_exp(self._nodes(low, m)[1]) - total)
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

    def quantile_on_grid(self, q: Array) -> Array:
        """The m below which lies the share q of f, for q of shape (M,), to a thousandth of the width."""
        mode, width, *_ = self.peak
        lowest, highest = self._support()
        low, high = np.maximum(mode - _SPAN * width, lowest), np.minimum(mode + _SPAN * width, highest)
        m = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _GRID)
        logs = self.log_density(m)
        logs -= logs.max(axis=1, keepdims=True)
        density = np.exp(logs, out=logs)
        cumulative = np.cumsum(_cell_masses(density), axis=1)
        total = cumulative[:, -1]
        cell = np.minimum((cumulative < (q * total)[:, None]).sum(axis=1), _GRID - 2)
        i = np.arange(len(q))
        mass = cumulative[i, cell] - np.where(cell > 0, cumulative[i, cell - 1], 0.0)
        wanted = np.clip(q * total - (cumulative[i, cell] - mass), 0.0, mass)
        share = _share_of_cell(wanted, mass, density[i, cell], density[i, cell + 1])
        return np.asarray(m[i, cell] + share * (m[i, cell + 1] - m[i, cell]))

    def _nodes(self, low: Array, high: Array, rule: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        nodes, weights = rule or (_LEGENDRE if self.n > _FEW else _LEGENDRE_OF_FEW)
        half = 0.5 * np.maximum(high - low, 0.0)
        m = 0.5 * (low + high)[:, None] + half[:, None] * nodes
        with np.errstate(divide="ignore"):
            return m, self.log_density(m) + np.log(weights) + np.log(half)[:, None]

    def _support(self) -> tuple[Array, Array]:
        """Bounds of log μ at each u: its own support, and that of log ζ = log μ + u."""
        low = np.maximum(self.prior_mu.support[0], self.prior_zeta.support[0] - self.u)
        high = np.minimum(self.prior_mu.support[1], self.prior_zeta.support[1] - self.u)
        return low, np.maximum(high, low)

    def _slope(self, m: Array) -> Array:
        fit = 0.5 * (self.n - 1) - 0.5 * np.exp(m) * self.q1
        return np.asarray(fit + self.prior_mu.gradient(m) + self.prior_zeta.gradient(m + self.u))

    def _curvature(self, m: Array) -> Array:
        own = self.prior_mu.curvature(m) + self.prior_zeta.curvature(m + self.u)
        return np.asarray(0.5 * np.exp(m) * self.q1 + np.maximum(own, 0.0))


def _cell_masses(density: Array) -> Array:
    """Integrals over each cell of an even grid, in cells, of cubics through densities of shape (M, G)."""
    ends = density[:, 1:] + density[:, :-1]
    masses = 0.5 * ends
    masses[:, 1:-1] += (ends[:, 1:-1] - density[:, :-3] - density[:, 3:]) / 24.0
    return np.maximum(masses, 0.0, out=masses)


def _share_of_cell(wanted: Array, mass: Array, left: Array, right: Array) -> Array:
    """Where in a cell of that mass the wanted part is reached, by Hermite's cubic with the densities as slopes."""
    low, high = np.zeros_like(wanted), np.ones_like(wanted)
    t = np.where(mass > 0.0, wanted / np.maximum(mass, 1e-300), 0.5)
    for _ in range(_MOST_HALVINGS):
        excess = t * (left + t * (3.0 * mass - 2.0 * left - right + t * (left + right - 2.0 * mass))) - wanted
        slope = left + t * (2.0 * (3.0 * mass - 2.0 * left - right) + 3.0 * t * (left + right - 2.0 * mass))
        low, high = np.where(excess < 0.0, t, low), np.where(excess > 0.0, t, high)
        new = t - excess / np.where(slope > 0.0, slope, 1e-300)
        new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
        new = np.where(np.abs(excess) <= 1e-6 * mass, t, new)
        if np.abs(new - t).max(initial=0.0) < 1e-6:
            break
        t = new
    return np.asarray(t)


def support_of_log_gamma(prior_mu: LogPrior, prior_zeta: LogPrior) -> tuple[float, float]:
    """Bounds of log γ = log ζ − log μ under their priors."""
    return prior_zeta.support[0] - prior_mu.support[1], prior_zeta.support[1] - prior_mu.support[0]


def log_sum_exp(x: Array) -> Array:
    """Log Σ exp over the last axis; SciPy's does more, at three times the cost for arrays of this size."""
    top = x.max(axis=-1)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(np.exp(x - top[..., None]).sum(axis=-1)))
