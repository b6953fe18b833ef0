"""The page on where Laplace's evidence holds: known posteriors, and what foretells its error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from reports.draw.style import BLUE, VERMILION
from reports.draw.thumbnail import small
from reports.frame.page import Page, Picture, Section
from validation.harness import StudyResult
from validation.studies.laplace_reference import LIMIT

from .figures import figure_bridge, figure_predictors
from .posteriors import Posterior, posteriors_of, z_scores
from .sentences import answer, findings
from .tables import correlation_table, posterior_table, rule_table

__all__ = ["page"]

INTRODUCTION = (
    "Laplace's method replaces a posterior by the Gaussian at its mode. Is the resulting evidence right, and can one "
    "know before any sampling? It is compared with known evidences of posteriors of posteriordb, from an integral "
    "over one parameter or from ten thousand reference draws, and of simulated posteriors that are less and less "
    "Gaussian."
)
HOW = (
    "Everything is in unconstrained parameters: positive ones by their logarithm, simplices by stick-breaking, "
    "ordered ones by the logarithms of their gaps, with the Jacobian. Modes are searched for from ten starting "
    "points.",
    "Truth: regressions, the autoregression and the eight schools have a Gaussian integral over all parameters but "
    "one, and the trapezoidal rule over its logarithm; the others have the warp-III bridge on all reference draws.",
    "With third and fourth derivatives g of the log density in coordinates that make minus its Hessian the unit "
    "matrix, the next term is ⅛ Σ g_iijj + ⅛ Σ_k (Σ_i g_iik)² + 1/12 Σ g_ijk². Skewness is the largest g_vvv over "
    "unit vectors v. k̂ is the Pareto shape of 2000 weights of a density at the mode, a Gaussian or a Student "
    "density with 5 degrees of freedom. Importance sampling warns where both k̂ are above 0.7, or where it is more "
    "than 0.5 nats from Laplace.",
    "Few rows: regressions on d columns of noise with n rows, flat priors; Laplace's error depends on n and d "
    "alone. Groups: J groups around a mean, spread 5, with standard errors 1, 5 or 20, not centred. The limits of "
    "`trust_model` were set on other models and not changed here.",
)


def _thumbnail(posteriors: Sequence[Posterior]) -> Figure:
    """The size of the errors, in order."""
    with small("error of Laplace's evidence, nats") as (figure, axes):
        errors = np.sort([max(p.error, 1e-3) for p in posteriors if np.isfinite(p.error)])
        axes.plot(np.arange(1, len(errors) + 1), errors, "o", color=BLUE, markersize=3.5)
        axes.axhline(LIMIT, color=VERMILION, linestyle="--", linewidth=1.4)
        axes.set(yscale="log", xlabel=f"{len(errors)} posteriors, in order")
        axes.set_yticks([1e-3, 1e-2, 0.1, 1, 10], ["0.001", "0.01", "0.1", "1", "10"])
        axes.minorticks_off()
        return figure


def page(result: StudyResult) -> Page:
    """Errors, figures that predict them, warnings, and the bridge."""
    posteriors = posteriors_of(result)
    predictors = Picture(
        "predictors",
        figure_predictors(posteriors),
        "Four scatter plots on a common logarithmic axis of the size of Laplace's error: against the next term of "
        "the expansion, where points follow the diagonal, against the largest skewness, and against two k̂.",
        "Each mark is a posterior. The next term of the expansion predicts the error best: on the solid line they are "
        "equal. Dotted lines: half a nat, and 0.7 for k̂. Values below 0.001 are drawn at 0.001.",
    )
    sections = [
        Section("What predicts the error", tables=(correlation_table(posteriors),)),
        Section("Every posterior", tables=(posterior_table(posteriors),)),
    ]
    if len(z_scores(posteriors)):
        shown = Picture(
            "bridge",
            figure_bridge(posteriors),
            "Histogram of the z-scores of bridge sampling on single chains, with the standard normal density.",
            "Bridge sampling on each chain of 1000 reference draws. Values beyond ±4.2 are drawn at ±4.2.",
        )
        sections.append(Section("Bridge sampling from a tenth of the draws", pictures=(shown,)))
    return Page(
        answer=answer(posteriors),
        introduction=INTRODUCTION,
        findings=findings(posteriors),
        key_picture=predictors,
        key_table=rule_table(posteriors),
        sections=tuple(sections),
        methods=HOW,
        result=result,
        printed=(rule_table(posteriors),),
        thumbnail=_thumbnail(posteriors),
        related=("map-of-trust", "psis-loo"),
    )
