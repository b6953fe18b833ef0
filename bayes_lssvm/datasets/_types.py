"""What a data set is: the result type that users hold, and the record that the catalogue keeps.

A `Spec` is static text and shapes, written once per set and never changed. A `Dataset` is a `Spec` joined to
arrays that belong to the caller alone: nothing is cached, so writing into them harms nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
LabelArray: TypeAlias = NDArray[Any]  # int64 or unicode, as the source writes its classes
IndexArray: TypeAlias = NDArray[np.intp]
Split: TypeAlias = tuple[IndexArray, IndexArray]
Label: TypeAlias = int | str
Origin: TypeAlias = Literal["shipped", "scikit-learn", "generated", "external"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """One data set, with the facts needed to use and to cite it.

    Parameters
    ----------
    name : str
        The short name under which `load` knows the set.
    data : ndarray of shape (N, d), float64
        The inputs.
    target : ndarray of shape (N,) or None
        Class labels as in the source, int64 or unicode; None where the set has no target.
    feature_names : tuple of str
        One name per column of `data`.
    target_name : str
        What `target` holds; empty where there is none.
    classes : tuple of int or str
        The labels that occur in `target`, sorted.
    target_names : tuple of str
        What each of `classes` means, in the same order.
    description : str
        Source, citation, licence, meaning of the columns and notes, as plain text.
    source, citation, licence : str
        The parts of `description` that one quotes.
    test_data, test_target : ndarray or None
        The fixed test part, where the source has one.
    splits : tuple of (train, test) pairs of row numbers
        The published partitions into training and test part; empty where there are none.
    split_sizes : (int, int) or None
        Rows in the training and the test part of the benchmark's partitions, for drawing new ones.

    Examples
    --------
    >>> from bayes_lssvm import datasets
    >>> iris = datasets.load("iris")
    >>> iris.data.shape, iris.classes
    ((150, 4), (0, 1, 2))
    """

    name: str
    data: FloatArray
    target: LabelArray | None
    feature_names: tuple[str, ...]
    target_name: str
    classes: tuple[Label, ...]
    target_names: tuple[str, ...]
    description: str
    source: str
    citation: str
    licence: str
    test_data: FloatArray | None = None
    test_target: LabelArray | None = None
    splits: tuple[Split, ...] = ()
    split_sizes: tuple[int, int] | None = None

    @property
    def Xy(self) -> tuple[FloatArray, LabelArray]:
        """`(data, target)`, ready to unpack."""
        if self.target is None:
            raise ValueError(f"{self.name!r} has no target, so there is no (X, y) pair: use .data")
        return self.data, self.target

    @property
    def test_Xy(self) -> tuple[FloatArray, LabelArray]:
        """`(test_data, test_target)`, ready to unpack."""
        if self.test_data is None or self.test_target is None:
            raise ValueError(f"{self.name!r} has no fixed test part: split .data and .target instead")
        return self.test_data, self.test_target

    def __repr__(self) -> str:
        rows, inputs = self.data.shape
        parts = [f"{self.name!r}", f"{rows} × {inputs}"]
        parts.append(f"{len(self.classes)} classes" if self.target is not None else "no target")
        if self.test_data is not None:
            parts.append(f"{len(self.test_data)} test rows")
        if self.splits:
            parts.append(f"{len(self.splits)} {'split' if len(self.splits) == 1 else 'splits'}")
        return f"Dataset({', '.join(parts)})"


@dataclass(frozen=True)
class Spec:
    """What the catalogue knows about a set before any file is opened.

    Examples
    --------
    >>> from bayes_lssvm import datasets
    >>> datasets.find("wine").shape
    (178, 13)
    """

    name: str
    title: str
    origin: Origin
    paper: str
    shape: tuple[int, int]
    feature_names: tuple[str, ...]
    target_name: str
    classes: tuple[Label, ...]
    target_names: tuple[str, ...]
    columns: str
    source: str
    citation: str
    licence: str
    notes: str = ""
    test_rows: int = 0
    options: tuple[str, ...] = ()
    file: str = ""
    openml: int | str | None = None
    split_sizes: tuple[int, int] | None = None

    @property
    def description(self) -> str:
        """Everything above as labelled lines of plain text."""
        lines = [
            f"{self.name}: {self.title}",
            f"Used in: {self.paper}",
            f"Source: {self.source}",
            f"Citation: {self.citation}",
            f"Licence: {self.licence}",
            f"Columns: {self.columns}",
        ]
        if self.classes:
            meanings = ", ".join(
                f"{label} = {text}" if str(label) != text else text
                for label, text in zip(self.classes, self.target_names, strict=True)
            )
            lines.append(f"Target {self.target_name}: {meanings}")
        if self.notes:
            lines.append(f"Notes: {self.notes}")
        return "\n".join(lines)

    def dataset(self, data: FloatArray, target: LabelArray | None, **changes: Any) -> Dataset:
        """Join the facts to arrays; `changes` replaces facts that an option altered."""
        facts: dict[str, Any] = {
            "feature_names": self.feature_names,
            "target_name": self.target_name,
            "classes": self.classes,
            "target_names": self.target_names,
            "description": self.description,
            "source": self.source,
            "citation": self.citation,
            "licence": self.licence,
            "split_sizes": self.split_sizes,
        }
        return Dataset(name=self.name, data=data, target=target, **(facts | changes))


def words(text: str) -> tuple[str, ...]:
    """Names written one after the other, for the many that have no space in them."""
    return tuple(text.split())


def labels(values: list[str]) -> LabelArray:
    """Class labels as int64 where every one is a whole number, as unicode otherwise."""
    try:
        return np.array([int(v) for v in values], dtype=np.int64)
    except ValueError:
        return np.array(values, dtype=np.str_)
