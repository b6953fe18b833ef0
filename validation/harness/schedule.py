"""Where cells are computed: in this process, in worker processes of joblib, or on a Dask cluster.

Each takes a cell when it has a worker for it, so that what one process has not begun is left for others, and gives
outcomes as they come, in any order. They call the same function on the same arguments, so the numbers are the same to
the bit wherever the packages and the processor are.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from typing import Any

from joblib import cpu_count
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from bayes_lssvm.base.processes import end_with

from .cell import Cell
from .compute import ComputedCell, compute_cell
from .data import StudyData
from .study import Study

Take = Callable[[], Cell | None]
"""The next cell to compute, or None where there is none at the moment."""

_IDLE = 60  # seconds
_WAIT = 30  # seconds for a scheduler to answer, and for its first worker
_FRUITLESS = 3  # connections in a row that were lost before a cell was finished
_LOGGER = "distributed.client"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def in_processes(study: Study, take: Take, data: StudyData | None, jobs: int) -> Generator[ComputedCell, None, None]:
    """Outcomes from `jobs` processes; one job is this process, and −1 as many as there are cores."""
    if jobs == 1:
        while (cell := take()) is not None:
            yield compute_cell(study, cell, data)
        return
    jobs = jobs if jobs > 0 else max(1, cpu_count() + 1 + jobs)
    executor = get_reusable_executor(
        max_workers=jobs, timeout=_IDLE, initializer=end_with, initargs=(os.getpid(),), env=_ONE_THREAD
    )
    running: set[Future[ComputedCell]] = set()
    try:
        while True:
            while len(running) < jobs and (cell := take()) is not None:
                running.add(executor.submit(compute_cell, study, cell, data))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda future: future.exception() is not None):  # what is finished first
                yield future.result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            f"A worker process ended by force ({type(error).__name__}), for want of memory perhaps. Finished cells are "
            "kept: start again, with fewer jobs."
        ) from error
    finally:
        if running:  # stopped by an error or by the user: nobody waits for these
            executor.shutdown(wait=True, kill_workers=True)


def on_cluster(study: Study, take: Take, data: StudyData | None, address: str) -> Generator[ComputedCell, None, None]:
    """Outcomes from the workers of a Dask scheduler.

    Workers need the packages of this checkout and must be started in its folder (`dask worker ADDRESS --nthreads 1
    --nworkers 4`). Only outcomes come back; nothing is written on the workers. A scheduler that is lost is waited for,
    and what was under way is given out again when it is back.
    """
    distributed = _distributed()
    if (first := take()) is None:
        return
    lost, fruitless = [first], 0

    def next_cell() -> Cell | None:
        return lost.pop() if lost else take()

    with _quiet(_LOGGER):
        client = _client(distributed, address, f"No Dask scheduler answers at {address!r}")
        while True:
            for outcome in _of_client(distributed, client, study, next_cell, data, lost):
                fruitless = -1
                yield outcome
            if not lost:
                return
            fruitless += 1
            gone = f"The connection to the Dask scheduler at {address!r} was lost"
            if fruitless == _FRUITLESS:
                raise ConnectionError(f"{gone} {fruitless} times before a cell was finished.")
            client = _client(distributed, address, f"{gone}, and none answers there after {_WAIT} s")


def _of_client(
    distributed: Any, client: Any, study: Study, take: Take, data: StudyData | None, lost: list[Cell]
) -> Generator[ComputedCell, None, None]:
    """Outcomes by one connection to a scheduler; where it breaks, what was under way is put on `lost`."""
    under_way: dict[str, Cell] = {}
    futures: set[Any] = set()
    try:
        shared = None if data is None else client.scatter(data, broadcast=True)
        results = distributed.as_completed(loop=client.loop)
        while True:
            threads = sum(client.nthreads().values())  # anew each time: workers come and go
            while len(under_way) < max(1, threads) and (cell := take()) is not None:
                under_way[cell.key] = cell
                future = client.submit(compute_cell, study, cell, shared, pure=False)
                futures.add(future)
                results.add(future)
            if not under_way:
                return
            future = next(results)
            outcome = future.result()
            futures.remove(future)
            del under_way[outcome.key]
            yield outcome
    except ModuleNotFoundError as error:
        raise RuntimeError(
            f"A Dask worker cannot import the study ({error}): start the workers in the folder of this checkout, with "
            "the same packages."
        ) from error
    except distributed.scheduler.KilledWorker as error:
        raise RuntimeError(
            f"Dask workers died over a cell, for want of memory perhaps ({error}). Finished cells are kept."
        ) from error
    except Exception as error:
        # nobody but a client that has lost its scheduler cancels; other errors may be the study's own
        if not isinstance(error, CancelledError | distributed.comm.CommClosedError) and client.status == "running":
            raise
        lost.extend(under_way.values())
    finally:
        if client.status == "running":
            client.cancel(list(futures))
        client.close()


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """No records of a logger below CRITICAL: what they tell, with tracebacks, is said in a sentence here."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            f'A study on a Dask cluster needs a package that is not installed ({error}): pip install "bayes-lssvm'
            '[dask]", or leave the scheduler out.'
        ) from error
    return distributed


def _client(distributed: Any, address: str, otherwise: str) -> Any:
    try:
        client = distributed.Client(address, timeout=_WAIT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"{otherwise} ({error}). Start one with `dask scheduler`, and workers, and give the address that it prints."
        ) from error
    try:
        client.wait_for_workers(1, timeout=_WAIT)
    except TimeoutError as error:
        client.close()
        raise ConnectionError(
            f"The Dask scheduler at {address!r} has no workers after {_WAIT} s. Start some with `dask worker {address} "
            "--nthreads 1`."
        ) from error
    return client
