"""Models fitted again without some rows, hyperparameters chosen anew: intervals and label sets with a proved bound.

The closed forms of `press.left_out_models` hold kernel, μ and ζ, which have seen the row that is left out; with few
rows they fit it too well, and its error comes out a little too small. Here each block B of rows is left out of the
whole fit. Its model f_−B knows nothing of its rows, which is what the bounds of jackknife+ and CV+ ask for: at least
1 − 2α, less √(2/N) for blocks (Barber et al. 2021, theorems 1 and 4).

A label set of the same kind (Romano, Sesia and Candès 2020, section 3) has the classes c that few rows speak against,

    #{i : P_−B(i)(c | x) < P_−B(i)(y_i | x_i)} < (1 − α)(N + 1),

where the probability that the model without row i gives to class c at x is held against that of the row's own label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..base.errors import quiet
from ..base.intervals import Interval
from ..base.typing import AnyArray, Array
from ..levels.level1 import BLOCK_DOUBLES
from ..press.conformal import folds, jackknife_plus, rank_among

FEW = 60
"""Rows of equal weight up to which models are fitted again by default, for kernels with one free parameter at most.

In simulated sets of two inputs with Laplace noise (300 each), held hyperparameters covered 87.4, 88.3, 88.6 and 89.1 %
of 90 % at N = 19, 29, 39 and 59 (± 0.3 to 0.5).
"""

_ROUNDING = 1e-9  # of the number of rows times a coverage
_MOST_KEPT = 2**24  # doubles of all models, N² each, that a model keeps for its next call


@dataclass(frozen=True)
class TrainingSet:
    """Rows as the kernel of a fitted model sees them: inputs (N, d), targets or labels, and the weights given."""

    X: Array
    y: AnyArray
    weights: Array | None

    def without(self, rows: AnyArray) -> tuple[Array, AnyArray, Array | None]:
        """All but some rows."""
        rest = np.delete(np.arange(len(self.X)), rows)
        return self.X[rest], self.y[rest], None if self.weights is None else self.weights[rest]


@dataclass(frozen=True)
class Refits:
    """Models of the same settings, each fitted to all rows but a block."""

    data: TrainingSet
    blocks: list[AnyArray]
    models: list[Any]

    def __iter__(self) -> Iterator[tuple[AnyArray, Any]]:
        return iter(zip(self.blocks, self.models, strict=True))


def refits_of(model: Any, data: TrainingSet, n_blocks: int | None, seed: int) -> Refits:
    """A refit for each block, or for each row where `n_blocks` is None; kept by the model if they are small.

    Inputs are standardised ones; standardising those of the rows that are left once more is what a fit to the original
    ones would do.
    """
    n = len(data.X)
    blocks = [np.array([i]) for i in range(n)] if n_blocks is None else folds(n, n_blocks, seed)
    kept = model.__dict__.setdefault("refits_", {})
    if n_blocks in kept:
        return Refits(data, blocks, kept[n_blocks])
    with quiet():  # the fit to all rows has warned
        models = [_fitted(model, *data.without(rows)) for rows in blocks]
    if len(blocks) * n**2 <= _MOST_KEPT:
        kept[n_blocks] = models
    return Refits(data, blocks, models)


def _fitted(model: Any, X: Array, y: AnyArray, weights: Array | None) -> Any:
    """The same settings on these rows; for a single class, that class."""
    again = clone(model)
    if hasattr(model, "classes_"):
        if len(only := np.unique(y)) == 1:
            return only[0]
        again.set_params(class_prior=None, costs=None, folder=None)  # all classes may not be there; and no shared files
    return again.fit(X, y, weights)


def require_refit(refit: Any) -> None:
    """Refuse what is neither a choice nor None."""
    if refit is not None and not isinstance(refit, bool | np.bool_):
        raise ValueError(f"refit must be True, False or None for the default, got {refit!r}.")


def cannot_refit(model: Any) -> str:
    """Why a model cannot be fitted again from what it keeps; nothing where it can."""
    if model._takes_matrices:
        return 'with kernel="precomputed" there are no inputs to fit again'
    if len(model.columns_) < model.n_features_in_:
        return "inputs were removed, of which the model keeps no values"
    return ""


# --- intervals -------------------------------------------------------------------------------------------------------


def refitted_interval(refits: Refits, X_new: Array, coverage: float, instead: str) -> Interval:
    """Jackknife+ or CV+ intervals at inputs that the refits take, of shape (n, L).

    Where rows differ in their noise, errors are brought to that of the new target (`estimators.intervals`), by what the
    model without the row says of both.
    """
    data = refits.data
    y = data.y.reshape(len(data.y), -1)
    k, step = rank_among(len(y), coverage, instead), max(1, BLOCK_DOUBLES // y.size)
    own = np.ones(len(y)) if data.weights is None else data.weights
    errors, latent, noise = np.empty((3, *y.shape))
    for rows, model in refits:
        mean, std = model.latent(data.X[rows], return_std=True)
        errors[rows], latent[rows] = y[rows] - _columns(mean), _columns(std) ** 2
        noise[rows] = _columns(model.noise_at(data.X[rows])) / own[rows, None]
    pieces = []
    for start in range(0, len(X_new), step):
        new = X_new[start : start + step]
        predictions, sizes = np.empty((2, len(new), *y.shape))
        for rows, model in refits:
            predictions[:, rows] = _columns(model.latent(new))[:, None]
            there = latent[rows] + _columns(model.noise_at(new))[:, None]
            sizes[:, rows] = errors[rows] * np.sqrt(there / (latent[rows] + noise[rows]))
        pieces.append(jackknife_plus(predictions, sizes, k))
    return Interval(*(np.concatenate(ends) for ends in zip(*pieces, strict=True)))


def _columns(values: Array) -> Array:
    return values.reshape(len(values), -1)


# --- label sets ------------------------------------------------------------------------------------------------------


def refitted_sets(
    refits: Refits, X_new: Array, classes: AnyArray, least: Array, counts: Array, *, by_class: bool
) -> AnyArray:
    """Which classes the set of each new row holds, of shape (n, M).

    Rows stand for `counts` rows each. With `by_class` a class is tried by its own rows. `least` are the numbers of rows
    that have to speak against a class (`rows_against`).
    """
    labels = np.searchsorted(classes, refits.data.y)
    against = np.zeros((len(X_new), len(classes)))
    for rows, model in refits:
        own = _probabilities(model, refits.data.X[rows], classes)[np.arange(len(rows)), labels[rows]]
        there = _probabilities(model, X_new, classes)
        for row, probability in zip(rows.tolist(), own.tolist(), strict=True):
            tried = [labels[row]] if by_class else slice(None)
            against[:, tried] += counts[row] * (there[:, tried] < probability)
    return against < least


def rows_against(labels: AnyArray, n_classes: int, counts: Array, coverage: float, *, by_class: bool) -> Array:
    """How many rows have to speak against a class to exclude it, (1 − α)(N + 1), of shape (M,); too few are refused."""
    if not by_class:
        total = float(counts.sum())
        rank_among(total, coverage, "Ask for a smaller coverage.")
        return np.full(n_classes, coverage * (total + 1.0) * (1.0 - _ROUNDING))
    totals = np.bincount(labels, counts, n_classes)
    for c, total in enumerate(totals.tolist()):
        rank_among(total, coverage, f"They are those of class number {c}; use by_class=False.")
    return np.asarray(coverage * (totals + 1.0) * (1.0 - _ROUNDING))


def _probabilities(model: Any, X: Array, classes: AnyArray) -> Array:
    """At the frequencies of classes in the model's own rows; a class that is not among them has none."""
    found = np.zeros((len(X), len(classes)))
    if not hasattr(model, "predict_proba"):  # the only class that was left
        found[:, np.searchsorted(classes, model)] = 1.0
        return found
    frequencies = model.training_frequencies_.tolist()
    found[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X, class_prior=frequencies)
    return found
