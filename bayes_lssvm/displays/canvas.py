"""What the displays share: axes to draw on, colours, and the inputs of a fitted model in the units of its user.

Colours are Okabe and Ito's, which colour-blind readers can tell apart. matplotlib is imported when something is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.typing import Array

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
GREY = "#777777"
NEEDS = 'Plots need matplotlib: pip install "bayes-lssvm[plots]".'


def new_axes(ax: Any) -> Any:
    """The axes given, or new ones of a figure of their own."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(NEEDS) from None
    return plt.subplots(layout="constrained")[1]


def legend_above(ax: Any, columns: int = 1) -> None:
    """A legend where it covers nothing."""
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=columns)


class Display:
    """What every display has once it is drawn."""

    ax_: Any
    figure_: Any

    def _on(self, ax: Any) -> Any:
        """The axes to draw on, which `ax_` and `figure_` name from then on."""
        self.ax_ = new_axes(ax)
        self.figure_ = self.ax_.figure
        return self.ax_


def input_names(model: Any) -> tuple[str, ...]:
    """Names of the inputs, or x0, x1, … where they have none."""
    if hasattr(model, "feature_names_in_"):
        return tuple(map(str, model.feature_names_in_))
    return tuple(f"x{i}" for i in range(model.n_features_in_))


def training_inputs(model: Any) -> Array | None:
    """Inputs of the rows that the model was fitted to, in their own units; None where it has kept none or only some."""
    rows = getattr(model, "X_fit_", None)
    if rows is None or len(model.columns_) < model.n_features_in_ or model._takes_matrices:
        return None
    scale = np.where(np.isfinite(model.standardiser_.scale), model.standardiser_.scale, 0.0)
    return np.asarray(rows * scale + model.standardiser_.mean)


def plain_predictions(model: Any, X: Array) -> Array:
    """Class probabilities of shape (n, M), or predictions of shape (n, 1), of inputs without names."""
    names = model.__dict__.pop("feature_names_in_", None)  # arrays have none, which scikit-learn would warn about
    try:
        if hasattr(model, "classes_"):
            return np.asarray(model.predict_proba(X))
        return np.asarray(model.predict(X))[:, None]
    finally:
        if names is not None:
            model.feature_names_in_ = names
