"""Importance sampling of a target: the library's, with a proposal at the mode that a search from the prior finds."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from bayes_lssvm.base.streams import stream
from bayes_lssvm.base.typing import Array
from bayes_lssvm.evidence.estimate import EvidenceEstimate
from bayes_lssvm.evidence.importance import importance, moments

from .target import Target, settings_of

_STARTS = 200  # prior draws among which the search for the mode begins
_POLISHED = 3
_STEP = 1e-3  # of the differences for the Hessian


def importance_sampling(
    target: Target, *, seed: int, n: int = 4000, degrees: float = 5.0, draws: Array | None = None
) -> EvidenceEstimate:
    """Evidence of a target by importance sampling.

    Parameters
    ----------
    target : Target
    seed : int
    n : int
        Draws of the proposal.
    degrees : float
        Degrees of freedom ν.
    draws : array of shape (…, d), optional
        Posterior draws to which the proposal is fitted; without them it is laid at the mode.
    """
    rng = stream(seed, "search for a mode")
    fitted = mode_and_covariance(target, rng) if draws is None else moments(draws, target.dim)
    settings = settings_of(target, fitted_to="mode" if draws is None else "draws")
    return importance(target.log_density, [fitted], seed=seed, n=n, degrees=degrees, **settings)


def mode_and_covariance(target: Target, rng: np.random.Generator) -> tuple[Array, Array]:
    """The best mode that searches from prior draws find, and minus the inverse Hessian there."""
    x = target.sample_prior(_STARTS, rng)
    best = x[np.argsort(-np.nan_to_num(target.log_density(x), nan=-np.inf))[:_POLISHED]]

    def cost(point: Array) -> float:
        value = float(target.log_density(point[None])[0])
        return -value if np.isfinite(value) else 1e300

    found = min((minimize(cost, start, method="Nelder-Mead", options=_EXACT) for start in best), key=lambda r: r.fun)
    mode, scale = np.asarray(found.x), _STEP * np.maximum(np.std(x, axis=0), 1e-3)
    precision = -_hessian(target, mode, scale)
    values, vectors = np.linalg.eigh(precision)
    if not values[0] > 0.0:
        raise ValueError(
            "The log density has no negative-definite Hessian at its highest point, which lies on an edge of the "
            "support or on a ridge: give posterior draws to fit the proposal to."
        )
    return mode, np.asarray((vectors / values) @ vectors.T)


_EXACT = {"xatol": 1e-5, "fatol": 1e-9, "maxiter": 4000, "maxfev": 8000}


def _hessian(target: Target, x: Array, scale: Array) -> Array:
    """Hessian of the log density by central differences of steps `scale`."""
    d = len(x)
    steps = np.diag(scale)
    rows, columns = np.triu_indices(d)
    signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    points = [x + a * steps[i] + b * steps[j] for i, j in zip(rows, columns, strict=True) for a, b in signs]
    values = target.log_density(np.array(points)).reshape(-1, 4)
    H = np.zeros((d, d))
    H[rows, columns] = values @ np.array([1.0, -1.0, -1.0, 1.0]) / (4.0 * scale[rows] * scale[columns])
    return np.asarray(H + H.T - np.diag(np.diag(H)))
