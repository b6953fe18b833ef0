"""The one module that talks to ArviZ: statistics of chains, Pareto smoothing, data trees and netCDF files.

ArviZ is no dependency of the library, so it is imported when a function here is called; the extra `sampling` brings
it. Everything goes in and comes out as NumPy arrays but for the data tree itself.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .files import write_bytes
from .turns import alone
from .typing import AnyArray, Array

if TYPE_CHECKING:
    from xarray import DataTree

_TAIL = 0.05  # the quantiles whose effective sample size is "tail"
_UNPACKED, _UNPACKED_RATIO = 2**20, 4  # bytes that a file may unpack to, and more for each byte of it
_EQUAL = 1e-9  # log weights of a tail that differ by rounding only: no distribution can be fitted to them
_NOTHING = 1000.0  # nats below the largest log weight at which a weight is zero
_FEWEST_WEIGHTS = 25  # a fifth of fewer would leave the generalised Pareto fit fewer than five points


class ChainStatistics(NamedTuple):
    """Statistics of each scalar of each quantity: every field maps names to arrays of shape (…).

    Attributes
    ----------
    rhat : dict
        Rank-normalised split R-hat, the larger of bulk and folded; NaN for one chain or a constant.
    ess_bulk, ess_tail : dict
        Effective sample sizes of the rank-normalised draws and of the 5 % and 95 % quantiles (the smaller).
    mcse_mean, mcse_sd : dict
        Monte-Carlo standard errors of the posterior mean and standard deviation.
    """

    rhat: dict[str, Array]
    ess_bulk: dict[str, Array]
    ess_tail: dict[str, Array]
    mcse_mean: dict[str, Array]
    mcse_sd: dict[str, Array]


@contextmanager
def _extra() -> Iterator[None]:
    """Say which extra is missing where an import fails."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f'Chain diagnostics and ArviZ data need packages that are not installed ({error}): pip install "bayes-lssvm'
            '[sampling]".'
        ) from error


def _array_stats() -> Any:
    with _extra():
        from arviz_stats.base.array import array_stats
    return array_stats


@alone  # ArviZ changes warning filters
def rhat_and_ess(draws: Mapping[str, AnyArray]) -> ChainStatistics:
    """R-hat, effective sample sizes and Monte-Carlo errors of draws of shape (chains, draws, …)."""
    stats = _array_stats()
    result = ChainStatistics({}, {}, {}, {}, {})
    for name, values in draws.items():
        x = np.asarray(values, dtype=float)
        axes = {"chain_axis": 0, "draw_axis": 1}
        # a quantity that never moves has no variance to divide by: its R-hat is NaN, which no check passes
        with np.errstate(divide="ignore", invalid="ignore"):
            result.rhat[name] = np.asarray(stats.rhat(x, **axes))
            result.ess_bulk[name] = np.asarray(stats.ess(x, method="bulk", **axes))
            result.ess_tail[name] = np.asarray(stats.ess(x, method="tail", prob=_TAIL, **axes))
            result.mcse_mean[name] = np.asarray(stats.mcse(x, method="mean", **axes))
            # sd = √E(x − m)², so its error is that of the mean of the squares over 2 sd
            squares = (x - x.mean(axis=(0, 1))) ** 2
            error = np.asarray(stats.mcse(squares, method="mean", **axes))
            result.mcse_sd[name] = error / (2.0 * np.sqrt(squares.mean(axis=(0, 1))))
    return result


@alone
def bfmi(energy: Array) -> Array:
    """Energy fraction of missing information (E-FMI) of each chain, from energies of shape (chains, draws)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(_array_stats().bfmi(np.asarray(energy, dtype=float), chain_axis=0, draw_axis=1))


@alone
def pareto_smooth(log_weights: Array) -> tuple[Array, float]:
    """Pareto-smoothed importance weights and the shape k̂ of their tail.

    The largest weights are replaced by quantiles of a generalised Pareto distribution fitted to them; the others keep
    their values, so the mean of the weights is still an estimate of the evidence. Zero weights (−inf) stay zero.

    Parameters
    ----------
    log_weights : array of shape (n,)
        Not normalised; at least 25 of them finite.

    Returns
    -------
    smoothed : array of shape (n,)
        On the scale of `log_weights`.
    k_hat : float
        Above 0.7 the weights cannot be trusted. −inf where the tail's weights are all equal, inf where the fit fails.
    """
    given = np.asarray(log_weights, dtype=float)
    finite = np.isfinite(given)
    if given.ndim != 1 or finite.sum() < _FEWEST_WEIGHTS or np.any(np.isnan(given) | (given == np.inf)):
        raise ValueError(
            f"Pareto smoothing needs a vector of at least {_FEWEST_WEIGHTS} finite log weights (−inf for a weight of "
            f"zero), got {int(finite.sum())} finite ones in an array of shape {given.shape}. Draw more."
        )
    kept = np.maximum(given[finite], given.max() - _NOTHING)  # lower ones would swallow the others' digits below
    n_tail = len(kept) // 5 if len(kept) <= 225 else int(3.0 * np.sqrt(len(kept)))
    if np.ptp(np.sort(kept)[-n_tail:]) < _EQUAL:
        return given.copy(), -np.inf
    with np.errstate(all="ignore"):
        # ArviZ smooths the reciprocal of what it is given (leave-one-out weights) and returns normalised weights
        normalised, k_hat = _array_stats().psislw(-kept)
    lowest = int(np.argmin(kept))  # never in the tail: it tells what the normalisation subtracted
    smoothed = given.copy()
    smoothed[finite] = np.asarray(normalised) - float(normalised[lowest]) + kept[lowest]
    return smoothed, float(k_hat) if np.isfinite(k_hat) else np.inf


@alone
def datatree(
    groups: Mapping[str, Mapping[str, AnyArray]],
    *,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> DataTree:
    """A DataTree by ArviZ's conventions.

    Parameters
    ----------
    groups : dict of dicts of arrays
        "posterior", "sample_stats", … with arrays of shape (chains, draws, …); groups with "data" in their name hold
        plain arrays.
    dims : dict
        Names of the dimensions of each variable after chain and draw.
    coords : dict
        Values of the dimensions.
    attrs : dict
        Of the root. What netCDF cannot hold (dictionaries, lists, booleans) is stored as JSON.
    """
    with _extra():
        from arviz_base import from_dict
    plain = {
        name: value if isinstance(value, str | int | float) and not isinstance(value, bool) else json.dumps(value)
        for name, value in (attrs or {}).items()
    }
    return from_dict(
        {group: dict(variables) for group, variables in groups.items()},
        dims={name: list(names) for name, names in (dims or {}).items()},
        coords=dict(coords or {}),
        attrs={"/": plain},
    )


def _netcdf_engine() -> None:
    """Import what xarray writes netCDF-4 with: its own message for a missing package does not name our extra."""
    with _extra():
        import_module("h5netcdf")
        import_module("h5py")


@alone
def as_netcdf(tree: DataTree) -> bytes:
    """A data tree as the content of a netCDF-4 file."""
    _netcdf_engine()
    with tempfile.TemporaryDirectory() as folder:  # HDF5 writes by name, and wants a lock of its own on the file
        path = Path(folder) / "tree.nc"
        tree.to_netcdf(path, engine="h5netcdf")
        return path.read_bytes()


def write_netcdf(tree: DataTree, path: str | Path) -> Path:
    """Write a data tree so that the file appears whole or not at all."""
    return write_bytes(path, as_netcdf(tree))


@alone
def read_netcdf(path: str | Path) -> DataTree:
    """Read a data tree into memory; the file is closed again."""
    _netcdf_engine()
    with _extra():
        from xarray import load_datatree
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        _require_no_more_than_it_holds(path)
        return load_datatree(path, engine="h5netcdf")
    except Exception as error:  # any exception here comes from what the file says
        raise ValueError(
            f"{path} cannot be read as a netCDF-4 file ({error}): is it complete, and is it the right file?"
        ) from error


def _require_no_more_than_it_holds(path: Path) -> None:
    """Refuse arrays that would unpack to much more than the file: what we write is not compressed."""
    total = 0

    def add(_: str, item: Any) -> None:
        nonlocal total
        total += getattr(item, "nbytes", 0)

    with import_module("h5py").File(path) as file:
        file.visititems(add)
    size = path.stat().st_size
    if total > _UNPACKED + _UNPACKED_RATIO * size:
        raise ValueError(f"its {size} bytes would unpack to {total}")
