"""Iterations for μ and ζ, to compare level 2's search with: MacKay's re-estimation, and his shortcut."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..linalg.reduction import Reduction
from ..linalg.spectrum import CentredSpectrum, TridiagonalReduction
from .level2 import MIN_GAMMA_LAMBDA


class FixedPoint(NamedTuple):
    """Where an iteration for (μ, ζ) ended."""

    mu: float
    zeta: float
    iterations: int
    converged: bool


def mackay_fixed_point(
    reduction: Reduction,
    *,
    mu: float = 1.0,
    zeta: float = 1.0,
    tolerance: float = 1e-10,
    max_iter: int = 10_000,
) -> FixedPoint:
    """MacKay's re-estimation: μ ← (γ_eff − 1)/(2E_W), ζ ← (N − γ_eff)/(2E_D), until both stand still.

    It finds the mode in whose basin it starts, slowly where the data say little: `optimise` is the better tool, and
    this one is here to be compared with.
    """
    return _iterate(reduction, mu, zeta, tolerance, max_iter, None)


def cheap_and_cheerful(
    reduction: CentredSpectrum | TridiagonalReduction,
    *,
    mu: float = 1.0,
    zeta: float = 1.0,
    tolerance: float = 1e-10,
    max_iter: int = 10_000,
    n_parameters: int | None = None,
) -> FixedPoint:
    """MacKay's (1995) shortcut without γ_eff: μ ← k/(2E_W), ζ ← N/(2E_D), as if all k weights were well determined.

    k defaults to the number of nonzero eigenvalues. It needs no trace and no eigenvector, so that a
    `TridiagonalReduction` serves as well as a `CentredSpectrum`, at a fraction of its cost. And it over-counts: with a
    flexible kernel it can run away, which `converged` tells.
    """
    k = reduction.rank if n_parameters is None else n_parameters
    return _iterate(reduction, mu, zeta, tolerance, max_iter, float(k))


def _iterate(
    reduction: Reduction, mu: float, zeta: float, tolerance: float, max_iter: int, count: float | None
) -> FixedPoint:
    n = reduction.n
    low, high = MIN_GAMMA_LAMBDA / reduction.lambda_max, reduction.gamma_max
    for iteration in range(1, max_iter + 1):
        gamma = zeta / mu
        sums = reduction.sums(np.array([gamma]))
        weights, noise = float(sums.w[0]), float(sums.q2[0]) / gamma**2  # 2 E_W, 2 E_D
        well_determined = float(sums.d_eff[0]) if count is None else count
        remaining = float(sums.tr1[0]) / gamma if count is None else float(n)  # N − γ_eff
        new_mu, new_zeta = well_determined / weights, remaining / noise
        step = max(abs(np.log(new_mu / mu)), abs(np.log(new_zeta / zeta)))
        mu, zeta = float(new_mu), float(new_zeta)
        if not low < zeta / mu < high:
            return FixedPoint(mu, zeta, iteration, False)
        if step < tolerance:
            return FixedPoint(mu, zeta, iteration, True)
    return FixedPoint(mu, zeta, max_iter, False)
