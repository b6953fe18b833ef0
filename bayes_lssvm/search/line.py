"""The maximum of a function of one number by few evaluations, each of which is dear: parabolas through its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..base.typing import Array

_FARTHEST = 5.0  # steps to a vertex that is believed
_FEWEST = 3  # points of which none need be near the maximum
_DEGREE = 5  # points that a polynomial goes through, at most


class LineMaximum(NamedTuple):
    """Where a search along a line ended.

    `position` is the last vertex, which was not evaluated if it promised too little; `curvature` the second derivative
    there, by the last parabola.
    """

    position: float
    n_evaluations: int
    converged: bool
    curvature: float


def maximise_on_line(
    function: Callable[[float], float],
    start: float,
    step: float,
    bounds: Array,
    tolerance: float,
    *,
    curvature: float = np.nan,
    max_iter: int = 60,
) -> LineMaximum:
    """A maximum of a function of one number: uphill until it is bracketed, then vertices of parabolas.

    Parameters
    ----------
    function : callable
        −inf where it is not defined.
    start, step : float
    bounds : pair of floats
    tolerance : float
        Ends when a further vertex promises less than this.
    curvature : float, optional
        The second derivative, if something is known of it: two points then make a parabola.
    """
    low, high = float(bounds[0]), float(bounds[1])
    points: dict[float, float] = {start: function(start)}

    def evaluate(u: float) -> None:
        u = float(np.clip(u, low, high))
        if u not in points:
            points[u] = function(u)

    aside = start + step if start + step <= high else start - step
    evaluate(aside)
    rise = points[aside] - points[start]
    if curvature < 0.0 and np.isfinite(rise):
        slope = rise / (aside - start) - 0.5 * curvature * (aside - start)
        evaluate(start + float(np.clip(-slope / curvature, -5.0 * step, 5.0 * step)))
    for _ in range(max_iter):
        x = np.array(sorted(points))
        f = np.array([points[u] for u in x])
        i = int(f.argmax())
        if i in (0, len(x) - 1):
            top, inner = float(x[i]), float(x[1] if i == 0 else x[-2])
            if top in (low, high):
                if abs(top - inner) < 1e-3:
                    return LineMaximum(top, len(points), True, np.nan)
                evaluate(top + 0.1 * (inner - top))
                continue
            nearby = slice(0, 3) if i == 0 else slice(max(len(x) - 3, 0), len(x))
            vertex, gain, bend = parabola(x[nearby], f[nearby], i - nearby.start)
            beyond = (vertex - top) / (top - inner)
            if bend < 0.0 and -1.0 < beyond < 0.02:  # the top lies before the end, though no point shows it
                if gain < tolerance:
                    return LineMaximum(vertex, len(points), True, bend)
                evaluate(vertex)
            elif bend < 0.0 and 0.02 <= beyond < 3.0:
                evaluate(vertex + 0.3 * (vertex - top))  # a little too far, so that it is bracketed
            else:
                evaluate(top + (1.0 if len(x) < 3 else 2.0) * (top - inner))
            continue
        nearby = slice(i - 1, i + 2)
        vertex, gain, bend = parabola(x[nearby], f[nearby], 1)
        left, middle, right = (float(u) for u in x[nearby])
        if gain < tolerance or right - left < 1e-5:
            return LineMaximum(vertex, len(points), True, bend)
        # a vertex on top of a known point would teach nothing
        if min(abs(vertex - u) for u in (left, middle, right)) < 1e-3 * (right - left):
            vertex = 0.5 * (middle + (left if middle - left > right - middle else right))
        evaluate(vertex)
    best = max(points, key=lambda u: points[u])
    return LineMaximum(best, len(points), False, np.nan)


def follow_parabolas(
    function: Callable[[float], float],
    start: float,
    step: float,
    bounds: Array,
    closeness: float,
    *,
    curvature: float,
    max_iter: int = 6,
) -> LineMaximum | None:
    """A maximum that is near and whose curvature is about known, by as few evaluations as can be: five, as a rule.

    From the second point on each vertex, of a parabola and then of polynomials through more points, is taken at its
    word, bracketed or not; the last one is not evaluated. None where a parabola opens upwards or
    leads out of the box, or where it does not settle: `maximise_on_line` is for these.

    Parameters
    ----------
    function, start, step, bounds, curvature : as in `maximise_on_line`
    closeness : float
        Ends when the next vertex is as close as this to the highest point.
    """
    low, high = float(bounds[0]), float(bounds[1])
    aside = start + step if start + step <= high else start - step
    points = {u: function(u) for u in (start, aside)}
    if not (curvature < 0.0 and np.isfinite(list(points.values())).all()):
        return None
    slope = (points[aside] - points[start]) / (aside - start) - 0.5 * curvature * (aside - start)
    vertex = start + float(np.clip(-slope / curvature, -_FARTHEST * step, _FARTHEST * step))
    bend = curvature
    for _ in range(max_iter):
        best = max(points, key=lambda u: points[u])
        if len(points) > _FEWEST and abs(vertex - best) < closeness:  # a parabola of three points has been tried
            return LineMaximum(vertex, len(points), True, bend)
        if not low < vertex < high or vertex in points:
            return None
        points[vertex] = function(vertex)
        best = max(points, key=lambda u: points[u])
        x = np.array(sorted(points, key=lambda u: abs(u - best))[:_DEGREE])
        f = np.array([points[u] for u in x.tolist()])
        vertex, bend = _vertex(x, f)
        if not (np.isfinite(f).all() and bend < 0.0 and abs(vertex - best) < _FARTHEST * step):
            return None
    return None


def _vertex(x: Array, f: Array) -> tuple[float, float]:
    """The maximum next to the first point of the polynomial through all, and its second derivative there."""
    scale = float(np.ptp(x))
    polynomial = np.poly1d(np.polyfit((x - x[0]) / scale, f - f[0], len(x) - 1))
    slope, bend = polynomial.deriv(), polynomial.deriv(2)
    tops = [float(u.real) for u in slope.roots if abs(u.imag) < 1e-9 and bend(u.real) < 0.0]
    if not tops:
        return float(x[0]), np.nan
    top = min(tops, key=abs)
    return float(x[0]) + scale * top, float(bend(top)) / scale**2


def parabola(x: Array, f: Array, top: int) -> tuple[float, float, float]:
    """Vertex of the parabola through three points, its height above the highest one, number `top`, and f″."""
    if len(x) < 3:
        return float(x[top]), 0.0, np.nan
    if not np.isfinite(f).all():  # an indefinite kernel on one side: halve towards the other
        defined = [u for u, value in zip(x, f, strict=True) if np.isfinite(value) and u != x[top]]
        return (float(0.5 * (x[top] + defined[0])), np.inf, np.nan) if defined else (float(x[top]), 0.0, np.nan)
    (a, b), (p, q) = np.delete(x - x[top], top), np.delete(f - f[top], top)
    # f ≈ f_top + g u + h u²
    h = (p / a - q / b) / (a - b)
    g = p / a - h * a
    if not h < 0.0:
        return float(x[top]), 0.0, np.nan
    return float(x[top] - 0.5 * g / h), float(-0.25 * g * g / h), float(2.0 * h)
