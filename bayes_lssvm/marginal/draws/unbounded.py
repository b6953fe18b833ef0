"""The density of all hyperparameters in coordinates that run over the whole space.

A log parameter whose prior has a bounded support is mapped from the whole line: logistic between two bounds,
exponential beyond one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from ...base.typing import AnyArray, Array
from ..density import Density

_MARGIN = 1e-3  # share of a support that starting points keep from its bounds


@dataclass(frozen=True)
class Unbounded:
    """The density in coordinates z that run over the whole space."""

    density: Density

    @property
    def supports(self) -> tuple[Array, Array]:
        """Lower and upper ends of the priors' supports, each of shape (D,)."""
        low, high = np.array([part.support for part in self.density.parts]).T
        return low, high

    def _select(self, both: Array, left: Array, right: Array, none: Array) -> Array:
        """One of four by the ends of each support that are finite."""
        low, high = self.supports
        kinds: list[AnyArray] = [np.isfinite(low) & np.isfinite(high), np.isfinite(low), np.isfinite(high)]
        return np.asarray(np.select(kinds, [both, left, right], none))

    def point(self, z: Array) -> Array:
        """The log parameters of z of shape (…, D)."""
        low, high = self.supports
        with np.errstate(all="ignore"):
            return self._select(low + (high - low) * expit(z), low + np.exp(z), high - np.exp(-z), z)

    def coordinates(self, x: Array) -> Array:
        """Coordinates of log parameters x inside the supports."""
        low, high = self.supports
        with np.errstate(all="ignore"):
            left, right = np.log(x - low), -np.log(high - x)
            return self._select(left + right, left, right, x)

    def log_slopes(self, z: Array) -> Array:
        """Log dx/dz, of the shape of z."""
        low, high = self.supports
        with np.errstate(all="ignore"):
            return self._select(np.log(high - low) + log_expit(z) + log_expit(-z), z, -z, np.zeros_like(z))

    def value_and_gradient(self, z: Array) -> tuple[float, Array]:
        """Log density of z, and its gradient; −inf or NaN where the matrix is close to singular."""
        slopes = self.log_slopes(z)
        with np.errstate(all="ignore"):
            value, gradient = self.density.value_and_gradient(self.point(z))
            bend = self._select(1.0 - 2.0 * expit(z), np.ones_like(z), -np.ones_like(z), np.zeros_like(z))
            return value + float(slopes.sum()), gradient * np.exp(slopes) + bend

    def inside(self, x: Array) -> Array:
        """The point, moved off the bounds if it lies on one."""
        low, high = self.supports
        margin = np.where(np.isfinite(high - low), _MARGIN * (high - low), _MARGIN)
        return np.clip(x, low + margin, high - margin)
