"""Data for a study: a set of the catalogue by name, or a CSV file; standardised, coded and hashed."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np

from bayes_lssvm import datasets
from bayes_lssvm.base.provenance import data_hash
from bayes_lssvm.base.rows import group_equal_inputs
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.table_inputs import Options, missing_note
from bayes_lssvm.base.text import listed, quoted
from bayes_lssvm.base.typing import Array

from .csv_file import Raw, read_csv
from .data import StudyData
from .labels import DataError, choose_coding

MIN_ROWS = 10
MAX_ROWS = 5000  # a study takes dozens of eigendecompositions of N × N matrices, each of minutes from here on
_PLAIN = Options()


def load_data(
    source: str | Path, *, target: str | None = None, positive: str | None = None, table: Options = _PLAIN
) -> StudyData:
    """Data for a study.

    Rows with missing values, inputs that do not vary and, of a file, rows that are copies of others (`_distinct`) are
    left out, which the notes say. A target of text or of two distinct values is classes, any other is a real number,
    which is standardised.

    Parameters
    ----------
    source : str or path
        The name of a data set of `bayes_lssvm.datasets`, or a CSV file with a header.
    target : str, optional
        The target's column; needed for a file.
    positive : str, optional
        The class that is +1; with more than two classes, against the rest.
    table : Options
        How to read a file: columns to ignore or to take as categories, missing values, decimal comma or point.

    Raises
    ------
    DataError
        A ValueError: a sentence that says what is wrong with the data.
    """
    if _is_file(source):
        path = Path(source)
        if not path.is_file():
            if path.exists():
                raise DataError(f"{str(source)!r} is a folder, a pipe or a device; a study needs a CSV file.")
            raise DataError(f"There is no file {str(source)!r}.")
        return _standardised(path.stem, str(path), _distinct(read_csv(path, target, positive, table)))
    return _standardised(str(source), str(source), _catalogued(str(source), target, positive))


def _is_file(source: str | Path) -> bool:
    """A path, or a text that looks like one."""
    separators = [s for s in (os.sep, os.altsep) if s]
    return isinstance(source, Path) or Path(source).suffix != "" or any(s in source for s in separators)


def _catalogued(name: str, target: str | None, positive: str | None) -> Raw:
    try:
        found = datasets.load(name)
    except (ValueError, FileNotFoundError) as error:
        raise DataError(f"{error} A file is given with its ending, my.csv, or with its folder.") from None
    if found.target is None:
        raise DataError(f"The data set {name!r} has no target, so there is nothing to infer.")
    if target is not None and target != found.target_name:
        raise DataError(f"The target of the data set {name!r} is {quoted(found.target_name)}, not {quoted(target)}.")
    meaning = {str(c): text for c, text in zip(found.classes, found.target_names, strict=True)}
    labels = np.array([meaning[str(label)] for label in found.target.tolist()])
    whole = ~np.isnan(found.data).any(axis=1)
    tally = Counter(labels[whole].tolist())
    counts = {text: tally[text] for text in found.target_names if tally[text]}
    coding = choose_coding(counts, meaning.get(positive or "", positive), f"{name}: the target")
    missing = int(np.sum(~whole))
    notes = (missing_note(missing, len(labels) - missing),) if missing else ()
    X_test = y_test = None
    if found.test_data is not None and found.test_target is not None:
        X_test, y_test = found.test_data, coding(np.array([meaning[str(c)] for c in found.test_target.tolist()]))
    return Raw(
        found.data[whole],
        coding(labels[whole]),
        found.feature_names,
        found.target_name,
        coding,
        notes,
        X_test,
        y_test,
    )


def _distinct(raw: Raw) -> Raw:
    """Each row once, where equal inputs have equal targets throughout.

    Every such pair would say that there is no noise: it adds ½ log ζ to the log evidence without bound, until only the
    prior ends it. The estimators put copies together for the same reason (`estimators.choice.without_copies`), with
    weights, which the studies' programs do not have. Where some targets at equal inputs differ, rows stay as they are.
    """
    rows = group_equal_inputs(raw.X, raw.y)
    if not rows.copies:
        return raw
    first = np.sort(np.unique(rows.group, return_index=True)[1])
    left_out = len(raw.y) - len(first)
    are, were = ("is a copy of another", "was") if left_out == 1 else ("are copies of others", "were")
    note = (
        f"{left_out} of {len(raw.y)} rows {are}, target included, and {were} left out: as measurements they would say "
        "that there is no noise."
    )
    return raw._replace(X=raw.X[first], y=raw.y[first], notes=(*raw.notes, note))


def _standardised(name: str, source: str, raw: Raw) -> StudyData:
    if len(raw.X) < MIN_ROWS:
        raise DataError(f"{source} has {len(raw.X)} usable rows; a study needs at least {MIN_ROWS}.")
    if len(raw.X) > MAX_ROWS:
        raise DataError(
            f"{source} has {len(raw.X)} usable rows. A study computes dozens of eigendecompositions of an N × N "
            f"matrix, and takes at most {MAX_ROWS} rows: draw a sample of the rows at random and give that."
        )
    varies = _varies(raw.X)
    if not varies.any():
        raise DataError(f"{source}: no input column varies, so there is nothing to learn from.")
    notes = list(raw.notes)
    if not varies.all():
        constant = [n for n, v in zip(raw.feature_names, varies, strict=True) if not v]
        notes.append(f"Inputs that do not vary were left out: {listed(map(quoted, constant), 10)}.")
    # in row order: means are summed in the order of memory, and all of the project sums rows
    X = np.ascontiguousarray(raw.X[:, varies])
    X_test = None if raw.X_test is None else np.ascontiguousarray(raw.X_test[:, varies])
    # of the numbers as they came: a mean that another NumPy rounds otherwise does not make them other data
    hashed = [part for part in (X, raw.y, X_test, raw.y_test) if part is not None]
    y = raw.y
    if raw.coding is None:
        if np.ptp(y) == 0:
            raise DataError(f"{source}: the target is {y[0]:g} in all rows, so there is nothing to learn.")
        mean, sd = float(y.mean()), float(y.std(ddof=1))
        y = (y - mean) / sd
        notes.append(f"The target was standardised: its mean is {mean:.6g}, its standard deviation {sd:.6g}.")
    scale = Standardiser.fit(X)
    return StudyData(
        name=name,
        X=_frozen(scale(X)),
        y=_frozen(y),
        task="regression" if raw.coding is None else "classification",
        feature_names=tuple(n for n, v in zip(raw.feature_names, varies, strict=True) if v),
        target_name=raw.target_name,
        class_names=None if raw.coding is None else raw.coding.names,
        X_test=None if X_test is None else _frozen(scale(X_test)),
        y_test=None if raw.y_test is None else _frozen(raw.y_test),
        sha256=data_hash(*hashed),
        notes=tuple(notes),
    )


def _varies(X: Array) -> Array:
    """Which columns have a variance above rounding, as the standardiser sees it; of shape (d,)."""
    return X.std(axis=0, ddof=1) > 10 * np.finfo(float).eps * np.abs(X).max(axis=0)


def _frozen(array: Array) -> Array:
    """An array that a cell cannot change under the next one's feet."""
    array = np.array(array, dtype=float)
    array.setflags(write=False)
    return array
