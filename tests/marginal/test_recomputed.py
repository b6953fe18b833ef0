"""The parts of quadrature, each against an integral, a root or a derivative found in another way."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, quad
from scipy.optimize import minimize_scalar
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

from bayes_lssvm.kernels import RBF
from bayes_lssvm.linalg.reduction import ROUNDING_ERROR
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction
from bayes_lssvm.marginal.density import Density, Level2Density
from bayes_lssvm.marginal.left_out import left_out_moments
from bayes_lssvm.marginal.log_mu import LogMu, log_sum_exp, support_of_log_gamma
from bayes_lssvm.marginal.predictions import PredictionNode, Rows, rows_of_gaussian
from bayes_lssvm.marginal.rules.kernel import _Grid, _halved, _log_shares, _scan
from bayes_lssvm.marginal.rules.lattice import integrate_on_lattice
from bayes_lssvm.marginal.rules.level2 import integrate, integrate_all
from bayes_lssvm.marginal.rules.stretch import Stretch
from bayes_lssvm.marginal.rules.transport import GaussianConditional, along_a_line, among_kernels, inverse_cdf
from bayes_lssvm.marginal.rules.trapezoid import error_after, log_trapezoid
from bayes_lssvm.priors import Box, Normal

PRIORS = (Normal(-0.3, 1.2), Normal(0.8, 2.0))


def problem(seed=0, n=14, repeated=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if repeated:
        X[:3] = X[3:6]
    return X, np.sin(1.5 * X[:, 0]) + 0.4 * rng.normal(size=n)


def dense(kernel, X, y, log_mu, log_zeta):
    """log p(D | μ, ζ): contrasts are Normal with covariance TᵀKT/μ + I/ζ, and the flat bias leaves 1/√N."""
    n = len(y)
    T = np.linalg.svd(np.eye(n) - 1.0 / n)[0][:, : n - 1]
    covariance = T.T @ kernel(X) @ T * np.exp(-log_mu) + np.eye(n - 1) * np.exp(-log_zeta)
    return float(multivariate_normal(np.zeros(n - 1), covariance).logpdf(T.T @ y) - 0.5 * np.log(n))


def joint(kernel, X, y, x, priors=PRIORS):
    own = sum(float(p.log_density(v)) for p, v in zip(priors, x, strict=True))
    return dense(kernel, X, y, x[0], x[1]) + own


# --- log μ given γ ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[9, 60])
def conditional(request):
    X, y = problem(1, request.param)
    u = np.array([-2.0, 0.5, 3.0])
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.1)(X), y)
    return LogMu.of(spectrum, u, *PRIORS), [lambda m, v=v: joint(RBF(1.1), X, y, (m, m + v)) for v in u]


def test_the_density_of_log_mu_and_its_peak(conditional):
    log_mu, exact = conditional
    points = np.array([[-1.0, 0.2], [0.3, 1.0], [-2.0, 0.0]])
    expected = [[f(m) for m in row] for f, row in zip(exact, points, strict=True)]
    assert log_mu.log_density(points) == pytest.approx(np.array(expected), abs=1e-9)
    for i, f in enumerate(exact):
        best = minimize_scalar(lambda m, f=f: -f(m), bounds=(-8, 8), options={"xatol": 1e-10})
        h = 1e-3
        bend = (f(best.x + h) - 2.0 * f(best.x) + f(best.x - h)) / h**2
        assert log_mu.peak.mode[i] == pytest.approx(best.x, abs=1e-3)
        assert log_mu.peak.width[i] == pytest.approx((-bend) ** -0.5, rel=1e-3)
        assert log_mu.log_height()[i] == pytest.approx(-best.fun + np.log((-bend) ** -0.5), abs=1e-3)
        for end in (log_mu.peak.low[i], log_mu.peak.high[i]):
            assert f(end) < -best.fun - 20.0  # nothing that counts is cut off


def test_the_integral_over_log_mu_and_its_quantiles(conditional):
    log_mu, _ = conditional
    epsilon = np.array([-1.5, 0.2, 2.0])
    quantiles, coarse = log_mu.quantile(epsilon), log_mu.quantile_on_grid(ndtr(epsilon))
    m = np.linspace(-14.0, 8.0, 200_001)
    logs = log_mu.log_density(np.tile(m, (3, 1)))  # which the test before has checked
    for i, top in enumerate(logs.max(axis=1)):
        area = cumulative_simpson(np.exp(logs[i] - top), x=m, initial=0.0)
        assert log_mu.log_integral()[i] == pytest.approx(top + np.log(area[-1]), abs=1e-8)
        expected = np.interp(ndtr(epsilon[i]), area / area[-1], m)
        assert quantiles[i] == pytest.approx(expected, abs=1e-5)
        assert coarse[i] == pytest.approx(expected, abs=3e-3 * log_mu.peak.width[i])
    assert np.all(log_mu.rule_error() < 1e-8)


def test_supports_of_boxes():
    mu, zeta = Box(-1.0, 2.0), Box(0.0, 5.0)
    assert support_of_log_gamma(mu, zeta) == (-2.0, 6.0)
    X, y = problem(2)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.1)(X), y)
    u = np.array([-1.5, 0.5, 4.5])
    found = LogMu.of(spectrum, u, mu, zeta)
    low, high = np.maximum(-1.0, -u), np.minimum(2.0, 5.0 - u)
    assert np.all(found.peak.low >= low - 1e-12)
    assert np.all(found.peak.high <= high + 1e-12)
    for i, v in enumerate(u):
        area = quad(lambda m, v=v: np.exp(joint(RBF(1.1), X, y, (m, m + v), (mu, zeta))), low[i], high[i])[0]
        assert found.log_integral()[i] == pytest.approx(np.log(area), abs=1e-6)


def test_logs_of_sums():
    x = np.array([[0.3, -1.0, 2.0], [-np.inf, -np.inf, -np.inf], [-900.0, -901.0, -902.0]])
    assert log_sum_exp(x)[0] == pytest.approx(np.log(np.exp(x[0]).sum()))
    assert log_sum_exp(x)[1] == -np.inf
    assert log_sum_exp(x)[2] == pytest.approx(-900.0 + np.log(1.0 + np.exp(-1.0) + np.exp(-2.0)))


def test_the_integral_over_both():
    X, y = problem(1, 9)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.1)(X), y)
    found = integrate(spectrum, *PRIORS)
    grid = np.arange(-14.0, 14.0, 0.1)
    pairs = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = Density(X, y, RBF(1.1), PRIORS).values(pairs).reshape(len(grid), -1)
    share = np.exp(logs - logs.max())
    assert found.log_z == pytest.approx(logs.max() + np.log(share.sum() * 0.01), abs=1e-7)
    weights = np.exp(found.log_weights - found.log_z)
    assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    share = share / share.sum()
    assert weights @ found.log_mu == pytest.approx(share.sum(axis=1) @ grid, abs=1e-6)
    assert weights @ found.log_zeta == pytest.approx(share.sum(axis=0) @ grid, abs=1e-6)
    assert found.error < 1e-8
    assert found.tail < 1e-12
    q1 = spectrum.values(np.exp(found.rows.log_gamma))[1]
    assert np.exp(found.rows.log_q1) == pytest.approx(q1, rel=1e-12)
    density = np.exp(found.rows.log_density - found.log_z)
    assert np.trapezoid(density, found.rows.log_gamma) == pytest.approx(1.0, abs=1e-9)


# --- densities of all hyperparameters --------------------------------------------------------------------------------


@pytest.mark.parametrize("repeated", [False, True])
def test_values_gradients_and_hessians_of_the_joint_density(repeated):
    X, y = problem(3, 14, repeated)
    parts = (*PRIORS, Normal(0.2, 0.8))
    density = Density(X, y, RBF(1.0), parts)
    x = np.array([0.3, 1.2, -0.2])

    def value(x):
        return joint(RBF(float(np.exp(x[2]))), X, y, x[:2]) + float(parts[2].log_density(x[2]))

    found = density.value_and_gradient(x)
    assert found.value == pytest.approx(value(x), abs=1e-9)
    points = np.stack([x, x + 0.1, [0.0, 0.0, -0.2]])
    assert density.values(points) == pytest.approx([value(p) for p in points], abs=1e-9)
    h, eye = 1e-4, np.eye(3)
    gradient = [(value(x + h * e) - value(x - h * e)) / (2 * h) for e in eye]
    assert found.gradient == pytest.approx(np.array(gradient), abs=1e-6)
    h = 1e-3
    hessian = [
        [sum(i * j * value(x + h * (i * a + j * b)) for i in (1, -1) for j in (1, -1)) / (4 * h**2) for b in eye]
        for a in eye
    ]
    assert density.hessian(x) == pytest.approx(np.array(hessian), abs=1e-4)
    assert density.names == ("log_mu", "log_zeta", "log_sigma")
    assert (density.dimension, density.kernel_is_free) == (3, True)


def test_values_gradients_and_hessians_of_two():
    X, y = problem(4)
    density = Level2Density(CentredSpectrum.from_kernel_matrix(RBF(0.9)(X), y), PRIORS)
    x, h, eye = np.array([-0.4, 0.9]), 1e-3, np.eye(2)

    def value(x):
        return joint(RBF(0.9), X, y, x)

    found = density.value_and_gradient(x)
    assert found.value == pytest.approx(value(x), abs=1e-9)
    gradient = [(value(x + h * e) - value(x - h * e)) / (2 * h) for e in eye]
    assert found.gradient == pytest.approx(np.array(gradient), abs=1e-5)
    hessian = [
        [sum(i * j * value(x + h * (i * a + j * b)) for i in (1, -1) for j in (1, -1)) / (4 * h**2) for b in eye]
        for a in eye
    ]
    assert density.hessian(x) == pytest.approx(np.array(hessian), abs=1e-4)


# --- rules -----------------------------------------------------------------------------------------------------------


def test_the_trapezoidal_rule_is_the_one_of_numpy():
    x = np.linspace(-2.0, 3.0, 41)
    logs = -0.5 * x**2 + 0.3 * x
    assert log_trapezoid(x, logs) == pytest.approx(np.log(np.trapezoid(np.exp(logs), x)), abs=1e-12)


def test_errors_after_halvings():
    assert error_after(1e-4, 2e-2) == pytest.approx(1e-7)  # changes that square: ten times the next square
    assert error_after(1e-4, 5e-3) == 1e-4  # changes that shrink by a share
    assert error_after(0.05, 1.0) == pytest.approx(0.025)
    assert error_after(0.2, 1.0) == 0.2


@pytest.mark.parametrize("stretch", [Stretch(), Stretch(-1.0), Stretch(high=2.0), Stretch(-1.0, 2.0)])
def test_the_stretched_coordinate_and_its_slope(stretch):
    for t in (-9.0, -1.0, 0.3, 2.0, 7.5):
        up = 2.0 * np.exp((t - stretch.high) / 2.0) if np.isfinite(stretch.high) else 0.0
        down = 2.0 * np.exp(-(t - stretch.low) / 2.0) if np.isfinite(stretch.low) else 0.0
        assert float(stretch(np.asarray(t))) == pytest.approx(t + up - down, rel=1e-12)
        assert float(stretch.log_slope(np.asarray(t))) == pytest.approx(np.log(1.0 + 0.5 * up + 0.5 * down), abs=1e-12)
        assert stretch.inverse(float(stretch(np.asarray(t)))) == pytest.approx(t, abs=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_a_lattice_over_two_hills(d):
    far = np.full(d, 7.0)

    def log_density(x):
        return float(np.logaddexp(norm.logpdf(x).sum(), np.log(0.3) + norm.logpdf(x - far, scale=0.8).sum()))

    found = integrate_on_lattice(log_density, np.zeros(d), 1.1 * np.eye(d), tolerance=1e-6, others=(far,))
    assert found.log_integral == pytest.approx(np.log(1.3), abs=1e-5)
    assert abs(found.log_integral - np.log(1.3)) <= found.error + 1e-6
    assert found.points.shape == (found.n_values, d)
    assert found.log_values == pytest.approx([log_density(x) for x in found.points])
    share = np.exp(found.log_values - found.log_values.max())
    assert share @ found.points[:, 0] / share.sum() == pytest.approx(0.3 * 7.0 / 1.3, abs=1e-4)
    alone = integrate_on_lattice(log_density, np.zeros(d), 1.1 * np.eye(d), tolerance=1e-3)
    assert alone.n_values < found.n_values


def test_a_lattice_takes_short_steps_across_a_ridge_and_long_ones_along_it():
    """A narrow ridge on a wide plain, with axes that fit neither: what an ARD kernel's scales have without signal."""

    def log_density(x):
        ridge = norm.logpdf(x[0], -5.2, 0.4) + norm.logpdf(x[1], 2.6, 2.0)
        return float(np.logaddexp(ridge, np.log(0.5) + norm.logpdf(x, 1.8, 2.2).sum()))

    rule = {"tolerance": 5e-4, "depth": 0.6, "smooth": False, "coarsest": 0.6}
    for scale in (np.diag([2.6, 2.3]), np.array([[2.6, 0.0], [-0.9, 2.1]])):
        found = integrate_on_lattice(log_density, np.array([-5.2, 2.6]), scale, most=6000, **rule)
        assert abs(found.log_integral - np.log(1.5)) < found.error + 5e-5 < 1e-3
        across, along = (np.diff(np.unique(np.linalg.solve(scale, found.points.T)[i].round(9))).min() for i in (0, 1))
        assert across < along
        few = integrate_on_lattice(log_density, np.array([-5.2, 2.6]), scale, most=300, **rule)
        assert few.n_values <= 300
        assert abs(few.log_integral - np.log(1.5)) < few.error


def test_the_error_of_a_lattice_over_corners_covers():
    for centre in (0.0, 0.3, 0.77):
        for most in (40, 80, 160):
            found = integrate_on_lattice(
                lambda x, centre=centre: -abs(float(x[0]) - centre),
                np.zeros(1),
                np.eye(1),
                tolerance=1e-9,
                most=most,
                smooth=False,
            )
            assert abs(found.log_integral - np.log(2.0)) < found.error


def test_quantiles_of_a_density_on_a_grid():
    x = np.linspace(-9.0, 9.0, 13)  # a cubic through log densities of a Gaussian is exact, however few they are
    q = np.array([0.01, 0.3, 0.5, 0.9, 0.999])
    assert inverse_cdf(x, norm.logpdf(x) + 4.0)(q) == pytest.approx(norm.ppf(q), abs=2e-3)


def test_an_uneven_grid_has_a_gap_where_nothing_is():
    x = np.array([-1.0, -0.5, 0.0, 0.5, 20.0, 20.5, 21.0])
    found = inverse_cdf(x, np.zeros(7))(np.array([0.0, 0.5, 1.0]))
    assert found == pytest.approx([-1.0, 10.0, 21.0], abs=0.02)
    assert np.all(inverse_cdf(np.array([3.0, 4.0]), np.array([0.0, -np.inf]))(np.array([0.1, 0.9])) == 3.0)


def test_rows_of_a_gaussian_have_its_moments():
    """E[1/μ], E[μ/ζ] and E[(1/μ)(μ/ζ)] of a lognormal pair."""
    mean, covariance = np.array([0.4, 1.1]), np.array([[0.09, -0.03], [-0.03, 0.05]])
    found = rows_of_gaussian(mean, covariance)
    assert found.weight.sum() == pytest.approx(1.0)
    for direction, value in (
        ([-1.0, 0.0], found.inverse_mu),
        ([1.0, -1.0], found.s),
        ([0.0, -1.0], found.inverse_mu * found.s),
        ([-2.0, 0.0], found.inverse_mu**2),
    ):
        a = np.array(direction)
        assert found.weight @ value == pytest.approx(np.exp(a @ mean + 0.5 * a @ covariance @ a), rel=1e-3)


def test_what_rounding_adds_to_the_declared_error():
    """The mean of ½δ(tr_1 + μq_2) over the posterior, and eps for each logarithm, where the rule itself is exact."""
    X, _ = problem(6, 40)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(2.0)(X), np.sin(X[:, 0]))
    found = integrate(spectrum, Normal(0.0, 0.5), Normal(16.0, 0.5))
    weights = np.exp(found.log_weights - found.log_z)
    s = np.exp(found.log_mu - found.log_zeta)[:, None]
    tr1 = (1.0 / (spectrum.eigenvalues + s)).sum(axis=1)
    q2 = (spectrum.t**2 / (spectrum.eigenvalues + s) ** 2).sum(axis=1)
    rounding = 0.5 * ROUNDING_ERROR * spectrum.kernel_norm * (weights @ (tr1 + np.exp(found.log_mu) * q2))
    assert found.error == pytest.approx(rounding, rel=0.1)


def test_kernels_are_drawn_by_their_weights():
    cells = tuple(GaussianConditional((float(k), -float(k)), (0.1, 0.2)) for k in range(3))
    draw = among_kernels(np.array([[10.0], [11.0], [12.0]]), np.array([0.2, 0.5, 0.3]), cells)
    found = draw(np.array([[0.5, 0.5, 0.1], [0.5, 0.5, 0.2], [norm.cdf(1.0), norm.cdf(-1.0), 0.9]]))
    assert found[0] == pytest.approx([0.0, 0.0, 10.0])
    assert found[1] == pytest.approx([1.0, -1.0, 11.0])
    assert found[2] == pytest.approx([2.1, -2.2, 12.0])


def test_left_out_moments_of_a_mixture():
    """Two kernels, each with two values of γ: means and variances of Gaussians that models of the others give."""
    X, y = problem(5, 10)
    rows = [Rows(np.array([0.2, 0.7]), np.array([0.25, 0.75]), np.array([1.5, 0.8])) for _ in range(2)]
    nodes = [PredictionNode(RBF(s), w, r) for s, w, r in zip((0.8, 1.7), (0.6, 0.4), rows, strict=True)]
    mean, variance = left_out_moments(nodes, X, y)
    first, second = np.zeros(10), np.zeros(10)
    for node, share in zip(nodes, (0.6, 0.4), strict=True):
        for s, weight, inverse_mu in zip(*rows[0], strict=True):
            for i in range(10):
                rest = np.delete(np.arange(10), i)
                A = np.block([[node.kernel(X[rest]) + s * np.eye(9), np.ones((9, 1))], [np.ones((1, 9)), 0.0]])
                k = np.append(node.kernel(X[i : i + 1], X[rest])[0], 1.0)
                z = float(k @ np.linalg.solve(A, np.append(y[rest], 0.0)))
                v = inverse_mu * (1.0 + s - float(k @ np.linalg.solve(A, k)))
                first[i] += share * weight * z
                second[i] += share * weight * (z**2 + v)
    assert mean == pytest.approx(first, abs=1e-9)
    assert variance == pytest.approx(second - first**2, abs=1e-9)


# --- where a rule looks ----------------------------------------------------------------------------------------------


def test_a_line_takes_the_two_kernels_on_either_side():
    """Means of neighbours are interpolated by the cubic through two kernels below and two above."""
    positions = np.linspace(-2.0, 2.0, 9)
    means = np.sin(2.0 * positions)
    conditionals = tuple(GaussianConditional((m, 2.0 * m), (1.0, 1.0)) for m in means.tolist())
    draw = along_a_line(positions, conditionals, positions, norm.logpdf(positions), Stretch())
    found = draw(np.column_stack([np.full(200, 0.5), np.full(200, 0.5), np.linspace(0.03, 0.97, 200)]))
    checked = 0
    for log_mu, log_zeta, t in found:
        k = int(np.searchsorted(positions, t, side="right")) - 1
        if 1 <= k <= len(positions) - 3:
            around = slice(k - 1, k + 3)
            cubic = np.polynomial.Polynomial.fit(positions[around], means[around], 3)
            assert (log_mu, log_zeta) == pytest.approx((cubic(t), 2.0 * cubic(t)), abs=1e-9)
            checked += 1
    assert checked > 150


class FakeRule(SimpleNamespace):
    """A log likelihood of one kernel parameter and its prior, as the scan of a rule sees them."""

    def __call__(self, x):
        return self.log_likelihood(x) + self.log_prior(x)

    def log_prior(self, x):
        return self.parts[2].log_density(x)

    def expect(self, more):
        pass


def test_a_scan_keeps_what_counts_and_one_step_on_either_side():
    rule = FakeRule(
        log_likelihood=lambda x: -40.0 * (x - 0.3) ** 2, parts=(None, None, Normal(0.0, 3.0)), bounds=(-5.0, 5.0)
    )
    (t, values, *_), _ = _scan(rule, 20.0, True)
    assert t[0] > -2.0
    assert t[-1] < 2.5
    assert values[1:-1].min() > values.max() - 20.0 >= max(values[0], values[-1])


def test_a_scan_goes_as_far_as_the_prior_where_the_likelihood_is_flat():
    for sd in (3.0, 0.8):
        rule = FakeRule(log_likelihood=lambda x: 7.0, parts=(None, None, Normal(0.0, sd)), bounds=(-0.2, 0.2))
        grid, stretch = _scan(rule, 20.0, True)
        # the prior is 20 nats below its largest value at √40 standard deviations
        for end in (float(stretch(grid.t[-1])), -float(stretch(grid.t[0]))):
            assert end == pytest.approx(np.sqrt(40.0) * sd, abs=1.6)


@pytest.mark.parametrize("place", [-3.0, -2.6, 1.7, 2.2, 3.4])
def test_a_scan_sees_a_second_mode_on_the_slope_of_the_first(place):
    """A slope of 60 nats, and a mode on it that is no wider than the scan's last step, 6 nats below the first."""

    def two_modes(x):
        first = -100.0 * (np.sqrt(1.0 + (x - 0.2) ** 2) - 1.0)
        return np.logaddexp(first, -6.0 - 30.0 * np.abs(x - place) ** 1.5)

    rule = FakeRule(log_likelihood=two_modes, parts=(None, None, Normal(0.0, 3.0)), bounds=(-6.0, 6.0))
    (t, values, *_), _ = _scan(rule, 20.0, True)
    assert t[0] < place < t[-1]
    assert values[np.abs(t - place).argmin()] > values.max() - 20.0


def test_points_by_cubics_keep_the_integral_and_count_in_the_doubt():
    """Only the peak is computed: the shares sum to the integral, and the doubt covers what cubics err by."""
    rule = FakeRule(log_likelihood=lambda x: -9.0 * np.sqrt(1.0 + x**2), parts=(None, None, Normal(0.0, 3.0)))
    t = np.arange(-5.0, 5.01, 0.5)
    values, none = rule(t), np.full(len(t), -np.inf)
    grid = _halved(rule, Stretch(), _Grid(t, values, np.ones(len(t), dtype=bool), none), 14.0)
    drawn = ~grid.computed
    assert 0 < drawn.sum() < len(t) - 1
    assert float(log_sum_exp(_log_shares(grid))) == pytest.approx(log_trapezoid(grid.t, grid.values), abs=1e-7)
    wrong = np.abs(np.exp(grid.values[drawn]) - np.exp(rule(grid.t[drawn])))
    assert np.all(wrong <= np.exp(grid.doubt[drawn]))
    assert np.all(grid.doubt[grid.computed] == -np.inf)


def test_kernels_integrated_together_are_as_each_alone():
    """Ranges of log γ from elsewhere, right ones and wrong ones, change nothing either."""
    X, y = problem(4, n=40)
    reductions = [TridiagonalReduction.from_kernel_matrix(RBF(s)(X), y) for s in (0.05, 0.7, 2.0, 40.0)]
    alone = [integrate(reduction, *PRIORS) for reduction in reductions]
    ends = [tuple(found.rows.log_gamma[[0, -1]].tolist()) for found in alone]
    near = [None, (ends[1][0] - 3.0, ends[1][1] + 2.0), (-1.0, 1.0), (200.0, 300.0)]
    for together in (integrate_all(reductions, *PRIORS), integrate_all(reductions, *PRIORS, near)):
        for one, found in zip(alone, together, strict=True):
            assert found.log_z == pytest.approx(one.log_z, abs=3e-9)


def test_the_error_of_level_2_has_that_of_the_rule_over_log_mu():
    """Of four points, too few for nodes of log μ that are exact to rounding: nearly all of the error is that."""
    X, y = problem(3, n=4)
    reduction = CentredSpectrum.from_kernel_matrix(RBF(1.0)(X), y)
    found = integrate(reduction, *PRIORS)
    best = found.rows[0][[int(np.argmax(found.rows[1]))]]
    own = float(LogMu.of(reduction, best, *PRIORS).rule_error()[0])
    assert own > 0.0
    assert found.error > own


@pytest.mark.parametrize(("repeats", "weighted"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_point_alone_has_the_density_that_it_has_beside_others(repeats, weighted):
    """A kernel with one point is factorised, one with two is reduced; noise-free ends and wide kernels are reduced."""
    X, y = problem(5, n=30)
    X = np.vstack([X, X[:6]]) if repeats else X
    y = np.append(y, y[:6] + 0.1) if repeats else y
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    density = Density(X, y, RBF(1.0), (Normal(0.0, 3.0),) * 3, weights)
    points = np.array([[0.3, 1.0, 0.2], [-2.0, 3.0, 1.5], [1.0, -1.0, -4.0], [0.0, 25.0, 0.5], [0.0, 1.0, 30.0]])
    beside = points + np.array([1.0, 0.0, 0.0])
    together = density.values(np.vstack([points, beside]))[: len(points)]
    assert density.values(points) == pytest.approx(together, abs=1e-8)
    factorised = [density._by_factor()(x) is not None for x in points]
    assert factorised == [True, True, True, False, False]
