"""Prediction intervals of the regressors, and draws of new targets.

"jackknife+"   from exact leave-one-out errors and models (`press.conformal`): no distribution of the noise is assumed
"cv+"          the same with blocks of rows left out together
"marginal"     quantiles of the predictive distribution with μ, ζ and the kernel's parameters integrated out
"plug-in"      the Gaussian of `predict(return_std=True)`, hyperparameters at their most probable values
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from ..base.intervals import Interval, require_coverage
from ..base.memory import require_matrices
from ..base.typing import Array
from ..kernels import Kernel
from ..press.conformal import folds, jackknife_plus, rank_among
from ..press.left_out_models import LeftOutModels

LEFT_OUT = ("jackknife+", "cv+")
BLOCKS = 10


class LeftOut(NamedTuple):
    """How rows are left out.

    Attributes
    ----------
    method : {"jackknife+", "cv+"}
    n_blocks, seed : int
        For CV+: how many blocks, and the seed of the order of the rows that is cut into them.
    instead : str
        A sentence on what to do where there are too few rows.
    """

    method: str
    n_blocks: int = BLOCKS
    seed: int = 0
    instead: str = "Ask for a smaller coverage."


def check_method(method: Any, allowed: tuple[str, ...]) -> str:
    """Refuse a method that does not exist, or that an estimator does not have."""
    if method not in allowed:
        raise ValueError(f"method must be one of {', '.join(allowed)}, got {method!r}.")
    return str(method)


def left_out_interval(
    kernel: Kernel,
    X: Array,
    y: Array,
    gamma: Array,
    X_new: Array,
    coverage: float,
    how: LeftOut,
    weights: Array | None = None,
) -> Interval:
    """Jackknife+ or CV+ intervals at rows of X_new, at given hyperparameters; of shape (n, L).

    Parameters
    ----------
    kernel, X : the kernel and the training inputs of shape (N, d)
    y : array of shape (N, L)
    gamma : array of shape (L,)
        γ of each output.
    X_new : array of shape (n, d)
    coverage : float
    how : LeftOut
    weights : array of shape (N,), optional
        The noise precision of row i is ζw_i.
    """
    k = rank_among(len(X), coverage, how.instead)
    blocks = folds(len(X), how.n_blocks, how.seed) if how.method == "cv+" else None
    require_matrices(len(X), 3, "Left-out models need a factor of the kernel matrix; fit a subset of the rows.")
    lower, upper = np.empty((len(X_new), y.shape[1])), np.empty((len(X_new), y.shape[1]))
    for own in np.unique(gamma):
        outputs = np.flatnonzero(gamma == own)
        models = LeftOutModels.of(kernel, X, y[:, outputs], float(own), weights)
        errors = models.errors(blocks)
        size = errors if weights is None else errors * np.sqrt(weights)[:, None]  # of a target of weight one
        pieces = [jackknife_plus(p, size, k) for p in models.predictions(X_new, errors, blocks)]
        lower[:, outputs] = np.concatenate([piece.lower for piece in pieces])
        upper[:, outputs] = np.concatenate([piece.upper for piece in pieces])
    return Interval(lower, upper)


def gaussian_interval(mean: Array, std: Array, coverage: float) -> Interval:
    """The central interval of a Gaussian."""
    half = float(ndtri(0.5 + 0.5 * require_coverage(coverage))) * std
    return Interval(mean - half, mean + half)
