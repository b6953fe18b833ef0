"""Intervals, label sets, draws and rows that come later: the pictures of docs/guide/intervals.md."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR
from bayes_lssvm.base.typing import AnyArray, Array

from .style import BLACK, BLUE, GREY, ORANGE, PALE, SKY, VERMILION, WIDE, new_figure


def few_rows(n: int = 20, seed: int = 3) -> tuple[Array, Array]:
    """Rows of the page: a sine with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    return X, np.sin(1.5 * X[:, 0]) + 0.3 * rng.normal(size=n)


def two_classes(n: int = 80, seed: int = 0) -> tuple[Array, AnyArray]:
    """Two Gaussian classes that overlap."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    return np.array([[0.0, 0.0], [2.0, 0.5]])[labels] + rng.normal(size=(n, 2)), labels


def figure_intervals() -> Figure:
    """90 % intervals of 20 rows by three methods, and the label sets of two classes."""
    with new_figure(11.0, 4.4, settings=WIDE) as figure:
        left, right = figure.subplots(1, 2)
        _intervals(left)
        _sets(right)
        return figure


def _intervals(axes: Axes) -> None:
    X, y = few_rows()
    model, at = BayesianLSSVR().fit(X, y), np.linspace(-3.6, 3.6, 200)[:, None]
    for method, colour, style in (("jackknife+", BLUE, "-"), ("marginal", VERMILION, "--"), ("plug-in", GREY, ":")):
        lower, upper = model.predict_interval(at, 0.9, method)
        axes.plot(at[:, 0], lower, style, color=colour, lw=1.6, label=method)
        axes.plot(at[:, 0], upper, style, color=colour, lw=1.6)
    axes.plot(at[:, 0], model.predict(at), color=BLACK, lw=1.0)
    axes.plot(X[:, 0], y, "o", color=BLACK, ms=4)
    axes.set(title="90 % intervals of a new target, N = 20", xlabel="x", ylabel="y", ylim=(-2.6, 3.4))
    axes.legend(loc="upper center", ncols=3, fontsize=11)


def _sets(axes: Axes) -> None:
    X, labels = two_classes()
    model = BayesianLSSVC().fit(X, labels)
    x, y = np.meshgrid(np.linspace(-3.5, 5.5, 150), np.linspace(-3.5, 4.0, 150))
    held = model.predict_set(np.column_stack([x.ravel(), y.ravel()]), 0.9)
    kind = (held[:, 0] + 2 * held[:, 1]).reshape(x.shape)
    colours = ListedColormap(["white", SKY, ORANGE, PALE])
    axes.pcolormesh(x, y, kind, cmap=colours, vmin=-0.5, vmax=3.5, rasterized=True)
    for label, colour in ((0, BLUE), (1, VERMILION)):
        axes.plot(*X[labels == label].T, "o", color=colour, ms=4, label=f"class {label}")
    axes.set(title="90 % label sets: {0} blue, {1} orange, both grey", xlabel="$x_1$", ylabel="$x_2$")
    axes.legend(loc="upper left")


def figure_outputs() -> Figure:
    """Joint draws of the functions of two outputs, and a model before and after rows were added."""
    X, y = few_rows(30)
    at = np.linspace(-3.6, 3.6, 150)[:, None]
    with new_figure(11.0, 4.4, settings=WIDE) as figure:
        left, right = figure.subplots(1, 2)
        rng = np.random.default_rng(1)
        Y = np.column_stack([y, 2.0 + 0.4 * X[:, 0] + 0.3 * rng.normal(size=len(X))])
        model = BayesianLSSVR().fit(X, Y)
        draws = model.sample_y(at, 12, 0, of="f")
        for k, colour in enumerate((BLUE, VERMILION)):
            left.plot(at[:, 0], draws[:, k], color=colour, lw=0.7, alpha=0.7)
            left.plot(X[:, 0], Y[:, k], "o", color=colour, ms=4)
        left.set(title="two outputs, one kernel: draws of f", xlabel="x", ylabel="y")
        order = np.argsort(X[:, 0])
        first, later = order[:18], order[18:]
        grown = BayesianLSSVR().fit(X[first], y[first])
        for rows, colour, label in ((first, GREY, "18 rows"), (later, BLUE, "and 12 more by partial_fit")):
            if rows is later:
                grown.partial_fit(X[later], y[later])
            mean, std = grown.predict(at, return_std=True)
            right.plot(at[:, 0], mean, color=colour, label=label)
            right.fill_between(at[:, 0], mean - 2 * std, mean + 2 * std, color=colour, alpha=0.2, lw=0)
            right.plot(X[rows, 0], y[rows], "o", color=colour, ms=4)
        right.set(title="rows that come later", xlabel="x", ylabel="y", ylim=(-3.0, 3.5))
        right.legend(loc="upper left")
        return figure
