"""Class probabilities from leave-one-out outputs: a logistic map fitted to what every point looks like to the others.

A model that interpolates its labels has no residuals to measure its noise on; the outputs z_i^(−i) of the points that
were left out have. They are exact and free (paper 1, eq 12), and paper 0 names them as the way to the densities of the
errors (section 3.2, after Mukherjee et al. and Platt). Regression on labels ±1 estimates E[y | x] = 2P − 1, so that
(1 + z)/2 is a probability as far as it lies between 0 and 1. The map is linear in its log odds, continued smoothly,

    log P(+1 | x) − log P(−1 | x) = a h(z) + b,      h(z) = log softplus(4(1 + z)) − log softplus(4(1 − z)),

    a ~ Normal(1, 4), a ≥ 0,      b ~ Normal(log odds of the classes, 3),

at its most probable a and b: two parameters, a strictly convex problem, finite for outputs that separate the classes.
Away from the data, where the variance of z exceeds the largest of any left-out point, the log odds shrink towards those
of the classes by MacKay's factor. The log odds are bounded by 2 log(N + 1): N points cannot teach more.

Where log odds f(x) of a logistic model are at hand as well, the map takes both, a h(z) + e f + b with e ~ Normal(0, 1):
without evidence for f it is the map of z alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from ..base.typing import Array
from ..base.weights import counted

SLOPE_MEAN, SLOPE_SD, OFFSET_SD = 1.0, 4.0, 3.0
SECOND_SD = 1.0
_SHARPNESS = 4.0  # of the bend at z = ±1
_STEPS = 100
_NEAR, _STILL = 1e-5, 1e-11


@dataclass(frozen=True)
class LogisticMap:
    """The map from outputs to log odds at the training set's class frequencies.

    Attributes
    ----------
    slope, offset : float
        a and b.
    class_log_odds : float
        Log odds of the classes, log N₊/N₋: what is left where the outputs know nothing.
    largest_variance : float
        The largest variance of the output at a left-out point.
    bound : float
        2 log(N + 1).
    """

    slope: float
    offset: float
    class_log_odds: float
    largest_variance: float
    bound: float

    @classmethod
    def fit(cls, outputs: Array, variances: Array, y: Array, weights: Array | None = None) -> LogisticMap:
        """The map for leave-one-out outputs and their variances, of shape (N,), of labels ±1, which may be weighted.

        A negative slope says that the outputs know nothing: where γ → 0 they are the mean of the other labels, which
        is the farther on one side the more labels are on the other. The best slope that is not negative is then zero,
        and the best offset that of the classes.
        """
        plus, rows = y > 0, counted(weights, len(y))
        classes = float(np.log(rows[plus].sum()) - np.log(rows[~plus].sum()))
        slope, offset = _most_probable([label_log_odds(outputs)], plus.astype(float), classes, rows)
        if slope < 0.0:
            slope, offset = 0.0, classes
        return cls(slope, offset, classes, float(variances.max()), 2.0 * float(np.log(rows.sum() + 1.0)))

    def log_odds(self, z: Array, variance: Array) -> Array:
        """Log P(y=+1 | x) − log P(y=−1 | x) at the training frequencies, for outputs z and their variances."""
        return self._within_reach(self.slope * label_log_odds(z) + self.offset, self.slope, variance)

    def _within_reach(self, odds: Array, slope: float, variance: Array) -> Array:
        """Log odds that shrink away from the data by MacKay's factor: h is about 2z where the classes meet."""
        with np.errstate(over="ignore"):
            odds = np.clip(odds, -self.bound, self.bound)
            excess = np.maximum(variance - self.largest_variance, 0.0)
            shrunk = (odds - self.class_log_odds) / np.sqrt(1.0 + np.pi / 8.0 * (2.0 * slope) ** 2 * excess)
        return np.clip(self.class_log_odds + shrunk, -self.bound, self.bound)


@dataclass(frozen=True)
class JointMap(LogisticMap):
    """The map from outputs z and log odds f of a logistic model to log odds: a h(z) + e f + b.

    Attributes
    ----------
    second : float
        e.
    """

    second: float = 0.0

    @classmethod
    def fit_both(
        cls, outputs: Array, variances: Array, second: Array, y: Array, weights: Array | None = None
    ) -> JointMap:
        """The map for leave-one-out outputs, their variances and leave-one-out log odds f, each of shape (N,).

        Where the best map falls as both rise, f is left out.
        """
        alone = LogisticMap.fit(outputs, variances, y, weights)
        rows, t = counted(weights, len(y)), (y > 0).astype(float)
        found = _most_probable([label_log_odds(outputs), second], t, alone.class_log_odds, rows)
        slope, e, offset = found if found[0] + found[1] > 0.0 else (alone.slope, 0.0, alone.offset)
        return cls(slope, offset, alone.class_log_odds, alone.largest_variance, alone.bound, e)

    def joint_log_odds(self, z: Array, variance: Array, second: Array) -> Array:
        """Log P(y=+1 | x) − log P(y=−1 | x) at the training frequencies; f, too, is about 2z where the classes meet."""
        odds = self.slope * label_log_odds(z) + self.second * second + self.offset
        return self._within_reach(odds, self.slope + self.second, variance)


def left_out_cost(z: Array, y: Array, weights: Array | None = None) -> tuple[float, Array]:
    """−log likelihood of labels ±1 by the best map of their leave-one-out outputs, in nats, and its slopes ∂/∂z_i."""
    t, rows = (y > 0).astype(float), counted(weights, len(y))
    centre = float(np.log(rows @ t) - np.log(rows @ (1.0 - t)))
    slope, offset = _most_probable([label_log_odds(z)], t, centre, rows)
    if slope <= 0.0:
        slope, offset = 0.0, centre
    odds = slope * label_log_odds(z) + offset
    own = 0.5 * ((slope - SLOPE_MEAN) / SLOPE_SD) ** 2 + 0.5 * ((offset - centre) / OFFSET_SD) ** 2
    value = float(rows @ (np.logaddexp(0.0, odds) - t * odds)) + own
    # a and b are at their optimum, or held, so that only z moves
    return value, rows * (expit(odds) - t) * slope * _bend(z)


def _bend(z: Array) -> Array:
    """dh/dz."""
    total = np.zeros_like(z)
    for side in (1.0, -1.0):
        x = np.maximum(_SHARPNESS * (1.0 + side * z), -30.0)
        total += _SHARPNESS * expit(x) / np.logaddexp(0.0, x)
    return total


def label_log_odds(z: Array) -> Array:
    """h(z): the log odds of (1 + z)/2 between the labels, and a straight line of slope 4 beyond them."""
    return _log_softplus(_SHARPNESS * (1.0 + z)) - _log_softplus(_SHARPNESS * (1.0 - z))


def _log_softplus(x: Array) -> Array:
    """Log log(1 + eˣ), which is x itself far below zero."""
    return np.where(x > -30.0, np.log(np.logaddexp(0.0, np.maximum(x, -30.0))), x)


def _most_probable(inputs: list[Array], t: Array, centre: float, rows: Array) -> tuple[float, ...]:
    """A, e if f is given, and b, by Newton's method with step halving.

    For h(z) and f, each of shape (N,), labels t in {0, 1} and row counts.
    """
    features = np.stack([*inputs, np.ones_like(t)], axis=1)  # [N, 2] or [N, 3]
    others = len(inputs) - 1
    middle = np.array([SLOPE_MEAN, *[0.0] * others, centre])
    precision = np.array([SLOPE_SD, *[SECOND_SD] * others, OFFSET_SD]) ** -2.0

    def cost(point: Array) -> float:
        odds = features @ point
        return float(rows @ (np.logaddexp(0.0, odds) - t * odds) + 0.5 * np.sum(precision * (point - middle) ** 2))

    point = middle.copy()
    for _ in range(_STEPS):
        p = expit(features @ point)
        gradient = features.T @ (rows * (p - t)) + precision * (point - middle)
        hessian = (features.T * (rows * p * (1.0 - p))) @ features + np.diag(precision)
        step = np.linalg.solve(hessian, gradient)
        length = float(np.abs(step).max())
        # near the optimum rounding hides the gain of a step that the gradient still asks for
        while length > _NEAR and cost(point - step) > cost(point):
            step = 0.5 * step
        point = point - step
        if length < _STILL:
            break
    return tuple(point.tolist())
