"""Ties, said: models that differ and that the criterion cannot tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..base.errors import TiedOptimaWarning, warn
from ..base.typing import Array
from ..kernels import Kernel
from ..levels.solvers import solve_cholesky

__all__ = ["Candidate", "warn_of_alike_columns", "warn_of_ties"]

_TIED = 1e-6  # nats
_SAME_FIT = 1e-3  # of the targets' standard deviation
_SAME_PARAMETER = 1e-6


class Candidate(NamedTuple):
    """A model on inputs X of shape (N, d), and the criterion in nats, the larger the better."""

    X: Array
    kernel: Kernel
    gamma: float
    value: float


def warn_of_ties(y: Array, candidates: Sequence[Candidate]) -> None:
    """Warn where a candidate is as good as the first, the best, and fits targets y of shape (N,) otherwise."""
    best, *others = candidates
    close = [other for other in others if best.value - other.value < _TIED]
    if not close:
        return
    fit, spread = _fit(y, best), float(np.std(y))
    for other in close:
        if np.abs(_fit(y, other) - fit).max() > _SAME_FIT * spread:
            warn(
                f"A tie: {best.kernel!s} with γ = {best.gamma:.4g} and {other.kernel!s} with γ = {other.gamma:.4g} "
                "are equally good by the criterion but predict differently; the first was taken.",
                TiedOptimaWarning,
            )
            return


def _fit(y: Array, model: Candidate) -> Array:
    K = model.kernel(model.X)
    alpha, intercept = solve_cholesky(K, y, model.gamma)
    return np.asarray(K @ alpha + intercept)


def warn_of_alike_columns(alike: Sequence[Sequence[int]], relevance: Array) -> None:
    """Warn where columns that can be swapped with no change in the data got different relevances, of shape (d,)."""
    for group in alike:
        own = relevance[list(group)]
        if np.ptp(own) > _SAME_PARAMETER * np.abs(own).max():
            names = ", ".join(map(str, group))
            warn(
                f"A tie: the data stay the same when columns {names} of X are swapped, but the model that was "
                "found does not; the one with these columns swapped is equally good.",
                TiedOptimaWarning,
            )
            return
