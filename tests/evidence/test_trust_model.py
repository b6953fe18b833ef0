"""Laplace's method on NumPyro models: where it is exact, where its next order is known, and where it fails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy.special import gammaln

from bayes_lssvm import trust_model
from bayes_lssvm.evidence import EvidenceEstimate, laplace_figures
from bayes_lssvm.evidence.laplace import find_modes, next_order
from bayes_lssvm.evidence.model_trust import _believed
from bayes_lssvm.evidence.numpyro_model import UnconstrainedModel
from bayes_lssvm.evidence.nuts import NutsDraws
from bayes_lssvm.sampling.diagnostics import diagnose
from tests.evidence.conjugate import normal_normal, regression
from tests.evidence.known_models import known_models


def log_gamma(a, d=1):
    """log x for x ~ Gamma(a) in each of d dimensions, its constant left out: log Z = d log Γ(a)."""

    def model():
        y = numpyro.sample("y", dist.ImproperUniform(dist.constraints.real_vector, (), (d,)))
        numpyro.factor("density", (a * y - np.e**y).sum())

    return model, d * float(gammaln(a))


def density(model, *args):
    return UnconstrainedModel.of(model, args, {})


@pytest.mark.parametrize("case", [normal_normal, regression])
def test_a_gaussian_posterior_is_exact(case):
    model, args, _, exact = case(np.random.default_rng(1))
    figures = laplace_figures(model, args)
    assert figures.log_evidence == pytest.approx(exact, abs=1e-8)
    assert len(figures.modes) == 1
    assert figures.correction == pytest.approx(0.0, abs=1e-6)
    assert figures.skewness == pytest.approx(0.0, abs=1e-6)
    assert figures.gaussian.log_z == pytest.approx(exact, abs=1e-8)
    assert figures.k_hat < 0.5


@pytest.mark.parametrize(("a", "d"), [pytest.param(1.0, 1, marks=pytest.mark.slow), (4.0, 3)])
def test_the_next_order_is_stirlings(a, d):
    """log Γ(a) = Laplace + 1/(12a) + O(a⁻³); the third derivative at the mode is −a, the curvature a."""
    model, exact = log_gamma(a, d)
    whole = density(model)
    (mode,) = find_modes(whole, whole.starts(3, 0))
    assert mode.position == pytest.approx(np.full(d, np.log(a)), abs=1e-6)
    assert mode.log_mass == pytest.approx(d * (a * np.log(a) - a + 0.5 * np.log(2 * np.pi / a)), abs=1e-8)
    order = next_order(whole, mode)
    assert order.correction == pytest.approx(d / (12 * a), rel=1e-3)
    assert order.cubic == pytest.approx(d * 5 / (24 * a), rel=1e-3)
    assert order.quartic == pytest.approx(-d / (8 * a), rel=1e-3)
    assert order.skewness == pytest.approx(a**-0.5, rel=1e-3)
    assert mode.log_mass + order.correction == pytest.approx(exact, abs=d * 0.004 / a**3)


def test_the_skewness_is_that_of_the_worst_direction():
    """A rotation mixes the coordinates and leaves the largest skewness and the correction."""
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def turned():
        y = numpyro.sample("y", dist.ImproperUniform(dist.constraints.real_vector, (), (2,)))
        u = turn @ y
        numpyro.factor("density", (np.array([1.0, 9.0]) * u - np.e**u).sum())

    whole = density(turned)
    order = next_order(whole, find_modes(whole, whole.starts(3, 0))[0])
    assert order.skewness == pytest.approx(1.0, rel=1e-3)
    assert order.correction == pytest.approx(1 / 12 + 1 / 108, rel=1e-3)


@pytest.fixture(scope="module")
def mixture_report():
    def mixture(y):
        m = numpyro.sample("m", dist.Normal(0.0, 5.0).expand([2]).to_event(1))
        parts = dist.MixtureSameFamily(dist.Categorical(probs=np.ones(2) / 2), dist.Normal(m, 0.5))
        numpyro.sample("y", parts.expand([len(y)]).to_event(1), obs=y)

    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(-2, 0.5, 15), rng.normal(2, 0.5, 15)])
    return trust_model(mixture, (y,), warmup=200, draws=300)


def test_labels_that_switch_are_two_modes(mixture_report):
    assert len(mixture_report.figures.modes) == 2
    assert mixture_report.figures.missed == pytest.approx(np.log(2.0), abs=1e-3)
    assert mixture_report.error == pytest.approx(-np.log(2.0), abs=0.05)
    assert mixture_report.flagged
    assert "2 modes" in " ".join(mixture_report.reasons)


def test_the_report_as_text_as_html_and_as_data(mixture_report):
    assert str(mixture_report).startswith("DOUBTFUL: Use Laplace's evidence of this model with care.")
    assert "minus believed" in str(mixture_report)
    assert "<table>" in mixture_report._repr_html_()
    assert repr(mixture_report).startswith("ModelTrust('doubtful'")
    record = mixture_report.as_dict()
    assert record["verdict"] == "doubtful"
    assert record["figures"]["n_modes"] == 2
    assert mixture_report.draws.shape == (4, 300, 2)


def test_chains_that_all_ended_at_one_of_two_modes_are_not_believed(mixture_report):
    """Half of the integral, with chains that mixed: importance sampling knows of the other half."""
    figures = mixture_report.figures
    half = EvidenceEstimate(figures.weighted.log_z - np.log(2.0), 0.003, "bridge sampling", {}, {})
    whole = replace(half, log_z=figures.weighted.log_z + 0.001)
    chains = np.random.default_rng(0).standard_normal((4, 500))
    mixed = NutsDraws(np.zeros((4, 500, 2)), diagnose({"x": chains}))
    assert mixed.diagnostics.ok
    assert _believed(mixed, half, figures) is figures.weighted
    assert _believed(mixed, whole, figures) is whole
    assert _believed(mixed, half, replace(figures, modes=figures.modes[:1])) is half


def test_without_sampling_a_gaussian_is_good():
    model, args, _, _ = normal_normal(np.random.default_rng(1))
    report = trust_model(model, args, sample=False)
    assert report.verdict == "good"
    assert report.error_bars == "not checked"
    assert abs(report.error) < 0.03
    assert report.draws is None


def test_a_density_without_a_mode_is_bad():
    """The centred funnel grows without bound as its scale goes to zero."""

    def funnel():
        v = numpyro.sample("v", dist.ImproperUniform(dist.constraints.real, (), ()))
        x = numpyro.sample("x", dist.Normal(0.0, np.e ** (v / 2)).expand([5]).to_event(1))
        numpyro.factor("bound", -0.001 * x.sum())

    report = trust_model(funnel, sample=False)
    assert report.verdict == "bad"
    assert np.isnan(report.error)
    assert "nothing to expand around" in " ".join(report.reasons)


def shares(errors, flags):
    """Share of the models with an error beyond half a nat that are flagged, and of the others; no mode is an error."""
    wrong = ~(np.abs(errors) <= 0.5)
    return float(np.mean(flags[wrong])), float(np.mean(flags[~wrong]))


@pytest.mark.slow
def test_models_of_many_kinds_are_told_apart():
    """Nine tenths of the bad ones are flagged and at most one tenth of the good ones, by draws and without."""
    found = []
    for make in known_models().values():
        known = make()
        report = trust_model(known.model, known.args, warmup=300, draws=600, seed=1)
        found.append((report.figures.log_evidence - known.log_z, report.flagged, report.figures.flagged))
    errors, flagged, cheaply = np.array(found, dtype=float).T
    hits, alarms = shares(errors, flagged)
    assert hits >= 0.9
    assert alarms <= 0.1
    hits, alarms = shares(errors, cheaply)
    assert hits >= 0.9
    assert alarms <= 0.2


@pytest.mark.parametrize(
    ("name", "flagged"),
    [
        ("poisson a1 d10", True),
        pytest.param("poisson a0.5 d8", False, marks=pytest.mark.slow),
        pytest.param("student 3 d15", True, marks=pytest.mark.slow),
    ],
)
def test_the_cheap_figures_see_what_is_coming(name, flagged):
    known = known_models()[name]()
    figures = laplace_figures(known.model, known.args)
    error = figures.log_evidence - known.log_z
    assert (abs(error) > 0.5) == flagged == figures.flagged
    if name.startswith("poisson"):
        assert figures.expected_error == pytest.approx(error, rel=0.15)
