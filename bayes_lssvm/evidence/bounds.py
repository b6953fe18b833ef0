"""Bounded parameters on the whole line, for densities that are given in their own parameters.

| bounds   | x                     | log dθ/dx                       |
| -------- | --------------------- | ------------------------------- |
| (−∞, ∞)  | θ                     | 0                               |
| (a, ∞)   | log(θ − a)            | x                               |
| (−∞, b)  | −log(b − θ)           | −x                              |
| (a, b)   | logit((θ − a)/(b − a))| log(b − a) + log σ(x) + log σ(−x) |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logit

from ..base.typing import AnyArray, Array


@dataclass(frozen=True)
class Bounds:
    """The map between d parameters within their bounds and R^d.

    Attributes
    ----------
    low, high : arrays of shape (d,)
        Infinite where there is no bound.
    """

    low: Array
    high: Array

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> Bounds:
        """From (low, high) of each parameter."""
        array = np.asarray(pairs, dtype=float)
        if array.ndim != 2 or array.shape[1] != 2 or not np.all(array[:, 0] < array[:, 1]):
            raise ValueError(f"Bounds must be pairs (low, high) with low < high, infinite for none; got {pairs!r}.")
        return cls(*array.T)

    def unconstrain(self, theta: Array) -> Array:
        """Points of R^d, of the shape (…, d) of the parameters."""
        outside = ~((theta > self.low) & (theta < self.high))
        if np.any(outside):
            column = int(np.flatnonzero(outside.reshape(-1, len(self.low)).any(axis=0))[0])
            raise ValueError(
                f"{np.sum(outside[..., column])} draws of parameter {column} are not between its bounds "
                f"{self.low[column]:g} and {self.high[column]:g}."
            )
        x = np.array(theta, dtype=float)
        below, above, both = self._kinds
        x[..., below] = np.log(theta[..., below] - self.low[below])
        x[..., above] = -np.log(self.high[above] - theta[..., above])
        x[..., both] = logit((theta[..., both] - self.low[both]) / (self.high[both] - self.low[both]))
        return x

    def constrain(self, x: Array) -> tuple[Array, Array]:
        """The parameters, of shape (m, d), and the log of the Jacobian, of shape (m,)."""
        theta, log_jacobian = np.array(x, dtype=float), np.zeros(len(x))
        below, above, both = self._kinds
        width = self.high[both] - self.low[both]
        theta[:, below] = self.low[below] + np.exp(x[:, below])
        theta[:, above] = self.high[above] - np.exp(-x[:, above])
        theta[:, both] = self.low[both] + width * expit(x[:, both])
        log_jacobian += x[:, below].sum(axis=1) - x[:, above].sum(axis=1)
        log_jacobian += (np.log(width) + log_expit(x[:, both]) + log_expit(-x[:, both])).sum(axis=1)
        return theta, log_jacobian

    @property
    def _kinds(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        low, high = np.isfinite(self.low), np.isfinite(self.high)
        return low & ~high, ~low & high, low & high
