"""The tables, by name. A table's module is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from validation.experiment import Study

if TYPE_CHECKING:
    from validation.experiment import StudyResult

    from .table import ReproducedTable

TABLES: dict[str, str] = {
    "paper0-table1": "validation.reproduce.paper0_table1",
    "paper1-table2": "validation.reproduce.paper1_table2",
    "paper2-table2": "validation.reproduce.paper2_table2",
    "paper2-table3": "validation.reproduce.paper2_table3",
    "paper2-usps": "validation.reproduce.paper2_usps",
    "paper4-ovarian": "validation.reproduce.paper4_ovarian",
    "paper4-dax": "validation.reproduce.paper4_dax",
}
"""Name to module; each module has a constant STUDY and a function `table(result)`."""


def get_study(name: str) -> Study:
    """The study behind the table of this name."""
    study: Study = _module(name).STUDY
    return study


def get_table(result: StudyResult) -> ReproducedTable:
    """A study's result as a table, ours beside theirs."""
    table: ReproducedTable = _module(result.study).table(result)
    return table


def _module(name: str) -> ModuleType:
    if name not in TABLES:
        raise ValueError(f"There is no table {name!r}; there are {', '.join(TABLES)}.")
    return import_module(TABLES[name])
