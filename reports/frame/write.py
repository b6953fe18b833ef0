"""The files of a page: the HTML, a JSON record with every number behind it, and the figures as PNG."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from bayes_lssvm.base.files import write_bytes
from validation.harness import Cell, Check, FinishedCell, StudyResult

from .html import as_html, draw
from .page import Page, Table

FORMAT = "bayes-lssvm report page, 1"
FIGURES = "figures"


def stem(page: Page) -> str:
    """The page's file name without its ending: the page's own name, and the data's where that does not say it."""
    data = page.result.data
    name = _slug(page.name)
    if data is None:
        return name
    of = _slug(str(data["name"]))
    return name if name == of or name.endswith(f"-{of}") else f"{name}-{of}"


def _slug(text: str) -> str:
    """Letters, digits and "._-" of a name, so that it can be a file and an address; "data" where none are left."""
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip("-.")[:80] or "data"


def write_page(
    page: Page, folder: Path, *, command: str, dpi: int = 120, pictures: bool = True, digits: int | None = None
) -> Path:
    """Write a page into a folder.

    Parameters
    ----------
    page : Page
    folder : Path
    command : str
        What makes the page anew.
    dpi : int
        Resolution of the figures.
    pictures : bool
        Whether figures are also written as files of their own, into `figures/<page>`.
    digits : int, optional
        Significant digits of the numbers in the JSON record; all where it is left out.

    Returns
    -------
    Path
        The HTML file.
    """
    digits = None if page.live is not None else digits  # what moves is drawn again from all digits
    name = stem(page)
    images = draw(page, dpi=dpi)
    if pictures and images:
        own = folder / FIGURES / name
        own.mkdir(parents=True, exist_ok=True)
        for image in images.values():
            write_bytes(own / f"{image.picture.name}.png", image.png)
    record = _plain({**_record(page, f"{name}.html", command), "significant_digits": digits}, digits)
    write_bytes(folder / f"{name}.json", json.dumps(record, ensure_ascii=False, allow_nan=False).encode())
    return write_bytes(folder / f"{name}.html", as_html(page, images, command=command, record=f"{name}.json").encode())


def _record(page: Page, file: str, command: str) -> dict[str, Any]:
    result = page.result
    tables = [page.key_table, *(table for section in page.sections for table in section.tables)]
    return {
        "format": FORMAT,
        "file": file,
        "title": page.title,
        "introduction": page.introduction,
        "verdict": page.verdict,
        "failed": result.failed,
        "study": result.study,
        "size": result.size,
        "command": command,
        "data": result.data,
        "provenance": result.provenance,
        "tables": [_table(table) for table in tables],
        "cells": [
            {
                "key": finished.cell.key,
                "settings": finished.cell.settings,
                "seed": finished.cell.seed,
                "values": finished.values,
                "checks": [vars(check) for check in finished.checks],
                "warnings": finished.warnings,
                "seconds": finished.seconds,
                "error": finished.error,
            }
            for finished in result.cells
        ],
    }


def read_result(path: Path) -> StudyResult:
    """The result behind a page, from the record that `write_page` left: all but the draws."""
    record = json.loads(path.read_text(encoding="utf-8"))
    cells = tuple(
        FinishedCell(
            Cell(c["key"], c["settings"], c["seed"]),
            c["values"],
            tuple(Check(**{**check, "value": _number(check["value"])}) for check in c["checks"]),
            tuple(c["warnings"]),
            c["seconds"],
            error=c["error"],
        )
        for c in record["cells"]
    )
    head = (record["study"], record["title"], record["size"], record["data"])
    return StudyResult(*head, cells, record["provenance"], path.parent)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _table(table: Table) -> dict[str, Any]:
    rows = [[row.label.strip(), *row.cells] for row in table.rows]
    return {"title": table.title, "header": table.header, "rows": rows, "note": table.note}


def _plain(value: Any, digits: int | None) -> Any:
    """What JSON can hold: no tuple, and no number that is not finite."""
    if isinstance(value, dict):
        return {str(name): _plain(v, digits) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, digits) for v in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    return value if value is None or isinstance(value, str | int | bool) else str(value)
