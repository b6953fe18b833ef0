"""Whether matrices fit into memory, asked before they are allocated."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import MatrixTooLargeError

_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def available_bytes() -> int | None:
    """Memory of this machine or container in bytes, or None where the system does not tell."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    try:
        limit = _CGROUP_LIMIT.read_text().strip()
    except OSError:
        limit = "max"
    return min(physical, int(limit)) if limit.isdigit() else physical


def require_matrices(n: int, count: float, instead: str) -> None:
    """Raise `MatrixTooLargeError` if `count` matrices of n × n doubles do not fit, saying what to do instead."""
    have = available_bytes()
    needed = 8.0 * count * n * n
    if have is not None and needed > have:
        raise MatrixTooLargeError(
            f"{n} data points need about {needed / 2**30:.3g} GiB for {count:g} kernel matrices of {n} × {n} doubles, "
            f"but this machine has {have / 2**30:.3g} GiB. {instead}"
        )
