"""What a report page is made of: words, tables and figures, before they become HTML or text.

A page is written once as plain values and rendered by `reports.frame.html` (one self-contained file) and by `as_text`
(the terminal). It opens with its answer, the key figure and the key table; everything else is folded. All texts are
plain text: the renderers escape them. An index is written with an underscore, "μ_MP", and set low by the frame.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from matplotlib.figure import Figure

from .answer import SIGNS, Answer, State
from .words import data_name

if TYPE_CHECKING:
    from validation.harness import StudyResult

TEXT_WIDTH = 98


class Row(NamedTuple):
    """One line of a table: a heading where it has no cells. Links of its page lead to its anchor."""

    label: str
    cells: tuple[str, ...] = ()
    anchor: str = ""


@dataclass(frozen=True)
class Table:
    """A table with one header cell a column, the labels' column included.

    Attributes
    ----------
    title : str
        Names the table for those who do not see it; shown above it where it is not empty.
    header : tuple of str
        The first one stands over the labels and may be empty.
    rows : tuple of Row
        Rows have `len(header) - 1` cells, or none: a heading.
    note : str
        What a reader needs to know, shown below.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""

    def __post_init__(self) -> None:
        columns = len(self.header) - 1
        for row in self.rows:
            if row.cells and len(row.cells) != columns:
                raise ValueError(
                    f"Row {row.label!r} of the table {self.title!r} has {len(row.cells)} cells, but the header has "
                    f"{columns} columns beside the labels'. Give every row as many cells as the header, or none."
                )


@dataclass(frozen=True)
class Picture:
    """A figure: the stem of its file, the drawing, and what it says to those who see it and those who do not."""

    name: str
    figure: Figure
    alt: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of a page under its own heading, folded; figures come before tables."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


class Square(NamedTuple):
    """One place of a mosaic: its kind, what it says when it is pointed at, and the anchor to which it leads."""

    kind: Literal["reproduced", "better", "worse", "absent"]
    words: str
    anchor: str = ""


class Mosaic(NamedTuple):
    """A large table at a glance, a small square for each entry.

    Attributes
    ----------
    title, anchor : str
        What it shows, and the part of the page that has it in full.
    columns : tuple of str
    rows : tuple of (str, tuple of Square or None)
        None where there is no such entry.
    """

    title: str
    anchor: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Square | None, ...]], ...]


class Live(NamedTuple):
    """A part of a page that a reader can move: HTML that is inserted as it is, and the script that runs it."""

    html: str
    script: str


@dataclass(frozen=True)
class Page:
    """One page of a report.

    Attributes
    ----------
    answer : Answer
        The badge, one sentence, and at most three points.
    key_table : Table
    result : StudyResult
        Where diagnostics, failures (the red banner) and provenance come from.
    key_picture : Picture, optional
        The figure below the answer.
    introduction : str
        What is compared, and why.
    mosaics : tuple of Mosaic
        Shown below the verdict.
    findings : tuple of str
        All that the numbers say, in sentences computed from them.
    sections : tuple of Section
    methods : tuple of str
        Paragraphs.
    printed : tuple of Table
        Tables that the terminal shows too.
    live : Live, optional
        Shown below the verdict. It must not load anything.
    thumbnail : Figure, optional
        A small picture for the index, drawn for its size by `reports.draw.thumbnail`.
    group : str
        Heading of the index under which the page stands; by default that of its data.
    exact : bool
        Whether the record keeps all digits, because a figure shows small differences of large numbers.
    related : tuple of str
        Studies whose pages a reader may want to see next.
    name : str
        Stem of the page's file: letters, digits, "._-". That of the study by default.
    title : str
        By default that of the study, with the name of the data.
    """

    answer: Answer
    key_table: Table
    result: StudyResult
    key_picture: Picture | None = None
    mosaics: tuple[Mosaic, ...] = ()
    introduction: str = ""
    findings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    methods: tuple[str, ...] = ()
    printed: tuple[Table, ...] = ()
    live: Live | None = None
    thumbnail: Figure | None = None
    group: str = ""
    exact: bool = False
    related: tuple[str, ...] = ()
    name: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.result.study)
        object.__setattr__(self, "title", self.title or _title(self.result))

    @property
    def badge(self) -> State:
        """That of the answer; where checks of the study failed nothing holds but with care."""
        badge = self.answer.badge
        return "with care" if badge == "holds" and self.result.failed else badge

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """All figures, in order."""
        first = () if self.key_picture is None else (self.key_picture,)
        return (*first, *(picture for section in self.sections for picture in section.pictures))

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, the key table first."""
        return (self.key_table, *(table for section in self.sections for table in section.tables))


def _title(result: StudyResult) -> str:
    """The study's title with the name of the data, once."""
    if result.data is None:
        return result.title
    name = data_name(str(result.data["name"]))
    return result.title if result.title.endswith(name) else f"{result.title}: {name}"


def plain_label(text: str) -> str:
    """A user's name (of a column, a class, a file) for matplotlib, which would read "$" as the start of a formula."""
    return text.replace("$", r"\$")


def aligned(table: Table) -> str:
    """A table for the terminal: labels to the left, numbers to the right."""
    lines = [table.header, *((row.label, *row.cells) for row in table.rows)]
    widths = [max(len(line[i]) for line in lines if i < len(line)) for i in range(len(table.header))]

    def joined(line: tuple[str, ...]) -> str:
        numbers = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=False)]
        return "  ".join([line[0].ljust(widths[0]), *numbers]).rstrip()

    return "\n".join([joined(table.header), "  ".join("-" * width for width in widths), *map(joined, lines[1:])])


def as_text(page: Page) -> str:
    """The page for a terminal, at most 98 columns wide: its title and answer, and the tables that it prints."""
    answer = filled(f"{SIGNS[page.badge]} {page.badge.capitalize()}. {page.answer.verdict}")
    points = [
        textwrap.fill(point, TEXT_WIDTH, initial_indent="- ", subsequent_indent="  ") for point in page.answer.points
    ]
    return "\n\n".join([page.title, "\n".join([answer, *points]), *map(aligned, page.printed)])


def filled(paragraph: str) -> str:
    """A paragraph wrapped for the terminal."""
    return textwrap.fill(paragraph, TEXT_WIDTH)
