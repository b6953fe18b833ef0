"""Figures of the evidence along σ: curves, errors, the Occam factor taken apart, and modes over γ."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from bayes_lssvm.base.typing import Array
from reports.draw.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PAGE_WIDTH,
    PALE,
    PURPLE,
    VERMILION,
    legend_above,
    new_figure,
)
from reports.draw.thumbnail import lines

from .ladder import APPROXIMATE, PROGRAMS, RUNGS, Ladder

LOOK: dict[str, dict[str, Any]] = {
    "without_occam": {"color": GREEN, "linestyle": ":", "marker": "^"},
    "mackay": {"color": VERMILION, "linestyle": "--", "marker": "s"},
    "hessian": {"color": PURPLE, "linestyle": "-.", "marker": "v"},
    "laplace": {"color": BLUE, "linestyle": (0, (5, 1)), "marker": "D"},
    "quadrature": {"color": BLACK, "linestyle": "-", "marker": "o"},
}
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SHOWN = 60.0
"""Nats below its maximum down to which the exact evidence is shown."""
_NUTS = {"collapsed": ("o", BLACK), "weights": ("s", ORANGE), "gp": ("D", BLUE)}


def line(rung: str) -> dict[str, Any]:
    """Colour and style of a rung's line."""
    return {"color": LOOK[rung]["color"], "linestyle": LOOK[rung]["linestyle"], "linewidth": 1.9}


def along_sigma(axes: Axes, sigma: Array) -> None:
    """A logarithmic axis of widths with plain numbers."""
    axes.set_xscale("log")
    axes.set_xlim(sigma.min(), sigma.max())
    axes.xaxis.set_major_locator(FixedLocator([t for t in _TICKS if sigma.min() <= t <= sigma.max()]))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def curves(curve: Ladder, near: Ladder, chosen: dict[str, Any], sampled: list[dict[str, Any]]) -> Figure:
    """Log evidence by every rung: over all widths, and each minus its maximum, close up."""
    with new_figure(PAGE_WIDTH, 7.4) as figure:
        whole, close = figure.subplots(2, 1, height_ratios=(1.0, 1.1))
        for rung in LOOK:
            whole.plot(curve.sigma, curve.values[rung], **line(rung), label=RUNGS[rung])
        along_sigma(whole, curve.sigma)
        top = np.nanmax(curve.values["without_occam"])
        floor = max(np.nanmin(curve.values["quadrature"]), np.nanmax(curve.values["quadrature"]) - SHOWN) - 2.0
        whole.set_ylim(floor, top + 3.0)
        for program, (mark, colour) in _NUTS.items():
            own = [s for s in sampled if s["program"] == program and s["log_evidence"] is not None]
            _sampled_marks(whole, own, floor, mark, colour, f"{PROGRAMS[program]} + bridge sampling")
        whole.set(ylabel="log p(D | σ) (nats)")
        whole.set_title("All widths", loc="left")
        _close_up(close, curve, near, chosen)
        figure.legend(*close.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
        figure.legend(*whole.get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=9)
        return figure


def _sampled_marks(axes: Axes, own: list[dict[str, Any]], floor: float, mark: str, colour: str, label: str) -> None:
    """Sampled evidences, and an arrow at the lower edge for each that lies below it.

    A mark that is not clipped counts in the layout wherever it is, and one far below would stretch the figure.
    """
    look: dict[str, Any] = {"linestyle": "none", "color": colour, "clip_on": False, "zorder": 4}
    inside = [s for s in own if s["log_evidence"] >= floor]
    below = [s["sigma"] for s in own if s["log_evidence"] < floor]
    if inside:
        x, y = [s["sigma"] for s in inside], [s["log_evidence"] for s in inside]
        axes.plot(x, y, marker=mark, markersize=6, markerfacecolor="white", label=label, **look)
    if below:
        axes.plot(below, [floor] * len(below), marker="v", markersize=5, **look)


def _close_up(axes: Axes, curve: Ladder, near: Ladder, chosen: dict[str, Any]) -> None:
    """The curves minus their maxima over a range that holds the widths of all methods."""
    widths = [chosen[rung]["sigma"] for rung in LOOK if rung in chosen]
    shown = near
    if widths and not near.sigma.min() <= min(widths) <= max(widths) <= near.sigma.max():
        shown = curve.between(0.6 * min(widths), 1.6 * max(widths))
        along_sigma(axes, shown.sigma)
    else:
        axes.set_xlim(shown.sigma.min(), shown.sigma.max())
    low = -0.1
    for rung in (rung for rung in LOOK if rung in chosen):
        found = chosen[rung]
        heights = shown.values[rung] - found["value"]
        axes.plot(shown.sigma, heights, **line(rung))
        low = min(low, float(np.nanmin(heights)))
        look = {"color": LOOK[rung]["color"], "marker": LOOK[rung]["marker"], "markersize": 8}
        end = " (end of the range)" if found["at_edge"] else ""
        label = f"σ = {found['sigma']:.4g}{end}, {RUNGS[rung]}"
        axes.plot([found["sigma"]], [0.0], linestyle="none", clip_on=False, label=label, **look)
    axes.set_ylim(max(1.05 * low, -4.0), 0.08 * min(-low, 4.0))
    axes.set(xlabel="kernel width σ", ylabel="log p(D | σ) − its maximum (nats)")
    axes.set_title("Around the maxima, each curve minus its own", loc="left")


def thumbnail(curve: Ladder, chosen: dict[str, Any]) -> Figure:
    """The exact evidence and the one by MacKay's Occam factor around their maxima."""
    widths = [chosen[rung]["sigma"] for rung in ("quadrature", "mackay") if rung in chosen]
    part = curve.between(0.5 * min(widths), 2.0 * max(widths))
    shown = {"exact": part.values["quadrature"], "formula (5.2)": part.values["mackay"]}
    top = float(np.nanmax(part.values["quadrature"]))
    return lines(
        part.sigma, {k: v - top for k, v in shown.items()}, "log evidence along the kernel width", logarithmic=True
    )


def errors(curve: Ladder, sampled: list[dict[str, Any]]) -> Figure:
    """Each method minus quadrature: the closed forms above, the sampled ones, enlarged, below."""
    with new_figure(PAGE_WIDTH, 6.2) as figure:
        closed, drawn = figure.subplots(2, 1, sharex=True)
        _shade(closed, curve)
        _shade(drawn, curve)
        for rung in APPROXIMATE:
            closed.plot(curve.sigma, curve.error(rung), **line(rung), label=RUNGS[rung])
        closed.axhline(0.0, color=BLACK, linewidth=1.0)
        found = np.concatenate([curve.error(rung) for rung in APPROXIMATE])
        low, high = np.nanpercentile(found, [1.0, 99.0])  # a method that runs away at one width would hide the others
        low, high = min(float(low), -0.05), max(float(high), 0.05)
        closed.set_ylim(low - 0.1 * (high - low), high + 0.1 * (high - low))
        closed.set_ylabel("error (nats)")
        closed.set_title("Closed forms", loc="left")
        legend_above(closed)
        error = curve.part("importance_error")
        drawn.errorbar(
            curve.sigma,
            curve.error("importance"),
            3.0 * error,
            fmt="x",
            color=GREY,
            markersize=4,
            elinewidth=0.8,
            label=RUNGS["importance"],
        )
        for program, (mark, colour) in _NUTS.items():
            own = [s for s in sampled if s["program"] == program and s["log_evidence"] is not None]
            if own:
                drawn.errorbar(
                    [s["sigma"] for s in own],
                    [s["log_evidence"] - s["exact"] for s in own],
                    [3.0 * s["error"] for s in own],
                    fmt=mark,
                    color=colour,
                    markersize=6,
                    capsize=3,
                    elinewidth=1.6,
                    clip_on=False,
                    zorder=4,
                    label=PROGRAMS[program],  # short: the title stands beside the legend
                )
        drawn.axhline(0.0, color=BLACK, linewidth=1.0)
        reach = [
            abs(s["log_evidence"] - s["exact"]) + 3.5 * s["error"] for s in sampled if s["log_evidence"] is not None
        ]
        limit = max([*reach, float(np.nanpercentile(np.abs(curve.error("importance")) + 3.0 * error, 90))])
        drawn.set_ylim(-limit, limit)
        drawn.set(xlabel="kernel width σ (logarithmic)", ylabel="error (nats)")
        drawn.set_title("Sampled, ± 3 s.e.", loc="left")
        legend_above(drawn)
        along_sigma(drawn, curve.sigma)
        return figure


def _shade(axes: Axes, curve: Ladder) -> None:
    inside = curve.sigma[curve.matters]
    axes.axvspan(inside.min(), inside.max(), color=PALE, zorder=0)


def occam(curve: Ladder) -> Figure:
    """The best fit and the Occam factor along σ, the factor by MacKay's bars taken apart."""
    with new_figure(PAGE_WIDTH, 6.4) as figure:
        fit, factor = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.2))
        for axes in (fit, factor):
            _shade(axes, curve)
        best, exact = curve.values["without_occam"], curve.values["quadrature"]
        fit.plot(curve.sigma, best - best.max(), **line("without_occam"), label="best fit")
        fit.plot(curve.sigma, exact - exact.max(), **line("quadrature"), label="evidence (quadrature)")
        low = max(-40.0, 1.05 * float(min(np.nanmin(best - best.max()), np.nanmin(exact - np.nanmax(exact)))))
        fit.set_ylim(low, -0.05 * low)
        fit.set_ylabel("minus its maximum (nats)")
        fit.set_title("What the data prefer", loc="left")
        legend_above(fit)
        mu, zeta = curve.part("occam", "mackay_mu"), curve.part("occam", "mackay_zeta")
        factor.plot(curve.sigma, mu, color=BLUE, linestyle="--", linewidth=1.6, label="for μ (MacKay)")
        factor.plot(curve.sigma, zeta, color=GREEN, linestyle=":", linewidth=2.0, label="for ζ (MacKay)")
        factor.plot(curve.sigma, mu + zeta, **line("mackay"), label="both (MacKay)")
        factor.plot(curve.sigma, curve.part("occam", "hessian"), **line("hessian"), label="both (exact Hessian)")
        factor.plot(curve.sigma, curve.part("occam", "exact"), **line("quadrature"), label="exact")
        factor.set(xlabel="kernel width σ (logarithmic)", ylabel="log Occam factor (nats)")
        factor.set_title("Occam factor", loc="left")
        legend_above(factor, ncols=3)
        along_sigma(factor, curve.sigma)
        return figure


def modes(found: list[dict[str, Any]]) -> Figure:
    """Evidence and posterior over log γ at some widths."""
    with new_figure(PAGE_WIDTH, 0.7 + 2.1 * len(found)) as figure:
        panels = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
        shown = []
        for axes, profile in zip(panels, found, strict=True):
            u = np.array(profile["log_gamma"])
            evidence, density = np.exp(np.array(profile["log_profile"])), np.exp(np.array(profile["log_density"]))
            axes.plot(u, evidence, **line("mackay"), label="evidence p(D | γ), μ at its best")
            axes.plot(u, density, **line("quadrature"), label="posterior of log γ, prior included")
            for mode in profile["modes"]:
                height = float(np.exp(np.interp(mode, u, profile["log_profile"])))
                axes.plot([mode], [height], "s", color=VERMILION, markersize=6)
            axes.set_ylabel("relative to\nits maximum")
            axes.set_title(f"σ = {profile['sigma']:g}", loc="left")
            shown.append(u[np.maximum(evidence, density) > 1e-3])
        low, high = min(part.min() for part in shown), max(part.max() for part in shown)
        panels[-1].set(xlabel="log γ = log ζ − log μ", xlim=(low, high))
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=9)
        return figure
