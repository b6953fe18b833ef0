"""Jumps between the modes of a table, so that a chain of NUTS does not stay in the one where it started.

A table knows its density everywhere. A jump proposes a cell by its mass, a point in it with equal chances, and a fresh
ε; it is accepted with the probability of Metropolis and Hastings, so that the posterior is the table's, jumps or not.
They are made where the table has more than one mode, after each step of NUTS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.typing import AnyArray, Array
from .table import HALF_WIDTH, Table

_COUNTS = 15.0  # nats below the peak from which a mode is none that draws could show
_VALLEY = 0.5  # nats between two modes that are two
_FLOOR = 1e-3  # probability of the cells together whose own is next to nothing


def n_modes(table: Table) -> int:
    """Local maxima of the table that count, with a valley between each and all higher ones."""
    return len(peaks(table.grid - table.peak))


def peaks(relative: Array) -> list[tuple[int, ...]]:
    """Indices of the maxima of a grid of log densities, the peak's being 0, the highest first.

    Points are added from the highest down. One without a higher neighbour opens a basin; where two basins meet, the
    lower one is a mode of its own if it stands out above the meeting point.
    """
    above = np.flatnonzero(relative.ravel() > -_COUNTS)
    order = above[np.argsort(-relative.ravel()[above], kind="stable")]
    basin: dict[tuple[int, ...], tuple[int, ...]] = {}
    parent: dict[tuple[int, ...], tuple[int, ...]] = {}
    kept: set[tuple[int, ...]] = set()

    def root(top: tuple[int, ...]) -> tuple[int, ...]:
        while parent[top] != top:
            top = parent[top]
        return top

    for flat in order:
        at = tuple(int(i) for i in np.unravel_index(flat, relative.shape))
        tops = sorted({root(basin[n]) for n in _beside(at) if n in basin}, key=lambda top: -relative[top])
        if not tops:
            basin[at] = parent[at] = at
            continue
        basin[at] = tops[0]
        for lower in tops[1:]:
            parent[lower] = tops[0]
            if relative[lower] - relative[at] > _VALLEY:
                kept.add(lower)
    roots = {root(top) for top in parent}
    return sorted(roots | kept, key=lambda top: -relative[top])


def _beside(at: tuple[int, ...]) -> list[tuple[int, ...]]:
    steps = np.stack(np.meshgrid(*[[-1, 0, 1]] * len(at), indexing="ij"), axis=-1).reshape(-1, len(at))
    return [tuple(int(i) for i in np.add(at, step)) for step in steps if step.any()]


def cell_log_probabilities(table: Table) -> AnyArray:
    """Log probability of each cell, of the shape of the cells: their share of the table's mass, none of it zero."""
    mass = np.exp(table.grid - table.peak)
    for axis in range(mass.ndim):
        low, high = (
            np.take(mass, range(*ends), axis=axis) for ends in ((mass.shape[axis] - 1,), (1, mass.shape[axis]))
        )
        mass = 0.5 * (low + high)
    shares = (1.0 - _FLOOR) * mass / mass.sum() + _FLOOR / mass.size
    return np.log(shares)


def jump(key: Any, x: Any, energy: Any, potential: Callable[[Any], Any], log_probabilities: Any, stretched: Any) -> Any:
    """One jump from x = (ε, z) with potential `energy`: where the chain is then, and its potential."""
    import jax
    import jax.numpy as jnp

    cells = np.array(log_probabilities.shape)
    which, within, normal, coin = jax.random.split(key, 4)
    chosen = jnp.unravel_index(jax.random.categorical(which, log_probabilities.ravel()), log_probabilities.shape)
    share = (jnp.stack(chosen) + jax.random.uniform(within, (len(cells),))) / cells
    z = jnp.where(stretched, HALF_WIDTH * (2.0 * share - 1.0), jnp.log(share) - jnp.log1p(-share))
    proposed = jnp.concatenate([jax.random.normal(normal, (1,)), z])

    def log_proposal(x: Any) -> Any:
        """Up to a constant; the share of z moves as a logistic function where an axis is not stretched."""
        z = x[1:]
        share = jnp.where(stretched, 0.5 + 0.5 * z / HALF_WIDTH, jax.nn.sigmoid(z))
        cell = jnp.clip(jnp.floor(share * cells).astype(int), 0, cells - 1)
        slope = jnp.where(stretched, 0.0, jax.nn.log_sigmoid(z) + jax.nn.log_sigmoid(-z)).sum()
        inside = jnp.all(~stretched | (jnp.abs(z) < HALF_WIDTH))
        return jnp.where(inside, log_probabilities[tuple(cell)] + slope - 0.5 * x[0] ** 2, -jnp.inf)

    there = potential(proposed)
    log_ratio = energy - there + log_proposal(x) - log_proposal(proposed)
    yes = jnp.log(jax.random.uniform(coin)) < log_ratio
    return jnp.where(yes, proposed, x), jnp.where(yes, there, energy)
