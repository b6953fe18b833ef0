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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtri

from ..base.typing import AnyArray, Array

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


def calibration(probabilities: Array, labels: AnyArray, inputs: AnyArray | None = None) -> Calibration:
    """Compare probabilities with labels.

    Parameters
    ----------
    probabilities : array of shape (N, M)
    labels : array of int of shape (N,)
        Of the same rows, from 0 to M − 1.
    inputs : array of int of shape (N,), optional
        The same number for rows with equal inputs; all differ by default.
    """
    n, n_classes = probabilities.shape
    frequencies = np.bincount(labels, minlength=n_classes) / n
    gains = np.log(np.maximum(probabilities[np.arange(n), labels], _SMALLEST)) - np.log(frequencies[labels])
    error = float(gains.std(ddof=1) / np.sqrt(n))
    # two classes are one comparison, as P and 1 − P say the same
    tested = range(1, 2) if n_classes == 2 else range(n_classes)
    # rows that are told apart by nothing are sorted by what leaving them out does to the mean of the others
    claimed = float(np.sum(probabilities * np.log(np.maximum(probabilities, _SMALLEST) / frequencies)))
    if claimed < _TOLD:
        return Calibration(float(gains.mean()), error, np.nan, 0, np.nan, ())
    twins = np.arange(n) if inputs is None else inputs
    each_class = [reliability_groups(probabilities[:, c], labels == c, twins, c) for c in tested]
    found = [(groups, *_chi2(groups)) for groups in each_class]
    groups, chi2, degrees = min(found, key=lambda each: float(chdtrc(each[2], each[1])))
    chance = min(1.0, len(found) * float(chdtrc(degrees, chi2)))
    return Calibration(float(gains.mean()), error, chi2, degrees, chance, groups)


def _chi2(groups: tuple[Group, ...]) -> tuple[float, int]:
    degrees = len(groups) - _FITTED if len(groups) > _FITTED else len(groups)
    return float(sum(group.deviate**2 for group in groups)), degrees


def reliability_groups(p: Array, happened: AnyArray, twins: AnyArray, label: int = 1) -> tuple[Group, ...]:
    """Rows in order of p, the mean of their twins', cut into groups of equal variance; what is equal stays together.

    Equal numbers of rows would make groups in which nothing is expected to happen where classes are easy to tell apart.
    """
    means = np.bincount(twins, weights=p) / np.maximum(np.bincount(twins), 1)
    _, block = np.unique(means[twins], return_inverse=True)  # by ascending p
    variance = np.bincount(block, weights=np.maximum(p * (1.0 - p), _SMALLEST))
    total = float(variance.sum())
    count = int(np.clip(total // _LEAST_VARIANCE, _FEWEST_GROUPS, _MOST_GROUPS))
    middle = np.cumsum(variance) - 0.5 * variance
    number = np.minimum((count * middle / total).astype(int), count - 1)[block]
    return tuple(_group(p[own], happened[own], label) for k in range(count) if (own := number == k).any())


def _group(p: Array, happened: AnyArray, label: int) -> Group:
    error = float(np.sqrt(np.sum(p * (1.0 - p)))) / len(p)
    deviate = _deviate(p, int(happened.sum()))
    return Group(label, len(p), float(p.mean()), float(happened.mean()), error, deviate)


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
