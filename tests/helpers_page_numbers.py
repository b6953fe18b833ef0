"""Numbers that pages print: the cells of their tables by name, and whether they say what they should."""

from __future__ import annotations

import re

import numpy as np

KEY = 0  # the key table


def numbers(text):
    """Every number of a text, as it is printed: with its sign, and a minus of any kind."""
    return re.findall(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text.replace("−", "-"))


def said(sentences, value, digits):
    """Whether sentences have this number with so many decimals, whatever the words around it are."""
    wanted = f"{value:.{digits}f}"
    return any(n.lstrip("+") == wanted for n in numbers(" ".join(sentences)))


def shown(*tables):
    """Cells of all tables, the key table first, by (title, heading, row), each by its column."""
    found = {}
    for number, table in enumerate(tables):
        heading = ""
        for row in table.rows:
            heading = row.label if not row.cells else heading
            cells = dict(zip(table.header[1:], row.cells, strict=True)) if row.cells else {}
            name = row.label.strip().removesuffix(" †")
            if cells:
                found.setdefault((table.title, heading, name), cells)
                found.setdefault((table.title, None, name), cells)
                if number == 0:
                    found.setdefault((KEY, heading, name), cells)
                    found.setdefault((KEY, None, name), cells)
    return found


def agrees(cell, expected):
    """Whether the first numbers of a cell are these, to half a unit of their last digit and the digits of the store."""
    if isinstance(expected, str):
        return cell == expected
    wanted = np.atleast_1d(np.array(expected, dtype=float))
    printed = re.findall(r"[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?", cell.replace("−", "-"))
    if len(printed) < len(wanted):
        return False
    for text, value in zip(printed, wanted, strict=False):
        decimals = len(text.partition(".")[2])
        if abs(float(text) - value) > 0.5 * 10.0**-decimals + 3e-6 * abs(value) + 1e-9:
            return False
    return True
