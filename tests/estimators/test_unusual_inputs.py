"""Selection of inputs and pruning where the inputs are unusual: what comes out is a result, a warning or a sentence.

Each of PRESS's criteria, the relevances, the searches, the selector and the sparse classifier sees more inputs than
points, a constant column, copies of columns, one input, and inputs none of which matters.
"""

from __future__ import annotations

import warnings
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pytest

from bayes_lssvm import BayesLSSVMWarning, ConstantFeatureWarning, NoSignalWarning
from bayes_lssvm.estimators.selector import EvidenceSelector
from bayes_lssvm.estimators.sparse import SparseLSSVC
from bayes_lssvm.kernels import ARD
from bayes_lssvm.press.criterion import CRITERIA
from bayes_lssvm.press.selection import select_by_press
from bayes_lssvm.selection.inputs import backward_elimination, forward_selection
from bayes_lssvm.selection.relevance import ard_relevance


class Found(NamedTuple):
    """What every way of selection tells: which inputs it keeps, and how it ended."""

    selected: np.ndarray
    status: str


def press(X, y, criterion):
    start = ARD((float(np.sqrt(X.shape[1])),) * X.shape[1])
    found = select_by_press(start, X, y, criterion=criterion, n_restarts=0, progress=False)
    assert np.isfinite(found.value)
    assert found.press <= found.baseline * 1.001
    return Found(np.flatnonzero(found.eta > 0.0), found.status)


def relevance(X, y):
    found = ard_relevance(X, y)
    assert np.isfinite(found.log_evidence)
    assert found.relevance.shape == (X.shape[1],)
    return Found(np.sort(found.ranking[: np.sum(found.relevance > 0.0)]), found.status)


def searched(X, y, search, **settings):
    found = search(X, y, progress=False, **settings)
    assert found.stopped
    return Found(np.array(found.selected, dtype=int), found.chosen.status)


def selector(X, y, direction):
    fitted = EvidenceSelector(direction).fit(X, y)
    assert fitted.transform(X).shape == (len(X), len(fitted.selected_))
    return Found(np.array(fitted.path_.selected, dtype=int), fitted.path_.chosen.status)


PRESS = {criterion: partial(press, criterion=criterion) for criterion in CRITERIA}
SEARCHES = {
    "backward": partial(searched, search=backward_elimination),
    "backward linear": partial(searched, search=backward_elimination, kernel="linear"),
    "forward": partial(searched, search=forward_selection, kernel="rbf"),
    **{f"selector {direction}": partial(selector, direction=direction) for direction in ("backward", "forward", "ard")},
}
EVIDENCE = {"relevance": relevance, **SEARCHES}
EVERY = {**PRESS, **EVIDENCE}


@cache
def signal(n=40, d=2, seed=0):
    """Two inputs that matter (one, where there is one), the rest noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(1.5 * X[:, 0]) + np.sin(1.5 * X[:, min(1, d - 1)]) + 0.3 * rng.normal(size=n)


@cache
def noise():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 2)), rng.normal(size=40)


@pytest.mark.parametrize("method", EVERY)
def test_a_constant_column_is_named_and_never_selected(method):
    X, y = signal()
    with pytest.warns(ConstantFeatureWarning, match=r"1\."):
        found = EVERY[method](np.insert(X, 1, 4.0, axis=1), y)
    np.testing.assert_array_equal(found.selected, [0, 2])


@pytest.mark.parametrize("method", EVIDENCE)
def test_copies_of_columns_are_named_and_left_out(method):
    X, y = signal()
    with pytest.warns(BayesLSSVMWarning, match=r"2 \(of 0\), 3 \(of 1\)"):
        found = EVIDENCE[method](np.column_stack([X, X[:, 0], 3.0 - 2.0 * X[:, 1]]), y)
    np.testing.assert_array_equal(found.selected, [0, 1])


@pytest.mark.parametrize("method", PRESS)
def test_copies_of_columns_share_their_part_of_press(method):
    X, y = signal()
    found = PRESS[method](np.column_stack([X, X[:, 0], 3.0 - 2.0 * X[:, 1]]), y)
    assert {0, 2} & set(found.selected)
    assert {1, 3} & set(found.selected)
    assert found.status != "no signal"


@pytest.mark.parametrize("method", EVERY)
def test_one_input_that_matters_is_selected_without_a_warning(method):
    found = EVERY[method](*signal(d=1))
    assert found.selected.tolist() == [0]
    assert found.status != "no signal"


@pytest.mark.parametrize("method", EVERY)
def test_inputs_none_of_which_matters_are_called_so(method):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = EVERY[method](*noise())
    if method in SEARCHES:
        assert found.selected.size == 0
    assert found.status == ("no inputs" if method in SEARCHES else "no signal")
    assert [w.category for w in said] == [NoSignalWarning]


@pytest.mark.parametrize(
    "method",
    [*PRESS, "relevance", "backward linear", "forward", "selector ard"]
    + [pytest.param(m, marks=pytest.mark.slow) for m in ("backward", "selector backward", "selector forward")],
)
def test_more_inputs_than_points_are_selected_from_or_called_noise(method):
    """Whether so few points show a signal is the criterion's to say; that it says so is the point."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = EVERY[method](*signal(20, 25, seed=4))
    silent = found.status in ("no signal", "no inputs")
    assert [w.category for w in said] == ([NoSignalWarning] if silent else [])
    assert (found.selected.size == 0) == (found.status == "no inputs")
    if method in ("forward", "selector forward"):
        assert not silent
        assert {0, 1} & set(found.selected)


@pytest.mark.parametrize("rule", ["smallest", "negative"])
@pytest.mark.parametrize("case", ["wide", "constant", "copies", "one", "noise"])
def test_the_sparse_classifier_has_an_outcome(case, rule):
    X, y = {"wide": signal(20, 25, seed=4), "one": signal(d=1), "noise": noise()}.get(case, signal())
    if case == "constant":
        X = np.insert(X, 1, 4.0, axis=1)
    if case == "copies":
        X = np.column_stack([X, X])
    labels = np.where(y > 0, "b", "a")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = SparseLSSVC(rule=rule).fit(X, labels)
    kinds = [w.category for w in said]
    assert (ConstantFeatureWarning in kinds) == (case == "constant")
    assert (NoSignalWarning in kinds) == (model.path_.steps[0].status == "no signal")
    if case in ("constant", "copies", "one"):
        assert len(model.support_) < len(y)
        assert model.score(X, labels) > 0.8
    if case == "noise":
        assert NoSignalWarning in kinds
        assert len(model.support_) == len(y)
    assert model.path_.stopped
    assert np.isfinite(model.predict_proba(X)).all()
