"""Many rows: the study at toy size, its scores by other code, and the page's sentences and tables."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

from bayes_lssvm import FixedSizeLSSVC
from reports.pages.many_rows import best_rival, enough, page
from validation.harness import run
from validation.studies.many_rows import OURS, RIVALS, STUDY, cells, split
from validation.studies.many_rows.rivals import of_outputs


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return run(STUDY, None, size="toy", folder=tmp_path_factory.mktemp("many"), progress=False)


def test_every_cell_comes_through(toy):
    assert [cell.error for cell in toy.cells] == [None] * len(toy.cells)
    assert len(toy.cells) == 3 + len(OURS) + sum(rival.installed for rival in RIVALS.values()) + 1


def test_scores_are_those_of_scikit_learn(toy):
    cell = next(cell for cell in toy.cells if cell.cell.key == "waveform.20.ours")
    rows = split("waveform", 600, cell.cell.seed)
    model = FixedSizeLSSVC(n_landmarks=20, standardise=False).fit(rows.X, rows.y)
    P = np.clip(model.predict_proba(rows.X_new), 1e-6, None)
    assert cell.values["log_loss"] == pytest.approx(log_loss(rows.y_new, P / P.sum(axis=1, keepdims=True)), abs=1e-9)
    assert cell.values["accuracy"] == pytest.approx(100 * accuracy_score(rows.y_new, model.predict(rows.X_new)))


def test_the_bound_lies_below(toy):
    with_landmarks = [cell.values for cell in toy.cells if "lower" in cell.values]
    assert len(with_landmarks) == 3
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
    name, value = best_rival(toy.cells[3:-1], "waveform", 20, "log_loss")
    losses = {method: by_key[f"waveform.20.{method}"]["log_loss"] for method in ("logistic", "ridge")}
    assert (name, value) == (min(losses, key=losses.get), min(losses.values()))
    beaten = by_key["waveform.20.ours"]["log_loss"] <= value
    assert f"log loss in {int(beaten)}" in made.findings[1]
    grown = by_key["growth.1000.10"]
    (row,) = made.sections[1].tables[0].rows[1:]
    assert row.label == "1\N{NO-BREAK SPACE}000"
    assert float(row.cells[0].replace("−", "-")) == pytest.approx(grown["log_evidence"] / 1000, abs=6e-6)
    assert float(row.cells[5]) == pytest.approx(grown["log_loss"], abs=6e-5)


def test_rivals_that_are_not_here_are_named(toy):
    run_here = {cell.cell.settings.get("method") for cell in toy.cells}
    missing = [rival.title for name, rival in RIVALS.items() if name not in run_here]
    said = [sentence for sentence in page(toy).findings if sentence.startswith("Not installed")]
    assert len(said) == bool(missing)
    assert all(title in said[0] for title in missing)


def test_models_without_landmarks_are_run_once_for_a_set(monkeypatch, tmp_path):
    (tmp_path / "keel").mkdir()
    for name in ("magic", "letter"):
        (tmp_path / "keel" / f"large_{name}.csv.gz").touch()
    monkeypatch.setenv("BAYES_LSSVM_DATA", str(tmp_path))
    keys = [cell.key for cell in cells(None, "full") if cell.settings["kind"] == "rivals"]
    assert [key for key in keys if "boosting" in key] == ["magic.200.boosting", "letter.200.boosting"]
    assert {"magic.500.ours", "letter.500.ours-scales", "letter.500.logistic"} < set(keys)
    assert not any(key.startswith("usps") for key in keys)
    assert not any("sgpr" in key and "letter" in key for key in keys)


def test_outputs_of_regressions_become_probabilities():
    P = of_outputs(np.array([[1.0, -1.0], [0.5, 0.5], [3.0, -0.5]]))
    np.testing.assert_allclose(P, [[1.0, 1e-6], [0.5, 0.5], [0.8, 0.2]], atol=1e-5)


def test_enough_landmarks():
    exact = {"log_loss": 0.2, "log_loss_error": 0.01}
    losses = {25: 0.25, 50: 0.205, 100: 0.215, 200: 0.2, 400: 0.199}
    own = {0: exact} | {m: {"log_loss": loss} for m, loss in losses.items()}
    assert enough(own) == 200  # 50 was lucky
    assert enough({0: exact, 25: {"log_loss": 0.3}}) is None
