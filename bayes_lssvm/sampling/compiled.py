"""Programs that JAX has compiled, kept on disk for the next process: compiling is most of a first call of NUTS.

JAX has such a cache but uses it only where a folder is named. While one of our calls runs, that is a folder of the
user's own cache; a folder that the program or the environment has named already stays in use instead. JAX knows one
folder for the whole process, so it is put back when the last of the calls that run at the same time ends. Where the
folder cannot be made or somebody else could write to it, nothing is kept and nothing is said: the call takes longer,
that is all.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["CACHE", "kept_programs"]

CACHE = "BAYES_LSSVM_CACHE"
"""Environment variable: the folder in which compiled programs are kept, or "off"."""

_OFF = ("", "0", "off", "no", "false")
_SETTINGS = {"jax_persistent_cache_min_compile_time_secs": 0.2}  # instead of a second
_FOLDER = "jax_compilation_cache_dir"

_lock, _calls, _before = threading.Lock(), 0, dict[str, Any]()


@contextmanager
def kept_programs() -> Iterator[None]:
    """What JAX compiles inside is looked for among what earlier processes have compiled, and kept."""
    folder = _folder()
    if folder is None:
        yield
        return
    entered = _enter(folder)
    try:
        yield
    finally:
        if entered:
            _leave()


def _enter(folder: Path) -> bool:
    global _calls
    import jax

    with _lock:
        if not _calls and getattr(jax.config, _FOLDER) is not None:
            return False  # the program has a cache of its own
        _calls += 1
        if _calls == 1:
            _before.update({name: getattr(jax.config, name) for name in (_FOLDER, *_SETTINGS)})
            _set({_FOLDER: str(folder), **_SETTINGS})
        return True


def _leave() -> None:
    global _calls
    with _lock:
        _calls -= 1
        if not _calls:
            _set(_before)


def _set(settings: dict[str, Any]) -> None:
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    for name, value in settings.items():
        jax.config.update(name, value)  # type: ignore[no-untyped-call]
    compilation_cache.reset_cache()  # it looks at the folder's name once


def _folder() -> Path | None:
    """The folder for this machine, made if need be; None where there can be none that is safe."""
    named = os.environ.get(CACHE)
    if named is not None and named.strip().lower() in _OFF:
        return None
    try:
        base = Path(named) if named else _user_cache() / "bayes-lssvm"
        folder = base / "programs" / _machine()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder if _own(folder) and os.access(folder, os.W_OK | os.X_OK) else None
    except (OSError, RuntimeError, ValueError):  # no home, no rights, no such name
        return None


def _own(folder: Path) -> bool:
    """Whether nobody else can put programs there, which would run with our rights."""
    if not hasattr(os, "getuid"):
        return True
    found = folder.stat()
    return found.st_uid == os.getuid() and not found.st_mode & 0o022


def _user_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return Path(named) if named else Path.home() / ".cache"


def _machine() -> str:
    """A name that changes with the processor: a home may be shared by machines of several kinds."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    kind = f"{platform.machine()} {platform.processor()} {flags}"
    return hashlib.sha256(kind.encode()).hexdigest()[:12]
