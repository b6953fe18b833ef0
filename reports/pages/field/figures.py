"""Figures of the field study: critical differences, ratios set by set, and reliability."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, ScalarFormatter

from reports.draw.ranks import RankLine, figure_ranks
from reports.draw.style import BLACK, BLUE, GREEN, GREY, ORANGE, PAGE_WIDTH, PALE, PURPLE, SKY, VERMILION, new_figure
from validation.harness.ranks import average_ranks, critical_difference, not_told_apart
from validation.studies.field.summary import REFERENCE, WITHIN, Field, held_against_yardsticks, pooled_bins

from .tables import the_better, title

COLOURS = {
    "ours": BLUE,
    "papers": SKY,
    "logistic": VERMILION,
    "svc": ORANGE,
    "forest": GREEN,
    "boosting": PURPLE,
    "gpc": GREY,
    "neo": BLACK,
}
_LEFTMOST = 1e-3  # of a bar on a logarithmic axis
_FEWEST_SHARE = 0.005  # of the rows: bins with fewer are noise


def rank_line(field: Field, measure: str, heading: str) -> RankLine:
    """The diagram of one score over the methods that have it on every set."""
    ranks = average_ranks(field.table(measure), higher_is_better=measure == "accuracy").tolist()
    difference = critical_difference(len(ranks), len(field.sets))
    names = [title(m) for m in field.complete]
    return RankLine(heading, names, ranks, difference, not_told_apart(ranks, difference))


def figure_critical(field: Field) -> Figure:
    """Average ranks in log loss and in accuracy."""
    measures = (("log_loss", "log loss"), ("accuracy", "accuracy"))
    return figure_ranks([rank_line(field, *measure) for measure in measures], own=title(REFERENCE))


def figure_ratios(field: Field) -> Figure:
    """Ours over the better of the plain alternatives, set by set, with two standard errors."""
    found = held_against_yardsticks(field)
    with new_figure(PAGE_WIDTH, 1.0 + 0.19 * len(found)) as figure:
        axes = figure.subplots()
        axes.axvline(1.0, color=GREY, linewidth=0.9)
        axes.axvline(WITHIN, color=GREY, linewidth=0.9, linestyle="--")
        for place, y in enumerate(found):
            colour = VERMILION if y.ratio > 1.0 else BLUE
            error = 2.0 * y.gain.error / y.theirs
            bar = [max(y.ratio - error, _LEFTMOST), y.ratio + error]
            axes.plot(bar, [place, place], color=colour, linewidth=1.2)
            axes.plot(y.ratio, place, color=colour, marker="o" if y.gain.clear else "s", markersize=5.0)
            if not y.gain.clear:
                axes.plot(y.ratio, place, color="white", marker="s", markersize=2.8)
        axes.set_xscale("log")
        low, high = (f(y.ratio for y in found) for f in (min, max))
        axes.set_xlim(min(0.5, 0.85 * low), max(1.5, 1.15 * high))
        ticks = [
            t for t in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0) if 0.8 * low < t < 1.2 * high or t == 1
        ]
        axes.set_xticks(ticks)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set_yticks(range(len(found)), [y.name for y in found], fontsize=8.5)
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.set_xlabel(f"log loss of {title(REFERENCE)} / {the_better(field)}")
        return figure


def figure_reliability(field: Field) -> Figure:
    """Share of correct decisions minus confidence, by confidence, over all sets with the same weight."""
    with new_figure(PAGE_WIDTH, 3.4) as figure:
        axes = figure.subplots()
        axes.axhspan(-0.05, 0.05, color=PALE, linewidth=0)
        axes.axhline(0.0, color=GREY, linewidth=0.9)
        for method in reversed(field.complete):
            n, confidence, correct = pooled_bins(field, method)
            there = n > _FEWEST_SHARE
            own = method == REFERENCE
            axes.plot(
                confidence[there] / n[there],
                (correct[there] - confidence[there]) / n[there],
                color=COLOURS[method],
                marker="o",
                markersize=5.0 if own else 3.0,
                linewidth=2.4 if own else 1.1,
                label=title(method),
            )
        axes.set_xlabel("confidence: probability of the class that is decided for")
        axes.set_ylabel("share correct − confidence")
        axes.set_xlim(0.2, 1.01)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="outside upper left", ncols=4, fontsize=8.5)
        return figure


def too_sure(field: Field, method: str) -> float:
    """Mean confidence minus share of correct decisions, over all sets with the same weight."""
    _, confidence, correct = pooled_bins(field, method)
    return float(np.sum(confidence - correct))
