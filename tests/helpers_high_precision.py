"""The evidence of a fixed RBF kernel in high precision, by other means than the library's.

The kernel matrix is computed and brought to tridiagonal form by Householder reflections in arithmetic of 200 digits;
log det and q_1 follow from its pivots for every γ. Both integrals are plain trapezoidal sums over ranges that leave
nothing out. There is no rounding to speak of, however large γ is, and rows may repeat.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.priors import LogPrior, Normal

_DIGITS = 200


def rbf_log_evidence(X: Array, y: Array, sigma: float, prior: LogPrior | None = None) -> float:
    """log p(D | H) of an RBF kernel of width σ, with one prior for log μ and log ζ."""
    return log_evidence_of(*rbf_tridiagonal(X, y, sigma), prior=prior)


def rbf_tridiagonal(X: Array, y: Array, sigma: float) -> tuple[list[mp.mpf], list[mp.mpf], mp.mpf]:
    """Diagonal and squared off-diagonal of MΩM in a basis that starts at My, and ‖My‖²."""
    with mp.workdps(_DIGITS):
        n, width = len(y), mp.mpf(float(sigma))
        rows = [[mp.mpf(float(v)) / width for v in row] for row in X]
        K = np.array([[mp.exp(-sum((a - b) ** 2 for a, b in zip(p, q, strict=True))) for q in rows] for p in rows])
        targets = np.array([mp.mpf(float(v)) for v in y])
        targets = targets - targets.sum() / n
        A = _reflected(K, np.array([mp.mpf(1)] * n))[1:, 1:]
        v, tau = _reflector(np.array([mp.mpf(1)] * n))
        t = (targets - v * (tau * (v @ targets)))[1:]
        A = _reflected(A, t)
        diagonal, squares = [], []
        while len(A) > 1:
            diagonal.append(A[0, 0])
            below = A[1:, 0]
            squares.append(below @ below)
            A = _reflected(A[1:, 1:], below)
        return [*diagonal, A[0, 0]], squares, t @ t


def log_evidence_of(
    diagonal: list[mp.mpf], squares: list[mp.mpf], total: mp.mpf, *, prior: LogPrior | None = None
) -> float:
    """∫∫ p(D | μ, ζ) p(log μ) p(log ζ) from the tridiagonal form."""
    prior = prior or Normal(0.0, 3.0)
    n = len(diagonal) + 1
    u = np.arange(-100.0, 400.0, 0.25)
    with mp.workdps(_DIGITS):
        pairs = [_log_det_and_log_q1(diagonal, squares, total, mp.exp(-mp.mpf(float(x)))) for x in u]
    log_det, log_q1 = np.array(pairs).T
    low, high = np.full(len(u), -400.0), np.full(len(u), 400.0)
    for _ in range(6):  # ever closer round the peak of log μ
        m = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, 801)
        with np.errstate(over="ignore"):
            fit = 0.5 * ((n - 1) * (m - np.log(2 * np.pi)) - np.exp(m + log_q1[:, None]) - log_det[:, None] - np.log(n))
        logs = fit + prior.log_density(m) + prior.log_density(m + u[:, None])
        seen = logs > logs.max(axis=1, keepdims=True) - 45.0
        first, last = seen.argmax(axis=1), 800 - seen[:, ::-1].argmax(axis=1)
        rows = np.arange(len(u))
        low, high = m[rows, np.maximum(first - 1, 0)], m[rows, np.minimum(last + 1, 800)]
    steps = m[:, 1] - m[:, 0]
    logs += np.log(steps)[:, None]
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).sum() * (u[1] - u[0])))


def log_evidence_at(diagonal: list[mp.mpf], squares: list[mp.mpf], total: mp.mpf, *, mu: float, zeta: float) -> float:
    """Log p(D | μ, ζ) with p(b) = 1 from the tridiagonal form."""
    n = len(diagonal) + 1
    with mp.workdps(_DIGITS):
        log_det, log_q1 = _log_det_and_log_q1(diagonal, squares, total, mp.mpf(mu) / mp.mpf(zeta))
    return 0.5 * ((n - 1) * float(np.log(mu / (2 * np.pi))) - mu * float(np.exp(log_q1)) - log_det - float(np.log(n)))


def _reflector(x: Array) -> tuple[Array, mp.mpf]:
    v = x.copy()
    norm = mp.sqrt(x @ x)
    v[0] += norm if v[0] >= 0 else -norm
    length = v @ v
    return v, (mp.mpf(2) / length if length != 0 else mp.mpf(0))


def _reflected(A: Array, x: Array) -> Array:
    """HAH for the reflection H that takes x to a multiple of e₁."""
    v, tau = _reflector(x)
    p = tau * (A @ v)
    w = p - (tau * (v @ p) / 2) * v
    return A - np.outer(v, w) - np.outer(w, v)


def _log_det_and_log_q1(diagonal: list[mp.mpf], squares: list[mp.mpf], total: mp.mpf, s: mp.mpf) -> tuple[float, float]:
    """Pivots from the far end: their product is the determinant, the last one gives q_1."""
    log_det, pivot = mp.mpf(1), mp.inf
    for d, e2 in zip(reversed(diagonal), [mp.mpf(0), *reversed(squares)], strict=True):
        pivot = d + s - (e2 / pivot if e2 != 0 else 0)
        log_det *= pivot
    return float(mp.log(log_det)), float(mp.log(total / pivot))
