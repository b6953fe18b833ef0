"""Probabilities of the training rows, each by the classifier of all other rows, without a refit.

They are in closed form (paper 1, eq 12): hyperparameters, the map of each member, the standardisation and the class
frequencies are held. A member of a pair of classes has never seen the rows of the other classes, so for them its
ordinary log odds are those of a left-out row.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from ..base.typing import AnyArray, Array
from ..levels.moderation import probabilities
from .binary import BinaryLSSVC
from .classifier import BayesianLSSVC


def left_out_probabilities(model: BayesianLSSVC, X: Array, y: AnyArray) -> Array:
    """P(c | x_i, all rows but i) at the training rows, of shape (N, M), for a classifier fitted to X and y.

    For moderation="loo" and members with a kernel each.
    """
    several = model.multiclass_
    if several is None:
        return probabilities(model.left_out_log_odds())
    if not all(isinstance(member, BinaryLSSVC) for member in several.members_):
        raise ValueError(
            "Leave-one-out probabilities need LS-SVM members with a kernel each; use shared_kernel=False and no member."
        )
    labels = np.searchsorted(model.classes_, y)
    ratios = several.log_ratios(model.standardiser_(X))
    for bit, member in enumerate(several.members_):
        seen = several.code_book_[labels, bit] != 0
        ratios[seen, bit] = member.left_out_log_odds() - float(logit(member.training_frequencies_[1]))
    return np.asarray(several.decode(ratios, class_prior=several.training_frequencies_))
