"""Which inputs matter? By the scales of an ARD kernel, or by how far predictions move when one is held at its mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.typing import Array
from ..kernels import ARD
from .canvas import BLUE, Display, input_names, plain_predictions, training_inputs

_MOST_ROWS, _SHOWN, _FEWEST = 400, 20, 5


class RelevanceDisplay(Display):
    """Bars for the inputs, the most relevant one first.

    Attributes
    ----------
    names : tuple of str
    values : array of shape (d,)
    measure : str
        What the bars are, in words.
    ax_, figure_, bars_

    Examples
    --------
    >>> from bayes_lssvm import BayesianLSSVC, RelevanceDisplay
    >>> from bayes_lssvm.datasets import load
    >>> X, y = load("ripley").Xy
    >>> display = RelevanceDisplay.from_estimator(BayesianLSSVC(refine=False).fit(X, y), plot=False)
    >>> [display.names[i] for i in display.order]
    ['x1', 'x0']
    """

    def __init__(self, names: Sequence[str], values: Array, measure: str) -> None:
        self.names, self.values, self.measure = tuple(names), values, measure

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        method: str = "auto",
        groups: Sequence[str] | None = None,
        ax: Any = None,
        plot: bool = True,
        **options: Any,
    ) -> RelevanceDisplay:
        """The relevance of the inputs of a fitted model.

        Parameters
        ----------
        X : array of shape (n, d), optional
            Rows to predict for method="change"; the training rows where the model has kept them.
        method : {"auto", "scales", "change"}
            "scales": 1/s² of an ARD kernel. "change": how far predictions move on average when an input is held at its
            mean: probabilities, or the target in its units. "auto": scales where there are any.
        groups : sequence of d str, optional
            Inputs with the same name are held together, such as the columns that one text became; those of the table
            that the command line read by default.
        """
        scales = isinstance(getattr(estimator, "kernel_", None), ARD) and hasattr(estimator, "relevance_")
        if method not in ("auto", "scales", "change"):
            raise ValueError(f'method must be "auto", "scales" or "change", got {method!r}.')
        if method == "scales" and not scales:
            raise ValueError('method="scales" is for a model with kernel="ard", which has a scale for each input.')
        if scales and method != "change":
            found = cls(input_names(estimator), np.asarray(estimator.relevance_), "relevance 1/s² of the ARD kernel")
        else:
            found = cls._by_change(estimator, X, groups)
        return found.plot(ax, **options) if plot else found

    @classmethod
    def _by_change(cls, model: Any, X: Any, groups: Sequence[str] | None) -> RelevanceDisplay:
        rows = training_inputs(model) if X is None else np.asarray(X, dtype=float)
        if rows is None:
            raise ValueError("This model has not kept its training rows: give X, rows to predict.")
        rows = rows[:: max(1, -(-len(rows) // _MOST_ROWS))]
        encoding = getattr(model, "encoding_", None)
        own = input_names(model) if encoding is None else encoding.sources
        owner = np.array(own if groups is None else groups)
        names = tuple(dict.fromkeys(owner.tolist()))
        before = plain_predictions(model, rows)
        values = []
        for name in names:
            held = np.where(owner == name, rows.mean(axis=0), rows)
            moved = np.abs(plain_predictions(model, held) - before).sum(axis=1)
            values.append(float(np.mean(moved)) * (0.5 if hasattr(model, "classes_") else 1.0))
        what = "probabilities" if hasattr(model, "classes_") else "predictions"
        return cls(names, np.array(values), f"mean change of {what} without it")

    @property
    def order(self) -> list[int]:
        """Inputs from the most relevant one on."""
        return np.argsort(-self.values, kind="stable").tolist()

    def plot(self, ax: Any = None, *, n_shown: int = _SHOWN, color: str = BLUE, **options: Any) -> RelevanceDisplay:
        """Draw the `n_shown` most relevant inputs on `ax`, or on axes of its own; options go to `barh`."""
        ax = self._on(ax)
        shown = self.order[:n_shown]
        places = np.arange(len(shown))
        height = 0.7 * min(len(shown) / _FEWEST, 1.0)  # bars no thicker than letters need
        self.bars_ = ax.barh(places, self.values[shown], **({"color": color, "height": height} | options))
        ax.set_yticks(places, [self.names[i] for i in shown])
        ax.set_ylim(len(shown) - 0.5, -0.5)  # the first on top
        more = len(self.names) - len(shown)
        ax.set(xlabel=self.measure + (f" ({more} smaller ones not shown)" if more else ""))
        return self
