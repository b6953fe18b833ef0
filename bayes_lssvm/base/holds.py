"""Files that a living process holds: how processes that share a folder tell what is being worked on.

A file is held by the kernel's advisory lock on it (flock), which ends with the process, however that ends. A process
number in a file would outlive kill −9, could be that of another process by then, and means nothing on another computer
or in another container. Where the system or the file system has no such locks, every process holds what it asks for:
processes then do the same work twice, as each writes files that appear whole, and nothing is removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO

HAS_LOCKS = find_spec("fcntl") is not None  # not on Windows
PART = ".part"
_LOCK = ".lock"


def hold(path: Path) -> IO[bytes] | None:
    """Open a file, which is made if it is not there, and hold it until it is closed; None if a living process does."""
    while True:
        stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        if _locked(stream) is False:
            stream.close()
            return None
        if _is_at(stream, path):
            return stream
        stream.close()  # whoever held it before has removed it in between


def remove_abandoned(folder: Path, name: str = "") -> None:
    """Remove what killed processes have left: parts and claims of all files in a folder, or of those of one name."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(f".{name}") and entry.name.endswith((PART, _LOCK)):
                _remove_unless_held(Path(entry.path))


def _remove_unless_held(path: Path) -> None:
    with suppress(OSError), path.open("r+b") as stream:  # of another user, or gone by now
        if _locked(stream) and _is_at(stream, path):
            path.unlink()


def _locked(stream: IO[bytes]) -> bool | None:
    """Lock a file; False if another holds it, None where there are no locks."""
    if not HAS_LOCKS:
        return None
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_at(stream: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


class Claims:
    """Work that processes share through a folder: each item is done by the first process that claims it.

    Iteration gives the items that can be claimed now; those that another living process is at are left for a later
    round. An item stays claimed until it is `done`.

    Parameters
    ----------
    folder : path
    names : iterable of str
        Of the items; they name files.
    """

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self._folder = folder
        self._held: dict[str, IO[bytes] | None] = {}
        self.left = list(names)

    def __iter__(self) -> Iterator[str]:
        for name in list(self.left):
            if name not in self._held and self._claimed(name):
                yield name

    def _claimed(self, name: str) -> bool:
        stream = None
        if HAS_LOCKS:
            with suppress(OSError):  # a folder that cannot be written to: the file that shall come into it says so
                if (stream := hold(self._path(name))) is None:
                    return False
        self._held[name] = stream
        return True

    def _path(self, name: str) -> Path:
        return self._folder / f".{name}{_LOCK}"

    def done(self, name: str) -> None:
        """Give an item back, whose file is there now, or will not be."""
        self.left.remove(name)
        self._release(name)

    def _release(self, name: str) -> None:
        stream = self._held.pop(name)
        if stream is not None:
            with suppress(OSError):
                self._path(name).unlink()  # before it is closed: nobody can hold it in between
            stream.close()

    def __enter__(self) -> Claims:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._held):
            self._release(name)
