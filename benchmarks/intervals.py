"""Jackknife+ from one factor against refits: our own, and MAPIE's where it is installed; rows added against refits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from bayes_lssvm import LSSVR
from bayes_lssvm.base.typing import Array
from benchmarks.closed_forms import data
from benchmarks.timing import Measured, readable, side_by_side

try:
    from mapie.regression import CrossConformalRegressor
except ImportError:  # an optional peer
    CrossConformalRegressor = None

GAMMA, COVERAGE, NEW = 2.0, 0.9, 200


def _by_refits(X: Array, y: Array, new: Array) -> tuple[Array, Array]:
    """Jackknife+ by its definition: as many fits as rows."""
    predictions, errors = np.empty((len(new), len(y))), np.empty(len(y))
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        model = LSSVR("rbf", GAMMA, standardise=False).fit(X[rest], y[rest])
        predictions[:, i], errors[i] = model.predict(new), abs(y[i] - model.predict(X[i : i + 1])[0])
    k = int((1.0 - COVERAGE) * (len(y) + 1))
    lower, upper = np.sort(predictions - errors, axis=1), np.sort(predictions + errors, axis=1)
    return lower[:, k - 1], upper[:, -k]


def _by_mapie(X: Array, y: Array, new: Array) -> Any:
    """MAPIE's jackknife+ (CV+ with a fold for each row) of the same estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CrossConformalRegressor(
            LSSVR("rbf", GAMMA, standardise=False), confidence_level=COVERAGE, method="plus", cv=len(y)
        )
        return model.fit_conformalize(X, y).predict_interval(new)[1][:, :, 0]


def jackknife_plus(n: int, repeats: int) -> Iterator[Measured]:
    """Fit and intervals at 200 new rows."""
    X, _ = data(n + NEW)
    X, new = X[:n], X[n:]
    y = np.sin(X[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=n)

    def ours() -> tuple[Array, Array]:
        return LSSVR("rbf", GAMMA, standardise=False).fit(X, y).predict_interval(new, COVERAGE)

    gap = float(np.abs(np.array(ours()) - np.array(_by_refits(X, y, new))).max())
    own, peer = side_by_side(ours, lambda: _by_refits(X, y, new), repeats)
    label = f"jackknife+ at {NEW} new rows, N={n} (largest difference {gap:.0e})"
    yield Measured(label, readable(own), f"{n} fits {readable(peer)}", peer / own, 20.0, False)
    if CrossConformalRegressor is None:
        return
    own, peer = side_by_side(ours, lambda: _by_mapie(X, y, new), repeats)
    gap = float(np.abs(np.array(ours()).T - _by_mapie(X, y, new)).max())
    label = f"jackknife+ at {NEW} new rows, N={n} (largest difference {gap:.0e})"
    yield Measured(label, readable(own), f"MAPIE {readable(peer)}", peer / own, 100.0, False)


def one_row_more(n: int, repeats: int) -> Measured:
    """A row added against a fit to all rows."""
    X, y = data(n + 1)
    model = LSSVR("rbf", GAMMA, standardise=False).fit(X[:n], y[:n])
    model.partial_fit(X[n:], y[n:])  # makes the factor

    def fit() -> None:
        LSSVR("rbf", GAMMA, standardise=False).fit(X, y)

    own, peer = side_by_side(lambda: model.partial_fit(X[n:], y[n:]), fit, repeats)
    return Measured(f"one row more, N={n}", readable(own), f"a fit {readable(peer)}", peer / own, 1.0, False)


def rows(*, quick: bool) -> Iterator[Measured]:
    """Every benchmark of intervals; the quick ones are small, to see that they run."""
    if quick:
        yield from jackknife_plus(30, 1)
        yield one_row_more(60, 1)
        return
    yield from jackknife_plus(200, 3)
    yield from jackknife_plus(500, 1)
    yield one_row_more(2000, 5)
