"""Selection of inputs by the evidence of level 3: backward elimination and forward selection (paper 4).

Backward, by relevance (kernel "ard"): the scales of an ARD kernel are optimised, started from the best spherical
kernel; the input of the smallest 1/s_i² is removed; and so on, as long as that is an improvement.

Backward and forward, by trial (kernels "rbf" and "linear"): each input is removed from, or added to, the model in turn,
the kernel's width optimised anew, and the change of the largest evidence is made, as long as it is an improvement. The
forward search is the one of paper 4's case study of ovarian tumours. It starts from the model without inputs, whose
evidence is known too: all is noise,

    log p(D | no inputs) = −½ log N + Σ_{i=1}^{N−1} log Normal(t_i; 0, 1/ζ),     1/ζ = Σ t_i²/(N−1).

An improvement is a larger score, that is log evidence − price · number of inputs, or an equal one with fewer inputs.
For spherical and linear kernels the price is zero by default, as in the paper. For ARD it cannot be: a model with one
scale more contains the one without it (s_i → ∞), and the evidence maximised over the scales does not pay for their
number, so that it never improves when an input leaves. The default price there is 2 nats, the gain that level 2 takes
for chance (`NO_SIGNAL_GAIN`). In the same spirit the model without inputs wins against one that is less than 2 nats
better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from ..base.columns import check_inputs
from ..base.errors import NoSignalWarning, warn
from ..kernels import ARD, RBF, Kernel, Linear
from ..levels.level2 import NO_SIGNAL_GAIN
from ..levels.level3 import DEFAULT_PRIOR_SD, as_prior_sd
from ..levels.objective import Evaluation, Objective
from ..search.refinement import best_ard, best_spherical, climb_nearby
from .path import SelectionPath, SelectionStep

__all__ = ["SelectionPath", "SelectionStep", "backward_elimination", "forward_selection"]

KERNELS = ("linear", "rbf", "ard")
_TIE = 1e-3  # nats: about what the optimiser leaves


class _Model(NamedTuple):
    """A set of inputs with its kernel at the largest evidence."""

    inputs: tuple[int, ...]
    kernel: Kernel | None
    log_evidence: float
    score: float
    status: str


class _Search:
    """The evidence of sets of inputs, on given data."""

    def __init__(
        self,
        X: Any,
        y: Any,
        kernel: str,
        occam: bool,
        prior_sd: float | tuple[float, float],
        price: float | None,
        seed: int,
    ) -> None:
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)} for a selection of inputs, got {kernel!r}.")
        if price is not None and not (isinstance(price, int | float | np.number) and 0.0 <= price < np.inf):
            raise ValueError(f"price must be a number of nats, zero or more, got {price!r}.")
        self.widths = as_prior_sd(prior_sd)
        self.X, self.y, self.columns = check_inputs(X, y)
        self.family, self.occam, self.seed = kernel, occam, seed
        self.price = float((NO_SIGNAL_GAIN if kernel == "ard" else 0.0) if price is None else price)

    def empty(self) -> _Model:
        """The model without inputs: noise alone, which must be beaten by more than chance gives."""
        n, centred = len(self.y), self.y - self.y.mean()
        value = -0.5 * (np.log(n) + (n - 1) * (np.log(2.0 * np.pi * (centred @ centred) / (n - 1)) + 1.0))
        if self.occam:  # there is no μ
            value += min(0.5 * np.log(2.0 / (n - 1)) - np.log(self.widths[1]), 0.0)
        return _Model((), None, float(value), float(value), "no inputs")

    def whole(self, inputs: Sequence[int]) -> _Model:
        """The kernel optimised from several widths."""
        objective = self._objective(inputs)
        if self.family == "linear":
            return self.held(inputs, Linear())
        spherical = best_spherical(objective, self.seed)
        return self._model(inputs, spherical if self.family == "rbf" else best_ard(objective, spherical, self.seed))

    def nearby(self, inputs: Sequence[int], kernel: Kernel) -> _Model:
        """The kernel optimised from one start."""
        return self._model(inputs, climb_nearby(self._objective(inputs), kernel))

    def held(self, inputs: Sequence[int], kernel: Kernel) -> _Model:
        """The kernel as it is."""
        return self._model(inputs, self._objective(inputs).evaluate(kernel))

    def _objective(self, inputs: Sequence[int]) -> Objective:
        return Objective(self.X[:, list(inputs)], self.y, self.occam, self.widths)

    def _model(self, inputs: Sequence[int], found: Evaluation) -> _Model:
        score = found.rank - self.price * len(inputs)
        return _Model(tuple(inputs), found.kernel, found.value, score, found.level2.status)


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
    seed : int
        Chooses the subset on which widths are sifted when N > 300.
    progress : bool
        Show a progress bar on a terminal.
    """
    search = _Search(X, y, kernel, occam, prior_sd, price, seed)
    if not reoptimise and kernel != "ard":
        raise ValueError(
            f'reoptimise=False holds the scales of an ARD kernel, so it needs kernel="ard", not {kernel!r}.'
        )

    def move(model: _Model) -> tuple[_Model, dict[int, float]] | None:
        if len(model.inputs) <= 1:
            return (search.empty(), {model.inputs[0]: search.empty().score}) if model.inputs else None
        return _without_least_relevant(search, model, reoptimise) if kernel == "ard" else _without_worst(search, model)

    first = search.whole(search.columns.used)
    return _walk(search, "backward", first, move, whole_path, len(search.columns.used), progress)


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
    seed: int = 0,
    progress: bool = True,
) -> SelectionPath:
    """Add inputs, each time the one of the largest evidence, as long as that improves the model.

    Parameters
    ----------
    max_inputs : int or None
        Where to stop in any case.
    X, y, kernel, occam, prior_sd, price, whole_path, seed, progress
        As in `backward_elimination`. With "ard" each input is tried with a scale of its own, at a price.
    """
    search = _Search(X, y, kernel, occam, prior_sd, price, seed)
    if max_inputs is not None and (not isinstance(max_inputs, int | np.integer) or max_inputs < 1):
        raise ValueError(f"max_inputs must be a positive whole number or None, got {max_inputs!r}.")
    most = min(len(search.columns.used), len(search.columns.used) if max_inputs is None else int(max_inputs))

    def move(model: _Model) -> tuple[_Model, dict[int, float]] | None:
        return _with_best(search, model) if len(model.inputs) < most else None

    return _walk(search, "forward", search.empty(), move, whole_path, most, progress)


def _walk(
    search: _Search,
    direction: str,
    first: _Model,
    move: Callable[[_Model], tuple[_Model, dict[int, float]] | None],
    whole_path: bool,
    longest: int,
    progress: bool,
) -> SelectionPath:
    models, tried, best = [first], [dict[int, float]()], 0
    stopped = "There is no input left to add." if direction == "forward" else "There is no input left to remove."
    bar = tqdm(total=longest, desc=f"{direction} selection", disable=None if progress else True, leave=False)
    with bar:
        while (found := move(models[-1])) is not None:
            models.append(found[0])
            tried.append(found[1])
            bar.update()
            if _improves(models[-1], models[best]):
                best = len(models) - 1
            elif not whole_path:
                verb = "addition" if direction == "forward" else "removal"
                stopped = f"No further {verb} improves the score."
                break
    if models[best].status == "no signal" or not models[best].inputs:
        best = _without_inputs(search, models, tried)
        warn(
            f"No set of inputs on the path explains the targets more than {NO_SIGNAL_GAIN:g} nats better than noise "
            f"alone and is worth its price of {search.price:g} nats an input: none is selected.",
            NoSignalWarning,
        )
    steps = [_step(models, tried, i) for i in range(len(models))]
    return SelectionPath(
        direction, tuple(steps), best, search.price, search.occam, search.X.shape[1], search.columns, stopped
    )


def _without_inputs(search: _Search, models: list[_Model], tried: list[dict[int, float]]) -> int:
    """Where the model without inputs stands on the path; it is put at the end if it was not reached."""
    for i, model in enumerate(models):
        if not model.inputs:
            return i
    models.append(search.empty())
    tried.append({})
    return len(models) - 1


def _improves(model: _Model, than: _Model) -> bool:
    """A larger score, or an equal one with fewer inputs; noise alone is given up for more than chance gains only."""
    if not than.inputs:
        return model.score > than.score + _TIE and model.status != "no signal"
    if not model.inputs and than.status == "no signal":
        return True
    fewer = len(model.inputs) < len(than.inputs)
    return model.score >= than.score - _TIE if fewer else model.score > than.score + _TIE


def _without_least_relevant(search: _Search, model: _Model, reoptimise: bool) -> tuple[_Model, dict[int, float]]:
    assert isinstance(model.kernel, ARD)
    scales = np.asarray(model.kernel.scales)
    # of equal scales the last goes first, so that the ranking stays that of the columns
    least = len(scales) - 1 - int(np.argmax(scales[::-1]))
    inputs = model.inputs[:least] + model.inputs[least + 1 :]
    kernel = ARD(tuple(np.delete(scales, least)))
    if reoptimise:
        # paper 4 starts again from a spherical kernel; the scales that are left may be the better start
        found = max(search.nearby(inputs, kernel), search.whole(inputs), key=_score)
    else:
        found = search.held(inputs, kernel)
    return found, {model.inputs[least]: found.score}


def _without_worst(search: _Search, model: _Model) -> tuple[_Model, dict[int, float]]:
    shrink = float(np.sqrt(1.0 - 1.0 / len(model.inputs)))
    options = {
        column: search.nearby([i for i in model.inputs if i != column], _rescaled(model.kernel, shrink))
        for column in model.inputs
    }
    return _best_of(search, options, reverse=True)


def _with_best(search: _Search, model: _Model) -> tuple[_Model, dict[int, float]]:
    options = {}
    for column in search.columns.used:
        if column in model.inputs:
            continue
        inputs = sorted((*model.inputs, column))
        if model.kernel is None:
            options[column] = search.whole(inputs)
        elif isinstance(model.kernel, ARD):
            # the new scale at the median of the others
            own = dict(zip(model.inputs, model.kernel.scales, strict=True))
            own[column] = float(np.median(model.kernel.scales))
            options[column] = search.nearby(inputs, ARD(tuple(own[i] for i in inputs)))
        else:
            grow = float(np.sqrt(1.0 + 1.0 / len(model.inputs)))
            options[column] = search.nearby(inputs, _rescaled(model.kernel, grow))
    return _best_of(search, options, reverse=False)


def _rescaled(kernel: Kernel | None, factor: float) -> Kernel:
    """The start for a model with another number of inputs: distances grow with its root."""
    assert kernel is not None
    return RBF(kernel.sigma * factor) if isinstance(kernel, RBF) else kernel


def _best_of(search: _Search, options: dict[int, _Model], *, reverse: bool) -> tuple[_Model, dict[int, float]]:
    """The option of the largest score, optimised once more from several widths; of equal ones the first stays."""
    order = sorted(options, reverse=reverse)
    best = max(order, key=lambda column: round(options[column].score, 6))
    found = (
        options[best]
        if search.family == "linear"
        else max(options[best], search.whole(options[best].inputs), key=_score)
    )
    return found, {column: model.score for column, model in options.items()} | {best: found.score}


def _score(model: _Model) -> float:
    return model.score


def _step(models: list[_Model], tried: list[dict[int, float]], i: int) -> SelectionStep:
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
