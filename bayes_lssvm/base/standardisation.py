"""Inputs to zero mean and unit variance (paper 0, section 6.1 step 1), with the N − 1 standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .errors import ConstantFeatureWarning, warn
from .typing import AnyArray, Array
from .weights import row_count

# Farther out than this many standard deviations is as good as infinitely far, and its square must not overflow.
_FARTHEST = 1e100


def moments(X: Array, weights: Array | None = None) -> tuple[Array, Array, AnyArray]:
    """Means and standard deviations of columns, and which are constant; rounded alike in any order of the rows.

    With weights, the variance is Σ w(x − x̄)²/Σw · n/(n − 1), n the number of rows that they count for.
    """
    if weights is None:
        X = np.ascontiguousarray(np.sort(X, axis=0))
        mean, scale = X.mean(axis=0), X.std(axis=0, ddof=1)
    else:
        n, order = row_count(weights, len(X)), np.argsort(X, axis=0, kind="stable")
        w, X = weights[order], np.take_along_axis(X, order, axis=0)
        mean = np.average(X, axis=0, weights=w)
        scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w) * n / (n - 1.0))
    return mean, scale, scale <= 10 * np.finfo(float).eps * np.abs(X).max(axis=0)


@dataclass(frozen=True)
class Standardiser:
    """x ↦ (x − mean)/scale. A column without variance has an infinite scale, so it is zero for every input."""

    mean: Array
    scale: Array

    @classmethod
    def identity(cls, n_features: int) -> Standardiser:
        """The standardiser that changes nothing."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def fit(cls, X: Array, names: Sequence[str] | None = None, weights: Array | None = None) -> Standardiser:
        """Means and standard deviations of the columns of X; constant columns are warned about."""
        mean, scale, constant = moments(X, weights)
        if constant.any():
            which = [str(i) if names is None else str(names[i]) for i in np.flatnonzero(constant).tolist()]
            many = len(which) > 1
            warn(
                f"Column{'s' if many else ''} {', '.join(which[:10])}{' …' if len(which) > 10 else ''} of X "
                f"{'do' if many else 'does'} not vary, so {'they are' if many else 'it is'} kept at zero.",
                ConstantFeatureWarning,
            )
        return cls(mean, np.where(constant, np.inf, scale))

    def __call__(self, X: Array) -> Array:
        """Standardised copy of X."""
        found = X - self.mean
        with np.errstate(over="ignore"):
            found /= self.scale  # in place, as below: passes do this for every block
        return np.clip(found, -_FARTHEST, _FARTHEST, out=found)
