"""A reproduced table as files: JSON with entries, verdicts, statistics and provenance, and CSV with rows of scores.

In the CSV, a row is a data set, an algorithm, a randomisation and what was scored there. A cell that scored several
columns of the table at once has a row for each.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bayes_lssvm.base.files import write_bytes
from validation.harness import FinishedCell, StudyResult

from .selection import algorithm_of, randomisation_of, set_of
from .table import Entry, ReproducedTable

FORMAT = "bayes-lssvm reproduced table, 1"
_FIRST = ("cell", "data", "algorithm", "part", "randomisation", "seed", "seconds")


def as_record(table: ReproducedTable, result: StudyResult, statistics: Any = None) -> dict[str, Any]:
    """The table with everything that a reader may want to know, as JSON holds it."""
    return {
        "format": FORMAT,
        "name": table.name,
        "title": table.title,
        "source": table.source,
        "measure": table.measure,
        "higher_is_better": table.higher_is_better,
        "rows": list(table.rows),
        "columns": list(table.columns),
        "entries": [_entry(table, entry) for entry in table.entries],
        "absent": list(table.absent),
        "statistics": statistics,
        "failed": [{"cell": key, "why": why} for key, why in result.failed],
        "provenance": result.provenance,
    }


def _entry(table: ReproducedTable, entry: Entry) -> dict[str, Any]:
    return {
        "row": entry.row,
        "column": entry.column,
        "mean": _finite(entry.mean),
        "sd": _finite(entry.sd),
        "scores": list(entry.scores),
        "published": None if entry.published is None else entry.published._asdict(),
        "distance": _finite(entry.distance),
        "verdict": table.verdict(entry),
        "why": entry.why.sentence,
        "test": entry.why.test,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def score_rows(finished: FinishedCell) -> Iterator[dict[str, Any]]:
    """The rows of a cell: one for each group of numbers in its values."""
    cell = finished.cell
    common = {
        "cell": cell.key,
        "data": set_of(cell),
        "algorithm": algorithm_of(cell),
        "randomisation": randomisation_of(cell),
        "seed": cell.seed,
        "seconds": round(finished.seconds, 3),
    }
    for part, numbers in _groups(finished.values, ()):
        named = part[1:] if part[:1] == ("columns",) else part  # the columns of the table
        yield {**common, "part": ".".join(named), **numbers}


def _groups(values: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, float]]]:
    numbers = {k: v for k, v in values.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    if numbers:
        yield path, numbers
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _groups(value, (*path, str(name)))


def as_csv(result: StudyResult) -> str:
    """All score rows, the names of the scores in the order in which they come."""
    rows = [row for finished in result.cells for row in score_rows(finished)]
    names = dict.fromkeys([*_FIRST, *(name for row in rows for name in row)])
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(names), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def write_table(table: ReproducedTable, result: StudyResult, folder: Path, statistics: Any = None) -> tuple[Path, Path]:
    """Write <name>.json and <name>.csv into a folder; each appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    record = json.dumps(as_record(table, result, statistics), indent=1, ensure_ascii=False, allow_nan=False)
    return (
        write_bytes(folder / f"{table.name}.json", record.encode()),
        write_bytes(folder / f"{table.name}.csv", as_csv(result).encode()),
    )
