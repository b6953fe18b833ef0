"""How the columns of a table become numbers, as a record that goes with the model.

    number       the number itself, or the median of the training rows where it is missing
    yes/no       0 and 1
    categories   for two of them 0 and 1, for more a column of zeros and ones for each

A category that the training rows did not have, or hardly had, is zero in all columns, and halfway where there is one.
Whatever cannot be read is an `InputError` with a sentence for each column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from .number_text import COMMA, POINT, is_missing, is_too_large, number_column
from .tables import Table, read_table
from .text import InputError, listed, quoted, typed
from .typing import Array

Kind = Literal["number", "yes/no", "categories"]
KINDS: tuple[Kind, ...] = ("number", "yes/no", "categories")
LARGEST = 1e70  # level 2 needs fourth powers of the targets
_HALFWAY = 0.5


@dataclass(frozen=True)
class Column:
    """How one column is read.

    Attributes
    ----------
    name : str
    kind : {"number", "yes/no", "categories"}
    categories : tuple of str
        What has a column of its own; for yes/no the word for 0 and the word for 1, in small letters.
    rare : tuple of str
        Categories of the training rows that are too rare for a column.
    decimal : {".", ","}
        Decides about cells such as 1,234, which can be read in two ways.
    fill : float or str
        What stands for a missing value: the median, or the most frequent category.
    """

    name: str
    kind: Kind = "number"
    categories: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()
    decimal: str = POINT
    fill: float | str = float("nan")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that the column becomes."""
        if self.kind != "categories":
            return (self.name,)
        shown = self.categories[1:] if self.is_switch else self.categories
        return tuple(f"{self.name}={category}" for category in shown)

    @property
    def is_switch(self) -> bool:
        """Whether two values become one column of 0 and 1."""
        return self.kind == "yes/no" or (len(self.categories) == 2 and not self.rare)

    def missing(self, cells: Sequence[str]) -> list[bool]:
        """Which cells have no value."""
        return [is_missing(cell, among_numbers=self.kind == "number") for cell in cells]

    def filled(self) -> Array:
        """What stands for a missing value, of shape (len(inputs),)."""
        return np.array([self.fill]) if isinstance(self.fill, float) else self._codes(self.fill)

    def _codes(self, cell: str) -> Array:
        """The numbers that a category becomes."""
        word = cell.casefold() if self.kind == "yes/no" else cell
        if not self.is_switch:
            return np.array([float(word == category) for category in self.categories])
        known = word in self.categories
        return np.array([float(self.categories.index(word)) if known else _HALFWAY])

    def is_known(self, cell: str) -> bool:
        """Whether the training rows had this category."""
        word = cell.casefold() if self.kind == "yes/no" else cell
        return word in self.categories or word in self.rare

    def values(self, table: Table) -> Array:
        """The inputs that the cells become, of shape (N, len(inputs)); missing values are NaN."""
        cells = table.column(self.name)
        gaps = self.missing(cells)
        if self.kind == "number":
            numbers = self._numbers(table, cells, gaps)
            return np.array([[np.nan if gap else numbers[c]] for c, gap in zip(cells, gaps, strict=True)])
        codes = {cell: self._codes(cell) for cell in set(cells)}
        nothing = np.full(len(self.inputs), np.nan)
        return np.array([nothing if gap else codes[cell] for cell, gap in zip(cells, gaps, strict=True)])

    def _numbers(self, table: Table, cells: Sequence[str], gaps: Sequence[bool]) -> dict[str, float]:
        present = [cell for cell, gap in zip(cells, gaps, strict=True) if not gap]
        if not present:
            return {}
        found = number_column(present).read(self.decimal)
        if found is None:
            place, cell = first_text(table, self.name)
            raise InputError(f"{place}: {quoted(cell)} is text, but the model was fitted to numbers in this column.")
        refuse_too_large(table, self.name, found[1])
        return found[1]


class Encoded(NamedTuple):
    """Inputs of shape (N, d), how many values were filled in by column, and the categories that were not known."""

    X: Array
    filled: dict[str, int]
    unknown: dict[str, Counter[str]]

    def sentences(self) -> list[str]:
        """What the user should know."""
        said = [
            f"{count} missing value{'s' * (count > 1)} in column {quoted(name)} {'were' if count > 1 else 'was'} "
            "filled in from the training rows."
            for name, count in self.filled.items()
        ]
        for name, found in self.unknown.items():
            kinds = listed((f"{quoted(cell)} ({count})" for cell, count in found.most_common()), 5)
            said.append(
                f"column {quoted(name)} has values that did not occur in the training rows, and they are ignored: "
                f"{kinds}."
            )
        return said


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become the inputs of a model, in their order.

    Attributes
    ----------
    columns : tuple of Column
    fills : bool
        Whether missing values are filled in without being asked for.
    """

    columns: tuple[Column, ...]
    fills: bool = False

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> Encoding:
        """Columns that all hold numbers."""
        return cls(tuple(Column(name) for name in names))

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the table that are used."""
        return tuple(column.name for column in self.columns)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(chain.from_iterable(column.inputs for column in self.columns))

    @property
    def sources(self) -> tuple[str, ...]:
        """For each input the column that it comes from."""
        return tuple(chain.from_iterable([column.name] * len(column.inputs) for column in self.columns))

    def encode(self, table: Table, *, fill: bool | None = None) -> Encoded:
        """The inputs of a table whose columns are found by name."""
        lacking = [name for name in self.names if name not in table.names]
        if lacking:
            raise InputError(
                f"{table.source} lacks {len(lacking)} of the model's {len(self.columns)} inputs: "
                f"{listed(map(quoted, lacking), 10)}; its columns are {listed(map(quoted, table.names), 20)}."
            )
        parts: list[Array] = []
        problems: list[str] = []
        for column in self.columns:
            try:
                parts.append(column.values(table))
            except InputError as error:
                problems += error.sentences
        if problems:
            raise InputError(*problems)
        gaps = {c.name: int(np.isnan(p[:, 0]).sum()) for c, p in zip(self.columns, parts, strict=True)}
        gaps = {name: count for name, count in gaps.items() if count}
        if gaps and not (self.fills if fill is None else fill):
            raise InputError(missing_sentence(table, gaps) + " Add --impute median to fill them in.")
        X = np.hstack([np.where(np.isnan(p), c.filled(), p) for c, p in zip(self.columns, parts, strict=True)])
        if np.isnan(X).any():
            raise InputError(missing_sentence(table, gaps) + " The model has stored no medians; fill them in first.")
        return Encoded(X, gaps, self._unknown(table))

    def read(self, path: str) -> Array:
        """The inputs of a file, of shape (N, d): what `predict` of the model takes."""
        return self.encode(read_table(str(path))).X

    def _unknown(self, table: Table) -> dict[str, Counter[str]]:
        found = {}
        for column in self.columns:
            if column.kind == "number":
                continue
            cells = [cell for cell in table.column(column.name) if not is_missing(cell) and not column.is_known(cell)]
            if cells:
                found[column.name] = Counter(cells)
        return found

    def to_dict(self) -> dict[str, Any]:
        """For model files."""
        return {"columns": [asdict(column) for column in self.columns], "fills": self.fills}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Encoding:
        """What `to_dict` gave; anything else is a `ValueError`."""
        columns = tuple(_column(**spec) for spec in record["columns"])
        found = cls(columns, bool(record["fills"]))
        if len(set(found.inputs)) != len(found.inputs):
            raise ValueError("two inputs have the same name")
        return found


def _column(name: Any, kind: Any, categories: Any, rare: Any, decimal: Any, fill: Any) -> Column:
    texts = (name, kind, decimal, *categories, *rare)
    number = isinstance(fill, float) and kind == "number"
    if not all(isinstance(text, str) for text in texts) or not (number or (isinstance(fill, str) and kind != "number")):
        raise ValueError(f"column {name!r} has an invalid description")
    least = {"number": 0, "yes/no": 2, "categories": 1}
    if kind not in KINDS or decimal not in (POINT, COMMA) or len(categories) < least[kind]:
        raise ValueError(f"column {name!r} has an invalid description")
    return Column(name, kind, tuple(categories), tuple(rare), decimal, fill)


# --- sentences -------------------------------------------------------------------------------------------------------


def missing_sentence(table: Table, counts: dict[str, int]) -> str:
    """How many values are missing where."""
    total = sum(counts.values())
    where = listed((f"{quoted(name)} ({count})" for name, count in counts.items()), 20)
    return f"{table.source} has {total} missing value{'s' * (total > 1)}, in column{'s' * (len(counts) > 1)} {where}."


def first_text(table: Table, name: str) -> tuple[str, str]:
    """Where the first cell stands that is no number by itself, and what it says."""
    places = zip(table.lines, table.column(name), strict=True)
    unread = [(line, cell) for line, cell in places if not is_missing(cell, among_numbers=True)]
    line, cell = next(((i, c) for i, c in unread if not number_column([c]).numeric), unread[0])
    return f"{table.source}, line {line}, column {quoted(name)}", cell


def refuse_too_large(table: Table, name: str, numbers: dict[str, float]) -> None:
    """Refuse numbers that are infinite, or whose powers would be."""
    for line, cell in zip(table.lines, table.column(name), strict=True):
        if cell in numbers and is_too_large(numbers[cell], LARGEST):
            raise InputError(
                f"{table.source}, line {line}, column {quoted(name)}: {quoted(cell)} is not a finite number below "
                f"{LARGEST:g}; correct it, give the column another unit, or leave it out with --ignore {typed(name)}."
            )
