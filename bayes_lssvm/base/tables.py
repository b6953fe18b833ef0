"""Reading tables: text with a header, separated by commas, semicolons or tabs, as spreadsheets save it.

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
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from .number_text import is_number
from .text import InputError, listed, quoted

STDIN = "-"
_SEPARATORS = (",", ";", "\t")
_CONTROLS = re.compile(r"[\x01-\x08\x0e-\x1f\x7f]")  # which no table has
_WORD = re.compile(r"\w*[^\W\x00-\x7f]\w*|[^\x00-\x7f]")
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")  # which some spreadsheets write before the header

Records = list[tuple[int, tuple[str, ...]]]


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
    dropped : tuple of str
        What was left out on the way, a sentence each.
    """

    source: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    dropped: tuple[str, ...] = ()

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

    def only(self, keep: Sequence[bool]) -> Table:
        """The table with these rows."""
        rows = tuple(row for row, kept in zip(self.rows, keep, strict=True) if kept)
        return replace(self, rows=rows, lines=tuple(line for line, kept in zip(self.lines, keep, strict=True) if kept))


def read_table(path: str) -> Table:
    """Read a file, or standard input for "-"."""
    source = "standard input" if path == STDIN else path
    text, guessed = _text(path, source)
    records = _records(text, source)
    if not records:
        raise InputError(f"{source} is empty; a header with column names and rows of numbers are needed.")
    records, dropped = _without_idle(records)
    (_, header), body = records[0], records[1:]
    _check_header(header, source)
    for line, cells in body:
        if len(cells) != len(header):
            raise InputError(
                f"{source}, line {line} has {len(cells)} cell{'s' * (len(cells) != 1)} where the header has "
                f"{len(header)}; every row needs as many cells as the header."
            )
    if not body:
        raise InputError(f"{source} has a header but no rows.")
    rows, lines = tuple(cells for _, cells in body), tuple(line for line, _ in body)
    return Table(source, header, rows, lines, (*guessed, *dropped))


def _text(path: str, source: str) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and a sentence where its encoding had to be guessed."""
    if path != STDIN and Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise InputError(
            f"cannot read {path!r}: it is a pipe or a device, which may have no end; write the rows to a file, or give "
            "them by standard input with the name -."
        )
    try:
        # a file without a size is not opened: it is empty, or of the kernel (/proc), where reading may wait for ever
        nothing = path != STDIN and Path(path).is_file() and Path(path).stat().st_size == 0
        raw = sys.stdin.buffer.read() if path == STDIN else b"" if nothing else Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path!r}.") from None
    except OSError as error:
        raise InputError(f"cannot read {path!r}: {error.strerror}.") from None
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return raw.decode("utf-16"), ()  # its first two bytes say so
        except UnicodeDecodeError:
            raise InputError(f"{source} begins as UTF-16 text but is not; save it as UTF-8.") from None
    if b"\0" in raw or raw.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{source} is not a text table; export it as CSV (an Excel, zip or model file cannot be read here)."
        )
    try:
        return raw.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        return _western(raw, error, source)


def _western(raw: bytes, error: UnicodeDecodeError, source: str) -> tuple[str, tuple[str, ...]]:
    """Text that is not UTF-8: as spreadsheets of Western Europe save it, if every byte is a character there."""
    line = raw.count(b"\n", 0, error.start) + 1
    try:
        text = raw.decode("cp1252")
    except UnicodeDecodeError:
        text = ""
    if not text or _CONTROLS.search(text):
        raise InputError(
            f"{source} is not UTF-8 text (byte 0x{raw[error.start]:02x} on line {line}); save it as UTF-8."
        ) from None
    word = _WORD.search(text, max(0, error.start - 12))
    shown = "" if word is None else f" If {quoted(word[0])} on line {line} is not what you wrote, save it as UTF-8."
    return text, (f"{source} is not UTF-8 text; it was read as Windows-1252.{shown}",)


def _records(text: str, source: str) -> Records:
    """The records with the lines on which they start, blank ones left out, cells without surrounding space."""
    said = _SEPARATOR_LINE.match(text)
    text, start = (text[said.end() :], 2) if said else (text, 1)
    separator = said[1] if said and said[1] not in '"\r\n' else _separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    records, first = [], start
    try:
        for cells in reader:
            if cells and any((len(cells) > 1, cells[0].strip())):
                records.append((start, tuple(cell.strip() for cell in cells)))
            start = reader.line_num + first
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


def _without_idle(records: Records) -> tuple[Records, tuple[str, ...]]:
    """Records without what spreadsheets leave behind.

    These are rows without a value at the end, columns that have neither name nor value, and row numbers that have no
    name.
    """
    end = len(records)
    while end > 2 and not any(records[end - 1][1]):
        end -= 1
    records = records[:end]
    header = records[0][1]
    if any(len(cells) != len(header) for _, cells in records) or len(header) < 2:
        return records, ()
    columns = {j: [cells[j] for _, cells in records[1:]] for j, name in enumerate(header) if not name}
    empty = [j for j, cells in columns.items() if not any(cells)]
    index = [0] if _counts_rows(columns.get(0, [])) else []
    if not empty and not index:
        return records, ()
    keep = [j for j in range(len(header)) if j not in (*empty, *index)]
    sentence = ("the first column has no name and numbers the rows; it is left out.",) if index else ()
    return [(line, tuple(cells[j] for j in keep)) for line, cells in records], sentence


def _counts_rows(cells: Sequence[str]) -> bool:
    first = cells[0] if cells else ""
    return first in ("0", "1") and list(cells) == [str(int(first) + i) for i in range(len(cells))]


def _check_header(header: Sequence[str], source: str) -> None:
    if all(is_number(name) for name in header):
        raise InputError(
            f"{source} has no header: its first line holds numbers ({listed(header, 3)}); add a line of column names."
        )
    if "" in header:
        raise InputError(
            f"{source}: column {header.index('') + 1} has no name in the header (perhaps an index that was saved "
            "with the table); name it or leave it out."
        )
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        raise InputError(
            f"{source} has more than one column named {listed(map(quoted, repeated), 5)}; names must differ, so rename "
            "all but one."
        )
