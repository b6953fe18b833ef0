"""A page as one HTML file that loads nothing: figures and styles are inside, and of scripts its own at most.

Everything that comes from a page is escaped by the template engine. Three marks are added after escaping: indices of
symbols are set low (μ_MP), names in backticks are set as code, and a number keeps its % sign. A table that is wider
than the screen scrolls in its own box.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.draw.style import address, as_png

from .diagnostics import FEW_ROWS, cells_table, diagnostics, provenance_rows, warnings_of
from .page import Live, Page, Picture, Table

TEMPLATES = Path(__file__).parent / "templates"
WIDE_CELL = 26
"""Cells of more characters hold words: they wrap, and begin at the left."""

# a Greek letter with its index (ζ_*, σ_logμ|D, γ_eff) and the few Latin symbols of the papers that have one
_INDEXED = re.compile(r"(?<![\w$])([Α-Ωα-ω]|E(?=_[WD]\b)|N(?=_eff\b)|J(?=_\d\b))_(\*|[^\W_]+(?:\|D\b)?)")
_NAMES = re.compile(r"`([\w.()-]+)`")


@dataclass(frozen=True)
class Image:
    """A figure of a page as a PNG file."""

    picture: Picture
    png: bytes

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
        return {picture.name: Image(picture, as_png(picture.figure, dpi=dpi)) for picture in page.pictures}


def symbols(text: str) -> Markup:
    """Escaped text with indices set low, names in backticks as code, and numbers kept with their % sign."""
    lowered = _INDEXED.sub(r"\1<sub>\2</sub>", str(escape(text)))
    return Markup(_NAMES.sub(r"<code>\1</code>", lowered).replace(" %", "&nbsp;%"))


def wordy(table: Table, place: int) -> bool:
    """Whether a column of a table, the labels' being 0, holds sentences, so that its heading stands on the left."""
    return place > 0 and any(wide(row.cells[place - 1]) for row in table.rows if len(row.cells) >= place)


def wide(cell: str) -> bool:
    """Whether a table's cell holds words rather than a number."""
    return len(cell) > WIDE_CELL


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
    engine.tests["wide"] = wide
    engine.filters["wordy"] = wordy
    return engine


def render(template: str, **names: Any) -> str:
    """A template of `reports/frame/templates` filled in."""
    return environment().get_template(template).render(**names)


def as_html(page: Page, images: dict[str, Image], *, command: str, record: str) -> str:
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
    """
    return render(
        "page.html.j2",
        page=page,
        result=page.result,
        script=None if page.live is None else Script.of(page.live),
        images=images,
        command=command,
        record=record,
        diagnostics=diagnostics(page.result),
        warnings=warnings_of(page.result),
        provenance=provenance_rows(page.result),
        cells=cells_table(page.result),
        few=FEW_ROWS,
    )
