"""What pages of reproduced tables share: ours beside theirs, the verdicts in words, and a figure of the differences.

Verdicts are those of `validation.papers.table`. Each has a mark: = reproduced, ▲ better, ▼ worse. A figure without a
mark has no counterpart in the paper, and a dash was not computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.draw.style import BLUE, GREEN, GREY, PALE, VERMILION, new_figure
from reports.draw.thumbnail import bars, stacked
from reports.frame.answer import Answer, State
from reports.frame.page import Mosaic, Picture, Row, Square, Table, plain_label
from reports.frame.words import NONE, slug, spelled
from validation.papers.table import Entry, Published, ReproducedTable, Verdict

MARKS: dict[Verdict, str] = {"reproduced": "=", "better": "▲", "worse": "▼", "ours alone": "", "not computed": ""}
COLOURS: dict[Verdict, str] = {"reproduced": BLUE, "better": GREEN, "worse": VERMILION}
SHAPES: dict[Verdict, str] = {"reproduced": "o", "better": "^", "worse": "v"}
ACROSS = 4  # panels side by side


def counts(tables: Sequence[ReproducedTable]) -> dict[Verdict, int]:
    """How many entries of these tables have each verdict."""
    found: dict[Verdict, int] = dict.fromkeys(MARKS, 0)
    for table in tables:
        for entry in table.entries:
            found[table.verdict(entry)] += 1
    return found


CHANCE, TOLERABLE = 0.025, 0.1
RULE = (
    "Counts the entries that are worse than the paper's by more than two of its standard deviations (or two standard "
    f"errors of the difference). Holds up to {100 * CHANCE:g} % of the entries that can be compared, which chance "
    f"alone explains; with care up to {100 * TOLERABLE:.0f} %; fails beyond."
)


def badge(worse: int, compared: int) -> State:
    """From the number of entries that are worse than the paper's, of those that can be compared."""
    if not compared:
        return "with care"
    share = worse / compared
    return "holds" if share <= CHANCE else "with care" if share <= TOLERABLE else "fails"


def answer_of(tables: Sequence[ReproducedTable], what: str, points: Sequence[str] = ()) -> Answer:
    """How much of the print is reproduced."""
    found = counts(tables)
    compared = found["reproduced"] + found["better"] + found["worse"]
    if not compared:
        verdict = f"There is no printed number in {what} to compare with, so these results are ours alone."
        return Answer("with care", verdict, tuple(points[:3]), RULE)
    if compared == found["reproduced"]:
        count = {1: "The one number", 2: "Both numbers"}.get(compared, f"All {compared} numbers")
        verdict = f"{count} printed in {what} {'is' if compared == 1 else 'are'} reproduced."
        return Answer(badge(0, compared), verdict, tuple(points[:3]), RULE)
    return Answer(
        badge(found["worse"], compared),
        f"Of the {compared} numbers printed in {what}, {found['reproduced']} are reproduced, {found['better']} come "
        f"out better and {found['worse']} worse.",
        tuple(points[:3]),
        RULE,
    )


def thumbnail_of(tables: Sequence[ReproducedTable], title: str) -> Figure | None:
    """Shares of the verdicts, one row a table; None where nothing can be compared."""
    shown: dict[str, dict[str, float]] = {}
    for table in tables:
        found = counts([table])
        if any(found[verdict] for verdict in SHAPES):
            shown[table.source] = {v: float(found[v]) for v in SHAPES}
    if len(shown) == 1:
        return bars(
            next(iter(shown.values())), "printed numbers: reproduced, better or worse", form=".0f", own=("reproduced",)
        )
    return stacked(shown, {str(v): c for v, c in COLOURS.items()}, title) if shown else None


def comparison_table(table: ReproducedTable, *, title: str = "") -> Table:
    """Every entry: our mean and spread with its mark, and the paper's figure below it."""
    kind, digits = table.kind, table.digits
    rows: list[Row] = []
    for name in table.rows:
        entries = [table.entry(name, column) for column in table.columns]
        rows.append(Row(name, tuple(_ours(table, entry, kind, digits) for entry in entries)))
        if any(entry is not None and entry.published is not None for entry in entries):
            rows.append(Row("  paper", tuple(_theirs(entry, digits) for entry in entries)))
    spread = "(standard deviation)" if kind == "sd" else "± standard error"
    limit = "two of the paper's standard deviations" if kind == "sd" else "two standard errors of the difference"
    title, note = title or f"{table.source}: {table.measure}", f"Mean {spread}."
    if any(entry.published is not None for entry in table.entries):
        title += ", ours above the paper's"
        note += f" = within {limit}, ▲ better than that, ▼ worse; without a mark: not in the paper."
    return Table(title, ("", *table.columns), tuple(rows), note)


def _spread(value: float | None, kind: str, digits: int) -> str:
    if value is None or not math.isfinite(value):
        return ""
    return f" ({value:.{digits}f})" if kind == "sd" else f" ± {value:.{digits}f}"


def _ours(table: ReproducedTable, entry: Entry | None, kind: str, digits: int) -> str:
    if entry is None or not entry.scores:
        return NONE
    kind = entry.published.kind if entry.published is not None else kind
    spread = _spread(entry.sd if kind == "sd" else entry.se, kind, digits)
    return f"{entry.mean:.{digits}f}{spread} {MARKS[table.verdict(entry)]}".rstrip()


def published_text(published: Published, digits: int) -> str:
    """A figure as the paper prints it."""
    return f"{published.mean:.{digits}f}{_spread(published.spread, published.kind, digits)}"


def _theirs(entry: Entry | None, digits: int) -> str:
    return "" if entry is None or entry.published is None else published_text(entry.published, digits)


def verdict_sentences(table: ReproducedTable) -> tuple[str, ...]:
    """What became of the table, in sentences made from its entries."""
    found = counts([table])
    compared = found["reproduced"] + found["better"] + found["worse"]
    if all(entry.published is None for entry in table.entries):
        return (f"{table.source}: there are no printed figures to compare with.", *table.absent)
    if not compared:
        return (f"{table.source}: nothing that the paper prints has been computed yet.", *table.absent)
    scale = "two of its standard deviations" if table.kind == "sd" else "two standard errors of the difference"
    sentences = [
        f"{table.source}: of {_many(compared, 'entry', 'entries')} that can be compared, {found['reproduced']} lie "
        f"within {scale} of the paper's mean, {found['better']} {_are(found['better'])} better and {found['worse']} "
        f"{_are(found['worse'])} worse."
    ]
    worse = [e for e in table.entries if table.verdict(e) == "worse"]
    if worse:
        sentences.append(
            "Worse: " + "; ".join(f"{e.row}, {e.column} ({_distance(e)})" for e in worse[:8]) + _rest(worse)
        )
    missing = [e for e in table.entries if table.verdict(e) == "not computed"]
    if missing:
        of = ", ".join(dict.fromkeys(e.row for e in missing))
        sentences.append(f"{_many(len(missing), 'entry is', 'entries are')} not computed ({of}).")
    return (*sentences, *table.absent)


def _rest(entries: Sequence[Entry]) -> str:
    return "." if len(entries) <= 8 else f"; and {len(entries) - 8} more."


def _many(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _distance(entry: Entry) -> str:
    unit = "sd" if entry.published is not None and entry.published.kind == "sd" else "s.e."
    sign = "−" if entry.distance < 0 else "+"
    return f"{sign}{abs(entry.distance):.1f} {unit}" if math.isfinite(entry.distance) else f"{sign}∞ {unit}"


def why_text(entry: Entry) -> str:
    """Why an entry differs, with its test; what no test supports is not known, and what is said is no explanation."""
    if entry.why.test:
        return f"{entry.why.sentence} Test: {entry.why.test}."
    return f"Not known. {entry.why.sentence}".rstrip()


def anchor_of(table: ReproducedTable, entry: Entry) -> str:
    """Where a page tells why an entry differs."""
    return slug(f"why-{table.name}-{entry.row}-{entry.column}")


def unexplained(tables: Sequence[ReproducedTable]) -> tuple[list[Entry], list[Entry]]:
    """The entries that are worse, and those among them that no test explains."""
    worse = [entry for table in tables for entry in table.entries if table.verdict(entry) == "worse"]
    return worse, [entry for entry in worse if not entry.why.test]


def explained_sentence(tables: Sequence[ReproducedTable], *, names: bool = True) -> str:
    """For how many of the entries that are worse a test supports the explanation, and which are not explained."""
    worse, left = unexplained(tables)
    if not worse:
        return "No entry is worse."
    if not left:
        every = f"Each of the {len(worse)} worse entries" if len(worse) > 1 else "The worse entry"
        return f"{every} has an explanation that a test supports."
    said = f"A test supports the explanation of {len(worse) - len(left)} of the {len(worse)} worse entries"
    share = 100 * len(left) / sum(counts(tables)[verdict] for verdict in SHAPES)
    listed = ": " + "; ".join(f"{e.row}, {e.column}" for e in left[:8]) + _rest(left) if names else "."
    return f"{said}; for {len(left)} ({share:.1f} % of all compared) it is not known{listed}"


def mosaic(table: ReproducedTable, section: str) -> Mosaic | None:
    """All printed entries of a table as small squares; None where the paper prints none."""
    columns = [c for c in table.columns if any(_printed(table.entry(row, c)) for row in table.rows)]
    rows = [r for r in table.rows if any(_printed(table.entry(r, c)) for c in columns)]
    if not columns:
        return None
    places = tuple((spelled(r), tuple(_square(table, table.entry(r, c)) for c in columns)) for r in rows)
    return Mosaic(table.source, section, tuple(columns), places)


def _printed(entry: Entry | None) -> bool:
    return entry is not None and entry.published is not None


def _square(table: ReproducedTable, entry: Entry | None) -> Square | None:
    if entry is None or entry.published is None:
        return None
    verdict, digits = table.verdict(entry), table.digits
    theirs = published_text(entry.published, digits)
    place = f"{entry.row}, {entry.column}"
    if verdict == "not computed" or verdict == "ours alone":  # a figure without a spread is not held against ours
        return Square("absent", f"{place}: {verdict.replace('ours alone', 'not compared')}; the paper has {theirs}")
    words = f"{place}: {entry.mean:.{digits}f}, the paper {theirs}, {verdict}"
    return Square(verdict, words, anchor_of(table, entry) if verdict != "reproduced" else "")


def differences_table(table: ReproducedTable) -> Table | None:
    """All entries that are not reproduced, with why; None where there are none."""
    rows, digits = [], table.digits
    for entry in table.entries:
        verdict = table.verdict(entry)
        if verdict not in ("better", "worse") or entry.published is None:
            continue
        spread = _spread(entry.sd if entry.published.kind == "sd" else entry.se, entry.published.kind, digits)
        ours = f"{entry.mean:.{digits}f}{spread}"
        said = (f"{MARKS[verdict]} {verdict}", why_text(entry))
        cells = (ours, published_text(entry.published, digits), _distance(entry), *said)
        rows.append(Row(f"{entry.row}, {entry.column}", cells, anchor_of(table, entry)))
    if not rows:
        return None
    return Table(
        f"{table.source}: entries that differ",
        ("entry", "ours", "paper", "difference", "verdict", "why"),
        tuple(rows),
        "The difference is ours − theirs"
        + (", in the paper's standard deviations." if table.kind == "sd" else ", in standard errors (s.e.) of it."),
    )


def differences_picture(table: ReproducedTable, *, name: str = "differences", caption: str = "") -> Picture | None:
    """Ours against theirs, one panel a column of the paper; None where nothing can be compared."""
    columns = [c for c in table.columns if any(_comparable(table.entry(row, c)) for row in table.rows)]
    if not columns:
        return None
    rows = [r for r in table.rows if any(_comparable(table.entry(r, column)) for column in columns)]
    figure = _differences_figure(table, rows, columns)
    found = counts([table])
    words = ", ".join(f"{found[verdict]} {verdict}" for verdict in SHAPES)
    return Picture(
        name,
        figure,
        f"Differences of our {table.measure} from the paper's, by row and column: {words}.",
        caption
        or f"Ours − the paper's, {table.measure}. A grey bar spans two of the paper's "
        f"{'standard deviations' if table.kind == 'sd' else 'standard errors'} on each side of its mean: dots inside "
        f"are reproduced. {'To the right is better' if table.higher_is_better else 'To the left is better'}.",
    )


def _comparable(entry: Entry | None) -> bool:
    return entry is not None and entry.published is not None and bool(entry.scores)


def _differences_figure(table: ReproducedTable, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    across = min(ACROSS, len(columns))
    down = math.ceil(len(columns) / across)
    with new_figure(max(2.75 * across, 4.0), down * (0.26 * len(rows) + 0.75) + 0.45) as figure:
        panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for panel, column in zip(panels, columns, strict=False):
            _panel(panel, table, rows, column)
        for panel in panels[len(columns) :]:
            panel.set_visible(False)
        for panel in panels[max(0, len(columns) - across) : len(columns)]:  # the last one of each stack has the scale
            panel.tick_params(labelbottom=True)
        figure.supxlabel(f"ours − the paper's ({table.measure})", fontsize=9.5)
        shown = {table.verdict(e) for e in table.entries} & set(SHAPES)
        handles = [
            Line2D([], [], linestyle="", marker=SHAPES[v], color=COLOURS[v], label=v) for v in SHAPES if v in shown
        ]
        figure.legend(handles=handles, loc="outside upper right", ncols=3)
        return figure


def _panel(panel: Axes, table: ReproducedTable, rows: Sequence[str], column: str) -> None:
    panel.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
    for place, name in enumerate(rows):
        entry = table.entry(name, column)
        if entry is None or entry.published is None or not entry.scores:
            continue
        width = 2.0 * (entry.published.spread or 0.0)
        panel.barh(place, 2.0 * width, left=-width, height=0.55, color=PALE, zorder=0)
        verdict = table.verdict(entry)
        style: dict[str, Any] = {"color": COLOURS.get(verdict, GREY), "marker": SHAPES.get(verdict, "s")}
        panel.plot(entry.mean - entry.published.mean, place, linestyle="", markersize=6, **style)
    panel.set_yticks(range(len(rows)), [plain_label(spelled(name)) for name in rows])
    panel.set_ylim(len(rows) - 0.4, -0.6)  # the first row on top
    panel.set_title(plain_label(column).replace("GP_b", "GP$_b$"), loc="left")
