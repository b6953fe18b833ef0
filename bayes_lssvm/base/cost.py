"""What a fit will take, said before it starts.

Time is counted in Cholesky factorisations of the kernel matrix, and one of them is timed on the machine: what is
predicted follows its speed, its BLAS and its threads. Predictions are right to a factor of two or so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from time import perf_counter

import numpy as np
from scipy.linalg import lapack

from .errors import LongFitWarning, warn
from .memory import available_bytes

WORTH_SAYING = 10.0  # seconds
MATRICES = 4.0  # of N × N doubles at the peak of a fit, measured as 3.1, and some room
# Cholesky factorisations in a default fit, measured at N = 1000 to 8000: of kernels without a parameter, with one, and
# for each parameter more
_HELD, _FACTORISATIONS, _FOR_A_PARAMETER = 14.0, 45.0, 8.0
_TIMED = 512
# passes over all rows in a design, flops for each row and pair of landmarks, and of level 2 for each pair of classes
_PASSES, _FLOPS_OF_A_PASS, _FLOPS_OF_A_PAIR = 9.0, 4.0, 40.0
# where scales may take the place of one width: passes more over all rows, and over those that stand for all, and
# evaluations with their gradients on few rows, landmarks and bits
_MORE_PASSES, _OF_THE_SAMPLE, _SAMPLE = 4.0, 3.0, 20_000.0
_CLIMB, _FEW_ROWS, _FEW_LANDMARKS, _FEW_BITS = 70.0, 2000.0, 200.0, 40.0


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes, as far as they can be predicted."""

    seconds: float
    bytes: float

    def __str__(self) -> str:
        return f"about {_time(self.seconds)} and {_memory(self.bytes)}"


def _time(seconds: float) -> str:
    for unit, size, limit in (("second", 1.0, 100.0), ("minute", 60.0, 100.0), ("hour", 3600.0, 48.0)):
        if seconds < limit * size:
            count = max(1, round(seconds / size))
            return f"{count} {unit}{'s' * (count > 1)}"
    return f"{seconds / 86400.0:.3g} days"


def _memory(size: float) -> str:
    if size < 2**30:
        return f"{max(1.0, size / 2**20):.0f} MiB"
    gib = size / 2**30
    return f"{gib:.0f} GiB" if gib >= 10 else f"{gib:.2g} GiB"


@cache
def seconds_a_flop() -> float:
    """Time of a Cholesky factorisation on this machine, for each of its n³/3 flops; a few milliseconds of work."""
    A = np.full((_TIMED, _TIMED), 0.5, order="F")
    A.flat[:: _TIMED + 1] = 1.0
    times = []
    for _ in range(4):
        start = perf_counter()
        lapack.dpotrf(A, lower=1, overwrite_a=0)
        times.append(perf_counter() - start)
    return 3.0 * min(times) / _TIMED**3


def exact_cost(rows: Iterable[int], parameters: int) -> Cost:
    """Of members with these numbers of rows, one after the other, and kernels with this number of parameters."""
    rows = list(rows)
    count = _FACTORISATIONS + _FOR_A_PARAMETER * (parameters - 1) if parameters else _HELD
    flops = count / 3.0 * sum(float(n) ** 3 for n in rows)
    return Cost(flops * seconds_a_flop(), 8.0 * MATRICES * max(rows) ** 2)


def fixed_size_cost(n: float, landmarks: int, *, matrices: int = 1, scales: bool = True) -> Cost:
    """Of a model of fixed size on n rows that keeps this number of matrices of sums: one, or one for each class.

    `scales` says whether a scale for each input may take the place of one width.
    """
    m, pairs = float(landmarks), max(1.0, 0.5 * matrices * (matrices - 1.0))

    def evaluations(rows: float, count: float, m: float, pairs: float) -> float:
        return count * (_FLOPS_OF_A_PASS * rows * m * m * max(1.0, 0.5 * matrices) + _FLOPS_OF_A_PAIR * pairs * m**3)

    flops = evaluations(n, _PASSES, m, pairs) + exact_flops_of_the_subset(n)
    if scales:
        flops += evaluations(n, _MORE_PASSES, m, pairs) + evaluations(min(n, _SAMPLE), _OF_THE_SAMPLE, m, pairs)
        flops += evaluations(min(n, _FEW_ROWS), 2.0 * _CLIMB, min(m, _FEW_LANDMARKS), min(pairs, _FEW_BITS))
    return Cost(flops * seconds_a_flop(), 8.0 * ((4.0 + 2.0 * matrices) * m * m + 3.0 * 4096.0 * m))


def exact_flops_of_the_subset(n: float, subset: float = 1000.0) -> float:
    """Flops of the first search of the kernel, on at most a thousand rows."""
    return _FACTORISATIONS / 3.0 * min(n, subset) ** 3


def announce(rows: Iterable[int], parameters: int, instead: str) -> None:
    """A `LongFitWarning` where a fit will take more than about ten seconds, before it starts."""
    rows = list(rows)
    if max(rows) < 2 * _TIMED:  # never that long, and not worth a timing
        return
    cost, room = exact_cost(rows, parameters), available_bytes()
    if cost.seconds < WORTH_SAYING or (room is not None and cost.bytes > room):  # what does not fit is refused
        return
    total = max(rows)
    rather = fixed_size_cost(total, 500)
    warn(
        f"A fit to {total} rows takes {cost} here. {instead} takes {rather}, and does not keep the kernel matrix.",
        LongFitWarning,
    )
