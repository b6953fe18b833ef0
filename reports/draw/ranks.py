"""Diagrams of critical differences: average ranks on a line, bars over methods that a test does not tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import BLACK, BLUE, GREY, PAGE_WIDTH, new_figure

_STEP = 0.3  # inches from name to name


class RankLine(NamedTuple):
    """One diagram.

    Attributes
    ----------
    title : str
    names : sequence of str
    ranks : sequence of float
        Average ranks, 1 the best.
    difference : float
        The critical one.
    groups : sequence of tuples of int
        Places of methods that are not told apart.
    """

    title: str
    names: Sequence[str]
    ranks: Sequence[float]
    difference: float
    groups: Sequence[tuple[int, ...]]


def figure_ranks(lines: Sequence[RankLine], *, own: str) -> Figure:
    """Diagrams one above the other; the method `own` in colour."""
    heights = [1.1 + _STEP * (-(-len(line.names) // 2)) + 0.12 * len(line.groups) for line in lines]
    with new_figure(PAGE_WIDTH, sum(heights)) as figure:
        panels = figure.subplots(len(lines), 1, height_ratios=heights, squeeze=False).ravel()
        for axes, line, height in zip(panels, lines, heights, strict=True):
            draw_ranks(axes, line, height, own=own)
        return figure


def draw_ranks(axes: Axes, line: RankLine, height: float, *, own: str) -> None:
    """One diagram: the better half of the methods is named on the left, the other half on the right."""
    k = len(line.names)
    order = np.argsort(line.ranks, kind="stable")
    axes.set_xlim(1.0 - 0.45 * k / 2, k + 0.45 * k / 2)
    axes.set_ylim(-(height - 0.75), 0.6)
    axes.axis("off")
    axes.set_title(line.title, loc="left")
    axes.plot([1, k], [0, 0], color=BLACK, linewidth=1.0)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, 0.06], color=BLACK, linewidth=1.0)
        axes.text(tick, 0.09, str(tick), ha="center", va="bottom", fontsize=8.5)
    if line.difference < k:
        axes.plot([1, 1 + line.difference], [0.42, 0.42], color=GREY, linewidth=2.0)
        axes.text(1 + line.difference, 0.42, f"  critical difference {line.difference:.2f}", va="center", fontsize=8.5)
    for place, group in enumerate(line.groups):
        ends = [line.ranks[i] for i in group]
        y = -0.1 - 0.12 * place
        axes.plot([min(ends) - 0.04, max(ends) + 0.04], [y, y], color=GREY, linewidth=3.5, solid_capstyle="butt")
    start = 0.2 + 0.12 * len(line.groups)
    half = -(-k // 2)
    for place, j in enumerate(order):
        left = place < half
        y = -start - _STEP * (place if left else k - 1 - place)
        _name(axes, line.names[j], float(line.ranks[j]), y, k, left=left, own=line.names[j] == own)


def _name(axes: Axes, name: str, rank: float, y: float, k: int, *, left: bool, own: bool) -> None:
    end = 1.0 - 0.12 if left else k + 0.12
    colour = BLUE if own else BLACK
    axes.plot([rank, rank, end], [0, y, y], color=colour, linewidth=1.8 if own else 0.9)
    said = f"{name}  {rank:.2f} " if left else f" {rank:.2f}  {name}"
    weight = "bold" if own else "normal"
    side = "right" if left else "left"
    axes.text(end, y, said, ha=side, va="center", color=colour, fontsize=9, fontweight=weight)
