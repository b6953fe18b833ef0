"""Expectation propagation for Gaussian process classification with the likelihood Φ(y f), y = ±1.

The posterior of f ~ Normal(0, K) is approximated by Normal(μ, Σ), Σ = (K⁻¹ + S)⁻¹ and μ = Σ ν, where each label has a
Gaussian site with precision s_i and shift ν_i. At the fixed point the marginal of f_i has the moments of the cavity
(the approximation without the site) times Φ(y_i f_i). Formulas are those of Rasmussen and Williams (2006), section 3.6.

All sites move at once, so that a sweep is one Cholesky factor and one triangular solve. Alone that may go round in
circles where rows are alike; Anderson's mixing (Walker and Ni 2011) of the last sweeps goes to the fixed point. What is
a fixed point does not depend on the way to it: tests/validation/test_expectation_propagation.py has GPy's, which visits
site after site.

Rows with the same input and label have the same site at the fixed point. Where `counts` says how often each row stands
for others, K is that of the distinct ones, and r sites of a row pull on its f together, with precision rs and shift rν.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotri, dtrtri
from scipy.special import log_ndtr

from bayes_lssvm.base.errors import NotPositiveSemidefiniteError
from bayes_lssvm.base.typing import Array

__all__ = ["Approximation", "Sites", "expectation_propagation"]

_MEMORY = 4  # sweeps that are mixed
_MOST_SWEEPS = 500
_FAINT = 1e-3  # of a site's precision times its prior variance: below, the short cut loses three digits of sixteen


class Sites(NamedTuple):
    """Gaussian factors in place of the likelihood's: precisions s ≥ 0 and shifts ν, each of shape (N,).

    Of a row that stands for several, the sums over them.
    """

    precision: Array
    shift: Array


class _Marginals(NamedTuple):
    """What a sweep knows: the factor of B = 1 + S^½ K S^½, and means and variances of f_i."""

    factor: Array
    mean: Array
    variance: Array


class _Cavities(NamedTuple):
    """Means and variances of f_i without site i, and the standardised outputs z_i and slopes φ(z)/Φ(z)."""

    mean: Array
    variance: Array
    z: Array
    slope: Array


class Approximation(NamedTuple):
    """The fixed point.

    Attributes
    ----------
    sites : Sites
        A good start for a covariance that is near.
    factor : array of shape (N, N)
        Lower Cholesky factor of B = 1 + S^½ K S^½.
    weights : array of shape (N,)
        (K + S⁻¹)⁻¹ S⁻¹ ν, so that the mean of a new f is k(x, X) @ weights.
    log_evidence : float
        log p(y | K), approximated.
    sweeps : int
    """

    sites: Sites
    factor: Array
    weights: Array
    log_evidence: float
    sweeps: int

    def latent(self, between: Array, prior_variance: Array) -> tuple[Array, Array]:
        """Means and variances, of shape (n,), of f at new points.

        Parameters
        ----------
        between : array of shape (n, N)
            Covariances with the training points.
        prior_variance : array of shape (n,)
        """
        reach = solve_triangular(self.factor, (between * np.sqrt(self.sites.precision)).T, lower=True)
        return between @ self.weights, np.maximum(prior_variance - np.sum(reach**2, axis=0), 0.0)

    def slope(self) -> Array:
        """∂ log p(y | K)/∂K of shape (N, N), with the sites held; at the fixed point nothing else moves it."""
        root = np.sqrt(self.sites.precision)
        inverse, info = dpotri(self.factor, lower=1)
        if info:
            raise NotPositiveSemidefiniteError("Expectation propagation broke down: B has no inverse.")
        lower = np.tril(inverse)
        inner = (lower + np.tril(lower, -1).T) * np.outer(root, root)  # (K + S⁻¹)⁻¹
        return 0.5 * (np.outer(self.weights, self.weights) - inner)


def expectation_propagation(
    K: Array, y: Array, *, counts: Array | None = None, start: Sites | None = None, tolerance: float = 1e-8
) -> Approximation:
    """The fixed point of expectation propagation.

    Parameters
    ----------
    K : array of shape (N, N)
        Covariance of f at the training points.
    y : array of shape (N,)
        Labels ±1.
    counts : array of shape (N,), optional
        How many rows with the same input and label each stands for; one by default.
    start : Sites, optional
        Those of a covariance that is near; none by default.
    tolerance : float
        Largest move of a site in a sweep, in posterior standard deviations of f.
    """
    n, r = len(y), np.ones(len(y)) if counts is None else counts
    at = np.zeros(2 * n) if start is None else np.concatenate([start.precision / r, start.shift / r])
    mixing = _Mixing()
    for sweep in range(1, _MOST_SWEEPS + 1):
        single, sites = Sites(at[:n], at[n:]), Sites(r * at[:n], r * at[n:])
        marginals = _marginals(K, sites)
        cavities = _cavities(marginals, single, y)
        move = np.concatenate(_matched(cavities, y)) - at
        sd = np.sqrt(marginals.variance)
        moved = max(float(np.max(np.abs(move[:n]) * sd**2)), float(np.max(np.abs(move[n:]) * sd)))
        if moved <= tolerance:
            weights = sites.shift - _pulled(K, sites, marginals.factor)
            value = _log_evidence(single, marginals, cavities, r)
            return Approximation(sites, marginals.factor, weights, value, sweep)
        mixed = mixing(at, move)
        at = mixed if np.all(mixed[:n] >= 0.0) else at + move
    raise NotPositiveSemidefiniteError(f"Expectation propagation did not settle in {_MOST_SWEEPS} sweeps.")


def _marginals(K: Array, sites: Sites) -> _Marginals:
    root = np.sqrt(sites.precision)
    B = K * np.outer(root, root)
    B.flat[:: len(K) + 1] += 1.0
    try:
        factor = cholesky(B, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise NotPositiveSemidefiniteError(f"Expectation propagation broke down: {error}") from error
    mean = K @ (sites.shift - _pulled(K, sites, factor))
    return _Marginals(factor, mean, _variances(K, root, factor))


def _variances(K: Array, root: Array, factor: Array) -> Array:
    """The diagonal of Σ = K − K S^½ B⁻¹ S^½ K.

    S^½ Σ S^½ = 1 − B⁻¹, and the diagonal of B⁻¹ is a third of the work; it says nothing of sites without precision.
    """
    variance, faint = np.diag(K).copy(), root**2 * np.diag(K) < _FAINT
    V = solve_triangular(factor, root[:, None] * K[:, faint], lower=True, overwrite_b=True, check_finite=False)
    variance[faint] -= np.einsum("ij,ij->j", V, V)
    if not np.all(faint):
        inverse = np.tril(dtrtri(factor, lower=1)[0])
        variance[~faint] = (1.0 - np.einsum("ij,ij->j", inverse, inverse)[~faint]) / root[~faint] ** 2
    return variance


def _pulled(K: Array, sites: Sites, factor: Array) -> Array:
    """S^½ B⁻¹ S^½ K ν."""
    root = np.sqrt(sites.precision)
    return root * cho_solve((factor, True), root * (K @ sites.shift))


def _cavities(marginals: _Marginals, sites: Sites, y: Array) -> _Cavities:
    if not np.all(marginals.variance > 0.0):  # what is not a number, too
        raise NotPositiveSemidefiniteError("Expectation propagation broke down: a variance is not positive.")
    precision = 1.0 / marginals.variance - sites.precision
    if not np.all(precision > 0.0):
        raise NotPositiveSemidefiniteError("Expectation propagation broke down: a cavity has no variance.")
    variance = 1.0 / precision
    mean = variance * (marginals.mean / marginals.variance - sites.shift)
    z = y * mean / np.sqrt(1.0 + variance)
    return _Cavities(mean, variance, z, np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z)))


def _matched(cavities: _Cavities, y: Array) -> Sites:
    """Sites that give the moments of cavity times Φ(y f), from the first two derivatives of its log integral."""
    scale = 1.0 + cavities.variance
    first = y * cavities.slope / np.sqrt(scale)
    second = cavities.slope * (cavities.z + cavities.slope) / scale  # minus the second derivative, below 1/variance
    left = 1.0 - cavities.variance * second
    return Sites(second / left, (first + cavities.mean * second) / left)


def _log_evidence(single: Sites, marginals: _Marginals, cavities: _Cavities, counts: Array) -> float:
    """Eq 3.65 of Rasmussen and Williams in the form of its eqs 3.73 and 3.74, which no small s breaks."""
    s, nu = single
    together = 1.0 / (s + 1.0 / cavities.variance)
    terms = (
        log_ndtr(cavities.z)
        + 0.5 * np.log1p(s * cavities.variance)
        + 0.5 * nu * (marginals.mean - nu * together)
        + 0.5 * cavities.mean / cavities.variance * (s * cavities.mean - 2.0 * nu) * together
    )
    return float(np.sum(counts * terms - np.log(np.diag(marginals.factor))))


class _Mixing:
    """Anderson's mixing: the step that would have moved least, among mixtures of the last points."""

    def __init__(self) -> None:
        self._points: list[Array] = []
        self._moves: list[Array] = []

    def __call__(self, point: Array, move: Array) -> Array:
        """The next point."""
        self._points, self._moves = ([*kept[-_MEMORY:], x] for kept, x in ((self._points, point), (self._moves, move)))
        if len(self._points) == 1:
            return point + move
        points, moves = np.diff(self._points, axis=0).T, np.diff(self._moves, axis=0).T
        share = np.linalg.lstsq(moves, move, rcond=None)[0]
        return point + move - (points + moves) @ share
