"""Scores of predictions on test rows, the same for every algorithm and every table.

    accuracy   percentage of correct labels; error = 100 − accuracy
    log score  mean log probability of the true class, in nats; larger is better
    Brier      mean over rows of Σ_c (p_c − [c is the truth])², from 0 to 2; smaller is better
    ECE        expected calibration error: Σ_b (n_b / n) |mean confidence − accuracy| over ten bins of equal width of
               the largest class probability; bins are (0, 0.1], (0.1, 0.2], …, and smaller is better

Test labels are seen here and by no algorithm.
"""

from __future__ import annotations

import numpy as np

from bayes_lssvm.base.typing import AnyArray, Array

ECE_BINS = 10
SMALLEST = (
    1e-12  # probabilities below it count as it, so that one sure and wrong prediction leaves the log score finite
)


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


def calibration_error(confidence: Array, correct: AnyArray) -> float:
    """Expected calibration error of confidences of shape (n,) whose predictions were correct or not."""
    edges = np.linspace(0.0, 1.0, ECE_BINS + 1)
    bins = np.clip(np.digitize(confidence, edges[1:-1], right=True), 0, ECE_BINS - 1)
    counts = np.bincount(bins, minlength=ECE_BINS)
    gaps = np.bincount(bins, confidence - np.asarray(correct, dtype=np.float64), minlength=ECE_BINS)
    return float(np.abs(gaps).sum() / counts.sum())  # n_b · |mean of a bin| = |sum of a bin|


def _check(p: Array, n: int, C: int) -> None:
    if p.shape != (n, C):
        raise ValueError(f"probabilities need the shape ({n}, {C}), rows by classes; got {p.shape}.")
    off = float(np.abs(p.sum(axis=1) - 1.0).max())
    if not (p >= 0.0).all() or not off < 1e-6:
        raise ValueError(f"Rows of probabilities must be at least 0 and sum to 1; the worst sum is off by {off:.2g}.")
