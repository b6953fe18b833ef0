"""An integral over a few kernel parameters on a lattice that grows until nothing is left outside.

    ∫ exp f(θ) dθ ≈ h^P |det L| Σ_k exp f(c + h L k),    k ∈ ℤ^P

with c and L Lᵀ the mean and covariance of a Gaussian that is roughly f's. For a smooth f the trapezoidal rule errs by
about exp(−2π²/h²). From the centre, and from where else f may be large, the lattice is filled towards all sides as long
as f, relative to its largest value, is not far below the tolerance, and h is halved until the integral stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from ...base.typing import Array

_BELOW_TOLERANCE = 2.0  # nats: integrands beyond are left out
_FIRST_STEP = 1.5
_FEW = 8  # values along each axis of the first lattice, or so
_SMOOTH = 2.0  # each change at most the one before to this power; with corners it is near 1, now and then 1.7

Point = tuple[int, ...]


@dataclass(frozen=True)
class LatticeIntegral:
    """The log of the integral.

    Attributes
    ----------
    log_integral, error : float
        In nats; the error as estimated from the last halvings.
    n_values : int
        Values of f that it took.
    points : array of shape (n, P)
        The lattice, and `log_values` f there; each point has the same weight.
    """

    log_integral: float
    error: float
    n_values: int
    points: Array = field(repr=False)
    log_values: Array = field(repr=False)


def integrate_on_lattice(
    log_density: Callable[[Array], float],
    centre: Array,
    scale: Array,
    *,
    tolerance: float,
    most: int = 2500,
    others: Sequence[Array] = (),
    depth: float = 0.0,
    smooth: bool = True,
    coarsest: float = np.inf,
    expect: Callable[[int], object] | None = None,
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
    others : sequence of arrays of shape (P,)
        Points from which the lattice is filled too.
    depth : float
        Nats farther below the largest value than the tolerance asks for, to which the lattice is filled: the log of how
        much larger than the peak a low plain of f may be.
    smooth : bool
        Whether f is as smooth as a Gaussian, where the rule errs by far less than its last change; that of walls and
        plains errs by no more than that.
    coarsest : float
        Spacing of the lattice at which features of f cannot be missed; wider ones are halved in any case.
    expect : callable, optional
        Is told how many values may follow, before each halving.
    """
    origin: Point = (0,) * len(centre)
    values = {origin: log_density(centre)}
    if not np.isfinite(values[origin]):
        raise ValueError("The integrand is zero or not a number at the centre of the lattice; start where it is large.")
    log_volume = float(np.linalg.slogdet(scale)[1])
    depth = depth + _BELOW_TOLERANCE - float(np.log(tolerance))
    step, previous, change, error, log_z = _FIRST_STEP, np.inf, np.inf, np.inf, -np.inf
    more = _FEW ** len(centre)
    while True:
        if expect is not None:
            expect(more)

        def at(k: Point, step: float = step) -> float:
            return log_density(centre + step * (scale @ np.array(k)))

        for other in others:
            nearest: Point = tuple(np.rint(np.linalg.solve(scale, other - centre) / step).astype(int).tolist())
            if nearest not in values:
                values[nearest] = at(nearest)
        _fill(values, at, depth)
        new = float(logsumexp(list(values.values()))) + log_volume + len(centre) * float(np.log(step))
        previous, change, log_z = change, abs(new - log_z), new
        # the last change is the error of the lattice before this one, whose error is far smaller if f is smooth
        squared = smooth and change <= previous**_SMOOTH and previous < 0.1
        error = min(change, 10.0 * change**2) if squared else change
        fine = step * float(np.linalg.norm(scale, axis=0).max()) <= coarsest
        if (error <= tolerance and fine) or len(values) * 2 ** len(centre) > most:
            points = centre + step * (np.array(list(values)) @ scale.T)
            return LatticeIntegral(log_z, float(error), len(values), points, np.array(list(values.values())))
        values = {tuple(2 * i for i in k): value for k, value in values.items()}
        more = len(values) * (2 ** len(centre) - 1)
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
