"""Ranks over data sets: Friedman, Nemenyi, Wilcoxon with Holm's correction, against tables and hand-made numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from validation.harness.ranks import average_ranks, critical_difference, friedman, holm, not_told_apart


def test_ranks_are_averages_and_ties_share_them():
    losses = np.array([[0.1, 0.2, 0.3], [0.5, 0.4, 0.4], [1.0, 3.0, 2.0]])
    np.testing.assert_allclose(average_ranks(losses, higher_is_better=False), [5 / 3, 6.5 / 3, 6.5 / 3])
    np.testing.assert_allclose(average_ranks(losses), 4.0 - average_ranks(losses, higher_is_better=False))


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (7, 2.949), (10, 3.164)])
def test_critical_differences_are_those_of_demsars_table(k, q):
    assert critical_difference(k, 14) == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), rel=3e-4)


def test_friedmans_statistic_by_its_formula():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 4)) + np.array([0.0, 0.3, 0.6, 2.0])
    ranks = np.argsort(np.argsort(values, axis=1), axis=1).mean(axis=0) + 1.0
    n, k = values.shape
    chi2 = 12 * n / (k * (k + 1)) * (np.sum(ranks**2) - k * (k + 1) ** 2 / 4)
    assert friedman(values) == pytest.approx(stats.chi2.sf(chi2, k - 1))
    assert np.isnan(friedman(values[:, :2]))
    assert np.isnan(friedman(values[:2]))
    assert friedman(np.ones((5, 3))) == 1.0


def test_groups_are_the_largest_ones_within_the_critical_difference():
    ranks = [4.3, 1.0, 2.9, 1.8]
    assert not_told_apart(ranks, 1.2) == [(1, 3), (3, 2)]
    assert not_told_apart(ranks, 2.0) == [(1, 3, 2), (2, 0)]
    assert not_told_apart(ranks, 0.5) == []
    assert not_told_apart(ranks, 3.4) == [(1, 3, 2, 0)]


def test_holms_correction_steps_down_and_never_falls():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.5, 0.9]), [1.0, 1.0])
    assert holm([]) == []
