"""Predictions of a mixture over hyperparameters: a few kernels, and for each of them a few values of γ.

What is predicted is a smooth function of the hyperparameters, so few nodes are enough if they are well placed: the
nodes of the Gauss rule that belongs to the posterior of the kernel's parameter, and for each kernel the Gauss rule of
log γ given the kernel. m nodes integrate polynomials of degree 2m − 1 exactly against the posterior.

The mean at a kernel costs its block θ(x) and one product with the support values of every γ. The variance needs, with
the spectrum λ, V of the centred kernel matrix, p(x) = Vᵀθ(x) and then Σ_i (p_i − c_i)²/(λ_i + s) for every s = 1/γ.
Directions whose λ_i are negligible against s are left out: they explain at most k(x, x) Σ λ_i/s of the variance. With
200 points or more the posterior of the kernel's parameter is narrow and the projection is what costs: the share of the
prior variance that remains is then computed at three of the kernels, and its logarithm interpolated to the others.

At given γ the variances are proportional to 1/μ, so that for the mixture's mean and variance μ enters through the
posterior mean of 1/μ alone. Class probabilities are averaged over nodes in log μ too, the Gauss rule of its posterior
given γ, whose width is √(2/N): fewer nodes for more points, and one, the mean of 1/μ, for thousands. With few points
the posteriors of γ and of the kernel are wide and have more nodes as well. Probabilities of the whole rule come out to
better than a part in a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal

from ..base.rows import group_equal_inputs
from ..base.typing import AnyArray, Array
from ..base.weights import row_count
from ..kernels import Kernel
from ..levels.level1 import ClassMoments
from ..levels.moderation import class_log_odds, softmax_log_odds, target_log_odds
from ..linalg.blas import product
from ..linalg.repeats import decomposed, repeated_inputs
from .rules.level2 import Level2Integral

_GAMMA_NODES = 6
_MU_NODES = 3  # of a Gaussian
_VARIANCE_KERNELS = 3  # at which variances are computed where there are many points
_MANY = 200
_LAST = 1e-6  # share of a posterior at either end that has no nodes
_CHUNK = 1024  # new points at a time
_SMALLEST_SHARE = 1e-14  # of the prior variance: what is below it is rounding
_TINY = 1e-300
_APART = 1e-8  # log γ of two rows of a rule
# of the three centres that variances are about
_EVERY, MEAN, CLASSES = slice(0, 3), slice(0, 1), slice(1, 3)
_MARGIN = 0.5  # by which an interpolated log variance may pass those beside it
_NEGLIGIBLE_VARIANCE = 1e-14  # of k(x, x), left unexplained by the directions that are dropped; means err by its root


class Nodes(NamedTuple):
    """How many nodes of a kernel's parameter, of log γ given the kernel and of log μ given both predictions have."""

    kernel: int
    gamma: int
    mu: int

    @classmethod
    def of(cls, n: int) -> Nodes:
        """So many that N data points give probabilities to a thousandth."""
        return next(nodes for most, nodes in _NODES if n <= most)


_NODES = (
    (60, Nodes(31, 14, 5)),
    (100, Nodes(17, 10, 4)),
    (200, Nodes(11, 8, 3)),
    (1000, Nodes(9, 6, 2)),
    (np.inf, Nodes(9, 6, 1)),
)


class Rows(NamedTuple):
    """Values of s = 1/γ and of 1/μ of one kernel with their weights, all of shape (R,); s may repeat."""

    s: Array
    weight: Array
    inverse_mu: Array

    @property
    def inverse_zeta(self) -> Array:
        """1/ζ, or its mean, in each row."""
        return self.s * self.inverse_mu

    def by_gamma(self) -> tuple[Rows, AnyArray]:
        """One row for each γ with the mean of 1/μ there, and the number of the row that each of these is part of."""
        s, at = np.unique(self.s, return_inverse=True)
        weight = np.bincount(at, self.weight).astype(float)
        return Rows(s, weight, np.bincount(at, self.weight * self.inverse_mu) / np.maximum(weight, _TINY)), at

    def of_scaled_kernel(self, factor: float) -> Rows:
        """The same posterior for a kernel of which the present one is `factor` times: μ is 1/factor times as large."""
        return Rows(self.s / factor, self.weight, self.inverse_mu * factor)


@dataclass(frozen=True)
class PredictionNode:
    """One kernel of the mixture: its share, and γ given it."""

    kernel: Kernel
    weight: float
    rows: Rows


def gauss_rule(x: Array, weights: Array, m: int) -> tuple[Array, Array]:
    """Nodes and weights of the m-point Gauss rule of a discrete distribution (Lanczos with reorthogonalisation).

    The last millionth at either end is left out: it would take nodes from where the posterior is.
    """
    order = np.argsort(x)
    x, weights = x[order], weights[order] / weights.sum()
    below = np.cumsum(weights)
    kept = (below > _LAST) & (below - weights < 1.0 - _LAST)
    x, weights = x[kept], weights[kept] / weights[kept].sum()
    centre, scale = float(weights @ x), max(float(np.ptp(x)), 1e-300)
    z = (x - centre) / scale
    basis = [np.sqrt(weights)]
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(m):
        r = z * basis[-1]
        diagonal.append(float(basis[-1] @ r))
        for vector in basis + basis:  # twice is enough
            r = r - (vector @ r) * vector
        norm = float(np.linalg.norm(r))
        if norm < 1e-10:
            break
        beside.append(norm)
        basis.append(r / norm)
    values, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    return centre + scale * values, vectors[0] ** 2


def rows_of(integral: Level2Integral, nodes: Nodes) -> Rows:
    """The Gauss rules of log γ, and of log μ given γ, for one kernel's quadrature."""
    weights = np.exp(integral.log_weights - integral.log_weights.max())
    u, group = _without_rounding(integral.log_zeta - integral.log_mu)
    total = np.bincount(group, weights).astype(float)
    log_inverse_mu = np.log(np.bincount(group, weights * np.exp(-integral.log_mu)) / total)
    found, shares = gauss_rule(u, total, nodes.gamma)
    order, ends = np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))
    rows = []
    for at, share, mean in zip(found, shares, np.interp(found, u, log_inverse_mu), strict=True):
        k = int(np.abs(u - at).argmin())  # whose posterior of log μ is moved to this γ
        here = order[ends[k - 1] if k else 0 : ends[k]]
        log_mu, own = gauss_rule(integral.log_mu[here], weights[here], nodes.mu)
        rows.append((np.full(len(own), np.exp(-at)), share * own, _with_mean(np.exp(-log_mu), own, mean)))
    return Rows(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))


def _without_rounding(values: Array) -> tuple[Array, AnyArray]:
    """The distinct values in ascending order, those apart by no more than rounding taken as one, and whose is which."""
    order = np.argsort(values, kind="stable")
    number = np.cumsum(np.diff(values[order], prepend=values[order[0]]) > _APART)
    group = np.empty(len(values), dtype=int)
    group[order] = number
    return values[order][np.flatnonzero(np.diff(number, prepend=-1))], group


def _with_mean(values: Array, weights: Array, log_mean: float) -> Array:
    """Values of 1/μ, scaled so that their mean is what it has to be."""
    return np.asarray(values * np.exp(log_mean - np.log(weights @ values)))


def rows_of_gaussian(mean: Array, covariance: Array) -> Rows:
    """The Gauss rules of log γ, and of log μ given γ, for a Gaussian of (log μ, log ζ)."""
    (z, weight), (x, own) = (np.polynomial.hermite_e.hermegauss(m) for m in (_GAMMA_NODES, _MU_NODES))
    weight, own = weight / weight.sum(), own / own.sum()
    to_gamma = np.array([-1.0, 1.0])
    variance = float(to_gamma @ covariance @ to_gamma)
    with_gamma = float(covariance[0] @ to_gamma)
    sd = np.sqrt(max(variance, 1e-300))
    u = float(to_gamma @ mean) + sd * z
    rest = max(float(covariance[0, 0]) - with_gamma**2 / max(variance, 1e-300), 0.0)
    log_mu = float(mean[0]) + with_gamma / sd * z
    spread = _with_mean(np.exp(-np.sqrt(rest) * x), own, 0.5 * rest)
    inverse_mu = np.multiply.outer(np.exp(-log_mu), spread)
    return Rows(np.repeat(np.exp(-u), len(x)), np.outer(weight, own).ravel(), inverse_mu.ravel())


def rows_of_draws(log_mu: Array, log_zeta: Array, weights: Array) -> Rows:
    """Each draw is a row of its own."""
    return Rows(np.exp(log_mu - log_zeta), weights / weights.sum(), np.exp(-log_mu))


class NodePredictor:
    """Moments of new points for each γ of one kernel; the variances only where they are asked for.

    `rows` has one row for each γ, `fine` those with the nodes of log μ, of which row k belongs to row `at[k]`. Training
    rows of weights w_i have the shares w_i/Σw in all means, and new targets the noise of weight one.
    """

    def __init__(
        self, node: PredictionNode, X: Array, y: Array, weights: Array | None = None, *, variances: bool = True
    ) -> None:
        self.kernel, self.X, self.y, self.weight = node.kernel, X, y, node.weight
        (self.rows, self.at), self.fine = node.rows.by_gamma(), node.rows
        own = np.ones(len(y)) if weights is None else weights
        self.total, self.n_rows = float(own.sum()), row_count(weights, len(y))
        self.shares = own / self.total
        rows = repeated_inputs(group_equal_inputs(X, y, weights))
        K = self.kernel(X if rows is None else rows.X)
        spectrum = decomposed(K, y, rows, weights)
        K = K if rows is None else K[np.ix_(rows.group, rows.group)]
        # Σ of the eigenvalues that are dropped, the smallest, over s bounds what they would explain
        limit = _NEGLIGIBLE_VARIANCE * self.rows.s.min()
        kept = slice(int(np.searchsorted(np.cumsum(spectrum.eigenvalues), limit)), None)
        eigenvalues, vectors = spectrum.eigenvalues[kept], np.asfortranarray(spectrum.vectors[:, kept])  # [r], [N, r]
        inverse = 1.0 / (eigenvalues[:, None] + self.rows.s)  # [r, G]
        coefficients = spectrum.t[kept, None] * inverse  # [r, G]
        self.alpha = product(vectors, coefficients)  # [N, G]
        self.intercept = spectrum.y_mean - spectrum.kernel_means @ self.alpha  # [G]
        self.d_eff = (eigenvalues[:, None] * inverse).sum(axis=0)  # γ_eff − 1, [G]
        self._classes(K, product(vectors, eigenvalues[:, None] * coefficients) / own[:, None])  # V is W^½ times a basis
        self.about = np.column_stack([self.shares, self.class_weights])  # [N, 3]
        self.columns = np.column_stack([self.alpha, self.about])  # [N, G + 3]
        rows_about = np.column_stack([spectrum.kernel_means, self.class_rows])
        self.about_norms = (self.about * rows_about).sum(axis=0)
        self.spread = _Spread(vectors, inverse, rows_about) if variances else None

    def _classes(self, K: Array, fitted: Array) -> None:
        """Centres of the classes and 1/ζ_* at each γ, from the centred outputs MΩα of shape (N, G)."""
        members = np.stack([self.y > 0, self.y <= 0], axis=1)
        own = members * self.shares[:, None]
        weights = own / np.maximum(own.sum(axis=0), _TINY)
        self.class_weights = weights
        self.class_rows = product(K, weights)  # [N, 2]
        self.centres = product(self.class_rows.T.copy(), self.alpha)  # m̂_d•, [2, G]
        deviations = fitted - members @ (weights.T @ fitted)
        remaining = np.maximum(self.n_rows - 1.0 - self.d_eff, 1e-100)  # N − γ_eff
        self.noise = self.n_rows * np.einsum("i,ig,ig->g", self.shares, deviations, deviations) / remaining

    @property
    def bytes(self) -> int:
        """Memory that keeping this predictor takes."""
        return self.alpha.nbytes + (0 if self.spread is None else self.spread.vectors.nbytes)

    def outputs(self, theta: Array) -> Array:
        """Σ α_i K(x, x_i) for each row of the block θ and each γ, of shape (n, G)."""
        return product(theta, self.alpha)

    def prior_variances(self, X_new: Array, theta: Array) -> Array:
        """Squared distances of features from their mean and from the centres of both classes, of shape (3, n, 1)."""
        return self._squared_distances(X_new, product(theta, self.about), _EVERY)

    def outputs_and_prior_variances(self, X_new: Array, theta: Array, which: slice) -> tuple[Array, Array]:
        """Both, the second about some of the centres, from one pass over the block."""
        found, count = product(theta, self.columns), len(self.rows.s)
        return found[:, :count], self._squared_distances(X_new, found[:, count:][:, which], which)

    def _squared_distances(self, X_new: Array, about: Array, which: slice) -> Array:
        own = self.kernel.diag(X_new)
        squared = own[:, None] - 2.0 * about + self.about_norms[which]  # [n, C]
        return np.maximum(squared.T, _SMALLEST_SHARE * own + _TINY)[:, :, None]

    def remaining_shares(self, prior: Array, theta: Array, which: slice = _EVERY) -> Array:
        """Posterior over prior variance of φᵀw about some of the three centres, of shape (C, n, G)."""
        assert self.spread is not None
        return np.maximum(1.0 - self.spread.explained(theta, which) / prior, _SMALLEST_SHARE)

    def own_variances(self, X_new: Array, theta: Array) -> Array:
        """μ·var of φᵀw about the mean of the features and about the centres of both classes, of shape (3, n, G)."""
        prior = self.prior_variances(X_new, theta)
        return prior * self.remaining_shares(prior, theta)

    def latent_moments(self, own: Array, outputs: Array) -> tuple[Array, Array]:
        """Mean and variance of z from the variance about the mean of the features, each of shape (n, G)."""
        return outputs + self.intercept, own * self.rows.inverse_mu + self.rows.inverse_zeta / self.total

    def log_odds_from(self, own: Array, outputs: Array, moderation: str, prior: float, training: float) -> Array:
        """Log odds of class +1 for each point and row of `fine`, from `own_variances` and `outputs`.

        Of the variances those about the class centres are looked at, the last two, or that about the mean, the first.
        """
        at, inverse_mu = self.at, self.fine.inverse_mu
        if moderation == "class":
            moments = [
                ClassMoments((outputs - self.centres[c])[:, at], own[c - 2][:, at] * inverse_mu + self.noise[at])
                for c in (0, 1)
            ]
            return class_log_odds(moments[0], moments[1], np.inf) + prior
        z, inverse_zeta = (outputs + self.intercept)[:, at], self.fine.inverse_zeta
        variance = own[0][:, at] * inverse_mu + inverse_zeta / self.total
        if moderation == "target":
            return target_log_odds(z, variance + inverse_zeta, np.inf) + prior
        return softmax_log_odds(z, variance) + prior - training

    def latent(self, X_new: Array) -> tuple[Array, Array]:
        """Mean and variance of z, each of shape (n, G)."""
        theta = self.kernel(X_new, self.X)
        return self.latent_moments(self.own_variances(X_new, theta)[0], self.outputs(theta))

    def log_odds(self, X_new: Array, moderation: str, prior: float, training: float) -> Array:
        """Log odds of class +1 for each point and row of `fine`, of shape (n, R)."""
        theta = self.kernel(X_new, self.X)
        own = self.own_variances(X_new, theta)
        return self.log_odds_from(own, self.outputs(theta), moderation, prior, training)


class _Spread:
    """Σ_i (p_i − c_i)²/(λ_i + s) about three centres c, for all points and γ, from one projection p = Vᵀθ."""

    def __init__(self, vectors: Array, inverse: Array, rows_about: Array) -> None:
        self.vectors, self.inverse = vectors, inverse
        centres = product(vectors.T.copy(), rows_about)  # [r, 3]
        self.crossed = [-2.0 * centres[:, c : c + 1] * inverse for c in range(3)]  # [r, G] each
        self.constant = np.stack([(centres[:, c] ** 2) @ inverse for c in range(3)])  # [3, G]

    def explained(self, theta: Array, which: slice = _EVERY) -> Array:
        """The sums about some of the centres, of shape (C, n, G)."""
        p, crossed = product(theta, self.vectors), np.hstack(self.crossed[which])  # [n, r]
        found = product(p, crossed).reshape(len(p), -1, self.inverse.shape[1]).transpose(1, 0, 2)
        p *= p
        return found + product(p, self.inverse) + self.constant[which, None, :]


class MixturePredictor:
    """Predictions of all kernels of a mixture, chunk by chunk of the new points."""

    def __init__(self, nodes: tuple[PredictionNode, ...], X: Array, y: Array, weights: Array | None = None) -> None:
        self.X, self.level = X, float(y.mean())
        chosen = _variance_kernels(nodes) if len(y) >= _MANY else list(range(len(nodes)))
        self.predictors = [NodePredictor(node, X, y, weights, variances=k in chosen) for k, node in enumerate(nodes)]
        positions = np.array([node.kernel.log_params[0] if node.kernel.log_params.size else 0.0 for node in nodes])
        between = [k for k in range(len(nodes)) if k not in chosen]
        self.lagrange = {k: _Interpolation(positions[k], positions[chosen]) for k in between}
        self.order = [*chosen, *between]

    @property
    def bytes(self) -> int:
        """Memory that keeping this takes."""
        return sum(predictor.bytes for predictor in self.predictors)

    def moments(self, X_new: Array) -> tuple[Array, Array]:
        """Mean and variance of new targets, noise included, by the law of total variance; each of shape (n,)."""
        first, second = np.zeros(len(X_new)), np.zeros(len(X_new))
        for part, node, own, outputs in self(X_new, MEAN):
            z, variance = node.latent_moments(own[0], outputs)
            z -= self.level  # squares of numbers far from zero would have no digits left for the variance
            first[part] += node.weight * (z @ node.rows.weight)
            second[part] += node.weight * ((variance + node.rows.inverse_zeta + z**2) @ node.rows.weight)
        return first + self.level, np.maximum(second - first**2, 0.0)

    def __call__(self, X_new: Array, which: slice) -> Iterator[tuple[slice, NodePredictor, Array, Array]]:
        """Chunks of the new points: each kernel's own variances, of shape (C, n, G), and outputs, of shape (n, G).

        The variances are about the mean of the features (`MEAN`) or about the centres of the classes (`CLASSES`).
        """
        for start in range(0, len(X_new), _CHUNK):
            part = slice(start, start + _CHUNK)
            points = X_new[part]
            block = self.predictors[0].kernel.blocks(points, self.X)
            logs: list[Array] = []
            for k in self.order:
                predictor = self.predictors[k]
                theta = block(predictor.kernel)
                outputs, prior = predictor.outputs_and_prior_variances(points, theta, which)
                if k in self.lagrange:
                    own = prior * np.exp(self.lagrange[k](logs))
                else:
                    shares = predictor.remaining_shares(prior, theta, which)
                    own = prior * shares
                    if self.lagrange:
                        logs.append(np.log(shares))
                yield part, predictor, own, outputs


def _variance_kernels(nodes: tuple[PredictionNode, ...]) -> list[int]:
    """The kernels at which variances are computed: near a few Gauss nodes of a line of kernels, else all."""
    on_a_line = nodes[0].kernel.log_params.size == 1 and len({len(np.unique(node.rows.s)) for node in nodes}) == 1
    if not on_a_line or len(nodes) <= _VARIANCE_KERNELS + 1:
        return list(range(len(nodes)))
    positions = np.array([float(node.kernel.log_params[0]) for node in nodes])
    centres, _ = gauss_rule(positions, np.array([node.weight for node in nodes]), _VARIANCE_KERNELS)
    chosen = sorted({int(np.abs(positions - centre).argmin()) for centre in centres})
    return chosen if len(chosen) == _VARIANCE_KERNELS else list(range(len(nodes)))


class _Interpolation:
    """Lagrange's polynomial at x, kept near its values at the nodes beside x.

    Where the variances are smooth the bounds do nothing. Where they fall to rounding at some kernel, a point on top of
    a training point with hardly any noise, the polynomial through their logarithms would swing by hundreds of nats.
    """

    def __init__(self, x: float, nodes: Array) -> None:
        self.weights = [
            float(np.prod((x - np.delete(nodes, j)) / (nodes[j] - np.delete(nodes, j)))) for j in range(len(nodes))
        ]
        right = int(np.clip(np.searchsorted(nodes, x), 1, len(nodes) - 1))
        self.beside = (right - 1, right)

    def __call__(self, values: list[Array]) -> Array:
        """The value at x of arrays given at the nodes."""
        found = self.weights[0] * values[0]
        for weight, value in zip(self.weights[1:], values[1:], strict=True):
            found += weight * value
        left, right = (values[k] for k in self.beside)
        np.maximum(found, np.minimum(left, right) - _MARGIN, out=found)
        return np.minimum(found, np.maximum(left, right) + _MARGIN, out=found)
