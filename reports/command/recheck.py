"""`python -m reports recheck TABLE`: compute stored cells of a table again, from nothing, and compare.

The gallery's record of a table holds every cell to six digits. Cells are drawn at random, computed with the seeds and
settings that are stored, and each of their numbers is set beside the stored one. What has been compared is kept in
OUTPUT, so that a second run draws others; `--seconds` leaves out cells that took longer when they were stored.

`--computed FOLDER` compares the cells that `reproduce --output FOLDER` has computed, and computes none itself; with
`--adopt` the record takes them, new ones too, and its page and the overview of the tables are written again.

Exit status: 0 where all accuracies and AUCs, which the papers print, are equal; 1 for bad input, 2 where some differ.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bayes_lssvm.base.files import write_bytes
from reports.frame.index import write_index
from reports.frame.write import read_result, write_page
from reports.pages import page_of
from validation.harness import Cell, FinishedCell, StudyResult, stored
from validation.harness.compute import compute_cell
from validation.registry import TABLES, get_study

from . import gallery
from .parser import Parser
from .redraw import OVERVIEW_COMMAND, overview_of

NAME = "recheck"
ALIKE = 1e-5
"""Relative: records have six digits."""
PRINTED = ("accuracy", "error", "auc")
SCORES = (*PRINTED, "log_score", "brier", "ece")


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    command = Parser(prog=f"python -m reports {NAME}", description=(__doc__ or "").split(":", 2)[1].strip())
    add = command.add_argument
    add("table", metavar="TABLE", choices=TABLES, help=f"one of {', '.join(TABLES)}")
    add("--cells", type=int, default=20, metavar="N", help="how many cells to compute in this run (20)")
    add("--algorithms", nargs="+", default=[], metavar="NAME", help="cells of these algorithms alone")
    add("--seconds", type=float, default=math.inf, metavar="S", help="leave out cells that took longer than this")
    add("--seed", type=int, default=0, help="of the draw (0)")
    add("--computed", type=Path, metavar="FOLDER", help="compare the cells that `reproduce --output FOLDER` computed")
    add("--adopt", action="store_true", help="with --computed: put them into the gallery's record")
    add("--output", type=Path, default=Path("output"), metavar="FOLDER", help="folder to write to (default: output)")
    return command


def differences(ours: Any, stored: Any, where: str = "") -> Iterator[str]:
    """Names of the values that are not those of the record, such as "hamming.accuracy"."""
    if isinstance(stored, dict):
        for name, value in stored.items():
            yield from differences(ours.get(name) if isinstance(ours, dict) else None, value, f"{where}.{name}")
    elif isinstance(stored, list):
        own = list(ours) if ours is not None and not isinstance(ours, str | float) else []
        if len(own) != len(stored):
            yield where.lstrip(".")
            return
        for number, (one, other) in enumerate(zip(own, stored, strict=True)):
            yield from differences(one, other, f"{where}.{number}")
    elif isinstance(stored, bool) or not isinstance(stored, int | float):
        if ours != stored and not (stored is None and isinstance(ours, float) and not math.isfinite(ours)):
            yield where.lstrip(".")
    elif ours is None or not math.isclose(float(ours), stored, rel_tol=ALIKE, abs_tol=1e-12):
        yield where.lstrip(".")


def by_column(computed: StudyResult, record: StudyResult) -> list[str]:
    """A line for each data set and algorithm: how many cells there are and how many are equal, and in what."""
    known, found = {f.cell.key: f for f in record.cells}, dict[str, list[list[str] | None]]()
    for f in computed.cells:
        column = f.cell.key.rpartition(".")[0]
        before = known.get(f.cell.key)
        found.setdefault(column, []).append(None if before is None else list(differences(f.values, before.values)))
    lines = []
    for column, cells in sorted(found.items()):
        compared = [names for names in cells if names is not None]
        equal, scored, printed = _equal(compared)
        new = f", {len(cells) - len(compared)} new" if len(compared) < len(cells) else ""
        lines.append(f"{column}: {len(cells)} cells; equal in all {equal}, scores {scored}, printed {printed}{new}")
    return lines


def merged(record: StudyResult, computed: StudyResult) -> StudyResult:
    """The record with these cells in the place of its own, and those that it lacks behind them."""
    together = tuple({f.cell.key: f for f in (*record.cells, *computed.cells)}.values())
    ours, theirs = record.provenance, computed.provenance
    provenance = {
        **ours,
        "cells": len(together),
        "seeds": sorted({f.cell.seed for f in together}),
        "versions": {**ours["versions"], **theirs["versions"]},
        "first_date": min(ours["first_date"], theirs["first_date"]),
        "date": max(ours["date"], theirs["date"]),
        "seconds": sum(f.seconds for f in together),
    }
    return replace(record, cells=together, provenance=provenance)


def compare_computed(record: StudyResult, folder: Path, *, adopt: bool) -> int:
    """Print how the cells in a folder compare with the record's, and put them into it where that is asked for."""
    computed = stored(get_study(record.study), size=record.size, folder=folder / "cells")
    if computed is None:
        print(f"There are no cells of {record.study} in {folder / 'cells'}.", file=sys.stderr)
        return 1
    print("\n".join(by_column(computed, record)))
    if adopt:
        command = f"python -m reports reproduce {record.study} --pages"
        write_page(page_of(merged(record, computed)), gallery.FOLDER, command=command, **gallery.STYLE)
        write_page(overview_of(gallery.FOLDER), gallery.FOLDER, command=OVERVIEW_COMMAND, **gallery.STYLE)
        write_index(gallery.FOLDER, title=gallery.TITLE, introduction=gallery.INTRODUCTION)  # and links between pages
        print(f"The record of {record.study} holds these {len(computed.cells)} cells.")
    return 0


def comparable(cells: list[Cell], finished: tuple[FinishedCell, ...]) -> dict[str, tuple[Cell, FinishedCell]]:
    """Cells that are stored with the settings and the seed that they have now, by key."""
    now = {cell.key: cell for cell in cells}
    return {
        f.cell.key: (now[f.cell.key], f)
        for f in finished
        if f.error is None and f.cell.key in now
        if (f.cell.settings, f.cell.seed) == (now[f.cell.key].settings, now[f.cell.key].seed)
    }


def main(argv: list[str] | None = None) -> int:
    """Entry point of the subcommand."""
    options = parser().parse_args(argv)
    study, record = get_study(options.table), read_result(gallery.FOLDER / f"{options.table}.json")
    if options.computed is not None:
        return compare_computed(record, options.computed, adopt=options.adopt)
    every = comparable(study.cells(None, record.size), record.cells)
    if not every:
        sentence = f"No stored cell of {options.table} can be computed here; set BAYES_LSSVM_DATA to its data."
        print(sentence, file=sys.stderr)
        return 1
    path = options.output / f"{NAME}-{options.table}.json"
    found: dict[str, list[str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    left = sorted(
        key
        for key, (cell, f) in every.items()
        if key not in found and f.seconds <= options.seconds
        if not options.algorithms or cell.settings.get("algorithm") in options.algorithms
    )
    options.output.mkdir(parents=True, exist_ok=True)
    for key in random.Random(options.seed).sample(left, min(options.cells, len(left))):
        cell, before = every[key]
        found[key] = list(differences(compute_cell(study, cell, None).record["values"], before.values))
        write_bytes(path, (json.dumps(found, indent=1) + "\n").encode())
        if found[key]:
            print(f"{key}: {', '.join(found[key][:8])}", flush=True)
    same, scored, printed = _equal(found.values())
    print(
        f"{options.table}: {len(found)} of {len(record.cells)} stored cells computed again; {same} are equal in all "
        f"numbers, {scored} in all scores and {printed} in what the papers print.\n{path}"
    )
    return 0 if printed == len(found) else 2


def _equal(found: Collection[list[str]]) -> tuple[int, ...]:
    """How many cells are equal in all numbers, in all scores, and in what the papers print."""
    return (
        sum(not names for names in found),
        *(sum(not _among(names, of) for names in found) for of in (SCORES, PRINTED)),
    )


def _among(names: list[str], of: tuple[str, ...]) -> bool:
    """Whether one of the values that differ is called so; stages of a descent are no figures of the table."""
    return any(name.split(".")[-1] in of and not name.startswith("stages.") for name in names)
