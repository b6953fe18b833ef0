"""ROC analysis of two-class scores, and the comparison of its areas over randomisations.

At a cut-off c the test is positive where P(y = +1 | x) ≥ c. Sensitivity is the share of the positive cases that are
found, specificity the share of the negative ones that are left alone; the ROC curve has sensitivity against
1 − specificity for all cut-offs, and AUC is the area below it. Curves of several randomisations are averaged
vertically: sensitivities at the same false positive rate.

Randomisations share rows, so that the plain standard error of a mean difference is too small. The corrected one
(Nadeau and Bengio, 2003) is sd · √(1/J + n_test/n_train) for J randomisations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_curve

from bayes_lssvm.base.typing import AnyArray, Array
from validation.harness.scores import roc_area, score

CUT_OFFS = (0.5, 0.4, 0.3)
"""Of the paper's tables, in their order."""
FALSE_POSITIVE_RATES: Array = np.linspace(0.0, 1.0, 101)
_CLASSES = np.array([-1.0, 1.0])


def analyse(log_odds: Array, probability: Array, y: Array) -> dict[str, Any]:
    """AUC, curve, and figures at the cut-offs, of one model on one test set.

    Parameters
    ----------
    log_odds : array of shape (n,)
        Of class +1: they rank the cases also where probabilities are rounded to 0 or 1.
    probability : array of shape (n,)
        P(y = +1 | x).
    y : array of shape (n,)
        Labels ±1; both occur.

    Returns
    -------
    dict
        auc; sensitivity at each of `FALSE_POSITIVE_RATES`; accuracy, sensitivity and specificity in % under each
        cut-off, as text; log_score, brier and ece as in `scores`.
    """
    if not (np.any(y > 0) and np.any(y < 0)):
        raise ValueError(f"An ROC curve needs cases of both classes; all {len(y)} labels are {y[0]:+g}.")
    false_positive, true_positive, _ = roc_curve(y, log_odds, pos_label=1.0, drop_intermediate=False)
    both = score(np.where(probability > 0.5, 1.0, -1.0), np.column_stack([1.0 - probability, probability]), y, _CLASSES)
    return {
        "auc": roc_area(log_odds, y),
        "curve": _at_rates(false_positive, true_positive),
        "cut_offs": {f"{c:g}": at_cut_off(probability, y, c) for c in CUT_OFFS},
        **{name: both[name] for name in ("log_score", "brier", "ece")},
    }


def _at_rates(false_positive: Array, true_positive: Array) -> Array:
    """Sensitivity at the fixed rates; at a vertical step its upper end, and 0 at the origin's lower one."""
    last = np.append(false_positive[1:] > false_positive[:-1], True)
    return np.interp(FALSE_POSITIVE_RATES, false_positive[last], true_positive[last])


def at_cut_off(probability: Array, y: Array, cut_off: float) -> dict[str, float]:
    """Accuracy, sensitivity and specificity in %."""
    positive = probability >= cut_off
    return {
        "accuracy": 100.0 * float(np.mean(positive == (y > 0))),
        "sensitivity": 100.0 * float(np.mean(positive[y > 0])),
        "specificity": 100.0 * float(np.mean(~positive[y < 0])),
    }


class Difference(NamedTuple):
    """A paired difference over randomisations.

    Attributes
    ----------
    mean, se : float
        With the corrected standard error; nan for fewer than two randomisations.
    larger : int
        Randomisations in which the first is the larger one.
    runs : int
        Randomisations.
    """

    mean: float
    se: float
    larger: int
    runs: int

    @property
    def z(self) -> float:
        """Mean over its standard error; nan where that is zero or unknown."""
        return self.mean / self.se if self.se > 0.0 else math.nan


def paired_difference(first: Sequence[float], second: Sequence[float], *, n_train: int, n_test: int) -> Difference:
    """First − second, one score a randomisation each, in the same order."""
    if len(first) != len(second):
        raise ValueError(f"Paired scores need the same randomisations; there are {len(first)} and {len(second)}.")
    d: AnyArray = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    if not len(d):
        return Difference(math.nan, math.nan, 0, 0)
    se = float(np.std(d, ddof=1)) * math.sqrt(1.0 / len(d) + n_test / n_train) if len(d) > 1 else math.nan
    return Difference(float(d.mean()), se, int(np.sum(d > 0.0)), len(d))
