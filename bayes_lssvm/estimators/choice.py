"""The kernel's parameters and γ of an estimator: by the evidence (paper 0), or by leave-one-out errors (paper 1).

    "evidence"       level 3 chooses the kernel's parameters, level 2 chooses μ and ζ
    "press", …       PRESS, plain or regularised, chooses the kernel's parameters and γ together; μ, which error bars
                     and moderated outputs need, is that of the largest leave-one-out predictive density, so that
                     left-out targets deviate by as much as the model says

A kernel with a scale for each input starts from the best spherical one (paper 4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..base.rows import group_equal_inputs
from ..base.typing import AnyArray, Array
from ..kernels import ARD, RBF, Kernel, check_positive_semidefinite
from ..levels.level2 import Level2, at_gamma
from ..levels.level3 import as_prior_sd
from ..levels.objective import Evaluation, Objective, Solved
from ..linalg.reduction import LocalReduction
from ..linalg.spectrum import TridiagonalReduction
from ..press.criterion import ALL_CRITERIA as PRESS_CRITERIA
from ..press.leave_one_out import leave_one_out
from ..press.selection import PressSelection, select_by_press
from ..priors import HyperPrior
from ..search.refinement import Refinement, refine_objective, spherical_start
from .common import MIN_POINTS

CRITERIA: tuple[str, ...] = ("evidence", *PRESS_CRITERIA)
_NO_SAY = 1e-4  # of the largest squared range of an input in units of its scale


@dataclass(frozen=True)
class Choice:
    """What was chosen, and how.

    Attributes
    ----------
    kernel : Kernel
        Over the columns `columns`.
    columns : array of int
        Columns of the inputs that the kernel is over: all but those that a prior over relevances removed.
    reduction : LocalReduction
    level2 : Level2
    refinement : Refinement or None
        The search of the evidence.
    press : PressSelection or None
        The search of PRESS.
    log_evidence : float or None
        Laplace's evidence, where there is a prior.
    solved : Solved or None
        Level 1 at the optimum on all rows, where the search has it.
    """

    kernel: Kernel
    columns: AnyArray
    reduction: LocalReduction
    level2: Level2
    refinement: Refinement | None = None
    press: PressSelection | None = None
    log_evidence: float | None = None
    solved: Solved | None = None


def check_criterion(criterion: str, kernel: Kernel, refine: bool) -> None:
    """Refuse a criterion that does not exist or does not go with the kernel, before any work starts."""
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}, got {criterion!r}.")
    if criterion == "evidence":
        return
    if not refine:
        raise ValueError(
            f"criterion={criterion!r} chooses γ and the kernel's parameters together, so refine=False leaves it "
            'nothing to do; use refine=True, or LSSVC or LSSVR with a given gamma, or criterion="evidence".'
        )
    if criterion == "press-laplace" and not isinstance(kernel, ARD):
        raise ValueError(f'criterion="press-laplace" removes inputs, so it needs kernel="ard", not {kernel!s}.')


def choose(
    kernel: Kernel,
    X: Array,
    y: Array,
    *,
    criterion: str,
    refine_kernel: bool,
    occam: bool,
    prior_sd: float | tuple[float, float],
    prior: HyperPrior | None,
    seed: int,
    weights: Array | None = None,
) -> Choice:
    """Kernel parameters, μ and ζ for standardised inputs X of shape (N, d) and targets y of shape (N,).

    Without a prior the evidence is that of the papers (5.2). With one, labels ±1 at equal inputs are put together, and
    so are rows that repeat others. The noise precision of row i is ζw_i where there are weights.
    """
    if criterion != "evidence":
        return _by_press(kernel, X, y, criterion, seed, weights)
    if prior is not None:
        return _with_prior(kernel, X, y, prior, weights, refine_kernel=refine_kernel, seed=seed)
    objective = Objective(X, y, occam, as_prior_sd(prior_sd), weights=weights)
    found = _by_evidence(objective, kernel, refine_kernel=refine_kernel, seed=seed)
    best = found if isinstance(found, Evaluation) else found.optima[0]
    refinement = found if isinstance(found, Refinement) else None
    return Choice(best.kernel, np.arange(X.shape[1]), best.reduction, best.level2, refinement=refinement)


def _with_prior(
    kernel: Kernel,
    X: Array,
    y: Array,
    prior: HyperPrior,
    weights: Array | None,
    *,
    refine_kernel: bool,
    seed: int,
) -> Choice:
    """By Laplace's evidence with the prior in it."""
    objective = with_prior(X, y, prior, weights)
    found = _by_evidence(objective, kernel, refine_kernel=refine_kernel, seed=seed)
    best = found if isinstance(found, Evaluation) else found.optima[0]
    refinement = found if isinstance(found, Refinement) else None
    assert best.posterior is not None
    reduction, level2, solved = best.reduction, best.level2, best.solved
    if refinement is not None:  # which the model keeps, without matrices
        refinement = replace(refinement, optima=(replace(best, solved=None), *refinement.optima[1:]))
    if len(objective.y) < len(y):  # the model itself is one of all rows
        reduction = TridiagonalReduction.from_kernel_matrix(best.kernel(X), y, weights)
        level2, solved = at_gamma(reduction, level2.gamma, level2.mu), None
    return Choice(
        best.kernel,
        np.arange(X.shape[1]),
        reduction,
        level2,
        refinement=refinement,
        log_evidence=best.posterior.log_evidence,
        solved=solved,
    )


def with_prior(X: Array, y: Array, prior: HyperPrior, weights: Array | None = None) -> Objective:
    """Laplace's evidence of standardised inputs X of shape (N, d) and targets y of shape (N,), with the prior in it.

    Equal inputs with equal labels are no proof that labels have no noise: each such pair would add ½ log ζ without
    bound. What a group of equal inputs tells of the function is its mean label, with as many times the precision; the
    factor of the deviations within the groups, which speaks of ζ alone, is left out. Real targets that are measured
    again differ, so that the same is done where equal inputs have equal targets throughout: such rows are copies, as a
    bootstrap makes them, and n copies are one row of weight n. Without repeats nothing changes.
    """
    rows = without_copies(X, y, weights)
    return Objective(rows.X, rows.y, prior=prior, weights=rows.weights)


class WeightedRows(NamedTuple):
    """Inputs of shape (N, d), targets of shape (N,), and weights where they are not all one."""

    X: Array
    y: Array
    weights: Array | None


def without_copies(X: Array, y: Array, weights: Array | None) -> WeightedRows:
    """Rows of which copies, and labels ±1 at equal inputs, are put together, n of them as one of n times the weight."""
    rows = group_equal_inputs(X, y, weights)
    alike = rows.copies or (rows.repeated and bool(np.all(np.abs(y) == 1.0)))
    if alike and len(rows.counts) >= MIN_POINTS and np.ptp(rows.means) > 0.0:
        return WeightedRows(rows.X, rows.means, rows.counts)
    return WeightedRows(X, y, weights)


def _by_evidence(objective: Objective, kernel: Kernel, *, refine_kernel: bool, seed: int) -> Evaluation | Refinement:
    """The evidence of a kernel as it is, or a search of its parameters."""
    if not refine_kernel:
        return objective.evaluate(kernel)
    if isinstance(kernel, ARD) and len(set(kernel.scales)) == 1:
        kernel = ARD((spherical_start(_of_one_width(objective), seed).sigma,) * len(kernel.scales))
    return refine_objective(objective, kernel, seed, solved=objective.prior is not None)


def _of_one_width(objective: Objective) -> Objective:
    """The objective of kernels with one width, whose prior is that of the first of several."""
    prior = objective.prior
    if prior is None or not isinstance(prior.kernel, tuple):
        return objective
    return replace(objective, prior=replace(prior, kernel=prior.kernel[0]))


def _by_press(kernel: Kernel, X: Array, y: Array, criterion: str, seed: int, weights: Array | None) -> Choice:
    # the standardiser has warned of columns that do not vary: here they are left out in silence
    varies = np.flatnonzero(np.ptp(X, axis=0) > 0.0) if isinstance(kernel, ARD) else np.arange(X.shape[1])
    if isinstance(kernel, ARD) and 0 < len(varies) < X.shape[1]:
        kernel = ARD(tuple(np.asarray(kernel.scales)[varies].tolist()))
    found = select_by_press(kernel, X[:, varies], y, criterion=criterion, weights=weights, seed=seed)
    columns = varies[found.selected] if isinstance(found.kernel, ARD) else varies
    K = found.kernel(X[:, columns])
    check_positive_semidefinite(found.kernel, K)
    reduction = TridiagonalReduction.from_kernel_matrix(K, y, weights)
    gamma = min(found.gamma, float(reduction.gamma_max))
    mu = float(leave_one_out(K, y, gamma, weights=weights).mu)
    return Choice(found.kernel, columns, reduction, at_gamma(reduction, gamma, mu), press=found)


def relevance(kernel: Kernel, X: Array, columns: AnyArray, width: int) -> tuple[Array, AnyArray] | None:
    """1/s_i² of all `width` inputs, and the inputs that have a say; None for kernels without widths.

    An input has a say if its squared range over the data X of shape (N, len(columns)), in units of its scale, is at
    least 10⁻⁴ of the largest: a kernel that is wide in all directions is a linear one, and inputs still differ in it.
    """
    if not isinstance(kernel, RBF | ARD):
        return None
    scales = np.full(len(columns), kernel.sigma) if isinstance(kernel, RBF) else np.asarray(kernel.scales)
    found = np.zeros(width)
    found[columns] = scales**-2.0
    ranges = (np.ptp(X, axis=0) / scales) ** 2
    return found, np.asarray(columns)[ranges > _NO_SAY * ranges.max(initial=0.0)]
