"""The explorer on paper: the evidence against σ, and below it three widths side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from bayes_lssvm.base.typing import Array
from reports.draw.style import BLACK, BLUE, GREEN, GREY, MAP, PALE, PURPLE, VERMILION, new_figure
from reports.frame.page import plain_label
from reports.frame.words import number
from validation.harness import StudyResult
from validation.studies.explorer import RADIUS, unpack

from .payload import stops, widths

COLOURS = {"mackay": VERMILION, "hessian": BLUE, "laplace": GREEN, "importance": PURPLE, "quadrature": BLACK}
LABELS = {
    "mackay": "MacKay's error bars (5.2)",
    "hessian": "exact Hessian in (5.2)",
    "laplace": "Laplace, prior included",
    "importance": "corrected by sampling",
    "quadrature": "exact (quadrature)",
}
TITLES = ("too narrow", "most probable", "too wide")
_PROBABILITIES = LinearSegmentedColormap.from_list("classes", ["#5d8cc0", "#fafaf8", "#cf6a68"])
_MOST_OFF = 5.0


def three_widths(result: StudyResult) -> Figure:
    """Evidence and its errors in the first row; posterior and predictions at three widths in the others."""
    nodes, chosen = [cell.values for cell in widths(result)], stops(result)
    with new_figure(10.0, 10.0, settings={**MAP, "font.size": 10}) as figure:
        upper, lower = figure.subfigures(2, 1, height_ratios=(0.9, 2.1))
        left, right = upper.subplots(1, 2)
        _evidence(left, nodes, chosen)
        _errors(right, nodes, chosen)
        panels = lower.subplots(2, 3)
        for column, (i, title) in enumerate(zip(chosen, TITLES, strict=True)):
            _posterior(panels[0, column], nodes[i])
            _plane(panels[1, column], nodes[i], result)
            sigma, effective = number(nodes[i]["sigma"], ".3g"), number(nodes[i]["gamma_eff"], ".3g")
            panels[0, column].set_title(rf"σ = {sigma}, {title}: γ$_\mathrm{{eff}}$ = {effective} of {nodes[i]['n']}")
        panels[0, 0].set_ylabel("log ζ")
        panels[1, 0].set_ylabel(plain_label(str((result.data or {})["feature_names"][1])))
        handles, labels = right.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return figure


def _along(axes: Axes, nodes: list[dict[str, Any]], chosen: tuple[int, ...]) -> Array:
    """σ on a logarithmic axis with the three widths marked."""
    sigma = np.array([node["sigma"] for node in nodes])
    axes.set_xscale("log")
    ticks = [m * 10.0**p for p in range(-4, 5) for m in (1, 2, 5) if sigma[0] <= m * 10.0**p <= sigma[-1]]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(sigma[0], sigma[-1])
    axes.set_xlabel("kernel width σ")
    for i in chosen:
        axes.axvline(sigma[i], color=PALE, linewidth=4, zorder=0)
    return sigma


def _evidence(axes: Axes, nodes: list[dict[str, Any]], chosen: tuple[int, ...]) -> None:
    sigma = _along(axes, nodes, chosen)
    axes.plot(sigma, [node["best_fit"] for node in nodes], color=GREY, linestyle="--", linewidth=1.2)
    exact = [node["log_evidence"]["quadrature"] for node in nodes]
    axes.plot(sigma, exact, color=BLACK, linewidth=2.2)
    axes.plot(sigma[list(chosen)], [exact[i] for i in chosen], "o", color=BLACK)
    axes.set_title("Log evidence (dashed: no Occam factor for μ, ζ)")


def _errors(axes: Axes, nodes: list[dict[str, Any]], chosen: tuple[int, ...]) -> None:
    sigma = _along(axes, nodes, chosen)
    for name, colour in COLOURS.items():
        off = [_number(n["log_evidence"][name]) - n["log_evidence"]["quadrature"] for n in nodes]
        axes.plot(sigma, off, color=colour, label=LABELS[name], linewidth=1.8)
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, -_MOST_OFF), min(high, _MOST_OFF))
    axes.set_title("Approximation minus exact, in nats")


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _posterior(axes: Axes, node: dict[str, Any]) -> None:
    shown = node["posterior"]
    left, right, bottom, top = shown["window"]
    grid = unpack(shown["log_density"])
    across, up = np.linspace(left, right, grid.shape[1]), np.linspace(bottom, top, grid.shape[0])
    levels = sorted(shown["levels"])
    axes.contourf(across, up, grid, levels=[*levels, float(grid.max()) + 1.0], colors=["#eef1f4", "#d7dee6", "#b9c5d2"])
    axes.contour(across, up, grid, levels=levels, colors=BLACK, linewidths=(0.8, 1.6, 0.8), linestyles="solid")
    for name, moments in shown["gaussians"].items():
        style = "--" if name == "laplace" else "-"
        axes.add_patch(_ellipse(moments, edgecolor=COLOURS[name], linestyle=style, linewidth=1.8, fill=False))
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_xlabel("log μ")


def _ellipse(moments: list[float], **style: Any) -> Ellipse:
    """The ellipse with 90 % of a Gaussian of given means, standard deviations and correlation."""
    mu, zeta, sd_mu, sd_zeta, correlation = moments
    cross = correlation * sd_mu * sd_zeta
    variances, axes = np.linalg.eigh(np.array([[sd_mu**2, cross], [cross, sd_zeta**2]]))
    small, large = 2.0 * RADIUS * np.sqrt(variances)
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    return Ellipse((mu, zeta), float(large), float(small), angle=float(angle), **style)


def _plane(axes: Axes, node: dict[str, Any], result: StudyResult) -> None:
    points = result["data"].values
    X, y = np.array(points["X"]), np.array(points["y"])
    grid = unpack(node["plane"])
    low, high = node["plane"]["low"], node["plane"]["high"]
    left, right, bottom, top = points["window"]
    across, up = np.linspace(left, right, grid.shape[1]), np.linspace(bottom, top, grid.shape[0])
    axes.pcolormesh(across, up, grid, cmap=_PROBABILITIES, vmin=low, vmax=high, shading="gouraud", rasterized=True)
    axes.contour(across, up, grid, levels=[0.5 * (low + high)], colors=BLACK, linewidths=1.4)
    for marker, chosen, colour in (("o", y < 0, "#054282"), ("^", y >= 0, "#aa161e")):
        axes.scatter(X[chosen, 0], X[chosen, 1], s=11, marker=marker, color=colour, edgecolor="white", linewidth=0.4)
    axes.set_xlabel(plain_label(str((result.data or {})["feature_names"][0])))
