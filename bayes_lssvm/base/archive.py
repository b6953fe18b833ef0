"""Arrays and JSON in one .npz file: how a state is written and read.

Nothing in such a file is code, and it is read with pickling switched off, so that opening somebody else's model cannot
run anything. The header names the format and its version; a file of another version is refused with a sentence.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .files import write_atomically
from .typing import AnyArray

FORMAT = "bayes-lssvm model"
VERSION = 2
_READABLE = (1, 2)  # 1 had two classes or a number, and no columns left out
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
_NOT_FLOATS = ("members", "classes", "labels")


class ModelFileError(ValueError):
    """A file that is not a model, or not one that this version can read."""


class State(NamedTuple):
    """A model as JSON and arrays."""

    header: dict[str, Any]
    arrays: dict[str, AnyArray]

    def __or__(self, other: State) -> State:
        """Both together."""
        return State(self.header | other.header, self.arrays | other.arrays)

    def require_shapes(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Refuse arrays of another shape or type."""
        for name, shape in shapes.items():
            if self.arrays[name].shape != shape:
                raise ValueError(f"{name} has the shape {self.arrays[name].shape}, not {shape}")
            if name not in _NOT_FLOATS and self.arrays[name].dtype != np.float64:
                raise ValueError(f"{name} is not an array of double-precision numbers")


def write_state(state: State, path: str | Path) -> Path:
    """Write a state; the file appears whole or not at all."""
    header = {"format": FORMAT, "version": VERSION, **state.header}
    arrays = {**state.arrays, "header": np.array(json.dumps(header))}
    return write_atomically(path, lambda stream: np.savez_compressed(stream, allow_pickle=False, **arrays))


def read_state(path: str | Path) -> State:
    """Read a state of any version that is known, in the form of the newest."""
    path = Path(path)
    header, arrays = _read(path)
    if header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a model file of bayes-lssvm.")
    if header.get("version") not in _READABLE:
        raise ModelFileError(
            f"{path} has format version {header.get('version')!r}; this version of bayes-lssvm reads versions "
            f"{' and '.join(map(str, _READABLE))}. Fit and save the model again."
        )
    if header["version"] == 1 and isinstance(header.get("n_features"), int):
        header["columns"] = list(range(header["n_features"]))
    return State(header, arrays)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Header and arrays; whatever is wrong with the bytes comes out as a `ModelFileError`."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
        if not isinstance(header, dict):
            raise ValueError("its header is not a table")
    except (FileNotFoundError, PermissionError):
        raise
    except (*_UNREADABLE, RecursionError) as error:
        raise ModelFileError(f"{path} is not a model file of bayes-lssvm.") from error
    return header, arrays
