"""LS-SVM estimators whose hyperparameters are integrated out instead of fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..base.standardisation import moments
from ..base.typing import AnyArray, Array
from ..kernels import Kernel, as_kernel
from ..levels.moderation import probabilities
from ..marginal.left_out import left_out_map
from ..marginal.marginalise import marginalise
from ..marginal.posterior import HyperPosterior
from ..priors import HyperPrior, LogPrior
from .common import ClassPrior, LSSVMBase, ModeratedClassifier, check_regression_targets


class _FullyBayesian(LSSVMBase):
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

    def _integrate(self, X: Array, y: Array) -> None:
        kernel = as_kernel(self.kernel, X.shape[1])
        self.posterior_ = marginalise(
            self._standardised_training_inputs(X),
            y,
            kernel=kernel,
            prior=self.prior,
            method=self.method,
            fixed_kernel=self.fixed_kernel,
            tolerance=self.tolerance,
            draws=self.draws,
            seed=self.random_state,
        )
        self.log_evidence_ = self.posterior_.log_evidence
        self.provenance_ = self.posterior_.provenance


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
    class_prior : sequence, mapping or None
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
        The posterior of the hyperparameters.
    log_evidence_ : float
        log p(D | H), nothing fixed.
    classes_ : array of shape (2,)
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

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        prior: HyperPrior | LogPrior | None = None,
        method: str = "quadrature",
        fixed_kernel: bool = False,
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
        self.class_prior = class_prior
        self.moderation = moderation

    def fit(self, X: Any, y: Any) -> FullyBayesianLSSVC:
        """Integrate over the hyperparameters given inputs X of shape (N, d) and two labels y of shape (N,)."""
        X, y = self._check_training_inputs(X, y, numeric_target=False)
        signs = self._encode_labels(y)
        self._integrate(X, signs)
        if self.moderation == "loo":
            self.loo_map_ = left_out_map(self.posterior_.prediction_nodes, self.posterior_.X, signs)
            self._warn_of_map()
        return self

    def predict_proba(self, X: Any, *, class_prior: ClassPrior = None) -> Array:
        """P(y | x) for each row of X, in the order of `classes_`: moderated outputs averaged over the posterior."""
        check_is_fitted(self, "posterior_")
        inputs, prior = self._new_inputs(X), self._prior(class_prior)
        if self.moderation != "loo":
            shares = (float(prior[0]), float(prior[1]))
            return self.posterior_.predict_proba(inputs, moderation=self.moderation, class_prior=shares)
        z, sd = self.posterior_.predict(inputs, return_std=True)
        odds = self.loo_map_.log_odds(z, sd**2) + logit(prior[1]) - logit(self.training_frequencies_[1])
        return probabilities(np.asarray(odds))

    def decision_function(self, X: Any) -> Array:
        """Log odds of the second class."""
        return np.asarray(logit(self.predict_proba(X)[:, 1]))

    def predict(self, X: Any) -> AnyArray:
        """The more probable label for each row of X."""
        return self._decode_sign(self.predict_proba(X)[:, 1] - 0.5)


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

    def fit(self, X: Any, y: Any) -> FullyBayesianLSSVR:
        """Integrate over the hyperparameters given inputs X of shape (N, d) and targets y of shape (N,)."""
        X, y = self._check_training_inputs(X, y, numeric_target=True)
        y = check_regression_targets(y)
        (mean,), (scale,), _ = moments(y[:, None])
        self.target_mean_, self.target_scale_ = float(mean), float(scale)
        self._integrate(X, (y - self.target_mean_) / self.target_scale_)
        # the density of y, not of its standardised values; one dimension went to the bias
        self.log_evidence_ -= (len(y) - 1) * float(np.log(self.target_scale_))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Mean of the prediction for each row of X, and on request the standard deviation of a new target."""
        check_is_fitted(self, "posterior_")
        mean, std = self.posterior_.predict(self._new_inputs(X), return_std=True)
        mean = self.target_mean_ + self.target_scale_ * mean
        return (mean, self.target_scale_ * std) if return_std else mean
