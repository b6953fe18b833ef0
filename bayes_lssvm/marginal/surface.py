"""Between a caller's data and the model's: scales of the inputs and targets, two labels as ±1, and names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.scikit import check_X_y, type_of_target
from ..base.standardisation import Standardiser, moments
from ..base.typing import AnyArray, Array
from ..base.weights import with_weight

_TASKS = ("auto", "classification", "regression")


class Surface(NamedTuple):
    """How the data of a posterior became what the model sees.

    Attributes
    ----------
    standardiser : Standardiser or None
        Of the inputs; None where they were taken as they are.
    classes : tuple or None
        The labels of −1 and +1; None for real targets.
    target_mean, target_scale : float
        Real targets were standardised by these.
    features : tuple of str or None
        Names of the inputs, where they had some.
    columns : tuple of int or None
        The inputs that a model had chosen; None for all.
    """

    standardiser: Standardiser | None = None
    classes: tuple[Any, ...] | None = None
    target_mean: float = 0.0
    target_scale: float = 1.0
    features: tuple[str, ...] | None = None
    columns: tuple[int, ...] | None = None

    @property
    def width(self) -> int | None:
        """How many inputs the data have, where that is known here."""
        return None if self.standardiser is None else len(self.standardiser.mean)

    def inputs(self, X: Array) -> Array:
        """New inputs as the kernel sees them."""
        X = X if self.standardiser is None else self.standardiser(X)
        return X if self.columns is None else X[:, list(self.columns)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        scales = self.standardiser
        return {
            "input_mean": None if scales is None else scales.mean.tolist(),
            "input_scale": None if scales is None else [s if np.isfinite(s) else None for s in scales.scale.tolist()],
            "classes": None if self.classes is None else list(self.classes),
            "target_mean": self.target_mean,
            "target_scale": self.target_scale,
            "features": None if self.features is None else list(self.features),
            "columns": None if self.columns is None else list(self.columns),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Surface:
        """What `to_dict` gave."""
        mean, scale = record["input_mean"], record["input_scale"]
        scales = None
        if mean is not None:
            scales = Standardiser(np.array(mean, float), np.array([np.inf if s is None else s for s in scale], float))
        classes, features, columns = record["classes"], record["features"], record["columns"]
        return cls(
            scales,
            None if classes is None else tuple(classes),
            float(record["target_mean"]),
            float(record["target_scale"]),
            None if features is None else tuple(str(name) for name in features),
            None if columns is None else tuple(int(column) for column in columns),
        )


class Seen(NamedTuple):
    """Data as the model sees them: inputs, targets and weights, None where all are one."""

    X: Array
    y: Array
    weights: Array | None


def surface_of(X: Any, y: Any, sample_weight: Any, *, standardise: bool, task: str) -> tuple[Surface, Seen]:
    """The surface of given data, and the data as the model sees them, without the rows of weight zero."""
    if task not in _TASKS:
        raise ValueError(f"task must be one of {', '.join(_TASKS)}, got {task!r}.")
    table = X
    X, y = check_X_y(table, y, dtype=np.float64, ensure_min_samples=3)
    X, y, weights = with_weight(X, y, sample_weight)
    names = tuple(str(name) for name in getattr(table, "columns", ())) or None
    scales = Standardiser.fit(X, names, weights) if standardise else None
    inputs = X if scales is None else scales(X)
    text = y.dtype.kind in "OUSb"
    if task == "classification" or (task == "auto" and (text or type_of_target(y) == "binary")):
        classes, signs = _two_classes(y)
        return Surface(scales, classes, features=names), Seen(inputs, signs, weights)
    targets = np.asarray(y, dtype=float)
    if not standardise:
        return Surface(None, features=names), Seen(inputs, targets, weights)
    mean, scale = (float(value) for value in moments(targets, weights)[:2])
    if scale <= 10.0 * np.finfo(float).eps * float(np.abs(targets).max()):
        raise ValueError(f"All {len(y)} targets are equal ({targets[0]:g}), so there is nothing to learn from them.")
    return Surface(scales, None, mean, scale, names), Seen(inputs, (targets - mean) / scale, weights)


def _two_classes(y: AnyArray) -> tuple[tuple[Any, ...], Array]:
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"All {len(y)} targets are equal ({classes[0]}), so there is nothing to learn from them.")
    if len(classes) > 2:
        raise ValueError(
            f"marginalise is for two classes or for real targets, but y has {len(classes)} labels; "
            "FullyBayesianLSSVC takes any number of classes."
        )
    return tuple(classes.tolist()), np.asarray(2.0 * codes - 1.0)
