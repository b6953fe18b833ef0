"""Tempered sequential Monte Carlo: particles go from the prior to the posterior, and count the evidence on the way.

With likelihood L and temperatures 0 = β_0 < β_1 < … < β_K = 1, p_k ∝ prior · L^{β_k},

    Z = Π_k Z_k / Z_{k−1},          Z_k / Z_{k−1} ≃ (1/n) Σ_i L(x_i)^{β_k − β_{k−1}},          x_i ~ p_{k−1}

Each step of β is as large as leaves a given share of the particles effective; then particles are resampled
(systematically) and moved by random-walk Metropolis steps with the particles' covariance, as many as give each a chance
of 99 % to have moved. One run's Ẑ is unbiased but for the adaptation; independent runs give its standard error
(Del Moral, Doucet and Jasra 2006).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from bayes_lssvm.base.progress import tqdm
from bayes_lssvm.base.provenance import provenance
from bayes_lssvm.base.typing import Array
from bayes_lssvm.evidence import EvidenceEstimate

from .target import Target, settings_of

_MOST_TEMPERATURES = 1000
_FEWEST_MOVES, _MOST_MOVES = 4, 60
_ACCEPTANCE = 0.3  # wanted of a random walk in a few dimensions


class _Run(NamedTuple):
    log_z: float
    temperatures: int
    acceptance: float  # the worst of all temperatures
    particles: Array


class _State(NamedTuple):
    x: Array  # [n, d]
    log_prior: Array
    log_likelihood: Array


def tempered_smc(
    target: Target, *, seed: int, n_particles: int = 1000, runs: int = 8, keep: float = 0.7
) -> EvidenceEstimate:
    """Evidence of a target by tempered SMC.

    Parameters
    ----------
    target : Target
    seed : int
    n_particles : int
        In each run.
    runs : int
        Independent repetitions, of which the standard error is made.
    keep : float
        Share of the particles that stays effective at each temperature.
    """
    if runs < 3 or n_particles < 20 * target.dim:
        raise ValueError(
            f"SMC needs 3 runs or more for its error and 20 particles a parameter for its moves; got {runs} runs of "
            f"{n_particles} particles in {target.dim} dimensions."
        )
    if not 0.0 < keep < 1.0:
        raise ValueError(f"keep is a share between 0 and 1, got {keep!r}.")
    seeds = np.random.SeedSequence(seed).spawn(runs)
    bar = tqdm(seeds, desc="SMC runs", leave=False, disable=None)
    found = [_one_run(target, np.random.default_rng(s), n_particles, keep) for s in bar]
    log_zs = np.array([run.log_z for run in found])
    relative = np.exp(log_zs - log_zs.max())
    error = float(relative.std(ddof=1) / (relative.mean() * np.sqrt(runs)))
    acceptance = min(run.acceptance for run in found)
    concerns = []
    if acceptance < 0.1:
        concerns.append(f"only {100 * acceptance:.0f} % of the moves were accepted at some temperature")
    if error > 0.3:
        concerns.append("the runs disagree too much for the standard error to mean anything: use more particles")
    diagnostics = {
        "log_z_of_runs": tuple(log_zs.tolist()),
        "temperatures": tuple(run.temperatures for run in found),
        "acceptance": acceptance,
        "particles": np.stack([run.particles for run in found]),
        "concerns": tuple(concerns),
    }
    settings = settings_of(target, seed=seed, n_particles=n_particles, runs=runs, keep=keep)
    log_z = float(logsumexp(log_zs) - np.log(runs))
    return EvidenceEstimate(log_z, error, "tempered SMC", diagnostics, provenance(settings=settings, data=()))


def _one_run(target: Target, rng: np.random.Generator, n: int, keep: float) -> _Run:
    x = np.asarray(target.sample_prior(n, rng), dtype=float)
    state = _State(x, _checked(target.log_prior(x)), _checked(target.log_likelihood(x)))
    if not np.any(np.isfinite(state.log_likelihood)):
        raise ValueError(
            "The likelihood is zero at every draw of the prior; more particles or another prior is needed."
        )
    beta, log_z, factor, lowest = 0.0, 0.0, 1.0, 1.0
    for step in range(1, _MOST_TEMPERATURES + 1):
        new = _next_temperature(beta, state.log_likelihood, keep)
        log_weights = (new - beta) * state.log_likelihood
        log_z += float(logsumexp(log_weights) - np.log(n))
        beta = new
        weights = np.exp(log_weights - logsumexp(log_weights))
        state, factor, acceptance = _move(target, _resample(state, weights, rng), beta, factor, rng)
        lowest = min(lowest, acceptance)
        if beta == 1.0:
            return _Run(log_z, step, lowest, state.x)
    raise RuntimeError(
        f"The temperature reached {beta:.3g} of 1 after {_MOST_TEMPERATURES} steps; the likelihood is far more peaked "
        "than the prior. Raise n_particles, or lower keep."
    )


def _checked(values: Array) -> Array:
    if np.any(np.isnan(values) | np.isposinf(values)):
        raise ValueError("The log prior or log likelihood is NaN or +inf at some points; it may be −inf, no more.")
    return np.asarray(values, dtype=float)


def _next_temperature(beta: float, log_likelihood: Array, keep: float) -> float:
    """The largest step at which the effective share of the particles is still `keep`."""

    def excess(new: float) -> float:
        w = (new - beta) * log_likelihood
        return float(np.exp(2.0 * logsumexp(w) - logsumexp(2.0 * w)) / len(w)) - keep

    if excess(1.0) >= 0.0:
        return 1.0
    smallest = np.nextafter(beta, 1.0)
    if excess(smallest) <= 0.0:  # many particles of likelihood zero: any step loses them
        return float(min(1.0, beta + 1e-6))
    return float(brentq(excess, smallest, 1.0, xtol=1e-12))


def _resample(state: _State, weights: Array, rng: np.random.Generator) -> _State:
    """Systematic resampling."""
    n = len(weights)
    positions = (rng.random() + np.arange(n)) / n
    index = np.minimum(np.searchsorted(np.cumsum(weights), positions), n - 1)
    return _State(state.x[index], state.log_prior[index], state.log_likelihood[index])


def _move(
    target: Target, state: _State, beta: float, factor: float, rng: np.random.Generator
) -> tuple[_State, float, float]:
    """Metropolis steps that leave p_β invariant; the scale found goes to the next temperature."""
    x, log_prior, log_likelihood = (np.array(part) for part in state)
    n, d = x.shape
    covariance = np.atleast_2d(np.cov(x, rowvar=False)) + 1e-12 * np.eye(d)
    L = np.linalg.cholesky(covariance) * 2.38 / np.sqrt(d)
    accepted, done, needed = 0.0, 0, _FEWEST_MOVES
    while done < needed:
        # a third of the proposals is long or short, which serves densities with more than one scale
        scales = factor * np.exp(rng.choice([0.0, 0.0, 0.0, 0.0, 1.2, -1.2], size=(n, 1)))
        proposed = x + scales * (rng.standard_normal((n, d)) @ L.T)
        new_prior = _checked(target.log_prior(proposed))
        new_likelihood = np.full(n, -np.inf)
        inside = np.isfinite(new_prior)
        if np.any(inside):
            new_likelihood[inside] = _checked(target.log_likelihood(proposed[inside]))
        with np.errstate(invalid="ignore"):
            change = new_prior - log_prior + beta * (new_likelihood - log_likelihood)
        take = np.log(rng.random(n)) < change
        x[take], log_prior[take], log_likelihood[take] = proposed[take], new_prior[take], new_likelihood[take]
        rate = float(take.mean())
        accepted += rate
        done += 1
        factor = float(np.clip(factor * np.exp(0.5 * (rate - _ACCEPTANCE)), 1e-3, 10.0))
        mean_rate = np.clip(accepted / done, 1e-3, 0.999)
        needed = int(np.clip(np.ceil(np.log(0.01) / np.log1p(-mean_rate)), _FEWEST_MOVES, _MOST_MOVES))
    return _State(x, log_prior, log_likelihood), factor, accepted / done
