"""LS-SVM estimators whose hyperparameters are integrated out instead of fixed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit
from sklearn.base import RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..base.archive import State
from ..base.errors import require_positive
from ..base.intervals import Interval
from ..base.provenance import provenance
from ..base.scikit import check_classification_targets
from ..base.standardisation import moments
from ..base.typing import AnyArray, Array
from ..kernels import EXTRA, Kernel
from ..levels.logistic_map import LogisticMap
from ..levels.moderation import probabilities
from ..marginal.left_out import left_out_map
from ..marginal.marginalise import marginalise
from ..marginal.posterior import HyperPosterior
from ..priors import HyperPrior, LogPrior
from .common import ClassPrior, LSSVMBase, ModeratedClassifier, check_moderation, check_regression_targets
from .multiclass import MulticlassLSSVC
from .state import Saved, surface_state
from .trusted import TrainingRows, Trusted, rows_of_several


class _FullyBayesian(Saved, Trusted, LSSVMBase):
    _saved_as: ClassVar[str]  # the kind that model files name

    posterior_: HyperPosterior
    log_evidence_: float
    provenance_: dict[str, Any]

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        prior: HyperPrior | LogPrior | None = None,
        method: str = "quadrature",
        fixed_kernel: bool = False,
        standardise: bool = True,
        tolerance: float = 1e-6,
        draws: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.prior = prior
        self.method = method
        self.fixed_kernel = fixed_kernel
        self.standardise = standardise
        self.tolerance = tolerance
        self.draws = draws
        self.random_state = random_state

    def _integrate(self, X: Array, y: Array, weights: Array | None) -> None:
        kernel = self._kernel_for(X)
        self.posterior_ = marginalise(
            self._standardised_training_inputs(X, weights),
            y,
            sample_weight=weights,
            kernel=kernel,
            prior=self.prior,
            method=self.method,
            fixed_kernel=self.fixed_kernel,
            tolerance=self.tolerance,
            draws=self.draws,
            seed=self.random_state,
            standardise=False,
        )
        self.log_evidence_ = self.posterior_.log_evidence
        self.provenance_ = self.posterior_.provenance

    @property
    def weights_(self) -> Array | None:
        """Weights of the training rows; None where all are one."""
        return self.posterior_.sample_weight

    def _training_rows(self) -> TrainingRows:
        check_is_fitted(self, "posterior_")
        X, y, kernel = self.posterior_.X, self.posterior_.y, self._given_kernel()
        return TrainingRows(X, y, kernel, self.fixed_kernel, "regression", self.weights_)

    def _state(self) -> State:
        """All that was found, as JSON and arrays."""
        return surface_state(self) | self.posterior_.state() | State({"log_evidence": self.log_evidence_}, {})

    def _restore(self, state: State) -> None:
        self.posterior_ = HyperPosterior.from_state(state)
        if self.posterior_.X.shape[1] != self.n_features_in_ + (EXTRA if self._takes_matrices else 0):
            raise ValueError(f"its header does not describe {self.posterior_.X.shape[1]} inputs")
        self.log_evidence_ = float(state.header["log_evidence"])


class FullyBayesianLSSVC(ModeratedClassifier, _FullyBayesian):
    """LS-SVM classifier with weights, bias, μ, ζ and the kernel's parameters integrated out.

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        With one parameter at most for method="quadrature" and "mackay", unless `fixed_kernel`.
    prior : HyperPrior, LogPrior or None
        Priors of log μ, log ζ and the logs of the kernel's parameters; Normal(0, 3) each by default.
    method : str, default "quadrature"
        How to integrate: a method of `bayes_lssvm.marginalise`, such as "ccd" or "nuts" for several parameters.
    fixed_kernel : bool, default False
        Take the kernel's parameters as given and integrate over μ and ζ only.
    coding : {"ovo", "ova", "moc", "ecoc", "exhaustive"} or array of shape (M, L), default "ovo"
        For more than two classes: the code book, as in `BayesianLSSVC`. Each member has a posterior of its own.
    decoding : str, default "auto"
        How the members' outputs are brought together, as in `BayesianLSSVC`.
    class_prior : sequence, mapping, "equal" or None
        P(y) where new data come from; the training frequencies by default.
    moderation : {"loo", "class", "target", "softmax"}, default "loo"
        Form of the moderated output: a logistic map fitted to leave-one-out outputs of the mixture, or one of the
        papers' forms averaged over it.
    standardise : bool, default True
    tolerance : float, default 1e-6
        Change of the log evidence, in nats, at which the quadrature is fine enough.
    draws : int or None
        For methods that draw.
    random_state : int, default 0
        Seed of the methods that draw.

    Attributes
    ----------
    posterior_ : HyperPosterior
        The posterior of the hyperparameters, for two classes.
    posteriors_ : list of HyperPosterior
        Those of the members, one for each bit of the code book.
    log_evidence_ : float
        log p(D | H), nothing fixed; the sum over the members for more than two classes.
    classes_ : array of shape (M,)
    multiclass_ : MulticlassLSSVC or None
        The members with their code book, for more than two classes.
    provenance_ : dict

    Examples
    --------
    >>> from bayes_lssvm import FullyBayesianLSSVC
    >>> from bayes_lssvm.datasets import load
    >>> ripley = load("ripley")
    >>> model = FullyBayesianLSSVC().fit(*ripley.Xy)
    >>> round(model.score(*ripley.test_Xy), 2)
    0.9
    """

    _saved_as = "FullyBayesianLSSVC"

    multiclass_: MulticlassLSSVC | None

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        prior: HyperPrior | LogPrior | None = None,
        method: str = "quadrature",
        fixed_kernel: bool = False,
        coding: Any = "ovo",
        decoding: str = "auto",
        class_prior: ClassPrior = None,
        moderation: str = "loo",
        standardise: bool = True,
        tolerance: float = 1e-6,
        draws: int | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            prior=prior,
            method=method,
            fixed_kernel=fixed_kernel,
            standardise=standardise,
            tolerance=tolerance,
            draws=draws,
            random_state=random_state,
        )
        self.coding = coding
        self.decoding = decoding
        self.class_prior = class_prior
        self.moderation = moderation

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FullyBayesianLSSVC:
        """Integrate over the hyperparameters given inputs X of shape (N, d) and labels y of shape (N,).

        Row i has the noise precision ζw_i where weights are given; weight zero leaves it out, and a weight of n is the
        mean of n rows. Rows that are given n times are n measurements, and speak of ζ as well.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=False)
        check_classification_targets(y)
        self.multiclass_ = None
        if len(np.unique(y)) > 2:
            return self._fit_several(X, y, weights)
        signs = self._encode_labels(y, weights)
        self._integrate(X, signs, weights)
        if self.moderation == "loo":
            self.loo_map_ = left_out_map(self.posterior_.prediction_nodes, self.posterior_.X, signs, weights)
            self._warn_of_map()
        return self

    def _fit_several(self, X: Array, y: AnyArray, weights: Array | None) -> FullyBayesianLSSVC:
        """A member with a posterior of its own for each bit of the code book."""
        check_moderation(self.moderation)
        inputs = self._standardised_training_inputs(X, weights)
        self.__dict__.pop("posterior_", None)
        self._take_over(self._several().fit(inputs, y, weights))
        data = (X, y) if weights is None else (X, y, weights)
        self.provenance_ = provenance(settings=self.get_params(deep=False), data=data)
        return self

    def _training_rows(self) -> TrainingRows:
        check_is_fitted(self, "multiclass_")
        if self.multiclass_ is None:
            rows = super()._training_rows()
            return rows._replace(targets=self.classes_[(rows.targets > 0).astype(int)], task="classification")
        return rows_of_several(self.multiclass_, self._given_kernel(), fixed_kernel=self.fixed_kernel)

    def _several(self) -> MulticlassLSSVC:
        kernel = self.precomputed_ if self._takes_matrices else self.kernel
        member = clone(self).set_params(standardise=False, class_prior=None, kernel=kernel)
        return MulticlassLSSVC(
            kernel,
            member=member,
            coding=self.coding,
            decoding=self.decoding,
            class_prior=self.class_prior,
            moderation=self.moderation,
            standardise=False,
            random_state=self.random_state,
        )

    def _take_over(self, several: MulticlassLSSVC) -> None:
        self.multiclass_, self.log_evidence_ = several, several.log_evidence_
        self.classes_, self.training_frequencies_ = several.classes_, several.training_frequencies_

    @property
    def posteriors_(self) -> list[HyperPosterior]:
        """The posteriors of the members, in the order of the bits."""
        check_is_fitted(self, "multiclass_")
        return [m.posterior_ for m in ([self] if self.multiclass_ is None else self.multiclass_.members_)]

    def _state(self) -> State:
        if self.multiclass_ is not None:
            return surface_state(self) | self.multiclass_.state()
        found = {} if self.moderation != "loo" else {"loo_map": asdict(self.loo_map_)}
        return super()._state() | State(found, {})

    def _restore(self, state: State) -> None:
        if "code_book" in state.arrays:
            self._take_over(self._several().restore(state, type(self)._from_state))
            return
        super()._restore(state)
        state.require_shapes({"classes": (2,)})
        self._set_labels(state.arrays["classes"], self.posterior_.y, self.posterior_.sample_weight)
        self.multiclass_ = None
        if self.moderation == "loo":
            self.loo_map_ = LogisticMap(**{name: float(value) for name, value in state.header["loo_map"].items()})

    def predict_proba(self, X: Any, *, class_prior: ClassPrior = None) -> Array:
        """P(y | x) for each row of X, in the order of `classes_`: moderated outputs averaged over the posterior."""
        check_is_fitted(self, "multiclass_")
        if self.multiclass_ is not None:
            return np.asarray(self.multiclass_.predict_proba(self._new_inputs(X), class_prior=class_prior))
        inputs, prior = self._new_inputs(X), self._prior(class_prior)
        if self.moderation != "loo":
            shares = (float(prior[0]), float(prior[1]))
            return self.posterior_.predict_proba(inputs, moderation=self.moderation, class_prior=shares)
        z, sd = self.posterior_.predict(inputs, return_std=True)
        odds = self.loo_map_.log_odds(z, sd**2) + logit(prior[1]) - logit(self.training_frequencies_[1])
        return probabilities(np.asarray(odds))

    def decision_function(self, X: Any) -> Array:
        """Log odds of the second class; for more than two classes the scores of all, of shape (n, M)."""
        check_is_fitted(self, "multiclass_")
        if self.multiclass_ is not None:
            return self.multiclass_.decision_function(self._new_inputs(X))
        return np.asarray(logit(self.predict_proba(X)[:, 1]))

    def predict(self, X: Any) -> AnyArray:
        """The most probable label for each row of X."""
        check_is_fitted(self, "multiclass_")
        if self.multiclass_ is not None:
            return self.multiclass_.predict(self._new_inputs(X))
        return self._decode_sign(self.predict_proba(X)[:, 1] - 0.5)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


class FullyBayesianLSSVR(RegressorMixin, _FullyBayesian):  # type: ignore[misc]
    """LS-SVM regressor with weights, bias, μ, ζ and the kernel's parameters integrated out.

    Targets are standardised inside, so that the priors of μ and ζ mean the same on every scale.

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        With one parameter at most for method="quadrature" and "mackay", unless `fixed_kernel`.
    prior : HyperPrior, LogPrior or None
        Priors of log μ, log ζ and the logs of the kernel's parameters; Normal(0, 3) each by default.
    method : str, default "quadrature"
        How to integrate: a method of `bayes_lssvm.marginalise`, such as "ccd" or "nuts" for several parameters.
    fixed_kernel : bool, default False
        Take the kernel's parameters as given and integrate over μ and ζ only.
    standardise : bool, default True
        Standardise the inputs.
    tolerance : float, default 1e-6
        Change of the log evidence, in nats, at which the quadrature is fine enough.
    draws : int or None
        For methods that draw.
    random_state : int, default 0
        Seed of the methods that draw.

    Attributes
    ----------
    posterior_ : HyperPosterior
        The posterior of the hyperparameters, for standardised targets.
    log_evidence_ : float
        log p(D | H) for the targets as given, nothing fixed.
    target_mean_, target_scale_ : float
    provenance_ : dict

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import FullyBayesianLSSVR
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> mean, std = FullyBayesianLSSVR().fit(X, y).predict([[0.0], [9.0]], return_std=True)
    >>> bool(std[1] > 2 * std[0])
    True
    """

    _saved_as = "FullyBayesianLSSVR"

    def _state(self) -> State:
        return super()._state() | State({"target_mean": self.target_mean_, "target_scale": self.target_scale_}, {})

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self.target_mean_ = float(state.header["target_mean"])
        self.target_scale_ = require_positive("its target_scale", state.header["target_scale"])

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FullyBayesianLSSVR:
        """Integrate over the hyperparameters given inputs X of shape (N, d) and targets y of shape (N,).

        Weights as in `FullyBayesianLSSVC.fit`; predictions are of targets of weight one.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=True)
        y = check_regression_targets(y)
        (mean,), (scale,), _ = moments(y[:, None], weights)
        self.target_mean_, self.target_scale_ = float(mean), float(scale)
        self._integrate(X, (y - self.target_mean_) / self.target_scale_, weights)
        # the density of y, not of its standardised values; one dimension went to the bias
        self.log_evidence_ -= (len(y) - 1) * float(np.log(self.target_scale_))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Mean of the prediction for each row of X, and on request the standard deviation of a new target."""
        check_is_fitted(self, "posterior_")
        mean, std = self.posterior_.predict(self._new_inputs(X), return_std=True)
        mean = self.target_mean_ + self.target_scale_ * mean
        return (mean, self.target_scale_ * std) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Interval:
        """Lower and upper ends of the central interval that holds a new target at each row of X.

        Quantiles of the mixture over hyperparameters: `coverage` is the probability that the model gives to it.
        """
        check_is_fitted(self, "posterior_")
        ends = self.posterior_.predict_interval(self._new_inputs(X), coverage)
        return Interval(*(self.target_mean_ + self.target_scale_ * end for end in ends))
