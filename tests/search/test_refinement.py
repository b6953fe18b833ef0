"""Refinement: the gradient of the evidence in kernel parameters, and the optimum that it leads to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from bayes_lssvm import datasets
from bayes_lssvm.kernels import ARD, RBF, Linear, Polynomial
from bayes_lssvm.levels.level2 import log_evidence
from bayes_lssvm.levels.level3 import evidence_of
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.search import refinement
from bayes_lssvm.search.refinement import refine

WIDTHS = (3.0, 3.0)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def central_differences(objective: Objective, kernel, h: float = 1e-3) -> np.ndarray:
    """Five-point differences of the value in each log parameter, level 2 solved anew at every point."""
    p = kernel.log_params
    out = []
    for e in np.eye(len(p)):
        v = [objective.evaluate(kernel.with_log_params(p + c * h * e)).value for c in (-2, -1, 1, 2)]
        out.append((v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h))
    return np.array(out)


@pytest.fixture(scope="module")
def few(ripley_standardised):
    """Ninety of Ripley's points."""
    X, y = ripley_standardised
    chosen = np.random.default_rng(0).choice(len(y), 90, replace=False)
    return X[chosen], y[chosen]


@pytest.fixture(scope="module")
def curve():
    """Real targets: a smooth function of two inputs with noise."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((70, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(70)


KERNELS = [
    RBF(1.2),
    RBF(0.3),
    ARD((1.0, 2.5)),
    Polynomial(3, 2.0),
    RBF(1.0) + Linear(),
    RBF(1.0) + 0.3 * Polynomial(2, 3.0),
    RBF(1.5) * Polynomial(2, 2.0),
    ARD((1.0, 2.0)) * RBF(3.0) + 0.5 * Linear(),
]


@pytest.mark.parametrize("occam", [True, False], ids=["occam", "no occam"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("data", ["few", "curve"])
def test_gradient_in_kernel_parameters_is_that_of_central_differences(data, kernel, occam, request):
    """∂/∂log θ of 5.2 and of p(D | μ_MP, ζ_MP): the mode's own movement with θ included."""
    objective = Objective(*request.getfixturevalue(data), occam, WIDTHS)
    gradient = objective.evaluate(kernel, gradient=True).gradient
    assert gradient.shape == kernel.log_params.shape
    np.testing.assert_allclose(gradient, central_differences(objective, kernel), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("log_gamma", [-2.0, 0.5, 4.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_joint_evidence_and_its_gradient_in_log_gamma_and_kernel_parameters(kernel, log_gamma, curve):
    """log p(D | μ(γ), γμ(γ), θ) with μ by 4.7, at any γ: value by level 2, gradient by five-point differences."""
    X, y = curve
    objective = Objective(X, y, False, WIDTHS)
    found = objective.joint(kernel, log_gamma)
    reduction = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    gamma = float(np.exp(log_gamma))
    mu = (len(y) - 1) / float(reduction.values(np.array([gamma]))[1][0])
    assert found.value == pytest.approx(log_evidence(reduction, mu, gamma * mu), abs=1e-9)
    x, h = np.append(log_gamma, kernel.log_params), 1e-3
    slopes = []
    for e in np.eye(len(x)):
        at = [x + c * h * e for c in (-2, -1, 1, 2)]
        v = [objective.joint(kernel.with_log_params(u[1:]), float(u[0])).value for u in at]
        slopes.append((v[0] - 8 * v[1] + 8 * v[2] - v[3]) / (12 * h))
    np.testing.assert_allclose(found.gradient, slopes, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("prior_sd", [(0.02, 3.0), (3.0, 0.02), (0.02, 0.02)])
def test_a_capped_error_bar_has_no_share_in_the_gradient(prior_sd, few):
    """Where MacKay's error bar is wider than the prior, 5.2 holds the prior's width, which does not move with θ."""
    objective, kernel = Objective(*few, True, prior_sd), ARD((1.0, 2.5))
    found = objective.evaluate(kernel, gradient=True)
    assert found.occam_capped
    np.testing.assert_allclose(found.gradient, central_differences(objective, kernel), rtol=1e-7, atol=1e-7)


def test_gradient_in_a_factor_that_trades_with_mu_is_zero(few):
    """The evidence at (μ_MP, ζ_MP) does not know the scale of the kernel: cK with cμ is K with μ."""
    for occam in (True, False):
        gradient = Objective(*few, occam, WIDTHS).evaluate(2.0 * RBF(1.0), gradient=True).gradient
        assert abs(gradient[0]) < 1e-8
        assert abs(gradient[1]) > 1.0


def test_value_is_the_evidence_of_level_3(few):
    X, y = few
    for kernel in KERNELS:
        level3 = evidence_of(kernel(X), y)
        assert Objective(X, y, True, WIDTHS).evaluate(kernel).value == pytest.approx(level3.log_evidence, abs=1e-7)
        without = Objective(X, y, False, WIDTHS).evaluate(kernel)
        assert without.value == pytest.approx(level3.log_evidence_without_occam, abs=1e-7)
        assert without.gradient is None


@pytest.mark.parametrize(("occam", "sigma"), [(False, 1.3111), (True, 1.3283)])
@pytest.mark.parametrize("start", [0.05, 1.0, 30.0])
def test_ripley_optimum_is_found_from_any_start(start, occam, sigma, ripley_standardised):
    """Section 7.1: σ = 1.3111 without the Occam factor and 1.3283 by eq 5.3."""
    found = refine(RBF(start), *ripley_standardised, occam=occam)
    assert found.kernel.sigma == pytest.approx(sigma, abs=6e-5)
    assert found.converged
    assert found.at_bound == ()
    assert found.value == found.optima[0].value


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_search_has_converged_where_every_climb_has(stopped, curve, monkeypatch):
    whole = refinement._climbs

    def climbs(*given):
        ends = whole(*given)
        assert len(ends) > 1
        return [replace(end, converged=False) if k == stopped else end for k, end in enumerate(ends)]

    kernel = ARD((1.0, 2.5))
    assert refine(kernel, *curve).converged
    monkeypatch.setattr(refinement, "_climbs", climbs)
    assert not refine(kernel, *curve).converged


@pytest.mark.parametrize("occam", [True, False])
def test_polynomial_scale_is_that_of_a_scalar_search(occam, curve):
    """Polynomial of degree 3: the same optimum from two starts and from a search that knows no gradient."""
    objective = Objective(*curve, occam, WIDTHS)
    grid = np.linspace(-4, 8, 49)
    best = grid[np.argmax([objective.evaluate(Polynomial(3, float(np.exp(u)))).value for u in grid])]
    search = minimize_scalar(
        lambda u: -objective.evaluate(Polynomial(3, float(np.exp(u)))).value, bounds=(best - 0.3, best + 0.3)
    )
    for start in (0.1, 300.0):
        found = refine(Polynomial(3, start), *curve, occam=occam)
        assert found.value >= -search.fun - 1e-7
        assert np.log(found.kernel.scale) == pytest.approx(search.x, abs=2e-3)


def test_ard_finds_the_same_optimum_from_different_starts(ripley_standardised):
    found = [refine(ARD(start), *ripley_standardised, occam=False) for start in ((1.0, 1.0), (8.0, 0.4))]
    assert found[0].value == pytest.approx(found[1].value, abs=1e-6)
    np.testing.assert_allclose(found[0].kernel.log_params, found[1].kernel.log_params, atol=2e-3)
    # two widths can only explain more than one
    assert found[0].value > refine(RBF(1.0), *ripley_standardised, occam=False).value


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_ard_finds_out_which_inputs_are_noise(task):
    """Scales of inputs that the targets do not depend on grow to many times those of the others."""
    rng = np.random.default_rng(3)
    X = standardised(rng.standard_normal((150, 4)))
    if task == "regression":
        y = np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(150)
    else:
        y = np.sign(X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.standard_normal(150))
    found = refine(ARD((2.0,) * 4), X, y)
    scales = np.array(found.kernel.scales)
    assert scales[2:].min() > 8 * scales[:2].max()
    irrelevant = {"scale_2", "scale_3"}
    assert set(found.at_bound) <= irrelevant


def many(name: str):
    """More than 300 points, where starts are sifted on a subset."""
    if name == "ripley":
        data = datasets.load("ripley")
        X = np.vstack([data.data, data.test_data])[:600]
        label = np.concatenate([data.target, data.test_target])[:600]
    else:
        data = datasets.load(name)
        X, label = data.data, data.target
    return standardised(X), np.where(np.asarray(label) == np.unique(label)[1], 1.0, -1.0)


@pytest.mark.parametrize(("name", "occam"), [("ripley", True), ("pid", False)])
def test_sifting_on_a_subset_loses_nothing_against_a_dense_grid_on_all_data(name, occam):
    """N = 600 and 768: the refined σ is at least as good as any of 40, for each choice of the subset."""
    X, y = many(name)
    assert len(y) > 300
    objective = Objective(X, y, occam, WIDTHS)
    grid = np.geomspace(0.1, 100.0, 40)
    best = max(objective.evaluate(RBF(float(s))).value for s in grid)
    found = [refine(RBF(start), X, y, occam=occam, seed=seed) for start, seed in ((1.0, 0), (20.0, 7))]
    for one in found:
        assert one.value >= best
        assert one.converged
        # the value reported is that of all data, not of the subset
        assert one.value == pytest.approx(objective.evaluate(one.kernel).value, abs=1e-9)
    assert found[0].value == pytest.approx(found[1].value, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "amplitude", "frequency", "noise"),
    [
        (150, 0.1, 16.0, 0.05),  # the ripple is worth its small width
        (150, 0.2, 16.0, 0.2),  # and here it is not
        (600, 0.2, 16.0, 0.1),
        (600, 0.05, 16.0, 0.2),
        (120, 0.3, 40.0, 0.05),
        (600, 0.3, 60.0, 0.05),
    ],
)
def test_the_better_of_two_optima_in_sigma_is_found(n, amplitude, frequency, noise):
    """A slow wave with a ripple: the evidence has one maximum at each of the two length scales."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-1.7, 1.7, n))
    X, y = x[:, None], np.sin(1.5 * x) + amplitude * np.sin(frequency * x) + noise * rng.standard_normal(n)
    objective = Objective(X, y, False, WIDTHS)
    values = np.array([objective.evaluate(RBF(float(s))).value for s in np.geomspace(0.03, 10.0, 24)])
    assert np.sum((values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])) >= 2
    for start in (0.3, 2.0):
        assert refine(RBF(start), X, y, occam=False).value >= values.max()


@pytest.mark.parametrize("seed", [1, 2, 5, 9])
def test_a_curved_boundary_beside_a_linear_one_is_found_without_a_prior_too(seed):
    """A plane with a wave on it: on few rows the widest kernels, which are linear, are the only peak."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 4))
    wave = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1])
    y = np.where(0.5 * X[:, 2] + wave + 0.8 * rng.normal(size=400) > 0.0, 1.0, -1.0)
    objective = Objective(X, y, True, WIDTHS)
    values = np.array([objective.evaluate(RBF(float(s))).value for s in np.geomspace(0.5, 2000.0, 24)])
    assert values.argmax() not in (0, 23)
    assert refine(RBF(2.0), X, y, seed=seed).value >= values.max()


def test_the_same_seed_gives_the_same_kernel():
    X, y = many("ripley")
    first, second = (refine(RBF(1.0), X[:450], y[:450], seed=3) for _ in range(2))
    assert first.kernel == second.kernel
    assert first.value == second.value


@pytest.mark.parametrize("occam", [True, False])
def test_a_kernel_without_parameters_is_evaluated_and_kept(occam, ripley_standardised):
    X, y = ripley_standardised
    found = refine(Linear(), X, y, occam=occam)
    level3 = evidence_of(Linear()(X), y)
    assert found.kernel == Linear()
    assert found.value == pytest.approx(level3.log_evidence if occam else level3.log_evidence_without_occam, abs=1e-8)
    assert (found.n_evaluations, found.converged, found.at_bound) == (1, True, ())


@pytest.mark.parametrize(("kernel", "name"), [(RBF(1.0), "sigma"), (Polynomial(3, 1.0), "scale")])
def test_an_optimum_at_the_edge_of_the_search_is_named(kernel, name):
    """Linear targets: the evidence rises as either kernel becomes a linear one, towards the linear kernel's own."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 2))
    y = X @ [1.0, -2.0] + 0.3 * rng.standard_normal(120)
    found = refine(kernel, X, y)
    assert found.at_bound == (name,)
    assert found.kernel.log_params[0] == pytest.approx(kernel.log_bounds(X)[0, 1], abs=1e-6)
    assert found.value == pytest.approx(refine(Linear(), X, y).value, abs=0.2)


def test_prior_widths_bound_the_occam_factor_in_the_search(few):
    """With prior widths so narrow that both error bars are capped, the criterion is the evidence without Occam."""
    capped, without = refine(RBF(1.0), *few, prior_sd=0.02), refine(RBF(1.0), *few, occam=False)
    assert capped.value == pytest.approx(without.value, abs=1e-7)
    assert capped.kernel.sigma == pytest.approx(without.kernel.sigma, rel=1e-3)
    assert capped.optima[0].occam_capped
    with pytest.raises(ValueError, match="prior_sd"):
        refine(RBF(1.0), *few, prior_sd=-1.0)


def test_labels_without_signal_are_refined_to_the_noise_level(ripley_standardised):
    """Pure noise has nothing to climb: the result is finite, named, and no worse than noise alone."""
    X, y = ripley_standardised
    found = refine(RBF(1.0), X, np.random.default_rng(0).permutation(y), occam=False)
    best = found.optima[0]
    assert np.isfinite(found.value)
    assert best.level2.status == "no signal"
    assert 0.0 <= best.level2.log_gain < 2.0


def test_a_kernel_that_interpolates_must_win_by_a_clear_margin():
    """125 labels against 25 of Ripley's: σ ≈ 0.17 interpolates with the evidence of σ ≈ 0.73, and predicts nothing."""
    data = datasets.load("ripley")
    y = np.where(data.target == 1, 1.0, -1.0)
    keep = np.r_[np.flatnonzero(y < 0), np.flatnonzero(y > 0)[:25]]
    X = data.data[keep]
    X, y = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y[keep]
    objective = Objective(X, y, True, WIDTHS)
    corner, model = objective.evaluate(RBF(0.17)), objective.evaluate(RBF(0.73))
    assert corner.level2.status == "interpolation"
    assert corner.value > model.value  # eq 5.3, bounded by the prior, would choose the corner
    assert corner.rank < model.rank
    found = refine(RBF(0.17), X, y)
    assert found.optima[0].level2.status == "interior"
    assert 0.6 < np.exp(found.kernel.log_params[0]) < 0.8
