"""The page of the study `explorer`: a slider over the kernel's width, and three widths side by side on paper."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from reports.draw.thumbnail import lines
from reports.frame.answer import Answer, State, graded
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import number
from validation.harness import StudyResult
from validation.ladder import PRIOR

from .figures import TITLES, three_widths
from .live import RUNG_WORDS, live
from .payload import stops, widths

INTRODUCTION = (
    "A kernel that is too narrow fits the data too well; one that is too wide cannot follow them. The evidence finds "
    "the width in between without a test set. Move the slider and watch it do so."
)
METHODS = (
    "Every stop of the slider was computed beforehand, at that width; numbers are not interpolated. Only the "
    "movement of the pictures from one stop to the next is interpolated.",
    f"log μ and log ζ have the prior Normal(0, {PRIOR.mu.width:g}²) in every approximation. Contours enclose 50, "
    "90 and 99 % of the exact posterior, ellipses 90 % of each Gaussian. The Gaussians of (5.2) are centred at "
    "the mode of the evidence and ignore where the prior is centred; Laplace's method uses the mode of the "
    "posterior, which includes the prior.",
    "The map shows what BayesianLSSVC (for real targets BayesianLSSVR) predicts with the kernel fixed at that width, "
    "the same prior, and its default calibration. Inputs are standardised.",
    "The parts of the log evidence are those of levels 1 to 3: fit −ζE_D + (N/2) log(ζ/2π), Occam factors of the "
    "weights −μE_W − ½ Σ log(1 + γλ_i) and of the bias ½ log(2π/Nζ), then the Occam factors of μ and ζ in (5.2), "
    "and the difference that remains from the exact integral.",
)


def page(result: StudyResult) -> Page:
    """The explorer, a table of three widths, and their picture."""
    return Page(
        answer=answer(result),
        introduction=INTRODUCTION,
        key_table=_table(result),
        sections=(Section("Three widths side by side", pictures=(_picture(result),)),),
        methods=METHODS,
        result=result,
        live=live(result),
        thumbnail=_thumbnail(result),
        related=("evidence", "section-7-1"),
    )


RULE = (
    "The largest error of the log evidence with MacKay's Occam factor (5.2) over all widths: holds up to 0.5 nats, "
    "with care up to 1 nat, fails beyond."
)


def badge(error: float) -> State:
    """From the largest error of the formula (5.2) over all widths, in nats."""
    return graded(error, 0.5, 1.0)


def _thumbnail(result: StudyResult) -> Figure:
    """The exact evidence and MacKay's along the widths."""
    nodes = [cell.values for cell in widths(result)]
    names = {"quadrature": "exact", "mackay": "formula (5.2)"}
    curves = {
        words: np.array([np.nan if (v := n["log_evidence"][rung]) is None else v for n in nodes])
        for rung, words in names.items()
    }
    sigma = np.array([n["sigma"] for n in nodes])
    return lines(sigma, curves, "move the kernel width, see everything", logarithmic=True)


def answer(result: StudyResult) -> Answer:
    """The best width, and where the formula (5.2) is worst."""
    nodes = [cell.values for cell in widths(result)]
    best = nodes[stops(result).best]["sigma"]
    off = [
        (abs(n["log_evidence"]["mackay"] - n["log_evidence"]["quadrature"]), n["sigma"])
        for n in nodes
        if n["log_evidence"]["mackay"] is not None
    ]
    most, where = max(off)
    return Answer(
        badge(most),
        f"MacKay's formula (5.2) gives the log evidence of every kernel width to within {number(most, '.2f')} nats; "
        f"the most probable width is σ = {number(best, '.3g')}.",
        (f"The formula is worst at σ = {number(where, '.3g')}.",),
        RULE,
    )


def _table(result: StudyResult) -> Table:
    """Log evidence by every rung at the three widths that the buttons show."""
    chosen = [widths(result)[i].values for i in stops(result)]
    rows = [Row("effective parameters γ_eff", tuple(number(v["gamma_eff"], ".1f") for v in chosen))]
    for rung in RUNG_WORDS:
        values = [v["best_fit"] if rung.name == "best_fit" else v["log_evidence"][rung.name] for v in chosen]
        rows.append(Row(rung.label, tuple(number(value, ".3f") for value in values)))
    header = tuple(f"σ = {number(v['sigma'], '.3g')}, {title}" for v, title in zip(chosen, TITLES, strict=True))
    return Table("Log evidence at three widths", ("", *header), tuple(rows))


def _picture(result: StudyResult) -> Picture:
    return Picture(
        "three_widths",
        three_widths(result),
        "Log evidence against the kernel's width, and at three widths the posterior of log mu and log zeta and the map "
        "of predictions.",
        "Above: log evidence, and the errors of the approximations. Middle: the exact posterior (contours of 50, "
        "90 and 99 %) with the 90 % ellipses by which the closed forms replace it. Below: what each width "
        "predicts.",
    )
