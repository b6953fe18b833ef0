"""What rounding can do to the eigenvalues of a matrix of order n: one rule for all that look at their signs."""

from __future__ import annotations

import sys

EPS = sys.float_info.epsilon
# Eigenvalues of the centred matrix carry the rounding of the whole one: about eps·‖Ω‖, however small they are.
ROUNDING = 100 * EPS


def negative_rounding(n: int, norm: float) -> float:
    """How far below zero rounding can take an eigenvalue of a matrix of order n: a multiple of n·eps·‖Ω‖."""
    return max(ROUNDING, 10 * n * EPS) * norm
