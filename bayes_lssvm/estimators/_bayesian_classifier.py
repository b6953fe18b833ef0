"""The LS-SVM classifier designed by the evidence framework (paper 0, section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Array
from ..kernels import Kernel
from ..level1 import ClassCentres
from ..level3 import DEFAULT_PRIOR_SD
from ..moderation import MODERATIONS, Discriminant, cost_log_odds, discriminant, log_odds, probabilities
from ._common import BinaryLabels, resolve_class_prior, resolve_costs
from ._evidence import EvidenceLSSVM

ClassPrior = Sequence[float] | Mapping[Any, float] | None


class BayesianLSSVC(BinaryLabels, ClassifierMixin, EvidenceLSSVM):  # type: ignore[misc]
    """LS-SVM classifier with everything inferred from the training data: no tuning, calibrated probabilities.

    Inputs are standardised (N − 1 standard deviation), kernel parameters chosen by level 3, μ and ζ by level 2, and
    class probabilities come from the moderated output, with the weights and the bias integrated out.

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        An object of `bayes_lssvm.kernels`, or one of "linear", "poly2", "poly3", "rbf", "ard", "mlp".
    refine : bool, default True
        Optimise the kernel's parameters by the evidence, from several starts; False takes them as given.
    occam : bool, default True
        Whether the evidence that selects them has the Occam factor (5.2, 5.3) or is p(D | μ_MP, ζ_MP) alone.
    class_prior : sequence, mapping or None
        P(y) where new data come from, in the order of `classes_` or by label; the training frequencies by default.
    costs : array of shape (2, 2) or None
        costs[i][j]: cost of deciding for class j where class i is true; 0 and 1 by default.
    moderation : {"class", "target", "softmax"}, default "class"
        Form of the moderated output: paper 0's, paper 2's, or the logistic function with MacKay's marginalisation.
    prior_sd : float or pair of floats, default 3.0
        Widths of the prior of log μ and log ζ, the denominator of the Occam factor.
    standardise : bool, default True
    random_state : int, default 0
        Chooses the subset on which starts are sifted when N > 300. All else is deterministic.

    Attributes
    ----------
    mu_, zeta_, gamma_ : float
        Most probable μ, ζ and γ = ζ/μ.
    gamma_eff_ : float
        Effective number of parameters.
    zeta_star_ : float
        ζ_*, the precision of the errors around the projected class centres.
    kernel_ : Kernel
        With the parameters chosen.
    alpha_ : array of shape (N,)
    intercept_ : float
    log_evidence_ : float
        log p(D | H), absolute: by 5.2 if `occam`, else log p(D | μ_MP, ζ_MP, H).
    log_occam_factor_ : float
        log of the Occam factor of 5.2.
    hyper_std_ : dict
        Error bars of log μ and log ζ: MacKay's ("log_mu", "log_zeta") and the exact Hessian's ("log_mu_hessian", …).
    level3_, posterior_, centres_, refinement_, provenance_
        The results of the levels in full, and where they come from.
    classes_ : array of shape (2,)

    Examples
    --------
    >>> from bayes_lssvm import BayesianLSSVC
    >>> from bayes_lssvm.datasets import load
    >>> ripley = load("ripley")
    >>> model = BayesianLSSVC(occam=False).fit(ripley.data, ripley.target)
    >>> round(model.kernel_.sigma, 3), round(model.mu_, 3), round(model.zeta_, 3)
    (1.311, 1.668, 2.741)
    >>> round(model.score(ripley.test_data, ripley.test_target), 3)
    0.906
    """

    centres_: ClassCentres

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        refine: bool = True,
        occam: bool = True,
        class_prior: ClassPrior = None,
        costs: Any = None,
        moderation: str = "class",
        prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.refine = refine
        self.occam = occam
        self.class_prior = class_prior
        self.costs = costs
        self.moderation = moderation
        self.prior_sd = prior_sd
        self.standardise = standardise
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> BayesianLSSVC:
        """Design the classifier on inputs X of shape (N, d) and two labels y of shape (N,)."""
        X, y = self._check_training_inputs(X, y, numeric_target=False)
        signs = self._encode_labels(y)
        if self.moderation not in MODERATIONS:
            raise ValueError(f"moderation must be one of {', '.join(MODERATIONS)}, got {self.moderation!r}.")
        self.training_frequencies_ = np.array([np.mean(signs < 0), np.mean(signs > 0)])
        self._prior(None)
        self._cost_shift(None)
        K = self._design(X, signs)
        self.centres_ = ClassCentres.from_posterior(self.posterior_, signs, self.gamma_eff_, K)
        self.zeta_star_ = self.centres_.zeta_star
        return self

    def _prior(self, class_prior: ClassPrior) -> Array:
        given = self.class_prior if class_prior is None else class_prior
        return resolve_class_prior(given, self.classes_, self.training_frequencies_)

    def _cost_shift(self, costs: Any) -> float:
        return cost_log_odds(resolve_costs(self.costs if costs is None else costs, self.classes_))

    def _log_odds(self, X: Any, class_prior: ClassPrior) -> Array:
        check_is_fitted(self, "centres_")
        inputs, prior = self._new_inputs(X), self._prior(class_prior)
        level2 = self.level3_.level2
        if level2.status == "no signal" and level2.at_boundary:  # the weights are zero, and the prior is all there is
            return np.full(len(inputs), np.log(prior[1]) - np.log(prior[0]))
        return log_odds(
            self.posterior_,
            self.centres_,
            inputs,
            prior_plus=float(prior[1]),
            training_plus=float(self.training_frequencies_[1]),
            moderation=self.moderation,  # type: ignore[arg-type]
        )

    def predict_proba(self, X: Any, *, class_prior: ClassPrior = None) -> Array:
        """P(y | x) for each row of X, in the order of `classes_`, of shape (n, 2) (3.17).

        `class_prior` overrides the estimator's, for data whose class frequencies differ from the training set's.
        """
        return probabilities(self._log_odds(X, class_prior))

    def decision_function(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> Array:
        """Log odds of the second class, moved by the costs: its sign is the decision of least expected cost."""
        return self._log_odds(X, class_prior) + self._cost_shift(costs)

    def predict(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> AnyArray:
        """The label of least expected cost for each row of X (section 6.2)."""
        return self._decode_sign(self.decision_function(X, class_prior=class_prior, costs=costs))

    def discriminant(self, X: Any, *, class_prior: ClassPrior = None) -> Discriminant:
        """The linear discriminant 3.18 and its bias correction Δb(x) for each row of X."""
        check_is_fitted(self, "centres_")
        prior = float(self._prior(class_prior)[1])
        return discriminant(self.posterior_, self.centres_, self._new_inputs(X), prior_plus=prior)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
