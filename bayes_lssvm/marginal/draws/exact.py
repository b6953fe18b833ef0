"""NUTS on the exact density of all hyperparameters, for kernels with several parameters: one Cholesky factor a step.

A log parameter whose prior has a bounded support is sampled through a map from the whole line: logistic between two
bounds, exponential beyond one. Chains start round the modes that the search for Laplace's method finds, and the best
one's Gaussian is the unit of length, so that the adaptation of the sampler has little left to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from ...base.typing import AnyArray, Array
from ...evidence.laplace import Mode
from ..density import Density
from ..gaussian import find_modes
from .nuts import NutsChains, sample_function

_TRIES = 100
_SCATTER = 1.5  # standard deviations of the modes' Gaussians
_WIDEST = 2.0  # standard deviation of a coordinate; a logistic variable has 1.8
_MARGIN = 1e-3  # share of a support that starting points keep from its bounds


class FunctionDraws(NamedTuple):
    """Points of shape (chains, draws, 2 + P) with their log densities, and the chains they come from."""

    points: Array
    log_density: Array
    chains: NutsChains


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


def sample_density(
    density: Density,
    *,
    chains: int,
    warmup: int,
    draws: int,
    target_accept: float,
    seed: int,
    progress: bool,
) -> FunctionDraws:
    """Draw all hyperparameters from the exact density."""
    unbounded, modes = Unbounded(density), find_modes(density)
    starts = starting_points(unbounded, modes, chains, np.random.default_rng(seed))
    centre = unbounded.coordinates(_inside(unbounded, modes[0].position))
    factor = np.exp(-unbounded.log_slopes(centre))[:, None] * np.linalg.cholesky(modes[0].covariance)
    # a mode at a bound lies far out in its coordinate, where the Gaussian is no guide to the width
    factor *= np.minimum(1.0, _WIDEST / np.linalg.norm(factor, axis=1))[:, None]

    def function(v: Array) -> tuple[float, Array]:
        value, gradient = unbounded.value_and_gradient(centre + factor @ v)
        return value, factor.T @ gradient

    found = sample_function(
        function,
        np.linalg.solve(factor, (starts - centre).T).T,
        warmup=warmup,
        draws=draws,
        target_accept=target_accept,
        seed=seed,
        progress=progress,
    )
    z = centre + found.z @ factor.T
    log_density = -found.potential - unbounded.log_slopes(z).sum(axis=-1)
    return FunctionDraws(unbounded.point(z), log_density, found)


def _inside(unbounded: Unbounded, x: Array) -> Array:
    """The point, moved off the bounds if it lies on one."""
    low, high = unbounded.supports
    margin = np.where(np.isfinite(high - low), _MARGIN * (high - low), _MARGIN)
    return np.clip(x, low + margin, high - margin)


def starting_points(unbounded: Unbounded, modes: tuple[Mode, ...], n: int, rng: np.random.Generator) -> Array:
    """Coordinates of shape (n, D) of finite density, scattered round the modes in proportion to their masses' roots."""
    masses = np.array([mode.log_mass for mode in modes])
    shares = np.exp(0.5 * (masses - masses.max()))
    factors = [np.linalg.cholesky(mode.covariance) for mode in modes]
    starts: list[Array] = []
    for attempt in range(_TRIES):
        k = rng.choice(len(modes), p=shares / shares.sum())
        shift = _SCATTER * 0.97**attempt * factors[k] @ rng.standard_normal(len(factors[k]))
        z = unbounded.coordinates(_inside(unbounded, modes[k].position + shift))
        if np.isfinite(unbounded.value_and_gradient(z)[0]):
            starts.append(z)
        if len(starts) == n:
            return np.stack(starts)
    raise ValueError(
        f"The posterior density of {unbounded.density.kernel!s} is finite at {len(starts)} of {_TRIES} points round "
        f"its modes only, and {n} chains need as many to start from: the matrix is close to singular."
    )
