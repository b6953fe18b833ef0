"""Values as they stand in sentences, tables and JSON, and mistakes of the user as a sentence."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any


class InputError(Exception):
    """A mistake of the user, as one sentence or as one for each thing that is wrong: exit code 2."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(map(str, self.args))

    def __str__(self) -> str:
        return " ".join(self.sentences)


def printable(text: str) -> str:
    """Text whose control characters are shown instead of obeyed by the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def quoted(text: str, width: int = 60) -> str:
    """Text from a file as it stands in a sentence: in quotes, escaped, not too long."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")


def typed(name: str) -> str:
    """A name as it is typed after an option, in quotes where a shell would not take it as one word."""
    return shlex.quote(name)


def listed(items: Iterable[str], limit: int) -> str:
    """The first items of an enumeration, and how many more there are."""
    items = iter(items)
    shown = list(islice(items, limit))
    more = sum(1 for _ in items)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def scalar_names(shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """A name for each element of arrays of these shapes, as in NumPy: tau, w[3], A[1,2]."""
    return tuple(
        f"{name}[{','.join(map(str, index))}]" if index else name
        for name, shape in shapes.items()
        for index in itertools.product(*map(range, shape))
    )


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A title and a table for notebooks; numbers to four digits."""

    def cell(value: Any, tag: str) -> str:
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        return f"<{tag}>{escape(text)}</{tag}>"

    lines = ["".join(cell(name, "th") for name in header)]
    lines += ["".join(cell(value, "td") for value in row) for row in rows]
    return f"<p>{escape(title)}</p>\n<table>" + "".join(f"<tr>{line}</tr>\n" for line in lines) + "</table>"


def table_of(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), rule: bool = False) -> list[str]:
    """Lines of columns as wide as their widest cell, those of `right` flush right, with a rule below the first line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [*rows[:1], *([["-" * width for width in widths]] if rule else []), *rows[1:]]
    sides = [str.rjust if i in right else str.ljust for i in range(len(widths))]
    cells = [[side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)] for line in lines]
    return ["  ".join(line).rstrip() for line in cells]


def plain(value: Any) -> Any:
    """The value for JSON: NumPy's scalars and arrays as Python's, numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(key): plain(v) for key, v in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
