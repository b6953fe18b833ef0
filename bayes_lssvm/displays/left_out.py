"""How well are left-out rows predicted? Targets against predictions by the model of the other rows, with error bars."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from ..base.typing import Array
from ..estimators.left_out import left_out_targets
from .canvas import BLUE, GREY, VERMILION, Display, legend_above


class LeftOutDisplay(Display):
    """Targets against leave-one-out predictions of a regression.

    Attributes
    ----------
    y_true, y_pred, std : array of shape (N,)
        Targets, predictions by the model of the other rows, and their standard deviations, noise included.
    ax_, figure_

    Examples
    --------
    >>> from bayes_lssvm import LeftOutDisplay
    >>> display = LeftOutDisplay.from_predictions([1.0, 2.0, 9.0], [1.1, 1.8, 3.0], [0.2, 0.2, 0.2], plot=False)
    >>> round(display.coverage(0.9), 2)
    0.67
    """

    def __init__(self, y_true: Array, y_pred: Array, std: Array) -> None:
        self.y_true, self.y_pred, self.std = y_true, y_pred, std

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, plot: bool = True, **options: Any) -> LeftOutDisplay:
        """The training rows of a fitted `BayesianLSSVR`, each predicted by the model of the others in closed form."""
        found = left_out_targets(estimator)
        display = cls(found.rows.targets, found.rows.predictions, np.sqrt(found.variances))
        return display.plot(ax, **options) if plot else display

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, std: Any, *, ax: Any = None, plot: bool = True, **options: Any
    ) -> LeftOutDisplay:
        """Targets, predictions and their standard deviations."""
        display = cls(*(np.asarray(values, dtype=float) for values in (y_true, y_pred, std)))
        return display.plot(ax, **options) if plot else display

    @property
    def deviates(self) -> Array:
        """Errors in units of their predicted standard deviations."""
        return np.asarray((self.y_true - self.y_pred) / self.std)

    def coverage(self, probability: float) -> float:
        """The share of targets within the central interval that has this probability."""
        return float(np.mean(np.abs(self.deviates) <= ndtri(0.5 + 0.5 * probability)))

    def plot(self, ax: Any = None, *, probability: float = 0.9, **options: Any) -> LeftOutDisplay:
        """Draw on `ax`, or on axes of its own; options go to matplotlib's `errorbar`."""
        ax = self._on(ax)
        reach = float(ndtri(0.5 + 0.5 * probability))
        inside = np.abs(self.deviates) <= reach
        low, high = float(self.y_pred.min()), float(self.y_pred.max())
        ax.plot([low, high], [low, high], ":", color=GREY)
        for rows, color, name in ((inside, BLUE, "within"), (~inside, VERMILION, "beyond")):
            style = {"fmt": "o", "ms": 3, "lw": 0.5, "alpha": 0.6, "color": color} | options
            label = f"{name} the {probability:.0%} interval ({rows.sum()})"
            ax.errorbar(self.y_pred[rows], self.y_true[rows], yerr=reach * self.std[rows], label=label, **style)
        ax.set(xlabel="prediction, row left out", ylabel="target")
        ax.ticklabel_format(style="plain")
        legend_above(ax)
        return self
