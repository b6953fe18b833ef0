"""Ten-fold cross-validation of (γ, σ) or (C, σ), as paper 0's section 7.2 has it.

A first set of candidates, the same for every algorithm, and a second, finer one around the best of the first. The best
is the one with most correct labels over the ten folds. Accuracy has many ties: of the tied candidates the one nearest
to their centre of mass, in logarithms, is taken. The paper does not print its sets; ours are fixed here, for all data.

    σ ∈ √d · {1/4, 1/2, …, 16},   γ, C ∈ {10⁻¹, 1, …, 10⁴};   then factors 2^{0, ±1/4, ±1/2} and 10^{0, ±1/4, ±1/2}

Folds keep the class frequencies and are drawn from the seed of the randomisation. Only training rows come in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from bayes_lssvm.base.typing import AnyArray, Array, IntArray

from .equal_rows import Counted, Spectrum, counted, distinct, rbf, squared_distances

SIGMAS = 2.0 ** np.arange(-2.0, 5.0)  # in units of √d
GAMMAS = 10.0 ** np.arange(-1.0, 5.0)
FINER_SIGMA = 2.0 ** np.array([-0.5, -0.25, 0.0, 0.25, 0.5])
FINER_GAMMA = 10.0 ** np.array([-0.5, -0.25, 0.0, 0.25, 0.5])
FOLDS = 10
_CACHE_MB = 400


class Chosen(NamedTuple):
    """The candidate with the best cross-validation, and its accuracy there in %."""

    gamma: float
    sigma: float
    accuracy: float


class _Fold(NamedTuple):
    """One fold: targets of its training rows by distinct input, and its test rows."""

    data: Counted
    test: IntArray  # [n] distinct inputs of the rows that are left out
    y_test: Array
    train: IntArray  # [N − n] rows


class Folds:
    """The folds of one training set, with the distances that all candidates share.

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
        Labels −1 and +1.
    seed : int
    """

    def __init__(self, X: Array, y: Array, seed: int) -> None:
        self.rows = distinct(X)
        self.squared = squared_distances(self.rows.X, self.rows.X)
        self.y = y
        self.scale = float(np.sqrt(X.shape[1]))
        group, D = self.rows.group, len(self.rows.X)
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        self.folds = [
            _Fold(counted(group[train], y[train], D), group[test], y[test], np.asarray(train))
            for train, test in splitter.split(X, y)
        ]

    def lssvm_and_gp(self, sigmas: Array, gammas: Array) -> tuple[IntArray, IntArray]:
        """Correct labels of the LS-SVM and of the GP for each (σ, γ): two arrays of shape (S, G)."""
        counts = np.zeros((2, len(sigmas), len(gammas)), dtype=np.intp)
        for i, sigma in enumerate(sigmas):
            K = rbf(self.squared, float(sigma))
            for fold in self.folds:
                members = fold.data.members
                spectrum = Spectrum.of(K[np.ix_(members, members)], fold.data)
                projected = spectrum.project(K[np.ix_(fold.test, members)])
                for j, bias in enumerate((True, False)):
                    labels = _signs(spectrum.outputs(projected, gammas, bias=bias))
                    counts[j, i] += (labels == fold.y_test[:, None]).sum(axis=0)
        return counts[0], counts[1]

    def lssvm(self, sigmas: Array, gammas: Array) -> IntArray:
        """Correct labels of the LS-SVM for each (σ, γ)."""
        return self.lssvm_and_gp(sigmas, gammas)[0]

    def gp(self, sigmas: Array, gammas: Array) -> IntArray:
        """Correct labels of the Gaussian process without bias for each (σ, γ)."""
        return self.lssvm_and_gp(sigmas, gammas)[1]

    def svm(self, sigmas: Array, gammas: Array) -> IntArray:
        """Correct labels of the SVM for each (σ, C)."""
        counts = np.zeros((len(sigmas), len(gammas)), dtype=np.intp)
        merged = [merge(self.rows.group[fold.train], self.y[fold.train]) for fold in self.folds]
        for i, sigma in enumerate(sigmas):
            K = rbf(self.squared, float(sigma))
            for fold, (group, labels, weight) in zip(self.folds, merged, strict=True):
                matrix, rows = K[np.ix_(group, group)], K[np.ix_(fold.test, group)]
                for j, C in enumerate(gammas):
                    model = SVC(C=float(C), kernel="precomputed", cache_size=_CACHE_MB)
                    found = model.fit(matrix, labels, sample_weight=weight).predict(rows)
                    counts[i, j] += int((found == fold.y_test).sum())
        return counts

    def choose(self, correct: Callable[[Array, Array], IntArray]) -> Chosen:
        """The best candidate of the two sets, for `lssvm`, `gp` or `svm`."""
        return self.refine(correct, self.best(correct(self.scale * SIGMAS, GAMMAS), self.scale * SIGMAS, GAMMAS))

    def refine(self, correct: Callable[[Array, Array], IntArray], coarse: Chosen) -> Chosen:
        """The best candidate of the finer set around one of the first."""
        sigmas, gammas = coarse.sigma * FINER_SIGMA, coarse.gamma * FINER_GAMMA
        return self.best(correct(sigmas, gammas), sigmas, gammas)

    def best(self, counts: IntArray, sigmas: Array, gammas: Array) -> Chosen:
        """The candidate with most correct labels; of tied ones the one nearest to their centre."""
        tied = np.argwhere(counts == counts.max())
        spread = ((tied - tied.mean(axis=0)) ** 2).sum(axis=1)
        i, j = tied[int(np.argmin(spread))].tolist()
        return Chosen(float(gammas[j]), float(sigmas[i]), 100.0 * float(counts[i, j]) / len(self.y))


def merge(group: IntArray, y: Array) -> tuple[IntArray, Array, Array]:
    """Distinct pairs of input and label: the inputs' numbers, the labels and the counts."""
    pairs, counts = np.unique(np.column_stack([group, y]), axis=0, return_counts=True)
    return pairs[:, 0].astype(np.intp), pairs[:, 1], counts.astype(np.float64)


def _signs(z: Array) -> AnyArray:
    return np.where(z >= 0.0, 1.0, -1.0)
