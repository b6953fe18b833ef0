"""A support vector machine whose C and σ come from 10-fold cross-validation on its own training points.

Paper 2, section 5, says 10-fold cross-validation on the training set, and names no grid; every member is designed by
itself. Here:

    linear   C in 0.01, 0.1, 1, 10
    RBF      σ in ½, 1, 2, 4 times √d at C = 10, then C in 1, 10, 100 at the best σ, with K = exp(−‖x − z‖²/σ²) and d
             standardised inputs

What has the most right answers is taken; of equally good ones the largest σ and the smallest C. Folds keep the shares
of the two classes. A class with fewer than ten points has as many folds as points; one with a single point leaves
nothing to hold out, and C = 10 and, for RBF, σ = 2√d are taken.
"""

from __future__ import annotations

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from bayes_lssvm.base.typing import AnyArray, Array

FOLDS = 10
LINEAR_C = (0.01, 0.1, 1.0, 10.0)
RBF_C = (1.0, 10.0, 100.0)
RBF_WIDTHS = (4.0, 2.0, 1.0, 0.5)
_MIDDLE_C = 10.0
_MIDDLE_WIDTH = 2.0


class CrossValidatedSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """SVM for two classes with cross-validated C and σ.

    Parameters
    ----------
    kernel : {"linear", "rbf"}
    random_state : int
        Of the folds.

    Attributes
    ----------
    C_, sigma_ : float
        Chosen; σ is nan for the linear kernel.
    folds_ : int
        0 where nothing could be held out.
    svc_ : SVC
    classes_ : array of shape (2,)
    """

    def __init__(self, kernel: str = "rbf", random_state: int = 0) -> None:
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, X: Array, y: AnyArray) -> CrossValidatedSVC:
        """Choose C and σ, then fit to all rows."""
        self.classes_, counts = np.unique(y, return_counts=True)
        self.folds_ = min(FOLDS, int(counts.min()))
        if self.folds_ < 2:
            self.folds_ = 0
            self.C_, width = _MIDDLE_C, _MIDDLE_WIDTH
        else:
            self.C_, width = self._choose(X, y)
        self.sigma_ = float("nan") if self.kernel == "linear" else width * float(np.sqrt(X.shape[1]))
        self.svc_ = SVC(C=self.C_, kernel="precomputed").fit(self._gram(X, X, width), y)
        self._X, self._width = X, width
        return self

    def _gram(self, X: Array, Z: Array, width: float) -> Array:
        if self.kernel == "linear":
            return np.asarray(X @ Z.T)
        return np.asarray(np.exp(-euclidean_distances(X, Z, squared=True) / (width**2 * X.shape[1])))

    def _choose(self, X: Array, y: AnyArray) -> tuple[float, float]:
        """C and σ/√d."""
        splitter = StratifiedKFold(self.folds_, shuffle=True, random_state=self.random_state)
        folds = list(splitter.split(X, y))
        # the arrays are made here: checking them again for each of hundreds of fits takes longer than the fits
        with config_context(assume_finite=True, skip_parameter_validation=True):
            if self.kernel == "linear":
                gram = self._gram(X, X, 1.0)
                return max(LINEAR_C, key=lambda C: _right(gram, y, folds, C)), 1.0  # of equals the first
            grams = {width: self._gram(X, X, width) for width in RBF_WIDTHS}
            width = max(RBF_WIDTHS, key=lambda w: _right(grams[w], y, folds, _MIDDLE_C))
            return max(RBF_C, key=lambda C: _right(grams[width], y, folds, C)), width

    def decision_function(self, X: Array) -> Array:
        """The output z for each row of X, positive for the second class; of shape (n,)."""
        return np.asarray(self.svc_.decision_function(self._gram(X, self._X, self._width)))

    def predict(self, X: Array) -> AnyArray:
        """Labels of shape (n,)."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])


def fit_at(X: Array, y: AnyArray, C: float, sigma: float) -> SVC:
    """The SVM with RBF kernel exp(−‖x − z‖²/σ²) at a given C and σ: what is left once both are chosen."""
    gram = np.exp(-euclidean_distances(X, X, squared=True) / sigma**2)
    return SVC(C=C, kernel="precomputed").fit(gram, y)


def _right(gram: Array, y: AnyArray, folds: list[tuple[AnyArray, AnyArray]], C: float) -> int:
    """How many held-out rows are classified rightly."""
    right = 0
    for train, test in folds:
        svc = SVC(C=C, kernel="precomputed").fit(gram[np.ix_(train, train)], y[train])
        z = gram[np.ix_(test, train[svc.support_])] @ svc.dual_coef_[0] + svc.intercept_[0]
        right += int((svc.classes_[(z > 0).astype(int)] == y[test]).sum())
    return right
