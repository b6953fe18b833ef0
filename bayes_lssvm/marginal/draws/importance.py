"""Importance sampling: Laplace's Gaussians, with heavier tails, and the prior, corrected by weights.

Draws come from a mixture of Student distributions with 5 degrees of freedom, one at each mode, in proportion to the
modes' Laplace masses, and of the prior, which has a fifth of them: where a few points leave the posterior as wide as a
flat prior, nothing at the mode tells so, and without that fifth the missing part would be missing from the standard
error too. No weight exceeds five times the largest likelihood. The weights p(D, x)/q(x) are Pareto-smoothed (Vehtari,
Simpson, Gelman, Yao and Gabry 2024); k̂ tells whether the proposal was good enough: below 0.7 the evidence can be
believed with its standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from ...base.progress import tqdm
from ...base.typing import Array
from ...evidence.laplace import Mode
from ...sampling.pareto import pareto_smooth
from ..density import Density

_DEGREES = 5
_LEAST_SHARE = 0.05  # of the proposal, for a mode that Laplace's method thinks nothing of
_FROM_PRIOR = 0.2
_FEWEST_FINITE = 25  # log weights of which a Pareto shape can be told


@dataclass(frozen=True)
class WeightedDraws:
    """Draws of the hyperparameters with weights.

    Attributes
    ----------
    points : array of shape (n, D)
    log_weights : array of shape (n,)
        Smoothed, normalised to sum to one.
    log_evidence, error : float
        log p(D | H) and its standard error.
    k_hat : float
        The Pareto shape of the largest weights, or of those of the Student distributions alone if that is larger: what
        the prior's draws mend was wrong with the proposal at the modes.
    """

    points: Array
    log_weights: Array
    log_evidence: float
    error: float
    k_hat: float

    @property
    def effective_size(self) -> float:
        """1/Σw², the number of equally weighted draws that would be as good."""
        return float(np.exp(-logsumexp(2.0 * self.log_weights)))


def importance(
    density: Density, modes: tuple[Mode, ...], *, draws: int, rng: np.random.Generator, progress: bool
) -> WeightedDraws:
    """Draw from the Student mixture at the modes, and from the prior, which has to be proper, and weigh."""
    shares = np.exp(np.array([mode.log_mass for mode in modes]) - max(mode.log_mass for mode in modes))
    shares = np.maximum(shares / shares.sum(), _LEAST_SHARE)
    shares = np.append((1.0 - _FROM_PRIOR) * shares / shares.sum(), _FROM_PRIOR)
    parts = [multivariate_t(mode.position, mode.covariance, df=_DEGREES) for mode in modes]
    *counts, from_prior = rng.multinomial(draws, shares).tolist()
    points = np.vstack(
        [np.reshape(part.rvs(k, random_state=rng), (k, -1)) for part, k in zip(parts, counts, strict=True) if k]
        + [np.column_stack([part.sample(from_prior, rng) for part in density.parts])]
    )
    each = [*(np.atleast_1d(part.logpdf(points)) for part in parts), density.log_prior(points)]
    logs = np.stack(each) + np.log(shares)[:, None]
    log_q = logsumexp(logs, axis=0)
    hidden = None if progress and density.kernel_is_free else True
    with tqdm(total=draws, desc="draws weighed", unit="", disable=hidden, leave=False) as bar:
        log_p = density.values(points, tick=bar.update)
    raw = log_p - log_q
    if not np.isfinite(raw).any():
        raise ValueError("No draw of the proposal has a finite posterior density; the prior excludes all of them.")
    smoothed, k_hat = pareto_smooth(raw)
    students = slice(0, draws - from_prior)
    alone = log_p[students] - logsumexp(logs[:-1, students], axis=0)
    if np.isfinite(alone).sum() >= _FEWEST_FINITE:
        k_hat = max(k_hat, pareto_smooth(alone)[1])
    ratio = np.exp(smoothed - smoothed.max())
    log_evidence = float(logsumexp(smoothed) - np.log(draws))
    error = float(ratio.std(ddof=1) / ratio.mean() / np.sqrt(draws))
    return WeightedDraws(points, smoothed - logsumexp(smoothed), log_evidence, error, float(k_hat))
