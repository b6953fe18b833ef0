"""Importance sampling: Laplace's Gaussians, with heavier tails, corrected by weights.

Four fifths of the draws come from a mixture of Student distributions with 5 degrees of freedom, one at each mode, in
proportion to the modes' Laplace masses, no wider along any axis than the widest prior. The rest come from the prior
itself: where the posterior runs along γ → 0 or ∞, far from all modes, they see it, and no weight is larger than five
times the likelihood. The weights p(D, x)/q(x) are Pareto-smoothed (Vehtari, Simpson, Gelman, Yao and Gabry 2024); k̂
tells whether the proposal was good enough: below 0.7 the evidence can be believed with its standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp
from tqdm.auto import tqdm

from ...base.arviz import pareto_smooth
from ...base.typing import Array
from ..density import Density
from ..gaussian import Mode

_DEGREES = 5
_FROM_PRIOR = 0.2
_NARROWEST = 1e-6
_LEAST_SHARE = 0.05  # of the proposal, for a mode that Laplace's method thinks nothing of


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
        The Pareto shape of the largest weights.
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
    """Draw from the Student mixture at the modes and from the prior, and weigh."""
    shares = np.exp(np.array([mode.log_mass for mode in modes]) - max(mode.log_mass for mode in modes))
    shares = np.maximum(shares / shares.sum(), _LEAST_SHARE)
    shares /= shares.sum()
    parts = [_Student(mode, density) for mode in modes]
    own = rng.binomial(draws, _FROM_PRIOR)
    counts = rng.multinomial(draws - own, shares)
    drawn = [part.draw(k, rng) for part, k in zip(parts, counts, strict=True)]
    points = np.vstack([*drawn, np.column_stack([part.sample(own, rng) for part in density.parts])])
    log_student = logsumexp(np.stack([part.log_density(points) for part in parts]) + np.log(shares)[:, None], axis=0)
    log_q = np.logaddexp(np.log1p(-_FROM_PRIOR) + log_student, np.log(_FROM_PRIOR) + density.log_prior(points))
    hidden = None if progress and density.kernel_is_free else True
    with tqdm(total=draws, desc="draws weighed", unit="", disable=hidden, leave=False) as bar:
        log_p = density.values(points, tick=bar.update)
    raw = log_p - log_q
    if not np.isfinite(raw).any():
        raise ValueError("No draw of the proposal has a finite posterior density; the prior excludes all of them.")
    smoothed, k_hat = pareto_smooth(raw)
    ratio = np.exp(smoothed - smoothed.max())
    log_evidence = float(logsumexp(smoothed) - np.log(draws))
    error = float(ratio.std(ddof=1) / ratio.mean() / np.sqrt(draws))
    return WeightedDraws(points, smoothed - logsumexp(smoothed), log_evidence, error, float(k_hat))


class _Student:
    """The Student distribution of one mode, in the coordinates of its axes."""

    def __init__(self, mode: Mode, density: Density) -> None:
        values, self.axes = np.linalg.eigh(0.5 * (mode.covariance + mode.covariance.T))
        widest = max(part.width for part in density.parts)
        # rounding makes a variance of hardly any curvature negative or huge; the prior knows how far it can reach
        self.scales = np.sqrt(np.clip(np.where(values > 0.0, values, np.inf), _NARROWEST**2, widest**2))
        self.centre = mode.position

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        z = rng.standard_normal((n, len(self.centre))) / np.sqrt(rng.chisquare(_DEGREES, size=(n, 1)) / _DEGREES)
        return np.asarray(self.centre + (z * self.scales) @ self.axes.T)

    def log_density(self, points: Array) -> Array:
        z = (points - self.centre) @ self.axes / self.scales
        d = len(self.centre)
        constant = gammaln(0.5 * (_DEGREES + d)) - gammaln(0.5 * _DEGREES) - 0.5 * d * np.log(_DEGREES * np.pi)
        power = -0.5 * (_DEGREES + d) * np.log1p(np.einsum("ij,ij->i", z, z) / _DEGREES)
        return np.asarray(constant - np.log(self.scales).sum() + power)
