"""The trapezoidal rule for a log integrand, and when halving its step has converged.

For a smooth integrand that dies away at both ends the error at step h is about exp(−c/h), so that halving h squares it.
The last change is the error of the rule before the last; once changes fall that fast, the rule that is at hand errs by
about their square, and halving once more, which doubles the work, would only confirm it.
"""

from __future__ import annotations

import numpy as np

from ...base.typing import Array
from ..log_mu import log_sum_exp

_SMOOTH = 2.0  # each change at most the one before to this power; at corners and cut tails it is a share of it
_SAFETY = 10.0


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
