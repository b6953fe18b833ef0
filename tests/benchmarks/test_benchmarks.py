"""The benchmarks run at toy size; no test looks at a clock."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from benchmarks import costs, sampling, series
from benchmarks.__main__ import GROUPS, main
from benchmarks.timing import Measured, table
from reports.draw.costs import figure_costs, latest


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


def test_costs_are_appended_once_for_each_commit(tmp_path, monkeypatch, capsys):
    """What is stored is not measured again at the same commit, and is at another one."""
    path = tmp_path / "costs.jsonl"
    command = ["--sizes", "40", "30", "--who", "BayesianLSSVC(occam=False)", "scikit-learn GPR", "--series", str(path)]
    assert costs.main(command) == 0
    records = series.read(path)
    assert [(r["who"], r["n"]) for r in records] == [
        ("BayesianLSSVC(occam=False)", 30),
        ("scikit-learn GPR", 30),
        ("BayesianLSSVC(occam=False)", 40),
        ("scikit-learn GPR", 40),
    ]
    assert all(r["threads"] == 1 and r["cpu_seconds"] > 0.0 and r["commit"] and r["version"] for r in records)
    capsys.readouterr()
    assert costs.main(command) == 0
    assert capsys.readouterr().out == ""
    monkeypatch.setattr("benchmarks.costs.commit", lambda: "another")
    assert len(costs.missing(path, [30], ["scikit-learn GPR"])) == 1


def test_curves_have_the_newest_line_of_each_size_and_their_exponents(tmp_path):
    path = tmp_path / "costs.jsonl"
    lines = [("a", 200, 8.0), ("a", 100, 9.0), ("a", 100, 1.0), ("b", 100, 2.0)]
    series.append(path, [{"who": who, "n": n, "cpu_seconds": seconds} for who, n, seconds in lines])
    curves = latest(path)
    assert [r["cpu_seconds"] for r in curves["a"]] == [1.0, 8.0]
    labels = [line.get_label() for line in figure_costs(curves).axes[0].lines]
    assert labels == ["a: N^3.0 from 100 to 200", "b"]


def test_ratios_are_recorded_with_their_circumstances(tmp_path, monkeypatch, capsys):
    group = SimpleNamespace(rows=lambda quick: [Measured("a", "1", "2", 0.5, 0.7, True)])
    monkeypatch.setattr("benchmarks.__main__.GROUPS", (group,))
    monkeypatch.setattr("benchmarks.series.RATIOS", tmp_path / "ratios.jsonl")
    for _ in range(2):
        assert main(["--quick", "--record"]) == 0
    first, second = series.read(tmp_path / "ratios.jsonl")
    assert first == second
    assert (first["name"], first["figure"], first["met"]) == ("a", 0.5, True)
    assert {"date", "commit", "version", "python", "machine", "threads"} <= set(first)
