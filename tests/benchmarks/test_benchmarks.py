"""The benchmarks run at toy size; no test looks at a clock."""

from __future__ import annotations

import json

import pytest

from benchmarks import sampling
from benchmarks.__main__ import GROUPS, main
from benchmarks.timing import Measured, table


def test_benchmarks_run_and_reach_the_same_optimum(capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.__main__.GROUPS", tuple(group for group in GROUPS if group is not sampling))
    assert main(["--quick", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) >= 9
    assert all(row["figure"] >= 0 for row in rows)
    fit = next(row for row in rows if "at the optimum" in row["name"])
    gap = float(fit["name"].rsplit(" ", 1)[1].rstrip(")"))
    assert gap < 1e-2  # a ratio of times means nothing if the two optimise different things


@pytest.mark.slow
def test_benchmarks_of_the_samplers_run():
    rows = list(sampling.rows(quick=True))
    assert rows
    assert all(row.figure >= 0 for row in rows)


def test_table_says_which_bars_are_met():
    rows = [Measured("a", "1", "2", 0.5, 0.7, True), Measured("b", "1", "2", 3.1, 5.0, False)]
    lines = table(rows).splitlines()
    assert lines[2].endswith("| yes |")
    assert lines[3].endswith("| NO  |")
    assert "≥ 5 ×" in lines[3]
