"""Weight space with the kernel free, whitened weights, feature maps, modes and moves between them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal

from bayes_lssvm import datasets
from bayes_lssvm.evidence import log_evidence as evidence_of_draws
from bayes_lssvm.kernels import ARD, RBF, Linear, Polynomial
from bayes_lssvm.levels.level2 import log_evidence
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.priors import Flat, HyperPrior, ImproperPriorError, Normal
from bayes_lssvm.sampling.chains import rhat_and_ess
from bayes_lssvm.sampling.diagnostics import Thresholds
from models import (
    Exact,
    FlatDensity,
    Fourier,
    GaussianProcess,
    Hilbert,
    KernelWeightSpace,
    WeightSpace,
    features,
    kernel_error,
    kernel_weights,
    sample,
)
from models.modes import Mixture
from models.moves import log_proposal, propose

PRIOR = HyperPrior(Normal(0, 2), Normal(0, 2), Normal(0, 1))
BROAD = HyperPrior(Normal(0, 3), Normal(0, 3), Normal(0, 1))


def regression(n, width=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    return X, 0.4 + np.sin(X[:, 0]) - 0.5 * X[:, -1] + 0.3 * rng.normal(size=n)


def closed_form(K, y, log_mu, log_zeta):
    return log_evidence(CentredSpectrum.from_kernel_matrix(K, y), np.exp(log_mu), np.exp(log_zeta))


def gaussian_integral(density, point, sites):
    """log ∫ exp(log density) over sites in which it is quadratic, from its value, gradient and Hessian at zero."""
    x = density.flatten({**point, **dict.fromkeys(sites, 0.0)})
    over = np.concatenate([np.arange(density.size)[density.position(name)] for name in sites])
    g, precision = density.gradient(x)[over], -density.hessian(x)[np.ix_(over, over)]
    L = np.linalg.cholesky(precision)
    half = np.linalg.solve(L, g)
    return density(x) + 0.5 * half @ half + 0.5 * len(over) * np.log(2 * np.pi) - np.log(np.diag(L)).sum()


def points(names, seed, count=3):
    rng = np.random.default_rng(seed)
    return [dict(zip(names, rng.normal(0.0, [1.5, 1.5, *[0.4] * (len(names) - 2)]), strict=True)) for _ in range(count)]


# --- densities -------------------------------------------------------------------------------------------------------

CASES = {
    "RBF, whitened": (RBF(1.0), True),
    "RBF, plain": (RBF(1.0), False),
    "ARD, plain": (ARD((1.0, 1.0)), False),
    "polynomial and linear, whitened": (Polynomial(2, 1.0) + Linear(), True),
}


@pytest.mark.parametrize(("kernel", "whitened"), CASES.values(), ids=CASES.keys())
def test_weight_space_with_a_free_kernel_integrates_to_the_evidence(kernel, whitened):
    X, y = regression(14)
    program = KernelWeightSpace(Exact(kernel), PRIOR, whitened=whitened)
    density = FlatDensity.of(program, *program.data(X, y))
    for point in points(program.hyperparameters, seed=1):
        found = gaussian_integral(density, point, ("u",) if whitened else ("z", "b"))
        theta = np.array([point[name] for name in program.hyperparameters[2:]])
        own = float(PRIOR.log_density(np.array(list(point.values()))))
        expected = closed_form(kernel.with_log_params(theta)(X), y, point["log_mu"], point["log_zeta"]) + own
        assert found == pytest.approx(expected, abs=2e-6)


def test_the_jitter_of_exact_features_is_taken_off_the_noise():
    """With ε = 10⁻³ a model that kept it would be visibly off."""
    X, y = regression(14)
    program = KernelWeightSpace(Exact(RBF(1.0), jitter=1e-3), PRIOR)
    density = FlatDensity.of(program, *program.data(X, y))
    point = {"log_mu": -1.0, "log_zeta": 3.0, "log_sigma": 0.2}
    own = float(PRIOR.log_density(np.array(list(point.values()))))
    found = gaussian_integral(density, point, ("u",)) - own
    assert found == pytest.approx(closed_form(RBF(np.exp(0.2))(X), y, -1.0, 3.0), abs=1e-8)
    assert abs(closed_form(RBF(np.exp(0.2))(X) + 1e-3 * np.eye(14), y, -1.0, 3.0) - found) > 0.01


@pytest.mark.parametrize(
    ("n", "kernel", "variance"),
    [(4, RBF(1.2), None), (12, Linear(), None), (12, RBF(1.2), 2.0)],
    ids=["as many features as rows", "fewer features", "normal bias"],
)
def test_whitened_weight_space_with_given_features(n, kernel, variance):
    X, y = regression(n)
    program = WeightSpace(PRIOR, whitened=True, bias_variance=variance)
    phi = features(kernel, X, empirical=isinstance(kernel, RBF))
    design, targets = program.data(phi, y)
    assert design.shape[1] <= phi.shape[1] + 1 <= n + 1
    density = FlatDensity.of(program, design, targets)
    for point in points(("log_mu", "log_zeta"), seed=2):
        found = gaussian_integral(density, point, ("u",)) - float(PRIOR.log_density(np.array(list(point.values()))))
        mu, zeta = np.exp(list(point.values()))
        expected = closed_form(kernel(X), y, *point.values())
        if variance is not None:
            covariance = kernel(X) / mu + np.eye(n) / zeta + variance
            expected = multivariate_normal.logpdf(y, np.zeros(n), covariance)
        assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
def test_any_map_gives_the_same_posterior_of_the_hyperparameters(monkeypatch):
    """The map is a change of variables: shifted and stretched at will, it still integrates to the same number."""
    X, y = regression(15)
    program, point = KernelWeightSpace(Exact(RBF(1.0)), PRIOR), {"log_mu": 0.3, "log_zeta": 1.1, "log_sigma": -0.2}
    right = gaussian_integral(FlatDensity.of(program, *program.data(X, y)), point, ("u",))
    true = kernel_weights.dense

    def wrong(*args):
        inner = true(*args)

        def to_weights(u):
            z, b, log_jacobian = inner(u)
            stretch = 1.0 + 0.3 * jnp.exp(0.5 * args[3])  # moves with log μ
            return stretch * z + 0.7, b - 0.2, log_jacobian + len(z) * jnp.log(stretch)

        return to_weights

    monkeypatch.setattr(kernel_weights, "dense", wrong)
    other = gaussian_integral(FlatDensity.of(program, *program.data(X, y)), point, ("u",))
    assert other == pytest.approx(right, abs=1e-8)


def test_weights_and_bias_come_back_through_the_map():
    X, y = regression(12)
    program = KernelWeightSpace(Exact(RBF(1.0)), PRIOR)
    fixed, targets = program.data(X, y)
    values = {"log_mu": 0.1, "log_zeta": 2.0, "log_sigma": 0.3, "u": np.zeros(13)}
    with jax.enable_x64(True):
        trace = numpyro.handlers.trace(numpyro.handlers.substitute(program, values)).get_trace(fixed, targets)
    K = RBF(np.exp(0.3))(X)
    covariance = K * np.exp(-0.1) + np.eye(12) * np.exp(-2.0)
    solved = np.linalg.solve(covariance, np.column_stack([y, np.ones(12)]))
    b = solved[:, 0].sum() / solved[:, 1].sum()
    mean = b + K @ (solved[:, 0] - b * solved[:, 1]) * np.exp(-0.1)  # the latent values at u = 0: their mean
    phi = np.linalg.cholesky(K + 1e-9 * np.eye(12))
    w, b = (np.asarray(trace[name]["value"]) for name in ("w", "b"))
    np.testing.assert_allclose(phi @ w + b, mean, atol=1e-6)


# --- feature maps ----------------------------------------------------------------------------------------------------


def test_the_errors_of_feature_maps_are_what_they_say():
    X, y = regression(40)
    exact = kernel_error(Exact(RBF(1.0)), X, [0.3], y)
    assert exact.largest < 1e-14
    assert abs(exact.nats) < 1e-10
    coarse, fine = (kernel_error(Hilbert(n, reach=2.5), X, [0.0], y) for n in (8, 32))
    assert fine.largest < 1e-5 < 1e-2 < coarse.largest
    assert fine.relative < coarse.relative
    by_hand = Hilbert(32, reach=2.5)
    with jax.enable_x64(True):
        phi = np.asarray(by_hand(jnp.array([0.0]), by_hand.fixed(X)))
    assert fine.largest == np.abs(phi @ phi.T - RBF(1.0)(X)).max()
    errors = [kernel_error(Fourier(n, seed=s), X, [0.2]).relative for n in (100, 1600) for s in range(4)]
    assert 2.0 < np.mean(errors[:4]) / np.mean(errors[4:]) < 8.0  # 1/√n makes 4
    assert np.isnan(kernel_error(Fourier(50), X, [0.2]).nats)
    # what the error does to the density, from dense matrices
    change = kernel_error(Hilbert(8, reach=2.5), X, [0.0], y, (0.5, 1.0)).nats
    low = Hilbert(8, reach=2.5)
    with jax.enable_x64(True):
        phi = np.asarray(low(jnp.array([0.0]), low.fixed(X)))

    def best_over_b(K):
        C = K * np.exp(-0.5) + np.eye(40) * np.exp(-1.0)
        b = np.linalg.solve(C, y).sum() / np.linalg.solve(C, np.ones(40)).sum()
        return multivariate_normal.logpdf(y, np.full(40, b), C)

    assert change == pytest.approx(best_over_b(phi @ phi.T) - best_over_b(RBF(1.0)(X)), abs=1e-8)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_hilbert_features_in_several_dimensions(width):
    X, _ = regression(15, width)
    assert kernel_error(Hilbert({1: 40, 2: 30, 3: 12}[width], reach=2.0), X, [0.1]).largest < 0.02


@pytest.mark.slow
def test_approximate_features_in_the_program():
    X, y = regression(30)
    for maps in (Hilbert(4, reach=2.0), Fourier(6, seed=1)):
        program = KernelWeightSpace(maps, PRIOR)
        fixed, targets = program.data(X, y)
        point = {"log_mu": 0.2, "log_zeta": 1.0, "log_sigma": 0.1}
        found = gaussian_integral(FlatDensity.of(program, fixed, targets), point, ("u",))
        with jax.enable_x64(True):
            phi = np.asarray(maps(jnp.array([0.1]), jax.tree.map(jnp.asarray, fixed)))
        own = float(PRIOR.log_density(np.array(list(point.values()))))
        assert found - own == pytest.approx(closed_form(phi @ phi.T, y, 0.2, 1.0), abs=1e-7)


def test_bad_settings_get_a_sentence():
    X, y = regression(10, width=5)
    cases = [
        (lambda: Hilbert(8).fixed(X), "Fourier features, whose number does not grow"),
        (lambda: Hilbert(8, reach=0.9), "reach must be above 1"),
        (lambda: Fourier(kernel=Linear()), "stand for RBF kernels"),
        (lambda: Exact(RBF(1.0), jitter=0.0), "jitter must be a positive"),
        (lambda: KernelWeightSpace(bias_variance=-1.0), "variance of the bias must be a positive"),
        (lambda: KernelWeightSpace().data(X, np.ones(10)), "All targets are 1"),
        (
            lambda: sample(KernelWeightSpace(), *KernelWeightSpace().data(X, y), seed=0, jumps=0),
            "jumps must be a whole",
        ),
    ]
    for call, sentence in cases:
        with pytest.raises(ValueError, match=sentence):
            call()
    with pytest.raises(ImproperPriorError):
        KernelWeightSpace(prior=HyperPrior(kernel=Flat()))


# --- moves -----------------------------------------------------------------------------------------------------------


def test_the_density_of_the_proposals_is_a_density():
    with jax.enable_x64(True):
        parts = np.array([[-1.0], [2.0]]), np.array([[[0.5]], [[1.2]]]), np.log([0.3, 0.7])
        mixture = Mixture(*map(jnp.asarray, parts))
        density = jax.jit(lambda x: jnp.exp(log_proposal(x, mixture)))
        total = quad(lambda x: float(density(jnp.array([x]))), -300, 300, points=[-1, 2], limit=200)[0]
        below = quad(lambda x: float(density(jnp.array([x]))), -300, 0.0, points=[-1], limit=200)[0]
        drawn = jax.vmap(lambda key: propose(key, mixture))(jax.random.split(jax.random.key(0), 20000))[:, 0]
    assert total == pytest.approx(1.0, abs=1e-5)
    assert np.mean(np.asarray(drawn) < 0.0) == pytest.approx(below, abs=4 * np.sqrt(0.25 / 20000))


def two_modes(centre):
    x = numpyro.sample("x", dist.Normal(0.0, 30.0))
    numpyro.sample("u", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    weights = jnp.log(jnp.array([0.25, 0.75]))
    numpyro.factor("modes", jnp.logaddexp(weights[0] - 0.5 * (x - centre) ** 2, weights[1] - 0.5 * (x + centre) ** 2))


@pytest.mark.parametrize(
    "vectorised",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["one after the other", "vectorised"],
)
def test_jumps_join_modes_that_nuts_does_not(vectorised):
    """Modes twelve standard deviations apart, a quarter and three quarters of the mass."""
    options = {"vectorised": vectorised, "nuts_every": 1 + int(vectorised)}
    found = sample(two_modes, 6.0, seed=1, warmup=100, draws=500, modes_over=("x",), **options)
    right = found.draws["x"] > 0
    error = np.sqrt(0.25 * 0.75 / found.diagnostics.ess_bulk["x"])
    assert abs(right.mean() - 0.25) < 4 * error
    assert np.all(np.abs(right.mean(axis=1) - 0.25) < 0.2)  # every chain has been in both
    assert found.stats["jumped"].mean() > 0.2
    assert found.flat("u").std() == pytest.approx(1.0, abs=0.05)


def spike_and_slab(width):
    x = numpyro.sample("x", dist.Normal(0.0, 4.0))
    y = numpyro.sample("y", dist.Normal(0.0, 4.0))
    # 97 % of the mass in the spike, the rest under the prior
    spike = jnp.log(0.97 / 0.03) + 2.0 * jnp.log(4.0 / width) - 0.5 * (width**-2 - 4.0**-2) * (x**2 + y**2)
    numpyro.factor("slab", jnp.logaddexp(0.0, spike))


@pytest.mark.slow
def test_jumps_find_a_slab_that_is_no_mode():
    # between spike and slab the energy goes by jumps, and in the slab NUTS goes by the spike's short steps
    limits = Thresholds(e_fmi=0.01, tree_depth_share=0.05)
    found = sample(spike_and_slab, 0.02, seed=1, warmup=100, draws=500, modes_over=("x", "y"), thresholds=limits)
    away = (np.hypot(found.draws["x"], found.draws["y"]) > 0.2).astype(float)
    assert abs(away.mean() - 0.03) < 4.0 * rhat_and_ess({"away": away}).mcse_mean["away"]
    assert np.all(away.mean(axis=1) > 0.0)  # every chain has been there


@pytest.mark.slow
def test_whitened_sampling_agrees_with_quadrature_over_sigma_too():
    X, y = regression(30, seed=8)
    program = KernelWeightSpace(Exact(RBF(1.0)), PRIOR)
    posterior = sample(program, *program.data(X, y), seed=2, draws=400, warmup=150, modes_over=program.hyperparameters)
    exact = marginalise(X, y, kernel=RBF(1.0), prior=PRIOR, standardise=False)
    assert_agree(posterior, exact, program, program.data(X, y))
    assert posterior.draws["w"].shape == (4, 400, 30)


def assert_agree(posterior, exact, program, data, errors=3.0, evidence=3.0):
    """Moments in units of their Monte-Carlo errors, the evidence in units of its standard error."""
    mean, sd = exact.mean(), exact.sd()
    for name in (name for name in program.hyperparameters if name != "b"):
        drawn, diagnostics = posterior.flat(name), posterior.diagnostics
        assert abs(drawn.mean() - mean[name]) < errors * diagnostics.mcse_mean[name], name
        assert abs(drawn.std() - sd[name]) < errors * diagnostics.mcse_sd[name], name
    found = evidence_of_draws(program, data, draws=posterior.draws, seed=7, methods=("bridge",))
    assert found.standard_error < 0.2
    assert abs(found.value - exact.log_evidence) < evidence * found.standard_error


# --- real data, slowly -----------------------------------------------------------------------------------------------


def standardised(name, rows=slice(None)):
    X, labels = datasets.load(name).Xy
    X, labels = X[rows], labels[rows]
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), np.where(labels == np.unique(labels)[1], 1.0, -1.0)


def moons():
    """Two half circles that overlap. Shape, size, noise and seed were fixed before anything was run on them."""
    rng = np.random.default_rng(2026)
    angle, side = rng.uniform(0.0, np.pi, 120), np.repeat([1.0, -1.0], 60)
    X = np.column_stack([side * np.cos(angle) + 0.5 * (side < 0), side * np.sin(angle) + 0.25 * (side < 0)])
    X += 0.3 * rng.normal(size=X.shape)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), side


SETS = {
    "ripley": lambda: standardised("ripley"),
    "heart": lambda: standardised("hea", slice(150)),
    "moons": moons,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_weight_space_with_sigma_free_equals_quadrature(name):
    X, y = SETS[name]()
    program = KernelWeightSpace(Exact(RBF(1.0)), BROAD)
    data = program.data(X, y)
    posterior = sample(program, *data, seed=3, warmup=150, draws=600, modes_over=program.hyperparameters)
    assert_agree(posterior, marginalise(X, y, kernel=RBF(1.0), prior=BROAD), program, data)


@pytest.mark.slow
def test_the_gaussian_process_on_all_rows_of_pima_equals_quadrature():
    X, y = standardised("pid")
    program = GaussianProcess(RBF(1.0), BROAD, whitened_bias=True)
    data = program.data(X, y)
    options = {"modes_over": program.hyperparameters, "nuts_every": 25, "jumps": 2}  # jumps need no gradient
    posterior = sample(program, *data, seed=3, warmup=60, draws=500, target_accept=0.9, **options)
    assert_agree(posterior, marginalise(X, y, kernel=RBF(1.0), prior=BROAD), program, data)


def test_a_gaussian_process_with_a_whitened_bias_has_the_same_posterior():
    X, y = regression(9)
    options = [{}, {"bias_variance": 0.5}]
    for own in options:
        program = GaussianProcess(RBF(1.0), PRIOR, whitened_bias=True, **own)
        density = FlatDensity.of(program, *program.data(X, y))
        point = {"log_mu": 0.4, "log_zeta": 1.3, "log_sigma": -0.2}
        x, at = density.flatten({**point, "u": 0.0}), density.position("u")
        # given the hyperparameters u is a standard normal: value, slope and curve at 0, ½ and 1
        values = np.array([density(density.flatten({**point, "u": u})) for u in (0.0, 0.5, 1.0)])
        assert values - values[0] == pytest.approx([0.0, -0.125, -0.5], abs=1e-8)
        assert density.gradient(x)[at] == pytest.approx([0.0], abs=1e-8)
        found = values[0] + 0.5 * np.log(2.0 * np.pi) - float(PRIOR.log_density(np.array(list(point.values()))))
        K, mu, zeta = RBF(np.exp(-0.2))(X), np.exp(0.4), np.exp(1.3)
        expected = closed_form(K, y, 0.4, 1.3)
        if own:
            expected = multivariate_normal.logpdf(y, np.zeros(9), K / mu + np.eye(9) / zeta + 0.5)
        assert found == pytest.approx(expected, abs=1e-8)
        assert program.hyperparameters == ("log_mu", "log_zeta", "log_sigma")


def test_the_prior_of_a_whitened_bias_is_in_the_density():
    X, y = regression(8)
    program = KernelWeightSpace(Exact(RBF(1.0)), PRIOR, bias_variance=0.5)
    plain = KernelWeightSpace(Exact(RBF(1.0)), PRIOR, bias_variance=0.5, whitened=False)
    point = {"log_mu": 0.2, "log_zeta": 1.0, "log_sigma": 0.1}
    values = [
        gaussian_integral(FlatDensity.of(p, *p.data(X, y)), point, sites)
        for p, sites in ((program, ("u",)), (plain, ("z", "b")))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-8)
