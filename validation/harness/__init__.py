"""Declared experiments: cells that are computed in parallel, stored one by one and found again.

A study (`Study`) lists its cells and computes one of them; `run` does the rest. `load_data` makes the data of a study
from a name of the catalogue or from a CSV file.
"""

from __future__ import annotations

from bayes_lssvm.base.checks import Check

from .cell import Cell, CellResult
from .data import StudyData
from .labels import DataError
from .load import load_data
from .result import FinishedCell, StudyResult
from .run import run, stored
from .store import DamagedCellWarning
from .study import SIZES, Size, Study

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
    "stored",
]
