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
        Rows in each group, or the sum of their weights.
    squares : float
        Sum over the groups of the squared deviations from their means, weighted.
    group : array of shape (N,)
        The group of each row.
    weights : array of shape (N,) or None
        Of the rows, where they have any.
    """

    X: Array
    means: Array
    counts: Array
    squares: float
    group: AnyArray
    weights: Array | None = None

    @property
    def repeated(self) -> bool:
        """Whether any input occurs twice."""
        return len(self.counts) < len(self.group)

    @property
    def copies(self) -> bool:
        """Whether rows of equal inputs have equal targets, everywhere: rows that repeat are copies of each other."""
        return self.repeated and self.squares == 0.0


def group_equal_inputs(X: Array, y: Array, weights: Array | None = None) -> GroupedRows:
    """The groups of inputs X of shape (N, d) with targets y of shape (N,), in the order in which they first occur."""
    if X.shape[1] and len(np.unique(X[:, 0])) == len(X):  # one column tells all of them apart, as a measured one does
        first = group = np.arange(len(X))
    else:
        _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))  # of each group by its first row
    group = place[group.ravel()]
    order = np.sort(first)
    counts = np.asarray(np.bincount(group, weights, len(order)), dtype=float)
    offset = float(np.mean(y))  # taken out first, so that it costs no digits
    means = np.bincount(group, y - offset if weights is None else weights * (y - offset), len(order)) / counts
    # what remains of equal targets is the rounding of their mean
    equal = np.bincount(group, y != y[order][group], len(order)) == 0
    means = np.where(equal, y[order] - offset, means)
    deviations = (y - offset - means[group]) ** 2
    squares = float(np.sum(deviations if weights is None else weights * deviations))
    return GroupedRows(X[order], means + offset, counts, squares, group, weights)
