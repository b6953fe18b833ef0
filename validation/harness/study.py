"""What a study declares: its cells, and how one of them is computed."""

from __future__ import annotations

from typing import Literal, Protocol, get_args

from .cell import Cell, CellResult
from .data import StudyData

Size = Literal["toy", "quick", "full"]
"""toy: seconds, for tests. quick: the report, minutes for all studies. full: the gallery, minutes for each study."""

SIZES: tuple[Size, ...] = get_args(Size)


class Study(Protocol):
    """A declared experiment. Instances are pickled to other processes: frozen dataclasses at module level.

    Attributes
    ----------
    name, title : str
    version : int
        Part of each cell's identity: raise it when results change their meaning, and cells are computed again.
    needs_data : bool
        Where it is False `data` is None: the study simulates, or has data of its own, and then says which in an
        attribute `own_data`, a sentence for the provenance.
    """

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def needs_data(self) -> bool: ...

    def cells(self, data: StudyData | None, size: Size) -> list[Cell]:
        """The work; refuses, by a ValueError, data that the study is not for."""
        ...

    def compute(self, cell: Cell, data: StudyData | None) -> CellResult:
        """One cell: a function of the cell and the data alone."""
        ...
