"""Gaussian process regression on the labels ±1, designed by its evidence (paper 0, section 7.2: GP Bay and GP_b Bay).

    C = K/μ + σ_b² + I/ζ        log p(y | μ, ζ, σ, σ_b) = log Normal(y; 0, C)                                   (2.25)

is maximised over log γ = log ζ/μ, log σ and, for GP_b, log c with c = μσ_b²; μ has a closed form, μ = N/q. On distinct
inputs with counts n (see `paper0_equal_rows`), B = n^½(K + c 11ᵀ)n^½ + s I, s = 1/γ and W the sum of squares within
equal inputs,

    −2 log p = N log(2π q/N) + N + log det B + (N − D) log s,        q = rᵀB⁻¹r + W/s

with its gradient by B⁻¹. No Occam factor is used: μ, ζ, σ and σ_b are all at the maximum of one function. The evidence
of tied rows with equal labels has no maximum (s → 0), so s is bounded from below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.linalg.blas import mirror_lower
from bayes_lssvm.linalg.factor import Factor
from bayes_lssvm.search.climb import Stop, climb_from_each

from .equal_rows import Counted, Spectrum, counted, distinct, rbf, squared_distances

SIGMAS = 2.0 ** np.arange(-3.0, 6.0)  # starts, in units of √d
SHIFTS = 10.0 ** np.arange(-3.0, 3.0)  # s = 1/γ
BIASES = (0.1, 10.0)  # c = μσ_b²
CLIMBS = 3
_LOG_S = (np.log(1e-8), np.log(1e6))
_LOG_SIGMA = (np.log(1e-2), np.log(1e3))  # in units of √d
_LOG_C = (np.log(1e-6), np.log(1e6))


class GPDesign(NamedTuple):
    """Hyperparameters at the maximum of the evidence; `bias_variance` is 0 without a bias."""

    mu: float
    zeta: float
    sigma: float
    bias_variance: float
    log_evidence: float
    at_bound: bool


class Evidence:
    """−log p(y) of labels y of shape (N,) at inputs X of shape (N, d), as a function of (log s, log σ[, log c])."""

    def __init__(self, X: Array, y: Array, *, bias: bool) -> None:
        rows = distinct(X)
        self.n, self.bias = len(y), bias
        self.data: Counted = counted(rows.group, y, len(rows.X))
        self.squared = squared_distances(rows.X, rows.X)
        self.outer = np.outer(self.data.root, self.data.root)
        self.r = self.data.root * self.data.means

    def values(self, thetas: list[Array]) -> Array:
        """−log p at points that share σ, by one eigendecomposition for each c."""
        sigma = float(np.exp(thetas[0][1]))
        K = rbf(self.squared, sigma)
        spectra: dict[float, Spectrum] = {}
        found = []
        for theta in thetas:
            c = float(np.exp(theta[2])) if self.bias else 0.0
            if c not in spectra:
                spectra[c] = Spectrum.of(K + c, self.data)
            s, spectrum = float(np.exp(theta[0])), spectra[c]
            t = spectrum.vectors.T @ self.r
            q = float(t**2 @ (1.0 / (spectrum.eigenvalues + s))) + self.data.within / s
            log_det = float(np.log(spectrum.eigenvalues + s).sum()) + (self.n - len(t)) * float(theta[0])
            found.append(0.5 * (self.n * float(np.log(2.0 * np.pi * q / self.n)) + self.n + log_det))
        return np.array(found)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """−log p with μ at its best, and its gradient."""
        s, sigma = float(np.exp(theta[0])), float(np.exp(theta[1]))
        A = self.outer * rbf(self.squared, sigma)
        slopes = [A * self.squared * (2.0 / sigma**2)]  # dA/d log σ
        if self.bias:
            slopes.append(self.outer * float(np.exp(theta[2])))
            A = A + slopes[1]
        factor = Factor.of(A, s)
        D = len(self.r)
        log_det = factor.log_det + (self.n - D) * float(theta[0])
        beta = factor.solve(self.r)
        inverse = mirror_lower(factor.inverse())
        q = float(self.r @ beta) + self.data.within / s
        value = 0.5 * (self.n * float(np.log(2.0 * np.pi * q / self.n)) + self.n + log_det)
        weight = self.n / (2.0 * q)
        along_s = 0.5 * (s * float(np.trace(inverse)) + self.n - D) - weight * (
            s * float(beta @ beta) + self.data.within / s
        )
        others = [0.5 * float(np.vdot(inverse, slope)) - weight * float(beta @ (slope @ beta)) for slope in slopes]
        return value, np.array([along_s, *others])

    def mu(self, theta: Array) -> float:
        """μ = N/q."""
        s, sigma = float(np.exp(theta[0])), float(np.exp(theta[1]))
        A = self.outer * (rbf(self.squared, sigma) + (float(np.exp(theta[2])) if self.bias else 0.0))
        return self.n / (float(self.r @ Factor.of(A, s).solve(self.r)) + self.data.within / s)


def design(X: Array, y: Array, *, bias: bool) -> GPDesign:
    """Maximise the evidence, from the best few of many starts.

    Parameters
    ----------
    X : array of shape (N, d)
        Standardised.
    y : array of shape (N,)
        −1 and +1.
    bias : bool
        GP_b, with a bias of variance σ_b² in the kernel, or GP.
    """
    evidence = Evidence(X, y, bias=bias)
    scale = 0.5 * float(np.log(X.shape[1]))
    bounds: Array = np.array([_LOG_S, (_LOG_SIGMA[0] + scale, _LOG_SIGMA[1] + scale), _LOG_C][: 3 if bias else 2])

    def log_evidence(theta: Array) -> tuple[float, Array]:
        value, gradient = evidence(theta)
        return -value, -gradient

    best = climb_from_each(log_evidence, _starts(evidence, scale), bounds, Stop(iterations=200))[0]
    theta = best.position
    mu = evidence.mu(theta)
    s, sigma = np.exp(theta[:2]).tolist()
    variance = float(np.exp(theta[2])) / mu if bias else 0.0
    return GPDesign(mu, mu / s, sigma, variance, best.value, bool(best.at_edge.any()))


def _starts(evidence: Evidence, scale: float) -> list[Array]:
    """The best start at each of the widths that promise most."""
    found: list[tuple[float, Array]] = []
    for log_sigma in np.log(SIGMAS) + scale:
        tried = [
            np.array([log_s, log_sigma, *log_c])
            for log_s in np.log(SHIFTS)
            for log_c in ([(float(np.log(c)),) for c in BIASES] if evidence.bias else [()])
        ]
        values = evidence.values(tried)
        found.append((float(values.min()), tried[int(values.argmin())]))
    return [start for _, start in sorted(found, key=lambda pair: pair[0])[:CLIMBS]]
