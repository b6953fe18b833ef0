"""μ, ζ and the kernel's parameter integrated out, from sums over rows: a pass for each value of the parameter.

With many rows the posterior of log σ is one narrow peak about the maximum that the design has found. A trapezoidal rule
with steps of 0.8 standard deviations integrates it: for a Gaussian the error is below 1e-9, and the rule of twice the
step tells how far it may be from one. μ and ζ are integrated at each σ as they are for any reduction. Bits of a code
share σ; given σ, each has a μ and ζ of its own. Kernels with several parameters keep them at the maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..base.typing import Array
from ..marginal.predictions import Nodes, Rows, rows_of
from ..marginal.rules.level2 import Level2Integral, integrate
from ..marginal.rules.trapezoid import error_after
from ..priors import HyperPrior
from .features import FeatureMap
from .objective import tasks_of
from .posterior import FixedSizePosterior
from .statistics import Statistics

_STEP = 0.8  # standard deviations of log σ
_DEEP = 9.0  # nats below the maximum, where the rule ends
_FIRST, _MOST_TRIALS = 0.2, 10
_DROPS = (0.25, 3.0)  # nats from the maximum to its neighbours, from which the width can be told
_MOST_NODES = 40


class Node(NamedTuple):
    """A kernel of the mixture: its features, the sums of all rows, and the log of its weight in the rule."""

    features: FeatureMap
    statistics: Statistics
    log_step: float


class _Part(NamedTuple):
    """The bits of one task at one kernel: a posterior with a column for each bit and row, and these rows."""

    bits: tuple[int, ...]
    posterior: FixedSizePosterior
    rows: tuple[Rows, ...]

    def mixed(self, values: Array) -> Array:
        """Values of shape (n, columns), averaged over the rows of each bit: of shape (n, B)."""
        ends = np.cumsum([len(rows.weight) for rows in self.rows])
        columns = np.split(values, ends[:-1], axis=1)
        return np.stack([own @ rows.weight for own, rows in zip(columns, self.rows, strict=True)], axis=1)

    def repeated(self, values: Array) -> Array:
        """Values of shape (n, B) once for each column."""
        return np.repeat(values, [len(rows.weight) for rows in self.rows], axis=1)


@dataclass(frozen=True)
class Mixture:
    """The posterior over hyperparameters, as far as predictions need it.

    Attributes
    ----------
    log_evidence, error : float
        log p(D | H) of the low-rank model with nothing fixed, summed over the bits, and its error in nats.
    log_parameter : array of shape (K,) or None
        Values of the kernel's log parameter; None if it is held.
    weights : array of shape (K,)
        Their shares.
    means, sds : arrays of shape (L, 2)
        Of log μ and log ζ of each bit.
    noise : array of shape (L,)
        The mean of 1/ζ of each bit.
    """

    log_evidence: float
    error: float
    log_parameter: Array | None
    weights: Array
    means: Array
    sds: Array
    noise: Array
    nodes: tuple[Node, ...]
    parts: tuple[tuple[_Part, ...], ...]

    @classmethod
    def of(cls, nodes: tuple[Node, ...], code: Array | None, priors: list[HyperPrior]) -> Mixture:
        """From the sums of each kernel, the priors of the bits and their code."""
        bits = 1 if code is None else code.shape[1]
        values, parts, moments = [], [], []
        errors = []
        for node in nodes:
            integrals, own = _at(node.statistics, code, priors)
            values.append(sum(each.log_z for each in integrals) + _log_prior(node, priors) + node.log_step)
            errors.append(sum(each.error + each.tail for each in integrals))
            parts.append(own)
            moments.append(np.stack([_moments(integrals[bit]) for bit in range(bits)]))  # [L, 5]
        total = float(logsumexp(values))
        weights = np.exp(np.array(values) - total)
        mixed = np.tensordot(weights, np.stack(moments), 1)
        means, squares, noise = mixed[:, :2], mixed[:, 2:4], mixed[:, 4]
        theta = None
        if len(nodes) > 1:
            theta = np.array([float(node.features.kernel.log_params[0]) for node in nodes])
        error = float(weights @ np.array(errors)) + _rule_error(np.array(values))
        sds = np.sqrt(np.maximum(squares - means**2, 0.0))
        return cls(total, error, theta, weights, means, sds, noise, nodes, tuple(parts))

    @property
    def parameter_mean_and_sd(self) -> tuple[float, float] | None:
        """Of the kernel's log parameter; None if it is held."""
        if self.log_parameter is None:
            return None
        mean = float(self.weights @ self.log_parameter)
        return mean, float(np.sqrt(self.weights @ (self.log_parameter - mean) ** 2))

    def moments(
        self, X: Array, targets: Array | None = None, weights: Array | None = None, *, whole: bool = False
    ) -> tuple[Array, Array]:
        """Mean and variance of z at standardised inputs, over all hyperparameters; each of shape (n, L).

        With the rows' own targets of shape (n, L), and their weights if any, those of the model without the row.
        """
        bits = len(self.noise)
        mean, square = np.zeros((len(X), bits)), np.zeros((len(X), bits))
        for node, weight, parts in zip(self.nodes, self.weights, self.parts, strict=True):
            phi, diagonal = node.features(X), node.features.kernel.diag(X)
            for part in parts:
                if targets is None:
                    z, variance = part.posterior.moments(phi, diagonal)
                else:
                    own = part.repeated(targets[:, list(part.bits)])
                    z, variance = part.posterior.left_out_moments(phi, diagonal, own, weights, whole=whole)
                mean[:, part.bits] += weight * part.mixed(z)
                square[:, part.bits] += weight * part.mixed(z**2 + variance)
        return mean, np.maximum(square - mean**2, 0.0)


def _at(
    statistics: Statistics, code: Array | None, priors: list[HyperPrior]
) -> tuple[list[Level2Integral], tuple[_Part, ...]]:
    """The integrals of all bits over μ and ζ, and what predictions need of them."""
    found: dict[int, Level2Integral] = {}
    parts = []
    for task in tasks_of(statistics, code):
        rows = []
        for k, bit in enumerate(task.bits):
            found[bit] = integrate(task.reduction.alone(k), priors[bit].mu, priors[bit].zeta)
            own = rows_of(found[bit], Nodes.of(task.centred.n))
            rows.append(own._replace(weight=own.weight / own.weight.sum()))
        columns = np.repeat(np.arange(len(task.bits)), [len(own.weight) for own in rows])
        centred = task.centred._replace(
            crosses=task.centred.crosses[columns], target_means=task.centred.target_means[columns]
        )
        mu = 1.0 / np.concatenate([own.inverse_mu for own in rows])
        zeta = mu / np.concatenate([own.s for own in rows])
        posterior = FixedSizePosterior.of(task._replace(centred=centred), mu, zeta)
        parts.append(_Part(task.bits, posterior, tuple(rows)))
    return [found[bit] for bit in sorted(found)], tuple(parts)


def _moments(integral: Level2Integral) -> Array:
    """Means of log μ, log ζ, their squares, and 1/ζ."""
    weights = np.exp(integral.log_weights - logsumexp(integral.log_weights))
    both = np.stack([integral.log_mu, integral.log_zeta])
    return np.array([*(both @ weights), *(both**2 @ weights), float(np.exp(-integral.log_zeta) @ weights)])


def _log_prior(node: Node, priors: list[HyperPrior]) -> float:
    """Of the kernel's parameter, which all bits share."""
    theta = node.features.kernel.log_params
    if len(theta) != 1:
        return 0.0
    return float(priors[0].components(1)[2].log_density(theta[0]))


def _rule_error(values: Array) -> float:
    """From the rule of twice the step; the share that lies beyond the ends, too."""
    if len(values) < 3:
        return 0.0
    whole = float(logsumexp(values))
    coarse = max(abs(float(logsumexp(values[k::2])) + np.log(2.0) - whole) for k in (0, 1))
    return error_after(coarse, 1.0) + float(np.exp(values[[0, -1]] - whole).sum())


def lay_nodes(
    at: Callable[[float], Node], log_integrand: Callable[[Node], float], centre: float, bounds: tuple[float, float]
) -> tuple[Node, ...]:
    """Nodes of a trapezoidal rule where the integrand over the kernel's log parameter is.

    Parameters
    ----------
    at : callable
        The node at a value of the log parameter: a pass.
    log_integrand : callable
    centre : float
        About its maximum.
    bounds : pair of float
        Of the kernel's search.
    """
    here = log_integrand(at(centre))
    sd = _width(lambda x: log_integrand(at(x)), centre, here, bounds)
    step = _STEP * sd
    found = {0: at(centre)}
    heights = {0: here}
    for sign in (-1, 1):
        k = sign
        while bounds[0] <= centre + k * step <= bounds[1] and len(found) < _MOST_NODES:
            node = at(centre + k * step)
            found[k], heights[k] = node, log_integrand(node)
            if heights[k] < max(heights.values()) - _DEEP:
                break
            k += sign
    return tuple(found[k]._replace(log_step=float(np.log(step))) for k in sorted(found))


def _width(value: Callable[[float], float], centre: float, here: float, bounds: tuple[float, float]) -> float:
    """Standard deviation of the peak, from neighbours that are neither too near nor too far."""
    h = _FIRST
    drop = 1.0
    for _ in range(_MOST_TRIALS):
        beside = [value(x) for x in (centre - h, centre + h) if bounds[0] <= x <= bounds[1]]
        drop = max(here - float(np.mean(beside)), 1e-3) if beside else drop
        if _DROPS[0] <= drop <= _DROPS[1]:
            break
        h *= float(np.clip(np.sqrt(1.0 / drop), 0.05, 4.0))
    return h / float(np.sqrt(2.0 * drop))
