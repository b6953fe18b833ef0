"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO


def write_atomically(path: str | Path, write: Callable[[IO[bytes]], object]) -> Path:
    """Let `write` fill a part file beside `path`, then rename it; a failure leaves everything as it was."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        with part.open("xb") as stream:
            write(stream)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write `content` so that the file appears whole or not at all."""
    return write_atomically(path, lambda stream: stream.write(content))
