"""The tables of the papers, computed again: ours beside theirs.

A table is a study (`validation.harness`) whose cells are data set × algorithm × randomisation, and a function that
lays its results out beside the published figures (`ReproducedTable`). `python -m reports reproduce` runs them.
"""

from __future__ import annotations

from .table import Entry, Published, Reason, ReproducedTable, Verdict

__all__ = ["Entry", "Published", "Reason", "ReproducedTable", "Verdict"]
