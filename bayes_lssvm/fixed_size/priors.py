"""The prior of the hyperparameters of each bit, from sums over rows."""

from __future__ import annotations

import numpy as np

from ..base.typing import Array
from ..kernels import Kernel
from ..levels.default_prior import prior_of_labels, prior_of_targets
from ..priors import HyperPrior
from .statistics import Statistics


def shares(counts: Array, code: Array) -> Array:
    """Share of +1 among the rows of each bit, by their number or their weights."""
    return np.asarray((code > 0).T @ counts / ((code != 0).T @ counts))


def priors_of(
    given: HyperPrior | None, kernel: Kernel, d: int, statistics: Statistics, code: Array | None
) -> list[HyperPrior]:
    """The prior of each bit."""
    width = np.empty((0, d))
    if code is None:
        mass = float(statistics.masses.sum())
        variance = statistics.target_square / mass - (statistics.target_sum / mass) ** 2
        return [given or prior_of_targets(kernel, width, variance)]
    return [given or prior_of_labels(kernel, width, float(p)) for p in shares(statistics.masses, code)]
