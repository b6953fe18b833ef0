"""`predict_set`: the labels that cannot be excluded, with a coverage that left-out rows vouch for."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base.intervals import require_coverage
from ..base.typing import AnyArray, Array
from ..base.weights import counted
from ..press.conformal import thresholds
from .intervals import BLOCKS
from .refits import FEW, TrainingSet, cannot_refit, refits_of, refitted_sets, require_refit, rows_against


class PredictsSets:
    """A classifier whose training rows have probabilities by the model of the other rows."""

    training_frequencies_: Array
    classes_: AnyArray
    random_state: int

    predict_proba: Any
    _new_inputs: Any

    @abstractmethod
    def _left_out_probabilities(self) -> tuple[Array, AnyArray, Array | None]:
        """P_−i(c | x_i) of shape (N, M) at the training rows, the numbers of their classes, and their weights."""

    @abstractmethod
    def _training_set(self) -> TrainingSet:
        """Standardised inputs, labels and weights of the training rows."""

    @abstractmethod
    def _is_cheap(self, few: int) -> bool:
        """Whether a fit like the model's is one of few rows, with at most one kernel parameter to choose."""

    def predict_set(
        self,
        X: Any,
        coverage: float = 0.9,
        *,
        by_class: bool = False,
        refit: bool | None = None,
        n_blocks: int | None = BLOCKS,
    ) -> AnyArray:
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
        refit : bool or None
            Choose hyperparameters and map anew without the rows that are left out, instead of holding them: a fit for
            each block of rows, kept for later calls, and sets of the models without them (CV+). By default up to 60
            rows of equal weight and more than two classes, for kernels with at most one free parameter.
        n_blocks : int or None, default 10
            Blocks for `refit`; None leaves each row out by itself.

        Notes
        -----
        Leave-one-out probabilities are exact, with hyperparameters, map and class frequencies held, so that nothing is
        fitted again. They need moderation="loo"; with refit=True any will do. Probabilities are those at the training
        set's class frequencies, in which rows count by their weights, and so they do for the threshold.
        """
        coverage = require_coverage(coverage)
        if self._refits_sets(refit):
            return self._refitted_sets(X, coverage, by_class=by_class, n_blocks=n_blocks)
        left_out, labels, weights = self._left_out_probabilities()
        least = thresholds(left_out, labels, coverage, by_class=by_class, counts=counted(weights, len(labels)))
        return np.asarray(self.predict_proba(X, class_prior=self.training_frequencies_.tolist()) >= least)

    def _refitted_sets(self, X: Any, coverage: float, *, by_class: bool, n_blocks: int | None) -> AnyArray:
        data, inputs = self._training_set(), self._new_inputs(X)
        counts, labels = counted(data.weights, len(data.X)), np.searchsorted(self.classes_, data.y)
        least = rows_against(labels, len(self.classes_), counts, coverage, by_class=by_class)
        blocks = None if n_blocks is None else min(n_blocks, len(data.X))
        refits = refits_of(self, data, blocks, self.random_state)
        return refitted_sets(refits, inputs, self.classes_, least, counts, by_class=by_class)

    def _refits_sets(self, refit: Any) -> bool:
        """Whether models are fitted again; where they cannot be, asking for it is refused."""
        require_refit(refit)
        check_is_fitted(self, "training_frequencies_")
        why_not = cannot_refit(self)
        if refit and why_not:
            raise ValueError(f"refit=True cannot be done: {why_not}. Use refit=False.")
        if refit is not None:
            return bool(refit)
        return not why_not and len(self.classes_) > 2 and self._is_cheap(FEW)
