"""The page "Reproduction": all tables of the papers, entry by entry reproduced, better or worse, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from reports.draw.style import GREY, new_figure
from reports.frame.index import REPRODUCTION, TABLES_HEADING
from reports.frame.page import Page, Picture, Row, Section, Table
from validation.harness import SIZES, Size, StudyResult
from validation.papers import ReproducedTable, Verdict
from validation.registry import TABLES

from .papers import (
    COLOURS,
    answer_of,
    comparison_table,
    counts,
    differences_table,
    explained_sentence,
    mosaic,
    thumbnail_of,
    verdict_sentences,
)

TITLE = "Reproduction: the papers' tables computed again"
INTRODUCTION = (
    "Every table of the five source texts that can be computed again, entry by entry: reproduced where our mean lies "
    "within two of the paper's standard deviations (or within two standard errors of the difference, where the paper "
    "prints those), otherwise better or worse, and why."
)
METHODS = (
    "Each table is a set of cells, data set × algorithm × randomisation. All algorithms of a table see the same "
    "randomisations. An algorithm gets training rows alone and is scored on test rows afterwards, so nothing is tuned "
    "on test data. Seeds follow from the name of the data set and the number of the randomisation.",
    "The papers' partitions, candidate sets and codings are mostly not published. Results of two laboratories on "
    "different random partitions differ by chance alone; the paper's standard deviation over its partitions is "
    "the scale of comparison, and is itself estimated from ten.",
)
_MOST_COLUMNS = 10  # side by side
_SHOWN: tuple[Verdict, ...] = ("reproduced", "better", "worse")
_ALL: tuple[Verdict, ...] = (*_SHOWN, "ours alone", "not computed")


def page(found: Sequence[tuple[ReproducedTable, StudyResult]], missing: Sequence[str] = ()) -> Page:
    """The overview of the tables that have been computed, and the names of those that have not."""
    tables = [table for table, _ in found]
    total = counts(tables)
    compared = sum(total[verdict] for verdict in _SHOWN)
    said = [
        f"{len(tables)} of {len(tables) + len(missing)} tables have been computed. Of {compared} entries that the "
        f"papers print, {total['reproduced']} are reproduced, {total['better']} are better and {total['worse']} are "
        f"worse. {total['ours alone']} more are ours alone."
    ]
    if missing:
        said.append(f"Not computed yet: {', '.join(missing)}.")
    said.append(explained_sentence(tables))
    points = [f"Not computed yet: {', '.join(missing)}."] if missing else []
    points.append(explained_sentence(tables, names=False))
    points.append(f"{total['ours alone']} more numbers have no counterpart in the papers.")
    return Page(
        name=REPRODUCTION,
        title=TITLE,
        answer=answer_of(tables, f"{len(tables)} tables of the papers", points),
        introduction=INTRODUCTION,
        findings=tuple(said),
        key_picture=_picture(tables) if compared else None,
        key_table=_counts_table(tables, missing),
        mosaics=tuple(m for k, t in enumerate(tables, 1) if (m := mosaic(t, f"section-{k}")) is not None),
        sections=tuple(_section(table) for table in tables),
        methods=METHODS,
        result=_joined([result for _, result in found]),
        thumbnail=thumbnail_of(tables, "entries: reproduced (blue), better, worse"),
        group=TABLES_HEADING,
        related=tuple(table.name for table in tables),
    )


def _section(table: ReproducedTable) -> Section:
    differences = differences_table(table)
    shown = _narrow(table)
    shown = shown if differences is None else (*shown, differences)
    note = "Figures, statistics and methods of this table are on its own page, of the same title (see Related pages)."
    return Section(table.title, (*verdict_sentences(table), note), shown)


def _narrow(table: ReproducedTable) -> tuple[Table, ...]:
    """Our numbers above the paper's; where there are many columns a table for each kernel, their first word."""
    if len(table.columns) <= _MOST_COLUMNS:
        return (comparison_table(table),)
    kernels: dict[str, list[str]] = {}
    for column in table.columns:
        kernels.setdefault(column.split()[0], []).append(column)
    return tuple(
        comparison_table(replace(table, columns=tuple(own)), title=f"{table.source}, {kernel}: {table.measure}")
        for kernel, own in kernels.items()
    )


def _counts_table(tables: Sequence[ReproducedTable], missing: Sequence[str]) -> Table:
    rows = [Row(t.source, tuple(str(counts([t])[verdict]) for verdict in _ALL)) for t in tables]
    rows += [Row(name, ("–",) * (len(_ALL) - 1) + ("all",)) for name in missing]
    return Table("Entries by verdict", ("table", *_ALL), tuple(rows))


def _picture(tables: Sequence[ReproducedTable]) -> Picture:
    tables = [table for table in tables if sum(counts([table])[verdict] for verdict in _SHOWN)]
    words = "; ".join(f"{t.source}: " + ", ".join(f"{counts([t])[v]} {v}" for v in _SHOWN) for t in tables)
    return Picture(
        "verdicts",
        _figure(tables),
        f"Shares of entries by verdict. {words}.",
        "Share of the entries that can be compared, by verdict; the numbers are counts of entries.",
    )


def _figure(tables: Sequence[ReproducedTable]) -> Figure:
    with new_figure(8.0, 0.42 * len(tables) + 1.0) as figure:
        axes = figure.add_subplot()
        for place, table in enumerate(tables):
            found = counts([table])
            whole, left = sum(found[verdict] for verdict in _SHOWN) or 1, 0.0
            for verdict in _SHOWN:
                share = 100.0 * found[verdict] / whole
                axes.barh(
                    place, share, left=left, height=0.62, color=COLOURS[verdict], label=None if place else verdict
                )
                if found[verdict]:
                    axes.text(left + share / 2, place, str(found[verdict]), ha="center", va="center", color="white")
                left += share
        axes.set_yticks(range(len(tables)), [table.source for table in tables])
        axes.set_ylim(len(tables) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the entries that can be compared")
        axes.tick_params(axis="y", length=0, labelcolor=GREY if not tables else "black")
        figure.legend(loc="outside upper right", ncols=3)
        return figure


def _joined(results: Sequence[StudyResult]) -> StudyResult:
    """The tables' results as one, for provenance and failures; cells keep their table's name in front."""
    size: Size = min((r.size for r in results), key=SIZES.index, default="full")
    record: dict[str, Any] = {
        "data": "several sets, named in the tables",
        "version": ", ".join(f"{r.study} {r.provenance['version']}" for r in results) or "–",
        "tables": ", ".join(f"{r.study} ({r.size}, {len(r.cells)} cells)" for r in results) or "none",
    }
    if results:
        record["seconds"] = sum(r.provenance["seconds"] for r in results)
        record["first_date"] = min(r.provenance["first_date"] for r in results)
        record["date"] = max(r.provenance["date"] for r in results)
        names = dict.fromkeys(name for r in results for name in r.provenance["versions"])
        record["versions"] = {
            name: ", ".join(sorted({r.provenance["versions"].get(name, "–") for r in results})) for name in names
        }
    return StudyResult(REPRODUCTION, TITLE, size, None, (), record, Path())


def names_of(found: Sequence[tuple[ReproducedTable, StudyResult]]) -> tuple[str, ...]:
    """Tables of the registry that are not among these."""
    return tuple(name for name in TABLES if name not in {result.study for _, result in found})
