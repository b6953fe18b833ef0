"""The page of the map of trust: heat maps, curves and a verdict over N, signal-to-noise, dimension and width."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.trust import LIMITS
from reports.draw.style import BLACK, BLUE, GREEN, GREY, MAP, PAGE_WIDTH, PALE, VERMILION, new_figure
from reports.frame.page import Page, Picture, Row, Section, Table
from validation.harness import StudyResult

ENOUGH = 0.9  # share of the sets that must be good
METHODS = {"mackay": "eq 5.2", "hessian": "5.2, Hessian", "laplace": "Laplace"}
NATS = LIMITS["evidence"][0]
INTRODUCTION = (
    "How many data, and how much signal, do the closed forms of the evidence framework need? Sets are simulated with a "
    "known RBF kernel over the number of points N, the signal-to-noise ratio, the number of inputs d and the kernel's "
    "width σ, and the closed forms over μ and ζ are compared with the exact integrals on each."
)


@dataclass(frozen=True)
class Spot:
    """A cell of the map: its place and what was measured on its sets, as columns of shape (sets,)."""

    n: int
    d: int
    sigma: float
    assumed_sigma: float
    snr: float
    sets: dict[str, list[Any]]

    @property
    def mistaken(self) -> bool:
        """Whether the kernel is taken for another one."""
        return self.assumed_sigma != self.sigma

    def column(self, name: str) -> Array:
        """A measured quantity; nan where a set has none."""
        return np.array([np.nan if value is None else value for value in self.sets[name]], dtype=float)

    def share(self, good: AnyArray) -> float:
        """Share of the sets that are good."""
        return float(np.mean(good))

    @property
    def trusted(self) -> float:
        """Share of the sets on which every check is good."""
        return self.share(self.column("trusted") == 1.0)

    def within(self, method: str) -> float:
        """Share of the sets whose evidence is within half a nat; no answer is not within."""
        return self.share(np.abs(self.column(method)) <= NATS)


Share = Callable[[Spot], float]


def spots_of(result: StudyResult) -> list[Spot]:
    """The map's cells that were computed."""
    places = ("n", "d", "sigma", "assumed_sigma", "snr")
    return [
        Spot(**{name: f.cell.settings[name] for name in places}, sets=f.values["sets"])
        for f in result.cells
        if f.error is None
    ]


def problems_of(spots: Sequence[Spot]) -> dict[str, list[Spot]]:
    """Spots by dimension and width, under the name that the page gives them."""
    found: dict[str, list[Spot]] = {}
    for spot in spots:
        taken = f" taken for {spot.assumed_sigma:.3g}" if spot.mistaken else ""
        found.setdefault(f"d = {spot.d}, σ = {spot.sigma:.3g}{taken}", []).append(spot)
    return found


def thresholds(spots: Sequence[Spot], share: Share) -> dict[float, int | None]:
    """For each signal-to-noise ratio the N from which on the share is large enough; None where there is none."""
    found: dict[float, int | None] = {}
    for snr in sorted({spot.snr for spot in spots}):
        found[snr] = None
        for spot in sorted((s for s in spots if s.snr == snr), key=lambda s: -s.n):
            if share(spot) < ENOUGH:
                break
            found[snr] = spot.n
    return found


# --- words -----------------------------------------------------------------------------------------------------------


def verdict(spots: Sequence[Spot]) -> tuple[str, ...]:
    """What the map says, in sentences made from its numbers."""
    problems = problems_of(spots)
    right = [s for s in spots if not s.mistaken]
    return (
        _headline(spots),
        "What holds in 90 % of the sets, from which number of points on and at which signal-to-noise ratios:",
        *(_of_problem(name, own) for name, own in problems.items()),
        _of_laplace(spots),
        *_place_of_the_prior(right),
        *_without_signal(right),
        *_error_bars(right),
        _modes(spots),
        *_of_mistaken([s for s in spots if s.mistaken]),
        *_predictions(right),
    )


def _of_problem(name: str, spots: Sequence[Spot]) -> str:
    return (
        f"{name}: every check is good {said(thresholds(spots, lambda s: s.trusted))}; the evidence by 5.2 is within "
        f"{NATS:g} nats {said(thresholds(spots, lambda s: s.within('mackay')))}."
    )


def _headline(spots: Sequence[Spot]) -> str:
    good = [spot for spot in spots if spot.trusted >= ENOUGH]
    if not good:
        return "Nowhere on this map is every check of the closed forms good in 90 % of the sets: integrate instead."
    return (
        f"The closed forms can be trusted on {len(good)} of the {len(spots)} cells of this map, where every check of "
        f"`bayes_lssvm.trust` is good in 90 % of the sets: all of them have a signal-to-noise ratio of at least "
        f"{min(s.snr for s in good):g} and N of at least {min(s.n for s in good)}."
    )


def said(found: dict[float, int | None]) -> str:
    """Thresholds in words: "from N = 30 at ratio 10, from N = 100 at ratios 1 and 3"; other ratios are left out."""
    groups: dict[int, list[str]] = {}
    for snr, n in found.items():
        if n is not None:
            groups.setdefault(n, []).append(_ratio(snr))
    parts = [f"from N = {n} at ratio{'s' * (len(groups[n]) > 1)} {_listed(groups[n])}" for n in sorted(groups)]
    return ", ".join(parts) or "nowhere"


def _ratio(snr: float) -> str:
    return "0 (no signal)" if snr == 0.0 else f"{snr:g}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _of_laplace(spots: Sequence[Spot]) -> str:
    low = min(spots, key=lambda s: s.within("laplace"))
    worst = max(float(np.nanmedian(np.abs(s.column("laplace")))) for s in spots)
    if low.within("laplace") >= ENOUGH:
        return (
            f"Laplace's method with the prior in it is within {NATS:g} nats in 90 % of the sets everywhere on the map; "
            f"its median error is at most {worst:.2f} nats."
        )
    return (
        f"Laplace's method with the prior in it is within {NATS:g} nats in {100 * low.within('laplace'):.0f} % of the "
        f"sets at its worst (N = {low.n}, {_name(low)}, signal-to-noise {_ratio(low.snr)}); its "
        f"median error is at most {worst:.2f} nats."
    )


def _place_of_the_prior(spots: Sequence[Spot]) -> tuple[str, ...]:
    """What 5.2 loses by taking the prior as its width, where there is most signal."""
    clear = _clear(spots)
    most = [s for s in clear if s.snr == max(one.snr for one in clear)]
    if not most:
        return ()
    hessian, laplace = (_median(np.concatenate([s.column(name) for s in most])) for name in ("hessian", "laplace"))
    if not hessian - abs(laplace) > 0.5 * NATS:
        return ()
    return (
        f"At signal-to-noise {most[0].snr:g} and N ≥ 100, 5.2 is {hessian:.2f} nats too large at the median even with "
        f"the exact Hessian, where Laplace's method is off by {abs(laplace):.3f}: 5.2 counts the prior's width and not "
        "where its middle is, and ζ is far from there.",
    )


def _without_signal(spots: Sequence[Spot]) -> tuple[str, ...]:
    pure = [s for s in spots if s.snr == 0.0]
    if not pure:
        return ()
    lost = np.mean(np.concatenate([s.column("no_mode") for s in pure]))

    def off(n: int) -> str:
        errors = np.concatenate([s.column("mackay") for s in pure if s.n == n])
        return f"{float(np.nanmedian(np.abs(errors))):.1f} nats at N = {n}"

    fewest, most = min(s.n for s in pure), max(s.n for s in pure)
    return (
        f"Without signal level 2 has no mode (γ → 0 or ∞) in {100 * lost:.0f} % of the sets, and 5.2 is off by a "
        f"median of {off(fewest)} and {off(most)}.",
    )


def _clear(spots: Sequence[Spot]) -> list[Spot]:
    return [s for s in spots if s.snr >= 1.0 and s.n >= 100]


def _error_bars(spots: Sequence[Spot]) -> tuple[str, ...]:
    clear = problems_of(_clear(spots))
    if not clear:
        return ()

    def span(name: str) -> str:
        medians = [np.nanmedian(np.concatenate([s.column(name) for s in own])) for own in clear.values()]
        low, high = float(min(medians)), float(max(medians))
        return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"

    return (
        f"With N ≥ 100 and signal-to-noise ≥ 1, MacKay's error bar of log μ is {span('mackay_log_mu')} times the exact "
        f"standard deviation (medians of the problems) and that of log ζ {span('mackay_log_zeta')} times; the "
        f"Hessian's are {span('hessian_log_mu')} and {span('hessian_log_zeta')} times.",
    )


def _modes(spots: Sequence[Spot]) -> str:
    shares = [spot.share(spot.column("n_modes") >= 2.0) for spot in spots]
    most = spots[int(np.argmax(shares))]
    total = float(np.mean(np.concatenate([s.column("n_modes") >= 2.0 for s in spots])))
    if total == 0.0:
        return "The posterior of μ and ζ under this prior has one mode on every set."
    return (
        f"The posterior of μ and ζ has two modes or more in {100 * total:.1f} % of the sets, most often "
        f"({100 * max(shares):.0f} %) at N = {most.n}, {_name(most)}, signal-to-noise "
        f"{_ratio(most.snr)}."
    )


def _name(spot: Spot) -> str:
    return next(iter(problems_of([spot])))


def _of_mistaken(spots: Sequence[Spot]) -> tuple[str, ...]:
    """What a kernel that is too wide does, where there is a signal to be seen."""
    seen = [s for s in spots if s.snr >= 1.0]
    if not seen:
        return ()
    far = [s for s in seen if s.n == max(one.n for one in seen)]
    two = np.mean(np.concatenate([s.column("n_modes") >= 2.0 for s in seen]))
    trusted = np.mean(np.concatenate([s.column("trusted") == 1.0 for s in seen]))
    off = _median(np.abs(np.concatenate([s.column("mackay") for s in far])))
    laplace = _median(np.abs(np.concatenate([s.column("laplace") for s in far])))
    return (
        f"With a kernel taken for {seen[0].assumed_sigma / seen[0].sigma:.2g} times as wide as it is, and "
        f"signal-to-noise ≥ 1, the posterior has two modes or more in {100 * two:.0f} % of the sets and every check is "
        f"good in {100 * trusted:.0f} %; at N = {far[0].n} 5.2 is off by a median of {off:.1f} nats and Laplace's "
        f"method by {laplace:.2f}.",
    )


def _predictions(spots: Sequence[Spot]) -> tuple[str, ...]:
    """From which N on plug-in predictions are as good as integrated ones, over all problems."""
    limit = LIMITS["regression"][0]
    seen = [s for s in spots if s.snr >= 1.0]
    bad = [s for s in seen if s.share(s.column("change") <= limit) < ENOUGH]
    if not seen:
        return ()
    largest = max(s.n for s in seen)
    after = sorted({s.n for s in seen if s.n > max((b.n for b in bad), default=0)})
    if after:
        end = f"of every problem from N = {after[0]} on"
    else:
        names = _listed(list(problems_of([b for b in bad if b.n == largest])))
        end = f"of the problems other than {names}, where even N = {largest} is not enough"
    return (
        f"With signal-to-noise ≥ 1 fixing μ and ζ moves no prediction by more than {limit:g} of its standard "
        f"deviations in 90 % of the sets {end}.",
    )


# --- tables ----------------------------------------------------------------------------------------------------------


def key_table(problems: dict[str, list[Spot]]) -> Table:
    """From which N on, for each problem and ratio."""
    shares: tuple[Share, ...] = (
        *((lambda s, method=method: s.within(method)) for method in METHODS),
        lambda s: s.trusted,
    )
    rows: list[Row] = []
    for name, own in problems.items():
        found = [thresholds(own, share) for share in shares]
        rows.append(Row(name))
        rows += [
            Row("  " + _ratio(snr), tuple("–" if one[snr] is None else f"{one[snr]}" for one in found))
            for snr in found[0]
        ]
    header = ("signal-to-noise", *(f"{said}, {NATS:g} nats" for said in METHODS.values()), "every check good")
    note = (
        "The N from which on 90 % of the sets are that good; a dash where the largest N is not. “Every check” are "
        "those of `bayes_lssvm.trust`: evidence by 5.2, MacKay's error bars, k̂, modes, tails and predictions."
    )
    return Table("From how many points on the closed forms hold", header, tuple(rows), note)


def failure_table(problems: dict[str, list[Spot]]) -> Table:
    """How often each thing goes wrong, by N."""
    limits = LIMITS["k_hat"][0], LIMITS["tail mass"][0], LIMITS["regression"][0]
    rows: list[Row] = []
    for name, own in problems.items():
        rows.append(Row(name))
        for n in sorted({s.n for s in own}):
            here = [s for s in own if s.n == n]
            clear = [s for s in here if s.snr >= 1.0]
            cells = (
                _percent([s for s in here if s.snr == 0.0], lambda s: s.column("no_mode") == 1.0),
                _percent(clear, lambda s: s.column("no_mode") == 1.0),
                _percent(here, lambda s: s.column("n_modes") >= 2.0),
                _percent(here, lambda s: s.column("k_hat") > limits[0]),
                _percent(here, lambda s: s.column("tail_mass") > limits[1]),
                _percent(clear, lambda s: s.column("change") > limits[2]),
            )
            rows.append(Row(f"  N = {n}", cells))
    header = (
        "share of sets with …",
        "no mode, no signal",
        "no mode, ratio ≥ 1",
        "two modes",
        f"k̂ > {limits[0]:g}",
        f"tails > {100 * limits[1]:.0f} %",
        f"prediction moved > {limits[2]:g} sd, ratio ≥ 1",
    )
    return Table("How often things go wrong", header, tuple(rows), "Percentages over all ratios where none is named.")


def _percent(spots: Sequence[Spot], bad: Callable[[Spot], AnyArray]) -> str:
    return f"{100 * np.mean(np.concatenate([bad(s) for s in spots])):.0f}" if spots else "–"


# --- figures ---------------------------------------------------------------------------------------------------------


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
            Line2D([], [], color=VERMILION, linewidth=3, label="can be trusted: every check good in 90 % of sets"),
            Line2D([], [], color=BLACK, linewidth=1.6, linestyle=(0, (3, 1.5)), label=_EVIDENCE),
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=1)
        return figure


_EVIDENCE = f"evidence by 5.2 within {NATS:g} nats in 90 % of sets"


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
    axes.add_collection(
        LineCollection(outline(evidence, 0.0), colors=BLACK, linewidths=1.6, linestyles=[(0, (3, 1.5))])
    )
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
            for axes, (method, title) in zip(row, METHODS.items(), strict=True):
                axes.axhline(NATS, color=BLACK, linewidth=1.0, linestyle=":")
                for snr, look in zip(_few_ratios(own), _LINES, strict=False):
                    line = sorted((s for s in own if s.snr == snr), key=lambda s: s.n)
                    middle = [_median(np.abs(s.column(method))) for s in line]
                    _draw(axes, [s.n for s in line], middle, look, _label(snr))
                axes.set(xscale="log", yscale="log", ylim=(3e-4, 20.0))
                axes.set_yticks([1e-3, 1e-2, 0.1, 1.0, 10.0], ["0.001", "0.01", "0.1", "1", "10"])
                _counts_axis(axes, own)
                axes.set_title(f"{title}\n{name}", loc="left")
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
                    middle = [_median(s.column(f"{method}_{parameter}")) for s in line]
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


def _median(values: Array) -> float:
    """Median of what there is, where at least half of the sets have a value."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if 2 * len(known) >= len(values) and len(known) else float("nan")


def _draw(axes: Axes, x: Sequence[float], y: Sequence[float], look: tuple[Any, ...], label: str) -> None:
    colour, mark, line = look
    axes.plot(x, y, color=colour, marker=mark, linestyle=line, markersize=4.5, linewidth=1.6, label=label)


def _label(snr: float) -> str:
    return "none" if snr == 0.0 else f"{snr:g}"


# --- the page --------------------------------------------------------------------------------------------------------

HOW = (
    "Inputs are standard normal in d dimensions, a new design for every set. The signal is drawn from the model, "
    "f ~ Normal(0, K/μ) with K = exp(−|x − z|²/σ²), and noise of variance 1/ζ is added. Signal-to-noise is the "
    "expected sample variance of f over that of the noise; their sum is one. Without signal the targets are noise.",
    "Each method has the true kernel (where it is “taken for” another, that one) and the prior Normal(0, 3²) of log μ "
    "and of log ζ. “eq 5.2” has MacKay's error bars √(2/(γ_eff − 1)) and √(2/(N − γ_eff)), none wider than the prior; "
    "“5.2, Hessian” has the determinant of the exact Hessian at (μ_MP, ζ_MP) instead, and no answer where level 2 has "
    "no mode; both take the prior as its width alone, and so are too large by ½[(log μ_MP/3)² + (log ζ_MP/3)²] where "
    "the mode is away from the prior's middle. “Laplace” is the Gaussian at the posterior's mode, the prior in it. The "
    "truth is quadrature.",
    "k̂ is the Pareto shape of 1000 importance weights of Student proposals at the modes. Tails are the posterior mass "
    "beyond 3 standard deviations of Laplace's Gaussian. Predictions are means and standard deviations at data and "
    "midpoints of pairs, plug-in against integrated. A set without a mode of level 2, or whose evidence gains less "
    "than 2 nats over noise, is not trusted, as `bayes_lssvm.trust` grades it.",
    "Shares come from the number of sets that the diagnostics list: 10 sets tell 90 % from 60 %, 40 sets tell it "
    "from 77 %. A kernel that is taken for another is shown up to signal-to-noise 10: beyond it γ can go where double "
    "precision ends, and the integral that is the truth here is cut off.",
)


def page(result: StudyResult) -> Page:
    """The map of trust."""
    spots = spots_of(result)
    problems = problems_of(spots)
    sets = sum(len(s.sets["trusted"]) for s in spots)
    pictures = (
        Picture(
            "map",
            figure_map(problems),
            "Heat maps over N and signal-to-noise, one for each dimension and kernel width: the share of sets on which "
            "every check of the closed forms is good. " + _headline(spots),
            "Share of the simulated sets, in per cent, on which every check of the closed forms is good. Inside the "
            "heavy line the evidence framework can be trusted; inside the dashed line its evidence is right, but error "
            "bars or predictions need not be.",
        ),
        Picture(
            "errors",
            figure_errors(problems),
            "Median absolute error of the log evidence in nats against N on log scales, for eq 5.2, 5.2 with the exact "
            "Hessian and Laplace's method, with a line for each signal-to-noise ratio and a dotted line at half a nat.",
            "Median |error| of the log evidence. The dotted line is half a nat. A line breaks off where more than half "
            "of the sets have no answer. Laplace's error falls with N; that of 5.2 settles at a floor, since its error "
            "bars leave out how γ_eff moves with μ and it takes the prior as its width alone.",
        ),
        Picture(
            "error_bars",
            figure_bars(problems),
            "Ratio of error bars to exact standard deviations of log μ and log ζ against N, for MacKay's formulas and "
            "the exact Hessian at two signal-to-noise ratios, with a grey band from 0.8 to 1.25.",
            "Error bars over exact standard deviations, medians of the sets that have a mode. The grey band is a "
            "factor of 1.25 either way. MacKay's bars are too short where they are below it.",
        ),
    )
    return Page(
        name=result.study,
        title=result.title,
        introduction=f"{INTRODUCTION} This page rests on {sets} sets in {len(spots)} cells.",
        verdict=verdict(spots),
        key_table=key_table(problems),
        sections=(
            Section("The map", pictures=pictures[:1]),
            Section("The evidence", pictures=pictures[1:2]),
            Section("The error bars", pictures=pictures[2:]),
            Section("What goes wrong, and how often", tables=(failure_table(problems),)),
        ),
        methods=HOW,
        result=result,
    )
