"""An integral over a few kernel parameters on a lattice that grows until nothing is left outside.

    ∫ exp f(θ) dθ ≈ Π_i h_i |det L| Σ_k exp f(c + L diag(h) k),    k ∈ ℤ^P

with c and L Lᵀ the mean and covariance of a Gaussian that is roughly f's. For a smooth f the trapezoidal rule errs by
about exp(−2π²/h²). From the centre, and from where else f may be large, the lattice is filled towards all sides as long
as f, relative to its largest value, is not far below the tolerance. Then one step after the other is halved, always
that of the axis along which most is left to gain, until the integral stands still: a ridge needs short steps across it
and none along it.

What is left to gain along an axis is told by the changes c₁, c₂, … of the log of the integral at its halvings. They
shrink by a quarter each where f has corners, and faster and faster where it has none; with q the last quotient the
changes to come add up to less than c Σ_j q^{j/2} = c √q/(1 − √q), which is c itself for corners.
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
_BY_CHANCE = 1.0 / 30.0  # a change is not taken for a smaller share than this of the one before

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
    P = len(centre)
    origin: Point = (0,) * P
    values = {origin: log_density(centre)}
    if not np.isfinite(values[origin]):
        raise ValueError("The integrand is zero or not a number at the centre of the lattice; start where it is large.")
    log_volume, lengths = float(np.linalg.slogdet(scale)[1]), np.linalg.norm(scale, axis=0)
    depth = depth + _BELOW_TOLERANCE - float(np.log(tolerance))
    steps, halved, log_z = np.full(P, _FIRST_STEP), -1, -np.inf
    changes: list[list[float]] = [[] for _ in range(P)]
    more = _FEW**P
    while True:
        if expect is not None:
            expect(more)

        def at(k: Point, steps: Array = steps) -> float:
            return log_density(centre + scale @ (steps * np.array(k)))

        for other in others:
            nearest: Point = tuple(np.rint(np.linalg.solve(scale, other - centre) / steps).astype(int).tolist())
            if nearest not in values:
                values[nearest] = at(nearest)
        _fill(values, at, depth)
        new = float(logsumexp(list(values.values()))) + log_volume + float(np.log(steps).sum())
        if halved >= 0:
            changes[halved].append(abs(new - log_z))
        log_z = new
        errors = np.array([_left(own, smooth) for own in changes])
        coarse = steps * lengths > coarsest
        if (errors.sum() <= tolerance and not coarse.any()) or len(values) * 2 > most:
            points = centre + (steps * np.array(list(values))) @ scale.T
            logs = np.array(list(values.values()))
            return LatticeIntegral(log_z, float(errors.sum()), len(values), points, logs)
        halved = int(np.argmax(np.where(coarse, np.inf, errors) if errors.sum() <= tolerance else errors))
        values = {(*k[:halved], 2 * k[halved], *k[halved + 1 :]): value for k, value in values.items()}
        more = len(values)
        steps = np.where(np.arange(P) == halved, 0.5 * steps, steps)


def _left(changes: list[float], smooth: bool) -> float:
    """What further halvings along an axis may change, from the changes so far."""
    if not changes:
        return np.inf
    change = changes[-1]
    previous = changes[-2] if len(changes) > 1 else np.inf
    if smooth:
        # the last change is the error of the lattice before this one, whose error is far smaller
        return min(change, 10.0 * change**2) if change <= previous**_SMOOTH and previous < 0.1 else change
    if not np.isfinite(previous):
        return change
    change = max(change, _BY_CHANCE * previous)
    root = np.sqrt(change / previous) if previous > 0.0 else 0.0
    return float(change * root / (1.0 - root)) if root < 0.5 else change


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
