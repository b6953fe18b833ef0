"""Where the posterior of a kernel's log parameters is large: its modes, each with the Gaussian that fits it.

Modes are those of the density with μ and ζ integrated out by Laplace's method, which has an exact gradient. They make
the lattice and the proposals; what is integrated on these is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import qmc

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import Array
from ..evidence.laplace import Mode
from ..search.climb import Stop, climb, with_bar
from ..search.starts import distinct
from ..search.volume import bounded_gaussian

if TYPE_CHECKING:
    from .integrand import Integrand

_FARTHEST = 6.0  # prior standard deviations
_PROBES = 16  # points of the prior that are tried as starts
_MOST_CLIMBS = 2
_HOPELESS = 20.0  # nats behind the best start
_STEP = 1e-3
_APART = 20.0  # of starts, in units of what tells optima apart: one log parameter
_CLIMB = Stop(1e-9, 1e-3, 60)


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of the prior in the free coordinates, each of shape (P,)."""

    mean: Array
    sd: Array

    @classmethod
    def of(cls, integrand: Integrand) -> Spread:
        """From draws, which any prior has."""
        draws = integrand.prior_draws(4096, np.random.default_rng(0))
        return cls(draws.mean(axis=0), draws.std(axis=0))


def find_peaks(integrand: Integrand, spread: Spread) -> tuple[Mode, ...]:
    """The modes that were climbed to, the one of the largest mass first."""
    box = np.stack([spread.mean - _FARTHEST * spread.sd, spread.mean + _FARTHEST * spread.sd], axis=1)
    starts = _starts(integrand, spread, box)
    values = np.array([integrand(start).log_density for start in starts])
    if not np.isfinite(values).any():
        raise NotPositiveSemidefiniteError(
            f"The evidence of {integrand.kernel!s} is not finite at any starting point; the kernel or its prior does "
            "not fit these data."
        )
    order = np.argsort(-values)[: 8 * _MOST_CLIMBS]
    hopeful = (starts[k] for k in order if values[k] > values[order[0]] - _HOPELESS)
    chosen = distinct(hopeful, lambda z: z / _APART)
    ends = [climb(integrand.laplace, z, box, _CLIMB) for z in with_bar(chosen[:_MOST_CLIMBS])]
    ends.sort(key=lambda e: -e.value)
    found = [_peak(integrand, end.position, end.value, spread) for end in distinct(ends, lambda e: e.position)]
    return tuple(sorted(found, key=lambda peak: -peak.log_mass))


def _starts(integrand: Integrand, spread: Spread, box: Array) -> Array:
    own = integrand.kernel.starting_points(integrand.problem.X)
    uniform = qmc.Sobol(integrand.dimension, rng=np.random.default_rng(0)).random(_PROBES)
    probes = spread.mean + 2.0 * spread.sd * (2.0 * uniform - 1.0)
    return np.clip(np.vstack([[integrand.coordinates(row) for row in own], spread.mean, probes]), *box.T)


def _peak(integrand: Integrand, z: Array, value: float, spread: Spread) -> Mode:
    """The Gaussian at a mode: minus the Hessian by differences of the gradient, nowhere flatter than the prior."""
    precision = np.zeros((len(z), len(z)))
    for i, step in enumerate(_STEP * np.eye(len(z))):
        precision[i] = (integrand.laplace(z - step)[1] - integrand.laplace(z + step)[1]) / (2.0 * _STEP)
    covariance, log_volume = bounded_gaussian(precision, spread.sd)
    return Mode(z, value, covariance, value + log_volume)
