"""`python -m validation.papers TABLE`: compute a table of the papers and set it beside theirs.

Cells (data set × algorithm × randomisation) are kept one by one in OUTPUT/cells, and a command that was stopped goes on
where it was; `--fresh` computes them again. Results are OUTPUT/reproduction/TABLE.json and .csv, and a text table here;
`python -m reports --reproduction` makes pages of the same cells.

Exit status: 0 when all went well, 1 for bad input (said before any work starts), 2 when cells could not be computed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from validation.harness import Size, StudyResult, run

from .files import write_table
from .registry import TABLES, get_study, get_table
from .selection import Selected, stored, with_failures
from .text import as_text


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(1, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")  # 2 means failed cells here


def available() -> tuple[str, ...]:
    """Tables whose modules are in this checkout."""
    return tuple(name for name, module in TABLES.items() if importlib.util.find_spec(module) is not None)


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    command = _Parser(
        prog="python -m validation.papers",
        description="Compute tables of the papers again, ours beside theirs.",
        epilog=f"Tables: {', '.join(TABLES)}. Finished cells are kept, so a command that was stopped goes on.",
    )
    add = command.add_argument
    add("tables", nargs="+", metavar="TABLE", help="names of tables, or 'all'")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, metavar="N", help="processes (default: one for each core)")
    where.add_argument("--scheduler", metavar="ADDRESS", help="run on the Dask cluster at this address")
    kept = command.add_mutually_exclusive_group()
    kept.add_argument("--resume", action="store_true", help="go on where a run was stopped (always done)")
    kept.add_argument("--fresh", action="store_true", help="throw finished cells of these tables away and start anew")
    add("--quick", action="store_true", help="two randomisations of small embedded sets, in minutes")
    add("--size", choices=("toy", "quick", "full"), help=argparse.SUPPRESS)
    add("--output", type=Path, default=Path("output"), metavar="FOLDER", help="folder to write to (default: output)")
    add("--sets", nargs="+", default=[], metavar="NAME", help="these data sets alone")
    add("--algorithms", nargs="+", default=[], metavar="NAME", help="these algorithms alone")
    add("--randomisations", type=int, metavar="N", help="the first N randomisations alone")
    add("--pages", action="store_true", help="make the pages afterwards, by python -m reports --reproduction")
    return command


def chosen(names: list[str]) -> tuple[str, ...]:
    """The tables that were asked for, each once."""
    here = available()
    if "all" in names:
        return here
    for name in names:
        if name not in here:
            what = "is not in this checkout" if name in TABLES else "does not exist"
            raise ValueError(f"The table {name!r} {what}. The tables are {', '.join(here)}, or 'all' of them.")
    return tuple(dict.fromkeys(names))


def plan(options: argparse.Namespace) -> tuple[tuple[Selected, ...], Size, list[str]]:
    """What is to be run, everything checked; raises ValueError or OSError with a sentence."""
    if options.jobs is None:
        options.jobs = os.cpu_count() or 1
    if options.jobs < 1:
        raise ValueError(f"--jobs is the number of processes: at least 1, but got {options.jobs}.")
    if options.randomisations is not None and options.randomisations < 1:
        raise ValueError(f"--randomisations is a number of randomisations: got {options.randomisations}.")
    size: Size = options.size or ("quick" if options.quick else "full")
    names, several = chosen(options.tables), "all" in options.tables or len(options.tables) > 1
    work, remarks = [], []
    for name in names:
        part = Selected(get_study(name), tuple(options.sets), options.randomisations, tuple(options.algorithms))
        try:
            cells = part.cells(None, size)
        except ValueError as error:
            if not several:
                raise
            remarks.append(f"{name} is left out: {error}")  # of several tables, those run that have these parts
            continue
        if cells:
            work.append(part)
        else:
            remarks.append(f"{name} is left out: no data set of it is here; set BAYES_LSSVM_DATA to their folder.")
    if not work:
        raise ValueError(" ".join(remarks))
    options.output.mkdir(parents=True, exist_ok=True)
    return tuple(work), size, remarks


def reproduce(part: Selected, size: Size, options: argparse.Namespace) -> StudyResult:
    """Run a part of a table, write its files, print it; returns all that is there of the table."""
    cells = options.output / "cells"
    if not options.fresh and (before := stored(part.study, size=size, folder=cells)) is not None:
        print(f"{part.name}: {len(before.cells)} finished cells are kept in {before.folder}.", file=sys.stderr)
    result = run(part, None, size=size, folder=cells, jobs=options.jobs, scheduler=options.scheduler)
    failed = [finished for finished in result.cells if finished.error is not None]
    everything = stored(part.study, size=size, folder=cells)
    shown = result if everything is None else with_failures(everything, failed)
    table = get_table(shown)
    make = getattr(import_module(TABLES[part.name]), "statistics", None)
    found = None if make is None else make(shown)
    json_path, csv_path = write_table(
        table, shown, options.output / "reproduction", None if found is None else found.as_json()
    )
    print(f"{as_text(table)}\n\n{json_path}\n{csv_path}\n", flush=True)
    return shown


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    options = parser().parse_args(argv)
    try:
        work, size, remarks = plan(options)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for remark in remarks:
        print(remark, file=sys.stderr)
    failures: list[tuple[str, str]] = []
    try:
        for part in work:
            if options.fresh:
                shutil.rmtree(options.output / "cells" / part.name / "simulated" / size, ignore_errors=True)
            failures += reproduce(part, size, options).failed
    except KeyboardInterrupt:
        print(f"\nStopped. Finished cells are kept in {options.output / 'cells'}: the same command goes on.")
        return 130
    except (ConnectionError, ImportError, RuntimeError, OSError) as error:
        print(f"The work was stopped. {error}", file=sys.stderr)
        return 1
    for key, sentence in failures[:10]:
        print(f"{key}: {sentence}", file=sys.stderr)
    if options.pages:
        words = [sys.executable, "-m", "reports", "--reproduction", *(part.name for part in work)]
        done = subprocess.run([*words, "--size", size, "--output", str(options.output)], check=False)
        if done.returncode:
            return 1  # it has said why
    return 2 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
