"""Where quadrature looks, when it stops and what it leaves out: each guard at the edge that it is for."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad, simpson
from scipy.stats import norm

from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.marginal import log_mu as log_mu_module
from bayes_lssvm.marginal.density import Density, Level2Density, Value
from bayes_lssvm.marginal.left_out import left_out, left_out_moments
from bayes_lssvm.marginal.log_mu import LogMu
from bayes_lssvm.marginal.predictions import (
    MixturePredictor,
    NodePredictor,
    Nodes,
    PredictionNode,
    Rows,
    _Interpolation,
    _variance_kernels,
    _without_rounding,
    gauss_rule,
    rows_of,
)
from bayes_lssvm.marginal.rules.kernel import (
    _extent,
    _Grid,
    _log_mass_beyond,
    _log_shares,
    _may_count,
    _Rule,
    _scan,
    _share_beyond,
    quadrature,
)
from bayes_lssvm.marginal.rules.lattice import _fill, _left, integrate_on_lattice
from bayes_lssvm.marginal.rules.level2 import _close, _computable, _Scan, _slope, integrate
from bayes_lssvm.marginal.rules.stretch import Stretch
from bayes_lssvm.marginal.rules.transport import GaussianConditional, along_a_line, inverse_cdf, quasi_uniform
from bayes_lssvm.marginal.rules.trapezoid import aliased, equal_steps, error_after
from bayes_lssvm.priors import Box, HyperPrior, Normal


def problem(seed=0, n=14):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(1.5 * X[:, 0]) + 0.4 * rng.normal(size=n)


def one(log_density, n, q1=1.0, u=0.0, mu=None, zeta=None):
    """log μ at one γ, from the sums of a spectrum that need not exist."""
    return LogMu(n, np.array([u]), np.array([0.0]), np.array([q1]), mu, zeta, log_density)


# --- the trapezoidal rule --------------------------------------------------------------------------------------------


def test_steps_are_no_longer_than_asked_for_but_for_rounding():
    assert equal_steps(0.0, 1.0, 0.3) == pytest.approx(np.linspace(0.0, 1.0, 5))
    assert len(equal_steps(0.0, 0.1 * 3, 0.1)) == len(equal_steps(0.0, 0.3, 0.1)) == 4  # 3.0000000000000004 and 2.9…
    assert len(equal_steps(0.0, 1.0, 0.4999)) == 4
    assert len(equal_steps(0.0, 1.0, 10.0, 5)) == 6
    assert len(equal_steps(0.0, 0.01, 1.0)) == 2
    assert equal_steps(-2.0, 3.0, 1.0) == pytest.approx(np.arange(-2.0, 3.1))


def test_a_square_of_changes_is_believed_up_to_a_tenth():
    assert error_after(0.09, 0.3) == pytest.approx(10.0 * 0.09**2)  # 0.09 = 0.3²
    assert error_after(0.0901, 0.3) == 0.0901
    assert error_after(0.0999, 1.0) == pytest.approx(10.0 * 0.0999**2)
    assert error_after(0.11, 1.0) == 0.11
    assert error_after(0.5, np.inf) == 0.5
    assert error_after(1e-3, np.inf) == pytest.approx(1e-5)


def test_what_is_aliased_from_the_transform_of_a_gaussian():
    """At steps of one the transform of a Gaussian of sd s is exp(−s²ω²/2), and its images at ω ± 2π."""
    x = np.arange(-20.0, 21.0)
    for s in (0.9, 1.2):

        def size(omega, s=s):
            return sum(np.exp(-0.5 * s**2 * (omega + 2.0 * np.pi * k) ** 2) for k in (-1, 0, 1))

        before, last = size(0.5 * np.pi) / size(0.0), size(0.875 * np.pi) / size(0.0)
        found = aliased(-0.5 * (x / s) ** 2 + 3.0)
        assert found == pytest.approx(100.0 * last * (last / before) ** 3, rel=1e-6)


def test_what_is_aliased_by_a_sum_for_each_frequency():
    """Sizes between a half and three quarters of the highest frequency, and over the last eighth; at any height."""
    for seed in range(4):
        logs = np.random.default_rng(seed).normal(0.0, 2.0, 41)
        omega = np.linspace(0.0, np.pi, 8 * 41 + 1)
        sizes = np.abs(np.exp(logs) @ np.exp(-1j * np.multiply.outer(np.arange(41), omega)))
        share = omega / np.pi
        before = sizes[(share >= 0.5) & (share < 0.75 - 1e-9)].max()
        last = sizes[share >= 0.875 - 1e-9].max()
        expected = 100.0 * last / sizes[0] * min(last / before, 1.0) ** 3
        assert aliased(logs + 800.0) == pytest.approx(expected, rel=1e-6)
    deep = -0.5 * (np.arange(-20.0, 21.0) / 0.45) ** 2  # over a thousand nats
    assert 0.0 < aliased(deep) < 100.0


def test_a_transform_that_does_not_fall_is_not_carried_on():
    values = np.where(np.arange(64) % 2 == 0, 0.0, -1.0)  # nearly all of it at the highest frequency
    share = (1.0 - np.exp(-1.0)) / (1.0 + np.exp(-1.0))
    assert aliased(values) == pytest.approx(100.0 * share, rel=1e-6)
    assert aliased(values[:15]) == np.inf
    assert np.isfinite(aliased(values[:16]))
    flat = np.zeros(33)  # a constant has no transform beside that of its ends
    assert 0.0 < aliased(flat) < 100.0


# --- log μ given γ ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "mu"), [(5, Normal(-100.0, 10.0)), (4, Normal(-60.0, 7.0)), (9, Normal(0.0, 3.0))])
def test_the_way_down_is_long_enough_where_priors_hold_the_density_up(n, mu):
    """Below its peak the density falls like e^{½(N−1)m}; a prior far below leaves half of that or less."""
    found = one(None, n, mu=mu, zeta=Normal(0.0, 300.0))
    low, high = float(found.peak.low[0]), float(found.peak.high[0])
    top = float(found.log_density(found.peak.mode)[0])
    assert top - float(found.log_density(np.array([low]))[0]) >= log_mu_module.DEEP_ENOUGH
    assert top - float(found.log_density(np.array([high]))[0]) >= log_mu_module.DEEP_ENOUGH

    def density(m):
        return float(np.exp(found.log_density(np.array([m]))[0] - top))

    at = float(found.peak.mode[0])
    area = sum(
        quad(density, a, b, limit=200, epsabs=0.0, epsrel=1e-12)[0]
        for a, b in ((at - 200.0, at - 5.0), (at - 5.0, at + 20.0))
    )
    assert abs(float(found.log_integral()[0]) - top - np.log(area)) <= float(found.rule_error()[0]) + 1e-10


def test_the_way_down_stops_at_the_end_of_a_support():
    found = one(None, 5, mu=Box(-3.0, 50.0), zeta=Box(-60.0, 60.0))
    assert float(found.peak.low[0]) == -3.0
    inside = one(None, 5, mu=Box(-3.0, 50.0), zeta=Box(-1.0, 60.0), u=0.5)
    assert float(inside.peak.low[0]) == -1.5  # log ζ = log μ + u ends first
    above = one(None, 5, mu=Box(-30.0, 0.3), zeta=Box(-60.0, 0.5), u=0.4)
    assert float(above.peak.high[0]) == pytest.approx(0.1)
    assert float(above.peak.mode[0]) == pytest.approx(0.1)  # the data's peak, log 4, lies beyond


def test_a_peak_beyond_the_support_is_as_wide_as_the_slope_at_its_edge_says():
    """At the edge m = 0 of the support the density falls by e^{½(N−1) − ½e^m q_1} = e^{−50.5}: narrower than a peak."""
    found = one(None, 100, q1=200.0, mu=Box(0.0, 20.0), zeta=Box(-60.0, 60.0))
    assert float(found.peak.mode[0]) == 0.0
    assert float(found.peak.width[0]) == pytest.approx(36.0 / (8.5 * 50.5), rel=1e-6)
    exact = quad(lambda m: np.exp(0.5 * (99.0 * m - 200.0 * np.expm1(m))), 0.0, 20.0, points=[0.1, 0.5])[0]
    constant = 0.5 * (-99.0 * np.log(2.0 * np.pi) - 200.0) - 0.5 * np.log(100.0) - np.log(20.0) - np.log(120.0)
    assert float(found.log_integral()[0]) == pytest.approx(np.log(exact) + constant, abs=1e-9)


def test_nothing_is_integrated_where_supports_do_not_meet():
    found = one(None, 9, mu=Box(0.0, 1.0), zeta=Box(5.0, 6.0))
    assert float(found.log_integral()[0]) == -np.inf


def test_many_points_take_fewer_nodes_and_the_error_says_what_more_would_change():
    few, many = (one(None, n, mu=Normal(0.0, 3.0), zeta=Normal(0.0, 3.0)) for n in (40, 41))
    assert few.nodes()[0].shape == (1, 96)
    assert many.nodes()[0].shape == (1, 32)
    # twice as far down with the many nodes, three times the change
    low = many.peak.mode - 2.0 * (many.peak.mode - many.peak.low)
    nodes, weights = np.polynomial.legendre.leggauss(96)
    half = 0.5 * (many.peak.high - low)
    m = 0.5 * (many.peak.high + low) + half * nodes
    top = float(many.log_density(many.peak.mode)[0])
    area = half @ np.array([weights @ np.exp(many.log_density(np.tile(m, (1, 1)))[0] - top)])
    expected = 3.0 * abs(top + np.log(area) - float(many.log_integral()[0]))
    assert float(many.rule_error()[0]) == pytest.approx(expected, rel=1e-3, abs=1e-15)


def test_quantiles_on_a_grid_reach_both_ends():
    found = LogMu(
        50,
        np.zeros(4),
        np.zeros(4),
        np.full(4, 50.0),
        Normal(0.0, 3.0),
        Normal(0.0, 3.0),
    )
    ends = found.quantile_on_grid(np.array([0.0, 1.0, 1e-9, 0.5]))
    mode, width = float(found.peak.mode[0]), float(found.peak.width[0])
    assert mode - 8.6 * width < ends[0] <= mode - 8.0 * width
    assert mode + 5.0 * width < ends[1] < mode + 8.6 * width
    assert ends[0] < ends[2] < mode - 5.0 * width
    assert abs(ends[3] - mode) < 0.2 * width
    box = LogMu(50, np.zeros(2), np.zeros(2), np.full(2, 50.0), Box(-0.1, 0.05), Box(-9.0, 9.0))
    assert box.quantile_on_grid(np.array([0.0, 1.0])) == pytest.approx([-0.1, 0.05])


# --- over γ ----------------------------------------------------------------------------------------------------------


def test_the_ends_of_a_scan_are_one_step_beyond_what_counts():
    u = np.arange(10.0)
    heights = np.array([-90.0, -80.0, -37.0, -35.0, 0.0, -20.0, -35.9, -36.1, -80.0, np.nan])
    assert _Scan(u, heights).ends == (2.0, 7.0)
    assert _Scan(u[:5], heights[4:9]).ends == (0.0, 3.0)  # no step before the first
    assert _Scan(u[:4], heights[3:7]).ends == (0.0, 3.0)
    assert _Scan(u[:9], heights[:9]).dead_at_both_ends
    assert not _Scan(u[:7], heights[:7]).dead_at_both_ends
    assert not _Scan(u[:5], heights[3:8]).dead_at_both_ends


def test_the_range_of_gamma_that_can_be_computed():
    reduction = SimpleNamespace(gamma_max=1e20, lambda_max=10.0)
    wide, narrow = Normal(0.0, 3.0), Box(-2.0, 3.0)
    low, high = _computable(reduction, wide, wide)
    assert high == pytest.approx(np.log(1e20))
    assert low == pytest.approx(np.log(1e-10 / 10.0) - 40.0)
    assert _computable(reduction, narrow, Box(-1.0, 4.0)) == pytest.approx((-4.0, 6.0))  # ends of log ζ − log μ
    near = SimpleNamespace(gamma_max=1e-20, lambda_max=1.0)
    assert np.subtract(*_computable(near, wide, wide)[::-1]) == pytest.approx(100.0)  # no end of the prior in sight
    above = _computable(SimpleNamespace(gamma_max=np.exp(-5.0), lambda_max=1.0), narrow, Box(-1.0, 4.0))
    assert above == pytest.approx((-6.0, -5.0))  # a prior beyond what can be computed


def test_slopes_of_values_on_a_grid():
    x = np.linspace(0.0, 2.0, 9)
    assert _slope(x**2, 0.25)[1:-1] == pytest.approx(2.0 * x[1:-1])  # central differences
    assert _slope(x**2, 0.25)[[0, -1]] == pytest.approx([0.25, 3.75])  # of one side


def test_ends_that_are_the_same():
    assert _close(1.0, 1.0 + 1e-6)
    assert _close(1e-9, 0.0)
    assert not _close(1.0, 1.001)
    assert not _close(np.inf, np.inf)


def test_the_end_of_a_box_cuts_nothing_off():
    X, y = problem(8)
    reduction = CentredSpectrum.from_kernel_matrix(RBF(1.0)(X), y)
    for boxes in ((Box(-3.0, 3.0), Box(-1.0, 4.0)), (Box(-3.0, 3.0), Normal(0.0, 0.7)), (Normal(0.0, 0.7), Box(0, 3))):
        found = integrate(reduction, *boxes)
        assert found.tail < 1e-12
        m, z = np.linspace(-8.0, 8.0, 161), np.linspace(-8.0, 8.0, 161)
        for axis, box in ((0, boxes[0]), (1, boxes[1])):
            if isinstance(box, Box):
                grid = np.linspace(box.low, box.high, 161)
                m, z = (grid, z) if axis == 0 else (m, grid)
        points = np.stack(np.meshgrid(m, z, indexing="ij"), axis=-1).reshape(-1, 2)
        logs = Density(X, y, RBF(1.0), boxes).values(points).reshape(161, 161)
        area = simpson(simpson(np.exp(logs - logs.max()), z, axis=1), m)
        assert found.log_z == pytest.approx(logs.max() + np.log(area), abs=1e-5)


# --- over the kernel -------------------------------------------------------------------------------------------------


def fake_rule(log_likelihood, prior, bounds=(-5.0, 5.0)):
    """A log likelihood of one kernel parameter and its prior, as the scan of a rule sees them."""
    asked: list[float] = []

    class Fake(SimpleNamespace):
        def __call__(self, x):
            asked.extend(np.ravel(x).tolist())
            for position in np.ravel(x).tolist():
                self.found[position] = (None, SimpleNamespace(log_z=float(log_likelihood(position))), None)
            return log_likelihood(np.asarray(x)) + self.log_prior(np.asarray(x))

        def log_prior(self, x):
            return self.parts[2].log_density(np.asarray(x))

        def expect(self, more):
            pass

    return Fake(parts=(None, None, prior), bounds=np.array(bounds), found={}, asked=asked)


def test_how_far_a_prior_is_followed():
    box = fake_rule(lambda x: 0.0 * x, Box(-20.0, 30.0))
    assert _extent(box, -5.0, 5.0, 10.0) == (-20.0, 30.0)
    gaussian = fake_rule(lambda x: 0.0 * x, Normal(1.0, 2.0))
    best = 18.0 + 0.5 * np.log(2.0 * np.pi * 4.0)  # at six standard deviations
    assert _extent(gaussian, -5.0, 5.0, best) == pytest.approx((-11.5, 13.5), abs=0.51)
    assert _extent(gaussian, -50.0, 50.0, best) == (-50.5, 50.5)  # never back behind the bounds
    flat = fake_rule(lambda x: 0.0 * x, Normal(0.0, 1e4))
    assert _extent(flat, -5.0, 5.0, 1e6) == pytest.approx((-300.0, 300.0))
    one_sided = fake_rule(lambda x: 0.0 * x, Box(-1e9, 4.0))
    assert _extent(one_sided, -5.0, 3.0, 30.0) == (-300.0, 4.0)


def test_a_scan_goes_beyond_a_bound_only_where_something_is_left():
    def falls_to_the_right(x):
        return -4.0 * np.maximum(x, 0.0) ** 2

    grid, stretch = _scan(fake_rule(falls_to_the_right, Normal(0.0, 3.0)), 20.0, True)
    assert np.isfinite(stretch.low)
    assert not np.isfinite(stretch.high)
    assert float(stretch(grid.t[0])) == pytest.approx(-np.sqrt(40.0) * 3.0, abs=3.0)
    assert float(stretch(grid.t[-1])) < 5.0
    grid, stretch = _scan(fake_rule(lambda x: falls_to_the_right(-x), Normal(0.0, 3.0)), 20.0, True)
    assert not np.isfinite(stretch.low)
    assert np.isfinite(stretch.high)
    grid, stretch = _scan(fake_rule(falls_to_the_right, Normal(0.0, 3.0)), 20.0, False)
    assert stretch == Stretch()
    assert grid.t[0] == -5.0
    grid, stretch = _scan(fake_rule(falls_to_the_right, Box(-2.0, 2.0)), 20.0, True)
    assert stretch(grid.t[[0, -1]]) == pytest.approx([-2.0, 2.0])


def test_what_may_count_between_two_points():
    values = np.array([-100.0, -60.0, -30.0, 0.0, -30.0, -60.0, -100.0])
    # from −60 to −30: the slope from the right carries on to −30 − 15, and half of 40 on top
    assert _may_count(values, 10.0).tolist() == [False, False, True, True, False, False]
    assert _may_count(values, 39.5).tolist() == [False, True, True, True, True, False]
    flat = np.array([-np.inf, -np.inf, 0.0, -np.inf])
    assert _may_count(flat, 5.0).tolist() == [False, True, True]
    turning = np.array([-30.0, -20.0, -20.0, 0.0])
    # between the equal ones: the slope from the left carries on to −15, and half of the change of 20 is put on top
    assert _may_count(turning, 5.5).tolist() == [False, True, True]
    assert _may_count(turning, 4.5).tolist() == [False, False, True]


def test_middles_by_cubics_and_their_doubt():
    t = np.arange(6.0)
    grid = _Grid(t, -(t**3) / 10.0, np.ones(6, dtype=bool), np.full(6, -np.inf))
    values, doubt = grid.between()
    assert values[1:-1] == pytest.approx(-((t[1:-2] + 0.5) ** 3) / 10.0)  # a cubic is met
    lines = 0.5 * (grid.values[1:] + grid.values[:-1])
    assert values[[0, -1]] == pytest.approx(lines[[0, -1]])
    assert doubt[[0, -1]] == pytest.approx(lines[[0, -1]])  # may be wrong by all of itself
    wrong = np.abs(np.exp(values[1:-1]) - np.exp(lines[1:-1]))
    assert np.exp(doubt[1:-1]) == pytest.approx(wrong)
    assert grid.live.all()
    assert not _Grid(t, np.full(6, -np.inf), grid.computed, grid.doubt).live.any()


def test_what_may_lie_beyond_an_end_of_the_rule():
    """Twice a constant evidence times what the prior has there."""
    rule = fake_rule(lambda x: 3.0 + 0.0 * x, Normal(0.0, 2.0))
    positions = np.array([-1.0, 0.0, 3.0])
    for end, mass in ((0, norm.cdf(-0.5)), (-1, norm.sf(1.5))):
        assert _log_mass_beyond(rule, positions, end) == pytest.approx(3.0 + np.log(2.0 * mass), abs=1e-4)
    boxed = fake_rule(lambda x: 0.0 * x, Box(-1.0, 9.0))
    assert _log_mass_beyond(boxed, positions, 0) == -np.inf
    assert _log_mass_beyond(boxed, positions, -1) == pytest.approx(np.log(2.0 * 0.6), abs=0.02)
    assert _log_mass_beyond(fake_rule(lambda x: 0.0 * x, Normal(-1e4, 1.0)), positions, -1) == -np.inf


def test_what_lies_beyond_gamma_is_asked_at_a_few_kernels():
    asked = []
    positions = np.linspace(-1.0, 1.0, 23)

    def beyond(p):
        asked.append(p)
        return np.exp(2.0 * p)

    shares = np.exp(-8.0 * positions**2)
    shares /= shares.sum()
    found = _share_beyond(SimpleNamespace(share_beyond=beyond), positions, shares)
    assert found == pytest.approx(shares @ np.exp(2.0 * positions), rel=0.1)
    assert len(asked) == 5  # every fourth, through the largest
    assert 0.0 in [round(p, 12) for p in asked]
    few = _share_beyond(SimpleNamespace(share_beyond=lambda p: 1e305 if p > 0 else 0.5), positions[:3], np.ones(3) / 3)
    assert few == pytest.approx(0.5)
    assert _share_beyond(SimpleNamespace(share_beyond=lambda p: np.inf), positions[:1], np.ones(1)) == 1e300


def test_neighbours_say_where_log_gamma_is():
    def rows(low, high):
        return SimpleNamespace(rows=SimpleNamespace(log_gamma=np.array([low, 0.0, high])))

    rule = SimpleNamespace(
        integrals={-3.0: rows(-9.0, 9.0), 0.0: rows(-4.0, 1.0), 1.0: rows(-2.0, 3.0), 8.0: rows(-7.0, 7.0)}
    )
    assert _Rule._near(rule, 0.5) == (-5.0, 4.0)  # the hull of both, and one more on either side
    assert _Rule._near(rule, -1.0) is None  # three apart
    assert _Rule._near(rule, 4.0) is None
    assert _Rule._near(rule, 9.0) is None
    assert _Rule._near(rule, -4.0) is None
    rule.integrals[2.05] = rows(-1.0, 1.0)
    assert _Rule._near(rule, 0.5) == (-5.0, 4.0)  # the nearest of those above
    assert _Rule._near(rule, 1.5) == (-3.0, 4.0)


def test_a_rule_over_the_kernel_is_as_fine_as_it_was_asked_to_be():
    X, y = problem(10, 12)
    prior = HyperPrior(Normal(0.0, 2.0), Normal(0.0, 2.0), Normal(0.0, 1.0))
    found, fine = (quadrature(X, y, RBF(1.0), prior, tolerance=t, progress=False) for t in (1e-4, 1e-8))
    assert abs(found.log_evidence - fine.log_evidence) <= found.error + fine.error
    assert fine.error <= 1e-8
    assert found.error <= 1e-4
    assert found.n_reductions < fine.n_reductions
    logs = np.array([node.log_weight for node in found.nodes])
    assert np.log(np.exp(logs - logs.max()).sum()) + logs.max() == pytest.approx(found.log_evidence, abs=1e-7)
    assert len(found.nodes) == len(found.positions) <= len(found.grid) == len(found.log_density)
    held = quadrature(X, y, RBF(1.0), prior, fixed_kernel=True, progress=False)
    assert (len(held.nodes), held.n_reductions) == (1, 1)
    assert held.log_evidence == pytest.approx(held.nodes[0].integral.log_z)


# --- the lattice -----------------------------------------------------------------------------------------------------


def test_what_halvings_have_left():
    assert _left([], True) == np.inf
    assert _left([0.3], True) == 0.3  # nothing before it
    assert _left([0.05, 0.002], True) == pytest.approx(10.0 * 0.002**2)
    assert _left([0.2, 0.002], True) == 0.002  # the one before is no small change
    assert _left([0.15, 0.002], True) == 0.002
    assert _left([0.05, 0.01], True) == 0.01  # no square of the one before
    assert _left([0.3], False) == 0.3
    assert _left([0.4, 0.04], False) == pytest.approx(0.04 * np.sqrt(0.1) / (1.0 - np.sqrt(0.1)))
    assert _left([0.4, 0.2], False) == 0.2  # corners
    root = np.sqrt(1.0 / 30.0)
    assert _left([0.3, 1e-9], False) == pytest.approx(0.01 * root / (1.0 - root))  # small by chance
    assert _left([0.0, 0.0], False) == 0.0


def test_a_lattice_is_filled_to_its_rim_and_no_farther():
    asked = []

    def at(k):
        asked.append(k)
        return -float(k[0] ** 2 + k[1] ** 2)

    values = {(0, 0): 0.0}
    _fill(values, at, 5.0)
    inside = {(i, j) for i in range(-2, 3) for j in range(-2, 3) if i * i + j * j < 5}
    rim = {(i + a, j + b) for i, j in inside for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))} - inside
    assert set(values) == inside | rim
    assert len(asked) == len(set(asked)) == len(values) - 1


def test_a_lattice_rises_to_a_peak_that_it_was_not_told_of():
    values = {(0,): -8.0}
    _fill(values, lambda k: -0.5 * float(k[0] - 4) ** 2, 3.0)
    assert {(k,) for k in range(2, 7)} <= set(values)  # within three nats of the peak at 4
    assert (9,) not in values


def test_steps_of_a_lattice_are_halved_until_they_are_short_enough():
    told = []
    options = {"tolerance": 1e-6, "most": 100_000}
    plain = integrate_on_lattice(
        lambda x: float(norm.logpdf(x[0])), np.zeros(1), np.eye(1), expect=told.append, **options
    )
    assert abs(plain.log_integral) < plain.error + 1e-6
    assert told[0] == 8
    assert all(isinstance(n, int) and n > 0 for n in told[1:])
    fine = integrate_on_lattice(lambda x: float(norm.logpdf(x[0])), np.zeros(1), np.eye(1), coarsest=0.1, **options)
    assert 0.05 < np.diff(np.sort(fine.points[:, 0])).min() <= 0.1
    deep = integrate_on_lattice(lambda x: float(norm.logpdf(x[0])), np.zeros(1), np.eye(1), depth=10.0, **options)
    reach, farther = (np.abs(found.points).max() for found in (plain, deep))
    shortest = np.diff(np.sort(plain.points[:, 0])).min()
    nats = 2.0 - np.log(1e-6)  # filled until f is two nats below the tolerance
    tiny = integrate_on_lattice(lambda x: float(norm.logpdf(x[0])), np.zeros(1), np.eye(1), coarsest=0.01, **options)
    right = np.sort(tiny.points[tiny.points[:, 0] >= 0.0, 0])
    step = right[1] - right[0]
    together = right[: int(np.argmax(np.diff(right, append=np.inf) > 1.5 * step)) + 1]  # up to the first gap
    assert np.sqrt(2.0 * nats) <= together[-1] <= np.sqrt(2.0 * nats) + 1.01 * step
    assert np.sqrt(2.0 * nats) <= reach <= np.sqrt(2.0 * nats) + 1.5
    assert np.sqrt(2.0 * (nats + 10.0)) <= farther <= np.sqrt(2.0 * (nats + 10.0)) + 1.5
    assert plain.n_values == len(plain.points) == pytest.approx(2.0 * reach / shortest, abs=8)
    with pytest.raises(ValueError, match="zero or not a number at the centre"):
        integrate_on_lattice(lambda x: -np.inf, np.zeros(1), np.eye(1), **options)
    few = integrate_on_lattice(lambda x: float(norm.logpdf(x[0])), np.zeros(1), np.eye(1), tolerance=1e-12, most=30)
    assert 15 < few.n_values <= 30


def test_a_lattice_in_two_dimensions_away_from_zero():
    """A hill of its own axes, and a second one that the lattice is told of."""
    centre, far = np.array([3.0, -2.0]), np.array([14.0, 15.0])
    scale = np.array([[0.7, 0.0], [0.3, 1.4]])
    told: list[int] = []

    def log_density(x):
        first = norm.logpdf(np.linalg.solve(scale, x - centre)).sum() - np.log(0.98)
        return float(np.logaddexp(first, np.log(0.2) + norm.logpdf(x - far, scale=0.7).sum()))

    options = {"tolerance": 1e-4, "most": 20_000}
    found = integrate_on_lattice(log_density, centre, scale, others=(far,), expect=told.append, **options)
    assert found.log_integral == pytest.approx(np.log(1.2), abs=2e-4)
    assert told[0] == 64
    assert found.log_values == pytest.approx([log_density(x) for x in found.points])
    share = np.exp(found.log_values - found.log_values.max())
    assert share @ found.points / share.sum() == pytest.approx((centre + 0.2 * far) / 1.2, abs=1e-3)
    alone = integrate_on_lattice(log_density, centre, scale, **options)
    assert alone.log_integral == pytest.approx(0.0, abs=2e-4)


# --- draws from a rule -----------------------------------------------------------------------------------------------


def test_quantile_functions_between_few_points_and_beyond_a_gap():
    q = np.array([0.0, 0.25, 1.0])
    three = inverse_cdf(np.array([0.0, 1.0, 2.0]), np.zeros(3))(q)  # too few for a spline
    assert three == pytest.approx([0.0, 0.5, 2.0], abs=2e-3)
    assert inverse_cdf(np.array([4.0]), np.zeros(1))(q) == pytest.approx([4.0] * 3)
    with_hole = inverse_cdf(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.0, -np.inf]))(q)
    assert with_hole == pytest.approx(three)
    four = np.array([-3.0, -1.0, 1.0, 3.0])  # a cubic through four is exact for a Gaussian
    expected = norm.ppf(norm.cdf(-3.0) + np.array([0.1, 0.4]) * (norm.cdf(3.0) - norm.cdf(-3.0)))
    assert inverse_cdf(four, norm.logpdf(four))(np.array([0.1, 0.4])) == pytest.approx(expected, abs=2e-3)
    gap = np.array([0.0, 0.5, 1.0, 9.0, 9.5, 10.0])  # where a spline would swing far down
    assert 1.5 < inverse_cdf(gap, np.array([0.0, 0.0, -5.0, -5.0, 0.0, 0.0]))(np.array([0.49]))[0] < 5.0
    # a curve may swing above the largest value that was given, but no more than a nat
    x = np.arange(6.0)
    swinging = inverse_cdf(x, np.array([-900.0, 0.0, 0.0, -900.0, -900.0, -900.0]))(np.array([0.05, 0.95]))
    assert 0.5 < swinging[0] < swinging[1] < 2.5


def test_draws_between_two_groups_of_kernels_take_the_ends_of_the_gap():
    positions = np.array([0.0, 0.5, 1.0, 9.0, 9.5, 10.0])
    conditionals = tuple(GaussianConditional((float(p) ** 2, 0.0), (1.0, 1.0)) for p in positions)
    draw = along_a_line(positions, conditionals, positions, np.zeros(6), Stretch())
    found = draw(np.column_stack([np.full(101, 0.5), np.full(101, 0.5), np.linspace(0.0, 1.0, 101)]))
    assert found[0, 2] == pytest.approx(0.0)
    assert found[-1, 2] == pytest.approx(10.0)
    gap = (found[:, 2] > 1.0) & (found[:, 2] < 9.0)
    assert gap.sum() > 20
    assert found[gap, 0] == pytest.approx(1.0 + (found[gap, 2] - 1.0) * 80.0 / 8.0)  # the straight line
    assert (
        found[:, 0][found[:, 2] <= 1.0]
        == pytest.approx(  # two steps of equal length on one side only
            np.interp(found[:, 2][found[:, 2] <= 1.0], positions[:3], positions[:3] ** 2), abs=0.3
        )
    )


def test_quasi_random_points_are_spread_evenly():
    points = quasi_uniform(2, 256, seed=3)
    assert points.shape == (256, 2)
    counts = np.histogram2d(*points.T, bins=[16, 16], range=[[0, 1], [0, 1]])[0]
    assert np.all(counts == 1)  # a net: one point in each cell
    assert not np.array_equal(points, quasi_uniform(2, 256, seed=4))
    assert quasi_uniform(1).shape == (16384, 1)


def test_gaussian_conditionals_at_the_ends_of_the_unit_interval():
    found = GaussianConditional((1.0, 2.0), (1.0, 2.0))(np.array([[0.0, 1.0]]))
    assert np.isfinite(found).all()
    assert found[0, 0] == pytest.approx(1.0 + norm.ppf(1e-15))
    assert found[0, 1] == pytest.approx(2.0 + 2.0 * norm.ppf(1.0 - 1e-15))


# --- predictions -----------------------------------------------------------------------------------------------------


def test_how_many_nodes_so_many_points_have():
    sizes = {n: Nodes.of(n) for n in (60, 61, 100, 101, 200, 201, 1000, 1001)}
    assert sizes[60] == (31, 14, 5)
    assert sizes[61] == sizes[100] == (17, 10, 4)
    assert sizes[101] == sizes[200] == (11, 8, 3)
    assert sizes[201] == sizes[1000] == (9, 6, 2)
    assert sizes[1001] == (9, 6, 1)


def test_a_gauss_rule_leaves_out_the_last_millionth_at_either_end():
    x = np.array([-50.0, -1.0, 0.0, 1.0, 2.0, 60.0])
    weights = np.array([0.9e-6, 0.2, 0.3, 0.3, 0.2 - 1.7e-6, 0.8e-6])
    nodes, shares = gauss_rule(x, 7.0 * weights, 3)
    inner = weights[1:5] / weights[1:5].sum()
    for power in range(6):
        assert shares @ nodes**power == pytest.approx(inner @ x[1:5] ** power, rel=1e-9, abs=1e-12)
    kept = gauss_rule(x, np.array([1.1e-6, 0.2, 0.3, 0.3, 0.2 - 2.2e-6, 1.1e-6]), 4)[0]
    assert kept[0] < -40.0
    assert kept[-1] > 50.0
    assert len(gauss_rule(np.array([2.0, 3.0]), np.ones(2), 5)[0]) == 2  # no more nodes than points
    alone = gauss_rule(np.array([2.0]), np.ones(1), 5)
    assert (float(alone[0][0]), float(alone[1][0])) == (2.0, 1.0)
    shuffled = gauss_rule(x[::-1], weights[::-1], 3)
    assert shuffled[0] == pytest.approx(nodes)


def test_values_apart_by_rounding_are_one():
    values = np.array([1.0, 0.0, 1.0 + 5e-9, 2.0, 1e-9, 1.0 + 2e-8])
    distinct, group = _without_rounding(values)
    assert distinct == pytest.approx([0.0, 1.0, 1.0 + 2e-8, 2.0], abs=1e-12)
    assert group.tolist() == [1, 0, 1, 3, 0, 2]


def test_rows_of_a_quadrature_have_its_means():
    """E[1/μ], E[1/ζ] and E[s] of the rule, by sums over all of its nodes."""
    X, y = problem(2, 25)
    integral = integrate(CentredSpectrum.from_kernel_matrix(RBF(1.1)(X), y), Normal(-0.3, 1.2), Normal(0.8, 2.0))
    rows = rows_of(integral, Nodes(1, 14, 5))
    share = np.exp(integral.log_weights - integral.log_weights.max())
    share /= share.sum()
    assert rows.weight.sum() == pytest.approx(1.0)
    assert rows.weight @ rows.inverse_mu == pytest.approx(share @ np.exp(-integral.log_mu), rel=2e-3)
    assert rows.weight @ rows.inverse_zeta == pytest.approx(share @ np.exp(-integral.log_zeta), rel=2e-3)
    assert rows.weight @ rows.inverse_mu**2 == pytest.approx(share @ np.exp(-2.0 * integral.log_mu), rel=2e-2)
    assert rows.weight @ np.log(rows.s) == pytest.approx(share @ (integral.log_mu - integral.log_zeta), abs=2e-3)
    coarse, at = rows.by_gamma()
    assert len(coarse.s) == 14
    assert np.all(coarse.s[at] == rows.s)
    assert coarse.weight @ coarse.inverse_mu == pytest.approx(rows.weight @ rows.inverse_mu)
    scaled = rows.of_scaled_kernel(4.0)
    assert scaled.inverse_zeta == pytest.approx(rows.inverse_zeta)
    assert scaled.inverse_mu == pytest.approx(4.0 * rows.inverse_mu)


def test_nodes_of_log_mu_are_those_of_the_nearest_gamma():
    """One Gauss rule for each node of log γ, of the posterior of log μ at the γ that is nearest to it."""
    X, y = problem(2, 12)
    integral = integrate(CentredSpectrum.from_kernel_matrix(RBF(1.1)(X), y), Normal(-0.3, 1.2), Normal(0.8, 2.0))
    rows = rows_of(integral, Nodes(1, 7, 4))
    u, weights = integral.log_zeta - integral.log_mu, np.exp(integral.log_weights - integral.log_weights.max())
    for s in np.unique(rows.s):
        nearest = np.abs(u + np.log(s)) < np.abs(u + np.log(s)).min() + 1e-9
        log_mu, own = gauss_rule(integral.log_mu[nearest], weights[nearest], 4)
        mine = rows.s == s
        np.testing.assert_allclose(rows.weight[mine] / rows.weight[mine].sum(), own, rtol=1e-7)
        np.testing.assert_allclose(
            rows.inverse_mu[mine] / rows.inverse_mu[mine][0], np.exp(log_mu[0] - log_mu), rtol=1e-7
        )
    assert np.ptp([np.ptp(np.log(rows.inverse_mu[rows.s == s])) for s in np.unique(rows.s)]) > 0.01
    for factor in (-2000.0, 2000.0):  # logs of weights that are no numbers themselves
        again = rows_of(integral._replace(log_weights=integral.log_weights + factor), Nodes(1, 7, 4))
        np.testing.assert_allclose(again.weight, rows.weight, rtol=1e-9)
        np.testing.assert_allclose(again.inverse_mu, rows.inverse_mu, rtol=1e-9)


def test_nodes_a_trillionth_below_the_best_are_left_out():
    X, y = problem(2, 25)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.1)(X), y)
    integral = integrate(spectrum, Normal(-0.3, 1.2), Normal(0.8, 2.0))
    deep = log_mu_module.DEEP_ENOUGH
    assert deep - 2.0 < np.ptp(integral.log_weights) < deep
    assert np.log(np.exp(integral.log_weights - integral.log_z).sum()) == pytest.approx(0.0, abs=1e-9)


def line_of_kernels(n_kernels, n_gamma=2):
    sigmas = np.exp(np.linspace(-0.3, 0.6, n_kernels))
    weights = np.exp(-0.5 * np.linspace(-2.0, 2.0, n_kernels) ** 2)
    s = np.array([0.3, 0.8])[:n_gamma]
    rows = Rows(s, np.array([0.4, 0.6])[:n_gamma], np.array([0.9, 1.2])[:n_gamma])
    return tuple(
        PredictionNode(RBF(sigma), weight, rows)
        for sigma, weight in zip(sigmas.tolist(), (weights / weights.sum()).tolist(), strict=True)
    )


def test_variances_are_computed_at_three_kernels_of_a_line():
    assert _variance_kernels(line_of_kernels(4)) == [0, 1, 2, 3]
    assert len(_variance_kernels(line_of_kernels(5))) == 3
    chosen = _variance_kernels(line_of_kernels(9))
    assert len(chosen) == 3
    assert chosen[0] + chosen[2] == 8  # the weights are symmetric
    assert chosen[1] == 4
    nodes = line_of_kernels(9)
    mixed = (*nodes[:-1], PredictionNode(nodes[-1].kernel, nodes[-1].weight, line_of_kernels(9, 1)[0].rows))
    assert _variance_kernels(mixed) == list(range(9))  # another number of γ
    linear = tuple(PredictionNode(Linear(), 0.2, nodes[0].rows) for _ in range(5))
    assert _variance_kernels(linear) == list(range(5))


def test_interpolated_variances_are_near_the_computed_ones():
    X, y = problem(3, 210)
    nodes = line_of_kernels(5)
    new = np.random.default_rng(1).normal(size=(7, 2))
    few = MixturePredictor(nodes, X, y)
    assert len(few.lagrange) == 2
    mean, variance = few.moments(new)
    first, second = np.zeros(7), np.zeros(7)
    for node in nodes:
        z, own = NodePredictor(node, X, y).latent(new)
        first += node.weight * (z @ node.rows.weight)
        second += node.weight * ((own + node.rows.inverse_zeta + z**2) @ node.rows.weight)
    assert mean == pytest.approx(first, abs=1e-12)
    assert variance == pytest.approx(second - first**2, rel=1e-3)
    all_of_them = MixturePredictor(nodes, X[:199], y[:199])
    assert not all_of_them.lagrange
    assert few.bytes > 0


def test_an_interpolation_is_kept_near_its_neighbours():
    inner = _Interpolation(0.5, np.array([0.0, 1.0, 2.0]))
    assert inner([np.array([0.0]), np.array([1.0]), np.array([4.0])]) == pytest.approx([0.25])  # x²
    assert inner([np.array([0.0]), np.array([0.0]), np.array([80.0])]) == pytest.approx([-0.5])  # would be −10
    assert inner([np.array([0.0]), np.array([0.0]), np.array([-80.0])]) == pytest.approx([0.5])
    outer = _Interpolation(2.5, np.array([0.0, 1.0, 2.0]))
    assert outer([np.array([0.0]), np.array([1.0]), np.array([1.2])]) == pytest.approx([1.0])
    assert outer([np.array([0.0]), np.array([1.0]), np.array([4.0])]) == pytest.approx([4.5])  # 6.25, and half above 4
    below = _Interpolation(-0.5, np.array([0.0, 1.0, 2.0]))
    assert below([np.array([0.0]), np.array([1.0]), np.array([4.0])]) == pytest.approx([0.25])


def test_directions_that_are_dropped_change_no_prediction(monkeypatch):
    X, y = problem(4, 40)
    node = PredictionNode(RBF(8.0), 1.0, Rows(np.array([20.0, 100.0]), np.array([0.5, 0.5]), np.array([1.0, 1.0])))
    new = np.random.default_rng(2).normal(size=(9, 2))
    short = NodePredictor(node, X, y)
    found = short.latent(new)
    monkeypatch.setattr("bayes_lssvm.marginal.predictions._NEGLIGIBLE_VARIANCE", 0.0)
    whole = NodePredictor(node, X, y)
    assert short.spread.vectors.shape[1] < whole.spread.vectors.shape[1] == 39
    assert found[0] == pytest.approx(whole.latent(new)[0], abs=1e-6)
    assert found[1] == pytest.approx(whole.latent(new)[1], abs=1e-10)


def test_variances_stay_above_rounding():
    X, y = problem(5, 30)
    node = PredictionNode(RBF(2.0), 1.0, Rows(np.array([1e-17]), np.ones(1), np.ones(1)))
    predictor = NodePredictor(node, X, y)
    theta = node.kernel(X, X)
    prior = predictor.prior_variances(X, theta)
    shares = predictor.remaining_shares(prior, theta)
    assert shares.min() == 1e-14  # on top of a training point next to nothing remains
    assert np.all(shares <= 1.0)
    assert np.all(prior > 0.0)
    alone = NodePredictor(PredictionNode(Linear(), 1.0, node.rows), X - X.mean(axis=0), y)
    middle = np.zeros((1, 2))
    assert alone.prior_variances(middle, Linear()(middle, X - X.mean(axis=0)))[0, 0, 0] > 0.0


# --- densities -------------------------------------------------------------------------------------------------------


def test_a_density_is_nothing_where_the_prior_or_the_matrix_is():
    X, y = problem(6)
    parts = (Box(-2.0, 2.0), Normal(0.0, 2.0), Normal(0.0, 1.0))
    density = Density(X, y, RBF(1.0), parts)
    off = density.value_and_gradient(np.array([3.0, 0.0, 0.0]))
    assert off == Value(-np.inf, pytest.approx(np.zeros(3)))
    points = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.1, 0.0], [0.1, 0.3, 0.4]])
    ticks = []
    values = density.values(points, tick=lambda: ticks.append(1))
    assert values[0] == -np.inf
    assert [float(v) for v in values[1:]] == pytest.approx(
        [density.value_and_gradient(p).value for p in points[1:]], abs=1e-8
    )
    assert len(ticks) == 2  # kernels
    assert density.values(points[1]) == pytest.approx(values[1:2])


@pytest.mark.parametrize("error", [np.linalg.LinAlgError, FloatingPointError, ValueError])
def test_a_density_is_nothing_where_its_matrix_cannot_be_factorised(error, monkeypatch):
    X, y = problem(6)
    density = Density(X, y, RBF(1.0), (Normal(), Normal(), Normal()))

    def fails(*_, **__):
        raise error("no factor")

    monkeypatch.setattr(type(density.objective), "at", fails)
    value, gradient = density.value_and_gradient(np.array([0.5, 0.2, 0.1]))
    assert value == -np.inf
    np.testing.assert_array_equal(gradient, np.zeros(3))


def test_a_line_search_of_two_stays_where_gamma_can_be():
    X, y = problem(6)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.0)(X), y)
    density = Level2Density(spectrum, (Normal(0.0, 2.0), Normal(0.0, 2.0)))
    mu, zeta = density._within(np.array([0.5, 1.5]))
    assert (np.log(mu), np.log(zeta)) == pytest.approx((0.5, 1.5))
    mu, zeta = density._within(np.array([-900.0, 0.0]))
    assert np.log(mu) == pytest.approx(-300.0)
    assert np.isfinite(zeta)
    mu, zeta = density._within(np.array([900.0, 0.0]))
    assert np.log(mu) == pytest.approx(300.0)
    low, high = np.log(1e-100 / spectrum.lambda_max), np.log(zeta) - np.log(mu)
    assert high == pytest.approx(low)
    assert np.diff(np.log(density._within(np.array([0.0, 5000.0]))))[0] < 710.0


def test_left_out_moments_need_no_weights_that_sum_to_one_and_count_equal_rows():
    X, y = problem(11, 9)
    rows = Rows(np.array([0.3, 0.8]), np.array([0.4, 0.6]), np.array([0.9, 1.2]))
    nodes = [PredictionNode(RBF(s), w, rows) for s, w in ((0.8, 0.7), (1.6, 0.3))]
    other = [PredictionNode(node.kernel, 5.0 * node.weight, rows._replace(weight=3.0 * rows.weight)) for node in nodes]
    plain = left_out_moments(nodes, X, y)
    assert left_out_moments(other, X, y) == (pytest.approx(plain[0]), pytest.approx(plain[1]))
    # a row of weight two is a row that stands twice, of which one is left out
    twice = left_out_moments(nodes, np.vstack([X, X[:1]]), np.append(y, y[0]))
    weighed = left_out_moments(nodes, X, y, np.append(2.0, np.ones(8)))
    assert weighed[0] == pytest.approx(twice[0][:9], abs=1e-9)
    assert weighed[1] == pytest.approx(twice[1][:9], abs=1e-9)


def test_left_out_rows_of_a_wide_kernel_are_those_within_its_bounds():
    """Beyond the bounds of σ the kernel is a multiple of one within them; μ takes the factor."""
    X, y = problem(7, 10)
    for sigma in (1.3, np.exp(12.0)):
        mu, zeta = 0.7, 3.0
        found = left_out(np.log([[mu, zeta, sigma]]), RBF(1.0), X, y)
        if sigma < 10.0:
            K = RBF(float(sigma))(X) / mu + np.eye(10) / zeta
            for i in range(10):
                rest = np.delete(np.arange(10), i)
                A = np.block([[K[np.ix_(rest, rest)], np.ones((9, 1))], [np.ones((1, 9)), 0.0]])
                k = np.append(K[i, rest], 1.0)
                mean = k @ np.linalg.solve(A, np.append(y[rest], 0.0))
                variance = K[i, i] - k @ np.linalg.solve(A, k)
                assert found.log_density[0, i] == pytest.approx(norm.logpdf(y[i], mean, np.sqrt(variance)), abs=1e-9)
        else:  # all is constant but for rounding: the mean of the others, with noise
            means = (y.sum() - y) / 9.0
            expected = norm.logpdf(y, means, np.sqrt((1.0 + 1.0 / 9.0) / zeta))
            assert found.log_density[0] == pytest.approx(expected, abs=1e-3)
            assert found.leverage[0] == pytest.approx(np.full(10, 0.1), abs=1e-3)


def test_shares_of_points_a_thousand_nats_down_stay_in_logs():
    """One point by a cubic, midway between two computed ones, is halved between them; nothing underflows."""
    values = np.array([-2000.0, -1000.0, -900.0, 0.0])
    grid = _Grid(np.array([0.0, 0.5, 1.0, 1.5]), values, np.array([True, True, False, True]), np.full(4, -np.inf))
    half = -900.0 + np.log(0.5)
    expected = np.array([-2000.0, np.logaddexp(-1000.0, half), np.logaddexp(0.0, half)]) + np.log(0.5)
    np.testing.assert_allclose(_log_shares(grid), expected, rtol=1e-14)
