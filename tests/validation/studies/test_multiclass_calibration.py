"""Calibration of multiclass probabilities: shares of votes, pooled errors and their jackknife, a run on small data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from bayes_lssvm import BayesianLSSVC, datasets
from bayes_lssvm.datasets import make_led
from bayes_lssvm.multiclass import MulticlassLSSVC, code_book
from reports.pages.multiclass_calibration import main, page
from validation.harness import run
from validation.harness.scores import Decisions
from validation.studies.multiclass_calibration import (
    CALIBRATIONS,
    LSSVMS,
    REFERENCE,
    SETS,
    STUDY,
    Compared,
    SplitResult,
    Summary,
    decode,
    record,
    split_outcomes,
    summaries,
    summarise,
    svms,
    tables,
    vote_shares,
)

METHODS = [
    *(f"{name}, {decoding}" for name, _, _, decodings in LSSVMS for decoding in decodings),
    *(f"SVC, {c}" for c in CALIBRATIONS),
]


def iris(seed=3):
    X, y = datasets.load("iris").Xy
    return train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)


@pytest.fixture(scope="module")
def outcomes():
    return split_outcomes("iris", 3)


def test_shares_of_votes_have_half_a_vote_more_for_each_class():
    code = code_book("ovo", 4)
    outputs = np.array([[1.0, 1.0, -1.0, 1.0, -1.0, -1.0]])  # class 0 beats 3; 1 beats 0 and 3; 2 beats 0, 1 and 3
    np.testing.assert_allclose(vote_shares(code, outputs), np.array([[1.5, 2.5, 3.5, 0.5]]) / 8.0, rtol=1e-12)
    ova = np.array([[-1.0, -1.0, -1.0]])  # nobody's own member: each class has the votes of the two others
    np.testing.assert_allclose(vote_shares(code_book("ova", 3), ova), [[1 / 3, 1 / 3, 1 / 3]])
    every_bit_wrong = np.array([[-1.0, 1.0, 1.0]])
    assert vote_shares(code_book("ova", 3), every_bit_wrong).min() > 0.0


def test_decodings_are_those_of_the_classifier():
    X, X_test, y, _ = iris()
    model = MulticlassLSSVC("linear", shared_kernel=True).fit(X, y)
    for decoding in ("Bayes", "coupling", "votes"):
        found = decode(model, decoding, X_test)
        same = MulticlassLSSVC(
            "linear", shared_kernel=True, decoding={"votes": "hamming"}.get(decoding, decoding.lower())
        ).fit(X, y)
        np.testing.assert_array_equal(found.labels, same.predict(X_test))
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, atol=1e-12)
        if decoding != "votes":
            np.testing.assert_allclose(found.probabilities, same.predict_proba(X_test))


def test_every_method_is_scored_on_the_same_test_rows(outcomes):
    _, X_test, _, y_test = iris()
    assert list(outcomes) == METHODS
    assert METHODS[0] == REFERENCE
    for outcome in outcomes.values():
        assert outcome.decisions.confidence.shape == outcome.decisions.correct.shape == (len(X_test),)
        assert np.all((outcome.decisions.confidence > 0.0) & (outcome.decisions.confidence <= 1.0))
        assert outcome.scores["accuracy"] == pytest.approx(100.0 * outcome.decisions.correct.mean())
        assert outcome.scores["accuracy"] > 80.0
    X, X_test, y, _ = iris()
    found = svms(X, y, X_test, 3)["SVC, sigmoid"]
    assert outcomes["SVC, sigmoid"].scores["log_score"] == pytest.approx(-log_loss(y_test, found.probabilities))


def test_test_labels_do_not_reach_the_classifiers(outcomes, monkeypatch):
    """The same decisions where the test labels are others."""
    X, X_test, y, y_test = iris()
    shuffled = np.random.default_rng(0).permutation(y_test)
    monkeypatch.setattr(
        "validation.studies.multiclass_calibration.train_test_split", lambda *_, **__: (X, X_test, y, shuffled)
    )
    monkeypatch.setattr("validation.studies.multiclass_calibration.svms", lambda *_: {})
    again = split_outcomes("iris", 3)
    for method, outcome in again.items():
        np.testing.assert_array_equal(outcome.decisions.confidence, outcomes[method].decisions.confidence)


def made_up(n_splits=4, n=50, seed=0):
    """Splits of two methods: confidences that are right, and ones that are too sure."""
    rng = np.random.default_rng(seed)
    splits = []
    for _ in range(n_splits):
        right = rng.uniform(0.4, 1.0, size=n)
        correct = rng.uniform(size=n) < right
        sure = np.minimum(right + 0.2, 1.0)
        splits.append(
            {
                REFERENCE: SplitResult({"accuracy": 70.0, "log_score": rng.normal()}, Decisions(right, correct)),
                "sure": SplitResult({"accuracy": 70.0, "log_score": rng.normal()}, Decisions(sure, correct)),
            }
        )
    return splits


def ece_by_hand(outcomes):
    p, c = (np.concatenate([getattr(o.decisions, key) for o in outcomes]) for key in ("confidence", "correct"))
    gaps = [
        abs(p[b].mean() - c[b].mean()) * b.mean() for k in range(10) if (b := (p > k / 10) & (p <= (k + 1) / 10)).any()
    ]
    return sum(gaps)


def test_differences_are_paired_and_calibration_errors_pooled():
    splits = made_up()
    first, sure = summarise("made up", splits)
    for score in (first.accuracy, first.log_score, first.ece):
        assert score.difference == score.error == 0.0
    apart = [s["sure"].scores["log_score"] - s[REFERENCE].scores["log_score"] for s in splits]
    assert sure.log_score.difference == pytest.approx(np.mean(apart))
    assert sure.log_score.error == pytest.approx(np.std(apart, ddof=1) / 2.0)
    by_method = [[s[m] for s in splits] for m in ("sure", REFERENCE)]
    assert sure.ece.value == pytest.approx(ece_by_hand(by_method[0]))
    assert sure.ece.difference == pytest.approx(ece_by_hand(by_method[0]) - ece_by_hand(by_method[1]))
    left_out = [
        ece_by_hand(by_method[0][:i] + by_method[0][i + 1 :]) - ece_by_hand(by_method[1][:i] + by_method[1][i + 1 :])
        for i in range(4)
    ]
    jackknife = np.sqrt(3 / 4 * np.sum((left_out - np.mean(left_out)) ** 2))
    assert sure.ece.error == pytest.approx(jackknife)
    assert sure.ece.difference > 3.0 * sure.ece.error  # too sure by up to 0.2, and it is seen


def test_one_split_has_no_errors():
    (_, sure) = summarise("made up", made_up(n_splits=1))
    assert np.isnan(sure.log_score.error)
    assert np.isnan(sure.ece.error)


def test_tables_have_a_row_for_each_method_and_a_column_for_each_set():
    rows = summarise("one", made_up()) + summarise("two", made_up(seed=1))
    text = tables(rows)
    assert text.count("| sure |") == 3
    assert "| ECE | one | two |" in text
    ece = next(row.ece for row in rows if (row.data, row.method) == ("two", "sure"))
    assert f"{ece.value:.3f} ({ece.difference:+.3f} ± {ece.error:.3f})" in text


def test_the_study_its_page_and_the_file_of_the_documentation(tmp_path, capsys, monkeypatch, outcomes):
    monkeypatch.setattr("validation.studies.multiclass_calibration.split_outcomes", lambda *_: outcomes)
    result = run(STUDY, None, size="toy", folder=tmp_path / "cells", progress=False)
    assert [f.cell.key for f in result.cells] == ["wine.00", "wine.01"]
    rows = summaries(result.cells)
    assert rows == summarise("wine", [outcomes, outcomes])
    shown = page(result)
    assert [row.label for row in shown.key_table.rows] == METHODS
    assert shown.findings[0].startswith("wine: the best log score is that of “")
    file = tmp_path / "deep" / "table.json"
    assert main(["--size", "toy", "--cells", str(tmp_path / "cells"), "--output", str(file)]) == 0
    printed, content = capsys.readouterr().out, json.loads(file.read_text())
    assert [row["method"] for row in content["rows"]] == METHODS
    row = content["rows"][1]
    assert row["n_splits"] == 2
    assert f"{row['log_score']['value']:.3f}" in printed
    assert content["provenance"]["settings"]["splits"] == 2
    assert len(content["provenance"]["data_sha256"]) == 64


def test_the_documentation_shows_the_stored_tables():
    """The stored run is of these data and this program: all methods, all sets, ten splits, the same rows."""
    docs = Path(__file__).resolve().parents[3] / "docs"
    content = json.loads((docs / "figures" / "multiclass_calibration.json").read_text())
    rows = [
        Summary(**{key: Compared(**value) if isinstance(value, dict) else value for key, value in row.items()})
        for row in content["rows"]
    ]
    assert tables(rows) in (docs / "guide" / "multiclass.md").read_text(encoding="utf-8")
    assert [(row.data, row.method) for row in rows] == [(name, method) for name in SETS for method in METHODS]
    assert {row.n_splits for row in rows} == {10}
    again = record([], SETS, n_splits=10, seed=0)["provenance"]
    assert content["provenance"]["data_sha256"] == again["data_sha256"]
    assert content["provenance"]["settings"] == again["settings"]


@pytest.mark.slow
def test_the_stored_tables_come_out_again_for_the_wine():
    content = json.loads(
        (Path(__file__).resolve().parents[3] / "docs" / "figures" / "multiclass_calibration.json").read_text()
    )
    stored = {row["method"]: row for row in content["rows"] if row["data"] == "wine"}
    for row in summarise("wine", [split_outcomes("wine", seed) for seed in range(10)]):
        assert row.accuracy.value == pytest.approx(stored[row.method]["accuracy"]["value"], abs=0.4)
        assert row.log_score.value == pytest.approx(stored[row.method]["log_score"]["value"], abs=0.01)
        assert row.ece.value == pytest.approx(stored[row.method]["ece"]["value"], abs=0.01)


def best_factor(margins):
    """By which log odds have the best log score."""
    return minimize_scalar(lambda a: np.mean(np.logaddexp(0.0, -a * margins)), bounds=(0.01, 3.0)).x


def test_on_led_members_are_too_sure_with_labels_that_err_alike_at_all_inputs():
    """What noise that depends on the inputs would explain is there without it: the shape of the densities is at fault.

    Class 3 against all others. In place of its labels: those of the more probable side at each pattern, of which the
    same share is wrong everywhere. The factor is that by which log odds have the best log score on new rows.
    """
    codes, digits = make_led(2000, 5, noise=0.0)
    codes = np.array([codes[digits == k][0] for k in range(10)])

    def probability(X):
        off = (X[:, None] != codes).sum(axis=2)
        likelihood = 0.9 ** (7 - off) * 0.1**off
        return likelihood[:, 3] / likelihood.sum(axis=1)

    def labels(X, digit, uniform):
        if not uniform:
            return np.where(digit == 3, 1.0, -1.0)
        p = probability(X)
        wrong = np.random.default_rng(0).random(len(X)) < np.minimum(p, 1.0 - p).mean()
        return np.where((p > 0.5) != wrong, 1.0, -1.0)

    (X, digit), (X_new, new_digit) = make_led(400, 0), make_led(10_000, 1)
    for uniform in (False, True):
        y, y_new = labels(X, digit, uniform), labels(X_new, new_digit, uniform)
        model = BayesianLSSVC(prior="flat", moderation="class").fit(X, y)
        odds = model.decision_function(X_new)
        assert 0.2 < best_factor(y_new * odds) < 0.45
