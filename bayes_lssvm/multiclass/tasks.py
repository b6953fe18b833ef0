"""Members of a code book by the points that they are trained on: those with the same points share their work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.typing import AnyArray, Array


@dataclass(frozen=True)
class Task:
    """Members that are trained on the same points.

    Attributes
    ----------
    bits : tuple of int
        Columns of the code book.
    rows : array of int of shape (n,)
        Their training points.
    targets : array of shape (n, B)
        ±1.
    weights : array of shape (n,) or None
        Of the points.
    """

    bits: tuple[int, ...]
    rows: AnyArray
    targets: Array
    weights: Array | None = None


def tasks_of(code: Array, labels: AnyArray, weights: Array | None = None, *, whole: bool = True) -> tuple[Task, ...]:
    """The members of a code book for the numbers of the classes, of shape (N,), grouped by their training points.

    With `whole=False`, bits for which one side or the third point is missing, as in a subset, are left out.
    """
    by_classes: dict[bytes, list[int]] = {}
    for bit, column in enumerate(code.T):
        by_classes.setdefault((column != 0).tobytes(), []).append(bit)
    found = []
    for bits in by_classes.values():
        rows = np.flatnonzero(code[labels, bits[0]] != 0)
        targets = code[np.ix_(labels[rows], np.array(bits))]
        if not whole:
            two_sided = (np.abs(targets.sum(axis=0)) < len(rows)) & (len(rows) >= 3)
            bits, targets = [b for b, kept in zip(bits, two_sided, strict=True) if kept], targets[:, two_sided]
        if bits:
            found.append(Task(tuple(bits), rows, targets, None if weights is None else weights[rows]))
    return tuple(found)
