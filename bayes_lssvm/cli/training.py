"""From a table to inputs and target: which columns, and whether the target is classes or a number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.tables import Table, is_number, read_table
from ..base.text import InputError, listed, quoted
from ..base.typing import AnyArray, Array
from .output import say

MIN_ROWS = 3
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_FEW_VALUES = 10
_TEXT_INPUT = "Code it as numbers, or leave the column out with --ignore {column}."
_TEXT_TARGET = "For a target of classes, use --task classification."


@dataclass(frozen=True)
class Training:
    """What a model is designed on.

    Attributes
    ----------
    source : str
        The file, as messages name it.
    inputs : tuple of d str
        Names of the input columns.
    target : str
        Name of the target column.
    task : "classification" or "regression"
    X : array of shape (N, d)
    y : array of shape (N,)
        Labels or numbers.
    counts : dict
        Rows of each class, in the order of the classes; empty for regression.
    """

    source: str
    inputs: tuple[str, ...]
    target: str
    task: str
    X: Array
    y: AnyArray
    counts: dict[Any, int]

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
            "target": self.target,
            "classes": [{"label": label, "rows": count} for label, count in self.counts.items()],
        }


def read_training(path: str, target: str, task: str, ignore: Sequence[str], *, many_classes: bool = False) -> Training:
    """Read a table for training. `task` may be "auto"; columns to `ignore` are neither read nor checked.

    More than two classes are refused unless `many_classes`.
    """
    table = read_table(path)
    table.find(target)
    left_out = {table.names[table.find(name)] for name in ignore}
    if target in left_out:
        raise InputError(f"the target {quoted(target)} cannot be ignored as well.")
    inputs = tuple(name for name in table.names if name != target and name not in left_out)
    if not inputs:
        raise InputError(f"{table.source} has no input column beside the target {quoted(target)}.")
    if len(table.rows) < MIN_ROWS:
        raise InputError(
            f"{table.source} has {len(table.rows)} row{'s' * (len(table.rows) > 1)}; at least {MIN_ROWS} are needed."
        )
    X = table.numbers(inputs, _TEXT_INPUT)
    if not np.ptp(X, axis=0).any():
        raise InputError(f"{table.source}: no input column varies, so there is nothing to learn from.")
    table.require_complete([target])
    task = _choose_task(table, target, many_classes) if task == "auto" else task
    y, counts = (_numbers(table, target), {}) if task == "regression" else _classes(table, target, many_classes)
    return Training(table.source, inputs, target, task, X, y, counts)


def looks_like_classes(targets: AnyArray) -> bool:
    """Whether targets are classes: anything but numbers, or no more than two of them."""
    return targets.dtype.kind not in "fiu" or len(np.unique(targets)) <= 2


def _choose_task(table: Table, target: str, many_classes: bool) -> str:
    cells = table.column(target)
    if not all(map(is_number, cells)) or len({float(cell) for cell in cells}) <= 2:
        return "classification"
    values = {float(cell) for cell in cells}
    if len(values) <= _FEW_VALUES and all(value.is_integer() for value in values):
        say(
            "note",
            f"the target {quoted(target)} has {len(values)} whole numbers as values and is taken as a quantity "
            "(regression); if they are classes, "
            + ("use --task classification." if many_classes else "keep two of them: this command takes no more."),
        )
    return "regression"


def _classes(table: Table, target: str, many: bool) -> tuple[AnyArray, dict[Any, int]]:
    """Labels as whole numbers if all of them are, else as text, and how many rows each has."""
    cells = table.column(target)
    if all(map(_WHOLE.fullmatch, cells)):
        y = np.array([int(cell) for cell in cells])
    elif all(map(is_number, cells)):
        values = table.numbers([target], "")[:, 0]
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
            f"{table.source}: the target {quoted(target)} has {len(counts)} different values in {len(y)} rows; these "
            "are hardly classes. For a target of numbers, use --task regression."
        )
    if len(counts) > 2 and not many:
        raise InputError(
            f"{table.source}: the target {quoted(target)} has {len(counts)} classes "
            f"({listed((quoted(str(label)) for label in counts), 6)}), but this command is for two classes; "
            "keep the rows of two of them, or make one class against the rest. fit takes any number."
        )
    return y, dict(counts)


def _numbers(table: Table, target: str) -> Array:
    y = table.numbers([target], _TEXT_TARGET)[:, 0]
    if np.ptp(y) == 0:
        raise InputError(
            f"{table.source}: the target {quoted(target)} is {y[0]:g} in all {len(y)} rows, so there is nothing to "
            "learn."
        )
    return y
