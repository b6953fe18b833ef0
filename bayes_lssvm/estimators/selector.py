"""Selection of inputs by evidence as a step of a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..base.canonical import CanonicalOrder, canonical_order
from ..base.scikit import type_of_target, validate_data
from ..base.standardisation import Standardiser, moments
from ..base.typing import AnyArray, Array
from ..base.weights import check_weights
from ..levels.level3 import DEFAULT_PRIOR_SD
from ..search.ties import warn_of_alike_columns
from ..selection.input_sets import KERNELS
from ..selection.inputs import backward_elimination, forward_selection, stepwise_selection
from ..selection.path import SelectionPath
from .common import MIN_POINTS, BinaryLabels, check_regression_targets

__all__ = ["EvidenceSelector"]

DIRECTIONS = ("backward", "forward", "stepwise", "ard")
_FROM_NOTHING = ("forward", "stepwise")
TASKS = ("auto", "classification", "regression")
_SAME_RELEVANCE, _NO_RELEVANCE = 1e-6, 1e-8  # a share, and that of a scale of 10⁴ standard deviations
_SAME_GAIN = 1e-6  # nats


class EvidenceSelector(SelectorMixin, BinaryLabels, BaseEstimator):  # type: ignore[misc]
    """Keeps the inputs that the evidence of level 3 asks for (paper 4).

    Parameters
    ----------
    direction : {"backward", "forward", "stepwise", "ard"}, default "backward"
        "backward" removes inputs, "forward" adds them and "stepwise" adds them or takes them back, with the kernel
        optimised anew at each step; "ard" optimises an ARD kernel once, ranks the inputs by relevance and removes the
        least relevant with the scales held.
    kernel : {"ard", "rbf", "linear"} or None
        By default "ard" backward, and "rbf" forward and stepwise.
    task : {"auto", "classification", "regression"}, default "auto"
        "auto" takes targets of two values for classes and all other numbers for real targets. Labels of more than two
        classes are not supported: select for each pair, with the whole pipeline in
        sklearn.multiclass.OneVsOneClassifier.
    price : float or None
        Nats that an input must bring; by default 2 for the kernel "ard" and 0 otherwise.
    occam : bool, default True
        Whether the evidence has the Occam factor of μ and ζ (5.2).
    prior_sd : float or pair of floats, default 3.0
        Prior widths of log μ and log ζ.
    standardise : bool, default True
        Search on standardised inputs. What `transform` returns are the columns as they came.
    random_state : int, default 0
        Chooses the subset on which widths are sifted when N > 300.

    Attributes
    ----------
    support_ : array of bool of shape (d,)
        The selected columns. Where no input tells more than noise (`NoSignalWarning`), the most relevant one is kept,
        so that a pipeline has something to go on with; `path_.selected` is empty then.
    selected_ : array of int
        Their numbers.
    relevance_ : array of shape (d,)
        For an ARD kernel 1/s_i²: in the model of all inputs, and forward in the last one, zero for inputs outside it.
        For other kernels the nats that each input brings (`SelectionPath.gain`); zero for constant columns and copies.
    path_ : SelectionPath
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from bayes_lssvm import BayesianLSSVR
    >>> from bayes_lssvm.estimators.selector import EvidenceSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> y = np.sin(X[:, 2]) + 0.1 * rng.normal(size=60)
    >>> model = make_pipeline(EvidenceSelector(), BayesianLSSVR()).fit(X, y)
    >>> model[0].selected_.tolist()
    [2]
    """

    path_: SelectionPath
    support_: AnyArray
    selected_: AnyArray
    relevance_: Array

    def __init__(
        self,
        direction: str = "backward",
        *,
        kernel: str | None = None,
        task: str = "auto",
        price: float | None = None,
        occam: bool = True,
        prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.direction = direction
        self.kernel = kernel
        self.task = task
        self.price = price
        self.occam = occam
        self.prior_sd = prior_sd
        self.standardise = standardise
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> EvidenceSelector:
        """Select among the columns of X of shape (N, d) for targets or labels y, and weights, of shape (N,)."""
        kernel = self._check_settings()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=1)
        weights = check_weights(sample_weight, len(X))
        if weights is not None:
            X, y, weights = X[weights > 0.0], y[weights > 0.0], weights[weights > 0.0]
        if len(X) < MIN_POINTS:
            raise ValueError(f"At least {MIN_POINTS} data points are needed to select inputs, got n_samples={len(X)}.")
        targets = self._targets(y)
        # constant columns are at zero, and the search warns of them
        inputs = _standardised(X, weights) if self.standardise else X
        settings: dict[str, Any] = {
            "kernel": kernel,
            "occam": self.occam,
            "prior_sd": self.prior_sd,
            "price": self.price,
            "weights": weights,
            "seed": self.random_state,
        }
        if self.direction in _FROM_NOTHING:
            search = forward_selection if self.direction == "forward" else stepwise_selection
            self.path_ = search(inputs, targets, **settings)
        else:
            reoptimise = self.direction == "backward"
            self.path_ = backward_elimination(inputs, targets, reoptimise=reoptimise, **settings)
        self.relevance_ = self._relevance()
        self.support_ = self.path_.support
        if not self.support_.any():
            order = canonical_order(inputs, targets, weights)
            self.support_[self._most_relevant(order)] = True
            warn_of_alike_columns(order.alike, self.support_.astype(float))
        self.selected_ = np.flatnonzero(self.support_)
        return self

    def _check_settings(self) -> str:
        """The kernel, after all settings have been looked at."""
        if self.direction not in DIRECTIONS:
            raise ValueError(f"direction must be one of {', '.join(DIRECTIONS)}, got {self.direction!r}.")
        if self.task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(TASKS)}, got {self.task!r}.")
        kernel = self.kernel or ("rbf" if self.direction in _FROM_NOTHING else "ard")
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)} or None, got {self.kernel!r}.")
        if self.direction == "ard" and kernel != "ard":
            raise ValueError(f'direction="ard" ranks by the scales of an ARD kernel; it has none in {kernel!r}.')
        return kernel

    def _targets(self, y: AnyArray) -> Array:
        if self.task == "classification" or (self.task == "auto" and type_of_target(y, input_name="y") == "binary"):
            return self._encode_labels(y)
        try:
            return check_regression_targets(y)
        except (TypeError, ValueError) as error:
            if y.dtype.kind in "OUS":
                raise ValueError(
                    f"y contains {len(np.unique(y.astype(str)))} different texts. Inputs are selected for two "
                    "classes or for numbers; for more classes put the pipeline into "
                    "sklearn.multiclass.OneVsOneClassifier."
                ) from None
            raise error

    def _relevance(self) -> Array:
        step = self.path_.chosen if self.direction in _FROM_NOTHING else self.path_.steps[0]
        if step.relevance is None:
            return np.nan_to_num(self.path_.gain)
        relevance = np.zeros(self.path_.n_features)
        relevance[list(step.inputs)] = step.relevance
        return relevance

    def _most_relevant(self, order: CanonicalOrder) -> int:
        """The input to keep where none is needed: the best of the last model that has one, or of the first attempts.

        Of inputs that this model cannot tell apart, the one that matters most to the model of all; of those that do not
        differ there either, the first in an order that is the data's own.
        """
        if self.direction in _FROM_NOTHING:
            gain = self.path_.gain
            best = np.flatnonzero(gain >= np.nanmax(gain) - _SAME_GAIN)
        else:
            last = [step for step in self.path_.steps if step.inputs][-1]
            best = np.array(last.inputs)
            if last.relevance is not None:
                best = best[_as_good_as_largest(last.relevance)]
            best = best[_as_good_as_largest(self.relevance_[best])]
        place = np.argsort(order.columns)
        return int(min(best, key=lambda i: place[i]))

    def _get_support_mask(self) -> AnyArray:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _as_good_as_largest(relevance: Array) -> AnyArray:
    """Which relevances are the largest but for what an optimiser leaves, as booleans."""
    return np.asarray(np.isclose(relevance, relevance.max(), rtol=_SAME_RELEVANCE, atol=_NO_RELEVANCE))


def _standardised(X: Array, weights: Array | None) -> Array:
    mean, scale, constant = moments(X, weights)
    return Standardiser(mean, np.where(constant, np.inf, scale))(X)
