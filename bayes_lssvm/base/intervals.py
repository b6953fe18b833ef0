"""Intervals of new targets: what they are, and the share of targets that they shall hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .typing import Array


class Interval(NamedTuple):
    """Ends of the interval of each new target, of shape (n,), or (n, L) for several outputs."""

    lower: Array
    upper: Array


def require_coverage(coverage: Any) -> float:
    """The coverage as a float; a `ValueError` where it is no number between 0 and 1."""
    number = isinstance(coverage, int | float | np.number) and not isinstance(coverage, bool)
    if not number or not 0.0 < float(coverage) < 1.0:
        raise ValueError(
            "coverage is the share of new targets to be covered, a number between 0 and 1 such as 0.9; got "
            f"{coverage!r}."
        )
    return float(coverage)
