"""A user's table as inputs and target. What is left out is noted; what cannot be used is a sentence."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.tables import Table, is_missing, is_number, read_table
from bayes_lssvm.base.text import InputError, listed, quoted
from bayes_lssvm.base.typing import Array

from .labels import Coding, DataError, choose_coding

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_FEW_VALUES = 10  # as many whole numbers may be classes


class Raw(NamedTuple):
    """Data before standardisation.

    Attributes
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
        −1 and +1, or numbers as the source has them.
    coding : Coding or None
        None for real targets.
    """

    X: Array
    y: Array
    feature_names: tuple[str, ...]
    target_name: str
    coding: Coding | None
    notes: tuple[str, ...] = ()
    X_test: Array | None = None
    y_test: Array | None = None


def read_csv(path: Path, target: str | None, positive: str | None) -> Raw:
    """Read a CSV file with a header."""
    try:
        table = read_table(str(path))
        if target is None:
            raise DataError(
                f"Which column of {table.source} is the target? Give its name; the columns are "
                f"{listed(map(quoted, table.names), 20)}."
            )
        table.find(target)
        return _raw(table, target, positive)
    except InputError as error:
        raise DataError(str(error)) from None


def _raw(table: Table, target: str, positive: str | None) -> Raw:
    inputs = [name for name in table.names if name != target]
    empty = [name for name in inputs if all(map(is_missing, table.column(name)))]
    inputs = [name for name in inputs if name not in empty]
    if not inputs:
        raise DataError(f"{table.source} has no input column beside the target {quoted(target)}.")
    _refuse_text(table, inputs)  # before rows are left out: a text column may be what is incomplete
    notes = [f"The column {quoted(name)} has no values and was left out." for name in empty]
    table, note = _complete(table, [*inputs, target])
    X = table.numbers(inputs, "")
    y, coding, about = _target(table, target, positive)
    return Raw(X, y, tuple(inputs), target, coding, (*notes, *note, *about))


def _refuse_text(table: Table, inputs: list[str]) -> None:
    text = [n for n in inputs if not all(is_number(cell) or is_missing(cell) for cell in table.column(n))]
    if text:
        others = f" So do {listed(map(quoted, text[1:]), 5)}." if len(text) > 1 else ""
        advice = f"Code the column as numbers, or leave it out of the file.{others}"
        table.numbers(text[:1], advice.replace("{", "{{").replace("}", "}}"))


def _complete(table: Table, names: list[str]) -> tuple[Table, tuple[str, ...]]:
    """The rows without a missing value in these columns, and a note about the others."""
    positions = [table.find(name) for name in names]
    whole = [not any(is_missing(row[j]) for j in positions) for row in table.rows]
    left_out = whole.count(False)
    if not left_out:
        return table, ()
    if left_out == len(whole):
        counts = Counter({n: sum(map(is_missing, table.column(n))) for n in names})
        worst = listed((f"{quoted(n)} ({count} of {len(whole)})" for n, count in counts.most_common(5) if count), 5)
        raise DataError(
            f"{table.source} has no row without a missing value; most are missing in {worst}. Leave these columns out "
            "of the file, or fill them in."
        )
    rows = tuple(row for row, keep in zip(table.rows, whole, strict=True) if keep)
    lines = tuple(line for line, keep in zip(table.lines, whole, strict=True) if keep)
    return replace(table, rows=rows, lines=lines), (missing_note(left_out, len(rows)),)


def missing_note(left_out: int, remain: int) -> str:
    """What is said about rows that were left out."""
    counted = "1 row with missing values was" if left_out == 1 else f"{left_out} rows with missing values were"
    return f"{counted} left out; {remain} remain."


def _target(table: Table, target: str, positive: str | None) -> tuple[Array, Coding | None, tuple[str, ...]]:
    """The target as −1 and +1 or as numbers, its coding, and notes."""
    cells, where = table.column(target), f"{table.source}: the target {quoted(target)}"
    if all(map(is_number, cells)):
        values = table.numbers([target], "")[:, 0]
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) > 2 and positive is None:
            return values, None, _maybe_classes(distinct, target)
        wanted = _name(float(positive)) if positive is not None and is_number(positive) else positive
        named = dict(zip(map(_name, distinct.tolist()), counts.tolist(), strict=True))
        coding = choose_coding(named, wanted, where)
        return coding(np.array([_name(value) for value in values.tolist()])), coding, ()
    found = Counter(sorted(cells))
    if len(found) > 2 and positive is None and any(is_number(c) or _DECIMAL_COMMA.fullmatch(c) for c in cells):
        table.numbers([target], "Correct it; or, if the target is classes, choose one of them with `positive`.")
    coding = choose_coding(found, positive, where)
    return coding(np.array(cells)), coding, ()


def _name(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _maybe_classes(distinct: Array, target: str) -> tuple[str, ...]:
    if len(distinct) > _FEW_VALUES or not np.array_equal(distinct, np.round(distinct)):
        return ()
    return (
        f"The target {quoted(target)} has {len(distinct)} whole numbers as values and was taken as a quantity; if they "
        "are classes, choose one against the rest with `positive`.",
    )
