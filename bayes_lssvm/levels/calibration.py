"""Are the probabilities right? Those of rows that a model did not see, beside what was observed.

Two questions are put to them:

    log score      mean of log P(y_i) − log f(y_i), f the class frequencies, with its standard error
    reliability    for each class, rows in groups by P(class): the number of them that are of it against Σ P,

the second by χ² = Σ z², where z is the normal deviate of the observed number under the exact (Poisson binomial)
distribution, so that few expected events do no harm. The map of the leave-one-out form has two parameters that were
fitted to the same outputs: they take two degrees of freedom from χ², as those of a logistic regression do (Hosmer and
Lemeshow), and make the log score too good by about 1/N nats, a fraction of its error, which is left as it is. The rows
are taken as independent, though each has a share in the models of the others. Rows with equal inputs stay in one group:
left out, those of one class have a lower probability of it than their twins of another, which would sort them by label.

A row whose weight is a whole number n is n equal rows. Other weights c_i, scaled to a mean of one, are shares that the
rows have in all sums, as they have in the class frequencies and in the map; Σ c (y − P) then has the variance
Σ c² P(1 − P), and z is its ratio to the root of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtri

from ..base.typing import AnyArray, Array
from ..base.weights import are_counts, counted

_FEWEST_GROUPS, _MOST_GROUPS = 2, 10  # two at least, so that errors of both kinds do not cancel
_LEAST_VARIANCE = 2.0  # ΣP(1 − P) of a group, where there are more than two
_FITTED = 2  # parameters of the map
_TOLD = 3.0  # nats that the probabilities of all rows together claim over class frequencies, so that they differ
_SMALLEST, _ROUNDING = 1e-300, 1e-12


class Group(NamedTuple):
    """Rows to which a class was given about the same probability."""

    label: int
    size: int
    predicted: float
    observed: float
    error: float  # standard deviation of `observed` if `predicted` is right
    deviate: float


@dataclass(frozen=True)
class Calibration:
    """How good the probabilities of rows are that the model did not see.

    Attributes
    ----------
    gain, gain_error : float
        Mean log score minus that of the class frequencies, in nats, and its standard error.
    chi2, degrees : float, int
        Of the class whose frequencies agree least.
    chance : float
        Of so large a χ² if the probabilities are right, times the number of classes that were looked at, at most one.
        NaN where the rows' probabilities hardly differ from the class frequencies, and there is nothing to compare.
    groups : tuple of Group
        Of that class, by ascending probability.

    Examples
    --------
    >>> from bayes_lssvm import BayesianLSSVC, trust
    >>> from bayes_lssvm.datasets import load
    >>> found = trust(*load("iris").Xy, kernel="linear", task="classification", progress=False).calibration
    >>> found.gain > 2 * found.gain_error
    True
    """

    gain: float
    gain_error: float
    chi2: float
    degrees: int
    chance: float
    groups: tuple[Group, ...]

    @property
    def gain_deviate(self) -> float:
        """The gain in standard errors; zero where every row is predicted by its class frequency."""
        return 0.0 if abs(self.gain) < _ROUNDING else self.gain / max(self.gain_error, _ROUNDING)

    @property
    def deviate(self) -> float:
        """The normal deviate that is exceeded with the probability `chance`, zero where that is above one half."""
        return -float(ndtri(np.clip(self.chance, _SMALLEST, 0.5)))

    @property
    def farthest(self) -> Group:
        """The group whose observed frequency is farthest from the predicted one, in its errors."""
        return max(self.groups, key=lambda group: abs(group.deviate))


def calibration(
    probabilities: Array, labels: AnyArray, inputs: AnyArray | None = None, weights: Array | None = None
) -> Calibration:
    """Compare probabilities with labels.

    Parameters
    ----------
    probabilities : array of shape (N, M)
    labels : array of int of shape (N,)
        Of the same rows, from 0 to M − 1.
    inputs : array of int of shape (N,), optional
        The same number for rows with equal inputs; all differ by default.
    weights : array of shape (N,), optional
        Of the rows.
    """
    twins = np.arange(len(labels)) if inputs is None else inputs
    if weights is not None and are_counts(weights):
        times = weights.astype(int)
        probabilities, labels, twins, weights = (
            probabilities.repeat(times, 0),
            labels.repeat(times),
            twins.repeat(times),
            None,
        )
    n, n_classes = probabilities.shape
    c = counted(weights, n)
    frequencies = np.bincount(labels, c, minlength=n_classes) / n
    gains = np.log(np.maximum(probabilities[np.arange(n), labels], _SMALLEST)) - np.log(frequencies[labels])
    gain = float(c @ gains) / n
    error = float(np.sqrt(np.sum((c * (gains - gain)) ** 2) / (n * (n - 1))))
    # two classes are one comparison, as P and 1 − P say the same
    tested = range(1, 2) if n_classes == 2 else range(n_classes)
    # rows that are told apart by nothing are sorted by what leaving them out does to the mean of the others
    claimed = float(c @ np.sum(probabilities * np.log(np.maximum(probabilities, _SMALLEST) / frequencies), axis=1))
    if claimed * n / float(c @ c) < _TOLD:
        return Calibration(gain, error, np.nan, 0, np.nan, ())
    shares = None if weights is None else c
    each_class = [reliability_groups(probabilities[:, k], labels == k, twins, k, shares) for k in tested]
    found = [(groups, *_chi2(groups)) for groups in each_class]
    groups, chi2, degrees = min(found, key=lambda each: float(chdtrc(each[2], each[1])))
    chance = min(1.0, len(found) * float(chdtrc(degrees, chi2)))
    return Calibration(gain, error, chi2, degrees, chance, groups)


def _chi2(groups: tuple[Group, ...]) -> tuple[float, int]:
    degrees = len(groups) - _FITTED if len(groups) > _FITTED else len(groups)
    return float(sum(group.deviate**2 for group in groups)), degrees


def reliability_groups(
    p: Array, happened: AnyArray, twins: AnyArray, label: int = 1, shares: Array | None = None
) -> tuple[Group, ...]:
    """Rows in order of p, the mean of their twins', cut into groups of equal variance; what is equal stays together.

    Equal numbers of rows would make groups in which nothing is expected to happen where classes are easy to tell apart.
    """
    means = np.bincount(twins, weights=p) / np.maximum(np.bincount(twins), 1)
    _, block = np.unique(means[twins], return_inverse=True)  # by ascending p
    own = np.maximum(p * (1.0 - p), _SMALLEST)
    # rows of unequal shares are worth fewer: Σc = N of them are worth N²/Σc²
    variance = np.bincount(block, weights=own if shares is None else own * shares**2 * len(p) / float(shares @ shares))
    total = float(variance.sum())
    count = int(np.clip(total // _LEAST_VARIANCE, _FEWEST_GROUPS, _MOST_GROUPS))
    middle = np.cumsum(variance) - 0.5 * variance
    number = np.minimum((count * middle / total).astype(int), count - 1)[block]
    return tuple(
        _group(p[own], happened[own], label, None if shares is None else shares[own])
        for k in range(count)
        if (own := number == k).any()
    )


def _group(p: Array, happened: AnyArray, label: int, shares: Array | None) -> Group:
    c = np.ones(len(p)) if shares is None else shares
    total, sd = float(c.sum()), float(np.sqrt(np.sum(c**2 * p * (1.0 - p))))
    predicted, observed = float(c @ p) / total, float(c @ happened) / total
    deviate = (
        _deviate(p, int(happened.sum())) if shares is None else (observed - predicted) * total / max(sd, _SMALLEST)
    )
    return Group(label, len(p), predicted, observed, sd / total, deviate)


def _deviate(p: Array, observed: int) -> float:
    """The normal deviate of a number of events of probabilities p, by its exact distribution (half of its own mass)."""
    mass = np.zeros(len(p) + 1)
    mass[0] = 1.0
    for each in p:
        mass[1:] = mass[1:] * (1.0 - each) + mass[:-1] * each
        mass[0] *= 1.0 - each
    below, above = float(mass[:observed].sum()), float(mass[observed + 1 :].sum())
    own = 0.5 * float(mass[observed])
    if below < above:
        return float(ndtri(max(below + own, _SMALLEST)))
    return -float(ndtri(max(above + own, _SMALLEST)))
