"""Data sets of the field study, and which of their rows train and test.

Thirty sets are files of the KEEL repository (Alcalá-Fdez et al., 2011, J. Mult.-Valued Logic Soft Comput. 17, 255-287)
in the folder `keel` below the one that BAYES_LSSVM_DATA names: `balanced_<name>.csv.gz` and `imbalanced_<name>.csv.gz`,
columns of inputs and the class `y`. Files of the same kind that are not in the list are taken too. Where a file is not
there and the library ships the same data, these take its place. Seven more sets are the library's own.

A column of text is a category and becomes an indicator for each of its values. Of a set with more than `MOST_ROWS` rows
a stratified sample of so many is taken. A repeat shuffles the rows into three stratified folds: each is tested by a
model of the two others, so that each row is tested once a repeat. Everything is seeded by the name of the set and by
the repeat, so that all methods see the same rows.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from bayes_lssvm import datasets
from bayes_lssvm.base.provenance import data_hash
from bayes_lssvm.base.typing import AnyArray, Array
from validation.harness.keel import ENVIRONMENT, FOLDER, keel_folder, read_keel
from validation.harness.splits import seed_of

GROUPS = ("balanced", "imbalanced", "shipped")
MOST_ROWS = 900
FOLDS = 3

BALANCED = (
    *("australian", "bupa", "crx", "german", "hayes-roth", "heart", "housevotes", "ionosphere", "iris", "led7digit"),
    *("mammographic", "monk-2", "pima", "sonar", "tae", "vehicle", "wine", "wisconsin"),
)
IMBALANCED = (
    *("abalone9-18", "car-good", "ecoli1", "ecoli4", "glass0", "glass4", "haberman", "new-thyroid1"),
    *("page-blocks-1-3_vs_4", "vowel0", "yeast3", "yeast5"),
)
SHIPPED = ("ripley", "crabs", "titanic", "balance", "glass", "zoo", "soybean")
SAME_DATA = ("bupa", "german", "heart", "ionosphere", "iris", "pima", "sonar", "vehicle", "wine", "wisconsin")
"""Sets of KEEL whose data `bayes_lssvm.datasets` has too, under these names."""
_OPTIONS = {"german": {"coding": "onehot"}}


class Problem(NamedTuple):
    """A data set that is here: its name, its group, and where it is read from ("keel" or "library")."""

    name: str
    group: str
    source: str


class Loaded(NamedTuple):
    """Inputs of shape (N, d), numbers of the classes of shape (N,), and a hash of both."""

    X: Array
    y: AnyArray
    sha256: str


def problems() -> tuple[Problem, ...]:
    """All data sets that are here, those of the list first."""
    there = _files()
    found = []
    for group, names in (("balanced", BALANCED), ("imbalanced", IMBALANCED)):
        known = [name for name in names if (group, name) in there or name in SAME_DATA]
        further = sorted(name for kind, name in there if kind == group and name not in names)
        for name in (*known, *further):
            found.append(Problem(name, group, "keel" if (group, name) in there else "library"))
    return (*found, *(Problem(name, "shipped", "library") for name in SHIPPED))


def _files() -> set[tuple[str, str]]:
    """(group, name) of every file of KEEL."""
    folder = keel_folder()
    if folder is None:
        return set()
    return {(g, p.name[len(g) + 1 : -len(".csv.gz")]) for g in GROUPS[:2] for p in folder.glob(f"{g}_*.csv.gz")}


def load(problem: Problem) -> Loaded:
    """The rows of a data set that the study uses, before they are split."""
    return _load(problem, keel_folder())


@cache
def _load(problem: Problem, folder: Path | None) -> Loaded:
    if problem.source == "keel":
        if folder is None:
            raise FileNotFoundError(f"{ENVIRONMENT} names no folder with a folder {FOLDER!r} in it.")
        X, y = read_keel(folder / f"{problem.group}_{problem.name}.csv.gz")
    else:
        X, labels = datasets.load(problem.name, **_OPTIONS.get(problem.name, {})).Xy
        y = np.unique(labels, return_inverse=True)[1]
    if len(y) > MOST_ROWS:
        rows = np.arange(len(y))
        kept, _ = train_test_split(rows, train_size=MOST_ROWS, stratify=y, random_state=seed_of(problem.name, 0))
        X, y = X[np.sort(kept)], y[np.sort(kept)]
    X.flags.writeable = y.flags.writeable = False  # the arrays are shared by all calls
    return Loaded(X, y, data_hash(X, y))


def folds_of(problem: Problem, y: AnyArray, repeat: int) -> AnyArray:
    """The fold in which each row is tested, of shape (N,)."""
    found = np.empty(len(y), dtype=int)
    shuffled = StratifiedKFold(FOLDS, shuffle=True, random_state=seed_of(problem.name, repeat))
    for fold, (_, test) in enumerate(shuffled.split(np.zeros(len(y)), y)):
        found[test] = fold
    return found
