"""The study of Bayes factors and its page: numbers against direct calls, flips and verdicts on made-up results."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln

from bayes_lssvm import marginalise
from bayes_lssvm.kernels import RBF, Linear, Polynomial
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.marginal import laplace_evidence
from bayes_lssvm.marginal.rules.lattice import integrate_on_lattice
from bayes_lssvm.priors import HyperPrior
from models import features
from reports.frame.draws import largest_rhat
from reports.pages.bayes_factors import page
from reports.pages.bayes_factors.chains import chains_section, symbol
from reports.pages.bayes_factors.sentences import distances
from validation.harness import Cell, CellResult, FinishedCell, StudyResult, load_data, run
from validation.ladder import spread_rows
from validation.registry import get_study
from validation.studies.bayes_factors import MODELS, PRIOR, STUDY, Evidence, compare, evidences, words
from validation.studies.bayes_factors.comparison import sampled, worst_pair
from validation.studies.bayes_factors.rungs import INNER, evidence_by_rung
from validation.studies.bayes_factors.weights import weight_space


@pytest.fixture(scope="module")
def ripley():
    return load_data("ripley")


@pytest.fixture(scope="module")
def toy(ripley, tmp_path_factory):
    return run(STUDY, ripley, size="toy", folder=tmp_path_factory.mktemp("bayes-factors"), progress=False)


def made_up(numbers, errors=None):
    """A result with these log evidences, {rung: {model: value}}, and standard errors of the sampled ones."""
    cells = []
    for rung, own in numbers.items():
        for model, value in own.items():
            cell = Cell(f"{model}.{rung}", {"model": model, "method": rung, "n": 250})
            error = (errors or {}).get((rung, model), 0.002 if rung in ("nuts", "importance") else None)
            cells.append(FinishedCell(cell, {"log_evidence": value, "error": error}))
    return StudyResult("bayes-factors", STUDY.title, "toy", {"name": "made up", "n": 250}, tuple(cells), {}, Path())


def everywhere(exact, **changed):
    """The same log evidences on every rung, but for those that are changed."""
    rungs = ("quadrature", "mackay", "hessian", "laplace", "nuts")
    return {rung: {**exact, **changed.get(rung, {})} for rung in rungs}


def findings(numbers, errors=None):
    return " ".join(page(made_up(numbers, errors)).findings)


# --- the study -------------------------------------------------------------------------------------------------------


def test_the_registry_knows_the_study_and_cells_have_their_own_keys_and_seeds(ripley):
    assert get_study("bayes-factors") is STUDY
    for size in ("toy", "quick", "full"):
        cells = STUDY.cells(ripley, size)
        assert len({c.key for c in cells}) == len({c.seed for c in cells}) == len(cells)
        assert len({str(c.settings["prior"]) for c in cells}) == 1  # one prior for every rung
    full = {c.key for c in cells}
    assert {"linear.weights", "poly3.weights", "scaled-rbf.nuts", "scaled-rbf.ccd"} <= full
    assert {key.split(".")[0] for key in full} == set(MODELS)


def test_every_cell_has_an_evidence_and_passes_its_checks(toy):
    assert toy.failed == ()
    assert all(np.isfinite(f.values["log_evidence"]) for f in toy.cells)
    assert toy["rbf.nuts"].draws is not None
    names = {check.name for check in toy["rbf.nuts"].checks}
    assert {"R-hat", "bulk ESS", "divergences", "E-FMI", "bridge"} <= names


def test_deterministic_rungs_are_what_direct_calls_give(toy, ripley):
    X, y = spread_rows(ripley.X, ripley.y, 40)
    assert len(X) == 40
    assert abs(y.sum()) <= 2
    for method in ("quadrature", "mackay", "laplace"):
        direct = marginalise(X, y, kernel=RBF(1.0), prior=PRIOR, method=method, progress=False, standardise=False)
        assert toy[f"rbf.{method}"].values["log_evidence"] == pytest.approx(direct.log_evidence, abs=1e-12)
    linear = laplace_evidence(TridiagonalReduction.from_kernel_matrix(Linear()(X), y), HyperPrior(PRIOR.mu, PRIOR.zeta))
    assert toy["linear.hessian"].values["log_evidence"] == pytest.approx(linear.log_evidence, abs=1e-9)
    # without a kernel parameter the two Laplace approximations are the same one, by different code
    assert toy["linear.hessian"].values["log_evidence"] == pytest.approx(
        toy["linear.laplace"].values["log_evidence"], abs=1e-6
    )


def test_sampled_evidences_are_within_three_standard_errors(toy):
    found = distances(evidences(toy))
    assert set(found) == {
        ("importance", "linear"),
        ("importance", "scaled-rbf"),
        ("nuts", "poly2"),
        ("nuts", "rbf"),
    }
    assert max(abs(z) for z in found.values()) < 3.0


def test_rules_over_kernel_parameters_agree_with_the_library(ripley):
    X, y = spread_rows(ripley.X, ripley.y, 40)
    kernel = RBF(1.0)
    settings = {"method": "hessian", "kernel": kernel.to_dict(), "prior": PRIOR.to_dict(), "tolerance": 1e-3}
    values = evidence_by_rung(settings, 0, X, y).values
    # the same integral by Simpson's rule over log σ
    grid = np.linspace(-3.5, 3.5, 71)
    logs = [
        INNER["hessian"](TridiagonalReduction.from_kernel_matrix(RBF(np.exp(u))(X), y), PRIOR)
        + float(PRIOR.kernel.log_density(u))
        for u in grid
    ]
    weights = np.where(np.arange(71) % 2 == 1, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    simpson = np.log(np.sum(weights * np.exp(logs)) * (grid[1] - grid[0]) / 3.0)
    assert values["log_evidence"] == pytest.approx(simpson, abs=2e-3)


def test_the_lattice_integrates_gaussians_and_skewed_densities():
    scale = np.array([[1.0, 0.0], [0.8, 0.6]])

    def gaussian(x):
        z = np.linalg.solve(scale, x - 3.0)
        return -0.5 * float(z @ z)

    found = integrate_on_lattice(gaussian, np.full(2, 3.0), scale, tolerance=1e-7)
    assert found.log_integral == pytest.approx(np.log(2 * np.pi * 0.6), abs=1e-6)
    # ∫ exp(ax − e^x) dx = Γ(a), from a centre and a width that are wrong
    skewed = integrate_on_lattice(
        lambda x: float(np.sum([2.5, 4.0] @ x) - np.exp(x).sum()), np.array([0.5, 1.0]), np.eye(2), tolerance=1e-5
    )
    assert skewed.log_integral == pytest.approx(gammaln(2.5) + gammaln(4.0), abs=1e-4)
    assert skewed.error <= 1e-5
    # a corner: slow to converge, and the error says so
    corner = integrate_on_lattice(lambda x: -abs(float(x[0]) - 0.3), np.zeros(1), np.eye(1), tolerance=1e-9, most=300)
    assert 1e-9 < abs(corner.log_integral - np.log(2.0)) < 3.0 * corner.error
    with pytest.raises(ValueError, match="centre of the lattice"):
        integrate_on_lattice(lambda x: -np.inf, np.zeros(1), np.eye(1), tolerance=1e-5)


@pytest.mark.parametrize("degree", [2, 3])
def test_weights_with_a_free_scale_have_the_kernel_s_covariance(ripley, degree):
    X, y = ripley.X[::21], ripley.y[::21]
    program, (design, targets) = weight_space(degree, PRIOR, X, y)
    for scale in (0.4, 2.5):
        Phi = features(Polynomial(degree, 1.0), X) * scale ** (-0.5 * np.array(program.degrees))
        K = Polynomial(degree, scale)(X)
        np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-13 * K.max())
    assert design.shape[1] == len(program.degrees) + 1
    assert targets.shape == (12,)


@pytest.mark.slow
def test_weight_space_with_a_free_scale_has_the_exact_evidence(ripley):
    (cell,) = [c for c in STUDY.cells(ripley, "full") if c.key == "poly2.weights"]
    found = STUDY.compute(cell, ripley)
    exact = marginalise(
        ripley.X, ripley.y, kernel=Polynomial(2, 1.0), prior=PRIOR, progress=False, standardise=False
    ).log_evidence
    assert all(check.passed for check in found.checks), [c.sentence for c in found.checks if not c.passed]
    assert abs(found.values["log_evidence"] - exact) < 3.0 * found.values["error"]
    assert isinstance(found, CellResult)


@pytest.mark.slow
def test_the_rule_over_two_kernel_parameters_gets_to_its_tolerance_on_heart():
    data = load_data("hea")
    common = {"kernel": MODELS["scaled-rbf"].kernel.to_dict(), "prior": PRIOR.to_dict(), "tolerance": 1e-4}
    found = evidence_by_rung({"model": "scaled-rbf", "method": "quadrature", **common}, 0, data.X, data.y)
    assert found.values["n_kernels"] > 2100
    assert all(check.passed for check in found.checks)


@pytest.mark.slow
def test_two_kernel_parameters_against_a_dense_grid(toy, ripley):
    X, y = spread_rows(ripley.X, ripley.y, 40)

    def at(*log_params):
        return MODELS["scaled-rbf"].kernel.with_log_params(np.array(log_params))

    a, s = np.linspace(-4.5, 4.5, 61), np.linspace(-4.0, 4.0, 81)
    logs = [
        INNER["quadrature"](TridiagonalReduction.from_kernel_matrix(at(u, v)(X), y), PRIOR)
        + float(PRIOR.kernel.log_density(u) + PRIOR.kernel.log_density(v))
        for u in a
        for v in s
    ]
    dense = np.log(np.sum(np.exp(logs)) * (a[1] - a[0]) * (s[1] - s[0]))
    assert toy["scaled-rbf.quadrature"].values["log_evidence"] == pytest.approx(dense, abs=2e-4)


# --- pairs and flips -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.99, "bare mention"),
        (-0.99, "bare mention"),
        (1.01, "positive for rbf"),
        (-1.01, "positive for linear"),
        (3.01, "strong for rbf"),
        (-5.01, "very strong for linear"),
    ],
)
def test_words(value, expected):
    assert words(value, "rbf", "linear") == expected


def test_flips_are_changes_of_words_or_of_the_model_they_speak_for():
    exact = {"rbf": Evidence(-10.0, 0.0), "linear": Evidence(-12.0, 0.0), "poly2": Evidence(-10.5, 0.0)}
    assert compare("mackay", exact, exact) == ()
    swapped = {**exact, "poly2": Evidence(-9.5, np.nan)}  # a sign within a bare mention; positive stays positive
    assert compare("mackay", exact, swapped) == ()
    (flip,) = compare("mackay", exact, {**exact, "linear": Evidence(-11.2, np.nan)})
    assert (flip.first, flip.second) == ("linear", "poly2")
    assert (flip.exact_words, flip.approximate_words) == ("positive for poly2", "bare mention")
    assert (flip.exact, flip.approximate) == pytest.approx((-1.5, -0.7))
    reversed_ = compare("laplace", exact, {**exact, "linear": Evidence(-8.0, np.nan)})
    assert [(f.exact_words, f.approximate_words) for f in reversed_ if f.first == "rbf"] == [
        ("positive for rbf", "positive for linear")
    ]
    near = compare("nuts", {**exact, "poly2": Evidence(-10.99, 0.0)}, {**exact, "poly2": Evidence(-11.01, 0.02)})
    assert [f.within_error for f in near if f.first == "rbf"] == [True]
    both = {"rbf": Evidence(-10.0, 0.03), "poly2": Evidence(-11.01, 0.04), "linear": Evidence(-12.0, 0.0)}
    (first, *_) = compare("nuts", {**exact, "poly2": Evidence(-10.99, 0.0)}, both)
    assert first.error == pytest.approx(0.05)  # errors of independent estimates add as squares


def test_the_worst_pair_has_the_largest_error_of_a_factor():
    exact = {name: Evidence(0.0, 0.0) for name in ("rbf", "linear", "poly2")}
    other = {"rbf": Evidence(0.2, np.nan), "linear": Evidence(-0.3, np.nan)}
    assert worst_pair(exact, other) == ("rbf", "linear", pytest.approx(0.5))


def test_nuts_stands_for_the_sampled_evidence_where_it_was_run():
    result = made_up({"quadrature": {"rbf": -1.0}, "nuts": {"rbf": -2.0}, "importance": {"rbf": -3.0, "poly2": -4.0}})
    assert {name: e.value for name, e in sampled(evidences(result)).items()} == {"rbf": -2.0, "poly2": -4.0}


# --- the page --------------------------------------------------------------------------------------------------------

EXACT = {"rbf": -258.0, "linear-rbf": -254.5, "linear": -275.0}


def test_the_verdict_when_nothing_flips():
    said = findings(everywhere(EXACT))
    assert "linear + RBF is best, 3.50 nats ahead of RBF: strong evidence" in said
    assert "MacKay's Occam factor (5.2): chooses the same model" in said
    assert "no wording changes among 3 pairs" in said
    assert "All 3 sampled log evidences are within 3 standard errors of quadrature" in said


def test_the_verdict_when_the_closed_form_flips():
    numbers = everywhere(EXACT, mackay={"rbf": -254.0})
    said = findings(numbers)
    assert "MacKay's Occam factor (5.2): chooses RBF instead of linear + RBF" in said
    assert "off by at most 4.00 nats" in said
    assert "the wording changes for 1 of 3 pairs (linear + RBF against RBF, strong for linear + RBF becomes" in said
    assert "Laplace over everything: chooses the same model" in said
    built = page(made_up(numbers))
    (flips,) = [s for s in built.sections if s.heading == "Where the wording changes"]
    assert [row.label for row in flips.tables[0].rows] == ["linear + RBF against RBF"]
    heat = built.key_picture
    assert len(heat.figure.axes[0].patches) == 1  # one frame
    assert "A frame marks the pairs" in heat.caption
    calm = page(made_up(everywhere(EXACT)))
    assert len(calm.key_picture.figure.axes[0].patches) == 0
    assert "the exact wording of no pair" in calm.key_picture.caption


def test_sampled_figures_that_are_too_far_are_named():
    said = findings(everywhere(EXACT, nuts={"linear": -274.95}))
    assert (
        "2 of 3 sampled log evidences are within 3 standard errors of quadrature. The others: linear by collapsed NUTS"
        in said
    )
    assert "+25.0 standard errors away (+0.050 nats)" in said


def test_missing_answers_are_said():
    numbers = everywhere(EXACT)
    del numbers["quadrature"]["linear"]
    assert "There is no exact evidence of linear, which is left out" in findings(numbers)
    numbers = everywhere(EXACT)
    del numbers["laplace"]["rbf"]
    assert "It has no answer for RBF." in findings(numbers)
    with pytest.raises(ValueError, match="No model has an exact evidence"):
        page(made_up({"mackay": EXACT}))
    assert "Nothing was sampled" in findings({"quadrature": EXACT, "mackay": EXACT})


def test_the_page_of_a_run(toy):
    built = page(toy)
    order = sorted(evidences(toy)["quadrature"].items(), key=lambda item: -item[1].value)
    assert [row.label for row in built.key_table.rows] == [MODELS[name].label for name, _ in order]
    assert built.key_table.rows[0].cells[0] == f"{order[0][1].value:.3f}".replace("-", "−")
    text = " ".join(built.findings)
    assert f"By the exact evidence {MODELS[order[0][0]].label} is best" in text
    assert "40 of the 250 points were used" in built.methods[0]
    for picture in built.pictures:
        stream = io.BytesIO()
        picture.figure.savefig(stream, format="png", dpi=50)
        assert len(stream.getvalue()) > 5000
        assert picture.alt
        assert picture.caption
    heat = built.key_picture.figure.axes[0]
    shown = [t.get_text() for t in heat.texts]
    first, second = (name for name, _ in order[:2])
    mackay = evidences(toy)["mackay"]
    assert f"{mackay[first].value - mackay[second].value:+.2f}".replace("-", "−") in shown


def test_the_chains_behind_sampled_evidences_are_shown_by_arviz(toy):
    order = [name for name, _ in sorted(evidences(toy)["quadrature"].items(), key=lambda item: -item[1].value)]
    (section,) = chains_section(toy, order)
    forest, *ranks = (picture for picture in section.pictures if picture.name.startswith(("arviz", "ranks")))
    sampled = [c for c in toy.cells if c.cell.settings["method"] == "nuts"]
    assert len(ranks) == min(len(sampled), 3)
    best = [name for name in order if name in {c.cell.settings["model"] for c in sampled}][:3]
    labels = {text.get_text() for text in forest.figure.axes[0].texts}
    for name in best:
        drawn = next(c for c in sampled if c.cell.settings["model"] == name)
        assert {f"{symbol(site)}, {MODELS[name].label}" for site in drawn.values["mean"]} <= labels
    worst = max(largest_rhat(c) for c in sampled)
    assert f"the largest R-hat is {worst:.4f}" in ranks[0].caption
    assert [p.name.split("-")[0] for p in section.pictures[-2:]] == ["ess", "energy"]
    nothing = replace(toy, cells=tuple(c for c in toy.cells if c not in sampled))
    assert chains_section(nothing, order) == ()


def test_sites_of_kernels_have_symbols():
    for model in MODELS.values():
        for name in model.kernel.param_names:
            assert symbol(f"log_{name}").startswith("log ")
    assert symbol("log_1.sigma") == "log σ"
