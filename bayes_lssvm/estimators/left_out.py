"""Probabilities of the training rows, each by the classifier of all other rows, without a refit.

They are in closed form (paper 1, eq 12): hyperparameters, the map of each member, the standardisation and the class
frequencies are held. A member of a pair of classes has never seen the rows of the other classes, so for them its
ordinary log odds are those of a left-out row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.typing import AnyArray, Array
from ..levels.moderation import probabilities
from ..press.leave_one_out import LeaveOneOut, leave_one_out

if TYPE_CHECKING:
    from .classifier import BayesianLSSVC


class LeftOutRows(NamedTuple):
    """Probabilities of shape (N, M) of the training rows, their labels from 0 to M − 1, and their inputs."""

    probabilities: Array
    labels: AnyArray
    inputs: Array


class LeftOutTargets(NamedTuple):
    """Real targets of the training rows with their predictions, and the variances of those, noise included."""

    rows: LeaveOneOut
    variances: Array


def left_out_training(model: Any) -> LeftOutRows:
    """The training rows of a `BayesianLSSVC` of two classes, in their order."""
    if getattr(model, "multiclass_", None) is not None:
        raise ValueError(
            f"The model of {len(model.classes_)} classes does not know the order of its rows: give the training rows X "
            "and y, and left_out=True."
        )
    if not hasattr(model, "left_out_log_odds"):
        raise ValueError(f"{type(model).__name__} cannot leave its rows out in closed form: give new rows, X and y.")
    odds = probabilities(model.left_out_log_odds())
    return LeftOutRows(odds, (model.y_fit_ > 0).astype(int), model.X_fit_)


def left_out_targets(model: Any) -> LeftOutTargets:
    """The training rows of a `BayesianLSSVR`, each predicted by the model of the others (paper 1, eq 12)."""
    if not hasattr(model, "noise_variances"):
        raise ValueError(f"{type(model).__name__} has no left-out predictions of real targets; use BayesianLSSVR.")
    noise = model.noise_variances()
    K = model.kernel_(model.X_fit_)
    found = leave_one_out(K, model.y_fit_, model.gamma_, mu=model.mu_, weights=model.weights_)
    return LeftOutTargets(found, found.latent_variances + noise)


def left_out_probabilities(model: BayesianLSSVC, X: Array, y: AnyArray) -> Array:
    """P(c | x_i, all rows but i) at the training rows, of shape (N, M), for a classifier fitted to X and y.

    For moderation="loo" and members with a kernel each.
    """
    several = model.multiclass_
    known = model.y_fit_ if several is None else getattr(several, "labels_", None)
    if known is not None and len(known) != len(X):
        raise ValueError(
            f"The model was fitted to {len(known)} rows, but {len(X)} were given: give the rows that it was fitted "
            "to, without those of weight zero."
        )
    if several is None:
        return left_out_training(model).probabilities
    return several.left_out_probabilities(model.standardiser_(X), np.searchsorted(model.classes_, y))
