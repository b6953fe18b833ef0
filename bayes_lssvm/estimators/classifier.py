"""The LS-SVM classifier designed by the evidence framework: two classes (paper 0, section 6), or more (paper 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..base.provenance import provenance
from ..base.typing import AnyArray, Array
from ..kernels import Kernel, as_kernel
from ..levels.level1 import ClassCentres
from ..levels.level3 import DEFAULT_PRIOR_SD
from ..levels.moderation import MODERATIONS, Discriminant, cost_log_odds, discriminant, log_odds, probabilities
from ..multiclass.decodings import PROBABILISTIC
from ..search.comparison import Comparison
from .choice import check_criterion
from .common import BinaryLabels, resolve_class_prior, resolve_costs
from .evidence import EvidenceLSSVM

if TYPE_CHECKING:
    from ..multiclass import MulticlassLSSVC

ClassPrior = Sequence[float] | Mapping[Any, float] | str | None


def _has_probabilities(model: BayesianLSSVC) -> bool:
    if model.decoding in PROBABILISTIC or len(getattr(model, "classes_", ())) == 2:
        return True
    raise AttributeError(
        f"decoding={model.decoding!r} gives no probabilities for more than two classes; those that do are "
        f"{', '.join(PROBABILISTIC)}."
    )


class BayesianLSSVC(BinaryLabels, ClassifierMixin, EvidenceLSSVM):  # type: ignore[misc]
    """LS-SVM classifier with everything inferred from the training data: no tuning, calibrated probabilities.

    Inputs are standardised (N − 1 standard deviation), kernel parameters chosen by level 3, μ and ζ by level 2, and
    class probabilities come from the moderated output, with the weights and the bias integrated out. More than two
    classes are taken apart by a code book into binary problems, each with a member designed like that, and Bayes' rule
    brings the members' moderated outputs together.

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        An object of `bayes_lssvm.kernels`, or one of "linear", "poly2", "poly3", "rbf", "ard", "mlp".
    refine : bool, default True
        Optimise the kernel's parameters, from several starts; False takes them as given.
    occam : bool, default True
        Whether the evidence that selects them has the Occam factor (5.2, 5.3) or is p(D | μ_MP, ζ_MP) alone.
    criterion : {"evidence", "press", "press-br", "press-laplace", "press-curvature"}, default "evidence"
        What chooses them: the evidence, or leave-one-out errors (PRESS, paper 1), which choose γ too: alone, with a
        Gaussian prior over the relevances integrated out, with a Laplace prior that removes inputs (kernel="ard"), or
        with a penalty on curvature.
    coding : {"ovo", "ova", "moc", "ecoc", "exhaustive"} or array of shape (M, L), default "ovo"
        The code book for M > 2 classes: one versus one, one versus all, minimal, error-correcting, exhaustive, or a
        matrix over {−1, 0 (don't care), +1} with a row for each of `classes_`. Two classes need none.
    decoding : str, default "bayes"
        How the members decide, for M > 2 classes: "bayes", "hamming" or "loss" (and "hinge", "coupling",
        "bayes-sequential", "bayes-printed", see `bayes_lssvm.multiclass`). Two classes have one member, and it decides.
    shared_kernel : bool, default False
        One kernel for all members, at the maximum of the sum of their evidences, instead of one each.
    class_prior : sequence, mapping, "equal" or None
        P(y) where new data come from, in the order of `classes_` or by label; the training frequencies by default.
    costs : array of shape (M, M) or None
        costs[i][j]: cost of deciding for class j where class i is true; 0 and 1 by default.
    moderation : {"class", "target", "softmax"}, default "class"
        Form of the moderated output: paper 0's, paper 2's, or the logistic function with MacKay's marginalisation.
    prior_sd : float or pair of floats, default 3.0
        Widths of the prior of log μ and log ζ, the denominator of the Occam factor.
    standardise : bool, default True
    n_jobs : int or None
        Processes among which members with a kernel each are spread.
    folder : path or None
        Where such members are kept once they are finished, so that a run that was stopped goes on where it was.
    random_state : int, default 0
        Chooses the subset on which starts are sifted when N > 300, and the error-correcting code.

    Attributes
    ----------
    classes_ : array of shape (M,)
    members_ : list of length L
        The binary classifiers, which have the attributes below; for two classes this one alone. Where there are more
        classes, members take standardised inputs, `standardiser_(X)`, and the attributes below are theirs only.
    code_book_ : array of shape (M, L)
    mu_, zeta_, gamma_ : float
        Most probable μ, ζ and γ = ζ/μ; with another criterion its γ, and μ of the largest leave-one-out density.
    gamma_eff_ : float
        Effective number of parameters.
    zeta_star_ : float
        ζ_*, the precision of the errors around the projected class centres.
    kernel_ : Kernel
        With the parameters chosen, over the columns `columns_`.
    alpha_ : array of shape (N,)
    intercept_ : float
    relevance_ : array of shape (d,)
        1/s_i² of each standardised input; RBF (all equal) and ARD kernels only. Zero for inputs that were removed.
    selected_ : array of int
        Inputs that have a say: their squared range in units of s_i is at least 10⁻⁴ of the largest.
    columns_ : array of int
        Inputs that were not removed.
    log_evidence_ : float
        log p(D | H), absolute: by 5.2 if `occam`, else log p(D | μ_MP, ζ_MP, H). With another criterion it is that of
        the chosen γ. For M > 2 classes the sum over the members.
    log_occam_factor_ : float
        log of the Occam factor of 5.2.
    hyper_std_ : dict
        Error bars of log μ and log ζ: MacKay's ("log_mu", "log_zeta") and the exact Hessian's ("log_mu_hessian", …).
    level3_, posterior_, centres_, refinement_, press_, provenance_
        The results of the levels and of the search in full, and where they come from.

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
    multiclass_: MulticlassLSSVC | None

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        refine: bool = True,
        occam: bool = True,
        criterion: str = "evidence",
        coding: Any = "ovo",
        decoding: str = "bayes",
        shared_kernel: bool = False,
        class_prior: ClassPrior = None,
        costs: Any = None,
        moderation: str = "class",
        prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
        standardise: bool = True,
        n_jobs: int | None = None,
        folder: str | Path | None = None,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.refine = refine
        self.occam = occam
        self.criterion = criterion
        self.coding = coding
        self.decoding = decoding
        self.shared_kernel = shared_kernel
        self.class_prior = class_prior
        self.costs = costs
        self.moderation = moderation
        self.prior_sd = prior_sd
        self.standardise = standardise
        self.n_jobs = n_jobs
        self.folder = folder
        self.random_state = random_state

    # --- design ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> BayesianLSSVC:
        """Design the classifier on inputs X of shape (N, d) and labels y of shape (N,)."""
        X, y = self._check_training_inputs(X, y, numeric_target=False)
        check_classification_targets(y)
        if self.moderation not in MODERATIONS:
            raise ValueError(f"moderation must be one of {', '.join(MODERATIONS)}, got {self.moderation!r}.")
        self._forget()
        if len(np.unique(y)) > 2:
            return self._fit_members(X, y)
        signs = self._encode_labels(y)
        self.multiclass_ = None
        self.training_frequencies_ = np.array([np.mean(signs < 0), np.mean(signs > 0)])
        self._prior(None)
        self._cost_shift(None)
        K = self._design(X, signs)
        self.centres_ = ClassCentres.from_posterior(self.posterior_, signs, self.gamma_eff_, K)
        self.zeta_star_ = self.centres_.zeta_star
        return self

    def _fit_members(self, X: Array, y: AnyArray) -> BayesianLSSVC:
        from ..multiclass import MulticlassLSSVC  # which imports this class

        check_criterion(self.criterion, as_kernel(self.kernel, X.shape[1]), self.refine)
        if self.criterion != "evidence" and self.shared_kernel:
            raise ValueError(
                f"shared_kernel=True chooses the kernel by the sum of the members' evidences; with criterion="
                f"{self.criterion!r} each member has its own: use shared_kernel=False."
            )
        inputs = self._standardised_training_inputs(X)
        self.provenance_ = provenance(settings=self.get_params(deep=False), data=(X, y))
        return self._take_over(MulticlassLSSVC(**self._multiclass_settings()).fit(inputs, y))

    def _multiclass_settings(self) -> dict[str, Any]:
        """Arguments of the `MulticlassLSSVC` that this classifier is for more than two classes."""
        settings = self.get_params(deep=False) | {"standardise": False}
        criterion = settings.pop("criterion")
        if criterion == "evidence":
            return settings
        binary = {name: settings[name] for name in ("kernel", "refine", "occam", "moderation", "prior_sd")}
        member = BayesianLSSVC(criterion=criterion, standardise=False, random_state=self.random_state, **binary)
        return settings | {"member": member}

    def _take_over(self, model: MulticlassLSSVC) -> BayesianLSSVC:
        """Be the classifier of more than two classes that was fitted to the standardised inputs."""
        self.multiclass_, self.log_evidence_ = model, model.log_evidence_
        self.classes_, self.training_frequencies_ = model.classes_, model.training_frequencies_
        self.columns_ = np.arange(self.n_features_in_)
        return self

    @property
    def members_(self) -> list[Any]:
        """The binary classifiers, in the order of the bits."""
        self._require_fitted()
        return [self] if self.multiclass_ is None else self.multiclass_.members_

    @property
    def code_book_(self) -> Array:
        """The code book of shape (M, L)."""
        self._require_fitted()
        return np.array([[-1.0], [1.0]]) if self.multiclass_ is None else self.multiclass_.code_book_

    def _require_fitted(self) -> None:
        """An AttributeError, as of any attribute that is not there yet."""
        if not hasattr(self, "multiclass_"):
            raise AttributeError("This BayesianLSSVC is not fitted yet; call fit first.")

    # --- predictions -----------------------------------------------------------------------------------------------

    def _prior(self, class_prior: ClassPrior) -> Array:
        given = self.class_prior if class_prior is None else class_prior
        return resolve_class_prior(given, self.classes_, self.training_frequencies_)

    def _cost_shift(self, costs: Any) -> float:
        return cost_log_odds(resolve_costs(self.costs if costs is None else costs, self.classes_))

    def _log_odds(self, X: Any, class_prior: ClassPrior) -> Array:
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

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, *, class_prior: ClassPrior = None) -> Array:
        """P(y | x) for each row of X, in the order of `classes_`, of shape (n, M) (3.17; paper 2, eqs 17–20).

        `class_prior` overrides the estimator's, for data whose class frequencies differ from the training set's.
        """
        if (several := self._several()) is not None:
            return np.asarray(several.predict_proba(self._new_inputs(X), class_prior=class_prior))
        return probabilities(self._log_odds(X, class_prior))

    def decision_function(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> Array:
        """Log odds of the second class, moved by the costs: its sign is the decision of least expected cost.

        For more than two classes the scores of all, of shape (n, M): log probabilities, minus expected costs, or minus
        the distance or loss of the decoding. The largest decides.
        """
        if (several := self._several()) is not None:
            return several.decision_function(self._new_inputs(X), class_prior=class_prior, costs=costs)
        return self._log_odds(X, class_prior) + self._cost_shift(costs)

    def predict(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> AnyArray:
        """The label of least expected cost for each row of X (section 6.2)."""
        if (several := self._several()) is not None:
            return several.predict(self._new_inputs(X), class_prior=class_prior, costs=costs)
        return self._decode_sign(self.decision_function(X, class_prior=class_prior, costs=costs))

    def latent(self, X: Any, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """z_MP = Σ α_i K(x, x_i) + b for each row of X, and on request its posterior standard deviation σ_z.

        Of shape (n,), and for more than two classes of shape (n, L): the outputs of the members.
        """
        if (several := self._several()) is None:
            return super().latent(X, return_std=return_std)
        if not return_std:
            return several.outputs(self._new_inputs(X))
        mean, variance = several.output_moments(self._new_inputs(X))
        return mean, np.sqrt(variance)

    def discriminant(self, X: Any, *, class_prior: ClassPrior = None) -> Discriminant:
        """The linear discriminant 3.18 and its bias correction Δb(x) for each row of X; for two classes."""
        if self._several() is not None:
            raise ValueError(self._for_two("discriminant", "use latent(X), or members_[i].discriminant"))
        prior = float(self._prior(class_prior)[1])
        return discriminant(self.posterior_, self.centres_, self._new_inputs(X), prior_plus=prior)

    def compare(
        self,
        kernels: Sequence[Kernel | str],
        *,
        refine: bool | None = None,
        prior_probabilities: Sequence[float] | None = None,
        progress: bool = True,
    ) -> Comparison:
        """Rank kernels by their evidence on the training data, as `bayes_lssvm.compare` does; for two classes."""
        if self._several() is not None:
            raise ValueError(self._for_two("compare", "fit one classifier for each kernel and compare log_evidence_"))
        return super().compare(kernels, refine=refine, prior_probabilities=prior_probabilities, progress=progress)

    def _several(self) -> MulticlassLSSVC | None:
        """The classifier for more than two classes, if this is one."""
        check_is_fitted(self, "multiclass_")
        return self.multiclass_

    def _for_two(self, method: str, instead: str) -> str:
        return f"{method} is for two classes, and there are {len(self.classes_)}: {instead}."
