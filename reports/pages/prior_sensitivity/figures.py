"""Figures of prior sensitivity: forests of posteriors, evidences and predictions, one row a prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_lssvm.trust import LIMITS
from reports.draw.style import BLACK, BLUE, GREY, PAGE_WIDTH, PALE, VERMILION, new_figure
from validation.studies.prior_sensitivity import PARAMETERS

from .answers import SYMBOLS, Answer, kind_of


def _priors_axis(axes: Axes, answers: Sequence[Answer]) -> None:
    names = [f"{PARAMETERS.get(a.group, 'all')}: {a.label}" for a in answers]
    axes.set_yticks(range(len(answers)), names)
    axes.set_ylim(len(answers) - 0.5, -0.5)


def _look(answer: Answer, reference: Answer) -> dict[str, Any]:
    filled = {"markerfacecolor": "white"} if answer.endless else {}
    if answer is reference:
        return {"color": VERMILION, "fmt": "D", "markersize": 6, **filled}
    if answer.group == "all":
        return {"color": BLUE, "fmt": "o", "markersize": 5, **filled}
    return {"color": GREY, "fmt": "s", "markersize": 4.5, **filled}


def figure_posteriors(reference: Answer, answers: Sequence[Answer]) -> Figure:
    """A forest of posterior means and standard deviations, one row a prior."""
    with new_figure(PAGE_WIDTH, 1.2 + 0.235 * len(answers)) as figure:
        panels = figure.subplots(1, 3, sharey=True)
        for axes, (name, symbol) in zip(panels, SYMBOLS.items(), strict=True):
            mean, sd = reference.values["mean"][name], reference.values["sd"][name]
            axes.axvspan(mean - sd, mean + sd, color=PALE, linewidth=0)
            axes.axvline(mean, color=BLACK, linewidth=0.8)
            for i, a in enumerate(answers):
                axes.errorbar(
                    a.values["mean"][name], i, xerr=a.values["sd"][name], linewidth=1.4, **_look(a, reference)
                )
            axes.set_title(symbol, loc="left")
            axes.set_xlabel("posterior mean ± sd")
        _priors_axis(panels[0], answers)
        return figure


def figure_evidence(reference: Answer, answers: Sequence[Answer]) -> Figure:
    """Evidence, Bayes factors and predictions, each against the reference."""
    probability = kind_of(reference) == "probability"
    with new_figure(PAGE_WIDTH, 1.2 + 0.235 * len(answers)) as figure:
        panels = figure.subplots(1, 3, sharey=True)
        for i, a in enumerate(answers):
            look = _look(a, reference)
            panels[0].errorbar(a.log_evidence - reference.log_evidence, i, **look)
            panels[1].errorbar(a.bayes_factor, i, **look)
            panels[2].errorbar(a.change_from(reference), i, **look)
        panels[0].axvline(0.0, color=BLACK, linewidth=0.8)
        panels[0].set(xlabel="nats, from the reference")
        panels[0].set_title("log evidence", loc="left")
        panels[1].set(xlabel="nats")
        panels[1].axvline(0.0, color=BLACK, linewidth=0.8)
        panels[1].set_title("log B, RBF : linear", loc="left")
        panels[2].axvline(LIMITS[kind_of(reference)][0], color=BLACK, linewidth=0.8, linestyle=":")
        panels[2].set(xlabel="of a probability" if probability else "standard deviations")
        panels[2].set_title("worst change", loc="left")
        _priors_axis(panels[0], answers)
        return figure
