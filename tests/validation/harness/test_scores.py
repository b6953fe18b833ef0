"""Scores of predictions: by hand, against scikit-learn, with their errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import brier_score_loss, log_loss

from validation.harness.scores import (
    Decisions,
    binary_scores,
    calibration_error,
    calibration_gain,
    log_score_gain,
    paired_gain,
    pooled_calibration_error,
    reliability,
    roc_area,
    score,
)


def test_scores_by_hand():
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.75, 0.25]])
    found = score(np.array(["a", "b", "b", "a"]), p, np.array(["a", "b", "a", "b"]), np.array(["a", "b"]))
    assert found["accuracy"] == found["error"] == 50.0
    assert found["log_score"] == pytest.approx(np.mean(np.log([0.9, 0.8, 0.4, 0.25])))
    assert found["brier"] == pytest.approx(np.mean([2 * 0.01, 2 * 0.04, 2 * 0.36, 2 * 0.5625]))
    # bins of the top probability: (0.5, 0.6] wrong, (0.7, 0.8] one of two right, (0.8, 0.9] right
    assert found["ece"] == pytest.approx((0.6 + abs(0.8 + 0.75 - 1.0) + 0.1) / 4)


def test_scores_without_probabilities_and_of_a_sure_error():
    assert set(score(np.array([1]), None, np.array([1]), np.array([-1, 1]))) == {"accuracy", "error"}
    sure = score(np.array([1]), np.array([[0.0, 1.0]]), np.array([-1]), np.array([-1, 1]))
    assert sure["log_score"] == pytest.approx(np.log(1e-12))
    assert sure["ece"] == 1.0


def test_calibration_error_of_calibrated_and_of_confident_predictions():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1.0, 200_000)
    correct = rng.random(200_000) < confidence
    assert calibration_error(confidence, correct) < 0.01
    assert calibration_error(np.ones(1000), np.arange(1000) % 4 > 0) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("labels", "p", "y", "match"),
    [
        ([1, 1], None, [1], "one shape"),
        ([1], None, [3], "not in `classes`"),
        ([1], [[0.5, 0.4]], [1], "sum to 1"),
        ([1], [[1.0]], [1], r"shape \(1, 2\)"),
    ],
)
def test_scores_refuse_what_does_not_fit(labels, p, y, match):
    with pytest.raises(ValueError, match=match):
        score(np.array(labels), None if p is None else np.array(p), np.array(y), np.array([-1, 1]))


def test_scores_are_those_of_scikit_learn_and_ece_tells_miscalibration():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=20_000)
    truth = (rng.uniform(size=20_000) < p).astype(int)
    found = binary_scores(p, truth)
    assert found.log_score == pytest.approx(-log_loss(truth, p))
    assert found.brier == pytest.approx(brier_score_loss(truth, p))
    assert found.calibration_error < 0.02
    sharper = binary_scores(p**3 / (p**3 + (1 - p) ** 3), truth)
    assert sharper.calibration_error > 0.08
    assert sharper.log_score < found.log_score


def test_gain_is_a_paired_difference_of_log_scores():
    truth = np.array([1.0, -1.0, 1.0])
    found = log_score_gain(np.array([0.8, 0.4, 0.5]), np.array([0.4, 0.4, 0.25]), truth)
    assert found.mean == pytest.approx(2 * np.log(2) / 3)
    assert found.error == pytest.approx(np.std([np.log(2), 0.0, np.log(2)], ddof=1) / np.sqrt(3))
    p, q = np.array([0.9, 0.2, 0.6]), np.array([0.7, 0.4, 0.6])
    difference = binary_scores(p, truth).log_score - binary_scores(q, truth).log_score
    assert log_score_gain(p, q, truth).mean == pytest.approx(difference)


def test_reliability_has_bins_of_equal_count_with_binomial_bands():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=2000)
    right = np.where(rng.uniform(size=2000) < p, 1.0, -1.0)
    bins = reliability(p, right)
    assert [b.n for b in bins] == [200] * 10
    assert sum(b.outside for b in bins) <= 2
    assert [b.low for b in bins] == pytest.approx([binom.ppf(0.025, 200, b.probability) / 200 for b in bins])
    wrong = reliability(p, -right)
    assert sum(b.outside for b in wrong) >= 8
    assert len(reliability(p[:12], right[:12])) == 2  # five points a bin at least


def test_one_pair_has_no_error():
    assert np.isnan(paired_gain([1.0], [0.5]).error)
    part = Decisions(np.array([0.9, 0.6]), np.array([True, False]))
    assert np.isnan(calibration_gain([part], [part]).error)
    assert calibration_gain([part, part], [part, part]) == (0.0, 0.0)
    assert pooled_calibration_error([part, part], without=0) == calibration_error(*part)


def test_the_roc_area_counts_pairs_in_the_right_order():
    scores, truth = np.array([0.1, 0.4, 0.35, 0.8]), np.array([-1.0, -1.0, 1.0, 1.0])
    assert roc_area(scores, truth) == 0.75
