"""Files of the KEEL repository: where they are, and how they are read.

They lie in the folder `keel` below the one that BAYES_LSSVM_DATA names, as `<group>_<name>.csv.gz`: columns of inputs,
and the class `y` last. A column of text is a category and becomes an indicator for each of its values.
"""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import numpy as np

from bayes_lssvm.base.number_text import is_number
from bayes_lssvm.base.typing import AnyArray, Array

ENVIRONMENT = "BAYES_LSSVM_DATA"
FOLDER = "keel"


def keel_folder() -> Path | None:
    """Where the files of KEEL are, if anywhere."""
    root = os.environ.get(ENVIRONMENT)
    folder = Path(root).expanduser() / FOLDER if root else None
    return folder if folder is not None and folder.is_dir() else None


def keel_file(name: str) -> Path | None:
    """The file of a set, such as "large_magic", if it is here."""
    folder = keel_folder()
    path = None if folder is None else folder / f"{name}.csv.gz"
    return path if path is not None and path.is_file() else None


def read_keel(path: Path) -> tuple[Array, AnyArray]:
    """Inputs and numbers of the classes of a file with a header, whose last column is the class."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        header, *rows = ([cell.strip() for cell in row] for row in csv.reader(stream) if row)
    ragged = next((i for i, row in enumerate(rows, 2) if len(row) != len(header)), None)
    if ragged is not None or not rows:
        raise ValueError(
            f"{path.name}: " + (f"row {ragged} has another length than the header." if rows else "no rows.")
        )
    *inputs, labels = zip(*rows, strict=True)
    X = np.column_stack([column for cells in inputs for column in _columns(cells)])
    return X, np.unique(labels, return_inverse=True)[1]


def _columns(cells: tuple[str, ...]) -> list[Array]:
    """Numbers as one column; text as an indicator for each of its values."""
    if all(map(is_number, cells)):
        return [np.array(cells, dtype=float)]
    return [np.array([cell == value for cell in cells], dtype=float) for value in sorted(set(cells))]
