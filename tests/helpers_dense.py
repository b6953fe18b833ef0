"""An RBF model integrated over log μ, log ζ and log σ on a dense grid, by other means than the library's.

For each width: the eigenvalues of the centred kernel matrix in Helmert's basis, from 1 − K for wide kernels. For each
width and log γ: a plain sum over log μ between the ends of its peak, found by looking closer five times. Over log σ:
Gauss–Legendre panels, short where the matrix changes, long where it is I or as good as constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, helmert
from scipy.special import expit

from bayes_lssvm.base.typing import Array


class Dense(NamedTuple):
    """log p(D | H), mean and sd of log σ, and P(y = +1) of new points by paper 2's target form."""

    log_evidence: float
    mean: float
    sd: float
    probabilities: Array


def integrate(X: Array, y: Array, prior_sd: float, X_new: Array | None = None, *, points: int = 20) -> Dense:
    """Everything under Normal(0, prior_sd) for each log parameter."""
    new = np.empty((0, X.shape[1])) if X_new is None else X_new
    distances = _squared(X, X)
    lowest = 0.5 * np.log(distances[distances > 0.0].min()) - np.log(30.0)  # K = I below
    theta, weight = _panels(lowest, prior_sd, points)
    found = {t: given_width(X, y, t, prior_sd, new) for t in np.unique(np.maximum(theta, lowest))}
    logs = np.array([found[max(t, lowest)][0] for t in theta])
    logs += -0.5 * (theta / prior_sd) ** 2 - np.log(prior_sd) - 0.5 * np.log(2.0 * np.pi) + np.log(weight)
    share = np.exp(logs - logs.max())
    total, share = float(share.sum()), share / share.sum()
    mean = float(share @ theta)
    probabilities = sum(p * found[max(t, lowest)][1] for t, p in zip(theta, share, strict=True))
    return Dense(
        logs.max() + np.log(total), mean, float(np.sqrt(share @ (theta - mean) ** 2)), np.asarray(probabilities)
    )


def _squared(A: Array, B: Array) -> Array:
    return np.asarray(((A[:, None] - B[None]) ** 2).sum(axis=-1))


def _panels(lowest: float, prior_sd: float, points: int) -> tuple[Array, Array]:
    end, low = 7.5 * prior_sd, min(lowest, -6.0)
    edges = [np.linspace(-end, low, 5), np.arange(low, -6.0, 1.0)[1:], np.arange(-6.0, 9.5, 1.0)]
    edges += [np.arange(11.0, 25.0, 2.0), np.arange(25.0, end, 15.0)] if end > 25.0 else [np.arange(11.0, end, 3.0)]
    ends = np.unique(np.append(np.concatenate(edges), end))
    x, w = np.polynomial.legendre.leggauss(points)
    half = 0.5 * np.diff(ends)
    return (0.5 * (ends[1:] + ends[:-1])[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def given_width(X: Array, y: Array, theta: float, prior_sd: float, new: Array) -> tuple[float, Array]:
    """log p(D | σ), and the probabilities given σ."""
    scale, n = np.exp(-2.0 * theta), len(y)
    matrix = np.expm1 if theta > 2.0 else np.exp  # a constant makes no difference to what is centred
    K, k = matrix(-scale * _squared(X, X)), matrix(-scale * _squared(new, X))
    own = 0.0 if theta > 2.0 else 1.0
    H = helmert(n)
    eigenvalues, V = eigh(H @ K @ H.T)
    eigenvalues, V = np.maximum(eigenvalues, 0.0), H.T @ V
    t = V.T @ y
    reach = 9.0 * prior_sd * np.sqrt(2.0)
    u = np.arange(-reach, reach, 0.2 if prior_sd < 10.0 else 0.3)
    s = np.exp(-u)
    log_det = sum(np.log(value + s) for value in eigenvalues)
    q1 = sum(c**2 / (value + s) for value, c in zip(eigenvalues, t, strict=True))
    m, logs = _over_log_mu(n, u, log_det, np.log(q1), prior_sd)
    top = float(logs.max())
    share = np.exp(logs - top)
    log_z = top + float(np.log(share.sum() * (u[1] - u[0])))
    if not len(new):
        return log_z, np.empty(0)
    share = share / share.sum()
    frequency, result = np.mean(y > 0), np.zeros(len(new))
    p = (k - K.mean(axis=0)) @ V  # [n_new, N − 1]
    prior = own - 2.0 * k.mean(axis=1) + K.mean()
    for g in np.flatnonzero(share.sum(axis=1) > 1e-8):
        z = y.mean() + p @ (t / (eigenvalues + s[g]))
        variance = prior - (p**2 / (eigenvalues + s[g])).sum(axis=1)
        total = np.outer(variance, np.exp(-m[g])) + np.exp(-m[g] - u[g]) * (1.0 + 1.0 / n)
        odds = 2.0 * z[:, None] / total + np.log(frequency / (1.0 - frequency))
        result += expit(odds) @ share[g]
    return log_z, result


def _over_log_mu(n: int, u: Array, log_det: Array, log_q1: Array, prior_sd: float) -> tuple[Array, Array]:
    """Values m of log μ for each u, and the log integrand plus the log of their step."""

    def density(m: Array) -> Array:
        with np.errstate(over="ignore"):
            misfit = np.exp(m + log_q1[:, None])
        fit = 0.5 * ((n - 1) * (m - np.log(2.0 * np.pi)) - misfit - log_det[:, None] - np.log(n))
        prior = -0.5 * (m / prior_sd) ** 2 - 0.5 * ((m + u[:, None]) / prior_sd) ** 2
        return np.asarray(fit + prior - 2.0 * np.log(prior_sd) - np.log(2.0 * np.pi))

    rows = np.arange(len(u))
    low, high = np.full(len(u), -9.0 * prior_sd - 60.0), np.full(len(u), 9.0 * prior_sd + 60.0)
    for _ in range(5):
        m = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, 121)
        seen = (logs := density(m)) > logs.max(axis=1, keepdims=True) - 40.0
        first, last = seen.argmax(axis=1), 120 - seen[:, ::-1].argmax(axis=1)
        low, high = m[rows, np.maximum(first - 1, 0)], m[rows, np.minimum(last + 1, 120)]
    m = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, 121)
    return m, density(m) + np.log(m[:, 1] - m[:, 0])[:, None]
