"""Figures of the error bars: a forest plot, pair plots with ellipses and exact contours, rank plots."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from bayes_lssvm.base.typing import Array
from reports.draw.arviz import Bar, energy_figure, ess_figure, forest_figure, pair_figure, rank_figure
from reports.draw.style import BLACK, BLUE, GREEN, GREY, PAGE_WIDTH, PALE, PURPLE, VERMILION, new_figure
from reports.frame.draws import draws_of, energies_of, has_draws
from reports.frame.page import plain_label
from validation.harness import FinishedCell

from .bars import PROGRAMS, SYMBOLS, Bars

LOOK: dict[str, tuple[str, str, str]] = {  # colour, mark and words of each method
    "mackay": (VERMILION, "s", "MacKay's formula"),
    "hessian": (BLUE, "D", "Hessian, prior included"),
    "exact": (BLACK, "|", "exact (quadrature)"),
    "collapsed": (GREEN, "o", PROGRAMS["collapsed"]),
    "weight-space": (PURPLE, "^", PROGRAMS["weight-space"]),
    "gp": (GREY, "v", PROGRAMS["gp"]),
}
_EDGE = 3.6  # exact standard deviations at which the forest is cut off
_DOTS = 800
_WIDEST = 20.0  # an error bar in a forest of ArviZ's
_RADII = (1.0, 2.0)  # of the ellipses, in standard deviations


def forest(bars: tuple[Bars, ...]) -> Figure:
    """Mean ± one standard deviation by every method, in units of the exact posterior of each problem."""
    groups = {p: [b for b in bars if p in b.parameters] for p in SYMBOLS}
    groups = {p: found for p, found in groups.items() if found}
    sizes = [len(found) for found in groups.values()]
    with new_figure(PAGE_WIDTH, 1.3 + 0.62 * sum(sizes)) as figure:
        panels = figure.subplots(len(sizes), 1, sharex=True, squeeze=False, height_ratios=[n + 0.4 for n in sizes])
        used: set[str] = set()
        for axes, (parameter, found) in zip(panels[:, 0], groups.items(), strict=True):
            axes.axvspan(-1.0, 1.0, color=PALE, zorder=0)
            for row, b in enumerate(found):
                used |= _forest_row(axes, row, b, parameter)
            axes.set_yticks(range(len(found)), [_wrapped(b.label) for b in found], fontsize=9)
            axes.set(ylim=(len(found) - 0.4, -0.6), xlim=(-_EDGE, _EDGE))
            axes.set_title(SYMBOLS[parameter], loc="left", fontweight="bold")
        panels[-1, 0].set_xlabel("distance from the exact mean, in exact standard deviations")
        handles = [_handle(m) for m in LOOK if m in used]
        figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=9)
        return figure


def _handle(method: str) -> Line2D:
    colour, mark, words = LOOK[method]
    return Line2D([], [], color=colour, marker=mark, label=words, markersize=6)


def _forest_row(axes: Axes, row: int, b: Bars, parameter: str) -> set[str]:
    methods: list[tuple[str, dict[str, Any]]] = [(m, getattr(b, m)) for m in ("mackay", "hessian", "exact")]
    methods += [(program, b.sampled[program].values) for program in PROGRAMS if program in b.sampled]
    centre, unit = b.exact["mean"][parameter], b.exact["sd"][parameter]
    heights = np.linspace(-0.32, 0.32, len(methods)) if len(methods) > 1 else [0.0]
    for height, (method, values) in zip(heights, methods, strict=True):
        mean, sd = values["mean"][parameter], values["sd"][parameter]
        colour, mark, _ = LOOK[method]
        middle = (mean - centre) / unit
        half = np.inf if sd is None else sd / unit
        low, high = max(middle - half, -_EDGE), min(middle + half, _EDGE)
        if low < high:
            axes.plot([low, high], [row + height] * 2, color=colour, linewidth=2.0)
        for end, edge, arrow in ((middle - half, -_EDGE, "<"), (middle + half, _EDGE, ">")):
            if abs(end) > _EDGE and np.sign(end) == np.sign(edge):  # it goes on beyond the frame
                axes.plot([edge], [row + height], arrow, color=colour, markersize=5, clip_on=False)
        if abs(middle) < _EDGE:
            size = 9 if mark == "|" else 5
            axes.plot([middle], [row + height], mark, color=colour, markersize=size, markeredgewidth=1.6)
    return {method for method, _ in methods}


def _wrapped(label: str) -> str:
    return plain_label(label.replace(" (", "\n(").replace(", targets", ",\ntargets"))


# --- pairs -----------------------------------------------------------------------------------------------------------


def pairs(bars: tuple[Bars, ...]) -> Figure:
    """Draws of two log parameters under the exact density's contours and the two ellipses, for every problem."""
    rows = -(-len(bars) // 2)
    with new_figure(PAGE_WIDTH, 0.7 + 2.75 * rows) as figure:
        panels = figure.subplots(rows, 2, squeeze=False).ravel()
        for axes, b in zip(panels, bars, strict=False):
            _pair(axes, b)
        for axes in panels[len(bars) :]:
            axes.set_axis_off()
        handles = [
            Line2D([], [], color=GREY, marker=".", linestyle="none", label="draws of NUTS"),
            Line2D([], [], color=BLACK, linewidth=1.8, label="exact density"),
            Line2D([], [], color=BLUE, linestyle="--", linewidth=1.8, label="Hessian's ellipse"),
            Line2D([], [], color=VERMILION, linestyle="-.", linewidth=1.8, label="MacKay's ellipse"),
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9, columnspacing=1.0)
        return figure


def _pair(axes: Axes, b: Bars) -> None:
    names = b.density["names"]
    x, y = np.array(b.density["x"]), np.array(b.density["y"])
    density = np.exp(np.array(b.density["log_density"]))
    if "collapsed" in b.sampled and has_draws(b.sampled["collapsed"]):
        drawn = draws_of(b.sampled["collapsed"])
        chosen = [drawn[name].ravel() for name in names]
        step = max(1, len(chosen[0]) // _DOTS)
        axes.scatter(chosen[0][::step], chosen[1][::step], s=3, color="#9a9a9a", linewidths=0, rasterized=True)
    levels = hpd_levels(density, [1.0 - np.exp(-0.5 * r**2) for r in _RADII])
    axes.contour(x, y, density.T, levels=sorted(levels), colors=BLACK, linewidths=1.6)
    shown = [b.hessian] if names[1] == "log_sigma" else [b.hessian, b.mackay]
    for values, colour, line in zip(shown, (BLUE, VERMILION), ("--", "-."), strict=False):
        for ellipse in ellipses(values, names):
            axes.add_patch(ellipse)
            ellipse.set(edgecolor=colour, linestyle=line, linewidth=1.6, facecolor="none")
    mass = density > 0.5 * min(levels)  # the frame shows what the contours enclose, and some room around it
    room_x, room_y = 0.25 * np.ptp(x[mass.any(axis=1)]), 0.25 * np.ptp(y[mass.any(axis=0)])
    axes.set_xlim(x[mass.any(axis=1)].min() - room_x, x[mass.any(axis=1)].max() + room_x)
    axes.set_ylim(y[mass.any(axis=0)].min() - room_y, y[mass.any(axis=0)].max() + room_y)
    axes.set(xlabel=SYMBOLS[names[0]], ylabel=SYMBOLS[names[1]])
    axes.set_title(_wrapped(b.label), loc="left", fontsize=9.5)


def hpd_levels(density: Array, shares: list[float]) -> list[float]:
    """Heights above which a density on an even grid has these shares of its mass."""
    ordered = np.sort(density.ravel())[::-1]
    mass = np.cumsum(ordered) / ordered.sum()
    return [float(ordered[min(int(np.searchsorted(mass, share)), len(ordered) - 1)]) for share in shares]


def ellipses(values: dict[str, Any], names: tuple[str, str]) -> list[Ellipse]:
    """Contours of a Gaussian that hold as much as one and two standard deviations; none where it has no width."""
    a, b = (values["sd"][name] for name in names)
    found = {frozenset(key.split()): value for key, value in values["correlation"].items()}
    correlation = found[frozenset(names)]
    if a is None or b is None or correlation is None:
        return []
    covariance = np.array([[a**2, correlation * a * b], [correlation * a * b, b**2]])
    widths, axes = np.linalg.eigh(covariance)
    angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
    centre = tuple(values["mean"][name] for name in names)
    long, short = np.sqrt(widths[1]), np.sqrt(max(widths[0], 0.0))
    return [Ellipse(centre, 2 * r * long, 2 * r * short, angle=angle) for r in _RADII]


# --- ranks -----------------------------------------------------------------------------------------------------------


def ranks(cell: FinishedCell) -> Figure:
    """Rank plots of a cell's chains."""
    return rank_figure({SYMBOLS[name]: values for name, values in draws_of(cell).items()})


# --- the same by ArviZ -----------------------------------------------------------------------------------------------


def arviz_forest(bars: tuple[Bars, ...]) -> Figure:
    """Intervals of the draws of collapsed NUTS by ArviZ, with the bars of the other methods below each."""
    having = [b for b in bars if "collapsed" in b.sampled and has_draws(b.sampled["collapsed"])]
    drawn = {b.name: draws_of(b.sampled["collapsed"]) for b in having}
    rows = [(b, p, f"{SYMBOLS[p]}, {plain_label(b.label)}") for p in SYMBOLS for b in having if p in drawn[b.name]]
    beside = {}
    for method in ("mackay", "hessian", "exact"):
        found = {row: (getattr(b, method)["mean"][p], getattr(b, method)["sd"][p]) for b, p, row in rows}
        kept = {row: Bar(mean, sd) for row, (mean, sd) in found.items() if sd is not None and sd < _WIDEST}
        beside[LOOK[method][2]] = (LOOK[method][0], kept)
    return forest_figure({row: drawn[b.name][p] for b, p, row in rows}, beside)


def arviz_pair(b: Bars) -> Figure:
    """ArviZ's pair plot of one problem, with the Hessian's and MacKay's ellipses and the exact contours on top."""
    names = {symbol: name for name, symbol in SYMBOLS.items()}

    def decorate(axes: Axes, x: str, y: str) -> None:
        pair = (names[x], names[y])
        if pair == tuple(b.density["names"]):
            density = np.exp(np.array(b.density["log_density"]))
            levels = hpd_levels(density, [1.0 - np.exp(-0.5 * r**2) for r in _RADII])
            axes.contour(b.density["x"], b.density["y"], density.T, levels=sorted(levels), colors=BLACK, linewidths=1.4)
        shown = [(b.hessian, BLUE, "--")] + ([(b.mackay, VERMILION, "-.")] if "log_sigma" not in pair else [])
        for values, colour, line in shown:
            for ellipse in ellipses(values, pair):
                axes.add_patch(ellipse)
                ellipse.set(edgecolor=colour, linestyle=line, linewidth=1.4, facecolor="none")

    drawn = draws_of(b.sampled["collapsed"])
    return pair_figure({SYMBOLS[name]: drawn[name] for name in b.parameters}, decorate)


def effective_sizes(cell: FinishedCell) -> Figure:
    """Effective sizes at quantiles."""
    return ess_figure({SYMBOLS[name]: values for name, values in draws_of(cell).items()})


def energies(cell: FinishedCell) -> Figure | None:
    """Energies of the chains, where the sampler has them."""
    energy = energies_of(cell)
    return None if energy is None else energy_figure(energy)
