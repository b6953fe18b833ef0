"""One order of rows and columns for the same data, in whatever order they came.

A search of kernel parameters goes through some hundred steps, each rounded, and a rounding that differs can end it in
another optimum. So that the order of rows and columns, the units of columns and the names of two labels have no say in
what is found, searches see the data in one form:

- values are rounded to 2⁻³⁶ of the column's standard deviation. Standardised columns that differ in their units differ
  by less, as a rule; and squares of such differences, which is what kernels see, are below double precision.
- columns stand in the order of their sorted values. Columns with the same values, as those of a factorial design, are
  told apart by the rows that have these values, and rows by their columns, in turns, as colours of the nodes of a graph
  are refined. What is still equal then can be swapped with no change in the data, and the first is taken.
- rows stand in the order of their target and their values; equal rows are interchangeable.
- the targets have the sign for which the data come first in that order.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np

from .typing import AnyArray, Array
from .weights import are_counts

__all__ = ["CanonicalOrder", "ClassOrder", "canonical_classes", "canonical_order", "snapped"]

_FEW = 4  # columns by which rows are sorted first
_DIGITS = 36  # binary ones, below the standard deviation


class CanonicalOrder(NamedTuple):
    """Where the rows and columns of the given data stand.

    Attributes
    ----------
    rows : array of int of shape (N,)
        The given rows in canonical order.
    columns : array of int of shape (d,)
        The given columns in canonical order.
    sign : float
        +1 or −1, the factor of the targets.
    alike : tuple of tuples of int
        Given columns that differ, and can be swapped with no change in the data but for the order of the rows.
    """

    rows: AnyArray
    columns: AnyArray
    sign: float
    alike: tuple[tuple[int, ...], ...] = ()

    def inputs(self, X: Array) -> Array:
        """Inputs of shape (N, d) in this order, rounded."""
        return np.ascontiguousarray(snapped(X)[np.ix_(self.rows, self.columns)])

    def targets(self, y: Array) -> Array:
        """Targets of shape (N,) in this order, with the sign."""
        return np.asarray(self.sign * y[self.rows])


def snapped(X: Array) -> Array:
    """Columns rounded to 2⁻³⁶ of their standard deviations, each taken as a power of two; constant ones as they are."""
    spread = X.std(axis=0)
    varies = (spread > 0.0) & np.isfinite(spread)
    grid = np.exp2(np.round(np.log2(np.where(varies, spread, 1.0))) - _DIGITS)
    return np.asarray(np.where(varies, np.rint(X / grid) * grid, X) + 0.0)  # + 0.0 makes −0 a plain zero


def canonical_order(X: Array, y: Array, weights: Array | None = None) -> CanonicalOrder:
    """The order of inputs X of shape (N, d) with targets y of shape (N,) and, where points have them, weights."""
    Z, marks = snapped(X), np.column_stack([y, np.zeros(len(y)) if weights is None else weights])
    found, own = [], _colours(np.sort(Z, axis=0).T)
    for sign in (1.0, -1.0):
        rows, columns, alike = _ordered(Z, marks * [sign, 1.0], own)
        found.append(CanonicalOrder(rows, columns, sign, alike))
    return min(found, key=lambda order: _Form(order, Z, y))


class ClassOrder(NamedTuple):
    """Where classes stand, whatever their names.

    Attributes
    ----------
    numbers : array of int of shape (M,)
        The given numbers of the classes, the most frequent first; equally frequent ones in the order of their first
        rows.
    alike : tuple of tuples of int
        Classes with equal rows: the data stay the same when they are swapped.
    """

    numbers: AnyArray
    alike: tuple[tuple[int, ...], ...]


def canonical_classes(X: Array, labels: AnyArray, weights: Array | None = None) -> ClassOrder:
    """The order of classes for inputs X of shape (N, d) and the number of each row's class, of shape (N,).

    Rows whose weights are whole numbers are as many rows.
    """
    Z, nothing = snapped(X), np.zeros((len(X), 1))
    _, columns, _ = _ordered(Z, nothing, _colours(np.sort(Z, axis=0).T))
    places = _colours(Z[:, columns])
    counts = np.bincount(labels, weights if are_counts(weights) else None)

    def key(number: int) -> tuple[float, list[int], list[float]]:
        own = labels == number
        masses = np.bincount(places[own], None if weights is None else weights[own])
        seen = np.unique(places[own])
        return -float(counts[number]), seen.tolist(), masses[seen].tolist()

    ordered = sorted(range(int(labels.max()) + 1), key=key)
    groups = (tuple(sorted(group)) for _, group in groupby(ordered, key))
    return ClassOrder(np.array(ordered), tuple(group for group in groups if len(group) > 1))


class _Form:
    """The data in an order, to be compared with those in another one."""

    def __init__(self, order: CanonicalOrder, Z: Array, y: Array) -> None:
        self.table = np.column_stack([order.targets(y), Z[np.ix_(order.rows, order.columns)]])

    def __lt__(self, other: _Form) -> bool:
        differs = np.flatnonzero(self.table != other.table)
        return bool(differs.size and self.table.flat[differs[0]] < other.table.flat[differs[0]])


def _ordered(Z: Array, marks: Array, columns: AnyArray) -> tuple[AnyArray, AnyArray, tuple[tuple[int, ...], ...]]:
    """The orders of rows and columns, and columns that are alike.

    `marks` of shape (N, m) is what rows are told apart by beside their values, and `columns` of shape (d,) are colours
    of the columns by their values.
    """
    alike = None
    while columns.max(initial=0) + 1 < len(columns):  # some are equal in their values
        refined = _refined(Z, marks, columns)
        if refined.max() == columns.max():  # and may be swapped: the first of the first tied ones is set apart
            alike = _alike(Z, refined) if alike is None else alike
            tied = np.flatnonzero(np.bincount(refined)[refined] > 1)
            chosen = tied[np.argmin(refined[tied])]
            refined = _colours(np.column_stack([refined, np.arange(len(refined)) != chosen]))
        columns = refined
    place = np.argsort(columns, kind="stable")
    keys = np.column_stack([marks, Z[:, place]])
    return _sorted(keys), place, alike or ()


def _sorted(keys: Array) -> AnyArray:
    """The order of the rows of a table by its columns, the first one first; a few columns tell most rows apart."""
    few = keys[:, :_FEW]
    order = np.lexsort(few.T[::-1])
    if few.shape[1] < keys.shape[1] and not np.any(few[order[1:]] != few[order[:-1]], axis=1).all():
        return np.lexsort(keys.T[::-1])
    return order


def _alike(Z: Array, colours: AnyArray) -> tuple[tuple[int, ...], ...]:
    """Columns of one colour that are no copies of each other."""
    groups = [np.flatnonzero(colours == colour) for colour in range(int(colours.max()) + 1)]
    return tuple(tuple(group.tolist()) for group in groups if np.any(Z[:, group] != Z[:, group[:1]]))


def _refined(Z: Array, marks: Array, columns: AnyArray) -> AnyArray:
    """Colours of the columns, told apart by the rows: by each one's values under columns of each colour."""
    groups = [np.sort(Z[:, columns == colour], axis=1) for colour in range(int(columns.max()) + 1)]
    rows = _colours(np.column_stack([marks, *groups]))
    seen = [Z[np.lexsort((Z[:, j], rows)), j] for j in range(Z.shape[1])]
    return _colours(np.column_stack([columns, np.array(seen)]))


def _colours(keys: Array) -> AnyArray:
    """The place of each row of a table among the different ones."""
    if not keys.shape[1]:
        return np.zeros(len(keys), dtype=int)
    if len(keys) > keys.shape[1]:
        order = np.lexsort(keys.T[::-1])
    else:  # few long rows, as of a table's columns: comparing two of them ends at their first difference
        rows = keys.tolist()
        order = np.array(sorted(range(len(rows)), key=rows.__getitem__))
    colours = np.empty(len(keys), dtype=int)
    colours[order] = np.append(0, np.cumsum(np.any(keys[order[1:]] != keys[order[:-1]], axis=1)))
    return colours
