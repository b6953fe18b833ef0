"""Noise that is not the same everywhere: weights that are found from the errors, kept if the evidence says so.

    "constant"  the same variance 1/ζ for all rows (of weight one)
    "learned"   a variance exp(h(x))/ζ, h by a second LS-SVM (`levels.log_variance`)
    "student"   Student-t noise, by a precision for each row (`levels.student`)

Both alternate between a design with the weights at hand and the weights that its errors ask for, and both are compared
with constant noise by the evidence; where that is no less, the design is the one of constant noise, to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..base.typing import Array
from ..kernels import RBF
from ..levels.default_prior import default_prior
from ..levels.level2 import NO_SIGNAL_GAIN, optimise
from ..levels.level2_posterior import most_probable
from ..levels.level3 import level3_at
from ..levels.log_variance import LogVariance, corrected_squares
from ..levels.student import ScaleMixture
from ..linalg.spectrum import TridiagonalReduction
from ..press.leave_one_out import leave_one_out
from ..priors import HyperPrior
from .choice import Choice, choose

NOISES = ("constant", "learned", "student")
_ROUNDS = 8
_SETTLED = 0.02  # rms change of log weights
_INNER = 200
_STEADY = 1e-4  # largest change of a weight at one kernel
_FARTHEST = float(np.log(1e5))  # of a log weight from the mean

Design = Callable[[Array | None], Choice]


class NoisyDesign(NamedTuple):
    """A design, and the noise that it was made with.

    Attributes
    ----------
    choice : Choice
    precisions : array of shape (N,) or None
        Relative noise precisions that were found; None for constant noise.
    log_evidence : float
        Of the whole, the noise included.
    log_evidence_constant : float
        Of the design with constant noise.
    log_variance : LogVariance or None
    mixture : ScaleMixture or None
    """

    choice: Choice
    precisions: Array | None
    log_evidence: float
    log_evidence_constant: float
    log_variance: LogVariance | None = None
    mixture: ScaleMixture | None = None


def check_noise(noise: str, criterion: str) -> None:
    """Refuse a kind of noise that does not exist, or that the criterion cannot weigh."""
    if noise not in NOISES:
        raise ValueError(f"noise must be one of {', '.join(NOISES)}, got {noise!r}.")
    if noise != "constant" and criterion != "evidence":
        raise ValueError(
            f'noise={noise!r} is compared with constant noise by the evidence; use criterion="evidence", not '
            f"{criterion!r}."
        )


def _evidence(choice: Choice, prior_sd: float | tuple[float, float]) -> float:
    """Laplace's evidence with the prior in it, or that of 5.2."""
    if choice.log_evidence is not None:
        return choice.log_evidence
    return level3_at(choice.reduction, choice.level2, prior_sd=prior_sd).log_evidence


def _times(given: Array | None, precisions: Array) -> Array:
    return precisions if given is None else given * precisions


def _left_out(choice: Choice, X: Array, y: Array, weights: Array | None) -> tuple[Array, Array]:
    """Leave-one-out errors and variances of the function without each row."""
    level2 = choice.level2
    found = leave_one_out(choice.kernel(X), y, level2.gamma, mu=level2.mu, weights=weights)
    return found.residuals, found.latent_variances


def learned_noise(
    design: Design, X: Array, y: Array, given: Array | None, *, prior_sd: float | tuple[float, float], seed: int
) -> NoisyDesign:
    """A log variance over standardised inputs X of shape (N, d), for targets y and given weights of shape (N,).

    The evidence is that of the weighted model, less what h costs: ½μ‖w‖² and Laplace's determinant. The kernel of h and
    its μ are at a maximum, and have to gain more than the 2 nats that chance does (`NO_SIGNAL_GAIN`).
    """
    constant = choice = design(given)
    precisions = np.ones(len(y))
    base = _evidence(constant, prior_sd)
    best = NoisyDesign(constant, None, base, base)
    for _ in range(_ROUNDS):
        weights = _times(given, precisions)
        residuals, latent = _left_out(choice, X, y, weights)
        # the errors of a row of weight one: what is known of its precision is taken out
        own = np.ones(len(y)) if given is None else given
        noise = 1.0 / (choice.level2.zeta * precisions)
        q = corrected_squares(residuals * np.sqrt(own), latent * own, noise)
        found = _log_variance(X, q, seed)
        if found is None:
            break
        before, precisions = precisions, found.precisions()
        offset = np.clip(np.log(precisions), -_FARTHEST, _FARTHEST)
        precisions = np.exp(offset - offset.mean())
        choice = design(_times(given, precisions))
        value = _evidence(choice, prior_sd) - found.cost
        if value > max(best.log_evidence, base + NO_SIGNAL_GAIN):
            best = NoisyDesign(choice, precisions, value, base, log_variance=found)
        if float(np.sqrt(np.mean((np.log(precisions) - np.log(before)) ** 2))) < _SETTLED:
            break
    return best


def _log_variance(X: Array, q: Array, seed: int) -> LogVariance | None:
    """H by the evidence of the lecture's regression of log q; None where that sees no signal."""
    u, kernel = np.log(q), RBF(float(np.sqrt(X.shape[1])))
    found = choose(
        kernel,
        X,
        u,
        criterion="evidence",
        refine_kernel=True,
        occam=True,
        prior_sd=3.0,
        prior=default_prior(kernel, X, u, classes=False),
        seed=seed,
    )
    if found.level2.status == "no signal":
        return None
    return LogVariance.fit(found.kernel, X, q, found.level2.mu)


def student_noise(
    design: Design,
    X: Array,
    y: Array,
    given: Array | None,
    *,
    prior: HyperPrior | None,
    prior_sd: float | tuple[float, float],
) -> NoisyDesign:
    """Student-t noise: weights at each kernel until they are steady, then the kernel again, until the bound is."""
    constant = choice = design(given)
    base = bound = _evidence(constant, prior_sd)
    best = NoisyDesign(constant, None, base, base)
    tau = np.ones(len(y))
    for _ in range(_ROUNDS):
        mixture = _steady(choice, X, y, given, tau, prior)
        tau = mixture.weights
        choice = design(_times(given, tau))
        before, bound = bound, _evidence(choice, prior_sd) + mixture.log_factor
        if bound > max(best.log_evidence, base + NO_SIGNAL_GAIN):
            best = NoisyDesign(choice, tau, bound, base, mixture=mixture)
        if abs(bound - before) < _SETTLED:
            break
    return best


def _steady(
    choice: Choice, X: Array, y: Array, given: Array | None, tau: Array, prior: HyperPrior | None
) -> ScaleMixture:
    """The factors of τ at one kernel, with μ and ζ by level 2 for the weights of each step."""
    K, level2 = choice.kernel(X), choice.level2
    own = np.ones(len(y)) if given is None else given
    mixture = ScaleMixture.of(np.zeros(len(y)))
    for _ in range(_INNER):
        weights = own * tau
        left = leave_one_out(K, y, level2.gamma, mu=level2.mu, weights=weights)
        # Bayes' rule puts the row back: fitted error and variance from those without it
        shrink = 1.0 + level2.zeta * weights * left.latent_variances
        squares = (left.residuals / shrink) ** 2 + left.latent_variances / shrink
        mixture = ScaleMixture.of(level2.zeta * own * squares)
        change = float(np.abs(mixture.weights - tau).max())
        tau = mixture.weights
        if change < _STEADY:
            break
        reduction = TridiagonalReduction.from_kernel_matrix(K, y, own * tau)
        level2 = optimise(reduction) if prior is None else most_probable(reduction, prior.mu, prior.zeta).level2
    return mixture
