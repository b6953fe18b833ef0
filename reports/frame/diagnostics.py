"""The tables behind a page's numbers: the checks they passed or failed, the cells, and where everything comes from.

A check compares a value with a limit. The limit is an upper or a lower one, and a study says only whether the check
passed: a value that passed, or did not, tells which side is the good one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from .page import Row, Table
from .words import number

if TYPE_CHECKING:
    from validation.harness import Check, StudyResult

CHECKS_HEADER = ("cell", "check", "value", "limit", "passed")
FEW_ROWS = 12
"""Longer tables are folded on the page."""
_NUMBER = re.compile(r"[-−+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?:,(?= \d)| …)?")


class Diagnostics(NamedTuple):
    """Checks of a page.

    Attributes
    ----------
    sentence : str
        How many there are and how many failed.
    summary : Table or None
        One row a kind of check, with the worst value; None where there are no checks.
    failed, passed : Table or None
        Every check, one row each.
    """

    sentence: str
    summary: Table | None
    failed: Table | None
    passed: Table | None


def diagnostics(result: StudyResult) -> Diagnostics:
    """All checks of a result, the failed ones apart."""
    found = [(finished.cell.key, check) for finished in result.cells for check in finished.checks]
    failed = [pair for pair in found if not pair[1].passed]
    stopped = sum(finished.error is not None for finished in result.cells)
    if not found:
        sentence = (
            "No number on this page comes from a sampler or from any other method that needs a convergence check."
        )
        if stopped:
            sentence = "No checks were made."
    elif failed:
        sentence = f"{len(failed)} of {len(found)} checks failed. Do not rely on the numbers of their cells."
    else:
        sentence = f"{len(found)} checks, all passed." if len(found) > 1 else "One check, passed."
    if stopped:
        sentence += f" {stopped} of {len(result.cells)} cells could not be computed at all."
    return Diagnostics(
        sentence,
        _summary([check for _, check in found]),
        _listed("Failed checks", failed),
        _listed("Checks that passed", [pair for pair in found if pair[1].passed]),
    )


def _listed(title: str, pairs: list[tuple[str, Check]]) -> Table | None:
    if not pairs:
        return None
    rows = (
        Row(key, (check.name, number(check.value), number(check.limit), "✓ yes" if check.passed else "✗ no"))
        for key, check in pairs
    )
    return Table(title, CHECKS_HEADER, tuple(rows))


def _summary(checks: list[Check]) -> Table | None:
    if not checks:
        return None
    rows = []
    for name in dict.fromkeys(check.name for check in checks):
        kind = [check for check in checks if check.name == name]
        worst = _worst(kind)
        failures = sum(not check.passed for check in kind)
        rows.append(Row(name, (str(len(kind)), str(failures), number(worst.value), number(worst.limit))))
    return Table("Checks by kind", ("check", "made", "failed", "worst value", "limit"), tuple(rows))


def _worst(checks: list[Check]) -> Check:
    """The check nearest to its limit, or furthest beyond it."""

    def excess(check: Check) -> float:
        if check.value is None or math.isnan(check.value):
            return math.inf  # a diagnostic that could not be computed is the worst of all
        upper = check.passed == (check.value <= check.limit)
        return check.value - check.limit if upper else check.limit - check.value

    return max(checks, key=excess)


def warnings_of(result: StudyResult) -> list[tuple[str, tuple[str, ...]]]:
    """(warning, keys of the cells that gave it), each warning once; those that differ in numbers alone are one."""
    texts: dict[str, list[str]] = {}
    cells: dict[str, list[str]] = {}
    for finished in result.cells:
        for warning in finished.warnings:
            kind = _NUMBER.sub("#", warning)
            texts.setdefault(kind, []).append(warning)
            keys = cells.setdefault(kind, [])
            if finished.cell.key not in keys:
                keys.append(finished.cell.key)
    several = " (The numbers differ from cell to cell.)"
    return [(texts[k][0] + several * (len(set(texts[k])) > 1), tuple(keys)) for k, keys in cells.items()]


def cells_table(result: StudyResult) -> Table | None:
    """The cells with their seeds and times."""
    if not result.cells:
        return None
    rows = (Row(f.cell.key, (str(f.cell.seed), f"{f.seconds:.1f}")) for f in result.cells)
    return Table("Cells", ("cell", "seed", "seconds"), tuple(rows))


def provenance_rows(result: StudyResult) -> list[tuple[str, str]]:
    """(name, text) of what the numbers come from: data first, then what the runner recorded."""
    rows: list[tuple[str, str]] = []
    data = result.data
    if data is None:
        rows.append(("Data", str(result.provenance.get("data", "simulated by the study itself"))))
    else:
        rows.append(("Data", str(data["name"])))
        test = f", and {data['n_test']} test points" if data.get("n_test") else ""
        rows.append(("Size", f"N = {data['n']} points, d = {data['d']} inputs{test}"))
        if data.get("class_names"):
            negative, positive = data["class_names"]
            rows.append(("Classes", f"{negative} (−1), {positive} (+1)"))
        if data.get("target_name"):
            rows.append(("Target", str(data["target_name"])))
        if data.get("feature_names"):
            rows.append(("Inputs", ", ".join(map(str, data["feature_names"]))))
        rows.append(("SHA-256 of the data", str(data["sha256"])))
        rows.extend(("Note", str(note)) for note in data.get("notes") or ())
    record = result.provenance
    rows.append(("Study", f"{result.study}, size {result.size}, version {record.get('version', '–')}"))
    if "versions" in record:
        rows.append(("Software", ", ".join(f"{name} {number}" for name, number in record["versions"].items())))
    if "seconds" in record:
        rows.append(("Computing time", f"{record['seconds']:.1f} s of one core, over all cells"))
    if "date" in record:
        first, last = (_minute(record.get(name, record["date"])) for name in ("first_date", "date"))
        rows.append(("Date", f"{last} UTC" if first == last else f"{first} to {last} UTC"))
    rows.extend((_title(name), _text(value)) for name, value in record.items() if name not in _SHOWN)
    rows.append(("Seeds", _some(sorted({finished.cell.seed for finished in result.cells}))))
    return rows


# keys of a record of provenance that have a row of their own, or repeat what the data's description says
_SHOWN = {
    "data",
    "data_sha256",
    "shapes",
    "study",
    "version",
    "versions",
    "size",
    "seconds",
    "date",
    "first_date",
    "seeds",
    "cells",
}


def _minute(stamp: str) -> str:
    """A time as ISO 8601 has it, in UTC, to the minute."""
    return stamp[:16].replace("T", " ")


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(v)}" for name, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(v) for v in value)
    return "–" if value is None else str(value)


def _some(values: Iterable[int], most: int = 12) -> str:
    listed = list(values)
    if len(listed) <= most:
        return ", ".join(map(str, listed))
    return f"{len(listed)} seeds, from {listed[0]} to {listed[-1]}; the table of cells lists them all"
