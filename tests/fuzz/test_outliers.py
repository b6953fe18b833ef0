"""One point far from all others: what is fitted predicts, whatever rounding makes of the kernel matrix."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVR, FixedSizeLSSVR, FullyBayesianLSSVR, marginalise, trust
from bayes_lssvm.kernels import RBF

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


@pytest.mark.parametrize("seed", [3000057, 3000192])
def test_laplaces_method_goes_beyond_the_searched_widths_for_a_mode(seed):
    """Beside a far point the others are so close together that the best width is narrower than any that is searched."""
    X, y, _, _ = problem(seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    laplace, exact = (marginalise(X, y, kernel="rbf", standardise=False, method=m) for m in ("laplace", "quadrature"))
    assert laplace.mean()["log_sigma"] < RBF(1.0).log_bounds(X)[0, 0]
    assert laplace.log_evidence == pytest.approx(exact.log_evidence, abs=0.1)
