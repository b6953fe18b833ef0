"""The path of a selection of inputs: evidence at each step, and the step chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from bayes_lssvm.selection.inputs import backward_elimination
from bayes_lssvm.selection.path import SelectionPath

from .style import BLUE, GREY, VERMILION, WIDE, new_figure

_CHANGE = {"backward": "input removed", "forward": "input added", "stepwise": "input added or removed"}


def figure_selection_path(path: SelectionPath, *, names: Sequence[str] | None = None) -> Figure:
    """Log evidence along a path of models, with the score that decides where inputs have a price.

    Parameters
    ----------
    path : SelectionPath
    names : sequence of str, optional
        Of the inputs; their numbers by default.
    """
    if names is not None and len(names) != path.n_features:
        raise ValueError(f"names must hold one name for each of the {path.n_features} inputs, got {len(names)}.")
    labels = [str(i) for i in range(path.n_features)] if names is None else list(names)
    x = np.arange(len(path.steps))
    start = f"all {len(path.steps[0].inputs)}" if path.direction == "backward" else "none"
    ticks = [
        (start if i == 0 else "none") if step.changed is None else labels[step.changed]
        for i, step in enumerate(path.steps)
    ]
    with new_figure(max(5.5, 1.2 + 0.6 * len(x)), 4.0, settings=WIDE) as figure:
        axes = figure.subplots()
        axes.plot(x, [step.log_evidence for step in path.steps], "o-", color=BLUE, label="log evidence")
        if path.price > 0.0:
            score = [step.score for step in path.steps]
            axes.plot(x, score, "s--", color=GREY, label=f"less {path.price:g} nats for each input")
        axes.plot(path.best, path.chosen.log_evidence, "o", ms=15, mfc="none", mew=2, color=VERMILION, label="chosen")
        axes.set_xticks(x, ticks)
        axes.set_xlabel(_CHANGE[path.direction])
        axes.set_ylabel("nats")
        axes.legend()
        return figure


def documented_path() -> SelectionPath:
    """The backward path of docs/guide/input_selection.md: two of five inputs matter."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 8))
    y = np.sin(1.5 * X[:, 0]) + 0.7 * X[:, 1] + 0.5 * rng.normal(size=100)
    return backward_elimination(X[:, :5], y, whole_path=True)
