"""What the estimators share: checks of inputs and settings, standardisation, labels, class priors and costs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..base.errors import NoSignalWarning, warn
from ..base.scikit import check_classification_targets, type_of_target, validate_data
from ..base.standardisation import Standardiser
from ..base.typing import AnyArray, Array
from ..base.weights import check_weights, weighted_mean, with_weight
from ..kernels import PRECOMPUTED, Kernel, Precomputed, as_kernel
from ..levels.level1 import ClassCentres
from ..levels.logistic_map import LogisticMap
from ..levels.moderation import MODERATIONS, log_odds

ClassPrior = Sequence[float] | Mapping[Any, float] | str | None
"""P(y) in the order of the classes or by label, "equal", or None for the training frequencies."""

MIN_POINTS = 3
_SMALLEST_SPREAD, _LARGEST_SPREAD = 1e-60, 1e60


class LSSVMBase(BaseEstimator):  # type: ignore[misc]
    """Checks and standardisation of inputs."""

    kernel: Any
    standardise: bool
    standardiser_: Standardiser
    _takes_several_outputs: ClassVar[bool] = False

    def _check_training_inputs(self, X: Any, y: Any, *, numeric_target: bool) -> tuple[Array, AnyArray]:
        several = {"multi_output": True} if self._takes_several_outputs else {}
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=numeric_target, ensure_min_samples=1, **several)
        if len(X) < MIN_POINTS:
            raise ValueError(
                f"At least {MIN_POINTS} data points are needed for a bias and two hyperparameters, got "
                f"n_samples={len(X)}."
            )
        return X, y

    def _check_weighted_inputs(
        self, X: Any, y: Any, sample_weight: Any, *, numeric_target: bool
    ) -> tuple[Array, AnyArray, Array | None]:
        """Inputs and targets of the rows that have weight, and their weights; None where all weights are one."""
        X, y = self._check_training_inputs(X, y, numeric_target=numeric_target)
        weights = check_weights(sample_weight, len(X))
        if self._takes_matrices and weights is not None and np.any(weights == 0.0):
            raise ValueError(
                'With kernel="precomputed" rows cannot be left out by giving them weight zero; remove them from '
                "the rows and the columns of the matrix."
            )
        return with_weight(X, y, weights, MIN_POINTS)

    @property
    def _takes_matrices(self) -> bool:
        """Whether kernel matrices stand in the place of inputs."""
        kernel = getattr(self, "kernel", None)  # estimators of several kernels have none of that name
        return isinstance(kernel, str) and kernel.lower() == PRECOMPUTED

    def _kernel_for(self, X: Array) -> Kernel:
        """The kernel as given, for training inputs or a training matrix X."""
        return Precomputed.of(X) if self._takes_matrices else as_kernel(self.kernel, X.shape[1])

    def _given_kernel(self) -> Kernel:
        """The kernel as given, of a fitted model."""
        return self.precomputed_ if self._takes_matrices else as_kernel(self.kernel, self.n_features_in_)

    def _standardised_training_inputs(self, X: Array, weights: Array | None = None) -> Array:
        if self._takes_matrices:
            self.standardiser_ = Standardiser.identity(X.shape[1])
            self.precomputed_ = Precomputed.of(X)
            return self.precomputed_.training_rows(X)
        names = _check_feature_names_in(self) if hasattr(self, "feature_names_in_") else None
        if self.standardise:
            self.standardiser_ = Standardiser.fit(X, names, weights)
        else:
            self.standardiser_ = Standardiser.identity(X.shape[1])
        return self.standardiser_(X)

    def _new_inputs(self, X: Any) -> Array:
        check_is_fitted(self, "standardiser_")
        if self._takes_matrices:
            return self._new_rows(X)
        return self._scaled(validate_data(self, X, dtype=np.float64, reset=False))

    def _scaled(self, X: Array) -> Array:
        """Inputs that have been checked as the kernel sees them."""
        return self.standardiser_(X)

    def _new_rows(self, K: Any) -> Array:
        """Rows of new points from K(new, train), which may have K(x, x) in a column more."""
        K = np.asarray(K, dtype=float)
        own = None
        if K.ndim == 2 and K.shape[1] == self.n_features_in_ + 1:
            K, own = K[:, :-1], K[:, -1]
            if not np.isfinite(own).all():
                raise ValueError("The last column of K(new, train), K(x, x) of each new point, must be finite.")
        return self.precomputed_.new_rows(validate_data(self, K, dtype=np.float64, reset=False), own)

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Draw what the model found, with matplotlib, and return the display.

        Parameters
        ----------
        kind : {"surface", "reliability", "left-out", "evidence", "relevance", "hyperposterior"} or None
            By default the surface for one or two inputs, else the reliability of class probabilities or the
            predictions of left-out rows.
        **options
            Those of the display's `from_estimator`: ax, X, y, features, … (`bayes_lssvm.displays`).
        """
        check_is_fitted(self, "standardiser_")
        return sys.modules[__package__].plot_model(self, kind, **options)  # loaded when it is asked for

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._takes_matrices
        return tags


class BinaryLabels:
    """Any two labels to y = ±1 and back."""

    classes_: AnyArray

    def _encode_labels(self, y: AnyArray) -> Array:
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}: y has "
                f"{len(classes)} classes. For more than two, use BayesianLSSVC, or put this estimator into "
                "bayes_lssvm.multiclass.MulticlassLSSVC(member=...)."
            )
        if len(classes) < 2:
            raise ValueError(
                f"A classifier needs two classes, but all {len(y)} labels are of one class, {classes.tolist()[0]!r}."
            )
        self.classes_ = classes
        return np.asarray(2.0 * codes - 1.0)

    def _decode_sign(self, decision: Array) -> AnyArray:
        return np.asarray(self.classes_[(decision > 0).astype(int)])


class BinaryClassifier(BinaryLabels, ClassifierMixin):  # type: ignore[misc]
    """A classifier of two classes, which says so to scikit-learn."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class ClassFrequencies:
    """How frequent the classes are where new data come from."""

    class_prior: ClassPrior
    classes_: AnyArray
    training_frequencies_: Array

    def _prior(self, class_prior: ClassPrior) -> Array:
        """P(y) of each class: as given here, or else to the estimator."""
        given = self.class_prior if class_prior is None else class_prior
        return resolve_class_prior(given, self.classes_, self.training_frequencies_)


class ModeratedClassifier(ClassFrequencies, BinaryClassifier):
    """A classifier of two classes whose probabilities are moderated outputs."""

    moderation: str
    posterior_: Any
    centres_: ClassCentres
    loo_map_: LogisticMap

    def _encode_labels(self, y: AnyArray, weights: Array | None = None) -> Array:
        """Labels as ±1, after a look at the settings that concern them."""
        signs = super()._encode_labels(y)
        check_moderation(self.moderation)
        self._set_labels(self.classes_, signs, weights)
        self._prior(None)
        return signs

    def _moderated(self, inputs: Array, prior: Array, *, training_plus: float, weightless: bool) -> Array:
        """Log odds of the second class at standardised inputs, for class frequencies `prior`."""
        if weightless:  # the prior is all there is
            return np.full(len(inputs), np.log(prior[1]) - np.log(prior[0]))
        return log_odds(
            self.posterior_,
            self.centres_,
            inputs,
            prior_plus=float(prior[1]),
            training_plus=training_plus,
            moderation=self.moderation,  # type: ignore[arg-type]
            loo=getattr(self, "loo_map_", None),
        )

    def _warn_of_map(self) -> None:
        """Say that left-out points are predicted no better than by the frequencies of the classes."""
        if self.moderation == "loo" and self.loo_map_.slope == 0.0:
            warn(
                "No signal: left-out points are predicted no better than by the class frequencies, so the "
                "probabilities are just these frequencies. Other inputs or another kernel may do better.",
                NoSignalWarning,
            )

    def _set_labels(self, classes: AnyArray, signs: Array, weights: Array | None = None) -> None:
        self.classes_ = classes
        self.training_frequencies_ = np.array([weighted_mean(signs < 0, weights), weighted_mean(signs > 0, weights)])


def check_moderation(moderation: str, allowed: tuple[str, ...] = MODERATIONS) -> None:
    """Refuse a form of the moderated output that does not exist, or that a model does not have."""
    if moderation not in allowed:
        raise ValueError(f"moderation must be one of {', '.join(allowed)}, got {moderation!r}.")


def check_regression_targets(y: AnyArray) -> Array:
    """Targets of shape (N,), or (N, L) for L outputs, as floats; refuse targets of an output that are all equal."""
    y = np.asarray(y, dtype=float)
    if y.ndim == 2:
        if not y.shape[1]:
            raise ValueError("y has no columns, but each output needs one.")
        return np.stack([check_regression_targets(column) for column in y.T], axis=1)
    if np.ptp(y) <= 10 * np.finfo(float).eps * np.abs(y).max():
        raise ValueError(f"All {len(y)} targets are equal ({y[0]:g}), so there is nothing to learn from them.")
    if not _SMALLEST_SPREAD < np.ptp(y) < _LARGEST_SPREAD:
        raise ValueError(
            f"The targets span {np.ptp(y):.3g}, too wide a range for double precision once they are squared; "
            "rescale them to a spread of about one."
        )
    return y


def _as_floats(values: Any) -> Array:
    """The values as floats, or an empty array where they are not numbers, for the checks that follow."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)


def resolve_class_prior(class_prior: ClassPrior, classes: AnyArray, training: Array) -> Array:
    """P(y) in the order of `classes`: the training frequencies if None is given (section 6.2, step 4)."""
    if class_prior is None:
        return training
    if isinstance(class_prior, str) and class_prior == "equal":
        return np.full(len(classes), 1.0 / len(classes))
    if isinstance(class_prior, Mapping):
        unknown = set(class_prior) - set(classes.tolist())
        if unknown or len(class_prior) != len(classes):
            raise ValueError(
                f"class_prior must name the classes {classes.tolist()}, but it names {sorted(map(str, class_prior))}."
            )
        prior = np.array([class_prior[label] for label in classes.tolist()], dtype=float)
    else:
        prior = _as_floats(class_prior)
    if prior.shape != (len(classes),) or not np.all(prior > 0) or not np.isclose(prior.sum(), 1.0, atol=1e-6):
        raise ValueError(
            f"class_prior must be {len(classes)} positive probabilities that sum to one, in the order of the classes "
            f'{classes.tolist()}, or "equal", got {class_prior!r}.'
        )
    return np.asarray(prior / prior.sum())


def resolve_costs(costs: Any, classes: AnyArray) -> Array:
    """Matrix with the cost of deciding j where i is true, 0/1 if None is given; refuse one that rewards mistakes."""
    count = len(classes)
    if costs is None:
        return 1.0 - np.eye(count)
    matrix = _as_floats(costs)
    if matrix.shape != (count, count) or not np.all(np.isfinite(matrix)):
        raise ValueError(
            f"costs must be a {count} × {count} matrix of finite numbers: costs[i][j] is the cost of deciding for "
            f"{classes.tolist()}[j] where {classes.tolist()}[i] is true; got shape {matrix.shape}."
        )
    dearer = matrix > np.diag(matrix)[:, None]
    if not np.all(dearer | np.eye(count, dtype=bool)):
        raise ValueError("costs must make every wrong decision more costly than the right one in the same row.")
    return matrix
