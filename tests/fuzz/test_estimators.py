"""Data of all scales and shapes through the estimators: finite predictions, or a sentence before any of them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_lssvm import LSSVC, LSSVR, BayesianLSSVC, BayesianLSSVR, FullyBayesianLSSVR

from .conftest import FACTOR

pytestmark = pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")
MODELS = {
    "BayesianLSSVC": BayesianLSSVC,
    "BayesianLSSVR": BayesianLSSVR,
    "LSSVC": LSSVC,
    "LSSVR": LSSVR,
    "FullyBayesianLSSVR": lambda kernel: FullyBayesianLSSVR(kernel, method="laplace"),
}
SHAPES = ("plain", "repeated rows", "repeated columns", "more inputs than points", "a constant column", "an outlier")
TYPES = ("float64", "float32", "int64", "list", "pandas", "fortran", "bool")


def problem(seed: int):
    """Inputs and a real target; what is unusual about them depends on the seed."""
    rng = np.random.default_rng(seed)
    shape, kind = SHAPES[rng.integers(len(SHAPES))], TYPES[rng.integers(len(TYPES))]
    n, d = int(rng.integers(3, 16)), int(rng.integers(1, 4))
    d = n + 4 if shape == "more inputs than points" else d
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-12, 13, size=d)
    if shape == "repeated rows":
        X = X[rng.integers(0, max(2, n // 2), size=n)]
    elif shape == "repeated columns":
        X = np.column_stack([X, X[:, 0], 3.0 * X[:, 0]])
    elif shape == "a constant column":
        X[:, 0] = 5.0
    elif shape == "an outlier":
        X[0] *= 1e8
    z = X[:, -1] / np.abs(X[:, -1]).max() + rng.normal(size=n) * rng.choice([0.0, 0.3])
    return as_type(X, kind), z * 10.0 ** rng.integers(-12, 13), f"{shape}, {kind}"


def as_type(X, kind):
    if kind == "list":
        return X.tolist()
    if kind == "pandas":
        return pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
    if kind == "fortran":
        return np.asfortranarray(X)
    if kind == "bool":
        return X > 0
    return np.clip(X, -1e15, 1e15).astype(kind)


def answer(name: str, kernel: str, X, z):
    """Predictions at the data, or the sentence that refuses them."""
    y = z if name.endswith("R") else np.where(z > np.median(z), "ja", "nein")
    try:
        model = MODELS[name](kernel).fit(X, y)
    except ValueError as error:
        return str(error)
    found = model.predict(X) if name.endswith("R") else model.decision_function(X)
    if name == "BayesianLSSVC":
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    return np.asarray(found)


def check(found, what) -> None:
    if isinstance(found, str):
        assert len(found.split()) > 3, (what, found)
    else:
        assert np.isfinite(found).all(), what


def test_any_data_are_fitted_or_refused(cases):
    answered = 0
    for seed in cases(60):
        X, z, kind = problem(seed)
        name, kernel = list(MODELS)[seed % len(MODELS)], ("linear", "rbf", "poly2")[seed // len(MODELS) % 3]
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            found = answer(name, kernel, X, z)
        check(found, (seed, name, kernel, kind))
        answered += not isinstance(found, str)
    assert answered > 0.5 * len(cases(60))


numbers = st.floats(-1e12, 1e12) | st.sampled_from([0.0, 1.0, 1e-12, -1e12, 1e-300, math.nan, math.inf])


@settings(max_examples=math.ceil(25 * FACTOR), deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(numbers, numbers), min_size=0, max_size=8), st.sampled_from(["BayesianLSSVR", "LSSVR"]))
def test_any_numbers_are_fitted_or_refused(rows, name):
    X, z = np.array([[a] for a, _ in rows]), np.array([b for _, b in rows])
    check(answer(name, "linear", X, z), (name, rows))
