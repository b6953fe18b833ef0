"""Estimators that mix the predictions of several kernels: by their posterior probabilities, or by stacking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..base.archive import State
from ..base.memory import require_matrices
from ..base.provenance import provenance
from ..base.scikit import check_classification_targets
from ..base.standardisation import Standardiser
from ..base.typing import AnyArray, Array
from ..base.weights import check_weights, counted
from ..comparison.evidence import MOST_DRAWS, TOLERANCE
from ..comparison.mixture import KernelMixture, left_out_log_densities, stacking_weights
from ..comparison.problem import Problem, as_problem
from ..comparison.ranking import Ranking, rank_kernels
from ..kernels import Kernel, as_kernel, kernel_from_dict, kernel_to_dict
from ..levels.logistic_map import LogisticMap
from ..marginal.predictions import PredictionNode, Rows
from .common import ClassFrequencies, ClassPrior, LSSVMBase, check_regression_targets
from .state import Saved, surface_state

WEIGHTS = ("evidence", "stacking")
_KERNELS = ("linear", "poly2", "rbf")
_NEGLIGIBLE = 1e-4  # weight of a kernel that is left out of predictions


class _Averaged(Saved, LSSVMBase):
    _saved_as: ClassVar[str]
    _task: ClassVar[str]

    problem_: Problem
    mixtures_: tuple[KernelMixture, ...]
    kernels_: tuple[Kernel, ...]
    kernel_weights_: Array
    provenance_: dict[str, Any]

    def __init__(
        self,
        kernels: Sequence[Kernel | str] = _KERNELS,
        *,
        weights: str = "evidence",
        prior: Any = None,
        prior_probabilities: Sequence[float] | None = None,
        standardise: bool = True,
        tolerance: float = TOLERANCE,
        draws: int = MOST_DRAWS,
        random_state: int = 0,
    ) -> None:
        self.kernels = kernels
        self.weights = weights
        self.prior = prior
        self.prior_probabilities = prior_probabilities
        self.standardise = standardise
        self.tolerance = tolerance
        self.draws = draws
        self.random_state = random_state

    @classmethod
    def of(cls, ranking: Ranking, problem: Problem, *, weights: str, random_state: int = 0) -> Self:
        """The fitted estimator of kernels that were compared already, on the inputs as they were given there."""
        kernels = [candidate.kernel for candidate in ranking]
        model = cls(kernels, weights=weights, standardise=False, random_state=random_state)
        model.standardiser_, model.n_features_in_ = Standardiser.identity(problem.X.shape[1]), problem.X.shape[1]
        model._take(ranking, problem)
        return model

    def _mix(self, X: Array, y: AnyArray, sample_weight: Array | None, coding: Any) -> None:
        """Rank the kernels on the data and keep what predictions need."""
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights must be one of {', '.join(WEIGHTS)}, got {self.weights!r}.")
        if isinstance(self.kernels, Kernel | str) or not len(self.kernels):
            raise ValueError(f"kernels must be a list with at least one kernel, got {self.kernels!r}.")
        kernels = [as_kernel(kernel, X.shape[1]) for kernel in self.kernels]
        require_matrices(len(X), 6, "Fit on a random subset.")
        inputs = self._standardised_training_inputs(X, sample_weight)
        problem = as_problem(inputs, y, sample_weight, task=self._task, coding=coding, seed=self.random_state)
        settings = {"tolerance": self.tolerance, "draws": self.draws, "seed": self.random_state}
        ranking = rank_kernels(
            problem, kernels, prior=self.prior, prior_probabilities=self.prior_probabilities, settings=settings
        )
        self._take(ranking, problem)

    def _take(self, ranking: Ranking, problem: Problem) -> None:
        found = [candidate.evidence for candidate in ranking if candidate.evidence is not None]
        mixtures = [KernelMixture.of(problem, own) for own in found]
        weights = ranking.probabilities
        if self.weights == "stacking":
            logs = [left_out_log_densities(problem, own, mix) for own, mix in zip(found, mixtures, strict=True)]
            # labels are counted; real targets differ in what they tell, which their densities know
            rows = None if problem.classes is None else counted(problem.weights, len(problem.y))
            weights = stacking_weights(np.stack(logs, axis=1), rows)
        self.problem_, self.mixtures_ = problem, tuple(mixtures)
        self.kernels_ = tuple(candidate.kernel for candidate in ranking)
        self.kernel_weights_, self.table_ = weights, ranking.rows()
        data = (problem.X, problem.y) if problem.weights is None else (problem.X, problem.y, problem.weights)
        self.provenance_ = provenance(settings=self.get_params(deep=False), data=data)
        self._learn(problem)

    def _learn(self, problem: Problem) -> None:
        """What else the data say of the estimator."""

    def _shares(self) -> list[tuple[float, KernelMixture]]:
        """Kernels whose weight is not negligible, with their weights, which sum to one."""
        check_is_fitted(self, "mixtures_")
        kept = [(float(w), m) for w, m in zip(self.kernel_weights_, self.mixtures_, strict=True) if w > _NEGLIGIBLE]
        total = sum(weight for weight, _ in kept)
        return [(weight / total, mixture) for weight, mixture in kept]

    # --- files -------------------------------------------------------------------------------------------------------

    def _state(self) -> State:
        problem = self.problem_
        header = {"kernels": [kernel_to_dict(kernel) for kernel in self.kernels_], "table": self.table_}
        arrays: dict[str, AnyArray] = {"inputs": problem.X, "kernel_weights": self.kernel_weights_}
        arrays["targets" if problem.classes is None else "labels"] = problem.y
        if problem.weights is not None:
            arrays["sample_weight"] = problem.weights
        if problem.code is not None:
            arrays["code_book"] = problem.code
        for k, mixture in enumerate(self.mixtures_):
            for bit, nodes in enumerate(mixture.nodes):
                arrays[f"{k}/{bit}/log_params"] = np.stack([node.kernel.log_params for node in nodes])
                arrays[f"{k}/{bit}/shares"] = np.array([node.weight for node in nodes])
                arrays[f"{k}/{bit}/rows"] = _padded([node.rows for node in nodes])
            if mixture.maps:
                arrays[f"{k}/maps"] = np.array([list(vars(own).values()) for own in mixture.maps])
        return surface_state(self) | State(header, arrays)

    def _restore(self, state: State) -> None:
        header, arrays = state
        n, d = state.shape("inputs")
        count = len(header["kernels"])
        state.require_shapes({"inputs": (n, self.n_features_in_), "kernel_weights": (count,)})
        code = arrays["code_book"] if self._task == "classification" else None
        y = arrays["targets"] if code is None else arrays["labels"]
        if y.shape != (n,) or (code is not None and not np.array_equal(np.unique(y), np.arange(len(code)))):
            raise ValueError(f"its targets are not those of {n} rows")
        weights = check_weights(arrays.get("sample_weight"), n, "its sample_weight")
        if weights is not None and not (weights > 0.0).all():
            raise ValueError("its sample_weight holds numbers that are not positive")
        problem = as_problem(arrays["inputs"], y, weights, task=self._task, coding=code)
        if code is not None:
            problem = replace(problem, classes=arrays["classes"])
        self.kernels_ = tuple(kernel_from_dict(own) for own in header["kernels"])
        for kernel in self.kernels_:
            kernel.check_width(d)
        self.problem_, self.kernel_weights_, self.table_ = problem, arrays["kernel_weights"], header["table"]
        self.mixtures_ = tuple(
            _mixture(problem, kernel, state.below(f"{k}/", header)) for k, kernel in enumerate(self.kernels_)
        )
        self._learn(problem)


def _padded(rows: list[Rows]) -> Array:
    """Rows as one array of shape (n, 3, G); what is added has no weight."""
    width = max(len(own.s) for own in rows)
    filled = np.tile(np.array([[1.0], [0.0], [1.0]]), (len(rows), 1, width))
    for i, own in enumerate(rows):
        filled[i, :, : len(own.s)] = own
    return filled


def _mixture(problem: Problem, kernel: Kernel, state: State) -> KernelMixture:
    """One kernel's predictions from what a file holds of them."""
    nodes = []
    for bit in range(len(problem.members)):
        own = state.below(f"{bit}/", state.header)
        count, _, width = own.shape("rows")
        own.require_shapes(
            {"rows": (count, 3, width), "shares": (count,), "log_params": (count, len(kernel.log_params))}
        )
        rows, shares, log_params = (own.arrays[name] for name in ("rows", "shares", "log_params"))
        if not ((rows[:, [0, 2]] > 0.0).all() and (rows[:, 1] >= 0.0).all() and (shares >= 0.0).all()):
            raise ValueError("its nodes have weights or precisions that are not positive")
        nodes.append(
            tuple(
                PredictionNode(kernel.with_log_params(theta), float(share), Rows(*row[:, row[1] > 0.0]))
                for theta, share, row in zip(log_params, shares, rows, strict=True)
            )
        )
    maps: tuple[LogisticMap, ...] = ()
    if problem.classes is not None:
        state.require_shapes({"maps": (len(problem.members), 5)})
        maps = tuple(LogisticMap(*row.tolist()) for row in state.arrays["maps"])
    return KernelMixture(problem, tuple(nodes), maps)


class AveragedLSSVC(ClassFrequencies, ClassifierMixin, _Averaged):  # type: ignore[misc]
    """Classifier that mixes kernels, with their parameters, μ and ζ integrated out.

    Parameters
    ----------
    kernels : sequence of kernels or names, default ("linear", "poly2", "rbf")
    weights : {"evidence", "stacking"}, default "evidence"
        By P(H | D), which tends to one kernel as data come in, right or wrong; or by the weights that maximise the
        leave-one-out probability of the labels, which do not suppose that one of the kernels is right.
    prior : HyperPrior, LogPrior, a sequence of them, or None
        Of log μ, log ζ and the kernels' log parameters, as in `bayes_lssvm.compare`.
    prior_probabilities : sequence of floats or None
        P(H) of each kernel; equal by default.
    coding : str or array, default "ovo"
        Code book for more than two classes, as in `BayesianLSSVC`.
    class_prior : sequence, mapping, "equal" or None
        P(y) where new data come from; the training frequencies by default.
    standardise : bool, default True
    tolerance, draws
        As in `bayes_lssvm.compare`.
    random_state : int, default 0

    Attributes
    ----------
    kernels_ : tuple of Kernel
        By their evidence, the best first.
    kernel_weights_ : array of shape (K,)
    table_ : list of dict
        The comparison's rows.
    classes_ : array of shape (M,)
    provenance_ : dict

    Examples
    --------
    >>> from bayes_lssvm import AveragedLSSVC, datasets
    >>> iris = datasets.load("iris")
    >>> model = AveragedLSSVC(["linear"]).fit(*iris.Xy)
    >>> round(model.score(*iris.Xy), 2)
    0.99
    """

    _saved_as = "AveragedLSSVC"
    _task = "classification"

    def __init__(
        self,
        kernels: Sequence[Kernel | str] = _KERNELS,
        *,
        weights: str = "evidence",
        prior: Any = None,
        prior_probabilities: Sequence[float] | None = None,
        coding: Any = "ovo",
        class_prior: ClassPrior = None,
        standardise: bool = True,
        tolerance: float = TOLERANCE,
        draws: int = MOST_DRAWS,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            kernels,
            weights=weights,
            prior=prior,
            prior_probabilities=prior_probabilities,
            standardise=standardise,
            tolerance=tolerance,
            draws=draws,
            random_state=random_state,
        )
        self.coding = coding
        self.class_prior = class_prior

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AveragedLSSVC:
        """Compare the kernels on inputs X of shape (N, d) and labels y of shape (N,), and mix them.

        Weights as in `FullyBayesianLSSVC.fit`.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=False)
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"A classifier needs two classes, but all {len(y)} labels are of one class, {classes[0]!r}."
            )
        self._mix(X, y, weights, self.coding)
        self._prior(None)
        return self

    def _learn(self, problem: Problem) -> None:
        assert problem.classes is not None
        self.classes_, self.training_frequencies_ = problem.classes, problem.frequencies

    def predict_proba(self, X: Any, *, class_prior: ClassPrior = None) -> Array:
        """P(y | x) for each row of X, in the order of `classes_`: the kernels' probabilities, mixed."""
        shares = self._shares()
        inputs, prior = self._new_inputs(X), self._prior(class_prior)
        mixed = sum(weight * mixture.probabilities(inputs) for weight, mixture in shares)
        moved = np.asarray(mixed) * (prior / self.training_frequencies_)
        return np.asarray(moved / moved.sum(axis=1, keepdims=True))

    def decision_function(self, X: Any) -> Array:
        """Log odds of the second class, of shape (n,); for more classes the log probabilities of all, (n, M)."""
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))
        return np.asarray(logs[:, 1] - logs[:, 0]) if len(self.classes_) == 2 else logs

    def predict(self, X: Any) -> AnyArray:
        """The most probable label for each row of X."""
        chosen = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[chosen])


class AveragedLSSVR(RegressorMixin, _Averaged):  # type: ignore[misc]
    """Regressor that mixes kernels, with their parameters, μ and ζ integrated out.

    Parameters
    ----------
    kernels : sequence of kernels or names, default ("linear", "poly2", "rbf")
    weights : {"evidence", "stacking"}, default "evidence"
        By P(H | D), which tends to one kernel as data come in, right or wrong; or by the weights that maximise the
        exact leave-one-out density of the targets, which do not suppose that one of the kernels is right.
    prior : HyperPrior, LogPrior, a sequence of them, or None
        Of log μ, log ζ and the kernels' log parameters, as in `bayes_lssvm.compare`.
    prior_probabilities : sequence of floats or None
        P(H) of each kernel; equal by default.
    standardise : bool, default True
        Standardise the inputs; targets are taken as they are.
    tolerance, draws
        As in `bayes_lssvm.compare`.
    random_state : int, default 0

    Attributes
    ----------
    kernels_, kernel_weights_, table_, provenance_
        As in `AveragedLSSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import AveragedLSSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 1))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=30)
    >>> mean, std = AveragedLSSVR(["linear", "rbf"]).fit(X, y).predict([[0.0], [9.0]], return_std=True)
    >>> bool(std[1] > std[0])
    True
    """

    _saved_as = "AveragedLSSVR"
    _task = "regression"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AveragedLSSVR:
        """Compare the kernels on inputs X of shape (N, d) and targets y of shape (N,), and mix them.

        Weights as in `FullyBayesianLSSVC.fit`; stacking leaves whole rows out.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=True)
        self._mix(X, check_regression_targets(y), weights, "ovo")
        return self

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Mean of the mixture for each row of X, and on request its standard deviation, noise included."""
        shares = self._shares()
        inputs = self._new_inputs(X)
        moments = [(weight, *mixture.moments(inputs)) for weight, mixture in shares]
        mean = np.asarray(sum(weight * own for weight, own, _ in moments))
        if not return_std:
            return mean
        square = np.asarray(sum(weight * (variance + own**2) for weight, own, variance in moments))
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
