"""Brent's method for many brackets at once: step by step SciPy's `brentq`, with all functions evaluated together.

One bracket costs what `brentq` costs; many of them cost few calls of a function that is cheaper for an array than for
its entries one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np

from ..base.typing import AnyArray, Array

_XTOL, _RTOL, _MAX_STEPS = 1e-10, 1e-14, 100


def roots_in_brackets(function: Callable[[Array, AnyArray], Array], low: Array, high: Array, otherwise: Array) -> Array:
    """A root in each bracket.

    Parameters
    ----------
    function : callable
        f(x, which) of shape (n,) for n points and the numbers of the brackets that they belong to.
    low, high : arrays of shape (B,)
    otherwise : array of shape (B,)
        What stands for the root where the function has one sign at both ends.
    """
    every = np.arange(len(low))
    ends = np.array([function(low, every), function(high, every)]).T.tolist()
    found = np.array(otherwise, dtype=float)
    searches = {}
    for k, (f_low, f_high) in enumerate(ends):
        if f_low == 0.0 or f_high == 0.0:
            found[k] = low[k] if f_low == 0.0 else high[k]
        elif (f_low < 0.0) != (f_high < 0.0):
            searches[k] = _brent(float(low[k]), float(high[k]), f_low, f_high)
    asked = {k: next(search) for k, search in searches.items()}
    while asked:
        which = np.array(list(asked))
        answers = function(np.array(list(asked.values())), which).tolist()
        for k, value in zip(which.tolist(), answers, strict=True):
            try:
                asked[k] = searches[k].send(value)
            except StopIteration as end:
                found[k] = end.value
                del asked[k]
    return found


def _brent(x_pre: float, x: float, f_pre: float, f: float) -> Generator[float, float, float]:
    """Points where the function is wanted, and at the end the root; x_blk is the other end of the bracket."""
    x_blk = f_blk = s_pre = s = 0.0
    for _ in range(_MAX_STEPS):
        if f_pre != 0.0 and f != 0.0 and (f_pre < 0.0) != (f < 0.0):
            x_blk, f_blk = x_pre, f_pre
            s_pre = s = x - x_pre
        if abs(f_blk) < abs(f):
            x_pre, x, x_blk = x, x_blk, x
            f_pre, f, f_blk = f, f_blk, f
        delta = (_XTOL + _RTOL * abs(x)) / 2.0
        bisection = (x_blk - x) / 2.0
        if f == 0.0 or abs(bisection) < delta:
            return x
        if abs(s_pre) > delta and abs(f) < abs(f_pre):
            if x_pre == x_blk:  # interpolate
                step = -f * (x - x_pre) / (f - f_pre)
            else:  # extrapolate
                d_pre, d_blk = (f_pre - f) / (x_pre - x), (f_blk - f) / (x_blk - x)
                step = -f * (f_blk * d_blk - f_pre * d_pre) / (d_blk * d_pre * (f_blk - f_pre))
            short = 2.0 * abs(step) < min(abs(s_pre), 3.0 * abs(bisection) - delta)
            s_pre, s = (s, step) if short else (bisection, bisection)
        else:
            s_pre = s = bisection
        x_pre, f_pre = x, f
        x += s if abs(s) > delta else delta if bisection > 0.0 else -delta
        f = yield x
    return x
