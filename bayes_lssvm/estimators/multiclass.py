"""The LS-SVM classifier for any number of classes: a code book, binary members, a decoding (paper 2, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..base.archive import State
from ..base.canonical import canonical_classes
from ..base.errors import BayesLSSVMWarning, warn
from ..base.provenance import provenance
from ..base.scikit import check_classification_targets
from ..base.standardisation import Standardiser
from ..base.threads import Workers, workers_for
from ..base.typing import AnyArray, Array
from ..base.weights import check_weights, row_count
from ..kernels import EXTRA, Kernel, Precomputed, kernel_from_dict, kernel_to_dict
from ..levels.level3 import DEFAULT_PRIOR_SD, as_prior_sd
from ..levels.moderation import MODERATIONS, cost_log_odds
from ..multiclass.codings import NUMBERED, code_book, has_dont_cares
from ..multiclass.decodings import (
    BAYESIAN,
    DECODINGS,
    PROBABILISTIC,
    bayes_log_posterior,
    couple_pairwise,
    default_decoding,
    hamming_scores,
    loss_scores,
    require_pairs,
)
from ..multiclass.design import SharedDesign, design_shared
from ..multiclass.members import Complaint, Keeper, fit_members, has_ratio, log_ratio_of, output_of, rows_of
from ..search.ties import warn_of_alike_classes
from .binary import BinaryLSSVC
from .common import MIN_POINTS, ClassFrequencies, ClassPrior, LSSVMBase, check_moderation, resolve_costs
from .evidence import Prior, check_prior

_MOVED_BY_PRIORS = ("bayes", "coupling")  # probabilities at one prior give those at any other
_SUREST = 1e8  # nats: members that interpolate are surer than this by rounding alone


def _has_probabilities(model: Any) -> bool:
    if model.decoding not in PROBABILISTIC:
        raise AttributeError(
            f"decoding={model.decoding!r} gives no probabilities; those that do are {', '.join(PROBABILISTIC)}."
        )
    return True


def _state_of(member: BinaryLSSVC) -> State:
    return member._state()


def _member(state: State) -> BinaryLSSVC:
    """A member from its state, which may have the settings of a code book too."""
    known = BinaryLSSVC().get_params()
    params = {name: value for name, value in state.header["params"].items() if name in known}
    return BinaryLSSVC._from_state(State(state.header | {"params": params}, state.arrays))


def _labelled(state: State, classes: int) -> tuple[AnyArray, Array | None]:
    """Numbers of the classes of all rows, and their weights, from a state."""
    points, labels = state.shape("labels")[0], state.arrays["labels"]
    state.require_shapes({"labels": (points,)})
    if labels.dtype.kind != "i" or not np.array_equal(np.unique(labels), np.arange(classes)):
        raise ValueError(f"labels are not the numbers of {classes} classes")
    weights = state.arrays.get("weights")
    if weights is not None:
        state.require_shapes({"weights": (points,)})
        weights = check_weights(weights, points, "its weights")
    return labels, weights


class MulticlassLSSVC(ClassFrequencies, ClassifierMixin, LSSVMBase):  # type: ignore[misc]
    """LS-SVM classifier for two classes or more, with probabilities.

    A code book sets classes against classes in L binary tasks; each has a member of its own, designed by the evidence
    framework; a decoding brings their outputs together.

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        An object of `bayes_lssvm.kernels`, or a name such as "linear", "poly2", "rbf", "ard", "matern32", "periodic".
    coding : {"ovo", "ova", "moc", "ecoc", "exhaustive"} or array of shape (M, L), default "ovo"
        The code book: by name, or as a matrix over {−1, 0 (don't care), +1} with a row for each of `classes_`. "moc"
        and "ecoc" number the classes by their frequency, the most frequent first, so that names have no say.
    decoding : str, default "auto"
        "coupling" (pairwise, for coding="ovo"), "bayes" (eqs 17–20), "bayes-sequential" or "bayes-printed" (other
        readings of eq 20), "hamming", "loss" (squared errors) or "hinge" (the loss of SVMs). "auto" is coupling for one
        versus one and Bayes' rule for other codes.
    shared_kernel : bool, default False
        One kernel for all members, at the maximum of the sum of their evidences, instead of one each. Members without
        don't cares then share nearly all of the work.
    member : binary classifier or None
        What the members are clones of, instead of `BayesianLSSVC`: `FullyBayesianLSSVC`, or any of scikit-learn's. The
        parameters kernel, shared_kernel, refine, occam, moderation and prior_sd are then not used.
    refine : bool, default True
        Optimise the kernel's parameters by the evidence; False takes them as given.
    occam : bool, default True
        Whether the evidence that selects them has the Occam factor.
    class_prior : sequence, mapping, "equal" or None
        P(c) where new data come from, in the order of `classes_` or by label; the training frequencies by default.
    costs : array of shape (M, M) or None
        costs[i][j]: cost of deciding for class j where class i is true; 0 and 1 by default.
    moderation : {"loo", "class", "target", "softmax"}, default "loo"
        Form of the members' moderated output: by leave-one-out outputs, paper 0's, paper 2's (eq 11), or the logistic
        function.
    prior : HyperPrior, Normal, Box, Gamma, "flat" or None
        Of the members' hyperparameters, as in `BayesianLSSVC`; members that share a kernel are designed by the papers'
        rule, whatever it is.
    prior_sd : float or pair of floats, default 3.0
        Widths of the prior of log μ and log ζ.
    standardise : bool, default True
        Standardise the inputs once, for all members.
    n_jobs : int or None
        Processes among which members with a kernel each are spread, as in joblib; no more than members, and this one
        alone where a task of joblib or Dask fits the model.
    folder : path or None
        Where such members are kept as model files once they are finished, so that a run that was stopped goes on where
        it was; not for a `member` of another kind. One that is damaged is designed again, with a warning.
    random_state : int, default 0
        Seed of the error-correcting code and of the subsets on which kernels are sifted.

    Attributes
    ----------
    classes_ : array of shape (M,)
    code_book_ : array of shape (M, L)
    members_ : list of length L
        Fitted estimators, or `SharedMember`s, which have the same attributes (`mu_`, `zeta_`, `kernel_`, `level3_`, …).
    design_ : SharedDesign or None
        What members that share a kernel have in common; `inputs_` and `labels_` are the data it was made from.
    training_frequencies_ : array of shape (M,)
    log_evidence_ : float
        Sum of the members' log evidences, where they have one.
    workers_ : Workers
        How many processes designed the members, and how many BLAS threads each of them could use.
    provenance_ : dict

    Examples
    --------
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.multiclass import MulticlassLSSVC
    >>> iris = load("iris")
    >>> model = MulticlassLSSVC("linear").fit(*iris.Xy)
    >>> model.code_book_.shape
    (3, 3)
    >>> round(model.score(*iris.Xy), 2)
    0.99
    """

    _moderations: ClassVar[tuple[str, ...]] = MODERATIONS
    classes_: AnyArray
    code_book_: Array
    members_: list[Any]
    design_: SharedDesign | None
    labels_: Any
    weights_: Array | None
    workers_: Workers

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        coding: Any = "ovo",
        decoding: str = "auto",
        shared_kernel: bool = False,
        member: BaseEstimator | None = None,
        refine: bool = True,
        occam: bool = True,
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
        self.kernel = kernel
        self.coding = coding
        self.decoding = decoding
        self.shared_kernel = shared_kernel
        self.member = member
        self.refine = refine
        self.occam = occam
        self.class_prior = class_prior
        self.costs = costs
        self.moderation = moderation
        self.prior = prior
        self.prior_sd = prior_sd
        self.standardise = standardise
        self.n_jobs = n_jobs
        self.folder = folder
        self.random_state = random_state

    # --- design ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MulticlassLSSVC:
        """Design the classifier on inputs X of shape (N, d) and labels y of shape (N,); weights as in `BayesianLSSVC`.

        A `member` that is not from this library has to take `sample_weight` too where weights are given.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=False)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"A classifier needs two classes, but all {len(y)} labels are of one class, "
                f"{self.classes_.tolist()[0]!r}."
            )
        counts = np.bincount(labels)
        shares = counts if weights is None else np.bincount(labels, weights)
        self.training_frequencies_, self.n_samples_ = shares / shares.sum(), int(row_count(weights, len(y)))
        self.code_book_ = code_book(self.coding, len(self.classes_), seed=self.random_state)
        self._check_settings(counts)
        kernel = None if self.member is not None else self._kernel_for(X)
        inputs = self._standardised_training_inputs(X, weights)
        if isinstance(self.coding, str) and self.coding in NUMBERED:
            order = canonical_classes(inputs, labels, weights)
            self.code_book_ = self.code_book_[np.argsort(order.numbers)]
            for alike in order.alike:
                warn_of_alike_classes(self.classes_[list(alike)], self.coding)
        self.design_, self.labels_, self.weights_ = None, labels, weights
        rows = int(((self.code_book_ != 0).T @ counts).max())
        self.workers_ = workers_for(1, rows, None)
        if kernel is not None and self._shares_work(kernel):
            complaints = self._share(inputs, labels, kernel, weights, refine=self.refine).complaints()
        else:
            binary = self._binary_estimator(kernel if self._takes_matrices else self.kernel)
            self.workers_ = workers_for(self.code_book_.shape[1], rows, self.n_jobs)
            self.members_, complaints = fit_members(
                binary,
                inputs,
                labels,
                self.code_book_,
                weights=weights,
                workers=self.workers_,
                folder=self.folder,
                keeper=Keeper(_state_of, type(binary)._from_state) if isinstance(binary, BinaryLSSVC) else None,
            )
        if all(hasattr(member, "log_evidence_") for member in self.members_):
            self.log_evidence_ = float(sum(member.log_evidence_ for member in self.members_))
        data = (X, y) if weights is None else (X, y, weights)
        self.provenance_ = provenance(settings=self.get_params(deep=False), data=data)
        self._pass_on(complaints)
        return self

    def _share(
        self, inputs: Array, labels: AnyArray, kernel: Kernel, weights: Array | None, *, refine: bool
    ) -> SharedDesign:
        """Design all members with one kernel."""
        # a model file has these instead of the design
        self.inputs_, self.labels_, self.weights_ = inputs, labels, weights
        self.design_ = design_shared(
            inputs,
            labels,
            self.code_book_,
            kernel,
            weights=weights,
            refine=refine,
            occam=self.occam,
            prior_sd=as_prior_sd(self.prior_sd),
            seed=self.random_state,
        )
        self.members_ = list(self.design_.members)
        return self.design_

    def _shares_work(self, kernel: Kernel) -> bool:
        """Whether one decomposition serves all members.

        By shared_kernel=True, or where nothing differs: a kernel that is given, the same inputs, and the papers' rule,
        by which members that share their work are designed.
        """
        given = not self.refine or kernel.log_params.size == 0
        papers = self.prior == "flat" or (self.prior is None and not self.occam)
        return self.shared_kernel or (given and papers and not has_dont_cares(self.code_book_))

    def _binary_estimator(self, kernel: Kernel | str | None) -> BaseEstimator:
        if self.member is not None:
            return self.member
        assert kernel is not None
        return BinaryLSSVC(
            kernel,
            refine=self.refine,
            occam=self.occam,
            moderation=self.moderation,
            prior=self.prior,
            prior_sd=self.prior_sd,
            standardise=False,
            random_state=self.random_state,
        )

    def _check_settings(self, counts: AnyArray) -> None:
        if self.decoding not in DECODINGS:
            raise ValueError(f"decoding must be one of {', '.join(DECODINGS)}, got {self.decoding!r}.")
        check_moderation(self.moderation, self._moderations)
        if self.decoding == "coupling":
            require_pairs(self.code_book_)
        check_prior(self.prior)
        if self.member is not None and self.shared_kernel:
            raise ValueError("shared_kernel=True makes its own members; leave member=None, or use shared_kernel=False.")
        if self.member is not None and self.decoding in PROBABILISTIC and not has_ratio(self.member):
            raise ValueError(
                f"decoding={self.decoding!r} needs members with predict_proba, which {self.member!r} does not "
                'have. Use decoding="hamming", "loss" or "hinge", or calibrate it, for example with '
                "CalibratedClassifierCV."
            )
        if self.decoding in PROBABILISTIC:
            self._prior(None)
            self._costs(None)
        elif self.class_prior is not None or self.costs is not None:
            raise ValueError(
                f"decoding={self.decoding!r} gives no probabilities for class_prior or costs to act on; those that "
                f"do are {', '.join(PROBABILISTIC)}."
            )
        if self.member is None or isinstance(self.member, LSSVMBase):
            self._check_sizes(counts)

    def _check_sizes(self, counts: AnyArray) -> None:
        """Refuse bits with too few points before any member is designed."""
        points = (self.code_book_ != 0).T @ counts
        for bit in np.flatnonzero(points < MIN_POINTS).tolist():
            names = self.classes_[self.code_book_[:, bit] != 0].tolist()
            raise ValueError(
                f"Bit {bit} of the code book has {int(points[bit])} training points (classes {names}); at least "
                f'{MIN_POINTS} are needed for a bias and two hyperparameters. Use coding="ova" or "ecoc", or leave '
                "such classes out."
            )

    def _pass_on(self, complaints: list[Complaint]) -> None:
        """One warning of each kind, for all members that gave it."""
        refinement = None if self.design_ is None else self.design_.refinement
        if refinement is not None and refinement.at_bound:
            warn(
                "The summed evidence is still rising at the edge of the search for "
                f"{', '.join(refinement.at_bound)} (kernel {refinement.kernel!s}); a simpler kernel may do as well.",
                BayesLSSVMWarning,
            )
        for category in dict.fromkeys(complaint.category for complaint in complaints):
            mine = [complaint for complaint in complaints if complaint.category is category]
            if len(self.members_) == 1:
                warn(mine[0].message, category)
                continue
            bits = sorted({complaint.bit for complaint in mine})
            shown = ", ".join(map(str, bits[:10])) + (" …" if len(bits) > 10 else "")
            warn(f"{len(bits)} of {len(self.members_)} members (bits {shown}). The first: {mine[0].message}", category)

    # --- state -------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """What was found with LS-SVM members: each of them, or what members that share a kernel are designed from."""
        found = State(
            {"log_evidence": self.log_evidence_, "n_samples": self.n_samples_},
            {"code_book": self.code_book_, "frequencies": self.training_frequencies_},
        )
        if self.design_ is not None:
            shared = {"shared_kernel": kernel_to_dict(self.design_.kernel)}
            own = {} if self.weights_ is None else {"weights": self.weights_}
            return found | State(shared, {"inputs": self.inputs_, "labels": self.labels_, **own})
        states = [member._state() for member in self.members_]
        arrays = {f"{bit}/{name}": a for bit, its in enumerate(states) for name, a in its.arrays.items()}
        own = {} if self.labels_ is None else {"labels": self.labels_}
        if self.labels_ is not None and self.weights_ is not None:
            own["weights"] = self.weights_
        return found | State({"members": [its.header for its in states]}, arrays | own)

    def restore(self, state: State, member: Callable[[State], Any] = _member) -> MulticlassLSSVC:
        """Be the classifier on standardised inputs that had this state; `member` makes members of theirs."""
        header, arrays = state
        d, (classes, bits) = int(header["n_features"]), state.shape("code_book")
        state.require_shapes({"classes": (classes,), "frequencies": (classes,), "code_book": (classes, bits)})
        self.classes_, self.code_book_ = arrays["classes"], code_book(arrays["code_book"], classes)
        self.training_frequencies_, self.log_evidence_ = arrays["frequencies"], float(header["log_evidence"])
        self.n_samples_ = int(header.get("n_samples", 0))  # absent from older files
        d += EXTRA if isinstance(self.kernel, Precomputed) else 0
        self.standardiser_, self.n_features_in_ = Standardiser.identity(d), d
        self.provenance_, self.design_ = header["provenance"], None
        if "shared_kernel" in header:
            labels, weights = _labelled(state, classes)
            state.require_shapes({"inputs": (len(labels), d)})
            kernel = kernel_from_dict(header["shared_kernel"])
            self._share(arrays["inputs"], labels, kernel, weights, refine=False)
            return self
        if len(header["members"]) != bits:
            raise ValueError(f"it has {len(header['members'])} members for {bits} bits")
        self.members_ = [member(state.below(f"{bit}/", own)) for bit, own in enumerate(header["members"])]
        # absent from older files
        self.labels_, self.weights_ = _labelled(state, classes) if "labels" in arrays else (None, None)
        return self

    def _require_binary_members(self, what: str) -> None:
        if self.design_ is not None or not all(isinstance(member, BinaryLSSVC) for member in self.members_):
            raise ValueError(f"{what} LS-SVM members with a kernel each; use shared_kernel=False and no member.")
        self._require_labels()

    def _require_labels(self) -> None:
        if getattr(self, "labels_", None) is None:
            raise ValueError(
                "This model was saved by an older version, which did not store the labels of its rows: fit it again."
            )

    def add_labelled(self, inputs: Array, labels: AnyArray, weights: Array | None) -> None:
        """Rows with the numbers of their classes to the members that they take part in, hyperparameters held."""
        self._require_binary_members("partial_fit needs")
        for bit, member in enumerate(self.members_):
            signs = self.code_book_[labels, bit]
            part = np.flatnonzero(signs)
            if len(part):
                own = member._kept(inputs[part])
                member.add_labelled(own, signs[part], None if weights is None else weights[part])
        if self.weights_ is not None or weights is not None:
            old, new = (
                np.ones(len(of)) if w is None else w for of, w in ((self.labels_, self.weights_), (labels, weights))
            )
            self.weights_ = np.append(old, new)
        self.labels_ = np.append(self.labels_, labels)
        shares = np.bincount(self.labels_, self.weights_, minlength=len(self.classes_))
        self.training_frequencies_ = shares / shares.sum()
        self.n_samples_ = int(row_count(self.weights_, len(self.labels_)))

    def left_out_probabilities(self, inputs: Array | None = None, labels: AnyArray | None = None) -> Array:
        """P(c | x_i, all rows but i) at the training rows, of shape (N, M), for moderation="loo".

        Hyperparameters, maps and class frequencies are held. A member has never seen the rows of classes that take no
        part in it, so for them its ordinary log odds are those of a left-out row. Inputs, standardised, and the numbers
        of the classes are those of the members where they are not given.
        """
        self._require_binary_members("Leave-one-out probabilities need")
        labels = self.labels_ if labels is None else labels
        ratios = self.log_ratios(self._own_inputs() if inputs is None else inputs)
        for bit, member in enumerate(self.members_):
            seen = self.code_book_[labels, bit] != 0
            ratios[seen, bit] = member.left_out_log_odds() - float(logit(member.training_frequencies_[1]))
        return np.asarray(self.decode(ratios, class_prior=self.training_frequencies_))

    def _own_inputs(self) -> Array:
        """The training inputs, put together from those of the members."""
        found = np.empty((len(self.labels_), self.n_features_in_))
        for bit, member in enumerate(self.members_):
            X, _ = rows_of(member)
            if X.shape[1] != self.n_features_in_:
                raise ValueError("The members have chosen different inputs, of which not all are kept: no label sets.")
            found[self.code_book_[self.labels_, bit] != 0] = X
        return found

    def labelled_rows(self) -> tuple[Array, AnyArray, Array | None]:
        """Standardised inputs, labels and weights of the training rows, in their order."""
        self._require_labels()
        inputs = self.inputs_ if self.design_ is not None else self._own_inputs()
        return inputs, self.classes_[self.labels_], self.weights_

    @property
    def has_weights(self) -> bool:
        """Whether rows have weights other than one."""
        known = getattr(self, "weights_", None) is not None
        return known or any(getattr(member, "weights_", None) is not None for member in self.members_)

    def training_rows(self) -> tuple[Array, AnyArray]:
        """Inputs and labels that the members were designed on, class by class where each saw its own rows only."""
        if self.design_ is not None:
            return self.inputs_, self.classes_[self.labels_]
        data = [rows_of(member) for member in self.members_]
        if len({X.shape[1] for X, _ in data}) > 1:
            raise ValueError("The members have chosen different inputs; give the data to bayes_lssvm.trust instead.")
        if not has_dont_cares(self.code_book_):
            signs = np.stack([y for _, y in data], axis=1)
            return data[0][0], self.classes_[np.argmax(signs @ self.code_book_.T, axis=1)]
        parts = []
        for label, word in enumerate(self.code_book_):
            alone = (self.code_book_ == word).sum(axis=0) == 1
            own = np.flatnonzero((word != 0) & alone)
            if not len(own):
                raise ValueError(
                    "No member separates a single class from the rest; give the data to bayes_lssvm.trust instead."
                )
            X, y = data[own[0]]
            parts.append((X[y == word[own[0]]], np.full(int((y == word[own[0]]).sum()), label)))
        labels = np.concatenate([codes for _, codes in parts])
        return np.vstack([X for X, _ in parts]), self.classes_[labels]

    # --- predictions -----------------------------------------------------------------------------------------------

    def outputs(self, X: Any) -> Array:
        """The members' outputs z for each row of X, of shape (n, L): what Hamming and loss-based decoding see."""
        check_is_fitted(self, "members_")
        inputs = self._new_inputs(X)
        if self.design_ is not None:
            return self.design_.outputs(inputs)
        return np.stack([output_of(member, inputs) for member in self.members_], axis=1)

    def log_ratios(self, X: Any) -> Array:
        """Log p(x | y=+1) − log p(x | y=−1) of each member at each row of X, of shape (n, L): what Bayes' rule sees."""
        check_is_fitted(self, "members_")
        inputs = self._new_inputs(X)
        if self.design_ is not None:
            return np.clip(self.design_.log_ratios(inputs, self.moderation), -_SUREST, _SUREST)
        positive, negative = (
            (side.T @ self.training_frequencies_) for side in (self.code_book_ > 0, self.code_book_ < 0)
        )
        shares = (positive / (positive + negative)).tolist()
        ratios = [log_ratio_of(member, inputs, share) for member, share in zip(self.members_, shares, strict=True)]
        return np.clip(np.stack(ratios, axis=1), -_SUREST, _SUREST)

    def output_moments(self, X: Any) -> tuple[Array, Array]:
        """Mean z_MP and posterior variance σ_z² of the members' outputs, each of shape (n, L); for LS-SVM members."""
        check_is_fitted(self, "members_")
        inputs = self._new_inputs(X)
        if self.design_ is not None:
            return self.design_.output_moments(inputs)
        if not all(isinstance(member, BinaryLSSVC) for member in self.members_):
            raise ValueError(f"Only BayesianLSSVC members have error bars of z, not {self.member!r}.")
        pairs = [member.latent(inputs, return_std=True) for member in self.members_]
        return np.stack([z for z, _ in pairs], axis=1), np.stack([sd**2 for _, sd in pairs], axis=1)

    def _costs(self, costs: Any) -> Array | None:
        given = self.costs if costs is None else costs
        return None if given is None else resolve_costs(given, self.classes_)

    def _log_posterior(self, X: Any, class_prior: ClassPrior) -> Array:
        """Log P(c | x) under a prior of the classes; of shape (n, M), normalised to rounding."""
        return self._decoded(self.log_ratios(X), class_prior)

    def _decoded(self, ratios: Array, class_prior: ClassPrior) -> Array:
        prior, decoding = self._prior(class_prior), self._decoding
        if decoding not in _MOVED_BY_PRIORS:
            return self._never_certain(bayes_log_posterior(self.code_book_, ratios, prior, rule=BAYESIAN[decoding]))
        frequencies = self.training_frequencies_
        if decoding == "coupling":
            logs = np.log(couple_pairwise(self.code_book_, ratios, frequencies))
        else:
            logs = bayes_log_posterior(self.code_book_, ratios, frequencies)
        logs = self._never_certain(logs) + np.log(prior / frequencies)
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))

    def _never_certain(self, logs: Array) -> Array:
        """Log probabilities with (N + M)⁻² for every class: more than N points cannot teach.

        One in N would be the rule of succession, which is too much where classes are easy to tell apart. The papers'
        forms are left as they are, and so is a single member, whose log odds are bounded already.
        """
        count = len(self.classes_)
        if self.moderation not in ("loo", "logistic", "auto") or count == 2 or not self.n_samples_:
            return np.asarray(logs)
        floor = float(self.n_samples_ + count) ** -2
        return np.asarray(np.logaddexp(logs + np.log1p(-count * floor), np.log(floor)))

    @property
    def _decoding(self) -> str:
        """The decoding, where "auto" has been settled by the code."""
        return default_decoding(self.code_book_) if self.decoding == "auto" else self.decoding

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, *, class_prior: ClassPrior = None) -> Array:
        """P(c | x) for each row of X, in the order of `classes_`, of shape (n, M)."""
        return self.decode(self.log_ratios(X), class_prior=class_prior)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def decode(self, log_ratios: Array, *, class_prior: ClassPrior = None) -> Array:
        """P(c | x), of shape (n, M), from the members' `log_ratios` at each point, of shape (n, L)."""
        probabilities = np.exp(self._decoded(log_ratios, class_prior))
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    def decision_function(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> Array:
        """Scores of the classes for each row of X, of shape (n, M): the decision is the largest.

        Log probabilities for decodings that have them, minus expected costs if costs are given, otherwise minus the
        distance or the loss. For two classes the score of the second less that of the first, of shape (n,).
        """
        scores = self._scores(X, class_prior, costs)
        return np.asarray(scores[:, 1] - scores[:, 0]) if len(self.classes_) == 2 else scores

    def _scores(self, X: Any, class_prior: ClassPrior, costs: Any) -> Array:
        check_is_fitted(self, "members_")
        if self.decoding not in PROBABILISTIC:
            if class_prior is not None or costs is not None:
                raise ValueError(
                    f"decoding={self.decoding!r} gives no probabilities for class_prior or costs to act on."
                )
            outputs = self.outputs(X)
            if self.decoding == "hamming":
                return hamming_scores(self.code_book_, outputs)
            return loss_scores(self.code_book_, outputs, loss="squared" if self.decoding == "loss" else "hinge")
        logs, matrix = self._log_posterior(X, class_prior), self._costs(costs)
        if matrix is None:
            return logs
        if len(self.classes_) == 2:
            return np.asarray(logs + np.array([0.0, cost_log_odds(matrix)]))
        return np.asarray(-np.exp(logs) @ matrix)

    def predict(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> AnyArray:
        """The label of the largest score, or of least expected cost, for each row of X."""
        decided = np.argmax(self._scores(X, class_prior, costs), axis=1)
        return np.asarray(self.classes_[decided])
