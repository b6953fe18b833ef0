"""`python -m reports --reproduction`: pages of the reproduced tables, from cells that have been computed already.

Nothing is computed here. A table of which there are no cells is named on the overview as not computed, and
`python -m validation.papers TABLE` computes it.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports.frame.index import write_index
from reports.frame.page import Page, filled
from reports.frame.write import write_page
from reports.pages import available_tables, page_of
from reports.pages import reproduction as overview
from validation.harness import Size, StudyResult
from validation.papers import TABLES, ReproducedTable, get_study, get_table
from validation.papers.selection import largest, stored

from . import gallery

TITLE = "The papers' tables, ours beside theirs"
INTRODUCTION = "Tables of the five source texts computed again, with the verdict on every entry."


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The tables that were asked for, all by default; a name that is not one is refused."""
    here = available_tables()
    for name in names:
        if name != "all" and name not in here:
            what = "is not in this checkout" if name in TABLES else "does not exist"
            raise ValueError(f"The table {name!r} {what}. The tables are {', '.join(here)}, or 'all' of them.")
    return here if not names or "all" in names else tuple(dict.fromkeys(names))


def there(names: Sequence[str], cells: Path, size: Size | None) -> list[tuple[ReproducedTable, StudyResult]]:
    """The tables with what has been computed of them, at this size or at the largest of which something is there."""
    found = []
    for name in names:
        study = get_study(name)
        result = largest(study, cells) if size is None else stored(study, size=size, folder=cells)
        if result is not None:
            found.append((get_table(result), result))
    return found


def make_pages(options: argparse.Namespace) -> list[Page]:
    """Write the pages of the tables, the overview and the index; returns the pages.

    The overview shows all tables of which there are cells, whichever were asked for.
    """
    if options.study or options.data or options.target or options.positive or options.scheduler:
        raise ValueError(
            "--reproduction shows tables that have been computed; leave out --study, --data, --target, --positive and "
            "--scheduler."
        )
    names = chosen(options.reproduction)
    cells: Path = options.output / "cells"
    folder: Path = gallery.FOLDER if options.gallery else options.output
    everything = there(available_tables(), cells, options.size)
    found = [pair for pair in everything if pair[1].study in names]
    if not found:
        raise ValueError(
            f"No cells of {', '.join(names)} are in {cells}. Compute them first: python -m validation.papers "
            f"{names[0]} --output {shlex.quote(str(options.output))}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    style: dict[str, Any] = {"dpi": gallery.DPI, "pictures": False, "digits": gallery.DIGITS} if options.gallery else {}
    pages = []
    for _, result in found:
        pages.append(page_of(result))
        write_page(pages[-1], folder, command=_command(result), **style)
    pages.append(overview.page(everything, overview.names_of(everything)))
    write_page(pages[-1], folder, command="make reproduce", **style)
    words = (gallery.TITLE, gallery.INTRODUCTION) if options.gallery else (TITLE, INTRODUCTION)
    index = write_index(folder, title=words[0], introduction=words[1])
    for page in pages:
        print("\n\n".join([page.title, *map(filled, page.verdict)]), end="\n\n", flush=True)
    print(f"{len(pages)} pages with tables and figures; the index is\n{index.resolve()}")
    return pages


def _command(result: StudyResult) -> str:
    quick = {"full": "", "quick": " --quick", "toy": " --size toy"}[result.size]
    return f"python -m validation.papers {result.study}{quick}\npython -m reports --reproduction {result.study}"


def main(options: argparse.Namespace) -> int:
    """Exit status: 0, or 1 with a sentence."""
    try:
        make_pages(options)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"The pages could not be written: {error.strerror or error}.", file=sys.stderr)
        return 1
    return 0
