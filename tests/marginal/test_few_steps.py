"""Iterations of the quadrature end where they should, and after as few steps as Newton's method needs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level2 import log_evidence, log_evidence_gradient
from bayes_lssvm.linalg.reduction import FARTHEST, largest_log_gamma
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.marginal import log_mu as log_mu_module
from bayes_lssvm.marginal.density import Level2Density
from bayes_lssvm.marginal.log_mu import LogMu, _cell_masses, _share_of_cell, log_sum_exp, support_of_log_gamma
from bayes_lssvm.marginal.predictions import MixturePredictor, NodePredictor, PredictionNode, Rows
from bayes_lssvm.marginal.rules import level2
from bayes_lssvm.marginal.rules.lattice import integrate_on_lattice
from bayes_lssvm.marginal.rules.level2 import (
    _continued,
    _Kernels,
    _ranges,
    _Scan,
    integrate,
    integrate_all,
    share_beyond,
)
from bayes_lssvm.marginal.rules.stretch import Stretch
from bayes_lssvm.priors import Box, Flat, Gamma, Normal

PRIORS = {
    "gaussian": (Normal(0.0, 3.0), Normal(0.0, 3.0)),
    "narrow": (Normal(4.0, 0.2), Normal(0.0, 3.0)),
    "gamma": (Normal(0.0, 3.0), Gamma(0.5, 2.0)),
    "box": (Box(-1.0, 0.4), Box(-9.0, 9.0)),
}


def of(n, priors, u=0.3, q1=2.0, copies=1):
    return LogMu(n, np.full(copies, u), np.zeros(copies), np.full(copies, q1), *priors)


def by_hand(n, priors, u=0.3, q1=2.0):
    """The density of log μ up to a constant, as a function of a number, with its mode and where it ends."""

    def log_density(m):
        own = float(priors[0].log_density(np.asarray(m)) + priors[1].log_density(np.asarray(m + u)))
        return 0.5 * ((n - 1) * m - np.exp(m) * q1) + own

    low = max(priors[0].support[0], priors[1].support[0] - u, -60.0)
    high = min(priors[0].support[1], priors[1].support[1] - u, 30.0)
    grid = np.linspace(low, high, 200001)
    values = 0.5 * ((n - 1) * grid - np.exp(grid) * q1) + priors[0].log_density(grid) + priors[1].log_density(grid + u)
    return log_density, grid, values


@pytest.mark.parametrize("n", [3, 5, 41, 3000])
@pytest.mark.parametrize("name", PRIORS)
def test_the_mode_of_log_mu_is_the_best_of_a_dense_grid(n, name):
    found = of(n, PRIORS[name])
    _, grid, values = by_hand(n, PRIORS[name])
    mode, width = float(found.peak.mode[0]), float(found.peak.width[0])
    assert mode == pytest.approx(grid[values.argmax()], abs=2e-3 * width + 1e-3)
    assert float(found.log_density(found.peak.mode)[0]) >= float(found.log_density(grid[[values.argmax()]])[0]) - 1e-6
    # the nodes cover all but a trillionth of it
    inside = (grid >= found.peak.low[0]) & (grid <= found.peak.high[0])
    shares = np.exp(values - values.max())
    assert shares[~inside].sum() < 1e-9 * shares.sum()


@pytest.mark.parametrize("n", [3, 8, 41, 3000])
@pytest.mark.parametrize("name", ["gaussian", "narrow", "gamma"])
def test_quantiles_of_log_mu_after_five_steps(n, name, monkeypatch):
    """Φ⁻¹ of the distribution function is nearly a straight line, so that Newton's steps are few."""
    monkeypatch.setattr(log_mu_module, "_MOST_STEPS", 5)
    epsilon = np.array([-3.0, -1.0, 0.0, 0.4, 2.5])
    found = of(n, PRIORS[name], copies=len(epsilon))
    log_density, *_ = by_hand(n, PRIORS[name])
    mode, top = float(found.peak.mode[0]), log_density(float(found.peak.mode[0]))
    low, high = float(found.peak.low[0]), float(found.peak.high[0])

    def mass(a, b):
        return quad(lambda m: np.exp(log_density(m) - top), a, b, limit=400, epsabs=0.0, epsrel=1e-11)[0]

    total = mass(low, mode) + mass(mode, high)
    # of three points and a narrow prior the nodes are wide apart, and the rule says so
    error = 1e-7 if (n, name) != (3, "narrow") else float(found.rule_error()[0])
    for m, e in zip(found.quantile(epsilon), epsilon, strict=True):
        below = mass(low, m) if m < mode else total - mass(m, high)
        assert below / total == pytest.approx(norm.cdf(e), abs=error)


@pytest.mark.parametrize("n", [3, 8, 41, 3000])
@pytest.mark.parametrize("name", ["gaussian", "narrow", "gamma"])
def test_iterations_over_log_mu_end_when_nothing_moves(n, name, monkeypatch):
    """The mode after a few of Newton's steps, quantiles after one step that is too short to tell."""
    found, asked = of(n, PRIORS[name], copies=4), []
    slope, nodes = LogMu._slope, LogMu._nodes
    monkeypatch.setattr(LogMu, "_slope", lambda self, m: asked.append("slope") or slope(self, m))
    monkeypatch.setattr(LogMu, "_nodes", lambda self, *ends: asked.append("nodes") or nodes(self, *ends))
    assert np.all(found.peak.width > 0.0)
    assert asked.count("slope") < 14
    found.quantile(np.array([-2.0, -0.5, 0.3, 2.0]))
    assert asked.count("nodes") < 14


def test_quantiles_at_the_ends_of_a_box():
    """A density that rises to the end of its support, where Newton's steps from the mode lead out of it."""
    for priors, q1 in (((Box(-2.0, -0.5), Box(-9.0, 9.0)), 2.0), ((Box(1.0, 2.0), Box(-9.0, 9.0)), 60.0)):
        epsilon = np.array([-4.0, -2.0, -0.5, 0.0, 1.0, 3.0, 5.0])
        found = of(30, priors, q1=q1, copies=len(epsilon))
        low, high = priors[0].support
        x = np.linspace(low, high, 400001)
        density = np.exp(0.5 * (29 * x - np.exp(x) * q1) - (0.5 * (29 * x - np.exp(x) * q1)).max())
        share = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
        wanted = np.interp(norm.cdf(epsilon), share / share[-1], x)
        assert found.quantile(epsilon) == pytest.approx(wanted, abs=1e-5)


def test_where_in_a_cell_a_share_is_reached(monkeypatch):
    """Against a general root finder on Hermite's cubic, after five of Newton's steps where the cells are tame."""
    rng = np.random.default_rng(0)
    left, right = rng.uniform(0.5, 2.0, (2, 300))
    mass = 0.5 * (left + right) * rng.uniform(0.95, 1.05, 300)
    wanted = mass * rng.uniform(0.0, 1.0, 300)

    def part(t, k):
        a, b, m = left[k], right[k], mass[k]
        # ∫₀ᵗ of the quadratic with the values a, b at the ends and the integral m
        return a * t + (3.0 * m - 2.0 * a - b) * t**2 + (a + b - 2.0 * m) * t**3

    expected = [brentq(lambda t, k=k: part(t, k) - wanted[k], 0.0, 1.0, xtol=1e-13) for k in range(300)]
    assert _share_of_cell(wanted, mass, left, right) == pytest.approx(np.array(expected), abs=3e-6)
    monkeypatch.setattr(log_mu_module, "_MOST_HALVINGS", 4)
    assert _share_of_cell(wanted, mass, left, right) == pytest.approx(np.array(expected), abs=1e-5)


def test_where_in_a_steep_cell_a_share_is_reached():
    """The density falls by e²⁰ in one cell or rises by as much; nothing wanted and all of it are its ends."""
    left, right = np.array([1.0, 1e-9, 1.0, 1.0, 0.0]), np.array([1e-9, 1.0, 1.0, 1.0, 0.0])
    mass = np.array([0.05, 0.05, 1.0, 1.0, 0.0])
    for share in (0.01, 0.3, 0.9, 0.999):
        found = _share_of_cell(share * mass, mass, left, right)
        cubic = found * (left + found * (3.0 * mass - 2.0 * left - right + found * (left + right - 2.0 * mass)))
        assert np.abs(cubic - share * mass).max() <= 2e-6
        assert found[2:4] == pytest.approx(share, abs=1e-6)
        assert found[4] == 0.5
        assert np.all((found >= 0.0) & (found <= 1.0))


def test_masses_of_cells_are_those_of_cubics():
    x = np.arange(9.0)
    for coefficients in ([1.0], [2.0, 0.3], [9.0, 0.1, 0.2], [60.0, 1.0, -0.5, 0.1]):
        curve = np.polynomial.Polynomial(coefficients)
        whole = curve.integ()
        found = _cell_masses(curve(x)[None])[0]
        assert found[1:-1] == pytest.approx(whole(x[2:-1]) - whole(x[1:-2]))
        assert found[[0, -1]] == pytest.approx(0.5 * (curve(x[[0, -1]]) + curve(x[[1, -2]])))
    assert np.all(_cell_masses(np.array([[0.0, 0.0, 0.0, 9.0, 0.0, 0.0, 0.0]])) >= 0.0)


def test_sums_in_logs():
    x = np.array([[-np.inf, -np.inf], [1000.0, 1001.0], [-1000.0, -np.inf]])
    assert log_sum_exp(x) == pytest.approx([-np.inf, 1001.0 + np.log1p(np.exp(-1.0)), -1000.0])


@pytest.mark.parametrize("stretch", [Stretch(), Stretch(low=-3.0), Stretch(high=2.0), Stretch(-3.0, 2.0)])
def test_the_stretched_coordinate_is_inverted_over_all_that_can_be_asked_for(stretch):
    for position in (-300.0, -40.0, -3.0, -0.1, 0.0, 1.7, 2.0, 55.0, 300.0):
        assert float(stretch(np.asarray(stretch.inverse(position)))) == pytest.approx(position, abs=1e-9)


def test_what_predictors_keep_in_memory():
    X = np.random.default_rng(1).normal(size=(12, 2))
    y = np.sign(X[:, 0])
    rows = Rows(np.array([0.3, 0.9]), np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    nodes = tuple(PredictionNode(RBF(s), 0.5, rows) for s in (0.7, 1.9))
    with_variances, without = (NodePredictor(nodes[0], X, y, variances=v) for v in (True, False))
    assert without.bytes == 8 * 12 * 2
    assert with_variances.spread is not None
    assert with_variances.bytes == 8 * 12 * 2 + 8 * with_variances.spread.vectors.size
    predictor = MixturePredictor(nodes, X, y)
    assert predictor.bytes == sum(one.bytes for one in predictor.predictors)


SPECTRA = {
    "signal": (RBF(1.0), 0.1),
    "noise": (RBF(1.0), 30.0),
    "narrow": (RBF(0.05), 0.1),
    "wide": (RBF(40.0), 0.3),
    "two scales": (RBF(0.2) + RBF(6.0), 0.05),
}
FAR = {
    "usual": (Normal(0.0, 3.0), Normal(0.0, 3.0)),
    "far below": (Normal(25.0, 2.0), Normal(-20.0, 2.0)),
    "far above": (Normal(-20.0, 1.0), Normal(15.0, 1.0)),
    "boxes": (Box(-4.0, 6.0), Box(-3.0, 9.0)),
    "very wide": (Normal(0.0, 40.0), Normal(0.0, 40.0)),
}


@pytest.mark.parametrize("name", FAR)
def test_ranges_of_log_gamma_hold_what_counts_on_a_dense_grid_and_little_more(name):
    """Wherever priors and data put it, with hints that are right, wrong or none."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(15, 2))
    reductions = []
    for kernel, noise in SPECTRA.values():
        y = np.sin(2.0 * X[:, 0]) + noise * rng.normal(size=15)
        reductions.append(TridiagonalReduction.from_kernel_matrix(kernel(X), y))
    kernels = _Kernels(tuple(reductions), *FAR[name])
    lowest, highest = support_of_log_gamma(*FAR[name])
    none = [None] * len(reductions)
    found = _ranges(kernels, none)
    hints = [(low - 5.0, high + 5.0) for low, high in found]
    for k, (low, high) in enumerate(found):
        u = np.linspace(max(lowest, -FARTHEST), min(highest, largest_log_gamma(reductions[k])), 12001)
        heights = kernels.heights([k], [u])[0]
        alive = u[heights > heights.max() - 36.0]
        assert low <= alive[0] + 1e-9
        assert high >= alive[-1] - 1e-9
        assert low >= alive[0] - 2.0 - (u[1] - u[0])
        assert high <= alive[-1] + 2.0 + (u[1] - u[0])
    for near in (hints, [(low + 3.0, high - 3.0) for low, high in found], [(900.0, 910.0)] * len(found)):
        again = _ranges(kernels, near)
        for (low, high), (first, last), hint in zip(again, found, near, strict=True):
            assert low <= first + 2.0
            assert high >= last - 2.0
            assert low >= min(first, hint[0]) - 2.0
            assert high <= max(last, hint[1]) + 2.0


def test_hints_are_cut_to_where_gamma_can_be_computed(monkeypatch):
    """Of a hint only what lies within the prior's support and the doubles is scanned, from end to end."""
    X = np.random.default_rng(3).normal(size=(15, 2))
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(1.0)(X), np.sin(2.0 * X[:, 0]))
    asked, scanned = [], level2._scanned
    monkeypatch.setattr(level2, "_scanned", lambda k, which, ranges: asked.append(ranges) or scanned(k, which, ranges))
    for priors in ((Box(-5.0, 5.0), Box(-6.0, 7.0)), (Normal(0.0, 3.0), Normal(0.0, 3.0))):
        low, high = level2._computable(reduction, *priors)
        for hint in (
            (low - 7.0, high + 9.0),
            (low + 4.0, high + 9.0),
            (low - 7.0, high - 3.0),
            (low + 4.0, high - 3.0),
        ):
            asked.clear()
            _ranges(_Kernels((reduction,), *priors), [hint])
            assert asked[0] == [pytest.approx((max(low, hint[0]), min(high, hint[1])))]
        for hint in ((low - 9.0, low - 2.0), (high + 1.0, high + 8.0)):  # nothing is left of it
            asked.clear()
            _ranges(_Kernels((reduction,), *priors), [hint])
            assert asked[0] == [pytest.approx((low, high))]


def test_a_density_far_outside_what_doubles_hold_is_that_of_the_edge():
    X = np.random.default_rng(4).normal(size=(9, 2))
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(1.0)(X), np.sin(X[:, 0]))
    density = Level2Density(reduction, (Flat(), Flat()))
    top = largest_log_gamma(reduction)
    for x, held in (
        ((1000.0, 1001.0), (300.0, 301.0)),
        ((-1000.0, -1002.0), (-300.0, -302.0)),
        ((1.0, 900.0), (1.0, 1.0 + top)),
        ((1.0, -900.0), (1.0, 1.0 + np.log(1e-100 / reduction.lambda_max))),
    ):
        mu, zeta = np.exp(held).tolist()
        found = density.value_and_gradient(np.array(x))
        assert found.value == pytest.approx(log_evidence(reduction, mu, zeta), rel=1e-9)
        assert found.gradient == pytest.approx(log_evidence_gradient(reduction, mu, zeta), rel=1e-6, abs=1e-9)


def test_the_tail_of_a_kernel_has_what_the_grid_and_what_the_matrix_leave_out():
    X = np.random.default_rng(5).normal(size=(30, 2))
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(3.0)(X), np.sin(X[:, 0]))
    priors = Normal(0.0, 300.0), Normal(0.0, 300.0)
    grid = integrate_all([reduction], *priors)[0]
    beyond = share_beyond(reduction, *priors, grid.log_z)
    assert grid.tail > 1e-3
    assert beyond > 1e-3
    assert integrate(reduction, *priors).tail == pytest.approx(grid.tail + beyond)


@pytest.mark.parametrize(("last", "sign"), [(60.0, 1.0), (27.3, 1.0), (-60.0, -1.0), (-9.5, -1.0)])
def test_a_scan_goes_on_in_steps_that_are_no_longer(last, sign):
    X = np.random.default_rng(6).normal(size=(8, 2))
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(0.3)(X), np.sin(X[:, 0]))
    kernels = _Kernels((reduction,), Normal(0.0, 100.0), Normal(0.0, 100.0))
    u = sign * np.arange(6.0)
    scan = _Scan(u, kernels.heights([0], [u])[0])
    (found,) = _continued(kernels, [0], [scan], [last], sign)
    steps = sign * np.diff(found.u)
    assert found.u[-1] == pytest.approx(last)
    assert 0.0 < steps.min() <= steps.max() <= 1.0 + 1e-9
    assert found.heights == pytest.approx(kernels.heights([0], [found.u])[0])
    (same,) = _continued(kernels, [0], [scan], [float(u[-1]) - sign], sign)
    assert same is scan


@pytest.mark.parametrize("narrow", [0, 1])
def test_a_lattice_is_halved_where_most_is_left_before_it_is_halved_for_being_coarse(narrow):
    sd = np.where(np.arange(2) == narrow, 0.25, 1.5)

    def log_density(x):
        return float(-0.5 * np.sum((x / sd) ** 2))

    def spacing(**options):
        found = integrate_on_lattice(log_density, np.zeros(2), np.eye(2), tolerance=1e-4, **options)
        return [float(np.diff(np.unique(found.points[:, i])).min()) for i in (0, 1)], found

    # both axes once, to know what is left; then the narrow one
    most = next(m for m in range(60, 4000, 20) if min(spacing(most=m, coarsest=0.5)[0]) < 0.4)
    steps, _ = spacing(most=most, coarsest=0.5)
    assert steps[narrow] < 0.4 < steps[1 - narrow]
    steps, found = spacing(most=100000, coarsest=0.5)
    assert max(steps) <= 0.5
    assert found.log_integral == pytest.approx(np.log(2.0 * np.pi * sd.prod()), abs=1e-4)
    assert max(spacing(most=100000)[0]) > 0.5
