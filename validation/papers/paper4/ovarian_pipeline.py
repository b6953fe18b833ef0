"""The pipeline of paper 4's ovarian case study, on any two classes.

    1. standardise the inputs with the training rows
    2. select inputs forward, by the evidence of an RBF LS-SVM, as long as it grows; what a stepwise search selects,
       the other heuristic that the paper names, is told beside it
    3. logistic regression (maximum likelihood), linear and RBF LS-SVM by evidence on those inputs
    4. prune the RBF LS-SVM: points with y_iα_i < 0 leave, μ and ζ are chosen again, until there are none

and for comparison the three models on all inputs. All of it sees training rows only: `design` has no other argument.
LS-SVM probabilities are moderated outputs with the training frequencies as class priors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import Array
from bayes_lssvm.estimators.sparse import SparseLSSVC
from bayes_lssvm.kernels import Kernel, Linear
from bayes_lssvm.selection.inputs import forward_selection, stepwise_selection
from bayes_lssvm.selection.path import SelectionPath

SELECTED = ("LR", "LS-SVM lin", "LS-SVM RBF", "LS-SVM RBF, pruned")
ALL_INPUTS = ("LR, all inputs", "LS-SVM lin, all inputs", "LS-SVM RBF, all inputs")
MODELS = (*SELECTED, *ALL_INPUTS)
_MOST_ITERATIONS = 10_000


class Output(NamedTuple):
    """Of one model: log odds and probability of class +1, each of shape (n,)."""

    log_odds: Array
    probability: Array


@dataclass(frozen=True)
class Design:
    """All models of one training set.

    Attributes
    ----------
    predict : callable
        Inputs of shape (n, d), as they come, to an `Output` for each of `MODELS`.
    facts : dict
        What was selected, where γ went, how many points pruning kept.
    """

    predict: Callable[[Array], dict[str, Output]]
    facts: dict[str, Any]


def design(X_train: Array, y_train: Array, seed: int) -> Design:
    """All models from inputs of shape (N, d) and labels ±1 of shape (N,)."""
    scale = Standardiser.fit(X_train)
    X = scale(X_train)
    path, stepwise = both_searches(X, y_train, seed)
    inputs = list(path.selected) or list(range(X.shape[1]))  # nothing selected: all of them, which the facts tell
    everything = list(range(X.shape[1]))
    kernel = path.chosen.kernel or "rbf"  # its width is at the largest evidence already
    kept = path.chosen.kernel is not None
    pruned = SparseLSSVC(kernel, rule="negative", refine=not kept, standardise=False, random_state=seed)
    fitted: dict[str, tuple[list[int], Any]] = {
        "LR": (inputs, _logistic(X[:, inputs], y_train)),
        "LS-SVM lin": (inputs, _lssvm(X[:, inputs], y_train, Linear(), False, seed)),
        "LS-SVM RBF": (inputs, _lssvm(X[:, inputs], y_train, kernel, not kept, seed)),
        "LS-SVM RBF, pruned": (inputs, pruned.fit(X[:, inputs], y_train)),
        "LR, all inputs": (everything, _logistic(X, y_train)),
        "LS-SVM lin, all inputs": (everything, _lssvm(X, y_train, Linear(), False, seed)),
        "LS-SVM RBF, all inputs": (everything, _lssvm(X, y_train, "rbf", True, seed)),
    }

    def predict(X_new: Array) -> dict[str, Output]:
        new = scale(X_new)
        return {
            name: Output(
                np.asarray(model.decision_function(new[:, columns])), model.predict_proba(new[:, columns])[:, 1]
            )
            for name, (columns, model) in fitted.items()
        }

    facts = _facts(path, X, {name: model for name, (_, model) in fitted.items()})
    return Design(predict, {**facts, "stepwise": stepwise})


def both_searches(X: Array, y: Array, seed: int) -> tuple[SelectionPath, dict[str, Any]]:
    """The forward search, and of the stepwise one what it selects, its evidence, and how many inputs it took back.

    They are one path as long as adding an input is better than taking one back, so that the forward search is made
    separately only where it is not.
    """
    path = stepwise_selection(X, y, kernel="rbf", seed=seed, progress=False)
    sizes = [len(step.inputs) for step in path.steps]
    found = {
        "selected": list(path.selected),
        "log_evidence": path.chosen.log_evidence,
        "taken_back": int(np.sum(np.diff(sizes[: path.best + 1]) < 0)),
    }
    if np.all(np.diff(sizes) > 0):
        return path, found
    return forward_selection(X, y, kernel="rbf", seed=seed, progress=False), found


def _logistic(X: Array, y: Array) -> LogisticRegression:
    return LogisticRegression(C=np.inf, max_iter=_MOST_ITERATIONS).fit(X, y)


def _lssvm(X: Array, y: Array, kernel: Kernel | str, refine: bool, seed: int) -> BayesianLSSVC:
    return BayesianLSSVC(
        kernel, refine=refine, prior="flat", moderation="class", standardise=False, random_state=seed
    ).fit(X, y)


def _facts(path: SelectionPath, X: Array, models: dict[str, Any]) -> dict[str, Any]:
    steps = [
        {"inputs": list(s.inputs), "log_evidence": s.log_evidence, "status": s.status, "sigma": _sigma(s.kernel)}
        for s in path.steps
    ]
    pruning = models["LS-SVM RBF, pruned"].path_
    return {
        "n_train": len(X),
        "selected": list(path.selected),
        "path": steps,
        "distinct_rows": len(np.unique(X[:, list(path.selected)], axis=0)) if path.selected else None,
        "distinct_rows_all": len(np.unique(X, axis=0)),
        "lssvm": {
            name: {
                "sigma": _sigma(model.kernel_),
                "gamma": model.gamma_,
                "gamma_eff": model.gamma_eff_,
                "status": model.level3_.level2.status,
            }
            for name, model in models.items()
            if isinstance(model, BayesianLSSVC)
        },
        "kept_points": len(pruning.chosen.kept),
        "pruning_rounds": len(pruning.steps) - 1,
        "pruning_stopped": pruning.stopped,
        "evidence_loss": float(pruning.evidence_loss[pruning.best]),
    }


def _sigma(kernel: Kernel | None) -> float | None:
    return getattr(kernel, "sigma", None)
