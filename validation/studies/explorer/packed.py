"""Grids over a rectangle, and their numbers as text: whole numbers of one or two bytes between two ends, in base64.

A page holds a hundred grids; as digits they would be ten times as long. The error is at most half a step,
(high − low)/(2 · 255) or (high − low)/(2 · 65535).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayes_lssvm.base.typing import Array


def grid_points(window: Sequence[float], side: int) -> Array:
    """Points of shape (side², 2) in a window (left, right, bottom, top), row after row from the lowest up."""
    left, right, bottom, top = window
    return np.stack(np.meshgrid(np.linspace(left, right, side), np.linspace(bottom, top, side)), axis=-1).reshape(-1, 2)


def pack(values: Array, low: float, high: float, n_bytes: int) -> dict[str, Any]:
    """An array of two dimensions, with numbers beyond the ends put at them."""
    kind = np.dtype({1: "u1", 2: "<u2"}[n_bytes])
    steps = np.rint((np.clip(values, low, high) - low) / (high - low) * np.iinfo(kind).max)
    data = base64.b64encode(steps.astype(kind).tobytes()).decode("ascii")
    return {"shape": list(values.shape), "low": low, "high": high, "bytes": n_bytes, "data": data}


def unpack(packed: dict[str, Any]) -> Array:
    """The array again, to half a step."""
    kind = np.dtype({1: "u1", 2: "<u2"}[packed["bytes"]])
    steps = np.frombuffer(base64.b64decode(packed["data"]), dtype=kind).reshape(packed["shape"])
    return np.asarray(packed["low"] + (packed["high"] - packed["low"]) * steps / np.iinfo(kind).max)
