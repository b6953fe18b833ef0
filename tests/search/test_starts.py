"""Starts of a search: which are worth a climb, and subsets on which they are sifted."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.base.errors import NotPositiveSemidefiniteError
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.search.starts import distinct, promising, spread_subset, starting_points

LINE = np.log(np.array([[0.1], [0.3], [1.0], [3.0], [10.0]]))


def ranks(*values):
    """A rank for each of the widths on the line; None where the kernel has no value."""
    table = dict(zip(np.round(LINE[:, 0], 6), values, strict=True))

    def rank(kernel):
        value = table[round(float(kernel.log_params[0]), 6)]
        if value is None:
            raise NotPositiveSemidefiniteError("indefinite")
        return value

    return rank


def test_peaks_along_a_line_are_promising_and_the_best_comes_first():
    chosen = promising(ranks(-5.0, -9.0, -3.0, -4.0, -6.0), RBF(1.0), LINE)
    np.testing.assert_array_equal(chosen, LINE[[2, 0]])


def test_a_start_thirty_nats_a_target_behind_is_hopeless():
    rank = ranks(-45.0, -50.0, -3.0, -4.0, -6.0)
    assert len(promising(rank, RBF(1.0), LINE)) == 1
    assert len(promising(rank, RBF(1.0), LINE, n_targets=2)) == 2


def test_a_start_without_a_value_is_passed_over_and_if_none_has_one_the_reason_is_told():
    np.testing.assert_array_equal(promising(ranks(None, -9.0, -3.0, None, None), RBF(1.0), LINE), LINE[[2]])
    with pytest.raises(NotPositiveSemidefiniteError, match="indefinite"):
        promising(ranks(*[None] * 5), RBF(1.0), LINE)


def test_starting_points_lie_in_the_box_and_differ():
    X = np.random.default_rng(0).standard_normal((30, 2))
    bounds = np.log(np.array([[0.9, 1.1], [0.9, 1.1]]))
    starts = starting_points(ARD((1.0, 1.0)), X, bounds)
    assert np.all((starts >= bounds[:, 0]) & (starts <= bounds[:, 1]))
    assert len(np.unique(np.round(starts, 2), axis=0)) == len(starts)


def test_the_first_of_each_cluster_stays():
    ends = [np.array([0.0, 0.0]), np.array([0.04, -0.04]), np.array([0.0, 0.2])]
    assert [end.tolist() for end in distinct(ends, lambda end: end)] == [[0.0, 0.0], [0.0, 0.2]]


def test_a_subset_keeps_the_shares_of_the_classes():
    y = np.repeat([-1.0, 1.0], [180, 20])
    chosen = spread_subset(y, 40, np.random.default_rng(0))
    assert len(np.unique(chosen)) == 40
    assert np.sum(y[chosen] > 0) == 4
