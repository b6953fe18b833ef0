"""The data that kernels are compared on: one regression, one classifier of two classes, or the members of a code book.

For more than two classes the members of a fixed code book are regressions on ±1 of their own, with μ and ζ of their
own, and share the kernel's parameters θ:

    log p(D | H) = log ∫ p(log θ) Π_l p(D_l | θ) dlog θ.

A sum of log evidences is no evidence of the labels: members of several bits see the same labels more than once. But
every kernel is given the same members on the same data, so that the sums of two kernels can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.rows import GroupedRows, group_equal_inputs
from ..base.scikit import check_classification_targets, check_X_y
from ..base.typing import AnyArray, Array
from ..base.weights import with_weight
from ..linalg.repeats import repeated_inputs
from ..multiclass.codings import code_book
from ..multiclass.tasks import tasks_of

TASKS = ("auto", "classification", "regression")
_FEW_LABELS = 10
_FEWEST = 3  # rows of a member


@dataclass(frozen=True)
class Member:
    """One set of targets.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        ±1, or real numbers.
    rows : array of int of shape (n,)
        Which of all rows they are.
    repeats : GroupedRows or None
        Where inputs repeat.
    weights : array of shape (n,) or None
        Of the rows: row i has the noise precision ζw_i.
    """

    X: Array
    y: Array
    rows: AnyArray
    repeats: GroupedRows | None
    weights: Array | None = None


@dataclass(frozen=True)
class Problem:
    """What kernels are compared on.

    Attributes
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
        Numbers of the classes, or real targets.
    classes : array of shape (M,) or None
        Labels in the order of their numbers; None for real targets.
    code : array of shape (M, L) or None
        The code book.
    members : tuple of Member
        In the order of the bits.
    weights : array of shape (N,) or None
    """

    X: Array
    y: AnyArray
    classes: AnyArray | None
    code: Array | None
    members: tuple[Member, ...]
    weights: Array | None = None

    @property
    def frequencies(self) -> Array:
        """Shares of the classes, of shape (M,), weighted."""
        shares = np.bincount(self.y, self.weights)
        return np.asarray(shares / shares.sum())


def as_problem(
    X: Any, y: Any, sample_weight: Any = None, *, task: str = "auto", coding: Any = "ovo", seed: int = 0
) -> Problem:
    """The members of labels or of real targets, after checks.

    With task="auto", labels are what is no number, what has two values, and whole numbers of at most ten values.
    Rows of weight zero are left out.
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}.")
    labels = task == "classification" or (task == "auto" and _looks_like_labels(np.asarray(y)))
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=not labels, ensure_min_samples=_FEWEST)
    X, y, weights = with_weight(X, y, sample_weight, _FEWEST)
    if not labels:
        y = np.asarray(y, dtype=float)
        if np.ptp(y) == 0.0:
            raise ValueError("All targets are equal, so there is nothing to compare kernels on.")
        return Problem(X, y, None, None, (_member(X, y, np.arange(len(y)), weights),), weights)
    check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"A comparison of kernels needs two classes, but all {len(y)} labels are {classes.tolist()[0]!r}."
        )
    code = code_book(coding, len(classes), seed=seed)
    found: list[Member | None] = [None] * code.shape[1]
    for task_of_bits in tasks_of(code, numbers, weights):
        if len(task_of_bits.rows) < _FEWEST:
            raise ValueError(
                f"Bit {task_of_bits.bits[0]} of the code book has {len(task_of_bits.rows)} rows; at least {_FEWEST} "
                'are needed for a bias and two hyperparameters. Use coding="ova", or leave such classes out.'
            )
        for bit, targets in zip(task_of_bits.bits, task_of_bits.targets.T, strict=True):
            rows = task_of_bits.rows
            found[bit] = _member(X[rows], np.ascontiguousarray(targets), rows, task_of_bits.weights)
    return Problem(X, numbers, classes, code, tuple(member for member in found if member is not None), weights)


def _looks_like_labels(y: AnyArray) -> bool:
    if y.ndim != 1 or y.dtype.kind not in "biuf":
        return True
    values = np.unique(y)
    return len(values) == 2 or (y.dtype.kind != "f" and len(values) <= _FEW_LABELS)


def _member(X: Array, y: Array, rows: AnyArray, weights: Array | None) -> Member:
    return Member(X, y, rows, repeated_inputs(group_equal_inputs(X, y, weights)), weights)
