"""Draws as they come: arrays, dictionaries, NumPyro's MCMC, ArviZ's trees; and a plain log density over them.

Nothing here imports ArviZ or NumPyro: what they return is known by what it offers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.text import scalar_names
from ..base.typing import AnyArray, Array
from .bounds import Bounds

BoundsGiven = Mapping[Any, tuple[float, float]] | Sequence[tuple[float, float]]


def by_site(given: Any, group: str = "posterior") -> dict[str, AnyArray]:
    """Draws {name: array of shape (chains, n, …)} of anything that holds them by name.

    Parameters
    ----------
    given : object
        A dictionary, an MCMC object after its run, an object with `draws`, an ArviZ DataTree or InferenceData, or one
        of its groups.
    group : str
        Of a tree.
    """
    if callable(getattr(given, "get_samples", None)):
        return dict(given.get_samples(group_by_chain=True))
    if isinstance(getattr(given, "draws", None), Mapping):
        return dict(given.draws)
    if hasattr(given, "children") or hasattr(given, "groups"):
        members = [str(name) for name in (given.children if hasattr(given, "children") else given.groups())]
        if group in members:
            given = given[group]
        elif not getattr(given, "data_vars", None):
            raise ValueError(f"The tree has no group {group!r}; its groups are {', '.join(members) or 'none'}.")
    variables = getattr(given, "data_vars", None)
    if variables is not None:
        return {str(name): _chain_first(name, variable) for name, variable in variables.items()}
    if isinstance(given, Mapping) and given:
        return {str(name): np.asarray(values) for name, values in given.items()}
    raise ValueError(
        "draws must be an array of shape (chains, n, d), a dictionary {name: array} that is not empty, a "
        f"numpyro.infer.MCMC object after its run, or an ArviZ tree; got {type(given).__name__}."
    )


def _chain_first(name: Any, variable: Any) -> AnyArray:
    if not {"chain", "draw"} <= set(variable.dims):
        raise ValueError(f"{name} has no dimensions chain and draw (it has {', '.join(map(str, variable.dims))}).")
    return np.asarray(variable.transpose("chain", "draw", ...).values)


@dataclass(frozen=True)
class PlainDraws:
    """Draws and a log density of them, both on R^d.

    Attributes
    ----------
    names : tuple of d str
    points : array of shape (chains, n, d)
    log_density : callable
        From points of shape (m, d) to (m,), Jacobians included.
    """

    names: tuple[str, ...]
    points: Array
    log_density: Callable[[Array], Array]


def plain_draws(
    log_density: Callable[[Any], Any],
    given: Any,
    *,
    names: Sequence[str] | None,
    bounds: BoundsGiven | None,
    by_name: bool,
    group: str,
) -> PlainDraws:
    """Lay draws and a density of constrained parameters side by side on R^d."""
    if isinstance(given, np.ndarray | list | tuple) or (
        hasattr(given, "__array__") and not hasattr(given, "data_vars")
    ):
        array = np.asarray(given, dtype=float)
        if array.ndim not in (2, 3) or array.shape[-1] == 0:
            raise ValueError(f"draws must have shape (chains, n, d) or (n, d), got {array.shape}.")
        found = {"x": array if array.ndim == 3 else array[None]}
        shapes: dict[str, tuple[int, ...]] = {"x": (array.shape[-1],)}
    else:
        found = by_site(given, group)
        missing = [name for name in names or () if name not in found]
        if missing:
            raise ValueError(f"There are no draws of {', '.join(missing)}; found {', '.join(found)}.")
        found = {name: np.asarray(found[name], dtype=float) for name in (names or found)}
        leads = {np.shape(values)[:2] for values in found.values()}
        if len(leads) != 1 or len(next(iter(leads))) != 2:
            raise ValueError(
                "Draws must have shape (chains, n, …), the same number for every name; found "
                f"{ {name: np.shape(values) for name, values in found.items()} }."
            )
        shapes = {name: np.shape(values)[2:] for name, values in found.items()}
    flat = np.concatenate([values.reshape(*values.shape[:2], -1) for values in found.values()], axis=-1)
    limits = _limits(bounds, shapes)

    def of_points(x: Array) -> Array:
        theta, log_jacobian = limits.constrain(x)
        if not by_name:
            return np.asarray(log_density(theta), dtype=float) + log_jacobian
        values = [float(log_density(_named(row, shapes))) for row in theta]
        return np.asarray(values) + log_jacobian

    return PlainDraws(scalar_names(shapes), limits.unconstrain(flat), of_points if bounds or by_name else log_density)


def _named(row: Array, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """One point as a dictionary of arrays of their own shapes."""
    ends = np.cumsum([int(np.prod(shape, dtype=int)) for shape in shapes.values()])
    parts = np.split(row, ends[:-1])
    return {name: part.reshape(shape)[()] for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def _limits(bounds: BoundsGiven | None, shapes: Mapping[str, tuple[int, ...]]) -> Bounds:
    """Bounds of every column: by name, by position, or all in a row."""
    sizes = {name: int(np.prod(shape, dtype=int)) for name, shape in shapes.items()}
    columns = [name for name, size in sizes.items() for _ in range(size)]
    free = (-np.inf, np.inf)
    if bounds is None:
        return Bounds.of([free] * len(columns))
    if not isinstance(bounds, Mapping):
        if len(bounds) != len(columns):
            raise ValueError(f"bounds must be {len(columns)} pairs, one for each parameter, got {len(bounds)}.")
        return Bounds.of(list(bounds))
    unknown = [key for key in bounds if key not in sizes and not (isinstance(key, int) and 0 <= key < len(columns))]
    if unknown:
        raise ValueError(f"There are bounds for {', '.join(map(str, unknown))}, of which there are no draws.")
    return Bounds.of([bounds.get(name, bounds.get(i, free)) for i, name in enumerate(columns)])
