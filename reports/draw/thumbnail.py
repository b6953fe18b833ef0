"""Small pictures for the cards of an index, drawn for their size: one message, large letters, no legend.

All have the same shape, so that cards line up. What is drawn is what the card's sentence is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_lssvm.base.typing import Array

from .style import BLACK, BLUE, GREEN, GREY, PALE, PURPLE, VERMILION, new_figure

SIZE = (3.4, 1.9)
"""Inches."""
DPI = 160
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, BLACK)
_LETTERS: dict[str, Any] = {
    "font.size": 9,
    "axes.labelsize": 9,
    "axes.titlesize": 9.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@contextmanager
def small(title: str = "") -> Iterator[tuple[Figure, Axes]]:
    """A small figure with one panel."""
    with new_figure(*SIZE, settings=_LETTERS) as figure:
        axes = figure.subplots()
        if title:
            figure.suptitle(title, x=0.02, ha="left", fontsize=9.5)
        yield figure, axes


def bars(
    values: Mapping[str, float], title: str, *, limit: float | None = None, form: str = "g", own: Sequence[str] = ()
) -> Figure:
    """Horizontal bars with their numbers; those named in `own` stand out, and a dashed line is the limit."""
    with small(title) as (figure, axes):
        names = list(values)
        heights = np.arange(len(names))[::-1]
        sizes = [values[name] for name in names]
        colours = [BLUE if not own or name in own else "#9aa3ab" for name in names]
        axes.barh(heights, sizes, color=colours, height=0.66)
        reach = max([*(abs(s) for s in sizes if np.isfinite(s)), limit or 0.0, 1e-12])
        for height, size in zip(heights, sizes, strict=True):
            if np.isfinite(size):
                side = 0.02 * reach if size >= 0.0 else -0.02 * reach
                text = format(size, form).replace("-", "−")
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # over the line of the limit
                axes.text(size + side, height, text, va="center", ha="left" if size >= 0.0 else "right", bbox=box)
        if limit is not None:
            axes.axvline(limit, color=VERMILION, linestyle="--", linewidth=1.4)
        low = min([0.0, *(s for s in sizes if np.isfinite(s))])
        axes.set_xlim(low - 0.75 * reach if low < 0.0 else 0.0, 1.22 * reach)  # room for the numbers
        axes.axvline(0.0, color=GREY, linewidth=0.8)
        axes.set_yticks(heights, names)
        axes.tick_params(axis="both", length=0)
        axes.set_xticks([])
        axes.spines[["bottom", "left"]].set_visible(False)
        return figure


def lines(
    x: Array, curves: Mapping[str, Array], title: str, *, logarithmic: bool = False, level: float | None = None
) -> Figure:
    """Curves with their names at the right end, in the order of the palette."""
    with small(title) as (figure, axes):
        if level is not None:
            axes.axhline(level, color=GREY, linewidth=1.0, linestyle=":")
        for colour, (name, y) in zip(COLOURS, curves.items(), strict=False):
            axes.plot(x, y, color=colour, linewidth=1.8, label=name)
        if logarithmic:
            axes.set_xscale("log")
            ticks = [t for t in _TICKS if x.min() <= t <= x.max()]
            axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
            axes.minorticks_off()
        axes.locator_params(axis="y", nbins=4)
        figure.legend(
            *axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8, handlelength=1.2
        )
        return figure


def heat(values: Array, title: str, *, x: str, y: str) -> Figure:
    """A map of shares from 0 (white) to 1 (blue)."""
    with small(title) as (figure, axes):
        axes.imshow(values, cmap="Blues", vmin=0.0, vmax=1.0, origin="lower", aspect="auto")
        axes.set(xlabel=x, ylabel=y, xticks=[], yticks=[])
        return figure


def stacked(parts: Mapping[str, Mapping[str, float]], colours: Mapping[str, str], title: str) -> Figure:
    """Rows of shares that add up to one, such as verdicts by table."""
    with small(title) as (figure, axes):
        for height, shares in enumerate(reversed(list(parts.values()))):
            left, whole = 0.0, sum(shares.values()) or 1.0
            for name, size in shares.items():
                axes.barh(height, size / whole, left=left, color=colours[name], height=0.7)
                left += size / whole
        axes.set_yticks(range(len(parts)), list(reversed(list(parts))), fontsize=8)
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.spines[["bottom", "left"]].set_visible(False)
        axes.axvline(0.0, color=PALE)
        return figure
