"""The index of a report: every page in the folder, by data set, with its verdict and its first figure.

Pages say what they are in the JSON record beside them, so an index can be made at any time, and pages of earlier runs
stay in it.
"""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from bayes_lssvm.base.files import write_bytes
from reports.draw.style import address, packed
from validation.registry import STUDIES, TABLES

from .html import render
from .write import FORMAT

THUMBNAIL_WIDTH = 520
INDEX = "index.html"
REPRODUCTION = "reproduction"
TABLES_HEADING = "The papers' tables"


class IndexEntry(NamedTuple):
    """A page in the index; `thumbnail` is an address that needs no network, or empty."""

    file: str
    title: str
    study: str
    size: str
    verdict: tuple[str, ...]
    failed: int
    thumbnail: str


class Group(NamedTuple):
    """The pages of one data set."""

    heading: str
    entries: tuple[IndexEntry, ...]


def write_index(folder: Path, *, title: str, introduction: str) -> Path:
    """Write `index.html` over the pages of a folder; returns its path."""
    content = render("index.html.j2", title=title, introduction=introduction, groups=groups(folder))
    return write_bytes(folder / INDEX, content.encode())


def groups(folder: Path) -> tuple[Group, ...]:
    """The pages of a folder by data set: Ripley's first, then simulated data and the papers' tables."""
    found: dict[str, list[IndexEntry]] = {}
    records = [record for path in sorted(folder.glob("*.json")) if (record := _read(path, folder)) is not None]
    for record in sorted(records, key=_order):
        found.setdefault(_heading(record), []).append(_entry(record, folder))
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


def _order(record: dict[str, Any]) -> tuple[bool, bool, str, str, int]:
    data = record["data"]
    studies = [*STUDIES, REPRODUCTION, *TABLES]
    name = "" if data is None else str(data["name"])
    place = studies.index(record["study"]) if record["study"] in studies else len(studies)
    return data is None, name != "ripley", name, _heading(record), place


def _heading(record: dict[str, Any]) -> str:
    data: dict[str, Any] | None = record["data"]
    if data is None:
        tables = record["study"] == REPRODUCTION or record["study"] in TABLES
        if tables:
            return TABLES_HEADING
        return "Several data sets" if record["provenance"].get("data") else "Simulated data"
    return f"Data: {data['name']} ({data['n']} points, {data['d']} input{'s' if data['d'] != 1 else ''})"


def _entry(record: dict[str, Any], folder: Path) -> IndexEntry:
    return IndexEntry(
        record["file"],
        record["title"],
        record["study"],
        record["size"],
        tuple(record["verdict"]),
        len(record["failed"]),
        _thumbnail(folder / record["file"]),
    )


def _thumbnail(page: Path) -> str:
    """The page's first figure made small, or an empty string where it has none."""
    first = re.search(r'<img src="data:image/png;base64,([A-Za-z0-9+/=]+)"', page.read_text(encoding="utf-8"))
    if first is None:
        return ""
    with Image.open(io.BytesIO(base64.b64decode(first[1]))) as image:
        scale = THUMBNAIL_WIDTH / image.width
        size = (THUMBNAIL_WIDTH, round(image.height * scale))
        return address(packed(image.convert("RGB").resize(size, Image.Resampling.LANCZOS)))
