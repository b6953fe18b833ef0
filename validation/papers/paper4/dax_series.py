"""Returns of the stock indices, and inputs for the forecast of a day that are made of the days before it.

With closing prices P_t the daily returns are r_t = 100 log(P_t/P_{t−1}), in %. Every function of inputs here is given
the returns before the day that is to be forecast, and nothing else: what comes after cannot enter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from bayes_lssvm import datasets
from bayes_lssvm.base.provenance import data_hash
from bayes_lssvm.base.typing import Array

NAME = "eustockmarkets"
DAX = 0  # its column
HORIZONS = (1, 5, 20)
"""Days over which absolute returns are averaged: a day, a week, a month."""
LONGEST = 20
"""Returns before a day that some input needs."""
Inputs = Callable[[Array], Array]
"""From the returns so far, of shape (t, 4), to the inputs of the next day."""


@cache
def prices() -> tuple[Array, str]:
    """Daily closing prices of DAX, SMI, CAC and FTSE, of shape (T, 4), and their hash."""
    found = datasets.load(NAME)
    if found.feature_names[DAX] != "DAX":
        raise ValueError(f"The first column of {NAME!r} should be the DAX; it is {found.feature_names[DAX]!r}.")
    found.data.flags.writeable = False
    return found.data, data_hash(found.data)


def returns_of(P: Array) -> Array:
    """Returns in %, of shape (T − 1, 4): row i is the return of day i + 1."""
    return np.asarray(100.0 * np.diff(np.log(P), axis=0))


def own_lags(p: int) -> Inputs:
    """The DAX's last p returns, the latest first."""
    return lambda past: past[: -p - 1 : -1, DAX]


def all_lags(p: int) -> Inputs:
    """The last p returns of all indices, the latest day first."""
    return lambda past: past[: -p - 1 : -1].ravel()


def activity(past: Array) -> Array:
    """Mean absolute returns: of the DAX over `HORIZONS`, of the others over a week."""
    size = np.abs(past[-LONGEST:])
    own = [size[-k:, DAX].mean() for k in HORIZONS]
    return np.array([*own, *np.delete(size[-HORIZONS[1] :].mean(axis=0), DAX)])


def inputs_for(returns: Array, rows: Sequence[int] | range, make: Inputs) -> Array:
    """Inputs for the forecast of the returns in these rows, of shape (n, d): each made of the rows before it."""
    return np.stack([make(returns[:row]) for row in rows])
