"""Page of the study of the evidence along σ: what each approximation says, what it selects, how far it is off."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_lssvm.base.typing import Array
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import number
from validation.harness import StudyResult
from validation.sampled import BUDGET
from validation.studies.evidence import MATTERS

from .figures import SHOWN, curves, errors, modes, occam, thumbnail
from .ladder import (
    APPROXIMATE,
    PROGRAMS,
    RUNGS,
    STANDARD_ERRORS,
    Ladder,
    answer,
    bridges,
    choices,
    findings,
    hills,
    ladder,
    loss,
    profiles,
)

INTRODUCTION = (
    "The evidence framework chooses the kernel width σ that maximises the evidence log p(D | σ), with μ and ζ "
    "integrated out approximately. This page compares every approximation, from the best fit without any integration "
    "to the evidence with MacKay's Occam factor (5.2) and Laplace's method, with the exact integral and with sampled "
    "estimates."
)


def page(result: StudyResult) -> Page:
    """The page."""
    curve, near, sampled = ladder(result, "curve"), ladder(result, "near"), bridges(result)
    chosen = choices(result)
    return Page(
        answer=answer(result),
        introduction=INTRODUCTION,
        findings=findings(result),
        key_picture=_curves_picture(curve, near, chosen, sampled),
        key_table=key_table(result, curve),
        sections=(
            Section(
                "The error of each method",
                pictures=(_errors_picture(curve, sampled),),
                tables=(sampled_table(result),) if sampled else (),
            ),
            Section("The Occam factor, taken apart", pictures=(_occam_picture(curve),)),
            *_modes_section(result),
        ),
        methods=methods(result),
        result=result,
        thumbnail=thumbnail(curve, chosen),
        related=("bayes-factors", "error-bars", "map-of-trust"),
    )


# --- tables ----------------------------------------------------------------------------------------------------------


def key_table(result: StudyResult, curve: Ladder) -> Table:
    """The width that each method selects, at what loss, and its largest errors."""
    chosen = choices(result)
    rows = []
    for rung, words in RUNGS.items():
        if rung not in chosen:
            continue
        found = chosen[rung]
        error = curve.error(rung)
        # the best fit is no approximation of the integral: its distance is the Occam factor
        within, everywhere = ("–", "–")
        if rung in (*APPROXIMATE, "importance"):
            within, everywhere = _largest(error[curve.matters]), _largest(error)
        rows.append(
            Row(
                words,
                (
                    f"{found['sigma']:.5g}" + (" (edge)" if found["at_edge"] else ""),
                    number(found["value"], ".3f"),
                    f"{max(loss(result, rung), 0.0):.3f}",
                    within,
                    everywhere,
                ),
            )
        )
    return Table(
        "The width that each method selects",
        (
            "",
            "σ selected",
            "its log p(D | σ)",
            "exact evidence lost",
            f"largest error, within {MATTERS:g} nats",
            "largest error, all σ",
        ),
        tuple(rows),
        "In nats. The loss is the exact log evidence at the best width minus that at the width selected. Errors are "
        "against quadrature, where the exact evidence is within 10 nats of its maximum and over all widths.",
    )


def _largest(error: Array) -> str:
    return number(float(error[np.nanargmax(np.abs(error))]), "+.3f")


def sampled_table(result: StudyResult) -> Table:
    """NUTS with bridge sampling beside quadrature."""
    rows = tuple(
        Row(
            f"σ = {b['sigma']:g}, {PROGRAMS[b['program']]}",
            (
                number(b["exact"], ".3f"),
                f"{number(b['log_evidence'], '.3f')} ± {b['error']:.4f}",
                number(b["log_evidence"] - b["exact"], "+.3f"),
                f"{abs(b['z']):.1f}",
                f"{b['min_ess']:.0f}",
            ),
        )
        for b in bridges(result)
        if b["log_evidence"] is not None
    )
    return Table(
        "NUTS with bridge sampling",
        ("", "exact", "sampled", "difference", "in s.e.", "least ESS"),
        rows,
        f"log p(D | σ) in nats, with its Monte-Carlo standard error; up to {STANDARD_ERRORS:g} of them is agreement.",
    )


# --- pictures --------------------------------------------------------------------------------------------------------


def _curves_picture(
    curve: Ladder, near: Ladder, chosen: dict[str, dict[str, Any]], sampled: list[dict[str, Any]]
) -> Picture:
    exact, fit = chosen["quadrature"]["sigma"], chosen["without_occam"]["sigma"]
    floor = np.max(curve.values["quadrature"]) - SHOWN - 2.0
    below = any(b["log_evidence"] is not None and b["log_evidence"] < floor for b in sampled)
    return Picture(
        "curves",
        curves(curve, near, chosen, sampled),
        "Two plots of log evidence against the kernel width. Above, over all widths, five curves, the best "
        f"fit a few nats above the others. Below, enlarged, their maxima: σ = {fit:.4g} for the best fit and "
        f"{exact:.4g} for the exact integral.",
        "Above: all methods on one absolute scale; the gap between the best fit and the others is the Occam factor. "
        "Below: around the maxima, each curve minus its own maximum. Marks are the widths that the methods select."
        + (" Arrows at the lower edge are sampled estimates that lie below it." if below else ""),
    )


def _errors_picture(curve: Ladder, sampled: list[dict[str, Any]]) -> Picture:
    return Picture(
        "errors",
        errors(curve, sampled),
        "Errors of the methods against quadrature along the kernel width: closed forms above, sampled ones below on a "
        "much finer scale.",
        "Approximation minus exact integral. The grey band marks the widths whose exact evidence is within "
        f"{MATTERS:g} nats of the maximum: errors outside it change no conclusion. The scale below is finer; sampled "
        "estimates whose bars (three standard errors) cross zero agree with quadrature.",
    )


def _occam_picture(curve: Ladder) -> Picture:
    return Picture(
        "occam",
        occam(curve),
        "Two plots along the kernel width. Above, best fit and evidence, each minus its maximum. Below, the log Occam "
        "factor: MacKay's parts for μ and ζ, their sum, the Hessian's and the exact one.",
        "log evidence = best fit + log Occam factor. MacKay's part for μ depends on γ_eff − 1 alone and the one "
        "for ζ on N − γ_eff: the more parameters are well determined, the more μ costs. Where the exact factor "
        "departs from MacKay's, the posterior is not the Gaussian that he assumes. Grey: widths that matter, as "
        "above.",
    )


def _modes_section(result: StudyResult) -> tuple[Section, ...]:
    found = profiles(result)
    if not found:
        return ()
    counts = ", ".join(
        f"σ = {p['sigma']:g}: {_count(len(p['modes']))} of the evidence and {_count(hills(p['log_density']))} of the "
        "posterior"
        for p in found
    )
    picture = Picture(
        "modes",
        modes(found),
        f"Evidence and posterior over log γ at {len(found)} widths; {counts}.",
        f"Along γ = ζ/μ: {counts}. Squares mark the maxima of the evidence. The formula (5.2) uses the highest "
        "alone and misses the mass of a second peak or of a long tail.",
    )
    return (Section("Modes along γ", pictures=(picture,)),)


def _count(n: int) -> str:
    return {0: "no maximum", 1: "one maximum", 2: "two maxima", 3: "three maxima"}.get(n, f"{n} maxima")


# --- words -----------------------------------------------------------------------------------------------------------


def methods(result: StudyResult) -> tuple[str, ...]:
    """How the numbers were made."""
    curve = ladder(result, "curve")
    settings = [c.cell.settings for c in result.cells if c.cell.settings["kind"] == "bridge"]
    chains = {(PROGRAMS[s["program"]], s["draws"], s["warmup"]) for s in settings}
    lengths = "; ".join(f"{name}, 4 chains of {n} draws after {warm} of warm-up" for name, n, warm in sorted(chains))
    rows = result.cells[0].cell.settings["rows"]
    return (
        "RBF kernel K = exp(−d²/σ²) on standardised inputs; log μ and log ζ ~ Normal(0, 3), the bias flat, all "
        f"constants kept. The curve has {len(curve.sigma)} widths from {curve.sigma.min():g} to {curve.sigma.max():g}."
        + (f" Of the data, {rows} rows spread evenly over the targets are used." if rows else ""),
        "Best fit: log p(D | μ_MP, ζ_MP, σ). The formula (5.2) multiplies it by σ_logμ|D σ_logζ|D / (σ_logμ "
        "σ_logζ), posterior over prior widths: by MacKay's formulas (none wider than the prior; its maximum is "
        "that of (5.3)), or by the determinant of the exact Hessian. Laplace's method with the prior expands the "
        "posterior itself at its highest mode. Importance sampling draws from Student distributions at the modes, "
        "with Pareto-smoothed weights. Quadrature integrates over log μ and log γ, and is refined until its "
        "result no longer changes.",
        "The width of each method comes from a scan of log σ and Brent's method around its best point, not from "
        "the curve's grid (importance sampling with one seed throughout)."
        + (f" Bridge sampling: {lengths}. {BUDGET}" if lengths else ""),
    )
