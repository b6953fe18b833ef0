"""An integral over a few kernel parameters on a lattice that grows until nothing is left outside.

    ∫ exp f(θ) dθ ≈ h^P |det L| Σ_k exp f(c + h L k),    k ∈ ℤ^P

with c and L Lᵀ the mean and covariance of a Gaussian that is roughly f's. For a smooth f the trapezoidal rule errs by
about exp(−2π²/h²). From the centre the lattice is filled towards all sides as long as f, relative to its largest value,
is not far below the tolerance, and h is halved until the integral stands still.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from bayes_lssvm.base.typing import Array

_BELOW_TOLERANCE = 2.0  # nats: integrands beyond are left out
_FIRST_STEP = 1.5
_SMOOTH = 2.0  # each change at most the one before to this power; with corners it is near 1, now and then 1.7

Point = tuple[int, ...]


class LatticeIntegral(NamedTuple):
    """The log of the integral, its error in nats, and the number of values of f that it took."""

    log_integral: float
    error: float
    n_values: int


def integrate_on_lattice(
    log_density: Callable[[Array], float], centre: Array, scale: Array, *, tolerance: float, most: int = 2500
) -> LatticeIntegral:
    """Integrate exp of `log_density` over ℝ^P.

    Parameters
    ----------
    log_density : function of an array of shape (P,)
        Smooth; it has to fall towards all sides.
    centre : array of shape (P,)
    scale : array of shape (P, P)
        L, invertible.
    tolerance : float
        Error of the log of the integral at which the lattice is fine enough.
    most : int
        The lattice is not halved where it would have more points than this.
    """
    origin: Point = (0,) * len(centre)
    values = {origin: log_density(centre)}
    if not np.isfinite(values[origin]):
        raise ValueError("The integrand is zero or not a number at the centre of the lattice; start where it is large.")
    log_volume = float(np.linalg.slogdet(scale)[1])
    depth = _BELOW_TOLERANCE - float(np.log(tolerance))
    step, previous, change, error, log_z = _FIRST_STEP, np.inf, np.inf, np.inf, -np.inf
    while True:
        _fill(values, lambda k, h=step: log_density(centre + h * (scale @ np.array(k))), depth)  # type: ignore[misc]
        new = float(logsumexp(list(values.values()))) + log_volume + len(centre) * float(np.log(step))
        previous, change, log_z = change, abs(new - log_z), new
        # the last change is the error of the lattice before this one, whose error is far smaller if f is smooth
        smooth = change <= previous**_SMOOTH and previous < 0.1
        error = min(change, 10.0 * change**2) if smooth else change
        if error <= tolerance or len(values) * 2 ** len(centre) > most:
            return LatticeIntegral(log_z, float(error), len(values))
        values = {tuple(2 * i for i in k): value for k, value in values.items()}
        step *= 0.5


def _fill(values: dict[Point, float], at: Callable[[Point], float], depth: float) -> None:
    """Add the neighbours of every point that counts, and theirs, until those at the rim do not count."""
    best = max(values.values())
    waiting = [k for k, value in values.items() if value > best - depth]
    while waiting:
        k = waiting.pop()
        if values[k] <= best - depth:
            continue
        for axis in range(len(k)):
            for move in (-1, 1):
                beside = (*k[:axis], k[axis] + move, *k[axis + 1 :])
                if beside not in values:
                    values[beside] = at(beside)
                    best = max(best, values[beside])
                    waiting.append(beside)
