"""The files of a page: the HTML, a JSON record with every number behind it, and the figures as SVG and PNG."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from bayes_lssvm.base.arviz import read_netcdf
from bayes_lssvm.base.files import write_bytes
from reports.draw.style import address, as_png
from reports.draw.thumbnail import DPI
from validation.harness import Cell, Check, FinishedCell, StudyResult

from .html import as_html, draw
from .page import Page, Table
from .words import slug

FORMAT = "bayes-lssvm report page, 2"
FIGURES = "figures"
KEPT = "kept_draws"
"""Name under which a record keeps some draws of a cell, so that its page can be drawn again from the record."""
_MOST_DRAWS = 100  # of a chain


def stem(page: Page) -> str:
    """The page's file name without its ending: the page's own name, and the data's where that does not say it."""
    data = page.result.data
    name = slug(page.name)
    if data is None:
        return name
    of = slug(str(data["name"]))
    return name if name == of or name.endswith(f"-{of}") else f"{name}-{of}"


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
        Whether figures are also written as PNG files into `figures/<page>`, beside the SVG files.
    digits : int, optional
        Significant digits of the numbers in the JSON record; all where it is left out.

    Returns
    -------
    Path
        The HTML file.
    """
    digits = None if page.exact or page.live is not None else digits  # what moves is drawn again from all digits
    name = stem(page)
    images = draw(page, dpi=dpi)
    own = folder / FIGURES / name
    if images:
        own.mkdir(parents=True, exist_ok=True)
    for image in images.values():
        write_bytes(own / f"{image.picture.name}.svg", image.svg)
        if pictures:
            write_bytes(own / f"{image.picture.name}.png", image.png)
    record = _plain({**_record(page, f"{name}.html", command), "significant_digits": digits}, digits)
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_bytes(folder / f"{name}.json", text.encode())
    html = as_html(page, images, command=command, record=f"{name}.json", figures=f"{FIGURES}/{name}")
    return write_bytes(folder / f"{name}.html", html.encode())


def _record(page: Page, file: str, command: str) -> dict[str, Any]:
    result = page.result
    return {
        "format": FORMAT,
        "file": file,
        "title": page.title,
        "badge": page.badge,
        "verdict": page.answer.verdict,
        "points": page.answer.points,
        "introduction": page.introduction,
        "findings": page.findings,
        "failed": result.failed,
        "group": page.group,
        "related": page.related,
        "thumbnail": "" if page.thumbnail is None else address(as_png(page.thumbnail, dpi=DPI)),
        "study": result.study,
        "study_title": result.title,
        "size": result.size,
        "command": command,
        "data": result.data,
        "provenance": result.provenance,
        "tables": [_table(table) for table in page.tables],
        "cells": [
            {
                "key": finished.cell.key,
                "settings": finished.cell.settings,
                "seed": finished.cell.seed,
                "values": {**finished.values, **_kept(finished)},
                "checks": [vars(check) for check in finished.checks],
                "warnings": finished.warnings,
                "seconds": finished.seconds,
                "error": finished.error,
            }
            for finished in result.cells
        ],
    }


def _kept(finished: FinishedCell) -> dict[str, Any]:
    """Draws of single numbers, evenly thinned, of shape (chains, draws); nothing where there is no file of them."""
    if finished.draws is None:
        return {}
    posterior = read_netcdf(finished.draws)["posterior"].data_vars
    arrays = {str(name): np.asarray(values.values) for name, values in posterior.items()}
    step = max(1, -(-max(x.shape[1] for x in arrays.values()) // _MOST_DRAWS))
    return {KEPT: {name: x[:, ::step].tolist() for name, x in arrays.items() if x.ndim == 2}}


def read_result(path: Path) -> StudyResult:
    """The result behind a page, from the record that `write_page` left; of draws there are some."""
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
    head = (record["study"], record["study_title"], record["size"], record["data"])
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
