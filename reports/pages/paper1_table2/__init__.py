"""The page of paper 1's Table 2: over-fitting of PRESS by elliptical kernels, and what Bayesian regularisation does."""

from __future__ import annotations

import math

import numpy as np

from reports.frame.index import TABLES_HEADING
from reports.frame.page import Page, Picture, Row, Section, Table
from validation.harness import StudyResult
from validation.papers.paper1.algorithms import OURS
from validation.papers.paper1.comparisons import published_comparison
from validation.papers.paper1.published import SIGNIFICANCE, TABLE_1, TABLE_2, Benchmark
from validation.papers.paper1.table2 import SEARCHED, errors_of, finished_of, mean_squares_of, stages_of, table

from ..papers import answer_of, comparison_table, differences_picture, differences_table, thumbnail_of
from .figures import figure_criterion, figure_descent, figure_overfitting
from .sentences import comparison, comparisons, findings, points, searching

__all__ = ["descents_table", "ends_table", "page", "z_table"]

INTRODUCTION = (
    "A kernel with a scale for every input can over-fit the criterion by which its scales are chosen. Paper 1 "
    "(Cawley and Talbot, 2007) shows it for PRESS on thirteen benchmark sets, and repairs it by a prior over the "
    "scales whose precision is integrated out (15). This page computes its Table 2 again."
)
DIFFERENCES = (
    "Ours − the paper's, test error in %. A grey bar spans two of the paper's standard errors either side of its "
    "mean. Our standard errors are larger, because there are fewer partitions, and both count: a dot outside the "
    "bar may still be reproduced. To the left is better."
)
HOW = (
    "LSSVM has γ and the kernel at the least PRESS, LSSVM-BR at the least ½ℓ log Q + ½d log Ω with Ω = ½ Σ η_i², for "
    "K = exp(−η|x − z|²) (RBF) and K = exp(−Σ η_i (x_i − z_i)²) (ARD): `bayes_lssvm.press.selection.select_by_press` "
    "with its own starts and, from 1000 training rows on, one restart instead of three. The paper names neither its "
    "starts nor its limit of iterations. The label is the sign of the output. Inputs are standardised by the training "
    "rows.",
    "The criterion (15) has no lower bound: as all η_i → 0 with γ growing, the model tends to a linear one and log Ω "
    "to −∞. A descent that ends there counts as “flat limit”. It is chosen where its PRESS is no larger than that of "
    "the best minimum inside, or where there is none. The model is then usually linear.",
    "EP-GPC is the Gaussian process classifier by expectation propagation, run to its fixed point, with the scales at "
    "the largest marginal likelihood; the elliptical kernel starts at the optimum of the spherical one.",
    "z is the paper's: the difference of two mean error rates over the root of the sum of their squared standard "
    f"errors, significant from {SIGNIFICANCE} on. Partitions are shared by all algorithms; “paired” is the mean "
    "difference over its own standard error, judged by Student's t at 95 %, one-sided. Both treat partitions as "
    "independent although their rows overlap, and so find too many differences significant.",
)


def z_table(result: StudyResult) -> Table:
    """LSSVM against LSSVM-BR in each kernel."""
    rows = []
    for benchmark in TABLE_1:
        cells: list[str] = []
        for kernel in ("RBF", "ARD"):
            columns = f"{kernel} LSSVM", f"{kernel} LSSVM-BR"
            found = comparison(result, benchmark.name, *columns)
            theirs = published_comparison(*(TABLE_2[benchmark.name, c] for c in columns))
            cells += ["–"] * 3 if found is None else [_signed(v) for v in (found.difference, found.z, found.paired)]
            cells.append(_signed(theirs.z))
        rows.append(Row(benchmark.title, tuple(cells)))
    one = ("LSSVM − BR, %", "z", "paired", "paper's z")
    return Table(
        "What Bayesian regularisation changes",
        ("", *(f"{kernel}: {name}" for kernel in ("RBF", "ARD") for name in one)),
        tuple(rows),
        f"Positive where regularisation has fewer errors. From {SIGNIFICANCE} on, z is significant at 95 %. The "
        "paper's z is computed from its printed means and standard errors.",
    )


def descents_table(result: StudyResult) -> Table | None:
    """The least of several minima of PRESS against the end of one descent; None where that was not computed."""
    rows = []
    for benchmark in TABLE_1:
        found = comparison(result, benchmark.name, SEARCHED, OURS)
        if found is None:
            continue
        several, once = (mean_squares_of(result, benchmark.name, column) for column in (SEARCHED, OURS))
        both = several.keys() & once.keys()
        lower = sum(once[r] > several[r] * (1.0 + 1e-6) for r in both)
        squares = [float(np.mean([of[r] for r in both])) for of in (several, once)]
        errors = [float(np.mean(list(errors_of(result, benchmark.name, c).values()))) for c in (SEARCHED, OURS)]
        rows.append(
            Row(
                benchmark.title,
                (
                    f"{lower} of {len(both)}",
                    *(f"{value:.4f}" for value in squares),
                    *(f"{value:.2f}" for value in errors),
                    f"{TABLE_2[benchmark.name, SEARCHED].mean:.2f}",
                    _signed(found.difference),
                    _signed(found.paired),
                ),
            )
        )
    if not rows:
        return None
    return Table(
        "PRESS alone, elliptical kernel: the least of several descents against one",
        (
            "",
            "lower PRESS found",
            "mean square, least",
            "one descent",
            "error, least, %",
            "one descent",
            "paper",
            "least − one, %",
            "paired",
        ),
        tuple(rows),
        "One descent starts at the best spherical kernel; “lower PRESS found” counts the partitions in which "
        "another descent ends lower. The mean square is the leave-one-out one, 2Q/ℓ. Positive differences: the "
        "search for the least PRESS has increased the test error; “paired” is that difference over its standard "
        "error.",
    )


def _signed(value: float) -> str:
    # + 0.0: a zero has no sign
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−") if math.isfinite(value) else "–"


def ends_table(result: StudyResult) -> Table:
    """Where searches ended, and what they cost."""
    rows = []
    for benchmark in TABLE_1:
        cells = [_ends(result, benchmark, column) for column in ("RBF LSSVM-BR", "ARD LSSVM-BR")]
        inside = finished_of(result, benchmark.name, "ARD LSSVM")
        reached = sum(f.values["status"] == "interpolation" for f in inside)
        seconds = [f.seconds for f in result.cells if f.error is None and f.cell.settings["set"] == benchmark.name]
        if inside:
            rows.append(
                Row(
                    benchmark.title,
                    (
                        *cells,
                        f"{reached} of {len(inside)}",
                        *(_evaluations(result, benchmark, c) for c in ("ARD LSSVM", "ARD LSSVM-BR")),
                        f"{sum(seconds):.0f}",
                    ),
                )
            )
    return Table(
        "Ends of the searches, by set",
        (
            "",
            "RBF BR: flat limit",
            "ARD BR: flat limit",
            "ARD LSSVM: γ at its upper end",
            "evaluations, ARD LSSVM",
            "ARD BR",
            "seconds, all",
        ),
        tuple(rows),
        "Numbers of partitions. At the flat limit the selected model is linear; γ at the upper end of its range means "
        "interpolation of the labels. Evaluations are of the criterion with its gradient, over all starts, on average.",
    )


def _ends(result: StudyResult, benchmark: Benchmark, column: str) -> str:
    cells = finished_of(result, benchmark.name, column)
    return f"{sum(bool(f.values['flat_limit']) for f in cells)} of {len(cells)}" if cells else "–"


def _evaluations(result: StudyResult, benchmark: Benchmark, column: str) -> str:
    cells = finished_of(result, benchmark.name, column)
    return f"{np.mean([f.values['n_evaluations'] for f in cells]):.0f}" if cells else "–"


def page(result: StudyResult) -> Page:
    """Table 2 of paper 1, ours beside theirs."""
    shown = table(result)
    differences = differences_picture(shown, caption=DIFFERENCES)
    listed = differences_table(shown)
    searched = descents_table(result)
    descent: tuple[Picture, ...] = ()
    if any(stages_of(result, benchmark.name, "error").size for benchmark in TABLE_1):
        descent = (
            Picture(
                "descent",
                figure_descent(result),
                "Test error and leave-one-out error after more and more iterations of one descent of PRESS with the "
                "elliptical kernel, a panel a set.",
                "PRESS alone, elliptical kernel, from the best spherical kernel (0) to the end of the descent, means "
                "over partitions. Where the test error (dots) rises as the leave-one-out error (squares) falls, the "
                "criterion is over-fitted step by step. Dashed: the paper's test error, wherever its search stopped.",
            ),
        )
    overfitting: list[Picture] = []
    if comparisons(result, "RBF LSSVM", "ARD LSSVM"):
        overfitting = [
            Picture(
                "overfitting",
                figure_overfitting(result),
                "Differences of test errors from the spherical kernel's, by set, for the elliptical kernel with PRESS "
                "alone and regularised, ours with two standard errors and the paper's.",
                "To the right of the line the elliptical kernel has more errors than the spherical one. Where PRESS "
                "alone (dots) is far to the right and the regularised criterion (squares) is not, regularisation has "
                "repaired the over-fitting. Bars are two standard errors of paired differences; open marks are the "
                "paper's.",
            ),
            Picture(
                "criterion",
                figure_criterion(result),
                "Change of the leave-one-out mean square against change of test error from the spherical to the "
                "elliptical kernel, one dot a set, with PRESS alone and regularised.",
                "From the spherical to the elliptical kernel. A dot to the left and above (orange) has a lower "
                "criterion and more errors: the criterion is over-fitted. With regularisation the criterion may "
                "rise. Sets without a label change little in both.",
            ),
        ]
    return Page(
        answer=answer_of([shown], "Table 2 of paper 1", points(result)),
        introduction=INTRODUCTION,
        findings=findings(result, shown),
        key_picture=overfitting[0] if overfitting else None,
        key_table=comparison_table(shown),
        sections=(
            Section("The over-fitting", pictures=tuple(overfitting[1:]), tables=(z_table(result),)),
            *(() if searched is None else (Section("Searching harder", searching(result), (searched,), descent),)),
            Section("Where searches end", tables=(ends_table(result),)),
            Section(
                "Ours against theirs",
                pictures=() if differences is None else (differences,),
                tables=() if listed is None else (listed,),
            ),
        ),
        methods=HOW,
        result=result,
        thumbnail=thumbnail_of([shown], "entries: reproduced (blue), better, worse"),
        group=TABLES_HEADING,
        related=("reproduction",),
    )
