"""Kernel matrices that are computed elsewhere: of strings, graphs, or anything that is no row of numbers.

Inside the estimators a point is a row of N + 2 numbers: which training point it is (−1 for a new one), its kernel with
each of the N training points, and its kernel with itself. So every block between points and training points can be
read off, for any part of the training points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..base.rounding import ROUNDING
from ..base.typing import Array
from ._base import Parametric

EXTRA = 2  # columns of a row beside the kernel with each training point
_NEW = -1.0


@dataclass(frozen=True)
class Precomputed(Parametric):
    """The kernel whose matrices were computed elsewhere; estimators make it of kernel="precomputed".

    Attributes
    ----------
    diagonal : float
        K(x, x) of a new point for which it is not given: that of the training points, or the largest of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import BayesianLSSVR
    >>> x = np.linspace(-1, 1, 20)
    >>> K = np.exp(-np.subtract.outer(x, x) ** 2)
    >>> model = BayesianLSSVR("precomputed", standardise=False).fit(K, np.sin(3 * x) + 0.1 * np.cos(40 * x))
    >>> model.kernel_
    Precomputed(diagonal=1.0)
    >>> model.predict(K[:2]).round(1)
    array([-0.2, -0.5])
    """

    diagonal: float

    @classmethod
    def of(cls, K: Array) -> Precomputed:
        """For a training matrix K of shape (N, N), which must be symmetric."""
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                f'With kernel="precomputed", fit takes the square matrix K(train, train); got one of shape {K.shape}.'
            )
        scale = float(np.abs(K).max(initial=0.0))
        if np.abs(K - K.T).max(initial=0.0) > ROUNDING * len(K) * scale:
            raise ValueError(
                'With kernel="precomputed", fit takes a symmetric matrix K(train, train); this one is not.'
            )
        return cls(float(np.diag(K).max()))

    def training_rows(self, K: Array) -> Array:
        """The rows of the training points, of shape (N, N + 2)."""
        return np.column_stack([np.arange(len(K)), 0.5 * (K + K.T), np.diag(K)])

    def new_rows(self, K: Array, own: Array | None) -> Array:
        """The rows of new points from K(new, train), with K(x, x) of each where it is given."""
        own = np.full(len(K), self.diagonal) if own is None else own
        return np.column_stack([np.full(len(K), _NEW), K, own])

    @property
    def is_psd(self) -> bool:
        """Nobody has said so."""
        return False

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        number = (X if Z is None else Z)[:, 0]
        if np.any(number < 0.0) or np.any(number >= X.shape[1] - EXTRA) or np.any(number != np.round(number)):
            raise ValueError(
                "A precomputed kernel has blocks between points and training points only, in rows as "
                'Precomputed.training_rows makes them; use kernel="precomputed" of an estimator, and not in sums.'
            )
        return np.ascontiguousarray(X[:, 1 + number.astype(int)])

    def diag(self, X: Array) -> Array:
        return np.array(X[:, -1])

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        return iter(())
