"""The field study: data sets and their splits, methods, scores by other code, and a page that shows losses."""

from __future__ import annotations

import gzip
import os
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

from bayes_lssvm import BayesianLSSVC, datasets
from reports.draw.ranks import RankLine, draw_ranks, figure_ranks
from reports.frame.page import TEXT_WIDTH, as_text
from reports.frame.write import read_result, write_page
from reports.pages.field import page
from reports.pages.field.document import RECORD, main, tables
from reports.pages.field.figures import rank_line, too_sure
from reports.pages.field.sentences import left_out
from reports.pages.field.tables import duel_table, group_table, set_table
from validation.harness import Cell, FinishedCell, StudyResult, run
from validation.harness.keel import read_keel
from validation.registry import get_study
from validation.studies.field import SMALLEST, STUDY, scores_of
from validation.studies.field.methods import METHODS, PAPERS, Prediction, papers_parameters, predict
from validation.studies.field.sets import (
    BALANCED,
    IMBALANCED,
    MOST_ROWS,
    SAME_DATA,
    SHIPPED,
    Problem,
    folds_of,
    load,
    problems,
)
from validation.studies.field.summary import against, held_against_yardsticks, summarise

RIPLEY = Problem("ripley", "shipped", "library")


@pytest.fixture
def nothing_external(monkeypatch):
    monkeypatch.delenv("BAYES_LSSVM_DATA", raising=False)


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BAYES_LSSVM_DATA", raising=False)
        return run(STUDY, None, size="toy", folder=tmp_path_factory.mktemp("cells"), progress=False)


# --- data sets


def write_keel(folder, name, lines):
    path = folder / "keel" / f"{name}.csv.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def test_text_columns_become_indicators_and_classes_numbers(tmp_path):
    path = write_keel(tmp_path, "balanced_made-up", ["x1,x2,x3,y", "1.5, red,-2,no", "2,blue,3,yes", "0,red,4,no"])
    X, y = read_keel(path)
    np.testing.assert_array_equal(X, [[1.5, 0, 1, -2], [2, 1, 0, 3], [0, 0, 1, 4]])  # blue, red
    np.testing.assert_array_equal(y, [0, 1, 0])


def test_a_file_with_a_short_row_is_refused_in_a_sentence(tmp_path):
    path = write_keel(tmp_path, "balanced_short", ["x1,y", "1,a", "2"])
    with pytest.raises(ValueError, match=r"balanced_short.csv.gz: row 3 has another length"):
        read_keel(path)


@pytest.mark.usefixtures("nothing_external")
def test_without_keel_the_library_has_what_it_can():
    found = problems()
    assert {p.name for p in found} == {*SAME_DATA, *SHIPPED}
    assert {p.source for p in found} == {"library"}
    assert len(BALANCED) + len(IMBALANCED) == 30
    for problem in found:
        loaded = load(problem)
        assert len(loaded.y) <= MOST_ROWS
        assert np.isfinite(loaded.X).all()
        assert np.bincount(loaded.y).min() >= 3


def test_files_of_keel_come_before_the_library_and_further_ones_are_taken(tmp_path, monkeypatch):
    rows = [f"{i},{'a' if i % 3 else 'b'}" for i in range(1200)]
    write_keel(tmp_path, "balanced_iris", ["x1,y", *rows])
    write_keel(tmp_path, "imbalanced_own", ["x1,y", *rows])
    write_keel(tmp_path, "large_letter", ["x1,y", *rows])
    monkeypatch.setenv("BAYES_LSSVM_DATA", str(tmp_path))
    found = {p.name: p for p in problems()}
    assert found["iris"] == Problem("iris", "balanced", "keel")
    assert found["own"] == Problem("own", "imbalanced", "keel")
    assert found["heart"].source == "library"
    assert "letter" not in found
    X, y, _ = load(found["own"])
    assert len(y) == len(X) == MOST_ROWS
    np.testing.assert_array_equal(np.bincount(y), [600, 300])  # the sample is stratified
    assert len(np.unique(X)) == MOST_ROWS


def test_folds_are_stratified_and_differ_between_repeats():
    y = load(RIPLEY).y
    first, second = (folds_of(RIPLEY, y, repeat) for repeat in (0, 1))
    np.testing.assert_array_equal(folds_of(RIPLEY, y, 0), first)
    assert not np.array_equal(first, second)
    for folds in (first, second):
        assert set(np.bincount(folds)) <= {83, 84}
        for fold in range(3):
            assert abs(y[folds == fold].mean() - y.mean()) < 0.02


@pytest.mark.skipif("BAYES_LSSVM_DATA" not in os.environ, reason="BAYES_LSSVM_DATA names no folder")
def test_the_thirty_sets_are_read():
    found = {p.name: load(p) for p in problems() if p.source == "keel"}
    if not found:
        pytest.skip("BAYES_LSSVM_DATA has no folder keel")
    assert set(found) >= {*BALANCED, *IMBALANCED}
    for X, y, _ in found.values():
        assert X.shape[0] == len(y) <= MOST_ROWS
        assert np.bincount(y).min() >= 3
    assert found["german"].X.shape[1] == 61
    assert found["abalone9-18"].X.shape == (731, 10)  # sex has three values


# --- the toy study


@pytest.mark.slow
def test_toy_is_two_sets_by_two_methods(toy):
    assert not toy.failed
    keys = [f.cell.key for f in toy.cells]
    assert keys == [f"{s}.{m}.{r}" for m in ("ours", "logistic") for s in ("iris", "ripley") for r in (0, 1)]
    assert get_study("field") is STUDY


def test_all_methods_see_the_same_rows(toy):
    seen = {}
    for finished in toy.cells:
        s = finished.cell.settings
        seen.setdefault((s["set"], s["repeat"]), set()).add((finished.values["rows"], s["sha256"]))
    assert all(len(rows) == 1 for rows in seen.values())
    assert len({next(iter(rows)) for rows in seen.values()}) == 4  # and others in each repeat


@pytest.fixture(scope="module")
def by_hand():
    """Ours on Ripley's data: labels, probabilities, truth and folds of repeat 1, by the estimator alone."""
    X, y = datasets.load("rsy").Xy
    y = np.unique(y, return_inverse=True)[1]
    folds = folds_of(RIPLEY, y, 1)
    labels, P = np.empty_like(y), np.empty((len(y), 2))
    for fold in range(3):
        model = BayesianLSSVC().fit(X[folds != fold], y[folds != fold])
        labels[folds == fold] = model.predict(X[folds == fold])
        P[folds == fold] = model.predict_proba(X[folds == fold])
    return labels, P, y, folds


def test_scores_by_other_code(toy, by_hand):
    labels, P, truth, folds = by_hand
    found = toy["ripley.ours.1"].values
    assert found["log_loss"] == pytest.approx(log_loss(truth, P), rel=1e-9)
    assert found["accuracy"] == pytest.approx(100.0 * np.mean(labels == truth))
    assert found["brier"] == pytest.approx(2.0 * brier_score_loss(truth, P[:, 1]))
    shares = np.array([truth[folds != fold].mean() for fold in folds])  # of class 1, where each row is not
    assert found["base_rate"] == pytest.approx(log_loss(truth, shares))
    np.testing.assert_allclose(np.array(found["row_losses"]) / 1000, -np.log(P[np.arange(250), truth]), atol=5.1e-4)
    assert (found["n"], found["d"], found["classes"]) == (250, 2, 2)


def ece_by_hand(confidence, correct):
    bins = np.ceil(10 * confidence)
    return sum(abs((confidence - correct)[bins == b].sum()) for b in range(1, 11)) / len(confidence)


def test_calibration_errors_and_bins_by_hand(toy, by_hand):
    _, P, truth, folds = by_hand
    confidence, correct = P.max(axis=1), (P.argmax(axis=1) == truth).astype(float)
    found = toy["ripley.ours.1"].values
    assert found["ece"] == pytest.approx(ece_by_hand(confidence, correct))
    left_out = np.array([ece_by_hand(confidence[folds != fold], correct[folds != fold]) for fold in range(3)])
    assert found["ece_error"] == pytest.approx(np.sqrt(2 / 3 * np.sum((left_out - left_out.mean()) ** 2)))
    for b in range(10):
        inside = np.ceil(10 * confidence) == b + 1
        assert found["bins"]["n"][b] == inside.sum()
        assert found["bins"]["correct"][b] == correct[inside].sum()
        assert found["bins"]["confidence"][b] == pytest.approx(confidence[inside].sum(), abs=1e-4)


def test_repeats_are_averaged_row_by_row(toy):
    entry = summarise(toy).entries["iris", "logistic"]
    first, second = (toy[f"iris.logistic.{r}"].values for r in (0, 1))
    np.testing.assert_allclose(entry.row_losses, np.add(first["row_losses"], second["row_losses"]) / 2000.0)
    for name in ("log_loss", "accuracy", "brier", "ece", "ece_error"):
        assert getattr(entry, name) == pytest.approx((first[name] + second[name]) / 2)
    assert entry.log_loss == pytest.approx(entry.row_losses.mean(), abs=5e-4)
    assert entry.bins[0].sum() == 300


def test_sure_and_wrong_costs_the_log_of_a_million():
    P = np.array([[1.0, 0.0], [0.5, 0.5]])
    base = np.array([[0.75, 0.25], [0.75, 0.25]])
    found = scores_of(Prediction(np.array([0, 0]), P), base, np.array([1, 0]), np.array([0, 1]))
    assert found["log_loss"] == pytest.approx((-np.log(SMALLEST) - np.log(0.5)) / 2, rel=1e-6)
    assert found["base_rate"] == pytest.approx(-(np.log(0.75) + np.log(0.25)) / 2)
    assert found["accuracy"] == 50.0


# --- methods


def test_parameters_that_the_estimator_does_not_have_are_not_passed(monkeypatch):
    monkeypatch.setitem(PAPERS, "no_such_thing", 1)
    found = papers_parameters()
    assert found["moderation"] == "class"
    assert found["decoding"] == "bayes"
    assert "no_such_thing" not in found
    assert METHODS["papers"].make(None, None, 0).get_params()["moderation"] == "class"


def test_cells_of_ours_name_the_defaults(toy):
    """So that a default that changes is computed again."""
    own = toy["iris.ours.0"].cell.settings["parameters"]
    assert own == {name: repr(value) for name, value in BayesianLSSVC().get_params().items()}
    assert "parameters" not in toy["iris.logistic.0"].cell.settings


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("papers", "neo")])
def test_every_method_predicts_three_classes(method):
    X, y, _ = load(Problem("iris", "balanced", "library"))
    train = np.r_[0:150:3, 1:150:3]
    test = np.arange(2, 150, 3)
    labels, P = predict(method, X[train], y[train], X[test], 5)
    assert P.shape == (50, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
    assert np.mean(labels == y[test]) > 0.9
    again = predict(method, X[train], y[train], X[test], 5)
    np.testing.assert_allclose(again.probabilities, P, atol=1e-12)


def test_inputs_are_standardised_on_the_training_rows_alone():
    X, y, _ = load(RIPLEY)
    scaled = X * np.array([1e4, 1e-3]) + np.array([7.0, -2.0])
    train = folds_of(RIPLEY, y, 0) > 0
    for method in ("logistic", "svc"):
        a, b = (predict(method, x[train], y[train], x[~train], 1).probabilities for x in (X, scaled))
        np.testing.assert_allclose(a, b, atol=1e-6)


class Pretender:
    """Stands for a package that is not installed here: two classes only."""

    @staticmethod
    def NeoLSSVM():
        return LogisticRegression()


def test_a_rival_that_is_not_installed_is_left_out_with_a_remark(monkeypatch, toy):
    monkeypatch.delenv("BAYES_LSSVM_DATA", raising=False)
    monkeypatch.setattr("validation.studies.field.methods.find_spec", lambda name: None)
    cells = STUDY.cells(None, "full")
    assert {c.settings["method"] for c in cells} == set(METHODS) - {"neo"}
    full = StudyResult("field", "", "full", None, toy.cells, {}, Path())
    said = " ".join(left_out(summarise(full), full))
    assert "neo-ls-svm is left out: it was not installed (the extra `field` has it)" in said
    assert "abalone9-18" in said
    assert "BAYES_LSSVM_DATA" in said
    monkeypatch.setattr("validation.studies.field.methods.find_spec", lambda name: object())
    assert {c.settings["method"] for c in STUDY.cells(None, "full")} == set(METHODS)


def test_rivals_of_other_packages_are_no_part_of_a_checkout():
    """The extra is declared, and what a newcomer installs does not have it."""
    root = Path(__file__).resolve().parents[3]
    extras = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert any(line.startswith("neo-ls-svm") for line in extras["field"])
    locks = list(root.glob("requirements*.lock"))
    assert len(locks) == 5
    for lock in locks:
        assert "neo-ls-svm" not in lock.read_text("utf-8"), lock.name
    locked = re.search(r"^ALL_EXTRAS := (.*)$", (root / "Makefile").read_text("utf-8"), re.MULTILINE)[1].split()
    assert {*locked, "field"} == set(extras)


def test_the_rival_for_two_classes_is_wrapped_for_more(monkeypatch):
    monkeypatch.setattr("validation.studies.field.methods.import_module", lambda name: Pretender)
    X, y, _ = load(Problem("iris", "balanced", "library"))
    assert predict("neo", X, y, X, 0).probabilities.shape == (150, 3)
    assert predict("neo", X[:100], y[:100], X, 0).probabilities.shape == (150, 2)


# --- made-up numbers


def cell(name, method, repeat, losses, *, accuracy=80.0, base=0.7, rows=1, group="balanced"):
    losses = np.asarray(losses, dtype=float)
    confidence, n = 0.95, len(losses)
    bins = {"n": [0] * 9 + [n], "confidence": [0.0] * 9 + [confidence * n], "correct": [0] * 9 + [round(0.8 * n)]}
    values = {"n": 60, "d": 3, "classes": 2, "seconds": 0.5, "rows": rows, "accuracy": accuracy, "brier": 0.3,
              "log_loss": losses.mean(), "ece": 0.1, "ece_error": 0.02, "base_rate": base, "bins": bins,
              "row_losses": np.round(1000 * losses).astype(int).tolist()}  # fmt: skip
    settings = {"set": name, "group": group, "source": "library", "method": method, "repeat": repeat, "sha256": "0"}
    return FinishedCell(Cell(f"{name}.{method}.{repeat}", settings, 0), values)


LEVELS = {  # log losses: ours loses to both on two sets, clearly, and wins narrowly on the third
    "first": {"ours": 0.50, "logistic": 0.25, "svc": 0.40, "papers": 0.90},
    "second": {"ours": 0.80, "logistic": 0.60, "svc": 0.50, "papers": 1.00},
    "third": {"ours": 0.30, "logistic": 0.60, "svc": 0.31, "papers": 0.40},
}


def made_up(levels=LEVELS, spread=0.1, n=20):
    rng = np.random.default_rng(0)
    cells = []
    for name, own in levels.items():
        for repeat in range(3):
            noise = rng.normal(scale=spread, size=n)
            noise -= noise.mean()
            for place, (method, level) in enumerate(own.items()):
                wobble = (0.5 + 0.5 * place) * noise  # so that differences have an error
                cells.append(cell(name, method, repeat, level + wobble, accuracy=80.0 - place, rows=repeat))
    provenance = {"versions": {}, "platform": "", "first_date": "", "date": "", "seconds": 0.0, "cells": len(cells),
                  "study": "field", "version": 1, "size": "quick", "seeds": [0], "data_sha256": None}  # fmt: skip
    return StudyResult("field", "The field", "quick", None, tuple(cells), provenance, Path())


def test_wins_losses_and_ratios_by_hand():
    field = summarise(made_up())
    found = against(field, "svc")
    assert (found.wins, found.losses) == (1, 2)
    assert (found.clear_wins, found.clear_losses) == (0, 2)
    logs = np.log([0.5 / 0.4, 0.8 / 0.5, 0.3 / 0.31])
    assert found.ratio == pytest.approx(np.exp(logs.mean()))
    assert found.ratio_error == pytest.approx(np.expm1(logs.std(ddof=1) / np.sqrt(3)))
    held = held_against_yardsticks(field)
    assert [(y.name, y.rival) for y in held] == [("first", "logistic"), ("second", "svc"), ("third", "svc")]
    assert [round(y.ratio, 3) for y in held] == [2.0, 1.6, 0.968]
    rows = {row.label: row.cells for row in duel_table(field).rows}
    assert rows["SVC + Platt"][:2] == ("1 (0)", "2 (2)")
    assert rows["papers' rules"][:2] == ("3 (3)", "0 (0)")
    assert rows["SVC + Platt"][4] == "+2.0 ± 0.0"


def test_means_by_group_leave_out_what_is_all_but_solved():
    levels = {**LEVELS, "solved": {"ours": 0.02, "logistic": 0.001, "svc": 0.04, "papers": 0.04}}
    table = group_table(summarise(made_up(levels, spread=0.0)))
    assert table.header == ("", "balanced, KEEL (4)", "best log loss from 0.05 on (3)")
    rows = {row.label: row.cells for row in table.rows}
    assert rows["BayesianLSSVC"] == (f"{(0.5 * 0.8 * 0.3 * 0.02) ** 0.25:.3f}", f"{(0.5 * 0.8 * 0.3) ** (1 / 3):.3f}")


def test_the_diagrams_line_has_the_ranks_of_the_losses():
    line = rank_line(summarise(made_up()), "log_loss", "log loss")
    ranks = dict(zip(line.names, line.ranks, strict=True))
    assert ranks == pytest.approx(
        {"BayesianLSSVC": 7 / 3, "logistic regression": 7 / 3, "SVC + Platt": 5 / 3, "papers' rules": 11 / 3}
    )
    assert line.difference == pytest.approx(2.569 * np.sqrt(20 / 18), rel=1e-3)
    assert line.groups == [tuple(np.argsort(line.ranks, kind="stable"))]


def test_the_diagram_draws_ranks_names_and_groups_where_they_are():
    line = RankLine("made up", ["a", "b", "c", "d"], [1.5, 3.5, 2.0, 3.0], 0.8, [(0, 2), (3, 1)])
    figure = figure_ranks([line], own="c")
    (axes,) = figure.axes
    texts = [t.get_text().strip() for t in axes.texts]
    assert {"a  1.50", "c  2.00", "3.00  d", "3.50  b"} <= set(texts)
    assert "critical difference 0.80" in texts
    elbows = {next(iter(ln.get_xdata())) for ln in axes.lines if len(ln.get_xdata()) == 3}
    assert elbows == {1.5, 2.0, 3.0, 3.5}
    bars = [tuple(ln.get_xdata()) for ln in axes.lines if ln.get_linewidth() == 3.5]
    assert [np.round(b, 2).tolist() for b in bars] == [[1.46, 2.04], [2.96, 3.54]]
    own = next(t for t in axes.texts if "c  2.00" in t.get_text())
    assert own.get_fontweight() == "bold"
    draw_ranks(axes, line._replace(groups=[]), 2.0, own="nobody")  # no bars to draw is no trouble


def test_the_page_says_losses_as_clearly_as_wins(tmp_path):
    shown = page(made_up())
    text = " ".join(shown.findings)
    assert "is second of 4 methods by average rank (2.33); the best is SVC + Platt (1.67)" in text
    assert re.search(
        r"log loss is \d+ % above that of SVC \+ Platt, the best of kernel methods and logistic regression", text
    )
    assert "within 1.10 of the better of logistic regression and SVC + Platt on 1 of 3 sets" in text
    assert "beyond it on first (2.00) and second (1.60)" in text
    assert "clearly wins on 0 sets and clearly loses on 2: first and second" in text
    assert "worse than the base rate on 1 set: second" in text
    assert "the default is better on 3 sets (clearly on 3) and worse on 0" in text
    labels = [row.label for row in shown.key_table.rows]
    assert labels[0] == "SVC + Platt"
    assert labels[-1] == "papers' rules"
    order = [row.label for s in shown.sections for t in s.tables if "the better of" in t.title for row in t.rows]
    assert order == ["first", "second", "third"]  # the largest loss stands first
    assert max(map(len, as_text(shown).splitlines())) <= TEXT_WIDTH
    html = write_page(shown, tmp_path, command="python -m reports --study field").read_text(encoding="utf-8")
    assert html.count("<img") == 3
    assert "✗ loss" in html


def test_a_win_everywhere_is_said_too():
    levels = {name: {**own, "ours": 0.1} for name, own in LEVELS.items()}
    text = " ".join(page(made_up(levels)).findings)
    assert "is first of 4 methods by average rank (1.00)" in text
    assert "the best is" not in text
    assert "on 3 of 3 sets. " in text
    assert "worse than the base rate on no set" in text
    assert re.search(r"\d+ % below that of SVC \+ Platt, the best of kernel methods", text)


def test_confidence_beyond_the_share_of_correct_decisions_is_too_sure():
    assert too_sure(summarise(made_up()), "ours") == pytest.approx(0.15)


def test_methods_that_lack_sets_or_repeats_have_no_rank():
    levels = {name: dict(own) for name, own in LEVELS.items()}
    del levels["third"]["svc"]
    result = made_up(levels)
    field = summarise(result)
    assert field.methods == ("ours", "logistic", "svc", "papers")
    assert field.complete == ("ours", "logistic", "papers")
    assert any("without ranks: SVC + Platt" in remark for remark in left_out(field, result))
    third = next(row for row in set_table(field).rows if row.label.strip() == "third")
    assert third.cells[2] == "–"
    cut = StudyResult("field", "", "quick", None, result.cells[:-1], {}, Path())
    assert summarise(cut).partial == ("papers' rules on third: 2 of 3 repeats were computed.",)
    assert page(StudyResult("field", "", "quick", None, result.cells, result.provenance, Path())).sections


def test_cells_of_other_rows_are_refused():
    cells = (cell("a", "ours", 0, [0.1, 0.2]), cell("a", "svc", 0, [0.1, 0.2], rows=2))
    with pytest.raises(ValueError, match=r"'a\.svc\.0' has other folds than 'a\.ours\.0'"):
        summarise(StudyResult("field", "", "toy", None, cells, {}, Path()))
    with pytest.raises(ValueError, match="nothing to compare"):
        summarise(StudyResult("field", "", "toy", None, cells[1:], {}, Path()))


def test_the_toy_study_has_a_page(toy, tmp_path):
    shown = page(toy)
    assert len(shown.key_table.rows) == 2
    assert "within 1.10 of logistic regression on" in " ".join(shown.findings)
    assert "size 'toy'" in " ".join(p for s in shown.sections for p in s.paragraphs)
    assert write_page(shown, tmp_path, command="").is_file()


# --- the documentation


def test_the_documentation_shows_the_gallery():
    """All sets, all methods of scikit-learn, three repeats; and the tables are those of the stored cells."""
    text = (RECORD.parents[2] / "docs" / "findings" / "field.md").read_text(encoding="utf-8")
    result = read_result(RECORD)
    assert result.size == "full"
    field = summarise(result)
    assert set(field.sets) >= {*BALANCED, *IMBALANCED, *SHIPPED}
    assert set(field.complete) >= set(METHODS) - {"neo"}
    assert {facts.repeats for facts in field.sets.values()} == {3}
    for table in tables(result):
        assert table in text


def test_tables_are_printed_as_markdown(tmp_path, capsys):
    write_page(page(made_up()), tmp_path, command="")
    assert main(["--from", str(tmp_path / "field.json")]) == 0
    printed = capsys.readouterr().out
    assert "| SVC + Platt | 1 (0) | 2 (2) |" in printed
    assert "| balanced, KEEL |  |" in printed
