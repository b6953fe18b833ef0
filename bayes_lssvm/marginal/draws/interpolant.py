"""Interpolation of log_det and q_1 over log γ and one log parameter θ of the kernel.

For a fixed kernel one tridiagonal reduction gives both exactly, O(N) a value of γ. For a kernel with one parameter they
are interpolated: by a polynomial through Chebyshev–Lobatto nodes in θ, one reduction each, and by quintic splines in
u = log γ, where values cost next to nothing. Both are smooth: log_det and log q_1 are analytic in u within π of the
real axis, and in θ with the kernel. The nodes are nested: their number is doubled until the log density of (u, θ),
log μ integrated out, is right at kernels between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from ...base.typing import Array
from ...linalg.spectrum import TridiagonalReduction
from ...priors import LogPrior
from ..density import Density
from ..log_mu import LogMu
from .gamma_range import KernelScan, range_of_log_gamma

_MATTERS = 12.0  # nats below the maximum beyond which an error has no effect
_TOLERANCE = 1e-6
_U_STEP = 0.1
_LEAST_CELLS = 64
_FIRST_LEVEL, _LAST_LEVEL = 16, 512
_CHUNK = 512


class Surface(Protocol):
    """log_det and q_1 of points (u,) or (u, θ) in a box."""

    @property
    def n(self) -> int:
        """Number of data points N."""

    @property
    def low(self) -> Array:
        """Lower corner of the box, of shape (D,)."""

    @property
    def high(self) -> Array:
        """Upper corner of the box, of shape (D,)."""

    @property
    def tail(self) -> float:
        """Posterior density relative to its maximum where the box had to be cut off."""

    @property
    def n_reductions(self) -> int:
        """Kernels that were reduced."""

    @property
    def error(self) -> float:
        """Largest error of the log density at kernels between the nodes; 0 for a fixed kernel."""

    def values(self, points: Array) -> tuple[Array, Array]:
        """log_det and q_1 at points of shape (M, D)."""

    def on_grid(self, axes: tuple[Array, ...]) -> tuple[Array, Array]:
        """log_det and q_1 on the product of the axes."""


@dataclass(frozen=True)
class FixedKernel:
    """The surface of one kernel: exact, in one dimension."""

    reduction: TridiagonalReduction
    low: Array
    high: Array
    tail: float
    n_reductions: int = 1
    error: float = 0.0

    @property
    def n(self) -> int:
        return self.reduction.n

    def values(self, points: Array) -> tuple[Array, Array]:
        """log_det and q_1 at points of shape (M, 1)."""
        gammas = np.minimum(np.exp(points[:, 0]), self.reduction.gamma_max)
        blocks = [self.reduction.values(gammas[i : i + _CHUNK]) for i in range(0, len(gammas), _CHUNK)]
        return np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])

    def on_grid(self, axes: tuple[Array, ...]) -> tuple[Array, Array]:
        """log_det and q_1 along the one axis."""
        return self.values(axes[0][:, None])


@dataclass(frozen=True)
class OneParameter:
    """The surface of a kernel with one parameter, interpolated.

    Attributes
    ----------
    nodes : array of shape (J,)
        Chebyshev–Lobatto nodes of θ.
    spline : BSpline
        u ↦ array of shape (2, J): log_det and log q_1 at every node.
    """

    n: int
    low: Array
    high: Array
    tail: float
    n_reductions: int
    error: float
    nodes: Array
    spline: BSpline

    def values(self, points: Array) -> tuple[Array, Array]:
        """log_det and q_1 at points of shape (M, 2)."""
        rows = barycentric_rows(self.nodes, points[:, 1])
        found = np.einsum("mkj,mj->km", self.spline(points[:, 0]), rows)
        return found[0], np.exp(found[1])

    def on_grid(self, axes: tuple[Array, ...]) -> tuple[Array, Array]:
        """log_det and q_1, each of shape (len(axes[0]), len(axes[1]))."""
        found = self.spline(axes[0]) @ barycentric_rows(self.nodes, axes[1]).T  # [U, 2, T]
        return found[:, 0], np.exp(found[:, 1])


def log_mu_at(surface: Surface, points: Array, parts: tuple[LogPrior, ...]) -> LogMu:
    """The conditional posteriors of log μ at points of shape (M, D)."""
    log_det, q1 = surface.values(points)
    return LogMu(surface.n, points[:, 0], log_det, q1, parts[0], parts[1])


def lobatto_nodes(low: float, high: float, level: int) -> Array:
    """The level + 1 Chebyshev–Lobatto nodes of an interval, ends included; every second one is of half the level."""
    return np.asarray(0.5 * (low + high) - 0.5 * (high - low) * np.cos(np.pi * np.arange(level + 1) / level))


def barycentric_rows(nodes: Array, x: Array) -> Array:
    """Rows r with r @ f(nodes) the interpolating polynomial at each x (second barycentric form), of shape (M, J)."""
    weights = (-1.0) ** np.arange(len(nodes))
    weights[[0, -1]] *= 0.5
    difference = x[:, None] - nodes
    hit = difference == 0.0
    rows = np.where(hit.any(axis=1)[:, None], hit, weights / np.where(hit, 1.0, difference))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def fixed_kernel_surface(density: Density) -> FixedKernel:
    """The surface of the density's kernel at its present parameters."""
    reduction = density.reduction(density.kernel)
    low, high, tail = range_of_log_gamma(reduction, density.parts)
    return FixedKernel(reduction, np.array([low]), np.array([high]), tail)


def one_parameter_surface(density: Density, *, progress: bool = False) -> OneParameter:
    """The surface of the density's kernel, whose one parameter is free."""
    with KernelScan(density, progress=progress) as scan:
        low, high, tail = scan.range()
        u = np.linspace(low[0], high[0], max(int(np.ceil((high[0] - low[0]) / _U_STEP)), _LEAST_CELLS) + 1)
        between = np.array([t for t in scan.thetas if low[1] < t < high[1]])
        exact = _log_density(density, u, between, np.stack([_row(scan.reduction(t), u) for t in between]))
        matters = exact > exact.max() - _MATTERS
        level, found, error = _FIRST_LEVEL // 2, dict[float, Array](), np.inf
        while error > _TOLERANCE and level < _LAST_LEVEL:
            level *= 2
            nodes = lobatto_nodes(low[1], high[1], level)
            for theta in map(float, nodes):
                if theta not in found:
                    found[theta] = _row(scan.reduction(theta), u)
            rows = np.stack([found[float(t)] for t in nodes])  # [J, 2, U]
            guess = _log_density(density, u, between, np.tensordot(barycentric_rows(nodes, between), rows, axes=1))
            error = float(np.max(np.abs(guess - exact)[matters]))
    return OneParameter(
        n=len(density.y),
        low=low,
        high=high,
        tail=tail,
        n_reductions=scan.n_reductions,
        error=error,
        nodes=nodes,
        spline=make_interp_spline(u, rows.transpose(2, 1, 0), k=5),
    )


def _row(reduction: TridiagonalReduction, u: Array) -> Array:
    """log_det and log q_1 along u, of shape (2, U)."""
    log_det, q1 = reduction.values(np.exp(u))
    return np.stack([log_det, np.log(q1)])


def _log_density(density: Density, u: Array, thetas: Array, rows: Array) -> Array:
    """Log density of (u, θ), of shape (T, U), from log_det and log q_1 in rows of shape (T, 2, U)."""
    parts = density.parts
    log_det, q1 = rows[:, 0].ravel(), np.exp(rows[:, 1]).ravel()
    integral = LogMu(len(density.y), np.tile(u, len(thetas)), log_det, q1, parts[0], parts[1]).log_integral()
    return np.asarray(integral.reshape(len(thetas), -1) + parts[2].log_density(thetas)[:, None])
