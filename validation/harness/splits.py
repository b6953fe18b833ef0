"""Randomisations: which rows train and which test, the same for every algorithm.

Randomisation r of a data set is a permutation of its rows by a generator that is seeded by the set's name and by r
alone. Algorithms are so compared on the same partitions, and a cell can be computed anywhere.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.typing import AnyArray

_STREAM = 20021115  # chosen once; any number would do


class Split(NamedTuple):
    """Row numbers of the training and of the test part."""

    train: AnyArray
    test: AnyArray


def seed_of(name: str, randomisation: int) -> int:
    """The seed that belongs to a randomisation of a data set, for folds and restarts of the algorithms."""
    words = np.random.SeedSequence([_STREAM, zlib.crc32(name.encode()), randomisation]).generate_state(1)
    return int(words[0] >> 1)


def random_split(name: str, rows: int, n_train: int, randomisation: int) -> Split:
    """A random partition of `rows` rows with `n_train` of them to train on.

    Parameters
    ----------
    name : str
        Of the data set.
    rows, n_train : int
    randomisation : int
        0, 1, …
    """
    if not 0 < n_train < rows:
        raise ValueError(f"{n_train} of {rows} rows of {name!r} cannot be the training part: none or no test rows.")
    order = np.random.default_rng(seed_of(name, randomisation)).permutation(rows)
    return Split(np.sort(order[:n_train]), np.sort(order[n_train:]))
