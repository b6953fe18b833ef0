"""The page of prior sensitivity: how evidence, Bayes factors, posteriors and predictions depend on the prior."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.draw.thumbnail import bars
from reports.frame.page import Page, Picture, Section
from validation.harness import StudyResult

from .answers import Answer, answers_of
from .figures import figure_evidence, figure_posteriors
from .sentences import answer, findings
from .tables import control_table, key_table, moments_table

INTRODUCTION = (
    "The evidence framework needs a prior of log μ, log ζ and log σ, or at least its widths. Every answer on this page "
    "is an exact integral under one of several priors, so all differences between them come from the prior."
)
HOW = (
    "The kernel is K = exp(−|x − z|²/σ²). Weights and bias are integrated out in closed form, log μ, log ζ and "
    "log σ by quadrature whose own error is in the diagnostics. Normal(m, s²) and Box(a, b) are densities of the "
    "log parameter. The linear kernel has no parameter, so its evidence depends on the priors of μ and ζ alone.",
    "Predictions are averaged over the posterior. Where there is a test set they are compared and scored on it; "
    "otherwise they are compared at data and at midpoints of pairs. The log score is the mean log probability of the "
    "true class, or the log density of a Gaussian with predicted mean and standard deviation.",
    "In the columns that say “σ fixed” and in the control, σ is fixed where the evidence without Occam factor is "
    "largest.",
)


def _thumbnail(reference: Answer, answers: list[Answer]) -> Figure:
    """The largest changes of a prediction."""
    changes = {a.name: a.change_from(reference) for a in answers if a is not reference and not a.endless}
    shown = dict(sorted(changes.items(), key=lambda item: -item[1])[:4])
    return bars(shown or {"none": 0.0}, "largest change of a prediction, by prior", form=".3f")


def page(result: StudyResult) -> Page:
    """How much the answers depend on the prior."""
    reference, answers, permuted = answers_of(result)
    data = result.data or {}
    used, n = reference.values["n_used"], data.get("n", reference.values["n_used"])
    rows = f" Of {n} rows {used} were used, spread over the targets." if used < n else ""
    sections = [
        Section(
            "The posterior",
            tables=(moments_table(answers),),
            pictures=(
                Picture(
                    "posteriors",
                    figure_posteriors(reference, answers),
                    "Posterior means with standard deviations of log μ, log ζ and log σ, one row for each prior; the "
                    "table below has the numbers.",
                    "Posterior means and standard deviations (bars) under each prior; the grey band is that of "
                    "the reference, the diamond. Circles: a prior on all three; squares: a prior on one, the "
                    "reference on the others; hollow: the integral is cut off at the end of the range. Where "
                    "marks stay in the band the data decide; where they leave it, the prior does.",
                ),
            ),
        ),
    ]
    if permuted:
        sections.append(
            Section(
                "Data without signal",
                ("With the targets in random order there is nothing to learn, and the prior decides.",),
                tables=(control_table(permuted),),
            )
        )
    return Page(
        answer=answer(reference, answers),
        introduction=INTRODUCTION + rows,
        findings=findings(reference, answers, permuted),
        key_picture=Picture(
            "evidence",
            figure_evidence(reference, answers),
            "Three dot plots with one row for each prior: log evidence from the reference, log Bayes factor of the RBF "
            "kernel against the linear one, and the worst change of a prediction; the table has the numbers.",
            "Each row is a prior; the diamond is the reference. Left: the evidence depends on the width of the prior. "
            "Middle: in a Bayes factor what the kernels share cancels; a change of sign reverses the preference. "
            "Right: the largest change of a prediction; up to the dotted line `bayes_lssvm.trust` calls it good. "
            "Open marks: the integral reaches beyond the range that is searched.",
        ),
        key_table=key_table(reference, answers),
        sections=tuple(sections),
        methods=HOW,
        result=result,
        thumbnail=_thumbnail(reference, answers),
        related=("evidence", "bayes-factors"),
    )
