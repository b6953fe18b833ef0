"""The field study: is the default classifier good for a user's own data?

Thirty sets of the KEEL repository and seven that the library ships; `BayesianLSSVC()` as it comes, the same by the
papers' rules, and what a user would pick instead. A cell is data set × method × repeat, and a repeat tests each row
once, by three folds. Scores are those of `validation.harness.scores` over all rows, with probabilities below 10⁻⁶
raised to it before rows are normalised, so that one sure and wrong prediction costs at most 13.8 nats.
"""

from __future__ import annotations

import time
import zlib
from typing import Any

import numpy as np

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.typing import AnyArray, Array
from validation.harness import Cell, CellResult, Size, Study
from validation.harness.scores import BINS, Decisions, pooled_calibration_error, score
from validation.harness.splits import seed_of

from .methods import METHODS, OWN, Prediction, papers_parameters, predict
from .sets import FOLDS, Problem, folds_of, load, problems

__all__ = ["METHODS", "SMALLEST", "STUDY", "scores_of"]

SMALLEST = 1e-6
TOY = (("ripley", "iris"), ("ours", "logistic"))
QUICK = (
    ("bupa", "heart", "ionosphere", "iris", "sonar", "wine", "wisconsin", "ripley"),
    ("ours", "logistic", "svc", "papers", "forest"),
)
REPEATS: dict[Size, int] = {"toy": 2, "quick": 1, "full": 3}
_MILLI = 1000.0


def cells(data: None, size: Size) -> list[Cell]:
    """Method by method, so that the first ones are there for all sets early; what is not here is left out."""
    names, methods = {"toy": TOY, "quick": QUICK, "full": (None, tuple(METHODS))}[size]
    wanted = [problem for problem in problems() if names is None or problem.name in names]
    return [
        _cell(problem, method, repeat)
        for method in methods
        if METHODS[method].installed
        for problem in wanted
        for repeat in range(REPEATS[size])
    ]


def compute(cell: Cell, data: None) -> CellResult:
    """Each fold predicted by a model of the others, and all rows scored together."""
    s = cell.settings
    problem = Problem(s["set"], s["group"], s["source"])
    X, y, _ = load(problem)
    folds = folds_of(problem, y, s["repeat"])
    labels, P = np.empty_like(y), np.empty((len(y), y.max() + 1))
    base = np.empty_like(P)
    seconds = 0.0
    for fold in range(FOLDS):
        train, test = folds != fold, folds == fold
        began = time.perf_counter()
        labels[test], P[test] = predict(s["method"], X[train], y[train], X[test], cell.seed)
        seconds += (time.perf_counter() - began) / FOLDS
        base[test] = np.bincount(y[train], minlength=P.shape[1]) / train.sum()
    shape = {"n": len(y), "d": X.shape[1], "classes": P.shape[1], "seconds": seconds, "rows": _rows(folds)}
    return CellResult({**shape, **scores_of(Prediction(labels, P), base, y, folds)})


def _cell(problem: Problem, method: str, repeat: int) -> Cell:
    settings: dict[str, Any] = {**problem._asdict(), "method": method, "repeat": repeat, "sha256": load(problem).sha256}
    settings["set"] = settings.pop("name")
    if method in OWN:  # a default that has changed is another method
        model = BayesianLSSVC(**(papers_parameters() if method == "papers" else {}))
        settings["parameters"] = {name: repr(value) for name, value in model.get_params().items()}
    return Cell(f"{problem.name}.{method}.{repeat}", settings, seed_of(problem.name, repeat) % 2**31)


def _rows(folds: AnyArray) -> int:
    """A number that says whether two cells had the same folds."""
    return zlib.crc32(folds.astype(np.uint8).tobytes())


def scores_of(found: Prediction, base: Array, y: AnyArray, folds: AnyArray) -> dict[str, Any]:
    """Scores of a prediction of all rows.

    Parameters
    ----------
    found : Prediction
    base : array of shape (N, M)
        Shares of the classes among the rows that each row was predicted from.
    y, folds : array of shape (N,)
        Numbers of the classes, and the fold of each row.

    Returns
    -------
    dict
        accuracy in %, log_loss, brier, ece and ece_error, by the jackknife over folds; base_rate, the log loss of
        `base`; row_losses, the log loss of each row in thousandths of a nat; bins, for reliability: rows, summed
        confidence and number of correct decisions in (0, 0.1], (0.1, 0.2], …
    """
    P = np.clip(found.probabilities, SMALLEST, None)
    P = P / P.sum(axis=1, keepdims=True)
    scored = score(found.labels, P, y, np.arange(P.shape[1]))
    confidence, correct = P.max(axis=1), P.argmax(axis=1) == y
    parts = [Decisions(confidence[folds == fold], correct[folds == fold]) for fold in np.unique(folds)]
    left_out = [pooled_calibration_error(parts, i) for i in range(len(parts))]
    each = np.arange(len(y))
    return {
        "accuracy": scored["accuracy"],
        "log_loss": -scored["log_score"],
        "brier": scored["brier"],
        "ece": scored["ece"],
        "ece_error": float(np.std(left_out) * np.sqrt(len(parts) - 1)),
        "base_rate": float(-np.log(np.clip(base[each, y], SMALLEST, None)).mean()),
        "row_losses": np.round(-_MILLI * np.log(P[each, y])).astype(int),
        "bins": _bins(confidence, correct),
    }


def _bins(confidence: Array, correct: AnyArray) -> dict[str, Array]:
    place = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    count, summed, right = (np.bincount(place, w, BINS) for w in (None, confidence, correct.astype(float)))
    return {"n": count, "confidence": np.round(summed, 4), "correct": right.astype(int)}


STUDY = Study(
    name="field",
    title="How good are the defaults on many data sets?",
    cells=cells,
    compute=compute,
    needs_data=False,
    own_data="many sets, named in the tables",
)
"""A cell is a method on one repeat of a data set."""
