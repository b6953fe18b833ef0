"""A first look at the rows: their number, means and spreads, the classes, and rows that stand for all.

Rows are kept by a number that is a hash of their content: those with the smallest. Which rows these are depends neither
on their order nor on how the data are divided, so that looks at parts can be merged. A rare class keeps some rows of
its own in any case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.typing import AnyArray, Array
from ..base.weights import are_counts, weighted_mean

KEPT, KEPT_OF_CLASS = 20_000, 100
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class Look:
    """What was seen of the rows.

    Attributes
    ----------
    n : int
    mean, squares, largest : arrays of shape (d,)
        Mean of each column, sum of its squared deviations, and its largest size.
    counts : dict
        Rows of each class, or empty for real targets.
    X, y, order : arrays of shape (k, d), (k,) and (k,)
        The rows that are kept, and their hashes, ascending.
    weights : array of shape (k,)
        Theirs; one where none are given.
    mass : float
        Σw of all rows, by which means are.
    whole : bool
        Whether all weights are whole numbers, which count rows (`base.weights`).
    name : str
        Of the shard, or of the first of several.
    """

    n: int
    mean: Array
    squares: Array
    largest: Array
    counts: dict[Any, int]
    X: Array
    y: AnyArray
    order: AnyArray
    weights: Array
    mass: float
    whole: bool
    name: str = ""

    @classmethod
    def at(
        cls, X: Array, y: AnyArray, seed: int, *, classes: bool, weights: Array | None = None, name: str = ""
    ) -> Look:
        """A look at rows X of shape (n, d), n ≥ 1, with targets y of shape (n,), and weights where they have them."""
        mean = weighted_mean(X, weights)
        w, apart = np.ones(len(X)) if weights is None else weights, X - mean
        labels, counts = np.unique(y, return_counts=True) if classes else (y[:0], y[:0])
        seen = cls(
            n=len(X),
            mean=mean,
            squares=np.einsum("i,ij,ij->j", w, apart, apart),
            largest=np.maximum(X.max(axis=0), -X.min(axis=0)),
            counts=dict(zip(labels.tolist(), counts.tolist(), strict=True)),
            X=X,
            y=y,
            order=_hashes(X, y, seed),
            weights=w,
            mass=float(w.sum()),
            whole=are_counts(w),
            name=name,
        )
        return seen._thinned()

    def merge(self, other: Look) -> Look:
        """A look at both sets of rows."""
        n, mass, apart = self.n + other.n, self.mass + other.mass, other.mean - self.mean
        squares = self.squares + other.squares + apart**2 * (self.mass * other.mass / mass)
        counts = {label: self.counts.get(label, 0) + other.counts.get(label, 0) for label in self.counts | other.counts}
        return Look(
            n,
            self.mean + apart * (other.mass / mass),
            squares,
            np.maximum(self.largest, other.largest),
            counts,
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.order, other.order]),
            np.concatenate([self.weights, other.weights]),
            mass,
            self.whole and other.whole,
            self.name,
        )._thinned()

    def _thinned(self) -> Look:
        """With the rows of the smallest hashes, over all and over each class."""
        ranked = np.argsort(self.order, kind="stable")
        keep = np.zeros(len(ranked), dtype=bool)
        keep[:KEPT] = True
        if self.counts and len(ranked) > KEPT:
            labels = self.y[ranked]
            for label in self.counts:
                keep[np.flatnonzero(labels == label)[:KEPT_OF_CLASS]] = True
        chosen = ranked[keep]
        return replace(
            self,
            X=np.ascontiguousarray(self.X[chosen]),
            y=self.y[chosen],
            order=self.order[chosen],
            weights=self.weights[chosen],
        )

    @property
    def own_weights(self) -> Array | None:
        """Weights of the rows that are kept; None where all are one."""
        return None if np.all(self.weights == 1.0) else self.weights

    @property
    def scale(self) -> Array:
        """Standard deviations of the columns, infinite where they do not vary."""
        n = self.mass if self.whole else float(self.n)  # of rows that they count for
        scale = np.sqrt(self.squares / self.mass * n / max(n - 1.0, 1.0))
        return np.where(scale <= 10 * np.finfo(float).eps * self.largest, np.inf, scale)


def _hashes(X: Array, y: AnyArray, seed: int) -> AnyArray:
    """A number for each row, mixed from its bits (the finaliser of splitmix64, column after column)."""
    X = X + 0.0  # −0 is 0
    words = [np.ascontiguousarray(column).view(np.uint64) for column in X.T]
    if y.dtype.kind in "fiub":
        words.append(np.ascontiguousarray(y.astype(float)).view(np.uint64))
    with np.errstate(over="ignore"):
        mixed = np.full(len(X), np.uint64(seed % 2**63) * _ODD + _ODD)
        for word in words:
            mixed = (mixed ^ word) * _ODD
            mixed ^= mixed >> np.uint64(30)
            mixed *= _MIXERS[0]
            mixed ^= mixed >> np.uint64(27)
            mixed *= _MIXERS[1]
            mixed ^= mixed >> np.uint64(31)
    return mixed
