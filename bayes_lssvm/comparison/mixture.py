"""Predictions of one kernel with its parameters, μ and ζ integrated out, and what each row looks like to the others.

A few kernels stand for the posterior of the kernel's parameters. For real targets the density of a row given all others
is exact, hyperparameters integrated out again without it: with p_i(θ) = p(y_i | y_−i, θ) in closed form (paper 1, eq
12),

    p(y_i | y_−i) = p(y)/p(y_−i) = 1 / ∫ p(θ | y)/p_i(θ) dθ,         θ = (μ, ζ, kernel parameters).

Where a row is far from what the others expect, 1/p_i is largest where p(θ | y) has next to nothing, beyond the nodes of
(μ, ζ). Then p(y_−i) itself is integrated, at each kernel.

For labels it is the probability of the row's class by the map of leave-one-out outputs (`levels.logistic_map`),
hyperparameters and map held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..base.rows import group_equal_inputs
from ..base.typing import Array
from ..base.weights import row_count, weighted_mean
from ..kernels import Kernel
from ..levels.logistic_map import LogisticMap
from ..linalg.blas import product
from ..linalg.repeats import reduced, repeated_inputs, spectrum_of
from ..marginal.left_out import left_out_map, left_out_moments
from ..marginal.predictions import MixturePredictor, Nodes, PredictionNode, gauss_rule, rows_of
from ..marginal.rules.level2 import Level2Integral, integrate
from ..multiclass.decodings import bayes_log_posterior, couple_pairwise, default_decoding
from ..priors import HyperPrior
from .evidence import KernelEvidence
from .integrand import Integrand
from .problem import Member, Problem

_SEVERAL = 24  # kernels that stand for more parameters
_EDGE, _SMALL = 4.0, 1e-7  # nats above the least weight of a node; share of the integrand that may lie there
_SUREST = 1e8


class Left(NamedTuple):
    """A kernel of the mixture with its share and the integral over (μ, ζ) of each member."""

    kernel: Kernel
    share: float
    integrals: tuple[Level2Integral, ...]


@dataclass(frozen=True)
class KernelMixture:
    """One kernel's predictions.

    Attributes
    ----------
    problem : Problem
    nodes : tuple of tuples of PredictionNode
        For each member, the kernels that stand for the posterior.
    maps : tuple of LogisticMap
        For each member, from outputs to log odds; empty for real targets.
    """

    problem: Problem
    nodes: tuple[tuple[PredictionNode, ...], ...]
    maps: tuple[LogisticMap, ...]

    @classmethod
    def of(cls, problem: Problem, found: KernelEvidence) -> KernelMixture:
        """From the evidence's kernels and weights."""
        kernels = _kernels(problem, found)
        nodes = tuple(tuple(_node(member, own, bit) for own in kernels) for bit, member in enumerate(problem.members))
        maps: tuple[LogisticMap, ...] = ()
        if problem.classes is not None:
            maps = tuple(
                left_out_map(own, member.X, member.y, member.weights)
                for own, member in zip(nodes, problem.members, strict=True)
            )
        return cls(problem, nodes, maps)

    @cached_property
    def predictors(self) -> tuple[MixturePredictor, ...]:
        """One for each member."""
        return tuple(
            MixturePredictor(own, member.X, member.y, member.weights)
            for own, member in zip(self.nodes, self.problem.members, strict=True)
        )

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of new real targets, noise included, each of shape (n,)."""
        return self.predictors[0].moments(X)

    def probabilities(self, X: Array) -> Array:
        """P(c | x) at the training frequencies, of shape (n, M)."""
        odds = [own.log_odds(*predictor.moments(X)) for own, predictor in zip(self.maps, self.predictors, strict=True)]
        return self._decoded(np.stack(odds, axis=1))

    def left_out_probabilities(self) -> Array:
        """P(c | x_i, all rows but i) at the training rows, of shape (N, M)."""
        columns = []
        for own, predictor, nodes, member in zip(
            self.maps, self.predictors, self.nodes, self.problem.members, strict=True
        ):
            odds = np.empty(len(self.problem.X))
            unseen = np.setdiff1d(np.arange(len(odds)), member.rows)
            odds[member.rows] = own.log_odds(*left_out_moments(nodes, member.X, member.y, member.weights))
            if len(unseen):
                odds[unseen] = own.log_odds(*predictor.moments(self.problem.X[unseen]))
            columns.append(odds)
        return self._decoded(np.stack(columns, axis=1))

    def _decoded(self, odds: Array) -> Array:
        """Class probabilities from the members' log odds of shape (n, L); never surer than N rows can teach."""
        problem = self.problem
        assert problem.code is not None
        if len(problem.frequencies) == 2:
            positive = 1.0 / (1.0 + np.exp(-odds[:, 0]))
            return np.stack([1.0 - positive, positive], axis=1)
        ratios = np.clip(odds - np.array([own.class_log_odds for own in self.maps]), -_SUREST, _SUREST)
        if default_decoding(problem.code) == "coupling":
            found = couple_pairwise(problem.code, ratios, problem.frequencies)
        else:
            found = np.exp(bayes_log_posterior(problem.code, ratios, problem.frequencies))
        count = found.shape[1]
        floor = (row_count(problem.weights, len(problem.X)) + count) ** -2
        return np.asarray(found * (1.0 - count * floor) + floor)


def _node(member: Member, own: Left, bit: int) -> PredictionNode:
    """A kernel's part in predictions of a member; one beyond its search bounds is a multiple of one within."""
    within, factor = own.kernel.within_bounds(member.X)
    rows = rows_of(own.integrals[bit], Nodes.of(len(member.y)))
    return PredictionNode(within, own.share, rows.of_scaled_kernel(factor))


def left_out_log_densities(problem: Problem, found: KernelEvidence, mixture: KernelMixture) -> Array:
    """Log p(y_i | all rows but i) by one kernel, of shape (N,): of the target, or of the class."""
    if problem.classes is not None:
        return np.asarray(np.log(mixture.left_out_probabilities()[np.arange(len(problem.y)), problem.y]))
    terms = [
        np.log(own.share) + _log_mean_inverse(problem.members[0], own.kernel, own.integrals[0], found.priors[0])
        for own in _kernels(problem, found)
    ]
    return np.asarray(-logsumexp(terms, axis=0))


def _log_mean_inverse(member: Member, kernel: Kernel, integral: Level2Integral, prior: HyperPrior) -> Array:
    """Log of the posterior mean of 1/p(y_i | y_−i, μ, ζ) at one kernel, of shape (N,)."""
    spectrum = spectrum_of(kernel(member.X), member.X, member.y, member.weights)
    log_weights = integral.log_weights - logsumexp(integral.log_weights)
    log_mu, log_gamma = integral.log_mu, integral.log_zeta - integral.log_mu
    gammas, group = np.unique(np.round(log_gamma, 10), return_inverse=True)
    inverse = 1.0 / (spectrum.eigenvalues[:, None] + np.exp(-gammas))  # [N-1, G]
    diagonal = product(spectrum.vectors**2, inverse)[:, group]  # (C⁻¹)_ii, [N, J]
    alpha = product(spectrum.vectors, spectrum.t[:, None] * inverse)[:, group]
    precision = np.exp(log_mu) * diagonal
    log_p = 0.5 * (np.log(precision) - np.log(2.0 * np.pi) - np.exp(log_mu) * alpha**2 / diagonal)
    found = np.asarray(logsumexp(log_weights - log_p, axis=1))
    edge = log_weights < log_weights.min() + _EDGE
    beyond = logsumexp((log_weights - log_p)[:, edge], axis=1) > found + np.log(_SMALL)
    for i in np.flatnonzero(beyond).tolist():
        found[i] = _without(member, kernel, i, prior).log_z - integral.log_z
    return found


def _without(member: Member, kernel: Kernel, i: int, prior: HyperPrior) -> Level2Integral:
    """The integral over (μ, ζ) of all rows but one."""
    rest = np.arange(len(member.y)) != i
    X, y, weights = member.X[rest], member.y[rest], None if member.weights is None else member.weights[rest]
    rows = repeated_inputs(group_equal_inputs(X, y, weights))
    return integrate(reduced(kernel(X if rows is None else rows.X), y, rows, weights), prior.mu, prior.zeta)


def _kernels(problem: Problem, found: KernelEvidence) -> list[Left]:
    """Kernels that stand for the posterior: a Gauss rule of one parameter, an even choice of several."""
    integrand = Integrand(problem, found.kernel, found.priors, found.n_parameters > 0)
    if found.n_parameters == 0:
        return [Left(found.kernel, 1.0, integrand.integrals(found.kernel))]
    if found.n_parameters == 1:
        nodes, shares = gauss_rule(found.log_params[:, 0], found.weights, Nodes.of(len(problem.y)).kernel)
        thetas = nodes[:, None]
    else:
        chosen = np.searchsorted(np.cumsum(found.weights)[:-1], (np.arange(_SEVERAL) + 0.5) / _SEVERAL)
        distinct, counts = np.unique(chosen, return_counts=True)
        thetas, shares = found.log_params[distinct], counts / _SEVERAL
    kernels = [found.kernel.with_log_params(theta) for theta in thetas]
    return [Left(k, float(share), integrand.integrals(k)) for k, share in zip(kernels, shares, strict=True)]


def stacking_weights(
    log_densities: Sequence[Array] | Array, rows: Array | None = None, *, gap: float = 1e-7, most: int = 100_000
) -> Array:
    """Weights on the simplex that maximise Σ_i n_i log Σ_k w_k p_ik, of shape (K,), for logs of shape (N, K).

    Row i counts for n_i rows, where that is given, in all means over i.

    The problem is convex. Each step w_k ← w_k · mean_i p_ik/Σ_j w_j p_ij does not lower the mean log density, and the
    largest of these factors less one bounds what is still to be gained, in nats a row: the end is when it is `gap`.
    """
    logs = np.asarray(log_densities, dtype=float)
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(p.shape[1], 1.0 / p.shape[1])
    for _ in range(most):
        factors = weighted_mean(p / (p @ weights)[:, None], rows)
        if factors.max() <= 1.0 + gap:
            break
        weights = weights * factors
    return np.asarray(weights / weights.sum())
