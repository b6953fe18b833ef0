"""Comparisons of several methods over several data sets, by ranks (Demšar, 2006, JMLR 7, 1-30).

average rank          of a method over the sets, 1 the best; methods that tie share a mean rank
Friedman's test       whether the average ranks of k methods over n sets differ by more than chance
critical difference   of Nemenyi's test, q √(k (k + 1) / (6 n)): average ranks that are closer are not told apart
Wilcoxon's test       of one method against another, on the sets' paired differences; several such tests at once are
                      corrected by Holm's step-down procedure
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from bayes_lssvm.base.typing import Array

LEVEL = 0.05
_FEWEST = 3  # methods and sets for Friedman's test


def average_ranks(means: Array, *, higher_is_better: bool = True) -> Array:
    """Mean over rows of the columns' ranks, 1 the best, of means of shape (R, C); tied columns share a mean rank."""
    return np.asarray(stats.rankdata(-means if higher_is_better else means, axis=1).mean(axis=0))


def friedman(means: Array) -> float:
    """Probability of ranks as different as those of means of shape (R, C), were all columns alike; nan for too few."""
    rows, columns = means.shape
    if min(rows, columns) < _FEWEST:
        return float("nan")
    if not np.ptp(means, axis=1).any():
        return 1.0  # every row is one tie, which scipy divides by
    return float(stats.friedmanchisquare(*means.T).pvalue)


def critical_difference(columns: int, rows: int, level: float = LEVEL) -> float:
    """The difference of average ranks that Nemenyi's test needs, for two columns or more."""
    q = float(stats.studentized_range.ppf(1.0 - level, columns, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(columns * (columns + 1) / (6.0 * rows)))


def not_told_apart(ranks: Sequence[float], difference: float) -> list[tuple[int, ...]]:
    """The largest groups of two or more columns whose average ranks lie within the critical difference."""
    order = sorted(range(len(ranks)), key=lambda j: ranks[j])
    groups: list[tuple[int, ...]] = []
    for first, j in enumerate(order):
        group = tuple(i for i in order[first:] if ranks[i] - ranks[j] <= difference)
        if len(group) > 1 and not (groups and set(group) <= set(groups[-1])):
            groups.append(group)
    return groups


def sign_test(a: Array, b: Array) -> float:
    """Two-sided probability of as uneven a division into wins and losses; rows that are equal do not count."""
    wins, losses = int((a > b).sum()), int((a < b).sum())
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def wilcoxon(a: Array, b: Array) -> float:
    """Two-sided Wilcoxon signed rank test of paired averages; rows that are equal do not count."""
    difference = np.round(a - b, 10)  # averages of few digits: equal differences are tied ranks
    difference = difference[difference != 0.0]
    return float(stats.wilcoxon(difference).pvalue) if len(difference) else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Probabilities of several tests, corrected so that all of them together err at the level of one."""
    m, largest = len(p_values), 0.0
    corrected = [0.0] * m
    for place, j in enumerate(sorted(range(m), key=lambda j: p_values[j])):
        largest = max(largest, min(1.0, (m - place) * p_values[j]))
        corrected[j] = largest
    return corrected
