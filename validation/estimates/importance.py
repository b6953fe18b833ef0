"""Importance sampling of the evidence: a Student proposal at the mode, or fitted to draws.

    Z = ∫ q(x) dx ≃ (1/n) Σ w_j,        w_j = q(x_j) / t_ν(x_j; m, S),        x_j ~ t_ν(m, S)

m and S are the mode and the inverse of minus the Hessian there, or mean and covariance of draws. Heavy tails (ν = 5)
bound the weights where q is close to Gaussian. The largest weights are Pareto-smoothed; k̂ above 0.7 says that the
proposal misses too much of q for the average, or its standard error, to be believed.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from bayes_lssvm.base.arviz import pareto_smooth
from bayes_lssvm.base.provenance import provenance
from bayes_lssvm.base.typing import Array

from .estimate import EvidenceEstimate
from .target import Target, settings_of

_STARTS = 200  # prior draws among which the search for the mode begins
_POLISHED = 3
_STEP = 1e-3  # of the differences for the Hessian
K_HAT_LIMIT = 0.7


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
    if n < 100:
        raise ValueError(f"Importance sampling needs 100 draws or more for its error to mean anything, got n = {n}.")
    rng = np.random.default_rng(seed)
    location, shape = mode_and_covariance(target, rng) if draws is None else _moments(draws, target.dim)
    proposal = multivariate_t(location, shape, df=degrees, seed=rng)
    x = np.reshape(proposal.rvs(n), (n, target.dim))
    log_q = target.log_density(x)
    if np.any(np.isnan(log_q) | np.isposinf(log_q)) or not np.any(np.isfinite(log_q)):
        raise ValueError("The log density is NaN or infinite at draws of the proposal, or −inf at all of them.")
    log_weights = log_q - np.reshape(proposal.logpdf(x), n)
    smoothed, k_hat = pareto_smooth(log_weights)
    weights = np.exp(smoothed - smoothed.max())
    concerns = [] if k_hat < K_HAT_LIMIT else [f"k̂ = {k_hat:.2f}: the proposal misses too much of the density"]
    diagnostics = {
        "k_hat": k_hat,
        "effective_draws": float(weights.sum() ** 2 / np.sum(weights**2)),
        "draws": n,
        "location": tuple(np.asarray(location).tolist()),
        "concerns": tuple(concerns),
    }
    settings = settings_of(target, seed=seed, n=n, degrees=degrees, fitted_to="mode" if draws is None else "draws")
    return EvidenceEstimate(
        log_z=float(logsumexp(smoothed) - np.log(n)),
        standard_error=float(weights.std(ddof=1) / (weights.mean() * np.sqrt(n))),
        method="importance sampling",
        diagnostics=diagnostics,
        provenance=provenance(settings=settings, data=() if draws is None else (np.asarray(draws),)),
    )


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


def _moments(draws: Array, d: int) -> tuple[Array, Array]:
    flat = np.asarray(draws, dtype=float).reshape(-1, np.shape(draws)[-1])
    if flat.shape[1] != d or len(flat) < 10 * d:
        raise ValueError(f"draws must be {10 * d} or more points of {d} parameters, got shape {np.shape(draws)}.")
    return flat.mean(axis=0), np.atleast_2d(np.cov(flat, rowvar=False))
