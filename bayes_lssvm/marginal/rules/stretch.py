"""A coordinate t whose equal steps are equal steps of log θ between two ends, and ever longer ones beyond them.

    log θ = t + S e^{(t − b)/S} − S e^{−(t − a)/S}

is as smooth as a function can be, so that a trapezoidal rule in t converges as fast as one in log θ; without ends it is
the identity. A tail that goes on for hundreds of log units costs a handful of steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base.typing import Array

_SCALE = 2.0  # S
FARTHEST = 300.0  # of log θ, whose exponential can be squared
_BRACKET = (-1000.0, 1000.0)  # of t, which lies between log θ and the farther of the two ends, or near them


class Stretch(NamedTuple):
    """The map from t to log θ, with its ends a and b."""

    low: float = -np.inf
    high: float = np.inf

    def __call__(self, t: Array) -> Array:
        """Log θ at t."""
        up, down = self._exponentials(t)
        return np.asarray(t + _SCALE * up - _SCALE * down)

    def log_slope(self, t: Array) -> Array:
        """Log of ∂log θ/∂t."""
        up, down = self._exponentials(t)
        return np.asarray(np.log1p(up + down))

    def inverse(self, position: float) -> float:
        """The t of a log θ, by bisection, to rounding."""
        below, above = _BRACKET
        for _ in range(100):
            middle = 0.5 * (below + above)
            below, above = (middle, above) if self(np.asarray(middle)) < position else (below, middle)
        return 0.5 * (below + above)

    def _exponentials(self, t: Array) -> tuple[Array, Array]:
        t = np.asarray(t, dtype=float)
        up = np.exp(np.minimum((t - self.high) / _SCALE, 300.0))
        return up, np.exp(np.minimum((self.low - t) / _SCALE, 300.0))
