"""The page of the map of trust: heat maps, curves and an answer over N, signal-to-noise, dimension and width."""

from __future__ import annotations

from reports.frame.page import Page, Picture, Section
from validation.harness import StudyResult

from .figures import figure_bars, figure_errors, figure_map, thumbnail
from .sentences import answer, findings, headline
from .spots import problems_of, spots_of
from .tables import failure_table, key_table

INTRODUCTION = (
    "How much data, and how much signal, do the closed forms of the evidence framework need? Data sets are simulated "
    "with a known RBF kernel for different numbers of points N, signal-to-noise ratios, numbers of inputs d and kernel "
    "widths σ. On each set the closed forms over μ and ζ are compared with the exact integrals."
)
HOW = (
    "Inputs are standard normal in d dimensions, a new design for every set. The signal is drawn from the model, "
    "f ~ Normal(0, K/μ) with K = exp(−|x − z|²/σ²), and noise of variance 1/ζ is added. Signal-to-noise is the "
    "expected sample variance of f over that of the noise; their sum is one. Without signal the targets are noise.",
    "Each method has the true kernel (or, where the page says so, one of another width) and the prior Normal(0, 3²) of "
    "log μ and of log ζ. “MacKay (5.2)” has MacKay's error bars √(2/(γ_eff − 1)) and √(2/(N − γ_eff)), none wider than "
    "the prior. “Hessian” has the determinant of the exact Hessian at (μ_MP, ζ_MP) instead, and no answer where level "
    "2 has no mode. Both use the width of the prior and ignore its centre, so they are too large by ½[(log μ_MP/3)² + "
    "(log ζ_MP/3)²] where the mode is away from the centre. “Laplace” is the Gaussian at the mode of the posterior, "
    "prior included. The truth is quadrature.",
    "k̂ is the Pareto shape of 1000 importance weights of Student proposals at the modes. Tails are the posterior mass "
    "beyond 3 standard deviations of Laplace's Gaussian. Predictions are means and standard deviations at data and "
    "midpoints of pairs, plug-in against integrated. A set without a mode of level 2, or whose evidence gains less "
    "than 2 nats over noise, is not trusted, as `bayes_lssvm.trust` grades it.",
    "Shares come from the number of sets that the diagnostics list: with 10 sets 90 % can be told from 60 %, with "
    "40 sets from 77 %. The fit with a wrong width is shown up to signal-to-noise 10: beyond it γ can leave the "
    "range of double precision, and the exact integral is cut off.",
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
            "every check of the closed forms is good. " + headline(spots),
            "Share of the simulated sets, in per cent, on which every check of the closed forms is good. Inside the "
            "heavy line the evidence framework is safe. In cells with a green dot its evidence is right, but error "
            "bars or predictions may not be.",
        ),
        Picture(
            "errors",
            figure_errors(problems),
            "Median absolute error of the log evidence in nats against N on log scales, for MacKay's Occam factor "
            "(5.2), the exact Hessian and Laplace's method, with a line for each signal-to-noise ratio and a dotted "
            "line at half a nat.",
            "Median |error| of the log evidence. The dotted line is half a nat. A line ends where more than half "
            "of the sets have no answer. Laplace's error falls with N; that of the formula (5.2) levels off, "
            "since its error bars ignore how γ_eff depends on μ, and it ignores where the prior is centred.",
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
        answer=answer(spots),
        introduction=f"{INTRODUCTION} This page uses {sets} simulated sets in {len(spots)} settings.",
        findings=findings(spots),
        key_picture=pictures[0],
        key_table=key_table(problems),
        sections=(
            Section("The evidence", pictures=pictures[1:2]),
            Section("The error bars", pictures=pictures[2:]),
            Section("What goes wrong, and how often", tables=(failure_table(problems),)),
        ),
        methods=HOW,
        result=result,
        thumbnail=thumbnail(problems),
        related=("calibration", "evidence", "laplace-reference"),
    )
