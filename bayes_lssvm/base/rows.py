"""Rows with equal inputs, put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .typing import AnyArray, Array


class GroupedRows(NamedTuple):
    """Distinct inputs, each with what the rows that share it say.

    Attributes
    ----------
    X : array of shape (G, d)
    means : array of shape (G,)
        Mean target of each group.
    counts : array of shape (G,)
        Rows in each group.
    squares : float
        Sum over the groups of the squared deviations from their means.
    group : array of shape (N,)
        The group of each row.
    """

    X: Array
    means: Array
    counts: Array
    squares: float
    group: AnyArray

    @property
    def repeated(self) -> bool:
        """Whether any input occurs twice."""
        return bool(np.any(self.counts > 1))


def group_equal_inputs(X: Array, y: Array) -> GroupedRows:
    """The groups of inputs X of shape (N, d) with targets y of shape (N,), in the order in which they first occur."""
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))  # of each group by its first row
    group = place[group.ravel()]
    order = np.sort(first)
    counts = np.asarray(np.bincount(group, minlength=len(order)), dtype=float)
    offset = float(np.mean(y))  # taken out first, so that it costs no digits
    means = np.bincount(group, y - offset, len(order)) / counts
    # what remains of equal targets is the rounding of their mean
    equal = np.bincount(group, y != y[order][group], len(order)) == 0
    means = np.where(equal, y[order] - offset, means)
    squares = float(np.sum((y - offset - means[group]) ** 2))
    return GroupedRows(X[order], means + offset, counts, squares, group)
