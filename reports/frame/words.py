"""Numbers, lists and names of data in the sentences and tables of pages."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

NONE = "–"
"""Stands where there is no number."""
DATA_NAMES = {"ripley": "Ripley's data", "hea": "heart data", "pid": "Pima diabetes data", "cra": "crabs data"}


def data_name(name: str) -> str:
    """A data set as titles call it; a file of a user keeps its name."""
    return DATA_NAMES.get(name, name)


def minus(text: str) -> str:
    """A number with a true minus sign."""
    return text.replace("-", "−")


def number(value: float | None, form: str = ".4g") -> str:
    """A number in Python's format with a true minus sign; a dash where there is none."""
    return NONE if value is None or math.isnan(value) else minus(format(value, form))


def joined(names: Sequence[str]) -> str:
    """Names as a sentence has them: "a, b and c"."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def many(count: int, one: str, several: str = "") -> str:
    """A number of things: "1 set", "3 sets"."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def slug(text: str) -> str:
    """Letters, digits and "._-" of a name, so that it can be a file and an address; "data" where none are left."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip("-.")[:80] or "data"
