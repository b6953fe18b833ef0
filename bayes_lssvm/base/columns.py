"""Columns of the inputs that can tell something of their own, and those that cannot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .errors import BayesLSSVMWarning, ConstantFeatureWarning, warn
from .memory import require_matrices
from .scikit import check_X_y
from .typing import Array

_SAME_COLUMN = 1e-12


class Columns(NamedTuple):
    """Which columns of the inputs can tell something of their own.

    Attributes
    ----------
    used : tuple of int
        Columns that vary and copy no earlier one.
    constant : tuple of int
    copies : dict of int to int
        A column, and the earlier one that it equals up to shift, scale and sign.
    """

    used: tuple[int, ...]
    constant: tuple[int, ...]
    copies: dict[int, int]


def check_inputs(X: Any, y: Any) -> tuple[Array, Array, Columns]:
    """Inputs and targets as floats, and the columns that can tell something; the others are warned about."""
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
    y = np.asarray(y, dtype=float)
    if np.ptp(y) <= 10 * np.finfo(float).eps * np.abs(y).max():
        raise ValueError(f"All {len(y)} targets are equal ({y[0]:g}), so no input can be relevant to them.")
    require_matrices(len(X), 6, "Select inputs on a random subset.")
    return X, y, _columns(X)


def _columns(X: Array) -> Columns:
    spread = X.std(axis=0)
    varies = spread > 10 * np.finfo(float).eps * np.abs(X).max(axis=0)
    if not varies.any():
        raise ValueError("No column of X varies, so there is nothing to predict the targets from.")
    Z = (X - X.mean(axis=0)) / np.where(varies, spread, np.inf)
    correlation = Z.T @ Z / len(Z)
    used: list[int] = []
    copies: dict[int, int] = {}
    for column in np.flatnonzero(varies).tolist():
        same = [first for first in used if 1.0 - abs(correlation[first, column]) < _SAME_COLUMN]
        if same:
            copies[column] = same[0]
        else:
            used.append(column)
    constant = tuple(np.flatnonzero(~varies).tolist())
    if constant:
        warn(f"These columns of X do not vary, so they have no relevance: {_listed(constant)}.", ConstantFeatureWarning)
    if copies:
        pairs = [f"{column} (of {first})" for column, first in copies.items()]
        warn(
            "These columns of X are copies of earlier ones, up to shift, scale and sign, and were left out: "
            f"{_listed(pairs)}.",
            BayesLSSVMWarning,
        )
    return Columns(tuple(used), constant, copies)


def _listed(items: Any) -> str:
    shown = [str(item) for item in items]
    return ", ".join(shown[:10]) + (" …" if len(shown) > 10 else "")
