"""Numbers as people's files write them: decimal points or commas, thousands in groups, one unit sign for a column.

    1234.5   1e-3   1,234.5   1'234.5   1 234.5        with a decimal point
    1234,5   1.234,5   1 234,5                         with a decimal comma
    12%   12,5 %   $3   3 €                            a sign that every cell of the column has, which is left out

A cell such as 1,234 can be read in both ways. The other cells of its column decide, then the other columns of the
table; where they do not, a decimal point is taken if Python reads all cells as they are, and nothing is guessed else.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

POINT, COMMA = ".", ","
MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", "?"})
_MISSING_AMONG_NUMBERS = frozenset({"-", "--", ".", "none", "#null!"})  # elsewhere they may be a category
_SPACES = " \u00a0\u202f\u2009"
_GROUPED = {
    POINT: re.compile(rf"[+-]?\d{{1,3}}([,'’{_SPACES}])\d{{3}}(\1\d{{3}})*(\.\d+)?", re.ASCII),
    COMMA: re.compile(rf"[+-]?\d{{1,3}}([.'’{_SPACES}])\d{{3}}(\1\d{{3}})*(,\d+)?", re.ASCII),
}
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?", re.ASCII)
_GROUP_SIGNS = re.compile(rf"['’{_SPACES}]")


def is_missing(cell: str, *, among_numbers: bool = False) -> bool:
    """Whether a cell says that there is no value."""
    folded = cell.casefold()
    return folded in MISSING or (among_numbers and folded in _MISSING_AMONG_NUMBERS)


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number as it is; Python's 1_000 does not."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and not is_missing(cell)


def read_number(cell: str, decimal: str) -> float | None:
    """The number that a cell without a unit sign is, by one convention; None where it is none."""
    if decimal == POINT and is_number(cell):
        return float(cell)
    if decimal == COMMA and _DECIMAL_COMMA.fullmatch(cell):
        return float(cell.replace(",", "."))
    if not _GROUPED[decimal].fullmatch(cell):
        return None
    other = COMMA if decimal == POINT else POINT
    return float(_GROUP_SIGNS.sub("", cell.replace(other, "")).replace(decimal, "."))


class NumberColumn(NamedTuple):
    """How the cells of a column can be read.

    Attributes
    ----------
    sign : str
        The unit sign that all of them have, or nothing.
    readings : dict of str to dict of str to float
        By each convention that reads all cells, the number that each cell is.
    """

    sign: str
    readings: dict[str, dict[str, float]]

    @property
    def numeric(self) -> bool:
        """Whether some convention reads all cells."""
        return bool(self.readings)

    @property
    def ambiguous(self) -> bool:
        """Whether the conventions disagree, so that something else has to decide."""
        return len(self.readings) == 2 and self.readings[POINT] != self.readings[COMMA]

    @property
    def decimal(self) -> str | None:
        """The convention that the cells themselves show, if they do."""
        return next(iter(self.readings)) if len(self.readings) == 1 else None

    def read(self, decimal: str | None) -> tuple[str, dict[str, float]] | None:
        """Convention and numbers by cell; `decimal` decides where both are possible. None where the cells are not
        numbers, or nothing decides.
        """
        if not self.numeric:
            return None
        if not self.ambiguous:
            chosen = self.decimal or decimal or POINT
        elif decimal is not None:
            chosen = decimal
        elif all(map(is_number, self.readings[POINT])):
            chosen = POINT
        else:
            return None
        return chosen, self.readings[chosen]


def number_column(cells: Iterable[str]) -> NumberColumn:
    """How cells can be read as numbers; missing values are left aside."""
    distinct = [cell for cell in dict.fromkeys(cells) if not is_missing(cell, among_numbers=True)]
    sign = _common_sign(distinct)
    bare = {cell: _without(cell, sign) for cell in distinct}
    readings = {}
    for decimal in (POINT, COMMA):
        found = {cell: read_number(text, decimal) for cell, text in bare.items()}
        numbers = {cell: number for cell, number in found.items() if number is not None}
        if distinct and len(numbers) == len(found):
            readings[decimal] = numbers
    return NumberColumn(sign, readings)


def _common_sign(cells: list[str]) -> str:
    """A percent or currency sign at an end of every cell."""
    signs = {_sign_of(cell) for cell in cells}
    return signs.pop() if len(signs) == 1 else ""


def _sign_of(cell: str) -> str:
    ends = (cell[-1:], cell[:1])
    return next((end for end in ends if end == "%" or (end and unicodedata.category(end) == "Sc")), "")


def _without(cell: str, sign: str) -> str:
    if not sign:
        return cell
    return (cell.removesuffix(sign) if cell.endswith(sign) else cell.removeprefix(sign)).strip()


def table_decimal(columns: Iterable[NumberColumn]) -> str | None:
    """The convention that the columns show which leave no choice, if they agree.

    A column of whole numbers shows none, and neither does one that only Python's notation reads, such as 1e5.
    """
    shown = {c.decimal for c in columns if c.decimal is not None and any(map(_has_fraction, c.readings[c.decimal]))}
    return shown.pop() if len(shown) == 1 else None


def _has_fraction(cell: str) -> bool:
    return POINT in cell or COMMA in cell


def is_too_large(value: float, largest: float) -> bool:
    """Whether a number is infinite or beyond what the levels can square twice."""
    return not math.isfinite(value) or abs(value) >= largest
