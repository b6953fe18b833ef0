"""Many rows: what landmarks cost in evidence and in predictions, and models of fixed size beside their rivals.

Three kinds of cells. In `landmarks` the exact model can still be computed: waveform and ringnorm data, where m
landmarks are held against all rows, in evidence, lower bound, γ_eff, σ, error and log loss. In `growth` it cannot:
waveform data that are made block by block as they are read, up to 10⁷ rows, with what they cost in CPU time. In
`rivals` `FixedSizeLSSVC` stands beside other models (`rivals.py`): sets of the KEEL repository (letter, penbased,
magic) and the USPS digits, all below the folder that BAYES_LSSVM_DATA names. It is run with its defaults, where the
evidence says whether there is one width or a scale for each input; with one width; with one width and probabilities by
its outputs alone; and with scales in any case. In the other two kinds of cells there is one width.

| size  | landmarks                           | growth                       | rivals                                 |
| ----- | ----------------------------------- | ---------------------------- | -------------------------------------- |
| toy   | waveform, 200 rows, m = 10, 20, all | 1000 rows, m = 10            | waveform, 600 rows, m = 20             |
| quick | both, 1000 rows, m = 25 … 400, all  | to 10⁴ rows, m = 100         | four sets, 4000 rows of each, m = 200  |
| full  | both, 2000 rows, m = 25 … 800, all  | to 10⁶ (10⁷), m = 100 (500)  | four sets, all rows, m = 200 and 500   |
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from bayes_lssvm import BayesianLSSVC, FixedSizeLSSVC
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.datasets import make_ringnorm, make_waveform
from bayes_lssvm.fixed_size.blocks import Shard
from validation.harness import Cell, CellResult, Check, Size, Study
from validation.harness.keel import ENVIRONMENT, keel_file, read_keel
from validation.harness.scores import score

from .rivals import RIVALS, SMALLEST, Problem

__all__ = ["METHODS", "OURS", "RIVALS", "STUDY", "split"]

GENERATORS: dict[str, Callable[..., tuple[Array, AnyArray]]] = {"waveform": make_waveform, "ringnorm": make_ringnorm}
SETS = ("magic", "penbased", "usps", "letter")
OURS: dict[str, dict[str, Any]] = {
    "ours": {},
    "ours-width": {"kernel": "rbf"},
    "ours-loo": {"kernel": "rbf", "moderation": "loo"},
    "ours-scales": {"kernel": "ard"},
}
"""Settings of our own models."""
METHODS = {
    "ours": "FixedSizeLSSVC",
    "ours-width": "FixedSizeLSSVC, one width",
    "ours-loo": "FixedSizeLSSVC, one width, by its outputs alone",
    "ours-scales": "FixedSizeLSSVC, a scale for each input",
} | {name: rival.title for name, rival in RIVALS.items()}
ROWS: dict[Size, tuple[int, int]] = {"toy": (200, 600), "quick": (1000, 4000), "full": (2000, 10**9)}
LANDMARKS: dict[Size, tuple[int, ...]] = {
    "toy": (10, 20),
    "quick": (25, 50, 100, 200, 400),
    "full": (25, 50, 100, 200, 400, 800),
}
GROWTH: dict[Size, tuple[tuple[int, int], ...]] = {
    "toy": ((1000, 10),),
    "quick": ((1000, 100), (10_000, 100)),
    "full": (
        *((10**k, m) for m in (100, 500) for k in (3, 4, 5, 6)),
        (10**7, 100),
    ),
}
"""Rows and landmarks."""
RIVALS_AT: dict[Size, tuple[int, ...]] = {"toy": (20,), "quick": (200,), "full": (200, 500)}
_TEST, _TEST_ROWS = 0.3, 5000
_SHARD = 20_000  # rows of a generator that are made at a time
_TOO_WIDE = ("usps",)  # 256 scales
_COSTLY = 200  # landmarks up to which a process for each of several classes is trained


class Split(NamedTuple):
    """Rows to train on and rows to test by, inputs standardised by the former."""

    X: Array
    y: AnyArray
    X_new: Array
    y_new: AnyArray


def cells(data: None, size: Size) -> list[Cell]:
    """What takes long comes last; sets and rivals that are not here are left out."""
    n, most = ROWS[size]
    found = [
        Cell(f"{name}.{m or 'exact'}", {"kind": "landmarks", "data": name, "rows": n, "m": m}, 1)
        for name in (GENERATORS if size != "toy" else ("waveform",))
        for m in (*LANDMARKS[size], 0)
    ]
    sets = ("waveform",) if size == "toy" else tuple(name for name in SETS if _file(name) is not None)
    found += [
        Cell(f"{name}.{m}.{method}", {"kind": "rivals", "data": name, "rows": most, "m": m, "method": method}, 2)
        for m in RIVALS_AT[size]
        for name in sets
        for method in METHODS
        if _is_run(method, name, m, m == RIVALS_AT[size][0])
    ]
    growth = sorted(GROWTH[size], key=lambda each: each[0] * each[1] ** 2)
    return found + [
        Cell(f"growth.{rows}.{m}", {"kind": "growth", "data": "waveform", "rows": rows, "m": m}, 3)
        for rows, m in growth
    ]


def _is_run(method: str, name: str, m: int, first: bool) -> bool:
    """Rivals without landmarks once for a set; what is for two classes, or takes hours for more, where it can be."""
    if method in OURS:
        return method != "ours-scales" or name not in _TOO_WIDE
    rival, two = RIVALS[method], name in ("magic", *GENERATORS)
    if not rival.installed or (rival.two_classes and not two) or (not rival.same_m and not first):
        return False
    return method != "svgp" or two or m <= _COSTLY


def _file(name: str) -> Path | None:
    """The file of a set, if it is here."""
    if name != "usps":
        return keel_file(f"large_{name}")
    root = os.environ.get(ENVIRONMENT)
    path = Path(root).expanduser() / "usps.npz" if root else None
    return path if path is not None and path.is_file() else None


def split(name: str, rows: int, seed: int) -> Split:
    """Rows of a generator or a stratified sample of a set, and as many new ones as there are or as make sense.

    USPS has test rows of its own.
    """
    if name in GENERATORS:
        X, y = GENERATORS[name](rows, seed=seed)
        X_new, y_new = GENERATORS[name](_TEST_ROWS, seed=seed + 1000)
    else:
        X, y, X_new, y_new = _read(name, seed)
        if len(y) > rows:
            X, _, y, _ = train_test_split(X, y, train_size=rows, random_state=seed, stratify=y)
    centre, scale = X.mean(axis=0), X.std(axis=0, ddof=1)
    scale = np.where(scale > 0, scale, 1.0)
    return Split((X - centre) / scale, np.asarray(y), (X_new - centre) / scale, np.asarray(y_new))


def _read(name: str, seed: int) -> tuple[Array, AnyArray, Array, AnyArray]:
    path = _file(name)
    assert path is not None
    if name == "usps":
        with np.load(path) as file:
            X, X_new = (file[f"X_{part}"].astype(float) / 1000.0 for part in ("train", "test"))
            return X, file["y_train"].astype(int), X_new, file["y_test"].astype(int)
    X, y = read_keel(path)
    X, X_new, y, y_new = train_test_split(X, y, test_size=_TEST, random_state=seed, stratify=y)
    return X, y, X_new, y_new


def compute(cell: Cell, data: None) -> CellResult:
    """One model on one set."""
    s = cell.settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rivals that stop before they have converged, and of our own lack of signal
        if s["kind"] == "growth":
            return _growth(s["rows"], s["m"], cell.seed)
        if s["kind"] == "landmarks":
            return _landmarks(split(s["data"], s["rows"], cell.seed), s["m"])
        return _rival(s["data"], s["rows"], s["m"], cell.seed, s["method"])


def _landmarks(rows: Split, m: int) -> CellResult:
    """A model with m landmarks, or the exact one for m = 0."""
    model = FixedSizeLSSVC("rbf", n_landmarks=m) if m else BayesianLSSVC()
    began = time.process_time()
    model.fit(rows.X, rows.y)
    seconds = time.process_time() - began
    return _of_landmarks(model, seconds, rows, bool(m))


def _of_landmarks(model: Any, seconds: float, rows: Split, bounded: bool) -> CellResult:
    values = {
        "log_evidence": model.log_evidence_,
        "gamma_eff": model.members_[0].gamma_eff_,
        "log_sigma": float(model.kernel_.log_params[0]),
        "seconds": seconds,
        **_scores(model.predict_proba(rows.X_new), model.classes_, rows),
    }
    if not bounded:
        return CellResult(values)
    lower = model.log_evidence_lower_
    sentence = "The lower bound of the evidence is not above the evidence with landmarks"
    above = lower - model.log_evidence_
    return CellResult(values | {"lower": lower}, (Check("lower bound", above, 1e-6, above <= 1e-6, sentence),))


def _growth(rows: int, m: int, seed: int) -> CellResult:
    """A model of rows that are made as they are read, in shards, and never together."""

    def shard(number: int) -> Shard:
        def read() -> Iterator[tuple[Array, AnyArray]]:
            yield make_waveform(min(_SHARD, rows - number * _SHARD), seed=10_000 * seed + number)

        return Shard(f"shard {number}", read)

    model = FixedSizeLSSVC("rbf", n_landmarks=m)
    began = time.process_time()
    model.fit_blocks([shard(number) for number in range(-(-rows // _SHARD))])
    seconds = time.process_time() - began
    X_new, y_new = make_waveform(_TEST_ROWS, seed=seed)
    found = _of_landmarks(model, seconds, Split(X_new[:0], y_new[:0], X_new, y_new), True)
    return found._replace(values=found.values | {"passes": model.low_rank_.n_passes})


@lru_cache(maxsize=1)
def _ours(name: str, rows: int, m: int, seed: int) -> tuple[Split, FixedSizeLSSVC, float]:
    """Our model with one width and what it took; the rivals of the same m need its σ, so it is kept for them."""
    part = split(name, rows, seed)
    began = time.process_time()
    model = FixedSizeLSSVC(n_landmarks=m, standardise=False, **OURS["ours-width"]).fit(part.X, part.y)
    return part, model, time.process_time() - began


def _rival(name: str, n: int, m: int, seed: int, method: str) -> CellResult:
    if method in OURS and method != "ours-width":
        rows, began = split(name, n, seed), time.process_time()
        model = FixedSizeLSSVC(n_landmarks=m, standardise=False, **OURS[method]).fit(rows.X, rows.y)
        seconds = time.process_time() - began
    else:
        rows, model, seconds = _ours(name, n, m, seed)
    found: dict[str, Any] = {"n": len(rows.y), "d": rows.X.shape[1], "classes": len(model.classes_)}
    began = time.process_time()
    if method in OURS:
        P = model.predict_proba(rows.X_new)
        found |= {"log_evidence": model.log_evidence_, "scales": len(model.kernel_.log_params)}
    else:
        seconds, sigma = 0.0, float(np.exp(model.kernel_.log_params[0]))  # the width is given to them
        P = RIVALS[method].predict(Problem(rows.X, rows.y, rows.X_new, m, sigma, seed))
        found["sigma"] = sigma
    seconds += time.process_time() - began
    return CellResult({**found, "seconds": seconds, **_scores(P, model.classes_, rows)})


def _scores(P: Array, classes: AnyArray, rows: Split) -> dict[str, Any]:
    P = np.clip(P, SMALLEST, None)
    P = P / P.sum(axis=1, keepdims=True)
    number = np.searchsorted(classes, rows.y_new)
    scored = score(P.argmax(axis=1), P, number, np.arange(len(classes)))
    losses = -np.log(P[np.arange(len(P)), number])
    error = float(losses.std(ddof=1) / np.sqrt(len(losses)))
    return {"accuracy": scored["accuracy"], "log_loss": float(losses.mean()), "log_loss_error": error}


STUDY = Study(
    name="many-rows",
    title="Many rows: how many landmarks are enough, and how other methods compare",
    cells=cells,
    compute=compute,
    needs_data=False,
    own_data="waveform and ringnorm data by their generators; penbased, magic and letter of the KEEL repository; USPS",
)
"""A cell is one model on one data set."""
