"""Cells on disk: one JSON file a cell, and a netCDF file of draws beside it.

    folder/<study>/<data>-<first digits of its hash>/<size>/<key>.json and <key>.nc

A file appears whole or not at all, the draws before the JSON that holds their hash. So a cell whose JSON is there is
finished, and a run that was killed continues where it stopped. The JSON carries a checksum and the cell's identity:
format, study, version, key, settings, seed and data. A file that is damaged is reported and computed again; so is one
whose identity is another. Runs in one folder share the work: who computes a cell holds the file .<key>.lock.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bayes_lssvm.base.checks import Check
from bayes_lssvm.base.files import write_bytes
from bayes_lssvm.base.holds import remove_abandoned

from .cell import Cell
from .compute import ComputedCell
from .data import StudyData
from .json_values import as_json, digest
from .result import FinishedCell
from .study import Size, Study

_FORMAT = 1


class DamagedCellWarning(UserWarning):
    """A stored cell could not be read and is computed again."""


class Reading(NamedTuple):
    """What the store has of a cell.

    Attributes
    ----------
    finished : FinishedCell or None
    provenance : dict
    changed : str
        Why a whole file is not used: "seed was 1 and is now 2".
    """

    finished: FinishedCell | None
    provenance: dict[str, Any]
    changed: str = ""


class CellStore:
    """The cells of one study on one data set at one size."""

    def __init__(self, root: Path, study: Study, data: StudyData | None, size: Size) -> None:
        self.folder = root / study.name / folder_name(data) / size
        self._common = {
            "format": _FORMAT,
            "study": study.name,
            "version": study.version,
            "data": None if data is None else data.sha256,
        }

    def identity(self, cell: Cell) -> dict[str, Any]:
        """What must be the same for a stored cell to stand for this one."""
        own = {"key": cell.key, "settings": cell.settings, "seed": cell.seed}
        identity: dict[str, Any] = as_json({**self._common, **own}, f"The settings of cell {cell.key!r}")
        return identity

    def prepare(self) -> None:
        """Make the folder, and remove what runs that were killed have left in it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_abandoned(self.folder)

    def read(self, cell: Cell, *, quiet: bool = False) -> Reading:
        """The cell if it is there, whole, and the same; of a damaged file a warning tells, unless `quiet`."""
        path, wanted = self._json(cell), self.identity(cell)
        if not path.is_file():
            return Reading(None, {})
        try:
            payload = _checked(path)
            if changed := _difference(payload["identity"], wanted):
                return Reading(None, {}, changed)
            record = payload["record"]
            return Reading(self._finished(cell, record, payload["draws_sha256"]), record["provenance"])
        except _Damaged as error:
            reason = str(error)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"{path.name} is not a stored cell ({type(error).__name__}: {error})"
        message = f"{self.folder}: {reason}; the cell {cell.key!r} is computed again."
        if not quiet:
            warnings.warn(message, DamagedCellWarning, stacklevel=4)
        return Reading(None, {})

    def write(self, cell: Cell, outcome: ComputedCell) -> FinishedCell:
        """Keep what was computed. A cell that ended in an error is not kept, so that it is tried again."""
        if outcome.error is not None:
            record = outcome.record
            said, seconds = tuple(record["warnings"]), record["seconds"]
            return FinishedCell(cell, {}, (), said, seconds, None, outcome.error)
        sha = None
        if outcome.draws is not None:
            sha = hashlib.sha256(outcome.draws).hexdigest()
            write_bytes(self._netcdf(cell), outcome.draws)
        payload = {"identity": self.identity(cell), "record": outcome.record, "draws_sha256": sha}
        content = json.dumps({"sha256": digest(payload), "payload": payload}, indent=1, allow_nan=False)
        write_bytes(self._json(cell), content.encode())
        if sha is None:
            self._netcdf(cell).unlink(missing_ok=True)  # of an earlier version that had draws
        return self._finished(cell, outcome.record, sha, verified=True)

    def set_aside(self, cells: Sequence[Cell]) -> None:
        """Move the files of these cells into a new folder beside the study's, so that they are computed again."""
        aside = self.next_aside()
        for path in (path for cell in cells for path in (self._json(cell), self._netcdf(cell)) if path.is_file()):
            aside.mkdir(parents=True, exist_ok=True)
            path.replace(aside / path.name)

    def next_aside(self) -> Path:
        """The folder for the files that are set aside next."""
        numbered = (self.folder.with_name(f"{self.folder.name}-aside-{k}") for k in itertools.count(1))
        return next(path for path in numbered if not path.exists())

    def _finished(self, cell: Cell, record: dict[str, Any], sha: str | None, verified: bool = False) -> FinishedCell:
        """A cell from its record, with its draws looked at unless they were just written."""
        draws = None if sha is None else self._netcdf(cell)
        if draws is not None and not verified:
            if not draws.is_file():
                raise _Damaged(f"the draws {draws.name} are missing")
            with draws.open("rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != sha:
                    raise _Damaged(f"the draws {draws.name} are damaged (their checksum does not match)")
        checks = tuple(
            Check(c["name"], float(c["value"]), float(c["limit"]), c["passed"], c["sentence"]) for c in record["checks"]
        )
        return FinishedCell(cell, record["values"], checks, tuple(record["warnings"]), record["seconds"], draws)

    def _json(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"

    def _netcdf(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.nc"


class _Damaged(Exception):
    """A file that does not hold what was written, in words."""


def folder_name(data: StudyData | None) -> str:
    """A name for the data's folder that any system takes; two files of one name have two folders."""
    if data is None:
        return "simulated"
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '_', data.name)[:60]}-{data.sha256[:8]}"


def _checked(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
        payload: dict[str, Any] = content["payload"]
        whole = content["sha256"] == digest(payload)
    except (ValueError, KeyError, TypeError) as error:
        raise _Damaged(f"{path.name} is damaged ({type(error).__name__}: {error})") from None
    if not whole:
        raise _Damaged(f"{path.name} is damaged (its checksum does not match)")
    return payload


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    names = [name for name in {**found, **wanted} if found.get(name) != wanted.get(name)]
    return ", ".join(f"{n} was {_short(found.get(n))} and is now {_short(wanted.get(n))}" for n in names)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
