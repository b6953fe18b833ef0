"""Inputs to zero mean and unit variance (paper 0, section 6.1 step 1), with the N − 1 standard deviation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._errors import ConstantFeatureWarning
from ._typing import Array


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
    def fit(cls, X: Array, names: Sequence[str] | None = None) -> Standardiser:
        """Means and standard deviations of the columns of X; constant columns are warned about."""
        mean = X.mean(axis=0)
        scale = X.std(axis=0, ddof=1)
        constant = scale <= 10 * np.finfo(float).eps * np.abs(X).max(axis=0)
        if constant.any():
            which = [str(i) if names is None else str(names[i]) for i in np.flatnonzero(constant).tolist()]
            warnings.warn(
                f"Column{'s' if len(which) > 1 else ''} {', '.join(which[:10])}{' …' if len(which) > 10 else ''} of X "
                "do not vary; they carry no information and are kept at zero.",
                ConstantFeatureWarning,
                stacklevel=4,
            )
        return cls(mean, np.where(constant, np.inf, scale))

    def __call__(self, X: Array) -> Array:
        """Standardised copy of X."""
        return np.asarray((X - self.mean) / self.scale)
