"""Quadrature over μ, ζ and at most one kernel parameter.

The inner integral over (log μ, log ζ) is `rules.level2`; it costs one tridiagonal reduction a kernel. Over the
log of the kernel's parameter a trapezoidal rule is laid where the integrand, relative to its maximum, is not below a
four hundredth of the tolerance. It is found by a scan of steps of two, halved twice where the integrand, or what its
slopes let it reach, is not far below the maximum. The step is halved until the evidence stands still. Values that are
small against the tolerance itself are computed on the coarser grid only, and cubics through their logarithms stand
between them: what a cubic and a straight line differ by counts in the error.

A scan that has not died away at a bound of the kernel's search goes on beyond it, in a coordinate in which ever longer
steps follow each other (`rules.stretch`). Below, the matrix no longer changes; above, it is a constant, which the bias
takes, plus what `Kernel.up_to_constant` keeps without rounding. Kernels that do not know their limits end at the
bounds, and what a constant evidence would have beyond counts as a tail.

What rounding of the kernel matrix does is estimated from its norm, as if it moved all eigenvalues one way. It moves
them either way, and where many eigenvalues are small that estimate can be a thousand times too large. At a held kernel,
where it is far more than the tolerance, the integral is computed again from matrices that are rounded otherwise: what
that changes is the error, with safety.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base.progress import tqdm
from ...base.rounding import EPS
from ...base.rows import GroupedRows, group_equal_inputs
from ...base.typing import AnyArray, Array
from ...kernels import Kernel, check_positive_semidefinite
from ...linalg.reduction import Reduction
from ...linalg.repeats import reduced, repeated_inputs
from ...priors import HyperPrior, LogPrior
from .level2 import Level2Integral, Range, integrate_all, share_beyond
from .stretch import FARTHEST, Stretch
from .trapezoid import aliased, equal_steps, error_after, log_trapezoid

Inner = Callable[[Sequence[Reduction], LogPrior, LogPrior, Sequence[Range | None]], list[Level2Integral]]

_SCAN_STEPS = (2.0, 1.0, 0.5)
_BELOW_TOLERANCE = 6.0  # nats
_SMALL = 1.0  # nats below the tolerance, where cubics will do
_OWN_PART = 0.9  # of the tolerance, that the rule over the kernel may use up
_MOST_NODES = 400
_IDENTITY = Stretch()
_RISING = 2.0  # times a constant evidence beyond a bound
_NEIGHBOUR, _BESIDE = 2.1, 1.0  # how near another kernel's range of log γ says where one's own is, but for this
_TOO_MUCH = 10.0  # times the tolerance: a larger error is warned of
_OTHERWISE, _SAFETY = 4, 10.0  # matrices that are rounded otherwise, and times what they change at most
_TAILS = 5  # kernels at which it is asked what lies beyond the γ that can be computed


@dataclass(frozen=True)
class KernelNode:
    """One kernel with its integral over μ and ζ.

    Attributes
    ----------
    log_density : float
        log p(D | θ) + log p(log θ): the integrand over the kernel's log parameters.
    log_weight : float
        The same plus the log of the node's weight in the rule.
    """

    kernel: Kernel
    integral: Level2Integral
    log_density: float
    log_weight: float


@dataclass(frozen=True)
class Quadrature:
    """Nodes whose weights sum to the evidence.

    Attributes
    ----------
    log_evidence, error : float
        log p(D | H), and its error as estimated from the last halvings of the step.
    tail : float
        What may be missing at the ends of the ranges, over the evidence; not small if a range cut something off.
    n_reductions : int
        Kernels that were evaluated.
    positions : array of shape (n,) or None
        Where the nodes of a rule over one parameter are, in the coordinate of equal steps.
    stretch : Stretch
        From that coordinate to the log parameter.
    grid, log_density : arrays of shape (m,) or None
        All of the rule's points in that coordinate, those by cubics too, and the log integrand in it.
    """

    nodes: tuple[KernelNode, ...]
    log_evidence: float
    error: float
    tail: float
    n_reductions: int
    positions: Array | None = None
    stretch: Stretch = _IDENTITY
    grid: Array | None = None
    log_density: Array | None = None


class _Rule:
    """The integrand at values of the kernel's log parameter, each computed once."""

    def __init__(
        self,
        X: Array,
        y: Array,
        kernel: Kernel,
        parts: tuple[LogPrior, ...],
        inner: Inner,
        progress: bool,
        weights: Array | None,
    ) -> None:
        self.y, self.kernel, self.parts, self.inner, self.weights = y, kernel, parts, inner, weights
        self.rows = repeated_inputs(group_equal_inputs(X, y, weights))
        self.X = X if self.rows is None else self.rows.X
        self.block = kernel.blocks(self.X)
        free = len(parts) > 2
        self.floor = kernel.unchanged_below(self.X) if free else None
        self.bounds = kernel.log_bounds(X)[0] if free else np.array([-np.inf, np.inf])
        self.reductions: dict[float, Reduction] = {}
        self.integrals: dict[float, Level2Integral] = {}
        self.found: dict[float, tuple[Kernel, Level2Integral, float]] = {}
        self.bar = tqdm(desc="kernels integrated", unit="", disable=None if progress else True, leave=False)

    def __call__(self, positions: Array) -> Array:
        """The integrand log p(D | θ) + log p(log θ) at values of the log parameter."""
        wanted = [float(p) for p in positions]
        new = [p for p in dict.fromkeys(wanted) if p not in self.found]
        for p, integral in zip(new, self._integrals([self._above_floor(p) for p in new]), strict=True):
            self.found[p] = (self._kernel(p), integral, integral.log_z + float(self.log_prior(p)))
        return np.array([self.found[p][2] for p in wanted])

    def expect(self, more: int) -> None:
        """Say how many kernels more may be integrated, for the bar's estimate."""
        self.bar.total = len(self.integrals) + more
        self.bar.refresh()

    def log_prior(self, position: float | Array) -> Any:
        return self.parts[2].log_density(np.asarray(position)) if len(self.parts) > 2 else 0.0

    def share_beyond(self, position: float) -> float:
        """What may lie beyond the γ that can be computed, over the integral of the kernel there."""
        at = self._above_floor(position)
        return share_beyond(self.reductions[at], self.parts[0], self.parts[1], self.integrals[at].log_z)

    def rounding(self, position: float) -> float:
        """What the integral changes at most where the kernel matrix is rounded otherwise, with safety.

        Entries change by their own rounding, and rows come in another order, so that the reduction rounds other sums.
        """
        K, whole = self.block(self._kernel(position)), self.integrals[position].log_z
        reductions = []
        for seed in range(_OTHERWISE):
            rng = np.random.default_rng(seed)
            order, noise = rng.permutation(len(K)), np.tril(rng.uniform(-EPS, EPS, K.shape))
            other = (K * (1.0 + noise + np.tril(noise, -1).T))[np.ix_(order, order)]
            y, rows, weights = self._reordered(order)
            reductions.append(reduced(other, y, rows, weights))
        found = self.inner(reductions, self.parts[0], self.parts[1], [None] * len(reductions))
        return _SAFETY * max(abs(integral.log_z - whole) for integral in found)

    def _reordered(self, order: AnyArray) -> tuple[Array, GroupedRows | None, Array | None]:
        """Targets, groups and weights with the rows of the kernel matrix in another order."""
        if self.rows is None:
            return self.y[order], None, None if self.weights is None else self.weights[order]
        rows = self.rows._replace(means=self.rows.means[order], counts=self.rows.counts[order])
        return self.y, rows, self.weights

    def _above_floor(self, position: float) -> float:
        return position if self.floor is None else max(position, self.floor)

    def _kernel(self, position: float) -> Kernel:
        return self.kernel.with_log_params(np.array([position])) if len(self.parts) > 2 else self.kernel

    def _integrals(self, positions: list[float]) -> list[Level2Integral]:
        new = [p for p in dict.fromkeys(positions) if p not in self.integrals]
        near = [self._near(p) for p in new]
        for p in new:
            kernel = self._kernel(p)
            K = self.block(kernel) if p <= self.bounds[1] else kernel.up_to_constant(self.X)
            check_positive_semidefinite(kernel, K)
            self.reductions[p] = reduced(K, self.y, self.rows, self.weights)
            self.bar.update()
        if new:
            found = self.inner([self.reductions[p] for p in new], self.parts[0], self.parts[1], near)
            self.integrals.update(zip(new, found, strict=True))
        return [self.integrals[p] for p in positions]

    def _near(self, position: float) -> Range | None:
        """Where the kernels on both sides have their log γ, and a little beside."""
        known = np.array(list(self.integrals))
        below, above = known[known < position], known[known > position]
        if not (len(below) and len(above)) or above.min() - below.max() > _NEIGHBOUR:
            return None
        both = [self.integrals[float(p)].rows.log_gamma for p in (below.max(), above.min())]
        return min(float(u[0]) for u in both) - _BESIDE, max(float(u[-1]) for u in both) + _BESIDE

    def nodes(self, positions: Array, log_weights: Array) -> tuple[KernelNode, ...]:
        """Nodes with the logs of their shares of the evidence."""
        chosen = [self.found[float(p)] for p in positions]
        return tuple(KernelNode(k, i, d, float(w)) for (k, i, d), w in zip(chosen, log_weights, strict=True))


def quadrature(
    X: Array,
    y: Array,
    kernel: Kernel,
    prior: HyperPrior,
    *,
    fixed_kernel: bool = False,
    tolerance: float = 1e-6,
    progress: bool = True,
    inner: Inner | None = None,
    method: str = "quadrature",
    weights: Array | None = None,
) -> Quadrature:
    """Integrate over log μ, log ζ and the kernel's parameter, if it has one that is not held.

    `inner` integrates over log μ and log ζ for each kernel, where an approximation is to be studied; else it is exact.
    Rows may have weights, of shape (N,).
    """
    n_kernel = 0 if fixed_kernel else kernel.log_params.size
    prior.require_proper(n_kernel, method)
    if n_kernel > 1:
        raise ValueError(
            f'method="{method}" integrates over one kernel parameter at most, but {kernel!s} has {n_kernel}. Use '
            'method="ccd", "importance" or "nuts", or integrate over μ and ζ only (fixed_kernel=True).'
        )
    rule = _Rule(X, y, kernel, prior.components(n_kernel), inner or integrate_all, progress, weights)
    exact = inner is None
    with rule.bar:
        if n_kernel == 0:
            value = float(rule(np.zeros(1))[0])
            integral = rule.found[0.0][1]
            tail = integral.tail + (rule.share_beyond(0.0) if exact else 0.0)
            error = integral.error
            if exact and integral.rounding > _TOO_MUCH * tolerance:
                error += min(rule.rounding(0.0) - integral.rounding, 0.0)
            return Quadrature(rule.nodes(np.zeros(1), np.array([value])), value, error, tail, 1)
        return _over_kernel(rule, tolerance, exact=exact)


class _Grid(NamedTuple):
    """Points of equal steps, and the log integrand there: computed, by a cubic, or −inf where it is too small to count.

    `doubt` is the log of what a cubic and a straight line differ by; −inf where the integrand was computed.
    """

    t: Array
    values: Array
    computed: AnyArray
    doubt: Array

    @property
    def live(self) -> AnyArray:
        return np.isfinite(self.values)

    def between(self) -> tuple[Array, Array]:
        """By cubics through the two values on either side of each middle, and the doubt in that.

        Where there are no four values it is a straight line, which may be wrong by all of itself.
        """
        v = self.values
        with np.errstate(invalid="ignore", divide="ignore"):
            line = 0.5 * (v[1:] + v[:-1])
            cubic = np.full(len(line), np.nan)
            cubic[1:-1] = (9.0 * (v[1:-2] + v[2:-1]) - v[:-3] - v[3:]) / 16.0
            doubt = np.maximum(cubic, line) + np.log(-np.expm1(-np.abs(cubic - line)))
        smooth = np.isfinite(cubic)
        return np.where(smooth, cubic, line), np.where(smooth, doubt, line)


def _over_kernel(rule: _Rule, tolerance: float, *, exact: bool) -> Quadrature:
    small = -float(np.log(tolerance))
    grid, stretch = _scan(rule, small + _BELOW_TOLERANCE, exact and rule.floor is not None)
    tolerance *= _OWN_PART
    log_z, change, error = log_trapezoid(grid.t, grid.values), np.inf, np.inf
    while error > tolerance and len(grid.t) < _MOST_NODES:
        grid = _halved(rule, stretch, grid, small + _SMALL)
        new = log_trapezoid(grid.t, grid.values)
        found = abs(new - log_z)
        # one change says little: a shoulder that is narrow and low changes the next one
        error = found if np.isinf(change) else error_after(found, change)
        if error < found:  # a square of changes: the transform has to bear it out, and no tiny error is promised
            error = max(error, aliased(grid.values), min(found, 0.5 * tolerance))
        log_z, change = new, found
    error += float(grid.t[1] - grid.t[0]) * float(np.exp(grid.doubt - log_z).sum())
    t = grid.t[grid.computed]
    nodes = rule.nodes(stretch(t), _log_shares(grid))
    shares = np.exp(np.array([node.log_weight for node in nodes]) - log_z)
    inner = float(shares @ np.array([node.integral.error for node in nodes]))
    ends = sum(np.exp(min(_log_mass_beyond(rule, stretch(grid.t), i) - log_z, 700.0)) for i in (0, -1))
    own = float(shares @ np.array([min(node.integral.tail, 1e300) for node in nodes]))
    tail = max(float(ends), own + (_share_beyond(rule, stretch(t), shares) if exact else 0.0))
    live = grid.live
    return Quadrature(
        nodes,
        log_z,
        error + inner,
        tail,
        len(rule.integrals),
        t,
        stretch,
        grid.t[live],
        grid.values[live],
    )


def _halved(rule: _Rule, stretch: Stretch, grid: _Grid, counts: float) -> _Grid:
    """The grid of half the step, computed where the integrand counts."""
    middles = 0.5 * (grid.t[1:] + grid.t[:-1])
    beside, top = np.maximum(grid.values[1:], grid.values[:-1]), float(grid.values.max())
    computed = beside >= top - counts
    rule.expect(int(computed.sum()))
    values, doubt = grid.between()
    values[computed], doubt[computed] = _evaluated(rule, stretch, middles[computed]), -np.inf
    pairs = ((grid.t, middles), (grid.values, values), (grid.computed, computed), (grid.doubt, doubt))
    return _Grid(*(_interleaved(*pair) for pair in pairs))


def _interleaved(own: AnyArray, between: AnyArray) -> AnyArray:
    whole = np.empty(len(own) + len(between), dtype=own.dtype)
    whole[::2], whole[1::2] = own, between
    return whole


def _log_shares(grid: _Grid) -> Array:
    """Logs of what each computed point has in the evidence; those by cubics are shared out to their neighbours.

    In logs all the way: a point may be a thousand nats below the highest.
    """
    at, drawn = np.flatnonzero(grid.computed), np.flatnonzero(~grid.computed & grid.live)
    shares, right = grid.values[at], np.searchsorted(at, drawn)
    part = (at[right] - drawn) / (at[right] - at[right - 1])
    np.logaddexp.at(shares, right - 1, np.log(part) + grid.values[drawn])
    np.logaddexp.at(shares, right, np.log1p(-part) + grid.values[drawn])
    return np.asarray(shares + float(np.log(grid.t[1] - grid.t[0])))


def _share_beyond(rule: _Rule, positions: Array, shares: Array) -> float:
    """What may lie beyond the γ that can be computed, over the evidence: it changes slowly from kernel to kernel."""
    stride = max(len(positions) // _TAILS, 1)
    at = np.arange(int(np.argmax(shares)) % stride, len(positions), stride)
    nearest = np.abs(positions[:, None] - positions[at]).argmin(axis=1)
    beyond = np.array([min(rule.share_beyond(float(p)), 1e300) for p in positions[at]])
    return float(np.bincount(nearest, shares, minlength=len(at)) @ beyond)


def _scan(rule: _Rule, negligible: float, beyond: bool) -> tuple[_Grid, Stretch]:
    """Where the integrand is, and the coordinate in which that has equal steps."""
    low, high = (float(np.clip(b, *rule.parts[2].support)) for b in rule.bounds)
    stretch = Stretch()
    grid = _scanned(rule, stretch, low, high, negligible)
    top = float(grid.values.max())
    open_ends = [beyond and grid.values[i] > top - negligible for i in (0, -1)]
    if any(open_ends):
        stretch = Stretch(low if open_ends[0] else -np.inf, high if open_ends[1] else np.inf)
        # beyond, the evidence is taken to be no better than the best of the scan
        best = float((grid.values - rule.log_prior(grid.t)).max()) - top + negligible
        first, last = _extent(rule, low, high, best)
        low, high = first if open_ends[0] else low, last if open_ends[1] else high
        grid = _scanned(rule, stretch, stretch.inverse(low), stretch.inverse(high), negligible)
    inside = np.flatnonzero(grid.values > grid.values.max() - negligible)
    kept = np.flatnonzero(grid.computed)
    first = kept[kept < inside[0]].max(initial=0)
    last = kept[kept > inside[-1]].min(initial=len(grid.t) - 1)
    return _Grid(*(column[first : last + 1] for column in grid)), stretch


def _scanned(rule: _Rule, stretch: Stretch, low: float, high: float, negligible: float) -> _Grid:
    """A grid of the scan's last step, computed where the integrand may count."""
    t = equal_steps(low, high, _SCAN_STEPS[0], 2)
    rule.expect(2 * len(t))
    grid = _Grid(t, _evaluated(rule, stretch, t), np.ones(len(t), dtype=bool), np.full(len(t), -np.inf))
    for _ in _SCAN_STEPS[1:]:
        middles, between = 0.5 * (grid.t[1:] + grid.t[:-1]), np.full(len(grid.t) - 1, -np.inf)
        wanted = _may_count(grid.values, negligible)
        between[wanted] = _evaluated(rule, stretch, middles[wanted])
        none = np.full(len(middles), -np.inf)
        columns = ((grid.t, middles), (grid.values, between), (grid.computed, wanted), (grid.doubt, none))
        grid = _Grid(*(_interleaved(*pair) for pair in columns))
    return grid


def _may_count(values: Array, negligible: float) -> AnyArray:
    """Whether the integrand may count between each two points: by the values there, the slopes to them and its swing.

    The slopes beside are carried on by half a step, and half of the largest change around is put on top.
    """
    with np.errstate(invalid="ignore"):
        change = np.diff(values, prepend=values[0], append=values[-1])  # to each point, and from the last
    change = np.where(np.isfinite(change), change, 0.0)
    carried_on = np.maximum(values[:-1] + 0.5 * change[:-2], values[1:] - 0.5 * change[2:])
    swing = 0.5 * np.abs([change[:-2], change[1:-1], change[2:]]).max(axis=0)
    reached = np.maximum(np.maximum(values[1:], values[:-1]), carried_on) + swing
    return np.asarray(reached > values.max() - negligible)


def _evaluated(rule: _Rule, stretch: Stretch, t: Array) -> Array:
    return np.asarray(rule(stretch(t)) + stretch.log_slope(t))


def _extent(rule: _Rule, low: float, high: float, best: float) -> tuple[float, float]:
    """Ends of the prior's support, or where its log density falls below −best."""
    support = rule.parts[2].support
    step = _SCAN_STEPS[-1]
    x = np.arange(max(support[0], -FARTHEST), min(support[1], FARTHEST), step)
    seen = x[rule.log_prior(x) > -best]
    first = support[0] if np.isfinite(support[0]) else min(float(seen.min(initial=low)) - step, low)
    last = support[1] if np.isfinite(support[1]) else max(float(seen.max(initial=high)) + step, high)
    return max(first, -FARTHEST), min(last, FARTHEST)


def _log_mass_beyond(rule: _Rule, positions: Array, end: int) -> float:
    """Log of what lies beyond one end of the rule, if the evidence there is not better than at the end itself."""
    position, edge = float(positions[end]), rule.parts[2].support[end]
    if np.isclose(position, edge):
        return -np.inf  # the prior itself ends here
    rule(positions[[end]])
    away = np.sinh(np.linspace(0.0, 7.0, 701)) * (1.0 if end else -1.0)
    prior = np.exp(rule.log_prior(position + away))
    mass = _RISING * float(np.abs(np.trapezoid(prior, away)))
    return rule.found[position][1].log_z + float(np.log(mass)) if mass > 0.0 else -np.inf
