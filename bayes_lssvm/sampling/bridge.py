"""Bridge sampling: the integral of a density from draws of it (Meng and Wong 1996), warped (Meng and Schilling 2002).

For an unnormalised density q on R^d with draws x_i of q/Z, a proposal density g and draws z_j of it, every positive
function h gives Z = E_g[h q] / E_post[h g]. The best h is 1 / (s_1 q/Z + s_2 g), which holds Z itself, so that

    Z ← mean_j [ l_j / (s_1 l_j + s_2 Z) ]  /  mean_i [ 1 / (s_1 l_i + s_2 Z) ],          l = q/g

is iterated to its fixed point, for log Z and with bounded terms. s_1 and s_2 = 1 − s_1 are in the ratio of the numbers
of draws on the two sides; posterior draws are correlated, so their effective number counts.

The warp brings q close to g = Normal(0, I) first. With m the mean and LLᵀ the covariance of some draws, z = L⁻¹(x − m),

    warp "none":   q̃(z) = |L| q(m + Lz)                          Z is unchanged; a Gaussian proposal for q
    warp "III":    q̃(z) = ½ |L| [q(m + Lz) + q(m − Lz)]          unchanged too; q̃ is symmetric, so skewness is gone

m and L come from one half of every chain and the terms from the other half: the same draws in both places would bias
the answer. Then the halves change places, and the two values of log Z are averaged.

The standard error is that of the fixed point (Frühwirth-Schnatter 2004), with f_1 = q̃/(s_1 q̃ + s_2 Zg) under g and
f_2 = Zg/(s_1 q̃ + s_2 Zg) under the posterior,

    v = v_g + v_post,      v_g = Var_g[f_1] / (n_2 E_g[f_1]²),      v_post = Var_post[f_2] / (n_eff E_post[f_2]²)

and n_eff the effective sample size of the f_2, by autocorrelations within chains and differences between them.

The values of the two halves are not independent: each is the reference of the other, so the noise of m and L enters
both alike. For a Gaussian q the error that the posterior's terms bring to either value is −½ c tr(Δ_a Δ_b), with Δ the
errors of the halves' covariances in units of the covariance and

    c = E_post[f_2 (1 − s_2 f_2)] / E_post[f_2]

the mean slope of log f_2 in log l (c = s_1 where the halves are long). The covariance of the two values is then
c_a c_b k / (n_a n_b), with k = d(d+1)/2 numbers in L and n the effective number of the squares of z; the mean adds
d c_a c_b / (n'_a n'_b), n' that of z itself, where no reflection cancels it. It is added.

With more numbers in L than draws, the covariance is noise for the most part. Parameters are then put into groups that
are linked by correlations above the noise (Bickel and Levina 2008, Covariance regularization by thresholding), and
those between groups are set to zero: what is independent, such as whitened weights, costs nothing. The estimate is
right for any L.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from ..base.streams import stream
from ..base.typing import Array

Warp = Literal["III", "none"]
LogDensity = Callable[[Array], Array]
_LEAST_DRAWS = 20  # in a half, whatever the dimension
_ENOUGH_DRAWS = 200  # in a half; beyond, a singular covariance says by itself that there are too few
_THRESHOLD = 2.0  # of a correlation that links two parameters, times √(log d / n)


@dataclass(frozen=True)
class BridgeEstimate:
    """The log of an integral, with its error.

    Attributes
    ----------
    log_z : float
    standard_error : float
        Of log Z (the relative error of Z).
    iterations : int
        Most steps that either half needed.
    converged : bool
        Whether the fixed points were reached.
    diagnostics : dict
        "dim" and "draws"; "effective_draws" (of the posterior's terms) and "overlap" (E_g[f_1]: 1 where the warped
        density is the proposal, 0 where they do not meet), each of the worse half; "log_z_of_halves" and
        "halves_apart", their difference in units of its standard error (0 without a swap); "concerns", a tuple of
        sentences, empty where nothing looks wrong.
    """

    log_z: float
    standard_error: float
    iterations: int
    converged: bool
    diagnostics: dict[str, Any]


class _Half(NamedTuple):
    log_z: float
    v_post: float
    v_proposal: float
    slope: float
    effective: float
    overlap: float
    iterations: int
    converged: bool


def bridge(
    draws: Array,
    log_density: LogDensity,
    *,
    seed: int | np.random.Generator,
    warp: Warp = "III",
    swap_halves: bool = True,
    n_proposals: int | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-10,
) -> BridgeEstimate:
    """Estimate log Z = log ∫ exp(log_density(x)) dx from draws of the density.

    Parameters
    ----------
    draws : array of shape (chains, n, d) or (n, d)
        On the whole of R^d (unconstrained), in the order in which they were drawn.
    log_density : callable
        Maps points of shape (m, d) to log densities of shape (m,), constants kept; −inf outside the support.
    seed : int or numpy Generator
        Of the draws of the proposal. A number is the seed of a stream of its own: it may be that of the draws.
    warp : {"III", "none"}
        "III" takes out location, scale and skewness; "none" takes location and scale only and needs half the density
        evaluations.
    swap_halves : bool
        Use each half of the draws for the warp and for the terms in turn, or the first for the warp only.
    n_proposals : int, optional
        Draws of the proposal for each half; as many as there are posterior draws in it by default.
    max_iterations, tolerance : int and float
        The iteration stops at a step of log Z below the tolerance.
    """
    chains = _checked(draws)
    if warp not in ("III", "none"):
        raise ValueError(f'warp must be "III" or "none", got {warp!r}.')
    if n_proposals is not None and n_proposals < _LEAST_DRAWS:
        raise ValueError(f"n_proposals must be at least {_LEAST_DRAWS}, got {n_proposals}.")
    rng = stream(seed, "bridge")
    middle = chains.shape[1] // 2
    halves = (chains[:, :middle], chains[:, middle:])
    fits = [(halves[0], halves[1]), (halves[1], halves[0])][: 2 if swap_halves else 1]
    results = []
    for fitted, kept in fits:
        mean, L = _location_and_scale(fitted)
        x = kept.reshape(-1, chains.shape[-1])
        log_l = _log_ratios(x, mean, L, log_density, warp, drawn=True).reshape(kept.shape[:2])
        z = rng.standard_normal((n_proposals or len(x), len(mean)))
        log_l_proposal = _log_ratios(mean + z @ L.T, mean, L, log_density, warp, drawn=False)
        results.append(_fixed_point(log_l, log_l_proposal, max_iterations, tolerance))
    return _combine(results, chains, warp)


def _checked(draws: Array) -> Array:
    """Draws of shape (chains, n, d) that a covariance can be made of."""
    chains = np.asarray(draws, dtype=float)
    if chains.ndim == 2:
        chains = chains[None]
    if chains.ndim != 3 or chains.shape[2] == 0:
        raise ValueError(f"draws must have shape (chains, n, d) or (n, d), got {np.shape(draws)}.")
    if not np.all(np.isfinite(chains)):
        raise ValueError(
            f"{np.sum(~np.isfinite(chains))} of the draws' values are NaN or infinite; remove their cause."
        )
    n_chains, n, d = chains.shape
    least = max(_LEAST_DRAWS, min(2 * (d + 1), _ENOUGH_DRAWS))
    if n_chains * (n // 2) < least or n < 8:
        raise ValueError(
            f"Too few draws: {n_chains} x {n} in {d} dimensions. Each half of the chains needs at least {least} "
            "draws, and at least 4 from each chain; a hundred effective draws for each dimension is a sensible "
            "number."
        )
    stuck = np.flatnonzero(np.ptp(chains.reshape(-1, d), axis=0) == 0.0)
    if len(stuck):
        raise ValueError(
            f"The draws do not vary in dimension {', '.join(map(str, stuck))}: the sampler did not move, or a fixed "
            "quantity is among the parameters; leave it out."
        )
    return chains


def _location_and_scale(draws: Array) -> tuple[Array, Array]:
    """Mean and Cholesky factor of the covariance of draws of shape (chains, n, d)."""
    flat = draws.reshape(-1, draws.shape[-1])
    covariance = np.atleast_2d(np.cov(flat, rowvar=False))
    n, d = flat.shape
    if d * (d + 1) // 2 > n:
        sd = np.sqrt(np.diag(covariance))
        linked = np.abs(covariance / np.outer(sd, sd)) > _THRESHOLD * np.sqrt(np.log(d) / n)
        group = connected_components(linked, directed=False)[1]
        covariance = np.where(group[:, None] == group, covariance, 0.0)
    try:
        return flat.mean(axis=0), np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        raise ValueError(
            "The covariance of half of the draws is singular: some parameters are functions of others, or the chains "
            "hardly moved. Leave out what is redundant, or draw more."
        ) from None


def _values(log_density: LogDensity, x: Array, *, drawn: bool) -> Array:
    """The log density at x; at draws of the posterior it has to be finite."""
    values = np.asarray(log_density(x), dtype=float)
    if values.shape != (len(x),):
        raise ValueError(f"log_density must return shape ({len(x)},) for points {x.shape}, got {values.shape}.")
    if drawn and not np.all(np.isfinite(values)):
        raise ValueError(
            f"The log density is not finite at {np.sum(~np.isfinite(values))} of {len(x)} draws: they are not draws of "
            "this density. Check that both are in the same, unconstrained, parameters."
        )
    if np.any(np.isnan(values) | np.isposinf(values)):
        raise ValueError(
            "The log density is NaN or +inf at points near the draws. It must be defined on the whole space, −inf "
            "where the density is zero."
        )
    return values


def _log_ratios(x: Array, mean: Array, L: Array, log_density: LogDensity, warp: Warp, *, drawn: bool) -> Array:
    """Log q̃(z) − log g(z) at x = mean + Lz, of shape (m,)."""
    log_q = _values(log_density, x, drawn=drawn)
    if warp == "III":
        log_q = np.logaddexp(log_q, _values(log_density, 2.0 * mean - x, drawn=False)) - np.log(2.0)
    z = solve_triangular(L, (x - mean).T, lower=True, check_finite=False)
    log_g = -0.5 * np.sum(z**2, axis=0) - 0.5 * len(mean) * np.log(2.0 * np.pi)
    return np.asarray(log_q + np.sum(np.log(np.diag(L))) - log_g)


def _fixed_point(log_l: Array, log_l_proposal: Array, max_iterations: int, tolerance: float) -> _Half:
    """The bridge of terms log_l of shape (chains, n) from the posterior and (m,) from the proposal."""
    n1, n2 = log_l.size, log_l_proposal.size
    log_z, effective = float(np.median(log_l)), float(n1)
    iterations, converged = 0, False
    for _ in range(2):  # the second time with the effective number that the first one found
        s1, s2 = effective / (effective + n2), n2 / (effective + n2)
        converged = False
        while iterations < max_iterations and not converged:
            f1, f2 = _terms(log_l, log_l_proposal, log_z, s1, s2)
            if not np.any(f1 > 0.0):
                raise ValueError(
                    "The density is zero, or nearly, at every draw of a Gaussian with the draws' mean and "
                    "covariance: there is nothing to bridge. Do the draws come from this density?"
                )
            step = float(np.log(np.mean(f1)) - np.log(np.mean(f2)))  # the iteration above, multiplied out
            log_z, converged, iterations = log_z + step, abs(step) < tolerance, iterations + 1
        f1, f2 = _terms(log_l, log_l_proposal, log_z, s1, s2)
        effective = min(effective_sample_size(f2), float(n1))
    return _Half(
        log_z=log_z,
        v_post=float(np.var(f2) / np.mean(f2) ** 2) / effective,
        v_proposal=float(np.var(f1) / np.mean(f1) ** 2) / n2,
        slope=float(np.mean(f2 * (1.0 - s2 * f2)) / np.mean(f2)),
        effective=effective,
        overlap=float(np.mean(f1)),
        iterations=iterations,
        converged=converged,
    )


def _terms(log_l: Array, log_l_proposal: Array, log_z: float, s1: float, s2: float) -> tuple[Array, Array]:
    """f_1 at the draws of the proposal and f_2 at those of the posterior: logistic functions of log l."""
    offset = np.log(s1 / s2) - log_z
    return expit(log_l_proposal + offset) / s1, expit(-log_l - offset) / s2


def _combine(halves: list[_Half], chains: Array, warp: Warp) -> BridgeEstimate:
    """The mean of the halves with its error, and what there is to say about it."""
    log_zs = [half.log_z for half in halves]
    variances = [half.v_post + half.v_proposal for half in halves]
    variance, apart = variances[0], 0.0
    if len(halves) == 2:
        a, b = halves
        shared = a.slope * b.slope * _shared_by_warps(chains, warp)
        shared = min(shared, float(np.sqrt(a.v_post * b.v_post)))
        variance = 0.25 * (sum(variances) + 2.0 * shared)
        apart = (b.log_z - a.log_z) / float(np.sqrt(max(sum(variances), 1e-300)))
    diagnostics: dict[str, Any] = {
        "dim": chains.shape[-1],
        "draws": chains.shape[0] * chains.shape[1],
        "effective_draws": min(half.effective for half in halves),
        "effective_draws_of_halves": tuple(half.effective for half in halves),
        "overlap": min(half.overlap for half in halves),
        "log_z_of_halves": tuple(log_zs),
        "halves_apart": apart,
    }
    converged = all(half.converged for half in halves)
    standard_error = float(np.sqrt(variance))
    diagnostics["concerns"] = _concerns(diagnostics, converged, standard_error)
    return BridgeEstimate(
        float(np.mean(log_zs)), standard_error, max(half.iterations for half in halves), converged, diagnostics
    )


def _shared_by_warps(chains: Array, warp: Warp) -> float:
    """Variance of ½ tr(Δ_a Δ_b), and of the product of the means' errors where they count, for a Gaussian q."""
    d, middle = chains.shape[-1], chains.shape[1] // 2
    z = chains - chains.mean(axis=(0, 1))
    L = _location_and_scale(chains)[1]
    z = np.asarray(solve_triangular(L, z.reshape(-1, d).T, lower=True).T).reshape(z.shape)
    halves = (z[:, :middle], z[:, middle:])
    squares = [_mean_effective(half**2) for half in halves]
    shared = np.count_nonzero(L) / (squares[0] * squares[1])  # d(d+1)/2 numbers, fewer where there are groups
    if warp == "none":
        shared += d / (_mean_effective(halves[0]) * _mean_effective(halves[1]))
    return float(shared)


def _mean_effective(values: Array) -> float:
    """Effective number of draws of values of shape (chains, n, d) whose coordinates have the same mean."""
    chains, n, d = values.shape
    return effective_sample_size(np.moveaxis(values, -1, 1).reshape(chains * d, n)) / d


def _concerns(diagnostics: dict[str, Any], converged: bool, standard_error: float) -> tuple[str, ...]:
    found = []
    if not converged:
        found.append("the iteration stopped before its fixed point")
    if diagnostics["effective_draws"] < 100:
        found.append(f"only {diagnostics['effective_draws']:.0f} effective draws in a half: draw more")
    if diagnostics["overlap"] < 0.1:
        found.append(
            f"density and proposal hardly overlap ({diagnostics['overlap']:.3f}): other parameters would be closer to "
            "a Gaussian"
        )
    if abs(diagnostics["halves_apart"]) > 4.0:
        found.append(f"the halves of the draws are {abs(diagnostics['halves_apart']):.1f} standard errors apart")
    if standard_error > 0.3:
        found.append("the standard error is too large for its linear formula to hold")
    return tuple(found)


def effective_sample_size(values: Array) -> float:
    """Effective number of draws of a mean, of values of shape (chains, n): Geyer's initial monotone sequence.

    Each chain is cut in two, and the variance holds the differences between the pieces, so that drift and chains that
    disagree lower the number.
    """
    values = np.asarray(values, dtype=float)
    half = values.shape[1] // 2
    pieces = np.concatenate([values[:, :half], values[:, -half:]])
    n = pieces.shape[1]
    centred = pieces - pieces.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :n].mean(axis=0) / n
    total = covariance[0] + float(np.var(pieces.mean(axis=1), ddof=1))
    if not total > 0.0:
        return float(values.size)
    rho = 1.0 - (covariance[0] - covariance) / total
    rho[0] = 1.0
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0.0)) if np.any(pairs <= 0.0) else len(pairs)
    time = 2.0 * float(np.minimum.accumulate(pairs[:stop]).sum()) - 1.0
    return values.size / max(time, 1.0 / np.log10(max(values.size, 10)))
