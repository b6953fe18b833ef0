"""What leaves the program: sentences, tables, JSON, and files that appear whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..base.files import write_atomically, write_bytes
from ..base.text import InputError, plain, printable

STDOUT = "-"


def say(kind: str, sentence: str) -> None:
    """A note, warning or error on standard error, on one line."""
    print(printable(f"{kind}: {' '.join(sentence.split())}"), file=sys.stderr)


def emit_json(record: dict[str, Any]) -> None:
    """One JSON object on standard output, in ASCII so that any terminal and pipe carries it."""
    print(json.dumps(plain(record), indent=2, allow_nan=False))


def emit_text(text: str) -> None:
    """Text for people on standard output."""
    print("\n".join(printable(line) for line in text.splitlines()))


def rows_of(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and values in two columns."""
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in pairs)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Comma-separated text; floats with all their digits, NaN as an empty cell."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if isinstance(v, float) and math.isnan(v) else v for v in row] for row in rows)
    return stream.getvalue()


def emit_csv(text: str, path: str) -> None:
    """Comma-separated text to a file, or to standard output for "-"."""
    if path != STDOUT:
        write_text(path, text)
        return
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)  # escapes, as in text for people, would be other names
    except UnicodeEncodeError:
        raise InputError(
            f"standard output ({encoding}) cannot represent these names; write to a file instead."
        ) from None
    print(text, end="")


def emit_columns(columns: dict[str, Any], path: str) -> None:
    """Arrays of equal length under their names, as comma-separated text to a file or to standard output."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    emit_csv(csv_text(list(columns), rows), path)


def emit_pieces(pieces: Iterable[dict[str, Any]], path: str) -> int:
    """Columns as `emit_columns` writes them, piece by piece; a file appears whole or not at all. How many rows."""
    count = 0

    def texts() -> Iterator[str]:
        nonlocal count
        for number, columns in enumerate(pieces):
            rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
            count += len(rows)
            text = csv_text(list(columns), rows)
            yield text if number == 0 else text.split("\n", 1)[1]

    if path == STDOUT:
        for text in texts():
            print(text, end="")
    else:
        with writing(path) as target:
            write_atomically(target, lambda stream: stream.writelines(text.encode() for text in texts()))
    return count


def check_output(path: str | None, *inputs: str) -> None:
    """Refuse an output path before any work starts, if nothing can or should be written there."""
    if path is None or path == STDOUT:
        return
    target = Path(path)
    if target.is_dir():
        raise InputError(f"cannot write {path!r}: it is a folder; give a file name.")
    if target.exists() and not target.is_file():
        raise InputError(f"cannot write {path!r}: it is not a regular file.")
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path!r}: there is no folder {str(target.parent)!r}.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"cannot write {path!r}: the folder {str(target.parent)!r} is read-only.")
    for other in inputs:
        if target.exists() and Path(other).exists() and target.samefile(other):
            raise InputError(f"the output {path!r} is also an input; give another name.")


def same_file(a: str, b: str) -> bool:
    """Whether two names are of one file, which need not exist yet."""
    return Path(a).resolve() == Path(b).resolve()


@contextmanager
def writing(path: str) -> Iterator[Path]:
    """The path behind links, with failures of the system said as a sentence."""
    try:
        yield Path(os.path.realpath(path))
    except OSError as error:
        raise InputError(f"cannot write {path!r}: {error.strerror or error}.") from None


def write_text(path: str, text: str) -> None:
    """Write a file that appears whole or not at all: a part beside it, then renamed."""
    with writing(path) as target:
        write_bytes(target, text.encode())
