"""Draws from a quadrature rule: uniform numbers carried to the hyperparameters by inverse distribution functions.

log θ comes from the interpolated marginal density of the kernel's parameter, log γ from the interpolated density given
the kernel, log μ from its exact conditional density on a fine grid. Between kernels of the rule, the quantiles of log γ
and log q_1(γ), which the density of log μ needs, are cubics through those of the four kernels around. Independent
uniforms give independent draws, low-discrepancy ones give quantiles good to a thousandth of a standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.stats import norm, qmc

from ...base.typing import Array
from ...priors import LogPrior
from ..log_mu import LogMu
from .level2 import GammaRows
from .stretch import Stretch

_FINE = 2048
_CHUNK = 2048
_FARTHEST = 700.0  # whose exponential is a number
N_QUASI = 2**14

Draw = Callable[[Array], Array]


def quasi_uniform(dimension: int, n: int = N_QUASI, seed: int = 0) -> Array:
    """Scrambled Sobol points of shape (n, dimension); n is a power of two."""
    return np.asarray(qmc.Sobol(dimension, rng=np.random.default_rng(seed)).random(n))


def inverse_cdf(x: Array, log_density: Array) -> Callable[[Array], Array]:
    """The quantile function of the density whose logs on a grid are given."""
    finite = np.isfinite(log_density)
    x, log_density = x[finite], log_density[finite]
    if len(x) == 1:
        return lambda q: np.full(len(q), x[0])
    steps = np.diff(x)
    even = np.ptp(steps) < 1e-6 * steps.mean()
    # far apart points of a rule frame a gap where nothing is: there a spline could swing
    curve = CubicSpline(x, log_density) if even and len(x) > 3 else PchipInterpolator(x, log_density)
    fine = np.linspace(x[0], x[-1], _FINE)
    density = np.exp(np.minimum(curve(fine) - log_density.max(), 1.0))
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    cumulative = (cumulative + 1e-15 * np.arange(_FINE)) / (cumulative[-1] + 1e-15 * (_FINE - 1))
    return lambda q: np.asarray(np.interp(q, cumulative, fine))


@dataclass(frozen=True)
class ExactConditional:
    """(log μ, log ζ) of one kernel from two uniform numbers, by the rows of its quadrature."""

    n: int
    rows: GammaRows
    prior_mu: LogPrior
    prior_zeta: LogPrior

    @cached_property
    def _quantile(self) -> Callable[[Array], Array]:
        return inverse_cdf(self.rows.log_gamma, self.rows.log_density)

    @cached_property
    def _log_q1(self) -> CubicSpline:
        return CubicSpline(self.rows.log_gamma, self.rows.log_q1)

    def __call__(self, uniforms: Array) -> Array:
        return self.blend((self,), np.ones((len(uniforms), 1)), uniforms)

    @staticmethod
    def blend(around: Sequence[ExactConditional], shares: Array, uniforms: Array) -> Array:
        """Draws at a kernel between others, given their weights of shape (n, len(around)) in an interpolation."""
        u = _combined([own._quantile(uniforms[:, 0]) for own in around], shares)
        # beyond the rows of a kernel log q_1 is as good as linear
        log_q1 = _combined([own._log_q1(np.clip(u, *own.rows.log_gamma[[0, -1]])) for own in around], shares)
        q1 = np.exp(np.clip(log_q1, -_FARTHEST, _FARTHEST))  # a cubic between very different kernels can overshoot
        first = around[0]
        parts = [slice(i, i + _CHUNK) for i in range(0, len(u), _CHUNK)]
        m = np.concatenate([first._log_mu(u[part], q1[part], uniforms[part, 1]) for part in parts])
        return np.stack([m, m + u], axis=1)

    def _log_mu(self, u: Array, q1: Array, q: Array) -> Array:
        found = LogMu(self.n, u, np.zeros_like(q1), q1, self.prior_mu, self.prior_zeta)  # constants do not matter
        return found.quantile_on_grid(q)


@dataclass(frozen=True)
class GaussianConditional:
    """(log μ, log ζ) of one kernel as independent Gaussians."""

    mean: tuple[float, float]
    sd: tuple[float, float]

    def __call__(self, uniforms: Array) -> Array:
        return np.asarray(self.mean) + np.asarray(self.sd) * norm.ppf(np.clip(uniforms, 1e-15, 1.0 - 1e-15))

    @staticmethod
    def blend(around: Sequence[GaussianConditional], shares: Array, uniforms: Array) -> Array:
        """Draws at a kernel between others, given their weights of shape (n, len(around)) in an interpolation."""
        return _combined([own(uniforms) for own in around], shares[:, :, None])


Conditionals = tuple[ExactConditional, ...] | tuple[GaussianConditional, ...]


def _combined(values: list[Array], shares: Array) -> Array:
    return np.asarray(sum(value * shares[:, j] for j, value in enumerate(values)))


def _cubic_shares(x: Array, nodes: Array) -> Array:
    """Weights, of shape (n, len(nodes)), of the values at the nodes in the polynomial through them at each x."""
    columns = []
    for j in range(len(nodes)):
        others = np.delete(nodes, j)
        columns.append(np.prod((x[:, None] - others) / (nodes[j] - others), axis=1))
    return np.stack(columns, axis=1)


def along_a_line(
    positions: Array, conditionals: Conditionals, grid: Array, log_density: Array, stretch: Stretch
) -> Draw:
    """Draws of (log μ, log ζ, log θ) from the marginal density of one kernel parameter and the conditionals.

    The density is given on a grid, of which the positions of the conditionals are a part; both are in the coordinate of
    the rule's equal steps, from which `stretch` leads to log θ.
    """
    quantile = inverse_cdf(grid, log_density)
    steps = np.diff(positions)

    def around(k: int) -> slice:
        """The kernels on both sides of the interval after k; only its ends where the rule has a gap."""
        wide = slice(max(k - 1, 0), k + 3)
        return wide if np.ptp(steps[wide.start : wide.start + 3]) < 1e-6 * steps[k] else slice(k, k + 2)

    def draw(uniforms: Array) -> Array:
        t = quantile(uniforms[:, 2])
        left = np.clip(np.searchsorted(positions, t, side="right") - 1, 0, len(positions) - 2)
        points = np.zeros((len(t), 2))
        for k in np.unique(left):
            here = np.flatnonzero(left == k)
            chosen = around(int(k))
            shares = _cubic_shares(t[here], positions[chosen])
            points[here] = conditionals[k].blend(conditionals[chosen], shares, uniforms[here, :2])
        return np.column_stack([points, stretch(t)])

    return draw


def among_kernels(log_params: Array, weights: Array, conditionals: Conditionals) -> Draw:
    """Draws of (log μ, log ζ, log θ) with log θ one of the given rows of shape (K, P)."""
    edges = np.cumsum(weights)[:-1]

    def draw(uniforms: Array) -> Array:
        chosen = np.searchsorted(edges, uniforms[:, -1], side="right")
        points = np.zeros((len(uniforms), 2))
        for k in np.unique(chosen):
            here = np.flatnonzero(chosen == k)
            points[here] = conditionals[k](uniforms[here, :2])
        return np.column_stack([points, log_params[chosen]])

    return draw
