"""Whether matrices fit into memory, asked before they are allocated; and that they come back to be used again."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .errors import MatrixTooLargeError

_MEMINFO, _OWN_GROUP, _GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_ALWAYS_THERE = 2**20  # bytes; to ask the system for so few takes longer than to use them
_MOST_KEPT = 2**25 - 2**12  # bytes; the C library learns from pieces of up to 32 MiB
_TRIM, _MMAP = ("MALLOC_TRIM_THRESHOLD_", -1, 128 * 2**10), ("MALLOC_MMAP_THRESHOLD_", -3, 128 * 2**10)  # mallopt(3)
_ALL = 2**30  # bytes; more than anything frees at a time
_A_WHILE = 1.0  # second after which no other task is expected
# limit, use, and what of the use can be given back, in versions 2 and 1 of control groups
_GROUP_FILES = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_bytes() -> int | None:
    """Memory that this process can still have, in bytes, or None where the system does not tell.

    What is free on the machine, and no more than what the limits of the container or control group leave.
    """
    found = [room for room in (_free_on_machine(), *_left_by_groups()) if room is not None]
    return max(0, min(found)) if found else None


def _free_on_machine() -> int | None:
    for line in _text(_MEMINFO).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_by_groups() -> Iterator[int]:
    """What the limit of each group around this process leaves."""
    for line in (*_text(_OWN_GROUP).splitlines(), "0::/"):
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers not in ("", "memory"):
            continue
        root, limit, use, given_back = _GROUP_FILES[controllers == "memory"]
        own = _GROUPS / root / path.lstrip("/")
        for group in (own, *(parent for parent in own.parents if parent.is_relative_to(_GROUPS / root))):
            most, used = _text(group / limit).strip(), _text(group / use).strip()
            if most.isdigit() and used.isdigit():
                rows = (row.split() for row in _text(group / "memory.stat").splitlines())
                yield int(most) - int(used) + sum(int(row[1]) for row in rows if row[0] == given_back)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def require_matrices(n: int, count: float, instead: str) -> None:
    """Raise `MatrixTooLargeError` if `count` matrices of n × n doubles do not fit, saying what to do instead."""
    needed = 8.0 * count * n * n
    if needed <= _ALWAYS_THERE:
        return
    have = available_bytes()
    if have is not None and needed > have:
        raise MatrixTooLargeError(
            f"{n} data points need about {needed / 2**30:.3g} GiB for {count:g} kernel matrices of {n} × {n} doubles, "
            f"but this machine has {have / 2**30:.3g} GiB free. {instead}"
        )


def keep_freed_matrices(n: int) -> None:
    """Let the C library keep the memory of n × n matrices that are freed, for the next ones.

    GNU's hands it back to the system, and has every page of the next matrix given and cleared anew: a sixth of the time
    of a fit with 1000 rows. It keeps twice the largest piece that it has seen freed (mallopt(3)), so a piece of two
    matrices, which is never touched, is allocated and freed. Larger matrices than it can learn from are left alone.
    """
    if 16 * n * n <= _MOST_KEPT:
        np.empty(2 * n * n)


class _Keeping:
    """How many blocks of `freed_memory_kept` run, and what ends the setting when none has followed the last."""

    lock, count, end = threading.Lock(), 0, None  # type: threading.Lock, int, threading.Timer | None


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """While the block runs, let the C library keep all memory that is freed, for what is allocated next.

    Where MALLOC_TRIM_THRESHOLD_ stands in the environment, as in the workers of Dask, GNU's gives it back at once and
    maps every larger piece anew, page by page. Tasks that allocate the same for each of their blocks of rows wait for
    that. A second after the last of them the setting is as it was, and what is free goes back to the system.
    """
    library = _gnu()
    if library is None or _TRIM[0] not in os.environ:
        yield
        return
    with _Keeping.lock:
        _Keeping.count += 1
        if _Keeping.end is not None:
            _Keeping.end.cancel()
            _Keeping.end = None
        library.mallopt(_TRIM[1], _ALL)
        library.mallopt(_MMAP[1], _MOST_KEPT)
    try:
        yield
    finally:
        with _Keeping.lock:
            _Keeping.count -= 1
            if not _Keeping.count:
                _Keeping.end = threading.Timer(_A_WHILE, _give_back, (library,))
                _Keeping.end.daemon = True
                _Keeping.end.start()


def _give_back(library: Any) -> None:
    """The setting of the environment again, unless another block has begun."""
    with _Keeping.lock:
        if _Keeping.count:
            return
        for name, parameter, usual in (_TRIM, _MMAP):
            given = os.environ.get(name, "")
            library.mallopt(parameter, int(given) if given.isdigit() else usual)
        library.malloc_trim(0)


@cache
def _gnu() -> Any:
    """The C library, if it is GNU's."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
