"""Every number that the Bayes-factor page prints, recomputed from the stored cells by other code."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from reports.pages.bayes_factors import page
from validation.harness import Cell, FinishedCell, StudyResult
from validation.studies.bayes_factors import MODELS, RUNGS, STUDY

# log evidence and its error by rung and model; errors of unequal size, so that no two rules for joining them agree
CELLS = {
    ("quadrature", "rbf"): (-258.0, 1e-6),
    ("quadrature", "linear-rbf"): (-254.5, 1e-6),
    ("quadrature", "linear"): (-275.25, 1e-6),
    ("quadrature", "scaled-rbf"): (-255.75, 2e-4),
    ("mackay", "rbf"): (-258.125, None),
    ("mackay", "linear-rbf"): (-255.0, None),
    ("mackay", "linear"): (-275.0, None),
    ("mackay", "scaled-rbf"): (-254.0, None),
    ("hessian", "rbf"): (-258.05, None),
    ("hessian", "linear-rbf"): (-254.45, None),
    ("laplace", "rbf"): (-258.2, None),
    ("laplace", "linear-rbf"): (-254.9, None),
    ("laplace", "linear"): (-275.3, None),
    ("ccd", "scaled-rbf"): (-255.9, 0.12),
    ("nuts", "rbf"): (-258.03, 0.012),
    ("nuts", "linear-rbf"): (-254.46, 0.035),
    ("nuts", "linear"): (-275.31, 0.012),
    ("importance", "scaled-rbf"): (-255.70, 0.02),
}
ORDER = ("linear-rbf", "scaled-rbf", "rbf", "linear")  # by quadrature


@pytest.fixture(scope="module")
def built():
    cells = tuple(
        FinishedCell(
            Cell(f"{model}.{rung}", {"model": model, "method": rung, "n": 250}), {"log_evidence": value, "error": error}
        )
        for (rung, model), (value, error) in CELLS.items()
    )
    return page(StudyResult("bayes-factors", STUDY.title, "toy", {"name": "made up", "n": 250}, cells, {}, Path()))


def table(built, title):
    (found,) = [t for s in built.sections for t in s.tables if t.title.startswith(title)]
    return {row.label: dict(zip(found.header[1:], row.cells, strict=True)) for row in found.rows}


def numbers(text):
    """Value and error of a cell, the error nan where there is none."""
    value, _, error = text.replace("−", "-").partition(" ± ")
    return float(value), float(error) if error else math.nan


def sampled(model):
    return CELLS.get(("nuts", model)) or CELLS[("importance", model)]


def test_log_evidences(built):
    key = built.key_table
    assert [row.label for row in key.rows] == [MODELS[name].label for name in ORDER]
    for name, row in zip(ORDER, key.rows, strict=True):
        for title, cell in zip(key.header[1:], row.cells, strict=True):
            rung = next(rung for rung, words in RUNGS.items() if words == title)
            if (rung, name) not in CELLS:
                assert cell == "–"
                continue
            value, error = CELLS[rung, name]
            shown, bar = numbers(cell)
            assert shown == pytest.approx(value, abs=5e-4)
            if rung in ("nuts", "importance", "ccd"):
                assert bar == pytest.approx(error, abs=5e-4)


def test_log_bayes_factors_have_their_sign_and_their_error(built):
    shown = table(built, "Log Bayes factors against the best model, linear + RBF")
    best = "linear-rbf"
    for name in ORDER[1:]:
        row = shown[MODELS[name].label]
        value, _ = numbers(row["exact"])
        assert value == pytest.approx(CELLS["quadrature", name][0] - CELLS["quadrature", best][0], abs=5e-4)
        assert value < 0.0  # against the best
        for rung in ("mackay", "hessian", "laplace"):
            cell = row[RUNGS[rung]]
            if (rung, name) in CELLS:
                assert numbers(cell)[0] == pytest.approx(CELLS[rung, name][0] - CELLS[rung, best][0], abs=5e-4)
            else:
                assert cell == "–"
        (own, own_error), (other, other_error) = sampled(name), sampled(best)
        value, error = numbers(row["sampled"])
        assert value == pytest.approx(own - other, abs=5e-4)
        # errors of independent estimates add as squares
        assert error == pytest.approx(math.sqrt(own_error**2 + other_error**2), abs=5e-4)
        strength = -(CELLS["quadrature", name][0] - CELLS["quadrature", best][0])
        words = "positive" if strength < 3 else "strong" if strength <= 5 else "very strong"
        assert row["in words, exact"] == f"{words} for linear + RBF"


def test_the_heat_map_shows_row_against_column(built):
    axes = built.key_picture.figure.axes[0]
    image = axes.images[0].get_array().filled(np.nan)
    for i, row in enumerate(ORDER):
        for j, column in enumerate(ORDER):
            if i < j:
                assert image[i, j] == pytest.approx(CELLS["mackay", row][0] - CELLS["mackay", column][0], abs=1e-9)
            elif i > j:
                assert image[i, j] == pytest.approx(sampled(row)[0] - sampled(column)[0], abs=1e-9)


def test_offsets_and_distances_from_quadrature(built):
    offsets = table(built, "Log evidence minus quadrature")
    for (rung, name), (value, _) in CELLS.items():
        if rung != "quadrature":
            shown = offsets[MODELS[name].label][RUNGS[rung]]
            assert numbers(shown)[0] == pytest.approx(value - CELLS["quadrature", name][0], abs=5e-5)
    (found,) = [t for s in built.sections for t in s.tables if t.title == "Sampled log evidences"]
    seen = {}
    for row in found.rows:
        name = next(name for name in ORDER if MODELS[name].label == row.label)
        rung = next(rung for rung, words in RUNGS.items() if words == row.cells[0])
        seen[rung, name] = dict(zip(found.header[1:], row.cells, strict=True))
    assert set(seen) == {key for key in CELLS if key[0] in ("nuts", "importance")}
    for (rung, name), cells in seen.items():
        value, error = CELLS[rung, name]
        off = value - CELLS["quadrature", name][0]
        assert numbers(cells["minus quadrature"])[0] == pytest.approx(off, abs=5e-5)
        assert float(cells["standard error"]) == pytest.approx(error, abs=5e-5)
        assert numbers(cells["in standard errors"])[0] == pytest.approx(off / error, abs=0.06)
        assert cells["within 3"] == ("yes" if abs(off / error) <= 3.0 else "NO")


def test_changed_words_have_their_numbers(built):
    (found,) = [t for s in built.sections for t in s.tables if t.title == "Changed words"]
    rows = {(row.label, row.cells[0]): row.cells for row in found.rows}
    pair = ("linear + RBF against a·linear + RBF", RUNGS["mackay"])
    exact = CELLS["quadrature", "linear-rbf"][0] - CELLS["quadrature", "scaled-rbf"][0]
    given = CELLS["mackay", "linear-rbf"][0] - CELLS["mackay", "scaled-rbf"][0]
    assert numbers(rows[pair][1])[0] == pytest.approx(exact, abs=5e-4)
    assert numbers(rows[pair][2])[0] == pytest.approx(given, abs=5e-4)
    assert rows[pair][3:] == ("positive for linear + RBF", "positive for a·linear + RBF")
