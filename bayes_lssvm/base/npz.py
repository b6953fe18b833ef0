"""Archives of arrays, read within bounds: nothing is unpacked before its size is known and believed.

An .npz file is a zip archive of .npy members. NumPy's own reader unpacks whatever a file holds, so a megabyte can take
a gigabyte. Here the description of every member is read first (its type and shape, a few hundred bytes), a member whose
size is not what its shape says is refused, and its numbers are read when they are asked for, in pieces, into the array
that is returned.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from math import prod
from typing import IO, NamedTuple

import numpy as np

from .memory import available_bytes
from .typing import AnyArray

_MAGIC = b"\x93NUMPY\x01\x00"
_DESCRIPTION = re.compile(
    rb"\{'descr': '([<|][biufUS][0-9]{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,12}, ?)*(?:[0-9]{1,12})?)\), \} *\n"
)
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PIECE = 2**18
_MOST_MEMBERS = 20_000
_TEXT, _TEXT_RATIO = 2**20, 8  # bytes of text that any file may have, and more for each byte of the file


class Description(NamedTuple):
    """Type, shape and order of an array, and where its numbers start in the member."""

    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    fortran: bool
    start: int

    @property
    def n_bytes(self) -> int:
        """Size of the numbers."""
        return self.dtype.itemsize * prod(self.shape)


class Npz(Mapping[str, AnyArray]):
    """The arrays of an .npz file, each read when it is first asked for.

    Parameters
    ----------
    stream : binary file
        Must stay open as long as arrays are asked for.

    Attributes
    ----------
    descriptions : dict
        Of each member, by its name without ".npy".
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._archive = zipfile.ZipFile(stream)
        size = stream.seek(0, 2)
        members = self._archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise ValueError(f"it has {len(members)} members, more than any model")
        self._members = {member.filename.removesuffix(".npy"): member for member in members}
        if len(self._members) < len(members):
            raise ValueError("two of its members have the same name")
        self._require_room(sum(member.file_size for member in members))
        self.descriptions = {name: self._described(name) for name in self._members}
        self._read: dict[str, AnyArray] = {}
        text = sum(d.n_bytes for d in self.descriptions.values() if d.dtype.kind in "US")
        if text > _TEXT + _TEXT_RATIO * size:
            raise ValueError(f"it unpacks to {text} bytes of text, far more than its {size} bytes can hold")

    @staticmethod
    def _require_room(needed: int) -> None:
        have = available_bytes()
        if have is not None and needed > have:
            raise ValueError(f"it unpacks to {needed / 2**30:.3g} GiB, and {have / 2**30:.3g} GiB of memory are free")

    def _described(self, name: str) -> Description:
        member = self._members[name]
        if member.compress_type not in _COMPRESSIONS or member.flag_bits & 0x1:
            raise ValueError(f"its member {name!r} is packed or encrypted in a way that no model is")
        with self._archive.open(member) as packed:
            head = packed.read(10)
            length = int.from_bytes(head[8:], "little")
            found = _DESCRIPTION.fullmatch(packed.read(length)) if head[:8] == _MAGIC else None
        if found is None:
            raise ValueError(f"its member {name!r} is not an array of numbers or text")
        shape = tuple(int(n) for n in found[3].split(b",") if n.strip())
        described = Description(np.dtype(found[1].decode()), shape, found[2] == b"True", 10 + length)
        if member.file_size != described.start + described.n_bytes:
            raise ValueError(
                f"its member {name!r} has {member.file_size} bytes, but an array of shape {shape} and type "
                f"{described.dtype} has {described.start + described.n_bytes}"
            )
        return described

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a member, unpacked a piece at a time."""
        with self._archive.open(self._members[name]) as packed:
            while piece := packed.read(_PIECE):
                yield piece

    @property
    def read_names(self) -> set[str]:
        """Names of the arrays that have been read."""
        return set(self._read)

    def __getitem__(self, name: str) -> AnyArray:
        if name not in self._read:
            self._read[name] = self._unpacked(name)
        return self._read[name]

    def _unpacked(self, name: str) -> AnyArray:
        described = self.descriptions[name]
        flat = np.empty(described.n_bytes, dtype=np.uint8)
        with self._archive.open(self._members[name]) as packed:
            packed.read(described.start)
            at = 0
            while piece := packed.read(_PIECE):  # up to the end, where the archive's own checksum is looked at
                flat[at : at + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
                at += len(piece)
        if at != described.n_bytes:
            raise ValueError(f"its member {name!r} ends early")
        typed = flat.view(described.dtype) if described.n_bytes else np.empty(0, described.dtype)
        return typed.reshape(described.shape, order="F" if described.fortran else "C")

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members
