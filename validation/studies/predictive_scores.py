"""Does integrating the hyperparameters out improve class probabilities? Plug-in against fully Bayesian classifiers.

A cell is a randomisation of a data set, 2/3 to 1/3 within classes (Ripley's data have their own test set); both
classifiers see the same rows. Scores of the test part are the binary ones of `validation.harness.scores`.

| size  | data sets, and randomisations of those without a test set |
| ----- | --------------------------------------------------------- |
| toy   | Ripley's                                                  |
| quick | Ripley's; heart disease, three                            |
| full  | Ripley's; heart disease and Pima Indians Diabetes, ten    |
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from bayes_lssvm import BayesianLSSVC, FullyBayesianLSSVC, datasets
from bayes_lssvm.base.typing import AnyArray, Array
from validation.harness import Cell, CellResult, FinishedCell, Size, Study
from validation.harness.scores import BinaryScores, Gain, binary_scores, paired_gain

# in the papers' form, so that what is compared is the integral over the hyperparameters
METHODS: dict[str, Any] = {
    "plug-in": partial(BayesianLSSVC, prior="flat", moderation="class"),
    "fully Bayesian": partial(FullyBayesianLSSVC, moderation="class"),
}
SETS: dict[Size, tuple[str, ...]] = {"toy": ("ripley",), "quick": ("ripley", "hea"), "full": ("ripley", "hea", "pid")}
RANDOMISATIONS: dict[Size, int] = {"toy": 1, "quick": 3, "full": 10}


class Split(NamedTuple):
    """Training inputs and labels, test inputs and labels; labels are 0 and 1."""

    X: Array
    y: AnyArray
    X_test: Array
    y_test: AnyArray


def has_test_set(name: str) -> bool:
    """Whether a data set comes with test rows of its own."""
    return datasets.load(name).test_data is not None


def split(name: str, seed: int) -> Split:
    """A randomisation of a data set, or its own training and test rows."""
    data = datasets.load(name)
    X, labels = data.Xy
    second = np.unique(labels)[1]
    y = (labels == second).astype(int)
    if data.test_data is not None:
        X_test, test = data.test_Xy
        return Split(X, y, X_test, (test == second).astype(int))
    rows, held_out = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed)
    return Split(X[rows], y[rows], X[held_out], y[held_out])


def cells(data: None, size: Size) -> list[Cell]:
    """Data set by randomisation."""
    counts = {name: 1 if has_test_set(name) else RANDOMISATIONS[size] for name in SETS[size]}
    return [Cell(f"{name}.{k:02d}", {"data": name}, k) for name, count in counts.items() for k in range(count)]


def compute(cell: Cell, data: None) -> CellResult:
    """Both classifiers on one randomisation."""
    X, y, X_test, y_test = split(cell.settings["data"], cell.seed)
    found = {name: maker().fit(X, y).predict_proba(X_test)[:, 1] for name, maker in METHODS.items()}
    return CellResult({name: binary_scores(p, y_test)._asdict() for name, p in found.items()})


class Comparison(NamedTuple):
    """Mean scores of one classifier on one data set, and its gain in log score over the plug-in classifier."""

    data: str
    method: str
    n_splits: int
    scores: BinaryScores
    gain: Gain


def comparisons(cells: Sequence[FinishedCell]) -> list[Comparison]:
    """Means over the randomisations of each data set; cells that failed are left out."""
    done = [finished for finished in cells if finished.error is None]
    result = []
    for name in dict.fromkeys(finished.cell.settings["data"] for finished in done):
        own = [finished.values for finished in done if finished.cell.settings["data"] == name]
        reference = [values["plug-in"]["log_score"] for values in own]
        for method in METHODS:
            scores = [BinaryScores(**values[method]) for values in own]
            mean = BinaryScores(*np.mean(scores, axis=0).tolist())
            gain = paired_gain([score.log_score for score in scores], reference)
            result.append(Comparison(name, method, len(own), mean, gain))
    return result


STUDY = Study(
    name="predictive-scores",
    title="Class probabilities: plug-in against fully Bayesian",
    cells=cells,
    compute=compute,
    needs_data=False,
    own_data="several sets, named in the tables",
)
"""A cell is a randomisation of a data set; its values are scores by classifier."""
