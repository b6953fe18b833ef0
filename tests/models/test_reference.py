"""The reference posteriors: our programs against the Stan text, written anew in NumPy, and against the reference draws.

What needs the files of posteriordb is skipped where they are not there.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from numpyro.infer.util import log_density, potential_energy, unconstrain_fn
from scipy.integrate import quad, solve_ivp
from scipy.linalg import toeplitz
from scipy.special import gammaln, logsumexp
from scipy.stats import cauchy, chi2, dirichlet, expon, gamma, lognorm, multivariate_normal, norm

from bayes_lssvm.sampling.bridge import bridge
from bayes_lssvm.sampling.chains import rhat_and_ess
from models.log_density import double_precision
from models.reference import REFERENCES, dynamics, exact, reference_folder
from models.reference.files import read_data, read_draws
from models.reference.regression import FLAT, LinearRegression
from models.sampling import sample

HMM = ("hmm_example-hmm_example", "bball_drive_event_0-hmm_drive_0", "bball_drive_event_1-hmm_drive_1")
LYNX, DRUG = "hudson_lynx_hare-lotka_volterra", "one_comp_mm_elim_abs-one_comp_mm_elim_abs"
SCHOOLS, GP = "eight_schools-eight_schools_noncentered", "gp_pois_regr-gp_regr"
RUN_ONCE = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # what runs once

needs_files = pytest.mark.skipif(
    reference_folder() is None, reason="BAYES_LSSVM_DATA names no folder that holds posteriordb"
)

# six elections repeat the program and the reader of the first on other data
EACH = [
    pytest.param(name, marks=pytest.mark.slow if name[:3] == "nes" and name != "nes1972-nes" else ())
    for name in REFERENCES
]

# --- the Stan text in NumPy, on data of our own ----------------------------------------------------------------------


def stan_regression(data, p, columns, target, prior):
    mean = p["beta"][0] + sum(b * c for b, c in zip(p["beta"][1:], columns(data), strict=True))
    return prior(p) + norm.logpdf(target(data), mean, p["sigma"]).sum()


def flat(p):
    return 0.0


def noise_cauchy(p):
    return cauchy.logpdf(p["sigma"], 0, 2.5)


def interaction_z(data):
    z = [(data[name] - np.mean(data[name])) / (2 * np.std(data[name], ddof=1)) for name in ("mom_hs", "mom_iq")]
    return [*z, z[0] * z[1]]


def volume(data):
    return data["diam1"] * data["diam2"] * data["canopy_height"]


def vash(data):
    area, shape = data["diam1"] * data["diam2"], data["diam1"] / data["diam2"]
    return [np.log(volume(data)), np.log(area), np.log(shape), np.log(data["total_height"]), data["group"]]


def nes(data):
    ages = [np.where(data["age_discrete"] == k, 1.0, 0.0) for k in (2, 3, 4)]
    return [data["real_ideo"], data["race_adj"], *ages, data["educ1"], data["gender"], data["income"]]


def stan_ark(data, p):
    value = norm.logpdf([p["alpha"], *p["beta"]], 0, 10).sum() + noise_cauchy(p)
    y, order = data["y"], data["K"]
    for t in range(order, len(y)):
        mean = p["alpha"] + sum(p["beta"][k - 1] * y[t - k] for k in range(1, order + 1))
        value += norm.logpdf(y[t], mean, p["sigma"])
    return value


def stan_arma(data, p):
    y, mu, phi, theta = data["y"], p["mu"], p["phi"], p["theta"]
    err = [y[0] - (mu + phi * mu)]
    for t in range(1, len(y)):
        err.append(y[t] - (mu + phi * y[t - 1] + theta * err[t - 1]))
    value = norm.logpdf(mu, 0, 10) + norm.logpdf(phi, 0, 2) + norm.logpdf(theta, 0, 2) + noise_cauchy(p)
    return value + norm.logpdf(err, 0, p["sigma"]).sum()


def stan_hmm(emitted, theta):
    """The forward algorithm by sums over every pair, from log p(y_t | k) of shape (N, K)."""
    acc = emitted[0]
    for row in emitted[1:]:
        acc = np.array([logsumexp([acc[j] + np.log(theta[j][k]) + row[k] for j in range(2)]) for k in range(2)])
    return logsumexp(acc)


def stan_hmm_example(data, p):
    emitted = np.column_stack([norm.logpdf(data["y"], mu, 1) for mu in p["mu"]])
    return norm.logpdf(p["mu"], [3, 10], 1).sum() + stan_hmm(emitted, (p["theta1"], p["theta2"]))


def stan_drive(data, p, emission):
    value = sum(dirichlet.logpdf(p[f"theta{k + 1}"], data["alpha"][k]) for k in range(2))
    value += norm.logpdf(p["phi"], [0, 3], 1).sum() + norm.logpdf(p["lambda"], [0, 3], 1).sum()
    emitted = np.column_stack([emission(data, p["phi"][k], p["lambda"][k]) for k in range(2)])
    return value + stan_hmm(emitted, (p["theta1"], p["theta2"]))


def emission_0(data, phi, rate):
    return expon.logpdf(data["u"], scale=1 / phi) + expon.logpdf(data["v"], scale=1 / rate)


def emission_1(data, phi, mean):
    return norm.logpdf(data["u"], phi, data["tau"]) + norm.logpdf(data["v"], mean, data["rho"])


def stan_lotka_volterra(data, p):
    a, b, c, d = p["theta"]

    def field(t, z):
        return [(a - b * z[1]) * z[0], (-c + d * z[0]) * z[1]]

    ts = data["ts"]
    z = solve_ivp(field, (0, ts[-1]), p["z_init"], t_eval=ts, rtol=1e-10, atol=1e-10).y.T
    value = norm.logpdf([a, c], 1, 0.5).sum() + norm.logpdf([b, d], 0.05, 0.05).sum()
    value += lognorm.logpdf(p["sigma"], 1, scale=np.exp(-1)).sum() + lognorm.logpdf(p["z_init"], 1, scale=10).sum()
    for k, sigma in enumerate(p["sigma"]):
        value += lognorm.logpdf(data["y_init"][k], sigma, scale=p["z_init"][k])
        value += lognorm.logpdf(data["y"][:, k], sigma, scale=z[:, k]).sum()
    return value


def stan_one_compartment(data, p):
    D, V = data["D"], data["V"]

    def field(t, y):
        return np.exp(-p["k_a"] * t) * D * p["k_a"] / V - p["V_m"] / V * y / (p["K_m"] + y)

    times = data["times"]
    C = solve_ivp(field, (0, times[-1]), [0.0], method="LSODA", t_eval=times, rtol=1e-11, atol=1e-12).y[0]
    value = cauchy.logpdf([p["k_a"], p["K_m"], p["V_m"], p["sigma"]]).sum()
    return value + lognorm.logpdf(data["C_hat"], p["sigma"], scale=C).sum()


def stan_schools(data, p):
    theta = p["theta_trans"] * p["tau"] + p["mu"]
    value = norm.logpdf(p["theta_trans"]).sum() + norm.logpdf(p["mu"], 0, 5) + cauchy.logpdf(p["tau"], 0, 5)
    return value + norm.logpdf(data["y"], theta, data["sigma"]).sum()


def stan_gp(data, p):
    K = p["alpha"] ** 2 * toeplitz(np.exp(-((data["x"] - data["x"][0]) ** 2) / (2 * p["rho"] ** 2)))
    value = gamma.logpdf(p["rho"], 25, scale=1 / 4) + norm.logpdf(p["alpha"], 0, 2) + norm.logpdf(p["sigma"])
    return value + multivariate_normal(cov=K + p["sigma"] * np.eye(len(K))).logpdf(data["y"])


RNG = np.random.default_rng(16)
N = 12
BUSHES = {k: RNG.uniform(0.5, 3, N) for k in ("weight", "diam1", "diam2", "canopy_height", "total_height", "density")}
BUSHES |= {"group": np.arange(N) % 2}
CHILDREN = {"kid_score": RNG.normal(90, 20, N), "mom_hs": np.arange(N) % 3 > 0, "mom_iq": RNG.normal(100, 15, N)}
CHILDREN = {k: v.astype(float) for k, v in CHILDREN.items()} | {"mom_work": 1.0 + np.arange(N) % 4}
PEOPLE = {"earn": RNG.uniform(1e3, 5e4, N), "height": RNG.normal(66, 4, N), "male": (np.arange(N) % 2).astype(float)}
VOTERS = {k: RNG.normal(size=N) for k in ("real_ideo", "race_adj", "educ1", "gender", "income", "partyid7")}
VOTERS |= {"age_discrete": 1.0 + np.arange(N) % 4}
SERIES = {"T": N, "K": 5, "y": RNG.normal(size=N)}
DRIVE = {"u": RNG.exponential(size=N), "v": RNG.exponential(size=N), "alpha": np.array([[4.0, 2.0], [2.0, 4.0]])}
PREY = {"ts": np.arange(1.0, 21), "y_init": np.array([30.0, 4.0]), "y": RNG.uniform(5, 60, (20, 2))}
DOSE = {"D": 30.0, "V": 2.0, "times": np.arange(1, 21) / 2, "C_hat": RNG.uniform(5, 15, 20)}
POINTS = {"x": np.arange(-5.0, 6.0) * 2, "y": RNG.normal(3, 1, 11)}


def log_of(name):
    return lambda data: np.log(data[name])


def column(name):
    return lambda data: data[name]


LOG_WEIGHT, LOG_EARN = log_of("weight"), log_of("earn")


def kid(columns, prior, width):
    return CHILDREN, partial(stan_regression, columns=columns, target=column("kid_score"), prior=prior), width


def bush(columns, width, target=LOG_WEIGHT):
    return BUSHES, partial(stan_regression, columns=columns, target=target, prior=flat), width


def earner(columns, width, target=LOG_EARN):
    return PEOPLE, partial(stan_regression, columns=columns, target=target, prior=flat), width


BUSH_NAMES = ("diam1", "diam2", "canopy_height", "total_height", "density")
LINEAR = {
    "earnings-earn_height": earner(lambda d: [d["height"]], 2, column("earn")),
    "earnings-log10earn_height": earner(lambda d: [d["height"]], 2, lambda d: np.log10(d["earn"])),
    "earnings-logearn_height": earner(lambda d: [d["height"]], 2),
    "earnings-logearn_height_male": earner(lambda d: [d["height"], d["male"]], 3),
    "earnings-logearn_interaction": earner(lambda d: [d["height"], d["male"], d["height"] * d["male"]], 4),
    "earnings-logearn_logheight_male": earner(lambda d: [np.log(d["height"]), d["male"]], 3),
    "kidiq-kidscore_momhs": kid(lambda d: [d["mom_hs"]], noise_cauchy, 2),
    "kidiq-kidscore_momiq": kid(lambda d: [d["mom_iq"]], noise_cauchy, 2),
    "kidiq-kidscore_momhsiq": kid(lambda d: [d["mom_hs"], d["mom_iq"]], noise_cauchy, 3),
    "kidiq-kidscore_interaction": kid(lambda d: [d["mom_hs"], d["mom_iq"], d["mom_hs"] * d["mom_iq"]], noise_cauchy, 4),
    "kidiq_with_mom_work-kidscore_interaction_c": kid(
        lambda d: [
            a := d["mom_hs"] - d["mom_hs"].mean(),
            b := d["mom_iq"] - d["mom_iq"].mean(),
            a * b,
        ],
        flat,
        4,
    ),
    "kidiq_with_mom_work-kidscore_interaction_c2": kid(
        lambda d: [a := d["mom_hs"] - 0.5, b := d["mom_iq"] - 100, a * b], flat, 4
    ),
    "kidiq_with_mom_work-kidscore_interaction_z": kid(interaction_z, flat, 4),
    "kidiq_with_mom_work-kidscore_mom_work": kid(lambda d: [d["mom_work"] == k for k in (2, 3, 4)], flat, 4),
    "mesquite-mesquite": bush(lambda d: [*(d[k] for k in BUSH_NAMES), d["group"]], 7, column("weight")),
    "mesquite-logmesquite": bush(lambda d: [*(np.log(d[k]) for k in BUSH_NAMES), d["group"]], 7),
    "mesquite-logmesquite_logvolume": bush(lambda d: [np.log(volume(d))], 2),
    "mesquite-logmesquite_logva": bush(lambda d: [np.log(volume(d)), np.log(d["diam1"] * d["diam2"]), d["group"]], 4),
    "mesquite-logmesquite_logvash": bush(vash, 6),
    **{
        f"nes{year}-nes": (VOTERS, partial(stan_regression, columns=nes, target=column("partyid7"), prior=flat), 9)
        for year in (1972, 1976, 1980, 1984, 1988, 1992, 2000)
    },
}


def stan_blr(data, p):
    value = norm.logpdf(p["beta"], 0, 10).sum() + norm.logpdf(p["sigma"], 0, 10)
    return value + norm.logpdf(data["y"], data["X"] @ p["beta"], p["sigma"]).sum()


def positive(*shape):
    return RNG.uniform(0.3, 2.0, shape) if shape else float(RNG.uniform(0.3, 2.0))


def states(name):
    return {
        "theta1": RNG.dirichlet([1.0, 1.0]),
        "theta2": RNG.dirichlet([1.0, 1.0]),
        **{key: np.sort(RNG.uniform(0.2, 4, 2)) for key in name.split()},
    }


OTHERS = {
    "sblrc-blr": (
        {"X": RNG.normal(size=(N, 3)), "y": RNG.normal(size=N)},
        stan_blr,
        lambda: {"beta": RNG.normal(size=3), "sigma": positive()},
    ),
    "arK-arK": (
        SERIES,
        stan_ark,
        lambda: {"alpha": RNG.normal(), "beta": RNG.normal(size=5), "sigma": positive()},
    ),
    "arma-arma11": (
        SERIES,
        stan_arma,
        lambda: {"mu": RNG.normal(), "phi": RNG.normal(), "theta": RNG.normal(), "sigma": positive()},
    ),
    HMM[0]: ({"y": RNG.normal(5, 4, N)}, stan_hmm_example, lambda: states("mu")),
    HMM[1]: (DRIVE, partial(stan_drive, emission=emission_0), lambda: states("phi lambda")),
    HMM[2]: (
        DRIVE | {"tau": 0.7, "rho": 0.4},
        partial(stan_drive, emission=emission_1),
        lambda: states("phi lambda"),
    ),
    LYNX: (
        PREY,
        stan_lotka_volterra,
        lambda: {
            "theta": np.array([0.5, 0.03, 0.8, 0.02]) * RNG.uniform(0.7, 1.4, 4),
            "z_init": RNG.uniform(5, 40, 2),
            "sigma": positive(2),
        },
    ),
    DRUG: (
        DOSE,
        stan_one_compartment,
        lambda: {"k_a": positive(), "K_m": 10 ** RNG.uniform(-3, 2), "V_m": positive(), "sigma": positive()},
    ),
    SCHOOLS: (
        {"y": RNG.normal(0, 10, 8), "sigma": RNG.uniform(5, 15, 8)},
        stan_schools,
        lambda: {"theta_trans": RNG.normal(size=8), "mu": RNG.normal(), "tau": positive()},
    ),
    GP: (POINTS, stan_gp, lambda: {"rho": RNG.uniform(3, 10), "alpha": positive(), "sigma": positive()}),
}


def linear_point(width):
    return lambda: {"beta": RNG.normal(size=width), "sigma": positive()}


SPECIFIED = {name: (data, text, linear_point(width)) for name, (data, text, width) in LINEAR.items()} | OTHERS


@pytest.mark.parametrize("name", EACH)
def test_the_density_is_that_of_the_stan_text_up_to_one_constant(name):
    data, text, point = SPECIFIED[name]
    reference = REFERENCES[name]
    points = [point() for _ in range(4)]
    with double_precision():
        args = jax.tree.map(jnp.asarray, reference.arguments(data))
        program = jax.jit(lambda p: log_density(reference.program, args, {}, p)[0], compiler_options=RUN_ONCE)
        ours = np.array([float(program(jax.tree.map(jnp.asarray, p))) for p in points])
    theirs = np.array([text(data, p) for p in points])
    assert np.isfinite(theirs).all()
    limit = {LYNX: 1e-4, DRUG: 1e-4}.get(name, 1e-9)  # our steps are fixed
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], rtol=1e-10, atol=limit)


# --- the evidence to rounding ----------------------------------------------------------------------------------------


def test_exact_evidence_of_a_flat_regression_is_its_closed_form():
    X, y = RNG.normal(size=(9, 3)), RNG.normal(size=9)
    n, d = X.shape
    m = n - d - 1  # ∫ σ^{−(n−d)} e^{−r²/2σ²} dσ = ½ Γ(m/2) (2/r²)^{m/2}
    rest = np.linalg.lstsq(X, y, rcond=None)[1][0]
    closed = -0.5 * (n - d) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(X.T @ X)[1]
    closed += np.log(0.5) + gammaln(m / 2) - 0.5 * m * np.log(rest / 2)
    assert exact.regression(FLAT, X, y) == pytest.approx(closed, abs=1e-8)


@pytest.mark.parametrize("noise", ["half-cauchy", "half-normal"])
def test_exact_evidence_of_a_regression_with_priors_is_that_of_its_gaussian(noise):
    X, y = RNG.normal(size=(9, 2)), RNG.normal(size=9)
    program = LinearRegression(3.0, noise, 1.7)
    prior = {"half-cauchy": lambda s: 2 * cauchy.pdf(s, 0, 1.7), "half-normal": lambda s: 2 * norm.pdf(s, 0, 1.7)}[
        noise
    ]

    def given(s):
        return np.exp(multivariate_normal(cov=s**2 * np.eye(9) + 9.0 * X @ X.T).logpdf(y)) * prior(s)

    integral = quad(given, 0, np.inf, epsabs=0, epsrel=1e-10, limit=200)[0]
    assert exact.regression(program, X, y) == pytest.approx(np.log(integral), abs=1e-7)


def test_exact_evidence_of_the_schools_is_that_of_their_gaussian():
    y, sd = RNG.normal(0, 8, 4), RNG.uniform(5, 15, 4)

    def given(tau):
        covariance = np.diag(sd**2 + tau**2) + 25.0
        return np.exp(multivariate_normal(cov=covariance).logpdf(y)) * 2 * cauchy.pdf(tau, 0, 5)

    integral = quad(given, 0, 50, epsabs=0, epsrel=1e-11)[0] + quad(given, 50, np.inf, epsabs=0, epsrel=1e-9)[0]
    assert exact.eight_schools(y, sd) == pytest.approx(np.log(integral), abs=1e-7)


def test_exact_evidence_of_the_autoregression_is_that_of_its_gaussian():
    before, y = REFERENCES["arK-arK"].arguments(SERIES)
    X = np.column_stack([np.ones(len(y)), before])

    def given(s):
        return (
            np.exp(multivariate_normal(cov=s**2 * np.eye(len(y)) + 100.0 * X @ X.T).logpdf(y))
            * 2
            * cauchy.pdf(s, 0, 2.5)
        )

    integral = quad(given, 0, 5, epsabs=0, epsrel=1e-10, limit=500)[0] + quad(given, 5, np.inf, epsabs=0)[0]
    assert exact.autoregression(before, y) == pytest.approx(np.log(integral), abs=1e-6)


# --- against the reference draws -------------------------------------------------------------------------------------


def scores(program, args, draws):
    """Unconstrained draws of shape (chains, n, d), the log density at them and its gradient."""

    def one(values):
        z = unconstrain_fn(program, args, {}, values)
        value, gradient = jax.value_and_grad(lambda z: -potential_energy(program, args, {}, z))(z)
        return ravel_pytree(z)[0], value, ravel_pytree(gradient)[0]

    with double_precision():
        args = jax.tree.map(jnp.asarray, args)
        compiled = jax.jit(partial(jax.lax.map, jax.vmap(one)), compiler_options=RUN_ONCE)
        return [np.asarray(part) for part in compiled(jax.tree.map(jnp.asarray, draws))]


def p_values(x, g):
    """How likely deviations as large as these are under the two identities of Stein that hold for draws of the density.

    E[∇ log q] = 0, all of it at once by Hotelling's statistic, and E[(x − E x) ∇ log qᵀ] = −I, its worst element.
    """
    x, g = (part.reshape(-1, part.shape[-1]) for part in (x, g))
    n, d = x.shape
    mean = g.mean(axis=0)
    whole = n * mean @ np.linalg.solve(np.cov(g, rowvar=False), mean)
    products = (x - x.mean(axis=0))[:, :, None] * g[:, None, :] + np.eye(d)
    worst = np.max(np.abs(products.mean(axis=0)) / (products.std(axis=0) / np.sqrt(n)))
    return chi2.sf(whole, d), min(1.0, 2 * d**2 * norm.sf(worst))


@needs_files
@pytest.mark.parametrize("name", EACH)
def test_the_reference_draws_are_draws_of_our_density(name):
    reference = REFERENCES[name]
    draws = reference.site_draws()
    if name in (*HMM, LYNX, DRUG):
        draws = {key: values[:, ::4] for key, values in draws.items()}  # time
    x, _, g = scores(reference.program, reference.args(), draws)
    assert np.isfinite(g).all()
    assert min(p_values(x, g)) > 1e-4  # 72 of them


@needs_files
def test_scores_see_a_wrong_prior_and_a_wrong_likelihood():
    reference = REFERENCES["kidiq-kidscore_momhs"]
    X, y = reference.args()
    draws = reference.site_draws()

    def found(program, *args):
        x, _, g = scores(program, args, draws)
        return min(p_values(x, g))

    assert found(reference.program, X, y) > 1e-4
    assert found(FLAT, X, y) < 1e-8  # σ flat in the place of a half-Cauchy
    assert found(reference.program, X[:-20], y[:-20]) < 1e-8  # twenty rows of 434 lost


@needs_files
@pytest.mark.parametrize(("name", "steps"), [(LYNX, dynamics.YEAR_STEPS), (DRUG, dynamics.DOSE_STEPS)])
def test_smaller_steps_do_not_move_the_density(name, steps):
    reference = REFERENCES[name]
    draws = {
        key: jnp.asarray(values[:, ::20].reshape(-1, *values.shape[2:])) for key, values in reference.draws().items()
    }
    with double_precision():
        draws = {key: jnp.asarray(np.asarray(values), jnp.float64) for key, values in draws.items()}
        args = jax.tree.map(jnp.asarray, reference.args())

        def values(steps):
            program = partial(reference.program, steps=steps)
            density = jax.vmap(lambda p: log_density(program, args, {}, p)[0])
            return np.asarray(jax.jit(density, compiler_options=RUN_ONCE)(draws))

        assert np.max(np.abs(values(steps) - values(2 * steps))) < 1e-4


@needs_files
@pytest.mark.parametrize("name", ["arK-arK", SCHOOLS])
def test_bridge_on_the_reference_draws_is_the_exact_evidence(name):
    reference = REFERENCES[name]
    args = reference.args()
    x, _, _ = scores(reference.program, args, reference.site_draws())
    with double_precision():
        first = {key: jnp.asarray(values[0, 0]) for key, values in reference.site_draws().items()}
        unravel = ravel_pytree(unconstrain_fn(reference.program, args, {}, first))[1]
        density = jax.jit(jax.vmap(lambda x: -potential_energy(reference.program, args, {}, unravel(x))))
        found = bridge(x, lambda x: np.asarray(density(jnp.asarray(x))), seed=160)
    assert found.standard_error < 0.01
    assert abs(found.log_z - reference.exact(*args)) < 3.5 * found.standard_error


@needs_files
def test_every_posterior_with_reference_draws_is_here():
    there = {path.name.removesuffix(".json.zip") for path in (reference_folder() / "draws").glob("*.json.zip")}
    assert there <= set(REFERENCES)
    assert len(REFERENCES) == 36


@needs_files
def test_draws_are_arrays_by_parameter():
    draws = read_draws(SCHOOLS)
    assert {key: values.shape for key, values in draws.items()} == {
        "theta": (10, 1000, 8),
        "mu": (10, 1000),
        "tau": (10, 1000),
    }
    assert np.argmax(read_data(SCHOOLS)["y"]) == 0  # the first school gains most, so its θ stands first
    assert draws["theta"][..., 0].mean() > draws["theta"][..., 2].mean()


@pytest.mark.parametrize("folder", [None, "empty"])
def test_without_the_files_a_sentence_says_what_to_do(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("BAYES_LSSVM_DATA", raising=False)
    if folder:
        (tmp_path / "posteriordb").mkdir()
        monkeypatch.setenv("BAYES_LSSVM_DATA", str(tmp_path))
    said = "has no file data/arK.json.zip" if folder else "set BAYES_LSSVM_DATA to a folder that holds posteriordb/data"
    with pytest.raises(FileNotFoundError, match=said):
        REFERENCES["arK-arK"].args()


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("name", REFERENCES)
def test_nuts_draws_have_the_moments_of_the_reference(name):
    reference = REFERENCES[name]
    ours = sample(
        reference.program, *reference.args(), seed=16, warmup=1000, target_accept=0.95, dense_mass=True, progress=False
    ).draws
    theirs = reference.draws()
    ours = {key: ours[key] for key in theirs}
    for power in (1, 2):
        first, second = (
            {key: (values - np.mean(theirs[key], axis=(0, 1))) ** power for key, values in of.items()}
            for of in (ours, theirs)
        )
        errors = [rhat_and_ess(part).mcse_mean for part in (first, second)]
        for key in theirs:
            z = first[key].mean(axis=(0, 1)) - second[key].mean(axis=(0, 1))
            z = z / np.hypot(errors[0][key], errors[1][key])
            assert np.max(np.abs(z)) < 4.5, (key, power, z)  # 432 of them
