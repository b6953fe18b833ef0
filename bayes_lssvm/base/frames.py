"""Tables from other libraries (pandas, polars, lists of lists): what is not a table of numbers gets a sentence.

scikit-learn's checks turn tables into arrays. They take dates for numbers where a library stores them so, and what they
say of text, missing values and plans of tables depends on the library. Nothing is imported here: columns are known by
what they offer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_TIMES = "Mm"  # NumPy's kinds of dates and durations, which pandas uses too
_MISSING = ("NAType", "NaTType")


def refuse_unfit(X: Any, y: Any = None, *, numeric_target: bool = False) -> None:
    """Refuse what would be misread: plans of tables, dates and durations among the inputs, targets that are missing."""
    for name, table in (("X", X), ("y", y)):
        if hasattr(table, "collect") and not hasattr(table, "__array__"):
            raise ValueError(
                f"{name} of type {type(table).__name__} is a lazy table, not yet computed: call its collect() first."
            )
    for column in _time_columns(X, "X"):
        raise ValueError(
            f"{column} holds dates or durations, which are not numbers until a unit and an origin are chosen. "
            "Convert them to numbers first, for example to days since the first one, or leave the column out."
        )
    if numeric_target and _time_columns(y, "y"):
        raise ValueError("y holds dates or durations, which are not numbers: convert them first.")
    _refuse_missing(y)


def _time_columns(table: Any, name: str) -> list[str]:
    """The columns of a table that hold dates or durations, in words."""
    types: Any = getattr(table, "dtypes", getattr(table, "dtype", None))
    columns = getattr(table, "columns", None)
    if columns is None or not hasattr(types, "__iter__"):
        return [name] if _is_time(types) else []
    return [f"Column {str(c)!r} of {name}" for c, kind in zip(columns, types, strict=False) if _is_time(kind)]


def _is_time(kind: Any) -> bool:
    temporal = getattr(kind, "is_temporal", None)  # of polars
    return bool(temporal()) if callable(temporal) else getattr(kind, "kind", "") in tuple(_TIMES)


def _refuse_missing(y: Any) -> None:
    if y is None or (isinstance(y, np.ndarray) and y.dtype.kind in "biuf" and not np.isnan(y).any()):
        return
    targets = np.asarray(y, dtype=object) if getattr(y, "dtype", None) is not None else np.asarray(y)
    if targets.dtype.kind != "O" or targets.ndim != 1:
        return
    missing = [i for i, target in enumerate(targets.tolist()) if _is_missing(target)]
    if missing:
        raise ValueError(
            f"Input y contains NaN or missing values in {len(missing)} of {len(targets)} rows, the first of them "
            f"row {missing[0]}. Leave out rows without a target."
        )


def _is_missing(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in _MISSING or (isinstance(cell, float) and np.isnan(cell))


class NoNumberError(ValueError, TypeError):
    """A cell that is neither a number nor text: scikit-learn asks for a TypeError, this library for a ValueError."""


def cell_that_is_no_number(X: Any) -> ValueError | None:
    """An error that names the first cell of X that is missing or not a number, if there is one."""
    names = [str(name) for name in getattr(X, "columns", [])]
    try:
        table = np.asarray(X)
    except (TypeError, ValueError):  # rows of unequal lengths; types without one in common
        return None
    if table.ndim != 2 or table.dtype.kind not in "OUS":
        return None
    for j in range(table.shape[1]):
        for i, cell in enumerate(table[:, j]):
            try:
                float(cell)
            except (TypeError, ValueError) as error:
                return _error(repr(names[j]) if names else str(j), i, cell, error)
    return None


def _error(column: str, row: int, cell: Any, error: Exception) -> ValueError:
    if _is_missing(cell):
        return ValueError(
            f"Input X contains NaN or missing values: column {column} has no value in row {row}. Leave such rows "
            "out, or fill them in, for example with sklearn.impute.SimpleImputer."
        )
    if isinstance(error, TypeError):
        return NoNumberError(
            f"Column {column} of X is not numeric: row {row} holds {cell!r} ({error}). Convert it to numbers, or "
            "leave the column out."
        )
    return ValueError(
        f"Column {column} of X is not numeric: row {row} holds {cell!r} (could not convert it to float). "
        "Encode text as numbers first, for example with sklearn.preprocessing.OneHotEncoder, or leave the column out."
    )
