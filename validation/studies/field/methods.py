"""The classifiers of the field study: ours as a user gets it, and what a user would pick instead.

Each is made for a training set and standardises inputs, where it needs to, on the training rows alone. Folds of a
search are stratified, at most as many as the smallest class has rows, and seeded by the cell.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.typing import AnyArray, Array

PAPERS = {"moderation": "class", "decoding": "bayes", "prior": "flat"}
"""The rules of papers 0 and 2, as parameters of the estimator; those that it does not have are left out."""
_SEARCH_FOLDS, _PLATT_FOLDS = 5, 3
_C, _GAMMA = np.logspace(-1, 3, 5), np.logspace(-2, 2, 5)  # gamma in units of 1/d


class Method(NamedTuple):
    """A classifier of the study.

    Attributes
    ----------
    title : str
        In tables.
    make : callable
        From training inputs, training labels and a seed to an estimator that is not fitted.
    package : str
        What has to be installed beside scikit-learn; empty for nothing.
    """

    title: str
    make: Callable[[Array, AnyArray, int], Any]
    package: str = ""

    @property
    def installed(self) -> bool:
        """Whether it can be run here."""
        return not self.package or find_spec(self.package) is not None


class Prediction(NamedTuple):
    """Labels of shape (n,) and probabilities of shape (n, M) of the test rows."""

    labels: AnyArray
    probabilities: Array


def papers_parameters() -> dict[str, Any]:
    """The papers' rules as far as the estimator has parameters for them."""
    known = BayesianLSSVC().get_params()
    return {name: value for name, value in PAPERS.items() if name in known}


def _folds(y: AnyArray, most: int, seed: int) -> StratifiedKFold:
    smallest = int(np.bincount(y).min())
    return StratifiedKFold(max(2, min(most, smallest)), shuffle=True, random_state=seed)


def _logistic(X: Array, y: AnyArray, seed: int) -> Any:
    folds = _folds(y, _SEARCH_FOLDS, seed)
    return make_pipeline(StandardScaler(), LogisticRegressionCV(cv=folds, scoring="neg_log_loss", max_iter=2000))


class SearchedSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """C and width of an SVC by cross-validated accuracy on a grid, then Platt's map from cross-validated margins."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Array, y: AnyArray) -> SearchedSVC:
        """Search, and calibrate what was found."""
        grid = {"C": _C.tolist(), "gamma": (_GAMMA / X.shape[1]).tolist()}
        search = GridSearchCV(SVC(), grid, cv=_folds(y, _SEARCH_FOLDS, self.seed), refit=False).fit(X, y)
        folds = _folds(y, _PLATT_FOLDS, self.seed)
        best = SVC(**search.best_params_)
        self.model_ = CalibratedClassifierCV(best, method="sigmoid", cv=folds, ensemble=False).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Array) -> AnyArray:
        """Labels of shape (n,)."""
        return np.asarray(self.model_.predict(X))

    def predict_proba(self, X: Array) -> Array:
        """Probabilities of shape (n, M)."""
        return np.asarray(self.model_.predict_proba(X))


def _gaussian_process(X: Array, y: AnyArray, seed: int) -> Any:
    # the distance between two rows of d standardised inputs is of the order of √d: a start that suits many inputs too
    kernel = 1.0 * RBF(float(np.sqrt(X.shape[1])))
    return make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel, random_state=seed))


def _neo(X: Array, y: AnyArray, seed: int) -> Any:
    model = import_module("neo_ls_svm").NeoLSSVM()  # scales inputs itself
    return model if len(np.unique(y)) == 2 else OneVsRestClassifier(model)  # it is for two classes


METHODS: dict[str, Method] = {
    "ours": Method("BayesianLSSVC", lambda X, y, seed: BayesianLSSVC()),
    "logistic": Method("logistic regression", _logistic),
    "svc": Method("SVC + Platt", lambda X, y, seed: make_pipeline(StandardScaler(), SearchedSVC(seed))),
    "papers": Method("papers' rules", lambda X, y, seed: BayesianLSSVC(**papers_parameters())),
    "forest": Method(
        "random forest", lambda X, y, seed: RandomForestClassifier(300, min_samples_leaf=2, random_state=seed)
    ),
    "boosting": Method("gradient boosting", lambda X, y, seed: HistGradientBoostingClassifier(random_state=seed)),
    "gpc": Method("GPC", _gaussian_process),
    "neo": Method("neo-ls-svm", _neo, "neo_ls_svm"),
}
"""By name, in the order in which they are run: a study that was stopped has the first ones on all sets."""
OWN = ("ours", "papers")


def predict(method: str, X: Array, y: AnyArray, X_test: Array, seed: int) -> Prediction:
    """Fit on the training part and predict the test part; `y` holds the numbers 0 … M − 1."""
    with warnings.catch_warnings():
        if method not in OWN:
            warnings.simplefilter("ignore")  # small classes in folds, searches at a bound: a matter of course here
        model = METHODS[method].make(X, y, seed).fit(X, y)
        return Prediction(np.asarray(model.predict(X_test)), np.asarray(model.predict_proba(X_test), dtype=float))
