"""The page of the Bayes factors: all pairs of models, closed forms against quadrature and sampling."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from matplotlib.figure import Figure

from reports.draw.thumbnail import bars
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import joined, minus
from reports.pages.independence import independence
from validation.harness import StudyResult
from validation.sampled import BUDGET
from validation.studies.bayes_factors import ANALYTIC, RUNGS, SAMPLED, Evidence, Flip, compare, evidences, words
from validation.studies.bayes_factors.comparison import DESIGN, Ladder, sampled

from .chains import chains_section
from .figures import forest, heat_map
from .sentences import STANDARD_ERRORS, answer, count, distances, findings, label, offset, spoken

INTRODUCTION = (
    "Which kernel do the data prefer, and by how much? The log Bayes factor of two kernels is the difference of their "
    "log evidences, for which the evidence framework has closed forms. Each closed form is compared with the exact "
    "integral and with sampling, under the same prior, for every pair of kernels."
)


def page(result: StudyResult) -> Page:
    """The page of a result; models without an exact evidence are left out of comparisons and named."""
    ladder = evidences(result)
    exact = ladder["quadrature"]
    order = sorted(exact, key=lambda name: -exact[name].value)
    if not order:
        raise ValueError("No model has an exact evidence, so there is nothing to compare with.")
    exact = {name: exact[name] for name in order}
    ladder = {**ladder, "quadrature": exact}
    flips = {rung: compare(rung, exact, ladder[rung]) for rung in RUNGS if rung != "quadrature"}
    return Page(
        answer=answer(ladder, flips),
        introduction=INTRODUCTION,
        findings=findings(result, ladder, flips),
        key_picture=_heat_map(order, ladder, flips),
        key_table=_key_table(order, ladder),
        sections=(
            _pairs(order, ladder),
            _evidence_section(order, ladder),
            _flip_section(flips),
            _sampled_section(order, ladder),
            *chains_section(result, order),
            independence(),
        ),
        methods=_methods(result, ladder),
        result=result,
        thumbnail=_thumbnail(order, exact),
        related=("evidence", "factor-calibration"),
    )


def _thumbnail(order: list[str], exact: Mapping[str, Evidence]) -> Figure:
    behind = {label(name): exact[order[0]].value - exact[name].value for name in order[:6]}
    return bars(behind, "nats behind the best kernel (exact)", form=".1f")


def figure_of(evidence: Evidence | None, rung: str) -> str:
    """A log evidence with its error where it is a Monte-Carlo one."""
    if evidence is None:
        return "–"
    value = minus(f"{evidence.value:.3f}")
    return f"{value} ± {evidence.error:.3f}" if rung in (*SAMPLED, *DESIGN) and isfinite(evidence.error) else value


def _key_table(order: list[str], ladder: Ladder) -> Table:
    shown = ["quadrature", *(rung for rung in RUNGS if rung != "quadrature" and ladder[rung])]
    return Table(
        "Log evidence of each kernel, the best first",
        ("model", *(RUNGS[rung] for rung in shown)),
        tuple(Row(label(n), tuple(figure_of(ladder[rung].get(n), rung) for rung in shown)) for n in order),
        note="In nats, all constants kept. ± is a Monte-Carlo standard error, and for the composite design the "
        "difference of two designs, which is not a bound, since both miss the same tails. A dash means that "
        "the method was not run at this size or has no answer.",
    )


def _heat_map(order: list[str], ladder: Ladder, flips: Mapping[str, tuple[Flip, ...]]) -> Picture:
    return Picture(
        "bayes_factors",
        heat_map(order, ladder["mackay"], sampled(ladder), flips["mackay"]),
        alt="Heat map of log Bayes factors of each model in a row against each in a column. "
        + " ".join(f"{label(n)}: exact log evidence {ladder['quadrature'][n].value:.2f}." for n in order),
        caption="Log Bayes factor of the row's kernel against the column's: above the diagonal with MacKay's Occam "
        "factor (5.2), below it sampled (NUTS with bridge sampling, or importance sampling where NUTS was not run). "
        "Mirrored cells should be equal with opposite signs. Colours follow the wording of Kass and Raftery. "
        + (
            "A frame marks the pairs for which the formula (5.2) changes the exact wording."
            if flips["mackay"]
            else "The formula (5.2) changes the exact wording of no pair."
        ),
    )


def _pairs(order: list[str], ladder: Ladder) -> Section:
    below = sampled(ladder)
    against = order[0]
    header = ("model", "exact", *(RUNGS[rung] for rung in ANALYTIC), "sampled", "in words, exact")
    rows = []
    for name in order[1:]:
        cells = [_against(ladder[rung], name, against) for rung in ("quadrature", *ANALYTIC)]
        said = words(ladder["quadrature"][name].value - ladder["quadrature"][against].value, name, against)
        rows.append(Row(label(name), (*cells, _against(below, name, against), spoken(said))))
    return Section(
        "All pairs of models",
        tables=(
            Table(
                f"Log Bayes factors against the best model, {label(against)}",
                header,
                tuple(rows),
                note="± is a Monte-Carlo standard error.",
            ),
        ),
    )


def _against(own: Mapping[str, Evidence], name: str, other: str) -> str:
    if name not in own or other not in own:
        return "–"
    value = minus(f"{own[name].value - own[other].value:+.3f}")
    error = (own[name].error ** 2 + own[other].error ** 2) ** 0.5
    return f"{value} ± {error:.3f}" if isfinite(error) and error > 5e-4 else value


def _evidence_section(order: list[str], ladder: Ladder) -> Section:
    shown = [rung for rung in RUNGS if rung != "quadrature" and ladder[rung]]
    return Section(
        "Log evidences one by one",
        pictures=(
            Picture(
                "log_evidences",
                forest(order, ladder),
                alt="Forest plot of log evidences by each method minus the exact one, for "
                + ", ".join(label(name) for name in order)
                + "; the numbers are in the table below.",
                caption="Left: the exact log evidence. Right: the error of each method, on a scale that is linear "
                "up to ±0.01 nats and logarithmic beyond. Bars are three Monte-Carlo standard errors: "
                "they should reach the line at zero. Closed forms have no error bars of their own.",
            ),
        ),
        tables=(
            Table(
                "Log evidence minus quadrature, in nats",
                ("model", *(RUNGS[rung] for rung in shown)),
                tuple(Row(label(n), tuple(offset(ladder, rung, n) for rung in shown)) for n in order),
            ),
        ),
    )


def _flip_section(flips: Mapping[str, tuple[Flip, ...]]) -> Section:
    found = [flip for own in flips.values() for flip in own]
    heading = "Where the wording changes"
    if not found:
        return Section(heading, ("Every method gives every pair the same wording as the exact Bayes factor.",))
    rows = tuple(
        Row(
            f"{label(f.first)} against {label(f.second)}",
            (
                RUNGS[f.rung],
                minus(f"{f.exact:+.3f}"),
                minus(f"{f.approximate:+.3f}") + (f" ± {f.error:.3f}" if f.error and f.rung in SAMPLED else ""),
                spoken(f.exact_words),
                spoken(f.approximate_words),
            ),
        )
        for f in found
    )
    near = [f for f in found if f.rung in SAMPLED and f.within_error]
    explained = (
        f"Of the sampled ones, {count(len(near), 'change')} {'lies' if len(near) == 1 else 'lie'} within three "
        "standard errors of the exact value, which happens to be near a border between two words.",
    )
    return Section(
        heading,
        (
            "Kass and Raftery's words change at 1, 3 and 5 nats, so a small error changes the wording of a pair "
            "near a border. The table lists every pair for which a method's wording differs from the exact one.",
            *(explained if near else ()),
        ),
        tables=(Table("Changed words", ("pair", "method", "exact", "method's", "exact words", "its words"), rows),),
    )


def _sampled_section(order: list[str], ladder: Ladder) -> Section:
    found = distances(ladder)
    rows = tuple(
        Row(
            label(name),
            (
                RUNGS[rung],
                offset(ladder, rung, name),
                f"{ladder[rung][name].error:.4f}",
                minus(f"{found[rung, name]:+.1f}"),
                "yes" if abs(found[rung, name]) <= STANDARD_ERRORS else "NO",
            ),
        )
        for name in order
        for rung in SAMPLED
        if (rung, name) in found
    )
    header = ("model", "sampler", "minus quadrature", "standard error", "in standard errors", "within 3")
    return Section(
        "Sampled against quadrature",
        ("Quadrature and sampling share the data, the kernel and the prior. They should differ by chance alone.",),
        tables=(Table("Sampled log evidences", header, rows),) if rows else (),
    )


def _methods(result: StudyResult, ladder: Ladder) -> tuple[str, ...]:
    used = max((f.cell.settings["n"] for f in result.cells), default=0)
    total = (result.data or {}).get("n", used)
    points = (
        f"All {used} points were used."
        if used == total
        else f"{used} of the {total} points were used, spread over the targets: the same ones for every model."
    )
    skipped = [
        label(m) for m in ladder["quadrature"] if not any(m in ladder[rung] for rung in ("nuts", "gp", "weights"))
    ]
    return (
        points,
        "Models: linear, K = xᵀz; polynomial 2 and 3, (1 + xᵀz/s)^p; RBF, exp(−|x − z|²/σ²); linear + RBF; "
        "a·linear + RBF, with the factor a free; polynomial 2 + RBF. The overall scale of a kernel is 1/μ.",
        "The prior is the same for every method: log μ, log ζ ~ Normal(0, 3²), every log parameter of a kernel ~ "
        "Normal(0, 1), the bias flat. Inputs are standardised.",
        "The evidence (5.2) uses MacKay's error bars of log μ and log ζ at the mode of the evidence. The exact Hessian "
        "means Laplace's method at the mode of the posterior of μ and ζ. In both, the kernel's parameters are "
        "integrated out by a rule. Laplace over everything is one Gaussian for μ, ζ and the kernel's parameters.",
        "Quadrature integrates over μ, ζ and up to two kernel parameters, and is refined until its result no "
        "longer changes. The composite design does so at a few kernels. Importance draws come from Student "
        "distributions at the modes, with Pareto-smoothed weights. Collapsed NUTS samples the hyperparameters "
        "with weights and bias integrated out; weight-space NUTS samples the weights too, and GP NUTS factorises "
        "the covariance at every step: these two are independent programs. Evidence comes from all three by "
        f"warp-III bridge sampling. {BUDGET}"
        + (f" NUTS was not run for {joined(skipped)} at this size." if skipped else ""),
        "Kass and Raftery (1995) call a log Bayes factor (in nats) below 1 not worth more than a bare mention, up to 3 "
        "positive, up to 5 strong and above that very strong. A change of sign within a bare mention is not counted as "
        "a flip.",
    )
