"""Where cells are computed: in this process, in worker processes of joblib, or on a Dask cluster.

Each gives outcomes as they come, in any order. They call the same function on the same arguments, so the numbers are
the same to the bit wherever the packages and the processor are.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import BrokenProcessPool

from .cell import Cell
from .compute import ComputedCell, compute_cell
from .data import StudyData
from .study import Study

_IDLE = 60  # seconds
_WAIT = 30  # seconds for a scheduler to answer, and for its first worker


def in_processes(
    study: Study, cells: Sequence[Cell], data: StudyData | None, jobs: int
) -> Generator[ComputedCell, None, None]:
    """Outcomes from `jobs` processes; one job is this process."""
    if jobs == 1 or len(cells) < 2:
        for cell in cells:
            yield compute_cell(study, cell, data)
        return
    # Batches would hold finished cells back, and mapped files would give workers arrays of another kind.
    # Workers that a killed run left behind end after a minute of idleness, not joblib's five.
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1, max_nbytes=None, idle_worker_timeout=_IDLE):
        parallel = Parallel(return_as="generator_unordered", batch_size=1)
        work = parallel(delayed(compute_cell)(study, cell, data) for cell in cells)
    try:
        yield from work
    except BrokenProcessPool as error:
        raise RuntimeError(
            f"A worker process ended by force ({type(error).__name__}), for want of memory perhaps. Finished cells are "
            "kept: start again, with fewer jobs."
        ) from error


def on_cluster(
    study: Study, cells: Sequence[Cell], data: StudyData | None, address: str
) -> Generator[ComputedCell, None, None]:
    """Outcomes from the workers of a Dask scheduler.

    Workers need the packages of this checkout and must be started in its folder (`dask worker ADDRESS --nthreads 1
    --nworkers 4`). Only outcomes come back; nothing is written on the workers.
    """
    if not cells:
        return
    distributed = _distributed()
    client = _client(distributed, address)
    futures: list[Any] = []
    try:
        shared = None if data is None else client.scatter(data, broadcast=True)
        futures = [client.submit(compute_cell, study, cell, shared, pure=False) for cell in cells]
        for future, outcome in distributed.as_completed(futures, loop=client.loop, with_results=True):
            future.release()
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
    finally:
        client.cancel(futures)
        client.close()


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            f'A study on a Dask cluster needs a package that is not installed ({error}): pip install "bayes-lssvm'
            '[dask]", or leave the scheduler out.'
        ) from error
    return distributed


def _client(distributed: Any, address: str) -> Any:
    try:
        client = distributed.Client(address, timeout=_WAIT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {address!r} ({error}). Start one with `dask scheduler`, and give the "
            "address that it prints."
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
