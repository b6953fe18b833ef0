"""The figures of section 7.1; the marks of the training points say the class by shape as well as by colour."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from reports.draw.style import (
    BLACK,
    BLUE,
    DARK_BLUE,
    DARK_RED,
    DIVERGING,
    GREEN,
    GREY,
    VERMILION,
    WIDE,
    new_figure,
)
from reports.draw.thumbnail import small
from validation.studies.section_7_1 import EvidenceCurve, ProbabilityMap, RipleyStudy

# contour levels, and where each one's label goes: on its line, away from the training points
LEVELS = {
    0.05: (0.35, -0.02),
    0.1: (-1.15, 0.0),
    0.25: (-0.1, -0.2),
    0.5: (1.1, 0.23),
    0.75: (0.15, 1.22),
    0.9: (1.04, 0.72),
    0.95: (0.55, 1.02),
}


def probability_fill(axes: Axes, surface: ProbabilityMap) -> QuadContourSet:
    """The map of P(y = +1 | x) as colours."""
    x1, x2, p = surface.x1, surface.x2, surface.probability
    return axes.contourf(x1, x2, p, levels=np.linspace(0, 1, 41), cmap=_pale(), vmin=0, vmax=1)


def _pale() -> ListedColormap:
    """The middle of the diverging map, light enough at its ends that dark marks stand out."""
    return ListedColormap(matplotlib.colormaps[DIVERGING](np.linspace(0.2, 0.8, 256)))


def training_points(axes: Axes, study: RipleyStudy, size: float = 42.0) -> None:
    """Training points: + for class +1, × for class −1, as in the paper."""
    positive = study.y > 0
    style: dict[str, Any] = {"s": size, "linewidths": 1.3}
    axes.scatter(*study.X[positive].T, marker="+", color=DARK_RED, label="training, y = +1", **style)
    axes.scatter(*study.X[~positive].T, marker="x", color=DARK_BLUE, label="training, y = −1", **style)


def name_inputs(axes: Axes) -> None:
    """The paper's names of the two inputs."""
    axes.set_xlabel("$x^{(1)}$")
    axes.set_ylabel("$x^{(2)}$")


def figure_2(study: RipleyStudy) -> Figure:
    """Figure 2: contours of P(y = +1 | x) with the training points."""
    with new_figure(9.0, 5.9, settings=WIDE) as figure:
        axes = figure.add_subplot()
        s = study.surface
        filled = probability_fill(axes, s)
        training_points(axes, study)
        for level, position in LEVELS.items():
            width = 2.6 if level == 0.5 else 1.1
            line = axes.contour(s.x1, s.x2, s.probability, levels=[level], colors=BLACK, linewidths=width)
            axes.clabel(line, fmt="%.2g", fontsize=11, inline_spacing=4, manual=[position])
        name_inputs(axes)
        axes.set_aspect("equal")
        axes.set_title("Figure 2. Posterior class probability P(y = +1 | x, D)", loc="left")
        bar = figure.colorbar(filled, ax=axes, ticks=np.linspace(0, 1, 5), shrink=0.9, label="P(y = +1 | x, D)")
        bar.ax.axhline(0.5, color=BLACK, linewidth=2.0)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return figure


def figure_3(study: RipleyStudy) -> Figure:
    """Figure 3: the same probability as a surface."""
    with new_figure(8.4, 6.2, settings=WIDE) as figure:
        figure.set_layout_engine("none")  # placed by hand: automatic layout leaves wide margins around 3-D axes
        axes: Any = figure.add_axes((0.0, 0.0, 0.88, 1.0), projection="3d")
        s = study.surface
        x1, x2 = np.meshgrid(s.x1, s.x2)
        surface = axes.plot_surface(
            x1, x2, s.probability, cmap=DIVERGING, vmin=0, vmax=1, rcount=41, ccount=61, linewidth=0.2, edgecolor=GREY
        )
        axes.set(xlim=(-1.5, 1.5), ylim=(-0.5, 1.5), zlim=(0, 1))
        axes.set(xticks=np.arange(-1.5, 1.6, 0.5), yticks=np.arange(-0.5, 1.6, 0.5), zticks=np.linspace(0, 1, 6))
        for label in axes.get_xticklabels():  # the two scales meet in one corner
            label.set_horizontalalignment("left")
        for label in axes.get_yticklabels():
            label.set_horizontalalignment("right")
        axes.set_xlabel("$x^{(1)}$", labelpad=10)
        axes.set_ylabel("$x^{(2)}$", labelpad=10)
        axes.set_zlabel("P(y = +1 | x, D)", labelpad=8)
        axes.view_init(elev=38, azim=-118)
        axes.set_box_aspect((3, 2.4, 1.7))
        figure.colorbar(surface, cax=figure.add_axes((0.9, 0.22, 0.025, 0.56)), ticks=np.linspace(0, 1, 5))
        figure.text(0.02, 0.94, "Figure 3. Posterior class probability P(y = +1 | x, D)", fontsize=13)
        return figure


def figure_evidence(study: RipleyStudy) -> Figure:
    """Log evidence along σ with and without the Occam factor: all of it, and the two maxima close up."""
    with new_figure(11.0, 4.9, settings=WIDE) as figure:
        whole, close = figure.subplots(1, 2)
        a, b = study.designs
        _curves(whole, study.wide, offset=False)
        whole.plot(a.sigma, a.log_evidence_without_occam, "o", color=BLUE, markersize=8)
        whole.plot(b.sigma, b.log_evidence, "s", color=VERMILION, markersize=8)
        whole.set_xscale("log")
        whole.xaxis.set_major_locator(FixedLocator([0.2, 0.5, 1, 2, 4, 8]))
        whole.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        whole.xaxis.set_minor_locator(NullLocator())
        whole.set(xlabel="kernel width σ (logarithmic)", ylabel="log evidence (nats)")
        whole.set_title("Over all widths", loc="left")
        _curves(close, study.near, offset=True)
        marks = [
            (a.sigma, BLUE, "o", f"its maximum, σ = {a.sigma:.4f}"),
            (b.sigma, VERMILION, "s", f"its maximum, σ = {b.sigma:.4f}"),
        ]
        for sigma, colour, mark, label in marks:
            close.plot([sigma], [0.0], mark, color=colour, markersize=9, label=label, clip_on=False)
        for axes in (whole, close):
            printed = f"paper prints σ = {study.printed.sigma:.4f}"
            axes.axvline(study.printed.sigma, color=GREEN, linestyle=(0, (2, 2)), linewidth=2, zorder=0, label=printed)
        close.set(xlabel="kernel width σ", ylabel="log evidence − its maximum (nats)")
        close.set_title("The two maxima, close up", loc="left")
        handles, labels = close.get_legend_handles_labels()
        order = (0, 2, 1, 3, 4)  # each maximum below its curve
        figure.legend(
            [handles[i] for i in order], [labels[i] for i in order], loc="outside lower center", ncols=3, fontsize=11
        )
        return figure


def thumbnail(study: RipleyStudy) -> Figure:
    """The map of probabilities with the decision, small."""
    with small() as (figure, axes):
        probability_fill(axes, study.surface)
        training_points(axes, study, size=7.0)
        s = study.surface
        axes.contour(s.x1, s.x2, s.probability, levels=[0.5], colors=BLACK, linewidths=1.6)
        axes.set_axis_off()
        return figure


def _curves(axes: Axes, curve: EvidenceCurve, *, offset: bool) -> None:
    pairs = [
        (curve.without_occam, BLUE, "-", "without Occam factor"),
        (curve.with_occam, VERMILION, "--", "with Occam factor (5.3), plus a constant"),
    ]
    for values, colour, line, label in pairs:
        shown = values - values.max() if offset else values
        axes.plot(curve.sigma, shown, line, color=colour, linewidth=2.2, label=label)
