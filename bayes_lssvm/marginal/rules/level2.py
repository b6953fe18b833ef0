"""∫∫ p(D | μ, ζ) p(log μ) p(log ζ) dlog μ dlog ζ for one kernel or many, to rounding.

With u = log γ, γ = ζ/μ, the integrand at given u is one narrow peak in log μ, integrated by nodes about its mode
(`log_mu`). The integral over u is a trapezoidal rule, which converges faster than any power of its step for a smooth
integrand that dies away at both ends; the step is halved until the answer stands still. All that depends on the data,
log_det and q_1, costs O(N) a value of γ; the rest is done for all kernels together, because most of it would be the
calling of functions.

The error has three parts: that of the rules; what may lie beyond the γ that can be computed (`cut`); and the rounding δ
of the kernel matrix, which changes the log integrand at given γ by up to ½δ(tr_1 + μq_2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base.typing import AnyArray, Array
from ...linalg.reduction import FARTHEST, ROUNDING_ERROR, Reduction, largest_log_gamma
from ...priors import LogPrior
from ..log_mu import DEEP_ENOUGH, NEGLIGIBLE, LogMu, log_sum_exp, support_of_log_gamma
from .cut import log_mass_beyond
from .trapezoid import equal_steps, error_after, log_trapezoid

_LOWEST_GAMMA_LAMBDA = 1e-10
_STRIDE = 32  # of log γ, beyond which a range that has died away is not taken up again
_PROMISED = 0.5  # of the tolerance: a square of changes may say much less, and be right by accident
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
    rounding: float = 0.0  # what the error has of the rounding of the kernel matrix, estimated from its norm


Range = tuple[float, float]


def integrate(
    reduction: Reduction, prior_mu: LogPrior, prior_zeta: LogPrior, *, tolerance: float = 1e-9, max_halvings: int = 8
) -> Level2Integral:
    """The integral with its nodes and its error as estimated from the last halvings."""
    found = integrate_all([reduction], prior_mu, prior_zeta, tolerance=tolerance, max_halvings=max_halvings)[0]
    return found._replace(tail=found.tail + share_beyond(reduction, prior_mu, prior_zeta, found.log_z))


def share_beyond(reduction: Reduction, prior_mu: LogPrior, prior_zeta: LogPrior, log_z: float) -> float:
    """The most that may lie beyond the γ that can be computed, over an integral that was found."""
    return float(np.exp(min(log_mass_beyond(reduction, prior_mu, prior_zeta, log_z) - log_z, 700.0)))


def integrate_all(
    reductions: Sequence[Reduction],
    prior_mu: LogPrior,
    prior_zeta: LogPrior,
    near: Sequence[Range | None] | None = None,
    *,
    tolerance: float = 1e-9,
    max_halvings: int = 8,
) -> list[Level2Integral]:
    """The integrals of several kernels on the same data; their tails are without what `share_beyond` says.

    `near` has ranges of log γ where the integrands are expected, which are checked, or None.
    """
    kernels = _Kernels(tuple(reductions), prior_mu, prior_zeta)
    enough = [tolerance] * len(reductions)
    grids = [equal_steps(*ends, 0.5, 8) for ends in _ranges(kernels, near or [None] * len(reductions))]
    rules = [_Rule.of(u, rows) for u, rows in zip(grids, kernels.rows(range(len(grids)), grids), strict=True)]
    active = list(range(len(rules)))
    for _ in range(max_halvings):
        middles = [rules[k].middles for k in active]
        for k, rows in zip(active, kernels.rows(active, middles), strict=True):
            rules[k] = rules[k].halved(rows)
        active = [k for k in active if not rules[k].error < enough[k]]
        for k in active:
            if rules[k].cut and enough[k] == tolerance:  # no rule can be finer than what is known of the rest
                beyond = share_beyond(kernels.reductions[k], prior_mu, prior_zeta, rules[k].value)
                enough[k] = max(tolerance, _BESIDE_THE_CUT * float(np.log1p(beyond)))
        if not active:
            break
    return _finished(kernels, rules, _PROMISED * tolerance)


class _Rows(NamedTuple):
    log_mu: Array  # [G, K]
    log_inner: Array  # [G, K] log integrand plus log inner weights
    log_integral: Array  # [G]
    log_q1: Array  # [G]
    log_det: Array  # [G]


class _Rule(NamedTuple):
    """A trapezoidal rule over log γ: its grid, the rows there, its value, its last change and its error."""

    u: Array
    rows: _Rows
    value: float
    change: float
    error: float

    @classmethod
    def of(cls, u: Array, rows: _Rows) -> _Rule:
        return cls(u, rows, log_trapezoid(u, rows.log_integral), np.inf, np.inf)

    @property
    def cut(self) -> bool:
        """Whether the integrand has not died away at the largest γ."""
        return bool(self.rows.log_integral[-1] > self.rows.log_integral.max() - NEGLIGIBLE)

    @property
    def middles(self) -> Array:
        return np.asarray(0.5 * (self.u[1:] + self.u[:-1]))

    def halved(self, fresh: _Rows) -> _Rule:
        """The rule of half the step, from the rows at the middles."""
        u = _interleaved(self.u, self.middles)
        rows = _Rows(*(_interleaved(*pair) for pair in zip(self.rows, fresh, strict=True)))
        value = log_trapezoid(u, rows.log_integral)
        change = abs(value - self.value)
        return _Rule(u, rows, value, change, error_after(change, self.change))


def _interleaved(own: Array, between: Array) -> Array:
    whole = np.empty((len(own) + len(between), *own.shape[1:]))
    whole[::2], whole[1::2] = own, between
    return whole


class _Kernels(NamedTuple):
    """Reductions on the same data, with what is computed for all of them together."""

    reductions: tuple[Reduction, ...]
    prior_mu: LogPrior
    prior_zeta: LogPrior

    def log_mu(self, which: Sequence[int], us: Sequence[Array]) -> tuple[LogMu, AnyArray]:
        """The posteriors of log μ at the values us[i] of log γ of kernel which[i], and where each kernel ends."""
        pairs = [self.reductions[k].values(np.exp(u)) for k, u in zip(which, us, strict=True)]
        log_det, q1 = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        first, ends = self.reductions[0], np.cumsum([len(u) for u in us])[:-1]
        priors = self.prior_mu, self.prior_zeta
        return LogMu(first.n, np.concatenate(us), log_det, q1, *priors, first.log_constant), ends

    def heights(self, which: Sequence[int], us: Sequence[Array]) -> list[Array]:
        found, ends = self.log_mu(which, us)
        return np.split(found.log_height(), ends)

    def rows(self, which: Sequence[int], us: Sequence[Array]) -> list[_Rows]:
        found, ends = self.log_mu(which, us)
        m, log_inner = found.nodes()
        columns = (m, log_inner, log_sum_exp(log_inner), np.log(found.q1), found.log_det)
        return [_Rows(*parts) for parts in zip(*(np.split(column, ends) for column in columns), strict=True)]


def _finished(kernels: _Kernels, rules: Sequence[_Rule], least: float) -> list[Level2Integral]:
    best = [rule.u[[int(np.argmax(rule.rows.log_integral))]] for rule in rules]
    inner_errors = kernels.log_mu(range(len(rules)), best)[0].rule_error()
    edges = support_of_log_gamma(kernels.prior_mu, kernels.prior_zeta)
    found = []
    for reduction, rule, inner in zip(kernels.reductions, rules, inner_errors.tolist(), strict=True):
        u, rows = rule.u, rule.rows
        log_weights = (rows.log_inner + np.log(u[1] - u[0])).ravel()
        keep = log_weights > log_weights.max() - DEEP_ENOUGH
        # an end of the prior's support cuts nothing off
        open_ends = [rows.log_integral[i] for i, edge in zip((0, -1), edges, strict=True) if not _close(u[i], edge)]
        tail = float(np.exp(max(open_ends, default=-np.inf) - rows.log_integral.max()))
        rounding = _rounding(reduction, u, rows)
        error = max(rule.error, min(rule.change, least)) + rounding + inner
        log_mu = rows.log_mu.ravel()[keep]
        log_zeta = (rows.log_mu + u[:, None]).ravel()[keep]
        kept = GammaRows(u, rows.log_integral, rows.log_q1)
        found.append(Level2Integral(log_mu, log_zeta, log_weights[keep], rule.value, error, tail, kept, rounding))
    return found


def _close(a: float, b: float) -> bool:
    return bool(abs(a - b) <= 1e-8 + 1e-5 * abs(b)) if np.isfinite(b) else False


def _rounding(reduction: Reduction, u: Array, rows: _Rows) -> float:
    """The mean of ½δ(tr_1 + μq_2) over the posterior; directions of known zeros have no rounding."""
    finite = np.isfinite(rows.log_integral)
    top = float(rows.log_integral[finite].max(initial=-np.inf))
    share = np.exp(rows.log_integral - top)
    tr1, q2 = _tr1_and_q2(reduction, u, rows)
    mu = np.exp(log_sum_exp(rows.log_inner + rows.log_mu) - np.where(finite, rows.log_integral, 0.0))
    noise = 0.5 * ROUNDING_ERROR * reduction.kernel_norm * (tr1 + mu * q2)
    sums = ROUNDING_ERROR * reduction.n * float(np.abs(u).max())  # of logarithms, which are of the size of u each
    return sums + float(np.sum(share * np.minimum(noise, 1e6)) / share.sum()) if finite.any() else sums


def _tr1_and_q2(reduction: Reduction, u: Array, rows: _Rows) -> tuple[Array, Array]:
    """tr_1 and q_2 without the known zeros, from slopes of log_det and q_1 as far as these have digits.

    Beyond γ_max the slopes may be lost in rounding, as s/λ is below it. All eigenvalues stand far above s there, so
    that tr_1 and q_2 are what they are at γ_max.
    """
    gamma, step = np.exp(u), float(u[1] - u[0])
    tr1 = (-_slope(rows.log_det, step) - reduction.n_zeros) * gamma
    q2 = _slope(np.exp(rows.log_q1) - reduction.within * gamma, step) * gamma
    beyond = gamma > reduction.gamma_max
    if beyond.any():
        last = reduction.gamma_max
        end = reduction.sums(np.array([last]))
        tr1[beyond] = end.tr1[0] - reduction.n_zeros * last
        q2[beyond] = (end.q2[0] / last - reduction.within * last) * last  # last² may be beyond doubles
    return np.maximum(tr1, 0.0), np.maximum(q2, 0.0)


def _slope(values: Array, step: float) -> Array:
    """The derivative on a grid of equal steps; `np.gradient`, but for what that is ready for."""
    slope = np.empty_like(values)
    slope[1:-1] = (values[2:] - values[:-2]) / (2.0 * step)
    slope[[0, -1]] = (values[[1, -1]] - values[[0, -2]]) / step
    return slope


# --- where the integrand is -------------------------------------------------------------------------------------------


class _Scan(NamedTuple):
    """Heights of the integrand on a grid of log γ."""

    u: Array
    heights: Array

    @property
    def ends(self) -> Range:
        """Where the integrand is within 36 nats of its maximum, and a step more on either side."""
        inside = np.flatnonzero(self.heights > np.nanmax(self.heights) - NEGLIGIBLE)
        return float(self.u[max(inside[0] - 1, 0)]), float(self.u[min(inside[-1] + 1, len(self.u) - 1)])

    @property
    def dead_at_both_ends(self) -> bool:
        return bool(max(self.heights[0], self.heights[-1]) < np.nanmax(self.heights) - NEGLIGIBLE)


def _ranges(kernels: _Kernels, near: Sequence[Range | None]) -> list[Range]:
    """Where each integrand is, and γ can be computed and is in the prior's support."""
    whole = [_computable(reduction, kernels.prior_mu, kernels.prior_zeta) for reduction in kernels.reductions]
    found: list[Range | None] = [None] * len(near)
    hinted = {
        k: (max(ends[0], whole[k][0]), min(ends[1], whole[k][1])) for k, ends in enumerate(near) if ends is not None
    }
    hinted = {k: ends for k, ends in hinted.items() if ends[0] < ends[1]}
    if hinted:
        scans = _scanned(kernels, list(hinted), list(hinted.values()))
        for k, scan in zip(hinted, scans, strict=True):
            found[k] = scan.ends if scan.dead_at_both_ends else None
    left = [k for k, ends in enumerate(found) if ends is None]
    if left:
        scans = _scanned(kernels, left, [whole[k] for k in left])
        for k, ends in zip(left, _taken_on(kernels, left, scans), strict=True):
            found[k] = ends
    return [ends for ends in found if ends is not None]


def _computable(reduction: Reduction, prior_mu: LogPrior, prior_zeta: LogPrior) -> Range:
    lowest, highest = support_of_log_gamma(prior_mu, prior_zeta)
    high = min(float(np.log(reduction.gamma_max)), highest)
    low = max(float(np.log(_LOWEST_GAMMA_LAMBDA / reduction.lambda_max)) - 40.0, lowest)
    return min(low, high - (1.0 if np.isfinite(lowest) else 100.0)), high


def _scanned(kernels: _Kernels, which: Sequence[int], ranges: Sequence[Range]) -> list[_Scan]:
    us = [equal_steps(*ends, 1.0) for ends in ranges]  # a peak between two of them is still seen from both
    return [_Scan(*pair) for pair in zip(us, kernels.heights(which, us), strict=True)]


def _taken_on(kernels: _Kernels, which: Sequence[int], scans: Sequence[_Scan]) -> list[Range]:
    """Scans that go on behind their last values, up and down, until they have died away or come to an end."""
    lowest, highest = support_of_log_gamma(kernels.prior_mu, kernels.prior_zeta)
    tops = [min(largest_log_gamma(kernels.reductions[k]), highest) for k in which]
    found = _continued(kernels, which, scans, tops, 1.0)
    down = [_Scan(scan.u[::-1], scan.heights[::-1]) for scan in found]
    down = _continued(kernels, which, down, [max(-FARTHEST, lowest)] * len(which), -1.0)
    return [_Scan(scan.u[::-1], scan.heights[::-1]).ends for scan in down]


def _continued(
    kernels: _Kernels, which: Sequence[int], scans: Sequence[_Scan], lasts: Sequence[float], sign: float
) -> list[_Scan]:
    found = list(scans)
    active = [i for i in range(len(found)) if sign * (lasts[i] - found[i].u[-1]) > 0.0]
    while active:
        starts = [(found[i].u[-1], min(_STRIDE, abs(lasts[i] - found[i].u[-1]))) for i in active]
        more = [np.linspace(start, start + sign * length, _STRIDE + 1)[1:] for start, length in starts]
        alive = []
        for i, u, heights in zip(active, more, kernels.heights([which[i] for i in active], more), strict=True):
            if heights.max() >= np.nanmax(found[i].heights) - NEGLIGIBLE:
                found[i] = _Scan(np.append(found[i].u, u), np.append(found[i].heights, heights))
                if sign * (lasts[i] - u[-1]) > 0.0:
                    alive.append(i)
        active = alive
    return found
