"""The same work in one thread and in four at once: the same numbers, and nothing of the process has changed."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from bayes_lssvm import LSSVC, BayesianLSSVC, BayesianLSSVR, load, marginalise, save, trust

pytestmark = pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")
THREADS = 4


def data(rng):
    X = rng.normal(size=(int(rng.integers(8, 16)), 2))
    X = X[rng.integers(0, len(X), size=len(X))] if rng.random() < 0.2 else X
    return X, X[:, 0] + rng.normal(size=len(X)) * rng.choice([0.0, 0.3, 3.0])


def fitted(rng, folder):
    X, z = data(rng)
    kernel = rng.choice(["linear", "rbf", "poly2"])
    return BayesianLSSVR(str(kernel)).fit(X, z).predict(X)


def classified(rng, folder):
    X, z = data(rng)
    return BayesianLSSVC("linear").fit(X, np.where(z > np.median(z), "a", "b")).predict_proba(X)


def classes(rng, folder):
    X, z = data(rng)
    return BayesianLSSVC("linear").fit(X, np.argsort(np.argsort(z)) * 3 // len(z)).predict_proba(X)


def plain(rng, folder):
    X, z = data(rng)
    return LSSVC("rbf").fit(X, z > np.median(z)).decision_function(X)


def integrated(rng, folder):
    X, z = data(rng)
    return np.array([marginalise(X, z, kernel="linear", progress=False, standardise=False).log_evidence])


def trusted(rng, folder):
    X, z = data(rng)
    return np.array([str(trust(X, z, kernel="linear", progress=False))])


def kept(rng, folder):
    X, z = data(rng)
    model = BayesianLSSVR("linear").fit(X, z)
    path = save(model, folder / f"{rng.integers(2**40)}.npz")
    return load(path).predict(X)


WORK = (fitted, classified, classes, plain, integrated, trusted, kept)


def outcome(seed, folder):
    """What the work of a seed gives: numbers, or the sentence that refuses it."""
    rng = np.random.default_rng(seed)
    try:
        return WORK[seed % len(WORK)](rng, folder)
    except ValueError as error:
        return np.array([str(error)])


def state():
    return {
        "filters": list(warnings.filters),
        "environment": dict(os.environ),
        "errors of NumPy": np.geterr(),
        "random numbers": np.random.get_state()[1].tolist(),  # noqa: NPY002
        "threads of BLAS": [library["num_threads"] for library in threadpool_info()],
    }


def test_threads_give_the_numbers_of_one_and_change_nothing(cases, tmp_path):
    seeds = cases(21, full=1000)
    alone = [outcome(seed, tmp_path) for seed in seeds]
    before = state()
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(lambda seed: outcome(seed, tmp_path), seeds))
    for seed, one, other in zip(seeds, alone, together, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}")
    assert state() == before
    assert sum(found.dtype.kind == "f" for found in alone) > 0.4 * len(seeds)
