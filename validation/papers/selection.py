"""A part of a table's cells, and the cells that are there without computing any.

Cells of a part have the keys and identities of the whole table's, so parts that are computed in turn add up to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from validation.harness import SIZES, Cell, FinishedCell, Size, Study, StudyData, StudyResult, stored


def selected(
    study: Study, sets: tuple[str, ...] = (), randomisations: int | None = None, algorithms: tuple[str, ...] = ()
) -> Study:
    """A study with some of its cells, which are kept where those of the whole are.

    Parameters
    ----------
    study : Study
    sets, algorithms : tuple of str
        Data sets and algorithms; empty for all.
    randomisations : int or None
        The first so many.
    """
    return replace(study, cells=partial(_part, study, sets, randomisations, algorithms))


def _part(
    study: Study,
    sets: tuple[str, ...],
    randomisations: int | None,
    algorithms: tuple[str, ...],
    data: StudyData | None,
    size: Size,
) -> list[Cell]:
    """The cells of the part; a data set or an algorithm without any is refused."""
    cells = study.cells(data, size)
    for what, names, of in (("data set", sets, set_of), ("algorithm", algorithms, algorithm_of)):
        known = [name for name in dict.fromkeys(map(of, cells)) if name]
        for name in names:
            if name not in known:
                has = ", ".join(known) or "none"
                raise ValueError(f"{study.name} has no {what} {name!r} at size {size!r} here; it has {has}.")
        cells = [cell for cell in cells if not names or of(cell) in names]
    return [c for c in cells if randomisations is None or randomisation_of(c) < randomisations]


def set_of(cell: Cell) -> str:
    """The data set of a cell."""
    settings = cell.settings
    return str(settings.get("data") or settings.get("set") or cell.key.split(".")[0])


def algorithm_of(cell: Cell) -> str:
    """The algorithm of a cell, kernel and coding for a multiclass one; nothing for a table without algorithms."""
    settings = cell.settings
    if "coding" in settings:
        return f"{settings['kernel']}-{settings['coding']}"
    return str(settings.get("algorithm", ""))


def randomisation_of(cell: Cell) -> int:
    """The randomisation of a cell; 0 for one that has none."""
    return int(cell.settings.get("randomisation", 0))


def with_failures(result: StudyResult, failed: Sequence[FinishedCell]) -> StudyResult:
    """A result with cells of this run that could not be computed, which are kept nowhere."""
    return replace(result, cells=(*result.cells, *failed))


def largest(study: Study, folder: str | Path) -> StudyResult | None:
    """What is there at the largest size of which something is there."""
    found = (stored(study, size=size, folder=folder) for size in reversed(SIZES))
    return next((result for result in found if result is not None), None)
