"""Importance sampling: the draws of a mixture of Laplace's Gaussians and the prior, corrected by weights.

Draws come from Student distributions with 5 degrees of freedom at the modes, from the prior, and from their products
(`proposal`). A pilot says how much of the posterior each of these parts has, and the draws follow it. It is not counted
itself: a proposal that is made from the draws it weighs is biased. At least six in a hundred draws come from the prior,
so that no weight exceeds seventeen times the largest likelihood: where a few points leave the posterior as wide as a
flat prior, nothing at the mode tells so, and without them the missing part would be missing from the standard error
too. The weights p(D, x)/q(x) are Pareto-smoothed (Vehtari, Simpson, Gelman, Yao and Gabry 2024); k̂ tells whether the
proposal was good enough: below 0.7 the evidence can be believed with its standard error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp

from ...base.progress import tqdm
from ...base.typing import Array
from ...evidence.laplace import Mode
from ...sampling.pareto import pareto_smooth
from ..density import Density
from .proposal import WhiteNoise, mixture_at

_PAIRS = 5000  # (log μ, log ζ) in the pilot
_FEWEST_KERNELS, _MOST_KERNELS, _DRAWS_A_KERNEL = 32, 250, 32  # in the pilot; one costs as much as some seven draws
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
        The Pareto shape of the largest weights.
    k_hat_of_modes : float
        That of the draws of the Student distributions at the modes with these alone as the proposal, or `k_hat` if that
        is larger: how well Laplace's method describes the posterior, whatever the other parts mend.
    """

    points: Array
    log_weights: Array
    log_evidence: float
    error: float
    k_hat: float
    k_hat_of_modes: float

    @property
    def effective_size(self) -> float:
        """1/Σw², the number of equally weighted draws that would be as good."""
        return float(np.exp(-logsumexp(2.0 * self.log_weights)))


def importance(
    density: Density, modes: tuple[Mode, ...], *, draws: int, rng: np.random.Generator, progress: bool
) -> WeightedDraws:
    """Draw from the mixture at the modes, with a prior that has to be proper, and weigh."""
    size = float(np.mean(density.kernel_at(modes[0].position).diag(density.X)))
    proposal = mixture_at(modes, density.parts, WhiteNoise.of(density.y, size))
    wanted = min(max(_FEWEST_KERNELS, draws // _DRAWS_A_KERNEL), _MOST_KERNELS)
    kernels = wanted if density.kernel_is_free else 1
    total = kernels + draws
    hidden = None if progress and density.kernel_is_free else True
    with tqdm(total=total, desc="draws weighed", unit="", disable=hidden, leave=False) as bar:
        proposal = proposal.after_pilot(partial(density.values, tick=bar.update), kernels, _PAIRS // kernels, rng)
        points, part_of = proposal.draw(draws, rng)
        log_p = density.values(points, tick=bar.update)
    logs = proposal.log_densities(points)
    raw = log_p - logsumexp(logs, axis=0)
    if not np.isfinite(raw).any():
        raise ValueError("No draw of the proposal has a finite posterior density; the prior excludes all of them.")
    smoothed, k_hat = pareto_smooth(raw)
    at_modes = np.array([part.of_mode for part in proposal.parts])
    students = at_modes[part_of]
    alone = log_p[students] - logsumexp(logs[at_modes][:, students], axis=0)
    k_of_modes = pareto_smooth(alone)[1] if np.isfinite(alone).sum() >= _FEWEST_FINITE else k_hat
    ratio = np.exp(smoothed - smoothed.max())
    log_evidence = float(logsumexp(smoothed) - np.log(draws))
    error = float(ratio.std(ddof=1) / ratio.mean() / np.sqrt(draws))
    return WeightedDraws(
        points, smoothed - logsumexp(smoothed), log_evidence, error, float(k_hat), float(max(k_hat, k_of_modes))
    )
