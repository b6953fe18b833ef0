"""The page of paper 2's digits: 45 members of one versus one, decoded in several ways."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from reports.draw.style import BLUE, GREY, VERMILION, new_figure
from reports.draw.thumbnail import bars
from reports.frame.answer import Answer, State
from reports.frame.index import TABLES_HEADING
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import joined
from validation.harness import StudyResult
from validation.papers.paper2.table2 import INTERPOLATES
from validation.papers.paper2.usps import DECODINGS, PRINTED, WITHIN, decoded, scores, table

from .papers import answer_of, comparison_table

NAMES = {
    "hamming": "Hamming",
    "loss": "loss (squared)",
    "bayes": "Bayes",
    "bayes-sequential": "Bayes, one bit after another",
    "bayes-printed": "Bayes, formula (20) as printed",
    "coupling": "pairwise coupling",
}
INTRODUCTION = (
    "Section 5 of paper 2 (Van Gestel et al., 2002) ends with the digits of the US Postal Service: 7291 images of 16 "
    "× 16 pixels to train on, 2007 to test, ten classes, and an LS-SVM with RBF kernel for each of the 45 pairs. The "
    "paper reports 95.2 % by Hamming and 94.7 % by Bayesian decoding."
)
METHODS = (
    "Inputs are standardised once with the training rows. Every member has its own μ, ζ and σ at the maximum of "
    "its own evidence, on all points of its two classes; the moderated output is that of paper 2 (11), and the "
    "classes are equally likely beforehand. Members are fitted and stored one by one, so an interrupted run "
    "continues where it stopped.",
    "The paper prints no spread. The ± next to its figures is the binomial standard error of 2007 test rows, √(p(1 − "
    "p)/2007).",
)


def page(result: StudyResult) -> Page:
    """The digits, ours beside theirs."""
    shown, found = table(result), scores(result)
    said = (*_findings(result, found), *_confidence(result), *shown.absent)
    return Page(
        answer=answer(result, found, answer_of([shown], "the paper's section on digits")),
        introduction=INTRODUCTION,
        findings=said,
        key_picture=members_picture(result),
        key_table=comparison_table(shown),
        sections=(
            Section("Every decoding of the same members", tables=(decodings_table(found),)),
            *((mistakes_section(result),) if found else ()),
        ),
        methods=METHODS,
        result=result,
        thumbnail=thumbnail(found),
        group=TABLES_HEADING,
        related=("reproduction", "paper2-table2"),
    )


RULE = (
    f"Holds where both printed accuracies are reproduced to {WITHIN:g} percentage points, with care where one is, "
    "fails where none is."
)


def badge(reproduced: int, of: int) -> State:
    """From the number of printed accuracies that are reproduced."""
    if reproduced == of:
        return "holds"
    return "with care" if reproduced else "fails"


def answer(result: StudyResult, found: dict[str, dict[str, float]], other: Answer) -> Answer:
    """Are the paper's accuracies reproduced? `other` is the answer where there are other digits or none."""
    if not found or result.cells[0].cell.settings["data"] != "usps":
        return other
    gaps = {name: found[decoding]["accuracy"] - PRINTED[decoding] for decoding, name in DECODINGS.items()}
    near = sum(abs(gap) <= WITHIN for gap in gaps.values())
    listed = joined(
        [f"{name} {found[d]['accuracy']:.1f} % (paper {PRINTED[d]:.1f} %)" for d, name in DECODINGS.items()]
    )
    return Answer(
        badge(near, len(gaps)),
        f"{'Both' if near == len(gaps) == 2 else f'{near} of {len(gaps)}'} accuracies that the paper prints for the "
        f"digits are reproduced to within {WITHIN:g} percentage points.",
        (
            f"{listed}.",
            f"{interpolating(result)} of {len(result.cells)} members interpolate: they fit the training labels without "
            "noise.",
            *_confidence(result),
        ),
        RULE,
    )


def thumbnail(found: dict[str, dict[str, float]]) -> Figure | None:
    """Errors of the decodings."""
    errors = {NAMES[d]: 100.0 - s["accuracy"] for d, s in found.items() if d in NAMES}
    return bars(errors, "test error, %", form=".1f") if errors else None


def _findings(result: StudyResult, found: dict[str, dict[str, float]]) -> tuple[str, ...]:
    if not found:
        return ("Not all members could be computed, so nothing is decoded.",)
    points = [f.values["points"] for f in result.cells]
    work = (
        f"{len(points)} members of {min(points)} to {max(points)} points; {interpolating(result)} of them interpolate: "
        "their evidence is largest without noise (γ_eff close to N)."
    )
    if result.cells[0].cell.settings["data"] != "usps":
        return ("These are not the paper's digits: nothing is compared.", work)
    sentences = []
    for decoding, name in DECODINGS.items():
        ours, theirs = found[decoding]["accuracy"], PRINTED[decoding]
        state = "within" if abs(ours - theirs) <= WITHIN else "outside"
        sentences.append(
            f"{name} decoding: {ours:.2f} %, the paper {theirs:.1f} %; the difference of {ours - theirs:+.2f} points "
            f"is {state} {WITHIN} points.".replace("-", "−")
        )
    return (*sentences, work)


def _confidence(result: StudyResult) -> tuple[str, ...]:
    """How sure Bayesian decoding is, beside how often it is right."""
    both = decoded(result)
    if both is None:
        return ()
    labels, p = both[0].predictions["bayes"]
    assert p is not None
    sure, right = 100.0 * float(p.max(axis=1).mean()), 100.0 * float(np.mean(labels == both[1].y_test))
    start = "Bayesian decoding is overconfident" if sure > right else "Bayesian decoding"
    return (f"{start}: mean confidence {sure:.1f} %, accuracy {right:.1f} %.",)


def interpolating(result: StudyResult) -> int:
    """How many members have hardly any noise left."""
    return sum(f.values["gamma_eff"] > INTERPOLATES * f.values["points"] for f in result.cells if f.error is None)


def decodings_table(found: dict[str, dict[str, float]]) -> Table:
    """Accuracy of every decoding, and the scores of those that have probabilities."""
    rows = []
    for decoding, name in NAMES.items():
        if decoding in found:
            s = found[decoding]
            scored = [f"{s[m]:.3f}".replace("-", "−") if m in s else "–" for m in ("log_score", "brier", "ece")]
            rows.append(Row(name, (f"{s['accuracy']:.2f}", *scored)))
    return Table(
        "Decodings",
        ("", "accuracy, %", "log score, nats", "Brier", "calibration error"),
        tuple(rows),
        "A larger log score and smaller Brier score and calibration error are better.",
    )


def members_picture(result: StudyResult) -> Picture:
    """σ and γ_eff of each member against its number of points."""
    facts = [f.values for f in result.cells if f.error is None]
    points, sigma = [v["points"] for v in facts], [v["sigma"] for v in facts]
    with new_figure(9.0, 3.4) as figure:
        left, right = figure.subplots(1, 2)
        left.plot(points, sigma, "o", color=BLUE, markersize=5)
        left.set(xlabel="training points of the member", ylabel="kernel width σ")
        left.set_title("σ by the evidence", loc="left")
        right.plot(points, points, color=GREY, linewidth=0.8)
        right.plot(points, [v["gamma_eff"] for v in facts], "s", color=VERMILION, markersize=5)
        right.set(xlabel="training points of the member", ylabel="$\\gamma_{eff}$")
        right.set_title("effective number of parameters", loc="left")
    return Picture(
        "members",
        figure,
        "Two scatter plots over the members: kernel width, and effective number of parameters, against training "
        "points.",
        f"Each mark is a member. Left: the widths that the evidence chooses, {min(sigma):.3g} to {max(sigma):.3g}. "
        f"Right: γ_eff against the number of points, the grey line; {interpolating(result)} of {len(points)} members "
        "lie on it, which is interpolation.",
    )


def mistakes_section(result: StudyResult) -> Section:
    """The confusion matrix of Bayesian decoding."""
    both = decoded(result)
    assert both is not None
    found, data = both
    classes, labels = found.classes, found.predictions["bayes"].labels
    counts = np.array([[int(((data.y_test == i) & (labels == j)).sum()) for j in classes] for i in classes])
    rows = tuple(
        Row(str(digit), tuple(str(c) if c else "·" for c in line))
        for digit, line in zip(classes.tolist(), counts, strict=True)
    )
    return Section(
        "Confusion matrix",
        tables=(
            Table(
                "Confusion matrix of Bayesian decoding",
                ("true ↓ decided →", *map(str, classes.tolist())),
                rows,
                "Test rows.",
            ),
        ),
    )
