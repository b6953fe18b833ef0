"""Intervals and label sets that cover, from leave-one-out errors: jackknife+, CV+, and leave-one-out conformal sets.

Jackknife+ (Barber, Candès, Ramdas and Tibshirani, 2021, The Annals of Statistics 49:486–507, eq 1.5): with the errors
e_i = y_i − f_−i(x_i) of left-out rows and the models f_−i that made them,

    [ the ⌊α(N+1)⌋-th smallest of f_−i(x) − |e_i|,   the ⌈(1−α)(N+1)⌉-th smallest of f_−i(x) + |e_i| ]

holds a new target with probability at least 1 − 2α for rows that can be exchanged, whatever their distribution, if each
f_−i knows nothing of row i (theorem 1), and with about 1 − α as a rule. With the models f_−B of blocks in the place of
f_−i it is CV+, whose bound is lower by at most √(2/N) (theorem 4).

A label set holds the classes whose probability is not unusually low. With the probabilities p_i = P_−i(y_i | x_i) of
the labels of left-out rows, it is {c : P(c | x) ≥ q}, q the ⌊α(N+1)⌋-th smallest of p_i.
"""

from __future__ import annotations

import math

import numpy as np

from ..base.intervals import Interval
from ..base.typing import AnyArray, Array

_ROUNDING = 1e-9  # of N + 1 times a coverage: 0.9 · 10 is 9, not what rounding makes of it


def rank_among(n: float, coverage: float, instead: str) -> int:
    """The number k = ⌊(1 − coverage)(N + 1)⌋, at least one, of the smallest of N values that is taken.

    Too few rows are refused: the end would be infinite. `instead` is a sentence on what to do then.
    """
    k = math.floor((1.0 - coverage) * (n + 1) + _ROUNDING)
    if k < 1:
        needed = math.ceil(1.0 / (1.0 - coverage) - 1.0 - _ROUNDING)
        raise ValueError(
            f"A coverage of {coverage:g} from left-out rows needs at least {needed} of them, and there are {n:g}. "
            f"{instead}"
        )
    return k


def jackknife_plus(predictions: Array, errors: Array, k: int) -> Interval:
    """The k-th smallest of f_−i(x) − |e_i| and the k-th largest of f_−i(x) + |e_i|.

    Parameters
    ----------
    predictions : array of shape (n, N, L)
        f_−i(x), or f_−B(x) of the block of row i.
    errors : array of shape (N, L), or (n, N, L) where they depend on x
        Of left-out rows by the same models.
    k : int
        `rank_among` has it.
    """
    size, at = np.abs(errors), k - 1
    lower = np.partition(predictions - size, at, axis=1)[:, at]
    upper = np.partition(predictions + size, -k, axis=1)[:, -k]
    return Interval(lower, upper)


def folds(n: int, count: int, seed: int) -> list[AnyArray]:
    """Numbers of the rows of `count` blocks of about equal size, by a random order."""
    if not 2 <= count <= n:
        raise ValueError(f"The number of blocks must be between 2 and the number of rows, {n}; got {count!r}.")
    return [np.sort(part) for part in np.array_split(np.random.default_rng(seed).permutation(n), count)]


def thresholds(
    left_out: Array, labels: AnyArray, coverage: float, *, by_class: bool, counts: Array | None = None
) -> Array:
    """The least probability at which a class belongs to a label set, of shape (M,).

    Parameters
    ----------
    left_out : array of shape (N, M)
        P_−i(c | x_i) at the training rows.
    labels : array of int of shape (N,)
    coverage : float
    by_class : bool
        A threshold for each class from its own rows, so that each class is covered; else one for all.
    counts : array of shape (N,), optional
        For how many rows each one stands; one by default.
    """
    own, n_classes = left_out[np.arange(len(labels)), labels], left_out.shape[1]
    times = np.ones(len(labels)) if counts is None else counts
    if not by_class:
        return np.full(n_classes, _least(own, times, coverage, "Ask for a smaller coverage."))
    found = np.empty(n_classes)
    for c in range(n_classes):
        rows, instead = labels == c, f"They are those of class number {c}; use by_class=False."
        found[c] = _least(own[rows], times[rows], coverage, instead)
    return found


def _least(values: Array, times: Array, coverage: float, instead: str) -> float:
    """The k-th smallest of values that stand for so many rows each."""
    total = float(times.sum())
    k = rank_among(total, coverage, instead)
    order = np.argsort(values)
    reached = np.cumsum(times[order]) >= k - _ROUNDING * total
    return float(values[order[np.argmax(reached)]])
