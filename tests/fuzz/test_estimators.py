"""Data of all scales and shapes through the estimators: finite predictions, or a sentence before any of them."""

from __future__ import annotations

import math
import warnings
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_lssvm import (
    LSSVC,
    LSSVR,
    AveragedLSSVC,
    AveragedLSSVR,
    BayesianLSSVC,
    BayesianLSSVR,
    EvidenceSelector,
    FixedSizeLSSVC,
    FixedSizeLSSVR,
    FullyBayesianLSSVC,
    FullyBayesianLSSVR,
    SparseLSSVC,
)
from bayes_lssvm.kernels import RBF

from .conftest import ENOUGH, FACTOR

pytestmark = pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")
MODELS = {
    "BayesianLSSVC": BayesianLSSVC,
    "BayesianLSSVR": BayesianLSSVR,
    "LSSVC": LSSVC,
    "LSSVR": LSSVR,
    "FullyBayesianLSSVR": lambda kernel: FullyBayesianLSSVR(kernel, method="laplace"),
    "FullyBayesianLSSVC": lambda kernel: FullyBayesianLSSVC(kernel, method="laplace"),
    "SparseLSSVC": SparseLSSVC,
    "EvidenceSelector": lambda kernel: EvidenceSelector("forward", kernel="linear"),
    "by PRESS, BayesianLSSVR": lambda kernel: BayesianLSSVR(kernel, criterion="press"),
    "by loo, BayesianLSSVC": lambda kernel: BayesianLSSVC(kernel, criterion="loo"),
    "FixedSizeLSSVC": lambda kernel: FixedSizeLSSVC(kernel, n_landmarks=8),
    "FixedSizeLSSVR": lambda kernel: FixedSizeLSSVR(kernel, n_landmarks=8),
}
AVERAGED = {
    "AveragedLSSVC": lambda kernel: AveragedLSSVC(("linear", RBF(1.0)), tolerance=1e-2),
    "AveragedLSSVR": lambda kernel: AveragedLSSVR(("linear", RBF(1.0)), tolerance=1e-2),
}
RARELY = 40  # seeds for one whose model is of those, which take a second each
SHAPES = (
    "plain",
    "repeated rows",
    "repeated columns",
    "collinear columns",
    "more inputs than points",
    "a constant column",
    "an outlier",
    "a far outlier",
)
TYPES = ("float64", "float32", "float16", "int64", "uint8", "object", "list", "pandas", "polars", "fortran", "bool")


def problem(seed: int):
    """Inputs and a real target; what is unusual about them depends on the seed."""
    rng = np.random.default_rng(seed)
    shape, kind = SHAPES[rng.integers(len(SHAPES))], TYPES[rng.integers(len(TYPES))]
    kind = kind if kind != "polars" or find_spec("polars") else "pandas"
    n, d = int(rng.integers(3, 16)), int(rng.integers(1, 4))
    d = n + 4 if shape == "more inputs than points" else d
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-12, 13, size=d)
    if shape == "repeated rows":
        X = X[rng.integers(0, max(2, n // 2), size=n)]
    elif shape == "repeated columns":
        X = np.column_stack([X, X[:, 0], 3.0 * X[:, 0]])
    elif shape == "collinear columns":
        X = np.column_stack([X, X @ rng.normal(size=(X.shape[1], 2))])
    elif shape == "a constant column":
        X[:, 0] = 5.0
    elif shape == "an outlier":
        X[0] *= 1e8
    elif shape == "a far outlier":
        X[0] *= 1e12
    z = X[:, -1] / np.abs(X[:, -1]).max() + rng.normal(size=n) * rng.choice([0.0, 0.3])
    return as_type(X, kind), z * 10.0 ** rng.integers(-12, 13), f"{shape}, {kind}"


def as_type(X, kind):
    if kind == "list":
        return X.tolist()
    if kind == "pandas":
        return pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
    if kind == "polars":
        return import_module("polars").DataFrame(X, schema=[f"column {i}" for i in range(X.shape[1])])
    if kind == "fortran":
        return np.asfortranarray(X)
    if kind == "bool":
        return X > 0
    limit = {"float16": 6e4, "uint8": 255.0}.get(kind, 1e15)
    return np.clip(X, -limit if kind != "uint8" else 0.0, limit).astype(kind)


def model_of(seed: int) -> tuple[str, str]:
    models = list(MODELS if (seed + 1) % RARELY else AVERAGED)
    return models[seed % len(models)], ("linear", "rbf", "poly2")[seed // len(MODELS) % 3]


def answer(name: str, kernel: str, X, z):
    """Predictions at the data, or the sentence that refuses them."""
    y = z if name.endswith("R") else np.where(z > np.median(z), "ja", "nein")
    try:
        model = (MODELS | AVERAGED)[name](kernel).fit(X, y)
    except ValueError as error:
        return str(error)
    if isinstance(model, EvidenceSelector):
        return np.asarray(model.transform(X), dtype=float)
    found = model.predict(X) if name.endswith("R") else model.decision_function(X)
    if hasattr(model, "predict_proba"):
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    return np.asarray(found)


def check(found, what) -> None:
    if isinstance(found, str):
        assert len(found.split()) > 3, (what, found)
    else:
        assert np.isfinite(found).all(), what


def test_any_data_are_fitted_or_refused(cases):
    answered = 0
    for seed in cases(120, full=5000):
        X, z, kind = problem(seed)
        name, kernel = model_of(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            found = answer(name, kernel, X, z)
        check(found, (seed, name, kernel, kind))
        answered += not isinstance(found, str)
    assert answered > 0.5 * len(cases(120, full=5000)) or len(cases(120, full=5000)) < ENOUGH


numbers = st.floats(-1e12, 1e12) | st.sampled_from([0.0, 1.0, 1e-12, -1e12, 1e-300, math.nan, math.inf])


@settings(max_examples=math.ceil(25 * FACTOR), deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(numbers, numbers), min_size=0, max_size=8), st.sampled_from(["BayesianLSSVR", "LSSVR"]))
def test_any_numbers_are_fitted_or_refused(rows, name):
    X, z = np.array([[a] for a, _ in rows]), np.array([b for _, b in rows])
    check(answer(name, "linear", X, z), (name, rows))


def test_a_polars_table_is_a_table():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 2))
    table, labels = polars.DataFrame(X, schema=["height", "weight"]), np.where(X[:, 0] > 0, "ja", "nein")
    model = BayesianLSSVC("linear").fit(table, polars.Series(labels))
    assert model.feature_names_in_.tolist() == ["height", "weight"]
    np.testing.assert_array_equal(
        model.predict_proba(table), BayesianLSSVC("linear").fit(X, labels).predict_proba(table.to_numpy())
    )
    with pytest.raises(ValueError, match="collect"):
        BayesianLSSVC("linear").fit(table.lazy(), labels)


def test_a_plan_of_a_table_is_refused_with_what_to_do():
    class Plan:
        """As data frames that are computed when they are collected."""

        def collect(self):
            return np.zeros((3, 1))

    with pytest.raises(ValueError, match=r"Plan is a lazy table, not yet computed: call its collect\(\) first"):
        BayesianLSSVR().fit(Plan(), [1.0, 2.0, 3.0])
