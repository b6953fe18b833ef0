"""Scores of predictions on test rows, the same for every algorithm, every study and every table.

    accuracy   share of correct labels, in % where classes are several; error = 100 − accuracy
    log score  mean log probability of the true class, in nats; larger is better
    Brier      mean over rows of Σ_c (p_c − [c is the truth])², from 0 to 2; for two classes by P(+1) alone, half of it
    ECE        expected calibration error: Σ_b (n_b / n) |mean confidence − accuracy| over ten bins, smaller is better.
               Of decisions: bins (0, 0.1], (0.1, 0.2], … of the largest class probability. Of P(+1): bins of equal
               count of that probability, against the frequency of +1
    ROC area   probability that a row of class +1 has the larger score

Test labels are seen here and by no algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from bayes_lssvm.base.typing import AnyArray, Array

BINS = 10
COVERAGE = 0.95
FEWEST_IN_BIN = 5
# probabilities below it count as it, so that one sure and wrong prediction leaves the log score finite
SMALLEST = 1e-12


class Prediction(NamedTuple):
    """Labels of shape (n,), and probabilities of the C classes of shape (n, C) where an algorithm has them."""

    labels: AnyArray
    probabilities: Array | None = None


def score(labels: AnyArray, probabilities: Array | None, y_test: AnyArray, classes: AnyArray) -> dict[str, float]:
    """Scores of the predictions of test rows.

    Parameters
    ----------
    labels : array of shape (n,)
        Predicted.
    probabilities : array of shape (n, C) or None
        Of the classes, in the order of `classes`; each row sums to 1. None for an algorithm that has none.
    y_test : array of shape (n,)
        True labels.
    classes : array of shape (C,)

    Returns
    -------
    dict
        accuracy and error in %; with probabilities also log_score, brier and ece.
    """
    labels, y_test, classes = np.asarray(labels), np.asarray(y_test), np.asarray(classes)
    if labels.shape != y_test.shape or y_test.ndim != 1 or not len(y_test):
        raise ValueError(f"labels and y_test need one shape (n,), n > 0; got {labels.shape} and {y_test.shape}.")
    unknown = np.setdiff1d(y_test, classes)
    if len(unknown):
        raise ValueError(f"The test rows have classes that are not in `classes`: {unknown.tolist()}.")
    correct = labels == y_test
    found = {"accuracy": 100.0 * float(correct.mean()), "error": 100.0 * float((~correct).mean())}
    if probabilities is None:
        return found
    p = np.asarray(probabilities, dtype=np.float64)
    _check(p, len(y_test), len(classes))
    truth = y_test[:, None] == classes[None, :]  # [n, C]
    found["log_score"] = float(np.log(np.clip(p[truth], SMALLEST, 1.0)).mean())
    found["brier"] = float(((p - truth) ** 2).sum(axis=1).mean())
    found["ece"] = calibration_error(p.max(axis=1), classes[p.argmax(axis=1)] == y_test)
    return found


def _check(p: Array, n: int, C: int) -> None:
    if p.shape != (n, C):
        raise ValueError(f"probabilities need the shape ({n}, {C}), rows by classes; got {p.shape}.")
    off = float(np.abs(p.sum(axis=1) - 1.0).max())
    if not (p >= 0.0).all() or not off < 1e-6:
        raise ValueError(f"Rows of probabilities must be at least 0 and sum to 1; the worst sum is off by {off:.2g}.")


def calibration_error(confidence: Array, correct: AnyArray) -> float:
    """Expected calibration error of confidences of shape (n,) whose predictions were correct or not."""
    edges = np.linspace(0.0, 1.0, BINS + 1)
    bins = np.clip(np.digitize(confidence, edges[1:-1], right=True), 0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    gaps = np.bincount(bins, confidence - np.asarray(correct, dtype=np.float64), minlength=BINS)
    return float(np.abs(gaps).sum() / counts.sum())  # n_b · |mean of a bin| = |sum of a bin|


# --- two classes, by P(+1) ------------------------------------------------------------------------------------------


class BinaryScores(NamedTuple):
    """Scores of probabilities of class +1; the accuracy is a fraction."""

    accuracy: float
    log_score: float
    brier: float
    calibration_error: float


def binary_scores(probability: Array, positive: AnyArray) -> BinaryScores:
    """Scores of P(+1) of shape (n,), for truths that are larger than 0 or not."""
    truth = (np.asarray(positive) > 0).astype(float)
    p = np.clip(probability, SMALLEST, 1.0 - SMALLEST)
    parts = [rows for rows in np.array_split(np.argsort(p), BINS) if len(rows)]
    gaps = [len(rows) * abs(float(p[rows].mean() - truth[rows].mean())) for rows in parts]
    return BinaryScores(
        accuracy=float(np.mean((p > 0.5) == (truth > 0.5))),
        log_score=float(np.mean(log_scores(p, truth))),
        brier=float(np.mean((p - truth) ** 2)),
        calibration_error=float(sum(gaps) / len(p)),
    )


def log_scores(probability: Array, positive: AnyArray) -> Array:
    """Log probability of what happened, in each row, by P(+1); of shape (n,)."""
    p = np.clip(probability, SMALLEST, 1.0 - SMALLEST)
    return np.asarray(np.log(np.where(np.asarray(positive) > 0, p, 1.0 - p)))


def roc_area(scores: Array, positive: AnyArray) -> float:
    """Area under the ROC curve of scores of shape (n,), for truths that are larger than 0 or not."""
    return float(roc_auc_score(np.asarray(positive) > 0, scores))


class ReliabilityBin(NamedTuple):
    """Test points of about the same probability.

    Attributes
    ----------
    probability, frequency : float
        Mean probability, and share that is of class +1.
    n : int
    low, high : float
        Where 95 % of the frequencies of n points lie if their probabilities are right.
    """

    probability: float
    frequency: float
    n: int
    low: float
    high: float

    @property
    def outside(self) -> bool:
        """Whether the frequency is not what chance explains."""
        return not self.low <= self.frequency <= self.high


def reliability(probability: Array, positive: AnyArray, bins: int = BINS) -> tuple[ReliabilityBin, ...]:
    """Bins of equal count in the order of the probability; fewer where a bin would hold less than five points."""
    p, right = np.asarray(probability, dtype=float), np.asarray(positive) > 0
    found = []
    for rows in np.array_split(np.argsort(p, kind="stable"), max(1, min(bins, len(p) // FEWEST_IN_BIN))):
        mean, n = float(p[rows].mean()), len(rows)
        low, high = binom.interval(COVERAGE, n, mean)
        found.append(ReliabilityBin(mean, float(right[rows].mean()), n, float(low) / n, float(high) / n))
    return tuple(found)


# --- differences with errors ----------------------------------------------------------------------------------------


class Gain(NamedTuple):
    """A mean difference of paired scores, and its standard error; nan for a single pair."""

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether it is more than two standard errors from nothing."""
        return abs(self.mean) > 2.0 * self.error


def paired_gain(ours: AnyArray | Sequence[float], theirs: AnyArray | Sequence[float]) -> Gain:
    """Ours minus theirs, over the same rows or splits, which are taken as independent."""
    difference = np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)
    n = len(difference)
    return Gain(float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"))


def log_score_gain(probability: Array, reference: Array, positive: AnyArray) -> Gain:
    """Log score (nats a point) of P(+1) minus the reference's, over the same test points."""
    return paired_gain(log_scores(probability, positive), log_scores(reference, positive))


class Decisions(NamedTuple):
    """The confidence in each decision of a test set, and whether it was right; of shape (n,) each."""

    confidence: Array
    correct: AnyArray


def pooled_calibration_error(parts: Sequence[Decisions], without: int | None = None) -> float:
    """Calibration error of the decisions of all parts together, one part left out if asked for.

    ECE is biased upwards by few points in a bin, so that a mean over parts would be too large.
    """
    kept = [part for i, part in enumerate(parts) if i != without]
    return calibration_error(*(np.concatenate(column) for column in zip(*kept, strict=True)))


def calibration_gain(ours: Sequence[Decisions], theirs: Sequence[Decisions]) -> Gain:
    """Pooled calibration error of ours minus theirs, with a standard error by the jackknife over parts."""
    n = len(ours)
    apart = pooled_calibration_error(ours) - pooled_calibration_error(theirs)
    if n < 2:
        return Gain(apart, float("nan"))
    left_out = [pooled_calibration_error(ours, i) - pooled_calibration_error(theirs, i) for i in range(n)]
    return Gain(apart, float(np.std(left_out) * np.sqrt(n - 1)))
