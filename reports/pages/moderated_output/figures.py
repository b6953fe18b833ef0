"""Figures of the moderated output: maps of probabilities and of their differences, and reliability diagrams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from bayes_lssvm.base.typing import Array
from reports.draw.style import (
    BLACK,
    BLUE,
    DARK_BLUE,
    DARK_RED,
    DIVERGING,
    GREEN,
    GREY,
    MAP,
    PAGE_WIDTH,
    PALE,
    PURPLE,
    VERMILION,
    new_figure,
)
from reports.frame.page import plain_label
from validation.harness.scores import ReliabilityBin
from validation.studies.moderated_output import LABELS

LINES: dict[str, tuple[str, Any, str]] = {
    "plug-in": (VERMILION, (0, (1, 1)), "s"),
    "mu-zeta": (PURPLE, (0, (4, 1.5)), "^"),
    "mu-zeta-sigma": (BLUE, "-", "o"),
    "nuts": (GREEN, (0, (6, 2, 1, 2)), "D"),
    "bernoulli": (BLACK, (0, (2, 2)), "v"),
}


@dataclass(frozen=True)
class Places:
    """Where the map and the training points are.

    Attributes
    ----------
    first, second : arrays of shape (C,) and (R,)
        Coordinates of the map; R is 1 where there is one input.
    training : array of shape (N, 2) or (N, 1)
    y : array of shape (N,)
    names : tuple of str
        Of the axes, as the user has them.
    classes : tuple of two str
    nearest : array of shape (R · C,)
        Distance of each place to the nearest training point.
    """

    first: Array
    second: Array
    training: Array
    y: Array
    names: tuple[str, ...]
    classes: tuple[str, str]
    nearest: Array

    @property
    def is_line(self) -> bool:
        """Whether there is one input only."""
        return len(self.second) == 1

    def grid(self, values: Array) -> Array:
        """Values on the map, of shape (R, C)."""
        return values.reshape(len(self.second), len(self.first))

    def at(self, index: int) -> tuple[float, ...]:
        """Coordinates of a place."""
        row, column = divmod(index, len(self.first))
        return (float(self.first[column]),) if self.is_line else (float(self.first[column]), float(self.second[row]))


def maps(places: Places, probability: Mapping[str, Array]) -> Figure:
    """P(second class | x) over the plane, one panel a method, with the training points in the first."""
    if places.is_line:
        return _lines(places, probability)
    with new_figure(PAGE_WIDTH, _height(len(probability) + 1, places), settings=MAP) as figure:
        panels = _panels(figure, len(probability) + 1)
        pale = ListedColormap(matplotlib.colormaps[DIVERGING](np.linspace(0.15, 0.85, 256)))
        filled = None
        for axes, (method, values) in zip(panels[1:], probability.items(), strict=True):
            grid = places.grid(values)
            filled = axes.contourf(
                places.first, places.second, grid, levels=np.linspace(0, 1, 21), cmap=pale, vmin=0, vmax=1
            )
            _contours(axes, places, grid)
            axes.set_title(LABELS[method], loc="left")
        _training(panels[0], places)
        panels[0].set_title("training points", loc="left")
        _name_axes(panels, places)
        assert filled is not None
        bar = figure.colorbar(
            filled,
            ax=list(panels),
            orientation="horizontal",
            shrink=0.7,
            aspect=40,
            pad=0.01,
            ticks=[0, 0.25, 0.5, 0.75, 1],
        )
        bar.set_label(f"P({plain_label(places.classes[1])} | x, D)")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
        return figure


def differences(places: Places, probability: Mapping[str, Array], reference: str) -> Figure:
    """Each method's probability minus the reference's; a cross is where the difference is largest."""
    others = {method: values for method, values in probability.items() if method != reference}
    if places.is_line:
        return _difference_lines(places, others, probability[reference], LABELS[reference])
    with new_figure(PAGE_WIDTH, _height(len(others), places), settings=MAP) as figure:
        panels = _panels(figure, len(others))
        for axes, (method, values) in zip(panels, others.items(), strict=True):
            difference = values - probability[reference]
            reach = max(float(np.abs(difference).max()), 1e-4)
            filled = axes.contourf(
                places.first, places.second, places.grid(difference), levels=np.linspace(-reach, reach, 22),
                cmap="PuOr_r",
            )  # fmt: skip
            axes.contour(
                places.first, places.second, places.grid(probability[reference]), levels=[0.5], colors=BLACK,
                linewidths=1.0, linestyles="--",
            )  # fmt: skip
            worst = places.at(int(np.abs(difference).argmax()))
            axes.plot(*worst, marker="X", color=BLACK, markeredgecolor="white", markersize=10)
            axes.set_title(f"{LABELS[method]}: up to {reach:.3f}", loc="left")
            bar = figure.colorbar(filled, ax=axes, ticks=[-reach, 0, reach], shrink=0.9)
            bar.ax.set_yticklabels([f"−{reach:.2g}", "0", f"+{reach:.2g}"])
        _name_axes(panels, places)
        return figure


def diagrams(found: Mapping[str, tuple[ReliabilityBin, ...]], class_name: str) -> Figure:
    """Reliability diagrams, one panel a method, with the band of chance about the diagonal."""
    columns, rows = 3, -(-len(found) // 3)
    with new_figure(PAGE_WIDTH, 0.6 + 2.75 * rows) as figure:
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axes in panels[len(found) :]:
            axes.set_visible(False)
        for axes, (method, bins) in zip(panels, found.items(), strict=False):
            p, share = [b.probability for b in bins], [b.frequency for b in bins]
            low, high = [b.low for b in bins], [b.high for b in bins]
            axes.fill_between(p, low, high, color=PALE, linewidth=0, label="95 % by chance")
            axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="calibrated")
            colour, _, mark = LINES[method]
            axes.plot(p, share, linestyle="-", linewidth=0.8, color=colour)
            for b in bins:
                axes.plot(
                    b.probability, b.frequency, marker=mark, color=colour, markersize=7,
                    markerfacecolor=colour if b.outside else "white", markeredgewidth=1.6,
                )  # fmt: skip
            outside = sum(b.outside for b in bins)
            axes.set_title(f"{LABELS[method]}\n{outside} of {len(bins)} outside", loc="left")
            axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        for axes in panels[max(len(found) - columns, 0) : len(found)]:
            axes.set_xlabel("mean probability")
            axes.tick_params(labelbottom=True)
        for axes in panels[::columns]:
            axes.set_ylabel(f"share of {plain_label(class_name)}")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
        return figure


def _difference_lines(places: Places, others: Mapping[str, Array], reference: Array, name: str) -> Figure:
    with new_figure(PAGE_WIDTH, 3.6) as figure:
        axes = figure.subplots()
        for method, values in others.items():
            colour, line, _ = LINES[method]
            axes.plot(places.first, values - reference, color=colour, ls=line, label=LABELS[method])
        axes.axhline(0.0, color=GREY, linewidth=1)
        axes.set(xlabel=plain_label(places.names[0]), ylabel=f"P minus P {name}")
        axes.legend()
        return figure


def _height(count: int, places: Places) -> float:
    """Inches that so many maps need, two in a row."""
    ratio = float(np.ptp(places.second) / np.ptp(places.first))
    return 0.9 + -(-count // 2) * (float(np.clip(3.1 * ratio, 2.0, 3.6)) + 0.35)


def _panels(figure: Figure, count: int) -> Any:
    panels = figure.subplots(-(-count // 2), 2, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in panels[count:]:
        axes.set_visible(False)
    return panels[:count]


def _name_axes(panels: Any, places: Places) -> None:
    for axes in panels[-2:]:
        axes.set_xlabel(plain_label(places.names[0]))
        axes.tick_params(labelbottom=True)
    for axes in panels[::2]:
        axes.set_ylabel(plain_label(places.names[1]))


def _contours(axes: Axes, places: Places, grid: Array) -> None:
    levels = [level for level in (0.1, 0.5, 0.9) if grid.min() < level < grid.max()]
    if levels:
        widths = [1.8 if level == 0.5 else 0.9 for level in levels]
        lines = axes.contour(places.first, places.second, grid, levels=levels, colors=BLACK, linewidths=widths)
        axes.clabel(lines, fmt="%.1g", fontsize=9)


def _training(axes: Axes, places: Places) -> None:
    for sign, mark, colour in ((1.0, "+", DARK_RED), (-1.0, "x", DARK_BLUE)):
        chosen = places.training[places.y == sign]
        name = plain_label(places.classes[int(sign > 0)])
        axes.scatter(chosen[:, 0], chosen[:, 1], s=22, marker=mark, color=colour, linewidths=1.0, label=name)


def _lines(places: Places, probability: Mapping[str, Array]) -> Figure:
    with new_figure(PAGE_WIDTH, 4.0) as figure:
        axes = figure.subplots()
        for method, values in probability.items():
            colour, line, _ = LINES[method]
            axes.plot(places.first, values, color=colour, linestyle=line, linewidth=1.8, label=LABELS[method])
        for sign, height, mark, colour in ((1.0, 1.04, "+", DARK_RED), (-1.0, -0.04, "x", DARK_BLUE)):
            chosen = places.training[places.y == sign, 0]
            axes.plot(chosen, np.full(len(chosen), height), mark, color=colour, markersize=4)
        axes.set(xlabel=plain_label(places.names[0]), ylabel=f"P({plain_label(places.classes[1])} | x, D)")
        axes.set_ylim(-0.08, 1.08)
        axes.legend()
        return figure
