"""Decodings: from the outputs of L binary members to M classes (paper 2, sections 1, 3 and 5).

With the codewords c_m in {−1, ×, +1}^L and for each bit the output z_l and the densities p(x | y_l = ±1):

Hamming     d_m = Σ_l ½(1 − c_ml sign z_l), so that a × counts ½; of classes with the same smallest distance the one
            with the largest Σ_l c_ml z_l, which for one versus all is the member with the largest output, as the paper
            has it.
loss        Σ_l (1 − c_ml z_l)², or Σ_l max(0, 1 − c_ml z_l) for SVMs; a × counts as c = 0 (Allwein et al., 2000).
Bayesian    without don't cares the bits are independent pieces of evidence, in any order:
                P(c_m | x) ∝ P(c_m) Π_l p(x | y_l = c_ml)                                                     (17, 18)
            With them, bit after bit, only the classes that take part are updated (20).

Eq 20 as printed divides by a sum over the classes that take part, which gives these classes the probability one,
whatever they had before: the sum over all classes is then above one, and bits that say nothing change the
probabilities. Bayes' rule needs the density p(x | ×) of a class that takes no part. Three readings are offered:

"mixture"     p(x | ×) is the even mixture of the classes that take part. This is (18) with one density more: it has no
              order. For one versus one it is the product of the members' moderated outputs at equal priors.
"sequential"  the classes that take part keep the probability that they had together,
                  P'(c_m) = P(c_m) p(x | c_ml) · Σ_k P(c_k) / Σ_k P(c_k) p(x | c_kl),       k taking part,
              so that p(x | ×) is their mixture by what is believed of them so far. The order of the bits matters.
"printed"     eq 20 to the letter, normalised at the end.

On data "mixture" is the one with which the paper's figures come out. Without × all three are eq 18.

Only the ratio log p(x | +1) − log p(x | −1) of a bit matters, so that is what these functions take. All sums are in
logs, and probabilities sum to one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import expit, logsumexp

from ..base.typing import AnyArray, Array

Rule = Literal["mixture", "sequential", "printed"]
RULES: tuple[str, ...] = ("mixture", "sequential", "printed")

BAYESIAN: dict[str, Rule] = {"bayes": "mixture", "bayes-sequential": "sequential", "bayes-printed": "printed"}
"""Decodings by Bayes' rule, and how each reads a don't care."""

PROBABILISTIC: tuple[str, ...] = ("auto", *BAYESIAN, "coupling")
DECODINGS: tuple[str, ...] = (*PROBABILISTIC, "hamming", "loss", "hinge")
LOSSES: tuple[str, ...] = ("squared", "hinge")


def bayes_log_posterior(code: Array, log_ratios: Array, prior: Array, *, rule: Rule = "mixture") -> Array:
    """Log P(c_m | x) for each row of bits (17–20).

    Parameters
    ----------
    code : array of shape (M, L)
    log_ratios : array of shape (n, L)
        log p(x | y_l = +1) − log p(x | y_l = −1).
    prior : array of shape (M,)
        P(c_m), all positive.
    rule : {"mixture", "sequential", "printed"}
        What don't cares mean; without them the three agree.

    Returns
    -------
    array of shape (n, M)

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.multiclass import bayes_log_posterior, code_book
    >>> ratios = np.array([[2.0, -1.0, -1.0]])
    >>> np.exp(bayes_log_posterior(code_book("ova", 3), ratios, np.full(3, 1 / 3))).round(3)
    array([[0.909, 0.045, 0.045]])
    """
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}.")
    log_prior = np.log(prior / prior.sum())
    logs = np.tile(log_prior, (len(log_ratios), 1))  # [n, M]
    for bit, column in enumerate(code.T):
        takes_part = column != 0
        # p(x | ±1) up to a factor that cancels
        likelihood = 0.5 * log_ratios[:, bit : bit + 1] * column[takes_part]  # [n, K]
        before = np.zeros_like(likelihood) if rule == "mixture" else logs[:, takes_part]
        evidence = logsumexp(before + likelihood, axis=1, keepdims=True)
        if rule != "printed":
            evidence = evidence - logsumexp(before, axis=1, keepdims=True)
        logs[:, takes_part] += likelihood - evidence
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


def hamming_distance(code: Array, outputs: Array) -> Array:
    """Distance of the signs of the outputs, of shape (n, L), from each codeword; of shape (n, M).

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.multiclass import code_book, hamming_distance
    >>> hamming_distance(code_book("ova", 3), np.array([[0.9, -0.8, -1.1]]))
    array([[0., 2., 2.]])
    """
    signs = np.where(outputs > 0, 1.0, -1.0)
    return np.asarray(0.5 * (code.shape[1] - signs @ code.T))


def hamming_scores(code: Array, outputs: Array) -> Array:
    """Minus the Hamming distance, with less than a quarter added for the outputs' own sizes, which breaks ties."""
    margin = _margin(code, outputs)
    return np.asarray(-hamming_distance(code, outputs) + 0.2 * margin / (1.0 + np.abs(margin)))


def votes(code: Array, outputs: Array) -> Array:
    """Shares of the votes: each member has one for every class on the side it decides for; of shape (n, M).

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.multiclass import code_book, votes
    >>> votes(code_book("ovo", 3), np.array([[0.9, 0.8, -0.3]])).round(2)
    array([[0.  , 0.67, 0.33]])
    """
    signs = np.where(outputs > 0, 1.0, -1.0)
    counts = (signs[:, None, :] == code).sum(axis=2).astype(float)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def loss_scores(code: Array, outputs: Array, *, loss: str = "squared") -> Array:
    """Minus the sum of losses of c_ml z_l over the bits, of shape (n, M).

    Parameters
    ----------
    code : array of shape (M, L)
    outputs : array of shape (n, L)
    loss : {"squared", "hinge"}
        (1 − u)², which LS-SVMs minimise, or max(0, 1 − u).

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.multiclass import code_book, loss_scores
    >>> loss_scores(code_book("ova", 3), np.array([[1.0, -1.0, -1.0]]))
    array([[ 0., -8., -8.]])
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}.")
    if loss == "squared":
        # Σ (1 − cz)² = L − 2 Σ cz + Σ c²z²
        squared = outputs**2 @ (code**2).T
        return np.asarray(2.0 * outputs @ code.T - squared - code.shape[1])
    total = np.zeros((len(outputs), len(code)))
    for bit, column in enumerate(code.T):
        total -= np.maximum(0.0, 1.0 - outputs[:, bit : bit + 1] * column)
    return total


def default_decoding(code: Array) -> str:
    """Coupling where there is a member for each pair of classes, Bayes' rule for other codes."""
    return "coupling" if _has_pairs(code) else "bayes"


def couple_pairwise(code: Array, log_ratios: Array, frequencies: Array | None = None) -> Array:
    """Class probabilities from those of all pairs, by least squares; of shape (n, M).

    With r_ij = P(i | i or j, x), minimise Σ_i Σ_{j≠i} (r_ji p_i − r_ij p_j)² subject to Σ p = 1, a linear system of
    M + 1 equations for each x (Wu, Lin and Weng, 2004, their second method).

    Parameters
    ----------
    code : array of shape (M, M(M − 1)/2)
        One versus one, in any order of the pairs.
    log_ratios : array of shape (n, L)
    frequencies : array of shape (M,), optional
        P(c_m) of the probabilities that are coupled; equal by default.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.multiclass import code_book, couple_pairwise
    >>> couple_pairwise(code_book("ovo", 3), np.array([[2.0, 1.0, -0.5]])).round(3)
    array([[0.096, 0.57 , 0.334]])
    """
    require_pairs(code)
    n, n_classes = len(log_ratios), len(code)
    r = np.zeros((n, n_classes, n_classes))  # [n, i, j]
    for bit, column in enumerate(code.T):
        plus, minus = int(np.argmax(column)), int(np.argmin(column))
        prior = 0.0 if frequencies is None else float(np.log(frequencies[plus] / frequencies[minus]))
        odds = log_ratios[:, bit] + prior
        r[:, plus, minus], r[:, minus, plus] = expit(odds), expit(-odds)
    system = np.zeros((n, n_classes + 1, n_classes + 1))
    system[:, :n_classes, :n_classes] = -r.transpose(0, 2, 1) * r
    diagonal = np.arange(n_classes)
    # the ridge is below rounding of p, and keeps pairs that are all certain, and contradict each other, solvable
    system[:, diagonal, diagonal] = (r**2).sum(axis=1) + 1e-12
    system[:, n_classes, :n_classes] = system[:, :n_classes, n_classes] = 1.0
    right = np.zeros((n, n_classes + 1, 1))
    right[:, n_classes] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :n_classes, 0], np.finfo(float).tiny)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def require_pairs(code: Array) -> None:
    """Refuse a code that does not have each pair of classes once."""
    if not _has_pairs(code):
        raise ValueError(
            "Pairwise coupling needs one member for each pair of classes; this code has "
            f'{code.shape[1]} bits for {len(code)} classes. Use coding="ovo", or another decoding.'
        )


def _has_pairs(code: Array) -> bool:
    count = len(code)
    return code.shape[1] == count * (count - 1) // 2 and bool(np.all((code != 0).sum(axis=0) == 2))


def least_cost(probabilities: Array, costs: Array) -> AnyArray:
    """The class of least expected cost for each row; costs[i, j] is that of deciding for j where i is true.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.multiclass import least_cost
    >>> least_cost(np.array([[0.8, 0.2]]), np.array([[0.0, 1.0], [10.0, 0.0]]))
    array([1])
    """
    return np.asarray(np.argmin(probabilities @ costs, axis=1))


def _margin(code: Array, outputs: Array) -> Array:
    """Σ_l c_ml z_l, of shape (n, M), with outputs so large that their sum would overflow drawn in."""
    return np.asarray(np.clip(outputs, -1e100, 1e100) @ code.T)
