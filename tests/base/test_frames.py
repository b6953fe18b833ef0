"""Tables of pandas and polars: the numbers of an array, and a sentence for what is no number, from every surface."""

from __future__ import annotations

from datetime import date, timedelta
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_predict

import bayes_lssvm
from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, EvidenceSelector, marginalise, trust
from bayes_lssvm.estimators.common import LSSVMBase

pytestmark = pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")
NAMES = ["height", "count", "flag"]
SETTINGS = {
    "AveragedLSSVC": {"kernels": ("linear",), "tolerance": 1e-2},
    "AveragedLSSVR": {"kernels": ("linear",), "tolerance": 1e-2},
    "FixedSizeLSSVC": {"n_landmarks": 8},
    "FixedSizeLSSVR": {"n_landmarks": 8},
    "FullyBayesianLSSVC": {"kernel": "linear", "method": "laplace"},
    "FullyBayesianLSSVR": {"kernel": "linear", "method": "laplace"},
}
ESTIMATORS = sorted(
    name
    for name in bayes_lssvm.__all__
    if isinstance(found := getattr(bayes_lssvm, name), type) and issubclass(found, LSSVMBase)
)


def polars():
    if find_spec("polars") is None:
        pytest.skip("polars is not installed")
    return import_module("polars")


def data():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=20), rng.integers(0, 5, size=20), rng.integers(0, 2, size=20)])
    z = X[:, 0] + 0.3 * X[:, 1] + 0.1 * rng.normal(size=20)
    return X, z, np.where(z > np.median(z), "ja", "nein")


def as_pandas(X, y):
    columns = {"height": X[:, 0], "count": X[:, 1].astype(int), "flag": X[:, 2].astype(bool)}
    return pd.DataFrame(columns, index=np.arange(len(X))[::-1]), pd.Series(y)


def as_nullable(X, y):
    """pandas' own types, which have a place for what is missing."""
    table, targets = as_pandas(X, y)
    return table.convert_dtypes(), targets.convert_dtypes()


def as_polars(X, y):
    columns = {"height": X[:, 0], "count": X[:, 1].astype(np.uint8), "flag": X[:, 2].astype(bool)}
    labels = {"dtype": polars().Enum(np.unique(y).tolist())} if y.dtype.kind == "U" else {}
    return polars().DataFrame(columns), polars().Series(y, **labels)


LIBRARIES = {"pandas": as_pandas, "nullable": as_nullable, "polars": as_polars}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_table_has_the_numbers_of_its_array(name, library):
    X, z, labels = data()
    y = z if name.endswith("R") else labels
    make = getattr(bayes_lssvm, name)
    of_array = make(**SETTINGS.get(name, {})).fit(X, y)
    table, targets = LIBRARIES[library](X, y)
    of_table = make(**SETTINGS.get(name, {})).fit(table, targets)
    assert of_table.feature_names_in_.tolist() == NAMES
    # to rounding: libraries keep columns together in memory, and sums over them are taken in another order
    if hasattr(of_array, "classes_"):
        np.testing.assert_array_equal(of_table.predict(table), of_array.predict(X))
        np.testing.assert_allclose(of_table.decision_function(table), of_array.decision_function(X), atol=1e-9)
    else:
        np.testing.assert_allclose(of_table.predict(table), of_array.predict(X), atol=1e-9)
    with pytest.raises(ValueError, match="feature names should match"):
        of_table.predict(table[NAMES[::-1]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_inputs_are_chosen_from_a_table_and_given_back_as_one(library):
    X, _, labels = data()
    table, targets = LIBRARIES[library](X, labels)
    chosen = EvidenceSelector("forward", kernel="linear").set_output(transform=library).fit(table, targets)
    assert list(chosen.transform(table).columns) == chosen.get_feature_names_out().tolist()
    assert chosen.get_feature_names_out().tolist() == np.array(NAMES)[chosen.support_].tolist()


@pytest.mark.parametrize("library", LIBRARIES)
def test_functions_and_folds_take_tables(library):
    X, z, labels = data()
    table, targets = LIBRARIES[library](X, z)
    assert marginalise(table, targets, kernel="linear").log_evidence == marginalise(X, z, kernel="linear").log_evidence
    table, targets = LIBRARIES[library](X, labels)
    folds = [cross_val_predict(BayesianLSSVC("linear"), *both, cv=2) for both in ((table, targets), (X, labels))]
    np.testing.assert_array_equal(*folds)


# ---------------------------------------------------------------------------------------------- what is no number


def with_column(library, X, y, column):
    table, targets = LIBRARIES[library](X, y)
    if library == "polars":
        return table.with_columns(polars().Series("count", column)), targets
    return table.assign(count=column), targets


DAYS = [date(2026, 1, 1) + timedelta(days=i) for i in range(20)]
SENTENCES = [
    (["x"] * 20, "Column 'count' of X is not numeric: row 0 holds 'x'"),
    (DAYS, "Column 'count' of X (holds dates or durations|is not numeric: row 0 holds datetime.date)"),
    (np.array(DAYS, dtype="datetime64[ns]"), "Column 'count' of X holds dates or durations"),
    ([timedelta(days=i) for i in range(20)], "Column 'count' of X holds dates or durations"),
    ([None, *range(19)], "Input X contains NaN"),
]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("column", "sentence"), SENTENCES)
def test_a_column_of_something_else_is_named(library, column, sentence):
    X, z, _ = data()
    table, targets = with_column(library, X, z, column)
    model = BayesianLSSVR("linear").fit(*LIBRARIES[library](X, z))
    for act in (
        lambda: BayesianLSSVR("linear").fit(table, targets),
        lambda: model.predict(table),
        lambda: marginalise(table, targets, kernel="linear"),
        lambda: trust(table, targets),
    ):
        with pytest.raises(ValueError, match=sentence):
            act()


def test_what_pandas_calls_missing_is_named():
    X, z, labels = data()
    table, targets = as_nullable(X, z)
    table.loc[table.index[7], "count"] = pd.NA
    with pytest.raises(ValueError, match="column 'count' has no value in row 7"):
        BayesianLSSVR("linear").fit(table, targets)
    for y, model in ((z, BayesianLSSVR("linear")), (labels, BayesianLSSVC("linear"))):
        with pytest.raises(ValueError, match=r"y contains NaN or missing values in 2 of 20 rows, the first .* row 3"):
            model.fit(X, np.where(np.isin(np.arange(20), [3, 5]), None, y))


def test_dates_are_no_targets_of_a_regression():
    X, _, _ = data()
    with pytest.raises(ValueError, match="y holds dates or durations"):
        BayesianLSSVR("linear").fit(X, np.array(DAYS, dtype="datetime64[D]"))


@pytest.mark.parametrize("surface", [BayesianLSSVC("linear").fit, EvidenceSelector().fit, marginalise, trust])
def test_a_plan_of_a_table_is_no_table(surface):
    X, z, labels = data()
    table, targets = as_polars(X, labels)
    with pytest.raises(ValueError, match=r"X of type LazyFrame is a lazy table, .* collect\(\)"):
        surface(table.lazy(), z)
    with pytest.raises(ValueError, match=r"y of type LazyFrame is a lazy table, .* collect\(\)"):
        surface(table, polars().DataFrame({"y": targets}).lazy())
