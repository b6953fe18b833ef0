"""The page of the calibration study: ranks, coverage, and where the closed-form error bars fail.

The two figures by method are those of `reports.draw.calibration`, which makes docs/findings/calibration.md from the
same scenarios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import binom

from reports.draw.calibration import LOOKS, NAMES, figure_coverage, figure_ecdf
from reports.draw.figures import BLACK, BLUE, GREEN, GREY, PURPLE, VERMILION
from reports.frame.page import Page, Picture, Row, Section, Table
from validation.harness import StudyResult
from validation.studies.calibration import SCENARIOS, Coverage, Results, ecdf, ecdf_band, regimes, rows_of
from validation.studies.calibration import Row as Tested
from validation.studies.calibration.study import collect

LEVEL = 0.9
CLAIMED = "90 %"
EXACT = ("quadrature", "nuts")
BINS = 10
STYLE: dict[str, Any] = {"font.size": 9, "axes.titlesize": 9.5, "axes.labelsize": 9.5, "legend.frameon": False}
METHODS = {
    "quadrature": "the exact posterior (quadrature)",
    "nuts": "NUTS",
    "laplace": "Laplace's method with the prior in it",
    "hessian": "the Hessian's error bars",
    "mackay": "MacKay's error bars",
}
INTRODUCTION = (
    "An error bar is honest if intervals of 90 % hold the truth in 90 % of cases. Here the truth is known: "
    "hyperparameters are drawn from the prior, data from the model, and every method is asked where the truth lies in "
    "its posterior. Over many simulated sets that must be uniform."
)
Scenarios = Mapping[str, Mapping[str, Results]]


# --- words -----------------------------------------------------------------------------------------------------------


def verdict(results: Scenarios) -> tuple[str, ...]:
    """Who is calibrated and who is not, in sentences made from the counts."""
    said = [_exact(results, method) for method in EXACT]
    said += [_closed(results, method) for method in ("laplace", "hessian", "mackay")]
    said += [_weakest(results), _predictions(results)]
    return tuple(sentence for sentence in said if sentence)


def _exact(results: Scenarios, method: str) -> str:
    tested, untested, outside, sets, failures = 0, 0, [], 0, 0
    for scenario, own in results.items():
        if method not in own:
            continue
        sets += len(own[method].records)
        failures += sum(record.status != "ok" for record in own[method].records)
        for row in rows_of(own[method]):
            if row.quantity == "y_new_normal":
                continue  # a mixture read as a Gaussian: nearly right only
            tested += row.tests is not None
            untested += row.tests is None
            if row.tests is not None and not row.uniform:
                outside.append(f"{NAMES[row.quantity]} ({SCENARIOS[scenario].title})")
    if not sets:
        return ""
    name = _capital(METHODS[method])
    lost = f" {failures} of its sets have no posterior and are left out." if failures else ""
    if not tested:
        return f"{name}: {sets} sets are too few to test whether it is calibrated.{lost}"
    if outside:
        return f"{name} is NOT calibrated: outside the 95 % band are {', '.join(outside)}.{lost}"
    few = f" ({untested} more have too few sets to test)" if untested else ""
    return (
        f"{name} is calibrated as far as {sets} sets can tell: all {tested} quantities that were tested{few} stay "
        f"inside the 95 % band.{lost}"
    )


def _closed(results: Scenarios, method: str) -> str:
    parts = []
    for scenario, own in results.items():
        if method not in own:
            continue
        rows = {row.quantity: row for row in rows_of(own[method])}
        shares = [
            f"{NAMES[name]} in {_share(at(rows[name].coverage))}"
            for name in ("log_mu", "log_zeta", "log_sigma")
            if name in rows and rows[name].coverage
        ]
        lost = rows["log_mu"].failures / rows["log_mu"].n
        none = f" (and {100 * lost:.0f} % of the sets have no mode)" if lost else ""
        parts.append(f"{' and of '.join(shares)} of the sets with a {SCENARIOS[scenario].title}{none}")
    if not parts:
        return ""
    return (
        f"{_capital(METHODS[method])}: intervals of {CLAIMED} are {grade(results, method)}. They hold the truth of "
        f"{'; '.join(parts)}."
    )


def grade(results: Scenarios, method: str) -> str:
    """Whether the intervals of log μ and log ζ cover as often as they claim, in words."""
    found = [
        at(row.coverage)
        for own in results.values()
        if method in own
        for row in rows_of(own[method])
        if row.quantity in ("log_mu", "log_zeta") and row.coverage
    ]
    short = sum(c.high < LEVEL for c in found)
    if short:
        return f"too short in {short} of {len(found)} cases"
    return "wider than they need be" if any(c.low > LEVEL for c in found) else "honest within what chance allows"


def _weakest(results: Scenarios) -> str:
    """The regime in which MacKay's interval of log μ covers least, among those with sets enough to say."""
    found: list[tuple[Coverage, str, int]] = []
    for scenario, own in results.items():
        if "mackay" not in own:
            continue
        for regime in regimes(own["mackay"], SCENARIOS[scenario].setting.n):
            rows = [r for r in rows_of(own["mackay"], regime.chosen) if r.quantity == "log_mu" and r.coverage]
            count = int(regime.chosen.sum())
            if rows and count >= 20:
                found.append((at(rows[0].coverage), f"{regime.name}, {SCENARIOS[scenario].title}", count))
    if not found:
        return ""
    worst, where, count = min(found, key=lambda one: one[0].share)
    return f"MacKay's interval of log μ is at its worst where the data have {where}: {_share(worst)} of {count} sets."


def _predictions(results: Scenarios) -> str:
    parts = []
    for scenario, own in results.items():
        if "quadrature" not in own or "mackay" not in own:
            continue
        exact, fixed = (
            at(next(r.coverage for r in rows_of(own[name]) if r.quantity == "y_new"))
            for name in ("quadrature", "mackay")
        )
        parts.append(f"{SCENARIOS[scenario].title}: {_share(fixed)} against {_share(exact)} for the exact mixture")
    if not parts:
        return ""
    return f"Plug-in intervals of {CLAIMED} hold a new target in: {'; '.join(parts)}."


def _of_new_target(one: Results) -> Coverage:
    return at(next(row.coverage for row in rows_of(one) if row.quantity == "y_new"))


def at(found: Sequence[Coverage], level: float = LEVEL) -> Coverage:
    """The coverage of intervals of this level."""
    return next(c for c in found if c.level == level)


def _share(c: Coverage) -> str:
    return f"{100 * c.share:.0f} % ({100 * c.low:.0f}–{100 * c.high:.0f})"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


# --- tables ----------------------------------------------------------------------------------------------------------


def key_table(results: Scenarios) -> Table:
    """Coverage of 90 % intervals by scenario and method."""
    shown = ("log_mu", "log_zeta", "log_sigma", "y_new")
    rows: list[Row] = []
    for scenario, own in results.items():
        rows.append(Row(f"{SCENARIOS[scenario].title}, {len(next(iter(own.values())).records)} sets"))
        for method, one in own.items():
            found = {row.quantity: row for row in rows_of(one)}
            cells = [_share(at(found[q].coverage)) if q in found and found[q].coverage else "–" for q in shown]
            lost = found["log_mu"].failures / found["log_mu"].n
            rows.append(Row("  " + method, (f"{100 * lost:.0f} %" if lost else "0", _in_band(found.values()), *cells)))
    header = ("intervals of 90 %", "no posterior", "in band", *(NAMES[name] for name in shown))
    note = (
        "Share of the sets with a posterior whose central 90 % interval holds the truth, with Wilson's 95 % limits. In "
        "band: quantities, of those tested, whose ranks are uniform."
    )
    return Table("Do 90 % intervals cover?", header, tuple(rows), note)


def _in_band(rows: Any) -> str:
    tested = [row for row in rows if row.tests is not None and row.quantity != "y_new_normal"]
    return f"{sum(row.uniform for row in tested)} of {len(tested)}" if tested else "too few"


def quantity_table(scenario: str, own: Mapping[str, Results]) -> Table:
    """Every quantity of every method: tests and coverage."""
    rows: list[Row] = []
    for method, one in own.items():
        rows.append(Row(method))
        rows += [Row("  " + NAMES[row.quantity].replace("`", ""), _tested(row)) for row in rows_of(one)]
    header = ("", "KS p", "χ² p", "band p", "50 %", "80 %", "90 %", "95 %", "90 %, all")
    note = "p values are not adjusted. “90 %, all”: sets without a posterior count as not covered."
    return Table(_capital(SCENARIOS[scenario].title), header, tuple(rows), note)


def _tested(row: Tested) -> tuple[str, ...]:
    p = ("–",) * 3 if row.tests is None else tuple(_p(value) for value in row.tests[1:])
    shares = tuple(f"{100 * c.share:.1f}" for c in row.coverage) or ("–",) * 4
    return (*p, *shares, f"{100 * at(row.coverage_all).share:.1f}")


def _p(value: float) -> str:
    return "<1e-4" if value < 1e-4 else f"{value:.2g}"


# --- figures ---------------------------------------------------------------------------------------------------------


def _narrow(figure: Figure, height: float, label: str) -> Figure:
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
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 2.5), layout="constrained")
        panels = figure.subplots(1, len(own), sharey=True, squeeze=False)[0]
        tallest = 1.0
        for axes, (method, one) in zip(panels, own.items(), strict=True):
            pit = one.column(quantity)
            pit = pit[np.isfinite(pit)]
            counts, edges = np.histogram(pit, bins=BINS, range=(0.0, 1.0))
            low, high = binom.ppf([0.005, 0.995], len(pit), 1.0 / BINS)
            axes.axhspan(low, high, color="#d9d9d9", linewidth=0)
            axes.axhline(len(pit) / BINS, color=GREY, linewidth=1.0)
            axes.stairs(counts, edges, color=LOOKS[method].colour if method in LOOKS else BLACK, linewidth=1.8)
            axes.set_title(f"{method}\n{len(pit)} sets", loc="left")
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
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        panels = figure.subplots(1, len(own), sharey=True, squeeze=False)[0]
        for axes, (scenario, one) in zip(panels, own.items(), strict=True):
            ok = np.isfinite(one.column("log_mu"))
            band = ecdf_band(int(ok.sum()))
            axes.fill_between(band.z, band.low - band.z, band.high - band.z, color="#d9d9d9", linewidth=0)
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


# --- the page --------------------------------------------------------------------------------------------------------

HOW = (
    "log μ and log ζ come from Normal(0, 3²) and, where the kernel's width is free, log σ from Normal(0, 1). Inputs "
    "are one fixed design of standard normal points in two dimensions; the kernel is RBF, with σ = 1.5 where it is "
    "known. Targets are drawn from Normal(0, K/μ + I/ζ) by a Cholesky factor, so that the simulation shares no algebra "
    "with the evidence. The bias is zero, which is exact: the evidence does not depend on it.",
    "The PIT is the posterior probability below the truth. The band of its empirical distribution function is "
    "simultaneous (Säilynoja, Bürkner and Vehtari, 2022); “in band” is at 5 % shared among the quantities of a method. "
    "100 sets or more are needed for a test.",
    "Where level 2 has no mode (γ → 0 or ∞) the closed forms have no error bars; such sets are left out, which is fair "
    "as it depends on the data alone. Sets whose chains of NUTS fail their checks have no draws and are left out too. "
    "docs/findings/calibration.md has the same with more sets, and what it means.",
)


def page(result: StudyResult) -> Page:
    """Ranks and coverage of the posteriors."""
    results = collect(result.cells)
    sets = sum(len(next(iter(own.values())).records) for own in results.values())
    sections: list[Section] = []
    known = {name: results[name] for name in ("known_20", "known_100") if _whole(results.get(name))}
    if "known_20" in known:
        sections.append(_ranks_section(known["known_20"]))
    if len(known) == 2:
        sections.append(_coverage_section(known))
    if any("nuts" in own for own in results.values()):
        sections.append(_nuts_section(results))
    tables = tuple(quantity_table(scenario, own) for scenario, own in results.items())
    sections.append(Section("Every quantity of every method", tables=tables))
    return Page(
        name=result.study,
        title=result.title,
        introduction=f"{INTRODUCTION} This page rests on {sets} simulated sets.",
        verdict=verdict(results),
        key_table=key_table(results),
        sections=tuple(sections),
        methods=HOW,
        result=result,
    )


def _whole(own: Mapping[str, Results] | None) -> bool:
    """Whether a scenario has what the figures by method need: all of them, and a set on which all have a posterior."""
    if own is None or not all(name in own for name in LOOKS):
        return False
    return bool(np.all([np.isfinite(own[name].column("log_gamma")) for name in LOOKS], axis=0).any())


def _ranks_section(own: Mapping[str, Results]) -> Section:
    return Section(
        "Ranks",
        pictures=(
            Picture(
                "ranks",
                figure_ranks(own),
                "Histograms of the posterior probability below the true log μ, one for each method, with the band that "
                f"chance allows. MacKay's intervals are {grade({'known_20': own}, 'mackay')}.",
                "Known kernel, N = 20: where the true log μ lies in each posterior, over the sets that have one. The "
                "grey band holds 99 of 100 bars of a calibrated method. High bars at 0 and 1 are intervals that are "
                "too short, a slope is a posterior that is shifted.",
            ),
            Picture(
                "ecdf",
                _narrow(figure_ecdf(own), 4.8, "PIT of the truth"),
                "Empirical distribution functions of the PIT minus the diagonal, for log μ, log ζ and log γ, with the "
                "simultaneous 95 % band, for quadrature, Laplace's method, the Hessian's and MacKay's error bars.",
                "The same as empirical distribution functions, minus what they should be, on the sets on which level 2 "
                "has a mode. A calibrated method stays in the grey band. A curve that starts high has the truth below "
                "its interval too often; one that ends low, above it.",
            ),
        ),
    )


def _coverage_section(known: Scenarios) -> Section:
    return Section(
        "Coverage, by what level 2 finds in the data",
        pictures=(
            Picture(
                "coverage",
                _narrow(figure_coverage(known), 8.6, "gain of the evidence over noise alone"),
                "Coverage of 90 % intervals of log μ and log ζ with 95 % limits, for four methods, in regimes from no "
                "mode to a strong signal, at N = 20 and N = 100.",
                "Share of 90 % intervals that hold the truth, with Wilson's 95 % limits, by how much the evidence "
                "gains over noise alone. Points below the dashed line are intervals that are too short.",
            ),
        ),
    )


def _nuts_section(results: Scenarios) -> Section:
    return Section(
        "NUTS",
        pictures=(
            Picture(
                "nuts",
                figure_nuts(results),
                "Empirical distribution functions of the ranks of NUTS draws minus the diagonal, for each quantity, "
                "with the simultaneous 95 % band. " + _exact(results, "nuts"),
                "Ranks of the truth among draws of NUTS, as empirical distribution functions minus what they should "
                "be. A sampler that is right stays in the grey band.",
            ),
        ),
    )
