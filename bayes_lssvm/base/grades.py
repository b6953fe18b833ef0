"""Grades: a measured quantity, how good it is by stated limits, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

Level = Literal["good", "not checked", "doubtful", "bad"]
GRADED: tuple[Level, ...] = ("good", "doubtful", "bad")
# Up to the first number a check is good, up to the second doubtful, beyond it bad.
LIMITS: dict[str, tuple[float, float]] = {
    "evidence": (0.5, 2.0),  # nats; half a nat is less than a Bayes factor of 2
    "error bars": (0.22, 0.69),  # |log of a ratio|: factors of 1.25 and 2
    "k_hat": (0.7, 1.0),
    "missed modes": (0.05, 0.3),  # mass relative to the best mode
    "tail mass": (0.05, 0.15),  # beyond 3 standard deviations, where a Gaussian has 0.0027
    "probability": (0.05, 0.15),
    "regression": (0.25, 1.0),  # in predicted standard deviations
    "log score": (-2.0, 2.0),  # nats behind class frequencies, in standard errors: good is ahead by two
    "reliability": (2.33, 3.72),  # a normal deviate: chances of 1 % and of 1 in 10 000
}


class Grade(NamedTuple):
    """One measured quantity, how good it is by the limits, and what it says.

    Examples
    --------
    >>> from bayes_lssvm.trust import Grade
    >>> Grade("tail mass", 0.02, "good", "2 % of the posterior lies far out.").level
    'good'
    """

    name: str
    value: float
    level: Level
    sentence: str


def level_of(name: str, value: float) -> Level:
    """The level of a value by the limits of that name.

    Examples
    --------
    >>> from bayes_lssvm.trust import LIMITS, level_of
    >>> name, (good, doubtful) = next(iter(LIMITS.items()))
    >>> level_of(name, good), level_of(name, doubtful), level_of(name, 2 * doubtful)
    ('good', 'doubtful', 'bad')
    """
    good, doubtful = LIMITS[name]
    return "good" if value <= good else "doubtful" if value <= doubtful else "bad"


def worst(checks: Iterable[Grade]) -> Level:
    """The worst level of the checks that were made."""
    made: list[Level] = [check.level for check in checks if check.level in GRADED]
    return max(made, key=GRADED.index, default="not checked")


def graded_lines(checks: Sequence[Grade]) -> list[str]:
    """Level and sentence of each check, as lines of text."""
    width = max((len(check.level) for check in checks), default=0)
    return [f"{check.level.ljust(width)}  {check.sentence}" for check in checks]


def aligned(rows: Sequence[Sequence[str]], *, words: int) -> list[str]:
    """A table as lines of text; the first columns, `words` in number, are flush left and the others flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            c.ljust(w) if i < words else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
