"""The page of prior sensitivity: what evidence, Bayes factors, posteriors and predictions owe to the prior."""

from __future__ import annotations

from reports.frame.page import Page, Picture, Section
from validation.harness import StudyResult

from .answers import answers_of
from .figures import figure_evidence, figure_posteriors
from .sentences import verdict
from .tables import control_table, key_table, moments_table

INTRODUCTION = (
    "The evidence framework needs a prior of log μ, log ζ and log σ, or at least its widths. Every answer on this page "
    "is an exact integral under one of several priors, so that the differences are what the answers owe to the prior."
)
HOW = (
    "The kernel is K = exp(−|x − z|²/σ²). Weights and bias are integrated out in closed form, log μ, log ζ and log σ "
    "by quadrature whose own error is in the diagnostics. Normal(m, s²) and Box(a, b) are densities of the log "
    "parameter. The linear kernel has no parameter, so that its evidence depends on the priors of μ and ζ alone.",
    "Predictions are averaged over the posterior. Where there is a test set they are compared and scored on it; "
    "otherwise they are compared at data and at midpoints of pairs. The log score is the mean log probability of the "
    "true class, or the log density of a Gaussian with predicted mean and standard deviation.",
    "σ is held, in the columns that say so and in the control, where the evidence without Occam factor is largest.",
)


def page(result: StudyResult) -> Page:
    """What the answers owe to the prior."""
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
                    "Posterior means and standard deviations (bars) under each prior; the grey band is that of the "
                    "reference, the diamond. Circles: a prior on all three; squares: on one, the reference on the "
                    "others; hollow: an integral without an end. What stays on the band is the data's answer; what "
                    "leaves it is the prior's.",
                ),
            ),
        ),
        Section(
            "Evidence and predictions",
            pictures=(
                Picture(
                    "evidence",
                    figure_evidence(reference, answers),
                    "Three dot plots with one row for each prior: log evidence from the reference, log Bayes factor of "
                    "the RBF kernel against the linear one, and the worst change of a prediction; the table at the top "
                    "has the numbers.",
                    "Left: the evidence counts the widths of the prior and moves with them. Middle: in a Bayes factor "
                    "what the kernels share cancels; a change of sign is a change of mind. Right: predictions, with "
                    "the change that `bayes_lssvm.trust` still calls good as a dotted line.",
                ),
            ),
        ),
    ]
    if permuted:
        sections.append(
            Section(
                "Where the data say nothing",
                ("The targets in random order: what is left is the prior's.",),
                tables=(control_table(permuted),),
            )
        )
    return Page(
        introduction=INTRODUCTION + rows,
        verdict=verdict(reference, answers, permuted),
        key_table=key_table(reference, answers),
        sections=tuple(sections),
        methods=HOW,
        result=result,
    )
