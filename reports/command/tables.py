"""`python -m reports --reproduction`: pages of the reproduced tables, from cells that have been computed already.

Nothing is computed here. A table of which there are no cells is named on the overview as not computed, and
`python -m reports reproduce TABLE` computes it.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from reports.frame.index import write_index
from reports.frame.page import Page, as_text
from reports.frame.write import write_page
from reports.pages import page_of
from reports.pages import reproduction as overview
from validation.harness import Size, StudyResult, stored
from validation.papers import ReproducedTable
from validation.papers.selection import largest
from validation.registry import TABLES, chosen, get_table, whole_study

from . import gallery

TITLE = "The papers' tables computed again"
INTRODUCTION = "Tables of the five source texts computed again, with the verdict on every entry."


def computed(cells: Path, size: Size | None) -> list[tuple[ReproducedTable, StudyResult]]:
    """Tables with what has been computed of them, at this size or at the largest of which something is there."""
    studies = map(whole_study, TABLES)
    results = [largest(s, cells) if size is None else stored(s, size=size, folder=cells) for s in studies]
    return [(get_table(result), result) for result in results if result is not None]


def write_pages(names: Sequence[str], output: Path, size: Size | None, *, in_gallery: bool = False) -> list[Page]:
    """Write the pages of the tables, the overview and the index; returns the pages.

    The overview shows all tables of which there are cells, whichever were asked for.
    """
    cells = output / "cells"
    folder = gallery.FOLDER if in_gallery else output
    everything = computed(cells, size)
    found = [result for _, result in everything if result.study in names]
    if not found:
        raise ValueError(
            f"No cells of {', '.join(names)} are in {cells}. Compute them first: python -m reports reproduce "
            f"{names[0]} --output {shlex.quote(str(output))}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    style = gallery.STYLE if in_gallery else {}
    pages = []
    for result in found:
        pages.append(page_of(result))
        write_page(pages[-1], folder, command=_command(result), **style)
    pages.append(overview.page(everything, overview.names_of(everything)))
    write_page(pages[-1], folder, command="make reproduce", **style)
    words = (gallery.TITLE, gallery.INTRODUCTION) if in_gallery else (TITLE, INTRODUCTION)
    index = write_index(folder, title=words[0], introduction=words[1])
    for page in pages:
        print(as_text(page), end="\n\n", flush=True)
    print(f"{len(pages)} pages with tables and figures; the index is\n{index.resolve()}")
    return pages


def _command(result: StudyResult) -> str:
    quick = {"full": "", "quick": " --quick", "toy": " --size toy"}[result.size]
    return f"python -m reports reproduce {result.study}{quick} --pages"


def make_pages(names: Sequence[str], output: Path, size: Size | None, *, in_gallery: bool = False) -> bool:
    """Write the pages; where that cannot be done say why, and return False."""
    try:
        write_pages(names, output, size, in_gallery=in_gallery)
    except ValueError as error:
        print(error, file=sys.stderr)
        return False
    except OSError as error:
        print(f"The pages could not be written: {error.strerror or error}.", file=sys.stderr)
        return False
    return True


def main(options: argparse.Namespace) -> int:
    """Exit status: 0, or 1 with a sentence."""
    if options.study or options.data or options.target or options.positive or options.scheduler:
        print(
            "--reproduction shows tables that have been computed; leave out --study, --data, --target, --positive and "
            "--scheduler.",
            file=sys.stderr,
        )
        return 1
    try:
        names = chosen(options.reproduction or ["all"], TABLES, "table")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0 if make_pages(names, options.output, options.size, in_gallery=options.gallery) else 1
