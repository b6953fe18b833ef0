"""The log posterior density of (log γ, θ) as a table that NUTS can read in a microsecond.

With log μ integrated out, the density lives in a box, which x = low + (high − low)/(1 + e^{−z}) maps to the whole space
axis by axis; NUTS samples z. The table holds the log density on a grid of equal steps, as the quintic polynomials of an
interpolating spline in powers of the distance from the centre of each cell. The steps are equal in x; or in z between
−8 and 8, and the table includes log |dx/dz| then, along log γ where the box ends at the edge of a prior: log γ being
the difference of two bounded numbers, the density goes to zero there, and its log is smooth in z only.

The table's size does not depend on the data, so that nothing is compiled twice.
"""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.special import expit, log_expit, logit

from ...base.typing import AnyArray, Array
from ...priors import LogPrior
from ..log_mu import LogMu, support_of_log_gamma
from .interpolant import Surface

DEGREE = 5
HALF_WIDTH = 8.0  # of a stretched axis
_CELLS = {1: (512,), 2: (192, 192)}
_DEEPEST = 1e4  # nats below the maximum; lower values are cut off, so that splines stay calm


class Table(NamedTuple):
    """A log density on a box.

    Attributes
    ----------
    low, high : arrays of shape (D,)
        Corners of the box.
    stretched : boolean array of shape (D,)
        Axes whose steps are equal in z.
    coefficients : array of shape (cells…, 6, …)
        Of the log density minus `peak`, highest power first; the axes of the cells come before those of the powers.
        Distances are in units of the grid, of length 1 along each axis.
    grid : array of shape (cells + 1, …)
        The log density itself, with log |dx/dz| of stretched axes.
    peak : float
        Its maximum.
    """

    low: Array
    high: Array
    stretched: AnyArray
    coefficients: Array
    grid: Array
    peak: float


def to_box(z: Array, low: Array, high: Array) -> Array:
    """X of points z of shape (…, D)."""
    return np.asarray(low + (high - low) * expit(z))


def log_jacobian(z: Array, low: Array, high: Array) -> Array:
    """Log |dx/dz| along each axis, of the shape of z."""
    return np.asarray(np.log(high - low) + log_expit(z) + log_expit(-z))


def kernel_log_prior(x: Array, parts: tuple[LogPrior, ...]) -> Array:
    """Log prior of the kernel's parameter at points (u,) or (u, θ) of shape (…, D); zero where it is held."""
    return np.asarray(sum((p.log_density(x[..., 1 + i]) for i, p in enumerate(parts[2:])), np.zeros(x.shape[:-1])))


def tabulate(surface: Surface, parts: tuple[LogPrior, ...]) -> Table:
    """The table of a surface with priors of log μ, log ζ and θ, if it is free."""
    low, high = surface.low, surface.high
    edges = np.abs(np.array([low[0], high[0]]) - support_of_log_gamma(*parts[:2]))
    stretched = np.arange(len(low)) == (0 if edges.min() < 1e-9 else -1)
    shares = [np.linspace(0.0, 1.0, cells + 1) for cells in _CELLS[len(low)]]
    axes = tuple(
        low[i] + (high[i] - low[i]) * (expit(_stretch(s)) if stretched[i] else s) for i, s in enumerate(shares)
    )
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)  # [cells + 1, …, D]
    log_det, q1 = surface.on_grid(axes)
    u = x[..., 0].ravel()
    log_mu = LogMu(surface.n, u, log_det.ravel(), q1.ravel(), parts[0], parts[1], surface.log_constant)
    grid = log_mu.log_integral().reshape(log_det.shape) + kernel_log_prior(x, parts)
    if stretched[0]:
        slope = log_jacobian(_stretch(shares[0]), low[0], high[0])
        grid = grid + slope.reshape(-1, *(1 for _ in shares[1:]))
    peak = float(grid.max())
    grid = np.maximum(grid, peak - _DEEPEST)
    return Table(low, high, stretched, polynomials(shares, grid - peak), grid, peak)


def _stretch(share: Array) -> Array:
    return np.asarray(HALF_WIDTH * (2.0 * share - 1.0))


def polynomials(grids: list[Array], values: Array) -> Array:
    """Coefficients of the pieces of a tensor spline, of shape (cells…, 6, …)."""
    for axis, grid in enumerate(grids):
        spline = make_interp_spline(grid, values, k=DEGREE, axis=axis)
        centres = 0.5 * (grid[1:] + grid[:-1])
        values = np.stack([spline(centres, nu=k) / factorial(k) for k in range(DEGREE, -1, -1)], axis=-1)
    return np.ascontiguousarray(values)


def scattered_starts(table: Table, n: int, rng: np.random.Generator) -> Array:
    """Starting points z of shape (n, D), drawn from the square root of the density: wider than it, in all its modes."""
    weights = np.exp(0.5 * (table.grid - table.peak)).ravel()
    chosen = np.unravel_index(rng.choice(weights.size, size=n, p=weights / weights.sum()), table.grid.shape)
    shares = np.stack(chosen, axis=1) / (np.array(table.grid.shape) - 1.0)
    return np.where(table.stretched, _stretch(shares), logit(np.clip(shares, 1e-3, 1.0 - 1e-3)))
