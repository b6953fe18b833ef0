"""Kernels that ask whether values are equal, and the constant: categories, white noise, and what sums need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..base.typing import AnyArray, Array
from ._base import OneWidth, Parametric


@dataclass(frozen=True)
class Categorical(OneWidth, Parametric):
    """K(x, z) = exp(−h/σ²) with h the number of inputs in which x and z differ (Hamming's distance).

    For inputs that are codes of categories. It is the RBF kernel of indicators of the categories, one for each, of
    width √2 σ. Standardisation does no harm: equal values stay equal.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import Categorical
    >>> Categorical(sigma=1.0)(np.array([[0, 1], [0, 2]])).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    sigma: float = 1.0

    free: ClassVar[tuple[str, ...]] = ("sigma",)
    alike_in_inputs: ClassVar[bool] = True

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        K = _differing(X, X if Z is None else Z)
        K *= -(self.sigma**-2)
        return np.exp(K, out=K)

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        exponent = _differing(X, X if Z is None else Z) / self.sigma**2
        yield 2.0 * exponent * np.exp(-exponent)


def _differing(X: Array, Z: Array) -> Array:
    """In how many inputs each row of X differs from each row of Z, of shape (n, m)."""
    total = np.zeros((len(X), len(Z)))
    for x, z in zip(X.T, Z.T, strict=True):
        total += np.not_equal.outer(x, z)
    return total


@dataclass(frozen=True)
class Constant(Parametric):
    """K(x, z) = 1. Alone or in a sum it is the bias term, which the model has; it matters inside a product.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import RBF, Constant
    >>> (RBF(1.0) + Constant())(np.array([[0.0], [9.0]])).round(3)
    array([[2., 1.],
           [1., 2.]])
    """

    alike_in_inputs: ClassVar[bool] = True

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        return np.ones((len(X), len(X) if Z is None else len(Z)))

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        return iter(())

    def feature_map(self, X: Array) -> Array:
        return np.ones((len(X), 1))


@dataclass(frozen=True)
class White(Parametric):
    """K(x, z) = 1 where x = z and 0 elsewhere: an effect of its own for each input that occurs.

    Where no inputs repeat it is noise like 1/ζ, and the data cannot tell the two apart; where they do, it is what
    repeats of an input have in common.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import White
    >>> White()(np.array([[0.0], [1.0]]))
    array([[1., 0.],
           [0., 1.]])
    """

    alike_in_inputs: ClassVar[bool] = True

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        first, second = _numbered(X, X if Z is None else Z)
        return np.equal.outer(first, second).astype(float)

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        return iter(())


def _numbered(X: Array, Z: Array) -> tuple[AnyArray, AnyArray]:
    """A number for each row of X and of Z, the same for equal rows."""
    _, number = np.unique(np.vstack([X, Z]) + 0.0, axis=0, return_inverse=True)  # −0 + 0 is 0
    number = np.ravel(number)
    return number[: len(X)], number[len(X) :]
