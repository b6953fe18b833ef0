"""From a table to inputs and target: which columns, and whether the target is classes or a number."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.encoding import Encoding, first_text, refuse_too_large
from ..base.number_text import NumberColumn, is_number, number_column
from ..base.table_inputs import Options, Prepared, prepare
from ..base.tables import Table, read_table
from ..base.text import InputError, listed, quoted
from ..base.typing import AnyArray, Array
from ..base.weights import check_weights, with_weight
from .output import say

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_FEW_VALUES = 10


@dataclass(frozen=True)
class Training:
    """What a model is fitted to.

    Attributes
    ----------
    source : str
        The file, as messages name it.
    encoding : Encoding
        How the columns of the table became inputs.
    steps : dict of str to str
        What was done to each column that is not the target.
    target : str
        Name of the target column.
    task : "classification" or "regression"
    X : array of shape (N, d)
    y : array of shape (N,)
        Labels or numbers.
    counts : dict
        Rows of each class, in the order of the classes; empty for regression.
    warnings : tuple of str
        What was said about the columns.
    weights : array of shape (N,) or None
        Of the rows.
    """

    source: str
    encoding: Encoding
    steps: dict[str, str]
    target: str
    task: str
    X: Array
    y: AnyArray
    counts: dict[Any, int]
    warnings: tuple[str, ...] = ()
    weights: Array | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the d inputs."""
        return self.encoding.inputs

    def with_weight(self) -> Training:
        """The same without the rows of weight zero; classes that have no other are left out too."""
        if self.weights is None or np.all(self.weights > 0.0):
            return self
        X, y, weights = with_weight(self.X, self.y, self.weights)
        counts = {label: int(np.sum(y == label)) for label in self.counts}
        return replace(self, X=X, y=y, weights=weights, counts={k: n for k, n in counts.items() if n})

    def describe(self) -> list[tuple[str, str]]:
        """The data as lines of a table."""
        if self.task == "classification":
            groups = ", ".join(f"{label} ({count} rows)" for label, count in self.counts.items())
            target = f"{self.target}, classes {groups}"
        else:
            target = f"{self.target}, numbers from {self.y.min():.6g} to {self.y.max():.6g}"
        inputs = f"{len(self.X)} rows, {len(self.inputs)} input{'s' * (len(self.inputs) > 1)}"
        return [("data", f"{self.source}: {inputs} ({listed(self.inputs, 8)})"), ("target", target)]

    def record(self) -> dict[str, Any]:
        """The data for JSON."""
        return {
            "file": self.source,
            "rows": len(self.X),
            "inputs": self.inputs,
            "columns": self.steps,
            "target": self.target,
            "classes": [{"label": label, "rows": count} for label, count in self.counts.items()],
        }


def options_of(args: argparse.Namespace) -> Options:
    """What the arguments say about the table."""
    return Options(args.ignore, args.categories, args.impute, args.decimal)


def read_training(
    path: str, target: str, task: str, options: Options, *, many_classes: bool = False, weights: str | None = None
) -> Training:
    """Read a table for training. `task` may be "auto"; columns to ignore are neither read nor checked.

    More than two classes are refused unless `many_classes`. The column `weights` is no input.
    """
    table = read_table(path)
    if weights is not None and table.names[table.find(weights)] in (target, *options.ignore):
        raise InputError(f"the column {quoted(weights)} cannot be the weights and the target, or ignored, as well.")
    prepared = prepare(table, target, options, aside=[] if weights is None else [weights])
    table, X = prepared.table, prepared.X
    for kind, sentences in (("note", prepared.notes), ("warning", prepared.warnings)):
        for sentence in sentences:
            say(kind, sentence)
    if not np.ptp(X, axis=0).any():
        raise InputError(f"{table.source}: no input column varies, so there is nothing to learn from.")
    numbers = number_column(table.column(target))
    task = _choose_task(target, numbers, many_classes) if task == "auto" else task
    counts: dict[Any, int] = {}
    if task == "regression":
        y: AnyArray = _numbers(prepared, target, numbers)
    else:
        y, counts = _classes(table, target, many_classes)
    own = None if weights is None else _weights(prepared, weights)
    return Training(table.source, prepared.encoding, prepared.steps, target, task, X, y, counts, prepared.warnings, own)


def _weights(prepared: Prepared, column: str) -> Array | None:
    """The weights of the rows that are used; None where all are one."""
    table = prepared.table
    found = number_column(table.column(column)).read(prepared.decimal)
    if found is None:
        place, cell = first_text(table, column)
        raise InputError(f"{place}: {quoted(cell)} is not a number, but weights must be numbers.")
    try:
        return check_weights([found[1][cell] for cell in table.column(column)], len(table.rows), f"--weights {column}")
    except ValueError as error:
        raise InputError(str(error)) from None


def looks_like_classes(targets: AnyArray) -> bool:
    """Whether targets are classes: anything but numbers, or no more than two of them."""
    return targets.dtype.kind not in "fiu" or len(np.unique(targets)) <= 2


def _choose_task(target: str, numbers: NumberColumn, many_classes: bool) -> str:
    values = set(next(iter(numbers.readings.values()), {}).values())
    if len(values) <= 2:  # or none, as the cells are text
        return "classification"
    if len(values) <= _FEW_VALUES and all(value.is_integer() for value in values):
        say(
            "note",
            f"the target {quoted(target)} has {len(values)} whole numbers as values and is taken as a quantity "
            "(regression); if they are classes, "
            + ("use --task classification." if many_classes else "keep two of them, since this command takes no more."),
        )
    return "regression"


def _classes(table: Table, target: str, many: bool) -> tuple[AnyArray, dict[Any, int]]:
    """Labels as whole numbers if all of them are, else as text, and how many rows each has."""
    cells = table.column(target)
    if all(map(_WHOLE.fullmatch, cells)):
        y = np.array([int(cell) for cell in cells])
    elif all(map(is_number, cells)):
        refuse_too_large(table, target, {cell: float(cell) for cell in cells})
        values = np.array([float(cell) for cell in cells])
        # fractions are no class labels to scikit-learn, but as text they are
        whole = bool(np.all((values == np.round(values)) & (np.abs(values) < 1e18)))
        y = values.astype(int) if whole else np.array([repr(value) for value in values.tolist()])
    else:
        y = np.array(cells)
    counts = Counter(sorted(y.tolist()))
    if len(counts) < 2:
        raise InputError(
            f"{table.source}: the target {quoted(target)} is {quoted(cells[0])} in all {len(y)} rows; "
            "two classes or varying numbers are needed."
        )
    if len(counts) > len(y) // 2 and len(counts) > 2:
        raise InputError(
            f"{table.source}: the target {quoted(target)} has {len(counts)} different values in {len(y)} rows, too "
            "many to be classes. For a numeric target, use --task regression."
        )
    if len(counts) > 2 and not many:
        raise InputError(
            f"{table.source}: the target {quoted(target)} has {len(counts)} classes "
            f"({listed((quoted(str(label)) for label in counts), 6)}), but this command is for two classes; "
            "keep the rows of two of them, or make one class against the rest. fit takes any number."
        )
    return y, dict(counts)


def _numbers(prepared: Prepared, target: str, numbers: NumberColumn) -> Array:
    table = prepared.table
    found = numbers.read(prepared.decimal)
    if found is None:
        place, cell = first_text(table, target)
        advice = "If the target is a class, use --task classification."
        if numbers.numeric:
            advice = "Say how to read it with --decimal point or --decimal comma."
        raise InputError(f"{place}: {quoted(cell)} cannot be read as a number. {advice}")
    refuse_too_large(table, target, found[1])
    y = np.array([found[1][cell] for cell in table.column(target)])
    if np.ptp(y) == 0:
        raise InputError(
            f"{table.source}: the target {quoted(target)} is {y[0]:g} in all {len(y)} rows, so there is nothing to "
            "learn."
        )
    return y
