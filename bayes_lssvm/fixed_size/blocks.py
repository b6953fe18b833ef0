"""Where rows come from: shards, each a name and blocks of rows that can be read again and again.

A shard is what is finished or not when a run is stopped, and what an error names. Arrays in memory or memory-mapped,
CSV and Parquet files, and anything that gives blocks when it is called, are read in pieces of a few thousand rows.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from ..base.typing import AnyArray, Array

ROWS = 1024  # features of a block stay within the caches' reach
_READ = 65_536  # rows of a file that are read at a time
_GZIP = 3.0  # bytes of a table for each of its file when it is packed, or so
_EXTRA = 'pip install "bayes-lssvm[large]".'
Block = tuple[Array, AnyArray, Array | None]
"""Inputs, targets, and weights where rows have them."""


class ShardError(ValueError):
    """Rows that cannot be used; the message names the shard."""


@dataclass(frozen=True)
class Shard:
    """Rows that are read together.

    Attributes
    ----------
    name : str
    read : callable
        Gives an iterator over pairs of inputs of shape (n, d) and targets of shape (n,), or triples with weights.
    version : str
        Changes when the content does, so that what was kept of a file is not taken for what it holds now.
    columns : tuple of str
        Names of the inputs, where they have any.
    """

    name: str
    read: Callable[[], Iterable[tuple[Any, ...]]]
    version: str = ""
    columns: tuple[str, ...] = ()

    def blocks(self, n_features: int | None = None) -> Iterator[Block]:
        """The rows in pieces of at most `ROWS`, checked: numbers, finite, of the same columns as in other shards.

        Rows of weight zero are left out.
        """
        row = 0
        for X, y, *own in self.read():
            X, y = self._checked(X, y, n_features, row)
            weights = self._weights(own[0], len(X), row) if own and own[0] is not None else None
            n_features = X.shape[1]
            row += len(X)
            if weights is not None and not weights.all():
                X, y, weights = X[weights > 0.0], y[weights > 0.0], weights[weights > 0.0]
            for start in range(0, len(X), ROWS):
                part = slice(start, start + ROWS)
                yield X[part], y[part], None if weights is None else weights[part]

    def _weights(self, weights: Any, n: int, row: int) -> Array:
        found = np.asarray(weights, dtype=float)
        if found.shape != (n,):
            raise ShardError(f"{self.name}: weights must be one number for each of {n} rows, got shape {found.shape}.")
        bad = ~(np.isfinite(found) & (found >= 0.0))
        if bad.any():
            where = int(np.argmax(bad))
            raise ShardError(
                f"{self.name}: the weight of row {row + where} is {found[where]:g}; it must be finite and not negative."
            )
        return found

    def _checked(self, X: Any, y: Any, n_features: int | None, row: int) -> tuple[Array, AnyArray]:
        try:
            X, y = np.ascontiguousarray(X, dtype=float), np.asarray(y)
        except (TypeError, ValueError) as error:
            raise ShardError(f"{self.name}: the inputs are not numbers ({error}).") from None
        if X.ndim != 2 or y.shape != (len(X),):
            raise ShardError(
                f"{self.name}: a block must be inputs of shape (n, d) and targets of shape (n,), got {X.shape} and "
                f"{y.shape}."
            )
        if n_features is not None and X.shape[1] != n_features:
            raise ShardError(f"{self.name}: it has {X.shape[1]} input columns, the shards before it {n_features}.")
        bad = ~np.isfinite(X).all(axis=1)
        if y.dtype.kind == "f":
            bad |= ~np.isfinite(y)
        elif y.dtype.kind == "O":
            bad |= np.array([label is None or label != label for label in y], dtype=bool)
        if bad.any():
            where = row + int(np.argmax(bad))
            raise ShardError(
                f"{self.name}: row {where} holds a value that is missing or not finite. Fill it in or leave the row "
                "out; sums of other shards that were kept stay valid."
            )
        if y.dtype.kind == "O" and all(isinstance(label, str) for label in y):
            y = y.astype(str)
        return X, y


def of_arrays(X: Any, y: Any, weights: Any = None, *, rows: int = 2**18) -> list[Shard]:
    """Shards of arrays, which may be memory-mapped."""
    return [
        Shard(
            f"rows {start} to {min(start + rows, len(X)) - 1}",
            lambda start=start: _pieces(X, y, weights, start, min(start + rows, len(X))),  # type: ignore[misc]
        )
        for start in range(0, len(X), rows)
    ]


def _pieces(X: Any, y: Any, weights: Any, start: int, stop: int) -> Iterator[tuple[Any, ...]]:
    for first in range(start, stop, ROWS):
        part = slice(first, min(first + ROWS, stop))
        yield X[part], y[part], None if weights is None else weights[part]


def of_reader(reader: Any) -> list[Shard]:
    """Shards of what `fit_blocks` was given.

    A list of `Shard`s, of callables that give blocks, or of blocks themselves; or one callable.
    """
    if callable(reader):
        return [Shard("the data", reader)]
    found = []
    for number, part in enumerate(reader):
        if isinstance(part, Shard):
            found.append(part)
        elif callable(part):
            found.append(Shard(f"shard {number}", part))
        else:
            found.append(Shard(f"shard {number}", lambda part=part: [tuple(part)]))  # type: ignore[misc]
    if not found:
        raise ValueError("There are no shards to read.")
    return found


def of_files(
    paths: str | Path | Sequence[str | Path], target: str, ignore: Sequence[str] = (), *, weights: str | None = None
) -> list[Shard]:
    """Shards of CSV (also .csv.gz) or Parquet files, a file each, in the order of their names.

    Parameters
    ----------
    paths : path, pattern, folder, or a list of them
    target : str
        The column of the targets; all others are inputs, which must be numbers.
    ignore : sequence of str
        Columns that are left out.
    weights : str, optional
        The column of the rows' weights, which is no input.
    """
    if weights is not None and weights in (target, *ignore):
        raise ValueError(f"The column {weights!r} cannot be the weights and the target, or ignored, as well.")
    files = files_at(paths)
    columns = _columns(files[0], target, ignore, weights)
    # sums that were kept with other weights are not taken for these
    suffix = "" if weights is None else f" weights {weights}"
    return [
        Shard(
            str(file),
            lambda file=file: _read_file(file, target, columns, weights),  # type: ignore[misc]
            _version(file) + suffix,
            tuple(columns),
        )
        for file in files
    ]


def files_at(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """The CSV and Parquet files that paths, patterns and folders name, in the order of their names."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files = sorted({file for path in given for file in _files(Path(path))})
    if not files:
        raise ValueError(f"There is no CSV or Parquet file at {', '.join(map(str, given))}.")
    return files


def _version(path: Path) -> str:
    facts = path.stat()
    return f"{facts.st_size} {facts.st_mtime_ns}"


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for file in path.iterdir() if _kind(file)]
    return [Path(file) for file in glob(str(path))] if not path.exists() else [path]


def is_parquet(path: Path) -> bool:
    """Whether a file is a Parquet file, by its name."""
    return _kind(path) == "parquet"


def row_count(path: Path) -> float:
    """Rows of a file: as a Parquet file says, or about as many as the first lines of a CSV file let expect."""
    if is_parquet(path):
        return float(_parquet().read_metadata(path).num_rows)
    if path.stat().st_size == 0:  # or of the kernel, as in /proc, where reading may wait for ever
        return 0.0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        start = stream.read(2**20)
    size = path.stat().st_size * (_GZIP if path.suffix == ".gz" else 1.0)
    lines = max(1, start.count(b"\n"))
    return float(lines - 1 if len(start) < 2**20 else lines * size / len(start))


def _parquet() -> Any:
    return _imported("pyarrow.parquet", "Parquet files need pyarrow: " + _EXTRA)


def _kind(path: Path) -> str:
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz", ".tsv", ".txt")):
        return "csv"
    return "parquet" if name.endswith((".parquet", ".pq")) else ""


def _frames(path: Path) -> Iterator[Any]:
    """Data frames of a file, piece by piece."""
    if _kind(path) == "parquet":
        batches = _parquet().ParquetFile(path).iter_batches(_READ)
        yield from (batch.to_pandas() for batch in batches)
        return
    pandas = _imported("pandas", "CSV files that are read in pieces need pandas: " + _EXTRA)
    yield from pandas.read_csv(path, sep=None if path.suffix == ".txt" else ",", chunksize=_READ)


def _imported(name: str, advice: str) -> Any:
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        raise ImportError(advice) from None


def _columns(path: Path, target: str, ignore: Sequence[str], weights: str | None) -> list[str]:
    first = next(_frames(path), None)
    names = [] if first is None else [str(name) for name in first.columns]
    for wanted in (target,) if weights is None else (target, weights):
        if wanted not in names:
            raise ShardError(f"{path}: it has no column {wanted!r}; its columns are {', '.join(names[:20]) or 'none'}.")
    return [name for name in names if name not in (target, weights, *ignore)]


def input_blocks(path: Path, columns: list[str]) -> Iterator[Array]:
    """The named columns of a CSV or Parquet file as numbers, in pieces, checked."""
    row = 0
    for frame in _frames(path):
        X = _inputs(frame, path, columns)
        bad = ~np.isfinite(X).all(axis=1)
        if bad.any():
            raise ShardError(f"{path}: row {row + int(np.argmax(bad))} holds a value that is missing or not finite.")
        row += len(X)
        yield from (X[start : start + ROWS] for start in range(0, len(X), ROWS))


def _inputs(frame: Any, path: Path, columns: list[str]) -> Array:
    frame.columns = [str(name) for name in frame.columns]
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ShardError(f"{path}: it has no column {missing[0]!r}, which the first shard or the model has.")
    text = [name for name in columns if len(frame) and frame[name].dtype.kind not in "fiub"]
    if text:
        raise ShardError(f"{path}: column {text[0]!r} is not numeric. Encode text as numbers first, or ignore it.")
    return np.asarray(frame[columns].to_numpy(dtype=float))


def _read_file(path: Path, target: str, columns: list[str], weights: str | None) -> Iterator[tuple[Any, ...]]:
    for frame in _frames(path):
        X = _inputs(frame, path, columns)
        for wanted in (target,) if weights is None else (target, weights):
            if wanted not in frame.columns:
                raise ShardError(f"{path}: it has no column {wanted!r}, which the first shard has.")
        y = frame[target].to_numpy()
        yield (X, y) if weights is None else (X, y, _inputs(frame, path, [weights])[:, 0])
