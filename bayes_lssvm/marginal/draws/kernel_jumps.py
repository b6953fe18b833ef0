"""Jumps of the kernel's parameters with fresh μ and ζ, beside NUTS on the exact density.

Given the kernel parameters θ, one reduced matrix gives the density of log γ with log μ integrated out, O(N) a value:
(log μ, log ζ) can be drawn at once, however long their tails are and however many modes they have. After each step of
NUTS a chain is offered

    θ' from Student distributions at the modes and at its own warm-up, with γ' and μ' drawn given θ',
    γ' and μ' drawn given the θ that it has,

each accepted with the probability of Metropolis and Hastings, so that the posterior stays what it is however rough the
proposals are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import multivariate_t

from ...base.errors import NotPositiveSemidefiniteError
from ...base.typing import Array
from ...linalg.reduction import Reduction
from ...priors import LogPrior
from ..log_mu import NEGLIGIBLE, LogMu, log_sum_exp, support_of_log_gamma
from .unbounded import Unbounded

_DEGREES = 4  # of freedom: tails wider than those of the posterior
_WIDER = 1.2  # than the Gaussians, in standard deviations
_ENOUGH = 10  # draws of the warm-up for each parameter
_LEARNT = 0.75  # share of the proposals that the warm-up has taught
_SINGULAR = 1e-8
_NODES = 65
_LOWEST = 1e-10  # γλ


@dataclass(frozen=True)
class GivenKernel:
    """(log γ, log μ) given the kernel, nearly: a mixture over nodes of log γ with a Gaussian of log μ at each.

    Attributes
    ----------
    nodes, log_shares, mode, width : arrays of shape (G,)
        log γ at equal steps, the logs of their probabilities, and where log μ is given each.
    """

    reduction: Reduction
    parts: tuple[LogPrior, ...]
    nodes: Array
    log_shares: Array
    mode: Array
    width: Array

    @classmethod
    def of(cls, reduction: Reduction, parts: tuple[LogPrior, ...]) -> GivenKernel:
        """Nodes where the density is not negligible, found on a coarse grid."""
        lowest, highest = support_of_log_gamma(*parts[:2])
        low, high = max(np.log(_LOWEST / reduction.lambda_max), lowest), min(np.log(reduction.gamma_max), highest)
        for n in (max(int(np.ceil(high - low)), 8) + 1, _NODES):
            u = np.linspace(low, high, n)
            at = LogMu.of(reduction, u, *parts[:2])
            heights = np.nan_to_num(at.log_height(), nan=-np.inf, posinf=-np.inf)
            if not np.isfinite(heights.max()):
                raise ValueError("The density is not finite at any γ.")
            inside = np.flatnonzero(heights > heights.max() - NEGLIGIBLE)
            low, high = u[max(inside[0] - 1, 0)], u[min(inside[-1] + 1, n - 1)]
        return cls(reduction, parts, u, heights - log_sum_exp(heights), at.peak.mode, _WIDER * at.peak.width)

    def draw(self, rng: np.random.Generator) -> tuple[float, float]:
        """Log γ and log μ: a node by its share, from there triangularly to both sides, and log μ as at the node."""
        i, step = rng.choice(len(self.nodes), p=np.exp(self.log_shares)), self.nodes[1] - self.nodes[0]
        u = self.nodes[i] + step * (rng.random() + rng.random() - 1.0)
        return float(u), float(self.mode[i] + self.width[i] * rng.standard_normal())

    def log_ratio(self, u: float, m: float) -> float:
        """Log p(D | μ, ζ, kernel) + log p(log μ, log ζ), over the log density of `draw`; −inf off the support."""
        step = self.nodes[1] - self.nodes[0]
        distance = np.abs(u - self.nodes) / step
        near = np.flatnonzero(distance < 1.0)
        e = (m - self.mode[near]) / self.width[near]
        terms = self.log_shares[near] + np.log1p(-distance[near]) - 0.5 * e**2 - np.log(self.width[near])
        proposal = float(log_sum_exp(terms)) - np.log(step) - 0.5 * np.log(2.0 * np.pi) if len(near) else -np.inf
        with np.errstate(all="ignore"):
            target = float(LogMu.of(self.reduction, np.array([u]), *self.parts[:2]).log_density(np.array([m]))[0])
        return target - proposal if np.isfinite(target) else -np.inf


class KernelJumps:
    """The jumps of one chain: a call takes coordinates z, and gives others or None where the chain stays.

    Parameters
    ----------
    unbounded : Unbounded
        The density in coordinates; the first two belong to μ and ζ.
    gaussians : sequence of (centre, factor)
        Of the modes, in coordinates.
    rng : Generator
    """

    def __init__(
        self, unbounded: Unbounded, gaussians: Sequence[tuple[Array, Array]], rng: np.random.Generator
    ) -> None:
        self.unbounded = unbounded
        self.rng = rng
        self._students = [_student(centre[2:], (factor @ factor.T)[2:, 2:]) for centre, factor in gaussians]
        self._n_modes = len(gaussians)
        self._warmup: list[Array] | None = []

    def __call__(self, z: Array, warming: bool) -> Array | None:
        """One jump; draws of the warm-up are remembered, and what they teach is settled with the first one after it."""
        if warming and self._warmup is not None:
            self._warmup.append(z[2:])
        elif self._warmup is not None:
            self._students += self._learnt()
            self._warmup = None
        x, theta = self.unbounded.point(z), z[2:]
        given = self._given(x)
        if given is None:
            return None
        at, ratio = None, given.log_ratio(float(x[1] - x[0]), float(x[0]))
        proposed = self._propose()
        there = self._given(self.unbounded.point(np.append(z[:2], proposed)))
        if there is not None:
            drawn = there.draw(self.rng)
            ratio_there = there.log_ratio(*drawn)
            if self._taken(ratio_there + self._log_weight(proposed) - ratio - self._log_weight(theta)):
                given, theta, at, ratio = there, proposed, drawn, ratio_there
        drawn = given.draw(self.rng)  # after a jump too: only then do both moves leave the posterior as it is
        if self._taken(given.log_ratio(*drawn) - ratio):
            at = drawn
        if at is None:
            return None
        u, m = at
        return np.append(self.unbounded.coordinates(np.concatenate([[m, m + u], x[2:]]))[:2], theta)

    def _taken(self, gain: float) -> bool:
        return bool(np.log(self.rng.random()) < gain)

    def _given(self, x: Array) -> GivenKernel | None:
        density = self.unbounded.density
        if not np.isfinite(self._log_prior(x)):
            return None
        try:
            with np.errstate(all="ignore"):
                return GivenKernel.of(density.reduction(density.kernel_at(x)), density.parts)
        except (NotPositiveSemidefiniteError, np.linalg.LinAlgError, ArithmeticError, ValueError):
            return None

    def _log_prior(self, x: Array) -> float:
        parts = self.unbounded.density.parts[2:]
        return float(sum(part.log_density(value) for part, value in zip(parts, x[2:], strict=True)))

    def _log_weight(self, theta: Array) -> float:
        """Log prior of kernel parameters over the density with which they are proposed, in coordinates."""
        z = np.append(np.zeros(2), theta)
        own = self._log_prior(self.unbounded.point(z)) + float(self.unbounded.log_slopes(z)[2:].sum())
        logs = [
            np.log(weight) + student.logpdf(theta)
            for weight, student in zip(self._weights, self._students, strict=True)
        ]
        return own - float(log_sum_exp(np.array(logs)))

    def _propose(self) -> Array:
        chosen = self._students[self.rng.choice(len(self._students), p=self._weights)]
        return np.atleast_1d(chosen.rvs(random_state=self.rng))

    @property
    def _weights(self) -> Array:
        """Of the Student distributions: of the modes' alike, and most for what the warm-up taught."""
        modes = np.full(self._n_modes, 1.0 / self._n_modes)
        return modes if len(self._students) == self._n_modes else np.append((1.0 - _LEARNT) * modes, _LEARNT)

    def _learnt(self) -> list[Any]:
        """A Student distribution of the later half of the warm-up, if it is long enough."""
        later = np.array((self._warmup or [])[len(self._warmup or []) // 2 :])
        if len(later) < _ENOUGH or len(later) < _ENOUGH * later.shape[1]:
            return []
        covariance = np.atleast_2d(np.cov(later, rowvar=False))
        smallest, largest = np.linalg.eigvalsh(covariance)[[0, -1]]
        return [_student(later.mean(axis=0), covariance)] if smallest > _SINGULAR * largest else []


def _student(mean: Array, covariance: Array) -> Any:
    return multivariate_t(mean, _WIDER**2 * covariance, df=_DEGREES)
