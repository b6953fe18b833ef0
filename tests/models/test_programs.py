"""The NumPyro programs: their densities against the closed forms, their independence, and what the runner promises."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from scipy.integrate import quad
from scipy.special import expit, log_expit
from scipy.stats import ks_2samp, multivariate_normal, norm, t

from bayes_lssvm import datasets
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
from bayes_lssvm.levels.level2 import log_evidence
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.priors import Box, Flat, HyperPrior, ImproperPriorError, LogPrior, Normal
from bayes_lssvm.sampling.diagnostics import ChainsDidNotMixError, ChainsDidNotMixWarning, Thresholds
from models import BernoulliGP, FlatDensity, GaussianProcess, WeightSpace, features, nuts, sample, sampling, to_numpyro

ROOT = Path(__file__).parents[2]
PRIOR = HyperPrior(Normal(0, 2), Normal(0, 2), Normal(0, 1))


def regression(n, width=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    return X, 0.4 + np.sin(X[:, 0]) - 0.5 * X[:, -1] + 0.3 * rng.normal(size=n)


def closed_form(kernel, X, y, point, prior=PRIOR):
    """log p(D | μ, ζ, θ) with weights and bias integrated out analytically, plus the prior's log density."""
    if any(name not in ("log_mu", "log_zeta") for name in point):
        kernel = kernel.with_log_params(np.array([point[f"log_{name}"] for name in kernel.param_names]))
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    own = float(prior.log_density(np.array(list(point.values()))))
    return log_evidence(spectrum, np.exp(point["log_mu"]), np.exp(point["log_zeta"])) + own


def random_points(names, seed, count=4):
    rng = np.random.default_rng(seed)
    return [dict(zip(names, rng.normal(0.0, [1.5, 1.5, *[0.4] * (len(names) - 2)]), strict=True)) for _ in range(count)]


def gaussian_integral(density, point, sites):
    """log ∫ exp(log density) over sites in which it is quadratic, from its value, gradient and Hessian at zero."""
    x = density.flatten({**point, **dict.fromkeys(sites, 0.0)})
    over = np.concatenate([np.arange(density.size)[density.position(name)] for name in sites])
    g, precision = density.gradient(x)[over], -density.hessian(x)[np.ix_(over, over)]
    L = np.linalg.cholesky(precision)
    half = np.linalg.solve(L, g)
    return density(x) + 0.5 * half @ half + 0.5 * len(over) * np.log(2 * np.pi) - np.log(np.diag(L)).sum()


# --- densities -----------------------------------------------------------------------------------------------------


def repeated_points():
    X, y = regression(12, seed=4)
    return np.repeat(X, 2, axis=0), np.concatenate([y[::2], y])[np.arange(24) % 18]


WEIGHT_CASES = {
    "linear": (Linear(), regression(25), True),
    "linear, not centred": (Linear(), regression(25), False),
    "polynomial 3": (Polynomial(3, 1.0), regression(25), True),
    "RBF, empirical": (RBF(1.3), regression(25), True),
    "RBF, empirical, not centred": (RBF(1.3), regression(25), False),
    "linear, four points": (Linear(), regression(4), True),
    "RBF, every point twice": (RBF(0.8), repeated_points(), True),
}


@pytest.mark.parametrize("case", WEIGHT_CASES.values(), ids=WEIGHT_CASES.keys())
def test_weight_space_with_weights_integrated_out_is_the_evidence(case):
    kernel, (X, y), centred = case
    program = WeightSpace(PRIOR, centred=centred)
    phi = features(kernel, X, empirical=isinstance(kernel, RBF))
    np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-12)
    density = FlatDensity.of(program, *program.data(phi, y))
    for point in random_points(("log_mu", "log_zeta"), seed=1):
        found = gaussian_integral(density, point, ("w" if centred else "z", "b"))
        assert found == pytest.approx(closed_form(kernel, X, y, point), abs=1e-8)


def test_a_rotation_of_the_data_changes_nothing_but_their_shape():
    X, y = regression(25)
    program = WeightSpace(PRIOR)
    plain, rotated = (program.data(features(Polynomial(3, 1.0), X), y, rotate=r) for r in (False, True))
    assert [a.shape for a in plain] == [(25, 11), (25,)]
    assert [a.shape for a in rotated] == [(11, 11), (25,)]
    densities = [FlatDensity.of(program, *data) for data in (plain, rotated)]
    for x in np.random.default_rng(0).normal(size=(3, 13)):
        assert densities[0](x) == pytest.approx(densities[1](x), rel=1e-13)


def test_weight_space_integrated_numerically_in_two_dimensions():
    """The trapezoidal rule over w and b: no derivative, no algebra."""
    X, y = regression(12, width=1)
    program = WeightSpace(PRIOR)
    density = FlatDensity.of(program, *program.data(features(Linear(), X), y))
    assert density.names == ("b", "log_mu", "log_zeta", "w")
    for point in random_points(("log_mu", "log_zeta"), seed=2, count=2):
        mu, zeta = np.exp(point["log_mu"]), np.exp(point["log_zeta"])
        # where the mass is: least squares, and a rule finer than the narrower of the two directions
        w0 = zeta * (X[:, 0] @ (y - y.mean())) / (mu + zeta * ((X - X.mean()) ** 2).sum())
        b0 = y.mean() - w0 * X.mean()
        step = 0.5 / np.sqrt(mu + zeta * len(y) * max(1.0, np.mean(X**2)))
        offsets = step * np.arange(-60, 61)
        values = [
            density(density.flatten({**point, "w": [w0 + dw], "b": b0 + db}))
            for dw in offsets[::2]
            for db in offsets[::2]
        ]
        largest = max(values)
        found = largest + np.log(np.exp(np.array(values) - largest).sum() * (2 * step) ** 2)
        assert found == pytest.approx(closed_form(Linear(), X, y, point), abs=1e-8)


FUNCTION_CASES = {
    "RBF": RBF(1.0),
    "ARD": ARD((1.0, 1.0)),
    "polynomial 3": Polynomial(3, 1.0),
    "linear": Linear(),
    "sum, product and multiple": 2.0 * RBF(1.0) + Linear() * Polynomial(2, 1.0),
    "Matérn": Matern(1.0, 0.5) + OnInputs(Matern(1.0, 1.5), (0,)) * Matern(1.0, 2.5),
    "rational quadratic": RationalQuadratic(1.0, 1.0),
    "periodic and categorical": Periodic(1.0, 1.0) + (Constant() + Linear((1.0, 0.5))) * Categorical(1.0),
    "white": RBF(1.0) + 1.0 * White(),
}


def integral_over_bias(density, point):
    """The same for the bias alone, from three values."""
    at = {b: density(density.flatten({**point, "b": b})) for b in (-1.0, 0.0, 1.0)}
    slope, precision = 0.5 * (at[1.0] - at[-1.0]), 2.0 * at[0.0] - at[1.0] - at[-1.0]
    return at[0.0] + 0.5 * slope**2 / precision + 0.5 * np.log(2 * np.pi / precision)


@pytest.mark.parametrize("kernel", FUNCTION_CASES.values(), ids=FUNCTION_CASES.keys())
def test_function_space_with_the_bias_integrated_out_is_the_evidence(kernel):
    X, y = regression(25)
    program = GaussianProcess(kernel, PRIOR)
    density = FlatDensity.of(program, *program.data(X, y))
    names = ("log_mu", "log_zeta", *(f"log_{name}" for name in kernel.param_names))
    for point in random_points(names, seed=3):
        assert integral_over_bias(density, point) == pytest.approx(closed_form(kernel, X, y, point), abs=1e-8)


class Laplacian(RBF):
    """A user's kernel, exp(−Σ_k |x_k − z_k|/σ): the programs know nothing of it but its matrix."""

    def __call__(self, X, Z=None):
        Z = X if Z is None else Z
        return np.exp(-np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2) / self.sigma)


@pytest.mark.parametrize(
    ("kernel", "data"),
    [
        (RBF(1.3), regression(25)),
        (RBF(1.3), regression(4)),
        (RBF(0.8), repeated_points()),
        (Laplacian(2.0), regression(25)),
    ],
    ids=["25 points", "four points", "every point twice", "a user's kernel"],
)
def test_function_space_with_a_fixed_kernel(kernel, data):
    X, y = data
    program = GaussianProcess(kernel, PRIOR, fixed_kernel=True)
    density = FlatDensity.of(program, *program.data(X, y))
    assert density.names == ("b", "log_mu", "log_zeta")
    for point in random_points(("log_mu", "log_zeta"), seed=4):
        assert integral_over_bias(density, point) == pytest.approx(closed_form(kernel, X, y, point), abs=1e-8)


def test_a_broad_bias_instead_of_a_flat_one():
    """Both spaces against SciPy's normal density with the bias in the covariance."""
    X, y = regression(10)
    variance, kernel = 4.0, Linear()
    weight, function = (
        WeightSpace(PRIOR, bias_variance=variance),
        GaussianProcess(kernel, PRIOR, bias_variance=variance),
    )
    in_weights = FlatDensity.of(weight, *weight.data(features(kernel, X), y))
    in_functions = FlatDensity.of(function, *function.data(X, y))
    for point in random_points(("log_mu", "log_zeta"), seed=5, count=2):
        covariance = kernel(X) / np.exp(point["log_mu"]) + np.eye(10) / np.exp(point["log_zeta"]) + variance
        expected = multivariate_normal.logpdf(y, np.zeros(10), covariance)
        expected += PRIOR.log_density(np.array(list(point.values())))
        assert gaussian_integral(in_weights, point, ("w", "b")) == pytest.approx(expected, abs=1e-8)
        assert integral_over_bias(in_functions, point) == pytest.approx(expected, abs=1e-8)


def test_the_density_of_the_bernoulli_program():
    X, y = regression(8)
    y = np.sign(y)
    program = BernoulliGP(RBF(1.0), PRIOR, bias_variance=4.0, jitter=1e-6)
    density = FlatDensity.of(program, *program.data(X, y))
    rng = np.random.default_rng(6)
    for point in random_points(("log_mu", "b", "log_sigma"), seed=6):
        eta = rng.normal(size=8)
        K = RBF(np.exp(point["log_sigma"]))(X) + 1e-6 * np.eye(8)
        f = point["b"] + np.exp(-0.5 * point["log_mu"]) * np.linalg.cholesky(K) @ eta
        expected = norm.logpdf(point["b"], 0, 2) + norm.logpdf(eta).sum() + log_expit(y * f).sum()
        expected += PRIOR.mu.log_density(point["log_mu"]) + PRIOR.kernel.log_density(point["log_sigma"])
        x = density.flatten({**point, "eta": eta})
        assert density(x) == pytest.approx(expected, abs=1e-10)
        np.testing.assert_allclose(density.constrained(x)["eta"], eta)


@pytest.mark.slow
def test_programs_without_targets_draw_them():
    X, _ = regression(3)
    prior = HyperPrior(Box(0.2, 0.3), Box(1.0, 1.1), Box(-0.1, 0.1))
    expected = RBF(1.0)(X) / np.exp(0.25) + np.eye(3) / np.exp(1.05) + 0.5
    function = GaussianProcess(RBF(1.0), prior, bias_variance=0.5)
    weight = WeightSpace(prior, bias_variance=0.5)
    design, _ = weight.data(features(RBF(1.0), X, empirical=True), np.arange(3.0), rotate=False)
    for program, inputs in ((function, function.data(X, np.arange(3.0))[0]), (weight, design)):

        def draw(key, program=program, inputs=inputs):
            return handlers.trace(handlers.seed(program, key)).get_trace(inputs)["y"]["value"]

        y = jax.jit(jax.vmap(draw))(jax.random.split(jax.random.key(0), 20000))
        np.testing.assert_allclose(np.cov(np.asarray(y).T), expected, atol=0.06)
        np.testing.assert_allclose(np.mean(y, axis=0), 0.0, atol=0.05)


# --- priors --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heavy(LogPrior):
    """A user's prior: Student's t with four degrees of freedom."""

    scale: float = 1.5

    def log_density(self, x):
        return t.logpdf(np.asarray(x), 4, scale=self.scale)

    def gradient(self, x):
        x = np.asarray(x)
        return -5.0 * x / (4.0 * self.scale**2 + x**2)

    def sample(self, n, rng):
        return self.scale * rng.standard_t(4, n)

    @property
    def width(self):
        return self.scale * np.sqrt(2.0)


@dataclass(frozen=True)
class Tail(Heavy):
    """An exponential above `low`."""

    low: float = -1.0

    def log_density(self, x):
        x = np.asarray(x)
        return np.where(x >= self.low, -(x - self.low) / self.scale - np.log(self.scale), -np.inf)

    def gradient(self, x):
        return np.full_like(np.asarray(x, dtype=float), -1.0 / self.scale)

    def sample(self, n, rng):
        return self.low + rng.exponential(self.scale, n)

    @property
    def support(self):
        return self.low, np.inf


PRIORS = [Normal(0.5, 2.0), Box(-2.0, 3.0), Heavy(), Tail()]


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_a_prior_becomes_a_distribution_with_the_same_density(prior):
    x = np.linspace(max(prior.support[0], -9), min(prior.support[1], 9), 14)[1:-1]
    with jax.enable_x64(True):
        distribution = to_numpyro(prior)
        np.testing.assert_allclose(distribution.log_prob(x), prior.log_density(x), rtol=1e-13)
        slopes = jax.jit(jax.vmap(jax.grad(distribution.log_prob)))(x)
        np.testing.assert_allclose(slopes, prior.gradient(x), rtol=1e-13)
        drawn = np.asarray(distribution.sample(jax.random.key(1), (4000,)))
        again = np.asarray(distribution.sample(jax.random.key(2), (4000,)))
    assert drawn.dtype == np.float64
    assert not np.array_equal(drawn, again)
    mine = prior.sample(4000, np.random.default_rng(3))
    assert ks_2samp(drawn, mine).pvalue > 1e-3


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_a_prior_inside_a_program(prior):
    """The density of the unconstrained parameter is the prior's times the Jacobian, which integrates to one."""
    X, y = regression(6)
    program = GaussianProcess(Linear(), HyperPrior(prior, Normal(0, 2)), fixed_kernel=True)
    density = FlatDensity.of(program, *program.data(X, y))
    point = density.flatten({"log_mu": 0.3, "log_zeta": 0.4, "b": 0.1})
    value = density.constrained(point)["log_mu"]
    step = np.eye(density.size)[density.position("log_mu")][0]
    jacobian = float(density.constrained(point + 1e-5 * step)["log_mu"] - density.constrained(point)["log_mu"]) / 1e-5
    covariance = Linear()(X) / np.exp(value) + np.eye(6) / np.exp(0.4)
    expected = multivariate_normal.logpdf(y, np.full(6, 0.1), covariance) + norm.logpdf(0.4, 0, 2)
    expected += float(prior.log_density(value)) + np.log(jacobian)
    assert density(point) == pytest.approx(expected, abs=1e-4)
    slope = (density(point + 1e-4 * step) - density(point - 1e-4 * step)) / 2e-4
    assert density.gradient(point)[density.position("log_mu")][0] == pytest.approx(slope, abs=1e-6)


def test_a_users_prior_needs_double_precision():
    with jax.enable_x64(False), pytest.raises(ValueError, match="64-bit mode"):
        to_numpyro(Heavy()).log_prob(0.5)


def test_a_flat_prior_is_refused_with_the_reason():
    with pytest.raises(ImproperPriorError, match="infinite integral"):
        to_numpyro(Flat())
    for make in (
        lambda: WeightSpace(Flat()),
        lambda: WeightSpace(HyperPrior(zeta=Flat())),
        lambda: GaussianProcess(RBF(1.0), HyperPrior(kernel=Flat())),
        lambda: BernoulliGP(RBF(1.0), Flat()),
    ):
        with pytest.raises(ImproperPriorError, match="the evidence tends to a constant as γ → 0"):
            make()
    # where a parameter is not sampled its prior does not matter
    GaussianProcess(RBF(1.0), HyperPrior(kernel=Flat()), fixed_kernel=True)
    BernoulliGP(RBF(1.0), HyperPrior(zeta=Flat()))


# --- independence --------------------------------------------------------------------------------------------------

SHARED = {
    "kernels",
    "priors",
    "sampling.chains",
    "sampling.diagnostics",
    "base.provenance",
    "base.arviz",
    "base.typing",
    "base.errors",
    "base.checks",
    "base.progress",
}
HELPERS = {"linalg.blas", "base.files", "base.rounding", "base.scikit", "base.text", "_version"}
HELPERS |= {"base", "base.frames", "base.holds", "base.turns", "linalg", "sampling"}


def modules_imported(path, package):
    """Dotted names of the modules of this repository that a file imports, those inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                name = f"{origin}.{alias.name}"
                found.add(name if file_of(name) else origin)
    return {name for name in found if name.split(".")[0] in ("bayes_lssvm", "models")}


def file_of(name):
    stem = ROOT.joinpath(*name.split("."))
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)


def reachable(start):
    """Every module of the repository that some modules import, directly or through others."""
    found, waiting = set(), set(start)
    while waiting:
        name = waiting.pop()
        found.add(name)
        path = file_of(name)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        waiting |= modules_imported(path, package) - found
    return found


def _room(name):
    """The module within the library; kernels are one, with all their parts."""
    inside = name.partition(".")[2] or "the whole package"
    return "kernels" if inside.startswith("kernels.") else inside


def test_the_programs_share_data_kernels_and_priors_with_the_closed_forms_and_nothing_else():
    own = {"models", *(f"models.{p.stem}" for p in (ROOT / "models").glob("*.py") if p.stem != "__init__")}
    assert len(own) >= 8
    direct = set().union(*(modules_imported(file_of(name), "models") for name in own)) - own
    assert {_room(name) for name in direct} <= SHARED
    everything = {_room(name) for name in reachable(own) if name.startswith("bayes_lssvm.")}
    assert {"kernels", "priors"} <= everything <= SHARED | HELPERS


def test_the_reader_of_imports_finds_what_it_must():
    assert "bayes_lssvm.levels.level2" in reachable({"bayes_lssvm.levels.level3"})
    assert "bayes_lssvm.linalg.spectrum" in reachable({"bayes_lssvm.marginal"})
    assert modules_imported(ROOT / "models" / "sampling.py", "models") >= {
        "bayes_lssvm.base.arviz",
        "models.log_density",
    }


# --- sampling ------------------------------------------------------------------------------------------------------


def assert_moments_agree(posterior, exact, names, errors=4.0):
    mean, sd = exact.mean(), exact.sd()
    for name in names:
        drawn = posterior.flat(name)
        diagnostics = posterior.diagnostics
        assert abs(drawn.mean() - mean[name]) < errors * diagnostics.mcse_mean[name], name
        assert abs(drawn.std() - sd[name]) < errors * diagnostics.mcse_sd[name], name


@pytest.fixture(scope="module")
def weight_data():
    X, y = regression(30, seed=7)
    program = WeightSpace(PRIOR)
    return program, program.data(features(Linear(), X), y), X, y


@pytest.fixture(scope="module")
def weight_posterior(weight_data):
    program, data, _, _ = weight_data
    return sample(program, *data, seed=1, target_accept=0.9)


def test_weight_space_nuts_agrees_with_quadrature(weight_data, weight_posterior):
    _, _, X, y = weight_data
    exact = marginalise(X, y, kernel=Linear(), prior=PRIOR, standardise=False)
    assert_moments_agree(weight_posterior, exact, ("log_mu", "log_zeta"))
    assert weight_posterior.diagnostics.ok
    assert weight_posterior.draws["w"].shape == (4, 1000, 2)
    # the latent output averaged over draws is the marginalised prediction
    means = weight_posterior.flat("w") @ X[:5].T + weight_posterior.flat("b")[:, None]
    np.testing.assert_allclose(means.mean(axis=0), exact.predict(X[:5]), atol=0.02)


@pytest.mark.slow
def test_function_space_nuts_agrees_with_quadrature_over_sigma_too():
    X, y = regression(30, seed=8)
    program = GaussianProcess(RBF(1.0), PRIOR)
    posterior = sample(program, *program.data(X, y), seed=2, target_accept=0.95)
    exact = marginalise(X, y, kernel=RBF(1.0), prior=PRIOR, standardise=False)
    assert_moments_agree(posterior, exact, ("log_mu", "log_zeta", "log_sigma"))


def test_the_log_density_of_the_draws_is_that_of_the_program(weight_data, weight_posterior):
    program, data, _, _ = weight_data
    density = FlatDensity.of(program, *data)
    for chain, draw in ((0, 0), (3, 999)):
        x = density.flatten({name: weight_posterior.draws[name][chain, draw] for name in density.names})
        assert weight_posterior.log_density[chain, draw] == pytest.approx(density(x), abs=1e-9)


def test_seeds_decide_and_nothing_is_compiled_twice(weight_data, weight_posterior):
    program, (design, targets), _, _ = weight_data
    again = sample(WeightSpace(PRIOR), design, targets, seed=1, target_accept=0.9)
    np.testing.assert_array_equal(again.draws["w"], weight_posterior.draws["w"])
    other = sample(program, design, 2.0 * targets, seed=3, target_accept=0.9)
    assert not np.array_equal(other.draws["w"], weight_posterior.draws["w"])
    compiled = nuts.compiled_for(program, nuts.Settings(500, 0.9, 10, False))
    assert compiled.advance._cache_size() == 1


def test_draws_are_double_precision_whatever_the_process_is_set_to(weight_data, capfd):
    program, data, _, _ = weight_data
    with jax.enable_x64(False):
        posterior = sample(program, *(np.float32(d) for d in data), seed=1, target_accept=0.9)
        assert not jax.config.jax_enable_x64
        assert jax.numpy.ones(2).dtype == np.float32
    assert {v.dtype for v in posterior.draws.values()} == {np.dtype(float)}
    assert np.mean(posterior.flat("log_mu") == posterior.flat("log_mu").astype(np.float32)) < 0.01
    assert capfd.readouterr() == ("", "")  # no bar where there is no terminal


def test_too_few_draws_are_an_error_unless_asked_for(weight_data):
    program, data, _, _ = weight_data
    with pytest.raises(ChainsDidNotMixError, match="bulk effective sample size"):
        sample(program, *data, seed=1, draws=20, target_accept=0.9)
    with pytest.warns(ChainsDidNotMixWarning, match="Take more draws"):
        posterior = sample(program, *data, seed=1, draws=20, target_accept=0.9, check=False)
    assert posterior.draws["b"].shape == (4, 20)
    assert sample(program, *data, seed=1, draws=200, target_accept=0.9, thresholds=Thresholds(1.1, 5)).diagnostics.ok


def two_modes(centre):
    x = numpyro.sample("x", dist.Normal(0.0, 30.0))
    numpyro.factor("modes", jax.numpy.logaddexp(-0.5 * (x - centre) ** 2, -0.5 * (x + centre) ** 2))


def test_chains_in_different_modes_are_an_error():
    with pytest.raises(ChainsDidNotMixError, match="R-hat of x is") as caught:
        sample(two_modes, 20.0, seed=0, warmup=100, draws=200)
    assert "several modes" in str(caught.value)
    assert caught.value.diagnostics.rhat["x"] > 1.5
    # the same compiled program with its modes together mixes
    assert sample(two_modes, 0.5, seed=0, warmup=100, draws=200, thresholds=Thresholds(1.05, 20)).diagnostics.ok


def test_a_density_that_is_not_finite_at_the_start(weight_data):
    program, (design, targets), _, _ = weight_data
    with pytest.raises(nuts.NonFiniteStartError, match=r"not finite at any of 50 starting points.*log_zeta"):
        sample(program, design, 1e200 * targets, seed=0, target_accept=0.9)


def test_an_interruption_leaves_nothing_behind(weight_data, weight_posterior, monkeypatch, tmp_path):
    program, data, _, _ = weight_data
    steps = []

    class Bar(sampling.tqdm):
        def update(self, n=1):
            steps.append(n)
            if len(steps) == 5:
                raise KeyboardInterrupt

    before = jax.config.jax_enable_x64
    monkeypatch.setattr(sampling, "tqdm", Bar)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        sample(program, *data, seed=1, target_accept=0.9).save(tmp_path / "posterior.nc")
    assert list(tmp_path.iterdir()) == []
    assert jax.config.jax_enable_x64 == before
    monkeypatch.undo()
    again = sample(program, *data, seed=1, target_accept=0.9)
    np.testing.assert_array_equal(again.draws["b"], weight_posterior.draws["b"])


def test_draws_as_a_data_tree_and_as_a_file(weight_posterior, tmp_path):
    from bayes_lssvm.base.arviz import read_netcdf

    tree = weight_posterior.to_arviz()
    assert set(tree.children) == {"posterior", "sample_stats"}
    assert tree["posterior"]["w"].shape == (4, 1000, 2)
    assert {"energy", "diverging", "tree_depth", "lp"} <= set(tree["sample_stats"])
    again = read_netcdf(weight_posterior.save(tmp_path / "posterior.nc"))
    np.testing.assert_array_equal(again["posterior"]["b"].values, weight_posterior.draws["b"])
    record = weight_posterior.provenance
    assert record["settings"]["seed"] == 1
    assert record["settings"]["program"].startswith("WeightSpace(prior=HyperPrior(mu=Normal(mean=0, sd=2)")
    assert {"jax", "numpyro", "bayes_lssvm"} <= set(record["versions"])
    assert record["data_sha256"] in again.attrs["provenance"]


# --- sampling real data, slowly -------------------------------------------------------------------------------------

BROAD = HyperPrior(Normal(0, 3), Normal(0, 3), Normal(0, 1))


@pytest.fixture(scope="module")
def pima():
    """Pima Indians diabetes with standardised inputs and labels ±1."""
    data = datasets.load("pid")
    X = np.asarray(data.data, dtype=float)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), np.where(np.asarray(data.target) == "pos", 1.0, -1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kernel", "centred"),
    [
        ("ripley", Linear(), True),
        ("ripley", Polynomial(3, 1.0), True),
        ("ripley", RBF(1.311), False),
        ("pima", Linear(), True),
        ("pima", Polynomial(3, 8.0), False),
        ("pima", RBF(6.0), False),
    ],
    ids=str,
)
def test_weight_space_on_real_data_agrees_with_quadrature(name, kernel, centred, ripley_standardised, pima):
    X, y = ripley_standardised if name == "ripley" else pima
    program = WeightSpace(BROAD, centred=centred)
    phi = features(kernel, X, empirical=isinstance(kernel, RBF))
    posterior = sample(program, *program.data(phi, y), seed=1, target_accept=0.95)
    exact = marginalise(X, y, kernel=kernel, prior=BROAD, fixed_kernel=True, standardise=False)
    assert_moments_agree(posterior, exact, ("log_mu", "log_zeta"))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 1.0), RBF(1.311)], ids=str)
def test_function_space_on_ripley_agrees_with_quadrature(kernel, ripley_standardised):
    program = GaussianProcess(kernel, BROAD, fixed_kernel=True)
    posterior = sample(program, *program.data(*ripley_standardised), seed=1, target_accept=0.95, warmup=300, draws=500)
    exact = marginalise(*ripley_standardised, kernel=kernel, prior=BROAD, fixed_kernel=True, standardise=False)
    assert_moments_agree(posterior, exact, ("log_mu", "log_zeta"))


@pytest.mark.slow
def test_function_space_on_ripley_with_sigma_free(ripley_standardised):
    program = GaussianProcess(RBF(1.0), BROAD)
    posterior = sample(
        program, *program.data(*ripley_standardised), seed=1, target_accept=0.9, warmup=300, draws=500, dense_mass=True
    )
    exact = marginalise(*ripley_standardised, kernel=RBF(1.0), prior=BROAD, standardise=False)
    assert_moments_agree(posterior, exact, ("log_mu", "log_zeta", "log_sigma"))


@pytest.mark.slow
def test_function_space_on_a_part_of_pima(pima):
    """200 points drawn at random: all 768 would take a Cholesky factor of 50 ms at every step."""
    chosen = np.random.default_rng(0).permutation(768)[:200]
    X, y = pima[0][chosen], pima[1][chosen]
    program = GaussianProcess(RBF(6.0), BROAD, fixed_kernel=True)
    posterior = sample(program, *program.data(X, y), seed=1, target_accept=0.95, warmup=300, draws=500)
    exact = marginalise(X, y, kernel=RBF(6.0), prior=BROAD, fixed_kernel=True, standardise=False)
    assert_moments_agree(posterior, exact, ("log_mu", "log_zeta"))


@pytest.mark.slow
def test_permuted_labels_need_the_other_parametrisation(ripley_standardised):
    """Without signal, w is tied to its scale: the checks stop the centred program, and the other one is right."""
    X, y = ripley_standardised
    y = np.random.default_rng(0).permutation(y)
    phi = features(RBF(1.311), X, empirical=True)
    centred, other = WeightSpace(BROAD), WeightSpace(BROAD, centred=False)
    with pytest.raises(ChainsDidNotMixError, match=r"R-hat of .*E-FMI"):
        sample(centred, *centred.data(phi, y), seed=1, target_accept=0.95)
    posterior = sample(other, *other.data(phi, y), seed=1, target_accept=0.95)
    exact = marginalise(X, y, kernel=RBF(1.311), prior=BROAD, fixed_kernel=True, standardise=False)
    assert_moments_agree(posterior, exact, ("log_mu", "log_zeta"))
    assert exact.mean()["log_gamma"] < -3.0  # no signal


@pytest.mark.slow
def test_informative_data_need_the_centred_parametrisation(ripley_standardised):
    X, y = ripley_standardised
    program = WeightSpace(BROAD, centred=False)
    with pytest.raises(ChainsDidNotMixError, match="trajectories diverged"):
        sample(program, *program.data(features(Linear(), X), y), seed=1, target_accept=0.95)


@pytest.mark.slow
def test_four_points_are_enough_for_a_posterior():
    X, y = regression(4, seed=3)
    prior = Normal(0, 1)
    program = GaussianProcess(RBF(1.0), prior, fixed_kernel=True)
    posterior = sample(program, *program.data(X, y), seed=1, target_accept=0.95)
    exact = marginalise(X, y, kernel=RBF(1.0), prior=prior, fixed_kernel=True, standardise=False)
    assert_moments_agree(posterior, exact, ("log_mu", "log_zeta"))


@pytest.mark.slow
def test_a_users_prior_is_sampled():
    X, y = regression(30, seed=7)
    prior = HyperPrior(Heavy(1.0), Tail(1.0))
    program = WeightSpace(prior)
    posterior = sample(program, *program.data(features(Linear(), X), y), seed=1, target_accept=0.95)
    exact = marginalise(X, y, kernel=Linear(), prior=prior, standardise=False)
    assert_moments_agree(posterior, exact, ("log_mu", "log_zeta"))


@pytest.mark.slow
def test_the_bernoulli_program_against_importance_sampling():
    """Six points: draws from the prior, weighted by the likelihood, give the same means and probabilities."""
    X, y = regression(6, seed=5)
    y = np.sign(y - np.median(y))
    prior = HyperPrior(Normal(-1, 1), Normal(0, 1), Normal(0.5, 0.5))
    program = BernoulliGP(RBF(1.0), prior, bias_variance=1.0)
    posterior = sample(program, *program.data(X, y), seed=1, target_accept=0.95)
    rng = np.random.default_rng(2)
    n = 400_000
    b, log_mu, log_sigma = rng.normal(size=n), rng.normal(-1, 1, n), rng.normal(0.5, 0.5, n)
    distances = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    K = np.exp(-distances / np.exp(2 * log_sigma)[:, None, None]) + program.jitter * np.eye(6)
    latent = np.einsum("nij,nj->ni", np.linalg.cholesky(K), rng.normal(size=(n, 6)))
    f = b[:, None] + np.exp(-0.5 * log_mu)[:, None] * latent
    weights = np.exp(log_expit(y * f).sum(axis=1))
    weights /= weights.sum()
    for name, values in {"b": b, "log_mu": log_mu, "log_sigma": log_sigma, "f": f[:, 2]}.items():
        drawn = posterior.flat(name)[:, 2] if name == "f" else posterior.flat(name)
        mean = weights @ values
        own = np.sqrt(weights**2 @ (values - mean) ** 2)
        # f is no latent site, so its error is bounded by the smallest effective sample size of the latent ones
        error = posterior.diagnostics.mcse_mean.get(name, drawn.std() / np.sqrt(posterior.diagnostics.min_ess))
        assert abs(drawn.mean() - mean) < 4.0 * np.hypot(own, error), name
    at_data = program.predict_proba(posterior.draws, X, X)[:, 1]
    np.testing.assert_allclose(at_data, weights @ expit(f), atol=0.02)


# --- the Bernoulli classifier's predictions --------------------------------------------------------------------------


@pytest.mark.parametrize("fixed", [False, True], ids=["sigma sampled", "sigma fixed"])
def test_bernoulli_probabilities_against_a_dense_conditional(fixed):
    X, _ = regression(7)
    X_new = np.vstack([X[:2], regression(3, seed=11)[0], [[40.0, 40.0]]])
    program = BernoulliGP(RBF(1.2), PRIOR, fixed_kernel=fixed)
    rng = np.random.default_rng(12)
    draws = {"log_mu": rng.normal(size=(2, 4)), "b": rng.normal(size=(2, 4)), "eta": rng.normal(size=(2, 4, 7))}
    draws |= {} if fixed else {"log_sigma": rng.normal(0.0, 0.3, size=(2, 4))}
    found = program.predict_proba(draws, X, X_new, thin=2)
    assert found.shape == (6, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    expected = np.zeros(6)
    for chain in range(2):
        for draw in (0, 2):
            one = {name: values[chain, draw] for name, values in draws.items()}
            expected += dense_probability(one, X, X_new, 1.2 if fixed else np.exp(one["log_sigma"])) / 4
    np.testing.assert_allclose(found[:, 1], expected, atol=1e-6)


def dense_probability(draw, X, X_new, sigma):
    """The conditional of the latent by a plain solve, and the mean of the logistic function by adaptive quadrature."""
    everything = np.vstack([X, X_new])
    K = (RBF(sigma)(everything) + 1e-6 * np.eye(len(everything))) / np.exp(draw["log_mu"])
    # a new point at an old input is a new draw of the jitter, so both blocks carry it
    n = len(X)
    f = draw["b"] + np.linalg.cholesky(K[:n, :n]) @ draw["eta"]
    solved = np.linalg.solve(K[:n, :n], K[:n, n:])
    means, variances = draw["b"] + solved.T @ (f - draw["b"]), np.diag(K[n:, n:] - K[n:, :n] @ solved)
    pairs = zip(means, np.sqrt(variances), strict=True)
    return np.array(
        [quad(lambda u, m=m, s=s: expit(m + s * u) * norm.pdf(u), -9, 9, epsabs=1e-10)[0] for m, s in pairs]
    )


# --- bad input -----------------------------------------------------------------------------------------------------


def with_nan(array):
    array = array.copy()
    array.flat[0] = np.nan
    return array


def test_bad_input_gets_a_sentence_before_any_work():
    X, y = regression(10)
    signs = np.sign(y)
    process, classifier, weights = GaussianProcess(RBF(1.0)), BernoulliGP(RBF(1.0)), WeightSpace()
    cases = [
        (lambda: process.data(with_nan(X), y), "inputs have entries that are not finite"),
        (lambda: process.data(X, with_nan(y)), "targets have entries that are not finite"),
        (lambda: process.data(X, y[:9]), "one target for each of the 10 inputs"),
        (lambda: process.data(X[:, 0], y), r"shape \(N, d\)"),
        (lambda: process.data(X, np.ones(10)), "All targets are 1"),
        (lambda: weights.data(X, with_nan(y)), "targets have entries that are not finite"),
        (lambda: classifier.data(X, y), "Labels must be −1 and \\+1"),
        (lambda: classifier.data(X, np.ones(10)), "All targets are 1"),
        (lambda: GaussianProcess(ARD((1.0,))).data(X, y), "one scale for each column"),
        (lambda: GaussianProcess(MLP(1.0, 1.0)).data(X, y), "has no form in JAX"),
        (lambda: GaussianProcess(MLP(1.0, -2.0), fixed_kernel=True).data(X, y), "not positive semi-definite"),
        (lambda: features(RBF(1.0), X), "no finite explicit feature map"),
        (lambda: features(MLP(1.0, -2.0), X, empirical=True), "not positive semi-definite"),
        (lambda: WeightSpace(bias_variance=-1.0), "variance of the bias must be a positive"),
        (lambda: BernoulliGP(RBF(1.0), jitter=0.0), "jitter must be a positive"),
        (lambda: classifier.predict_proba({}, X, X[:, :1]), r"shape \(n, 2\)"),
        (lambda: classifier.predict_proba({}, X, X, thin=0), "thin must be 1 or more"),
        (lambda: sample(process, *process.data(X, y), seed=0, draws=2), "draws must be a whole number ≥ 4"),
        (lambda: sample(process, *process.data(X, y), seed=0, warmup=0), "warmup must be a whole number ≥ 1"),
        (lambda: sample(process, *process.data(X, y), seed=-1), "seed must be a whole number ≥ 0"),
        (lambda: sample(process, *process.data(X, y), seed=0, target_accept=1.0), "between 0 and 1"),
        (lambda: sample(lambda: None, seed=0), "no latent sites"),
        (lambda: sample(lambda: numpyro.sample("k", dist.Poisson(2.0)), seed=0), "cannot move discrete sites"),
        (lambda: FlatDensity.of(classifier, *classifier.data(X, signs))(np.zeros(3)), "vectors of length 13"),
    ]
    for call, sentence in cases:
        with pytest.raises(ValueError, match=sentence):
            call()
