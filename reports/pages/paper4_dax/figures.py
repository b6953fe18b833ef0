"""Cumulative profits, and the volatility beside the returns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from bayes_lssvm.base.typing import Array
from reports.draw.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, new_figure
from reports.draw.thumbnail import lines
from reports.frame.page import Picture
from reports.frame.words import number
from validation.harness import StudyResult
from validation.papers.paper4.dax import Trading
from validation.papers.paper4.dax_strategy import COST

LOOKS = {
    "LS-SVM + volatility": (VERMILION, "-", 2.2),
    "LS-SVM, learned noise": (ORANGE, (0, (6, 1)), 1.8),
    "LS-SVM": (BLUE, (0, (5, 2)), 1.8),
    "ARX": (GREEN, (0, (1, 1.2)), 1.8),
    "AR": (PURPLE, (0, (3, 1, 1, 1)), 1.6),
    "buy and hold": (BLACK, "-", 1.0),
}
FIRST_DAY, DAYS_IN_YEAR = 1991 + 129 / 260, 260
"""When the series begins, in years, and its business days a year, as its source gives them."""


def times(result: StudyResult) -> Array:
    """When each tested day was, in years."""
    rows = [
        np.arange(s["first"], s["first"] + s["days"]) for f in result.cells if not f.error for s in [f.cell.settings]
    ]
    return np.asarray(FIRST_DAY + (np.concatenate(rows) + 1) / DAYS_IN_YEAR)


def profit_picture(found: Mapping[str, Trading], when: Array) -> Picture:
    """Cumulative profit before and after costs."""
    with new_figure(9.6, 4.4) as figure:
        before, after = figure.subplots(1, 2, sharey=True)
        for name, own in found.items():
            colour, dashes, width = LOOKS[name]
            for axes, profit in ((before, own.before_costs), (after, own.after_costs)):
                axes.plot(when, np.cumsum(profit), color=colour, linestyle=dashes, linewidth=width, label=name)
        for axes, title in ((before, "Before costs"), (after, f"After costs of {100 * COST:g} % a trade")):
            axes.axhline(0.0, color=GREY, linewidth=0.8)
            axes.set_title(title, loc="left")
            axes.set_xlabel("year")
            axes.xaxis.set_major_locator(MultipleLocator(1.0))
            axes.xaxis.set_minor_locator(MultipleLocator(0.25))
            axes.xaxis.set_major_formatter("{x:.0f}")
        before.set_ylabel("cumulative profit, % of the stake")
        figure.legend(*before.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    ends = ", ".join(f"{name} {number(float(own.after_costs.sum()), '.1f')} %" for name, own in found.items())
    return Picture(
        "profit",
        figure,
        f"Cumulative profit of {len(found)} strategies over time. At the end, after costs: {ends}.",
        "Cumulative profit of each strategy, out of sample. A model that is always long follows buy and hold, but for "
        "rounding. The panels differ by the cost of trading: strategies that change sides often lose most.",
    )


def thumbnail(found: Mapping[str, Trading], when: Array) -> Figure:
    """Cumulative profit after costs of three strategies."""
    names = {"LS-SVM + volatility": "LS-SVM + vol.", "AR": "AR", "buy and hold": "buy and hold"}
    curves = {words: np.cumsum(found[name].after_costs) for name, words in names.items() if name in found}
    return lines(when, curves, "profit after costs, % of the stake", level=0.0)


def volatility_picture(found: Mapping[str, Trading], when: Array) -> Picture:
    """Daily returns within the error bars of the corrected LS-SVM, of learned noise and of constant noise."""
    own, plain, learned = (found[name] for name in ("LS-SVM + volatility", "LS-SVM", "LS-SVM, learned noise"))
    with new_figure(9.6, 3.8) as figure:
        axes = figure.add_subplot()
        axes.bar(when, own.returns, width=1.0 / DAYS_IN_YEAR, color=GREY, label="return of the day")
        for sign, label in ((1.0, "LS-SVM + volatility: mean ± 2 sd"), (-1.0, "")):
            axes.plot(when, own.mean + sign * 2.0 * own.sd, color=VERMILION, linewidth=1.3, label=label)
        for sign, label in ((1.0, "LS-SVM, learned noise: mean ± 2 sd"), (-1.0, "")):
            axes.plot(when, learned.mean + sign * 2.0 * learned.sd, color=ORANGE, linewidth=1.1, label=label)
        for sign, label in ((1.0, "LS-SVM: mean ± 2 sd"), (-1.0, "")):
            bars = plain.mean + sign * 2.0 * plain.sd
            axes.plot(when, bars, color=BLUE, linewidth=1.3, linestyle=(0, (5, 2)), label=label)
        axes.set(xlabel="year", ylabel="DAX, % a day", xlim=(float(when[0]), float(when[-1])))
        axes.xaxis.set_major_formatter("{x:.1f}")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    low, high = float(own.sd.min()), float(own.sd.max())
    return Picture(
        "volatility",
        figure,
        f"Daily returns of the DAX and error bars of three LS-SVMs; the volatility forecast runs from {low:.2f} to "
        f"{high:.2f} %.",
        "Volatility forecast one day ahead, and the returns. With correction the error bars are narrow in quiet "
        "months and wide in wild ones, as around October 1997; without it they hardly move.",
    )
