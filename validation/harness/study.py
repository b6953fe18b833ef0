"""What a study declares: its cells, and how one of them is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .cell import Cell, CellResult

Size = Literal["toy", "quick", "full"]
"""toy: seconds, for tests. quick: the report, minutes for all studies. full: the gallery, minutes for each study."""

SIZES: tuple[Size, ...] = get_args(Size)


@dataclass(frozen=True)
class Study:
    """A declared experiment. It is pickled to other processes: its functions stand at module level.

    Attributes
    ----------
    name, title : str
    cells : function
        (data, size) to the list of cells; refuses, by a ValueError, data that the study is not for.
    compute : function
        (cell, data) to a `CellResult`, of these two alone.
    version : int
        Part of each cell's identity: raise it when results change their meaning, and cells are computed again.
    needs_data : bool
        Where it is False, `data` is None for both functions: the study simulates, or has data of its own.
    own_data : str
        Which these are, a sentence for the provenance.
    """

    name: str
    title: str
    cells: Callable[[Any, Size], list[Cell]]
    compute: Callable[[Cell, Any], CellResult]
    version: int = 1
    needs_data: bool = True
    own_data: str = ""
