"""A central composite design over the kernel's parameters, for kernels with too many of them for a grid.

In the coordinates z of the Gaussian that fits the posterior of log θ at its mode, with P parameters, the design is the
centre and n points on a sphere of radius f√P: 2P on the axes, and the corners of a cube, or of a fraction of them in
which no two products of two coordinates are confused (resolution V). Weights that give a Gaussian's integral and
variance exactly are

    w_0 = 1/T,    w = e^{Pf²/2} / [n (f² − 1) T],    T = 1 + 1/(f² − 1),

times (2π)^{P/2} |Σ|^{½} for the evidence (Rue, Martino and Chopin 2009; Vanhatalo et al. 2010). Each half-axis is
stretched so that the density falls along it as the Gaussian does, which takes skewness into account. μ and ζ are
integrated out exactly at each point.

The design's nodes are what means, intervals and predictions are made of. Their sum is not taken for the evidence: a
design misses the tails of a posterior that is no Gaussian, always on the low side. That is drawn instead, by importance
sampling from the modes (`draws.adaptive`), and its error covers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ...base.errors import NotPositiveSemidefiniteError
from ...base.progress import tqdm
from ...base.typing import Array
from ...evidence.laplace import Mode
from ..density import Density
from ..draws.adaptive import DrawnIntegral, integrate_by_draws
from .kernel import KernelNode, Quadrature
from .level2 import integrate

_RADIUS = 1.1
_TOLERANCE, _BATCH, _MOST_DRAWS = 0.1, 128, 512  # nats of the drawn evidence, and kernels that it may take
_STRETCH = (0.25, 4.0)


def corners(dimension: int) -> Array:
    """A two-level design of resolution V with as few runs as a greedy search finds, of shape (2^k, P).

    Each coordinate is a product of the k basic ones, written as the bits of a number; three others may not multiply to
    it, so that no product of four or fewer coordinates is constant.
    """
    generators: list[int] = []
    candidate = 1
    while len(generators) < dimension:
        reached = {0, *generators}
        reached |= {a ^ b for a, b in combinations(generators, 2)}
        reached |= {a ^ b ^ c for a, b, c in combinations(generators, 3)}
        if candidate not in reached:
            generators.append(candidate)
        candidate += 1
    runs = np.arange(2 ** max(g.bit_length() for g in generators))
    parity = np.array([[(int(run) & g).bit_count() % 2 for g in generators] for run in runs])
    return 1.0 - 2.0 * parity


def design(dimension: int, radius: float) -> tuple[Array, Array]:
    """Points z of shape (n, P), the centre first, and the logs of their weights for ∫ exp(g) dz."""
    cube = corners(dimension)
    axes = np.sqrt(dimension) * np.vstack([np.eye(dimension), -np.eye(dimension)])
    sphere = radius * np.vstack([axes, cube])
    total = 1.0 + 1.0 / (radius**2 - 1.0)
    outer = 0.5 * dimension * radius**2 - np.log(len(sphere) * (radius**2 - 1.0))
    log_weights = np.concatenate([[0.0], np.full(len(sphere), outer)])
    return np.vstack([np.zeros(dimension), sphere]), log_weights - np.log(total) + 0.5 * dimension * np.log(2.0 * np.pi)


class _Marginal:
    """log p(D | θ) + log p(log θ) with μ and ζ integrated out, at points z of the design's coordinates."""

    def __init__(self, density: Density, mode: Mode, progress: bool) -> None:
        order = density.ordered()[1][2:]  # in which axes have the same signs, whatever the order of the columns
        values, vectors = np.linalg.eigh(mode.covariance[np.ix_(order, order)])  # of log θ, with μ and ζ free
        vectors = vectors[np.argsort(order)]
        self.density, self.centre, self.scale = density, mode.position[2:], vectors * np.sqrt(values)
        self.log_volume = 0.5 * float(np.log(values).sum())
        n = 2 * len(self.centre) + len(design(len(self.centre), _RADIUS)[0]) + 2 * _BATCH
        self.bar = tqdm(total=n, desc="kernels integrated", unit="", disable=None if progress else True, leave=False)

    def __call__(self, z: Array) -> KernelNode | None:
        found = _node(self.density, self.centre + self.scale @ z)
        self.bar.update()
        return found


@dataclass(frozen=True)
class _Drawn:
    """The same at points log θ, as `draws.adaptive` takes it."""

    density: Density

    @property
    def dimension(self) -> int:
        return self.density.dimension - 2

    def log_density(self, z: Array) -> float:
        node = _node(self.density, z)
        return -np.inf if node is None else node.log_density

    def log_prior(self, z: Array) -> Array:
        return np.asarray(sum(part.log_density(z[..., i]) for i, part in enumerate(self.density.parts[2:])))

    def prior_draws(self, n: int, rng: np.random.Generator) -> Array:
        return np.stack([part.sample(n, rng) for part in self.density.parts[2:]], axis=1)


def _node(density: Density, theta: Array) -> KernelNode | None:
    """The kernel of log parameters θ with μ and ζ integrated out; None where there is none."""
    own = float(sum(part.log_density(v) for part, v in zip(density.parts[2:], theta, strict=True)))
    if not np.isfinite(own):
        return None
    kernel = density.kernel_at(np.concatenate([[0.0, 0.0], theta]))
    try:
        integral = integrate(density.reduction(kernel), density.parts[0], density.parts[1])
    except NotPositiveSemidefiniteError:
        return None
    return KernelNode(kernel, integral, integral.log_z + own, integral.log_z + own)


def central_composite(density: Density, modes: tuple[Mode, ...], *, seed: Any, progress: bool) -> Quadrature:
    """Kernels of the design at the best mode, μ and ζ integrated by quadrature at each, and the evidence from draws."""
    marginal = _Marginal(density, modes[0], progress)
    with marginal.bar:
        centre = marginal(np.zeros(len(marginal.centre)))
        assert centre is not None
        nodes = _nodes(marginal, _stretches(marginal, centre.log_density), _RADIUS)
        drawn = _drawn_evidence(density, modes, seed, marginal.bar.update)
    tail = max(node.integral.tail for node in nodes)
    n = len(nodes) + 2 * len(marginal.centre) + len(drawn.points)
    return Quadrature(tuple(nodes), drawn.log_integral, drawn.error, tail, n)


def _drawn_evidence(density: Density, modes: tuple[Mode, ...], seed: Any, tick: Callable[[], object]) -> DrawnIntegral:
    """The evidence from draws about the modes, the same whatever the order of rows and columns."""
    ordered, order = density.ordered()
    own = order[2:]
    starts = tuple(
        replace(mode, position=mode.position[own], covariance=mode.covariance[np.ix_(own, own)]) for mode in modes
    )
    sd = np.array([part.width for part in ordered.parts[2:]])
    settings: dict[str, Any] = {"tolerance": _TOLERANCE, "most": _MOST_DRAWS, "batch": _BATCH, "tick": tick}
    return integrate_by_draws(_Drawn(ordered), starts, sd, rng=np.random.default_rng(seed), **settings)


def _stretches(marginal: _Marginal, top: float) -> Array:
    """Scale of each half-axis, of shape (2, P): how far the density takes to fall as far as a Gaussian's."""
    dimension = len(marginal.centre)
    stretch = np.ones((2, dimension))
    step = np.sqrt(2.0)
    for i in range(dimension):
        for side, sign in enumerate((1.0, -1.0)):
            node = marginal(sign * step * np.eye(dimension)[i])
            fall = np.inf if node is None else top - node.log_density
            stretch[side, i] = np.clip(step / np.sqrt(2.0 * max(fall, 1e-6)), *_STRETCH)
    return stretch


def _nodes(marginal: _Marginal, stretch: Array, radius: float) -> list[KernelNode]:
    points, log_weights = design(len(marginal.centre), radius)
    volume = marginal.log_volume + float(np.log(stretch.mean(axis=0)).sum())
    found = []
    for z, log_weight in zip(points, log_weights, strict=True):
        node = marginal(np.where(z >= 0.0, z * stretch[0], z * stretch[1]))
        if node is not None:
            found.append(replace(node, log_weight=node.log_density + float(log_weight) + volume))
    return found
