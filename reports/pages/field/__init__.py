"""The page of the field study: the default classifier beside what a user would pick instead."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.draw.thumbnail import bars
from reports.frame.index import FIELD_HEADING
from reports.frame.page import Page, Picture, Section
from reports.frame.words import joined, number
from validation.harness import StudyResult
from validation.harness.ranks import average_ranks
from validation.studies.field.methods import papers_parameters
from validation.studies.field.sets import MOST_ROWS
from validation.studies.field.summary import REFERENCE, WITHIN, Field, summarise

from .figures import figure_critical, figure_ratios, figure_reliability, too_sure
from .sentences import answer, findings, left_out
from .tables import duel_table, group_table, key_table, set_table, title, yardstick_table

__all__ = ["page"]

INTRODUCTION = (
    "How good is the classifier if you call it with its defaults on your own data? It is compared with what you might "
    "use instead, on the same training and test rows. The log loss is the mean of −log P(true class), in nats a row: "
    "smaller is better."
)


def methods_text() -> tuple[str, ...]:
    """How it was done."""
    rules = ", ".join(f'{name}="{value}"' for name, value in papers_parameters().items())
    return (
        "Data: sets of the KEEL repository and sets that the library ships. Columns of text become indicators; "
        f"from sets of more than {MOST_ROWS} rows a stratified sample of that size is taken. A repeat shuffles the "
        "rows into three stratified folds, and each fold is predicted by a model of the other two. Rows are the "
        "same for all methods, and each method standardises inputs on its training rows.",
        f"{title(REFERENCE)}: `BayesianLSSVC()`. Papers' rules: `BayesianLSSVC({rules})`. Logistic regression: C "
        "by cross-validated log loss. SVC: C and width by accuracy on a grid of 5 × 5 in five folds, then Platt's "
        "map from three. GPC: Laplace's approximation, RBF kernel by marginal likelihood, one class against the "
        "rest. Random forest: 300 trees with two rows in a leaf or more. Gradient boosting: by histograms, with "
        "its defaults. All rivals but neo-ls-svm are scikit-learn's.",
        "Probabilities below 10⁻⁶ are raised to 10⁻⁶. Scores are means over all rows and over repeats; the Brier "
        "score runs from 0 to 2; ECE has ten bins of confidence and a jackknife error over folds. Average ranks "
        "are compared by Friedman's and Nemenyi's tests (Demšar, 2006). Standard errors of differences on a set "
        "are over paired rows; repeats share all rows and folds most training rows, so errors for new data of the "
        "same kind are larger.",
    )


def page(result: StudyResult) -> Page:
    """Ranks, duels, losses and wins set by set, reliability."""
    field = summarise(result)
    return Page(
        answer=answer(field),
        introduction=INTRODUCTION,
        findings=findings(field),
        key_picture=_ratios(field) if field.yardsticks else None,
        key_table=key_table(field),
        sections=tuple(_sections(field, result)),
        methods=methods_text(),
        result=result,
        printed=(key_table(field),),
        thumbnail=_thumbnail(field),
        group=FIELD_HEADING,
        related=("many-rows", "predictive-scores", "map-of-trust"),
    )


def _thumbnail(field: Field) -> Figure:
    ranks = average_ranks(field.table("log_loss"), higher_is_better=False)
    order = sorted(zip(field.complete, ranks, strict=True), key=lambda pair: pair[1])
    shown = {title(m): float(r) for m, r in order}
    return bars(shown, "average rank in log loss (1 is best)", form=".1f", own=(title(REFERENCE),))


def _sections(field: Field, result: StudyResult) -> list[Section]:
    several = len(field.complete) > 1
    found = (
        [Section("Ranks", pictures=(_critical(field),), tables=(duel_table(field), group_table(field)))]
        if several
        else []
    )
    if field.yardsticks:
        found.append(Section("Losses and wins, set by set", tables=(yardstick_table(field),)))
    found.append(Section("Reliability", (_sureness(field),), pictures=(_reliability(field),)))
    found.append(Section("Every set", left_out(field, result), tables=(set_table(field),)))
    return found


def _critical(field: Field) -> Picture:
    return Picture(
        "ranks",
        figure_critical(field),
        f"Average ranks of {len(field.complete)} methods over {len(field.sets)} data sets, in log loss and in "
        "accuracy, with bars over methods that cannot be told apart.",
        "Average ranks, 1 the best. Methods under one grey bar differ by less than the critical difference of "
        "Nemenyi's test at 5 %: these sets cannot tell them apart.",
    )


def _ratios(field: Field) -> Picture:
    return Picture(
        "ratios",
        figure_ratios(field),
        f"Log loss of {title(REFERENCE)} over that of the better plain alternative, one mark a data set, losses on "
        "top.",
        "Each row is a data set. Right of 1 the default loses (orange), left of 1 it wins (blue); the dashed line "
        f"is {WITHIN:.2f}. Bars are two standard errors over paired rows; open squares are differences that are "
        "not clear.",
    )


def _reliability(field: Field) -> Picture:
    return Picture(
        "reliability",
        figure_reliability(field),
        "Share of correct decisions minus confidence, by confidence, one line a method, over all data sets.",
        "Below zero a method is overconfident, above it underconfident. All sets have the same weight; the band is ± "
        "0.05.",
    )


def _sureness(field: Field) -> str:
    """How overconfident each method is on average."""
    said = [f"{title(m)} {number(too_sure(field, m), '+.3f')}" for m in field.complete]
    return (
        f"Mean confidence minus share of correct decisions, above zero where a method is overconfident: {joined(said)}."
    )
