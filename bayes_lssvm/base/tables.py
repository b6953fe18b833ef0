"""Reading tables: UTF-8 text with a header, separated by commas, semicolons or tabs.

Whatever is wrong with a table is an `InputError` whose sentence names the file, the line, the column and the value.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from .text import InputError, listed, quoted
from .typing import Array

STDIN = "-"
_SEPARATORS = (",", ";", "\t")
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})
_LARGEST = 1e70  # level 2 needs fourth powers of the targets
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True)
class Table:
    """A table of text cells.

    Attributes
    ----------
    source : str
        The file, as messages name it.
    names : tuple of d str
        The header.
    rows : tuple of N tuples of d str
    lines : tuple of N int
        The line of the file on which each row starts, for messages.
    """

    source: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    def find(self, name: str) -> int:
        """Position of a column; a name that is not there is answered with those that are."""
        if name in self.names:
            return self.names.index(name)
        by_folded = {known.casefold(): known for known in self.names}
        close = difflib.get_close_matches(name.casefold(), by_folded, n=3)
        hint = f" Did you mean {' or '.join(quoted(by_folded[c]) for c in close)}?" if close else ""
        raise InputError(
            f"{self.source} has no column {quoted(name)}.{hint} Its columns are {listed(map(quoted, self.names), 20)}."
        )

    def column(self, name: str) -> list[str]:
        """The cells of one column."""
        j = self.find(name)
        return [row[j] for row in self.rows]

    def require_complete(self, names: Sequence[str]) -> None:
        """Refuse missing values in these columns, with their number and place."""
        counts = {name: sum(is_missing(cell) for cell in self.column(name)) for name in names}
        missing = {name: count for name, count in counts.items() if count}
        if missing:
            total = sum(missing.values())
            where = listed((f"{quoted(name)} ({count})" for name, count in missing.items()), 10)
            raise InputError(
                f"{self.source} has {total} missing value{'s' * (total > 1)}, in column{'s' * (len(missing) > 1)} "
                f"{where}; fill in what is missing, or leave those rows or columns out."
            )

    def numbers(self, names: Sequence[str], advice: str) -> Array:
        """These columns as floats, of shape (N, len(names)).

        A text cell, a missing value or an infinite number is refused; `advice` says what to do about text, with
        `{column}` for the column's name.
        """
        for name in names:
            self._require_no_text(name, advice)
        self.require_complete(names)
        positions = [self.find(name) for name in names]
        values = np.array([[float(row[j]) for j in positions] for row in self.rows])  # [N, d]
        beyond = np.argwhere(~(np.abs(values) < _LARGEST))
        if len(beyond):
            i, j = beyond[0].tolist()
            where = f"{self.source}, line {self.lines[i]}, column {quoted(names[j])}"
            raise InputError(
                f"{where}: {quoted(self.column(names[j])[i])} is not a finite number below {_LARGEST:g}; correct it or "
                "give the column another unit."
            )
        return values

    def _require_no_text(self, name: str, advice: str) -> None:
        for line, cell in zip(self.lines, self.column(name), strict=True):
            if not is_number(cell) and not is_missing(cell):
                if _DECIMAL_COMMA.fullmatch(cell):
                    advice = "Write decimals with a point instead of a comma."
                raise InputError(
                    f"{self.source}, line {line}, column {quoted(name)}: {quoted(cell)} is text, but a number is "
                    f"needed. {advice.format(column=quoted(name))}"
                )


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.casefold() in _MISSING


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number; Python's 1_000 does not."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and not is_missing(cell)


def read_table(path: str) -> Table:
    """Read a file, or standard input for "-"."""
    source = "standard input" if path == STDIN else path
    records = _records(_text(path, source), source)
    if not records:
        raise InputError(f"{source} is empty; a header with column names and rows of numbers are needed.")
    (_, header), body = records[0], records[1:]
    _check_header(header, source)
    for line, cells in body:
        if len(cells) != len(header):
            raise InputError(
                f"{source}, line {line} has {len(cells)} cell{'s' * (len(cells) != 1)} where the header has "
                f"{len(header)}; every row needs as many as the header."
            )
    if not body:
        raise InputError(f"{source} has a header but no rows.")
    return Table(source, header, tuple(cells for _, cells in body), tuple(line for line, _ in body))


def _text(path: str, source: str) -> str:
    if path != STDIN and Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise InputError(
            f"cannot read {path!r}: it is a pipe or a device, which may have no end; write the rows to a file, or give "
            "them by standard input with the name -."
        )
    try:
        raw = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path!r}.") from None
    except OSError as error:
        raise InputError(f"cannot read {path!r}: {error.strerror}.") from None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{source} is UTF-16 text; save it as UTF-8.")
    if b"\0" in raw or raw.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{source} is not a text table; export it as CSV (an Excel, zip or model file cannot be read here)."
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source} is not UTF-8 text (byte 0x{raw[error.start]:02x} on line {line}); save it as UTF-8."
        ) from None


def _records(text: str, source: str) -> list[tuple[int, tuple[str, ...]]]:
    """The records with the lines on which they start, blank ones left out, cells without surrounding space."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), skipinitialspace=True, strict=True)
    records, start = [], 1
    try:
        for cells in reader:
            if cells and any((len(cells) > 1, cells[0].strip())):
                records.append((start, tuple(cell.strip() for cell in cells)))
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{source}, line {start} cannot be read as a table row ({error}); check its quotes.") from None
    return records


def _separator(text: str) -> str:
    """The separator that gives every row the same width, the widest if several do; a comma if none does."""

    def score(separator: str) -> tuple[bool, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
        try:
            widths = [len(cells) for cells in islice(reader, 50) if cells]
        except csv.Error:
            return False, 0
        return len(set(widths)) == 1 and widths[0] > 1, widths[0] if widths else 0

    return max(_SEPARATORS, key=score)


def _check_header(header: Sequence[str], source: str) -> None:
    if all(is_number(name) for name in header):
        raise InputError(
            f"{source} has no header: its first line holds numbers ({listed(header, 3)}); add a line of column names."
        )
    if "" in header:
        raise InputError(
            f"{source}: column {header.index('') + 1} has no name in the header (an index that was written along?); "
            "name it or leave it out."
        )
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        raise InputError(
            f"{source} has more than one column named {listed(map(quoted, repeated), 5)}; names must differ."
        )
