"""Kernels averaged and stacked against the kernel picked: mean log scores of rows held out, on ten sets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from bayes_lssvm import AveragedLSSVC, compare
from bayes_lssvm.datasets import load
from bayes_lssvm.kernels import RBF, Linear, Matern, Polynomial

SETS = ("rsy", "cra", "bld", "hea", "ion", "pid", "snr", "wbc", "gcr", "tit")
KERNELS = (Linear(), Polynomial(2, 1.0), RBF(1.0), Matern(1.0, 1.5))
ROWS, MOST_HELD_OUT = 80, 300
SPLITS = (20, 21, 22)


def gains(name, seed):
    """Log score of each row held out, averaged and stacked, less that of the best kernel alone; of shape (2, n)."""
    whole, labels = load(name).Xy
    order = np.random.default_rng(seed).permutation(len(labels))
    train, test = order[:ROWS], order[ROWS : ROWS + MOST_HELD_OUT]
    scaler = StandardScaler().fit(whole[train])
    X, new = scaler.transform(whole[train]), scaler.transform(whole[test])
    y, held = labels[train], labels[test]
    comparison = compare(X, y, KERNELS, task="classification", progress=False)
    picked = AveragedLSSVC([comparison.best.kernel], standardise=False).fit(X, y)

    def scores(model):
        P = model.predict_proba(new)
        return np.log(P[np.arange(len(new)), np.searchsorted(model.classes_, held)])

    alone = scores(picked)
    return np.stack([scores(comparison.average()) - alone, scores(comparison.stack()) - alone])


@pytest.mark.slow
def test_averaging_and_stacking_cost_nothing_against_the_kernel_picked():
    """Over sets; on single ones and single splits either may lose a hundredth of a nat."""
    splits = np.array([[gains(name, seed).mean(axis=1) for seed in SPLITS] for name in SETS])  # [sets, splits, 2]
    means = splits.mean(axis=1)
    assert np.all(means.mean(axis=0) >= 0.0)
    assert means.min() > -0.01
