"""NUTS on the exact density of all hyperparameters, for kernels with several parameters: one Cholesky factor a step.

Log parameters with a bounded prior are sampled through a map from the whole line (`unbounded`). Chains start round the
modes that the search for Laplace's method finds, and the best one's Gaussian is the unit of length, so that the
adaptation of the sampler has little left to do. Jumps join the modes, and draw μ and ζ afresh (`kernel_jumps`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base.streams import stream
from ...base.typing import Array
from ...evidence.laplace import Mode
from ..density import Density
from ..gaussian import find_modes
from .kernel_jumps import KernelJumps
from .nuts import Jump, NutsChains, sample_function
from .unbounded import Unbounded

_TRIES = 100
_SCATTER = 1.5  # standard deviations of the modes' Gaussians
_WIDEST = 2.0  # standard deviation of a coordinate; a logistic variable has 1.8


class FunctionDraws(NamedTuple):
    """Points of shape (chains, draws, 2 + P) with their log densities, and the chains they come from."""

    points: Array
    log_density: Array
    chains: NutsChains


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
    gaussians = [_in_coordinates(unbounded, mode) for mode in modes]
    centre, factor = gaussians[0]

    def function(v: Array) -> tuple[float, Array]:
        value, gradient = unbounded.value_and_gradient(centre + factor @ v)
        return value, factor.T @ gradient

    def jump_of(chain: int) -> Jump:
        own = KernelJumps(unbounded, gaussians, stream(seed, f"jumps of chain {chain}"))

        def jump(v: Array, warming: bool) -> Array | None:
            z = own(centre + factor @ v, warming)
            return None if z is None else np.asarray(np.linalg.solve(factor, z - centre))

        return jump

    found = sample_function(
        function,
        np.asarray(np.linalg.solve(factor, (starts - centre).T).T),
        warmup=warmup,
        draws=draws,
        target_accept=target_accept,
        seed=seed,
        progress=progress,
        jumps=[jump_of(c) for c in range(chains)],
    )
    z = centre + found.z @ factor.T
    log_density = -found.potential - unbounded.log_slopes(z).sum(axis=-1)
    return FunctionDraws(unbounded.point(z), log_density, found)


def _in_coordinates(unbounded: Unbounded, mode: Mode) -> tuple[Array, Array]:
    """Centre and factor of a mode's Gaussian."""
    centre = unbounded.coordinates(unbounded.inside(mode.position))
    factor = np.exp(-unbounded.log_slopes(centre))[:, None] * np.linalg.cholesky(mode.covariance)
    # a mode at a bound lies far out in its coordinate, where the Gaussian is no guide to the width
    return centre, factor * np.minimum(1.0, _WIDEST / np.linalg.norm(factor, axis=1))[:, None]


def starting_points(unbounded: Unbounded, modes: tuple[Mode, ...], n: int, rng: np.random.Generator) -> Array:
    """Coordinates of shape (n, D) of finite density, scattered round the modes in proportion to their masses' roots."""
    masses = np.array([mode.log_mass for mode in modes])
    shares = np.exp(0.5 * (masses - masses.max()))
    factors = [np.linalg.cholesky(mode.covariance) for mode in modes]
    starts: list[Array] = []
    for attempt in range(_TRIES):
        k = rng.choice(len(modes), p=shares / shares.sum())
        shift = _SCATTER * 0.97**attempt * factors[k] @ rng.standard_normal(len(factors[k]))
        z = unbounded.coordinates(unbounded.inside(modes[k].position + shift))
        if np.isfinite(unbounded.value_and_gradient(z)[0]):
            starts.append(z)
        if len(starts) == n:
            return np.stack(starts)
    raise ValueError(
        f"The posterior density of {unbounded.density.kernel!s} is finite at only {len(starts)} of {_TRIES} points "
        f"around its modes, but {n} chains need {n} starting points: the matrix is close to singular."
    )
