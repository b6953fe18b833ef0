"""`python -m reports`: run studies and write them as HTML pages with an index; `reproduce` computes the papers' tables.

Without arguments it makes the report on Ripley's data. Studies are run cell by cell and finished cells are kept, so a
command that was stopped goes on where it was.

Exit status: 0 when all went well, 1 for bad input (said before any work starts) or a folder that cannot be written,
2 when a study's checks failed: its page is written all the same, and says so in red.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from pathlib import Path

from reports.command import gallery, recheck, redraw, reproduce, tables
from reports.command.parser import Parser
from reports.command.plan import Plan, PlannedStudy, make_plan
from reports.frame.index import write_index
from reports.frame.page import Page, as_text
from reports.frame.write import write_page
from reports.pages import page_of
from validation.harness import SIZES, run
from validation.registry import STUDIES, get_study

TITLE = "How good is the evidence framework?"
INTRODUCTION = (
    "Error bars, evidence, Bayes factors and class probabilities of LS-SVMs in closed form, compared with exact "
    "quadrature and with sampling. Each page opens with its answer."
)


class StoppedError(Exception):
    """A study that could not go on, as a sentence."""


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    command = Parser(
        prog="python -m reports",
        description="Run studies of the closed forms and write them as HTML pages. Without arguments: Ripley's data.",
        epilog=f"Studies: {', '.join(STUDIES)}. Finished cells are kept in OUTPUT/cells; run the same command "
        "again and it continues where it stopped. Tables of the papers: python -m reports reproduce --help.",
    )
    add = command.add_argument
    add("--study", action="append", metavar="NAME", help="a study to run, or 'all'; may be given several times")
    add("--data", metavar="NAME_OR_CSV", help="a data set of bayes_lssvm.datasets or a CSV file (default: ripley)")
    add("--target", metavar="COLUMN", help="the CSV file's column to predict")
    add("--positive", metavar="LABEL", help="the label that becomes class +1, against all others")
    add(
        "--ignore",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns of the CSV file to leave out",
    )
    add(
        "--categories",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns whose values are categories",
    )
    add("--impute", choices=("median", "drop"), help="missing values: fill them in, or drop the rows (default drop)")
    add("--decimal", choices=("point", "comma"), help="how to read numbers such as 1,234 if the file leaves it open")
    size = command.add_mutually_exclusive_group()
    size.add_argument("--size", choices=SIZES, help="how much to compute (default: quick)")
    size.add_argument("--full", action="store_const", dest="size", const="full", help="the same as --size full")
    add("--output", type=Path, default=Path("output"), metavar="FOLDER", help="folder to write to (default: output)")
    add("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: one for each core)")
    add("--scheduler", metavar="ADDRESS", help="run on the Dask cluster at this address")
    add(
        "--reproduction",
        nargs="*",
        metavar="TABLE",
        help="pages of the papers' tables (all, or those named) from the cells that python -m reports "
        "reproduce has computed into the same OUTPUT; with --gallery to reports/gallery",
    )
    add("--gallery", action="store_true", help="all studies on the gallery's data, at full size, to reports/gallery")
    add("--redraw", action="store_true", help="write the pages in OUTPUT again from their records, without computing")
    return command


def make_page(task: PlannedStudy, plan: Plan) -> Page:
    """Run a task; returns its page."""
    study = get_study(task.study)
    try:
        result = run(study, task.data, size=plan.size, folder=plan.cells, jobs=plan.jobs, scheduler=plan.scheduler)
    except (ConnectionError, ImportError, RuntimeError) as error:  # of the processes or of the cluster
        raise StoppedError(f"The study {task.study!r} was stopped. {error}") from error
    return page_of(result)


def make_report(plan: Plan) -> tuple[Path, list[Page]]:
    """Do all tasks, write their pages and the index; returns the index's path and the pages that failed checks."""
    for folder in (plan.pages, plan.cells):
        folder.mkdir(parents=True, exist_ok=True)
    style = gallery.STYLE if plan.is_gallery else {}
    words = (gallery.TITLE, gallery.INTRODUCTION) if plan.is_gallery else (TITLE, INTRODUCTION)
    failed = []
    try:
        for task in plan.tasks:
            page = make_page(task, plan)
            write_page(page, plan.pages, command=task.command, **style)
            print(as_text(page), end="\n\n", flush=True)
            if page.result.failed:
                failed.append(page)
                print(_complaint(page), file=sys.stderr, flush=True)
    finally:  # whatever stopped the work, the pages that are there can be found
        index = write_index(plan.pages, title=words[0], introduction=words[1])
    return index, failed


def _complaint(page: Page) -> str:
    failures = page.result.failed
    lines = [f"{page.title}: {len(failures)} check{'s' if len(failures) > 1 else ''} failed."]
    lines += [f"  {key}: {sentence}" for key, sentence in failures[:5]]
    if len(failures) > 5:
        lines.append(f"  ... and {len(failures) - 5} more, on the page.")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    words = sys.argv[1:] if argv is None else argv
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Greek letters still gets its table
    if words[:1] == [reproduce.NAME]:
        return reproduce.main(words[1:])
    if words[:1] == [recheck.NAME]:
        return recheck.main(words[1:])
    options = parser().parse_args(words)
    if options.redraw:
        return redraw.main(options, title=TITLE, introduction=INTRODUCTION)
    if options.reproduction is not None:
        return tables.main(options)
    try:
        plan = make_plan(options)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        where = f" {error.filename!r}" if error.filename is not None else ""
        print(f"The report cannot be made: {error.strerror or error}{where}.", file=sys.stderr)
        return 1
    for remark in plan.remarks:
        print(remark, file=sys.stderr)
    try:
        index, failed = make_report(plan)
    except StoppedError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"The report could not be written to {plan.pages}: {error.strerror or error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nStopped. Finished cells are kept in {plan.cells}: the same command goes on.", file=sys.stderr)
        return 130
    if plan.is_gallery and (size := gallery.weight(plan.pages)) > gallery.MOST_BYTES:
        print(f"The gallery takes {size / 1e6:.1f} MB, more than {gallery.MOST_BYTES / 1e6:.0f}.", file=sys.stderr)
    count = len(plan.tasks)
    print(f"{count} page{'s' if count > 1 else ''} with tables and figures; the index is\n{index.resolve()}")
    return 2 if failed else 0


def _quiet_compiler() -> None:
    """Keep notes of JAX's compiler, such as that a compilation takes long on a busy machine, from the terminal."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # read when JAX is imported, here and in other processes


def _double_precision() -> None:
    """Sample in float64, here and in the processes that are started from here."""
    os.environ["JAX_ENABLE_X64"] = "true"
    if "jax" in sys.modules:  # it reads the variable only when it is imported
        sys.modules["jax"].config.update("jax_enable_x64", True)


if __name__ == "__main__":
    _quiet_compiler()
    _double_precision()
    raise SystemExit(main())
