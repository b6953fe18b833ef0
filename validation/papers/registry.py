"""The tables, by name. A table's module is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from validation.harness import Study

if TYPE_CHECKING:
    from validation.harness import StudyResult

    from .table import ReproducedTable

TABLES: dict[str, str] = {
    "paper0-table1": "validation.papers.paper0.table1",
    "paper1-table2": "validation.papers.paper1.table2",
    "paper2-table2": "validation.papers.paper2.table2",
    "paper2-table3": "validation.papers.paper2.table3",
    "paper2-usps": "validation.papers.paper2.usps",
    "paper4-ovarian": "validation.papers.paper4.ovarian",
    "paper4-dax": "validation.papers.paper4.dax",
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
