"""One order for the same data: the form that searches see does not depend on how the data came."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bayes_lssvm.base.canonical import canonical_classes, canonical_order, snapped
from bayes_lssvm.base.standardisation import Standardiser


def form(X, y):
    order = canonical_order(X, y)
    return np.column_stack([order.targets(y), order.inputs(X)])


def data(kind: str, rng):
    n, d = int(rng.integers(4, 30)), int(rng.integers(1, 6))
    if kind == "factorial":  # every column has the same values, and so has every row of a weight
        X = np.array(list(product([0.0, 1.0], repeat=d)))
        return X, np.where(X.sum(axis=1) % 2 > 0, 1.0, -1.0)
    X = rng.normal(size=(n, d)) if kind == "real" else rng.integers(0, 3, size=(n, d)).astype(float)
    return X, rng.choice([-1.0, 1.0], size=n) if kind == "few values" else rng.normal(size=n)


@pytest.mark.parametrize("kind", ["real", "few values", "whole numbers", "factorial"])
def test_rows_columns_and_the_sign_of_labels_have_no_say(kind):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = data(kind, rng)
        rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
        np.testing.assert_array_equal(form(X[rows][:, columns], -y[rows]), form(X, y))


def test_units_have_no_say_once_inputs_are_standardised():
    same = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 3)) + 2.0
        other = X * 10.0 ** rng.uniform(-6, 6, size=3)
        first, second = (form(Standardiser.fit(Z)(Z), X[:, 0]) for Z in (X, other))
        np.testing.assert_allclose(first, second, atol=1e-10)
        same += np.array_equal(first, second)
    assert same >= 59  # but for a value at the edge of two roundings


def test_rounding_is_far_below_the_spread_and_keeps_labels_and_constants():
    X = np.column_stack([np.random.default_rng(0).normal(size=50) * 1e-9, np.full(50, np.pi), np.tile([-1.0, 1.0], 25)])
    found = snapped(X)
    np.testing.assert_allclose(found[:, 0], X[:, 0], atol=1e-20)
    np.testing.assert_array_equal(found[:, 1:], X[:, 1:])


def test_columns_that_can_be_swapped_are_named_and_copies_are_not():
    half = np.array([[0.0, 1.0], [2.0, 5.0], [1.0, 3.0]])
    X, y = np.vstack([half, half[:, ::-1]]), np.tile([1.0, -1.0, 1.0], 2)
    assert canonical_order(X, y).alike == ((0, 1),)
    assert canonical_order(X, y + np.arange(6)).alike == ()  # the targets tell them apart
    assert canonical_order(X[:, [0, 0]], y).alike == ()


def test_classes_go_by_frequency_and_then_by_their_rows():
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(30, 2)), np.repeat([0, 1, 2, 3], [6, 9, 9, 6])
    order = canonical_classes(X, labels).numbers
    assert sorted(order[:2].tolist()) == [1, 2]
    renamed = rng.permutation(4)
    np.testing.assert_array_equal(canonical_classes(X, renamed[labels]).numbers, renamed[order])


def test_classes_with_the_same_rows_are_alike_and_with_other_counts_of_them_are_not():
    X = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 2.0, 2.0])[:, None]
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    assert canonical_classes(X, labels).alike == ()
    renamed = np.array([1, 0, 2])
    order = canonical_classes(X, labels).numbers
    np.testing.assert_array_equal(canonical_classes(X, renamed[labels]).numbers, renamed[order])
    X[2] = 0.0
    assert canonical_classes(X, labels).alike == ((0, 1),)
    assert canonical_classes(X, labels, np.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])).alike == ()
