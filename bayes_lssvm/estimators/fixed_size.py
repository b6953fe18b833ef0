"""LS-SVMs of fixed size: the evidence framework for any number of rows, in memory, in files or on Dask."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..base.archive import State
from ..base.errors import BayesLSSVMWarning, ConstantFeatureWarning, NoSignalWarning, warn
from ..base.intervals import Interval, require_coverage
from ..base.provenance import provenance
from ..base.scikit import check_classification_targets, validate_data
from ..base.standardisation import Standardiser
from ..base.typing import AnyArray, Array
from ..base.weights import check_weights
from ..fixed_size.blocks import ROWS, of_arrays, of_reader
from ..fixed_size.complete import CompletePosterior, CompleteTask, complete_tasks
from ..fixed_size.convergence import Convergence, convergence
from ..fixed_size.design import Design, Settings, design
from ..fixed_size.features import ExplicitMap, FeatureMap, NystromMap, in_blocks
from ..fixed_size.landmarks import check_landmarks
from ..fixed_size.logistic import LogisticPart, fit_logistic
from ..fixed_size.mixture import Mixture, Node
from ..fixed_size.objective import posteriors_of, tasks_of
from ..fixed_size.passes import Encoding, Local, OnDask, Runner, TakeALook, merge_looks
from ..fixed_size.posterior import FixedSizePosterior
from ..fixed_size.priors import priors_of, shares
from ..fixed_size.sample import Look
from ..fixed_size.statistics import Statistics
from ..kernels import Kernel, as_kernel, kernel_from_dict
from ..levels.level3 import DEFAULT_PRIOR_SD, HasLevel3, Level3, evaluate
from ..levels.logistic_map import JointMap, LogisticMap
from ..linalg.reduction import Reduction
from ..multiclass.codings import code_book
from ..press.conformal import rank_among
from ..priors import HyperPrior, LogPrior, as_hyper_prior
from .common import MIN_POINTS, ClassPrior, LSSVMBase, check_regression_targets
from .multiclass import MulticlassLSSVC
from .state import Saved, surface_state

FORMS = ("auto", "loo", "logistic")
"""Of class probabilities."""
MAPS = "logistic/maps"
AUTO = "auto"
"""The kernel that has one width, or a scale for each input where the evidence asks for them."""


@dataclass(frozen=True)
class FixedSizeMember(HasLevel3):
    """One binary model, or the regressor.

    Attributes
    ----------
    level3_ : Level3
    log_evidence_, log_evidence_lower_ : float
        Laplace's evidence of the low-rank kernel matrix, and by the same rule the lower bound of the exact one.
    loo_map_ : LogisticMap or None
        From outputs to log odds, for classes.
    """

    level3_: Level3
    log_evidence_: float
    log_evidence_lower_: float
    loo_map_: LogisticMap | None = None


class FixedSizeLSSVM(Saved, LSSVMBase):
    """What is the same for classes and for real targets: passes, the design, and what is made of its sums."""

    _saved_as: ClassVar[str]
    _classes: ClassVar[bool]

    low_rank_: Design
    mixture_: Mixture | None
    members_: list[Any]
    posteriors_: list[tuple[tuple[int, ...], FixedSizePosterior]]
    _complete: list[CompletePosterior]
    kernel_: Kernel
    provenance_: dict[str, Any]
    kernel: Kernel | str
    n_landmarks: int
    landmarks: Any
    refine: bool
    polish: bool
    integrate: bool
    prior: Any
    random_state: int

    # --- fitting ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Design the model on inputs X of shape (N, d) and targets y of shape (N,), in memory.

        With `sample_weight` of shape (N,), the noise of row i has the precision ζw_i. A row of weight zero is left out.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=not self._classes)
        if self._classes:
            check_classification_targets(y)
        else:
            y = check_regression_targets(y)
        names = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        return self._fitted(Local(of_arrays(X, y, weights)), names)

    def fit_blocks(
        self, reader: Any, *, folder: str | Path | None = None, names: list[str] | None = None, client: Any = None
    ) -> Self:
        """Design the model on rows that need not fit into memory; they are read once for each pass.

        Parameters
        ----------
        reader : callable or sequence
            A callable that gives an iterator over blocks (X, y), or (X, y, weights); or a sequence of such callables,
            of blocks, or of the shards of `bayes_lssvm.fixed_size.blocks.of_files`.
        folder : path, optional
            Where the statistics of finished shards are kept: a run that was stopped goes on there.
        names : list of str, optional
            Names of the columns; those of files are known.
        client : distributed.Client, optional
            A Dask cluster whose workers read the shards.
        """
        shards, kept = of_reader(reader), None if folder is None else Path(folder)
        if names is None and shards[0].columns:
            names = list(shards[0].columns)
        return self._fitted(Local(shards, kept) if client is None else OnDask(shards, client, kept), names)

    def fit_dask(self, X: Any, y: Any, sample_weight: Any = None, *, client: Any = None) -> Self:
        """Design the model on Dask arrays, or a data frame and a series, divided in the same way by rows.

        Parameters
        ----------
        X : dask array of shape (N, d), or dask data frame
        y : dask array of shape (N,), or dask series
        sample_weight : dask array of shape (N,), or dask series, optional
            As in `fit`.
        client : distributed.Client, optional
            The cluster; by default Dask's own scheduler, or the client that is at work.
        """
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        return self._fitted(OnDask(_partitions(X, y, sample_weight), client), names)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the statistics: landmarks, kernel, scales and classes are those of the first call.

        Parameters
        ----------
        X, y : arrays of shape (n, d) and (n,)
        classes : sequence, optional
            All labels, where the first rows may not show every class.
        sample_weight : array of shape (n,), optional
            As in `fit`.
        """
        if not hasattr(self, "low_rank_"):
            if classes is None:
                return self.fit(X, y, sample_weight)
            X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=not self._classes)
            return self._fitted(Local(of_arrays(X, y, weights)), None, classes=np.unique(np.asarray(classes)))
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=not self._classes, reset=False)
        runner = Local(of_arrays(X, y, check_weights(sample_weight, len(X))))
        self.low_rank_ = self.low_rank_.with_rows(runner, self._look(runner))
        self._publish()
        return self

    def _look(self, runner: Runner) -> Look:
        look = runner(TakeALook(self.random_state, self._classes), merge_looks, "first look")
        if look is None:
            raise ValueError("None of the shards contains any rows of positive weight.")
        return look

    def _fitted(self, runner: Runner, names: list[str] | None, classes: AnyArray | None = None) -> Self:
        check_landmarks(self.landmarks, self.n_landmarks)
        given = None if self.prior is None else _as_prior(self.prior)
        look = self._look(runner)
        d = look.X.shape[1]
        check_landmarks(self.landmarks, self.n_landmarks, d)
        if look.n < MIN_POINTS:
            raise ValueError(f"At least {MIN_POINTS} rows are needed, got {look.n}.")
        auto = isinstance(self.kernel, str) and self.kernel.lower() == AUTO
        kernel = as_kernel("rbf" if auto else self.kernel, d)
        self._forget()
        self.n_features_in_ = d
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        code = self._code(look, classes)
        self.standardiser_ = self._scales(look)
        encoding = Encoding(self.standardiser_, self.classes_ if self._classes else None)
        n_landmarks = self.n_landmarks
        if isinstance(self.landmarks, str) and look.n <= n_landmarks and ExplicitMap.of(kernel, d) is None:
            warn(
                f"n_landmarks = {n_landmarks}, but there are only {look.n} rows, so each of them is a landmark. "
                "BayesianLSSVC and BayesianLSSVR give the same model with less work.",
                BayesLSSVMWarning,
            )
        settings = Settings(
            *(kernel, self.landmarks, n_landmarks, self.refine, self.polish, given, self.random_state, self.integrate),
            scales=auto and not self.integrate and _fits_scales(given, d),
        )
        self.low_rank_ = design(settings, runner, look, encoding, code)
        self._publish(runner)
        data = (look.X, look.y) if look.own_weights is None else (look.X, look.y, look.weights)
        self.provenance_ = provenance(settings=self.get_params(deep=False), data=data)
        self._warn()
        return self

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _scales(self, look: Look) -> Standardiser:
        if not self.standardise:
            return Standardiser.identity(len(look.mean))
        scale = look.scale
        constant = np.flatnonzero(np.isinf(scale)).tolist()
        if constant:
            names = getattr(self, "feature_names_in_", np.arange(len(scale)))
            warn(
                f"Columns that do not vary are kept at zero: {', '.join(str(names[i]) for i in constant[:10])}.",
                ConstantFeatureWarning,
            )
        return Standardiser(look.mean, scale)

    @abstractmethod
    def _code(self, look: Look, classes: AnyArray | None) -> Array | None:
        """The code book, or None for real targets; sets what belongs to the classes."""

    # --- what is made of the sums ------------------------------------------------------------------------------------

    def _publish(self, runner: Runner | None = None, known: State | None = None) -> None:
        """Levels 1 to 3 of each bit, from the sums; what needs the rows again by a runner, or from a model file."""
        design = self.low_rank_
        statistics, code = design.statistics, design.code
        self.kernel_, self.n_samples_ = design.features.kernel, round(self._rows_of(statistics).sum())
        given = None if self.prior is None else _as_prior(self.prior)
        priors = priors_of(given, self.kernel_, self.n_features_in_, statistics, code)
        members: dict[int, FixedSizeMember] = {}
        self.posteriors_, self._complete = [], []
        exact = {own.bits: own for own in self._exact_tasks()}
        for task in tasks_of(statistics, code):
            own = exact.get(task.bits)
            reductions: list[Reduction]
            if own is None:
                found = posteriors_of(task, priors)
                lower = posteriors_of(task._replace(reduction=task.reduction.bounded(*statistics.lack())), priors)
                reductions = [task.reduction.alone(k) for k in range(len(task.bits))]
            else:
                found = lower = own.posteriors(priors)
                reductions = list(own.spectra)
            mu = np.array([each.level2.mu for each in found])
            zeta = np.array([each.level2.zeta for each in found])
            self.posteriors_.append((task.bits, FixedSizePosterior.of(task, mu, zeta)))
            if own is not None:
                self._complete.append(own.posterior(mu, zeta))
            for k, bit in enumerate(task.bits):
                level3 = evaluate(reductions[k], prior_sd=DEFAULT_PRIOR_SD, level2=found[k].level2)
                members[bit] = FixedSizeMember(level3, found[k].log_evidence, lower[k].log_evidence)
        self.members_ = [members[bit] for bit in sorted(members)]
        self.log_evidence_ = float(sum(member.log_evidence_ for member in self.members_))
        self.log_evidence_lower_ = float(sum(member.log_evidence_lower_ for member in self.members_))
        self._priors = priors
        self.mixture_ = Mixture.of(design.nodes, code, priors) if design.nodes else None

    def _exact_tasks(self) -> list[CompleteTask]:
        """The tasks by the kernel matrix itself, where every row is a landmark."""
        design, look = self.low_rank_, self.low_rank_.look
        if not design.complete:
            return []
        inputs, targets = design.encoding(look.X, look.y, "the sample")
        return complete_tasks(self.kernel_, inputs, targets, design.code, look.own_weights)

    def _rows_of(self, statistics: Statistics) -> Array:
        """For how many rows those of each class count: Σw where weights are whole numbers, else their number."""
        return statistics.masses if self.low_rank_.look.whole else statistics.counts

    def _warn(self) -> None:
        idle = [bit for bit, member in enumerate(self.members_) if member.level3_.level2.status == "no signal"]
        if idle:
            which = "" if len(self.members_) == 1 else f" in {len(idle)} of {len(self.members_)} members"
            warn(
                f"No signal{which}: the model explains the targets no better than noise alone, so predictions are "
                "close to the mean of the targets. Other inputs or another kernel may do better.",
                NoSignalWarning,
            )

    @property
    def landmarks_(self) -> Array:
        """The landmarks that are in use, standardised, of shape (m, d); none for an explicit feature map."""
        check_is_fitted(self, "low_rank_")
        features = self.low_rank_.features
        return features.Z if isinstance(features, NystromMap) else np.empty((0, self.n_features_in_))

    @property
    def convergence_(self) -> Convergence:
        """Evidence, its lower bound and γ_eff with fewer landmarks, from the sums of the same pass."""
        check_is_fitted(self, "low_rank_")
        steps = 1 if isinstance(self.low_rank_.features, ExplicitMap) else 5
        return convergence(self.low_rank_.statistics, self.low_rank_.code, self._priors, steps)

    @property
    def n_landmarks_suggested_(self) -> int:
        """Landmarks with which the effective number of parameters has settled; twice as many where it has not."""
        if isinstance(self.low_rank_.features, ExplicitMap):
            return self.low_rank_.features.size
        return self.convergence_.suggested

    def _moments(self, X: Any) -> tuple[Array, Array]:
        """z_MP and σ_z² of all bits, each of shape (n, L)."""
        inputs = self._new_inputs(X)
        shape = (len(inputs), len(self.members_))
        z, variance = np.empty(shape), np.empty(shape)
        if self.mixture_ is not None:
            for start in range(0, len(inputs), ROWS):
                part = slice(start, start + ROWS)
                z[part], variance[part] = self.mixture_.moments(inputs[part])
            return z, variance
        if self._complete:
            return self._complete_moments(inputs)
        for rows, phi in in_blocks(self.low_rank_.features, inputs):
            z[rows], variance[rows] = self._moments_of(phi, self.kernel_.diag(inputs[rows]))
        return z, variance

    def _complete_moments(self, inputs: Array) -> tuple[Array, Array]:
        """The moments at standardised inputs of shape (n, d) by support values."""
        shape = (len(inputs), len(self.members_))
        z, variance = np.empty(shape), np.empty(shape)
        for own in self._complete:
            bits = list(own.task.bits)
            z[:, bits], variance[:, bits] = own.moments(inputs)
        return z, variance

    def _moments_of(self, phi: Array, diagonal: Array) -> tuple[Array, Array]:
        """The moments of rows with features of shape (n, m) and K(x, x) of shape (n,)."""
        shape = (len(phi), len(self.members_))
        z, variance = np.empty(shape), np.empty(shape)
        for bits, posterior in self.posteriors_:
            z[:, bits], variance[:, bits] = posterior.moments(phi, diagonal)
        return z, variance

    # --- files -------------------------------------------------------------------------------------------------------

    def _state(self) -> State:
        design, look = self.low_rank_, self.low_rank_.look
        header = {
            "kernel": self.kernel_.to_dict(),
            "explicit": isinstance(design.features, ExplicitMap),
            "n_passes": design.n_passes,
            "n_seen": look.n,
            "mass": look.mass,
            "whole": look.whole,
            "complete": design.complete,
        }
        arrays = {"sample": look.X, "sample_hashes": look.order.view(np.int64), "sample_weights": look.weights}
        if isinstance(design.features, NystromMap):
            arrays["landmarks"] = design.features.Z
        arrays["labels" if self._classes else "targets"] = self._sample_targets()
        if design.code is not None:
            arrays["code_book"] = design.code
        nodes = []
        for k, node in enumerate(design.nodes):
            own = node.statistics.state()
            nodes.append(own.header | {"kernel": node.features.kernel.to_dict(), "log_step": node.log_step})
            arrays |= {f"node{k}/{name}": array for name, array in own.arrays.items()}
            if isinstance(node.features, NystromMap):
                arrays[f"node{k}/landmarks"] = node.features.Z
        return surface_state(self) | State(header | {"nodes": nodes}, arrays) | design.statistics.state()

    def _sample_targets(self) -> AnyArray:
        look = self.low_rank_.look
        return np.searchsorted(self.classes_, look.y) if self._classes else look.y

    def _restore(self, state: State) -> None:
        header, arrays = state
        d, kernel = self.n_features_in_, kernel_from_dict(header["kernel"])
        kernel.check_width(d)
        k = state.shape("sample")[0]
        state.require_shapes({"sample": (k, d)})
        features: FeatureMap | None = ExplicitMap.of(kernel, d)
        if not header["explicit"]:
            state.require_shapes({"landmarks": (state.shape("landmarks")[0], d)})
            features = NystromMap.of(kernel, arrays["landmarks"])
        statistics = Statistics.from_state(state)
        if features is None or features.size != statistics.size:
            raise ValueError("its landmarks do not belong to its statistics")
        code, targets = None, arrays["labels" if self._classes else "targets"]
        if self._classes:
            self.classes_ = arrays["classes"]
            code = code_book(arrays["code_book"], len(self.classes_))
            if targets.dtype.kind != "i" or (len(targets) and not 0 <= targets.min() <= targets.max() < len(code)):
                raise ValueError("labels are not numbers of its classes")
            targets = self.classes_[targets]
        order = arrays["sample_hashes"]
        if targets.shape != (k,) or order.shape != (k,) or order.dtype != np.int64:
            raise ValueError("its sample has targets of another length")
        weights = np.asarray(arrays.get("sample_weights", np.ones(k)), dtype=float)  # absent from older files
        if weights.shape != (k,) or not (weights > 0.0).all():
            raise ValueError("its sample has weights of another length, or that are not positive")
        counts = _counts(self, statistics) if self._classes else {}
        look = Look(
            *(int(header["n_seen"]), self.standardiser_.mean, np.zeros(d), np.zeros(d), counts),
            *(arrays["sample"], targets, order.view(np.uint64), weights),
            *(float(header.get("mass", header["n_seen"])), bool(header.get("whole", True))),
        )
        encoding = Encoding(self.standardiser_, self.classes_ if self._classes else None)
        nodes = tuple(
            _node(features, state.below(f"node{k}/", own), d) for k, own in enumerate(header.get("nodes", []))
        )
        passes, complete = int(header["n_passes"]), bool(header.get("complete", False))  # absent from older files
        if complete and look.n != len(look.X):
            raise ValueError("every row is said to be a landmark, but the sample does not hold all rows")
        self.low_rank_ = Design(features, encoding, code, statistics, look, passes, nodes, complete)
        self._publish(known=state)


def _node(features: FeatureMap, state: State, d: int) -> Node:
    """A kernel of the mixture, with the landmarks of all."""
    kernel = kernel_from_dict(state.header["kernel"])
    kernel.check_width(d)
    own: FeatureMap = replace(features, kernel=kernel)
    if isinstance(features, NystromMap):
        state.require_shapes({"landmarks": (state.shape("landmarks")[0], d)})
        own = NystromMap.of(kernel, state.arrays["landmarks"])
    statistics = Statistics.from_state(state)
    if own.size != statistics.size:
        raise ValueError("its landmarks do not belong to its statistics")
    return Node(own, statistics, float(state.header["log_step"]))


def _counts(model: Any, statistics: Statistics) -> dict[Any, int]:
    return dict(zip(model.classes_.tolist(), statistics.counts.astype(int).tolist(), strict=True))


def _as_prior(prior: Any) -> HyperPrior:
    if not isinstance(prior, HyperPrior | LogPrior):
        raise ValueError(f"prior must be None for the default, or an object of bayes_lssvm.priors; got {prior!r}.")
    return as_hyper_prior(prior)


def _fits_scales(prior: HyperPrior | None, d: int) -> bool:
    """Whether a prior that was given has a component for each of d scales, or one for any parameter."""
    return prior is None or not isinstance(prior.kernel, tuple) or len(prior.kernel) == d


def _partitions(X: Any, y: Any, weights: Any = None) -> list[tuple[Any, ...]]:
    """Names and delayed inputs, targets and weights, if there are any, of the partitions of Dask collections."""
    from dask.delayed import delayed

    def pieces(collection: Any) -> list[Any]:
        found = collection.to_delayed()
        return found.ravel().tolist() if hasattr(found, "ravel") else list(found)

    if hasattr(X, "chunks") and len(X.chunks) == 2 and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if weights is not None and not hasattr(weights, "to_delayed"):
        raise ValueError("sample_weight must be a Dask array or series like y, divided by rows in the same way.")
    columns = [pieces(each) for each in (X, y, weights) if each is not None]
    for name, parts in zip(("y", "sample_weight"), columns[1:], strict=False):
        if len(parts) != len(columns[0]):
            raise ValueError(
                f"X is divided into {len(columns[0])} parts by rows and {name} into {len(parts)}; divide them in the "
                "same way."
            )
    values = delayed(np.asarray, pure=True)
    return [(f"partition {i}", *map(values, parts)) for i, parts in enumerate(zip(*columns, strict=True))]


class FixedSizeLSSVC(FixedSizeLSSVM, MulticlassLSSVC):
    """LS-SVM classifier of fixed size, for any number of rows and classes, with probabilities.

    Nyström features of m landmarks make the kernel matrix one of rank m; sums over rows, one pass, are all that levels
    1 to 3 need. The evidence of the exact kernel matrix is bounded from below.

    Parameters
    ----------
    kernel : Kernel or str, default "auto"
        As in `BayesianLSSVC`, or "auto": an RBF kernel with one width, or with more than 1000 rows of at most 100
        inputs a scale for each input, where the evidence gains more than ½ log N for each further scale (`integrate`
        keeps to one width). Linear and polynomial kernels have features of their own where these are few enough.
    n_landmarks : int, default 500
        m. Memory grows as m², time as N m².
    landmarks : {"rpcholesky", "kmeans", "random"} or array of shape (m, d), default "rpcholesky"
        How they are chosen among 20 000 rows that stand for all; or the points, in the data's units.
    coding : {"ovo", "ova", "moc", "ecoc", "exhaustive"} or array of shape (M, L), default "ovo"
        Code book for more than two classes. All bits share the kernel. One versus one is more accurate, as a rule by
        far, and keeps a matrix of sums for each class; codes without don't cares, such as "ova", share all the work.
    decoding : str, default "auto"
        As in `BayesianLSSVC`.
    refine : bool, default True
        Search the kernel's parameters by the evidence.
    polish : bool, default True
        Search on all rows, by a few more passes, and not on a subset alone. Whether scales take the place of one
        width is told by the rows that stand for all in any case.
    integrate : bool, default False
        Integrate μ, ζ and the kernel's parameter out, where it has one, and average predictions over them: about
        fifteen passes more. Kernels with several parameters keep them.
    prior : HyperPrior, Normal, Box, Gamma or None
        As in `BayesianLSSVC`; None is the default prior.
    class_prior, costs : see `BayesianLSSVC`
    moderation : {"auto", "loo", "logistic"}, default "auto"
        Probabilities by a logistic map of leave-one-out outputs, as in `BayesianLSSVC`; or by such a map of the outputs
        and the log odds of a logistic regression on the same features, which has the lower log loss as a rule where
        classes overlap, and takes a few more passes where there are more than 20 000 rows. "auto" is "logistic", for
        more than two classes by those 20 000 rows alone; and "loo" where the model is that of `BayesianLSSVC`: every
        row a landmark, or a feature map that is exact.
    standardise : bool, default True
    random_state : int, default 0

    Attributes
    ----------
    classes_, training_frequencies_, code_book_, kernel_
    members_ : list
        One for each bit, with mu_, zeta_, gamma_, gamma_eff_, log_evidence_, log_evidence_lower_, level3_, loo_map_.
    log_evidence_, log_evidence_lower_ : float
        Evidence of the low-rank kernel matrix, which may exceed the exact one, and a lower bound of the exact one: with
        `convergence_` they tell whether landmarks are enough.
    convergence_ : Convergence
        Both with fewer landmarks; `convergence_.plot()` draws them.
    n_landmarks_suggested_ : int
    landmarks_ : array of shape (m, d)
    mixture_ : Mixture or None
        With `integrate`: the evidence with nothing fixed, its error, and means and standard deviations of log μ, log ζ
        and the kernel's log parameter.
    logistic_ : LogisticPart or None
        Where probabilities are of this form: weights v, bias c and prior precision ν of the log odds of each bit.
    low_rank_ : Design
        Features, statistics and sample; `low_rank_.n_passes` counts the passes.

    Examples
    --------
    >>> from bayes_lssvm import FixedSizeLSSVC
    >>> from bayes_lssvm.datasets import load
    >>> data = load("ripley")
    >>> model = FixedSizeLSSVC(n_landmarks=60).fit(*data.Xy)
    >>> model.log_evidence_lower_ <= model.log_evidence_ + 1e-9
    True
    >>> round(model.score(*data.test_Xy), 2)
    0.9
    """

    _saved_as = "FixedSizeLSSVC"
    _classes = True
    _moderations = FORMS
    member = None
    logistic_: LogisticPart | None

    def __init__(
        self,
        kernel: Kernel | str = AUTO,
        *,
        n_landmarks: int = 500,
        landmarks: Any = "rpcholesky",
        coding: Any = "ovo",
        decoding: str = "auto",
        refine: bool = True,
        polish: bool = True,
        integrate: bool = False,
        prior: Any = None,
        class_prior: ClassPrior = None,
        costs: Any = None,
        moderation: str = "auto",
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.coding = coding
        self.decoding = decoding
        self.refine = refine
        self.polish = polish
        self.integrate = integrate
        self.prior = prior
        self.class_prior = class_prior
        self.costs = costs
        self.moderation = moderation
        self.standardise = standardise
        self.random_state = random_state
        self.shared_kernel = True

    def _code(self, look: Look, classes: AnyArray | None) -> Array:
        seen = np.unique(look.y)
        self.classes_ = seen if classes is None else classes
        unknown = sorted(set(seen.tolist()) - set(self.classes_.tolist()))
        if unknown:
            raise ValueError(f"The label {unknown[0]!r} is not one of the classes {self.classes_.tolist()}.")
        if len(seen) < 2:
            raise ValueError(
                f"A classifier needs two classes, but all {look.n} labels are of one class, {seen.tolist()[0]!r}."
            )
        counts = np.array([look.counts.get(label, 0) for label in self.classes_.tolist()], dtype=float)
        if not counts.all():
            absent = self.classes_.tolist()[int(np.argmin(counts))]
            raise ValueError(
                f"There are no rows of the class {absent!r} yet; the first rows must contain every class, since "
                "landmarks and kernel are chosen from them."
            )
        self.training_frequencies_ = counts / look.n
        self.code_book_ = code_book(self.coding, len(self.classes_), seed=self.random_state)
        self._check_settings(counts)
        return self.code_book_

    def _publish(self, runner: Runner | None = None, known: State | None = None) -> None:
        super()._publish(runner, known)
        statistics, code = self.low_rank_.statistics, self.low_rank_.code
        assert code is not None
        self.code_book_ = code
        self.training_frequencies_ = statistics.masses / statistics.masses.sum()
        self.logistic_ = None
        if known is not None and (MAPS in known.arrays or self.moderation == "logistic"):
            self.logistic_, maps = _read_logistic(known, self.low_rank_.features.size, code.shape[1])
            self.members_ = [replace(own, loo_map_=found) for own, found in zip(self.members_, maps, strict=True)]
            return
        if known is None and self._is_logistic:
            # with a matrix of sums for each pair of many classes, a pass is the dearest part of a fit
            spared = self.moderation == "auto" and len(self.classes_) > 2
            self.logistic_ = fit_logistic(self.low_rank_, self.posteriors_, self._priors, None if spared else runner)
            passes = self.low_rank_.n_passes + self.logistic_.n_passes
            self.low_rank_ = replace(self.low_rank_, n_passes=passes)
        self.members_ = self._mapped(code)

    @property
    def _is_logistic(self) -> bool:
        """Whether probabilities rest on a logistic regression as well."""
        if self.moderation != "auto":
            return self.moderation == "logistic"
        most = self.n_landmarks if isinstance(self.landmarks, str) else len(np.asarray(self.landmarks))
        return isinstance(self.low_rank_.features, NystromMap) and self.low_rank_.statistics.n > most

    def _state(self) -> State:
        state = super()._state()
        if self.logistic_ is None:
            return state
        maps = np.array([astuple(member.loo_map_) for member in self.members_])
        arrays = {f"logistic/{name}": getattr(self.logistic_, name) for name in ("v", "c", "nu")}
        return state | State({}, arrays | {MAPS: maps})

    def _mapped(self, code: Array) -> list[FixedSizeMember]:
        """The members with their maps to log odds, fitted to left-out outputs of the sample's rows."""
        look, design = self.low_rank_.look, self.low_rank_
        inputs, labels = design.encoding(look.X, look.y, "the sample")
        y = code[labels]
        z, variance = np.empty(y.shape), np.empty(y.shape)
        if self.mixture_ is not None:
            z, variance = self.mixture_.moments(inputs, y, look.weights, whole=look.whole)
        elif self._complete:
            for own in self._complete:
                places = np.ix_(own.task.rows, np.array(own.task.bits))
                z[places], variance[places] = own.left_out_moments(whole=look.whole)
        else:
            for rows, phi in in_blocks(design.features, inputs):
                diagonal = self.kernel_.diag(inputs[rows])
                for bits, posterior in self.posteriors_:
                    signs = y[rows][:, list(bits)]
                    part = np.flatnonzero((signs != 0).any(axis=1))
                    w = look.weights[rows][part]
                    found = posterior.left_out_moments(phi[part], diagonal[part], signs[part], w, whole=look.whole)
                    places = np.ix_(np.arange(len(y))[rows][part], np.array(bits))
                    z[places], variance[places] = found
        frequencies, counted = shares(design.statistics.masses, code), self._rows_of(design.statistics)
        members = []
        for bit, member in enumerate(self.members_):
            part = y[:, bit] != 0
            outputs, variances, signs, w = z[part, bit], variance[part, bit], y[part, bit], look.weights[part]
            if self.logistic_ is None:
                fitted = LogisticMap.fit(outputs, variances, signs, w)
            else:
                fitted = JointMap.fit_both(outputs, variances, self.logistic_.left_out[part, bit], signs, w)
            seen = round((code[:, bit] != 0) @ counted)
            moved = _at_frequencies(fitted, float(frequencies[bit]), seen)
            members.append(replace(member, loo_map_=moved))
        return members

    def outputs(self, X: Any) -> Array:
        check_is_fitted(self, "low_rank_")
        return self._moments(X)[0]

    def output_moments(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self, "low_rank_")
        return self._moments(X)

    def log_ratios(self, X: Any) -> Array:
        check_is_fitted(self, "low_rank_")
        maps = [member.loo_map_ for member in self.members_]
        if self.logistic_ is None:
            z, variance = self._moments(X)
            found = [loo.log_odds(z[:, k], variance[:, k]) for k, loo in enumerate(maps)]
        else:
            z, variance, f = self._joint_moments(X, self.logistic_)
            found = [loo.joint_log_odds(z[:, k], variance[:, k], f[:, k]) for k, loo in enumerate(maps)]
        return np.stack([odds - loo.class_log_odds for odds, loo in zip(found, maps, strict=True)], axis=1)

    def _joint_moments(self, X: Any, part: LogisticPart) -> tuple[Array, Array, Array]:
        """z_MP and σ_z² of all bits and the log odds of the logistic part, each of shape (n, L)."""
        inputs, found = self._new_inputs(X), []
        for rows, phi in in_blocks(self.low_rank_.features, inputs):
            if self.mixture_ is not None:
                own = self.mixture_.moments(inputs[rows])
            elif self._complete:
                own = self._complete_moments(inputs[rows])
            else:
                own = self._moments_of(phi, self.kernel_.diag(inputs[rows]))
            found.append((*own, part(phi)))
        if not found:
            return (np.empty((0, len(self.members_))),) * 3
        z, variance, f = (np.concatenate(each) for each in zip(*found, strict=True))
        return z, variance, f

    def latent(self, X: Any, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """z_MP for each row of X, of shape (n,), or (n, L) for more than two classes, and on request σ_z."""
        check_is_fitted(self, "low_rank_")
        z, variance = self._moments(X)
        if z.shape[1] == 1:
            z, variance = z[:, 0], variance[:, 0]
        return (z, np.sqrt(variance)) if return_std else z


def _at_frequencies(found: LogisticMap, plus: float, n: int) -> LogisticMap:
    """The map of a sample at the class frequencies of all rows: the log odds move by the difference."""
    classes = float(np.log(plus) - np.log1p(-plus))
    moved = found.offset + classes - found.class_log_odds
    return replace(found, offset=moved, class_log_odds=classes, bound=2.0 * float(np.log(n + 1.0)))


def _read_logistic(state: State, m: int, bits: int) -> tuple[LogisticPart, list[JointMap]]:
    """The logistic part of a model file, and the maps that belong to it."""
    shapes: dict[str, tuple[int, ...]] = {f"logistic/{name}": (bits,) for name in ("c", "nu")}
    state.require_shapes(shapes | {"logistic/v": (bits, m), MAPS: (bits, len(fields(JointMap)))})
    v, c, nu = (np.array(state.arrays[f"logistic/{name}"], dtype=float) for name in ("v", "c", "nu"))
    part = LogisticPart(v, c, nu, np.empty((0, bits)))
    return part, [JointMap(*row) for row in np.asarray(state.arrays[MAPS], dtype=float).tolist()]


class FixedSizeLSSVR(RegressorMixin, FixedSizeLSSVM):  # type: ignore[misc]
    """LS-SVM regressor of fixed size, for any number of rows, with error bars.

    Parameters and attributes are those of `FixedSizeLSSVC`, without what belongs to classes.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import FixedSizeLSSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(5000, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=5000)
    >>> model = FixedSizeLSSVR(n_landmarks=40).fit(X, y)
    >>> round(1 / model.zeta_**0.5, 2)
    0.1
    """

    _saved_as = "FixedSizeLSSVR"
    _classes = False

    def __init__(
        self,
        kernel: Kernel | str = AUTO,
        *,
        n_landmarks: int = 500,
        landmarks: Any = "rpcholesky",
        refine: bool = True,
        polish: bool = True,
        integrate: bool = False,
        prior: Any = None,
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.refine = refine
        self.polish = polish
        self.integrate = integrate
        self.prior = prior
        self.standardise = standardise
        self.random_state = random_state

    def _code(self, look: Look, classes: AnyArray | None) -> None:
        if classes is not None:
            raise ValueError("classes are for classifiers; a regressor has none.")
        check_regression_targets(look.y)

    def _publish(self, runner: Runner | None = None, known: State | None = None) -> None:
        super()._publish(runner, known)
        level3 = self.members_[0].level3_
        self.level3_, level2 = level3, level3.level2
        self.mu_, self.zeta_, self.gamma_, self.gamma_eff_ = level2.mu, level2.zeta, level2.gamma, level2.gamma_eff

    def latent(self, X: Any, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """z_MP for each row of X, and on request its posterior standard deviation σ_z."""
        check_is_fitted(self, "low_rank_")
        z, variance = self._moments(X)
        return (z[:, 0], np.sqrt(variance[:, 0])) if return_std else z[:, 0]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Interval:
        """Lower and upper ends of an interval for a new target at each row of X, from exact leave-one-out errors.

        Those of up to 20 000 rows that stand for all, each by the model of all other rows, about the prediction (the
        jackknife): with so many rows none of them moves it, and nothing is assumed of the noise. Where rows have
        weights, the new target has weight one, and errors are brought to its noise first.
        """
        check_is_fitted(self, "low_rank_")
        errors = np.abs(self._left_out_errors())
        k = rank_among(len(errors), require_coverage(coverage), "Ask for a smaller coverage.")
        half, mean = float(np.partition(errors, -k)[-k]), self._moments(X)[0][:, 0]
        return Interval(mean - half, mean + half)

    def _left_out_errors(self) -> Array:
        """y_i − z_i^(−i) of the rows of the sample, of shape (n,), as of rows of weight one."""
        design, weights = self.low_rank_, self.low_rank_.look.own_weights
        inputs, y = design.encoding(design.look.X, design.look.y, "the sample")
        y = y[:, None]
        if self.mixture_ is not None:
            z, variance = self.mixture_.moments(inputs, y, weights)
        elif self._complete:
            z, variance = self._complete[0].left_out_moments(whole=False)
        else:
            z, variance = np.empty_like(y), np.empty_like(y)
            for rows, phi in in_blocks(design.features, inputs):
                own = None if weights is None else weights[rows]
                found = self.posteriors_[0][1].left_out_moments(phi, self.kernel_.diag(inputs[rows]), y[rows], own)
                z[rows], variance[rows] = found
        errors = (y - z)[:, 0]
        if weights is None:
            return np.asarray(errors)
        noise = self._noise
        return np.asarray(errors * np.sqrt((variance[:, 0] + noise) / (variance[:, 0] + noise / weights)))

    @property
    def _noise(self) -> float:
        """Variance of the noise of a target of weight one."""
        return 1.0 / self.zeta_ if self.mixture_ is None else float(self.mixture_.noise[0])

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Mean of the prediction for each row of X, and on request the error bar √(σ_z² + 1/ζ) of a new target."""
        check_is_fitted(self, "low_rank_")
        z, variance = self._moments(X)
        return (z[:, 0], np.sqrt(variance[:, 0] + self._noise)) if return_std else z[:, 0]
