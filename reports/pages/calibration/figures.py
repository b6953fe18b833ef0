"""Figures of calibration: ranks, empirical distribution functions and coverage by regime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binom

from reports.draw.style import BLACK, BLUE, GREEN, GREY, PAGE_WIDTH, PALE, PURPLE, VERMILION, WIDE, new_figure
from validation.studies.calibration import SCENARIOS, Results, ecdf, ecdf_band, regimes, rows_of

from .sentences import NAMES, PARAMETERS, Scenarios


class Look(NamedTuple):
    """How a method is drawn and called."""

    name: str
    colour: str
    line: Any
    mark: str


LOOKS = {
    "quadrature": Look("exact (quadrature)", BLUE, "-", "o"),
    "laplace": Look("Laplace, prior included", GREEN, (0, (6, 2)), "D"),
    "hessian": Look(r"Hessian at $\mu_{\mathrm{MP}}, \zeta_{\mathrm{MP}}$", PURPLE, (0, (3, 1.5)), "^"),
    "mackay": Look("MacKay's error bars", VERMILION, (0, (1, 1)), "s"),
}
SHORT = {"quadrature": "exact", "laplace": "Laplace", "hessian": "Hessian", "mackay": "MacKay", "nuts": "NUTS"}
BINS = 10


def figure_ecdf(results: Mapping[str, Results]) -> Figure:
    """ECDF of the PIT minus the diagonal, over the sets that have a mode, with the simultaneous band."""
    common = np.all([np.isfinite(results[name].column("log_gamma")) for name in LOOKS], axis=0)
    band = ecdf_band(int(common.sum()))
    with new_figure(13.0, 5.0, settings=WIDE) as figure:
        panels = figure.subplots(1, 3, sharey=True)
        for axes, parameter in zip(panels, PARAMETERS, strict=True):
            axes.fill_between(
                band.z,
                band.low - band.z,
                band.high - band.z,
                color=PALE,
                linewidth=0,
                label="95 % band, all points",
            )
            axes.axhline(0.0, color=GREY, linewidth=1.0)
            for method, look in LOOKS.items():
                difference = ecdf(results[method].column(parameter)[common], band.z) - band.z
                axes.plot(band.z, difference, color=look.colour, linestyle=look.line, linewidth=2.4, label=look.name)
            axes.set(xlabel="posterior probability below the truth (PIT)", xlim=(0, 1))
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
            axes.set_title(NAMES[parameter], loc="left")
        panels[0].set_ylabel("share of sets with a smaller PIT,\nminus what it should be")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=12)
        return figure


def figure_coverage(results: Mapping[str, Mapping[str, Results]]) -> Figure:
    """Coverage of 90 % intervals of log μ and log ζ by regime, for known kernels with 20 and with 100 points."""
    with new_figure(13.0, 8.6, settings=WIDE) as figure:
        grid = figure.subplots(2, 2, sharex="row", sharey=True)
        for row, (scenario, own) in zip(grid, results.items(), strict=True):
            for axes, parameter in zip(row, PARAMETERS[:2], strict=True):
                _coverage_panel(axes, scenario, own, parameter)
            row[0].set_ylabel("share of 90 % intervals\nthat hold the truth")
        for axes in grid[1]:
            axes.set_xlabel("gain: log evidence at the mode minus that of noise alone", fontsize=12)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=12)
        return figure


def _coverage_panel(axes: Axes, scenario: str, results: Mapping[str, Results], parameter: str) -> None:
    found = [r for r in regimes(results["mackay"], SCENARIOS[scenario].setting.n) if r.chosen.any()]
    axes.axhline(0.9, color=BLACK, linewidth=1.2, linestyle="--", label="claimed: 90 %", zorder=0)
    for i, (method, look) in enumerate(LOOKS.items()):
        for x, regime in enumerate(found):
            (row,) = [r for r in rows_of(results[method], regime.chosen) if r.quantity == parameter]
            place = x + 0.17 * (i - 1.5)
            label = look.name if x == len(found) - 1 else None
            if not row.coverage:
                axes.text(
                    place, 0.515, "no error bar", rotation=90, ha="center", va="bottom", color=look.colour, fontsize=11
                )
                continue
            _, share, low, high = row.coverage[2]
            axes.errorbar(
                place, share, [[share - low], [high - share]], fmt=look.mark, color=look.colour, markersize=8,
                linewidth=1.8, capsize=3, label=label,
            )  # fmt: skip
    names = [f"{_short(r.name)}\n{int(r.chosen.sum())} sets" for r in found]
    axes.set_xticks(range(len(found)), names, fontsize=10.5)
    axes.set(ylim=(0.5, 1.0), xlim=(-0.5, len(found) - 0.5))
    for x in range(1, len(found)):
        axes.axvline(x - 0.5, color=PALE, linewidth=1.0, zorder=0)
    axes.set_title(f"{NAMES[parameter]}, N = {SCENARIOS[scenario].setting.n}", loc="left")


def _short(name: str) -> str:
    return name.replace(" (", "\n(").replace("gain ", "gain\n").replace("N − γ_eff", "N − $\\gamma_{\\mathrm{eff}}$\n")


def narrow(figure: Figure, height: float, label: str) -> Figure:
    """A figure of the documentation at this page's width: its letters are then 9 points high on 7.2 inches."""
    figure.set_size_inches(9.6, height)
    for axes in figure.axes:
        if axes.get_xlabel():
            axes.set_xlabel(label)
    for legend in list(figure.legends):
        legend.remove()
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=12, frameon=False)
    return figure


def figure_ranks(own: Mapping[str, Results], quantity: str = "log_mu") -> Figure:
    """Histograms of the PIT of one quantity, one panel a method, with the limits of chance."""
    with new_figure(PAGE_WIDTH, 2.5) as figure:
        panels = figure.subplots(1, len(own), sharey=True, squeeze=False)[0]
        tallest = 1.0
        for axes, (method, one) in zip(panels, own.items(), strict=True):
            pit = one.column(quantity)
            pit = pit[np.isfinite(pit)]
            counts, edges = np.histogram(pit, bins=BINS, range=(0.0, 1.0))
            low, high = binom.ppf([0.005, 0.995], len(pit), 1.0 / BINS)
            axes.axhspan(low, high, color=PALE, linewidth=0)
            axes.axhline(len(pit) / BINS, color=GREY, linewidth=1.0)
            axes.stairs(counts, edges, color=LOOKS[method].colour if method in LOOKS else BLACK, linewidth=1.8)
            axes.set_title(f"{SHORT.get(method, method)}\n{len(pit)} sets", loc="left")
            axes.set(xlim=(0.0, 1.0), xlabel="PIT")
            tallest = max(tallest, float(counts.max()), float(high))
            axes.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
        panels[0].set(ylabel="sets", ylim=(0.0, 1.05 * tallest))
        return figure


def figure_nuts(results: Scenarios) -> Figure:
    """ECDF of the ranks of NUTS minus the diagonal, with the simultaneous band."""
    own = {name: methods["nuts"] for name, methods in results.items() if "nuts" in methods}
    looks = ((BLUE, "-"), (VERMILION, (0, (1, 1))), (GREEN, (0, (6, 2))), (PURPLE, (0, (3, 1.5))), (BLACK, "-."))
    shown = ("log_mu", "log_zeta", "log_sigma", "log_likelihood", "y_new")
    with new_figure(PAGE_WIDTH, 3.2) as figure:
        panels = figure.subplots(1, len(own), sharey=True, squeeze=False)[0]
        for axes, (scenario, one) in zip(panels, own.items(), strict=True):
            ok = np.isfinite(one.column("log_mu"))
            band = ecdf_band(int(ok.sum()))
            axes.fill_between(band.z, band.low - band.z, band.high - band.z, color=PALE, linewidth=0)
            axes.axhline(0.0, color=GREY, linewidth=1.0)
            for name, (colour, line) in zip(shown, looks, strict=True):
                if name in one.quantities:
                    difference = ecdf(one.column(name)[ok], band.z) - band.z
                    axes.plot(band.z, difference, color=colour, linestyle=line, linewidth=1.6, label=NAMES[name])
            axes.set(xlabel="PIT", xlim=(0.0, 1.0))
            axes.set_title(f"{SCENARIOS[scenario].title}, {int(ok.sum())} sets", loc="left")
        panels[0].set_ylabel("ECDF minus diagonal")
        handles, labels = panels[-1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5)
        return figure
