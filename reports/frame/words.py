"""Numbers, lists and names of data in the sentences and tables of pages."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

NONE = "–"
"""Stands where there is no number."""
_SIGNED_ZERO = re.compile(r"(?<![\d.e])[+-](?=0(?:\.0+)?(?![\d.e]))")
DATA_NAMES = {"ripley": "Ripley's data", "hea": "heart data", "pid": "Pima diabetes data", "cra": "crabs data"}

SET_NAMES = {
    "bld": "liver", "cra": "crabs", "gcr": "German credit", "hea": "heart", "ion": "ionosphere", "pid": "Pima diabetes",
    "rsy": "Ripley", "snr": "sonar", "tit": "Titanic", "wbc": "breast cancer", "bal": "balance", "der": "dermatology",
    "gla": "glass", "iri": "iris", "led": "LED display", "nth": "thyroid", "ssd": "soybean", "veh": "vehicles",
    "win": "wine", "usps": "digits",
}  # fmt: skip
"""Data sets that the papers' tables know by three letters, as short as labels of a figure must be."""


def spelled(name: str) -> str:
    """A data set of the papers with its code, for figures, where no glossary is at hand: "liver (bld)"."""
    return f"{SET_NAMES[name]} ({name})" if name in SET_NAMES else name


def data_name(name: str) -> str:
    """A data set as titles call it; a file of a user keeps its name."""
    return DATA_NAMES.get(name, name)


def minus(text: str) -> str:
    """A number with a true minus sign; what rounds to zero has no sign."""
    return _SIGNED_ZERO.sub("", text).replace("-", "−")


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
