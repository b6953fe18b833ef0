"""Ties, said: models that differ and that the criterion cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..base.errors import TiedOptimaWarning, warn
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..levels.solvers import solve_cholesky

__all__ = ["Candidate", "warn_of_alike_classes", "warn_of_alike_columns", "warn_of_idle_parameters", "warn_of_ties"]

_TIED = 1e-6  # nats
_SAME_FIT = 1e-3  # of the targets' standard deviation
_SAME_PARAMETER = 1e-6
_NUDGE, _SAME_MATRIX = 0.05, 1e-12  # in a log parameter, and of the largest entry of a kernel matrix
_FEW_ROWS = 200


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


def warn_of_alike_classes(names: AnyArray, coding: str) -> None:
    """Warn of classes with equal rows, of which a code book must give each another code word."""
    warn(
        f"A tie: the data stay the same when the classes {', '.join(map(repr, names.tolist()))} are swapped, but "
        f"coding={coding!r} gives each another code word; under other names their probabilities may be exchanged.",
        TiedOptimaWarning,
    )


def warn_of_idle_parameters(value: Callable[[Kernel], float], kernel: Kernel, X: Array, edges: AnyArray) -> None:
    """Warn of parameters that can be moved with no change in the kernel matrix of X: only new points see them.

    Parameters
    ----------
    value : callable
        The criterion in nats: a prior may tell apart what the matrix does not.
    kernel : Kernel
    X : array of shape (N, d)
    edges : array of bool of shape (P,)
        Parameters at an edge of the searched box, which is a rule of its own for where to stop.
    """
    own = kernel.log_params
    for j in np.flatnonzero(~edges).tolist():
        moved = [kernel.with_log_params(own + step * np.eye(len(own))[j]) for step in (-_NUDGE, _NUDGE)]
        if not all(_same_matrix(kernel, other, X) for other in moved):
            continue
        if max(abs(value(other) - value(kernel)) for other in moved) < _TIED:
            warn(
                f"A tie: other values of {kernel.param_names[j]} of {kernel!s} give the same kernel matrix of the "
                "training points, and so the same criterion, but other predictions between these points; one of them "
                "was taken.",
                TiedOptimaWarning,
            )
            return


def _same_matrix(one: Kernel, other: Kernel, X: Array) -> bool:
    """On some rows first, which nearly always tells."""
    for rows in (X[:: max(1, len(X) // _FEW_ROWS)], X):
        K = one(rows)
        if np.abs(other(rows) - K).max() > _SAME_MATRIX * np.abs(K).max():
            return False
    return True
