"""Pictures of weights and noise: known precisions, noise that is learned, gross errors."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_lssvm import BayesianLSSVR
from bayes_lssvm.base.typing import Array

from .style import BLUE, GREY, ORANGE, VERMILION, WIDE, new_figure

GRID: Array = np.linspace(-1.9, 1.9, 300)[:, None]


def sine(seed: int, n: int) -> tuple[Array, Array, np.random.Generator]:
    """Inputs of shape (n, 1), sin 2x, and the generator that goes on."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1.7, 1.7, n))
    return x[:, None], np.sin(2.0 * x), rng


def figure_weights() -> Figure:
    """Rows of a known noise, without weights and with them."""
    X, truth, rng = sine(1, 60)
    sd = np.where(rng.random(60) < 0.5, 0.1, 1.0)
    y = truth + sd * rng.normal(size=60)
    models = {"equal weights": BayesianLSSVR().fit(X, y), "weights 1/σ²": BayesianLSSVR().fit(X, y, sd**-2.0)}
    with new_figure(10, 4.4, settings=WIDE) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, (title, model) in zip(axes, models.items(), strict=True):
            ax.errorbar(X[:, 0], y, sd, fmt=".", color=GREY, lw=0.7, ms=5, alpha=0.6)
            mean, std = model.latent(GRID, return_std=True)
            _band(ax, mean, std, title, "mean ± one standard deviation")
        axes[0].set_ylabel("y")
        axes[0].legend(fontsize=10, loc="upper left")
        return figure


def figure_learned_noise() -> Figure:
    """90 % intervals with constant and with learned noise."""
    X, truth, rng = sine(2, 200)
    y = truth + np.exp(0.8 * X[:, 0] - 1.5) * rng.normal(size=200)
    with new_figure(10, 4.4, settings=WIDE) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, noise in zip(axes, ("constant", "learned"), strict=True):
            ax.plot(X[:, 0], y, ".", color=GREY, ms=4, alpha=0.6)
            mean, std = BayesianLSSVR(noise=noise).fit(X, y).predict(GRID, return_std=True)
            _band(ax, mean, 1.645 * std, f'noise="{noise}"', "90 % of new targets")
        axes[0].set_ylabel("y")
        axes[0].legend(fontsize=10, loc="upper left")
        return figure


def figure_outliers() -> Figure:
    """Gross errors: the fit without and with robust noise, and the rows that are named."""
    X, truth, rng = sine(3, 100)
    y = truth + 0.2 * rng.normal(size=100)
    bad = rng.choice(100, 10, replace=False)
    y[bad] += rng.choice([-1.0, 1.0], 10) * rng.uniform(2.0, 4.0, 10)
    robust = BayesianLSSVR(noise="student").fit(X, y)
    plain, named = BayesianLSSVR().fit(X, y), robust.outliers()
    with new_figure(10, 4.4, settings=WIDE) as figure:
        left, right = figure.subplots(1, 2)
        left.plot(X[:, 0], y, ".", color=GREY, ms=5, alpha=0.6)
        left.plot(GRID[:, 0], plain.predict(GRID), "--", color=ORANGE, label='noise="constant"')
        left.plot(GRID[:, 0], robust.predict(GRID), color=BLUE, label='noise="student"')
        left.plot(X[named.rows, 0], y[named.rows], "o", mfc="none", mec=VERMILION, label="named")
        left.set_xlabel("x")
        left.set_ylabel("y")
        left.legend(fontsize=10, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        named.plot(right)
        right.margins(y=0.12)
        return figure


def _band(ax: Axes, mean: Array, half: Array, title: str, words: str) -> None:
    ax.plot(GRID[:, 0], mean, color=BLUE, label="fit")
    ax.fill_between(GRID[:, 0], mean - half, mean + half, color=BLUE, alpha=0.2, lw=0, label=words)
    ax.plot(GRID[:, 0], np.sin(2.0 * GRID[:, 0]), ":", color="k", lw=1, label="the function")
    ax.set_title(title)
    ax.set_xlabel("x")
