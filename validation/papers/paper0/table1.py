"""Paper 0, Table 1: test set accuracy of LS-SVMs, an SVM and Gaussian processes on ten data sets.

Each set is divided ten times at random into the paper's numbers of training and test rows; `rsy`, whose 1250 rows have
a training and a test part of their own, is put together first, as 250 and 1000 rows that are drawn anew each time. All
algorithms see the same divisions. Inputs are standardised with the training rows. Two columns are ours: everything
integrated out by quadrature, and the evidence without the Occam factor.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm import datasets
from bayes_lssvm.base.provenance import data_hash
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import Array
from validation.harness import Cell, CellResult, Size, StudyResult
from validation.harness.scores import score
from validation.harness.splits import random_split, seed_of

from ..statistics import Scores, Statistics
from ..statistics import statistics as _statistics
from ..table import Entry, ReproducedTable, table_study
from ..why import why
from .algorithms import ALGORITHMS, NO_REPEATS
from .published import COLUMNS, SIZES, SOURCE, TABLE_1

OURS = ("marginalised", "no Occam")
ASIDE = (NO_REPEATS,)
"""Scored beside the table: it explains, and is no column."""
ALL_COLUMNS = (*COLUMNS, *OURS)
RANDOMISATIONS: dict[Size, int] = {"toy": 2, "quick": 2, "full": 10}
SETS: dict[Size, tuple[str, ...]] = {
    "toy": ("cra",),
    "quick": ("bld", "cra", "hea", "ion", "rsy", "snr"),
    "full": tuple(SIZES),
}
REPEATED = ("bld", "ion")
"""Measured sets with a few rows that occur twice; `no-repeats` is for these. Where inputs are few codes, repeats are
the data."""
_TOY = ("lssvm-bay", "gp-bay")
_CLASSES = np.array([-1.0, 1.0])


class Part(NamedTuple):
    """One randomisation: standardised inputs, labels −1 and +1."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


@cache
def whole(name: str) -> tuple[Array, Array, str]:
    """All rows of a data set: inputs, labels −1 and +1 (the second class is +1), and their hash."""
    found = datasets.load(name)
    X, labels = found.Xy
    if found.test_data is not None:
        X_test, more = found.test_Xy
        X, labels = np.vstack([X, X_test]), np.concatenate([labels, more])
    y = np.where(labels == np.unique(labels)[1], 1.0, -1.0)
    X.flags.writeable = y.flags.writeable = False
    return X, y, data_hash(X, y)


def part(name: str, randomisation: int) -> Part:
    """Training and test part of a randomisation, standardised by the training rows."""
    X, y, _ = whole(name)
    split = random_split(name, len(y), SIZES[name].n_train, randomisation)
    scale = Standardiser.fit(X[split.train])
    return Part(scale(X[split.train]), y[split.train], scale(X[split.test]), y[split.test])


def algorithms_of(name: str) -> tuple[str, ...]:
    """The algorithms that a data set is given to."""
    return tuple(a for a in ALGORITHMS if a != "no-repeats" or name in REPEATED)


def cells(data: None, size: Size) -> list[Cell]:
    """One randomisation of all sets first, then the next, so that a part of the table is a table."""
    cells = []
    for r in range(RANDOMISATIONS[size]):
        for name in SETS[size]:
            for algorithm in _TOY if size == "toy" else algorithms_of(name):
                settings: dict[str, Any] = {
                    "data": name,
                    "algorithm": algorithm,
                    "randomisation": r,
                    "n_train": SIZES[name].n_train,
                    "sha256": whole(name)[2],
                }
                cells.append(Cell(f"{name}.{algorithm}.{r:02d}", settings, seed_of(name, r)))
    return cells


def compute(cell: Cell, data: None) -> CellResult:
    """Design on the training part, predict the test inputs, score against the test labels."""
    s = cell.settings
    X_train, y_train, X_test, y_test = part(s["data"], s["randomisation"])
    design = ALGORITHMS[s["algorithm"]](X_train, y_train, cell.seed)
    columns = {
        column: score(found.labels, found.probabilities, y_test, _CLASSES)
        for column, found in design.predict(X_test).items()
    }
    return CellResult({"columns": columns, "design": design.facts})


STUDY = table_study(
    name="paper0-table1",
    title="Paper 0, Table 1: LS-SVM, SVM and Gaussian process on ten data sets",
    cells=cells,
    compute=compute,
)
"""Table 1 as a study: data set × algorithm × randomisation."""


def scores_of(result: StudyResult, measure: str = "accuracy") -> Scores:
    """A score by row, column and randomisation, of the cells that were computed."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for finished in result.cells:
        s = finished.cell.settings
        for column, values in finished.values.get("columns", {}).items():
            if measure in values:
                found.setdefault(s["data"], {}).setdefault(column, {})[s["randomisation"]] = values[measure]
    return found


def table(result: StudyResult) -> ReproducedTable:
    """Table 1, ours beside theirs; our own two columns last."""
    scores = scores_of(result)
    entries = []
    for row in SIZES:
        for column in ALL_COLUMNS:
            by_randomisation = scores.get(row, {}).get(column, {})
            values = tuple(by_randomisation[r] for r in sorted(by_randomisation))
            entry = Entry(row, column, values, TABLE_1.get((row, column)))
            if abs(entry.distance) > 2.0:
                entry = Entry(row, column, values, entry.published, why("paper0-table1", row, column))
            entries.append(entry)
    return ReproducedTable(
        name=STUDY.name,
        title=STUDY.title,
        source=SOURCE,
        measure="test set accuracy, %",
        higher_is_better=True,
        rows=tuple(SIZES),
        columns=ALL_COLUMNS,
        entries=tuple(entries),
        absent=_absent(result, scores),
    )


def _absent(result: StudyResult, scores: Scores) -> tuple[str, ...]:
    missing = [row for row in SIZES if row not in scores]
    if not missing:
        return ()
    left_out = [row for row in missing if row not in SETS[result.size]]
    sentences = []
    if left_out:
        sentences.append(f"The size {result.size!r} leaves out {', '.join(left_out)}.")
    if rest := [row for row in missing if row not in left_out]:
        sentences.append(f"Not computed yet: {', '.join(rest)}.")
    return tuple(sentences)


def statistics(result: StudyResult, *, ours: bool = False) -> Statistics | None:
    """The paper's statistics on our figures, over its seven columns or with our two."""
    scores = scores_of(result)
    present = {column for by_column in scores.values() for column in by_column}
    columns = [c for c in (ALL_COLUMNS if ours else COLUMNS) if c in present]
    return _statistics(scores, tuple(SIZES), columns)
