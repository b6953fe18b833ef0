"""Levels 2 and 3 recomputed from dense matrices: what no other test looks at from outside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import multivariate_normal

from bayes_lssvm.kernels import ARD, RBF, Linear, Polynomial
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.levels.level2 import _interior_modes, at_gamma, j4, log_evidence, log_evidences, optimise
from bayes_lssvm.levels.level2_posterior import most_probable
from bayes_lssvm.levels.level3 import log_occam, mackay_error_bars, occam_slope
from bayes_lssvm.levels.objective import BOUNDARY_MARGIN, Objective, derivative_coefficients
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.priors import Box, Gamma, Normal


def problem(seed=0, n=18):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(1.5 * X[:, 0]) + 0.4 * rng.normal(size=n) + 0.7


def dense_log_evidence(kernel, X, y, mu, zeta):
    """Contrasts of y are Normal with covariance TᵀKT/μ + I/ζ; the flat bias leaves 1/√N."""
    n = len(y)
    T = np.linalg.svd(np.eye(n) - 1.0 / n)[0][:, : n - 1]
    covariance = T.T @ kernel(X) @ T / mu + np.eye(n - 1) / zeta
    return float(multivariate_normal(np.zeros(n - 1), covariance).logpdf(T.T @ y) - 0.5 * np.log(n))


def test_many_pairs_are_the_pairs_one_by_one():
    X, y = problem()
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.2)(X), y)
    rng = np.random.default_rng(1)
    log_mu, log_zeta = rng.normal(size=(2, 2100))
    found = log_evidences(spectrum, log_mu, log_zeta)
    assert found.shape == (2100,)
    for i in (0, 999, 1000, 1001, 1999, 2000, 2099):
        expected = dense_log_evidence(RBF(1.2), X, y, np.exp(log_mu[i]), np.exp(log_zeta[i]))
        assert found[i] == pytest.approx(expected, abs=1e-9)
    beyond = np.log(spectrum.gamma_max) + np.array([10.0, 13.0])  # γ held, μ as given
    assert np.ptp(log_evidences(spectrum, np.zeros(2), beyond)) < 1e-6


def test_evidence_given_gamma_has_the_best_mu():
    X, y = problem(2)
    kernel = RBF(0.9)
    found = Objective(X, y).joint(kernel, np.log(7.0))
    best = minimize_scalar(lambda u: -dense_log_evidence(kernel, X, y, np.exp(u), 7.0 * np.exp(u)), bounds=(-5, 5))
    assert found.value == pytest.approx(-best.fun, abs=1e-6)
    ends = [Objective(X, y).joint(kernel, np.log(7.0) + h).value for h in (1e-4, -1e-4)]
    assert found.gradient[0] == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=1e-6)


def test_level_2_at_a_given_gamma_and_mu():
    X, y = problem(3)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.1)(X), y)
    best = at_gamma(spectrum, 4.0)
    assert best.mu == pytest.approx(minimise_mu(spectrum, 4.0), rel=1e-5)
    assert best.log_gain == pytest.approx(log_evidence(spectrum, best.mu, best.zeta) - noise_alone(y), abs=1e-8)
    assert best.modes == ((4.0, pytest.approx(j4(spectrum, 4.0)[0])),)
    given = at_gamma(spectrum, 4.0, 0.3)
    assert (given.mu, given.zeta) == pytest.approx((0.3, 1.2))
    assert given.log_evidence == pytest.approx(dense_log_evidence(RBF(1.1), X, y, 0.3, 1.2), abs=1e-9)
    assert at_gamma(spectrum, 10.0 * spectrum.gamma_max).status == "interpolation"


def minimise_mu(spectrum, gamma):
    found = minimize_scalar(lambda u: -log_evidence(spectrum, np.exp(u), gamma * np.exp(u)), bounds=(-8, 8))
    return float(np.exp(found.x))


def noise_alone(y):
    """The largest evidence of a model without inputs: N − 1 contrasts of one variance."""
    n, s2 = len(y), np.var(y, ddof=1)
    return -0.5 * (n - 1) * (np.log(2.0 * np.pi * s2) + 1.0) - 0.5 * np.log(n)


def test_the_gain_is_over_noise_alone():
    X, y = problem(4, 30)
    found = optimise(CentredSpectrum.from_kernel_matrix(RBF(1.0)(X), y))
    assert found.status == "interior"
    assert found.log_gain == pytest.approx(found.log_evidence - noise_alone(y), abs=1e-8)


@pytest.mark.parametrize("priors", [(Normal(0.0, 1.5), Normal(1.0, 0.7)), (Normal(-1.0, 3.0), Box(-6.0, 6.0))])
def test_laplace_at_the_mode_with_priors(priors):
    X, y = problem(5, 25)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.3)(X), y)

    def cost(x):
        own = sum(float(p.log_density(v)) for p, v in zip(priors, x, strict=True))
        return -dense_log_evidence(RBF(1.3), X, y, *np.exp(x)) - own

    best = minimize(cost, [0.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 2000})
    found = most_probable(spectrum, *priors)
    assert found.has_mode
    assert found.log_density == pytest.approx(-best.fun, abs=1e-9)
    assert np.log([found.level2.mu, found.level2.zeta]) == pytest.approx(best.x, abs=1e-4)
    h, eye = 1e-3, np.eye(2)
    hessian = [
        [
            sum(i * j * cost(best.x + h * (i * eye[a] + j * eye[b])) for i in (1, -1) for j in (1, -1)) / (4 * h**2)
            for b in range(2)
        ]
        for a in range(2)
    ]
    assert found.precision == pytest.approx(np.array(hessian), abs=1e-4)
    volume = np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(np.array(hessian))[1]
    assert found.log_evidence == pytest.approx(-best.fun + volume, abs=1e-4)


def test_the_slope_of_the_occam_factor_and_its_caps():
    X, y = problem(6, 40)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.0)(X), y)
    one, two = (at_gamma(spectrum, g) for g in (3.0, 3.0003))
    for widths in ((9.0, 9.0), (1e-3, 9.0), (9.0, 1e-3), (1e-3, 1e-3)):
        difference = log_occam(two, widths).total - log_occam(one, widths).total
        assert occam_slope(one, widths) * (two.gamma_eff - one.gamma_eff) == pytest.approx(difference, rel=1e-3)
    bars = mackay_error_bars(one)
    parts = log_occam(one, (2.0, 5.0))
    assert parts.log_mu == pytest.approx(np.log(bars.log_mu / 2.0))
    assert parts.log_zeta == pytest.approx(np.log(bars.log_zeta / 5.0))
    assert not parts.capped
    assert log_occam(one, (9.0, 1e-3)) == (pytest.approx(np.log(bars.log_mu / 9.0)), 0.0, True)


def test_an_end_of_the_range_is_behind_by_the_margin():
    rng = np.random.default_rng(7)
    X, noise = rng.normal(size=(20, 2)), rng.normal(size=20)
    found = Objective(X, noise, occam=False).evaluate(Linear())
    assert found.level2.at_boundary
    assert found.rank == pytest.approx(found.value - BOUNDARY_MARGIN)
    inside = Objective(*problem(8, 25), occam=False).evaluate(RBF(1.0))
    assert inside.rank == inside.value


def test_left_out_moments_of_the_dual_posterior():
    X, y = problem(9, 12)
    kernel, mu, zeta = RBF(0.8), 0.6, 3.0
    posterior = DualPosterior.from_kernel_matrix(kernel, X, kernel(X), y, mu=mu, zeta=zeta)
    outputs, variances = posterior.left_out_moments(y)
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        other = DualPosterior.from_kernel_matrix(kernel, X[rest], kernel(X[rest]), y[rest], mu=mu, zeta=zeta)
        mean, variance = other.latent_moments(X[i : i + 1])
        assert outputs[i] == pytest.approx(mean[0], abs=1e-9)
        assert variances[i] == pytest.approx(variance[0], abs=1e-9)


@pytest.mark.parametrize("weights", [None, "counts", "precisions"])
@pytest.mark.parametrize("occam", [False, True])
@pytest.mark.parametrize("kernel", [RBF(1.2), ARD((0.8, 2.5)), Polynomial(2, 1.5)], ids=str)
def test_the_gradient_of_the_criterion_is_that_of_its_values(kernel, occam, weights):
    X, y = problem(8, 30)
    rng = np.random.default_rng(9)
    own = {"counts": rng.integers(1, 4, 30).astype(float), "precisions": rng.uniform(0.3, 2.0, 30)}
    objective = Objective(X, y, occam=occam, weights=own.get(weights))
    exact = objective.evaluate(kernel, gradient=True).gradient
    ends = [
        [objective.evaluate(kernel.with_log_params(kernel.log_params + s * step)).value for s in (1, -1)]
        for step in 1e-4 * np.eye(len(kernel.log_params))
    ]
    differences = [(above - below) / 2e-4 for above, below in ends]
    assert exact == pytest.approx(np.array(differences), rel=1e-5, abs=1e-5)
    log_gamma = np.log(objective.evaluate(kernel).level2.gamma) + 0.7
    joint = objective.joint(kernel, log_gamma)
    ends = [
        objective.joint(kernel.with_log_params(kernel.log_params + s * step[1:]), log_gamma + s * step[0]).value
        for step in 1e-4 * np.eye(1 + len(kernel.log_params))
        for s in (1, -1)
    ]
    assert joint.gradient == pytest.approx((np.array(ends[::2]) - ends[1::2]) / 2e-4, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_every_minimum_of_j4_over_a_dense_grid_is_a_mode(seed):
    """All of them, best first, each stationary; what is best on the grid is no better than what was found."""
    X, y = problem(seed, 12)
    kernel = RBF(0.15) + RBF(4.0) if seed % 2 else RBF(1.0)
    y = np.sign(y) if seed > 2 else y
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    found = optimise(spectrum)
    log_gamma = np.linspace(np.log(1e-8 / spectrum.lambda_max), np.log(spectrum.gamma_max), 40001)
    costs = j4(spectrum, np.exp(log_gamma))
    dips = 1 + np.flatnonzero((costs[1:-1] < costs[:-2] - 1e-10) & (costs[1:-1] < costs[2:] - 1e-10))
    modes = np.log([mode.gamma for mode in found.modes])
    for dip in log_gamma[dips]:
        assert np.abs(modes - dip).min() < 2e-3
    assert [mode.j4 for mode in found.modes] == sorted(mode.j4 for mode in found.modes)
    for mode in found.modes:
        assert mode.j4 == pytest.approx(float(j4(spectrum, mode.gamma)[0]), abs=1e-10)
        ends = j4(spectrum, mode.gamma * np.exp([-1e-4, 1e-4]))
        assert np.ptp(ends) < 1e-6
    if not found.at_boundary:
        assert float(j4(spectrum, found.gamma)[0]) <= costs.min() + 1e-9
        noise = 11 * np.log(0.5 * np.sum((y - y.mean()) ** 2))
        assert found.log_gain == pytest.approx(0.5 * (noise - costs.min()), abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_no_point_of_a_dense_grid_is_better_than_the_mode_with_priors(seed):
    """Priors near the data, far above and below them, boxes, and data with two ways to explain them."""
    rng = np.random.default_rng(100 + seed)
    X, y = problem(seed, 14)
    y = np.sign(y - 0.7) if seed % 3 == 1 else y
    kernel = RBF(0.15) + RBF(4.0) if seed % 2 else RBF(float(rng.uniform(0.3, 3.0)))
    priors = [
        (Normal(0.0, 3.0), Normal(0.0, 3.0)),
        (Normal(0.0, 9.0), Gamma(0.5, 2.0)),
        (Normal(6.0, 1.0), Normal(-6.0, 1.0)),
        (Normal(-8.0, 1.5), Normal(3.0, 3.0)),
        (Box(-5.0, 7.0), Box(-4.0, 8.0)),
        (Normal(0.0, 5.0), Box(-9.0, 9.0)),
        (Gamma(2.0, 1.0), Normal(0.0, 5.0)),
        (Normal(1.0, 6.0), Normal(1.0, 6.0)),
    ][seed]
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    found = most_probable(spectrum, *priors)
    m, z = (grid.ravel() for grid in np.meshgrid(np.linspace(-16, 16, 321), np.linspace(-16, 16, 321), indexing="ij"))
    with np.errstate(divide="ignore"):
        own = priors[0].log_density(m) + priors[1].log_density(z)
    keep = np.isfinite(own) & (z - m < np.log(spectrum.gamma_max))
    values = log_evidences(spectrum, m[keep], z[keep]) + own[keep]
    best = int(values.argmax())
    at = np.log([found.level2.mu, found.level2.zeta])
    assert found.log_density >= values[best] - 1e-9
    assert found.log_density <= values[best] + 0.3
    exact = log_evidences(spectrum, at[:1], at[1:]) + priors[0].log_density(at[0]) + priors[1].log_density(at[1])
    assert found.log_density == pytest.approx(float(exact[0]), abs=1e-8)
    assert found.level2.log_evidence == pytest.approx(float(log_evidences(spectrum, at[:1], at[1:])[0]), abs=1e-8)


def test_where_gamma_does_not_move_the_derivative_is_the_explicit_one():
    """At an end of the range, and where the slope that holds the mode vanishes: q = (2, 4, 12), tr_2 = 72 at N = 10."""
    q, tr = (2.0, 4.0, 12.0), (5.0, 9 * (2.0 * 12.0 / 2.0 - (4.0 / 2.0) ** 2))
    level = derivative_coefficients(10, 0.5, 0.3, q, tr, still=False)
    assert level == derivative_coefficients(10, 0.5, 0.3, q, tr, still=True)
    assert [float(value) for value in level] == pytest.approx([0.3 * 0.5, 0.5 * 9 / 2.0, 0.0])
    for tr2 in (71.0, 73.0):  # h_s = 1 and −1
        moved = derivative_coefficients(10, 0.5, 0.3, q, (5.0, tr2), still=False)
        along = -0.3 * (0.5 * tr2 - 5.0) / (72.0 - tr2)
        expected = [0.15 - along, 2.25 - along * 9 * 4.0 / 4.0, along * 9 / 2.0]
        assert [float(value) for value in moved] == pytest.approx(expected)


def test_ripples_of_rounding_are_no_modes():
    X, y = problem(2, 12)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.0)(X), y)
    grid = np.linspace(-5.0, 5.0, 41)
    ripples = np.where(np.arange(41) % 2 == 0, 1.0, -1.0)
    for depth, some in ((1e-13, False), (1e-9, True)):
        (found,) = _interior_modes(spectrum, grid, (100.0 + 100.0 * depth * ripples)[:, None])
        assert bool(found) == some


def test_where_the_slope_of_j4_changes_no_sign_the_grids_minimum_is_taken():
    """A minimum of the costs that the derivative does not know of, as on a cost that is flat to rounding."""
    X, y = problem(2, 12)
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.0)(X), y)
    grid = np.array([-9.0, -8.0, -7.5, -6.0])  # far below the mode, where J4 falls all the way
    costs = np.array([1.0, 1.0, 0.5, 2.0])
    assert np.all(np.diff(j4(spectrum, np.exp(grid))) < 0.0)
    ((mode,),) = _interior_modes(spectrum, grid, costs[:, None])
    assert np.log(mode.gamma) == pytest.approx(-7.5)
    assert mode.j4 == pytest.approx(float(j4(spectrum, np.exp(grid))[2]))
