"""The evidence of any model: NumPyro programs, plain densities and ArviZ trees whose answer is known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import MCMC, NUTS
from numpyro.infer.reparam import LocScaleReparam
from scipy import stats
from scipy.special import logsumexp

from bayes_lssvm.evidence import EvidenceDisagreementWarning, LogEvidence, log_evidence
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.priors import Normal
from tests.evidence.conjugate import CHAINS, CONJUGATE, N, beta_binomial, regression


def close(found: LogEvidence, exact: float, *, largest_error: float) -> bool:
    """Within 3.5 of its own standard errors, which must be small enough to say something."""
    assert 0.0 < found.standard_error < largest_error
    return abs(found.value - exact) < 3.5 * found.standard_error


# --- NumPyro models with conjugate answers; the draws are exact -----------------------------------------------------


@pytest.mark.parametrize("case", CONJUGATE, ids=lambda case: case.__name__)
def test_bridge_on_models_with_known_evidence(case):
    model, args, draws, exact = case(np.random.default_rng(1))
    found = log_evidence(model, args, draws=draws, seed=0)
    assert close(found, exact, largest_error=0.02)
    weighted = found["importance"]
    assert abs(weighted.log_z - exact) < 3.5 * weighted.standard_error < 0.1
    assert found.k_hat < 0.7
    assert abs(found.disagreement) < 4
    assert any("'b' is improper" in concern for concern in found.concerns) == (case is regression)
    assert bool(found.concerns) == (case is regression)


PRIORS = {
    "half-normal": dist.HalfNormal(3.0),
    "beta": dist.Beta(2.0, 2.0),
    "truncated": dist.TruncatedNormal(0.0, 1.0, low=-1.0, high=2.0),
    "inverse-gamma": dist.InverseGamma(3.0, 1.0),
    "simplex": dist.Dirichlet(jnp.array([1.0, 2.0, 3.0, 4.0])),
    "covariance": dist.MultivariateNormal(jnp.zeros(2), jnp.array([[2.0, 0.9], [0.9, 1.0]])),
    "correlation": dist.LKJCholesky(3, 2.0),
    "ordered": dist.TransformedDistribution(
        dist.Normal(jnp.zeros(3), 1.0).to_event(1), dist.transforms.OrderedTransform()
    ),
}


def drawn_by_numpy(rng):
    """Draws of some of the priors, made without JAX."""
    shape = (CHAINS, N)
    x = rng.standard_normal((*shape, 3))
    return {
        "half-normal": 3.0 * np.abs(rng.standard_normal(shape)),
        "beta": rng.beta(2.0, 2.0, size=shape),
        "truncated": stats.truncnorm(-1.0, 2.0).rvs(shape, random_state=rng),
        "simplex": rng.dirichlet([1.0, 2.0, 3.0, 4.0], size=shape),
        "covariance": rng.multivariate_normal([0.0, 0.0], [[2.0, 0.9], [0.9, 1.0]], size=shape),
        "ordered": np.cumsum(np.concatenate([x[..., :1], np.exp(x[..., 1:])], axis=-1), axis=-1),
    }


def evidence_of_priors(draws):
    def model():
        for name in draws:
            numpyro.sample(name, PRIORS[name])

    return log_evidence(model, draws=draws, seed=0, methods=("bridge",))


def test_supports_keep_their_constants():
    """Priors alone integrate to one: their normalising constants and the Jacobians of their supports are all there."""
    assert close(evidence_of_priors(drawn_by_numpy(np.random.default_rng(0))), 0.0, largest_error=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_every_support_keeps_its_constants(name):
    draws = {name: PRIORS[name].sample(jax.random.key(1), (CHAINS, N))}
    assert close(evidence_of_priors(draws), 0.0, largest_error=0.02)


SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(y, error):
    mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
    tau = numpyro.sample("tau", dist.HalfNormal(10.0))
    with numpyro.plate("schools", len(y)):
        effect = numpyro.sample("effect", dist.Normal(mean, tau))
        numpyro.sample("y", dist.Normal(effect, error), obs=y)


def eight_schools_by_quadrature(rng):
    """log Z with the effects integrated by hand, mean and log τ on a grid; and draws of all three from it."""
    mean, log_tau = np.meshgrid(np.linspace(-60, 70, 601), np.linspace(-9, 5, 601))
    tau = np.exp(log_tau)
    values = stats.norm(0, 10).logpdf(mean) + stats.halfnorm(scale=10).logpdf(tau) + log_tau
    for y, error in zip(SCHOOLS, ERRORS, strict=True):
        values += stats.norm.logpdf(y, mean, np.hypot(tau, error))
    total = logsumexp(values)
    pick = rng.choice(values.size, size=(CHAINS, 1000), p=np.exp(values - total).ravel())
    m, t = mean.ravel()[pick][..., None], tau.ravel()[pick][..., None]
    precision = t**-2 + ERRORS**-2
    effect = (m / t**2 + SCHOOLS / ERRORS**2) / precision + rng.standard_normal((CHAINS, 1000, 8)) / np.sqrt(precision)
    step = (mean[0, 1] - mean[0, 0]) * (log_tau[1, 0] - log_tau[0, 0])
    return total + np.log(step), {"mean": m[..., 0], "tau": t[..., 0], "effect_decentered": (effect - m) / t}


def test_a_hierarchical_model_against_quadrature():
    """Ten parameters, the effects not centred by NumPyro's own handler."""
    exact, draws = eight_schools_by_quadrature(np.random.default_rng(0))
    model = handlers.reparam(eight_schools, config={"effect": LocScaleReparam(0.0)})
    found = log_evidence(model, (SCHOOLS,), draws, kwargs={"error": ERRORS}, seed=0)
    assert close(found, exact, largest_error=0.02)
    assert found.dim == 10
    assert "effect_decentered[7]" in found.names
    assert found.concerns == ()


def collapsed(eigenvalues, t):
    """The LS-SVM's evidence with weights and bias integrated out, as a NumPyro program (contract 2)."""
    log_mu = numpyro.sample("log_mu", dist.Normal(0.0, 3.0))
    log_zeta = numpyro.sample("log_zeta", dist.Normal(0.0, 3.0))
    scale = jnp.sqrt(eigenvalues * jnp.exp(-log_mu) + jnp.exp(-log_zeta))
    numpyro.sample("t", dist.Normal(0.0, scale), obs=t)
    numpyro.factor("bias", -0.5 * jnp.log(len(t) + 1.0))


KERNELS = {"rbf": RBF(1.311), "linear": Linear()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_bridge_on_nuts_draws_of_ripley(name, ripley_standardised):
    kernel, (X, y) = KERNELS[name], ripley_standardised
    exact = marginalise(X, y, kernel=kernel, prior=Normal(0, 3), fixed_kernel=True, standardise=False).log_evidence
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    args = (spectrum.eigenvalues, spectrum.t)
    with jax.enable_x64(True):
        mcmc = MCMC(
            NUTS(collapsed),
            num_warmup=300,
            num_samples=1200,
            num_chains=4,
            chain_method="vectorized",
            progress_bar=False,
        )
        mcmc.run(jax.random.key(0), *args)
    found = log_evidence(collapsed, args, draws=mcmc, seed=1)
    assert close(found, exact, largest_error=0.005)
    assert log_evidence(collapsed, args, draws=mcmc.get_samples(group_by_chain=True), seed=1) == found
    assert log_evidence(collapsed, args, sampled=mcmc, seed=1) == found
    assert found.concerns == ()


def test_single_precision_outside_changes_nothing():
    """The caller's mode is left alone, and the answer is computed in 64 bits in either."""
    model, args, draws, _ = regression(np.random.default_rng(1))
    mode = jax.config.jax_enable_x64
    in_64 = log_evidence(model, args, draws=draws, seed=0)
    with jax.enable_x64(False):
        narrow = {name: jnp.asarray(value) for name, value in draws.items()}
        in_32 = log_evidence(model, tuple(jnp.asarray(a) for a in args), draws=narrow, seed=0)
        assert jnp.ones(1).dtype == jnp.float32
    assert jax.config.jax_enable_x64 == mode
    assert in_32.value == pytest.approx(in_64.value, abs=2e-4)  # data rounded to 32 bits, nothing else


@pytest.mark.slow
def test_the_import_leaves_the_precision_alone():
    code = "import bayes_lssvm.evidence, jax; print(jax.config.jax_enable_x64)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


# --- plain densities and ArviZ trees ----------------------------------------------------------------------------------


def gamma_and_normal(rng):
    """θ₁ ~ Gamma(3, rate 2) and θ₂ ~ Beta(2, 5), θ₃ ~ Normal(1, 2): a joint density times e⁴."""
    shape = (CHAINS, 800)
    draws = {
        "rate": rng.gamma(3.0, 0.5, size=shape),
        "twice": np.zeros((*shape, 2)),
        "p": rng.beta(2.0, 5.0, size=shape),
        "x": rng.normal(1.0, 2.0, size=(*shape, 1)),
    }
    parts = (stats.gamma(3.0, scale=0.5), stats.beta(2.0, 5.0), stats.norm(1.0, 2.0))

    def log_density(points):
        return 4.0 + sum(part.logpdf(points[:, i]) for i, part in enumerate(parts))

    return draws, log_density


BOUNDS = {"rate": (0.0, np.inf), "p": (0.0, 1.0)}
NAMES = ("rate", "p", "x")


def test_a_plain_density_with_an_array_and_bounds():
    draws, log_density = gamma_and_normal(np.random.default_rng(2))
    points = np.stack([draws["rate"], draws["p"], draws["x"][..., 0]], axis=-1)
    found = log_evidence(log_density, draws=points, bounds=[(0.0, np.inf), (0.0, 1.0), (-np.inf, np.inf)], seed=2)
    assert close(found, 4.0, largest_error=0.01)
    assert abs(found["importance"].log_z - 4.0) < 3.5 * found["importance"].standard_error
    by_column = log_evidence(log_density, points, bounds={0: (0.0, np.inf), 1: (0.0, 1.0)}, seed=2)
    assert by_column == found
    below = log_evidence(lambda x: log_density(-x), draws=-points, bounds=[(-np.inf, 0.0), (-1.0, 0.0), (-9e9, 9e9)])
    assert close(below, 4.0, largest_error=0.01)


def test_an_arviz_tree_with_a_plain_density():
    from arviz_base import from_dict

    draws, log_density = gamma_and_normal(np.random.default_rng(3))
    tree = from_dict({"posterior": draws})
    found = log_evidence(log_density, draws=tree, names=NAMES, bounds=BOUNDS, seed=3)
    assert close(found, 4.0, largest_error=0.01)
    assert found.names == ("rate", "p", "x[0]")
    for same in (tree["posterior"], tree["posterior"].to_dataset(), draws):
        assert log_evidence(log_density, draws=same, names=NAMES, bounds=BOUNDS, seed=3) == found

    def one_point(point):
        assert point["x"].shape == (1,)
        return float(log_density(np.array([[point["rate"], point["p"], point["x"][0]]]))[0])

    few = {name: values[:, :100] for name, values in draws.items()}
    named = log_evidence(one_point, draws=few, names=NAMES, bounds=BOUNDS, by_name=True, n_importance=200)
    assert named.value == log_evidence(log_density, draws=few, names=NAMES, bounds=BOUNDS, n_importance=200).value
    with pytest.raises(ValueError, match="no group 'unconstrained_posterior'; its groups are posterior"):
        log_evidence(log_density, draws=tree, names=NAMES, group="unconstrained_posterior")
    with pytest.raises(ValueError, match="no draws of rte; found rate"):
        log_evidence(log_density, draws=tree, names=["rte"])


def test_an_arviz_tree_of_a_numpyro_model():
    from arviz_base import from_dict

    model, args, draws, exact = CONJUGATE[0](np.random.default_rng(1))
    found = log_evidence(model, args, draws=from_dict({"posterior": draws}), seed=0)
    assert found == log_evidence(model, args, draws=draws, seed=0)
    assert close(found, exact, largest_error=0.02)


@pytest.mark.slow
def test_a_model_without_draws_is_sampled():
    model, args, _, exact = CONJUGATE[0](np.random.default_rng(1))
    assert close(log_evidence(model, args, seed=4), exact, largest_error=0.02)


def test_two_methods_that_disagree_warn():
    """Draws that are too narrow mislead the bridge, and importance sampling weighs its own."""
    narrow = 0.7 * np.random.default_rng(0).standard_normal((4, 2000, 2))

    def normal(x):
        return stats.norm.logpdf(x).sum(axis=1)

    with pytest.warns(EvidenceDisagreementWarning, match="One of them is wrong"):
        found = log_evidence(normal, draws=narrow, seed=1)
    assert abs(found.disagreement) > 4
    assert abs(found["importance"].log_z) < 3.5 * found["importance"].standard_error
    assert any("differ by" in concern for concern in found.concerns)


def test_too_few_draws_for_a_cross_check_leave_the_bridge():
    draws = np.random.default_rng(0).standard_normal((2, 100, 30))
    found = log_evidence(lambda x: stats.norm.logpdf(x).sum(axis=1), draws)
    assert abs(found.value) < 4 * found.standard_error
    assert np.isnan(found.k_hat)
    assert "no cross-check by importance sampling: draws must be 300 or more" in str(found)


def test_the_result_as_text_as_html_and_as_data():
    model, args, draws, _ = beta_binomial(np.random.default_rng(0))
    found = log_evidence(model, args, draws=draws, seed=1)
    assert repr(found).startswith(f"LogEvidence({found.value:.4f} ± ")
    assert str(found).splitlines()[2].split() == ["method", "log", "evidence", "standard", "error", "k_hat", "ESS"]
    assert found.sentences[0] in str(found)
    assert found._repr_html_().count("<tr>") == 3
    record = found.as_dict()
    assert record["methods"][1]["k_hat"] == found.k_hat
    assert record["provenance"]["versions"]["numpyro"] == numpyro.__version__
    other = log_evidence(model, args, draws=draws, seed=2, methods=("importance",))
    assert np.isnan(other.ess)
    assert other.value == other["importance"].log_z
    factor = found.log_bayes_factor(other)
    assert factor.value == found.value - other.value
    assert factor.standard_error == pytest.approx(np.hypot(found.standard_error, other.standard_error))
    with pytest.raises(KeyError, match="no estimate by 'bridge'"):
        other["bridge"]


# --- what goes wrong is said ------------------------------------------------------------------------------------------


def simple(y=0.3):
    x = numpyro.sample("x", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    numpyro.sample("y", dist.Normal(x.sum(), 1.0), obs=y)


def with_discrete_site():
    z = numpyro.sample("z", dist.Bernoulli(0.5))
    numpyro.sample("x", dist.Normal(z, 1.0))


def with_subsample():
    with numpyro.plate("data", 10, subsample_size=5):
        numpyro.sample("x", dist.Normal(0.0, 1.0))


def with_param():
    scale = numpyro.param("scale", 1.0)
    numpyro.sample("x", dist.Normal(0.0, scale))


def observed_only():
    numpyro.sample("x", dist.Normal(0.0, 1.0), obs=0.0)


DRAWS = np.random.default_rng(0).normal(size=(2, 100, 2))


@pytest.mark.parametrize(
    ("model", "draws", "message"),
    [
        (simple, {}, "not empty"),
        (simple, 3.0, "dictionary"),
        (simple, {"w": DRAWS}, "no draws of the latent sites x; found w"),
        (simple, {"x": DRAWS, "w": DRAWS}, "draws of w, which the model does not have"),
        (simple, {"x": DRAWS[..., :1]}, r"has shape \(2,\) in the model, but its draws have shape \(2, 100, 1\)"),
        (simple, {"x": DRAWS[0, 0]}, r"shape \(chains, n, …\)"),
        (with_discrete_site, {"z": DRAWS[..., 0] > 0, "x": DRAWS[..., 0]}, "Sites z are discrete"),
        (with_subsample, {"x": DRAWS.reshape(2, 40, 5)}, "random subsample"),
        (with_param, {"x": DRAWS[..., 0]}, "numpyro.param"),
        (observed_only, {"x": DRAWS[..., 0]}, "no latent sites"),
    ],
)
def test_models_and_draws_that_do_not_fit(model, draws, message):
    with pytest.raises(ValueError, match=message):
        log_evidence(model, draws=draws, seed=0)


def test_draws_on_an_edge_and_bad_options():
    model, args, draws, _ = beta_binomial(np.random.default_rng(0))
    draws["p"][0, :3] = 1.0
    with pytest.raises(ValueError, match="3 draws lie on the boundary"):
        log_evidence(model, args, draws=draws, seed=0)
    with pytest.raises(ValueError, match="chunk must be"):
        log_evidence(model, args, draws=draws, seed=0, chunk=0)


@pytest.mark.parametrize(
    ("model", "args", "options", "message"),
    [
        (3.0, (), {}, "must be a NumPyro model or a log density"),
        (simple, 0.3, {"draws": {"x": DRAWS}}, "args must be a tuple"),
        (simple, (), {"draws": {"x": DRAWS}, "sampled": {"x": DRAWS}}, "Give the draws once"),
        (lambda X, y: None, (), {"draws": {"x": DRAWS}}, r"takes \(X, y\): a NumPyro model needs its arguments"),
        (lambda X, y: None, (), {}, "There are no draws"),
        (simple, (0.3,), {"draws": DRAWS}, "its draws are given by site"),
        (simple, (), {"draws": {"x": DRAWS}, "methods": "bridge"}, "methods must be"),
        (lambda x: x[:, 0], (), {"draws": DRAWS[0, 0]}, "must have shape"),
        (lambda x: x[:, 0], (), {"draws": DRAWS, "bounds": {2: (0, 1)}}, "bounds for 2, of which there are no draws"),
        (lambda x: x[:, 0], (), {"draws": DRAWS, "bounds": [(0, 1)]}, "2 pairs"),
        (lambda x: x[:, 0], (), {"draws": DRAWS, "bounds": {0: (1, 0)}}, "low < high"),
        (lambda x: x[:, 0], (), {"draws": DRAWS, "bounds": {0: (0, 1)}}, "not between its bounds 0 and 1"),
    ],
)
def test_calls_that_cannot_work(model, args, options, message):
    with pytest.raises(ValueError, match=message):
        log_evidence(model, args, **options)
