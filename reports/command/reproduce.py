"""`python -m reports reproduce TABLE`: compute a table of the papers and set it beside theirs.

Cells (data set × algorithm × randomisation) are kept one by one in OUTPUT/cells, and a command that was stopped goes on
where it was; `--fresh` sets those it names aside and computes them again. Results are a text table here, and TABLE.json
and TABLE.csv in OUTPUT/reproduction; `--pages` makes pages of the tables, as `python -m reports --reproduction` does
from the same cells.

Exit status: 0 when all went well, 1 for bad input (said before any work starts), 2 when cells could not be computed.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from validation.harness import SIZES, Size, Study, StudyResult, run, stored
from validation.harness.store import CellStore
from validation.papers.files import write_table
from validation.papers.selection import selected, with_failures
from validation.papers.text import as_text
from validation.registry import TABLES, chosen, get_study, get_table, whole_study

from .parser import Parser
from .tables import make_pages

NAME = "reproduce"


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    command = Parser(
        prog=f"python -m reports {NAME}",
        description="Compute the papers' tables again and compare the numbers with the printed ones.",
        epilog=f"Tables: {', '.join(TABLES)}. Finished cells are kept, so an interrupted command continues where "
        "it stopped.",
    )
    add = command.add_argument
    add("tables", nargs="+", metavar="TABLE", help="names of tables, or 'all'")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, metavar="N", help="processes (default: one for each core)")
    where.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster at this address")
    kept = command.add_mutually_exclusive_group()
    kept.add_argument("--resume", action="store_true", help="continue where a run stopped (always done)")
    kept.add_argument(
        "--fresh", action="store_true", help="set the finished cells of the named tables aside and start again"
    )
    add("--quick", action="store_true", help="two randomisations of small embedded sets, in minutes")
    add("--size", choices=SIZES, help=argparse.SUPPRESS)
    add("--output", type=Path, default=Path("output"), metavar="FOLDER", help="folder to write to (default: output)")
    add("--sets", nargs="+", default=[], metavar="NAME", help="only these data sets")
    add("--algorithms", nargs="+", default=[], metavar="NAME", help="these algorithms alone")
    add(
        "--randomisations",
        type=int,
        metavar="N",
        help="the first N (paper1-table2 has 100, ten by default)",
    )
    add("--pages", action="store_true", help="make the pages of these tables afterwards")
    return command


def selection(options: argparse.Namespace, size: Size) -> tuple[tuple[Study, ...], list[str]]:
    """What is to be run, everything checked, and remarks; raises ValueError or OSError with a sentence."""
    if options.jobs < 1:
        raise ValueError(f"--jobs is the number of processes: at least 1, but got {options.jobs}.")
    if options.randomisations is not None and options.randomisations < 1:
        raise ValueError(f"--randomisations is a number of randomisations: got {options.randomisations}.")
    names = chosen(options.tables, TABLES, "table")
    parts, remarks = [], []
    for name in names:
        study = get_study(name) if options.randomisations is None else whole_study(name)
        part = selected(study, tuple(options.sets), options.randomisations, tuple(options.algorithms))
        try:
            cells = part.cells(None, size)
        except ValueError as error:
            if len(names) == 1:
                raise
            remarks.append(f"{name} is left out: {error}")  # of several tables, those run that have these parts
            continue
        if cells:
            parts.append(part)
        else:
            remarks.append(
                f"{name} is left out: none of its data sets is available; set BAYES_LSSVM_DATA to their folder."
            )
    if not parts:
        raise ValueError(" ".join(remarks))
    _require_writable(options.output)
    return tuple(parts), remarks


def _require_writable(folder: Path) -> None:
    """Make a folder where there is none; one in which nothing can be written is refused before any work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"The folder '{folder}' cannot be made: {error.strerror}.") from error
    if not os.access(folder, os.W_OK):
        raise ValueError(f"Nothing can be written in the folder '{folder}': it is read-only.")


def set_aside(part: Study, size: Size, cells: Path) -> None:
    """Move the finished cells of a part out of the way, after saying how many there are."""
    if (before := stored(part, size=size, folder=cells)) is None:
        return
    store = CellStore(cells, get_study(part.name), None, size)
    print(
        f"{part.name}: {len(before.cells)} finished cells are set aside in {store.next_aside()} and computed again.",
        file=sys.stderr,
    )
    store.set_aside(part.cells(None, size))


def reproduce(part: Study, size: Size, options: argparse.Namespace) -> StudyResult:
    """Run a part of a table, write its files, print it; returns all that is there of the table."""
    cells = options.output / "cells"
    if options.fresh:
        set_aside(part, size, cells)
    elif (before := stored(whole_study(part.name), size=size, folder=cells)) is not None:
        print(f"{part.name}: {len(before.cells)} finished cells are kept in {before.folder}.", file=sys.stderr)
    result = run(part, None, size=size, folder=cells, jobs=options.jobs, scheduler=options.scheduler)
    failed = [finished for finished in result.cells if finished.error is not None]
    everything = stored(whole_study(part.name), size=size, folder=cells)
    shown = result if everything is None else with_failures(everything, failed)
    table = get_table(shown)
    make = getattr(import_module(TABLES[part.name]), "statistics", None)
    found = None if make is None else make(shown)
    numbers = None if found is None else found.as_json()
    json_path, csv_path = write_table(table, shown, options.output / "reproduction", numbers)
    print(f"{as_text(table)}\n\n{json_path}\n{csv_path}\n", flush=True)
    return shown


def main(argv: list[str] | None = None) -> int:
    """Entry point of the subcommand."""
    options = parser().parse_args(argv)
    options.jobs = (os.cpu_count() or 1) if options.jobs is None else options.jobs
    size: Size = options.size or ("quick" if options.quick else "full")
    try:
        parts, remarks = selection(options, size)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for remark in remarks:
        print(remark, file=sys.stderr)
    failures: list[tuple[str, str]] = []
    try:
        for part in parts:
            failures += reproduce(part, size, options).failed
    except KeyboardInterrupt:
        print(f"\nStopped. Finished cells are kept in {options.output / 'cells'}: the same command goes on.")
        return 130
    except (ConnectionError, ImportError, RuntimeError, OSError) as error:
        print(f"The work was stopped. {error}", file=sys.stderr)
        return 1
    for key, sentence in failures[:10]:
        print(f"{key}: {sentence}", file=sys.stderr)
    if options.pages and not make_pages([part.name for part in parts], options.output, size):
        return 1  # it has said why
    return 2 if failures else 0
