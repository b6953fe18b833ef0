"""Many rows: what landmarks cost in evidence and in predictions, and models of fixed size beside their rivals.

Two kinds of cells. In `landmarks` the exact model can still be computed: waveform and ringnorm data, where m landmarks
are held against all rows, in evidence, lower bound, γ_eff, σ, error and log loss. In `rivals` it cannot, or not soon:
sets of the KEEL repository (letter, penbased, magic; below the folder that BAYES_LSSVM_DATA names), where
`FixedSizeLSSVC` stands beside other models with the same number of Nyström features, and beside boosted trees.

Rivals that need a kernel's width are given the one that our model found, which saves them their search; the penalty of
the logistic regression is chosen by the log loss on a fifth of the training rows.

| size  | landmarks                                   | rivals                                              |
| ----- | ------------------------------------------- | --------------------------------------------------- |
| toy   | waveform, 200 rows, m = 10, 20, all         | waveform, 600 rows, m = 20                          |
| quick | both, 1000 rows, m = 25 … 400, all          | three sets, 4000 rows of each, m = 200              |
| full  | both, 2000 rows, m = 25 … 800, all          | three sets, all rows, m = 300 and 1000              |
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from bayes_lssvm import BayesianLSSVC, FixedSizeLSSVC
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.datasets import make_ringnorm, make_waveform
from validation.harness import Cell, CellResult, Check, Size, Study
from validation.harness.keel import keel_file, read_keel
from validation.harness.scores import score

GENERATORS: dict[str, Callable[..., tuple[Array, AnyArray]]] = {"waveform": make_waveform, "ringnorm": make_ringnorm}
SETS = ("penbased", "magic", "letter")
METHODS = {
    "ours": "FixedSizeLSSVC",
    "logistic": "Nystroem + logistic regression",
    "ridge": "Nystroem + BayesianRidge",
    "boosting": "HistGradientBoosting",
}
KERNEL_RIVALS = ("logistic", "ridge")
ROWS: dict[Size, tuple[int, int]] = {"toy": (200, 600), "quick": (1000, 4000), "full": (2000, 10**9)}
LANDMARKS: dict[Size, tuple[int, ...]] = {
    "toy": (10, 20),
    "quick": (25, 50, 100, 200, 400),
    "full": (25, 50, 100, 200, 400, 800),
}
RIVALS_AT: dict[Size, tuple[int, ...]] = {"toy": (20,), "quick": (200,), "full": (300, 1000)}
_TEST, _TEST_ROWS = 0.3, 5000
_SMALLEST = 1e-6
_PENALTIES = (1.0, 10.0, 100.0)


class Split(NamedTuple):
    """Rows to train on and rows to test by, inputs standardised by the former."""

    X: Array
    y: AnyArray
    X_new: Array
    y_new: AnyArray


def cells(data: None, size: Size) -> list[Cell]:
    """Generators with every m and the exact model; sets with every method. Sets that are not here are left out."""
    n, most = ROWS[size]
    found = [
        Cell(f"{name}.{m or 'exact'}", {"kind": "landmarks", "data": name, "rows": n, "m": m}, 1)
        for name in (GENERATORS if size != "toy" else ("waveform",))
        for m in (*LANDMARKS[size], 0)
    ]
    sets = ("waveform",) if size == "toy" else tuple(name for name in SETS if keel_file(f"large_{name}") is not None)
    return found + [
        Cell(f"{name}.{m}.{method}", {"kind": "rivals", "data": name, "rows": most, "m": m, "method": method}, 2)
        for name in sets
        for m in RIVALS_AT[size]
        for method in METHODS
    ]


def split(name: str, rows: int, seed: int) -> Split:
    """Rows of a generator or a stratified sample of a set, and as many new ones as there are or as make sense."""
    if name in GENERATORS:
        X, y = GENERATORS[name](rows, seed=seed)
        X_new, y_new = GENERATORS[name](_TEST_ROWS, seed=seed + 1000)
    else:
        path = keel_file(f"large_{name}")
        assert isinstance(path, Path)
        X, y = read_keel(path)
        X, X_new, y, y_new = train_test_split(X, y, test_size=_TEST, random_state=seed, stratify=y)
        if len(y) > rows:
            X, _, y, _ = train_test_split(X, y, train_size=rows, random_state=seed, stratify=y)
    centre, scale = X.mean(axis=0), X.std(axis=0, ddof=1)
    scale = np.where(scale > 0, scale, 1.0)
    return Split((X - centre) / scale, np.asarray(y), (X_new - centre) / scale, np.asarray(y_new))


def compute(cell: Cell, data: None) -> CellResult:
    """One model on one set."""
    s = cell.settings
    rows = split(s["data"], s["rows"], cell.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rivals that stop before they have converged, and of our own lack of signal
        if s["kind"] == "landmarks":
            return _landmarks(rows, s["m"])
        return _rival(rows, s["m"], s["method"])


def _landmarks(rows: Split, m: int) -> CellResult:
    """A model with m landmarks, or the exact one for m = 0."""
    model = FixedSizeLSSVC(n_landmarks=m) if m else BayesianLSSVC()
    began = time.perf_counter()
    model.fit(rows.X, rows.y)
    seconds = time.perf_counter() - began
    member = model.members_[0]
    values = {
        "log_evidence": model.log_evidence_,
        "gamma_eff": member.gamma_eff_,
        "log_sigma": float(model.kernel_.log_params[0]),
        "seconds": seconds,
        **_scores(model.predict_proba(rows.X_new), model.classes_, rows),
    }
    if not m:
        return CellResult(values)
    lower = model.log_evidence_lower_
    sentence = "The lower bound of the evidence is not above the evidence with landmarks"
    above = lower - model.log_evidence_
    return CellResult(values | {"lower": lower}, (Check("lower bound", above, 1e-6, above <= 1e-6, sentence),))


def _rival(rows: Split, m: int, method: str) -> CellResult:
    began = time.perf_counter()
    if method == "boosting":
        trees = HistGradientBoostingClassifier(random_state=0).fit(rows.X, rows.y)
        P, classes, sigma = trees.predict_proba(rows.X_new), trees.classes_, None
    else:
        ours = FixedSizeLSSVC(n_landmarks=m, standardise=False).fit(rows.X, rows.y)
        sigma, classes = float(np.exp(ours.kernel_.log_params[0])), ours.classes_
        if method == "ours":
            P = ours.predict_proba(rows.X_new)
        else:
            began = time.perf_counter()  # the width is given to them
            features = Nystroem(gamma=sigma**-2.0, n_components=m, random_state=0).fit(rows.X)
            fit = _logistic if method == "logistic" else _ridge
            P = fit(features.transform(rows.X), rows.y, features.transform(rows.X_new))
    seconds = time.perf_counter() - began
    return CellResult({"sigma": sigma, "n": len(rows.y), "seconds": seconds, **_scores(P, classes, rows)})


def _logistic(phi: Array, y: AnyArray, phi_new: Array) -> Array:
    """The penalty by a fifth of the rows, then all rows."""
    own, held, y_own, y_held = train_test_split(phi, y, test_size=0.2, random_state=0, stratify=y)
    losses = [
        log_loss(y_held, LogisticRegression(C=C, max_iter=300).fit(own, y_own).predict_proba(held)) for C in _PENALTIES
    ]
    best = _PENALTIES[int(np.argmin(losses))]
    return np.asarray(LogisticRegression(C=best, max_iter=300).fit(phi, y).predict_proba(phi_new))


def _ridge(phi: Array, y: AnyArray, phi_new: Array) -> Array:
    """A regression on ±1 for each class, (1 + z)/2 as its probability, normalised."""
    columns = [BayesianRidge().fit(phi, np.where(y == label, 1.0, -1.0)).predict(phi_new) for label in np.unique(y)]
    P = np.clip(0.5 * (1.0 + np.stack(columns, axis=1)), _SMALLEST, 1.0)
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def _scores(P: Array, classes: AnyArray, rows: Split) -> dict[str, Any]:
    P = np.clip(P, _SMALLEST, None)
    P = P / P.sum(axis=1, keepdims=True)
    number = np.searchsorted(classes, rows.y_new)
    scored = score(P.argmax(axis=1), P, number, np.arange(len(classes)))
    losses = -np.log(P[np.arange(len(P)), number])
    error = float(losses.std(ddof=1) / np.sqrt(len(losses)))
    return {"accuracy": scored["accuracy"], "log_loss": float(losses.mean()), "log_loss_error": error}


STUDY = Study(
    name="many-rows",
    title="Many rows: how many landmarks are enough, and what else there is",
    cells=cells,
    compute=compute,
    needs_data=False,
    own_data="waveform and ringnorm data by their generators; penbased, magic and letter of the KEEL repository",
)
"""A cell is one model on one data set."""
