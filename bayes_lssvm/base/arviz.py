"""The one module that talks to ArviZ: data trees and netCDF files.

ArviZ is no dependency of the library, so it is imported when a function here is called; the extra `sampling` brings
it. Statistics of chains and Pareto smoothing are our own (`sampling`): its import takes a second.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import write_bytes
from .turns import alone
from .typing import AnyArray

if TYPE_CHECKING:
    from xarray import DataTree

_UNPACKED, _UNPACKED_RATIO = 2**20, 4  # bytes that a file may unpack to, and more for each byte of it


@contextmanager
def _extra() -> Iterator[None]:
    """Say which extra is missing where an import fails."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f'ArviZ data need packages that are not installed ({error}): pip install "bayes-lssvm[sampling]".'
        ) from error


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
