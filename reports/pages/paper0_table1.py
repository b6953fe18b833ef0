"""The page of paper 0's Table 1: accuracies beside the paper's, its statistics on ours, and the probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from reports.draw.style import BLACK, BLUE, GREEN, ORANGE, PALE, PURPLE, VERMILION, new_figure
from reports.frame.index import TABLES_HEADING
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import number, spelled
from validation.harness import StudyResult
from validation.papers.paper0.algorithms import NO_REPEATS
from validation.papers.paper0.published import AVERAGE_RANKS, AVERAGES, COLUMNS, SIGN_TEST, SIZES
from validation.papers.paper0.table1 import ALL_COLUMNS, REPEATED, scores_of, statistics, table
from validation.papers.statistics import Mark, Scores, Statistics
from validation.papers.table import ReproducedTable
from validation.papers.why import why

from .papers import (
    answer_of,
    comparison_table,
    differences_picture,
    differences_table,
    thumbnail_of,
    verdict_sentences,
)

BAYESIAN = ("LS-SVM (BayM)", "LS-SVM (Bay)")
SIGNS: dict[Mark, str] = {"best": "★", "not different": "", "different": "†", "clearly different": "‡"}
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, BLACK, ORANGE)
SHAPES = ("o", "s", "^", "D", "v", "P")
MEASURES = {"log_score": ("Log score", "nats, larger is better"), "ece": ("Calibration error", "smaller is better")}
INTRODUCTION = (
    "Paper 0 (Van Gestel et al., 2002) compares Bayesian LS-SVMs with cross-validated ones, an SVM and Gaussian "
    "processes on ten data sets, each divided ten times at random into two thirds to train on and one third to "
    "test. This page computes its Table 1 again. Two columns are new: everything integrated out (“marginalised”) "
    "and the evidence without the Occam factor (“no Occam”). The scores of the probabilities are new too. Section "
    "7.1 and figures 2 and 3 of the paper are on the page of Ripley's data."
)
METHODS = (
    "Bayesian LS-SVM: inputs standardised, RBF kernel, σ at the maximum of the evidence (5.2), μ and ζ at the maximum "
    "of level 2. BayM decides by the moderated output (3.17) with the training frequencies as priors, Bay by the sign "
    "of the latent output (2.22); both are one fit.",
    "CV10: ten folds, σ from √d · {1/4, …, 16} and γ or C from {0.1, …, 10⁴}, then a finer set around the best; "
    "the candidate with the most correct labels wins, and among ties the one nearest to their middle. LS-SVM, GP "
    "and SVM share folds and candidate sets. The paper does not print its sets.",
    "GP is regression on the labels without a bias, 2.23; GP_b has a bias of variance σ_b² in the kernel. Their "
    "hyperparameters maximise p(D | μ, ζ, σ, σ_b), jointly.",
    "Equal rows are merged, which is exact: a system of distinct inputs with counts gives the same outputs. The "
    "set rsy has 250 rows to train on and 1000 to test, drawn from all 1250 for each randomisation, as the paper "
    "has it.",
    "Probabilities of BayM, marginalised and no Occam are moderated outputs. Those of Bay, GP and GP_b are the "
    "regression's predictive densities at −1 and at +1, normalised. Cross-validated columns have no probabilities.",
    "Paired t-tests compare each column with the best of its row, as in the paper, which calls them a heuristic: "
    "randomisations overlap. The Wilcoxon and sign tests compare averages with those of the best column over the "
    "sets.",
)


def page(result: StudyResult) -> Page:
    """Table 1 with everything that belongs to it."""
    shown, scores = table(result), scores_of(result)
    found, differences = statistics(result), differences_table(shown)
    picture = differences_picture(shown)
    sections = [
        Section(
            "Ours against theirs",
            _sonar(shown),
            tables=() if differences is None else (differences,),
        )
    ]
    if found is not None:
        sections.append(
            Section("Significance, ranks and tests", tables=(marks_table(scores, found), tests_table(found)))
        )
    sections.append(_probabilities(result))
    sections.append(Section("What the evidence selects", _repeats(result), (designs_table(result),)))
    points = (*_goal(shown), *_tests(found), *_best_scores(result))
    return Page(
        answer=answer_of([shown], "Table 1 of paper 0", points),
        introduction=INTRODUCTION,
        findings=(*verdict_sentences(shown), *_goal(shown), *_tests(found), *_proper(result)),
        key_picture=picture,
        key_table=comparison_table(shown, title="Test set accuracy, %"),
        sections=tuple(sections),
        methods=METHODS,
        result=result,
        thumbnail=thumbnail_of([shown], "entries: reproduced (blue), better, worse"),
        group=TABLES_HEADING,
        related=("reproduction", "section-7-1"),
    )


# --- words -----------------------------------------------------------------------------------------------------------


def _goal(shown: ReproducedTable) -> tuple[str, ...]:
    """How many sets are within two standard deviations or better in both Bayesian LS-SVM columns."""
    computed = [row for row in shown.rows if all((e := shown.entry(row, c)) and e.scores for c in BAYESIAN)]
    good = []
    for row in computed:
        entries = [e for c in BAYESIAN if (e := shown.entry(row, c)) is not None]
        if all(shown.verdict(e) in ("reproduced", "better") for e in entries):
            good.append(row)
    if not computed:
        return ()
    rest = [row for row in computed if row not in good]
    worse = f" The others: {', '.join(rest)}." if rest else ""
    return (
        f"Both Bayesian LS-SVM columns are within two of the paper's standard deviations, or better, on {len(good)} of "
        f"{len(computed)} sets.{worse}",
    )


def _tests(found: Statistics | None) -> tuple[str, ...]:
    if found is None or len(found.rows) < 6:  # fewer pairs cannot reach 5 %
        return ()
    different = [c for c in found.columns if found.wilcoxon[c] < 0.05]
    words = (
        f"Over {len(found.rows)} sets {found.best} has the best average accuracy ({found.averages[found.best]:.1f} %)"
    )
    if not different:
        return (f"{words}; no other column differs from it (Wilcoxon test, 5 % level).",)
    listed = ", ".join(f"{c} (p = {found.wilcoxon[c]:.3f})" for c in different)
    return (f"{words}; by the Wilcoxon test it differs at the 5 % level from {listed}.",)


def _sonar(shown: ReproducedTable) -> tuple[str, ...]:
    """A word on sonar, where every column of ours lies above the paper's."""
    entries = [e for c in COLUMNS if (e := shown.entry("snr", c)) is not None and e.scores]
    if not entries or any(e.distance < 1.0 for e in entries):
        return ()
    low, high = min(e.distance for e in entries), max(e.distance for e in entries)
    words = f"{low:.1f} to {high:.1f}" if len(entries) > 1 else f"{low:.1f}"
    known = why("paper0-table1", "snr", "")
    return (f"On snr our accuracies lie {words} of the paper's standard deviations above its own. {known.sentence}",)


def _repeats(result: StudyResult) -> tuple[str, ...]:
    """What training rows that repeat others do to the evidence, set by set."""
    scores, sentences = scores_of(result), []
    for row in REPEATED:
        shared = sorted(set(scores.get(row, {}).get("LS-SVM (Bay)", ())) & set(scores.get(row, {}).get(NO_REPEATS, ())))
        if not shared:
            continue
        with_, without = (_designs(result, row, a) for a in ("lssvm-bay", "no-repeats"))
        ends = [sum(d["status"] == "interpolation" for d in designs) for designs in (with_, without)]
        repeated = sum(d["repeats"] > 0 for d in without)
        means = [float(np.mean([scores[row][c][r] for r in shared])) for c in ("LS-SVM (Bay)", NO_REPEATS)]
        sentences.append(
            f"{row}: in {repeated} of {len(without)} randomisations some training rows repeat another's input and "
            "label. Each repeat adds ½ log ζ to the evidence of a kernel that can interpolate the rest, without "
            f"bound as ζ grows, and γ runs to the end of its range in {ends[0]}. Without the repeats it does so in "
            f"{ends[1]}, and the accuracy of LS-SVM (Bay) is {means[1]:.1f} % instead of {means[0]:.1f} %. This "
            "fit was added after we had seen the table, and is not part of it."
        )
    return tuple(sentences)


def _designs(result: StudyResult, row: str, algorithm: str) -> list[dict[str, Any]]:
    return [
        f.values["design"]
        for f in result.cells
        if f.error is None and (f.cell.settings["data"], f.cell.settings["algorithm"]) == (row, algorithm)
    ]


def _best_scores(result: StudyResult) -> tuple[str, ...]:
    """The first of them, in a short sentence."""
    said = _proper(result)
    return tuple(
        f"{sentence.partition(',')[0]}, best: {sentence.split(': ', 1)[1].split(', ')[0]} nats." for sentence in said
    )


def _proper(result: StudyResult) -> tuple[str, ...]:
    """Which probabilities are best by the log score."""
    scores = scores_of(result, "log_score")
    columns = _with(scores)
    rows = [row for row in SIZES if all(scores.get(row, {}).get(c) for c in columns)]
    if len(columns) < 2 or not rows:
        return ()
    means = {c: float(np.mean([_mean(scores, row, c) for row in rows])) for c in columns}
    order = sorted(columns, key=lambda c: -means[c])
    listed = ", ".join(f"{c} {number(means[c], '.3f')}" for c in order)
    return (f"Mean log score over {len(rows)} sets, best first: {listed} nats.",)


# --- tables ----------------------------------------------------------------------------------------------------------


def _mean(scores: Scores, row: str, column: str) -> float:
    values = scores.get(row, {}).get(column, {})
    return float(np.mean(list(values.values()))) if values else math.nan


def _with(scores: Scores) -> list[str]:
    present = {column for by_column in scores.values() for column in by_column}
    return [column for column in ALL_COLUMNS if column in present]


def marks_table(scores: Scores, found: Statistics) -> Table:
    """Our averages with the marks of the paired t-test."""
    rows = [
        Row(row, tuple(f"{_mean(scores, row, c):.1f} {SIGNS[found.marks[row, c]]}".rstrip() for c in found.columns))
        for row in found.rows
    ]
    return Table(
        "Paired t-tests within each set",
        ("", *found.columns),
        tuple(rows),
        "★ best of the row; unmarked: not different from it at the 5 % level; † different at 5 %; ‡ at 1 %.",
    )


def tests_table(found: Statistics) -> Table:
    """Averages, ranks and tests over the sets, ours and the paper's."""

    def row(label: str, values: dict[str, float], form: str) -> Row:
        return Row(label, tuple(format(values[c], form) if c in values else "–" for c in found.columns))

    rows = (
        row("average accuracy, ours", found.averages, ".1f"),
        row("  paper", AVERAGES, ".1f"),
        row("average rank, ours", found.ranks, ".1f"),
        row("  paper", AVERAGE_RANKS, ".1f"),
        row("sign test, ours", found.sign_test, ".3f"),
        row("  paper", SIGN_TEST, ".3f"),
        row("Wilcoxon test, ours", found.wilcoxon, ".3f"),
    )
    return Table(
        f"Over {len(found.rows)} sets, against the column with the best average",
        ("", *found.columns),
        rows,
        f"Two-sided p-values of the tests. Ours compare with {found.best}, the paper's with LS-SVM (CV10). "
        "The paper's average ranks do not follow from its printed averages by any usual rule for ties.",
    )


def _score_table(scores: Scores, columns: list[str], title: str, unit: str) -> Table:
    rows = []
    for row in SIZES:
        if row in scores:
            values = {c: _mean(scores, row, c) for c in columns}
            best = (max if "larger" in unit else min)(
                (v for v in values.values() if math.isfinite(v)), default=math.nan
            )
            cells = [number(v, ".3f") + (" ★" if v == best else "") for v in values.values()]
            rows.append(Row(row, tuple(cells)))
    return Table(f"{title} ({unit})", ("", *columns), tuple(rows), "★ best of the row.")


def _probabilities(result: StudyResult) -> Section:
    tables, pictures = [], []
    for measure, (title, unit) in MEASURES.items():
        scores = scores_of(result, measure)
        if columns := _with(scores):
            tables.append(_score_table(scores, columns, title, unit))
            if measure == "log_score":
                pictures.append(_picture(scores, columns))
    words = (
        "The log score is the mean log probability of the true class on test rows. The calibration error is the mean "
        "gap between confidence and accuracy over ten equal bins of the larger probability.",
    )
    return Section("Probabilities", words, tuple(tables), tuple(pictures))


def _picture(scores: Scores, columns: list[str]) -> Picture:
    best = {row: max(columns, key=lambda c: _nan_low(_mean(scores, row, c))) for row in SIZES if row in scores}
    return Picture(
        "log-scores",
        _figure(scores, columns),
        "Log scores of the columns with probabilities by data set; best: "
        + ", ".join(f"{r} {c}" for r, c in best.items()),
        "Log score on test rows minus that of the best column of each set: dots at the right edge are the best.",
    )


def _nan_low(value: float) -> float:
    return value if math.isfinite(value) else -math.inf


def _figure(scores: Scores, columns: list[str]) -> Figure:
    rows = [row for row in SIZES if row in scores]
    with new_figure(8.2, 0.42 * len(rows) + 1.3) as figure:
        axes = figure.add_subplot()
        for place, row in enumerate(rows):
            values = [_mean(scores, row, c) for c in columns]
            top = max(map(_nan_low, values))
            for j, value in enumerate(values):
                offset = 0.11 * (j - (len(columns) - 1) / 2)
                style: dict[str, Any] = {"color": COLOURS[j % len(COLOURS)], "marker": SHAPES[j % len(SHAPES)]}
                label = columns[j] if place == 0 else None
                axes.plot(value - top, place + offset, linestyle="", markersize=5, label=label, **style)
        axes.set_yticks(range(len(rows)), [spelled(row) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("log score − the best of the set (nats)")
        axes.grid(axis="y", color=PALE)
        axes.set_axisbelow(True)
        figure.legend(loc="outside upper center", ncols=3)
        return figure


def designs_table(result: StudyResult) -> Table:
    """Median σ, γ and γ_eff of the Bayesian LS-SVM by set, and how often γ ran to its end."""
    rows = []
    for name in SIZES:
        if found := _designs(result, name, "lssvm-bay"):
            size = SIZES[name]
            middle = {key: float(np.median([d[key] for d in found])) for key in ("sigma", "gamma", "gamma_eff")}
            end = sum(d["status"] == "interpolation" for d in found)
            width = middle["sigma"] / math.sqrt(size.inputs)
            cells = (f"{width:.2f}", f"{middle['gamma']:.3g}", f"{middle['gamma_eff']:.0f} of {size.n_train}")
            rows.append(Row(name, (*cells, f"{end} of {len(found)}")))
    return Table(
        "Bayesian LS-SVM: medians over randomisations",
        ("", "σ / √d", "γ", "γ_eff", "interpolating"),
        tuple(rows),
        "Interpolating: the evidence keeps growing up to the largest γ that double precision can tell from "
        "infinity, so the training labels are fitted exactly.",
    )
