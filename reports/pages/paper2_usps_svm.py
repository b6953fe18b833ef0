"""The page of paper 2's digits with SVM members: accuracies, and the times of both kinds of member."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.draw.style import BLUE, VERMILION, new_figure
from reports.draw.thumbnail import bars
from reports.frame.index import TABLES_HEADING
from reports.frame.page import Page, Picture, Row, Section, Table
from validation.harness import StudyResult
from validation.papers.paper2.usps_svm import PRINTED_SECONDS, mean_seconds, scores, table

from .papers import answer_of, comparison_table, verdict_sentences

INTRODUCTION = (
    "Section 5 of paper 2 (Van Gestel et al., 2002) compares SVMs with LS-SVMs on the digits of the US Postal Service, "
    "one for each of the 45 pairs. It reports 95.1 % by Hamming and 94.0 % by loss function decoding, and the times of "
    "a binary classifier."
)
METHODS = (
    "Inputs are standardised once with the training rows. C and σ of every member come from ten-fold cross-validation "
    "on the rows of its two digits, with the candidates of Table III; the loss is the hinge loss.",
    "Times are CPU seconds of one thread, means over the members. “Tuning” chooses C and σ; “training” is one fit at "
    "chosen parameters, kernel matrix included; “evaluation” is the outputs at all test rows. The LS-SVM is solved by "
    "a Cholesky factor at the SVM's σ, in the same process. What tuning an LS-SVM by the "
    "evidence takes is on the page paper2-usps, as the time of its cells.",
    "The paper prints no spread. The ± next to its figures is the binomial standard error of 2007 test rows.",
)
_WHAT = {"design": "tuning", "training": "training", "evaluation": "evaluation"}
"""By the names of the record."""


def page(result: StudyResult) -> Page:
    """The digits with SVMs, ours beside theirs."""
    shown = table(result)
    return Page(
        answer=answer_of([shown], "the paper's figures of SVMs on digits"),
        introduction=INTRODUCTION,
        findings=(*verdict_sentences(shown), *times_sentences(result)),
        key_picture=times_picture(result),
        key_table=comparison_table(shown),
        sections=(Section("What a member costs", tables=(times_table(result),)),),
        methods=METHODS,
        result=result,
        thumbnail=thumbnail(result),
        group=TABLES_HEADING,
        related=("reproduction", "paper2-usps", "paper2-table3"),
    )


def times_sentences(result: StudyResult) -> tuple[str, ...]:
    """Ratios of the two kinds, here and in the paper."""
    found = mean_seconds(result)
    if not found:
        return ()
    ours, theirs = (
        {what: times["SVM"][what] / times["LS-SVM"][what] for what in ("training", "evaluation")}
        for times in (found, PRINTED_SECONDS)
    )
    return (
        f"Training an SVM takes {ours['training']:.2g} times as long as solving an LS-SVM, and evaluating it "
        f"{ours['evaluation']:.2g} times as long; in the paper {theirs['training']:.2g} and "
        f"{theirs['evaluation']:.2g} times.",
    )


def times_picture(result: StudyResult) -> Picture | None:
    """Seconds of a member by kind, ours and the paper's, on one logarithmic axis."""
    found = mean_seconds(result)
    if not found:
        return None
    with new_figure(8.0, 2.8) as figure:
        axes = figure.add_subplot()
        for kind, colour in (("SVM", VERMILION), ("LS-SVM", BLUE)):
            for times, marker, whose in ((found, "o", "ours"), (PRINTED_SECONDS, "D", "paper")):
                places = [place for place, what in enumerate(_WHAT) if what in times[kind]]
                seconds = [times[kind][what] for what in _WHAT if what in times[kind]]
                face = colour if whose == "ours" else "none"
                axes.plot(seconds, places, marker, color=colour, markerfacecolor=face, label=f"{kind}, {whose}")
        axes.set_yticks(range(len(_WHAT)), list(_WHAT.values()))
        axes.set_ylim(len(_WHAT) - 0.5, -0.5)
        axes.set_xscale("log")
        axes.set_xlabel("CPU seconds of a binary classifier")
        figure.legend(loc="outside upper right", ncols=4)
    words = "; ".join(
        f"{kind}: " + ", ".join(f"{_WHAT[w]} {s:.2g} s" for w, s in own.items()) for kind, own in found.items()
    )
    return Picture(
        "times",
        figure,
        f"Times of both kinds of member, ours and the paper's. Ours: {words}.",
        "Filled: ours, means over the members. Open: the paper's, on a machine of 733 MHz.",
    )


def times_table(result: StudyResult) -> Table:
    """Seconds of a member by kind."""
    found = mean_seconds(result)
    rows = []
    for kind, printed in PRINTED_SECONDS.items():
        own = found.get(kind, {})
        ours = [f"{own[what]:.3g}" if what in own else "–" for what in _WHAT]
        rows.append(Row(kind, (*ours, *(f"{printed[what]:.0f}" for what in _WHAT))))
    header = ("", *(f"{what}, ours" for what in _WHAT.values()), *(f"{what}, paper" for what in _WHAT.values()))
    return Table("CPU seconds of a binary classifier", header, tuple(rows), "The paper's machine had 733 MHz.")


def thumbnail(result: StudyResult) -> Figure | None:
    """Errors of the decodings."""
    names = {"hamming": "Hamming", "loss": "loss (squared)", "hinge": "loss (hinge)"}
    errors = {names[d]: 100.0 - s["accuracy"] for d, s in scores(result).items() if d in names}
    return bars(errors, "test error, %", form=".1f") if errors else None
