"""Latent values and replicated targets at the data, given draws of the hyperparameters.

In the basis V of the centred kernel matrix the latent values z = φᵀw + b have independent posteriors,

    a_i | D ~ Normal(λ_i t_i/(λ_i + s), λ_i s/(μ(λ_i + s))),    z = V a + z̄ 1,    z̄ | D ~ Normal(ȳ, 1/(Nζ)),

s = μ/ζ. Given z the targets are independent, which pointwise log likelihoods need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from tqdm.auto import tqdm

from ..base.typing import Array
from ..kernels import Kernel
from ..linalg.spectrum import CentredSpectrum

_MOST_EXACT = 64
_SNAPPED = 33


class LatentDraws(NamedTuple):
    """For each draw: latent values, log p(y_i | z_i, ζ) and replicated targets, each of shape (n, N)."""

    z: Array
    log_likelihood: Array
    replicated: Array


def latent_draws(
    points: Array, kernel_at: Callable[[Array], Kernel], X: Array, y: Array, rng: np.random.Generator
) -> LatentDraws:
    """One draw of z for each row (log μ, log ζ, log θ…) of `points`.

    With one kernel parameter and more than 64 different values of it, each row takes the nearest of 33 values: a
    decomposition for each row would cost more than the draws did. With several parameters every row has its own.
    """
    theta = _snapped(points[:, 2:])
    distinct, group = np.unique(theta, axis=0, return_inverse=True)
    group = group.ravel()
    z = np.empty((len(points), len(y)))
    for g in tqdm(
        range(len(distinct)), desc="latent values", disable=None if len(distinct) > 40 else True, leave=False
    ):
        rows = np.flatnonzero(group == g)
        kernel = kernel_at(np.concatenate([[0.0, 0.0], distinct[g]]))
        spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
        mu, zeta = np.exp(points[rows, 0])[:, None], np.exp(points[rows, 1])[:, None]
        s, eigenvalues = mu / zeta, spectrum.eigenvalues
        centre = eigenvalues * spectrum.t / (eigenvalues + s)
        width = np.sqrt(eigenvalues * s / (mu * (eigenvalues + s)))
        a = centre + width * rng.standard_normal(width.shape)
        level = np.mean(y) + rng.standard_normal((len(rows), 1)) / np.sqrt(len(y) * zeta)
        z[rows] = a @ spectrum.vectors.T + level
    noise = np.exp(-0.5 * points[:, 1:2])
    log_likelihood = -0.5 * ((y - z) / noise) ** 2 - np.log(noise) - 0.5 * np.log(2.0 * np.pi)
    return LatentDraws(z, log_likelihood, z + noise * rng.standard_normal(z.shape))


def _snapped(theta: Array) -> Array:
    if theta.shape[1] != 1 or len(np.unique(theta)) <= _MOST_EXACT:
        return theta
    grid = np.linspace(theta.min(), theta.max(), _SNAPPED)
    return grid[np.abs(theta - grid).argmin(axis=1)][:, None]
