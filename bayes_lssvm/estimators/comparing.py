"""`compare`: kernels ranked by their evidence, and the estimators that average over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.memory import require_matrices
from ..base.threads import few_threads
from ..base.typing import Array
from ..comparison.evidence import MOST_DRAWS, TOLERANCE, KernelEvidence, Prior
from ..comparison.maximised import maximised_candidates
from ..comparison.problem import Problem, as_problem
from ..comparison.ranking import Ranking, check_probabilities, rank_kernels, ranked, widened
from ..kernels import Kernel, as_kernel
from ..levels.level3 import DEFAULT_PRIOR_SD
from ..levels.objective import Objective
from ..priors import HyperPrior
from .averaged import AveragedLSSVC, AveragedLSSVR

KERNEL_PARAMETERS = ("integrated", "maximised")
_FACTORS = (0.5, 2.0)


@dataclass(frozen=True, repr=False)
class Comparison(Ranking):
    """Kernels ranked by evidence, the best first: what `compare` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import compare
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(40, 1))
    >>> y = np.sinc(x[:, 0]) + 0.1 * rng.normal(size=40)
    >>> table = compare(x, y, ["linear", "rbf"], progress=False)
    >>> table.best.kernel.param_names, table.words(1)
    (('sigma',), 'very strong')
    """

    problem: Problem | None = field(default=None, repr=False, kw_only=True)
    settings: dict[str, Any] = field(default_factory=dict, repr=False, kw_only=True)

    def prior_sensitivity(self, factors: Sequence[float] = _FACTORS) -> PriorSensitivity:
        """The ranking under priors of the kernels' log parameters that are wider by each factor, computed anew."""
        if self.problem is None:
            raise ValueError(
                "Maximised kernel parameters have no prior to vary; call compare without kernel_parameters."
            )
        found = {1.0: self}
        for factor in factors:
            if not (np.isfinite(factor) and factor > 0.0):
                raise ValueError(f"A prior can be widened by positive factors only, got {factor!r}.")
            priors = [_widened(candidate.evidence, float(factor)) for candidate in self.candidates]
            again = rank_kernels(
                self.problem,
                [candidate.kernel for candidate in self.candidates],
                prior=priors,
                prior_probabilities=self.prior_probabilities,
                settings=self.settings,
            )
            found[float(factor)] = Comparison(**vars(again), problem=self.problem, settings=self.settings)
        return PriorSensitivity(tuple(sorted(found)), tuple(found[f] for f in sorted(found)))

    def average(self) -> AveragedLSSVC | AveragedLSSVR:
        """The kernels' predictions mixed by P(H | D): a fitted estimator on inputs as they were compared."""
        return self._mixed("evidence")

    def stack(self) -> AveragedLSSVC | AveragedLSSVR:
        """The kernels' predictions mixed by the weights that maximise the leave-one-out density: a fitted estimator."""
        return self._mixed("stacking")

    def _mixed(self, weights: str) -> AveragedLSSVC | AveragedLSSVR:
        if self.problem is None:
            raise ValueError("Kernels with maximised parameters are not averaged; call compare without that setting.")
        cls = AveragedLSSVR if self.problem.classes is None else AveragedLSSVC
        return cls.of(self, self.problem, weights=weights, random_state=self.settings["seed"])


def _widened(found: KernelEvidence | None, factor: float) -> tuple[HyperPrior, ...]:
    assert found is not None
    return tuple(widened(prior, factor, found.n_parameters) for prior in found.priors)


@dataclass(frozen=True)
class PriorSensitivity:
    """Rankings under priors of the kernels' parameters of several widths.

    Attributes
    ----------
    factors : tuple of float
        By which the priors are wider; 1 is the comparison's own.
    comparisons : tuple of Comparison
    """

    factors: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def same_best(self) -> bool:
        """Whether every prior prefers the same kind of kernel."""
        return len({type(c.best.kernel).__name__ + str(c.best.kernel.param_names) for c in self.comparisons}) == 1

    def rows(self) -> list[dict[str, Any]]:
        """A row for each factor and kernel."""
        return [
            {"factor": factor, "place": place, **row}
            for factor, comparison in zip(self.factors, self.comparisons, strict=True)
            for place, row in enumerate(comparison.rows(), start=1)
        ]

    def __str__(self) -> str:
        parts = [
            f"priors of the kernels' log parameters {'as given' if factor == 1.0 else f'wider by {factor:g}'}\n{table}"
            for factor, table in zip(self.factors, self.comparisons, strict=True)
        ]
        end = "The same kernel comes first under all." if self.same_best else "Which kernel comes first changes."
        return "\n\n".join([*parts, end])


@few_threads
def compare(
    X: Any,
    y: Any,
    kernels: Sequence[Kernel | str],
    *,
    sample_weight: Any = None,
    kernel_parameters: str = "integrated",
    task: str = "auto",
    coding: Any = "ovo",
    prior: Prior | Sequence[Prior] = None,
    prior_probabilities: Sequence[float] | None = None,
    refine: bool = True,
    tolerance: float = TOLERANCE,
    draws: int = MOST_DRAWS,
    occam: bool = True,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    objective: Callable[[Kernel], Objective] | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Comparison:
    """Rank kernels by their evidence.

    Parameters
    ----------
    X : array of shape (N, d)
        Inputs as the kernels shall see them (standardised, as a rule).
    y : array of shape (N,)
        Labels of two or more classes, or real numbers.
    kernels : sequence of kernels or their names
    sample_weight : array of shape (N,), optional
        Row i has the noise precision ζw_i; weight zero leaves it out.
    kernel_parameters : {"integrated", "maximised"}
        What becomes of a kernel's parameters: integrated out under their prior, so that each is paid for; or at the
        maximum of the evidence, as in the papers (5.2), where they are not. The latter is for two classes and numbers.
    task : {"auto", "classification", "regression"}
        What y is. By default labels are what is no number, what has two values, and whole numbers of at most ten.
    coding : str or array
        Code book for more than two classes, as in `BayesianLSSVC`. Kernels are compared by the sum of its members'
        evidences, which have the same data for every kernel.
    prior : HyperPrior, LogPrior, a sequence of them, or None
        Of log μ, log ζ and the kernels' log parameters: one for all kernels, or one for each. By default the weak,
        proper one that the estimators have; the table shows that of the kernels' parameters.
    prior_probabilities : sequence of floats, optional
        p(H_i); equal by default.
    refine : bool
        False takes the kernels' parameters as given.
    tolerance : float
        Error of the log evidence in nats at which draws, for three kernel parameters or more, are enough.
    draws : int
        At most.
    occam, prior_sd, objective
        For maximised parameters: the evidence with the Occam factor (5.2) or without, the widths in it, or an evidence
        of your own for each kernel.
    seed : int

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import compare
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=40)
    >>> comparison = compare(X, y, ["linear", "rbf"], progress=False)
    >>> print(type(comparison.best.kernel).__name__, comparison.words(1))
    RBF very strong
    """
    if kernel_parameters not in KERNEL_PARAMETERS:
        raise ValueError(f"kernel_parameters must be one of {', '.join(KERNEL_PARAMETERS)}, got {kernel_parameters!r}.")
    if isinstance(kernels, Kernel | str):
        raise ValueError(
            f"kernels must be a list of kernels, got a single one, {kernels!r}; give a list with at least one."
        )
    if not len(kernels):
        raise ValueError("There are no kernels to compare; give a list with at least one.")
    check_probabilities(prior_probabilities, len(kernels))
    if kernel_parameters == "integrated" and (objective is not None or not occam):
        raise ValueError(
            'occam=False and objective are for kernel_parameters="maximised": an integral over the parameters '
            "already includes its Occam factor."
        )
    if kernel_parameters == "maximised" and task == "auto" and np.asarray(y).dtype.kind in "biuf":
        task = "regression"  # as in the papers, where labels are numbers
    problem = as_problem(X, y, sample_weight, task=task, coding=coding, seed=seed)
    require_matrices(len(problem.X), 6, "Compare on a random subset.")
    chosen = [as_kernel(kernel, problem.X.shape[1]) for kernel in kernels]
    if kernel_parameters == "maximised":
        if len(problem.members) > 1:
            raise ValueError(
                f'kernel_parameters="maximised" is for two classes, and there are {len(problem.frequencies)}; leave it '
                "out, and the kernels' parameters are integrated out."
            )
        candidates, laplace = maximised_candidates(
            problem.X,
            problem.members[0].y,
            chosen,
            refine=refine,
            occam=occam,
            prior_sd=prior_sd,
            objective=objective,
            seed=seed,
            progress=progress,
            weights=problem.weights,
        )
        how = {"kernel_parameters": kernel_parameters, "occam": occam, "prior": laplace}
        return Comparison(**vars(ranked(candidates, prior_probabilities, **how)))
    settings = {"free": refine, "tolerance": tolerance, "draws": draws, "seed": seed, "progress": progress}
    found = rank_kernels(problem, chosen, prior=prior, prior_probabilities=prior_probabilities, settings=settings)
    return Comparison(**vars(found), problem=problem, settings=settings)


class ComparesKernels:
    """The method by which a fitted estimator compares other kernels on its training data."""

    X_fit_: Array
    y_fit_: Array
    weights_: Array | None
    prior: Any
    prior_sd: float | tuple[float, float]
    occam: bool
    refine: bool
    random_state: int
    has_prior: bool

    if TYPE_CHECKING:

        def _require_one_target(self, method: str, instead: str) -> None: ...

        def _require_given_noise(self, method: str) -> None: ...

        def _objective(self) -> Callable[[Kernel], Objective]: ...

    def compare(
        self,
        kernels: Sequence[Kernel | str],
        *,
        kernel_parameters: str | None = None,
        refine: bool | None = None,
        prior_probabilities: Sequence[float] | None = None,
        progress: bool = True,
    ) -> Comparison:
        """Rank kernels by their evidence on the training data: Bayes factors and posterior probabilities.

        For numbers as targets and for two classes; `bayes_lssvm.compare` takes any number of classes.

        Parameters
        ----------
        kernels : sequence of kernels or names
        kernel_parameters : {"integrated", "maximised"}, optional
            Whether the kernels' parameters are integrated out or at the maximum of the estimator's evidence. By default
            integrated under the estimator's prior, and maximised where that is flat.
        refine : bool, optional
            False takes their parameters as given; as in the estimator if not given.
        prior_probabilities : sequence of floats, optional
            p(H) of each kernel; equal by default.
        """
        self._require_one_target("compare", "bayes_lssvm.compare(X, y, kernels) takes any number of classes")
        if hasattr(self, "precomputed_"):
            raise ValueError(
                'compare needs inputs, and with kernel="precomputed" there are none: fit each matrix and compare '
                "log_evidence_."
            )
        proper = not isinstance(self.prior, str) and (self.prior is not None or self.occam)
        how = kernel_parameters or ("integrated" if proper else "maximised")
        labels = bool(np.all(np.abs(self.y_fit_) == 1.0))
        if how == "integrated" or not self.has_prior:
            self._require_given_noise(f"compare with {how} kernel parameters")
        return compare(
            self.X_fit_,
            self.y_fit_,
            kernels,
            sample_weight=self.weights_,
            kernel_parameters=how,
            task="classification" if labels else "regression",
            prior=None if isinstance(self.prior, str) else self.prior,
            refine=self.refine if refine is None else refine,
            occam=self.occam or how == "integrated",
            prior_sd=self.prior_sd,
            prior_probabilities=prior_probabilities,
            objective=self._objective() if self.has_prior and how == "maximised" else None,
            seed=self.random_state,
            progress=progress,
        )
