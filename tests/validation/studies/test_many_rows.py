"""Many rows: the study at toy size, its scores by other code, and the page's sentences and tables."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

from bayes_lssvm import FixedSizeLSSVC
from reports.pages.many_rows import best_rival, enough, page
from validation.harness import run
from validation.studies.many_rows import METHODS, STUDY, split


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return run(STUDY, None, size="toy", folder=tmp_path_factory.mktemp("many"), progress=False)


def test_every_cell_comes_through(toy):
    assert [cell.error for cell in toy.cells] == [None] * len(toy.cells)
    assert len(toy.cells) == 3 + len(METHODS)


def test_scores_are_those_of_scikit_learn(toy):
    cell = next(cell for cell in toy.cells if cell.cell.key == "waveform.20.ours")
    rows = split("waveform", 600, cell.cell.seed)
    model = FixedSizeLSSVC(n_landmarks=20, standardise=False).fit(rows.X, rows.y)
    P = np.clip(model.predict_proba(rows.X_new), 1e-6, None)
    assert cell.values["log_loss"] == pytest.approx(log_loss(rows.y_new, P / P.sum(axis=1, keepdims=True)), abs=1e-9)
    assert cell.values["accuracy"] == pytest.approx(100 * accuracy_score(rows.y_new, model.predict(rows.X_new)))


def test_the_bound_lies_below(toy):
    with_landmarks = [cell.values for cell in toy.cells if "lower" in cell.values]
    assert len(with_landmarks) == 2
    assert all(v["lower"] <= v["log_evidence"] for v in with_landmarks)


def test_the_page_says_what_the_cells_hold(toy):
    made = page(toy)
    by_key = {cell.cell.key: cell.values for cell in toy.cells}
    table = made.sections[0].tables[0]
    assert [row.label for row in table.rows] == ["waveform", "10", "20", "all rows"]
    for row, key in zip(table.rows[1:], ("waveform.10", "waveform.20", "waveform.exact"), strict=True):
        assert float(row.cells[4]) == pytest.approx(100 - by_key[key]["accuracy"], abs=0.006)
        assert float(row.cells[5]) == pytest.approx(by_key[key]["log_loss"], abs=6e-5)
    off = by_key["waveform.20"]["log_evidence"] - by_key["waveform.exact"]["log_evidence"]
    assert f"{off:+.1f}".replace("-", "−") in made.findings[0]
    name, value = best_rival(toy.cells[3:], "waveform", 20, "log_loss")
    losses = {method: by_key[f"waveform.20.{method}"]["log_loss"] for method in ("logistic", "ridge")}
    assert (name, value) == (min(losses, key=losses.get), min(losses.values()))
    beaten = by_key["waveform.20.ours"]["log_loss"] <= value
    assert f"log loss in {int(beaten)}" in made.findings[-1]


def test_enough_landmarks():
    exact = {"log_loss": 0.2, "log_loss_error": 0.01}
    losses = {25: 0.25, 50: 0.205, 100: 0.215, 200: 0.2, 400: 0.199}
    own = {0: exact} | {m: {"log_loss": loss} for m, loss in losses.items()}
    assert enough(own) == 200  # 50 was lucky
    assert enough({0: exact, 25: {"log_loss": 0.3}}) is None
