"""Links between the pages of a folder, and pages that are drawn again from their records."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from bayes_lssvm.base.arviz import datatree
from reports.__main__ import main
from reports.frame import index
from reports.frame.answer import Answer
from reports.frame.index import groups, related, write_index
from reports.frame.page import Page, Picture, Row, Table
from reports.frame.write import KEPT, read_result, write_page
from validation.harness import Cell, FinishedCell, StudyResult
from validation.registry import STUDIES

RIPLEY = {"name": "ripley", "n": 250, "d": 2, "sha256": "ab" * 32, "notes": []}


def page_for(study, data=None, **changes):
    cell = FinishedCell(Cell("only", {}, 7), {"x": 1.0}, (), (), 0.5)
    result = StudyResult(study, f"Title of {study}", "toy", data, (cell,), {"versions": {"bayes-lssvm": "1.2"}}, Path())
    table = Table("Numbers", ("", "value"), (Row("a", ("1",)),))
    return Page(**{"answer": Answer("holds", "It does."), "key_table": table, "result": result, **changes})


@pytest.fixture
def folder(tmp_path):
    pages = (
        page_for("evidence", RIPLEY, related=("map-of-trust",)),
        page_for("error-bars", RIPLEY),
        page_for("map-of-trust"),
        page_for("field", group="In the field: many real data sets"),
        page_for("paper0-table1", group="The papers' tables"),
    )
    for page in pages:
        write_page(page, tmp_path, command="make")
    write_index(tmp_path, title="T", introduction="I")
    return tmp_path


def hrefs(path, rel):
    return re.findall(rf'href="([^"]+)" rel="{rel}"', path.read_text(encoding="utf-8"))


def test_pages_stand_in_their_sections_and_know_their_neighbours(folder):
    found = groups(folder)
    assert [group.heading for group in found] == [
        "Ripley's data (250 points, 2 inputs)",
        "Simulated data and reference problems",
        "The papers' tables",
        "In the field: many real data sets",
    ]
    files = [entry.file for group in found for entry in group.entries]
    assert files == ["error-bars-ripley.html", "evidence-ripley.html", "map-of-trust.html", "paper0-table1.html",
                     "field.html"]  # fmt: skip
    for place, file in enumerate(files):
        assert hrefs(folder / file, "prev") == files[max(place - 1, 0) : place]
        assert hrefs(folder / file, "next") == files[place + 1 : place + 2]


def test_related_pages_are_those_that_are_named_then_those_of_the_same_data(folder, monkeypatch):
    entries = [entry for group in groups(folder) for entry in group.entries]
    own = next(entry for entry in entries if entry.study == "evidence")
    assert [entry.study for entry in related(own, entries)] == ["map-of-trust", "error-bars"]
    monkeypatch.setattr(index, "MOST_RELATED", 0)  # what a page names is there however much it is
    assert [entry.study for entry in related(own, entries)] == ["map-of-trust"]
    monkeypatch.undo()
    text = (folder / "evidence-ripley.html").read_text(encoding="utf-8")
    assert text.count("Related pages") == 2  # the label and the heading
    before = {path: path.read_bytes() for path in folder.glob("*.html")}
    write_index(folder, title="T", introduction="I")  # links are replaced, not added
    assert before == {path: path.read_bytes() for path in folder.glob("*.html")}


def test_the_title_has_the_name_of_the_data_once():
    assert page_for("evidence", RIPLEY).title == "Title of evidence: Ripley's data"
    named = replace(page_for("evidence", RIPLEY).result, title="All about Ripley's data")
    assert replace(page_for("evidence", RIPLEY), result=named, title="").title == "All about Ripley's data"


def test_a_page_says_how_to_cite_it(folder):
    text = (folder / "evidence-ripley.html").read_text(encoding="utf-8")
    assert "@misc{bayes-lssvm-evidence," in text
    assert "version 1.2" in text
    assert "SHA-256 abababababab…" in text


# --- drawn again -----------------------------------------------------------------------------------------------------


def drawn_page(result):
    figure = Figure(figsize=(3, 2))
    figure.subplots().plot(np.ravel(result.cells[0].values.get(KEPT, {"x": [[0.0, 1.0]]})["x"]))
    return replace(
        page_for("drawn"), result=result, title="", key_picture=Picture("line", figure, "A line.", "It is drawn.")
    )


def test_pages_are_drawn_again_from_their_records(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(STUDIES, "drawn", "nowhere")
    monkeypatch.setattr("reports.command.redraw.page_of", drawn_page)
    study = SimpleNamespace(title="Title of drawn", own_data="")
    monkeypatch.setattr("reports.command.redraw.get_study", lambda name: study)
    write_page(drawn_page(page_for("drawn", RIPLEY).result), tmp_path, command="make <it>")
    write_index(tmp_path, title="T", introduction="I")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    (tmp_path / "index.html").unlink()
    (tmp_path / "other.json").write_text("{}")
    assert main(["--redraw", "--output", str(tmp_path)]) == 0
    assert "It does." in capsys.readouterr().out
    for path, content in before.items():
        assert path.name == "index.html" or path.read_bytes() == content, path.name
    assert (tmp_path / "index.html").is_file()
    study.title = "The study has another title now"
    assert main(["--redraw", "--output", str(tmp_path)]) == 0
    assert "The study has another title now: Ripley" in (tmp_path / "drawn-ripley.html").read_text(encoding="utf-8")


def test_there_must_be_records_to_draw(tmp_path, capsys):
    assert main(["--redraw", "--output", str(tmp_path)]) == 1
    assert "There are no records of pages in" in capsys.readouterr().err


def test_a_record_keeps_some_draws(tmp_path):
    rng = np.random.default_rng(0)
    posterior = {"x": rng.normal(size=(4, 350)), "w": rng.normal(size=(4, 350, 3))}
    path = tmp_path / "draws.nc"
    datatree({"posterior": posterior}).to_netcdf(path)
    own = page_for("drawn")
    cell = replace(own.result.cells[0], draws=path)
    write_page(replace(own, result=replace(own.result, cells=(cell,))), tmp_path, command="make")
    (found,) = read_result(tmp_path / "drawn.json").cells
    assert found.draws is None
    assert list(found.values[KEPT]) == ["x"]  # of single numbers alone
    np.testing.assert_array_equal(found.values[KEPT]["x"], posterior["x"][:, ::4])
