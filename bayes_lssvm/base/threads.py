"""Threads of BLAS and worker processes: how many, and for how long.

A thread of OpenBLAS that waits for another one spins until the kernel takes the core from it. On idle cores that is
short. On busy ones, or with small matrices on many cores, each of the dozens of meetings within one factorisation costs
a time slice of whoever else wants the core: a Cholesky factor of 400 rows by two threads was seen to take 270
times as long as by one (`benchmarks/threads.py`, docs/guide/threads.md). So a call with few rows uses few threads.

BLAS knows one number of threads for the whole process. It is lowered while such a call runs, never raised, and put back
when the last of the calls that run at the same time ends. What somebody else has set meanwhile is left alone.
"""

from __future__ import annotations

import functools
import inspect
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, ParamSpec, TypeVar

import joblib
import numpy as np
from joblib.parallel import get_active_backend

__all__ = [
    "KEEP",
    "Workers",
    "at_most",
    "blas_threads",
    "few_threads",
    "in_worker",
    "threads_for",
    "workers_for",
]

KEEP = "BAYES_LSSVM_KEEP_THREADS"
"""Environment variable: if it is set, the number of BLAS threads is left as it is."""

_ROWS_A_THREAD = 1000  # on two idle cores a second thread slows 400 to 1600 rows down, and speeds 3000 up

P = ParamSpec("P")
T = TypeVar("T")


class Workers(NamedTuple):
    """What does the work of a fit.

    Attributes
    ----------
    processes : int
        Among which members of a code book are spread; 1 is this process.
    blas_threads : int
        That each of them may use in a matrix product.
    """

    processes: int
    blas_threads: int


def threads_for(rows: int) -> int:
    """BLAS threads that matrices of so many rows can make use of: one for each 1000 of them."""
    return max(1, rows // _ROWS_A_THREAD)


def in_worker() -> bool:
    """Whether somebody spreads work already, so that this process or thread is one of several at it.

    A task of joblib, of a Dask worker, or a process that `multiprocessing` or `concurrent.futures` has started.
    """
    backend, _ = get_active_backend()
    return bool(getattr(backend, "nesting_level", 0)) or multiprocessing.parent_process() is not None or _on_dask()


def _on_dask() -> bool:
    distributed = sys.modules.get("distributed")  # who is not loaded runs nothing
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except (AttributeError, ValueError):
        return False
    return True


def workers_for(tasks: int, rows: int, n_jobs: int | None) -> Workers:
    """Processes for so many tasks of at most so many rows, and BLAS threads for each of them.

    Inside a worker there is no second layer of processes. Else there are `n_jobs`, as joblib counts them, but no more
    than tasks; the cores are shared among them.
    """
    if in_worker():
        return Workers(1, min(blas_threads(), threads_for(rows)))
    processes = max(1, min(joblib.effective_n_jobs(n_jobs), tasks))
    share = joblib.cpu_count() // processes if processes > 1 else blas_threads()
    return Workers(processes, max(1, min(share, threads_for(rows))))


def blas_threads() -> int:
    """The most threads that a BLAS library uses now in this process; 1 where none is known."""
    return max((library.num_threads or 1 for library in _libraries()), default=1)


class _Limit:
    """The numbers of threads that calls have asked for, and what they were before."""

    def __init__(self) -> None:
        self.lock, self.asked = threading.Lock(), list[int]()
        self.before, self.set = dict[str, int](), dict[str, int]()

    def add(self, threads: int) -> None:
        with self.lock:
            if not self.asked:
                self.before, self.set = {lib.filepath: lib.num_threads for lib in _libraries()}, {}
            self.asked.append(threads)
            self._apply()

    def remove(self, threads: int) -> None:
        with self.lock:
            if threads in self.asked:  # a forked child has none
                self.asked.remove(threads)
                self._apply()

    def _apply(self) -> None:
        for library in _libraries():
            path, now = library.filepath, library.num_threads
            if path not in self.before or now != self.set.get(path, self.before[path]):
                continue  # loaded since, or set by somebody else
            wanted = min([self.before[path], *self.asked])
            if wanted != now:
                library.set_num_threads(wanted)
            self.set[path] = wanted


_limit = _Limit()


def _after_fork() -> None:
    """In a child: its only thread began outside of any call, or never ends one."""
    global _limit
    old, _limit = _limit, _Limit()
    if old.asked:
        old.lock, old.asked = threading.Lock(), []
        old._apply()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@functools.cache
def _found() -> tuple[Any, ...]:
    import scipy.linalg  # noqa: F401 - loads the BLAS that is looked for
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def _libraries() -> tuple[Any, ...]:
    """The BLAS libraries that NumPy and SciPy have loaded; looked for once, as that takes milliseconds."""
    return _found()


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """No more than so many BLAS threads while the block runs, in the whole process."""
    if KEEP in os.environ:
        yield
        return
    limit = _limit
    limit.add(threads)
    try:
        yield
    finally:
        limit.remove(threads)


def few_threads(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function of inputs X use no more BLAS threads than their rows can make use of."""
    place = list(inspect.signature(function).parameters).index("X")

    @functools.wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        X: Any = args[place] if len(args) > place else kwargs.get("X")
        try:
            rows = int(np.shape(X)[0])
        except (IndexError, TypeError, ValueError):
            rows = 0  # what is wrong with it, the function says
        with at_most(threads_for(rows)):
            return function(*args, **kwargs)

    return limited
