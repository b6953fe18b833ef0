"""Arrays and JSON in one .npz file: how a state is written and read.

Nothing in such a file is code, so that opening somebody else's model cannot run anything; it is read within bounds
(`npz`), so that it cannot take more memory than a model of its shapes; and its header carries a checksum over all the
rest, so that damage is not taken for a model. The header names the format and its version; a file of another version is
refused with a sentence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .errors import UnknownKernelError
from .files import write_atomically
from .npz import Npz
from .typing import AnyArray

FORMAT = "bayes-lssvm model"
VERSION = 3
_READABLE = (1, 2, 3)  # 1 had two classes or a number, and no columns left out; 1 and 2 had no checksum
_HEADER, _NAMES, _CHECKSUM = "header", "arrays", "sha256"
_PART = 2**16
_LARGEST = 1e150  # whose square is still a number
_NOT_FLOATS = ("members", "classes", "labels")
_MAY_BE_INFINITE = ("scale",)  # of columns without variance


class ModelFileError(ValueError):
    """A file that is not a model, or not one that this version can read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import bayes_lssvm
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "no model.npz"
    >>> path.write_text("something else")
    14
    >>> try:
    ...     bayes_lssvm.load(path)
    ... except bayes_lssvm.ModelFileError:
    ...     print("not a model")
    ...
    not a model
    """


class Selected(Mapping[str, AnyArray]):
    """Those arrays of an archive whose names start with a prefix, under the rest of their names.

    An array is looked at when it is first read: numbers that are not finite, or whose squares are not, are refused.
    """

    def __init__(self, archive: Npz, prefix: str = "") -> None:
        self._archive, self._prefix = archive, prefix

    def below(self, prefix: str) -> Selected:
        """Those with a longer prefix."""
        return Selected(self._archive, self._prefix + prefix)

    def described(self, name: str) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
        """Shape and type, for which the array is not read."""
        found = self._archive.descriptions[self._prefix + name]
        return found.shape, found.dtype

    def __getitem__(self, name: str) -> AnyArray:
        if _HEADER in (name, self._prefix + name):
            raise KeyError(name)
        array = self._archive[self._prefix + name]
        if array.dtype.kind == "f":
            flat = array.ravel(order="K")
            for part in (flat[i : i + _PART] for i in range(0, flat.size, _PART)):
                if not ((np.abs(part) < _LARGEST) | (name in _MAY_BE_INFINITE and part == np.inf)).all():
                    raise ValueError(f"{self._prefix + name} holds numbers that are not finite, or beyond {_LARGEST:g}")
        return array

    def __iter__(self) -> Iterator[str]:
        names = (name for name in self._archive if name != _HEADER and name.startswith(self._prefix))
        return (name.removeprefix(self._prefix) for name in names)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class State(NamedTuple):
    """A model as JSON and arrays."""

    header: dict[str, Any]
    arrays: Mapping[str, AnyArray]

    def __or__(self, other: State) -> State:
        """Both together."""
        return State(self.header | other.header, {**self.arrays, **other.arrays})

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array, which is not read for it."""
        return self._described(name)[0]

    def _described(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        if isinstance(self.arrays, Selected):
            return self.arrays.described(name)
        return self.arrays[name].shape, self.arrays[name].dtype

    def below(self, prefix: str, header: dict[str, Any]) -> State:
        """The part whose arrays have names that start with a prefix, with a header of its own."""
        if isinstance(self.arrays, Selected):
            return State(header, self.arrays.below(prefix))
        return State(header, {n.removeprefix(prefix): a for n, a in self.arrays.items() if n.startswith(prefix)})

    def require_shapes(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Refuse arrays of another shape or type, before any of them is read."""
        for name, shape in shapes.items():
            found, dtype = self._described(name)
            if found != shape:
                raise ValueError(f"{name} has the shape {found}, not {shape}")
            if name not in _NOT_FLOATS and dtype != np.float64:
                raise ValueError(f"{name} is not an array of double-precision numbers")


# --- writing ---------------------------------------------------------------------------------------------------------


class _Digest:
    """A stream that keeps nothing but the checksum of what is written to it."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def write(self, content: bytes) -> int:
        self.sha256.update(content)
        return len(content)


def checksum(header: dict[str, Any], arrays: Mapping[str, AnyArray]) -> str:
    """SHA-256 over a header and over arrays as they stand in a file."""
    digest = _Digest()
    digest.write(_header_bytes(header))
    for name in sorted(arrays):
        digest.write(f"\0{name}\0".encode())
        np.lib.format.write_array(digest, np.asanyarray(arrays[name]), allow_pickle=False)
    return digest.sha256.hexdigest()


def _header_bytes(header: dict[str, Any]) -> bytes:
    return json.dumps({k: v for k, v in header.items() if k != _CHECKSUM}, sort_keys=True).encode()


def write_state(state: State, path: str | Path) -> Path:
    """Write a state; the file appears whole or not at all."""
    header = {"format": FORMAT, "version": VERSION, **state.header, _NAMES: sorted(state.arrays)}
    header[_CHECKSUM] = checksum(json.loads(json.dumps(header)), state.arrays)
    arrays = {**state.arrays, _HEADER: np.array(json.dumps(header))}
    return write_atomically(path, lambda stream: np.savez_compressed(stream, allow_pickle=False, **arrays))


# --- reading ---------------------------------------------------------------------------------------------------------


@contextmanager
def open_state(path: str | Path) -> Iterator[State]:
    """A state of any version that is known, in the form of the newest; its arrays can be read within the block.

    Whatever is wrong with the file, or goes wrong with its content within the block, comes out as a `ModelFileError`.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path} is not a model file of bayes-lssvm: it is a folder or a device.")
    with path.open("rb") as stream:
        header, archive = _opened(path, stream)
        try:
            yield State(_checked(header, archive), Selected(archive))
            if idle := sorted(set(archive) - archive.read_names):
                raise ValueError(f"it contains what no such model has, {idle[0]!r}")
        except ModelFileError as error:
            raise ModelFileError(f"{path} {error}") from error.__cause__
        except UnknownKernelError as error:
            raise ModelFileError(f"{path} cannot be read by this program. {error}") from error
        except Exception as error:  # any exception here comes from what the file says
            raise ModelFileError(f"{path} is damaged: {_sentence(error)}. Fit and save the model again.") from error


def _opened(path: Path, stream: Any) -> tuple[dict[str, Any], Npz]:
    try:
        archive = Npz(stream)
        header = json.loads(str(archive[_HEADER]))
    except Exception as error:
        raise ModelFileError(f"{path} is not a model file of bayes-lssvm: {_sentence(error)}.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a model file of bayes-lssvm: its header does not identify it as one.")
    return header, archive


def _checked(header: dict[str, Any], archive: Npz) -> dict[str, Any]:
    """The header in the form of the newest version, after the checksum has been found right."""
    version = header.get("version")
    if isinstance(version, bool) or version not in _READABLE:
        raise ModelFileError(
            f"has format version {version!r}; this version of bayes-lssvm reads versions "
            f"{', '.join(map(str, _READABLE))}. Fit and save the model again."
        )
    if version >= 3 and header.get(_NAMES) != sorted(set(archive) - {_HEADER}):
        raise ModelFileError("is damaged: its header does not match its arrays. Fit and save the model again.")
    if version >= 3 and _sum_of(header, archive) != header.get(_CHECKSUM):
        raise ModelFileError("is damaged: its checksum does not match its content. Fit and save the model again.")
    if version == 1 and isinstance(header.get("n_features"), int):
        header["columns"] = list(range(header["n_features"]))
    return header


def _sum_of(header: dict[str, Any], archive: Npz) -> str:
    """The checksum of what the file holds, of which nothing is kept."""
    digest = hashlib.sha256(_header_bytes(header))
    for name in sorted(set(archive) - {_HEADER}):
        digest.update(f"\0{name}\0".encode())
        for piece in archive.pieces(name):
            digest.update(piece)
    return digest.hexdigest()


def _sentence(error: Exception) -> str:
    """What an exception says, as part of a sentence."""
    said = str(error).strip().rstrip(".") or type(error).__name__
    return f"{said!r} is missing" if isinstance(error, KeyError) else said
