"""Sparse LS-SVM classifiers: training points pruned by their support values (paper 0, section 2.2; paper 4).

Every training point has a support value α_i = γe_i, so that an LS-SVM is not sparse. Points are removed in rounds and
the model is solved anew on those that are kept, by one of two rules:

    "negative"   all points with y_iα_i < 0, that is y_i f(x_i) > 1: the easy ones, beyond the margin (paper 4; its
                 support values have y_i in them). It ends when there are none.
    "smallest"   the share `fraction` of the points with the smallest |α_i|, those closest to their target (paper 0).

Between rounds the evidence of the kept points chooses again μ and ζ, or the kernel's parameters too, or nothing.

Stopping. The reference accuracy is that of the validation set, or else of all training points, where the removed ones
are predicted by a model that has not seen them. A search ends when the rule finds nothing to remove; when a class would
keep fewer than two points; when the evidence of the kept points says "no signal"; or when the reference accuracy falls
by more than `tolerance` standard errors √(p(1 − p)/n) below that of the model of all points, p. In the last two cases
the step before is chosen, otherwise the last.

Weights. With the noise precision ζw_i of a point its support value is α_i = γw_i e_i, and it counts by its weight in
the accuracy of the training points.

Loss of evidence. The evidence of the kept points is that of other, fewer data, and cannot be compared along the path.
What can is log p(D | μ, ζ, θ) of all N points under the hyperparameters of each step: it says how far pruning has moved
them from where all data want them. Kept points are the harder ones, so that they ask for more noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.canonical import canonical_order
from ..base.errors import require_positive
from ..base.memory import require_matrices
from ..base.progress import tqdm
from ..base.scikit import check_X_y
from ..base.typing import AnyArray, Array
from ..base.weights import check_weights, row_count, weighted_mean
from ..kernels import Kernel, as_kernel
from ..levels.level3 import DEFAULT_PRIOR_SD, as_prior_sd
from ..levels.objective import Evaluation, Objective
from ..levels.solvers import solve_distinct
from ..search.refinement import refine_objective

__all__ = ["PruningPath", "PruningStep", "prune"]

RULES = ("smallest", "negative")
RETUNE = ("hyperparameters", "kernel", "nothing")
_FEWEST = 2  # of each class
_DIGITS = 9  # of support values that are told apart


@dataclass(frozen=True)
class PruningStep:
    """One model on the path.

    Attributes
    ----------
    kept : array of int of shape (n,)
        Training points that are left, ascending.
    kernel, mu, zeta : Kernel, float, float
    gamma_eff : float
        Effective number of parameters on the kept points.
    alpha : array of shape (n,)
        Support values α = γe, for f(x) = Σ α_i K(x, x_i) + b over the kept points.
    intercept : float
    log_evidence : float
        log p(kept points | μ, ζ, θ).
    log_evidence_all : float
        log p(all points | μ, ζ, θ).
    accuracy : float
        Share of all training points, removed ones included, on the right side of f = 0, by their weights.
    validation_accuracy : float or None
    status : str
        Of level 2 on the kept points: "interior", "no signal", "interpolation".
    """

    kept: AnyArray
    kernel: Kernel
    mu: float
    zeta: float
    gamma_eff: float
    alpha: Array
    intercept: float
    log_evidence: float
    log_evidence_all: float
    accuracy: float
    validation_accuracy: float | None
    status: str


@dataclass(frozen=True)
class PruningPath:
    """The models of a pruning, from all points on, and the one chosen.

    Attributes
    ----------
    rule, retune : str
    steps : tuple of PruningStep
        The step that went too far included.
    best : int
        Which step was chosen.
    lowest_accuracy : float
        The reference accuracy below which a step went too far.
    stopped : str
        Why the search ended.
    """

    rule: str
    retune: str
    steps: tuple[PruningStep, ...]
    best: int
    lowest_accuracy: float
    stopped: str

    @property
    def chosen(self) -> PruningStep:
        """The step that was chosen."""
        return self.steps[self.best]

    @property
    def evidence_loss(self) -> Array:
        """Nats of log p(all points | μ, ζ, θ) lost against the model of all points, for each step."""
        values = np.array([step.log_evidence_all for step in self.steps])
        return np.asarray(values[0] - values)

    def __str__(self) -> str:
        lines = [f"{'':4}  points  loss of evidence  accuracy  validation"]
        for i, (step, loss) in enumerate(zip(self.steps, self.evidence_loss, strict=True)):
            mark = "best" if i == self.best else ""
            validation = "" if step.validation_accuracy is None else f"{step.validation_accuracy:10.3f}"
            lines.append(f"{mark:4}  {len(step.kept):6d}  {loss:16.2f}  {step.accuracy:8.3f}  {validation}".rstrip())
        lines.append(self.stopped)
        return "\n".join(lines)


def prune(
    X: Any,
    y: Any,
    *,
    kernel: Kernel | str = "rbf",
    rule: str = "smallest",
    retune: str = "hyperparameters",
    refine_first: bool = True,
    fraction: float = 0.05,
    tolerance: float = 1.0,
    validation: tuple[Any, Any] | None = None,
    weights: Any = None,
    occam: bool = True,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    seed: int = 0,
    progress: bool = True,
) -> PruningPath:
    """Remove training points as long as the classifier stays as good.

    Parameters
    ----------
    X : array of shape (N, d)
        Inputs, standardised as a rule.
    y : array of shape (N,)
        Labels ±1.
    kernel : Kernel or str
    rule : {"smallest", "negative"}
        Which points go: the module's docstring.
    retune : {"hyperparameters", "kernel", "nothing"}
        What the evidence of the kept points chooses again after each round: μ and ζ; the kernel's parameters too; or
        nothing.
    refine_first : bool
        Whether the kernel's parameters are optimised on all points at the start.
    fraction : float
        Share of the points that "smallest" removes in a round, at least one.
    tolerance : float
        Standard errors by which the reference accuracy may fall.
    validation : pair (X, y) or None
        A set of its own to stop by; all training points by default.
    weights : array of shape (N,), optional
        The noise precision of point i is ζw_i > 0.
    occam : bool
        Whether the evidence that tunes the kernel has the Occam factor of μ and ζ (5.2).
    prior_sd : float or pair of floats
    seed : int
        Chooses the subset on which starts are sifted when N > 300.
    progress : bool
        Show a progress bar on a terminal.
    """
    for name, value, allowed in (("rule", rule, RULES), ("retune", retune, RETUNE)):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}.")
    if not (isinstance(fraction, int | float | np.number) and 0.0 < fraction < 1.0):
        raise ValueError(f"fraction must be between 0 and 1, got {fraction!r}.")
    require_positive("tolerance", tolerance)
    X, y = _labelled(X, y, "y")
    if np.ptp(y) == 0.0:
        raise ValueError(f"A classifier needs two classes, but all {len(y)} labels are {y[0]:+g}.")
    if validation is not None:
        validation = _labelled(*validation, "y of the validation set")
        if validation[0].shape[1] != X.shape[1]:
            raise ValueError(f"The validation set has {validation[0].shape[1]} columns, the training set {X.shape[1]}.")
    require_matrices(len(X), 6, "Prune a random subset.")
    weights = check_weights(weights, len(y), "weights")
    if weights is not None and not weights.all():
        raise ValueError("weights must be positive; leave the points of weight zero out.")
    objective = Objective(X, y, occam, as_prior_sd(prior_sd), weights=weights)
    models = _Models(objective, validation, retune, seed)
    start = as_kernel(kernel, X.shape[1])
    place = np.argsort(
        canonical_order(X, y, weights).rows
    )  # by which ties are broken, so that the order of rows has no say
    step = models.step(np.arange(len(y)), models.tuned(start, np.arange(len(y)), refine_first))
    nothing = "By the evidence, the remaining points contain no signal."
    steps, stopped = [step], nothing if step.status == "no signal" else ""
    reference = _reference(step)
    n_reference = row_count(weights, len(y)) if validation is None else len(validation[1])
    lowest = reference - tolerance * float(np.sqrt(reference * (1.0 - reference) / n_reference))
    bar = tqdm(total=len(y), desc="pruning", unit=" points", disable=None if progress else True, leave=False)
    with bar:
        while not stopped:
            remove = _removed(steps[-1], y, place, rule, fraction)
            kept = steps[-1].kept[~remove]
            if not remove.any():
                stopped = "No support value is negative any more."
            elif min(np.sum(y[kept] > 0), np.sum(y[kept] < 0)) < _FEWEST:
                stopped = f"A class would be left with fewer than {_FEWEST} points."
            else:
                steps.append(models.next(steps[-1], kept))
                bar.update(int(remove.sum()))
                if steps[-1].status == "no signal":
                    stopped = nothing
                elif _reference(steps[-1]) < lowest:
                    stopped = f"The accuracy fell below {lowest:.3f}."
    too_far = steps[-1].status == "no signal" or _reference(steps[-1]) < lowest
    best = max(len(steps) - 2, 0) if too_far else len(steps) - 1
    return PruningPath(rule, retune, tuple(steps), best, lowest, stopped)


def _labelled(X: Any, y: Any, name: str) -> tuple[Array, Array]:
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
    y = np.asarray(y, dtype=float)
    if not np.all(np.abs(y) == 1.0):
        raise ValueError(f"{name} must hold the labels −1 and +1; it holds {np.unique(y)[:5].tolist()}.")
    return X, y


def _reference(step: PruningStep) -> float:
    return step.accuracy if step.validation_accuracy is None else step.validation_accuracy


def _removed(step: PruningStep, y: Array, place: AnyArray, rule: str, fraction: float) -> AnyArray:
    if rule == "negative":
        return y[step.kept] * step.alpha < 0.0
    count = max(1, round(fraction * len(step.kept)))
    remove = np.zeros(len(step.kept), dtype=bool)
    size = np.abs(step.alpha)
    rounded = np.round(size / size.max(), _DIGITS) if size.any() else size
    remove[np.lexsort((place[step.kept], rounded))[:count]] = True
    return remove


@dataclass(frozen=True)
class _Models:
    """Models of kept points, on given data."""

    objective: Objective
    validation: tuple[Array, Array] | None
    retune: str
    seed: int

    def _of(self, kept: AnyArray) -> Objective:
        return self.objective.at_rows(self.objective.X[kept], kept)

    def tuned(self, kernel: Kernel, kept: AnyArray, with_kernel: bool) -> Evaluation:
        """μ, ζ and, if asked for, the kernel by the evidence of the kept points."""
        own = self._of(kept)
        return refine_objective(own, kernel, self.seed).optima[0] if with_kernel else own.evaluate(kernel)

    def next(self, last: PruningStep, kept: AnyArray) -> PruningStep:
        """The model of the points that are left after a round."""
        found = self.tuned(last.kernel, kept, self.retune == "kernel")
        held = (last.mu, last.zeta) if self.retune == "nothing" else None
        return self.step(kept, found, held)

    def step(self, kept: AnyArray, found: Evaluation, held: tuple[float, float] | None = None) -> PruningStep:
        """The model with μ and ζ as found, or held."""
        X, y, kernel, own = self.objective.X, self.objective.y, found.kernel, self._of(kept)
        mu, zeta = held or (found.level2.mu, found.level2.zeta)
        alpha, intercept = solve_distinct(kernel, own.X, own.y, zeta / mu, own.weights)
        logs = float(np.log(mu)), float(np.log(zeta))

        def accuracy(new: Array, labels: Array, weights: Array | None = None) -> float:
            return float(weighted_mean((kernel(new, own.X) @ alpha + intercept) * labels > 0.0, weights))

        return PruningStep(
            kept=kept,
            kernel=kernel,
            mu=mu,
            zeta=zeta,
            gamma_eff=1.0 + float(found.reduction.sums(np.array([zeta / mu])).d_eff[0]),
            alpha=alpha,
            intercept=intercept,
            log_evidence=own.at(kernel, *logs, along_kernel=False).value,
            log_evidence_all=self.objective.at(kernel, *logs, along_kernel=False).value,
            accuracy=accuracy(X, y, self.objective.weights),
            validation_accuracy=None if self.validation is None else accuracy(*self.validation),
            status=found.level2.status,
        )
