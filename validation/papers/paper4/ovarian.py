"""Paper 4's ovarian case study, its pipeline on public data: Wisconsin breast cancer and Pima diabetes.

The Leuven ovarian data are not public, so that the figures of the paper cannot be computed again. What can is its
method, on two sets of like size and purpose: 30 stratified randomisations in the paper's ratio of 265 training to 160
test cases; forward selection by evidence, logistic regression, linear and RBF LS-SVM, pruning; AUC, and accuracy,
sensitivity and specificity at the paper's cut-offs. Unlike in the paper, inputs are selected anew on the training part
of each randomisation: selected once, on rows that later serve as tests, they would make the tests too good.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from bayes_lssvm import datasets
from bayes_lssvm.base.provenance import data_hash
from bayes_lssvm.base.typing import Array
from validation.harness import Cell, CellResult, Size, StudyResult
from validation.harness.splits import Split, seed_of

from ..table import Entry, ReproducedTable, table_study
from .ovarian_pipeline import MODELS, design
from .ovarian_published import N_TEST, N_TRAIN, RANDOMISATIONS, SOURCE
from .roc import CUT_OFFS, Difference, analyse, at_cut_off, paired_difference

SETS = {"wbc": "Wisconsin breast cancer", "pid": "Pima diabetes"}
POSITIVE = {"wbc": "malignant", "pid": "diabetes"}
RATES = ("accuracy", "sensitivity", "specificity")
COMPARED = (
    ("LS-SVM RBF", "LR"),
    ("LS-SVM lin", "LR"),
    ("LS-SVM RBF", "LS-SVM lin"),
    ("LS-SVM RBF, all inputs", "LR, all inputs"),
    ("LS-SVM RBF, all inputs", "LS-SVM RBF"),
    ("LS-SVM RBF, pruned", "LS-SVM RBF"),
)
"""Pairs of models whose AUC the page compares."""
_RUNS: dict[Size, int] = {"toy": 1, "quick": 2, "full": RANDOMISATIONS}
_TOY_ROWS = 120


@cache
def whole(name: str) -> tuple[Array, Array, str]:
    """Inputs, labels ±1 (+1 is the disease) and their hash."""
    X, labels = datasets.load(name).Xy
    y = np.where(labels == np.unique(labels)[1], 1.0, -1.0)
    X.flags.writeable = y.flags.writeable = False
    return X, y, data_hash(X, y)


def stratified_split(name: str, y: Array, n_train: int, n_test: int, randomisation: int) -> Split:
    """Random rows to train and to test on, each with the classes in the proportion of all rows.

    Parameters
    ----------
    name : str
        Of the data set; with `randomisation` it is the seed.
    y : array of shape (N,)
        Labels ±1.
    n_train, n_test : int
        Together at most N.
    randomisation : int
    """
    if not (n_train > 0 and n_test > 0 and n_train + n_test <= len(y)):
        raise ValueError(f"{n_train} training and {n_test} test rows cannot be drawn from the {len(y)} of {name!r}.")
    rng = np.random.default_rng(seed_of(name, randomisation))
    positive, negative = (rng.permutation(np.flatnonzero(y == label)) for label in (1.0, -1.0))
    p_train, p_test = (round(n * len(positive) / len(y)) for n in (n_train, n_test))
    # rounding may ask for one positive row too many; the test part then has one fewer
    p_test = min(p_test, len(positive) - p_train)
    train = [positive[:p_train], negative[: n_train - p_train]]
    test = [positive[p_train:][:p_test], negative[n_train - p_train :][: n_test - p_test]]
    return Split(np.sort(np.concatenate(train)), np.sort(np.concatenate(test)))


def sizes(rows: int) -> tuple[int, int]:
    """Rows to train and to test on, in the paper's ratio."""
    n_train = round(rows * N_TRAIN / (N_TRAIN + N_TEST))
    return n_train, rows - n_train


def cells(data: None, size: Size) -> list[Cell]:
    """One randomisation of both sets first, then the next."""
    cells = []
    for r in range(_RUNS[size]):
        for name in SETS:
            _, y, sha256 = whole(name)
            n_train, n_test = sizes(_TOY_ROWS if size == "toy" else len(y))
            settings: dict[str, Any] = {
                "data": name,
                "randomisation": r,
                "n_train": n_train,
                "n_test": n_test,
                "sha256": sha256,
                "selection": "forward, and stepwise beside it",
            }
            cells.append(Cell(f"{name}.{r:02d}", settings, seed_of(name, r)))
    return cells


def compute(cell: Cell, data: None) -> CellResult:
    """Design on the training rows, then predict the test inputs, then look at the test labels."""
    s = cell.settings
    X, y, _ = whole(s["data"])
    split = stratified_split(s["data"], y, s["n_train"], s["n_test"], s["randomisation"])
    designed = design(X[split.train], y[split.train], cell.seed)
    outputs = designed.predict(X[split.test])
    models = {name: analyse(out.log_odds, out.probability, y[split.test]) for name, out in outputs.items()}
    return CellResult({"models": models, "facts": designed.facts})


STUDY = table_study(
    name="paper4-ovarian",
    title="Paper 4: the ovarian tumour analysis, on breast cancer and diabetes data",
    cells=cells,
    compute=compute,
)
"""Data set × randomisation; a cell has all models, which share one selection of inputs."""


def of_set(result: StudyResult, name: str) -> list[Any]:
    """The values of a data set's cells that were computed, by randomisation."""
    return [f.values for f in result.cells if f.cell.settings["data"] == name and f.error is None]


def differences(result: StudyResult, name: str, measure: str = "auc") -> dict[tuple[str, str], Difference]:
    """Paired differences of a measure between the pairs of `COMPARED` on one data set."""
    values = of_set(result, name)
    if not values:
        return {}
    first = next(f.cell.settings for f in result.cells if f.cell.settings["data"] == name)
    return {
        (a, b): paired_difference(
            [v["models"][a][measure] for v in values],
            [v["models"][b][measure] for v in values],
            n_train=first["n_train"],
            n_test=first["n_test"],
        )
        for a, b in COMPARED
    }


def majority_rule(result: StudyResult, name: str) -> list[dict[str, float]]:
    """Rates in % of the class that most training rows have, for every case; a randomisation each, as in `of_set`.

    "A minimal requirement of any classifier is that it should be able to perform better than the majority rule"
    (paper 4, unbalanced data sets). It follows from the split alone.
    """
    _, y, _ = whole(name)
    found = []
    for s in (f.cell.settings for f in result.cells if f.cell.settings["data"] == name and f.error is None):
        split = stratified_split(name, y, s["n_train"], s["n_test"], s["randomisation"])
        always = float(np.sum(y[split.train]) > 0.0)  # P(y = +1) of every case
        found.append(at_cut_off(np.full(len(split.test), always), y[split.test], CUT_OFFS[0]))
    return found


def over_majority(result: StudyResult, name: str) -> dict[str, Difference]:
    """How much larger the accuracy of each model at the first cut-off is than the majority rule's, paired."""
    values, rule = of_set(result, name), [rates["accuracy"] for rates in majority_rule(result, name)]
    if not values:
        return {}
    first = next(f.cell.settings for f in result.cells if f.cell.settings["data"] == name)
    return {
        model: paired_difference(
            [v["models"][model]["cut_offs"][f"{CUT_OFFS[0]:g}"]["accuracy"] for v in values],
            rule,
            n_train=first["n_train"],
            n_test=first["n_test"],
        )
        for model in MODELS
    }


def table(result: StudyResult) -> ReproducedTable:
    """AUC and the figures at cut-offs of each model on each set; the paper's are of other data and stay outside."""
    columns = ("AUC, %", *(f"{rate} at {c:g}" for c in CUT_OFFS for rate in RATES))
    rows, entries, absent = [], [], [_NOT_PUBLIC]
    for name, title in SETS.items():
        values = of_set(result, name)
        failed = [f for f in result.cells if f.cell.settings["data"] == name and f.error is not None]
        if failed:
            absent.append(f"{len(failed)} randomisations of {title} could not be computed.")
        for model in MODELS:
            row = f"{name}: {model}"
            rows.append(row)
            entries.append(Entry(row, "AUC, %", tuple(100.0 * v["models"][model]["auc"] for v in values)))
            for c in CUT_OFFS:
                for rate in RATES:
                    found = tuple(v["models"][model]["cut_offs"][f"{c:g}"][rate] for v in values)
                    entries.append(Entry(row, f"{rate} at {c:g}", found))
    return ReproducedTable(
        STUDY.name,
        STUDY.title,
        SOURCE,
        "AUC and rates, in %",
        True,
        tuple(rows),
        columns,
        tuple(entries),
        tuple(absent),
    )


_NOT_PUBLIC = (
    "The ovarian data of paper 4 are not public: its pipeline is run on other data, for which the paper "
    "prints nothing to compare with."
)
