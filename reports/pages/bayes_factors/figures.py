"""Figures of the Bayes factors: a heat map of all pairs, and a forest of log evidences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bayes_lssvm.base.typing import Array
from reports.draw.style import (
    BLACK,
    BLUE,
    DIVERGING,
    GREEN,
    GREY,
    ORANGE,
    PAGE_WIDTH,
    PALE,
    PURPLE,
    SKY,
    VERMILION,
    new_figure,
)
from reports.frame.words import minus
from validation.studies.bayes_factors import MODELS, Evidence, Flip
from validation.studies.bayes_factors.comparison import Ladder

BORDERS = (-5.0, -3.0, -1.0, 1.0, 3.0, 5.0)  # of Kass and Raftery's words, in nats


class Mark(NamedTuple):
    """How a rung is drawn."""

    label: str
    colour: str
    marker: str


MARKS = {
    "mackay": Mark("MacKay (5.2)", VERMILION, "s"),
    "hessian": Mark("exact Hessian", PURPLE, "^"),
    "laplace": Mark("Laplace over all", GREEN, "D"),
    "ccd": Mark("composite design", SKY, "v"),
    "nuts": Mark("collapsed NUTS", BLUE, "o"),
    "gp": Mark("GP NUTS", BLACK, "X"),
    "weights": Mark("weight-space NUTS", ORANGE, "P"),
    "importance": Mark("importance draws", BLACK, "x"),
}


def _colours() -> tuple[ListedColormap, BoundaryNorm]:
    """One colour a wording, blue against and red for the row's model; colour-blind readers can tell them apart."""
    shades = matplotlib.colormaps[DIVERGING]([0.06, 0.2, 0.34, 0.5, 0.66, 0.8, 0.94])
    return ListedColormap(shades), BoundaryNorm([-1e6, *BORDERS, 1e6], 7)


def heat_map(
    order: Sequence[str], above: Mapping[str, Evidence], below: Mapping[str, Evidence], flips: Iterable[Flip]
) -> Figure:
    """Log Bayes factors of the row's model against the column's: `above` the diagonal and `below` it.

    Parameters
    ----------
    order : sequence of str
        Models, the best first.
    above, below : dict
        Log evidences of the two triangles; a model that one lacks has empty cells there.
    flips : iterable of Flip
        Pairs that get a frame in the upper triangle.
    """
    n = len(order)
    values = np.full((n, n), np.nan)
    for i, row in enumerate(order):
        for j, column in enumerate(order):
            part = above if i < j else below
            if i != j and row in part and column in part:
                values[i, j] = part[row].value - part[column].value
    colours, norm = _colours()
    with new_figure(PAGE_WIDTH, 2.2 + 0.68 * n) as figure:
        axes = figure.subplots()
        image = axes.imshow(values, cmap=colours, norm=norm, aspect="auto")
        _numbers(axes, values)
        figure.suptitle("above the diagonal: formula (5.2); below: sampled", fontsize=10.5, x=0.985, ha="right")
        for flip in flips:
            i, j = sorted((order.index(flip.first), order.index(flip.second)))
            axes.add_patch(Rectangle((j - 0.47, i - 0.46), 0.94, 0.92, fill=False, edgecolor=BLACK, linewidth=2.6))
        labels = [MODELS[name].label for name in order]
        axes.set_xticks(range(n), [label.replace(" + ", "\n+ ").replace("polynomial", "poly.") for label in labels])
        axes.set_yticks(range(n), labels)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        for edge in axes.spines.values():
            edge.set_visible(False)
        bar = figure.colorbar(image, ax=axes, orientation="horizontal", shrink=0.98, aspect=25, pad=0.02)
        bar.set_ticks([-1e6, *BORDERS, 1e6], labels=["", *(minus(f"{b:+g}") for b in BORDERS), ""])
        bar.set_label("log Bayes factor, row against column (nats); one colour for each wording")
        said = ("very strong", "strong", "positive", "bare mention", "positive", "strong", "very strong")
        for k, word in enumerate(said):
            colour = "white" if k in (0, 6) else BLACK
            bar.ax.text(
                (k + 0.5) / 7, 0.5, word, transform=bar.ax.transAxes, ha="center", va="center", color=colour, size=8.5
            )
        return figure


def _numbers(axes: Axes, values: Array) -> None:
    for (i, j), value in np.ndenumerate(values):
        if i == j:
            axes.text(j, i, "·", ha="center", va="center", color=GREY)
        elif np.isfinite(value):
            digits = 2 if abs(value) < 10 else 1
            axes.text(
                j, i, minus(f"{value:+.{digits}f}"), ha="center", va="center",
                color="white" if abs(value) > BORDERS[-1] else BLACK,
            )  # fmt: skip
        else:
            axes.text(j, i, "–", ha="center", va="center", color=GREY)


def forest(order: Sequence[str], ladder: Ladder) -> Figure:
    """The exact log evidence of each model, and how far each rung is from it, with Monte-Carlo error bars."""
    exact = ladder["quadrature"]
    shown = [rung for rung in MARKS if any(name in ladder[rung] for name in order)]
    places = np.arange(len(order))[::-1].astype(float)
    with new_figure(PAGE_WIDTH, 1.6 + 0.72 * len(order)) as figure:
        whole, close = figure.subplots(1, 2, sharey=True, width_ratios=(1, 2.1))
        whole.plot([exact[name].value for name in order], places, "|", color=BLACK, markersize=18, markeredgewidth=2.2)
        whole.set_yticks(places, [MODELS[name].label for name in order])
        whole.set_xlabel("log p(D | H), quadrature")
        whole.margins(x=0.12)
        whole.locator_params(axis="x", nbins=4)
        close.axvline(0.0, color=BLACK, linewidth=1.4)
        step = 0.74 / max(len(shown) - 1, 1)
        for k, rung in enumerate(shown):
            _rung(close, rung, order, places + 0.37 - step * k, ladder)
        close.set_xscale("symlog", linthresh=0.01, linscale=0.8)
        reach = max(1.2 * max(abs(x) for x in close.get_xlim()), 0.1)
        ticks = [t for t in (0.01, 0.1, 1.0, 10.0) if t <= reach]
        ticks = [*(-t for t in reversed(ticks)), 0.0, *ticks]
        close.set_xticks(ticks, [minus(f"{t:+g}") if t else "0" for t in ticks])
        close.set_xlim(-reach, reach)
        close.xaxis.minorticks_off()
        close.set_xlabel("log p(D | H) minus quadrature (nats)")
        for axes in (whole, close):
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(axis="y", length=0)
            for place in places[:-1]:
                axes.axhline(place - 0.5, color=PALE, linewidth=0.8, zorder=0)
        figure.legend(*close.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return figure


def _rung(axes: Axes, rung: str, order: Sequence[str], places: Array, ladder: Ladder) -> None:
    mark, exact = MARKS[rung], ladder["quadrature"]
    rows = [(name, place) for name, place in zip(order, places, strict=True) if name in ladder[rung]]
    differences = [ladder[rung][name].value - exact[name].value for name, _ in rows]
    sampled = rung in ("nuts", "gp", "weights", "importance")
    errors = [3.0 * ladder[rung][name].error if sampled else 0.0 for name, _ in rows]
    axes.errorbar(
        differences, [place for _, place in rows], xerr=errors, fmt=mark.marker, color=mark.colour, markersize=6,
        linewidth=1.6, capsize=2.5 if sampled else 0, label=mark.label,
    )  # fmt: skip
