"""The ten data sets of paper 2, their randomisations, and the layout that its Tables II and III share.

Table I of the paper gives the sizes: two thirds of the rows, rounded down, train and the rest test, ten times. A cell
is data set × kernel × coding × randomisation. All decodings come from the same members, so a cell holds all of them.

Age is missing in eight rows of der: it is set to the mean of the training part. Inputs are standardised by the
estimator with the training rows; a column that does not vary there is kept at zero.

Minimal output coding, and ties, depend on the order of the classes, which the paper does not say. Here classes are
numbered in the order in which the UCI repository's documentation of the set lists them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.provenance import data_hash
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.datasets import load
from validation.harness import Cell, Size, StudyResult
from validation.harness.splits import random_split, seed_of

from ..table import Entry, Published, Reason, ReproducedTable
from .table2_published import CODINGS, Key

KERNELS: tuple[str, ...] = ("linear", "rbf")
RANDOMISATIONS: dict[Size, int] = {"toy": 1, "quick": 2, "full": 10}
CODING_NAMES = {"ovo": "1vs1", "ova": "1vsA", "moc": "MOC", "ecoc": "ECOC"}
KERNEL_NAMES = {"linear": "linear", "rbf": "RBF"}


class Benchmark(NamedTuple):
    """A data set of Table I.

    Attributes
    ----------
    name, library_name : str
        In the table, and in `bayes_lssvm.datasets`.
    n_train, n_test : int
    order : tuple of str
        The classes as UCI lists them; empty where that is the sorted order.
    """

    name: str
    library_name: str
    n_train: int
    n_test: int
    order: tuple[str, ...] = ()


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark("bal", "bal", 416, 209),
    Benchmark("der", "dermatology", 244, 122),
    Benchmark("gla", "gla", 142, 72),
    Benchmark("iri", "iris", 100, 50),
    Benchmark("led", "led", 400, 200),
    Benchmark("nth", "new_thyroid", 143, 72),
    Benchmark("ssd", "ssd", 31, 16),
    Benchmark("veh", "veh", 564, 282, ("opel", "saab", "bus", "van")),
    Benchmark("win", "wine", 118, 60),
    Benchmark("zoo", "zoo", 67, 34, ("mammal", "bird", "reptile", "fish", "amphibian", "insect", "mollusc.et.al")),
)
SETS: dict[Size, tuple[str, ...]] = {
    "toy": ("iri",),
    "quick": ("gla", "iri", "ssd", "win", "zoo"),
    "full": tuple(problem.name for problem in BENCHMARKS),
}


class Parts(NamedTuple):
    """One randomisation: training part, test part, and the names of the classes, whose numbers are the labels."""

    X_train: Array
    y_train: AnyArray
    X_test: Array
    y_test: AnyArray
    names: tuple[str, ...]

    @property
    def classes(self) -> AnyArray:
        """Numbers of all classes, of shape (M,)."""
        return np.arange(len(self.names))


def benchmark_of(name: str) -> Benchmark:
    """The data set of this name in Table I."""
    return next(problem for problem in BENCHMARKS if problem.name == name)


class Loaded(NamedTuple):
    """A whole data set: inputs, numbers of the classes, and the classes' names."""

    X: Array
    y: AnyArray
    names: tuple[str, ...]


def loaded(name: str, draw: int = 0) -> Loaded:
    """The data set of this name in Table I; FileNotFoundError where its file is not here.

    `draw` is the seed of a set that is generated; the tables have 0.
    """
    # the folder is an argument of the cache: it may be set after a first call that found nothing
    return _loaded(name, draw, os.environ.get("BAYES_LSSVM_DATA"))


@cache
def _loaded(name: str, draw: int, folder: str | None) -> Loaded:
    problem = benchmark_of(name)
    found = load(problem.library_name, **({"seed": draw} if draw else {}))
    X, labels = found.Xy
    names = problem.order or tuple(map(str, found.classes))
    y = np.array([names.index(str(label)) for label in labels.tolist()])
    X.flags.writeable = y.flags.writeable = False
    return Loaded(X, y, names)


def absence(name: str) -> str:
    """Why a data set cannot be had here, as a sentence; empty where it can."""
    try:
        loaded(name)
    except FileNotFoundError as error:
        return f"{name} is left out: {error}"
    return ""


def parts(name: str, randomisation: int, draw: int = 0) -> Parts:
    """Training and test part of a randomisation, missing inputs filled by the means of the training part."""
    X, y, names = loaded(name, draw)
    split = random_split(name, len(y), benchmark_of(name).n_train, randomisation)
    X_train, X_test = X[split.train], X[split.test]
    means = np.nanmean(X_train, axis=0)
    return Parts(_filled(X_train, means), y[split.train], _filled(X_test, means), y[split.test], names)


def _filled(X: Array, means: Array) -> Array:
    return np.where(np.isnan(X), means, X)


def cells_of(method: Mapping[str, Any], data: None, size: Size) -> list[Cell]:
    """The cells of Table II or III; data sets that are not here have none.

    `method` is what the algorithms are set to, beside the data set, kernel, coding and randomisation.
    """
    codings = ("ovo", "ecoc") if size == "toy" else CODINGS
    cells = []
    for name in SETS[size]:
        if absence(name):
            continue
        whole = loaded(name)
        sha = data_hash(whole.X, whole.y)
        for r in range(RANDOMISATIONS[size]):
            for kernel in KERNELS:
                for coding in codings:
                    own: dict[str, Any] = {
                        "data": name,
                        "kernel": kernel,
                        "coding": coding,
                        "randomisation": r,
                        "sha256": sha,
                    }
                    if coding == "ova":  # whose rule the paper states: other ones are kept to see if its figures obey
                        own["ties"] = "largest output, first class, none"
                    cells.append(Cell(f"{name}.{kernel}-{coding}.{r:02d}", {**own, **method}, seed_of(name, r)))
    return cells


def column(kernel: str, decoding: str, coding: str) -> str:
    """The name of a column: "RBF Bayes 1vsA"."""
    return f"{KERNEL_NAMES[kernel]} {decoding} {CODING_NAMES[coding]}"


def scores_of(result: StudyResult, name: str, kernel: str, coding: str, decoding: str, measure: str) -> list[float]:
    """One score of a data set, kernel, coding and decoding for each randomisation that was computed, in their order."""
    found = []
    for finished in result.cells:
        s = finished.cell.settings
        if (s["data"], s["kernel"], s["coding"]) == (name, kernel, coding) and decoding in finished.values:
            found.append(float(finished.values[decoding][measure]))
    return found


def laid_out(
    result: StudyResult,
    published: Mapping[Key, Published],
    decodings: Mapping[str, str],
    why: Callable[[Key], Reason],
    *,
    title: str,
    source: str,
) -> ReproducedTable:
    """Table II or III with our figures.

    Parameters
    ----------
    result : StudyResult
    published : mapping
        The paper's figures.
    decodings : mapping
        The table's decodings, and what the columns call them.
    why : callable
        Says of (data set, kernel, decoding, coding) what may make ours differ.
    title, source : str
    """
    keys = [(kernel, decoding, coding) for kernel in KERNELS for decoding in decodings for coding in CODINGS]
    entries = []
    for name in SETS["full"]:
        for kernel, decoding, coding in keys:
            scores = tuple(scores_of(result, name, kernel, coding, decoding, "accuracy"))
            key = (name, kernel, decoding, coding)
            entry = Entry(name, column(kernel, decodings[decoding], coding), scores, published[key])
            if abs(entry.distance) > 2.0:
                entry = Entry(entry.row, entry.column, scores, entry.published, why(key))
            entries.append(entry)
    return ReproducedTable(
        name=result.study,
        title=title,
        source=source,
        measure="test set accuracy, %",
        higher_is_better=True,
        rows=SETS["full"],
        columns=tuple(column(kernel, decodings[decoding], coding) for kernel, decoding, coding in keys),
        entries=tuple(entries),
        absent=_absent(result),
    )


def _absent(result: StudyResult) -> tuple[str, ...]:
    computed = {finished.cell.settings["data"] for finished in result.cells}
    sentences = [absence(name) for name in SETS[result.size] if name not in computed]
    smaller = [name for name in SETS["full"] if name not in SETS[result.size]]
    if smaller:
        sentences.append(f"The size {result.size!r} leaves out {', '.join(smaller)}.")
    return tuple(sentence for sentence in sentences if sentence)
