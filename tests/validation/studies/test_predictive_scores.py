"""The comparison of plug-in with fully Bayesian classifiers, and its page."""

from __future__ import annotations

import numpy as np
import pytest

from reports.pages.predictive_scores import findings, page
from validation.harness import run
from validation.harness.scores import BinaryScores, Gain
from validation.studies.predictive_scores import STUDY, Comparison, comparisons, split


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return run(STUDY, None, size="toy", folder=tmp_path_factory.mktemp("scores"), progress=False)


def test_the_splits_are_stratified_reproducible_and_apart():
    for seed in (5, 6):
        X, y, X_test, y_test = split("hea", seed)
        assert np.array_equal(X, split("hea", seed).X)
        assert len(X) == 180
        assert len(X_test) == 90
        assert abs(y.mean() - y_test.mean()) < 0.02
    assert not np.array_equal(split("hea", 5).X, split("hea", 6).X)


def test_data_with_a_test_set_have_one_cell():
    keys = [cell.key for cell in STUDY.cells(None, "full")]
    assert keys[:2] == ["ripley.00", "hea.00"]
    assert len(keys) == 21


def test_marginalisation_is_no_worse_on_ripley(toy):
    plug_in, full = comparisons(toy.cells)
    assert plug_in.method == "plug-in"
    assert full.scores.log_score == pytest.approx(-0.2362, abs=1e-3)
    assert full.gain.mean == pytest.approx(full.scores.log_score - plug_in.scores.log_score)
    assert full.gain.mean > 0.0


def test_the_page_has_both_classifiers_and_the_gain(toy):
    shown = page(toy)
    labels = [row.label.strip() for row in shown.key_table.rows]
    assert labels == ["ripley, 1 test set", "plug-in", "fully Bayesian"]
    assert shown.key_table.rows[2].cells[-1].startswith("+0.00")
    assert shown.findings[0].endswith("on one test set, which has no error bar.")


def test_the_verdict_follows_the_numbers():
    def said(mean, error):
        (sentence,) = findings([Comparison("a", "fully Bayesian", 10, BinaryScores(0, 0, 0, 0), Gain(mean, error))])
        return sentence

    assert "clearly better" in said(0.01, 0.002)
    assert "clearly worse" in said(-0.01, 0.002)
    assert "no more than chance explains" in said(0.003, 0.002)
