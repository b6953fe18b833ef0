"""A cell of a study: what is to be computed, and what came out.

A study is a list of cells, each a pure function of its settings, its seed and the data. Cells can so be computed in any
order, in any process and on any computer, and be stored one by one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bayes_lssvm.base.checks import Check

_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}")


@dataclass(frozen=True)
class Cell:
    """One unit of work.

    Attributes
    ----------
    key : str
        Unique in its study. Letters, digits and "._-", as it names a file.
    settings : dict
        All that the computation needs besides the data; what JSON can hold.
    seed : int
        Seeds belong to cells, so that the order of the work does not matter.
    """

    key: str
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(
                f"The key of a cell names a file: letters, digits and '._-' only, at most 120 of them and no '.' in "
                f"front; got {self.key!r}."
            )


class CellResult(NamedTuple):
    """What a study computes for a cell.

    Attributes
    ----------
    values : dict
        Dictionaries, lists, strings, numbers, booleans and None. NumPy arrays and scalars are converted when the cell
        is stored, and numbers that are not finite become None.
    checks : tuple of Check
    draws : DataTree or None
        Kept as netCDF.
    """

    values: dict[str, Any]
    checks: tuple[Check, ...] = ()
    draws: Any = None
