"""A central composite design over the kernel's parameters, for kernels with too many of them for a grid.

In the coordinates z of the Gaussian that fits the posterior of log θ at its mode, with P parameters, the design is the
centre and n points on a sphere of radius f√P: 2P on the axes, and the corners of a cube, or of a fraction of them in
which no two products of two coordinates are confused (resolution V). Weights that give a Gaussian's integral and
variance exactly are

    w_0 = 1/T,    w = e^{Pf²/2} / [n (f² − 1) T],    T = 1 + 1/(f² − 1),

times (2π)^{P/2} |Σ|^{½} for the evidence (Rue, Martino and Chopin 2009; Vanhatalo et al. 2010). Each half-axis is
stretched so that the density falls along it as the Gaussian does, which takes skewness into account. μ and ζ are
integrated out exactly at each point.

The error that is told is the difference from a second design of another radius. It shows how far the posterior is from
a Gaussian, and is no bound: both designs miss the same tails, so that the evidence tends to be low, by more than the
difference now and then (0.295 nats where it told 0.197). `bayes_lssvm.compare` has an error that covers.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.special import logsumexp
from tqdm.auto import tqdm

from ...base.errors import NotPositiveSemidefiniteError
from ...base.typing import Array
from ...evidence.laplace import Mode
from ..density import Density
from .kernel import KernelNode, Quadrature
from .level2 import integrate

_RADIUS = 1.1
_WIDER_RADIUS = 1.4  # a second design, whose difference from the first one is the error that is reported
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
        n = 1 + 2 * len(self.centre) + sum(len(design(len(self.centre), r)[0]) for r in (_RADIUS, _WIDER_RADIUS))
        self.bar = tqdm(total=n, desc="kernels integrated", unit="", disable=None if progress else True, leave=False)

    def __call__(self, z: Array) -> KernelNode | None:
        theta = self.centre + self.scale @ z
        point = np.concatenate([[0.0, 0.0], theta])
        own = float(sum(p.log_density(v) for p, v in zip(self.density.parts[2:], theta, strict=True)))
        if not np.isfinite(own):
            return None
        kernel = self.density.kernel_at(point)
        try:
            integral = integrate(self.density.reduction(kernel), self.density.parts[0], self.density.parts[1])
        except NotPositiveSemidefiniteError:
            return None
        self.bar.update()
        return KernelNode(kernel, integral, integral.log_z + own, integral.log_z + own)


def central_composite(density: Density, mode: Mode, *, progress: bool) -> Quadrature:
    """Integrate over the kernel's parameters by the design, and over μ and ζ by quadrature at each point."""
    marginal = _Marginal(density, mode, progress)
    with marginal.bar:
        centre = marginal(np.zeros(len(marginal.centre)))
        assert centre is not None
        stretch = _stretches(marginal, centre.log_density)
        nodes = _nodes(marginal, stretch, _RADIUS)
        wider = _nodes(marginal, stretch, _WIDER_RADIUS)
    log_evidence = float(logsumexp([node.log_weight for node in nodes]))
    error = abs(log_evidence - float(logsumexp([node.log_weight for node in wider])))
    tail = max(node.integral.tail for node in nodes)
    return Quadrature(tuple(nodes), log_evidence, error, tail, len(nodes) + len(wider) + 2 * len(marginal.centre))


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
