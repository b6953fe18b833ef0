"""Class probabilities from the output of one LS-SVM: the ways that paper 0 names in section 3.2, and its own.

Kernel, μ and ζ are those of the evidence, so that only the step from z(x) = wᵀφ(x) + b to a decision differs:

    moderated       3.17 with ζ₊ = ζ₋ = ζ_*, as the paper has it, and the training frequencies as priors
    two variances   3.17 with a precision for each class, which 3.8 allows
    softmax         the logistic function of z with MacKay's marginalisation
    (1 + z)/2       the least-squares approximation of P(+1), cut at 1/(N + 2) from 0 and 1
    Platt           expit(Az + B) fitted to leave-one-out outputs with Platt's targets (1999)
    densities       of the leave-one-out outputs of each class, by a Gaussian kernel (Mukherjee et al. 1999)
    bias moved      sign(z − t), t of the most right leave-one-out labels (Evgeniou et al. 2000); a decision alone
    library         the map of `BayesianLSSVC` by default, on leave-one-out outputs too
    sign            sign(z), 2.22; a decision alone

Leave-one-out outputs are exact (paper 1, eq 12), with kernel and γ held. Mukherjee and Platt had SVMs, and Platt and
Evgeniou a validation set; outputs of rows left out stand for both here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.typing import Array
from bayes_lssvm.levels.level1 import ClassMoments
from bayes_lssvm.press.leave_one_out import leave_one_out

__all__ = ["bias_moved", "class_precisions", "densities", "one_plus_z", "platt", "read_outs", "two_variances"]

ReadOut = Callable[[Array], Array]
"""Outputs z of shape (n,) to log odds, of which a decision alone has ±∞."""


def platt(z: Array, y: Array) -> ReadOut:
    """Platt's sigmoid for outputs z of labels y = ±1."""
    plus = y > 0
    n_plus, n_minus = int(plus.sum()), int((~plus).sum())
    target = np.where(plus, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (n_minus + 2.0))

    def cost(point: Array) -> tuple[float, Array]:
        odds = point[0] * z + point[1]
        slope = expit(odds) - target
        return float(np.sum(np.logaddexp(0.0, odds) - target * odds)), np.array([slope @ z, slope.sum()])

    a, b = minimize(cost, [0.0, np.log((n_plus + 1.0) / (n_minus + 1.0))], jac=True, method="BFGS").x
    return lambda new: a * new + b


def densities(z: Array, y: Array) -> ReadOut:
    """Gaussian kernel densities of the outputs of each class, Scott's width 1.06 s N^(−1/5), and their frequencies."""

    def log_density(own: Array, new: Array) -> Array:
        width = max(1.06 * float(np.std(own, ddof=1)) * len(own) ** -0.2, 1e-6)
        kernels = -0.5 * ((new[:, None] - own) / width) ** 2 - np.log(width * np.sqrt(2.0 * np.pi))
        return np.asarray(logsumexp(kernels, axis=1))  # times the class's count

    return lambda new: log_density(z[y > 0], new) - log_density(z[y < 0], new)


def bias_moved(z: Array, y: Array) -> ReadOut:
    """The threshold of the most right labels; of several, the middle of the range that is nearest to zero."""
    edges = np.concatenate([[-np.inf], np.sort(z), [np.inf]])
    low, high = edges[:-1], edges[1:]
    right = np.array([int(np.sum((z > t) == (y > 0))) for t in np.append(-np.inf, np.sort(z))])
    best = np.flatnonzero(right == right.max())
    place = best[np.argmin(np.maximum(np.maximum(low[best], -high[best]), 0.0))]
    ends = np.clip([low[place], high[place]], z.min() - 1.0, z.max() + 1.0)
    threshold = 0.0 if ends[0] <= 0.0 <= ends[1] else float(ends.mean())
    return lambda new: np.where(new >= threshold, np.inf, -np.inf)


def one_plus_z(n: int) -> ReadOut:
    """The log odds of (1 + z)/2 where it is a probability, cut at 1/(n + 2) from 0 and 1."""
    least = 1.0 / (n + 2.0)

    def log_odds(new: Array) -> Array:
        p = np.clip(0.5 * (1.0 + new), least, 1.0 - least)
        return np.log(p) - np.log1p(-p)

    return log_odds


def class_precisions(outputs: Array, y: Array, gamma_eff: float) -> tuple[float, float]:
    """ζ₊ and ζ₋ from training outputs: each class has its share of the N − γ_eff degrees of freedom."""
    found = []
    for own in (outputs[y > 0], outputs[y < 0]):
        left = len(own) * max(1.0 - gamma_eff / len(y), 1e-100)
        found.append(left / max(float(np.sum((own - own.mean()) ** 2)), 1e-200))
    return found[0], found[1]


def two_variances(plus: ClassMoments, minus: ClassMoments, precisions: tuple[float, float], prior: float) -> Array:
    """Log odds of 3.17 with ζ₊ ≠ ζ₋, for class moments 3.9 to 3.11 and the log odds of the classes."""

    def log_density(moments: ClassMoments, precision: float) -> Array:
        variance = 1.0 / precision + moments.variance  # 3.16
        return np.asarray(-0.5 * (np.log(variance) + moments.mean**2 / variance))

    return log_density(plus, precisions[0]) - log_density(minus, precisions[1]) + prior


def read_outs(X: Array, y: Array, X_test: Array, seed: int) -> dict[str, Array]:
    """Log odds of the test rows by each read-out of one LS-SVM, whose σ, μ and ζ are those of the evidence.

    Parameters
    ----------
    X, X_test : arrays of shape (N, d) and (n, d)
        Standardised.
    y : array of shape (N,)
        Labels ±1.
    seed : int
    """
    model = BayesianLSSVC(prior="flat", moderation="class", standardise=False, random_state=seed).fit(X, y)
    K = model.kernel_(X)
    left_out = leave_one_out(K, y, model.gamma_).predictions
    z = np.asarray(model.latent(X_test))
    plus, minus = model.centres_.moments(model.posterior_, X_test)
    own = class_precisions(np.asarray(model.latent(X)), y, model.gamma_eff_)
    prior = float(np.log(np.mean(y > 0)) - np.log(np.mean(y < 0)))
    shared = (model.zeta_star_, model.zeta_star_)
    return {
        "moderated": two_variances(plus, minus, shared, prior),
        "two variances": two_variances(plus, minus, own, prior),
        "softmax": _with(model, "softmax", X_test),
        "(1 + z)/2": one_plus_z(len(y))(z),
        "Platt": platt(left_out, y)(z),
        "densities": densities(left_out, y)(z),
        "bias moved": bias_moved(left_out, y)(z),
        "library": _with(model, "loo", X_test),
        "sign": np.where(z >= 0.0, np.inf, -np.inf),
    }


def _with(model: BayesianLSSVC, moderation: str, X: Array) -> Array:
    """Log odds of the fitted model by another of the library's forms."""
    kept = model.moderation
    try:
        p = model.set_params(moderation=moderation).predict_proba(X)
    finally:
        model.set_params(moderation=kept)
    return np.log(p[:, 1]) - np.log(p[:, 0])
