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
from scipy.interpolate import BSpline

from ...base.typing import Array
from ...linalg.reduction import Reduction
from ...priors import LogPrior
from ..log_mu import LogMu

_CHUNK = 512


class Surface(Protocol):
    """log_det and q_1 of points (u,) or (u, θ) in a box."""

    @property
    def n(self) -> int:
        """Number of data points N."""

    @property
    def log_constant(self) -> float:
        """What log p(D | μ, ζ) has beside the sums: −½ log N, or that of rows with weights."""

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

    reduction: Reduction
    low: Array
    high: Array
    tail: float
    n_reductions: int = 1
    error: float = 0.0

    @property
    def n(self) -> int:
        return self.reduction.n

    @property
    def log_constant(self) -> float:
        return self.reduction.log_constant

    def values(self, points: Array) -> tuple[Array, Array]:
        """log_det and q_1 at points of shape (M, 1)."""
        gammas = np.exp(np.minimum(points[:, 0], self.high[0]))
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
    log_constant: float
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
    return LogMu(surface.n, points[:, 0], log_det, q1, parts[0], parts[1], surface.log_constant)


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
