"""The index of a report: every page in the folder as a card, by data set, with its badge, sentence and small picture.

Pages say what they are in the JSON record beside them, so an index can be made at any time, and pages of earlier runs
stay in it. Writing the index also tells each page which pages stand before and after it, and which are related.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bayes_lssvm.base.files import write_bytes
from validation.registry import STUDIES, TABLES

from .answer import SIGNS, State
from .html import render
from .words import data_name
from .write import FORMAT

INDEX = "index.html"
REPRODUCTION = "reproduction"
TABLES_HEADING = "The papers' tables"
SIMULATED_HEADING = "Simulated data and reference problems"
FIELD_HEADING = "In the field: many real data sets"
_LAST = (SIMULATED_HEADING, TABLES_HEADING, FIELD_HEADING)  # after the pages of single data sets
MOST_RELATED = 6


class IndexEntry(NamedTuple):
    """A page in the index; `thumbnail` is an address that needs no network, or empty."""

    file: str
    title: str
    badge: State
    verdict: str
    size: str
    failed: int
    thumbnail: str
    study: str
    data: str
    related: tuple[str, ...]


class Group(NamedTuple):
    """The pages under one heading."""

    heading: str
    entries: tuple[IndexEntry, ...]


def write_index(folder: Path, *, title: str, introduction: str) -> Path:
    """Write `index.html` over the pages of a folder, and the links between them; returns its path."""
    found = groups(folder)
    link_pages(folder, [entry for group in found for entry in group.entries])
    content = render("index.html.j2", title=title, introduction=introduction, groups=found, signs=SIGNS)
    return write_bytes(folder / INDEX, content.encode())


def groups(folder: Path) -> tuple[Group, ...]:
    """The pages of a folder by heading: Ripley's data, others, simulated ones, the papers' tables, the field."""
    found: dict[str, list[IndexEntry]] = {}
    records = [record for path in sorted(folder.glob("*.json")) if (record := _read(path, folder)) is not None]
    for record in sorted(records, key=_order):
        found.setdefault(_heading(record), []).append(_entry(record))
    return tuple(Group(heading, tuple(entries)) for heading, entries in found.items())


def _read(path: Path, folder: Path) -> dict[str, Any] | None:
    """The record of a page, or None for another file, or one whose page is gone."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("format") != FORMAT or not (folder / record["file"]).is_file():
        return None
    return record


def _order(record: dict[str, Any]) -> tuple[int, bool, str, int]:
    heading, data = _heading(record), record["data"]
    last = _LAST.index(heading) + 1 if heading in _LAST else len(_LAST) + 1 if data is None else 0
    studies = [*STUDIES, REPRODUCTION, *TABLES]
    name = heading if data is None else str(data["name"])
    place = studies.index(record["study"]) if record["study"] in studies else len(studies)
    return last, name != "ripley", name, place


def _heading(record: dict[str, Any]) -> str:
    if record["group"]:
        return str(record["group"])
    data: dict[str, Any] | None = record["data"]
    if data is None:
        return SIMULATED_HEADING
    name = data_name(str(data["name"]))
    return f"{name[0].upper()}{name[1:]} ({data['n']} points, {data['d']} input{'s' if data['d'] != 1 else ''})"


def _entry(record: dict[str, Any]) -> IndexEntry:
    same = {name: record[name] for name in ("file", "title", "badge", "verdict", "size", "thumbnail", "study")}
    data = "" if record["data"] is None else str(record["data"]["name"])
    return IndexEntry(**same, failed=len(record["failed"]), data=data, related=tuple(record["related"]))


# --- links between the pages -----------------------------------------------------------------------------------------


def link_pages(folder: Path, entries: Sequence[IndexEntry]) -> None:
    """Tell every page which ones come before and after it in the index, and which are about the same things."""
    for place, entry in enumerate(entries):
        before = entries[place - 1] if place else None
        after = entries[place + 1] if place + 1 < len(entries) else None
        path = folder / entry.file
        text = path.read_text(encoding="utf-8")
        linked = _filled(text, "pages", render("links.html.j2", before=before, after=after))
        linked = _filled(linked, "related", render("related.html.j2", entries=related(entry, entries)))
        if linked != text:
            write_bytes(path, linked.encode())


def related(entry: IndexEntry, entries: Sequence[IndexEntry]) -> list[IndexEntry]:
    """Pages that this one names, all of them, and a few of the same study and on the same data."""
    others = [other for other in entries if other.file != entry.file]
    named = [other for name in entry.related for other in others if other.study == name]
    same = [other for other in others if other.study == entry.study]
    data = [other for other in others if entry.data and other.data == entry.data]
    return list(dict.fromkeys((*named, *same, *data)))[: max(MOST_RELATED, len(named))]


def _filled(text: str, name: str, content: str) -> str:
    """What stands between two marks of a page, replaced; a page without the marks stays as it is."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    return f"{before}{start}{content.strip()}{end}{after}" if found and closed else text
