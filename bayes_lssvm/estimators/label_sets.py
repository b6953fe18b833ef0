"""`predict_set`: the labels that cannot be excluded, with a coverage that left-out rows vouch for."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..base.intervals import require_coverage
from ..base.typing import AnyArray, Array
from ..base.weights import counted
from ..press.conformal import thresholds


class PredictsSets:
    """A classifier whose training rows have probabilities by the model of the other rows."""

    training_frequencies_: Array

    predict_proba: Any

    @abstractmethod
    def _left_out_probabilities(self) -> tuple[Array, AnyArray, Array | None]:
        """P_−i(c | x_i) of shape (N, M) at the training rows, the numbers of their classes, and their weights."""

    def predict_set(self, X: Any, coverage: float = 0.9, *, by_class: bool = False) -> AnyArray:
        """Which labels the set of each row of X holds: an array of bool of shape (n, M), in the order of `classes_`.

        A class belongs to the set if its probability is at least that which the true class of a left-out training row
        has in the share `coverage` of cases. A set may hold one label, several, or none where a row is like no other.

        Parameters
        ----------
        X : array of shape (n, d)
        coverage : float, default 0.9
            Share of new rows whose set shall hold their label.
        by_class : bool, default False
            A threshold for each class from its own rows, so that each class is covered, rare ones too.

        Notes
        -----
        Leave-one-out probabilities are exact, with hyperparameters, map and class frequencies held, so that nothing is
        fitted again. They need moderation="loo". Probabilities are those at the training set's class frequencies, in
        which rows count by their weights, and so they do for the threshold.
        """
        coverage = require_coverage(coverage)
        left_out, labels, weights = self._left_out_probabilities()
        least = thresholds(left_out, labels, coverage, by_class=by_class, counts=counted(weights, len(labels)))
        return np.asarray(self.predict_proba(X, class_prior=self.training_frequencies_.tolist()) >= least)
