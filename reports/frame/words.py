"""Numbers and lists in the sentences and tables of pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

NONE = "–"
"""Stands where there is no number."""


def minus(text: str) -> str:
    """A number with a true minus sign."""
    return text.replace("-", "−")


def number(value: float | None, form: str = ".4g") -> str:
    """A number in Python's format with a true minus sign; a dash where there is none."""
    return NONE if value is None or math.isnan(value) else minus(format(value, form))


def joined(names: Sequence[str]) -> str:
    """Names as a sentence has them: "a, b and c"."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
