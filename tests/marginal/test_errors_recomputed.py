"""What quadrature declares as its error, tail and rounding: each part put together again from what it is made of."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bayes_lssvm.base.rounding import EPS
from bayes_lssvm.base.rows import group_equal_inputs
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.levels.level2 import log_evidence_gradient
from bayes_lssvm.linalg.reduction import FARTHEST, ROUNDING_ERROR
from bayes_lssvm.linalg.repeats import reduced, repeated_inputs
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction
from bayes_lssvm.marginal.density import Density, Level2Density
from bayes_lssvm.marginal.left_out import integrated, left_out
from bayes_lssvm.marginal.log_mu import DEEP_ENOUGH, LogMu
from bayes_lssvm.marginal.rules import kernel as kernel_rule
from bayes_lssvm.marginal.rules import level2
from bayes_lssvm.marginal.rules.kernel import _may_count, _over_kernel, _Rule, quadrature
from bayes_lssvm.marginal.rules.level2 import (
    _Kernels,
    _ranges,
    _rounding,
    _tr1_and_q2,
    integrate,
    integrate_all,
    share_beyond,
)
from bayes_lssvm.marginal.rules.trapezoid import log_trapezoid
from bayes_lssvm.priors import Box, Flat, HyperPrior, Normal

PRIORS = (Normal(-0.3, 1.2), Normal(0.8, 2.0))


def problem(seed=0, n=14):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(1.5 * X[:, 0]) + 0.4 * rng.normal(size=n)


def with_repeats(seed=0, n=14):
    X, y = problem(seed, n)
    X, y = np.vstack([X, X[:5]]), np.append(y, y[:5] + 0.1)
    return X, y, repeated_inputs(group_equal_inputs(X, y))


# --- rounding ---------------------------------------------------------------------------------------------------------


def test_rounding_of_logarithms_is_of_the_size_of_the_farthest_gamma():
    """N logarithms of numbers as far as e^±u, summed: with a kernel of zeros nothing else is rounded."""
    reduction = SimpleNamespace(n=20, kernel_norm=0.0, n_zeros=0, within=0.0, gamma_max=1e300)
    for u in (np.linspace(-40.0, 7.0, 9), np.linspace(-7.0, 40.0, 9)):
        rows = SimpleNamespace(
            log_integral=-0.5 * u**2,
            log_det=np.zeros(9),
            log_q1=np.zeros(9),
            log_inner=-0.5 * u[:, None] ** 2,
            log_mu=np.zeros((9, 1)),
        )
        assert _rounding(reduction, u, rows) == pytest.approx(ROUNDING_ERROR * 20 * 40.0, abs=0.0)


@pytest.mark.parametrize("repeats", [False, True])
def test_slopes_of_log_det_and_q1_are_the_sums_of_the_spectrum(repeats):
    """tr_1 and q_2 without the zeros that are known, by sums over eigenvalues; beyond γ_max those at γ_max."""
    X, y, rows = with_repeats(3) if repeats else (*problem(3), None)
    K = RBF(1.3)(X if rows is None else rows.X)
    reduction = reduced(K, y, rows)
    kernels = _Kernels((reduction,), *PRIORS)
    u = np.linspace(-3.0, 3.0, 1201)
    (found,) = kernels.rows([0], [u])
    eigenvalues, squares = reduction.components()
    s = np.exp(-u)[:, None]
    tr1, q2 = _tr1_and_q2(reduction, u, found)
    assert tr1[1:-1] == pytest.approx((1.0 / (eigenvalues + s)).sum(axis=1)[1:-1], rel=1e-4)
    assert q2[1:-1] == pytest.approx((squares / (eigenvalues + s) ** 2).sum(axis=1)[1:-1], rel=1e-4)
    top = float(np.log(reduction.gamma_max))
    u = np.linspace(top - 0.1, top + 30.0, 302)
    (found,) = kernels.rows([0], [u])
    tr1, q2 = _tr1_and_q2(reduction, u, found)
    s = 1.0 / reduction.gamma_max
    assert tr1[2:] == pytest.approx((1.0 / (eigenvalues + s)).sum(), rel=1e-6)
    # less exactly with repeats, whose own squares have to be taken off again
    assert q2[2:] == pytest.approx((squares / (eigenvalues + s) ** 2).sum(), rel=1e-2 if repeats else 1e-4)


def rule_of(X, y, weights=None, inner=None):
    return _Rule(X, y, RBF(1.1), PRIORS, inner or integrate_all, False, weights)


@pytest.mark.parametrize("kind", ["plain", "weights", "repeats"])
def test_matrices_that_are_rounded_otherwise_are_the_same_but_for_rounding(kind, monkeypatch):
    """Entries of four matrices are off by at most eps, symmetrically; rows, targets and weights are in one order."""
    X, y = problem(4)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if kind == "weights" else None
    if kind == "repeats":
        X, y, _ = with_repeats(4)
    matrices = []

    def watched(K, *rest):
        matrices.append(K)
        return reduced(K, *rest)

    monkeypatch.setattr(kernel_rule, "reduced", watched)
    seen = []

    def inner(reductions, *rest):
        seen.append(list(reductions))
        offsets = [0.0] if len(reductions) == 1 else [1e-7, -4e-7, 2e-7, 0.0]
        return [SimpleNamespace(log_z=5.0 + offset) for offset in offsets]

    rule = rule_of(X, y, weights, inner)
    rule(np.zeros(1))
    assert rule.rounding(0.0) == pytest.approx(10.0 * 4e-7, rel=1e-6)
    (first,), others = seen
    K, *rounded = matrices
    assert len(others) == len(rounded) == 4
    gamma = np.array([0.1, 1.0, 30.0])
    for other, own in zip(others, rounded, strict=True):
        assert np.array_equal(own, own.T)
        assert not np.array_equal(np.diag(own), np.diag(K))
        change = np.sort(own.ravel()) / np.sort(K.ravel()) - 1.0
        assert 0.4 * EPS < np.abs(change).max() <= 2.0 * EPS
        assert all(
            part == pytest.approx(whole, rel=1e-11)
            for part, whole in zip(other.values(gamma), first.values(gamma), strict=True)
        )
        assert other.log_constant == pytest.approx(first.log_constant, rel=1e-14)
        assert other.n == first.n
    assert len({m.tobytes() for m in rounded}) == 4


def test_rounding_is_measured_where_its_estimate_is_far_more_than_the_tolerance(monkeypatch):
    """What other roundings change then takes the place of the estimate, where it is less."""
    X, _ = problem(6, 40)
    y = np.sin(X[:, 0])
    prior = HyperPrior(Normal(0.0, 0.5), Normal(16.0, 0.5))
    integral = integrate(TridiagonalReduction.from_kernel_matrix(RBF(2.0)(X), y), Normal(0.0, 0.5), Normal(16.0, 0.5))
    assert integral.rounding > 0.0

    def error(measured, tolerance):
        asked = []
        monkeypatch.setattr(_Rule, "rounding", lambda self, at: asked.append(at) or measured)
        found = quadrature(X, y, RBF(2.0), prior, fixed_kernel=True, tolerance=tolerance, progress=False)
        return found.error, len(asked)

    for measured, expected in ((0.3 * integral.rounding, -0.7 * integral.rounding), (7.0 * integral.rounding, 0.0)):
        for tolerance, calls in ((integral.rounding / 9.9, 0), (integral.rounding / 10.1, 1)):
            found, asked = error(measured, tolerance)
            assert asked == calls
            own = expected if calls else 0.0
            assert found == pytest.approx(integral.error + own, rel=1e-6, abs=0.0)
    # where the integral over μ and ζ is an approximation its own error is what counts
    asked = []
    monkeypatch.setattr(_Rule, "rounding", lambda self, at: asked.append(at) or 0.0)
    quadrature(X, y, RBF(2.0), prior, fixed_kernel=True, tolerance=1e-30, inner=integrate_all, progress=False)
    assert not asked


def test_the_tail_of_a_held_kernel_has_what_lies_beyond_the_gamma_that_can_be_computed():
    """But not where the integral over μ and ζ is an approximation that does not go there."""
    X = np.random.default_rng(5).normal(size=(30, 2))
    y, prior = np.sin(X[:, 0]), HyperPrior(Normal(0.0, 300.0), Normal(0.0, 300.0))
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(3.0)(X), y)
    (integral,) = integrate_all([reduction], prior.mu, prior.zeta)
    beyond = share_beyond(reduction, prior.mu, prior.zeta, integral.log_z)
    assert beyond > 1e-3
    found = quadrature(X, y, RBF(3.0), prior, fixed_kernel=True, progress=False)
    assert found.tail == pytest.approx(integral.tail + beyond, rel=1e-6)
    approximate = quadrature(X, y, RBF(3.0), prior, fixed_kernel=True, inner=integrate_all, progress=False)
    assert approximate.tail == pytest.approx(integral.tail, rel=1e-6)


# --- over γ -----------------------------------------------------------------------------------------------------------


def test_how_fine_a_rule_has_to_be_beside_a_cut(monkeypatch):
    """What is cut off is given: the more it may be, the fewer halvings, each to a thousandth of log(1 + it)."""
    X = np.random.default_rng(5).normal(size=(30, 2))
    cut = TridiagonalReduction.from_kernel_matrix(RBF(3.0)(X), np.sin(X[:, 0]))
    priors = Normal(0.0, 300.0), Normal(0.0, 300.0)
    sizes = []
    for beyond in (1e-4, 1e-3, 1.0):
        monkeypatch.setattr(level2, "share_beyond", lambda *_, beyond=beyond: beyond)
        (found,) = integrate_all([cut], *priors)
        best = found.rows.log_gamma[[int(np.argmax(found.rows.log_density))]]
        own = found.error - found.rounding - float(LogMu.of(cut, best, *priors).rule_error()[0])
        assert own < 1e-3 * np.log1p(beyond)
        sizes.append(len(found.rows.log_gamma))
    assert sizes[0] > sizes[1] > sizes[2]


def test_a_rule_is_halved_until_its_error_is_small_beside_that_of_the_cut():
    """A thousandth of log(1 + what may lie beyond), or the tolerance; no halving more, and none less."""
    X = np.random.default_rng(5).normal(size=(30, 2))
    cut = TridiagonalReduction.from_kernel_matrix(RBF(3.0)(X), np.sin(X[:, 0]))
    whole = TridiagonalReduction.from_kernel_matrix(RBF(0.5)(X), np.random.default_rng(6).normal(size=30))
    for reduction, priors, is_cut in (
        (cut, (Normal(0.0, 300.0), Normal(0.0, 300.0)), True),
        (whole, (Normal(0.0, 3.0), Normal(0.0, 3.0)), False),
    ):
        (found,) = integrate_all([reduction], *priors)
        grids = []
        for halvings in range(1, 9):
            (part,) = integrate_all([reduction], *priors, max_halvings=halvings)
            best = part.rows.log_gamma[[int(np.argmax(part.rows.log_density))]]
            own = part.error - part.rounding - float(LogMu.of(reduction, best, *priors).rule_error()[0])
            beyond = share_beyond(reduction, *priors, part.log_z) if is_cut else 0.0
            grids.append((len(part.rows.log_gamma), own, max(1e-9, 1e-3 * np.log1p(beyond))))
        steps = [size for size, *_ in grids]
        number = steps.index(len(found.rows.log_gamma))
        if is_cut:
            assert grids[number][2] > 1e-6
        assert grids[number][1] <= 1.1 * grids[number][2]
        if number > 0:
            assert grids[number - 1][1] > 0.9 * min(1e-9, grids[number - 1][2])
        assert steps[number:] == [steps[number]] * (len(steps) - number)


def test_the_gradient_where_mu_is_far_from_one_and_gamma_beyond_the_roots_of_doubles():
    """γ = e^360, whose square is no number, at μ = e^−92 and at μ = e^92."""
    X = np.random.default_rng(2).normal(size=(5, 2))
    X, y = np.vstack([X, X]), np.tile(np.arange(5.0), 2)
    rows = repeated_inputs(group_equal_inputs(X, y))
    reduction = reduced(RBF(0.3)(rows.X), y, rows)
    density = Level2Density(reduction, (Flat(), Flat()))
    for log_mu in (-92.0, 0.0, 92.0):
        found = density.value_and_gradient(np.array([log_mu, log_mu + 360.0]))
        # five groups of two copies each: ½(N−G) log ζ, and the distinct ones interpolated at this γ
        eigenvalues, squares = reduction.components()
        pull = float(np.exp(log_mu) * (squares / eigenvalues).sum())
        assert found.gradient == pytest.approx([0.5 * (4.0 - pull), 2.5], rel=1e-6)
        near = density.value_and_gradient(np.array([log_mu, log_mu + 3.0]))
        exact = log_evidence_gradient(reduction, np.exp(log_mu), np.exp(log_mu + 3.0))
        assert near.gradient == pytest.approx(exact, rel=1e-9)


# --- over the kernel --------------------------------------------------------------------------------------------------


class MadeRule(SimpleNamespace):
    """A rule over one kernel parameter whose integrand, errors and tails are given."""

    def __call__(self, x):
        values = self.log_likelihood(np.asarray(x, dtype=float)) + self.log_prior(np.asarray(x, dtype=float))
        for at, value in zip(np.ravel(x).tolist(), np.ravel(values).tolist(), strict=True):
            own = SimpleNamespace(log_z=value - float(self.log_prior(at)), error=self.error, tail=self.tail)
            self.found[at] = (None, own, value)
            self.integrals[at] = own
        return values

    def log_prior(self, x):
        return self.parts[2].log_density(np.asarray(x))

    def expect(self, more):
        pass

    def share_beyond(self, position):
        return self.beyond

    def nodes(self, positions, log_weights):
        chosen = [self.found[float(p)] for p in positions]
        return tuple(
            SimpleNamespace(integral=own, log_density=value, log_weight=float(w))
            for (_, own, value), w in zip(chosen, log_weights, strict=True)
        )


def made(log_likelihood, *, error=0.0, tail=0.0, beyond=0.0, bounds=(-6.0, 6.0)):
    return MadeRule(
        log_likelihood=log_likelihood,
        parts=(None, None, Normal(0.0, 3.0)),
        bounds=np.array(bounds),
        error=error,
        tail=tail,
        beyond=beyond,
        floor=0.0,
        found={},
        integrals={},
    )


def two_widths(x):
    return np.logaddexp(-0.5 * ((x - 0.4) / 0.9) ** 2, -2.0 - 0.5 * ((x + 1.0) / 0.25) ** 2)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6, 1e-8])
def test_a_rule_over_the_kernel_meets_its_tolerance_and_covers(tolerance):
    def integrand(x):
        return np.exp(two_widths(x)) * norm.pdf(x, scale=3.0)

    pieces = ((-9.0, -1.0), (-1.0, 0.4), (0.4, 9.0))
    exact = np.log(sum(quad(integrand, *piece, epsabs=0.0, epsrel=1e-12)[0] for piece in pieces))
    found = _over_kernel(made(two_widths), tolerance, exact=True)
    assert abs(found.log_evidence - exact) <= found.error <= tolerance
    assert len(found.nodes) <= found.n_reductions < 2 * len(found.nodes)
    assert len(found.grid) == len(found.log_density)
    share = np.exp(found.log_density - found.log_evidence) * (found.grid[1] - found.grid[0])
    assert share.sum() == pytest.approx(1.0, abs=2.0 * tolerance)


@pytest.mark.parametrize("aliased", [0.0, 7e-5])
def test_a_square_of_changes_is_no_less_than_the_last_change_or_what_is_aliased(aliased, monkeypatch):
    """Two changes that promise no error at all: the rule does not, though half the tolerance is enough."""
    monkeypatch.setattr(kernel_rule, "error_after", lambda *_: 0.0)
    monkeypatch.setattr(kernel_rule, "aliased", lambda _: aliased)
    found = _over_kernel(made(two_widths), 1e-4, exact=True)
    change = abs(log_trapezoid(found.grid[::2], found.log_density[::2]) - found.log_evidence)
    assert max(0.9 * min(change, 0.45e-4), aliased) <= found.error < 1e-4


def test_errors_and_tails_of_the_kernels_count_by_their_shares():
    plain = _over_kernel(made(two_widths), 1e-6, exact=True)
    wrong = _over_kernel(made(two_widths, error=0.25), 1e-6, exact=True)
    assert wrong.error == pytest.approx(plain.error + 0.25, abs=1e-6)
    for tail, beyond in ((0.3, 0.0), (0.3, 0.2), (0.0, 0.2)):
        rule = made(two_widths, tail=tail, beyond=beyond)
        assert _over_kernel(rule, 1e-6, exact=True).tail == pytest.approx(max(tail + beyond, plain.tail), abs=1e-5)
        rule = made(two_widths, tail=tail, beyond=beyond)
        assert _over_kernel(rule, 1e-6, exact=False).tail == pytest.approx(max(tail, plain.tail), abs=1e-5)
    assert np.isfinite(_over_kernel(made(two_widths, tail=np.inf), 1e-6, exact=True).tail)
    # a likelihood that is flat, from kernels that do not know their limits: twice what the prior has beyond the bounds
    cut = _over_kernel(made(lambda x: 0.0 * x, bounds=(-2.0, 4.0)), 1e-6, exact=False)
    inside = norm.cdf(4.0 / 3.0) - norm.cdf(-2.0 / 3.0)
    assert np.exp(cut.log_evidence) == pytest.approx(inside, rel=1e-6)
    assert cut.tail == pytest.approx(2.0 * (1.0 - inside) / inside, rel=1e-3)
    # and from kernels that do: nothing is left out
    followed = _over_kernel(made(lambda x: 0.0 * x, bounds=(-2.0, 4.0)), 1e-6, exact=True)
    assert followed.log_evidence == pytest.approx(0.0, abs=1e-6)
    assert followed.tail < 1e-5


def test_where_the_integrand_falls_the_higher_of_two_points_and_half_a_swing_may_count():
    values = np.array([0.0, -10.0, -20.0, -30.0])
    # half of the change of ten is put on top of −10
    assert _may_count(values, 10.0).tolist() == [True, True, False]
    assert _may_count(values, 16.0).tolist() == [True, True, True]
    assert _may_count(values, 4.9).tolist() == [True, False, False]
    assert _may_count(values[::-1], 10.0).tolist() == [False, True, True]
    assert _may_count(values[::-1], 4.9).tolist() == [False, False, True]


# --- log μ ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("below", [0.8, 1.9, 4.0])
def test_how_deep_a_density_has_to_fall_before_it_is_left(below):
    """As deep as the data's own, e^{½(N−1)(m − e^m)}, but for three nats, or to a trillionth; else it goes on."""
    n = 41
    own = 20.0 * (np.exp(-below) - 1.0 + below)
    wanted = min(28.0, own - 3.0)
    for factor, longer in ((0.999, True), (1.001, False)):
        slope = factor * wanted / below
        stand_in = SimpleNamespace(n=n, log_density=lambda m, slope=slope: slope * m)
        ends = LogMu._deepened(stand_in, np.zeros(1), np.array([below]), np.array([-np.inf]))
        assert (ends[0] > below) == longer
        if longer:  # by factors of 1.3, to where it is deep enough
            number = np.log(ends[0] / below) / np.log(1.3)
            assert number == pytest.approx(round(number))
            assert slope * ends[0] >= DEEP_ENOUGH > slope * ends[0] / 1.3
        held = LogMu._deepened(stand_in, np.zeros(1), np.array([below]), np.array([-0.5 * below]))
        assert held[0] == below  # the support ends before


def test_of_several_ways_down_only_the_short_ones_are_lengthened():
    """Slopes of 2, 8 and 100 nats for each unit of log μ: the first takes many steps of 1.3, the last none."""
    slopes, below = np.array([2.0, 8.0, 100.0]), np.full(3, 1.9)
    stand_in = SimpleNamespace(n=41, log_density=lambda m: slopes * m)
    ends = LogMu._deepened(stand_in, np.zeros(3), below, np.full(3, -np.inf))
    steps = np.log(ends / below) / np.log(1.3)
    assert steps == pytest.approx(np.round(steps))
    assert steps[2] == 0.0
    assert steps[0] > steps[1] > 0.0
    assert np.all(slopes[:2] * ends[:2] >= DEEP_ENOUGH)
    assert np.all(slopes[:2] * ends[:2] / 1.3 < DEEP_ENOUGH)


@pytest.mark.parametrize("n", [4, 30])
def test_quantiles_of_many_are_those_of_each(n):
    """Far into the tails Newton's steps are more, and those near the mode do not end them for the others."""
    priors = Normal(0.0, 3.0), Normal(0.0, 3.0)
    epsilon = np.concatenate([np.linspace(-5.5, 3.5, 10), [0.0]])  # shares near one have fewer digits

    def of(e):
        k = len(e)
        return LogMu(n, np.full(k, 0.4), np.zeros(k), np.full(k, 1.7), *priors).quantile(e)

    alone = np.array([float(of(np.array([e]))[0]) for e in epsilon])
    assert of(epsilon) == pytest.approx(alone, abs=1e-8)  # a step of 1e-7 widths is the last
    assert np.all(np.diff(alone[:-1]) > 0.0)


def test_rounding_counts_where_boxes_end_in_a_point():
    """At both ends of γ log μ has no room between two boxes, and the integrand is nothing there."""
    X, _ = problem(6, 40)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(2.0)(X), np.sin(X[:, 0]))
    found = integrate(spectrum, Box(-1.0, 1.0), Box(15.0, 17.0))
    assert np.isneginf(found.rows.log_density[[0, -1]]).all()
    weights = np.exp(found.log_weights - found.log_z)
    s = np.exp(found.log_mu - found.log_zeta)[:, None]
    tr1 = (1.0 / (spectrum.eigenvalues + s)).sum(axis=1)
    q2 = (spectrum.t**2 / (spectrum.eigenvalues + s) ** 2).sum(axis=1)
    expected = 0.5 * ROUNDING_ERROR * spectrum.kernel_norm * (weights @ (tr1 + np.exp(found.log_mu) * q2))
    assert found.rounding == pytest.approx(expected, rel=0.1, abs=0.0)


# --- where γ and kernels are computed ---------------------------------------------------------------------------------


def test_no_range_of_gamma_goes_where_its_exponential_is_no_number():
    X, y = problem(2)
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(1.0)(X), y)
    for sd in (30.0, 300.0, 3000.0):
        kernels = _Kernels((reduction,), Normal(0.0, sd), Normal(0.0, sd))
        ((low, high),) = _ranges(kernels, [None])
        assert -FARTHEST <= low < high <= FARTHEST
        if sd > 100.0:
            assert low == -FARTHEST  # 36 nats of such a prior would lead farther


def test_a_kernel_with_one_scale_beyond_its_bounds_is_not_factorised():
    """Wide in one direction is enough for a matrix that is constant along it but for rounding."""
    X, y = problem(7, 20)
    density = Density(X, y, ARD((1.0, 1.0)), (Normal(0.0, 3.0),) * 4)
    widest = ARD((1.0, 1.0)).log_bounds(X)[:, 1]
    by_factor = density._by_factor()
    inside = np.append([0.3, 1.0], widest - 0.5)
    assert by_factor(inside) is not None
    for k in (0, 1):
        assert by_factor(inside + np.eye(4)[2 + k]) is None


# --- leave-one-out ----------------------------------------------------------------------------------------------------


def test_left_out_densities_and_leverages_are_those_of_the_dense_system():
    X, y = problem(8, 11)
    points = np.log([[0.7, 3.0, 1.3], [0.2, 5.0, 1.3], [2.0, 0.6, 0.5]])
    found = left_out(points, RBF(1.0), X, y)
    held = left_out(points[:2, :2], RBF(1.3), X, y)
    assert held.log_density == pytest.approx(found.log_density[:2])
    for k, (mu, zeta, sigma) in enumerate(np.exp(points)):
        K = RBF(float(sigma))(X) / mu + np.eye(11) / zeta
        A = np.block([[K, np.ones((11, 1))], [np.ones((1, 11)), np.zeros((1, 1))]])
        hat = (K - np.eye(11) / zeta) @ np.linalg.inv(A)[:11, :11] + np.linalg.inv(A)[11:, :11]
        assert found.leverage[k] == pytest.approx(np.diag(hat), abs=1e-9)
        for i in range(11):
            rest = np.delete(np.arange(11), i)
            B = np.block([[K[np.ix_(rest, rest)], np.ones((10, 1))], [np.ones((1, 10)), np.zeros((1, 1))]])
            k_i = np.append(K[i, rest], 1.0)
            mean = k_i @ np.linalg.solve(B, np.append(y[rest], 0.0))
            sd = np.sqrt(K[i, i] - k_i @ np.linalg.solve(B, k_i))
            assert found.log_density[k, i] == pytest.approx(norm.logpdf(y[i], mean, sd), abs=1e-9)
    weights = np.array([2.0, 5.0, 1.0])
    expected = -np.log((weights / 8.0) @ np.exp(-found.log_density))
    assert integrated(found.log_density, weights) == pytest.approx(expected, abs=1e-12)


def test_the_spectrum_and_the_tridiagonal_form_declare_the_same_error():
    X, y = problem(9, 20)
    K = RBF(0.9)(X)
    spectral = integrate(CentredSpectrum.from_kernel_matrix(K, y), *PRIORS)
    tridiagonal = integrate(TridiagonalReduction.from_kernel_matrix(K, y), *PRIORS)
    assert spectral.log_z == pytest.approx(tridiagonal.log_z, abs=1e-11)
    assert spectral.rounding == pytest.approx(tridiagonal.rounding, rel=0.1, abs=0.0)
