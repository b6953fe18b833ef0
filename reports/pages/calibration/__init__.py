"""The page of the calibration study: ranks, coverage, and where the closed-form error bars fail."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from reports.draw.thumbnail import bars
from reports.frame.page import Page, Picture, Section
from validation.harness import StudyResult
from validation.studies.calibration import SCENARIOS, Results, collect, rows_of

from .figures import LOOKS, figure_coverage, figure_ecdf, figure_nuts, figure_ranks, narrow
from .sentences import Scenarios, answer, coverage_at, exact_sentence, findings, grade
from .tables import key_table, quantity_table

INTRODUCTION = (
    "An error bar is honest if intervals of 90 % contain the truth in 90 % of cases. Here the truth is known: "
    "hyperparameters are drawn from the prior and data from the model. Every method is asked where the truth lies in "
    "its posterior; over many simulated sets the answers must be uniform."
)
HOW = (
    "log μ and log ζ come from Normal(0, 3²) and, where the kernel's width is free, log σ from Normal(0, 1). "
    "Inputs are one fixed design of standard normal points in two dimensions; the kernel is RBF, with σ = 1.5 "
    "where it is known. Targets are drawn from Normal(0, K/μ + I/ζ) by a Cholesky factor, so the simulation "
    "shares no algebra with the evidence. The bias is zero, which is exact: the evidence does not depend on it.",
    "The PIT is the posterior probability below the truth. The band of its empirical distribution function is "
    "simultaneous (Säilynoja, Bürkner and Vehtari, 2022); “in band” is at 5 % shared among the quantities of a method. "
    "100 sets or more are needed for a test.",
    "Where level 2 has no mode (γ → 0 or ∞) the closed forms have no error bars; such sets are left out, which is "
    "fair because it depends on the data alone. Sets whose chains of NUTS fail their checks have no draws and are "
    "left out too. With repeated data all sets share one truth: the coverage there is the frequentist one. "
    "docs/findings/calibration.md shows the study at full size and explains what it means.",
)


def page(result: StudyResult) -> Page:
    """Ranks and coverage of the posteriors."""
    everything = collect(result.cells)
    # at one truth no theorem makes the exact posterior uniform: those sets have a table and no verdict
    results = {name: own for name, own in everything.items() if SCENARIOS[name].setting.truth is None}
    sets = sum(len(next(iter(own.values())).records) for own in results.values())
    sections: list[Section] = []
    known = {name: results[name] for name in ("known_20", "known_100") if _whole(results.get(name))}
    if "known_20" in known:
        sections.append(_ranks_section(known["known_20"]))
    key_picture = _coverage_picture(known) if len(known) == 2 else None
    if any("nuts" in own for own in results.values()):
        sections.append(_nuts_section(results))
    tables = tuple(quantity_table(scenario, own) for scenario, own in everything.items())
    sections.append(Section("Every quantity of every method", tables=tables))
    return Page(
        answer=answer(results),
        introduction=f"{INTRODUCTION} This page uses {sets} simulated sets.",
        findings=findings(results),
        key_picture=key_picture,
        key_table=key_table(results),
        sections=tuple(sections),
        methods=HOW,
        result=result,
        thumbnail=_thumbnail(results),
        related=("error-bars", "map-of-trust", "factor-calibration"),
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
                narrow(figure_ecdf(own), 4.8, "PIT of the truth"),
                "Empirical distribution functions of the PIT minus the diagonal, for log μ, log ζ and log γ, with the "
                "simultaneous 95 % band, for quadrature, Laplace's method, the Hessian's and MacKay's error bars.",
                "The same as empirical distribution functions, minus what they should be, on the sets on which level 2 "
                "has a mode. A calibrated method stays in the grey band. A curve that starts high has the truth below "
                "its interval too often; one that ends low, above it.",
            ),
        ),
    )


def _coverage_picture(known: Scenarios) -> Picture:
    return Picture(
        "coverage",
        narrow(figure_coverage(known), 8.6, "gain of the evidence over noise alone"),
        "Coverage of 90 % intervals of log μ and log ζ with 95 % limits, for four methods, in regimes from no mode to "
        "a strong signal, at N = 20 and N = 100.",
        "Share of 90 % intervals that contain the truth, with Wilson's 95 % limits, from weak signals (left) to strong "
        "ones (right). Points below the dashed line are intervals that are too short.",
    )


SHORT = {"quadrature": "exact", "laplace": "Laplace", "hessian": "Hessian", "mackay": "MacKay", "nuts": "NUTS"}


def _thumbnail(results: Scenarios) -> Figure:
    """Coverage of log μ in the first scenario."""
    own = next(iter(results.values()), {})
    shares = {}
    for method, one in own.items():
        rows = [row for row in rows_of(one) if row.quantity == "log_mu" and row.coverage]
        if rows:
            shares[SHORT.get(method, method)] = 100.0 * coverage_at(rows[0].coverage).share
    return bars(shares or {"none": 0.0}, "coverage of 90 % intervals of log μ, %", limit=90.0, form=".0f")


def _nuts_section(results: Scenarios) -> Section:
    return Section(
        "NUTS",
        pictures=(
            Picture(
                "nuts",
                figure_nuts(results),
                "Empirical distribution functions of the ranks of NUTS draws minus the diagonal, for each quantity, "
                "with the simultaneous 95 % band. " + exact_sentence(results, "nuts"),
                "Ranks of the truth among draws of NUTS, as empirical distribution functions minus what they "
                "should be. A correct sampler stays in the grey band.",
            ),
        ),
    )
