"""Ties are named, and what only looks like one is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVR, TiedOptimaWarning
from bayes_lssvm.kernels import (
    ARD,
    MLP,
    RBF,
    Categorical,
    Constant,
    Linear,
    Matern,
    OnInputs,
    Periodic,
    Polynomial,
    RationalQuadratic,
    White,
)
from bayes_lssvm.press.selection import select_by_press
from bayes_lssvm.priors import HyperPrior, Normal
from bayes_lssvm.search.refinement import refine
from bayes_lssvm.search.ties import Candidate, warn_of_alike_columns, warn_of_idle_parameters, warn_of_ties
from bayes_lssvm.selection.inputs import forward_selection
from tests.fuzz.test_order import labels_on_a_grid

RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 3))
Y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * RNG.normal(size=30)


def test_two_models_of_one_height_are_a_tie_if_they_fit_otherwise():
    narrow, wide, flat = (Candidate(X, RBF(s), g, -3.0) for s, g in ((0.5, 1e3), (2.0, 1.0), (1e3, 1e6)))
    with pytest.warns(TiedOptimaWarning, match=r"RBF\(sigma=0.5\) with γ = 1000 and RBF\(sigma=2\) with γ = 1"):
        warn_of_ties(Y, [narrow, wide])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_ties(Y, [narrow, wide._replace(value=-3.1)])
        # two descriptions of one linear model
        warn_of_ties(Y, [flat, flat._replace(kernel=RBF(2e3), gamma=4e6)])


def test_relevances_of_columns_that_can_be_swapped():
    with pytest.warns(TiedOptimaWarning, match="columns 0, 2 of X are swapped"):
        warn_of_alike_columns([(0, 2)], np.array([1.0, 0.5, 0.2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_alike_columns([(0, 2)], np.array([1.0, 0.5, 1.0]))


def test_a_parameter_that_only_new_points_see():
    """Points on a grid that is far wider than a scale: their kernel matrix is the identity for every smaller one."""
    grid = np.random.default_rng(3).permutation(np.stack(np.meshgrid(range(3), range(3)), axis=-1).reshape(-1, 2))
    narrow, edges = ARD((0.1, 1.0)), np.zeros(2, dtype=bool)
    with pytest.warns(TiedOptimaWarning, match=r"other values of scale_0 of ARD.* but other predictions between"):
        warn_of_idle_parameters(lambda kernel: -3.0, narrow, grid.astype(float), edges)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_idle_parameters(lambda kernel: -3.0, narrow, grid.astype(float), np.array([True, False]))
        warn_of_idle_parameters(lambda kernel: kernel.log_params[0], narrow, grid.astype(float), edges)  # a prior tells
        warn_of_idle_parameters(lambda kernel: -3.0, ARD((0.5, 1.0)), grid.astype(float), edges)


def test_members_of_a_code_that_share_an_idle_scale_say_so():
    case = labels_on_a_grid(7000058)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        case.make().fit(case.X, case.y)
    assert any(
        w.category is TiedOptimaWarning and "the same kernel matrix of the training points" in str(w.message)
        for w in said
    )


def test_a_selection_that_has_to_take_one_of_two_says_so():
    half = np.random.default_rng(0).normal(size=(20, 2))
    swapped = np.vstack([half, half[:, ::-1]])
    y = np.maximum(swapped[:, 0], swapped[:, 1]) + 0.5 * np.tile(np.random.default_rng(1).normal(size=20), 2)
    for columns in ([0, 1], [1, 0]):
        with pytest.warns(TiedOptimaWarning, match="columns 0, 1"):
            path = forward_selection(swapped[:, columns], y, kernel="linear", max_inputs=1, progress=False)
        assert len(path.selected) == 1


def _moved(kernel, columns):
    return kernel.moved(columns)


OF_ALL_KINDS = [
    ARD((1.0, 2.0, 0.5)),
    ARD((1.0, 2.0, 0.5)) + 2.0 * RBF(1.0),
    OnInputs(ARD((1.0, 2.0)), (2, 0)) * Polynomial(2) + Linear((1.0, 0.0, 2.0)),
    Matern() + RationalQuadratic() + Periodic() + Categorical() + Constant() * White() + MLP(0.1),
]


@pytest.mark.parametrize("kernel", OF_ALL_KINDS, ids=str)
def test_a_kernel_goes_with_its_columns(kernel):
    columns = np.array([2, 0, 1])
    moved = kernel.moved(columns)
    np.testing.assert_allclose(moved(X[:, columns]), kernel(X), rtol=1e-12)
    np.testing.assert_allclose(moved.log_params, kernel.log_params[kernel.parameters_of(columns)])
    assert moved.moved(np.argsort(columns)) == kernel


def test_a_kernel_of_ones_own_keeps_its_columns_unless_it_says_more():
    class FirstInput(RBF):
        alike_in_inputs = False

        def __call__(self, X, Z=None):
            return super().__call__(X[:, :1], None if Z is None else Z[:, :1])

        def with_log_params(self, log_params):
            return FirstInput(float(np.exp(log_params[0])))

        def contract(self, X, W, K=None):
            return super().contract(X[:, :1], W, K)

    kernel = FirstInput(1.0)
    assert (kernel + Linear()).moved(np.arange(3)) is None
    assert refine(kernel, X[:, ::-1][:, [2, 1, 0]], Y).value == refine(kernel, X, Y).value
    assert refine(kernel, X[:, [1, 0, 2]], Y).value != pytest.approx(refine(kernel, X, Y).value, abs=0.1)


@pytest.mark.parametrize("criterion", ["press", "press-br", "press-laplace", "press-curvature"])
def test_press_finds_the_same_in_any_order(criterion):
    columns, rows = np.array([2, 0, 1]), np.random.default_rng(1).permutation(30)
    first = select_by_press(ARD((1.0,) * 3), X, Y, criterion=criterion, progress=False)
    second = select_by_press(ARD((1.0,) * 3), X[rows][:, columns], Y[rows], criterion=criterion, progress=False)
    assert second.value == pytest.approx(first.value, abs=1e-9)
    np.testing.assert_allclose(second.eta, first.eta[columns], rtol=1e-9)
    np.testing.assert_array_equal(second.selected, first.selected[columns])
    for one, other in zip(first.outcomes, second.outcomes, strict=True):  # all descents, perturbed starts included
        assert other.evaluation.value == pytest.approx(one.evaluation.value, abs=1e-9)


@pytest.mark.parametrize("n", [30, 330])
def test_evidence_finds_the_same_in_any_order_with_and_beyond_a_subset(n):
    rng = np.random.default_rng(n)
    inputs = rng.normal(size=(n, 3))
    y = np.sign(inputs[:, 0] * inputs[:, 1] + 0.3 * rng.normal(size=n))
    columns, rows = np.array([1, 2, 0]), rng.permutation(n)
    kernel = ARD((1.0, 2.0, 3.0))
    first = refine(kernel, inputs, y)
    second = refine(_moved(kernel, columns), inputs[rows][:, columns], -y[rows])
    assert second.value == pytest.approx(first.value, abs=1e-9)
    np.testing.assert_allclose(second.kernel.log_params, _moved(first.kernel, columns).log_params, atol=1e-9)


def test_parts_of_a_prior_go_with_their_columns():
    parts = (Normal(0.0, 0.1), Normal(1.0, 0.1), Normal(2.0, 0.1))
    columns = np.array([2, 0, 1])
    first = BayesianLSSVR("ard", prior=HyperPrior(kernel=parts)).fit(X, Y)
    other = BayesianLSSVR("ard", prior=HyperPrior(kernel=tuple(parts[i] for i in columns))).fit(X[:, columns], Y)
    assert other.log_evidence_ == pytest.approx(first.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(other.kernel_.scales, np.asarray(first.kernel_.scales)[columns], rtol=1e-9)
