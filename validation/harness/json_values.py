"""Results as JSON holds them, and a checksum over them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from bayes_lssvm.base.text import plain


def as_json(value: Any, what: str) -> Any:
    """The value as it will be read back: arrays and tuples as lists, numbers that are not finite as None.

    A value that JSON cannot hold is refused in a sentence that begins with `what`.
    """
    try:
        return json.loads(json.dumps(plain(value), allow_nan=False))
    except TypeError as error:
        raise TypeError(
            f"{what} cannot be kept as JSON ({error}): use dictionaries, lists, strings, numbers, booleans, None and "
            "NumPy arrays of numbers."
        ) from None


def digest(value: Any) -> str:
    """SHA-256 of a value that came from JSON, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
