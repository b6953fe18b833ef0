"""The page on whether Bayes factors are calibrated: reliability diagrams, scores and a verdict."""

from __future__ import annotations

from reports.frame.page import Page, Picture, Section
from validation.harness import StudyResult

from .figures import figure_factors, figure_reliability
from .outcomes import outcomes_of
from .sentences import answer, verdict
from .tables import key_table, table_by_n

__all__ = ["page"]

INTRODUCTION = (
    "Sets are simulated from two kernels with even prior odds, every parameter drawn from the prior that the methods "
    "have, so that the exact P(H | D) is calibrated by construction: of the sets that get p a share p is from H."
)
HOW = (
    "Inputs are standard normal: three for ARD against RBF, one for RBF against Matérn 3/2, two for RBF against "
    "linear. log μ ~ Normal(0, 1), log ζ ~ Normal(2, 1); log parameters of the kernels have the priors of `compare`. "
    "Targets are f ~ Normal(0, K/μ) with noise of variance 1/ζ.",
    "“maximised” is the largest evidence over the kernel's parameters at μ_MP and ζ_MP; “eq 5.2” adds MacKay's error "
    "bars over the prior's widths, as `compare` does with maximised parameters. “Hessian” is Laplace's method "
    "over μ and ζ with their prior, at the best kernel parameters, which are not paid for. “Laplace” is Laplace's "
    "method over the kernel's parameters too, at the best mode. “integrated” is `compare`: quadrature over μ and ζ, a "
    "lattice or importance sampling over the kernel's parameters. “sampled” is NUTS on the Gaussian process of "
    "`models` with bridge sampling, on some of the sets with the fewest points.",
    "Spiegelhalter's z compares the Brier score with what the probabilities themselves promise of it. Kernel "
    "parameters are searched as the library does, from several starts: an optimum that it misses is part of what a "
    "closed form loses.",
)


def page(result: StudyResult) -> Page:
    """The page."""
    found = outcomes_of(result)
    reliability = Picture(
        "reliability",
        figure_reliability(found),
        "Reliability diagrams, one row a pair of kernels and one column a method: the share of sets that come from the "
        "first kernel against the mean P(H | D) of five bins, with the diagonal.",
        "Share of sets from the first kernel against its P(H | D), in five bins, with 90 % intervals. On the diagonal "
        "a method is calibrated. Red squares: further off than chance allows. A grey panel has no numbers.",
    )
    factors = Picture(
        "factors",
        figure_factors(found),
        "Scatter plots of the log odds of each closed form against those of the integrated evidence.",
        "Log posterior odds of the first kernel, closed forms against integrated ones; blue dots are sets from the "
        "first kernel, red crosses from the second. Values beyond ±8 are drawn there.",
    )
    return Page(
        introduction=f"{answer(found)} {INTRODUCTION}",
        verdict=verdict(found),
        key_table=key_table(found),
        sections=(
            Section("Promise and frequency", pictures=(reliability,)),
            Section("How far the closed forms are off", pictures=(factors,), tables=(table_by_n(found),)),
        ),
        methods=HOW,
        result=result,
    )
