"""The trapezoidal rule for a log integrand, and when halving its step has converged.

For a smooth integrand that dies away at both ends the error at step h is about exp(−c/h), so that halving h squares it.
The last change is the error of the rule before the last; once changes fall that fast, the rule that is at hand errs by
about their square, and halving once more, which doubles the work, would only confirm it.

A change can be small by accident, though: the error is the integrand's Fourier transform at 2π/h, which swings, and
the last change is the transform at π/h. Its size over the upper half of the frequencies up to π/h says how fast it
falls there, and so how large it can be at 2π/h.
"""

from __future__ import annotations

import numpy as np

from ...base.typing import Array
from ..log_mu import log_sum_exp

_SMOOTH = 2.0  # each change at most the one before to this power; at corners and cut tails it is a share of it
_SAFETY = 10.0
_FAR = 100.0  # what a transform that falls more and more slowly can have more; on 40 random problems up to 32
_HARDLY = 1e-6  # of a step, by which one may be longer
_FINE = 16
_FEWEST = 16  # values that have a transform to speak of


def equal_steps(low: float, high: float, longest: float, fewest: int = 1) -> Array:
    """A grid of equal steps, none longer than this.

    A range of a whole number of steps has that many, on whichever side of it rounding has put its length.
    """
    return np.linspace(low, high, max(int(np.ceil((high - low) / longest - _HARDLY)), fewest) + 1)


def log_trapezoid(x: Array, log_values: Array) -> float:
    """Log ∫ exp from the logs of an integrand on a grid of equal steps."""
    log_weights = np.full(len(x), np.log(x[1] - x[0]))
    log_weights[[0, -1]] -= np.log(2.0)
    return float(log_sum_exp(log_values + log_weights))


def error_after(change: float, previous: float) -> float:
    """Error in nats of the rule at hand, from the last two changes of its log integral under halving."""
    if change < 0.1 and change <= previous**_SMOOTH:
        return min(change, _SAFETY * change**2)
    return change


def aliased(log_values: Array) -> float:
    """The share of the integral that a rule on a grid of equal steps may err by, from the integrand's transform."""
    if len(log_values) < _FEWEST:
        return np.inf
    # zeros behind the values, so that the frequencies are as many as it takes to say where a part of them begins
    sizes = np.abs(np.fft.rfft(np.exp(log_values - log_values.max()), _FINE * len(log_values)))
    sizes, n = sizes / sizes[0], len(sizes)
    before, last = float(sizes[n // 2 : 3 * n // 4].max()), float(sizes[7 * n // 8 :].max())
    # three times as far again as from the one to the other is twice the highest frequency
    return _FAR * last * min(last / max(before, 1e-300), 1.0) ** 3
