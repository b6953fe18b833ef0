"""The page on where Laplace's evidence holds: known posteriors, and what foretells its error."""

from __future__ import annotations

from reports.frame.page import Page, Picture, Section
from validation.harness import StudyResult

from .figures import figure_bridge, figure_predictors
from .posteriors import posteriors_of, z_scores
from .sentences import verdict
from .tables import correlation_table, key_table, rule_table

__all__ = ["page"]

INTRODUCTION = (
    "Laplace's method takes a posterior for the Gaussian at its mode. Is its evidence right, and can one know "
    "before any sampling? It is held against posteriors of posteriordb, whose evidence is an integral over one "
    "parameter or comes from ten thousand reference draws, and against simulated posteriors that get less and less "
    "Gaussian."
)
HOW = (
    "Everything is in unconstrained parameters: positive ones by their logarithm, simplices by breaking a stick, "
    "ordered ones by the logarithms of their gaps, with the Jacobian. Modes are looked for from ten starts.",
    "Truth: regressions, the autoregression and the eight schools have a Gaussian integral over all parameters but "
    "one, and the trapezoidal rule over its logarithm; the others have the warp-III bridge on all reference draws.",
    "With third and fourth derivatives g of the log density in coordinates that make minus its Hessian the unit "
    "matrix, the next order is ⅛ Σ g_iijj + ⅛ Σ_k (Σ_i g_iik)² + 1/12 Σ g_ijk². Skewness is the largest g_vvv over "
    "unit vectors v. k̂ is the Pareto shape of 2000 weights of a density at the mode, a Gaussian or a Student "
    "density with 5 degrees of freedom. Importance sampling warns where both k̂ are above 0.7, or where it is more "
    "than 0.5 nats from Laplace.",
    "Few rows: regressions on d columns of noise with n rows, flat priors; Laplace's error depends on n and d "
    "alone. Groups: J groups around a mean, spread 5, with standard errors 1, 5 or 20, not centred. The limits of "
    "`trust_model` were set on other models and not changed here.",
)


def page(result: StudyResult) -> Page:
    """Errors, figures that foretell them, verdicts, and the bridge."""
    posteriors = posteriors_of(result)
    pictures = [
        Picture(
            "predictors",
            figure_predictors(posteriors),
            "Four scatter plots on a common logarithmic axis of the size of Laplace's error: against the next order of "
            "the expansion, where points follow the diagonal, against the largest skewness, and against two k̂.",
            "Each mark is a posterior. Dotted lines: half a nat, and 0.7 for k̂. On the solid line the next order is "
            "the error. Values below 0.001 are drawn there.",
        )
    ]
    sections = [
        Section("What foretells the error", pictures=tuple(pictures), tables=(correlation_table(posteriors),)),
        Section("Which warning tells", tables=(rule_table(posteriors),)),
    ]
    if len(z_scores(posteriors)):
        shown = Picture(
            "bridge",
            figure_bridge(posteriors),
            "Histogram of the z-scores of bridge sampling on single chains, with the standard normal density.",
            "Bridge sampling on each chain of 1000 reference draws. Values beyond ±4.2 are drawn there.",
        )
        sections.append(Section("Bridge sampling from a tenth of the draws", pictures=(shown,)))
    return Page(
        introduction=INTRODUCTION,
        verdict=verdict(posteriors),
        key_table=key_table(posteriors),
        sections=tuple(sections),
        methods=HOW,
        result=result,
        printed=(rule_table(posteriors),),
    )
