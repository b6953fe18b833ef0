"""Figures of the study: the error against what foretells it, and the z-scores of the bridge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from reports.draw.style import BLACK, BLUE, GREEN, GREY, PAGE_WIDTH, PURPLE, VERMILION, legend_above, new_figure
from validation.studies.laplace_reference import LIMIT

from .posteriors import FIGURES, K_HAT_LIMIT, Posterior, z_scores

_SMALLEST = 1e-3  # nats, of what is drawn
_LOOKS = {
    "references: linear": (BLUE, "o"),
    "references: others": (VERMILION, "s"),
    "simulated: few rows": (GREEN, "^"),
    "simulated: groups": (PURPLE, "D"),
}


def _group(p: Posterior) -> str:
    if p.kind == "reference":
        return "references: linear" if p.family == "regression" else "references: others"
    return f"simulated: {p.family}"


def figure_predictors(posteriors: Sequence[Posterior]) -> Figure:
    """|error| against each figure that is known at the mode."""
    with new_figure(PAGE_WIDTH, 6.4) as figure:
        panels = figure.subplots(2, 2, sharey=True).ravel()
        for axes, (name, words) in zip(panels, FIGURES.items(), strict=True):
            _scatter(axes, posteriors, name, logarithmic=not name.startswith("k_hat"))
            axes.axhline(LIMIT, color=GREY, linewidth=1, linestyle=":")
            axes.set(xlabel=f"size of {words}, nats" if name == "correction" else words, yscale="log")
            limit = {"correction": LIMIT, "k_hat": K_HAT_LIMIT, "k_hat_gaussian": K_HAT_LIMIT}.get(name)
            if limit is not None:
                axes.axvline(limit, color=GREY, linewidth=1, linestyle=":")
        for p in (p for p in posteriors if p.kind == "reference" and p.is_off and np.isfinite(p.error)):
            name = p.name.partition("-")[0].replace("_", " ")
            panels[0].annotate(name, (abs(p["correction"]), p.error), (5, -12), textcoords="offset points")
        low, high = panels[0].get_xlim()
        panels[0].plot([low, high], [low, high], color=BLACK, linewidth=0.8, zorder=0)
        panels[0].set_xlim(low, high)
        for axes in panels[::2]:
            axes.set_ylabel("|error of Laplace's evidence|, nats")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return figure


def _scatter(axes: Axes, posteriors: Sequence[Posterior], name: str, *, logarithmic: bool) -> None:
    for group, (colour, mark) in _LOOKS.items():
        own = [p for p in posteriors if _group(p) == group and np.isfinite(p[name]) and np.isfinite(p.error)]
        if own:
            x = [max(abs(p[name]), _SMALLEST) if logarithmic else p[name] for p in own]
            y = [max(p.error, _SMALLEST) for p in own]
            axes.plot(x, y, mark, color=colour, markersize=5, alpha=0.8, markeredgewidth=0, label=group)
    if logarithmic:
        axes.set_xscale("log")


def figure_bridge(posteriors: Sequence[Posterior]) -> Figure:
    """Histogram of the z-scores with the normal density."""
    z = z_scores(posteriors)
    with new_figure(PAGE_WIDTH, 2.8) as figure:
        axes = figure.subplots()
        edges = np.arange(-4.25, 4.5, 0.5).tolist()
        axes.hist(np.clip(z, -4.2, 4.2), edges, density=True, color=BLUE, alpha=0.6, label=f"{len(z)} chains")
        grid = np.linspace(-4.25, 4.25, 200)
        axes.plot(grid, norm.pdf(grid), color=BLACK, linewidth=1.2, label="standard normal")
        axes.set(xlabel="error of the bridge in its standard errors", ylabel="density")
        legend_above(axes)
        return figure
