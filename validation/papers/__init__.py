"""The tables of the papers, computed again: ours beside theirs.

A table is a study (`validation.harness`) whose cells are data set × algorithm × randomisation, and a function that
lays its results out beside the published figures (`ReproducedTable`). `python -m validation.papers` runs them.
"""

from __future__ import annotations

from .registry import TABLES, get_study, get_table
from .table import Entry, Published, ReproducedTable, Verdict

__all__ = ["TABLES", "Entry", "Published", "ReproducedTable", "Verdict", "get_study", "get_table"]
