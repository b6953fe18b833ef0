"""Run a study: read what is stored, compute what is missing, store each cell as it comes."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayes_lssvm.base.holds import Claims
from bayes_lssvm.base.progress import tqdm

from .cell import Cell
from .compute import ComputedCell
from .data import StudyData
from .result import FinishedCell, StudyResult
from .schedule import in_processes, on_cluster
from .store import CellStore
from .study import SIZES, Size, Study

_TICK = 1.0  # seconds
_PAUSE = 0.5  # seconds between looks at cells that other runs compute


def run(
    study: Study,
    data: StudyData | None,
    *,
    size: Size = "quick",
    folder: str | Path,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: bool = True,
) -> StudyResult:
    """All cells of a study.

    Killed or interrupted, it continues where it stopped when it is called again. Several calls with one folder, in any
    processes, share the work: each computes cells that no other is at, and all return the whole. A cell whose
    computation raises an error that data can cause is listed in `failed` and tried again at the next call.

    Parameters
    ----------
    study : Study
    data : StudyData or None
        Not looked at by a study that simulates.
    size : "toy", "quick" or "full"
    folder : path
        Where cells are kept, and found again.
    jobs : int
        Processes; −1 for as many as there are cores.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers compute instead.
    progress : bool
        Show a bar, on a terminal, and say which stored cells are not used.
    """
    if size not in SIZES:
        raise ValueError(f"size must be one of {', '.join(SIZES)}, got {size!r}.")
    if jobs == 0:
        raise ValueError("jobs must be a number of processes, or −1 for all cores, got 0.")
    if study.needs_data and data is None:
        raise ValueError(f"The study {study.name!r} needs data; give a data set's name or a CSV file.")
    data = data if study.needs_data else None
    cells = _declared(study, data, size)
    store = CellStore(Path(folder), study, data, size)
    finished, origins, changed = _found(store, cells)
    if changed and progress:
        print(_changed_sentence(study, changed), file=sys.stderr)
    missing = {cell.key: cell for cell in cells if cell.key not in finished}
    store.prepare()  # with no cell missing, too: a run can be killed between its last cell and the end of its claim
    bar = tqdm(
        total=len(cells),
        initial=len(finished),
        desc=study.name,
        unit="cell",
        smoothing=0.0,  # cells differ in length: the time left comes from the mean of all
        disable=None if progress else True,
    )
    with bar, _clock(bar), Claims(store.folder, missing) as claims, warnings.catch_warnings():
        # joblib replaces a worker that has grown by 300 MB, as those that compile programs do
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
        gathered = _Gathering(store, missing, claims, bar, finished, origins)
        while claims.left:
            with closing(_outcomes(study, gathered, data, jobs, scheduler)) as outcomes:
                for outcome in outcomes:
                    gathered.keep(store.write(missing[outcome.key], outcome), outcome.record["provenance"])
            if claims.left:  # other runs are at these
                time.sleep(_PAUSE)
    return _result(study, data, size, [finished[cell.key] for cell in cells], origins, store)


@contextmanager
def _clock(bar: Any) -> Iterator[None]:
    """Let the times on a bar go on while a cell is computed, so that a long one does not look like a standstill."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(_TICK):
            bar.refresh()

    thread = threading.Thread(target=tick, name="clock", daemon=True)
    if not bar.disable:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if thread.is_alive():
            thread.join()


@dataclass(frozen=True)
class _Gathering:
    """Cells as they come: from this run, and from others in the same folder."""

    store: CellStore
    missing: dict[str, Cell]
    claims: Claims
    bar: Any
    finished: dict[str, FinishedCell]
    origins: list[dict[str, Any]]

    def take(self) -> Cell | None:
        """A cell that no other run is at, and that none has finished by now; None if there is none at the moment."""
        for key in self.claims:
            reading = self.store.read(self.missing[key], quiet=True)
            if reading.finished is None:
                return self.missing[key]
            self.keep(reading.finished, reading.provenance)
        return None

    def keep(self, cell: FinishedCell, origin: dict[str, Any]) -> None:
        """Add a cell, which is then nobody's work any more."""
        self.finished[cell.cell.key] = cell
        self.origins.append(origin)
        self.claims.done(cell.cell.key)
        self.bar.update()


def _outcomes(
    study: Study, gathered: _Gathering, data: StudyData | None, jobs: int, scheduler: str | None
) -> Generator[ComputedCell, None, None]:
    """What is computed here; to what a lost cluster says, what is kept and how to go on is added."""
    if scheduler is None:
        yield from in_processes(study, gathered.take, data, min(jobs, len(gathered.missing)))
        return
    try:
        yield from on_cluster(study, gathered.take, data, scheduler)
    except ConnectionError as error:
        raise ConnectionError(
            f"{error} {len(gathered.finished)} finished cells are kept in {gathered.store.folder}: the same call goes "
            "on from there, with a scheduler or without."
        ) from error


def stored(study: Study, data: StudyData | None = None, *, size: Size, folder: str | Path) -> StudyResult | None:
    """The finished cells of a study, nothing computed; None where there are none."""
    store = CellStore(Path(folder), study, data, size)
    finished, origins, _ = _found(store, study.cells(data, size))
    return _result(study, data, size, list(finished.values()), origins, store) if finished else None


def _found(
    store: CellStore, cells: Sequence[Cell]
) -> tuple[dict[str, FinishedCell], list[dict[str, Any]], dict[str, str]]:
    """Cells that are there, by key and in order, where they come from, and why others that are there are not used."""
    finished: dict[str, FinishedCell] = {}
    origins: list[dict[str, Any]] = []
    changed: dict[str, str] = {}
    for cell in cells:
        reading = store.read(cell)
        if reading.finished is not None:
            finished[cell.key] = reading.finished
            origins.append(reading.provenance)
        elif reading.changed:
            changed[cell.key] = reading.changed
    return finished, origins, changed


def _result(
    study: Study,
    data: StudyData | None,
    size: Size,
    finished: Sequence[FinishedCell],
    origins: Sequence[dict[str, Any]],
    store: CellStore,
) -> StudyResult:
    record = _provenance(study, data, size, finished, origins)
    described = None if data is None else data.describe()
    return StudyResult(study.name, study.title, size, described, tuple(finished), record, store.folder)


def _declared(study: Study, data: StudyData | None, size: Size) -> list[Cell]:
    """The study's cells; two that would share a file are refused."""
    cells = study.cells(data, size)
    if not cells:
        raise ValueError(f"The study {study.name!r} has no cells for these data at size {size!r}.")
    seen: set[str] = set()
    for cell in cells:
        if cell.key.casefold() in seen:  # some file systems do not tell A from a
            raise ValueError(f"The study {study.name!r} has two cells with the key {cell.key!r}; keys name files.")
        seen.add(cell.key.casefold())
    return cells


def _changed_sentence(study: Study, changed: dict[str, str]) -> str:
    key, why = next(iter(changed.items()))
    if len(changed) == 1:
        return f"{study.name}: the stored cell {key} is of another run ({why}) and is computed again."
    return f"{study.name}: {len(changed)} stored cells are of another run ({key}: {why}, …) and are computed again."


def _provenance(
    study: Study,
    data: StudyData | None,
    size: Size,
    finished: Sequence[FinishedCell],
    origins: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """Where the numbers come from. It holds nothing of this call, so that the same cells give the same record."""
    names = dict.fromkeys(name for origin in origins for name in origin["versions"])
    dates = sorted(origin["date"] for origin in origins)
    record = {
        "study": study.name,
        "version": study.version,
        "size": size,
        "data_sha256": None if data is None else data.sha256,
        "cells": len(finished),
        "seeds": sorted({f.cell.seed for f in finished}),
        "versions": {n: _several(origin["versions"].get(n) for origin in origins) for n in names},
        "platform": _several(origin["platform"] for origin in origins),
        "first_date": dates[0],
        "date": dates[-1],
        "seconds": sum(f.seconds for f in finished),
    }
    return {**record, "data": study.own_data} if study.own_data else record


def _several(values: Any) -> str:
    """The one value, or all of them where cells were computed in different places."""
    return ", ".join(sorted({str(value) for value in values}))
