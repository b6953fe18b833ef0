"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from .holds import HAS_LOCKS, PART, hold, remove_abandoned


def write_atomically(path: str | Path, write: Callable[[IO[bytes]], object]) -> Path:
    """Let `write` fill a part file beside `path`, then rename it; a failure leaves everything as it was.

    The part is held while it is written, so that what a killed process has left can be told from it, and it is on the
    disk before it gets its name: after a power failure, too, there is the old file or the new one. Parts of this file
    that killed processes have left are removed.
    """
    path = Path(path)
    remove_abandoned(path.parent, f"{path.name}.")
    part, stream = _new_part(path)
    try:
        with stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
            if HAS_LOCKS:  # before it is closed: nobody can take it for abandoned
                os.replace(part, path)
        if not HAS_LOCKS:
            os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    return path


def _new_part(path: Path) -> tuple[Path, IO[bytes]]:
    while True:
        part = path.with_name(f".{path.name}.{os.urandom(4).hex()}{PART}")
        if (stream := hold(part)) is not None:  # a process that cleans up may have it for a moment
            return part, stream


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write `content` so that the file appears whole or not at all."""
    return write_atomically(path, lambda stream: stream.write(content))


def _sync_folder(folder: Path) -> None:
    """Have the folder's names on the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
