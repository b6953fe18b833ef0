"""Selection of γ and the kernel's parameters by PRESS, plain or regularised, from several starts (paper 1).

    "press"            least PRESS (section 1.3)
    "press-br"         Gaussian prior over the relevances η, ξ and ζ integrated out (eq 15)
    "press-laplace"    Laplace prior: inputs are removed (section 4.2); needs an ARD kernel
    "press-curvature"  prior over the curvature of the fitted function (section 4.2); RBF and ARD kernels
    "press-slope"      prior over its slope (section 4.2); RBF and ARD kernels
    "loo"              greatest likelihood of left-out labels by calibrated probabilities; for classes

Every start's outcome is reported. The criteria with a prior have no lower bound. As η → 0 with γ growing to match,
the model tends to a linear one (or, with γ growing faster, to polynomials of higher degree), PRESS to theirs, and the
penalty to −∞, by d nats for each factor e. A descent that ends with a kernel that varies by less than 10⁻⁴ over the
data has found no minimum, nor has one that ends with γ → 0. It is chosen only if its PRESS alone is no worse than
that of the minima inside, or if there are none, and `status` then says "flat limit": the data do not ask for a kernel
of finite width. Such a result is usable too; it is a linear model to four digits, as a rule. A descent of eq 15 that
stalls on its way there (`descent.fall_to_flat`) has found no minimum either. It is chosen only where no descent ends at
a minimum and none at the limit has less PRESS, and `status` then says "stalled".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base.errors import ConstantFeatureWarning, NoSignalWarning, warn
from ..base.memory import require_matrices
from ..base.progress import tqdm
from ..base.typing import AnyArray, Array
from ..kernels import ARD, Kernel
from ..levels.level2 import NO_SIGNAL_GAIN
from ..search.order import OrderedSearch
from ..search.ties import Candidate, warn_of_alike_columns, warn_of_idle_parameters, warn_of_ties
from .criterion import CRITERIA, PressObjective, sensitivities
from .descent import PressOutcome, descend, settled, starts
from .leave_one_out import LeaveOneOut, leave_one_out
from .pruning import descend_with_pruning

__all__ = ["CRITERIA", "PressOutcome", "PressSelection", "select_by_press"]


@dataclass(frozen=True)
class PressSelection:
    """What was selected, and what else was found.

    Attributes
    ----------
    criterion : str
    kernel : Kernel
        With the selected parameters, over the selected inputs.
    gamma : float
    selected : array of bool of shape (d,)
        Inputs that are left: all but constant ones (ARD kernels) and those that the Laplace prior removes.
    eta : array
        Relevances of paper 1: of shape (d,) for an ARD kernel, s_i⁻² with exact zeros for removed inputs; one for each
        parameter of other kernels (see `press.sensitivities`).
    value : float
        The criterion.
    press : float
        Q = ½ Σ w_i (y_i − ŷ_i^(−i))².
    baseline : float
        Q of the model without inputs.
    penalty : float
        Ω.
    xi, zeta : float
        ξ_eff and ζ_eff (section 2.2); ξ_eff is zero without a penalty.
    status : str
        "interior"; "flat limit" and "stalled" (the module's docstring); "interpolation" where γ is at the upper end of
        its range; "no signal" where ½ℓ log(baseline/press) is below 2 nats.
    at_bound : tuple of str
        Parameters at an edge of the searched box.
    converged : bool
        Whether the descent to the selected parameters converged.
    outcomes : tuple of PressOutcome
        One for each start, in the order of the starts.
    n_evaluations : int
        Evaluations of the criterion with its gradient, over all starts.
    """

    criterion: str
    kernel: Kernel
    gamma: float
    selected: AnyArray
    eta: Array
    value: float
    press: float
    baseline: float
    penalty: float
    xi: float
    zeta: float
    status: str
    at_bound: tuple[str, ...]
    converged: bool
    outcomes: tuple[PressOutcome, ...]
    n_evaluations: int

    def inputs(self, X: Array) -> Array:
        """The selected columns of X: what `kernel` takes."""
        return np.asarray(X, dtype=float)[:, self.selected]

    def leave_one_out(self, X: Array, y: Array, *, weights: Array | None = None, bias: bool = True) -> LeaveOneOut:
        """Leave-one-out of the selected model on its training data."""
        return leave_one_out(self.kernel(self.inputs(X)), y, self.gamma, weights=weights, bias=bias)


def select_by_press(
    kernel: Kernel,
    X: Array,
    y: Array,
    *,
    criterion: str = "press",
    weights: Array | None = None,
    bias: bool = True,
    n_restarts: int = 3,
    seed: int = 0,
    max_iter: int = 200,
    progress: bool = True,
) -> PressSelection:
    """γ and kernel parameters at the least value of a PRESS criterion.

    Parameters
    ----------
    kernel : Kernel
        Its present parameters are one of the starting points.
    X : array of shape (N, d)
        Inputs, standardised as a rule.
    y : array of shape (N,)
        Targets or labels ±1.
    criterion : str
        One of `CRITERIA`.
    weights : array of shape (N,), optional
        Noise precisions of the points in units of ζ.
    bias : bool
        Whether the model has a bias.
    n_restarts : int
        Descents from random perturbations of the best starting point, besides those from the starting points
        themselves.
    seed : int
        Of the perturbations.
    max_iter : int
        Of each descent.
    progress : bool
        Show a progress bar on a terminal.
    """
    objective = PressObjective(X, y, criterion, weights, bias)
    d = objective.X.shape[1]
    kernel.check_width(d)
    if criterion == "press-laplace" and not isinstance(kernel, ARD):
        raise ValueError(f"press-laplace removes inputs, so it needs an ARD kernel, not {kernel!s}.")
    matrices = 10 if criterion in ("press-curvature", "press-slope") else 5
    require_matrices(objective.n, matrices, "Select on a subset of the points.")
    varies = _varying(objective.X)
    if isinstance(kernel, ARD) and not varies.all():
        kernel = ARD(tuple(np.asarray(kernel.scales)[varies]))
        objective = PressObjective(objective.X[:, varies], y, criterion, weights, bias)
    # in an order of its own, so that no order of rows and columns can lead the descents elsewhere
    search = OrderedSearch.of(objective.X, objective.y, kernel, objective.weights)
    order, targets = search.order, np.asarray(y, dtype=float).ravel()
    ordered = PressObjective(
        order.inputs(objective.X), order.targets(targets), criterion, objective.w[order.rows], objective.bias
    )
    one = descend_with_pruning if criterion == "press-laplace" else descend
    found = starts(ordered, search.there(kernel), n_restarts=n_restarts, seed=seed)
    bar = tqdm(found, desc=criterion, disable=None if progress else True, leave=False)
    ends = [one(ordered, start, max_iter=max_iter) for start in bar]
    best = _best(ordered, ends)
    ends[best] = settled(ordered, ends[best], max_iter=max_iter)
    # rows stay in that order, in which sums are the same: where γ is at its upper end they differ in the sixth digit
    own = replace(objective, X=objective.X[order.rows], y=targets[order.rows], weights=ordered.weights)
    outcomes = [_given_back(own, search, end) for end in ends]
    outcomes = [_widened(o, varies) if isinstance(kernel, ARD) else o for o in outcomes]
    selection = _selection(objective, outcomes, outcomes[best])
    _warn_of_ties(ordered, [ends[best], *ends[:best], *ends[best + 1 :]])
    if isinstance(kernel, ARD):
        given = np.flatnonzero(varies)
        warn_of_alike_columns([given[list(group)].tolist() for group in order.alike], selection.eta)
    return selection


def _warn_of_ties(objective: PressObjective, ends: list[PressOutcome]) -> None:
    """Warn where another end is as good as the first; the limits at which a criterion has no minimum are no optima."""

    def nats(value: float) -> float:
        return -0.5 * objective.n * float(np.log(value)) if objective.criterion == "press" else -value

    best = ends[0]
    if best.flat_limit or best.stalled:
        return
    inside = [end for end in ends if not (end.flat_limit or end.stalled)]
    tied = [Candidate(objective.X[:, e.selected], e.kernel, e.gamma, nats(e.evaluation.value)) for e in inside]
    warn_of_ties(objective.y, tied)
    own = objective if best.selected.all() else replace(objective, X=objective.X[:, best.selected])
    edges = np.array([name in best.at_bound for name in best.kernel.param_names], dtype=bool)
    warn_of_idle_parameters(lambda k: nats(own.evaluate(k, best.gamma).value), best.kernel, own.X, edges)


def _given_back(objective: PressObjective, search: OrderedSearch, end: PressOutcome) -> PressOutcome:
    """An outcome in the order of the columns as they were given, and evaluated on them."""
    selected = np.zeros_like(end.selected)
    selected[search.order.columns] = end.selected
    left = np.argsort(search.order.columns[end.selected])  # inputs may have been removed
    places = left if isinstance(end.kernel, ARD) else search.places
    kernel = end.kernel.moved(left) if isinstance(end.kernel, ARD) else search.back(end.kernel)
    names = [end.kernel.param_names[i] for i in places.tolist()]  # of the parameters, before they were moved
    at_bound = [new for old, new in zip(names, kernel.param_names, strict=True) if old in end.at_bound]
    own = replace(objective, X=objective.X[:, selected]) if not selected.all() else objective
    return replace(
        end,
        start=replace(end.start, kernel=search.back(end.start.kernel)),
        kernel=kernel,
        selected=selected,
        evaluation=own.evaluate(kernel, end.gamma, gradient=True),
        at_bound=(*(name for name in end.at_bound if name == "gamma"), *at_bound),
    )


def _varying(X: Array) -> AnyArray:
    varies = np.ptp(X, axis=0) > 10 * np.finfo(float).eps * np.abs(X).max(axis=0)
    if not varies.any():
        raise ValueError("No column of X varies, so there is nothing to predict the targets from.")
    if not varies.all():
        which = np.flatnonzero(~varies).tolist()
        warn(
            f"These columns of X do not vary, so they have no relevance: {', '.join(map(str, which[:10]))}.",
            ConstantFeatureWarning,
        )
    return np.asarray(varies)


def _widened(outcome: PressOutcome, varies: AnyArray) -> PressOutcome:
    """Selected inputs counted among all columns, constant ones included."""
    selected = np.zeros(len(varies), dtype=bool)
    selected[np.flatnonzero(varies)[outcome.selected]] = True
    return replace(outcome, selected=selected)


def _best(objective: PressObjective, outcomes: list[PressOutcome]) -> int:
    """The least value of those inside; an outcome at the flat limit must have no more PRESS than that one.

    At the limit, and where a descent stalls on its way there, the value says where the box ends and nothing else. So
    outcomes at the limit are compared by PRESS, and stalled ones too, which count where none is inside.
    """
    n, d = objective.X.shape

    def value(i: int) -> float:
        found = outcomes[i].evaluation
        if objective.criterion != "press-laplace":
            return found.value
        # all d inputs counted, so that outcomes with different inputs left can be compared: the density of the d
        # relevances, zeros included, with ξ integrated out
        return 0.5 * n * float(np.log(found.press)) + d * float(np.log(found.penalty))

    inside = [i for i, o in enumerate(outcomes) if not (o.flat_limit or o.stalled)]
    limits = [i for i, o in enumerate(outcomes) if o.flat_limit or (o.stalled and not inside)]
    flattest = min(limits, key=lambda i: outcomes[i].evaluation.press, default=None)
    if not inside:
        assert flattest is not None
        return flattest
    best = min(inside, key=value)
    if flattest is not None and outcomes[flattest].evaluation.press <= outcomes[best].evaluation.press:
        return flattest
    return best


def _selection(objective: PressObjective, outcomes: list[PressOutcome], best: PressOutcome) -> PressSelection:
    evaluation, baseline = best.evaluation, objective.baseline
    eta = sensitivities(best.kernel).eta
    if isinstance(best.kernel, ARD):
        whole = np.zeros(len(best.selected))
        whole[best.selected] = eta
        eta = whole
    status = "interior"
    if best.flat_limit:
        status = "flat limit"
    elif best.stalled:
        status = "stalled"
    elif best.interpolates:
        status = "interpolation"
    gain = 0.5 * objective.n * float(np.log(baseline / evaluation.press))
    if gain < NO_SIGNAL_GAIN:
        status = "no signal"
        warn(
            f"PRESS is {evaluation.press:.4g} with the inputs and {baseline:.4g} without them, a gain of {gain:.2f} "
            "nats: these inputs hardly predict the targets"
            + (
                ", or the penalty drove the search to a model without them; criterion='press' shows which."
                if best.flat_limit
                else "."
            ),
            NoSignalWarning,
        )
    return PressSelection(
        criterion=objective.criterion,
        kernel=best.kernel,
        gamma=best.gamma,
        selected=best.selected,
        eta=eta,
        value=evaluation.value,
        press=evaluation.press,
        baseline=baseline,
        penalty=evaluation.penalty,
        xi=evaluation.xi,
        zeta=evaluation.zeta,
        status=status,
        at_bound=best.at_bound,
        converged=best.converged,
        outcomes=tuple(outcomes),
        n_evaluations=sum(o.n_evaluations for o in outcomes),
    )
