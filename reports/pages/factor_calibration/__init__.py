"""The page on whether Bayes factors are calibrated: reliability diagrams and scores."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.draw.thumbnail import bars
from reports.frame.page import Page, Picture, Section
from validation.harness import StudyResult

from .figures import figure_factors, figure_reliability
from .outcomes import NAMES, outcomes_of, together
from .sentences import Found, answer, findings
from .tables import key_table, table_by_n

__all__ = ["page"]

INTRODUCTION = (
    "If a Bayes factor says that a kernel is 90 % probable, is it right in 90 % of cases? Data are simulated from two "
    "kernels with even prior odds, every parameter drawn from the prior that the methods use. The exact P(H | D) is "
    "then calibrated by construction: of the sets that get probability p, a share p comes from H."
)
HOW = (
    "Inputs are standard normal: three for ARD against RBF, one for RBF against Matérn 3/2, two for RBF against "
    "linear. log μ ~ Normal(0, 1), log ζ ~ Normal(2, 1); log parameters of the kernels have the priors of `compare`. "
    "Targets are f ~ Normal(0, K/μ) with noise of variance 1/ζ.",
    "“maximised” is the largest evidence over the kernel's parameters at μ_MP and ζ_MP; “MacKay (5.2)” adds "
    "MacKay's error bars over the prior's widths, as `compare` does with maximised parameters. “Hessian” is "
    "Laplace's method over μ and ζ with their prior, at the best kernel parameters, without an Occam factor for "
    "them. “Laplace” is Laplace's method over the kernel's parameters too, at the best mode. “integrated” is "
    "`compare`: quadrature over μ and ζ, a lattice or importance sampling over the kernel's parameters. “sampled” "
    "is NUTS on the Gaussian process of `models` with bridge sampling, on some of the sets with the fewest points.",
    "Spiegelhalter's z compares the Brier score with its expected value if the probabilities are right. Kernel "
    "parameters are searched as the library does, from several starts: an optimum that is missed counts against "
    "the closed form.",
)


def _thumbnail(found: Found) -> Figure:
    """Overconfidence of each method over all pairs."""
    names = [name for name in NAMES if all(name in own for own in found.values())]
    whole = {NAMES[name]: together([own[name] for own in found.values()]) for name in names if name != "sampled"}
    gaps = {name: 100.0 * float(o.promised.mean() - o.right.mean()) for name, o in whole.items()}
    return bars(gaps, "confidence minus share correct, % (0 is right)", form="+.0f")


def page(result: StudyResult) -> Page:
    """The page."""
    found = outcomes_of(result)
    reliability = Picture(
        "reliability",
        figure_reliability(found),
        "Reliability diagrams, one row a pair of kernels and one column a method: the share of sets that come from the "
        "first kernel against the mean P(H | D) of five bins, with the diagonal.",
        "Share of sets from the first kernel against its P(H | D), in five bins, with 90 % intervals. On the "
        "diagonal a method is calibrated. Orange squares are further off than chance allows. A grey panel has no "
        "data.",
    )
    factors = Picture(
        "factors",
        figure_factors(found),
        "Scatter plots of the log odds of each closed form against those of the integrated evidence.",
        "Log posterior odds of the first kernel, closed forms against integrated ones; blue dots are sets from "
        "the first kernel, orange crosses from the second. Values beyond ±8 are drawn at ±8.",
    )
    return Page(
        answer=answer(found),
        introduction=INTRODUCTION,
        findings=findings(found),
        key_picture=reliability,
        key_table=key_table(found),
        sections=(Section("How far the closed forms are off", pictures=(factors,), tables=(table_by_n(found),)),),
        methods=HOW,
        result=result,
        thumbnail=_thumbnail(found),
        related=("bayes-factors", "calibration"),
    )
