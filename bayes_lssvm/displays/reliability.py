"""Are the probabilities right? Predicted against observed frequencies of a class, with error bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.typing import AnyArray, Array
from ..estimators.left_out import left_out_probabilities, left_out_training
from ..levels.calibration import Group, reliability_groups
from .canvas import BLUE, GREY, Display, plain_predictions

_RARE = 0.75  # a class that is nowhere more frequent than that is drawn larger


class ReliabilityDisplay(Display):
    """Observed frequencies of a class against predicted probabilities.

    Rows are put into at most ten groups by their probability, of about equal variance. A bar is the standard deviation
    of the observed frequency if the predicted one is right: two of three groups should have the diagonal within theirs.

    Parameters
    ----------
    groups : tuple of Group
        From `from_estimator` or `from_predictions`.
    label : object
        The class.
    left_out : bool
        Whether each row was predicted by the model of the other rows.

    Attributes
    ----------
    prob_pred, prob_true, error : array of shape (n_groups,)
        Mean probability, observed frequency and its standard deviation.
    ax_, figure_, errorbar_
        What was drawn.

    Examples
    --------
    >>> from bayes_lssvm import BayesianLSSVC, ReliabilityDisplay
    >>> from bayes_lssvm.datasets import load
    >>> X, y = load("ripley").Xy
    >>> display = ReliabilityDisplay.from_estimator(BayesianLSSVC(refine=False).fit(X, y), plot=False)
    >>> len(display.prob_pred)
    10
    """

    def __init__(self, groups: tuple[Group, ...], *, label: Any = 1, left_out: bool = False) -> None:
        self.groups, self.label, self.left_out = groups, label, left_out
        self.prob_pred = np.array([group.predicted for group in groups])
        self.prob_true = np.array([group.observed for group in groups])
        self.error = np.array([group.error for group in groups])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        left_out: bool | None = None,
        pos_label: Any = None,
        ax: Any = None,
        plot: bool = True,
        **options: Any,
    ) -> ReliabilityDisplay:
        """The reliability of a fitted classifier.

        Parameters
        ----------
        estimator : classifier with `predict_proba`
        X, y : arrays, optional
            Rows to predict. Without them the training rows are taken, each predicted by the model of the other rows, in
            closed form (`BayesianLSSVC` of two classes).
        left_out : bool, optional
            X and y are the training rows of a `BayesianLSSVC`, and each is to be predicted by the model of the others.
        pos_label : label, optional
            The class that is shown; the last one by default.
        ax : axes of matplotlib, optional
        plot : bool
            Whether to draw.
        """
        classes = estimator.classes_.tolist()
        column = len(classes) - 1 if pos_label is None else classes.index(pos_label)
        if X is None:
            probabilities, labels, rows = left_out_training(estimator)
        else:
            probabilities = (
                left_out_probabilities(estimator, np.asarray(X, dtype=float), np.asarray(y))
                if left_out
                else plain_predictions(estimator, X)
            )
            labels, rows = np.searchsorted(estimator.classes_, y), np.asarray(X, dtype=float)
        found = cls._of(probabilities[:, column], labels == column, classes[column], rows, X is None or bool(left_out))
        return found.plot(ax, **options) if plot else found

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_prob: Any, *, pos_label: Any = None, ax: Any = None, plot: bool = True, **options: Any
    ) -> ReliabilityDisplay:
        """The reliability of probabilities `y_prob` of the class `pos_label` (by default the last) for labels."""
        labels = np.asarray(y_true)
        label = np.unique(labels).tolist()[-1] if pos_label is None else pos_label
        found = cls._of(np.asarray(y_prob, dtype=float), labels == label, label, None, False)
        return found.plot(ax, **options) if plot else found

    @classmethod
    def _of(cls, p: Array, happened: AnyArray, label: Any, rows: Array | None, left_out: bool) -> ReliabilityDisplay:
        twins = np.arange(len(p)) if rows is None else np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        return cls(reliability_groups(p, happened, twins), label=label, left_out=left_out)

    @property
    def _top(self) -> float:
        """The end of both axes: one, or less for a class that is rare everywhere."""
        reach = 1.15 * float(np.max(np.maximum(self.prob_pred, self.prob_true + self.error), initial=0.05))
        return reach if reach < _RARE else 1.0

    def plot(self, ax: Any = None, *, ref_line: bool = True, color: str = BLUE, **options: Any) -> ReliabilityDisplay:
        """Draw on `ax`, or on axes of its own; options go to matplotlib's `errorbar`."""
        ax = self._on(ax)
        if ref_line:
            ax.plot([0, 1], [0, 1], ":", color=GREY, label="as predicted")
        style = {"fmt": "o-", "color": color, "lw": 1.2, "ms": 4, "capsize": 2, "label": "observed ± 1 sd"} | options
        self.errorbar_ = ax.errorbar(self.prob_pred, self.prob_true, yerr=self.error, **style)
        top = self._top
        ax.set(
            xlim=(-0.02 * top, 1.02 * top),
            ylim=(-0.04 * top, 1.04 * top),
            xlabel=f"predicted P({self.label})" + (", row left out" if self.left_out else ""),
            ylabel=f"observed share of {self.label}",
        )
        ax.legend(loc="upper left", frameon=False)
        return self
