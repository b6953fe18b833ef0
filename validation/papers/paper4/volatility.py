"""LS-SVM regression with a noise level for each point, and the log variances it takes them from (paper 4, DAX).

Point k has the noise precision ζw_k. Multiplied by w_k^½, row by row, the model y = Υᵀw + b1 + e is again one with
equal noise, with the kernel matrix A = W^½ΩW^½, the targets W^½y, and a = W^½1 where the bias had 1. A reflection Q
that takes a/‖a‖ to 1/√N makes the bias a constant again, so that all of the library applies to

    Ω' = QAQ,   y' = QW^½y

Its evidence, with p(b) = 1, differs from the one wanted by the change of variables alone, as y' has the density of y
times Π w_k^(−½) and b' = b‖a‖/√N:

    log p(y | μ, ζ, w) = log p(y' | μ, ζ) + ½ Σ log w_k + ½ log N − ½ log Σ w_k

Forecasts at x, with M = Ω + diag(1/(γw_k)), k = K(x, X), ρ = M⁻¹1 and α, b of the weighted LS-SVM:

    z = kᵀα + b,    σ_z² = (1/μ) [ K(x, x) − kᵀM⁻¹k + (1 − ρᵀk)²/1ᵀρ ]

The log variance h of the noise is itself regressed, by a second LS-SVM: its targets are log(e_k² + ε), with the
leave-one-out errors e_k of the first. Weights of training points are w = exp(h̄ − h) with h predicted leave-one-out too:
fitted values would have seen e_k, and would give little weight to whatever the first model misses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from bayes_lssvm import BayesianLSSVR
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level3 import Level3, evaluate
from bayes_lssvm.linalg.factor import Factor
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.press.leave_one_out import leave_one_out

SMALLEST_SQUARE = 1e-4
"""ε, in units of the targets' variance: a return of zero says that the day was quiet, not that there was no noise."""
WIDTHS: Array = np.geomspace(0.3, 30.0, 9)
"""Widths that the search for σ starts from, times √(2d)."""
_TOLERANCE = 1e-2  # of log σ; the evidence is flat there


class Whitened(NamedTuple):
    """Ω' and y' of the module's docstring, and what log p(y') lacks to be log p(y)."""

    K: Array
    y: Array
    log_density: float


def whiten(K: Array, y: Array, weights: Array) -> Whitened:
    """The problem of equal noise that is equivalent to the weighted one.

    Parameters
    ----------
    K : array of shape (N, N)
    y : array of shape (N,)
    weights : array of shape (N,)
        w_k, positive.
    """
    n, root = len(y), np.sqrt(weights)
    A, t = K * root[:, None] * root, y * root
    v = root / np.linalg.norm(root) - 1.0 / np.sqrt(n)
    squared = float(v @ v)
    if squared > 0.0:  # equal weights need no reflection
        tau = 2.0 / squared
        p = tau * (A @ v)
        p -= 0.5 * tau * float(v @ p) * v
        A = A - np.outer(v, p) - np.outer(p, v)
        t = t - tau * float(v @ t) * v
    return Whitened(A, t, 0.5 * float(np.log(weights).sum() + np.log(n) - np.log(weights.sum())))


def weighted_evidence(K: Array, y: Array, weights: Array) -> tuple[Level3, float]:
    """Levels 2 and 3 of the weighted model, and its log evidence by 5.2, absolute."""
    white = whiten(K, y, weights)
    found = evaluate(TridiagonalReduction.from_kernel_matrix(white.K, white.y))
    return found, found.log_evidence + white.log_density


@dataclass(frozen=True)
class WeightedLSSVM:
    """A weighted LS-SVM at its most probable σ, μ and ζ.

    Attributes
    ----------
    kernel : RBF
    X : array of shape (N, d)
    weights, alpha : arrays of shape (N,)
    intercept, mu, zeta, log_evidence : float
    status : str
        Of level 2.
    """

    kernel: RBF
    X: Array
    weights: Array
    alpha: Array
    intercept: float
    mu: float
    zeta: float
    log_evidence: float
    status: str

    def moments(self, X_new: Array) -> tuple[Array, Array]:
        """Mean z and variance σ_z² for each row of X_new; the noise of a new target is not in it."""
        factor = Factor.of(self.kernel(self.X), self.mu / (self.zeta * self.weights))
        rho = factor.solve(np.ones(len(self.X)))
        k = self.kernel(X_new, self.X)  # [n, N]
        explained = np.einsum("ij,ji->i", k, factor.solve(k.T))
        bias = (1.0 - k @ rho) ** 2 / rho.sum()
        variance = (self.kernel.diag(X_new) - explained + bias) / self.mu
        return k @ self.alpha + self.intercept, np.maximum(variance, 0.0)


def fit_weighted(X: Array, y: Array, weights: Array) -> WeightedLSSVM:
    """The RBF kernel's width by the weighted evidence, then μ, ζ, α and b.

    Parameters
    ----------
    X : array of shape (N, d)
        Standardised inputs.
    y : array of shape (N,)
    weights : array of shape (N,)
    """
    starts = np.log(WIDTHS * np.sqrt(2.0 * X.shape[1]))

    def cost(log_sigma: float) -> float:
        return -weighted_evidence(RBF(float(np.exp(log_sigma)))(X), y, weights)[1]

    costs = [cost(start) for start in starts]
    best = int(np.argmin(costs))
    bounds = (float(starts[max(best - 1, 0)]), float(starts[min(best + 1, len(starts) - 1)]))
    found = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": _TOLERANCE})
    log_sigma = float(found.x) if found.fun < costs[best] else float(starts[best])
    kernel = RBF(float(np.exp(log_sigma)))
    K = kernel(X)
    level3, value = weighted_evidence(K, y, weights)
    mu, zeta = level3.level2.mu, level3.level2.zeta
    solved = leave_one_out(K, y, zeta / mu, mu=mu, weights=weights)
    return WeightedLSSVM(
        kernel, X, weights, solved.alpha, float(solved.intercept), mu, zeta, value, level3.level2.status
    )


class Volatility(NamedTuple):
    """Relative noise precisions w of shape (N,) at the training points, and (n,) at new ones; level 2's status."""

    train: Array
    new: Array
    status: str


def volatility(X: Array, errors: Array, X_new: Array, seed: int) -> Volatility:
    """The second LS-SVM: noise precisions from leave-one-out errors.

    Parameters
    ----------
    X : array of shape (N, d)
    errors : array of shape (N,)
        In units of the targets' standard deviation.
    X_new : array of shape (n, d)
    seed : int
    """
    model = BayesianLSSVR("rbf", prior="flat", random_state=seed).fit(X, np.log(errors**2 + SMALLEST_SQUARE))
    inside = left_out(model)
    level = float(inside.mean())
    new = np.asarray(model.predict(X_new))
    return Volatility(np.exp(level - inside), np.exp(level - new), model.level3_.level2.status)


def left_out(model: BayesianLSSVR) -> Array:
    """Leave-one-out predictions of a fitted regressor, of shape (N,)."""
    K = model.kernel_(model.X_fit_)
    return leave_one_out(K, model.y_fit_, model.gamma_, mu=model.mu_).predictions
