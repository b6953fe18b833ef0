"""The kernel of functions that repeat themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..base.typing import Array
from ._base import BOUND_FACTORS, WIDTH_SD, Parametric

_MOST_CYCLES = 32  # within the range of the inputs, of the periods tried first
_STEP = 0.5  # in cycles: the evidence as a function of the frequency has peaks about one cycle wide


@dataclass(frozen=True)
class Periodic(Parametric):
    """K(x, z) = exp(−2 Σ_i sin²(π(x_i − z_i)/p)/ℓ²) with period p: MacKay's kernel, repeating in every input.

    For one input it is scikit-learn's `ExpSineSquared`. For several, that one takes the sine of the distance, which is
    no inner product in general.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import Periodic
    >>> Periodic(length_scale=1.0, period=2.0)(np.array([[0.0], [1.0], [2.0]]))[0].round(3)
    array([1.   , 0.135, 1.   ])
    """

    length_scale: float = 1.0
    period: float = 1.0

    free: ClassVar[tuple[str, ...]] = ("length_scale", "period")
    alike_in_inputs: ClassVar[bool] = True

    def _exponent(self, X: Array, Z: Array | None) -> Array:
        Z = X if Z is None else Z
        total = np.zeros((len(X), len(Z)))
        for x, z in zip(X.T, Z.T, strict=True):
            total += np.sin(np.pi / self.period * np.subtract.outer(x, z)) ** 2
        total *= 2.0 / self.length_scale**2
        return total

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        K = self._exponent(X, Z)
        return np.exp(np.negative(K, out=K), out=K)

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        exponent = self._exponent(X, Z)
        K = np.exp(-exponent)
        yield 2.0 * exponent * K
        del exponent
        Z = X if Z is None else Z
        along = np.zeros_like(K)
        for x, z in zip(X.T, Z.T, strict=True):
            angle = 2.0 * np.pi / self.period * np.subtract.outer(x, z)
            along += angle * np.sin(angle)
        yield along * K / self.length_scale**2

    def starting_points(self, X: Array) -> Array:
        """The present parameters, then one period after the other: the evidence has a peak for each of them."""
        cycles = np.arange(2.0 * _STEP, min(_MOST_CYCLES, len(X) / 2.0) + _STEP, _STEP)
        periods = np.log(_range(X) / cycles)
        width = np.full(len(periods), 0.5 * np.log(max(X.shape[1], 1)))
        return np.vstack([self.log_params, np.stack([width, periods], axis=1)])

    def log_bounds(self, X: Array) -> Array:
        widths = np.array(BOUND_FACTORS) * np.sqrt(X.shape[1])
        return np.log([widths, _range(X) * np.array([1.0 / max(len(X), 4), 4.0])])

    def log_prior(self, X: Array) -> Array:
        # What repeats is seen at least twice: inputs spread evenly have a range of 3.5 standard deviations, so that two
        # standard deviations of this prior go from 2 cycles within the range to 28.
        return np.array([[0.5 * np.log(max(X.shape[1], 1)), WIDTH_SD], [np.log(0.5), 0.7]])


def _range(X: Array) -> float:
    """The median range of the inputs that vary."""
    ranges = np.ptp(X, axis=0)
    return float(np.median(ranges[ranges > 0.0])) if np.any(ranges > 0.0) else 1.0
