"""The algorithms of paper 1's Table 2: a function of training rows and a seed that gives a function of test rows.

LSSVM is the least PRESS over γ and the kernel's parameters (section 1.3), LSSVM-BR criterion 15 (section 2); both are
`bayes_lssvm.press.selection.select_by_press` as a user calls it, from the widths that it starts at by itself. The two
largest sets (image, splice) have one restart instead of three, for the time that a descent takes there. The label is
the sign of the output. EP-GPC is the Gaussian process classifier of `ep_gpc`. Inputs are standardised by the training
rows; no test row is seen before `Fitted.__call__`.

The paper gives no starting point and no limit of its scaled conjugate gradients, so that which of several minima it
took is not known. One column is ours: PRESS alone with the elliptical kernel at the end of the first descent, which
starts at the best spherical kernel. It was added after the table had been seen, with stages of that descent, to tell
how much of the over-fitting is due to searching far, and for the least of several minima.

A descent of criterion 15 that stalls on its way to the flat limit is no minimum. That rule was made on simulated labels
(`bayes_lssvm.press.descent.fall_to_flat`) after the table had been seen; what is chosen without it is scored beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import ARD, RBF, Kernel
from bayes_lssvm.press.criterion import PressObjective
from bayes_lssvm.press.descent import descend
from bayes_lssvm.press.leave_one_out import leave_one_out
from bayes_lssvm.press.selection import PressOutcome, PressSelection, select_by_press
from validation.harness.scores import Prediction

from . import ep_gpc

__all__ = ["ALGORITHMS", "LSSVM", "OURS", "Algorithm", "Fitted"]

CLASSES = np.array([-1, 1])
OURS = "ARD LSSVM, one descent"
"""A column that the paper lacks."""
RESTARTS, RESTARTS_OF_MANY, MANY = 3, 1, 1000  # descents from perturbed starts; fewer from so many training rows on
STAGES = (1, 2, 5, 10, 20, 50, 100)  # iterations of a descent after which it is looked at


@dataclass(frozen=True)
class Fitted:
    """A trained classifier.

    Attributes
    ----------
    predict : function
        Test inputs of shape (n, d) to a `Prediction`.
    about : dict
        How the training went; what JSON can hold.
    stages : tuple of Fitted
        The classifiers along the first of several descents, with `iterations` in `about`, None for its end, the last.
    by_value : Fitted, optional
        The one whose descent has the least value of criterion 15, where that is another because the descent stalled.
    """

    predict: Callable[[Array], Prediction]
    about: dict[str, Any]
    stages: tuple[Fitted, ...] = ()
    by_value: Fitted | None = None

    def __call__(self, X: Array) -> Prediction:
        """Predictions of the rows of X."""
        return self.predict(X)


Fit = Callable[[Array, Array, int], Fitted]


class Algorithm(NamedTuple):
    """A column of the table.

    Attributes
    ----------
    name : str
        In the keys of cells.
    column : str
        In the table.
    fit : function
        (inputs of shape (N, d), labels ±1 of shape (N,), seed) to `Fitted`.
    """

    name: str
    column: str
    fit: Fit


def _kernel(elliptical: bool, d: int) -> Kernel:
    width = float(np.sqrt(d))
    return ARD((width,) * d) if elliptical else RBF(width)


def press_classifier(criterion: str, *, elliptical: bool, staged: bool = False) -> Fit:
    """LS-SVM with γ and kernel by a PRESS criterion; `staged` has the stages of the first descent beside it."""

    def fit(X: Array, y: Array, seed: int) -> Fitted:
        scaled = Standardiser.fit(X)
        Z = scaled(X)
        restarts = RESTARTS if len(y) < MANY else RESTARTS_OF_MANY
        found = select_by_press(
            _kernel(elliptical, X.shape[1]), Z, y, criterion=criterion, n_restarts=restarts, seed=seed, progress=False
        )
        train = _Training(scaled, Z[:, found.selected], y, found.selected)
        chosen = train.fitted(found.kernel, found.gamma)
        about = {**_about(found, len(y)), "loo_error": chosen.about["loo_error"]}
        stages = train.stages(criterion, found.outcomes[0]) if staged else ()
        least = least_value(found)
        other = None if least is None else train.fitted(least.kernel, least.gamma)
        return Fitted(chosen.predict, about, stages, other)

    return fit


def least_value(found: PressSelection) -> PressOutcome | None:
    """The choice if descents that stall counted as minima; None where it is the choice that was made."""
    inside = [o for o in found.outcomes if not o.flat_limit]
    best = min(inside, key=lambda o: o.evaluation.value, default=None)
    if best is None or not best.stalled:
        return None
    flattest = min((o.evaluation.press for o in found.outcomes if o.flat_limit), default=np.inf)
    chosen = best.gamma == found.gamma and best.kernel == found.kernel
    return None if chosen or flattest <= best.evaluation.press else best


class _Training(NamedTuple):
    """Training rows: how they were standardised, the columns of them that vary, labels, and which columns these are."""

    scaled: Standardiser
    Z: Array
    y: Array
    columns: AnyArray

    def fitted(self, kernel: Kernel, gamma: float, **about: Any) -> Fitted:
        """The LS-SVM with this kernel and γ."""
        model = leave_one_out(kernel(self.Z), self.y, gamma)

        def predict(rows: Array) -> Prediction:
            output = kernel(self.scaled(rows)[:, self.columns], self.Z) @ model.alpha + model.intercept
            return Prediction(np.where(output >= 0.0, 1, -1))

        mean_square = 2.0 * float(model.press) / len(self.y)
        return Fitted(predict, {**about, "mean_square": mean_square, "loo_error": 100.0 * float(model.error_rate)})

    def stages(self, criterion: str, end: PressOutcome) -> tuple[Fitted, ...]:
        """A descent after so many iterations, from its start to its end; the end alone where there are many rows."""
        found = []
        if len(self.y) < MANY:
            found.append(self.fitted(end.start.kernel, end.start.gamma, iterations=0))
            objective = PressObjective(self.Z, self.y, criterion)
            for limit in STAGES:
                after = descend(objective, end.start, max_iter=limit)
                if after.converged:
                    break
                found.append(self.fitted(after.kernel, after.gamma, iterations=limit))
        return (*found, self.fitted(end.kernel, end.gamma, iterations=None))


def _about(found: PressSelection, n: int) -> dict[str, Any]:
    chosen = next(o for o in found.outcomes if o.gamma == found.gamma and o.kernel == found.kernel)
    return {
        "status": found.status,
        "flat_limit": chosen.flat_limit,
        "stalled": sum(o.stalled for o in found.outcomes),
        "mean_square": 2.0 * found.press / n,
        "gamma": found.gamma,
        "eta": found.eta,
        "converged": found.converged,
        "starts": len(found.outcomes),
        "n_evaluations": found.n_evaluations,
    }


def gaussian_process(*, elliptical: bool) -> Fit:
    """Gaussian process classifier by expectation propagation."""

    def fit(X: Array, y: Array, seed: int) -> Fitted:
        scaled = Standardiser.fit(X)
        model = ep_gpc.fit(scaled(X), y, elliptical=elliptical)

        def predict(rows: Array) -> Prediction:
            p = model.probability(scaled(rows))
            return Prediction(np.where(p >= 0.5, 1, -1), np.stack([1.0 - p, p], axis=1))

        about = {"log_evidence": model.log_evidence, "converged": model.converged, "eta": model.eta}
        return Fitted(predict, {**about, "n_evaluations": model.n_evaluations})

    return fit


LSSVM = (
    Algorithm("lssvm-rbf", "RBF LSSVM", press_classifier("press", elliptical=False)),
    Algorithm("lssvm-br-rbf", "RBF LSSVM-BR", press_classifier("press-br", elliptical=False)),
    Algorithm("lssvm-ard", "ARD LSSVM", press_classifier("press", elliptical=True, staged=True)),
    Algorithm("lssvm-br-ard", "ARD LSSVM-BR", press_classifier("press-br", elliptical=True)),
)
GAUSSIAN_PROCESS = (
    Algorithm("ep-gpc-rbf", "RBF EP-GPC", gaussian_process(elliptical=False)),
    Algorithm("ep-gpc-ard", "ARD EP-GPC", gaussian_process(elliptical=True)),
)
ALGORITHMS: dict[str, Algorithm] = {a.name: a for a in (*LSSVM, *GAUSSIAN_PROCESS)}
