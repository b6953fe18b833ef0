"""The LS-SVM classifier designed by the evidence framework: of two classes (paper 0), or of more (paper 2).

A surface over both: fitted to two classes it is the binary classifier, fitted to more it holds a multiclass one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..base.archive import State
from ..base.cost import announce
from ..base.provenance import provenance
from ..base.typing import AnyArray, Array
from ..kernels import EXTRA, Kernel
from ..levels.grown import GrownPosterior
from ..levels.level3 import DEFAULT_PRIOR_SD
from ..levels.moderation import probabilities
from ..multiclass.codings import code_book
from ..multiclass.decodings import PROBABILISTIC
from .binary import BinaryLSSVC
from .choice import check_criterion
from .common import ClassPrior
from .comparing import ComparesKernels
from .evidence import Prior
from .label_sets import PredictsSets
from .multiclass import MulticlassLSSVC
from .refits import TrainingSet
from .state import surface_state
from .trusted import TrainingRows, rows_of_several
from .updates import check_first_labels, check_labels, check_new_rows

_INSTEAD = "FixedSizeLSSVC(n_landmarks=500)"


def _has_probabilities(model: BayesianLSSVC) -> bool:
    if model.decoding in PROBABILISTIC or len(getattr(model, "classes_", ())) == 2:
        return True
    raise AttributeError(
        f"decoding={model.decoding!r} gives no probabilities for more than two classes; those that do are "
        f"{', '.join(PROBABILISTIC)}."
    )


class BayesianLSSVC(ComparesKernels, BinaryLSSVC, PredictsSets):
    """LS-SVM classifier with everything inferred from the training data: no tuning, calibrated probabilities.

    Inputs are standardised (N − 1 standard deviation), kernel parameters chosen by level 3, μ and ζ by level 2, and
    class probabilities come from the moderated output, with the weights and the bias integrated out. More than two
    classes are split into binary problems by a code book; each has a member that is fitted in the same way, and a
    decoding combines the members' probabilities.

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        An object of `bayes_lssvm.kernels`, or a name such as "linear", "poly2", "rbf", "ard", "matern32", "periodic".
    refine : bool, default True
        Optimise the kernel's parameters, from several starts; False takes them as given.
    occam : bool, default True
        Whether the evidence that selects them has the Occam factor (5.2, 5.3) or is p(D | μ_MP, ζ_MP) alone.
    criterion : str, default "evidence"
        What chooses them: the evidence; leave-one-out errors (paper 1), which choose γ too: PRESS alone ("press"), with
        a Gaussian prior over the relevances integrated out ("press-br"), with a Laplace prior that removes inputs
        ("press-laplace", for kernel="ard"), with a penalty on the fit ("press-curvature", "press-slope"); or the
        likelihood of the left-out labels by calibrated probabilities ("loo").
    coding : {"ovo", "ova", "moc", "ecoc", "exhaustive"} or array of shape (M, L), default "ovo"
        The code book for M > 2 classes: one versus one, one versus all, minimal, error-correcting, exhaustive, or a
        matrix over {−1, 0 (don't care), +1} with a row for each of `classes_`. Two classes need none.
    decoding : str, default "auto"
        How the members decide, for M > 2 classes: pairwise coupling for one versus one and Bayes' rule for other codes
        ("auto"), "bayes", "hamming" or "loss" (and "hinge", "coupling", "bayes-sequential", "bayes-printed", see
        `bayes_lssvm.multiclass`). Two classes have one member, and it decides.
    shared_kernel : bool, default False
        One kernel for all members, at the maximum of the sum of their evidences, instead of one each.
    class_prior : sequence, mapping, "equal" or None
        P(y) where new data come from, in the order of `classes_` or by label; the training frequencies by default.
    costs : array of shape (M, M) or None
        costs[i][j]: cost of deciding for class j where class i is true; 0 and 1 by default.
    moderation : {"loo", "class", "target", "softmax"}, default "loo"
        Form of the moderated output: a logistic map fitted to exact leave-one-out outputs, paper 0's, paper 2's, or the
        logistic function with MacKay's marginalisation.
    prior : HyperPrior, Normal, Box, Gamma, "flat" or None
        Prior of log μ, log ζ and the kernel's log parameters in the evidence that chooses them. By default a weak,
        proper one (`bayes_lssvm.levels.default_prior`), with which labels are never taken for targets without noise;
        rows with equal inputs are then put together. "flat" is the papers' rule (5.2), and so is occam=False.
    prior_sd : float or pair of floats, default 3.0
        Widths of the prior of log μ and log ζ, the denominator of the Occam factor.
    standardise : bool, default True
    n_jobs : int or None
        Processes among which members with a kernel each are spread; no more than members, and this one alone where a
        task of joblib or Dask fits the model.
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
    workers_ : Workers
        How many processes did the work, and how many BLAS threads each of them could use.
    level3_, posterior_, centres_, refinement_, press_, provenance_
        The results of the levels and of the search in full, and where they come from.

    Examples
    --------
    >>> from bayes_lssvm import BayesianLSSVC
    >>> from bayes_lssvm.datasets import load
    >>> ripley = load("ripley")
    >>> model = BayesianLSSVC(occam=False, moderation="class").fit(ripley.data, ripley.target)  # paper 0
    >>> round(model.kernel_.sigma, 3), round(model.mu_, 3), round(model.zeta_, 3)
    (1.311, 1.668, 2.741)
    >>> round(model.score(ripley.test_data, ripley.test_target), 3)
    0.906
    """

    multiclass_: MulticlassLSSVC | None

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        refine: bool = True,
        occam: bool = True,
        criterion: str = "evidence",
        coding: Any = "ovo",
        decoding: str = "auto",
        shared_kernel: bool = False,
        class_prior: ClassPrior = None,
        costs: Any = None,
        moderation: str = "loo",
        prior: Prior = None,
        prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
        standardise: bool = True,
        n_jobs: int | None = None,
        folder: str | Path | None = None,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            refine=refine,
            occam=occam,
            criterion=criterion,
            class_prior=class_prior,
            costs=costs,
            moderation=moderation,
            prior=prior,
            prior_sd=prior_sd,
            standardise=standardise,
            random_state=random_state,
        )
        self.coding = coding
        self.decoding = decoding
        self.shared_kernel = shared_kernel
        self.n_jobs = n_jobs
        self.folder = folder

    # --- design ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLSSVC:
        """Design the classifier on inputs X of shape (N, d) and labels y of shape (N,).

        With `sample_weight` of shape (N,), the label of row i has the noise precision ζw_i, and counts w_i times in
        frequencies of classes and in the map to probabilities. A row of weight zero is left out.
        """
        X, y, weights = self._begin(X, y, sample_weight)
        counts = np.unique(y, return_counts=True)[1]
        parameters = self._kernel_for(X).log_params.size
        if len(counts) > 2:
            code = code_book(self.coding, len(counts), seed=self.random_state)
            announce(((code != 0).T @ counts).tolist(), parameters, _INSTEAD)
            self._design_several(X, y, weights)
        else:
            announce([len(X)], parameters, _INSTEAD)
            self._design_two(X, y, weights)
            self.multiclass_ = None
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> BayesianLSSVC:
        """Add rows with kernels, μ, ζ and scales held, in O(N²) for each; a model that is not fitted yet is fitted.

        The same as a fit to all rows with these hyperparameters; the map from outputs to probabilities is fitted to the
        leave-one-out outputs of all rows. `level3_` and `log_evidence_` stay those of the rows on which they were
        chosen; `fit` chooses them anew.

        Parameters
        ----------
        X, y : arrays of shape (n, d) and (n,)
        classes : sequence, optional
            All labels; the first rows must show each.
        sample_weight : array of shape (n,), optional
        """
        if not hasattr(self, "multiclass_"):
            check_first_labels(y, classes)
            return self.fit(X, y, sample_weight)
        inputs, y, weights = check_new_rows(self, X, y, sample_weight)
        labels = check_labels(self.classes_, y)
        if self.multiclass_ is None:
            self.add_labelled(inputs, 2.0 * labels - 1.0, weights)
        else:
            self.multiclass_.add_labelled(inputs, labels, weights)
            self.training_frequencies_ = self.multiclass_.training_frequencies_
            self.__dict__.pop("refits_", None)
        return self

    def _design_several(self, X: Array, y: AnyArray, weights: Array | None) -> None:
        check_criterion(self.criterion, self._kernel_for(X), self.refine)
        if self.criterion != "evidence" and self.shared_kernel:
            raise ValueError(
                f"shared_kernel=True chooses the kernel by the sum of the members' evidences; with criterion="
                f"{self.criterion!r} each member has its own: use shared_kernel=False."
            )
        inputs = self._standardised_training_inputs(X, weights)
        data = (X, y) if weights is None else (X, y, weights)
        self.provenance_ = provenance(settings=self.get_params(deep=False), data=data)
        self._take_over(self._multiclass().fit(inputs, y, weights))
        assert self.multiclass_ is not None
        self.workers_ = self.multiclass_.workers_

    def _multiclass(self) -> MulticlassLSSVC:
        """The classifier, not fitted yet, that this one is on standardised inputs for more than two classes."""
        settings = self.get_params(deep=False) | {"standardise": False}
        if self._takes_matrices:
            settings["kernel"] = self.precomputed_
        criterion = settings.pop("criterion")
        if criterion != "evidence":
            binary = {name: settings[name] for name in ("kernel", "refine", "occam", "moderation", "prior", "prior_sd")}
            settings["member"] = BinaryLSSVC(
                criterion=criterion, standardise=False, random_state=self.random_state, **binary
            )
        return MulticlassLSSVC(**settings)

    def _take_over(self, model: MulticlassLSSVC) -> None:
        """Be the classifier of more than two classes that was fitted to the standardised inputs."""
        self.multiclass_, self.log_evidence_ = model, model.log_evidence_
        self.classes_, self.training_frequencies_ = model.classes_, model.training_frequencies_
        self.columns_ = np.arange(self.n_features_in_ + (EXTRA if self._takes_matrices else 0))

    def _state(self) -> State:
        return super()._state() if self.multiclass_ is None else surface_state(self) | self.multiclass_.state()

    def _restore(self, state: State) -> None:
        if "code_book" in state.arrays:
            self._take_over(self._multiclass().restore(state))
        else:
            super()._restore(state)
            self.multiclass_ = None

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

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, *, class_prior: ClassPrior = None) -> Array:
        """P(y | x) for each row of X, in the order of `classes_`, of shape (n, M) (3.17; paper 2, eqs 17–20).

        `class_prior` overrides the estimator's, for data whose class frequencies differ from the training set's.
        """
        if (several := self._several()) is None:
            return super().predict_proba(X, class_prior=class_prior)
        return np.asarray(several.predict_proba(self._new_inputs(X), class_prior=class_prior))

    def decision_function(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> Array:
        """Log odds of the second class, moved by the costs: its sign is the decision of least expected cost.

        For more than two classes the scores of all, of shape (n, M): log probabilities, minus expected costs, or minus
        the distance or loss of the decoding. The largest decides.
        """
        if (several := self._several()) is None:
            return super().decision_function(X, class_prior=class_prior, costs=costs)
        return several.decision_function(self._new_inputs(X), class_prior=class_prior, costs=costs)

    def predict(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> AnyArray:
        """The label of least expected cost for each row of X (section 6.2)."""
        if (several := self._several()) is None:
            return super().predict(X, class_prior=class_prior, costs=costs)
        return several.predict(self._new_inputs(X), class_prior=class_prior, costs=costs)

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

    def _left_out_probabilities(self) -> tuple[Array, AnyArray, Array | None]:
        if (several := self._several()) is None:
            return probabilities(self.left_out_log_odds()), (self.y_fit_ > 0).astype(int), self.weights_
        if self.decoding not in PROBABILISTIC:
            raise ValueError(f"predict_set needs probabilities, and decoding={self.decoding!r} gives none.")
        return several.left_out_probabilities(), several.labels_, several.weights_

    def _training_set(self) -> TrainingSet:
        several = self._several()
        if several is not None:
            return TrainingSet(*several.labelled_rows())
        return TrainingSet(self.X_fit_, self.classes_[(self.y_fit_ > 0).astype(int)], self.weights_)

    def _is_cheap(self, few: int) -> bool:
        if self.moderation != "loo" or self.decoding not in PROBABILISTIC or self.shared_kernel:
            return False  # what is asked of them is refused, unless a refit is
        free = self._given_kernel().log_params.size if self.refine else 0
        held = any(isinstance(member.posterior_, GrownPosterior) for member in self.members_)
        rows = self._training_set()
        return free <= 1 and not held and rows.weights is None and len(rows.y) <= few

    def _several(self) -> MulticlassLSSVC | None:
        """The classifier for more than two classes, if this is one."""
        check_is_fitted(self, "multiclass_")
        return self.multiclass_

    def _training_rows(self) -> TrainingRows:
        if (several := self._several()) is None:
            return super()._training_rows()
        return rows_of_several(several, self._given_kernel(), fixed_kernel=not self.refine)

    def _require_one_target(self, method: str, instead: str) -> None:
        if self._several() is not None:
            raise ValueError(f"{method} is for two classes, and there are {len(self.classes_)}: {instead}.")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags
