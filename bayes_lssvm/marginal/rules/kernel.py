"""Quadrature over μ, ζ and at most one kernel parameter.

The inner integral over (log μ, log ζ) is `rules.level2`; it costs one tridiagonal reduction a kernel. Over the
log of the kernel's parameter a trapezoidal rule is laid where the integrand, relative to its maximum, is not below a
four hundredth of the tolerance; it is found by a scan that no second mode of a width of half a nat or more escapes.
The step is halved until the evidence stands still.

A scan that has not died away at a bound of the kernel's search goes on beyond it, in a coordinate in which ever longer
steps follow each other (`rules.stretch`). Below, the matrix no longer changes; above, it is a constant, which the bias
takes, plus what `Kernel.up_to_constant` keeps without rounding. Kernels that do not know their limits end at the
bounds, and what a constant evidence would have beyond counts as a tail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ...base.rows import group_equal_inputs
from ...base.typing import Array
from ...kernels import Kernel, check_positive_semidefinite
from ...linalg.reduction import Reduction
from ...linalg.repeats import reduced, repeated_inputs
from ...priors import HyperPrior, LogPrior
from .level2 import Level2Integral, integrate
from .stretch import FARTHEST, Stretch
from .trapezoid import aliased, equal_steps, error_after, log_trapezoid

Inner = Callable[[Reduction, LogPrior, LogPrior], Level2Integral]

_SCAN_STEP = 0.5
_BELOW_TOLERANCE = 6.0  # nats
_MOST_NODES = 400
_IDENTITY = Stretch()
_RISING = 2.0  # times a constant evidence beyond a bound
_AFTER_ONE_CHANGE = 10.0  # times what the transform says; on 24 random problems up to 6


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
    """

    nodes: tuple[KernelNode, ...]
    log_evidence: float
    error: float
    tail: float
    n_reductions: int
    positions: Array | None = None
    stretch: Stretch = _IDENTITY


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
        self.integrals: dict[float, Level2Integral] = {}
        self.found: dict[float, tuple[Kernel, Level2Integral, float]] = {}
        self.bar = tqdm(desc="kernels integrated", unit="", disable=None if progress else True, leave=False)

    def __call__(self, position: float) -> float:
        """The integrand log p(D | θ) + log p(log θ) at one value of the log parameter."""
        if position not in self.found:
            kernel = self.kernel.with_log_params(np.array([position])) if len(self.parts) > 2 else self.kernel
            integral = self._integral(position if self.floor is None else max(position, self.floor))
            self.found[position] = (kernel, integral, integral.log_z + self.log_prior(position))
        return self.found[position][2]

    def expect(self, more: int) -> None:
        """Say how many kernels more may be integrated, for the bar's estimate."""
        self.bar.total = len(self.integrals) + more
        self.bar.refresh()

    def log_prior(self, position: float | Array) -> Any:
        return self.parts[2].log_density(np.asarray(position)) if len(self.parts) > 2 else 0.0

    def _integral(self, position: float) -> Level2Integral:
        if position not in self.integrals:
            kernel = self.kernel.with_log_params(np.array([position])) if len(self.parts) > 2 else self.kernel
            K = self.block(kernel) if position <= self.bounds[1] else kernel.up_to_constant(self.X)
            check_positive_semidefinite(kernel, K)
            reduction = reduced(K, self.y, self.rows, self.weights)
            self.integrals[position] = self.inner(reduction, self.parts[0], self.parts[1])
            self.bar.update()
        return self.integrals[position]

    def nodes(self, positions: Array, log_weights: Array) -> tuple[KernelNode, ...]:
        chosen = [self.found[float(p)] for p in positions]
        return tuple(KernelNode(k, i, d, d + float(w)) for (k, i, d), w in zip(chosen, log_weights, strict=True))


def quadrature(
    X: Array,
    y: Array,
    kernel: Kernel,
    prior: HyperPrior,
    *,
    fixed_kernel: bool = False,
    tolerance: float = 1e-6,
    progress: bool = True,
    inner: Inner = integrate,
    method: str = "quadrature",
    weights: Array | None = None,
) -> Quadrature:
    """Integrate over log μ, log ζ and the kernel's parameter, if it has one that is not held.

    `inner` integrates over log μ and log ζ for one kernel; exactly, unless an approximation is to be studied.
    Rows may have weights, of shape (N,).
    """
    n_kernel = 0 if fixed_kernel else kernel.log_params.size
    prior.require_proper(n_kernel, method)
    if n_kernel > 1:
        raise ValueError(
            f'method="{method}" integrates over one kernel parameter at most, but {kernel!s} has {n_kernel}. Use '
            'method="ccd", "importance" or "nuts", or integrate over μ and ζ only (fixed_kernel=True).'
        )
    rule = _Rule(X, y, kernel, prior.components(n_kernel), inner, progress, weights)
    with rule.bar:
        if n_kernel == 0:
            value = rule(0.0)
            integral = rule.found[0.0][1]
            return Quadrature(rule.nodes(np.zeros(1), np.zeros(1)), value, integral.error, integral.tail, 1)
        return _over_kernel(rule, tolerance, beyond=inner is integrate and rule.floor is not None)


def _over_kernel(rule: _Rule, tolerance: float, *, beyond: bool) -> Quadrature:
    negligible = _BELOW_TOLERANCE - float(np.log(tolerance))
    t, stretch, values = _scan(rule, negligible, beyond)
    log_z, change, error = log_trapezoid(t, values), np.inf, np.inf
    while error > tolerance and len(t) < _MOST_NODES:
        t = np.sort(np.concatenate([t, 0.5 * (t[1:] + t[:-1])]))
        rule.expect(len(t) // 2)
        # far below the maximum a node adds nothing: its neighbours on the coarser grid say so
        values = np.array([_known_or_computed(rule, stretch, t, i, values, negligible) for i in range(len(t))])
        new = log_trapezoid(t, values)
        found = abs(new - log_z)
        error = error_after(found, change)
        if error < found:  # a square of changes: the transform has to bear it out, and less than asked is not promised
            doubt = _AFTER_ONE_CHANGE if np.isinf(change) else 1.0
            error = max(error, doubt * aliased(values), min(found, tolerance))
        log_z, change = new, found
    computed = t[np.isfinite(values)]
    nodes = rule.nodes(stretch(computed), float(np.log(t[1] - t[0])) + stretch.log_slope(computed))
    shares = np.exp(np.array([node.log_weight for node in nodes]) - log_z)
    inner = float(shares @ np.array([node.integral.error for node in nodes]))
    ends = sum(np.exp(min(_log_mass_beyond(rule, stretch(t), i) - log_z, 700.0)) for i in (0, -1))
    own = float(shares @ np.array([min(node.integral.tail, 1e300) for node in nodes]))
    tail = max(float(ends), own)
    return Quadrature(nodes, log_z, error + inner, tail, len(rule.integrals), computed, stretch)


def _scan(rule: _Rule, negligible: float, beyond: bool) -> tuple[Array, Stretch, Array]:
    """Where the integrand is: a grid of equal steps, the coordinate that it is in, and the log integrand there."""
    low, high = (float(np.clip(b, *rule.parts[2].support)) for b in rule.bounds)
    stretch = Stretch()
    t, values = _evaluated(rule, stretch, low, high)
    open_ends = [beyond and values[i] > values.max() - negligible for i in (0, -1)]
    if any(open_ends):
        stretch = Stretch(low if open_ends[0] else -np.inf, high if open_ends[1] else np.inf)
        # beyond, the evidence is taken to be no better than the best of the scan
        best = float((values - rule.log_prior(t)).max()) - float(values.max()) + negligible
        first, last = _extent(rule, low, high, best)
        low, high = first if open_ends[0] else low, last if open_ends[1] else high
        t, values = _evaluated(rule, stretch, stretch.inverse(low), stretch.inverse(high))
    inside = np.flatnonzero(values > values.max() - negligible)
    kept = slice(max(inside[0] - 1, 0), inside[-1] + 2)
    return t[kept], stretch, values[kept]


def _evaluated(rule: _Rule, stretch: Stretch, low: float, high: float) -> tuple[Array, Array]:
    t = equal_steps(low, high, _SCAN_STEP)
    rule.expect(len(t))
    return t, np.array([rule(float(p)) for p in stretch(t)]) + stretch.log_slope(t)


def _extent(rule: _Rule, low: float, high: float, best: float) -> tuple[float, float]:
    """Ends of the prior's support, or where its log density falls below −best."""
    support = rule.parts[2].support
    x = np.arange(max(support[0], -FARTHEST), min(support[1], FARTHEST), _SCAN_STEP)
    seen = x[rule.log_prior(x) > -best]
    first = support[0] if np.isfinite(support[0]) else min(float(seen.min(initial=low)) - _SCAN_STEP, low)
    last = support[1] if np.isfinite(support[1]) else max(float(seen.max(initial=high)) + _SCAN_STEP, high)
    return max(first, -FARTHEST), min(last, FARTHEST)


def _log_mass_beyond(rule: _Rule, positions: Array, end: int) -> float:
    """Log of what lies beyond one end of the rule, if the evidence there is not better than at the end itself."""
    position, edge = float(positions[end]), rule.parts[2].support[end]
    if np.isclose(position, edge):
        return -np.inf  # the prior itself ends here
    rule(position)
    away = np.sinh(np.linspace(0.0, 7.0, 701)) * (1.0 if end else -1.0)
    prior = np.exp(rule.log_prior(position + away))
    mass = _RISING * float(np.abs(np.trapezoid(prior, away)))
    return rule.found[position][1].log_z + float(np.log(mass)) if mass > 0.0 else -np.inf


def _known_or_computed(rule: _Rule, stretch: Stretch, t: Array, i: int, coarse: Array, negligible: float) -> float:
    if i % 2 == 0:
        return float(coarse[i // 2])
    if max(coarse[i // 2], coarse[i // 2 + 1]) < coarse.max() - negligible:
        return -np.inf
    return rule(float(stretch(t[i]))) + float(stretch.log_slope(t[i]))
