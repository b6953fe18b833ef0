"""Section 3.2 of paper 0 as a study: the moderated output beside what the paper names in its place.

A cell is a data set of Table 1 and a randomisation, with the table's partitions. The read-outs of `read_outs` share one
LS-SVM; the Bernoulli Gaussian process, by expectation propagation with σ_f² and the length scale of the largest
marginal likelihood, is a model of its own. Above `GP_ROWS` training rows those that repeat are counted; where more are
distinct it is left out, for its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from bayes_lssvm.base.typing import Array
from validation.harness import Cell, CellResult, Size, Study, StudyResult
from validation.harness.scores import Gain, paired_gain, score
from validation.harness.splits import seed_of

from ..paper1 import ep_gpc
from .published import SIZES
from .read_outs import read_outs
from .table1 import part, whole

__all__ = ["DECISIONS", "OURS", "PROCESS", "STUDY", "Compared", "compared", "overall"]

OURS = "moderated"
PROCESS = "Bernoulli GP"
DECISIONS = ("bias moved", "sign")
"""Read-outs without probabilities."""
GP_ROWS = 1000
SETS: dict[Size, tuple[str, ...]] = {
    "toy": ("cra",),
    "quick": ("bld", "cra", "hea", "ion", "rsy", "snr"),
    "full": tuple(SIZES),
}
RANDOMISATIONS: dict[Size, int] = {"toy": 2, "quick": 5, "full": 10}
_CLASSES = np.array([-1.0, 1.0])


def cells(data: None, size: Size) -> list[Cell]:
    """One randomisation of all sets first, then the next."""
    return [
        Cell(
            f"{name}.{r:02d}",
            {"data": name, "randomisation": r, "n_train": SIZES[name].n_train, "sha256": whole(name)[2]},
            seed_of(name, r),
        )
        for r in range(RANDOMISATIONS[size])
        for name in SETS[size]
    ]


def compute(cell: Cell, data: None) -> CellResult:
    """Scores of every read-out on the test part."""
    X, y, X_test, y_test = part(cell.settings["data"], cell.settings["randomisation"])
    odds = read_outs(X, y, X_test, cell.seed)
    rows, labels, counts = X, y, None
    if len(y) > GP_ROWS:
        rows, labels, counts = distinct(X, y)
    if len(labels) <= GP_ROWS:
        p = ep_gpc.fit(rows, labels, elliptical=False, counts=counts).probability(X_test)
        with np.errstate(divide="ignore"):
            odds[PROCESS] = np.log(p) - np.log1p(-p)
    return CellResult({"read_outs": {name: _scored(name, found, y_test) for name, found in odds.items()}})


def distinct(X: Array, y: Array) -> tuple[Array, Array, Array]:
    """The distinct rows of inputs and labels, and how often each stands there."""
    found, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    return found[:, :-1], found[:, -1], counts.astype(float)


def _scored(name: str, odds: Array, y_test: Array) -> dict[str, float]:
    p = None if name in DECISIONS else np.stack([expit(-odds), expit(odds)], axis=1)
    return score(np.where(odds >= 0.0, 1.0, -1.0), p, y_test, _CLASSES)


STUDY = Study(
    name="class-probabilities",
    title="Paper 0, section 3.2: the moderated output compared with its rivals",
    cells=cells,
    compute=compute,
    needs_data=False,
    own_data="data sets of paper 0's Table 1",
)


class Compared(NamedTuple):
    """A read-out on a data set: a mean score, and how much better it is than the moderated output's.

    Attributes
    ----------
    mean : float
    gain : Gain
        Over randomisations, which overlap; positive is better.
    """

    mean: float
    gain: Gain


def compared(result: StudyResult, measure: str) -> dict[str, dict[str, Compared]]:
    """Data set to read-out to its score; read-outs without the measure are left out."""
    found: dict[str, dict[str, Compared]] = {}
    for name in dict.fromkeys(f.cell.settings["data"] for f in result.cells if f.error is None):
        scores = _by_read_out(result, name, measure)
        sign = -1.0 if measure in ("brier", "ece") else 1.0
        ours = np.array(scores[OURS])
        found[name] = {
            way: Compared(float(np.mean(own)), paired_gain(sign * np.array(own), sign * ours))
            for way, own in scores.items()
            if len(own) == len(ours)
        }
    return found


def _by_read_out(result: StudyResult, name: str, measure: str) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for f in result.cells:
        if f.error is None and f.cell.settings["data"] == name:
            for way, values in f.values["read_outs"].items():
                if measure in values:
                    scores.setdefault(way, []).append(values[measure])
    return scores


def overall(found: Mapping[str, Mapping[str, Compared]]) -> dict[str, Gain]:
    """Read-out to its gain over the moderated output, a mean over the data sets it has, which are independent."""
    ways = dict.fromkeys(way for by_way in found.values() for way in by_way)
    gains = {way: [by_way[way].gain.mean for by_way in found.values() if way in by_way] for way in ways}
    return {way: paired_gain(own, np.zeros(len(own))) for way, own in gains.items() if way != OURS}
