"""Rows that come later: `partial_fit` with kernel, μ, ζ and scales held, in O(N²) for each row.

The result is that of a fit to all rows at once with the same hyperparameters (`levels.grown`). What describes the
choice of the hyperparameters, `level3_`, `log_evidence_` and their error bars, stays that of the rows they were chosen
on; a `fit` to all rows chooses them anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.scikit import validate_data
from ..base.typing import AnyArray, Array
from ..base.weights import check_weights
from ..levels.grown import GrownPosterior
from .outputs import publish_outputs


def check_new_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Array, AnyArray, Array | None]:
    """Rows for a fitted model: inputs as its kernel sees them, targets or labels, weights; those of weight zero go."""
    if model._takes_matrices:
        raise ValueError(
            'partial_fit needs inputs, and with kernel="precomputed" there are none: fit the matrix of all rows.'
        )
    numeric = not hasattr(model, "classes_")
    several = {"multi_output": True} if model._takes_several_outputs else {}
    X, y = validate_data(model, X, y, dtype=np.float64, y_numeric=numeric, reset=False, **several)
    weights = check_weights(sample_weight, len(X))
    inputs = model._scaled(X)
    if weights is None:
        return inputs, y, None
    kept = weights > 0.0
    return inputs[kept], y[kept], check_weights(weights[kept], int(kept.sum()))


def check_labels(classes: AnyArray, y: AnyArray) -> AnyArray:
    """The numbers of the classes of labels y; one that the model does not know is refused."""
    unknown = sorted(set(np.unique(y).tolist()) - set(classes.tolist()), key=str)
    if unknown:
        raise ValueError(
            f"The label {unknown[0]!r} is not one of the classes {classes.tolist()} that the model was fitted to; "
            "partial_fit adds rows of known classes. Fit all rows again for a new one."
        )
    return np.searchsorted(classes, y)


def check_first_labels(y: Any, classes: Any) -> None:
    """Where all classes are named beforehand, the first rows must show each, since the model is designed on them."""
    if classes is None:
        return
    named, seen = set(np.unique(np.asarray(classes)).tolist()), set(np.unique(np.asarray(y)).tolist())
    if named != seen:
        odd = sorted(named ^ seen, key=str)[0]
        which = "There are no rows of the class" if odd in named else "classes does not name the label"
        raise ValueError(
            f"{which} {odd!r}: the first rows must contain every class and no other, since the model is set up "
            "from them."
        )


def check_outputs(y: AnyArray, known: Array) -> Array:
    """Targets of new rows as floats, of as many outputs as those of the rows before."""
    y = np.asarray(y, dtype=float)
    if y.shape[1:] != known.shape[1:]:
        have = "one output" if known.ndim == 1 else f"{known.shape[1]} outputs"
        raise ValueError(f"The model has {have}, targets of shape {('n', *known.shape[1:])}; got shape {y.shape}.")
    return y


def add_rows(model: Any, inputs: Array, targets: Array, weights: Array | None) -> None:
    """Rows to a model of one target that the evidence has designed, its hyperparameters held."""
    y = np.append(model.y_fit_, targets)
    grown = GrownPosterior.of(model.posterior_).with_rows(inputs, y, weights)
    model.posterior_, model.X_fit_, model.y_fit_, model.weights_ = grown, grown.X, y, grown.weights
    model.alpha_, model.intercept_, model.gamma_eff_ = grown.alpha, grown.intercept, grown.gamma_eff
    for made_before in ("hyper_posterior_", "refits_"):
        model.__dict__.pop(made_before, None)


def add_rows_to_outputs(model: Any, inputs: Array, y: Array, weights: Array | None) -> None:
    """Rows to a regressor of one output, or to each of several."""
    if model.outputs_ is None:
        add_rows(model, inputs, y, weights)
        return
    for output, targets in zip(model.outputs_, y.T, strict=True):
        add_rows(output, inputs, targets, weights)
    first = model.outputs_[0]
    model.X_fit_, model.y_fit_, model.weights_ = first.X_fit_, np.vstack([model.y_fit_, y]), first.weights_
    publish_outputs(model, model.outputs_)
    model.__dict__.pop("refits_", None)
