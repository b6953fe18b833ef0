"""The page of the agreement study: programs that share no algebra with the closed forms, beside quadrature."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.draw.thumbnail import bars
from reports.frame.answer import Answer, State
from reports.frame.page import Page, Row, Section, Table
from validation.harness import FinishedCell, StudyResult
from validation.studies.agreement import COMPARISONS, EVIDENCE_LIMIT, MOMENT_LIMIT, Agreement

INTRODUCTION = (
    "The model is written twice: as closed forms with quadrature over the hyperparameters, and as NumPyro "
    "programs that consist of priors and a likelihood and nothing else. If the algebra were wrong, the two would "
    "disagree. Posterior means and standard deviations are compared in units of their Monte-Carlo standard "
    "errors, and the evidence in units of its own."
)
METHODS = (
    "Weight space: w ~ Normal(0, 1/μ), b flat, y ~ Normal(Φw + b, 1/ζ), with explicit features for linear and "
    "polynomial kernels and the empirical feature map for RBF. GP: y ~ Normal(b, K/μ + I/ζ), a Cholesky factor at "
    "every step. Collapsed: weights and bias integrated out, NUTS over the hyperparameters. These give the evidence by "
    "bridge sampling. Importance sampling, tempered SMC and nested sampling give it without chains, of the collapsed "
    "density.",
    "log μ, log ζ ~ Normal(0, 3²) and, where it is free, log σ ~ Normal(0, 1). Four chains each. The table has the "
    f"worst of all means and standard deviations; up to {MOMENT_LIMIT:g} standard errors is agreement, and up to "
    f"{EVIDENCE_LIMIT:g} for the evidence.",
)


def page(result: StudyResult) -> Page:
    """Differences from quadrature, by comparison."""
    found = {f.cell.key: Agreement(**f.values) for f in result.cells if f.error is None}
    if not found:
        raise ValueError("No comparison was completed.")
    return Page(
        answer=answer(found, result.cells),
        introduction=INTRODUCTION,
        findings=findings(found, result.cells),
        key_table=key_table(found),
        sections=(Section("Every parameter", tables=(parameter_table(found),)),),
        methods=METHODS,
        result=result,
        thumbnail=thumbnail(found),
        related=("error-bars", "evidence"),
    )


RULE = (
    "Holds where every comparison agrees with quadrature within its limits, with care where at least 90 % of them do, "
    "fails otherwise."
)


def badge(agreed: int, of: int) -> State:
    """From the number of comparisons that agree."""
    if agreed == of:
        return "holds"
    return "with care" if agreed >= 0.9 * of else "fails"


def answer(found: dict[str, Agreement], cells: tuple[FinishedCell, ...]) -> Answer:
    """Do independent programs find what the closed forms find?"""
    apart = sum(any(not check.passed for check in f.checks) for f in cells)
    moment = max(found.values(), key=lambda a: a.worst)
    evidence = max(found.values(), key=lambda a: a.log_z_score)
    return Answer(
        badge(len(cells) - apart, len(cells)),
        f"Programs that share no algebra with the closed forms agree with quadrature in {len(cells) - apart} of "
        f"{len(cells)} comparisons.",
        (
            f"The farthest mean or standard deviation is {moment.worst:.1f} standard errors away.",
            f"The farthest log evidence is {evidence.log_z_score:.1f} standard errors away, "
            f"{abs(evidence.log_z_difference):.4f} nats.",
        ),
        RULE,
    )


def thumbnail(found: dict[str, Agreement]) -> Figure:
    """The distances of the evidence."""
    shown = {COMPARISONS[key].name.partition(",")[0][:22]: a.log_z_score for key, a in list(found.items())[:6]}
    return bars(shown, "distance of log evidence, standard errors", limit=EVIDENCE_LIMIT, form=".1f")


def findings(found: dict[str, Agreement], cells: tuple[FinishedCell, ...]) -> tuple[str, ...]:
    """Whether the ways agree, and where they are farthest apart."""
    apart = [COMPARISONS[f.cell.key].name for f in cells if any(not check.passed for check in f.checks)]
    moments = max(found, key=lambda key: found[key].worst)
    evidence = max(found, key=lambda key: found[key].log_z_score)
    agreed = (
        f"All {len(found)} comparisons agree with quadrature." if not apart else f"In disagreement: {'; '.join(apart)}."
    )
    return (
        agreed,
        f"The mean or standard deviation that is farthest off, of {COMPARISONS[moments].name}, is "
        f"{found[moments].worst:.1f} standard errors away, the worst of "
        f"{sum(len(a.mean_z) + len(a.sd_z) for a in found.values())}.",
        f"The evidence that is farthest off, of {COMPARISONS[evidence].name}, is {found[evidence].log_z_score:.1f} of "
        f"its standard errors away, {abs(found[evidence].log_z_difference):.4f} nats.",
    )


def key_table(found: dict[str, Agreement]) -> Table:
    """One row a comparison."""
    rows = tuple(
        Row(
            COMPARISONS[key].name,
            (
                f"{a.worst:.1f}" if a.mean_z else "–",
                f"{_signed(a.log_z_difference, 4)} ± {a.log_z_error:.4f}",
                f"{a.log_z_score:.1f}",
                "–" if a.min_ess is None else f"{a.min_ess:.0f}",
                "ok" if a.diagnostics_ok else "✗ failed a check",
            ),
        )
        for key, a in found.items()
    )
    header = ("comparison", "worst moment, in s.e.", "log Z − exact", "in its s.e.", "smallest ESS", "draws")
    return Table("Sampled against exact", header, rows)


def parameter_table(found: dict[str, Agreement]) -> Table:
    """Differences of means and standard deviations, in standard errors."""
    rows: list[Row] = []
    for key, a in ((key, a) for key, a in found.items() if a.mean_z):
        rows.append(Row(COMPARISONS[key].name))
        rows += [Row(f"  {name}", (_signed(a.mean_z[name], 1), _signed(a.sd_z[name], 1))) for name in a.mean_z]
    header = ("parameter", "mean, in s.e.", "standard deviation, in s.e.")
    return Table("Differences from quadrature", header, tuple(rows))


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")
