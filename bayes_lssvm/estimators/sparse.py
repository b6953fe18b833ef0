"""The sparse LS-SVM classifier: designed by evidence, then pruned."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base.errors import NoSignalWarning, require_positive, warn
from ..base.typing import AnyArray, Array
from ..base.weights import weighted_mean
from ..kernels import Kernel
from ..levels.level1 import ClassCentres, DualPosterior
from ..levels.level3 import DEFAULT_PRIOR_SD
from ..levels.moderation import probabilities
from ..selection.points import PruningPath, prune
from .common import ClassPrior, LSSVMBase, ModeratedClassifier

__all__ = ["SparseLSSVC"]


class SparseLSSVC(ModeratedClassifier, LSSVMBase):
    """LS-SVM classifier on a part of its training points, chosen by their support values (papers 0 and 4).

    The classifier of all points is designed by the evidence; points are removed in rounds, the hyperparameters chosen
    anew, until the accuracy would fall (`bayes_lssvm.selection.points` has the rules). Probabilities are moderated
    outputs of the model of the kept points. Those are the harder ones, so that probabilities lean towards one half;
    decisions hardly change.

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        An object of `bayes_lssvm.kernels`, or a name such as "linear", "poly2", "rbf", "ard", "matern32", "periodic".
    rule : {"smallest", "negative"}, default "smallest"
        Remove the points of the smallest |α_i| (paper 0), or those with y_iα_i < 0 (paper 4).
    retune : {"hyperparameters", "kernel", "nothing"}, default "hyperparameters"
        What the evidence of the kept points chooses again after each round.
    refine : bool, default True
        Optimise the kernel's parameters on all points first; False takes them as given.
    fraction : float, default 0.05
        Share of the points that "smallest" removes in a round.
    tolerance : float, default 1.0
        Standard errors by which the accuracy may fall.
    class_prior : sequence, mapping or None
        P(y) where new data come from; the frequencies of all training points by default.
    moderation : {"class", "target", "softmax"}, default "class"
    occam : bool, default True
        Whether the evidence that tunes the kernel has the Occam factor of μ and ζ (5.2).
    prior_sd : float or pair of floats, default 3.0
    standardise : bool, default True
    random_state : int, default 0
        Chooses the subset on which starts are sifted when N > 300.

    Attributes
    ----------
    support_ : array of int of shape (n,)
        The training points that are kept.
    path_ : PruningPath
        Loss of evidence and accuracy along the way; its points are those of positive weight, counted from zero.
    alpha_ : array of shape (n,)
    intercept_, mu_, zeta_, gamma_, gamma_eff_ : float
    kernel_ : Kernel
    classes_ : array of shape (2,)

    Examples
    --------
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.estimators.sparse import SparseLSSVC
    >>> ripley = load("ripley")
    >>> model = SparseLSSVC().fit(ripley.data, ripley.target)
    >>> len(model.support_) < 125, model.score(ripley.test_data, ripley.test_target) > 0.89
    (True, True)
    """

    path_: PruningPath

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        rule: str = "smallest",
        retune: str = "hyperparameters",
        refine: bool = True,
        fraction: float = 0.05,
        tolerance: float = 1.0,
        class_prior: ClassPrior = None,
        moderation: str = "class",
        occam: bool = True,
        prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.rule = rule
        self.retune = retune
        self.refine = refine
        self.fraction = fraction
        self.tolerance = tolerance
        self.class_prior = class_prior
        self.moderation = moderation
        self.occam = occam
        self.prior_sd = prior_sd
        self.standardise = standardise
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, validation: tuple[Any, Any] | None = None
    ) -> SparseLSSVC:
        """Design and prune on inputs X of shape (N, d) and two labels y of shape (N,), weights as in `BayesianLSSVC`.

        `validation` is a pair (X, y) by whose accuracy the pruning stops, instead of that of the training points.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=False)
        signs = self._encode_labels(y, weights)
        require_positive("tolerance", self.tolerance)
        inputs = self._standardised_training_inputs(X, weights)
        self.path_ = prune(
            inputs,
            signs,
            kernel=self.kernel,
            rule=self.rule,
            retune=self.retune,
            refine_first=self.refine,
            fraction=self.fraction,
            tolerance=self.tolerance,
            validation=None if validation is None else self._validation(*validation),
            weights=weights,
            occam=self.occam,
            prior_sd=self.prior_sd,
            seed=self.random_state,
        )
        step = self.path_.chosen
        self.support_, self.kernel_ = _rows_as_given(sample_weight, len(inputs))[step.kept], step.kernel
        self.mu_, self.zeta_, self.gamma_, self.gamma_eff_ = step.mu, step.zeta, step.zeta / step.mu, step.gamma_eff
        kept, labels = inputs[step.kept], signs[step.kept]
        K, own = self.kernel_(kept), None if weights is None else weights[step.kept]
        self.posterior_ = DualPosterior.from_kernel_matrix(
            self.kernel_, kept, K, labels, mu=self.mu_, zeta=self.zeta_, weights=own
        )
        self.centres_ = ClassCentres.from_posterior(self.posterior_, labels, self.gamma_eff_, K)
        self.alpha_, self.intercept_ = self.posterior_.alpha, self.posterior_.intercept
        self.kept_frequency_ = float(weighted_mean(labels > 0, own))
        if step.status == "no signal":
            warn(
                f"No signal: with {self.kernel_!s} the model explains the labels hardly better than noise alone, "
                "so nothing was pruned. Other inputs or another kernel may do better.",
                NoSignalWarning,
            )
        return self

    def _validation(self, X: Any, y: Any) -> tuple[Array, Array]:
        labels = np.asarray(y)
        unknown = set(labels.tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(
                f"The validation set has labels that do not occur in the training set: {sorted(map(str, unknown))}."
            )
        return self._new_inputs(X), np.where(labels == self.classes_[1], 1.0, -1.0)

    def decision_function(self, X: Any) -> Array:
        """Log odds of the second class for each row of X."""
        check_is_fitted(self, "centres_")
        inputs, prior = self._new_inputs(X), self._prior(None)
        weightless = self.path_.chosen.status == "no signal" and self.gamma_eff_ < 1.0 + 1e-6
        return self._moderated(inputs, prior, training_plus=self.kept_frequency_, weightless=weightless)

    def predict_proba(self, X: Any) -> Array:
        """P(y | x) for each row of X, in the order of `classes_`, of shape (n, 2) (3.17)."""
        return probabilities(self.decision_function(X))

    def predict(self, X: Any) -> AnyArray:
        """The more probable label for each row of X."""
        return self._decode_sign(self.decision_function(X))


def _rows_as_given(sample_weight: Any, n: int) -> AnyArray:
    """The numbers that the n rows of positive weight had among all rows."""
    given = np.zeros(0) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return np.flatnonzero(given) if given.ndim == 1 and len(given) > n else np.arange(n)
