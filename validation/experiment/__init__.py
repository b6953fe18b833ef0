"""Declared experiments: cells that are computed in parallel, stored one by one and found again.

A study (`Study`) lists its cells and computes one of them; `run` does the rest. `load_data` makes the data of a study
from a name of the catalogue or from a CSV file.
"""

from __future__ import annotations

from ._cell import Cell, CellResult, Check
from ._data import StudyData
from ._labels import DataError
from ._load import load_data
from ._result import FinishedCell, StudyResult
from ._run import run
from ._store import DamagedCellWarning
from ._study import SIZES, Size, Study

__all__ = [
    "SIZES",
    "Cell",
    "CellResult",
    "Check",
    "DamagedCellWarning",
    "DataError",
    "FinishedCell",
    "Size",
    "Study",
    "StudyData",
    "StudyResult",
    "load_data",
    "run",
]
