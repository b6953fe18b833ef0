"""What importance sampling draws from: Student distributions at the modes, the prior, and products of the two.

A posterior can have arms that reach to where its prior ends, along one parameter or several, with the others known as
well as at a mode: without a signal any μ will do, and where the labels can be interpolated any ζ. A Student
distribution at the mode does not reach to their ends, and draws of the whole prior hardly meet them. So for each mode
there are parts that draw some parameters from the prior and the others from the Student distribution's marginal:

    q(x) = Σ_k s_k p(x_F) t_5(x_{−F}; x̂_{−F}, C_{−F}),    F the set of part k

The prior is the part with F all parameters, and a mode's Student distribution the one with F empty. Two more parts have
one precision known from the variance of the targets and all else from the prior: without a signal that is ζ, and with a
kernel so narrow that every point is its own neighbour alone it may as well be μ.

A pilot tells how much of the posterior each part has. Points that share a kernel cost next to nothing, so it takes few
kernels and many pairs (log μ, log ζ) with each, both from the marginals of q, but half of the kernels from the prior.
One kernel parameter gets parts about kernels of the pilot, too: a ridge along which labels are interpolated can have
no mode, and be narrow in the width. What lies between two kernels of the pilot and shows at neither can be missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from ...base.typing import Array, IntArray
from ...evidence.laplace import Mode
from ...priors import LogPrior

__all__ = ["Mixture", "Part", "WhiteNoise", "mixture_at"]

_DEGREES = 5
_LEAST_SHARE = 0.05  # of the Student distributions, for a mode that Laplace's method thinks nothing of
_OF_MODES, _OF_ARMS, _OF_NOISE, _OF_PRIOR = 0.5, 0.2, 0.1, 0.2
_AS_BEFORE = 0.3  # of the shares, whatever a pilot says
_MOST_SUBSETS = 3  # parameters, up to which every set is drawn from the prior; beyond, one parameter or all but one
_STEPS = 3  # of expectation and maximisation
_WORTH_A_PART, _FEWEST_EFFECTIVE = 0.005, 2.0  # share of a pilot, and pairs, for parts about a kernel
_SHARE = 40  # draws of which a pilot has one kernel
_TINY, _LEAST = 1e-300, 1e-6
_NARROWEST = 1e-6  # of the prior's standard deviation, in any direction


class WhiteNoise(NamedTuple):
    """What is known of the precisions where all that varies is noise.

    Attributes
    ----------
    log_precisions : tuple of float
        Of log μ where it explains the targets alone, with a kernel so narrow that Ω is a multiple of the identity, and
        of log ζ where it does.
    variance : float
        Of both: 2/(N − 1).
    """

    log_precisions: tuple[float, float]
    variance: float

    @classmethod
    def of(cls, targets: Array, size: float) -> WhiteNoise:
        """From targets and the mean of the kernel matrix's diagonal."""
        spread = max(float(np.var(targets)), _TINY)
        return cls((float(np.log(size / spread)), -float(np.log(spread))), 2.0 / max(len(targets) - 1, 1))


@dataclass(frozen=True)
class Part:
    """A part of the proposal.

    Attributes
    ----------
    priors : tuple of LogPrior
        Of all parameters.
    free : frozenset of int
        Those that are drawn from their priors.
    mean : array of shape (d,)
    covariance : array of shape (d, d)
        Scale of the Student distribution, of which the rows and columns of the other parameters are used.
    of_mode : bool
        Whether it is the Student distribution at a mode.
    """

    priors: tuple[LogPrior, ...]
    free: frozenset[int]
    mean: Array
    covariance: Array
    of_mode: bool = False

    def log_density(self, points: Array, over: range) -> Array:
        """Of points of shape (n, d), the marginal of some parameters."""
        found = np.zeros(len(points))
        for i in over:
            if i in self.free:
                found += self.priors[i].log_density(points[:, i])
        held = [i for i in over if i not in self.free]
        if held:
            scale = self.covariance[np.ix_(held, held)]
            found += np.atleast_1d(multivariate_t.logpdf(points[:, held], self.mean[held], scale, df=_DEGREES))
        return found

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Points of shape (n, d)."""
        points = np.empty((n, len(self.priors)))
        held = [i for i in range(len(self.priors)) if i not in self.free]
        if held and n:
            scale = self.covariance[np.ix_(held, held)]
            drawn = multivariate_t.rvs(self.mean[held], scale, df=_DEGREES, size=n, random_state=rng)
            points[:, held] = np.reshape(drawn, (n, -1))
        for i in self.free:
            points[:, i] = self.priors[i].sample(n, rng)
        return points


@dataclass(frozen=True)
class Mixture:
    """Parts with their shares, which sum to one."""

    parts: tuple[Part, ...]
    shares: Array

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(self.parts[0].priors)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, IntArray]:
        """Points of shape (n, d), and the number of the part that each comes from, of shape (n,)."""
        counts = rng.multinomial(n, self.shares)
        points = [part.draw(k, rng) for part, k in zip(self.parts, counts.tolist(), strict=True)]
        return np.vstack(points), np.repeat(np.arange(len(counts)), counts)

    def log_densities(self, points: Array, over: range | None = None) -> Array:
        """Log s_k q_k of each part, of shape (K, n); of some parameters the marginals."""
        chosen = range(self.dimension) if over is None else over
        return np.stack([part.log_density(points, chosen) for part in self.parts]) + np.log(self.shares)[:, None]

    def after_pilot(
        self, values: Callable[[Array], Array], kernels: int, each: int, rng: np.random.Generator
    ) -> Mixture:
        """Each part in proportion to the posterior mass that a pilot finds where it is, and some of its first share.

        `values` is the log posterior density at points of shape (n, d).
        """
        level2, of_kernel = range(2), range(2, self.dimension)
        points = rng.permutation(self.draw(kernels * each, rng)[0])  # drawn part by part
        wide = self._half_from_prior()
        points[:, 2:] = np.repeat(wide._kernels(kernels, rng), each, axis=0)
        log_q = logsumexp(self.log_densities(points, level2), axis=0)
        if of_kernel:
            log_q += logsumexp(wide.log_densities(points, of_kernel), axis=0)
        weights = values(points) - log_q
        if not np.isfinite(weights).any():
            return self
        local = self._local_parts(points, weights, kernels)
        found = replace(self, parts=self.parts + local)
        shares = np.append(0.5 * self.shares, np.full(len(local), 0.5 / max(len(local), 1)))
        for _ in range(_STEPS):
            shares = replace(found, shares=shares)._shares_of(points, weights)
        first = np.append(self.shares, np.zeros(len(local)))
        return replace(found, shares=_AS_BEFORE * first + (1.0 - _AS_BEFORE) * shares)

    def _shares_of(self, points: Array, weights: Array) -> Array:
        """The mass that points with these log weights ascribe to each part: a step of expectation and maximisation."""
        logs = self.log_densities(points)
        mass = np.exp(logsumexp(weights + logs - logsumexp(logs, axis=0), axis=1) - logsumexp(weights))
        return (mass + _LEAST) / np.sum(mass + _LEAST)

    def _local_parts(self, points: Array, weights: Array, kernels: int) -> tuple[Part, ...]:
        """Parts about single kernels of a pilot that have weight, each as wide as the way to its neighbours.

        Where a peak of the kernel's parameter is narrow, and no mode tells of it, one kernel stands for all of it. The
        precisions have the moments of its pairs, or one comes from the prior. None for several parameters.
        """
        if self.dimension > 3:
            return ()
        priors, parts = self.parts[0].priors, []
        pairs, w = points.reshape(kernels, -1, self.dimension), np.exp(weights - weights.max()).reshape(kernels, -1)
        gaps = np.gradient(pairs[:, 0, 2]) if kernels > 1 else np.zeros(kernels)
        for x, own, gap in zip(pairs, w, gaps.tolist(), strict=True):
            if own.sum() < _WORTH_A_PART * w.sum() or own.sum() ** 2 < _FEWEST_EFFECTIVE * np.sum(own**2):
                continue
            mean = own @ x / own.sum()
            covariance = (own[:, None] * (x - mean)).T @ (x - mean) / own.sum()
            if kernels > 1:
                covariance[2, 2] = gap**2
            scale = _scale((_DEGREES - 2) / _DEGREES * covariance, priors)
            parts += [Part(priors, frozenset(free), mean, scale) for free in ((), (0,), (1,))]
        return tuple(parts)

    def _half_from_prior(self) -> Mixture:
        shares = self.shares / (2.0 * self.shares[:-1].sum())
        return replace(self, shares=np.append(shares[:-1], 0.5))

    def _kernels(self, n: int, rng: np.random.Generator) -> Array:
        """Draws of the kernels' parameters; a single one from each of n equal shares, so that no peak falls between."""
        if self.dimension != 3:
            return self.draw(n, rng)[0][:, 2:]
        line = np.sort(self.draw(n * _SHARE, rng)[0][:, 2]).reshape(n, _SHARE)
        return rng.permuted(line, axis=1)[:, :1]


def mixture_at(modes: tuple[Mode, ...], priors: tuple[LogPrior, ...], noise: WhiteNoise) -> Mixture:
    """The mixture before anything is drawn: the modes' parts in proportion to their Laplace masses."""
    mass = np.exp(np.array([mode.log_mass for mode in modes]) - max(mode.log_mass for mode in modes))
    mass = np.maximum(mass / mass.sum(), _LEAST_SHARE)
    mass /= mass.sum()
    sets = _sets(len(priors))
    parts, shares = [], []
    for mode, share in zip(modes, mass.tolist(), strict=True):
        covariance = _scale(mode.covariance, priors)
        for free in (frozenset[int](), *sets):
            parts.append(Part(priors, free, mode.position, covariance, of_mode=not free))
            shares.append(share * (_OF_ARMS / len(sets) if free else _OF_MODES))
    all_of_them = frozenset(range(len(priors)))
    for known, log_precision in enumerate(noise.log_precisions):
        mean = np.full(len(priors), log_precision)
        parts.append(Part(priors, all_of_them - {known}, mean, noise.variance * np.eye(len(priors))))
        shares.append(_OF_NOISE / 2.0)
    parts.append(Part(priors, all_of_them, modes[0].position, np.eye(len(priors))))
    return Mixture(tuple(parts), np.append(shares, _OF_PRIOR))


def _sets(d: int) -> list[frozenset[int]]:
    sizes = range(1, d) if d <= _MOST_SUBSETS else (1, d - 1)
    return [frozenset(chosen) for size in sizes for chosen in combinations(range(d), size)]


def _scale(covariance: Array, priors: tuple[LogPrior, ...]) -> Array:
    """The covariance at a mode, no wider than the prior in any direction: on a plateau it has no end of its own."""
    width = np.array([part.width for part in priors])
    eigenvalues, V = np.linalg.eigh(0.5 * (covariance + covariance.T) / np.outer(width, width))
    root = width[:, None] * V * np.sqrt(np.clip(eigenvalues, _NARROWEST**2, 1.0))
    return np.asarray(root @ root.T)
