"""Quantities of the data whose calibration says more than the hyperparameters' own: the likelihood and a new target.

Ranks of the hyperparameters alone cannot tell the posterior from the prior, which is calibrated too; ranks of the
likelihood p(D | μ, ζ, σ) can. Both quantities come from generalised least squares with G = (K + sI)⁻¹ and s = 1/γ: the
model with an unknown constant b, by other algebra than the library's centred spectrum.

    b̂ = 1ᵀGy / 1ᵀG1,    mean = b̂ + kᵀG(y − b̂1),    variance = (k_** − kᵀGk + (1 − 1ᵀGk)²/1ᵀG1 + s)/μ
    log p(D | μ, ζ, σ) = −½[(N−1) log 2π − (N−1) log μ + Σ log(λ_i + s) + log 1ᵀG1 + μ(y − b̂1)ᵀG(y − b̂1)]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import ndtr

from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import Kernel

from .simulation import SimulatedSet

_LIGHTEST = 1e-9


class Rows(NamedTuple):
    """For each s, of shape (G,): the parts of the likelihood, and the prediction of a new target in units of 1/μ."""

    log_det: Array
    quadratic: Array
    mean: Array
    variance: Array


def least_squares_rows(kernel: Kernel, data: SimulatedSet, s: Array) -> Rows:
    """Generalised least squares at each s = μ/ζ, from one eigendecomposition of the kernel matrix as it stands."""
    values, U = eigh(kernel(data.X))
    k = kernel(data.x_new, data.X)[0]
    one, y, new = U.T @ np.ones(len(data.y)), U.T @ data.y, U.T @ k
    inverse = 1.0 / (np.maximum(values, 0.0) + np.asarray(s)[:, None])  # [G, N]
    total = inverse @ one**2  # 1ᵀG1
    bias = inverse @ (one * y) / total
    residual = y - bias[:, None] * one
    weighted = inverse * residual
    mean = bias + weighted @ new
    spread = float(kernel.diag(data.x_new)[0]) - inverse @ new**2 + (1.0 - inverse @ (one * new)) ** 2 / total
    log_det = -np.log(inverse).sum(axis=1) + np.log(total)
    return Rows(log_det, np.einsum("gi,gi->g", weighted, residual), mean, np.maximum(spread, 0.0) + s)


def _log_likelihood(n: int, rows: Rows, log_mu: Array) -> Array:
    fit = (n - 1) * (np.log(2.0 * np.pi) - log_mu) + rows.log_det + np.exp(log_mu) * rows.quadratic
    return np.asarray(-0.5 * fit)


def log_likelihood(kernel: Kernel, data: SimulatedSet, log_mu: float, log_zeta: float) -> float:
    """Log p(D | μ, ζ, σ) with p(b) = 1."""
    rows = least_squares_rows(kernel, data, np.exp(np.array([log_mu - log_zeta])))
    return float(_log_likelihood(len(data.y), rows, np.array([log_mu]))[0])


def plug_in_pit(kernel: Kernel, data: SimulatedSet, log_mu: float, log_zeta: float) -> float:
    """PIT of the new target at fixed hyperparameters, where the prediction is Gaussian."""
    rows = least_squares_rows(kernel, data, np.exp(np.array([log_mu - log_zeta])))
    return float(ndtr((data.y_new - rows.mean[0]) / np.sqrt(rows.variance[0] * np.exp(-log_mu))))


def _distinct(log_theta: Array) -> tuple[Array, AnyArray]:
    """Distinct rows of shape (K, P), and which of them each row is."""
    if log_theta.shape[1] == 0:
        return log_theta[:1], np.zeros(len(log_theta), dtype=int)
    if log_theta.shape[1] == 1:  # much faster than by rows
        values, group = np.unique(log_theta[:, 0], return_inverse=True)
        return values[:, None], group
    rows, group = np.unique(log_theta, axis=0, return_inverse=True)
    return rows, group.ravel()


class Mixture(NamedTuple):
    """The likelihood at each of the weighted hyperparameters and at the true ones, and the new target's distribution.

    Attributes
    ----------
    log_likelihood : array of shape (M',)
        At the hyperparameters that have weight.
    true_log_likelihood : float
    y_new_pit, y_new_mean, y_new_sd : float
        PIT, mean and standard deviation of the new target under the whole mixture.
    """

    log_likelihood: Array
    true_log_likelihood: float
    y_new_pit: float
    y_new_mean: float
    y_new_sd: float


def mixture(
    kernel: Kernel, data: SimulatedSet, log_mu: Array, log_zeta: Array, log_theta: Array, weights: Array
) -> Mixture:
    """Likelihood and predictive distribution of weighted hyperparameters; those of no weight are left out.

    Parameters
    ----------
    kernel : Kernel
        The true one where its parameters are known; otherwise any of its family.
    data : SimulatedSet
    log_mu, log_zeta, weights : arrays of shape (M,)
    log_theta : array of shape (M, P)
        The kernel's log parameters; P = 0 where they are known.
    """
    heavy = weights > _LIGHTEST * weights.max()
    m, u, w = log_mu[heavy], (log_zeta - log_mu)[heavy], weights[heavy] / weights[heavy].sum()
    thetas, group = _distinct(log_theta[heavy])
    likelihood, new, first, second = np.empty(len(w)), 0.0, 0.0, 0.0
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    for theta, own in zip(thetas, members, strict=True):
        distinct, row = np.unique(np.round(u[own], 9), return_inverse=True)
        chosen = kernel.with_log_params(theta) if len(theta) else kernel
        rows = Rows(*(part[row] for part in least_squares_rows(chosen, data, np.exp(-distinct))))
        likelihood[own] = _log_likelihood(len(data.y), rows, m[own])
        variance = rows.variance * np.exp(-m[own])
        new += float(w[own] @ ndtr((data.y_new - rows.mean) / np.sqrt(variance)))
        first += float(w[own] @ rows.mean)
        second += float(w[own] @ (variance + rows.mean**2))
    truth = data.truth
    names = [name for name in truth if name not in ("log_mu", "log_zeta", "log_gamma")]
    true_kernel = kernel.with_log_params(np.array([truth[name] for name in names])) if names else kernel
    true_value = log_likelihood(true_kernel, data, truth["log_mu"], truth["log_zeta"])
    return Mixture(likelihood, true_value, new, first, float(np.sqrt(second - first**2)))
