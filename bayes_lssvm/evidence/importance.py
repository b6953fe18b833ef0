"""Importance sampling of the evidence from a Student or Gaussian proposal.

    Z = ∫ q(x) dx ≃ (1/n) Σ w_j,        w_j = q(x_j) / t_ν(x_j; m, S),        x_j ~ t_ν(m, S)

m and S are the mode and the inverse of minus the Hessian there, or mean and covariance of draws; ν = ∞ is a Gaussian.
Several modes make a mixture of such proposals, in the ratio of their masses. Heavy tails (ν = 5)
bound the weights where q is close to Gaussian. The largest weights are Pareto-smoothed; k̂ above 0.7 says that the
proposal misses too much of q for the average, or its standard error, to be believed (Vehtari, Simpson, Gelman, Yao and
Gabry 2024, Pareto smoothed importance sampling).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln, logsumexp

from ..base.provenance import provenance
from ..base.streams import stream
from ..base.typing import Array
from ..sampling.pareto import pareto_smooth
from .estimate import EvidenceEstimate

K_HAT_LIMIT = 0.7
DEGREES = 5.0
_LEAST = 100


def importance(
    log_density: Callable[[Array], Array],
    parts: Sequence[tuple[Array, Array]],
    *,
    weights: Sequence[float] | Array = (1.0,),
    seed: int | np.random.Generator,
    n: int = 4000,
    degrees: float = DEGREES,
    **settings: Any,
) -> EvidenceEstimate:
    """Log ∫ exp(log_density(x)) dx by importance sampling.

    Parameters
    ----------
    log_density : callable
        Maps points of shape (m, d) to log densities of shape (m,), constants kept; −inf outside the support.
    parts : sequence of pairs of arrays of shapes (d,) and (d, d)
        Location and covariance of each part of the proposal; the covariance is the scale matrix of a Student one.
    weights : sequence of float
        Of the parts.
    seed : int or numpy Generator
        A number is the seed of a stream of its own.
    n : int
        Draws of the proposal.
    degrees : float
        Degrees of freedom ν; infinite for a Gaussian.
    **settings
        For the provenance.
    """
    if n < _LEAST:
        raise ValueError(
            f"Importance sampling needs {_LEAST} draws or more for its error to mean anything, got n = {n}."
        )
    rng = stream(seed, "importance")
    x, log_g = _proposed(parts, np.asarray(weights, dtype=float), n, degrees, rng)
    log_q = np.asarray(log_density(x), dtype=float)
    if np.any(np.isnan(log_q) | np.isposinf(log_q)) or not np.any(np.isfinite(log_q)):
        raise ValueError("The log density is NaN or infinite at draws of the proposal, or −inf at all of them.")
    smoothed, k_hat = pareto_smooth(log_q - log_g)
    relative = np.exp(smoothed - smoothed.max())
    concerns = () if k_hat < K_HAT_LIMIT else (f"k̂ = {k_hat:.2f}: the proposal misses too much of the density",)
    diagnostics = {
        "k_hat": k_hat,
        "effective_draws": float(relative.sum() ** 2 / np.sum(relative**2)),
        "draws": n,
        "location": tuple(np.asarray(parts[0][0]).tolist()),
        "concerns": concerns,
    }
    whole = {"seed": seed if isinstance(seed, int) else "a generator", "n": n, "degrees": degrees, **settings}
    return EvidenceEstimate(
        log_z=float(logsumexp(smoothed) - np.log(n)),
        standard_error=float(relative.std(ddof=1) / (relative.mean() * np.sqrt(n))),
        method="importance sampling",
        diagnostics=diagnostics,
        provenance=provenance(settings=whole, data=()),
    )


def _proposed(
    parts: Sequence[tuple[Array, Array]], weights: Array, n: int, degrees: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draws of Σ_k π_k t_ν(m_k, S_k), of shape (n, d), and their log densities."""
    shares = weights / weights.sum()
    scaled = [(np.asarray(m, dtype=float), np.linalg.cholesky(np.asarray(S, dtype=float))) for m, S in parts]
    z = rng.standard_normal((n, len(scaled[0][0])))
    if np.isfinite(degrees):
        z /= np.sqrt(rng.chisquare(degrees, size=(n, 1)) / degrees)
    chosen = rng.choice(len(parts), size=n, p=shares)
    x = np.empty_like(z)
    for k, (m, L) in enumerate(scaled):
        x[chosen == k] = m + z[chosen == k] @ L.T
    shared = zip(shares, scaled, strict=True)
    # a mode whose share is zero to rounding has no draws and adds nothing
    log_g = [np.log(share) + _log_student(x, m, L, degrees) for share, (m, L) in shared if share > 0.0]
    return x, np.asarray(logsumexp(log_g, axis=0))


def _log_student(x: Array, m: Array, L: Array, degrees: float) -> Array:
    """Log t_ν(x; m, LLᵀ) at points of shape (n, d); a Gaussian for ν = ∞."""
    d = len(m)
    squares = np.sum(solve_triangular(L, (x - m).T, lower=True, check_finite=False) ** 2, axis=0)
    log_det = float(np.sum(np.log(np.diag(L))))
    if not np.isfinite(degrees):
        return np.asarray(-0.5 * squares - 0.5 * d * np.log(2.0 * np.pi) - log_det)
    half = 0.5 * (degrees + d)
    constant = gammaln(half) - gammaln(0.5 * degrees) - 0.5 * d * np.log(degrees * np.pi) - log_det
    return np.asarray(constant - half * np.log1p(squares / degrees))


def moments(draws: Array, d: int) -> tuple[Array, Array]:
    """Mean and covariance of draws of shape (…, d), to which a proposal is fitted."""
    flat = np.asarray(draws, dtype=float).reshape(-1, np.shape(draws)[-1])
    if flat.shape[1] != d or len(flat) < 10 * d:
        raise ValueError(f"draws must be {10 * d} or more points of {d} parameters, got shape {np.shape(draws)}.")
    return flat.mean(axis=0), np.atleast_2d(np.cov(flat, rowvar=False))
