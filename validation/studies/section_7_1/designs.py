"""The two designs of section 7.1, the evidence along σ and the map of the moderated output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level3 import DEFAULT_PRIOR_SD, ErrorBars
from bayes_lssvm.levels.moderation import PAPERS_MODERATIONS
from bayes_lssvm.levels.objective import Objective
from validation.harness.scores import binary_scores

NEGATIVE_COPIES, POSITIVE_COPIES = 3, 1


class Printed(NamedTuple):
    """The numbers that section 7.1 prints; accuracies are fractions."""

    sigma: float = 1.3110
    accuracy: float = 0.906
    unbalanced_ignoring: float = 0.909
    unbalanced_using: float = 0.925


PRINTED = Printed()


class Score(NamedTuple):
    """How well one form of moderated output predicts the test labels."""

    moderation: str
    log_loss: float
    brier: float
    accuracy: float


@dataclass(frozen=True)
class Design:
    """One classifier of section 7.1.

    Attributes
    ----------
    criterion : str
        "without Occam" or "eq 5.3": the evidence that chose σ.
    log_evidence : float
        log p(D | H) by 5.2, with MacKay's error bars and the prior's widths.
    log_evidence_without_occam : float
        log p(D | μ_MP, ζ_MP, H).
    log_eq_5_3 : float
        Eq 5.3, relative to other models of the same data.
    mackay, hessian : ErrorBars
        Of log μ and log ζ.
    accuracy_sign, accuracy_moderated : float
        Share of the test set that 2.22 and 3.17 classify correctly.
    unbalanced_ignoring, unbalanced_using : float
        The same for 3.17 on the unbalanced test set, with the training set's priors and with its own.
    scores : tuple of Score
        One for each form of the moderated output, on the test set.
    """

    criterion: str
    sigma: float
    mu: float
    zeta: float
    gamma: float
    gamma_eff: float
    zeta_star: float
    log_evidence: float
    log_evidence_without_occam: float
    log_occam_factor: float
    log_occam_factor_hessian: float
    log_eq_5_3: float
    mackay: ErrorBars
    hessian: ErrorBars
    accuracy_sign: float
    accuracy_moderated: float
    unbalanced_ignoring: float
    unbalanced_using: float
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class EvidenceCurve:
    """Log evidence with level 2 at its maximum for each σ: without the Occam factor, and by 5.2."""

    sigma: Array
    without_occam: Array
    with_occam: Array


@dataclass(frozen=True)
class ProbabilityMap:
    """The moderated output and the latent's error bar over a grid: x1 of shape (n,), x2 (m,), the others (m, n)."""

    x1: Array
    x2: Array
    probability: Array
    latent_std: Array


def describe(criterion: str, model: BayesianLSSVC, X_test: Array, positive: AnyArray) -> Design:
    """Everything section 7.1 says about a fitted classifier, and its neighbours in the framework."""
    kernel, level3 = model.kernel_, model.level3_
    assert isinstance(kernel, RBF)
    copies = np.where(positive, POSITIVE_COPIES, NEGATIVE_COPIES)
    repeated, repeated_positive = np.repeat(X_test, copies, axis=0), np.repeat(positive, copies)
    shares = np.array([NEGATIVE_COPIES, POSITIVE_COPIES]) / (NEGATIVE_COPIES + POSITIVE_COPIES)

    def accuracy(decision: Array, truth: AnyArray) -> float:
        return float(np.mean((decision > 0) == truth))

    return Design(
        criterion=criterion,
        sigma=float(kernel.sigma),
        mu=model.mu_,
        zeta=model.zeta_,
        gamma=model.gamma_,
        gamma_eff=model.gamma_eff_,
        zeta_star=model.zeta_star_,
        log_evidence=level3.log_evidence,
        log_evidence_without_occam=level3.log_evidence_without_occam,
        log_occam_factor=level3.log_occam_factor,
        log_occam_factor_hessian=level3.log_occam_factor_hessian,
        log_eq_5_3=level3.log_eq_5_3,
        mackay=level3.mackay,
        hessian=level3.hessian,
        accuracy_sign=accuracy(np.asarray(model.latent(X_test)), positive),  # 2.22
        accuracy_moderated=accuracy(model.decision_function(X_test), positive),  # 3.17
        unbalanced_ignoring=accuracy(model.decision_function(repeated), repeated_positive),
        unbalanced_using=accuracy(model.decision_function(repeated, class_prior=shares.tolist()), repeated_positive),
        scores=tuple(_scores(model, X_test, positive)),
    )


def _scores(model: BayesianLSSVC, X_test: Array, positive: AnyArray) -> list[Score]:
    # the papers' three forms share one fit: only how probabilities are read off differs
    chosen = model.moderation
    try:
        found = {m: model.set_params(moderation=m).predict_proba(X_test)[:, 1] for m in PAPERS_MODERATIONS}
    finally:
        model.set_params(moderation=chosen)
    scores = {m: binary_scores(probability, positive) for m, probability in found.items()}
    return [Score(m, -s.log_score, s.brier, s.accuracy) for m, s in scores.items()]


def evidence_curve(X: Array, y: Array, sigma: Array, *, prior_sd: float = DEFAULT_PRIOR_SD) -> EvidenceCurve:
    """The evidence of the RBF kernel for each σ, on standardised inputs X and labels y = ±1."""
    objective = Objective(X, y, True, (prior_sd, prior_sd))
    evaluations = [objective.evaluate(RBF(float(s))) for s in sigma]
    return EvidenceCurve(
        np.asarray(sigma, dtype=float),
        np.array([e.level2.log_evidence for e in evaluations]),
        np.array([e.value for e in evaluations]),
    )


def probability_map(model: BayesianLSSVC, x1: Array, x2: Array) -> ProbabilityMap:
    """P(y=+1 | x) and σ_z(x) on the grid of x1 and x2."""
    points = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    shape = (len(x2), len(x1))
    _, latent_std = model.latent(points, return_std=True)
    return ProbabilityMap(x1, x2, model.predict_proba(points)[:, 1].reshape(shape), latent_std.reshape(shape))
