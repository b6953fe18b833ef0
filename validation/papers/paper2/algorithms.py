"""The classifiers of paper 2: members of one kind, set apart by a coding, brought together by every decoding.

LS-SVM members (Table II, section 4 of the paper): each has its own μ, ζ and, for the RBF kernel, its own σ at the
maximum of its own evidence; the moderated output is eq 11, and all classes are equally likely beforehand (section 5).

SVM members (Table III): C and σ of each member by 10-fold cross-validation on its own training points.

Hamming decoding meets ties. The paper says what it does with them for 1vsA alone: the largest output decides.
"hamming" breaks all ties by the outputs' sizes, as the library does, which for 1vsA is the paper's rule. Beside it
"hamming-first" gives them to the first of the tied classes, and "hamming-strict" gives them no label, so that they
count as wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.estimators.common import MIN_POINTS
from bayes_lssvm.multiclass import (
    MulticlassLSSVC,
    bayes_log_posterior,
    code_book,
    couple_pairwise,
    hamming_distance,
    loss_scores,
)
from bayes_lssvm.multiclass.decodings import hamming_scores
from validation.harness.scores import Prediction, score

from .svm import CrossValidatedSVC


class Decoded(NamedTuple):
    """All decodings of the same members.

    Attributes
    ----------
    classes : array of shape (M,)
        Those that the classifier knows.
    predictions : dict of Prediction
    ties : float
        Percentage of rows whose smallest Hamming distance several classes share.
    """

    classes: AnyArray
    predictions: dict[str, Prediction]
    ties: float


class Fitted(NamedTuple):
    """A designed classifier.

    Attributes
    ----------
    predict : callable
        From inputs of shape (n, d) to `Decoded`.
    left_out : list of int
        Classes of the training part that members could not be designed for.
    facts : dict
        What to know of the members, for the record.
    """

    predict: Callable[[Array], Decoded]
    left_out: list[int]
    facts: dict[str, Any]


def fit_lssvm(X: Array, y: AnyArray, seed: int, *, kernel: str, coding: str, order: AnyArray | None = None) -> Fitted:
    """LS-SVM members by the evidence framework.

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of int of shape (N,)
        Numbers of the classes.
    seed : int
        Of the error-correcting code.
    kernel, coding : str
    order : array of int of shape (M,), optional
        The place in the code book of each class of the training part; their sorted order by default.
    """
    rows, left_out = designable(y, coding)
    X, y = X[rows], y[rows]
    classes, labels = np.unique(y, return_inverse=True)
    book = _book(coding, len(classes), seed, order)
    model = MulticlassLSSVC(
        kernel,
        coding=book,
        decoding="bayes",
        moderation="target",
        prior="flat",
        class_prior="equal",
        random_state=seed,
    )
    model.fit(X, y)
    facts = {
        "members": len(model.members_),
        "points": ((book != 0).T @ np.bincount(labels)).astype(int).tolist(),
        "gamma_eff": [float(member.gamma_eff_) for member in model.members_],
    }
    if kernel == "rbf":
        facts["sigma"] = [float(np.exp(member.kernel_.log_params[0])) for member in model.members_]

    def predict(X_test: Array) -> Decoded:
        return decode(classes, book, model.outputs(X_test), model.log_ratios(X_test))

    return Fitted(predict, left_out, facts)


def fit_svm(X: Array, y: AnyArray, seed: int, *, kernel: str, coding: str, order: AnyArray | None = None) -> Fitted:
    """SVM members, each with its own C and σ by cross-validation; arguments as in `fit_lssvm`."""
    classes = np.unique(y)
    book = _book(coding, len(classes), seed, order)
    member = CrossValidatedSVC(kernel, random_state=seed % 2**32)
    model = MulticlassLSSVC(coding=book, decoding="hamming", member=member).fit(X, y)
    facts = {
        "members": len(model.members_),
        "C": [m.C_ for m in model.members_],
        "without_folds": sum(m.folds_ == 0 for m in model.members_),
    }
    if kernel == "rbf":
        facts["sigma"] = [m.sigma_ for m in model.members_]

    def predict(X_test: Array) -> Decoded:
        return decode(classes, book, model.outputs(X_test), None)

    return Fitted(predict, [], facts)


def _book(coding: str, n_classes: int, seed: int, order: AnyArray | None) -> Array:
    book = code_book(coding, n_classes, seed=seed)
    return book if order is None else book[order]


def designable(y: AnyArray, coding: str) -> tuple[AnyArray, list[int]]:
    """Which training rows can be used, and the classes that cannot.

    An LS-SVM member needs three points. Of 1vs1's pairs some may have two; the smallest class is then left out, and
    its test rows count as wrong.
    """
    classes, counts = np.unique(y, return_counts=True)
    left_out: list[int] = []
    while coding == "ovo" and len(classes) > 2 and np.sort(counts)[:2].sum() < MIN_POINTS:
        smallest = int(counts.argmin())
        left_out.append(int(classes[smallest]))
        classes, counts = np.delete(classes, smallest), np.delete(counts, smallest)
    return np.isin(y, classes), left_out


def decode(classes: AnyArray, code: Array, outputs: Array, log_ratios: Array | None) -> Decoded:
    """Every decoding of the members' outputs.

    Parameters
    ----------
    classes : array of shape (M,)
    code : array of shape (M, L)
    outputs : array of shape (n, L)
        Members' outputs z.
    log_ratios : array of shape (n, L) or None
        log p(x | y=+1) − log p(x | y=−1); without them there is no Bayesian decoding.
    """
    distance = hamming_distance(code, outputs)
    tied = (distance == distance.min(axis=1, keepdims=True)).sum(axis=1) > 1  # sums of halves: exact
    sized = classes[np.argmax(hamming_scores(code, outputs), axis=1)]
    found = {
        "hamming": Prediction(sized),
        "hamming-first": Prediction(classes[np.argmin(distance, axis=1)]),
        "hamming-strict": Prediction(_unless(tied, sized)),
    }
    for name, loss in (("loss", "squared"), ("hinge", "hinge")):
        found[name] = Prediction(classes[np.argmax(loss_scores(code, outputs, loss=loss), axis=1)])
    if log_ratios is not None:
        found |= _probabilistic(classes, code, log_ratios)
    return Decoded(classes, found, 100.0 * float(tied.mean()))


def _unless(tied: AnyArray, labels: AnyArray) -> AnyArray:
    """The labels, and None where classes tie."""
    found = labels.astype(object)
    found[tied] = None
    return found


def _probabilistic(classes: AnyArray, code: Array, log_ratios: Array) -> dict[str, Prediction]:
    equal = np.full(len(classes), 1.0 / len(classes))
    found = {"bayes": np.exp(bayes_log_posterior(code, log_ratios, equal))}
    if np.any(code == 0):  # elsewhere the readings of eq 20 agree
        found["bayes-sequential"] = np.exp(bayes_log_posterior(code, log_ratios, equal, rule="sequential"))
        found["bayes-printed"] = np.exp(bayes_log_posterior(code, log_ratios, equal, rule="printed"))
        found["coupling"] = couple_pairwise(code, log_ratios)
    return {name: Prediction(classes[np.argmax(p, axis=1)], p) for name, p in found.items()}


def scored(decoded: Decoded, y_test: AnyArray, classes: AnyArray) -> dict[str, dict[str, float]]:
    """Scores of every decoding; a class that the classifier does not know has the probability zero."""
    found = {}
    for name, (labels, p) in decoded.predictions.items():
        if p is not None:
            whole = np.zeros((len(p), len(classes)))
            whole[:, np.searchsorted(classes, decoded.classes)] = p
            p = whole / whole.sum(axis=1, keepdims=True)
        found[name] = score(labels, p, y_test, classes)
    return found
