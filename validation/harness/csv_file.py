"""A user's table as inputs and target. What is left out is noted; what cannot be used is a sentence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.encoding import first_text, refuse_too_large
from bayes_lssvm.base.number_text import is_number, number_column
from bayes_lssvm.base.table_inputs import Options, Prepared, prepare
from bayes_lssvm.base.tables import read_table
from bayes_lssvm.base.text import InputError, listed, quoted
from bayes_lssvm.base.typing import Array

from .labels import Coding, DataError, choose_coding

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


def read_csv(path: Path, target: str | None, positive: str | None, options: Options) -> Raw:
    """Read a CSV file with a header, as the command line does; rows with missing values are left out by default."""
    try:
        table = read_table(str(path))
        if target is None:
            raise DataError(
                f"Which column of {table.source} is the target? Give its name; the columns are "
                f"{listed(map(quoted, table.names), 20)}."
            )
        prepared = prepare(table, target, options._replace(impute=options.impute or "drop"))
        y, coding, about = _target(prepared, target, positive)
    except InputError as error:
        raise DataError(str(error)) from None
    notes = (*map(_capital, (*prepared.notes, *prepared.warnings)), *about)
    return Raw(prepared.X, y, prepared.encoding.inputs, target, coding, notes)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _target(prepared: Prepared, target: str, positive: str | None) -> tuple[Array, Coding | None, tuple[str, ...]]:
    """The target as −1 and +1 or as numbers, its coding, and notes."""
    table = prepared.table
    cells, where = table.column(target), f"{table.source}: the target {quoted(target)}"
    numbers = number_column(cells)
    found = numbers.read(prepared.decimal)
    if found is not None:
        refuse_too_large(table, target, found[1])
        values = np.array([found[1][cell] for cell in cells])
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) > 2 and positive is None:
            return values, None, _maybe_classes(distinct, target)
        wanted = _name(float(positive)) if positive is not None and is_number(positive) else positive
        named = dict(zip(map(_name, distinct.tolist()), counts.tolist(), strict=True))
        coding = choose_coding(named, wanted, where)
        return coding(np.array([_name(value) for value in values.tolist()])), coding, ()
    classes = Counter(sorted(cells))
    if len(classes) > 2 and positive is None and any(number_column([cell]).numeric for cell in cells):
        place, cell = first_text(table, target)
        raise InputError(
            f"{place}: {quoted(cell)} is text, but a number is needed. Correct it; or, if the target is classes, "
            "choose one of them with `positive`."
        )
    coding = choose_coding(classes, positive, where)
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
