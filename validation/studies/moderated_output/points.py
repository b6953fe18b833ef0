"""Where probabilities are computed: training points, test points, and a plane through the data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import train_test_split

from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import Array
from validation.harness import StudyData
from validation.ladder import spread_rows

_MARGIN = 0.5  # around the training points, in standardised units
_LINE = 4  # a line, for one input, has so many times the points of a side of the map
_TEST_SHARE = 1 / 3


class Points(NamedTuple):
    """Inputs of the study.

    Attributes
    ----------
    X, y : arrays of shape (N, d) and (N,)
        Training points, standardised, and labels ±1.
    X_test, y_test : arrays of shape (M, d) and (M,)
        Standardised by the training points' numbers.
    origin : array of shape (d,)
    directions : array of shape (d, 2), or (d, 1) for one input
        The map is origin + directions @ (first, second).
    first, second : arrays
        Coordinates of the map's columns and rows; `second` is one zero where there is one input.
    explained : float
        Share of the training points' variance within the plane.
    """

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    origin: Array
    directions: Array
    first: Array
    second: Array
    explained: float

    @property
    def plane(self) -> Array:
        """The map's points as inputs, of shape (len(second) · len(first), d), row by row."""
        a, b = np.meshgrid(self.first, self.second)
        places = np.stack([a.ravel(), b.ravel()], axis=1)[:, : self.directions.shape[1]]
        return np.asarray(self.origin + places @ self.directions.T)

    @property
    def all_new(self) -> Array:
        """Test points, then the map's."""
        return np.vstack([self.X_test, self.plane])


def points_of(data: StudyData, settings: dict[str, Any]) -> Points:
    """Split, standardise, and lay the map; the same in every cell with the same settings."""
    X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
    own_test = X_test is not None
    if X_test is None or y_test is None:
        rows, held = train_test_split(np.arange(len(y)), test_size=_TEST_SHARE, stratify=y, random_state=0)
        X, y, X_test, y_test = X[rows], y[rows], X[held], y[held]
    fewer = len(X) > settings["points"]
    if fewer:
        X, y = spread_rows(X, y, settings["points"])
    if len(X_test) > settings["test"]:
        X_test, y_test = spread_rows(X_test, y_test, settings["test"])
    if fewer or not own_test:
        standardise = Standardiser.fit(X, data.feature_names)
        X, X_test = standardise(X), standardise(X_test)
    origin, directions, explained = _directions(X)
    places = (X - origin) @ directions
    low, high = places.min(axis=0) - _MARGIN, places.max(axis=0) + _MARGIN
    side = settings["grid"]
    first = np.linspace(low[0], high[0], side if directions.shape[1] == 2 else _LINE * side)
    second = np.linspace(low[1], high[1], side) if directions.shape[1] == 2 else np.zeros(1)
    return Points(X, y, X_test, y_test, origin, directions, first, second, explained)


def _directions(X: Array) -> tuple[Array, Array, float]:
    """The inputs themselves up to two; beyond, the first two principal components through the mean."""
    d = X.shape[1]
    if d <= 2:
        return np.zeros(d), np.eye(d), 1.0
    mean = X.mean(axis=0)
    _, s, V = np.linalg.svd(X - mean, full_matrices=False)
    signs = np.sign(V[:2][np.arange(2), np.abs(V[:2]).argmax(axis=1)])  # the largest loading is positive
    return mean, (signs[:, None] * V[:2]).T, float((s[:2] ** 2).sum() / (s**2).sum())


def describe(points: Points, data: StudyData) -> dict[str, Any]:
    """What a page needs of the points; `n_given` and `n_test_given` are counted after the split, before any choice."""
    held = 0 if data.X_test is not None else int(np.ceil(_TEST_SHARE * len(data.X)))
    return {
        "n": len(points.X),
        "n_test": len(points.X_test),
        "n_given": len(data.X) - held,
        "n_test_given": held if data.X_test is None else len(data.X_test),
        "own_test": data.X_test is not None,
        "d": points.X.shape[1],
        "places": (points.X - points.origin) @ points.directions,
        "y": points.y,
        "y_test": points.y_test,
        "first": points.first,
        "second": points.second,
        "explained": points.explained,
        "nearest": cdist(points.plane, points.X).min(axis=1),
    }
