"""Bridge sampling on densities whose integral is known, with draws that are exact, correlated, or wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter
from scipy.special import gammaln, log_ndtr

from bayes_lssvm.sampling.bridge import bridge, effective_sample_size
from bayes_lssvm.sampling.chains import rhat_and_ess

CHAINS, N = 4, 500
SLOW = pytest.mark.slow


def autoregressive(rng, shape, rho):
    """Stationary AR(1) chains of shape (chains, n, d) with standard normal margins."""
    noise = rng.standard_normal(shape)
    noise[:, 1:] *= np.sqrt(1.0 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=1)


class Case(NamedTuple):
    """A density with its exact log Z and a way to draw from it."""

    draw: Callable
    log_density: Callable
    log_z: float


@cache
def errors_of(case, seeds, **options):
    """Errors and standard errors of the bridge over seeds, each with draws of its own."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        estimate = bridge(case.draw(rng), case.log_density, seed=rng, **options)
        found.append((estimate.log_z - case.log_z, estimate.standard_error))
    return np.array(found).T


def gaussian(d, rho=0.0):
    A = np.tril(np.random.default_rng(d).normal(size=(d, d)), -1) + np.diag(np.geomspace(0.01, 100.0, d))
    mean, inverse = np.linspace(-50, 50, d), np.linalg.inv(A)
    return Case(
        lambda rng: mean + autoregressive(rng, (CHAINS, N, d), rho) @ A.T,
        lambda x: 3.0 - 0.5 * np.sum(((x - mean) @ inverse.T) ** 2, axis=1),
        3.0 + 0.5 * d * np.log(2.0 * np.pi) + float(np.sum(np.log(np.diag(A)))),
    )


def log_normal_pdf(x, mean=0.0, log_sd=0.0):
    return -0.5 * ((x - mean) * np.exp(-log_sd)) ** 2 - log_sd - 0.5 * np.log(2.0 * np.pi)


def log_gamma(a, d=3):
    """log x for x ~ Gamma(a): ∫ exp(ay − e^y) dy = Γ(a), with a long tail to the left."""
    return Case(
        lambda rng: np.log(rng.gamma(a, size=(CHAINS, N, d))),
        lambda y: np.sum(a * y - np.exp(y), axis=1),
        d * float(gammaln(a)),
    )


def log_exponential(rho, d=3):
    """The same for a = 1, with autocorrelated draws."""
    return Case(
        lambda rng: np.log(-log_ndtr(autoregressive(rng, (CHAINS, N, d), rho))),
        lambda y: np.sum(y - np.exp(y), axis=1),
        0.0,
    )


def funnel():
    """v ~ Normal(0, 1), x | v ~ Normal(0, e^v)."""

    def draw(rng):
        v = rng.standard_normal((CHAINS, N, 1))
        return np.concatenate([v, rng.standard_normal((CHAINS, N, 2)) * np.exp(v / 2)], axis=-1)

    def log_density(p):
        return log_normal_pdf(p[:, 0]) + log_normal_pdf(p[:, 1:], log_sd=p[:, :1] / 2).sum(axis=1) - 7.0

    return Case(draw, log_density, -7.0)


def student():
    t = stats.multivariate_t(np.zeros(3), np.diag([1.0, 4.0, 9.0]), df=4)
    return Case(lambda rng: t.rvs(CHAINS * N, random_state=rng).reshape(CHAINS, N, 3), t.logpdf, 0.0)


CENTRE = np.array([3.0, 1.5])


def two_modes_log_density(x):
    parts = [log_normal_pdf(x, sign * CENTRE).sum(axis=1) for sign in (-1.0, 1.0)]
    return np.logaddexp(*parts) - np.log(2.0) + 2.0


def two_modes():
    def draw(rng):
        return rng.standard_normal((CHAINS, N, 2)) + rng.choice([-1.0, 1.0], size=(CHAINS, N, 1)) * CENTRE

    return Case(draw, two_modes_log_density, 2.0)


CASES = {
    "gaussian 1": gaussian(1),
    "gaussian 2": gaussian(2),
    "gaussian 10": gaussian(10),
    "gaussian 2, autocorrelated": gaussian(2, 0.9),
    "gaussian 10, autocorrelated": gaussian(10, 0.8),
    "skewed": log_gamma(0.5),
    "skewed, autocorrelated": log_exponential(0.9),
    "funnel": funnel(),
    "student": student(),
    "two modes": two_modes(),
}


@pytest.mark.parametrize(
    ("warp", "seeds"), [("III", 100), pytest.param("III", 400, marks=SLOW), pytest.param("none", 400, marks=SLOW)]
)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_standard_error_is_honest(case, warp, seeds):
    """Over many sets of draws, errors in units of their own standard error are standard normal."""
    errors, standard_errors = errors_of(case, seeds, warp=warp)
    z = errors / standard_errors
    assert 0.75 < z.std() < 1.25
    assert abs(z.mean()) < 3.5 / np.sqrt(seeds)
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("d", [1, 2, 10])
def test_a_gaussian_is_nearly_exact(d):
    errors, standard_errors = errors_of(gaussian(d), 10)
    assert np.all(np.abs(errors) < 3.5 * standard_errors)
    # an average of so many independent terms of unit variance would have 1/√1200 = 0.029
    assert standard_errors.max() < 0.01


@pytest.mark.parametrize("name", ["skewed", "skewed, autocorrelated", "funnel"])
def test_the_reflection_helps_skewed_densities(name):
    (errors, claimed), (plain, plain_claimed) = (errors_of(CASES[name], 100, warp=warp) for warp in ("III", "none"))
    assert claimed.mean() < 0.75 * plain_claimed.mean()
    assert np.sqrt(np.mean(errors**2)) < np.sqrt(np.mean(plain**2))


def test_correlated_draws_are_worth_less():
    independent, correlated = errors_of(log_exponential(0.0), 5)[1], errors_of(log_exponential(0.9), 5)[1]
    assert correlated.mean() > 1.7 * independent.mean()


def test_both_halves_are_better_than_one():
    both, one = (errors_of(CASES["funnel"], 100, warp="III", **options) for options in ({}, {"swap_halves": False}))
    assert both[1].mean() == pytest.approx(one[1].mean() / np.sqrt(2.0), rel=0.1)
    assert np.sqrt(np.mean(both[0] ** 2)) < np.sqrt(np.mean(one[0] ** 2))


def test_a_support_with_edges():
    rng = np.random.default_rng(0)

    def log_density(x):
        return np.where(np.all((x > 0) & (x < 2), axis=1), 0.0, -np.inf)

    estimate = bridge(rng.uniform(0, 2, size=(4, 1000, 2)), log_density, seed=1)
    assert abs(estimate.log_z - np.log(4.0)) < 3.0 * estimate.standard_error < 0.1


def test_what_the_draws_never_saw_is_not_in_the_answer():
    """Draws of one of two equal modes give half of the integral, and nothing looks wrong."""
    rng = np.random.default_rng(3)
    far = 4.0 * CENTRE

    def log_density(x):
        return np.logaddexp(*(stats.norm.logpdf(x - s * far).sum(axis=1) for s in (-1.0, 1.0))) - np.log(2.0)

    estimate = bridge(far + rng.standard_normal((4, 500, 2)), log_density, seed=0)
    assert estimate.log_z == pytest.approx(-np.log(2.0), abs=3.5 * estimate.standard_error)
    assert estimate.diagnostics["concerns"] == ()


def test_scale_and_constant_come_out_exactly():
    case, scale = funnel(), np.array([2.0, 0.1, 30.0])
    draws = case.draw(np.random.default_rng(0))
    first = bridge(draws, case.log_density, seed=5)
    moved = bridge(draws * scale + 4.0, lambda x: case.log_density((x - 4.0) / scale) + 1000.0, seed=5)
    assert moved.log_z == pytest.approx(first.log_z + 1000.0 + np.log(scale).sum(), abs=1e-8)
    assert moved.standard_error == pytest.approx(first.standard_error, rel=1e-6)


def test_the_fixed_point_is_one():
    """At the answer, the ratio of the two means is the answer: Meng and Wong's equation, written out plainly."""
    rng = np.random.default_rng(1)
    draws = rng.standard_normal((1, 400, 1)) * 1.3
    log_density = lambda x: -0.5 * (x[:, 0] / 1.3) ** 2  # noqa: E731
    estimate = bridge(draws, log_density, seed=np.random.default_rng(9), warp="none", swap_halves=False)
    fitted, kept = draws[0, :200, 0], draws[0, 200:, 0]
    m, s = fitted.mean(), fitted.std(ddof=1)
    proposed = m + s * np.random.default_rng(9).standard_normal(200)
    q = lambda x: np.exp(log_density(x[:, None]))  # noqa: E731
    g = stats.norm(m, s).pdf
    effective = estimate.diagnostics["effective_draws"]
    s1 = 200 / 400 if effective >= 200 else effective / (effective + 200)
    Z = np.exp(estimate.log_z)
    ratio = np.mean(q(proposed) / (s1 * q(proposed) + (1 - s1) * Z * g(proposed))) / np.mean(
        g(kept) / (s1 * q(kept) + (1 - s1) * Z * g(kept))
    )
    assert ratio == pytest.approx(Z, rel=1e-4)
    assert estimate.converged


def test_same_seed_same_answer_and_shapes():
    case = gaussian(2)
    draws = case.draw(np.random.default_rng(0))
    first, again = (bridge(draws, case.log_density, seed=1) for _ in range(2))
    assert first == again
    assert bridge(draws, case.log_density, seed=2).log_z != first.log_z
    single = bridge(draws[0], case.log_density, seed=1)
    assert single == bridge(draws[:1], case.log_density, seed=1)
    assert single.diagnostics["draws"] == N
    more = bridge(draws, case.log_density, seed=1, n_proposals=20_000)
    assert more.standard_error < first.standard_error


def linear_regression(rng, d, rho, n):
    """Known noise and a Gaussian prior of the weights: the posterior is Gaussian and the evidence in closed form."""
    N = int(rng.integers(d + 4, 4 * d + 10))
    X, noise, width = rng.standard_normal((N, d)), rng.uniform(0.3, 2.0), rng.uniform(0.3, 3.0)
    y = width * X @ rng.standard_normal(d) + noise * rng.standard_normal(N)
    precision = X.T @ X / noise**2 + np.eye(d) / width**2
    mean, L = np.linalg.solve(precision, X.T @ y / noise**2), np.linalg.cholesky(precision)
    z = autoregressive(rng, (CHAINS, n, d), rho)

    def log_density(w):
        return log_normal_pdf(y - w @ X.T, log_sd=np.log(noise)).sum(axis=1) + log_normal_pdf(
            w, log_sd=np.log(width)
        ).sum(axis=1)

    exact = stats.multivariate_normal(np.zeros(N), noise**2 * np.eye(N) + width**2 * X @ X.T).logpdf(y)
    return Case(mean + np.linalg.solve(L.T, z.reshape(-1, d).T).T.reshape(z.shape), log_density, float(exact))


def scores_of(problems, *, seed, warp="III"):
    """Errors in units of their standard errors, over (d, ρ, n) of each problem."""
    found = []
    for k, (d, rho, n) in enumerate(problems):
        case = linear_regression(np.random.default_rng([seed, k]), d, rho, n)
        estimate = bridge(case.draw, case.log_density, seed=k, warp=warp)
        found.append((estimate.log_z - case.log_z) / estimate.standard_error)
    return np.array(found)


def test_scores_of_two_hundred_conjugate_problems():
    """d = 1 … 60, draws with autocorrelations up to 0.9: the errors have the size that they claim."""
    rng = np.random.default_rng(16)
    z = scores_of([(1 + 7 * k % 60, rng.uniform(0.0, 0.9), 800) for k in range(200)], seed=16)
    assert 0.9 < z.std() < 1.1
    assert abs(z.mean()) < 3.5 / np.sqrt(200)


@pytest.mark.parametrize("warp", ["III", pytest.param("none", marks=SLOW)])
def test_the_halves_share_the_noise_of_their_warps(warp):
    """Without the covariance between the halves the claimed errors are 1.25 times too small."""
    z = scores_of([(25, 0.3, 250)] * 250, seed=25, warp=warp)
    assert 0.9 < z.std() < 1.1


def test_the_seed_of_the_draws_may_be_that_of_the_bridge():
    """The same normal numbers on both sides put the answer 7 standard errors off in 30 dimensions."""
    z = []
    for seed in range(12):
        draws = np.random.default_rng(seed).standard_normal((1, 4000, 30))
        estimate = bridge(draws, normal_log_density, seed=seed)
        z.append((estimate.log_z - 15.0 * np.log(2.0 * np.pi)) / estimate.standard_error)
    assert np.abs(z).max() < 4.0
    assert abs(np.mean(z)) < 3.5 / np.sqrt(len(z))


# --- effective sample size -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_effective_size_of_an_autoregression(rho):
    x = autoregressive(np.random.default_rng(0), (40, 20_000, 1), rho)[..., 0]
    share = np.mean([effective_sample_size(chains) / chains.size for chains in x.reshape(10, 4, -1)])
    assert share == pytest.approx((1 - rho) / (1 + rho), rel=0.1)


def test_the_effective_size_is_that_of_the_diagnostics():
    for seed, rho in enumerate((0.0, 0.3, 0.7, 0.95)):
        x = autoregressive(np.random.default_rng(seed), (4, 1000, 1), rho)[..., 0]
        error = float(rhat_and_ess({"x": x}).mcse_mean["x"])
        assert effective_sample_size(x) == pytest.approx(np.var(x) / error**2, rel=0.05)


def test_chains_that_disagree_are_worth_little():
    x = np.random.default_rng(0).standard_normal((4, 500)) + np.array([0.0, 0.0, 0.0, 8.0])[:, None]
    assert effective_sample_size(x) < 20


# --- what goes wrong is said ---------------------------------------------------------------------------------------


def normal_log_density(x):
    return -0.5 * np.sum(x**2, axis=1)


@pytest.mark.parametrize(
    ("draws", "log_density", "options", "message"),
    [
        (np.zeros(5), normal_log_density, {}, r"shape \(chains, n, d\)"),
        (np.zeros((99, 0)), normal_log_density, {}, r"shape \(chains, n, d\)"),
        (np.zeros((2, 3, 99, 4)), normal_log_density, {}, r"shape \(chains, n, d\)"),
        (np.full((100, 2), np.nan), normal_log_density, {}, "NaN or infinite"),
        (np.random.default_rng(0).normal(size=(30, 40)), normal_log_density, {}, "Too few draws: 1 x 30 in 40"),
        (np.random.default_rng(0).normal(size=(20, 4, 2)), normal_log_density, {}, "at least 4 from each chain"),
        (np.tile([0.0, 1.0], (4, 100, 1)), normal_log_density, {}, "do not vary in dimension 0, 1"),
        (np.random.default_rng(0).normal(size=(99, 1)) * [1.0, 2.0], normal_log_density, {}, "is singular"),
        (np.random.default_rng(0).normal(size=(99, 2)), lambda x: x[:, 0] * np.nan, {}, "not finite at 50 of 50"),
        (np.random.default_rng(0).normal(size=(99, 2)), lambda x: np.log(x[:, 0] > 9), {}, "not draws of this density"),
        (np.random.default_rng(0).normal(size=(99, 2)), lambda x: 0.0, {}, r"return shape \(50,\)"),
        (np.random.default_rng(0).normal(size=(99, 2)), normal_log_density, {"warp": "IV"}, "warp must be"),
        (np.random.default_rng(0).normal(size=(99, 2)), normal_log_density, {"n_proposals": 3}, "n_proposals must be"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_input_gets_a_sentence(draws, log_density, options, message):
    with pytest.raises(ValueError, match=message):
        bridge(draws, log_density, seed=0, **options)


def test_a_density_that_fails_away_from_the_draws():
    draws = np.random.default_rng(0).uniform(size=(1000, 1))
    with pytest.raises(ValueError, match="near the draws"):
        bridge(draws, lambda x: np.where((x[:, 0] >= 0) & (x[:, 0] <= 1), 0.0, np.nan), seed=0, warp="none")


def test_doubts_are_told():
    rng = np.random.default_rng(0)
    # two far apart spikes: a Gaussian that covers both hardly meets either
    centre = rng.choice([-100.0, 100.0], size=(4, 500, 1))

    def spikes(x):
        return np.logaddexp(*(stats.norm.logpdf(x[:, 0], loc=c) for c in (-100.0, 100.0)))

    estimate = bridge(centre + rng.standard_normal((4, 500, 1)), spikes, seed=0)
    assert any("hardly overlap" in sentence for sentence in estimate.diagnostics["concerns"])
    slow = autoregressive(rng, (2, 300, 1), 0.99)
    estimate = bridge(slow, normal_log_density, seed=0)
    assert any("effective draws" in sentence for sentence in estimate.diagnostics["concerns"])
    short = bridge(slow, normal_log_density, seed=0, max_iterations=1)
    assert not short.converged
    assert any("before its fixed point" in sentence for sentence in short.diagnostics["concerns"])


def test_more_dimensions_than_draws_can_fit_where_most_are_independent():
    """Three correlated parameters and 200 independent ones: scores over repeated runs have the spread they claim."""
    d, scores = 203, []
    L = np.eye(d)
    L[:3, :3] = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [-0.5, 0.3, 0.4]])
    log_z = 0.5 * d * np.log(2.0 * np.pi) + np.log(np.diag(L)).sum()

    def log_density(x):
        return -0.5 * np.sum(np.linalg.solve(L, x.T) ** 2, axis=0)

    for seed in range(30):
        draws = np.random.default_rng([3, seed]).standard_normal((4, 150, d)) @ L.T
        found = bridge(draws, log_density, seed=seed)
        assert found.standard_error < 0.1
        scores.append((found.log_z - log_z) / found.standard_error)
    assert abs(np.mean(scores)) < 3.0 / np.sqrt(30)
    assert 0.6 < np.std(scores) < 1.4
