"""NUTS on the collapsed evidence: its tables against exact values, its draws against quadrature and brute force."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.special import logsumexp, ndtr
from scipy.stats import norm

from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.kernels import ARD, RBF, Linear
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.marginal.density import Density
from bayes_lssvm.marginal.draws import correction as _correction
from bayes_lssvm.marginal.draws import exact as _exact
from bayes_lssvm.marginal.draws import interpolant as _interpolant
from bayes_lssvm.marginal.draws import nuts as _nuts
from bayes_lssvm.marginal.draws import surfaces as _surfaces
from bayes_lssvm.marginal.draws.collapsed import CollapsedDraws, collapsed_nuts
from bayes_lssvm.marginal.log_mu import LogMu
from bayes_lssvm.marginal.rules.level2 import integrate
from bayes_lssvm.priors import Box, HyperPrior, LogPrior, Normal
from bayes_lssvm.sampling.bridge import bridge
from bayes_lssvm.sampling.chains import rhat_and_ess

# one set of lengths for all, so that each kind of sampler is compiled once
LENGTHS = {"chains": 4, "warmup": 300, "draws": 1000, "progress": False}
SHORT = {"chains": 2, "warmup": 150, "draws": 350, "progress": False}
WIDE, UNIT = Normal(0, 3), Normal(0, 1)


class Gumbel(LogPrior):
    """A skewed prior of a user: −log E for an exponential E."""

    def __repr__(self):
        return "Gumbel()"  # names of tests must not hold an address

    def log_density(self, x):
        x = np.asarray(x, dtype=float)
        return -x - np.exp(-x)

    def gradient(self, x):
        return np.exp(-np.asarray(x, dtype=float)) - 1.0

    def sample(self, n, rng):
        return rng.gumbel(size=n)

    @property
    def width(self):
        return float(np.pi / np.sqrt(6.0))


class Exponential(LogPrior):
    """A prior with one bound."""

    def log_density(self, x):
        x = np.asarray(x, dtype=float)
        return np.where(x >= 0.0, -x, -np.inf)

    def gradient(self, x):
        return -np.ones_like(np.asarray(x, dtype=float))

    def sample(self, n, rng):
        return rng.exponential(size=n)

    @property
    def width(self):
        return 1.0

    @property
    def support(self):
        return 0.0, np.inf


class Parabola(LogPrior):
    """A prior that vanishes at the edges of its support, [−1, 1.5]."""

    def log_density(self, x):
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((x > -1.0) & (x < 1.5), np.log(6.0 / 2.5**3 * (x + 1.0) * (1.5 - x)), -np.inf)

    def gradient(self, x):
        return 1.0 / (np.asarray(x) + 1.0) - 1.0 / (1.5 - np.asarray(x))

    def sample(self, n, rng):
        return -1.0 + 2.5 * rng.beta(2.0, 2.0, size=n)

    @property
    def width(self):
        return 2.5 / np.sqrt(20.0)

    @property
    def support(self):
        return -1.0, 1.5


class Nowhere(Exponential):
    """A prior that excludes what its support promises."""

    def log_density(self, x):
        return np.full_like(np.asarray(x, dtype=float), -np.inf)


def small(n=40, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(1.5 * X[:, 0]) + 0.3 * rng.normal(size=n)


def draw(X, y, kernel, prior, *, seed=1, fixed_kernel=False, **changes) -> CollapsedDraws:
    parts = prior.components(0 if fixed_kernel else kernel.log_params.size)
    return collapsed_nuts(X, y, kernel, parts, fixed_kernel=fixed_kernel, seed=seed, **{**LENGTHS, **changes})


def brute_force(X, y, kernels, log_weights, parts):
    """The posterior over (log μ, log ζ, log θ) as a sum over kernels, each integrated over μ and ζ."""
    points, logs = [], []
    for kernel, log_weight in zip(kernels, log_weights, strict=True):
        integral = integrate(Density(X, y, kernel, parts[:2]).reduction(kernel), *parts[:2])
        gamma = integral.log_zeta - integral.log_mu
        theta = np.tile(kernel.log_params, (len(gamma), 1))
        own = sum(float(p.log_density(t)) for p, t in zip(parts[2:], kernel.log_params, strict=True))
        points.append(np.column_stack([integral.log_mu, integral.log_zeta, gamma, theta]))
        logs.append(integral.log_weights + own + log_weight)
    x, logs = np.vstack(points), np.concatenate(logs)
    p = np.exp(logs - logsumexp(logs))
    names = ("log_mu", "log_zeta", "log_gamma", *(f"log_{name}" for name in kernels[0].param_names))
    mean = p @ x
    sd = np.sqrt(p @ (x - mean) ** 2)
    moments = {"mean": lambda: dict(zip(names, mean, strict=True)), "sd": lambda: dict(zip(names, sd, strict=True))}
    return SimpleNamespace(names=names, **moments)


def assert_same_posterior(found: CollapsedDraws, exact, *, tolerance=4.0, rhat=1.01, ess=400, diverging=0.0):
    """Means and standard deviations within so many Monte-Carlo standard errors; weights, if any, are nearly equal."""
    x = found.points
    weights = np.exp(found.log_weights)
    statistics = rhat_and_ess({"x": x})
    assert statistics.rhat["x"].max() < rhat
    assert statistics.ess_bulk["x"].min() > ess
    assert found.diverging.mean() <= diverging
    means, sds = exact.mean(), exact.sd()
    names = [name for name in exact.names if name != "log_gamma"]
    assert x.shape[-1] == len(names)
    for i, name in enumerate(names):
        mean = np.average(x[..., i], weights=weights)
        sd = np.sqrt(np.average((x[..., i] - mean) ** 2, weights=weights))
        assert abs(mean - means[name]) < tolerance * statistics.mcse_mean["x"][i], name
        assert abs(sd - sds[name]) < tolerance * statistics.mcse_sd["x"][i], name
    # a function of them: log γ
    u = x[..., 1] - x[..., 0]
    error = rhat_and_ess({"u": u}).mcse_mean["u"]
    assert abs(np.average(u, weights=weights) - means["log_gamma"]) < tolerance * error


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "priors", [(WIDE, WIDE), (Box(-1, 2), Box(-2, 1)), (Box(2, 5), WIDE), (Gumbel(), WIDE)], ids=str
)
@pytest.mark.parametrize("n", [4, 250])
def test_integral_and_quantiles_of_log_mu(n, priors):
    rng = np.random.default_rng(0)
    u = rng.uniform(-2.5, 2.5, 5)
    q1, log_det = n * np.exp(u) / (1.0 + 3.0 * np.exp(u)), (n - 1) * np.log1p(np.exp(-u))
    log_mu = LogMu(n, u, log_det, q1, *priors)
    integral, epsilon = log_mu.log_integral(), rng.normal(size=5)
    m = log_mu.quantile(epsilon)
    for i in range(5):
        low = max(priors[0].support[0], priors[1].support[0] - u[i], -60.0)
        high = min(priors[0].support[1], priors[1].support[1] - u[i], 30.0)
        grid = np.linspace(low, high, 400_001)
        logs = LogMu(n, u[[i]], log_det[[i]], q1[[i]], *priors).log_density(grid[None])[0]
        density = np.exp(logs - integral[i])
        assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=2e-7)
        mass = cumulative_trapezoid(density, grid, initial=0.0)
        assert np.interp(m[i], grid, mass) == pytest.approx(ndtr(epsilon[i]), abs=2e-6)


@pytest.fixture(scope="module")
def surfaces(ripley_standardised):
    X, y = ripley_standardised
    shuffled = np.random.default_rng(0).permutation(y)
    cases = {
        "Ripley": Density(X, y, RBF(1.0), (WIDE, WIDE, UNIT)),
        "box": Density(X, y, RBF(1.0), (Box(-5, 5), Box(-5, 5), Box(-1, 1))),
        "permuted": Density(X[::5], shuffled[::5], RBF(1.0), (WIDE, WIDE, UNIT)),
        "N=4": Density(X[:4], np.array([1.0, -1.0, 1.0, -1.0]), RBF(1.0), (WIDE, WIDE, UNIT)),
    }
    return {name: (density, _surfaces.one_parameter_surface(density)) for name, density in cases.items()}


@pytest.mark.parametrize("case", ["Ripley", "box", "permuted", "N=4"])
def test_interpolated_density_is_exact_to_1e_6_where_it_matters(case, surfaces):
    density, surface = surfaces[case]
    rng = np.random.default_rng(5)
    thetas = rng.uniform(surface.low[1], surface.high[1], 25)
    u = rng.uniform(surface.low[0], surface.high[0], (25, 60))
    guessed, exact = [], []
    for theta, row in zip(thetas, u, strict=True):
        own = float(density.parts[2].log_density(theta))
        x = np.column_stack([row, np.full(60, theta)])
        guessed.append(_interpolant.log_mu_at(surface, x, density.parts).log_integral() + own)
        reduction = density.reduction(RBF(float(np.exp(theta))))
        log_det, q1 = reduction.values(np.exp(row))
        exact.append(LogMu(len(density.y), row, log_det, q1, *density.parts[:2]).log_integral() + own)
    guessed, exact = np.concatenate(guessed), np.concatenate(exact)
    matters = exact > exact.max() - 10.0
    assert matters.sum() > 30
    assert np.abs(guessed - exact)[matters].max() < 1e-6
    assert surface.error < 1e-6
    # what the box leaves out is negligible
    assert exact.min() < exact.max() - 15.0 or case == "box"


def test_nodes_are_nested_and_polynomials_are_reproduced():
    coarse, fine = (_interpolant.lobatto_nodes(-1.0, 3.0, level) for level in (8, 16))
    assert np.array_equal(coarse, fine[::2])
    x = np.concatenate([np.linspace(-1.0, 3.0, 50), coarse])
    cubic = np.polynomial.Polynomial([0.3, -1.0, 0.5, 2.0])
    rows = _interpolant.barycentric_rows(coarse, x)
    assert rows @ cubic(coarse) == pytest.approx(cubic(x), abs=1e-12)


# --- draws -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ripley_prior():
    return HyperPrior(WIDE, WIDE, UNIT)


@pytest.fixture(scope="module")
def fixed(ripley_standardised, ripley_prior):
    return draw(*ripley_standardised, RBF(1.311), ripley_prior, fixed_kernel=True)


@pytest.fixture(scope="module")
def free(ripley_standardised, ripley_prior):
    return draw(*ripley_standardised, RBF(1.0), ripley_prior)


@pytest.fixture(scope="module")
def free_exact(ripley_standardised, ripley_prior):
    return marginalise(*ripley_standardised, kernel=RBF(1.0), prior=ripley_prior, standardise=False)


def test_ripley_with_sigma_fixed(fixed, ripley_standardised, ripley_prior):
    exact = marginalise(
        *ripley_standardised, kernel=RBF(1.311), prior=ripley_prior, fixed_kernel=True, standardise=False
    )
    assert_same_posterior(fixed, exact)
    assert fixed.correction.n_checked == 4000
    assert fixed.correction.max_error < 1e-9
    assert fixed.n_reductions == 1
    estimate = bridge(fixed.points, fixed.log_density_at, seed=0)
    assert estimate.standard_error < 0.005
    assert abs(estimate.log_z - exact.log_evidence) < 3.0 * estimate.standard_error


def test_ripley_with_sigma_free(free, free_exact):
    assert_same_posterior(free, free_exact)
    assert free.correction.n_checked == 32
    assert free.correction.max_error < 1e-6
    assert not free.correction.corrected
    assert np.all(free.log_weights == 0.0)
    estimate = bridge(free.points, free.log_density_at, seed=0)
    assert estimate.standard_error < 0.005
    assert abs(estimate.log_z - free_exact.log_evidence) < 3.0 * estimate.standard_error


def test_draws_are_efficient_and_their_statistics_make_sense(free):
    assert rhat_and_ess({"x": free.points}).ess_bulk["x"].min() > 2000
    assert free.tree_depth.max() <= 5
    assert not free.at_max_depth.any()
    assert 0.8 < free.accept.mean() < 0.97
    assert free.energy.shape == free.steps.shape == free.points.shape[:2] == (4, 1000)


def test_log_densities_are_the_exact_ones(fixed, free, ripley_standardised, ripley_prior):
    X, y = ripley_standardised
    for found, kernel, n_kernel in ((fixed, RBF(1.311), 0), (free, RBF(1.0), 1)):
        flat = found.points.reshape(-1, 2 + n_kernel)
        assert found.log_density_at(flat) == pytest.approx(found.log_density.ravel(), abs=1e-9)
        exact = Density(X, y, kernel, ripley_prior.components(n_kernel)).values(flat[::400])
        assert found.log_density.ravel()[::400] == pytest.approx(exact, abs=1e-6)
    outside = np.array([[0.0, 0.0, 6.0], [0.0, 1.0, 0.3]])
    values = free.log_density_at(outside)
    assert np.isneginf(values[0])
    assert np.isfinite(values[1])


def test_seeds(fixed, ripley_standardised, ripley_prior):
    again = draw(*ripley_standardised, RBF(1.311), ripley_prior, fixed_kernel=True)
    other = draw(*ripley_standardised, RBF(1.311), ripley_prior, fixed_kernel=True, seed=2)
    assert np.array_equal(again.points, fixed.points)
    assert not np.any(other.points == fixed.points)
    first = fixed.points[:, :, 0]
    assert all(not np.array_equal(a, b) for a, b in pairwise(first))


@pytest.mark.parametrize(
    ("kernel", "permuted"),
    [(RBF(8.0), False), (RBF(1.311), True), (Linear(), False)],
    ids=["two modes", "noise", "linear"],
)
def test_posteriors_that_are_wide_or_have_two_modes(kernel, permuted, ripley_standardised):
    X, y = ripley_standardised
    y = np.random.default_rng(0).permutation(y) if permuted else y
    exact = marginalise(X, y, kernel=kernel, prior=WIDE, fixed_kernel=True, standardise=False)
    assert exact.sd()["log_mu"] > 1.0
    assert_same_posterior(draw(X, y, kernel, HyperPrior(), fixed_kernel=True), exact)


def test_permuted_labels_with_the_width_free(ripley_standardised):
    X, y = ripley_standardised
    y = np.random.default_rng(0).permutation(y)[::5]
    prior = HyperPrior(WIDE, WIDE, Normal(0, 0.7))
    found = draw(X[::5], y, RBF(1.0), prior)
    assert_same_posterior(found, marginalise(X[::5], y, kernel=RBF(1.0), prior=prior, standardise=False))


def test_four_points():
    X, y = np.array([[0.0], [0.4], [1.0], [1.3]]), np.array([1.0, 0.7, -1.0, -0.8])
    prior = HyperPrior(WIDE, WIDE, Normal(0, 0.8))
    assert_same_posterior(
        draw(X, y, RBF(1.0), prior), marginalise(X, y, kernel=RBF(1.0), prior=prior, standardise=False)
    )


@pytest.mark.filterwarnings("ignore:The log evidence may miss", "ignore:The quadrature stopped at an error of about 3")
def test_box_priors_far_from_the_posterior_and_right_at_it(ripley_standardised):
    X, y = ripley_standardised
    wide = HyperPrior(Box(-8, 8), Box(-8, 8), Box(-2, 1))
    far = draw(X, y, RBF(1.0), wide)
    assert not far.correction.corrected
    # where a box ends within the posterior, as that of log σ does, the rule converges slowly: to 5e-6 here and below
    assert_same_posterior(far, marginalise(X, y, kernel=RBF(1.0), prior=wide, tolerance=1e-6, standardise=False))
    # ζ is pressed against its bound, and the bounds of log μ at given γ change from one prior to the other within the
    # posterior: there the table has kinks, and the draws get weights
    tight = HyperPrior(Box(-0.5, 0.5), Box(-0.5, 0.9))
    near = draw(X, y, RBF(1.311), tight, fixed_kernel=True)
    assert near.points[..., 0].min() > -0.5
    assert near.points[..., 1].max() < 0.9
    assert near.points[..., 1].max() > 0.899
    assert near.correction.k_hat < 0.5
    exact = marginalise(X, y, kernel=RBF(1.311), prior=tight, fixed_kernel=True, tolerance=1e-6, standardise=False)
    assert_same_posterior(near, exact)


def test_a_prior_of_the_user():
    X, y = small()
    prior = HyperPrior(Gumbel(), WIDE, Gumbel())
    found = draw(X, y, RBF(1.0), prior)
    assert not found.correction.corrected
    assert_same_posterior(found, marginalise(X, y, kernel=RBF(1.0), prior=prior, standardise=False))


def test_a_prior_that_vanishes_at_its_edges():
    X, y = small()
    nodes, weights = np.polynomial.legendre.leggauss(40)
    kernels = [RBF(float(np.exp(0.25 + 1.25 * node))) for node in nodes]
    prior = HyperPrior(Gumbel(), WIDE, Parabola())
    exact = brute_force(X, y, kernels, np.log(weights), prior.components(1))
    found = draw(X, y, RBF(1.0), prior)
    assert found.points[..., 2].min() > -1.0
    assert found.points[..., 2].max() < 1.5
    assert_same_posterior(found, exact)
    assert found.correction.k_hat < 0.7


def test_a_bad_interpolant_is_found_out_and_corrected(monkeypatch):
    X, y = small()
    prior = HyperPrior(WIDE, WIDE, Normal(0, 0.7))
    monkeypatch.setattr(_surfaces, "_LAST_LEVEL", 16)
    found = draw(X, y, RBF(1.0), prior)
    assert found.correction.corrected
    assert found.correction.n_checked == 4000
    assert 1e-3 < found.correction.spread < 1.0
    assert found.correction.k_hat < 0.7
    assert logsumexp(found.log_weights) == pytest.approx(np.log(4000))
    exact = Density(X, y, RBF(1.0), prior.components(1)).values(found.points.reshape(-1, 3)[::500])
    assert found.log_density.ravel()[::500] == pytest.approx(exact, abs=1e-9)
    assert_same_posterior(found, marginalise(X, y, kernel=RBF(1.0), prior=prior, standardise=False))


def test_weights_that_cannot_be_trusted_are_warned_of():
    error = np.random.default_rng(0).standard_cauchy(1000)
    with pytest.warns(BayesLSSVMWarning, match="cannot be trusted"):
        corrected = _correction.of_table(np.zeros(1000), error)
    assert corrected.correction.k_hat > 0.7
    assert corrected.correction.corrected
    assert np.isnan(_correction.of_table(np.zeros(9), error[:9]).correction.k_hat)


# --- several kernel parameters ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ard():
    """Draws for a kernel of two scales, one of them with a bounded prior."""
    X, y = small(25)
    parts = (WIDE, WIDE, UNIT, Box(-1.0, 2.0))
    return X, y, parts, collapsed_nuts(X, y, ARD((1.0, 1.0)), parts, seed=4, **(SHORT | {"draws": 100}))


@pytest.mark.slow  # half a minute
@pytest.mark.parametrize("seed", [4, 5])
def test_two_scales_against_brute_force(ard, seed):
    """log ζ has a tail of one per cent far out: without jumps its standard deviation was 0.45 for 0.54."""
    X, y, parts, _ = ard
    found = collapsed_nuts(X, y, ARD((1.0, 1.0)), parts, seed=seed, **(SHORT | {"draws": 800}))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    grid = [
        (a, 0.5 + 1.5 * b, np.log(w)) for a in np.linspace(-4.5, 4.5, 31) for b, w in zip(nodes, weights, strict=True)
    ]
    kernels = [ARD((float(np.exp(a)), float(np.exp(b)))) for a, b, _ in grid]
    exact = brute_force(X, y, kernels, [w for *_, w in grid], parts)
    assert_same_posterior(found, exact, rhat=1.02, ess=150, diverging=1e-3)
    assert found.points[..., 3].min() > -1.0
    assert found.points[..., 3].max() < 2.0


def test_several_parameters_are_sampled_from_the_exact_density(ard):
    *_, found = ard
    flat = found.points.reshape(-1, 4)[::10]
    assert found.log_density.ravel()[::10] == pytest.approx(found.log_density_at(flat), abs=1e-8)
    assert np.all(found.log_weights == 0.0)
    assert found.correction.max_error == 0.0


def test_the_map_from_the_whole_line_has_the_right_gradient():
    X, y = small(9)
    density = Density(X, y, ARD((1.0, 1.0)), (Normal(0, 2), Exponential(), UNIT, Box(-1.0, 2.0)))
    unbounded = _exact.Unbounded(density)
    z = np.array([0.3, -0.4, 0.2, 0.7])
    assert unbounded.coordinates(unbounded.point(z)) == pytest.approx(z)
    gradient = unbounded.value_and_gradient(z)[1]
    steps = 1e-5 * np.eye(4)
    slopes = [(unbounded.value_and_gradient(z + s)[0] - unbounded.value_and_gradient(z - s)[0]) / 2e-5 for s in steps]
    assert gradient == pytest.approx(slopes, rel=1e-5, abs=1e-6)
    exact = [(unbounded.point(z + s) - unbounded.point(z - s))[i] / 2e-5 for i, s in enumerate(steps)]
    assert np.exp(unbounded.log_slopes(z)) == pytest.approx(exact, rel=1e-8)


def test_points_without_a_density_do_not_crash_a_chain(ard):
    """A standard normal in four dimensions, cut off at 1 in the first: the potential is infinite beyond."""

    def function(x):
        return (-0.5 * float(x @ x), -x) if x[0] < 1.0 else (-np.inf, np.full(4, np.nan))

    settings = {name: value for name, value in SHORT.items() if name != "chains"}
    found = _nuts.sample_function(function, np.zeros((2, 4)), seed=0, target_accept=0.8, **settings)
    assert found.z[..., 0].max() < 1.0
    error = rhat_and_ess({"x": found.z}).mcse_mean["x"]
    assert abs(found.z[..., 0].mean() + norm.pdf(1.0) / norm.cdf(1.0)) < 4.0 * error[0]
    assert np.all(np.abs(found.z[..., 1:].mean(axis=(0, 1))) < 4.0 * error[1:])


def test_an_interrupted_run_leaves_nothing_behind(ard, monkeypatch):
    X, y, parts, _ = ard

    class Interrupted:
        def __init__(self, **_):
            self.calls = 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def update(self, _):
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(_nuts, "tqdm", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        collapsed_nuts(X, y, ARD((1.0, 1.0)), parts, seed=4, **(SHORT | {"draws": 100}))
    assert not _nuts._FUNCTIONS


# --- JAX -------------------------------------------------------------------------------------------------------------


def test_other_data_and_priors_do_not_compile_again(fixed, free, ard, ripley_standardised):
    import jax

    compilations = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compilations.append(event) if "compile" in event or "trace" in event else None
    )
    X, y = small()
    try:
        draw(X, y, RBF(1.0), HyperPrior(Box(-6, 6), Normal(1, 2), UNIT))
        draw(X, y, Linear(), HyperPrior(Gumbel(), WIDE))
        collapsed_nuts(X[:15], y[:15], ARD((2.0, 2.0)), (WIDE, WIDE, UNIT, UNIT), seed=1, **{**SHORT, "draws": 10})
        assert compilations == []
        jax.jit(lambda x: x + 1.0)(2.0)
        assert compilations  # the listener hears
    finally:
        jax.monitoring.clear_event_listeners()


def test_double_precision_is_on_inside_and_untouched_outside(fixed, ripley_standardised, ripley_prior):
    import jax

    with jax.enable_x64(False):
        again = draw(*ripley_standardised, RBF(1.311), ripley_prior, fixed_kernel=True)
        assert jax.numpy.ones(1).dtype == np.float32
    assert np.array_equal(again.points, fixed.points)


def test_the_sampler_is_imported_when_it_is_used():
    code = (
        "import sys, bayes_lssvm.marginal.draws.collapsed; print({'jax', 'numpyro', 'arviz_stats'} & set(sys.modules))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_without_numpyro_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpyro", None)
    X, y = small(8)
    with pytest.raises(ImportError, match=r"bayes-lssvm\[sampling\]"):
        draw(X, y, Linear(), HyperPrior())


def test_bad_calls_get_a_sentence():
    X, y = small(8)
    with pytest.raises(ValueError, match="chains must be a whole number"):
        draw(X, y, Linear(), HyperPrior(), chains=0)
    with pytest.raises(ValueError, match="target_accept must be between"):
        draw(X, y, Linear(), HyperPrior(), target_accept=1.0)
    with pytest.raises(ValueError, match="2 priors for 3 hyperparameters"):
        collapsed_nuts(X, y, RBF(1.0), (WIDE, WIDE), seed=0)
    with pytest.raises(ValueError, match="nothing to infer"):
        draw(X, np.ones(8), Linear(), HyperPrior())
    with pytest.raises(ValueError, match="prior that overlaps"):
        draw(X, y, RBF(1.0), HyperPrior(kernel=Box(20.0, 30.0)))
    with pytest.raises(ValueError, match="not finite for any log parameter"):
        draw(X, y, RBF(1.0), HyperPrior(kernel=Nowhere()))
