"""A reproduced table for the terminal: our mean and standard deviation over the paper's, with the verdict's mark."""

from __future__ import annotations

import math
import textwrap

from .table import Entry, ReproducedTable, Verdict

MARKS: dict[Verdict, str] = {"reproduced": "=", "better": "^", "worse": "v", "ours alone": " ", "not computed": " "}
WIDTH = 100


def as_text(table: ReproducedTable) -> str:
    """The table, in blocks of columns that fit a terminal, and what became of it."""
    labels = max(len(row) for row in ("paper", *table.rows)) + 2
    cells = {(e.row, e.column): (_ours(table, e), _theirs(table, e)) for e in table.entries}
    rows = [row for row in table.rows if any(ours for (r, _), (ours, _) in cells.items() if r == row)]
    width = max([len(c) for c in table.columns] + [len(text) for pair in cells.values() for text in pair]) + 2
    across = max(1, (WIDTH - labels) // width)
    spread = "mean ± standard error" if table.kind == "se" else "mean (sd)"
    lines = [table.title, f"{table.measure}; {spread} of ours over the paper's; = reproduced, ^ better, v worse"]
    for start in range(0, len(table.columns), across):
        columns = table.columns[start : start + across]
        lines += ["", " " * labels + "".join(column.rjust(width) for column in columns)]
        for row in rows:
            pairs = [cells.get((row, column), ("", "")) for column in columns]
            lines.append(row.ljust(labels) + "".join(ours.rjust(width) for ours, _ in pairs))
            if any(theirs for _, theirs in pairs):
                # the paper's figure stands below ours, which has a mark behind it
                lines.append("  paper".ljust(labels) + "".join((theirs + "  ").rjust(width) for _, theirs in pairs))
    lines += ["", summary(table), *(textwrap.fill(sentence, WIDTH) for sentence in table.absent)]
    return "\n".join(line.rstrip() for line in lines)


def summary(table: ReproducedTable) -> str:
    """How many entries have each verdict."""
    found: dict[Verdict, int] = dict.fromkeys(MARKS, 0)
    for entry in table.entries:
        found[table.verdict(entry)] += 1
    return ", ".join(f"{count} {verdict}" for verdict, count in found.items() if count) + "."


def _ours(table: ReproducedTable, entry: Entry) -> str:
    if not entry.scores:
        return ""
    se = table.kind == "se"
    return f"{_number(entry.mean, entry.se if se else entry.sd, se, table.digits)} {MARKS[table.verdict(entry)]}"


def _theirs(table: ReproducedTable, entry: Entry) -> str:
    if entry.published is None:
        return ""
    return _number(entry.published.mean, entry.published.spread, entry.published.kind == "se", table.digits)


def _number(mean: float, spread: float | None, se: bool, digits: int) -> str:
    shown = f"{mean:.{digits}f}"
    if spread is None or not math.isfinite(spread):
        return shown
    return f"{shown} ± {spread:.{digits}f}" if se else f"{shown} ({spread:.{digits}f})"
