"""Can the probabilities of several classes be believed? Bayesian decoding, votes, coupling and calibrated SVMs.

Each randomisation splits a data set 2/3 to 1/3 within classes, and all methods see the same rows. LS-SVMs have one
kernel for all members: RBF, at the maximum of the summed evidence, or linear. The decodings share a fit:

    Bayes     P(c_m | x) by Bayes' rule from the members' moderated outputs (paper 2, eqs 17 to 20)
    coupling  pairwise probabilities brought together by least squares
    votes     Hamming's: each member has one vote for every class on the side it decides for. Votes are no
              probabilities; the nearest thing is their share, (v_m + ½)/(Σ v + M/2), the half vote keeping log p finite

scikit-learn's SVC, with C and one kernel width by a grid, has its margins calibrated by cross-validation: a sigmoid for
each class against the rest ("sigmoid"), or one temperature of a softmax ("temperature").

Scores are those of `validation.harness.scores`. Accuracy and log score are means over splits, and their differences
from the first method's have paired standard errors. ECE is biased upwards by few points in a bin, so it is that of the
test points of all splits together, and its difference has a standard error by the jackknife over splits. Splits share
rows, so that errors for new data of the same kind are larger than these.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.svm import SVC

from bayes_lssvm import BayesLSSVMWarning, datasets
from bayes_lssvm.base.provenance import provenance
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.multiclass import MulticlassLSSVC, votes
from validation.harness import Cell, CellResult, FinishedCell, Size, Study
from validation.harness.scores import Decisions, calibration_gain, paired_gain, pooled_calibration_error, score

SETS = ("veh", "gla", "led", "wine")
SIZES: dict[Size, tuple[tuple[str, ...], int]] = {"toy": (("wine",), 2), "quick": (("wine",), 4), "full": (SETS, 10)}
"""Data sets, and randomisations of each."""
REFERENCE = "ovo, Bayes"
# name, kernel, coding, decodings
LSSVMS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("ovo", "rbf", "ovo", ("Bayes", "coupling", "votes")),
    ("ova", "rbf", "ova", ("Bayes", "votes")),
    ("ecoc", "rbf", "ecoc", ("Bayes", "votes")),
    ("linear ovo", "linear", "ovo", ("Bayes", "coupling")),
    ("linear ova", "linear", "ova", ("Bayes",)),
)
CALIBRATIONS = ("sigmoid", "temperature")
SCORES = (("log_score", "log score", 3), ("ece", "ECE", 3), ("accuracy", "accuracy %", 1))
_FOLDS = 5
_GRID = {"C": np.logspace(-1, 3, 5), "gamma": np.logspace(-2, 1, 4)}  # gamma in units of 1/d


class Prediction(NamedTuple):
    """Labels of shape (n,) and probabilities of shape (n, M) of the test rows."""

    labels: AnyArray
    probabilities: Array


class SplitResult(NamedTuple):
    """One method on one split: its scores, and its decisions."""

    scores: dict[str, float]
    decisions: Decisions


class Compared(NamedTuple):
    """A score over all splits, and how much larger it is than the reference's, with a paired standard error."""

    value: float
    difference: float
    error: float


class Summary(NamedTuple):
    """One method on one data set, over all splits: accuracy in %, log score in nats, calibration error."""

    data: str
    method: str
    n_splits: int
    accuracy: Compared
    log_score: Compared
    ece: Compared


def lssvms(X: Array, y: AnyArray, X_test: Array) -> dict[str, Prediction]:
    """Every coding with its decodings."""
    found = {}
    for name, kernel, coding, decodings in LSSVMS:
        model = MulticlassLSSVC(kernel, coding=coding, decoding="bayes", moderation="class", shared_kernel=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesLSSVMWarning)  # members without signal are a matter of course here
            model.fit(X, y)
        for decoding in decodings:
            found[f"{name}, {decoding}"] = decode(model, decoding, X_test)
    return found


def decode(model: MulticlassLSSVC, decoding: str, X: Array) -> Prediction:
    """A fitted model's outputs brought together in one of the three ways."""
    if decoding == "votes":
        model.set_params(decoding="hamming")
        return Prediction(model.predict(X), vote_shares(model.code_book_, model.outputs(X)))
    model.set_params(decoding=decoding.lower())
    P = model.predict_proba(X)
    return Prediction(model.classes_[P.argmax(axis=1)], P)


def vote_shares(code: Array, outputs: Array) -> Array:
    """Shares of the votes of shape (n, M), with half a vote added to every class."""
    signs = np.where(outputs > 0, 1.0, -1.0)
    shares = votes(code, outputs)
    total = (signs[:, None, :] == code).sum(axis=(1, 2))[:, None]
    return np.asarray((shares * total + 0.5) / (total + 0.5 * len(code)))


def svms(X: Array, y: AnyArray, X_test: Array, seed: int) -> dict[str, Prediction]:
    """scikit-learn's SVC: C and width by cross-validated accuracy, then its margins calibrated by cross-validation."""
    standardise = Standardiser.fit(X)
    X, X_test = standardise(X), standardise(X_test)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    grid = {"C": _GRID["C"].tolist(), "gamma": (_GRID["gamma"] / X.shape[1]).tolist()}
    best = GridSearchCV(SVC(), grid, cv=folds, refit=False).fit(X, y).best_params_
    found = {}
    for method in CALIBRATIONS:
        model = CalibratedClassifierCV(SVC(**best), method=method, cv=folds, ensemble=False).fit(X, y)
        P = model.predict_proba(X_test)
        found[f"SVC, {method}"] = Prediction(model.classes_[P.argmax(axis=1)], P)
    return found


def split_outcomes(name: str, seed: int) -> dict[str, SplitResult]:
    """All methods on one randomisation of a data set."""
    X, y = datasets.load(name).Xy
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
    classes = np.unique(y)
    outcomes = {}
    for method, (labels, P) in {**lssvms(X, y, X_test), **svms(X, y, X_test, seed)}.items():
        decided = np.searchsorted(classes, labels)
        scores = score(labels, P, y_test, classes)
        outcomes[method] = SplitResult(scores, Decisions(P[np.arange(len(P)), decided], labels == y_test))
    return outcomes


def summarise(name: str, splits: Sequence[Mapping[str, SplitResult]]) -> list[Summary]:
    """Means and paired errors over splits; each split has every method, the reference among them."""
    reference = [split[REFERENCE] for split in splits]
    result = []
    for method in splits[0]:
        found = [split[method] for split in splits]
        mean = {key: _paired(found, reference, key) for key in ("accuracy", "log_score")}
        result.append(
            Summary(name, method, len(splits), mean["accuracy"], mean["log_score"], _pooled(found, reference))
        )
    return result


def _paired(found: Sequence[SplitResult], reference: Sequence[SplitResult], key: str) -> Compared:
    """The mean of a score over splits."""
    ours, theirs = ([outcome.scores[key] for outcome in each] for each in (found, reference))
    return Compared(float(np.mean(ours)), *paired_gain(ours, theirs))


def _pooled(found: Sequence[SplitResult], reference: Sequence[SplitResult]) -> Compared:
    """The calibration error of the test points of all splits together."""
    ours, theirs = ([outcome.decisions for outcome in each] for each in (found, reference))
    return Compared(pooled_calibration_error(ours), *calibration_gain(ours, theirs))


def cells(data: None, size: Size) -> list[Cell]:
    """Data set by randomisation."""
    names, count = SIZES[size]
    return [Cell(f"{name}.{k:02d}", {"data": name}, k) for name in names for k in range(count)]


def compute(cell: Cell, data: None) -> CellResult:
    """All methods on one randomisation."""
    found = split_outcomes(cell.settings["data"], cell.seed)
    return CellResult({method: {"scores": o.scores, **o.decisions._asdict()} for method, o in found.items()})


def summaries(cells: Sequence[FinishedCell]) -> list[Summary]:
    """Every method on each data set; cells that failed are left out."""
    splits: dict[str, list[dict[str, SplitResult]]] = {}
    for finished in cells:
        if finished.error is None:
            own = {method: _outcome(values) for method, values in finished.values.items()}
            splits.setdefault(finished.cell.settings["data"], []).append(own)
    return [row for name, own in splits.items() for row in summarise(name, own)]


def _outcome(values: dict[str, Any]) -> SplitResult:
    return SplitResult(values["scores"], Decisions(np.array(values["confidence"]), np.array(values["correct"])))


def tables(rows: Sequence[Summary]) -> str:
    """A Markdown table for each score: methods by data sets, with the differences from the reference."""
    return "\n\n".join(_table(rows, key, title, digits) for key, title, digits in SCORES)


def _table(rows: Sequence[Summary], key: str, title: str, digits: int) -> str:
    names, methods = (list(dict.fromkeys(getattr(row, field) for row in rows)) for field in ("data", "method"))
    found = {(row.method, row.data): getattr(row, key) for row in rows}
    lines = [f"| {title} | " + " | ".join(names) + " |", "| --- " * (1 + len(names)) + "|"]
    for method in methods:
        cells = []
        for name in names:
            value, apart, error = found[method, name]
            rest = "" if method == REFERENCE else f" ({apart:+.{digits}f} ± {error:.{digits}f})"
            cells.append(f"{value:.{digits}f}{rest}")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def record(rows: Sequence[Summary], names: Sequence[str], *, n_splits: int, seed: int = 0) -> dict[str, Any]:
    """The summaries with their provenance, as plain values."""
    data = tuple(array for name in names for array in datasets.load(name).Xy)
    settings = {"sets": list(names), "splits": n_splits, "seed": seed, "reference": REFERENCE}
    return {"rows": [_plain(row) for row in rows], "provenance": provenance(settings=settings, data=data)}


def _plain(row: Summary) -> dict[str, Any]:
    return {key: value._asdict() if isinstance(value, Compared) else value for key, value in row._asdict().items()}


STUDY = Study(
    name="multiclass-calibration",
    title="Calibration of multiclass probabilities",
    cells=cells,
    compute=compute,
    needs_data=False,
    own_data="several sets, named in the tables",
)
"""A cell is a randomisation of a data set, with every method."""
