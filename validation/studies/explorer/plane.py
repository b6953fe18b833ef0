"""What the model of one width predicts over the plane of the two inputs.

For classes P(+1 | x) of `BayesianLSSVC` with the kernel held: μ and ζ at the highest point of the posterior that the
page shows, probabilities by the library's default, a logistic map of leave-one-out outputs. For real targets the mean
of `BayesianLSSVR`, in standard deviations of the targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR
from bayes_lssvm.base.errors import quiet
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from validation.ladder import PRIOR

from .packed import grid_points, pack

_MARGIN = 0.08
_MEANS = 2.5  # ends of the scale of real targets, in standard deviations


def window_of(X: Array) -> list[float]:
    """(low, high) of the first input, then of the second: the data, and a margin."""
    low, high = X.min(axis=0), X.max(axis=0)
    edge = _MARGIN * (high - low)
    return [round(float(value), 4) for pair in zip(low - edge, high + edge, strict=True) for value in pair]


def on_the_plane(sigma: float, X: Array, y: Array, side: int, task: str) -> dict[str, Any]:
    """Predictions on a grid; for classes also how labels that are left out one at a time are predicted."""
    points = grid_points(window_of(X), side)
    options: dict[str, Any] = {"refine": False, "prior": PRIOR, "standardise": False}
    with quiet():
        if task == "regression":
            means = np.asarray(BayesianLSSVR(RBF(sigma), **options).fit(X, y).predict(points))
            return {"plane": pack(means.reshape(side, side), -_MEANS, _MEANS, 1), "leave_one_out": None}
        model = BayesianLSSVC(RBF(sigma), **options).fit(X, y)
        positive = model.predict_proba(points)[:, 1].reshape(side, side)
        odds = y * model.left_out_log_odds()
    scores = {"error": float(np.mean(odds <= 0)), "log_score": -float(np.logaddexp(0.0, -odds).mean())}
    return {"plane": pack(positive, 0.0, 1.0, 1), "leave_one_out": scores}
