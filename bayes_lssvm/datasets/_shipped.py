"""Sets that need no download: the package's own compressed tables, and two that scikit-learn carries."""

from __future__ import annotations

import csv
import gzip
from importlib.resources import files
from typing import IO, Literal

import numpy as np

from ._codings import encode, german_onehot
from ._specs_multiclass import SOYBEAN_COLUMNS
from ._types import Dataset, Spec, labels


def read_table(stream: IO[bytes]) -> list[list[str]]:
    """Rows of a gzipped CSV table, without its header, as text."""
    with gzip.open(stream, "rt", encoding="utf-8", newline="") as text:
        rows = list(csv.reader(text))
    return rows[1:]


def _packaged(file: str) -> list[list[str]]:
    # Through importlib.resources, so that it works from a zipped package too.
    with files(__package__).joinpath("data", f"{file}.csv.gz").open("rb") as stream:
        return read_table(stream)


def load_shipped(spec: Spec, *, columns: int = 21, coding: Literal["ordinal", "onehot"] = "ordinal") -> Dataset:
    """Read a shipped set; `columns` concerns ssd only and `coding` gcr only."""
    if spec.name == "rsy":
        return _ripley(spec)
    if spec.name == "gcr":
        return _german(spec, coding)
    if spec.name == "ssd":
        return _soybean(spec, columns)
    rows = _packaged(spec.name)
    data = encode(spec.name, spec.feature_names, rows)
    target = labels([row[-1] for row in rows]) if spec.classes else None
    return spec.dataset(data, target)


def _ripley(spec: Spec) -> Dataset:
    train, test = _packaged("rsy_train"), _packaged("rsy_test")
    return spec.dataset(
        encode(spec.name, spec.feature_names, train),
        labels([row[-1] for row in train]),
        test_data=encode(spec.name, spec.feature_names, test),
        test_target=labels([row[-1] for row in test]),
    )


def _german(spec: Spec, coding: str) -> Dataset:
    if coding not in ("ordinal", "onehot"):
        raise ValueError(f"coding must be 'ordinal' or 'onehot', not {coding!r}")
    rows = _packaged("gcr")
    target = labels([row[-1] for row in rows])
    if coding == "ordinal":
        return spec.dataset(encode("gcr", spec.feature_names, rows), target)
    data, names = german_onehot(spec.feature_names, rows)
    return spec.dataset(data, target, feature_names=names)


def _soybean(spec: Spec, columns: int) -> Dataset:
    if columns not in (21, 35):
        raise ValueError(f"columns must be 21 (those that vary) or 35 (all), not {columns!r}")
    names = spec.feature_names if columns == 21 else SOYBEAN_COLUMNS
    rows = _packaged(f"ssd_{columns}")
    return spec.dataset(encode("ssd", names, rows), labels([row[-1] for row in rows]), feature_names=names)


def load_sklearn(spec: Spec) -> Dataset:
    """Iris or wine from scikit-learn, which is imported only here."""
    from sklearn import datasets

    bunch = {"iris": datasets.load_iris, "wine": datasets.load_wine}[spec.name]()
    return spec.dataset(np.array(bunch.data, dtype=np.float64), np.array(bunch.target, dtype=np.int64))
