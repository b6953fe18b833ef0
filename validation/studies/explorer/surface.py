"""The exact posterior of (log μ, log ζ) at one width on a grid, and the Gaussians that closed forms put in its place.

The density is normalised by quadrature. A contour that holds a share p of the posterior is the level of the density
above which there is that share. Ellipses hold 90 % of the Gaussians; how much of the exact posterior they hold tells
whether a Gaussian stands where the posterior is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_lssvm.base.checks import Check
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.marginal.density import Density
from bayes_lssvm.trust import Ladder, Rung
from validation.ladder import PRIOR

from .packed import grid_points, pack

LEVELS = (0.5, 0.9, 0.99)
"""Shares of the posterior inside the contours."""
GAUSSIANS = ("mackay", "hessian", "laplace")
RADIUS = float(np.sqrt(-2.0 * np.log(1.0 - LEVELS[1])))
"""Of an ellipse with 90 % of a Gaussian in two dimensions, in standard deviations."""
_FLOOR = 14.0  # nats below the highest point
_SHOWN = 7.0  # nats: 99.9 % of a Gaussian
_COARSE, _FINE = 41, 161  # points a side of the grids that find the window, and that masses are summed on
_REACH = 6.0  # standard deviations that are looked at for the window
_FARTHEST = 15.0  # nats from the posterior's mean that the window goes for an ellipse
_MARGIN = 0.06
_LEAST_MASS = 0.99


def posterior_at(sigma: float, found: Ladder, X: Array, y: Array, side: int) -> dict[str, Any]:
    """The exact log density on a grid of side × side points, rows along log ζ, its contours, and the Gaussians."""
    density = Density(X, y, RBF(sigma), PRIOR.components(0))
    exact, gaussians = found["quadrature"], {name: found[name] for name in GAUSSIANS if _stands(found, name)}
    window = _window(density, exact, gaussians)
    shown = _on_grid(density, window, side) - exact.log_evidence
    fine = _on_grid(density, window, _FINE) - exact.log_evidence
    cell = (window[1] - window[0]) * (window[3] - window[2]) / (_FINE - 1) ** 2
    top = float(shown.max())
    return {
        "window": window,
        "log_density": pack(shown, top - _FLOOR, top, 2),
        "mass": float(np.exp(fine).sum() * cell),
        "levels": [_level(fine, share) for share in LEVELS],
        "gaussians": {name: _moments(rung) for name, rung in gaussians.items()},
        "covered": {name: _covered(fine, window, _moments(rung)) for name, rung in gaussians.items()},
    }


def in_the_window(mass: float) -> Check:
    """Whether the window shows the posterior."""
    sentence = f"The window of the contours holds {mass:.2%} of the posterior (at least {_LEAST_MASS:.0%})."
    return Check("posterior in the window", mass, _LEAST_MASS, bool(mass >= _LEAST_MASS), sentence)


def _stands(found: Ladder, name: str) -> bool:
    """Whether a rung has a Gaussian on these data."""
    return name in found and bool(np.isfinite([*found[name].sd.values(), *found[name].mean.values()]).all())


def _moments(rung: Rung) -> list[float]:
    """Means, standard deviations and correlation of log μ and log ζ."""
    return [*rung.mean.values(), *rung.sd.values(), float(rung.correlation[0, 1])]


def _covered(log_density: Array, window: list[float], moments: list[float]) -> float:
    """The share of the grid's mass within a Gaussian's ellipse."""
    mu, zeta, sd_mu, sd_zeta, correlation = moments
    points = grid_points(window, len(log_density))
    u, v = (points[:, 0] - mu) / sd_mu, (points[:, 1] - zeta) / sd_zeta
    inside = (u**2 - 2.0 * correlation * u * v + v**2) / (1.0 - correlation**2) <= RADIUS**2
    return float(np.average(inside, weights=np.exp(log_density - log_density.max()).ravel()))


def _window(density: Density, exact: Rung, gaussians: dict[str, Rung]) -> list[float]:
    """(low, high) of log μ, then of log ζ: all that the exact density shows, and every ellipse."""
    mean, sd = np.array([*exact.mean.values()]), np.array([*exact.sd.values()])
    low, high = mean - _REACH * sd, mean + _REACH * sd
    coarse = _on_grid(density, [low[0], high[0], low[1], high[1]], _COARSE)
    rows, columns = np.nonzero(coarse > coarse.max() - _SHOWN)
    step = (high - low) / (_COARSE - 1)
    lows = [low + step * [columns.min(), rows.min()]]
    highs = [low + step * [columns.max(), rows.max()]]
    for rung in gaussians.values():
        centre, reach = np.array([*rung.mean.values()]), RADIUS * np.array([*rung.sd.values()])
        # a Gaussian at an end of γ's range may be anywhere, and of any width
        lows.append(np.clip(centre - reach, mean - _FARTHEST, mean))
        highs.append(np.clip(centre + reach, mean, mean + _FARTHEST))
    (left, bottom), (right, top) = np.min(lows, axis=0), np.max(highs, axis=0)
    x, y = _MARGIN * (right - left), _MARGIN * (top - bottom)
    edges = (left - x, right + x, bottom - y, top + y)
    return [round(float(edge), 6) for edge in edges]


def _on_grid(density: Density, window: list[float], side: int) -> Array:
    """The log density, not normalised, of shape (side, side): rows along log ζ, columns along log μ."""
    return density.values(grid_points(window, side)).reshape(side, side)


def _level(log_density: Array, share: float) -> float:
    """The log density above which there is that share of the grid's mass."""
    ordered = np.sort(log_density.ravel())[::-1]
    mass = np.cumsum(np.exp(ordered - ordered[0]))
    return float(np.interp(share * mass[-1], mass, ordered))
