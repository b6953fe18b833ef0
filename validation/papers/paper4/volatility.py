"""LS-SVM regression with a noise level for each point, and the log variances it takes them from (paper 4, DAX).

Point k has the noise precision ζw_k: the library's weighted model (`linalg.reduction`, `levels.level1`). The log
variance h of the noise is itself regressed, by a second LS-SVM: its targets are log(e_k² + ε), with the leave-one-out
errors e_k of the first. Weights of training points are w = exp(h̄ − h) with h predicted leave-one-out too: fitted values
would have seen e_k, and would give little weight to whatever the first model misses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from bayes_lssvm import BayesianLSSVR
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.levels.level3 import Level3, evaluate
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.press.leave_one_out import leave_one_out

SMALLEST_SQUARE = 1e-4
"""ε, in units of the targets' variance: a return of zero says that the day was quiet, not that there was no noise."""
WIDTHS: Array = np.geomspace(0.3, 30.0, 9)
"""Widths that the search for σ starts from, times √(2d)."""
_TOLERANCE = 1e-2  # of log σ; the evidence is flat there


def weighted_evidence(K: Array, y: Array, weights: Array) -> Level3:
    """Levels 2 and 3 of the weighted model; its log evidence is that of 5.2, absolute."""
    return evaluate(TridiagonalReduction.from_kernel_matrix(K, y, weights))


@dataclass(frozen=True)
class WeightedLSSVM:
    """A weighted LS-SVM at its most probable σ, μ and ζ.

    Attributes
    ----------
    posterior : DualPosterior
    log_evidence : float
    status : str
        Of level 2.
    """

    posterior: DualPosterior
    log_evidence: float
    status: str

    def moments(self, X_new: Array) -> tuple[Array, Array]:
        """Mean z and variance σ_z² for each row of X_new; the noise of a new target is not in it."""
        return self.posterior.latent_moments(X_new)


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
        return -weighted_evidence(RBF(float(np.exp(log_sigma)))(X), y, weights).log_evidence

    costs = [cost(start) for start in starts]
    best = int(np.argmin(costs))
    bounds = (float(starts[max(best - 1, 0)]), float(starts[min(best + 1, len(starts) - 1)]))
    found = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": _TOLERANCE})
    log_sigma = float(found.x) if found.fun < costs[best] else float(starts[best])
    kernel = RBF(float(np.exp(log_sigma)))
    K = kernel(X)
    level3 = weighted_evidence(K, y, weights)
    mu, zeta = level3.level2.mu, level3.level2.zeta
    posterior = DualPosterior.from_kernel_matrix(kernel, X, K, y, mu=mu, zeta=zeta, weights=weights)
    return WeightedLSSVM(posterior, level3.log_evidence, level3.level2.status)


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
