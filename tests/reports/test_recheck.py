"""`python -m reports recheck`: stored cells of a table computed again."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from reports.command import recheck
from reports.command.recheck import comparable, differences
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
