"""`python -m reports --redraw`: write the pages of a folder again from the records beside them; nothing is computed.

A record holds every number of its page and some draws, so new words and figures need no new run. The overview of the
papers' tables has no cells of its own: it is made from the records of the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from reports.frame.index import REPRODUCTION, write_index
from reports.frame.page import Page, as_text
from reports.frame.write import FORMAT, read_result, write_page
from reports.pages import page_of
from reports.pages import reproduction as overview
from validation.harness import StudyResult
from validation.registry import TABLES, get_study, get_table

from . import gallery

OVERVIEW_COMMAND = "make reproduce"


def redrawn(folder: Path) -> Iterator[tuple[Page, str]]:
    """Every page of a folder, with the command that makes it anew."""
    records = {path: record for path in sorted(folder.glob("*.json")) if (record := _record(path)) is not None}
    for path, record in records.items():
        if record["study"] != REPRODUCTION:
            try:
                yield page_of(_described(read_result(path))), record["command"]
            except FileNotFoundError as error:  # data that are not shipped
                print(f"{record['file']} stays as it is: {error}", file=sys.stderr)
    if any(record["study"] == REPRODUCTION for record in records.values()):
        try:
            yield overview_of(folder), OVERVIEW_COMMAND
        except FileNotFoundError as error:  # data of a table that are not shipped
            print(f"{REPRODUCTION}.html stays as it is: {error}", file=sys.stderr)


def overview_of(folder: Path) -> Page:
    """The overview of the papers' tables, from their records in a folder."""
    tables = [
        _described(read_result(path))
        for path in (folder / f"{name}.json" for name in TABLES)
        if _record(path) is not None
    ]
    everything = [(get_table(table), table) for table in tables]
    return overview.page(everything, overview.names_of(everything))


def _described(result: StudyResult) -> StudyResult:
    """The result with its study's present title and words for data of its own; what was computed has not changed."""
    study = get_study(result.study)
    if result.data is None and "data" in result.provenance:
        result = replace(result, provenance={**result.provenance, "data": study.own_data})
    return replace(result, title=study.title)


def _record(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and record.get("format") == FORMAT else None


def redraw(folder: Path, *, title: str, introduction: str, style: dict[str, Any]) -> int:
    """Write the pages and the index again; returns how many pages there are."""
    pages = list(redrawn(folder))
    for page, command in pages:
        write_page(page, folder, command=command, **style)
        print(as_text(page), end="\n\n", flush=True)
    if pages:
        write_index(folder, title=title, introduction=introduction)
    return len(pages)


def main(options: argparse.Namespace, *, title: str, introduction: str) -> int:
    """Exit status: 0, or 1 with a sentence."""
    folder: Path = gallery.FOLDER if options.gallery else options.output
    words = {"title": title, "introduction": introduction}
    if options.gallery:
        words = {"title": gallery.TITLE, "introduction": gallery.INTRODUCTION}
    if not redraw(folder, **words, style=gallery.STYLE if options.gallery else {}):
        print(f"There are no records of pages in {folder}. Run a study first: python -m reports.", file=sys.stderr)
        return 1
    return 0
