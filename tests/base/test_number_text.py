"""Numbers as files write them: both conventions, groups, unit signs, and what nothing decides."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_lssvm.base.number_text import COMMA, POINT, is_missing, number_column, table_decimal


@pytest.mark.parametrize(
    ("cells", "decimal", "numbers"),
    [
        (["1.5", "-2", "1e-3"], POINT, [1.5, -2.0, 1e-3]),
        (["1,5", "-2", "1,0e3"], COMMA, [1.5, -2.0, 1000.0]),
        (["1.234,5", "12"], COMMA, [1234.5, 12.0]),
        (["1,234.5", "12"], POINT, [1234.5, 12.0]),
        (["1,234,567", "12"], POINT, [1234567.0, 12.0]),
        (["1'234.5", "7"], POINT, [1234.5, 7.0]),
        (["1 234,5", "7\u202f000,25"], COMMA, [1234.5, 7000.25]),
        (["12%", "7.5 %"], POINT, [12.0, 7.5]),
        (["12,5 €", "3 €"], COMMA, [12.5, 3.0]),
        (["$1,234.50", "$3"], POINT, [1234.5, 3.0]),
    ],
)
def test_the_cells_show_their_convention(cells, decimal, numbers):
    column = number_column([*cells, "NA", "-"])
    found = column.read(None)
    assert found is not None
    assert list(found[1].values()) == numbers
    if any(c.isdigit() is False for cell in cells for c in cell if c in ".,"):
        assert column.decimal == decimal or column.readings[POINT] == column.readings[COMMA]


@pytest.mark.parametrize(
    "cells", [["1,5", "2.5"], ["12%", "7"], ["1_000"], ["12 kg"], ["1,23,4"], ["0x1f"], ["1.2.3"], ["--1"], []]
)
def test_what_is_no_column_of_numbers(cells):
    assert not number_column(cells).numeric
    assert number_column(cells).read(POINT) is None


def test_what_can_be_read_in_two_ways_is_decided_by_others_or_not_at_all():
    commas, points = number_column(["1,234", "2,500"]), number_column(["1.234", "2.500"])
    assert commas.ambiguous
    assert points.ambiguous
    assert commas.read(None) is None
    assert commas.read(COMMA) == (COMMA, {"1,234": 1.234, "2,500": 2.5})
    assert commas.read(POINT) == (POINT, {"1,234": 1234.0, "2,500": 2500.0})
    assert points.read(None) == (POINT, {"1.234": 1.234, "2.500": 2.5})  # as Python reads it
    assert points.read(COMMA) == (COMMA, {"1.234": 1234.0, "2.500": 2500.0})
    assert table_decimal([commas, number_column(["0,5"])]) == COMMA
    assert table_decimal([commas, number_column(["0,5"]), number_column(["0.5"])]) is None
    assert table_decimal([commas, number_column(["7"])]) is None


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=5))
def test_numbers_survive_either_convention(values):
    european = [f"{value:,.3f}".translate(str.maketrans(",.", ".,")) for value in values]
    english = [f"{value:,.3f}" for value in values]
    rounded = [float(f"{value:.3f}") for value in values]
    for cells, decimal in ((european, COMMA), (english, POINT)):
        found = number_column(cells).read(decimal)
        assert found is not None
        assert [found[1][cell] for cell in cells] == rounded


def test_a_dash_is_missing_among_numbers_and_a_word_elsewhere():
    assert is_missing("-", among_numbers=True)
    assert not is_missing("-")
    assert not is_missing("none")
    assert is_missing("N/A")
