"""Checks of what programs are given, before any work starts."""

from __future__ import annotations

import numpy as np

from bayes_lssvm.base.typing import AnyArray, Array


def checked_inputs(X: AnyArray) -> Array:
    """Finite inputs of shape (N, d), N ≥ 2, in double precision."""
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or len(X) < 2 or X.shape[1] < 1:
        raise ValueError(f"The inputs must have shape (N, d) with N ≥ 2 and d ≥ 1, got {X.shape}.")
    if not np.isfinite(X).all():
        raise ValueError("The inputs have entries that are not finite; remove or impute them.")
    return X


def checked_targets(y: AnyArray, n: int) -> Array:
    """Finite targets of shape (n,), not all equal, in double precision."""
    y = np.asarray(y, dtype=float)
    if y.shape != (n,):
        raise ValueError(f"There must be one target for each of the {n} inputs, got an array of shape {y.shape}.")
    if not np.isfinite(y).all():
        raise ValueError("The targets have entries that are not finite; remove these points.")
    if np.ptp(y) == 0.0:
        raise ValueError(f"All targets are {y[0]:g}: noise without variance fits them, so there is no posterior.")
    return y


def checked_labels(y: AnyArray, n: int) -> Array:
    """Labels ±1 of both classes, of shape (n,)."""
    y = checked_targets(y, n)
    if not np.all(np.abs(y) == 1.0):
        raise ValueError(f"Labels must be −1 and +1, found {np.unique(y)[:5].tolist()}.")
    return y
