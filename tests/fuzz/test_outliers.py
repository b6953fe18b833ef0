"""One point far from all others: what is fitted predicts, whatever rounding makes of the kernel matrix."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVR, FixedSizeLSSVR, FullyBayesianLSSVR, trust

pytestmark = pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")
MODELS = {
    "evidence": BayesianLSSVR,
    "fixed size": lambda: FixedSizeLSSVR(n_landmarks=10),
    "laplace": lambda: FullyBayesianLSSVR(method="laplace"),
    "quadrature": FullyBayesianLSSVR,
    "trust": None,
}
SIZES = (6, 10, 20, 40)
FARTHEST = 12  # powers of ten


def problem(seed: int):
    rng = np.random.default_rng([seed, 4])
    n, far = SIZES[seed // len(MODELS) % len(SIZES)], 10.0 ** rng.uniform(2, FARTHEST)
    X = rng.normal(size=(n, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    X[0] = far
    return X, y, list(MODELS)[seed % len(MODELS)], f"seed {seed}, {n} points, one {far:.1e} away"


def test_a_model_with_one_far_outlier_predicts(cases):
    for seed in cases(3, full=200):
        X, y, name, what = problem(seed)
        if MODELS[name] is None:
            assert trust(X, y, progress=False).verdict, what
            continue
        mean, sd = MODELS[name]().fit(X, y).predict(np.vstack([X, X[:3] + 0.1]), return_std=True)
        assert np.all(np.isfinite(mean) & (sd > 0.0)), (what, name)
