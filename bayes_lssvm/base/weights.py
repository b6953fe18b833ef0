"""Weights of rows: point i has the noise precision ζw_i.

Only ratios of weights matter to the model: twice the weights are half the ζ. A weight of zero leaves the row out. Where
rows have to be counted, for the N − 1 of a variance, for the labels of a class or for what leaving one row out means,
weights that are all whole numbers are numbers of rows, Σw in all; others are precisions alone, and each row is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .typing import AnyArray, Array

__all__ = ["are_counts", "check_weights", "counted", "one_of_each", "row_count", "weighted_mean", "with_weight"]

_LARGEST_RATIO = 1e12


def check_weights(weights: Any, n: int, name: str = "sample_weight") -> Array | None:
    """Weights as floats of shape (n,), zeros among them; None where all are one. A `ValueError` says what is wrong."""
    if weights is None:
        return None
    try:
        w = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, one for each row, got {weights!r}.") from None
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.shape != (n,):
        raise ValueError(f"{name} must be one number for each of the {n} rows; its shape is {w.shape}.")
    if not np.isfinite(w).all():
        row = int(np.flatnonzero(~np.isfinite(w))[0])
        raise ValueError(f"{name} must be finite; row {row} has {w[row]}. Leave the row out, or give it weight zero.")
    if np.any(w < 0.0):
        row = int(np.flatnonzero(w < 0.0)[0])
        raise ValueError(f"{name} must not be negative; row {row} has {w[row]:g}. Weight zero leaves a row out.")
    if not np.any(w > 0.0):
        raise ValueError(
            f"{name} is zero for every row, which leaves no sample to learn from; give some positive weight."
        )
    if w.max() > _LARGEST_RATIO * w[w > 0.0].min():
        raise ValueError(
            f"{name} goes from {w[w > 0.0].min():.3g} to {w.max():.3g}, a wider range than double precision can "
            "handle; leave out the rows with the smallest weights."
        )
    return None if np.all(w == 1.0) else w


def with_weight(X: Array, y: AnyArray, weights: Any, fewest: int = 3) -> tuple[Array, AnyArray, Array | None]:
    """Inputs and targets of the rows that have weight, and their weights; None where all weights are one."""
    checked = check_weights(weights, len(X))
    if checked is None or np.all(checked > 0.0):
        return X, y, checked
    kept = checked > 0.0
    if kept.sum() < fewest:
        raise ValueError(
            f"At least {fewest} data points of positive weight are needed for a bias and two hyperparameters, got "
            f"n_samples={int(kept.sum())}."
        )
    return X[kept], y[kept], check_weights(checked[kept], int(kept.sum()))


def are_counts(weights: Array | None) -> bool:
    """Whether weights are whole numbers, which say how often a row was seen."""
    return weights is not None and bool(np.all(weights == np.round(weights)))


def row_count(weights: Array | None, n: int) -> float:
    """For how many rows n rows of these weights count: Σw if they are whole numbers, else n."""
    return float(weights.sum()) if weights is not None and are_counts(weights) else float(n)


def counted(weights: Array | None, n: int) -> Array:
    """The number of rows that each of n rows stands for: weights, scaled so that they sum to `row_count`."""
    return np.ones(n) if weights is None else weights * (row_count(weights, n) / weights.sum())


def weighted_mean(y: AnyArray, weights: Array | None) -> Any:
    """The mean over the rows."""
    return np.mean(y, axis=0) if weights is None else np.average(y, axis=0, weights=weights)


def one_of_each(residuals: Array, variances: Array, weights: Array | None, zeta: Any) -> tuple[Array, Array]:
    """Residuals and variances of rows that lose one of the w_i equal rows they stand for, from those without the row.

    Where weights are whole numbers, u = w_i − 1 rows stay, and Bayes' rule for them divides both by 1 + ζuv, v the
    variance of the function without the row. Rows of any other weights are left out as a whole.
    """
    if weights is None or not are_counts(weights):
        return residuals, variances
    shrink = 1.0 + zeta * (weights - 1.0) * variances
    return residuals / shrink, variances / shrink
