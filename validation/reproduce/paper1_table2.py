"""Paper 1, Table 2: error rates on thirteen sets, PRESS with and without Bayesian regularisation, two kernels.

A cell is a set × an algorithm × a partition into training and test rows. Partitions are the first ten of the
benchmark's where the user's files have them, and random ones of the same sizes otherwise (`partition` in the settings).
At size "full" the sets are the benchmark's own files. At "quick" and "toy" they are copies that the library ships, with
random partitions. EP-GPC has cells where GPy is installed and the training part has at most `GPC_ROWS` rows.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayes_lssvm import datasets
from bayes_lssvm._typing import AnyArray, Array
from bayes_lssvm.provenance import data_hash
from validation.experiment import Cell, CellResult, FinishedCell, Size, StudyData, StudyResult

from . import ep_gpc
from .paper1_algorithms import ALGORITHMS, CLASSES, LSSVM
from .paper1_table2_published import COLUMNS, TABLE_1, TABLE_2, Benchmark
from .scores import score
from .splits import Split, random_split, seed_of
from .table import Entry, ReproducedTable

__all__ = ["FIVE", "STUDY", "Paper1Table2", "errors_of", "finished_of", "table"]

PARTITIONS = 10
GPC_ROWS = 500
FIVE = ("heart", "german", "breast_cancer", "diabetis", "thyroid")
"""Sets on which the documentation shows the over-fitting."""
SHIPPED = {"heart": "hea", "titanic": "tit", "diabetis": "pid"}
SETS = tuple(b.name for b in TABLE_1)


class Rows(NamedTuple):
    """Inputs of shape (N, d), labels ±1 of shape (N,), their hash and the published partitions."""

    X: Array
    y: AnyArray
    sha256: str
    splits: tuple[Split, ...]


@functools.cache
def rows_of(source: str) -> Rows:
    """A set of the catalogue, read once in a process."""
    found = datasets.load(source)
    X, target = found.Xy
    y = np.where(target == found.classes[1], 1, -1)
    return Rows(X, y, data_hash(X, y), tuple(Split(*pair) for pair in found.splits))


def partition(source: str, n_train: int, number: int) -> tuple[Split, str]:
    """Rows of a partition, and whether it is "published" or "random"."""
    rows = rows_of(source)
    if number < len(rows.splits):
        return rows.splits[number], "published"
    return random_split(source, len(rows.y), n_train, number), "random"


@dataclass(frozen=True)
class Paper1Table2:
    """The study behind the table.

    Attributes
    ----------
    sets : tuple of str
        Sets to compute at size "full".
    algorithms : tuple of str
        Names of algorithms.
    """

    sets: tuple[str, ...] = SETS
    algorithms: tuple[str, ...] = tuple(ALGORITHMS)
    name: str = "paper1-table2"
    title: str = "Over-fitting in model selection: paper 1, Table 2"
    version: int = 1
    needs_data: bool = False

    def cells(self, data: StudyData | None, size: Size) -> list[Cell]:
        """Sets whose file is there × algorithms that can run × partitions."""
        count = {"toy": 1, "quick": 2, "full": PARTITIONS}[size]
        found: list[Cell] = []
        for benchmark, source in self._sources(size):
            try:
                sha256 = rows_of(source).sha256
            except FileNotFoundError:
                continue
            for name in self._algorithms(benchmark, size):
                for number in range(count):
                    settings = {
                        "set": benchmark.name,
                        "source": source,
                        "sha256": sha256,
                        "algorithm": name,
                        "randomisation": number,
                        "partition": partition(source, benchmark.n_train, number)[1],
                        "n_train": benchmark.n_train,
                    }
                    key = f"{benchmark.name}.{name}.{number:02d}"
                    found.append(Cell(key, settings, seed_of(source, number)))
        return found

    def _sources(self, size: Size) -> list[tuple[Benchmark, str]]:
        if size == "full":
            return [(b, f"ida_{b.name}") for b in TABLE_1 if b.name in self.sets]
        shipped = ("titanic",) if size == "toy" else tuple(SHIPPED)
        return [(b, SHIPPED[b.name]) for b in TABLE_1 if b.name in shipped]

    def _algorithms(self, benchmark: Benchmark, size: Size) -> list[str]:
        processes = size != "toy" and ep_gpc.available() and benchmark.n_train <= GPC_ROWS
        return [a for a in self.algorithms if processes or ALGORITHMS[a] in LSSVM]

    def compute(self, cell: Cell, data: StudyData | None) -> CellResult:
        """Train on the partition's training rows, predict its test rows, and score the predictions."""
        of = cell.settings
        rows = rows_of(of["source"])
        split, _ = partition(of["source"], of["n_train"], of["randomisation"])
        fitted = ALGORITHMS[of["algorithm"]].fit(rows.X[split.train], rows.y[split.train].astype(float), cell.seed)
        predicted = fitted(rows.X[split.test])
        scores = score(predicted.labels, predicted.probabilities, rows.y[split.test], CLASSES)
        return CellResult({**scores, **fitted.about, "n_test": len(split.test)})


STUDY = Paper1Table2()


# --- the table -------------------------------------------------------------------------------------------------------


def finished_of(result: StudyResult, name: str, column: str) -> list[FinishedCell]:
    """The finished cells of a set and a column, in the order of partitions."""
    algorithm = next(a.name for a in ALGORITHMS.values() if a.column == column)
    own = [
        f
        for f in result.cells
        if f.error is None and f.cell.settings["set"] == name and f.cell.settings["algorithm"] == algorithm
    ]
    return sorted(own, key=lambda f: int(f.cell.settings["randomisation"]))


def errors_of(result: StudyResult, name: str, column: str) -> dict[int, float]:
    """Test errors in % of a set and a column, by the number of the partition."""
    return {int(f.cell.settings["randomisation"]): float(f.values["error"]) for f in finished_of(result, name, column)}


def table(result: StudyResult) -> ReproducedTable:
    """Table 2 with our error rates."""
    entries = []
    for benchmark in TABLE_1:
        for column in COLUMNS:
            errors = tuple(errors_of(result, benchmark.name, column).values())
            why = _why(finished_of(result, benchmark.name, column), column)
            entries.append(Entry(benchmark.title, column, errors, TABLE_2[benchmark.name, column], why))
    return ReproducedTable(
        name=result.study,
        title=result.title,
        source="Paper 1, Table 2",
        measure="test error, %",
        higher_is_better=False,
        rows=tuple(b.title for b in TABLE_1),
        columns=COLUMNS,
        entries=tuple(entries),
        absent=absent(result),
    )


def _why(cells: list[FinishedCell], column: str) -> str:
    """What is not as in the paper, or not known to be: where a difference may come from."""
    random = sum(f.cell.settings["partition"] == "random" for f in cells)
    flat = sum(bool(f.values.get("flat_limit")) for f in cells)
    said = []
    if flat:
        said.append(
            f"The choice is the flat limit, a linear model, in {flat} of {len(cells)} partitions; the paper does not "
            "say what it did there."
        )
    elif column == "ARD LSSVM":
        said.append("The least PRESS of several descents; the paper does not say where its descents start.")
    elif column.endswith("EP-GPC"):
        said.append("Another program and another search than the paper's.")
    if random:
        said.append(f"{random} of {len(cells)} partitions are random ones.")
    return " ".join(said) or f"The first {len(cells)} of the benchmark's partitions, not all of them."


def absent(result: StudyResult) -> tuple[str, ...]:
    """What could not be computed, and partitions that are not the benchmark's, in sentences."""
    found = []
    settings = [f.cell.settings for f in result.cells]
    there = {s["set"] for s in settings}
    if missing := [b.title for b in TABLE_1 if b.name not in there]:
        why = f"not part of size {result.size}"
        if result.size == "full":
            why = "their files are not in the folder that BAYES_LSSVM_DATA names, or they were not asked for"
        found.append(f"Without cells: {', '.join(missing)} ({why}).")
    random: dict[str, set[int]] = {}
    for s in settings:
        if s["partition"] == "random":
            random.setdefault(s["set"], set()).add(s["randomisation"])
    counts = {b.name: len({s["randomisation"] for s in settings if s["set"] == b.name}) for b in TABLE_1}
    if random:
        said = ", ".join(f"{b.title} ({len(random[b.name])} of {counts[b.name]})" for b in TABLE_1 if b.name in random)
        found.append(f"Random partitions of the paper's sizes instead of the benchmark's: {said}.")
    processes = {s["set"] for s in settings if s["algorithm"].startswith("ep-gpc")}
    if not processes:
        found.append("EP-GPC was not computed: GPy is not installed (the extra gpc), or it was not asked for.")
    elif large := [b.title for b in TABLE_1 if b.name in there - processes]:
        found.append(f"EP-GPC was not computed for more than {GPC_ROWS} training rows: {', '.join(large)}.")
    return tuple(found)
