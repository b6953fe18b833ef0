"""The study of Laplace's evidence on known posteriors, and its page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln

from models.reference import REFERENCES, reference_folder
from reports.pages.laplace_reference import page
from reports.pages.laplace_reference.posteriors import (
    RULES,
    Posterior,
    confusion,
    posteriors_of,
    rank_correlation,
    z_scores,
)
from reports.pages.laplace_reference.sentences import findings
from validation.harness import Cell, FinishedCell, StudyResult, run
from validation.studies.laplace_reference import STUDY, problem_of, truth_of

needs_files = pytest.mark.skipif(
    reference_folder() is None, reason="BAYES_LSSVM_DATA names no folder that holds posteriordb"
)


def test_without_the_files_larger_sizes_are_refused_and_the_smallest_is_not(monkeypatch):
    monkeypatch.delenv("BAYES_LSSVM_DATA", raising=False)
    assert [cell.settings["kind"] for cell in STUDY.cells(None, "toy")] == ["regression"]
    with pytest.raises(ValueError, match="set BAYES_LSSVM_DATA to a folder that holds posteriordb"):
        STUDY.cells(None, "quick")


@needs_files
def test_the_full_size_has_every_reference():
    kinds = [cell.settings["kind"] for cell in STUDY.cells(None, "full")]
    assert kinds.count("reference") == len(REFERENCES)
    assert {"regression", "schools"} < set(kinds)


def test_a_simulated_problem_is_that_of_its_settings():
    few = problem_of(Cell("a", {"kind": "regression", "d": 3, "n": 7}, seed=4))
    assert few.args[0].shape == (7, 3)
    groups = problem_of(Cell("b", {"kind": "schools", "groups": 20, "sd": 5.0}, seed=4))
    assert [part.shape for part in groups.args] == [(20,), (20,)]
    assert np.all(groups.args[1] == 5.0)
    assert truth_of(groups, 4) == (groups.log_evidence, 0.0, [])


@needs_files
def test_the_bridge_on_single_chains_is_held_against_the_truth_or_the_other_chains():
    cells = {cell.key: cell for cell in STUDY.cells(None, "full")}
    known = problem_of(cells["mesquite-logmesquite_logvolume"])
    found = truth_of(known, 1)
    assert (found.log_evidence, found.error) == (known.log_evidence, 0.0)
    assert len(found.z_scores) == 10
    assert max(map(abs, found.z_scores)) < 4.0
    blind = truth_of(known._replace(log_evidence=None), 1)
    assert 0.0 < blind.error < 0.01
    assert abs(blind.log_evidence - known.log_evidence) < 4.0 * blind.error
    # the same chains: the nine others are nearly the truth
    np.testing.assert_allclose(blind.z_scores, found.z_scores, atol=1.5)


# --- the page --------------------------------------------------------------------------------------------------------


def measured(name, laplace, correction, *, k_hat=0.0, verdict="good", kind="reference", family="regression", z=()):
    values = {
        "log_evidence": -10.0,
        "truth_error": 0.0,
        "exact": True,
        "laplace": laplace,
        "next_order": laplace + correction,
        "importance": None if k_hat > 0.7 else 0.0,
        "believed": 0.0,
        "dim": 3,
        "n_modes": 1,
        "missed": 0.0,
        "correction": correction,
        "skewness": abs(correction) ** 0.5,
        "k_hat": k_hat,
        "k_hat_gaussian": k_hat,
        "verdict": verdict,
        "error_bars": verdict,
        "z_scores": list(z),
    }
    cell = Cell(name, {"kind": kind, "family": family, "sample": False})
    return FinishedCell(cell, values)


CELLS = (
    measured("fine", -0.01, 0.01, z=(1.0, -1.0)),
    measured("close", -0.3, 0.28, k_hat=0.8, z=(0.5, 2.5)),
    measured("alarm", -0.2, 0.6, verdict="doubtful"),
    measured("caught", -2.0, 3.0, k_hat=1.2, verdict="bad"),
    measured("missed", -0.9, 0.4, kind="regression", family="few rows"),
)


@pytest.fixture
def result():
    return StudyResult("laplace-reference", STUDY.title, "full", None, CELLS, {}, Path())


def test_rules_count_what_they_catch_and_their_false_alarms(result):
    posteriors = posteriors_of(result)
    found = {rule.name: confusion(rule, posteriors) for rule in RULES}
    assert found["next term beyond 0.5 nats"] == (1, 2, 1, 3)
    assert found["k̂ of the Student density > 0.7"] == (1, 2, 1, 3)
    assert found["importance sampling from the mode"] == (2, 2, 1, 3)
    assert found["trust_model"] == (1, 2, 1, 3)
    assert rank_correlation("skewness", posteriors) == pytest.approx(0.7)
    np.testing.assert_array_equal(z_scores(posteriors), [1.0, -1.0, 0.5, 2.5])


def test_no_mode_is_an_error_and_a_warning():
    values = measured("lost", 0.0, 0.0, verdict="bad").values
    posterior = Posterior("lost", "reference", "regression", False, values | {"laplace": None, "correction": None})
    assert posterior.is_off
    assert all(rule.warns(posterior) for rule in RULES if "k̂" not in rule.name)


def test_the_sentences_follow_the_numbers(result):
    said = " ".join(findings(posteriors_of(result)))
    assert "within 0.5 nats on 3 of 4 reference posteriors" in said
    assert "its largest −2.00 (caught)" in said
    assert "on the 3 posteriors where it is at most 0.5 nats the error is at most 0.90" in said
    assert "at most 0.500 once it is added" in said
    assert "`trust_model` without sampling flags 1, and of the 3 others 1 (33 %): it misses missed" in said
    assert "the false alarms are alarm." in said
    assert "4 z-scores" in said
    assert "25.0 % lie beyond ±1.96" in said


def test_the_page_has_every_posterior_and_its_figures(result):
    shown = page(result)
    labels = [row.label.strip() for row in shown.tables[2].rows]
    assert labels == ["regression", "fine", "alarm", "close", "caught", "few rows", "missed"]
    assert [picture.name for picture in shown.pictures] == ["predictors", "bridge"]
    marks = [len(line.get_xdata()) for line in shown.pictures[0].figure.axes[1].lines]
    assert marks[:2] == [4, 1]


def laplace_error(n, d):
    """Of the evidence of a flat regression: the mode has σ² = r²/(n − 1), the integral is a gamma function."""
    m = n - d - 1
    gaussian = 0.5 * np.log(2 * np.pi) - 0.5 * (n - 1) - 0.5 * np.log(2 * (n - 1))
    return gaussian + np.log(2) - gammaln(m / 2) + 0.5 * m * np.log((n - 1) / 2)


def test_the_smallest_study_runs_and_makes_its_page(tmp_path):
    found = run(STUDY, None, size="toy", folder=tmp_path, progress=False)
    assert not found.failed
    (cell,) = found.cells
    assert cell.values["laplace"] == pytest.approx(laplace_error(5, 1), abs=1e-6)
    assert cell.values["believed"] is None or abs(cell.values["believed"]) < 0.1
    assert "of 1 simulated posteriors" in page(found).findings[0]
