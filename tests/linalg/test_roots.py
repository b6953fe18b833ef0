"""Roots in many brackets at once, against SciPy's `brentq` one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from bayes_lssvm.linalg.roots import roots_in_brackets

SHIFTS = np.array([0.3, -0.2, 0.0, 0.9, 0.123456, -0.7])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, c: np.tanh(3.0 * (x - c)) + 0.1 * (x - c),
        lambda x, c: (x - c) + 5.0 * (x - c) ** 3,
        lambda x, c: np.exp(x) - np.exp(c),
    ],
    ids=["sigmoid", "cubic", "exponential"],
)
def test_each_root_is_brentqs_to_the_bit(function):
    low, high = SHIFTS - np.linspace(0.4, 1.0, 6), SHIFTS + np.linspace(1.2, 0.3, 6)
    asked = []

    def together(x, which):
        asked.append(len(x))
        return function(x, SHIFTS[which])

    found = roots_in_brackets(together, low, high, np.zeros(6))
    alone = [
        brentq(lambda x, c=c: function(x, c), a, b, xtol=1e-10, rtol=1e-14, full_output=True)
        for a, b, c in zip(low, high, SHIFTS, strict=True)
    ]
    np.testing.assert_array_equal(found, [root for root, _ in alone])
    assert sum(asked) == sum(report.function_calls for _, report in alone)
    assert len(asked) == max(report.function_calls for _, report in alone)


def test_an_end_that_is_a_root_and_a_bracket_without_one():
    low, high = np.array([0.0, -1.0, 1.0]), np.array([1.0, 0.0, 2.0])
    np.testing.assert_array_equal(roots_in_brackets(lambda x, _: x, low, high, np.full(3, 7.0)), [0.0, 0.0, 7.0])
