"""Prediction intervals of the regressors, and draws of new targets.

"jackknife+"   from exact leave-one-out errors and models (`press.conformal`): no distribution of the noise is assumed
"cv+"          the same with blocks of rows left out together
"marginal"     quantiles of the predictive distribution with μ, ζ and the kernel's parameters integrated out
"plug-in"      the Gaussian of `predict(return_std=True)`, hyperparameters at their most probable values

Where rows differ in their noise, an error e_i of a left-out row says how large one at x would be: with the variance u_i
of the function without the row, and the noise variances s_i of the row and s(x) of the new target, it stands for an
error e_i √((u_i + s(x))/(u_i + s_i)). For equal noise that is e_i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from ..base.intervals import Interval, require_coverage
from ..base.memory import require_matrices
from ..base.typing import Array
from ..kernels import Kernel
from ..press.conformal import folds, jackknife_plus, rank_among
from ..press.left_out_models import LeftOutModels

LEFT_OUT = ("jackknife+", "cv+")
BLOCKS = 10
_NODES = 128
_HALVINGS = 55


class Noise(NamedTuple):
    """Weights of the training rows, and the noise that is expected of rows and of new targets, in units of 1/ζ.

    Attributes
    ----------
    weights : array of shape (N,)
        The model has the noise precision ζw_i of row i.
    rows : array of shape (N,)
        Noise variance of the row as one would expect it; 1/w_i, unless w_i is what its own error suggests.
    new : array of shape (n,)
        Noise variance of new targets.
    """

    weights: Array
    rows: Array
    new: Array

    @classmethod
    def given(cls, weights: Array | None, n: int) -> Noise | None:
        """For given weights and n targets of weight one; None for rows of equal weight."""
        return None if weights is None else cls(weights, 1.0 / weights, np.ones(n))

    def sizes(self, errors: Array, variances: Array, gamma: float, start: int, count: int) -> Array:
        """What errors of shape (N, L) stand for at new targets from `start` on, of shape (count, N, L).

        `variances` are those of the errors times μ, of shape (N,).
        """
        latent = np.maximum(variances - 1.0 / (gamma * self.weights), 0.0)  # u_i; the rest is the noise of the row
        there = latent + self.new[start : start + count, None] / gamma
        return np.sqrt(there / (latent + self.rows / gamma))[:, :, None] * errors


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
    noise: Noise | None = None,
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
    noise : Noise, optional
        Where rows or new targets differ in it.
    """
    k = rank_among(len(X), coverage, how.instead)
    blocks = folds(len(X), how.n_blocks, how.seed) if how.method == "cv+" else None
    require_matrices(len(X), 3, "Left-out models need a factor of the kernel matrix; fit a subset of the rows.")
    lower, upper = np.empty((len(X_new), y.shape[1])), np.empty((len(X_new), y.shape[1]))
    for own in np.unique(gamma):
        outputs = np.flatnonzero(gamma == own)
        models = LeftOutModels.of(kernel, X, y[:, outputs], float(own), None if noise is None else noise.weights)
        errors, pieces, start = models.errors(blocks), [], 0
        variances = None if noise is None else models.variances(blocks)
        for predictions in models.predictions(X_new, errors, blocks):
            size = errors
            if noise is not None and variances is not None:
                size = noise.sizes(errors, variances, float(own), start, len(predictions))
            pieces.append(jackknife_plus(predictions, size, k))
            start += len(predictions)
        lower[:, outputs] = np.concatenate([piece.lower for piece in pieces])
        upper[:, outputs] = np.concatenate([piece.upper for piece in pieces])
    return Interval(lower, upper)


def gaussian_interval(mean: Array, std: Array, coverage: float) -> Interval:
    """The central interval of a Gaussian."""
    half = float(ndtri(0.5 + 0.5 * require_coverage(coverage))) * std
    return Interval(mean - half, mean + half)


def student_interval(mean: Array, std: Array, scale: float, nu: float, coverage: float) -> Interval:
    """The central interval of f + e for f ~ Normal(mean, std²) and t noise e of ν degrees of freedom and a scale.

    With the noise as Normal(0, scale²/τ), τ ~ Gamma(ν/2, ν/2), P(|f − mean + e| < h) is a mean over τ of Gaussians', by
    the trapezoidal rule in log τ; h is found by bisection.
    """
    reach = 80.0 / nu + np.sqrt(160.0 / nu)  # beyond it the density of log τ has fallen by e⁻⁴⁰
    u = np.linspace(-reach, np.sqrt(160.0 / nu) + np.log1p(80.0 / nu), _NODES)
    p = np.exp(0.5 * nu * (u + 1.0 - np.exp(u)))
    p /= p.sum()
    sd = np.sqrt(np.square(std)[:, None] + scale**2 * np.exp(-u))  # [n, nodes]
    upper = 0.5 + 0.5 * require_coverage(coverage)
    low, high = np.zeros_like(mean), np.sqrt(np.square(std) + scale**2)

    def below(h: Array) -> Array:
        return np.asarray(ndtr(h[:, None] / sd) @ p)

    while np.any(short := below(high) < upper):
        high = np.where(short, 2.0 * high, high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        short = below(middle) < upper
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return Interval(mean - high, mean + high)
