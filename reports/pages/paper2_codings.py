"""What the pages of paper 2's Tables II and III share: kernels, codings and two decodings beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayes_lssvm.datasets import load
from reports.draw.style import BLUE, GREEN, GREY, PURPLE, VERMILION, new_figure
from reports.frame.index import TABLES_HEADING
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import NONE, joined, spelled
from validation.harness import StudyResult
from validation.papers.paper2.data import CODING_NAMES, KERNEL_NAMES, KERNELS, SETS, column, scores_of
from validation.papers.paper2.draws import bayes_rule, moc_draws
from validation.papers.paper2.orders import moc_orders
from validation.papers.paper2.table2_published import CODINGS
from validation.papers.table import ReproducedTable

from .papers import (
    answer_of,
    comparison_table,
    differences_picture,
    differences_table,
    thumbnail_of,
    verdict_sentences,
)

COLOURS = {"ovo": BLUE, "ova": VERMILION, "moc": PURPLE, "ecoc": GREEN}
SHAPES = {"ovo": "o", "ova": "s", "moc": "D", "ecoc": "^"}
REASONS = (
    "Reasons were looked for after the fact. Where an entry differs, choices that the paper leaves open are tried on "
    "the same members and randomisations: two other rules for ties and two other orders of the classes. The "
    "nearest is named; it can reproduce the figure, but need not be what the paper did.",
)
RULES = {
    "hamming": "by the outputs' sizes (ours)",
    "hamming-first": "to the first of them",
    "hamming-strict": "no label, counted as wrong",
}


def coding_page(
    result: StudyResult,
    shown: ReproducedTable,
    decodings: Mapping[str, str],
    *,
    second: str,
    introduction: str,
    methods: tuple[str, ...],
    sections: tuple[Section, ...] = (),
) -> Page:
    """A table by kernel, coding and decoding, with all that belongs to it; `second` is the one beside Hamming's."""
    made = (make(result, shown, decodings) for make in (orders_table, draws_table))
    tried = [table for table in made if table is not None]
    points = (*worse_point(shown), *gain_points(result, decodings, second))
    return Page(
        answer=answer_of([shown], f"{shown.source.partition(', ')[2]} of paper 2", points),
        introduction=introduction,
        findings=(*verdict_sentences(shown), *decoding_sentences(result, decodings)),
        key_picture=decodings_picture(result, decodings),
        key_table=comparison_table(kernel_view(shown, "linear"), title=f"{shown.source}, linear kernel"),
        sections=(
            Section("RBF kernel", tables=(comparison_table(kernel_view(shown, "rbf"), title=f"{shown.source}, RBF"),)),
            against_section(shown),
            Section(
                "What decides ties, and the order of classes",
                tables=(ties_table(result, shown), *tried),
            ),
            *sections,
        ),
        methods=(*methods, *left_out_sentences(result)),
        result=result,
        thumbnail=thumbnail_of([shown], "entries: reproduced (blue), better, worse"),
        group=TABLES_HEADING,
        related=("reproduction", "paper2-table2", "paper2-table3", "multiclass-calibration"),
    )


def worse_point(shown: ReproducedTable) -> tuple[str, ...]:
    """Which data sets and codings are worse."""
    worse = [e for e in shown.entries if shown.verdict(e) == "worse"]
    if not worse:
        return ()
    sets = joined([spelled(row) for row in dict.fromkeys(e.row for e in worse)])
    codings = joined(list(dict.fromkeys(e.column.split()[-1] for e in worse)))
    return (f"All entries that are worse belong to the data {sets} and the coding {codings}.",)


def gain_points(result: StudyResult, decodings: Mapping[str, str], second: str) -> tuple[str, ...]:
    """The mean gain in accuracy of the second decoding over Hamming's, for each kernel."""
    a, b = (means(result, decoding) for decoding in decodings)
    said = []
    for kernel in KERNELS:
        gains = [b[key] - a[key] for key in a if key[1] == kernel and key in b]
        if gains:
            gain = f"{_mean(gains) + 0.0:+.1f}".replace("-", "−")
            said.append(
                f"{second} decoding changes accuracy by {gain} points on average ({KERNEL_NAMES[kernel]} kernel)."
            )
    return tuple(said)


def left_out_sentences(result: StudyResult) -> tuple[str, ...]:
    """Which classes were missing in how many randomisations."""
    found: dict[tuple[str, str], set[int]] = {}
    for finished in result.cells:
        s = finished.cell.settings
        for name in finished.values.get("left_out", ()):
            found.setdefault((s["data"], name), set()).add(s["randomisation"])
    if not found:
        return ()
    listed = ", ".join(f"{data} {name} ({len(rs)})" for (data, name), rs in sorted(found.items()))
    return (f"Classes that a training part lacked or had too few of, and in how many randomisations: {listed}.",)


def kernel_view(shown: ReproducedTable, kernel: str) -> ReproducedTable:
    """The columns of one kernel."""
    columns = tuple(c for c in shown.columns if c.startswith(f"{KERNEL_NAMES[kernel]} "))
    entries = tuple(e for e in shown.entries if e.column in columns)
    prefix = len(KERNEL_NAMES[kernel]) + 1
    renamed = tuple(replace(e, column=e.column[prefix:]) for e in entries)
    return replace(shown, columns=tuple(c[prefix:] for c in columns), entries=renamed)


def pictures_of(*found: Picture | None) -> tuple[Picture, ...]:
    """Those that could be drawn."""
    return tuple(picture for picture in found if picture is not None)


def against_section(shown: ReproducedTable) -> Section:
    """All entries against the paper's, and those that differ with why."""
    differences = differences_table(shown)
    picture = differences_picture(shown)
    return Section(
        "Ours against theirs",
        REASONS if differences is not None else (),
        pictures=pictures_of(picture),
        tables=() if differences is None else (differences,),
    )


def _mean(scores: Sequence[float]) -> float:
    return float(np.mean(scores)) if scores else float("nan")


def means(result: StudyResult, decoding: str, measure: str = "accuracy") -> dict[tuple[str, str, str], float]:
    """Mean score by data set, kernel and coding, where there are scores."""
    found = {}
    for name in SETS["full"]:
        for kernel in KERNELS:
            for coding in CODINGS:
                if scores := scores_of(result, name, kernel, coding, decoding, measure):
                    found[name, kernel, coding] = _mean(scores)
    return found


def decoding_sentences(result: StudyResult, decodings: Mapping[str, str]) -> tuple[str, ...]:
    """How the second decoding does against the first, on average over the data sets."""
    first, second = decodings
    a, b = means(result, first), means(result, second)
    sentences = []
    for kernel in KERNELS:
        parts = []
        for coding in CODINGS:
            keys = [key for key in a if key[1:] == (kernel, coding) and key in b]
            if keys:
                gain = _mean([b[key] - a[key] for key in keys])
                parts.append(f"{CODING_NAMES[coding]} {gain:+.1f}".replace("-", "−"))
        if parts:
            sentences.append(
                f"With the {KERNEL_NAMES[kernel]} kernel, {decodings[second]} minus {decodings[first]} decoding, in "
                f"percentage points, averaged over the sets: {', '.join(parts)}."
            )
    return tuple(sentences)


def decodings_picture(result: StudyResult, decodings: Mapping[str, str]) -> Picture | None:
    """What the second decoding gains over the first, by data set and coding, a panel for each kernel."""
    first, second = decodings
    a, b = means(result, first), means(result, second)
    names = [name for name in SETS["full"] if any(key[0] == name for key in a)]
    if not names:
        return None
    with new_figure(10.0, 0.42 * len(names) + 1.6) as figure:
        panels = figure.subplots(1, len(KERNELS), sharex=True, sharey=True)
        for panel, kernel in zip(panels, KERNELS, strict=True):
            panel.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
            for place, coding in enumerate(CODINGS):
                keys = [(i, (name, kernel, coding)) for i, name in enumerate(names) if (name, kernel, coding) in a]
                rows = [i + 0.16 * (place - 1.5) for i, _ in keys]  # side by side, so that none hides another
                style: dict[str, Any] = {"marker": SHAPES[coding], "color": COLOURS[coding], "linestyle": ""}
                panel.plot([b[key] - a[key] for _, key in keys], rows, label=CODING_NAMES[coding], **style)
            panel.set_title(f"{KERNEL_NAMES[kernel]} kernel", loc="left")
            panel.set_yticks(range(len(names)), [spelled(name) for name in names])
            panel.set_ylim(len(names) - 0.4, -0.6)
        figure.supxlabel(f"accuracy of {decodings[second]} − {decodings[first]} decoding (points)", fontsize=9.5)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=4)
    return Picture(
        "decodings",
        figure,
        f"Difference in accuracy between {decodings[second]} and {decodings[first]} decoding for each data set, kernel "
        "and coding.",
        f"What {decodings[second]} decoding gains over {decodings[first]} decoding of the same members, mean over "
        "randomisations. Marks to the right of the line: it is the better one.",
    )


def ties_table(result: StudyResult, shown: ReproducedTable) -> Table:
    """Hamming decoding by three rules for ties, averaged over the data sets that were computed."""
    by_rule = {rule: means(result, rule) for rule in RULES}
    rows = []
    for kernel in KERNELS:
        for coding in CODINGS:
            ours = [_mean([v for key, v in found.items() if key[1:] == (kernel, coding)]) for found in by_rule.values()]
            entries = [e for e in shown.entries if e.column == column(kernel, "Hamming", coding) and e.scores]
            theirs = _mean([e.published.mean for e in entries if e.published is not None])
            cells = tuple(f"{value:.1f}" if math.isfinite(value) else NONE for value in (*ours, theirs))
            rows.append(Row(f"{KERNEL_NAMES[kernel]}, {CODING_NAMES[coding]}", cells))
    return Table(
        "Hamming decoding: where the tied classes' rows go",
        ("", *RULES.values(), "paper"),
        tuple(rows),
        "Accuracy in %, mean over the data sets that were computed. For 1vsA the first rule is the paper's.",
    )


def orders_table(result: StudyResult, shown: ReproducedTable, decodings: Mapping[str, str]) -> Table | None:
    """Minimal output coding by each order of the classes that was tried; None where none was."""
    rows = []
    for name in SETS["full"]:
        for kernel in KERNELS:
            orders = moc_orders(result, name, kernel, decodings)
            for decoding, words in decodings.items():
                entry = shown.entry(name, column(kernel, words, "moc"))
                if orders and entry is not None and entry.published is not None:
                    others = [f"{scores[decoding]:.1f}" for scores in orders.values()]
                    if len(others) > 2:  # drawn at random
                        found = sorted(scores[decoding] for scores in orders.values())
                        others = [f"{found[0]:.1f} to {found[-1]:.1f}", f"{len(found)} drawn"]
                    cells = (f"{entry.mean:.1f}", *others, f"{entry.published.mean:.1f}")
                    rows.append(Row(f"{name}, {KERNEL_NAMES[kernel]}, {words}", cells))
    if not rows:
        return None
    return Table(
        "Minimal output coding by the order of the classes",
        ("", "as UCI lists them (ours)", "second order", "third order", "paper"),
        tuple(rows),
        "Accuracy in %. Two bits tell three or four classes apart by two of their three dichotomies, so there are "
        "three codes. The second and third order leave out another dichotomy. Of more classes orders are drawn at "
        "random, and the smallest and largest accuracy are given.",
    )


def draws_table(result: StudyResult, shown: ReproducedTable, decodings: Mapping[str, str]) -> Table | None:
    """Minimal output coding on other draws of a generated set; None where none was tried."""
    rows = []
    for kernel in KERNELS:
        drawn = moc_draws(result, "led", kernel, decodings)
        for decoding, words in decodings.items():
            entry = shown.entry("led", column(kernel, words, "moc"))
            if drawn and entry is not None and entry.published is not None:
                found = sorted(scores[decoding] for scores in drawn)
                middle = f"{float(np.median(found)):.1f}"
                cells = (f"{entry.mean:.1f}", f"{found[0]:.1f}", middle, f"{found[-1]:.1f}")
                rows.append(Row(f"{KERNEL_NAMES[kernel]}, {words}", (*cells, f"{entry.published.mean:.1f}")))
    if not rows:
        return None
    count = max(len(moc_draws(result, "led", kernel, decodings)) for kernel in KERNELS)
    return Table(
        f"Minimal output coding of led on {count} other draws of its 600 rows",
        ("", "ours", "smallest", "median", "largest", "paper"),
        tuple(rows),
        "Accuracy in %, means over the randomisations. Each segment of a digit is wrong with probability 0.1. Bayes' "
        f"rule is right in 74 % of all cases, and in {bayes_rule(*load('led').Xy):.1f} % of the table's 600 rows.",
    )
