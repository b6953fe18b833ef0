"""Gaussian process classifier by expectation propagation: the EP-GPC of paper 1's Table 2.

The latent function has mean zero and covariance σ_f² exp(−½ Σ (x_i − z_i)²/l_i²), the likelihood is the cumulative
normal. σ_f² and the length scales maximise the marginal likelihood of expectation propagation, which is run to its
fixed point at every step of the search, from the sites of the step before. The elliptical kernel starts at the optimum
of the spherical one. The paper used the MATLAB programs of Rasmussen and Williams (2006).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from bayes_lssvm.base.errors import NotPositiveSemidefiniteError
from bayes_lssvm.base.typing import Array
from bayes_lssvm.search.climb import Stop, climb
from validation.expectation_propagation import Approximation, expectation_propagation

__all__ = ["EPClassifier", "fit"]

MAX_EVALUATIONS = 100  # of the marginal likelihood, for each kernel
# of log σ_f² and log l: beyond, expectation propagation is a matter of rounding
_VARIANCES = (np.log(1e-4), np.log(1e4))
_WIDTHS = (np.log(1e-2), np.log(1e4))


class EPClassifier(NamedTuple):
    """A trained classifier.

    Attributes
    ----------
    X : array of shape (N, d)
        Training inputs.
    variance : float
        σ_f².
    widths : array of shape (1,) or (d,)
        l.
    posterior : Approximation
    converged : bool
        Whether the search ended before its limit of evaluations.
    n_evaluations : int
    """

    X: Array
    variance: float
    widths: Array
    posterior: Approximation
    converged: bool
    n_evaluations: int

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood by expectation propagation."""
        return self.posterior.log_evidence

    @property
    def eta(self) -> Array:
        """1/(2l²) of shape (1,) or (d,), comparable to paper 1's kernel parameters."""
        return 0.5 / self.widths**2

    def probability(self, X: Array) -> Array:
        """P(y = +1) of shape (n,) for inputs of shape (n, d)."""
        between = _covariance(X, self.X, self.variance, self.widths)
        mean, variance = self.posterior.latent(between, np.full(len(X), self.variance))
        return np.asarray(ndtr(mean / np.sqrt(1.0 + variance)))


def fit(X: Array, y: Array, *, elliptical: bool, counts: Array | None = None) -> EPClassifier:
    """Train on inputs of shape (N, d), standardised as a rule, and labels ±1 of shape (N,).

    With `counts` a row stands for so many of the same input and label.
    """
    d = X.shape[1]
    spherical = _optimised(_Search(X, y, counts), 1.0, np.array([np.sqrt(d)]))
    if not elliptical:
        return spherical
    found = _optimised(_Search(X, y, counts), spherical.variance, np.full(d, spherical.widths[0]))
    return found._replace(n_evaluations=found.n_evaluations + spherical.n_evaluations)


def _covariance(X: Array, Z: Array, variance: float, widths: Array) -> Array:
    return variance * np.exp(-0.5 * np.asarray(cdist(X / widths, Z / widths, "sqeuclidean")))


def _optimised(search: _Search, variance: float, widths: Array) -> EPClassifier:
    """L-BFGS-B in the logs of (σ_f², l)."""
    start = np.log(np.append(variance, widths))
    box = np.array([_VARIANCES, *[_WIDTHS] * len(widths)])
    end = climb(search, start, box, Stop(1e-8, 1e-3, evaluations=MAX_EVALUATIONS))
    variance, widths = float(np.exp(end.position[0])), np.exp(end.position[1:])
    # the search may have ended elsewhere
    posterior = search.approximation(_covariance(search.X, search.X, variance, widths))
    return EPClassifier(search.X, variance, widths, posterior, end.converged, end.n_evaluations)


class _Search:
    """log p(y | σ_f², l) with its gradient in the logs, each time from the sites of the time before."""

    def __init__(self, X: Array, y: Array, counts: Array | None) -> None:
        self.X, self._y, self._counts = X, y, counts
        self._last: Approximation | None = None

    def approximation(self, K: Array) -> Approximation:
        """The fixed point, from the sites of the last covariance; from none where these lead nowhere."""
        try:
            start = None if self._last is None else self._last.sites
            found = expectation_propagation(K, self._y, counts=self._counts, start=start)
        except NotPositiveSemidefiniteError:
            found = expectation_propagation(K, self._y, counts=self._counts)
        self._last = found
        return found

    def __call__(self, logs: Array) -> tuple[float, Array]:
        """Value and gradient."""
        variance, widths = float(np.exp(logs[0])), np.exp(logs[1:])
        K = _covariance(self.X, self.X, variance, widths)
        found = self.approximation(K)
        pull = found.slope() * K
        Z = self.X / widths
        # Σ_ij P_ij (z_id − z_jd)² for the symmetric P
        squares = 2.0 * (pull.sum(axis=1) @ Z**2 - np.sum(Z * (pull @ Z), axis=0))
        along = squares if len(widths) > 1 else squares.sum(keepdims=True)
        return found.log_evidence, np.append(pull.sum(), along)
