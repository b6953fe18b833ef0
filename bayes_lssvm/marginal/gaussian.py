"""Laplace's method over all hyperparameters, and the proposals that are made from it.

    log p(D | H) ≃ log p(D, x̂) + ½ D log 2π − ½ log det(−∇² log p(D, x̂)),    x = (log μ, log ζ, log θ), D = 2 + P

at the best mode x̂ of the posterior. Other modes are reported: each has a Laplace mass of its own, and where theirs is
not small the approximation misses it. Where MacKay's 5.2 takes the evidence's mode and separate error bars, this takes
what the approximation is meant to be: the mode of the posterior and the exact Hessian there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import AnyArray, Array
from ..evidence.laplace import Mode
from ..levels.level2 import optimise
from ..linalg.reduction import Reduction, largest_log_gamma
from ..priors import HyperPrior
from ..search.climb import Climb, Stop, climb_from_each
from .density import Density, Level2Density
from .log_mu import LogMu

_MAX_CLIMBS = 4
_HOPELESS = 30.0  # nats behind the best start
_SAME_MODE = 0.02
_GAMMA_STEP = 0.5
_LOWEST_GAMMA_LAMBDA = 1e-6
_WIDEST, _FARTHEST = 60.0, 300.0  # log parameters
_TIGHT = Stop(1e-14, 1e-7, 500)
_TIGHTER = Stop(1e-15, 1e-8, 1000)  # where a step costs O(N) only


def find_modes(density: Density) -> tuple[Mode, ...]:
    """The modes of the posterior that have a curvature, the best first."""
    ordered, order = density.ordered()  # so that no order of rows and columns leads a climb elsewhere
    bounds = _bounds(ordered)
    # a held kernel has one reduction, from which a point costs O(N)
    surface = ordered if ordered.kernel_is_free else Level2Density(ordered.reduction(ordered.kernel), ordered.parts)
    ends = list(climb_from_each(surface.value_and_gradient, _starts(ordered, bounds), bounds, _TIGHT))
    modes = _curved(surface, ends)
    edges = [end.position for end in ends if end.at_edge[2:].any()]
    if not modes and edges:  # one point far from all others: the rest ask for a kernel that no search looks at
        limits = np.clip([part.support for part in ordered.parts], -_WIDEST, _WIDEST)
        wider = np.vstack([bounds[:2], limits[2:]])
        modes = _curved(surface, climb_from_each(surface.value_and_gradient, edges, wider, _TIGHT))
    if not modes:
        raise ValueError(
            "The posterior of the hyperparameters has no mode with curvature in all directions, so Laplace's "
            'method cannot be used; integrate instead (method="quadrature" or "nuts", with a proper prior).'
        )
    places = np.argsort(order)
    return tuple(_given_back(density, mode, places) for mode in modes)


def _curved(surface: Density | Level2Density, ends: Iterable[Climb]) -> list[Mode]:
    """The ends of climbs that are modes with a curvature, each once."""
    modes: list[Mode] = []
    for end in ends:
        if all(np.abs(end.position - known.position).max() > _SAME_MODE for known in modes):
            mode = _gaussian(surface, end.position)
            if mode is not None:
                modes.append(mode)
    return modes


def _given_back(density: Density, mode: Mode, places: AnyArray) -> Mode:
    """A mode with its parameters in the given order, and the density of the data as they are."""
    position, covariance = mode.position[places], mode.covariance[np.ix_(places, places)]
    value = density.value_and_gradient(position).value
    return Mode(position, value, covariance, mode.log_mass + value - mode.log_density)


def factor_in_order(covariance: Array, order: AnyArray) -> Array:
    """A factor L of a covariance LLᵀ that is a Cholesky factor in the given order of the coordinates.

    A design in the coordinates of L then has the same points, whatever the order of the parameters.
    """
    factor = np.empty_like(covariance)
    factor[order] = np.linalg.cholesky(covariance[np.ix_(order, order)])
    return factor


def _bounds(density: Density) -> Array:
    limits = np.array([part.support for part in density.parts])
    widest = _WIDEST if density.rows is None else _FARTHEST  # rows that repeat without noise push ζ far up
    limits[:2] = np.clip(limits[:2], -widest, widest)
    if density.kernel_is_free:
        box = density.kernel.log_bounds(density.X)
        limits[2:] = np.stack([np.maximum(limits[2:, 0], box[:, 0]), np.minimum(limits[2:, 1], box[:, 1])], axis=1)
    return limits


def _starts(density: Density, bounds: Array) -> list[Array]:
    """Peaks over γ for each of the kernel's starting points, the promising ones first."""
    rows = density.kernel.starting_points(density.X) if density.kernel_is_free else np.empty((1, 0))
    found: list[tuple[float, Array]] = []
    for row in rows:
        theta = np.clip(row, *bounds[2:].T) if density.kernel_is_free else row
        kernel = density.kernel_at(np.concatenate([[0.0, 0.0], theta]))
        try:
            reduction = density.reduction(kernel)
        except NotPositiveSemidefiniteError:
            continue
        for log_mu, log_zeta in _peaks_over_gamma(reduction, density):
            start = np.clip(np.concatenate([[log_mu, log_zeta], theta]), *bounds.T)
            found.append((density.value_and_gradient(start).value, start))
    if not found or not np.isfinite(max(value for value, _ in found)):
        raise ValueError(
            f"The posterior density of {density.kernel!s} is not finite at any starting point; the kernel or the prior "
            "does not fit these data."
        )
    found.sort(key=lambda pair: -pair[0])
    return [start for value, start in found if value > found[0][0] - _HOPELESS][:_MAX_CLIMBS]


def _peaks_over_gamma(reduction: Reduction, density: Density) -> list[tuple[float, float]]:
    """(log μ, log ζ) at the peaks over γ of the posterior density with log μ at its best."""
    prior_mu, prior_zeta = density.parts[:2]
    top = float(np.log(reduction.gamma_max))
    last = top if density.rows is None else min(largest_log_gamma(reduction), _FARTHEST)
    above = np.arange(top, last, _GAMMA_STEP)[:0:-1]  # rows that repeat without noise have their peak there
    u = np.arange(top, float(np.log(_LOWEST_GAMMA_LAMBDA / reduction.lambda_max)), -_GAMMA_STEP)
    u = np.append(above, u)
    log_mu = LogMu.of(reduction, u, prior_mu, prior_zeta)
    m = log_mu.peak.mode
    values = log_mu.log_density(m)
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((values >= padded[:-2]) & (values > padded[2:]))
    return [(float(m[i]), float(m[i] + u[i])) for i in peaks]


def _gaussian(density: Density | Level2Density, position: Array) -> Mode | None:
    return Mode.at(position, density.value_and_gradient(position).value, density.hessian(position))


class LaplaceEvidence(NamedTuple):
    """log p(D | H) with the mode of (log μ, log ζ) and the covariance there.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import Linear
    >>> from bayes_lssvm.linalg.spectrum import TridiagonalReduction
    >>> from bayes_lssvm.marginal import laplace_evidence
    >>> from bayes_lssvm.priors import HyperPrior
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 2))
    >>> y = X[:, 0] + 0.3 * rng.normal(size=30)
    >>> reduction = TridiagonalReduction.from_kernel_matrix(Linear()(X), y)
    >>> found = laplace_evidence(reduction, HyperPrior())
    >>> found.covariance.shape
    (2, 2)
    """

    log_evidence: float
    mode: Array
    covariance: Array


def laplace_evidence(reduction: Reduction, prior: HyperPrior) -> LaplaceEvidence:
    """Laplace's approximation of the evidence of one kernel, for any prior, flat ones included.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import Linear
    >>> from bayes_lssvm.linalg.spectrum import TridiagonalReduction
    >>> from bayes_lssvm.marginal import laplace_evidence
    >>> from bayes_lssvm.priors import HyperPrior
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 2))
    >>> y = X[:, 0] + 0.3 * rng.normal(size=30)
    >>> reduction = TridiagonalReduction.from_kernel_matrix(Linear()(X), y)
    >>> found = laplace_evidence(reduction, HyperPrior())
    >>> found.mode.round(1)
    array([0.9, 2.4])
    """
    density = Level2Density(reduction, prior.components(0))
    gammas = np.array([mode.gamma for mode in optimise(reduction).modes] + [1.0 / reduction.lambda_max])
    mus = (reduction.n - 1) / reduction.values(gammas)[1]  # 4.7
    limits = np.array([part.support for part in density.parts])
    starts = np.clip(np.log(np.stack([mus, gammas * mus], axis=1)), *limits.T)
    best = climb_from_each(density.value_and_gradient, starts, limits, _TIGHTER)[0]
    mode = _gaussian(density, best.position)
    if mode is None:
        raise ValueError(
            "The posterior of log μ and log ζ has no mode with curvature, so Laplace's method cannot be used."
        )
    return LaplaceEvidence(mode.log_mass, mode.position, mode.covariance)
