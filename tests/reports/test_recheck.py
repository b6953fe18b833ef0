"""`python -m reports recheck`: stored cells of a table computed again."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from reports.command import gallery, recheck
from reports.command.recheck import by_column, comparable, differences, merged
from reports.frame.write import read_result
from validation.harness import Cell, FinishedCell


def test_differences_are_named_by_their_place():
    stored = {"accuracy": 88.2653, "design": {"sigma": [1.5, None], "status": "interior"}, "flat": True, "n": 3}
    design = {"sigma": np.array([1.5, np.nan]), "status": "interior"}
    same = {"accuracy": 88.265312, "design": design, "flat": True, "n": 3}
    assert list(differences(same, stored)) == []
    other = {"accuracy": 88.27, "design": {"sigma": [1.5], "status": "no signal"}, "flat": False, "n": 4}
    assert list(differences(other, stored)) == ["accuracy", "design.sigma", "design.status", "flat", "n"]
    assert list(differences({}, stored)) == ["accuracy", "design.sigma", "design.status", "flat", "n"]


def test_cells_of_other_settings_or_seeds_are_not_compared():
    cells = [Cell("a", {"n": 1}, 5), Cell("b", {"n": 1}, 5), Cell("c", {"n": 1}, 5)]
    stored = (
        FinishedCell(Cell("a", {"n": 1}, 5), {}, (), (), 1.0),
        FinishedCell(Cell("b", {"n": 2}, 5), {}, (), (), 1.0),
        FinishedCell(Cell("c", {"n": 1}, 6), {}, (), (), 1.0),
        FinishedCell(Cell("d", {"n": 1}, 5), {}, (), (), 1.0),
    )
    assert list(comparable(cells, stored)) == ["a"]


def test_cells_of_a_folder_are_counted_by_column_and_taken_into_the_record():
    def finished(key, error, gamma):
        values = {"error": error, "gamma": gamma, "stages": [{"error": gamma}]}
        return FinishedCell(Cell(key, {}, 5), values, (), (), 2.0)

    record = read_result(gallery.FOLDER / "paper1-table2.json")
    first, second = (f"banana.lssvm-rbf.{k:02d}" for k in (0, 1))
    before = (finished(second, 10.0, 3.0), finished("banana.lssvm-ard.00", 10.0, 3.0))
    stored = replace(record, cells=before)
    provenance = {**record.provenance, "date": "2999-01-01", "versions": {"numpy": "9"}}
    own = (finished(first, 12.0, 3.0), finished(second, 10.0, 4.0))
    computed = replace(record, cells=own, provenance=provenance)
    assert by_column(computed, stored) == [
        "banana.lssvm-rbf: 2 cells; equal in all 0, scores 1, printed 1, 1 new",
    ]
    both = merged(stored, computed)
    assert both.cells == (own[1], before[1], own[0])
    assert both.provenance["cells"] == 3
    assert both.provenance["seconds"] == 6.0
    assert both.provenance["date"] == "2999-01-01"
    assert both.provenance["first_date"] == record.provenance["first_date"]
    assert both.provenance["versions"] == {**record.provenance["versions"], "numpy": "9"}


def test_a_folder_without_cells_is_told(tmp_path, capsys):
    assert recheck.main(["paper0-table1", "--computed", str(tmp_path)]) == 1
    assert "There are no cells of paper0-table1" in capsys.readouterr().err


def test_stored_cells_are_computed_again_and_a_wrong_score_is_told(tmp_path, capsys, monkeypatch):
    command = [
        "paper0-table1",
        "--cells",
        "2",
        "--algorithms",
        "lssvm-bay",
        "--seconds",
        "0.3",
        "--output",
        str(tmp_path),
    ]
    assert recheck.main(command) == 0
    assert "2 of 720 stored cells computed again" in capsys.readouterr().out
    assert recheck.main(command) == 0  # two others
    kept = json.loads((tmp_path / "recheck-paper0-table1.json").read_text())
    assert len(kept) == 4
    study = recheck.get_study("paper0-table1")

    def off_by_one(cell, data):
        found = study.compute(cell, data)
        found.values["columns"]["LS-SVM (Bay)"]["accuracy"] += 1.0
        return found

    monkeypatch.setattr(recheck, "get_study", lambda name: replace(study, compute=off_by_one))
    assert recheck.main(command) == 2
    assert "columns.LS-SVM (Bay).accuracy" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        recheck.main(["paper9"])
