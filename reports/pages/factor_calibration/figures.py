"""Figures of the page: reliability diagrams, and log Bayes factors against the integrated ones."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import beta

from bayes_lssvm.base.typing import Array
from reports.draw.style import BLACK, BLUE, GREY, PAGE_WIDTH, PALE, VERMILION, new_figure
from validation.studies.factor_calibration import PAIRS

from .outcomes import NAMES, Outcomes
from .sentences import Found

EDGES = np.linspace(0.0, 1.0, 6)
_FARTHEST = 8.0  # nats that are shown


def reliability(part: Outcomes) -> Array:
    """Rows of mean P(H₁ | D), share of sets from H₁, and a 90 % interval of it, for each bin of P that has sets."""
    p, rows = part.probability, []
    bins = np.clip(np.digitize(p, EDGES) - 1, 0, len(EDGES) - 2)
    for k in np.unique(bins):
        here = bins == k
        hits, misses = int(part.first[here].sum()), int((~part.first[here]).sum())
        low, high = beta.ppf([0.05, 0.95], hits + 0.5, misses + 0.5)  # Jeffreys's interval
        rows.append((float(p[here].mean()), hits / (hits + misses), float(low), float(high)))
    return np.array(rows)


def figure_reliability(found: Found) -> Figure:
    """How often the first kernel is the true one against P(H₁ | D): one row a pair, one column a method."""
    names = [name for name in NAMES if any(name in own for own in found.values())]
    with new_figure(PAGE_WIDTH, 0.7 + 1.2 * len(found), settings={"font.size": 8.5}) as figure:
        grid = figure.subplots(len(found), len(names), sharex=True, sharey=True, squeeze=False)
        for axes, name in zip(grid[0], names, strict=True):
            axes.set_title(NAMES[name], fontsize=9)
        for row, (pair, own) in zip(grid, found.items(), strict=True):
            for axes, name in zip(row, names, strict=True):
                _panel(axes, own.get(name))
            row[0].set_ylabel(PAIRS[pair].label.replace(" against ", "\nagainst "))
        figure.supxlabel("P(first kernel | data)", fontsize=9)
        figure.supylabel("share of sets from the first kernel", fontsize=9)
        return figure


def _panel(axes: Axes, part: Outcomes | None) -> None:
    axes.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), aspect="equal")
    axes.set_xticks([0.0, 0.5, 1.0], ["0", "½", "1"])
    axes.set_yticks([0.0, 0.5, 1.0], ["0", "½", "1"])
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    if part is None:
        axes.set_facecolor(PALE)
        return
    rows = reliability(part)
    colour = BLUE if part.calibrated else VERMILION
    axes.vlines(rows[:, 0], rows[:, 2], rows[:, 3], color=colour, linewidth=1.2)
    axes.plot(rows[:, 0], rows[:, 1], "o" if part.calibrated else "s", color=colour, markersize=4.0)


def figure_factors(found: Found) -> Figure:
    """Log Bayes factors of the closed forms against the integrated ones."""
    names = [name for name in NAMES if name not in ("integrated", "sampled")]
    with new_figure(PAGE_WIDTH, 0.5 + 1.85 * len(found), settings={"font.size": 8.5}) as figure:
        grid = figure.subplots(len(found), len(names), sharex=True, sharey=True, squeeze=False)
        for axes, name in zip(grid[0], names, strict=True):
            axes.set_title(NAMES[name], fontsize=9)
        for row, (pair, own) in zip(grid, found.items(), strict=True):
            exact = own["integrated"]
            for axes, name in zip(row, names, strict=True):
                axes.plot([-_FARTHEST, _FARTHEST], [-_FARTHEST, _FARTHEST], color=BLACK, linewidth=0.8)
                axes.axhline(0.0, color=GREY, linewidth=0.6, linestyle=":")
                axes.axvline(0.0, color=GREY, linewidth=0.6, linestyle=":")
                for true, mark, colour in ((True, "o", BLUE), (False, "x", VERMILION)):
                    x, y = (np.clip(o.log_odds[o.first == true], -_FARTHEST, _FARTHEST) for o in (exact, own[name]))
                    axes.plot(x, y, mark, color=colour, markersize=2.6, alpha=0.7)
                axes.set(aspect="equal")
            row[0].set_ylabel(f"{PAIRS[pair].label}\nlog odds")
        for axes in grid[-1]:
            axes.set_xlabel("log odds, integrated")
        return figure
