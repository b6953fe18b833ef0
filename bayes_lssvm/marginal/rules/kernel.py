"""Quadrature over μ, ζ and at most one kernel parameter.

The inner integral over (log μ, log ζ) is `rules.level2`; it costs one tridiagonal reduction a kernel. Over the
log of the kernel's parameter a trapezoidal rule is laid where the integrand, relative to its maximum, is not below a
four hundredth of the tolerance; it is found by a scan that no second mode of a width of half a nat or more escapes.
The step is halved until the evidence stands still.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tqdm.auto import tqdm

from ...base.rows import group_equal_inputs
from ...base.typing import Array
from ...kernels import Kernel, check_positive_semidefinite
from ...linalg.reduction import Reduction
from ...linalg.repeats import reduced, repeated_inputs
from ...priors import HyperPrior, LogPrior
from .level2 import Level2Integral, integrate
from .trapezoid import error_after, log_trapezoid

Inner = Callable[[Reduction, LogPrior, LogPrior], Level2Integral]

_SCAN_STEP = 0.5
_BELOW_TOLERANCE = 6.0  # nats
_MOST_NODES = 250


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
    """

    nodes: tuple[KernelNode, ...]
    log_evidence: float
    error: float
    tail: float
    n_reductions: int


class _Rule:
    """Nodes on a growing grid of the kernel's log parameter."""

    def __init__(
        self, X: Array, y: Array, kernel: Kernel, parts: tuple[LogPrior, ...], inner: Inner, progress: bool
    ) -> None:
        self.y, self.kernel, self.parts, self.inner = y, kernel, parts, inner
        self.rows = repeated_inputs(group_equal_inputs(X, y))
        self.block = kernel.blocks(X if self.rows is None else self.rows.X)
        self.found: dict[float, tuple[Kernel, Level2Integral, float]] = {}
        self.bar = tqdm(desc="kernels integrated", unit="", disable=None if progress else True, leave=False)

    def __call__(self, position: float) -> float:
        """The integrand log p(D | θ) + log p(log θ) at one value of the log parameter."""
        if position not in self.found:
            kernel = self.kernel.with_log_params(np.array([position])) if len(self.parts) > 2 else self.kernel
            K = self.block(kernel)
            check_positive_semidefinite(kernel, K)
            integral = self.inner(reduced(K, self.y, self.rows), self.parts[0], self.parts[1])
            own = float(self.parts[2].log_density(np.array(position))) if len(self.parts) > 2 else 0.0
            self.found[position] = (kernel, integral, integral.log_z + own)
            self.bar.update()
        return self.found[position][2]

    def expect(self, more: int) -> None:
        """Say how many kernels more may be integrated, for the bar's estimate."""
        self.bar.total = len(self.found) + more
        self.bar.refresh()

    def nodes(self, positions: Array, log_step: float) -> tuple[KernelNode, ...]:
        chosen = [self.found[float(p)] for p in positions]
        return tuple(KernelNode(k, i, d, d + log_step) for k, i, d in chosen)


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
) -> Quadrature:
    """Integrate over log μ, log ζ and the kernel's parameter, if it has one that is not held.

    `inner` integrates over log μ and log ζ for one kernel; exactly, unless an approximation is to be studied.
    """
    n_kernel = 0 if fixed_kernel else kernel.log_params.size
    prior.require_proper(n_kernel, method)
    if n_kernel > 1:
        raise ValueError(
            f'method="{method}" integrates over one kernel parameter at most, but {kernel!s} has {n_kernel}. Use '
            'method="ccd", "importance" or "nuts", or integrate over μ and ζ only (fixed_kernel=True).'
        )
    rule = _Rule(X, y, kernel, prior.components(n_kernel), inner, progress)
    with rule.bar:
        if n_kernel == 0:
            value = rule(0.0)
            integral = rule.found[0.0][1]
            return Quadrature(rule.nodes(np.zeros(1), 0.0), value, integral.error, integral.tail, 1)
        return _over_kernel(rule, X, tolerance)


def _over_kernel(rule: _Rule, X: Array, tolerance: float) -> Quadrature:
    bounds, support = rule.kernel.log_bounds(X)[0], rule.parts[2].support
    low, high = max(bounds[0], support[0]), min(bounds[1], support[1])
    grid = np.linspace(low, high, int(np.ceil((high - low) / _SCAN_STEP)) + 1)
    negligible = _BELOW_TOLERANCE - np.log(tolerance)
    rule.expect(len(grid))
    values = np.array([rule(float(p)) for p in grid])
    inside = np.flatnonzero(values > values.max() - negligible)
    grid = grid[max(inside[0] - 1, 0) : inside[-1] + 2]
    values = np.array([rule(float(p)) for p in grid])
    log_z, change, error = log_trapezoid(grid, values), np.inf, np.inf
    while error > tolerance and len(grid) < _MOST_NODES:
        grid = np.sort(np.concatenate([grid, 0.5 * (grid[1:] + grid[:-1])]))
        rule.expect(len(grid) // 2)
        # far below the maximum a node adds nothing: its neighbours on the coarser grid say so
        values = np.array([_known_or_computed(rule, grid, i, values, negligible) for i in range(len(grid))])
        new = log_trapezoid(grid, values)
        error = error_after(abs(new - log_z), change)
        log_z, change = new, abs(new - log_z)
    computed = np.array([float(p) in rule.found for p in grid])
    nodes = rule.nodes(grid[computed], float(np.log(grid[1] - grid[0])))
    shares = np.exp(np.array([node.log_weight for node in nodes]) - log_z)
    inner = float(shares @ np.array([node.integral.error for node in nodes]))
    cut = [v for v, end, own in ((values[0], grid[0], support[0]), (values[-1], grid[-1], support[1])) if end != own]
    ends = float(np.exp(max(cut, default=-np.inf) - values.max()))  # where the prior itself ends, nothing is cut off
    own = float(shares @ np.array([min(node.integral.tail, 1e300) for node in nodes]))
    tail = max(ends, own)
    return Quadrature(nodes, log_z, error + inner, tail, len(rule.found))


def _known_or_computed(rule: _Rule, grid: Array, i: int, coarse: Array, negligible: float) -> float:
    if i % 2 == 0:
        return float(coarse[i // 2])
    if max(coarse[i // 2], coarse[i // 2 + 1]) < coarse.max() - negligible:
        return -np.inf
    return rule(float(grid[i]))
