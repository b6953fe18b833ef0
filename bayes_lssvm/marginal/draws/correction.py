"""Draws of an approximate density, compared with the exact one and weighed where it matters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ...base.errors import BayesLSSVMWarning, warn
from ...base.progress import tqdm
from ...base.typing import Array
from ...sampling.pareto import pareto_smooth
from ..density import Density

_CHECKED = 32  # draws whose exact density is computed, where each costs a reduction
_VISIBLE = 1e-4  # nats; smaller differences cannot be seen in any number of draws that one takes
_BAD_K = 0.7
_FEWEST = 25  # weights from which a tail can be fitted


class Correction(NamedTuple):
    """How far the density that was sampled is from the exact one.

    Attributes
    ----------
    max_error : float
        Largest |exact − sampled| log density among the draws that were checked.
    spread : float
        Largest distance of exact − sampled from its median: what weights would correct.
    n_checked : int
        Draws whose exact density was computed.
    corrected : bool
        Whether the draws have weights.
    k_hat : float
        Pareto shape of the weights; above 0.7 they cannot be trusted. −inf without weights, NaN for too few of them.
    """

    max_error: float
    spread: float
    n_checked: int
    corrected: bool
    k_hat: float


class Corrected(NamedTuple):
    """Log densities and log weights of all draws, each of shape (n,)."""

    log_density: Array
    log_weights: Array
    correction: Correction


def of_exact(log_density: Array) -> Corrected:
    """Nothing to correct."""
    return Corrected(log_density, np.zeros_like(log_density), Correction(0.0, 0.0, 0, False, -np.inf))


def of_table(log_density: Array, error: Array) -> Corrected:
    """Draws from a table whose error at each of them is known."""
    spread = _spread(error)
    log_weights, k_hat = _weights(error) if spread > _VISIBLE else (np.zeros_like(error), -np.inf)
    correction = Correction(float(np.abs(error).max()), spread, len(error), spread > _VISIBLE, k_hat)
    return Corrected(log_density, log_weights, correction)


def of_interpolant(
    density: Density, points: Array, log_density: Array, error: Array, rng: np.random.Generator, *, progress: bool
) -> Corrected:
    """Draws from a table of an interpolated density, which is checked at some of them, and replaced if it is wrong.

    Parameters
    ----------
    density : Density
        The exact one.
    points : array of shape (n, 2 + P)
    log_density, error : arrays of shape (n,)
        The interpolated density, and the table's error as an approximation of it.
    """
    checked = rng.choice(len(points), size=min(_CHECKED, len(points)), replace=False)
    difference = density.values(points[checked]) - log_density[checked]
    if _spread(difference) > _VISIBLE:
        hidden = None if progress else True
        with tqdm(total=len(points), desc="draws corrected", unit="", disable=hidden, leave=False) as bar:
            exact = density.values(points, tick=bar.update)
        return of_table(exact, error + exact - log_density)
    result = of_table(log_density, error)
    found = error[checked] + difference
    correction = result.correction._replace(
        max_error=float(np.abs(found).max()), spread=max(_spread(found), _spread(error)), n_checked=len(checked)
    )
    return result._replace(correction=correction)


def _spread(error: Array) -> float:
    return float(np.abs(error - np.median(error)).max())


def _weights(error: Array) -> tuple[Array, float]:
    """Weights whose mean is one, and their Pareto shape, with a warning where it is bad."""
    k_hat = pareto_smooth(error)[1] if len(error) >= _FEWEST else np.nan
    if k_hat > _BAD_K:
        warn(
            f"The interpolated evidence differs from the exact one by up to {np.abs(error).max():.2g} nats, and the "
            f"weights that correct the draws have Pareto k̂ {k_hat:.2f} (above 0.7): they cannot be trusted. The "
            "evidence is not smooth in the kernel's parameter on these data; a narrower prior helps.",
            BayesLSSVMWarning,
        )
    return np.asarray(error - logsumexp(error) + np.log(len(error))), k_hat
