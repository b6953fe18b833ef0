"""NUTS over the hyperparameters, the weights and the bias integrated out.

log p(D | μ, ζ, θ) needs log_det and q_1 at log γ and the kernel only. With at most one kernel parameter both are
computed beforehand (`surfaces`), log μ is integrated out, and NUTS runs on a table of what is left (`table`): a
gradient costs the same for ten data points and for ten thousand. The coordinates are (ε, log γ, θ), Φ(ε) being the
share of the posterior of log μ, at given log γ and θ, that lies below log μ. ε is standard normal and independent of
the others, and log μ comes back through its quantiles, whatever its prior. (In one dimension NUTS turns round too
early: without ε, draws of log γ were worth a third as much.)

The exact density is computed at all draws for a fixed kernel, and at some of them, one reduction each, for a free one.
Where it differs visibly from what was sampled, every draw gets an importance weight (`correction`). With several
kernel parameters NUTS runs on the exact density itself (`exact`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...base.typing import AnyArray, Array
from ...kernels import Kernel
from ...priors import LogPrior
from ..density import Density
from .correction import Corrected, Correction, of_exact, of_interpolant, of_table
from .exact import sample_density
from .interpolant import FixedKernel, Surface, log_mu_at
from .nuts import MAX_TREE_DEPTH, NutsChains, sample_table
from .surfaces import fixed_kernel_surface, one_parameter_surface
from .table import Table, kernel_log_prior, log_jacobian, scattered_starts, tabulate, to_box


@dataclass(frozen=True)
class CollapsedDraws:
    """Draws of (log μ, log ζ, log θ) and what the sampler says of them.

    Attributes
    ----------
    points : array of shape (chains, draws, 2 + P)
    log_density : array of shape (chains, draws)
        log p(D | μ, ζ, θ) + log prior, all constants kept.
    log_weights : array of shape (chains, draws)
        Zero but where the table had to be corrected; the mean weight is one.
    diverging, energy, steps, accept : arrays of shape (chains, draws)
        Of NUTS: divergence, Hamiltonian, leapfrog steps, mean acceptance probability.
    correction : Correction
        How far the density that was sampled is from the exact one.
    tail : float
        Density relative to its maximum where the range had to be cut off.
    n_reductions : int
        Kernels that were reduced for the table.
    log_density_at : callable
        The density of which the points are draws, for points of shape (n, 2 + P); its integral is the evidence. It is
        exact, but interpolated for one free kernel parameter, and −inf outside the table then.
    """

    points: Array
    log_density: Array
    log_weights: Array
    diverging: AnyArray
    energy: Array
    steps: AnyArray
    accept: Array
    correction: Correction
    tail: float
    n_reductions: int
    log_density_at: Callable[[Array], Array]

    @property
    def tree_depth(self) -> AnyArray:
        """Depth of each draw's tree."""
        return np.asarray(np.log2(np.maximum(self.steps, 1)).astype(int) + 1)

    @property
    def at_max_depth(self) -> AnyArray:
        """Whether each draw's tree had the largest depth."""
        return np.asarray(self.steps >= 2**MAX_TREE_DEPTH - 1)


def collapsed_nuts(
    X: Array,
    y: Array,
    kernel: Kernel,
    parts: tuple[LogPrior, ...],
    *,
    weights: Array | None = None,
    fixed_kernel: bool = False,
    chains: int = 4,
    warmup: int = 500,
    draws: int = 1000,
    target_accept: float = 0.8,
    seed: int,
    progress: bool = True,
) -> CollapsedDraws:
    """Draw from the posterior of the hyperparameters by NUTS.

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
    kernel : Kernel
    parts : tuple of LogPrior
        Proper priors of log μ, log ζ and, unless the kernel is held, of each of its log parameters.
    weights : array of shape (N,), optional
        Row i has the noise precision ζw_i.
    fixed_kernel : bool
        Hold the kernel's parameters.
    chains, warmup, draws : int
        Chains, steps of adaptation of each, and draws of each after them.
    target_accept : float
        Mean acceptance probability that the step size is adapted to.
    seed : int
    progress : bool
        Show a bar where it takes long, on a terminal.
    """
    _check(y, kernel, parts, fixed_kernel, chains, warmup, draws, target_accept)
    density = Density(X, y, kernel, parts, weights)
    if len(parts) > 3:
        exact = sample_density(
            density,
            chains=chains,
            warmup=warmup,
            draws=draws,
            target_accept=target_accept,
            seed=seed,
            progress=progress,
        )
        corrected = of_exact(exact.log_density.ravel())
        return _result(exact.points, corrected, exact.chains, 0.0, 0, density.values)
    free = len(parts) == 3
    surface: Surface = one_parameter_surface(density, progress=progress) if free else fixed_kernel_surface(density)
    table = tabulate(surface, parts)
    rng = np.random.default_rng(seed)
    starts = np.column_stack([rng.standard_normal(chains), scattered_starts(table, chains, rng)])
    found = sample_table(table, starts, warmup=warmup, draws=draws, target_accept=target_accept, seed=seed)
    points, corrected = _points(density, surface, table, found, rng, progress)
    interpolated = _Interpolated(surface, parts)
    return _result(points, corrected, found, surface.tail, surface.n_reductions, interpolated)


def _check(
    y: Array,
    kernel: Kernel,
    parts: tuple[LogPrior, ...],
    fixed_kernel: bool,
    chains: int,
    warmup: int,
    draws: int,
    target_accept: float,
) -> None:
    for name, value, least in (("chains", chains, 1), ("warmup", warmup, 1), ("draws", draws, 4)):
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} must be a whole number ≥ {least}, got {value!r}.")
    if not 0.0 < target_accept < 1.0:
        raise ValueError(f"target_accept must be between 0 and 1, got {target_accept!r}.")
    dimension = 2 + (0 if fixed_kernel else kernel.log_params.size)
    if len(parts) != dimension:
        raise ValueError(f"There are {len(parts)} priors for {dimension} hyperparameters; give one for each.")
    if np.ptp(y) == 0.0:
        raise ValueError(f"All targets are {y[0]:g}: there is nothing to infer, and μ and ζ have no posterior.")


def _points(
    density: Density, surface: Surface, table: Table, found: NutsChains, rng: np.random.Generator, progress: bool
) -> tuple[Array, Corrected]:
    """Hyperparameters of draws (ε, z), and their densities."""
    chains, draws, dimension = found.z.shape
    flat = found.z.reshape(-1, dimension)
    epsilon, z = flat[:, 0], flat[:, 1:]
    x = to_box(z, table.low, table.high)
    log_mu = log_mu_at(surface, x, density.parts)
    m = log_mu.quantile(epsilon)
    points = np.column_stack([m, m + x[:, 0], x[:, 1:]])
    own = kernel_log_prior(x, density.parts)
    log_density = log_mu.log_density(m) + own
    # the table's axes with equal steps in x hold the density of x, whose unit there is the length of the box
    units = np.log(table.high - table.low)[~table.stretched].sum()
    sampled = 0.5 * epsilon**2 - found.potential.ravel() + table.peak + units
    error = log_mu.log_integral() + own - (sampled - log_jacobian(z, table.low, table.high).sum(axis=1))
    if isinstance(surface, FixedKernel):
        corrected = of_table(log_density, error)
    else:
        corrected = of_interpolant(density, points, log_density, error, rng, progress=progress)
    return points.reshape(chains, draws, -1), corrected


@dataclass(frozen=True)
class _Interpolated:
    """Log density of points of shape (n, 2 + P) by a surface."""

    surface: Surface
    parts: tuple[LogPrior, ...]

    def __call__(self, points: Array) -> Array:
        points = np.atleast_2d(np.asarray(points, dtype=float))
        x = np.column_stack([points[:, 1] - points[:, 0], points[:, 2:]])
        inside = np.ones(len(x), dtype=bool)
        if not isinstance(self.surface, FixedKernel):
            inside = np.all((x >= self.surface.low) & (x <= self.surface.high), axis=1)
        result = np.full(len(x), -np.inf)
        log_mu = log_mu_at(self.surface, x[inside], self.parts)
        result[inside] = log_mu.log_density(points[inside, 0]) + kernel_log_prior(x[inside], self.parts)
        return result


def _result(
    points: Array,
    corrected: Corrected,
    found: NutsChains,
    tail: float,
    n_reductions: int,
    log_density_at: Callable[[Array], Array],
) -> CollapsedDraws:
    shape = points.shape[:2]
    return CollapsedDraws(
        points=points,
        log_density=corrected.log_density.reshape(shape),
        log_weights=corrected.log_weights.reshape(shape),
        diverging=found.diverging,
        energy=found.energy,
        steps=found.steps,
        accept=found.accept,
        correction=corrected.correction,
        tail=tail,
        n_reductions=n_reductions,
        log_density_at=log_density_at,
    )
