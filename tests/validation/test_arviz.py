"""ArviZ's tables and plots on posteriors by quadrature, by NUTS, and of the programs, without an argument."""

from __future__ import annotations

import warnings

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from bayes_lssvm import __version__, marginalise
from bayes_lssvm.kernels import RBF
from bayes_lssvm.priors import HyperPrior, Normal
from models import GaussianProcess, sample
from validation.arviz import to_arviz

base = pytest.importorskip("arviz_base", reason="ArviZ is not installed")
stats = pytest.importorskip("arviz_stats", reason="ArviZ is not installed")
plots = pytest.importorskip("arviz_plots", reason="ArviZ is not installed")

PRIOR = HyperPrior(Normal(0, 2), Normal(0, 2), Normal(0, 1))
GROUPS = {
    "posterior",
    "sample_stats",
    "prior",
    "log_prior",
    "log_likelihood",
    "posterior_predictive",
    "prior_predictive",
    "observed_data",
    "constant_data",
}
TABLES = ("summary", "loo", "psense_summary")
PLOTS = (
    "plot_forest",
    "plot_pair",
    "plot_rank",
    "plot_ess",
    "plot_ppc_dist",
    "plot_loo_pit",
    "plot_prior_posterior",
    "plot_energy",
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] ** 2 + 0.5 * X[:, 1] + 0.3 * rng.normal(size=30) > 0.5, "yes", "no")
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y


SAMPLED = [pytest.param(name, marks=pytest.mark.slow) for name in ("nuts", "program")]


@pytest.fixture(scope="module", params=["quadrature", *SAMPLED])
def tree(request, data):
    X, y = data
    if request.param == "program":
        signs = np.where(y == "yes", 1.0, -1.0)
        program = GaussianProcess(RBF(1.0), PRIOR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # short chains will do here
            drawn = sample(program, *program.data(X, signs), seed=0, warmup=300, draws=200, check=False)
        return to_arviz(drawn, RBF(1.0), X, signs, prior=PRIOR)
    return marginalise(X, y, prior=PRIOR, method=request.param, tolerance=1e-4).to_arviz(draws=800)


@pytest.fixture(autouse=True)
def quiet_plots():
    """ArviZ warns of k̂ above 0.7, and pandas of ArviZ: neither is what is tested here.

    All pairs of eight variables are more panels than ArviZ 1 draws unless it is told to.
    """
    more = base.rc_context({"plot.max_subplots": 100})
    with more, warnings.catch_warnings(), matplotlib.rc_context({"backend": "agg"}):
        warnings.simplefilter("ignore")
        yield
    pyplot.close("all")


def test_the_groups(tree):
    assert set(tree.children) == GROUPS
    assert tree["posterior"].sizes["chain"] == 4
    assert tree["posterior"].attrs["inference_library"] == "bayes_lssvm"
    assert tree["posterior"].attrs["inference_library_version"] == __version__
    assert tree["constant_data"]["X"].dims == ("observation", "feature")
    assert set(tree["prior"].data_vars) == set(tree["posterior"].data_vars)
    # log p(D, θ) = log p(D | θ) + log p(θ), so that the energies of perfect chains and of NUTS mean the same
    assert {"lp", "energy", "diverging"} <= set(tree["sample_stats"].data_vars)
    expected = PRIOR.mu.log_density(tree["posterior"]["log_mu"].values)
    assert np.allclose(tree["log_prior"]["log_mu"].values, expected)


@pytest.mark.parametrize("name", TABLES)
def test_tables(name, tree):
    assert getattr(stats, name)(tree) is not None


@pytest.mark.parametrize("name", PLOTS)
def test_plots(name, tree):
    assert getattr(plots, name)(tree) is not None


def test_what_needs_a_name_or_two_models(tree, data):
    X, y = data
    other = marginalise(X, y, kernel="linear", prior=Normal(0, 2)).to_arviz(draws=400)
    table = stats.compare({"rbf": tree, "linear": other})
    assert table.index[0] == "rbf"
    assert plots.plot_compare(table) is not None
    assert plots.plot_bf(tree, "log_gamma") is not None


def test_quadrature_in_chains_has_the_posteriors_moments(data):
    X, y = data
    posterior = marginalise(X, y, prior=PRIOR, tolerance=1e-4)
    tree = posterior.to_arviz(draws=8000)
    table = stats.summary(tree, round_to="none")
    for name in ("log_mu", "log_zeta", "log_sigma"):
        values = tree["posterior"][name].values
        assert values.mean() == pytest.approx(posterior.mean()[name], abs=4.5 * posterior.sd()[name] / np.sqrt(8000))
        assert values.std() == pytest.approx(posterior.sd()[name], rel=0.06)
    assert np.all(np.abs(np.asarray(table["r_hat"], dtype=float) - 1.0) < 0.01)
    assert tree["constant_data"].coords["class"].values.tolist() == ["no", "yes"]


def test_names_of_inputs_are_coordinates(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    table = pandas.DataFrame(X, columns=["height", "weight"])
    tree = marginalise(table, y, kernel=RBF(1.0), fixed_kernel=True).to_arviz(draws=100)
    assert tree["constant_data"].coords["feature"].values.tolist() == ["height", "weight"]


def test_prior_predictive_targets_have_the_priors_variance(data):
    X, y = data
    narrow = HyperPrior(Normal(0.5, 1e-3), Normal(1.0, 1e-3))
    found = marginalise(X, y, kernel=RBF(1.0), prior=narrow, fixed_kernel=True).to_arviz(draws=8000)
    values = found["prior_predictive"]["y"].values.reshape(8000, -1)
    K = RBF(1.0)((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    expected = np.diag(centred) * np.exp(-0.5) + np.exp(-1.0)
    assert values.var(axis=0) == pytest.approx(expected, rel=0.1)
