"""Results of a study: its finished cells, what failed, and where the numbers come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bayes_lssvm.base.checks import Check

from .cell import Cell
from .study import Size


@dataclass(frozen=True)
class FinishedCell:
    """A cell with what came out.

    Attributes
    ----------
    cell : Cell
    values : dict
        As JSON holds them: lists for arrays, None for numbers that are not finite. Empty where `error` is set.
    checks : tuple of Check
    warnings : tuple of str
        Warnings of the library.
    seconds : float
        Time of the computation, wherever and whenever it was done.
    draws : path or None
        A netCDF file.
    error : str or None
        What stopped the computation.
    """

    cell: Cell
    values: dict[str, Any]
    checks: tuple[Check, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    draws: Path | None = None
    error: str | None = None


@dataclass(frozen=True)
class StudyResult:
    """All cells of a study, in the study's order.

    Attributes
    ----------
    study, title : str
    size : "toy", "quick" or "full"
    data : dict or None
        name, n, d, n_test, task, class_names, feature_names, target_name, sha256, notes.
    cells : tuple of FinishedCell
    provenance : dict
    folder : path
        Where the cells are kept.
    """

    study: str
    title: str
    size: Size
    data: dict[str, Any] | None
    cells: tuple[FinishedCell, ...]
    provenance: dict[str, Any]
    folder: Path

    def __getitem__(self, key: str) -> FinishedCell:
        """The cell of this key."""
        for finished in self.cells:
            if finished.cell.key == key:
                return finished
        raise KeyError(
            f"the study {self.study!r} has no cell {key!r}; it has {', '.join(c.cell.key for c in self.cells)}"
        )

    @property
    def failed(self) -> tuple[tuple[str, str], ...]:
        """(key, sentence) of every cell that could not be computed and of every check that failed."""
        found: list[tuple[str, str]] = []
        for finished in self.cells:
            if finished.error is not None:
                found.append((finished.cell.key, finished.error))
            found.extend((finished.cell.key, check.sentence) for check in finished.checks if not check.passed)
        return tuple(found)
