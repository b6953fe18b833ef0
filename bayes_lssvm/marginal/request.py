"""What a caller of `marginalise` asks for, and what all methods share in making a posterior of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base.typing import Array
from ..evidence.laplace import Mode
from ..kernels import Kernel
from ..priors import HyperPrior
from .density import Density
from .gaussian import find_modes
from .posterior import HyperPosterior, names_with_gamma
from .predictions import Nodes, PredictionNode, rows_of
from .rules.cut import log_mass_beyond
from .rules.level2 import Level2Integral, integrate_all
from .surface import Surface

_TOGETHER = 16  # kernels whose integrals over μ and ζ are done in one go


@dataclass(frozen=True)
class Request:
    """What is to be integrated, and how the caller wants it done."""

    X: Array
    y: Array
    kernel: Kernel
    prior: HyperPrior
    fixed_kernel: bool
    tolerance: float
    draws: int | None
    chains: int
    warmup: int
    check: bool
    seed: int | np.random.Generator
    progress: bool
    surface: Surface
    weights: Array | None = None

    @property
    def n_kernel(self) -> int:
        """Number of kernel parameters that are free."""
        return 0 if self.fixed_kernel else self.kernel.log_params.size

    @property
    def nodes(self) -> Nodes:
        """How many nodes predictions have."""
        return Nodes.of(len(self.y))

    @property
    def whole_seed(self) -> int:
        """The seed of samplers that have no use for a generator."""
        if isinstance(self.seed, np.random.Generator):
            raise ValueError('method="nuts" needs a whole number as its seed, not a generator.')
        return int(self.seed)

    @cached_property
    def density(self) -> Density:
        """The log posterior density."""
        return Density(self.X, self.y, self.kernel, self.prior.components(self.n_kernel), self.weights)

    @cached_property
    def modes(self) -> tuple[Mode, ...]:
        """The modes of the posterior that have a curvature, the best first."""
        return find_modes(self.density)

    def posterior(self, method: str, **fields: Any) -> HyperPosterior:
        """A posterior with what all methods share filled in."""
        return HyperPosterior(
            method=method,
            kernel=self.kernel,
            prior=self.prior,
            names=names_with_gamma(self.density.names),
            X=self.X,
            y=self.y,
            surface=self.surface,
            sample_weight=self.weights,
            **fields,
        )


def exact_nodes(request: Request, thetas: Array, shares: Array) -> tuple[PredictionNode, ...]:
    """Kernels at given log parameters, of shape (K,) or (K, P), with μ and ζ given each of them integrated exactly."""
    kernels = [request.kernel.with_log_params(theta) for theta in np.reshape(thetas, (len(shares), -1))]
    integrals: list[Level2Integral] = []
    for start in range(0, len(kernels), _TOGETHER):
        reductions = [request.density.reduction(kernel) for kernel in kernels[start : start + _TOGETHER]]
        integrals += integrate_all(reductions, request.prior.mu, request.prior.zeta)
    parts = zip(kernels, shares / np.sum(shares), integrals, strict=True)
    return tuple(node_of(request, kernel, float(share), integral) for kernel, share, integral in parts)


def node_of(request: Request, kernel: Kernel, share: float, integral: Level2Integral) -> PredictionNode:
    """A kernel's part in predictions; one beyond its search bounds is written as a multiple of one within."""
    within, factor = kernel.within_bounds(request.X)
    return PredictionNode(within, float(share), rows_of(integral, request.nodes).of_scaled_kernel(factor))


def tail_of_gamma(request: Request, position: Array, log_mass: float) -> float:
    """What may lie beyond the γ that can be computed for the kernel at a point, over a mass that was found there."""
    prior, kernel = request.prior, request.density.kernel_at(position)
    if not (prior.mu.proper and prior.zeta.proper):
        return 0.0  # a flat prior has no mass to speak of
    own = sum(float(p.log_density(x)) for p, x in zip(request.density.parts[2:], position[2:], strict=True))
    beyond = log_mass_beyond(request.density.reduction(kernel), prior.mu, prior.zeta, log_mass - own)
    return float(np.exp(min(beyond + own - log_mass, 700.0)))
