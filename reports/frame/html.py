"""A page as one HTML file that loads nothing: figures and styles are inside, and of scripts its own at most.

Everything that comes from a page is escaped by the template engine. Four marks are added after escaping: indices of
symbols are set low (μ_MP), names in backticks are set as code, a number keeps its % sign, and words of the glossary
link to their meaning. A table that is wider than the screen scrolls in its own box; it is in the page as a CSV file
too, and the figures stand as SVG files beside the page.
"""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.draw.style import address, as_png, as_svg

from .answer import SIGNS
from .diagnostics import FEW_ROWS, cells_table, diagnostics, provenance_rows, warnings_of
from .glossary import entries, marked, papers_of
from .page import Live, Page, Picture, Table
from .words import data_name, slug

TEMPLATES = Path(__file__).parent / "templates"
WIDE_CELL = 26
"""Columns with a cell of more characters hold words: they wrap, and begin at the left."""

# a Greek letter with its index (ζ_*, σ_logμ|D, γ_eff) and the few Latin symbols of the papers that have one
_INDEXED = re.compile(r"(?<![\w$])([Α-Ωα-ω]|E(?=_[WD]\b)|N(?=_eff\b)|J(?=_\d\b)|GP(?=_b\b))_(\*|[^\W_]+(?:\|D\b)?)")
_ENTRIES = re.compile(r"(?<![\w`.])([A-Za-z])_([ijktv]{1,4})(?![A-Za-z0-9_\[])")  # y_i, h_ii: entries of arrays
_NAMES = re.compile(r"`([\w.()-]+)`")


@dataclass(frozen=True)
class Image:
    """A figure of a page as a PNG file, which the page shows, and as an SVG file, to which it links."""

    picture: Picture
    png: bytes
    svg: bytes

    @property
    def address(self) -> str:
        """The file itself, as an address that needs no network."""
        return address(self.png)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        # they stand in every PNG's first chunk, after eight bytes of signature and eight of chunk head
        width, height = (int.from_bytes(self.png[i : i + 4], "big") for i in (16, 20))
        return width, height


class Script(NamedTuple):
    """The script of a page, and its digest: the page's policy runs no other."""

    text: Markup
    digest: str

    @classmethod
    def of(cls, live: Live) -> Script:
        """The script of a part that moves."""
        text = f"\n{live.script}"
        return cls(Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii"))


def draw(page: Page, *, dpi: int = 120) -> dict[str, Image]:
    """Every figure of a page, by the picture's name."""
    names = [picture.name for picture in page.pictures]
    if len(set(names)) < len(names):
        raise ValueError(f"The figures of the page {page.name!r} need different names; got {', '.join(names)}.")
    with warnings.catch_warnings():
        # a column may be called in a script that the font lacks; the text of the page still has it
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        return {
            picture.name: Image(picture, as_png(picture.figure, dpi=dpi), as_svg(picture.figure))
            for picture in page.pictures
        }


def symbols(text: str) -> Markup:
    """Escaped text with indices set low, names in backticks as code, and numbers kept with their % sign."""
    lowered = _ENTRIES.sub(r"\1<sub>\2</sub>", str(escape(text)))
    lowered = _INDEXED.sub(r"\1<sub>\2</sub>", lowered)
    return Markup(_NAMES.sub(r"<code>\1</code>", lowered).replace(" %", "&nbsp;%"))


def explained(text: str) -> Markup:
    """The same with the words of the glossary as links to their meanings."""
    return marked(text, symbols)


def as_csv(table: Table) -> str:
    """A table as an address that holds a CSV file: plain minus signs, headings in rows of their own."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for line in (table.header, *((row.label.strip(), *row.cells) for row in table.rows)):
        writer.writerow([cell.replace("−", "-") for cell in line])
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(file.getvalue().encode()).decode("ascii")


def wordy(table: Table) -> list[bool]:
    """For each column of a table whether it holds sentences, so that it begins at the left; not the labels' column."""
    longest = [max((len(cell) for cell in column), default=0) for column in zip(*_full_rows(table), strict=True)]
    return [False, *(length > WIDE_CELL for length in longest)] if longest else [False] * len(table.header)


def _full_rows(table: Table) -> list[tuple[str, ...]]:
    """The cells of the rows that are no headings."""
    return [row.cells for row in table.rows if row.cells]


@functools.cache
def environment() -> Environment:
    """The template engine: it escapes everything, and refuses a name that is not there."""
    engine = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters["symbols"] = symbols
    engine.filters["explained"] = explained
    engine.filters["csv"] = as_csv
    engine.filters["filename"] = slug
    engine.filters["wordy"] = wordy
    engine.filters["data_name"] = data_name
    return engine


def render(template: str, **names: Any) -> str:
    """A template of `reports/frame/templates` filled in."""
    return environment().get_template(template).render(**names)


def as_html(page: Page, images: dict[str, Image], *, command: str, record: str, figures: str = "figures") -> str:
    """The page's file.

    Parameters
    ----------
    page : Page
    images : dict
        From `draw`.
    command : str
        What makes this page anew, for a shell.
    record : str
        Name of the file beside the page that holds its numbers.
    figures : str
        Folder beside the page that holds its figures as SVG files.
    """
    text = render(
        "page.html.j2",
        page=page,
        result=page.result,
        script=None if page.live is None else Script.of(page.live),
        sign=SIGNS[page.badge],
        papers=papers_of(" ".join((page.title, *(mosaic.title for mosaic in page.mosaics)))),
        images=images,
        command=command,
        record=record,
        figures=figures,
        citation=citation(page),
        diagnostics=diagnostics(page.result),
        warnings=warnings_of(page.result),
        provenance=provenance_rows(page.result),
        cells=cells_table(page.result),
        few=FEW_ROWS,
    )
    # which words a page uses is known when it is there
    return text.replace(GLOSSARY, render("glossary.html.j2", entries=entries(text)))


GLOSSARY = "<!-- glossary -->"


def citation(page: Page) -> str:
    """The page as a BibTeX entry: the software's version, the study and when it was run."""
    record = page.result.provenance
    version = record.get("versions", {}).get("bayes-lssvm", "")
    year = str(record.get("date", ""))[:4]
    data = page.result.data
    of = f", data {data['name']} (SHA-256 {str(data['sha256'])[:12]}…)" if data is not None else ""
    lines = [
        "author = {{The bayes-lssvm developers}},",
        f"title = {{{page.title}}},",
        *([f"year = {{{year}}},"] if year else []),
        f"howpublished = {{Page of the software bayes-lssvm{f', version {version}' if version else ''}}},",
        f"note = {{Study {page.result.study}, size {page.result.size}{of}}},",
    ]
    return "\n".join([f"@misc{{bayes-lssvm-{page.name},", *(f"  {line}" for line in lines), "}"])
