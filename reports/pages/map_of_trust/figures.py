"""Figures of the map: heat maps of trust, and curves of errors and error bars over N."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayes_lssvm.base.typing import AnyArray
from bayes_lssvm.trust import LIMITS
from reports.draw.style import BLACK, BLUE, GREEN, GREY, MAP, PAGE_WIDTH, PALE, VERMILION, new_figure
from reports.draw.thumbnail import heat

from .spots import ENOUGH, METHODS, NATS, Spot, median


def figure_map(problems: dict[str, list[Spot]]) -> Figure:
    """Share of sets on which every check is good, over N and signal-to-noise, with the regions that can be trusted."""
    rows = -(-len(problems) // 2)
    with new_figure(PAGE_WIDTH, 0.9 + 2.75 * rows, settings=MAP) as figure:
        panels = figure.subplots(rows, 2, squeeze=False).ravel()
        for axes in panels[len(problems) :]:
            axes.set_axis_off()
        for axes, (name, own) in zip(panels, problems.items(), strict=False):
            image = _heat(axes, own, name)
        bar = figure.colorbar(image, ax=panels.tolist(), shrink=0.8, ticks=[0, 0.25, 0.5, 0.75, 1])
        bar.ax.set_yticklabels(["0 %", "25 %", "50 %", "75 %", "100 %"])
        bar.set_label("sets on which every check is good")
        keys = [
            Line2D([], [], color=VERMILION, linewidth=3, label="safe: every check good in 90 % of sets"),
            Line2D([], [], color=GREEN, linestyle="none", marker="o", markersize=5, label=_EVIDENCE),
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=1)
        return figure


_EVIDENCE = f"evidence (5.2) alone within {NATS:g} nats in 90 % of sets"


def _heat(axes: Axes, spots: Sequence[Spot], name: str) -> Any:
    ns, snrs = sorted({s.n for s in spots}), sorted({s.snr for s in spots})
    at = {(s.snr, s.n): s for s in spots}
    shown = np.full((len(snrs), len(ns)), np.nan)
    evidence = np.zeros_like(shown, dtype=bool)
    for (snr, n), spot in at.items():
        shown[snrs.index(snr), ns.index(n)] = spot.trusted
        evidence[snrs.index(snr), ns.index(n)] = spot.within("mackay") >= ENOUGH
    image = axes.imshow(shown, cmap="Blues", vmin=0.0, vmax=1.0, origin="lower", aspect="auto")
    for (i, j), value in np.ndenumerate(shown):
        if np.isfinite(value):
            colour = "white" if value > 0.6 else BLACK
            axes.text(j, i, f"{100 * value:.0f}", ha="center", va="center", color=colour)
    with np.errstate(invalid="ignore"):
        axes.add_collection(LineCollection(outline(shown >= ENOUGH, 0.06), colors=VERMILION, linewidths=3))
    rows, columns = np.nonzero(evidence)
    axes.plot(columns + 0.36, rows + 0.3, "o", color=GREEN, markersize=4.5, markeredgecolor="white", clip_on=False)
    axes.set_xticks(range(len(ns)), [str(n) for n in ns])
    axes.set_yticks(range(len(snrs)), ["none" if snr == 0.0 else f"{snr:g}" for snr in snrs])
    axes.set(xlabel="N", ylabel="signal-to-noise")
    axes.set_title(name, loc="left")
    return image


def outline(region: AnyArray, inset: float) -> list[list[tuple[float, float]]]:
    """The border of a region of unit cells as line segments, drawn a little inside it."""
    padded = np.pad(region, 1)
    found: list[list[tuple[float, float]]] = []
    for i, j in zip(*np.nonzero(region), strict=True):
        low_x, high_x, low_y, high_y = j - 0.5, j + 0.5, i - 0.5, i + 0.5
        up, down, left, right = padded[i + 2, j + 1], padded[i, j + 1], padded[i + 1, j], padded[i + 1, j + 2]
        x0, x1 = low_x + inset * (not left), high_x - inset * (not right)
        y0, y1 = low_y + inset * (not down), high_y - inset * (not up)
        sides = (
            (up, [(x0, y1), (x1, y1)]),
            (down, [(x0, y0), (x1, y0)]),
            (left, [(x0, y0), (x0, y1)]),
            (right, [(x1, y0), (x1, y1)]),
        )
        found += [segment for inside, segment in sides if not inside]
    return found


def thumbnail(problems: dict[str, list[Spot]]) -> Figure:
    """The first map, small."""
    own = next(iter(problems.values()))
    ns, snrs = sorted({s.n for s in own}), sorted({s.snr for s in own})
    shares = np.full((len(snrs), len(ns)), np.nan)
    for s in own:
        shares[snrs.index(s.snr), ns.index(s.n)] = s.trusted
    return heat(shares, "share of data where all is well (coloured: safe)", x="more data →", y="more signal →")


_LINES = ((GREY, "x", (0, (1, 1))), (VERMILION, "s", (0, (3, 1.5))), (BLUE, "o", "-"), (GREEN, "D", (0, (6, 2))))


def _few_ratios(spots: Sequence[Spot]) -> list[float]:
    """Four ratios for the lines of a figure: none, little, as much as noise, ten times as much, where they exist."""
    there = sorted({s.snr for s in spots})
    return [snr for snr in (0.0, 0.3, 1.0, 10.0) if snr in there] or there[:4]


def figure_errors(problems: dict[str, list[Spot]]) -> Figure:
    """Median |error| in nats against N for the three closed forms."""
    with new_figure(PAGE_WIDTH, 0.9 + 1.9 * len(problems)) as figure:
        grid = figure.subplots(len(problems), len(METHODS), sharex=True, sharey=True, squeeze=False)
        for row, (name, own) in zip(grid, problems.items(), strict=True):
            short = name.replace(", fitted", ",\nfitted")
            for axes, (method, title) in zip(row, METHODS.items(), strict=True):
                axes.axhline(NATS, color=BLACK, linewidth=1.0, linestyle=":")
                for snr, look in zip(_few_ratios(own), _LINES, strict=False):
                    line = sorted((s for s in own if s.snr == snr), key=lambda s: s.n)
                    middle = [median(np.abs(s.column(method))) for s in line]
                    _draw(axes, [s.n for s in line], middle, look, _label(snr))
                axes.set(xscale="log", yscale="log", ylim=(3e-4, 20.0))
                axes.set_yticks([1e-3, 1e-2, 0.1, 1.0, 10.0], ["0.001", "0.01", "0.1", "1", "10"])
                _counts_axis(axes, own)
                axes.set_title(f"{title}\n{short}", loc="left")
            row[0].set_ylabel("median |error|, nats")
        for axes in grid[-1]:
            axes.set_xlabel("N")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, title="signal-to-noise")
        return figure


def figure_bars(problems: dict[str, list[Spot]]) -> Figure:
    """Error bars over exact standard deviations against N, at two ratios."""
    names = {"log_mu": "log μ", "log_zeta": "log ζ"}
    with new_figure(PAGE_WIDTH, 0.9 + 1.9 * len(problems)) as figure:
        grid = figure.subplots(len(problems), 2, sharex=True, sharey=True, squeeze=False)
        for row, (name, own) in zip(grid, problems.items(), strict=True):
            for axes, (parameter, symbol) in zip(row, names.items(), strict=True):
                axes.axhline(1.0, color=BLACK, linewidth=1.0)
                margin = float(np.exp(LIMITS["error bars"][0]))
                axes.axhspan(1.0 / margin, margin, color=PALE, linewidth=0)
                lines = [(m, snr) for m in ("mackay", "hessian") for snr in _few_ratios(own)[-2:]]
                for (method, snr), look in zip(lines, (_LINES[1], _LINES[0], _LINES[2], _LINES[3]), strict=False):
                    line = sorted((s for s in own if s.snr == snr), key=lambda s: s.n)
                    middle = [median(s.column(f"{method}_{parameter}")) for s in line]
                    who = "MacKay" if method == "mackay" else "Hessian"
                    _draw(axes, [s.n for s in line], middle, look, f"{who}, ratio {snr:g}")
                axes.set(xscale="log", yscale="log", ylim=(0.14, 2.2))
                axes.set_yticks([0.2, 0.5, 1.0, 2.0], ["0.2", "0.5", "1", "2"])
                _counts_axis(axes, own)
                axes.set_title(f"{symbol}, {name}", loc="left")
            row[0].set_ylabel("bar / exact sd")
        for axes in grid[-1]:
            axes.set_xlabel("N")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return figure


def _counts_axis(axes: Axes, spots: Sequence[Spot]) -> None:
    ns = sorted({s.n for s in spots})
    axes.set_xticks(ns, [str(n) for n in ns])
    axes.minorticks_off()


def _draw(axes: Axes, x: Sequence[float], y: Sequence[float], look: tuple[Any, ...], label: str) -> None:
    colour, mark, line = look
    axes.plot(x, y, color=colour, marker=mark, linestyle=line, markersize=4.5, linewidth=1.6, label=label)


def _label(snr: float) -> str:
    return "none" if snr == 0.0 else f"{snr:g}"
