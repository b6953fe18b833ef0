"""Selection of inputs by the evidence of level 3: backward, forward and stepwise (paper 4).

Backward, by relevance (kernel "ard"): the scales of an ARD kernel are optimised, started from the best spherical
kernel; the input of the smallest 1/s_i² is removed; and so on, as long as that is an improvement.

Backward and forward, by trial (kernels "rbf" and "linear"): each input is removed from, or added to, the model in turn,
the kernel's width optimised anew, and the change of the largest evidence is made, as long as it is an improvement. The
forward search is the one of paper 4's case study of ovarian tumours. It starts from the model without inputs, whose
evidence is known too (`input_sets`). The stepwise search goes forward too, but at each step it may as well take back an
input that a later one has made superfluous: the better of the best addition and the best removal is made.

An improvement is a larger score, that is log evidence − price · number of inputs, or an equal one with fewer inputs.
For spherical and linear kernels the price is zero by default, as in the paper. For ARD it cannot be: a model with one
scale more contains the one without it (s_i → ∞), and the evidence maximised over the scales does not pay for their
number, so that it never improves when an input leaves. The default price there is 2 nats, the gain that level 2 takes
for chance (`NO_SIGNAL_GAIN`). In the same spirit the model without inputs wins against one that is less than 2 nats
better.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.errors import NoSignalWarning, warn
from ..base.progress import tqdm
from ..base.typing import Array
from ..kernels import ARD, RBF, Kernel
from ..levels.level2 import NO_SIGNAL_GAIN
from ..levels.level3 import DEFAULT_PRIOR_SD
from ..search.climb import with_bar
from ..search.ties import warn_of_alike_columns
from .input_sets import InputSet, InputSets
from .path import SelectionPath, SelectionStep

__all__ = ["backward_elimination", "forward_selection", "stepwise_selection"]

_SAME_SCALE = 1e-9  # of relative difference
_STEP = {"forward": "addition", "backward": "removal", "stepwise": "addition or removal"}
_TIE = 1e-3  # nats: about what the optimiser leaves


def backward_elimination(
    X: Any,
    y: Any,
    *,
    kernel: str = "ard",
    occam: bool = True,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    price: float | None = None,
    reoptimise: bool = True,
    whole_path: bool = False,
    weights: Array | None = None,
    seed: int = 0,
    progress: bool = True,
) -> SelectionPath:
    """Remove inputs as long as that improves the model.

    Parameters
    ----------
    X : array of shape (N, d)
        Inputs, standardised as a rule.
    y : array of shape (N,)
        Targets: ±1 for classes, real numbers for regression.
    kernel : {"ard", "rbf", "linear"}
        With "ard" the input of the smallest relevance is the one to remove; otherwise each is tried.
    occam : bool
        Whether the evidence has the Occam factor of μ and ζ (5.2) or not.
    prior_sd : float or pair of floats
        Prior widths of log μ and log ζ.
    price : float or None
        Nats that an input must bring; 2 for "ard" and 0 otherwise by default.
    reoptimise : bool
        False, for "ard" only, holds the scales of the model of all inputs: one optimisation, one ranking, and as many
        evaluations as there are inputs.
    whole_path : bool
        Go on to the model without inputs, and choose the best of the whole path; by default the search ends with the
        first step that is no improvement.
    weights : array of shape (N,), optional
        Positive; the noise of point i has the precision ζw_i.
    seed : int
        Chooses the subset on which widths are sifted when N > 300.
    progress : bool
        Show a progress bar on a terminal.
    """
    sets = InputSets(X, y, kernel, occam, prior_sd, price, seed, weights)
    if not reoptimise and kernel != "ard":
        raise ValueError(
            f'reoptimise=False keeps the scales of an ARD kernel fixed, so it needs kernel="ard", not {kernel!r}.'
        )

    def move(model: InputSet) -> tuple[InputSet, dict[int, float]] | None:
        if len(model.inputs) <= 1:
            return (sets.empty(), {model.inputs[0]: sets.empty().score}) if model.inputs else None
        return _without_least_relevant(sets, model, reoptimise) if kernel == "ard" else _without_worst(sets, model)

    first = sets.whole(sets.columns.used)
    return _walk(sets, "backward", first, move, whole_path, len(sets.columns.used), progress)


def forward_selection(
    X: Any,
    y: Any,
    *,
    kernel: str = "rbf",
    occam: bool = True,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    price: float | None = None,
    max_inputs: int | None = None,
    whole_path: bool = False,
    weights: Array | None = None,
    seed: int = 0,
    progress: bool = True,
) -> SelectionPath:
    """Add inputs, each time the one of the largest evidence, as long as that improves the model.

    Parameters
    ----------
    max_inputs : int or None
        Where to stop in any case.
    X, y, kernel, occam, prior_sd, price, whole_path, weights, seed, progress
        As in `backward_elimination`. With "ard" each input is tried with a scale of its own, at a price.
    """
    sets = InputSets(X, y, kernel, occam, prior_sd, price, seed, weights)
    most = _most(sets, max_inputs)

    def move(model: InputSet) -> tuple[InputSet, dict[int, float]] | None:
        return _with_best(sets, model) if len(model.inputs) < most else None

    return _walk(sets, "forward", sets.empty(), move, whole_path, most, progress)


def stepwise_selection(
    X: Any,
    y: Any,
    *,
    kernel: str = "rbf",
    occam: bool = True,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    price: float | None = None,
    max_inputs: int | None = None,
    weights: Array | None = None,
    seed: int = 0,
    progress: bool = True,
) -> SelectionPath:
    """Add or take back one input at a time, whatever has the larger evidence, as long as that improves the model.

    The score grows with every step that is kept, so that no set of inputs comes twice and the search ends.

    Parameters
    ----------
    X, y, kernel, occam, prior_sd, price, max_inputs, weights, seed, progress
        As in `forward_selection`.
    """
    sets = InputSets(X, y, kernel, occam, prior_sd, price, seed, weights)
    most = _most(sets, max_inputs)

    def move(model: InputSet) -> tuple[InputSet, dict[int, float]] | None:
        found = [_with_best(sets, model)] if len(model.inputs) < most else []
        if len(model.inputs) > 1:
            less = _without_least_relevant(sets, model, True) if kernel == "ard" else _without_worst(sets, model)
            found.append(less)
        if not found:
            return None
        best = max((option for option, _ in found), key=_score)
        return best, {column: score for _, scores in found for column, score in scores.items()}

    return _walk(sets, "stepwise", sets.empty(), move, False, most, progress)


def _most(sets: InputSets, max_inputs: int | None) -> int:
    """How many inputs a model may have."""
    if max_inputs is not None and (not isinstance(max_inputs, int | np.integer) or max_inputs < 1):
        raise ValueError(f"max_inputs must be a positive whole number or None, got {max_inputs!r}.")
    return min(len(sets.columns.used), len(sets.columns.used) if max_inputs is None else int(max_inputs))


def _walk(
    sets: InputSets,
    direction: str,
    first: InputSet,
    move: Callable[[InputSet], tuple[InputSet, dict[int, float]] | None],
    whole_path: bool,
    longest: int,
    progress: bool,
) -> SelectionPath:
    models, tried, best = [first], [dict[int, float]()], 0
    stopped = f"There is no input left to {'remove' if direction == 'backward' else 'add'}."
    bar = tqdm(total=longest, desc=f"{direction} selection", disable=None if progress else True, leave=False)
    with bar:
        while (found := move(models[-1])) is not None:
            models.append(found[0])
            tried.append(found[1])
            bar.update()
            if _improves(models[-1], models[best]):
                best = len(models) - 1
            elif not whole_path:
                stopped = f"No further {_STEP[direction]} improves the score."
                break
    if models[best].status == "no signal" or not models[best].inputs:
        best = _without_inputs(sets, models, tried)
        warn(
            f"No set of inputs on the path explains the targets more than {NO_SIGNAL_GAIN:g} nats better than "
            f"noise alone and repays its price of {sets.price:g} nats per input: none is selected.",
            NoSignalWarning,
        )
    chosen = np.zeros(sets.X.shape[1])
    chosen[list(models[best].inputs)] = 1.0
    warn_of_alike_columns(sets.order.alike, chosen)
    steps = [_step(models, tried, i) for i in range(len(models))]
    return SelectionPath(direction, tuple(steps), best, sets.price, sets.occam, sets.X.shape[1], sets.columns, stopped)


def _without_inputs(sets: InputSets, models: list[InputSet], tried: list[dict[int, float]]) -> int:
    """Where the model without inputs stands on the path; it is put at the end if it was not reached."""
    for i, model in enumerate(models):
        if not model.inputs:
            return i
    models.append(sets.empty())
    tried.append({})
    return len(models) - 1


def _improves(model: InputSet, than: InputSet) -> bool:
    """A larger score, or an equal one with fewer inputs; noise alone is given up for more than chance gains only."""
    if not than.inputs:
        return model.score > than.score + _TIE and model.status != "no signal"
    if not model.inputs and than.status == "no signal":
        return True
    fewer = len(model.inputs) < len(than.inputs)
    return model.score >= than.score - _TIE if fewer else model.score > than.score + _TIE


def _without_least_relevant(sets: InputSets, model: InputSet, reoptimise: bool) -> tuple[InputSet, dict[int, float]]:
    assert isinstance(model.kernel, ARD)
    scales = np.asarray(model.kernel.scales)
    widest = np.flatnonzero(scales >= (1.0 - _SAME_SCALE) * scales.max())
    least = max(widest.tolist(), key=lambda i: sets.place[model.inputs[i]])
    inputs = model.inputs[:least] + model.inputs[least + 1 :]
    kernel = ARD(tuple(np.delete(scales, least)))
    if reoptimise:
        # paper 4 starts again from a spherical kernel; the scales that are left may be the better start
        found = max(sets.nearby(inputs, kernel), sets.whole(inputs), key=_score)
    else:
        found = sets.held(inputs, kernel)
    return found, {model.inputs[least]: found.score}


def _without_worst(sets: InputSets, model: InputSet) -> tuple[InputSet, dict[int, float]]:
    shrink = float(np.sqrt(1.0 - 1.0 / len(model.inputs)))
    options = {
        column: sets.nearby([i for i in model.inputs if i != column], _rescaled(model.kernel, shrink))
        for column in with_bar(model.inputs, "inputs left out")
    }
    return _best_of(sets, options, reverse=True)


def _with_best(sets: InputSets, model: InputSet) -> tuple[InputSet, dict[int, float]]:
    options = {}
    for column in with_bar([column for column in sets.columns.used if column not in model.inputs], "inputs tried"):
        inputs = sorted((*model.inputs, column))
        if model.kernel is None:
            options[column] = sets.whole(inputs)
        elif isinstance(model.kernel, ARD):
            # the new scale at the median of the others
            own = dict(zip(model.inputs, model.kernel.scales, strict=True))
            own[column] = float(np.median(model.kernel.scales))
            options[column] = sets.nearby(inputs, ARD(tuple(own[i] for i in inputs)))
        else:
            grow = float(np.sqrt(1.0 + 1.0 / len(model.inputs)))
            options[column] = sets.nearby(inputs, _rescaled(model.kernel, grow))
    return _best_of(sets, options, reverse=False)


def _rescaled(kernel: Kernel | None, factor: float) -> Kernel:
    """The start for a model with another number of inputs: distances grow with its root."""
    assert kernel is not None
    return RBF(kernel.sigma * factor) if isinstance(kernel, RBF) else kernel


def _best_of(sets: InputSets, options: dict[int, InputSet], *, reverse: bool) -> tuple[InputSet, dict[int, float]]:
    """The option of the largest score, optimised once more from several widths; of equal ones the first stays."""
    order = sorted(options, key=lambda column: sets.place[column], reverse=reverse)
    best = max(order, key=lambda column: round(options[column].score, 6))
    found = (
        options[best] if sets.family == "linear" else max(options[best], sets.whole(options[best].inputs), key=_score)
    )
    return found, {column: model.score for column, model in options.items()} | {best: found.score}


def _score(model: InputSet) -> float:
    return model.score


def _step(models: list[InputSet], tried: list[dict[int, float]], i: int) -> SelectionStep:
    model = models[i]
    changed = set(model.inputs) ^ set(models[i - 1].inputs) if i else set()
    relevance = np.square(model.kernel.scales) ** -1.0 if isinstance(model.kernel, ARD) else None
    return SelectionStep(
        inputs=model.inputs,
        changed=changed.pop() if len(changed) == 1 else None,
        kernel=model.kernel,
        log_evidence=model.log_evidence,
        score=model.score,
        relevance=relevance,
        status=model.status,
        tried=tried[i],
    )
