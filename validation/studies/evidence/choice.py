"""The width that a rung of the ladder selects, by optimisation: a scan of log σ, then Brent's method about its best."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from bayes_lssvm.base.typing import Array

from .rungs import rung

_SCAN = 25
_PRECISION = 1e-6  # of log σ


def chosen_width(name: str, low: float, high: float, X: Array, y: Array, seed: int) -> dict[str, Any]:
    """σ at the maximum of a rung between two widths, and what the exact evidence is there.

    Returns
    -------
    dict
        sigma; value, the rung's log evidence there; exact, the log evidence by quadrature there; at_edge, whether the
        maximum is an end of the range.
    """
    grid = np.linspace(np.log(low), np.log(high), _SCAN)
    values = np.array([rung(name, float(np.exp(u)), X, y, seed) for u in grid])
    best = int(np.argmax(values))
    if not np.isfinite(values[best]):
        raise ValueError(f"The rung {name!r} has no value anywhere between σ = {low:g} and {high:g}.")
    at_edge = best in (0, _SCAN - 1)
    if at_edge:
        at = float(grid[best])
    else:
        with np.errstate(invalid="ignore"):  # a rung without a value at some width is −inf there
            found = minimize_scalar(
                lambda u: -rung(name, float(np.exp(u)), X, y, seed),
                bounds=(grid[best - 1], grid[best + 1]),
                method="bounded",
                options={"xatol": _PRECISION},
            )
        at = float(found.x)
    sigma = float(np.exp(at))
    return {
        "rung": name,
        "sigma": sigma,
        "value": rung(name, sigma, X, y, seed),
        "exact": rung("quadrature", sigma, X, y, seed),
        "at_edge": at_edge,
    }
