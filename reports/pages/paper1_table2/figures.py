"""Figures of paper 1's Table 2: errors of the elliptical kernel against the spherical one's, and what PRESS did."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.draw.style import BLACK, BLUE, GREY, PAGE_WIDTH, VERMILION, new_figure
from validation.harness import StudyResult
from validation.papers.paper1.algorithms import STAGES
from validation.papers.paper1.comparisons import published_comparison
from validation.papers.paper1.published import TABLE_1, TABLE_2, Benchmark
from validation.papers.paper1.table2 import SEARCHED, finished_of, stages_of

from .sentences import comparison, comparisons

NEAR_CRITERION, NEAR_ERROR = 8.0, 1.1  # %: sets that change by less have no name in the figure
LINE_HEIGHT = 0.7  # % of test error that a name takes up


def figure_overfitting(result: StudyResult) -> Figure:
    """Errors of the elliptical kernel less those of the spherical one, both by PRESS alone as the zero, by set."""
    there = comparisons(result, "RBF LSSVM", "ARD LSSVM")
    names = [b for b in TABLE_1 if b.name in there]
    with new_figure(PAGE_WIDTH, 1.3 + 0.36 * len(names)) as figure:
        axes = figure.subplots()
        axes.axvline(0.0, color=GREY, linewidth=0.8)
        looks = (
            ("ARD LSSVM", VERMILION, "o", "elliptical, PRESS alone"),
            ("ARD LSSVM-BR", BLUE, "s", "elliptical, regularised"),
        )
        for place, benchmark in enumerate(names):
            for shift, (column, colour, mark, label) in zip((-0.16, 0.16), looks, strict=True):
                _error_bars(axes, result, benchmark, column, place + shift, (colour, mark, label if place == 0 else ""))
        axes.set_yticks(range(len(names)), [b.title for b in names])
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel("test error − that of the spherical kernel with PRESS alone, %")
        handles, labels = axes.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda i: labels[i] == "the paper's")
        figure.legend([handles[i] for i in order], [labels[i] for i in order], loc="outside upper left", ncols=3)
        return figure


def _error_bars(
    axes: Axes, result: StudyResult, benchmark: Benchmark, column: str, place: float, look: tuple[str, str, str]
) -> None:
    colour, mark, label = look
    found = comparison(result, benchmark.name, column, "RBF LSSVM")
    theirs = published_comparison(TABLE_2[benchmark.name, column], TABLE_2[benchmark.name, "RBF LSSVM"])
    bar: dict[str, Any] = {"color": colour, "marker": mark, "markersize": 5.5, "linestyle": ""}
    if found is not None:
        axes.errorbar(found.difference, place, xerr=2.0 * found.error, capsize=2.5, label=label or None, **bar)
    last = "the paper's" if label.endswith("regularised") else None
    axes.plot(theirs.difference, place, color=BLACK, marker=mark, markersize=5.5, linestyle="", mfc="none", label=last)


def _name_spots(axes: Axes, named: list[tuple[float, float, str]]) -> None:
    """Names to the left of their spots, the next one higher where it would lie on the one below it."""
    free = -np.inf
    for x, y, name in sorted(named, key=lambda spot: spot[1]):
        free = max(y, free + LINE_HEIGHT)
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6} if free > y else None
        axes.annotate(name, (x, y), xytext=(x - 4.0, free), ha="right", va="center", fontsize=7.5, arrowprops=line)


def figure_criterion(result: StudyResult) -> Figure:
    """Change of the criterion and of the test error from the spherical to the elliptical kernel, one dot a set."""
    with new_figure(PAGE_WIDTH, 3.6) as figure:
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, column in zip(panels, ("LSSVM", "LSSVM-BR"), strict=True):
            axes.axhline(0.0, color=GREY, linewidth=0.8)
            axes.axvline(0.0, color=GREY, linewidth=0.8)
            named: list[tuple[float, float, str]] = []
            for benchmark in TABLE_1:
                spot = changes(result, benchmark, column)
                if spot is not None:
                    axes.plot(*spot, color=VERMILION if spot[1] > 0 else BLUE, marker="o", linestyle="")
                    if abs(spot[0]) >= NEAR_CRITERION or abs(spot[1]) >= NEAR_ERROR:
                        named.append((*spot, benchmark.title))
            _name_spots(axes, named)
            axes.set_title("PRESS alone" if column == "LSSVM" else "regularised", loc="left")
            axes.set_xlabel("change of leave-one-out mean square, %")
        panels[0].set_ylabel("change of test error, % of rows")
        panels[0].margins(x=0.3)  # room for names
        return figure


def figure_descent(result: StudyResult) -> Figure:
    """Test error and leave-one-out error along one descent of PRESS, a panel a set."""
    sets = [b for b in TABLE_1 if stages_of(result, b.name, "error").size]
    across = min(4, len(sets))
    down = -(-len(sets) // across)
    with new_figure(max(2.2 * across, 3.0), 1.75 * down + 0.6) as figure:
        panels = figure.subplots(down, across, sharex=True, squeeze=False).ravel()
        for axes, benchmark in zip(panels, sets, strict=False):
            _descent(axes, result, benchmark)
        for axes in panels[len(sets) :]:
            axes.set_visible(False)
        for axes in panels[max(0, len(sets) - across) : len(sets)]:
            axes.tick_params(labelbottom=True)
        figure.supxlabel("iterations of one descent of PRESS", fontsize=9.5)
        figure.supylabel("error, %", fontsize=9.5)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
        return figure


def _descent(axes: Axes, result: StudyResult, benchmark: Benchmark) -> None:
    theirs = TABLE_2[benchmark.name, SEARCHED].mean
    axes.axhline(theirs, color=GREY, linestyle="--", linewidth=1.0, label="test rows, the paper's")
    for what, colour, mark, label in (
        ("error", VERMILION, "o", "test rows"),
        ("loo_error", BLUE, "s", "leave-one-out, training rows"),
    ):
        scores = stages_of(result, benchmark.name, what)
        axes.plot(range(len(scores)), scores, color=colour, marker=mark, markersize=3.5, linewidth=1.2, label=label)
    names = ["0", *map(str, STAGES), "end"]
    axes.set_xticks(range(0, len(names), 2), names[::2])
    axes.set_title(benchmark.title, loc="left")


def changes(result: StudyResult, benchmark: Benchmark, column: str) -> tuple[float, float] | None:
    """From the spherical to the elliptical kernel: change of PRESS in per cent of it, and of the test error."""
    found = comparison(result, benchmark.name, f"ARD {column}", f"RBF {column}")
    if found is None:
        return None
    press = [
        float(np.mean([f.values["mean_square"] for f in finished_of(result, benchmark.name, f"{kernel} {column}")]))
        for kernel in ("RBF", "ARD")
    ]
    return 100.0 * (press[1] / press[0] - 1.0), found.difference
