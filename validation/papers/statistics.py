"""The statistics of paper 0's Table 1, for any table of scores on shared randomisations.

Within a row, a two-tailed paired t-test of each column against the best one: "best", "not different" at the 5 % level,
"different" (5 %) or "clearly different" (1 %). The paper calls it a heuristic, since randomisations overlap. Over the
rows: averages, average ranks, and of each column against the one with the best average a Wilcoxon signed rank test and
a sign test, both two-sided, on the rows' averages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from bayes_lssvm.base.typing import Array
from validation.harness.ranks import average_ranks, sign_test, wilcoxon

Mark = Literal["best", "not different", "different", "clearly different"]
Scores = Mapping[str, Mapping[str, Mapping[int, float]]]
"""Row to column to randomisation to score."""


@dataclass(frozen=True)
class Statistics:
    """What the paper prints below and within its table.

    Attributes
    ----------
    rows, columns : tuple of str
        Those with figures in every place.
    marks : dict
        (row, column) to its mark.
    p_values : dict
        (row, column) to the t-test's probability against the row's best; 1 for the best itself.
    averages, ranks, sign_test, wilcoxon : dict
        By column.
    best : str
        The column with the best average.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    marks: dict[tuple[str, str], Mark]
    p_values: dict[tuple[str, str], float]
    averages: dict[str, float]
    ranks: dict[str, float]
    sign_test: dict[str, float]
    wilcoxon: dict[str, float]
    best: str

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return {
            "rows": list(self.rows),
            "columns": list(self.columns),
            "best_column": self.best,
            "averages": self.averages,
            "average_ranks": self.ranks,
            "sign_test": self.sign_test,
            "wilcoxon": self.wilcoxon,
            "t_test": [
                {"row": row, "column": column, "p": self.p_values[row, column], "mark": mark}
                for (row, column), mark in self.marks.items()
            ],
        }


def paired_t(a: Array, b: Array) -> float:
    """Two-tailed probability of the paired t-test; 1 where all differences are zero, 0 where they are one constant."""
    difference = np.asarray(a) - np.asarray(b)
    if len(difference) < 2 or not difference.any():
        return 1.0
    if np.ptp(difference) == 0.0:
        return 0.0
    return float(stats.ttest_rel(a, b).pvalue)


def mark_of(p: float) -> Mark:
    """The mark of a column that is not the best of its row."""
    return "not different" if p > 0.05 else "different" if p > 0.01 else "clearly different"


def statistics(
    scores: Scores, rows: Sequence[str], columns: Sequence[str], *, higher_is_better: bool = True
) -> Statistics | None:
    """All of it, over the rows that have figures in every column; None where no row has.

    A t-test pairs the randomisations that both columns have.
    """
    whole = tuple(r for r in rows if all(scores.get(r, {}).get(c) for c in columns))
    if not whole or not columns:
        return None
    means = np.array([[np.mean(list(scores[r][c].values())) for c in columns] for r in whole])
    signed = means if higher_is_better else -means
    marks: dict[tuple[str, str], Mark] = {}
    p_values: dict[tuple[str, str], float] = {}
    for i, row in enumerate(whole):
        top = columns[int(np.argmax(signed[i]))]
        for column in columns:
            shared = sorted(set(scores[row][column]) & set(scores[row][top]))
            a, b = (np.array([scores[row][c][r] for r in shared]) for c in (column, top))
            p_values[row, column] = 1.0 if column == top else paired_t(a, b)
            marks[row, column] = "best" if column == top else mark_of(p_values[row, column])
    averages = means.mean(axis=0)
    best = int(np.argmax(averages if higher_is_better else -averages))
    ranks = average_ranks(means, higher_is_better=higher_is_better)
    pairs = [(column, means[:, j], means[:, best]) for j, column in enumerate(columns)]
    return Statistics(
        rows=whole,
        columns=tuple(columns),
        marks=marks,
        p_values=p_values,
        averages=dict(zip(columns, averages.tolist(), strict=True)),
        ranks=dict(zip(columns, ranks.tolist(), strict=True)),
        sign_test={column: sign_test(a, b) for column, a, b in pairs},
        wilcoxon={column: wilcoxon(a, b) for column, a, b in pairs},
        best=columns[best],
    )
