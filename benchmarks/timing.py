"""Timing of two things side by side, so that what slows one slows the other."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """One line of the table: a figure, the bar it should meet, and what it was measured against."""

    name: str
    ours: str
    against: str
    figure: float
    bar: float
    smaller_is_better: bool
    unit: str = "×"

    @property
    def met(self) -> bool:
        """Whether the bar is met."""
        return self.figure <= self.bar if self.smaller_is_better else self.figure >= self.bar

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**self.__dict__, "met": self.met}


def seconds(function: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time of one call, by the wall clock unless another one is given."""
    start = clock()
    function()
    return clock() - start


def side_by_side(
    first: Callable[[], Any],
    second: Callable[[], Any],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Median seconds of both, called in turns; the first calls warm up and are not counted."""
    first()
    second()
    pairs = [(seconds(first, clock), seconds(second, clock)) for _ in range(repeats)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def peak_memory() -> float:
    """The most bytes that this process had in memory; on Linux since it began.

    `ru_maxrss` goes on through exec, so that a child which a large process starts seems to be as large from the start.
    """
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(1024.0 * float(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        import resource

        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def readable(duration: float) -> str:
    """A duration with a fitting unit."""
    return f"{duration * 1e3:.1f} ms" if duration < 1.0 else f"{duration:.2f} s"


def table(rows: list[Measured]) -> str:
    """The rows as a Markdown table, which reads well on a terminal too."""
    header = ("what", "ours", "measured against", "figure", "bar", "met")
    lines = [
        (
            row.name,
            row.ours,
            row.against,
            f"{row.figure:.3g} {row.unit}",
            f"{'≤' if row.smaller_is_better else '≥'} {row.bar:g} {row.unit}",
            "yes" if row.met else "NO",
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    rule = tuple("-" * w for w in widths)
    return "\n".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |"
        for line in [header, rule, *lines]
    )
