"""The study of the evidence along σ: toy size from end to end, findings on Ripley's data, and words that follow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayes_lssvm import marginalise
from bayes_lssvm.kernels import RBF
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.marginal import laplace_evidence
from reports.draw.style import as_png
from reports.frame.html import draw
from reports.pages.evidence import page
from reports.pages.evidence.ladder import answer, findings, hills, ladder, loss
from validation.harness import Check, StudyData, load_data, run
from validation.registry import get_study
from validation.studies.evidence import MATTERS, PRIOR, RUNGS, STUDY, _fine_enough
from validation.studies.evidence.choice import chosen_width
from validation.studies.evidence.rungs import gamma_profile, rung, rungs_at


@pytest.fixture(scope="module")
def ripley_data():
    return load_data("ripley")


@pytest.fixture(scope="module")
def toy(ripley_data, tmp_path_factory):
    return run(STUDY, ripley_data, size="toy", folder=tmp_path_factory.mktemp("evidence"), progress=False)


# --- findings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("criterion", "sigma", "within"),
    [
        ("without_occam", 1.3111, 6e-5),
        ("mackay", 1.3283, 6e-5),
        ("hessian", 1.342, 6e-4),
        ("quadrature", 1.345, 6e-4),
    ],
)
def test_the_widths_that_ripleys_data_select(ripley_data, criterion, sigma, within):
    # the exact integral with a flat box in place of the Normal priors has its maximum at 1.342, as the Hessian has
    found = chosen_width(criterion, 0.7, 3.0, ripley_data.X, ripley_data.y, 0)
    assert found["sigma"] == pytest.approx(sigma, abs=within)
    assert not found["at_edge"]
    for factor in (0.999, 1.001):
        assert rung(criterion, factor * found["sigma"], ripley_data.X, ripley_data.y, 0) < found["value"]


@pytest.mark.parametrize(
    ("sigma", "exact", "mackay", "laplace"),
    [
        (0.2, -304.305, -0.205, -0.005),
        (1.0, -257.977, +0.031, -0.004),
        (1.311, -256.475, -0.037, -0.003),
        (4.0, -264.128, -0.260, +0.011),
        (8.0, -271.239, +0.363, -0.445),  # Laplace at the higher mode; at the one of larger mass −0.410
    ],
)
def test_the_ladder_on_ripleys_data(ripley_data, sigma, exact, mackay, laplace):
    found = rungs_at(sigma, ripley_data.X, ripley_data.y, 0)
    values = found["log_evidence"]
    assert set(values) == set(RUNGS)
    assert values["quadrature"] == pytest.approx(exact, abs=6e-4)
    assert values["mackay"] - values["quadrature"] == pytest.approx(mackay, abs=6e-4)
    assert values["laplace"] - values["quadrature"] == pytest.approx(laplace, abs=6e-4)
    assert abs(values["importance"] - values["quadrature"]) < 4 * found["importance_error"]
    occam = found["occam"]
    assert occam["best_fit"] + occam["mackay_mu"] + occam["mackay_zeta"] == pytest.approx(values["mackay"], abs=1e-9)
    assert occam["best_fit"] + occam["exact"] == pytest.approx(values["quadrature"], abs=1e-9)
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(sigma)(ripley_data.X), ripley_data.y)
    assert laplace_evidence(reduction, PRIOR).log_evidence == pytest.approx(values["laplace"], abs=1e-5)
    # log μ and log ζ of the evidence's mode, under Normal(0, 3)
    away = (np.log(found["mu"]) ** 2 + np.log(found["zeta"]) ** 2) / 18.0
    assert found["prior_offset"] == pytest.approx(away, abs=1e-9)


def test_wide_kernels_have_two_modes(ripley_data):
    X, y = ripley_data.X, ripley_data.y
    eight, ten = gamma_profile(8.0, X, y), gamma_profile(10.0, X, y)
    assert (len(eight["modes"]), hills(eight["log_density"])) == (1, 2)
    assert (len(ten["modes"]), hills(ten["log_profile"]), hills(ten["log_density"])) == (2, 2, 1)
    assert rungs_at(8.0, X, y, 0)["n_modes_posterior"] == 2
    narrow = gamma_profile(1.311, X, y)
    assert (len(narrow["modes"]), hills(narrow["log_density"])) == (1, 1)


def test_the_profile_over_gamma_has_the_moments_of_the_posterior(ripley_data):
    profile = gamma_profile(8.0, ripley_data.X, ripley_data.y)
    weights = np.exp(profile["log_density"])
    weights /= weights.sum()
    mean = weights @ profile["log_gamma"]
    exact = marginalise(
        ripley_data.X, ripley_data.y, kernel=RBF(8.0), prior=PRIOR, fixed_kernel=True, progress=False, standardise=False
    )
    assert mean == pytest.approx(exact.mean()["log_gamma"], abs=1e-3)
    assert np.sqrt(weights @ (profile["log_gamma"] - mean) ** 2) == pytest.approx(exact.sd()["log_gamma"], rel=1e-3)


def test_a_maximum_at_the_end_of_the_range_says_so(ripley_data):
    found = chosen_width("quadrature", 2.0, 4.0, ripley_data.X, ripley_data.y, 0)
    assert found["at_edge"]
    assert found["sigma"] == pytest.approx(2.0)


# --- the cells -------------------------------------------------------------------------------------------------------


def test_cells_of_ripleys_and_of_other_data(ripley_data):
    cells = STUDY.cells(ripley_data, "full")
    assert len({cell.key for cell in cells}) == len({cell.seed for cell in cells}) == len(cells)
    keys = {cell.key for cell in cells}
    assert {"collapsed-1.311", "collapsed-8", "collapsed-10", "gp-1.311", "profile-8", "profile-10"} <= keys
    assert {f"choice.{name}" for name in RUNGS} <= keys

    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0, 1.0, -1.0)
    other = StudyData("mine", X, y, "classification", ("a", "b"), "y", ("no", "yes"), None, None, "0")
    plan = STUDY.cells(other, "quick")
    low, high = next(c.settings["range"] for c in plan if c.key == "choice.quadrature")
    assert high / low == pytest.approx(48.0, rel=1e-2)
    assert "gp" not in {c.settings.get("program") for c in plan}


def test_toy_size_runs_and_its_chains_pass(toy):
    assert toy.failed == ()
    names = {check.name for cell in toy.cells for check in cell.checks}
    assert names >= {"R-hat", "bulk ESS", "divergences", "E-FMI", "quadrature error", "distance from quadrature"}
    assert toy["collapsed-1.311"].draws is not None
    assert get_study("evidence") is STUDY


# --- the page --------------------------------------------------------------------------------------------------------


def test_an_estimate_far_below_the_others_does_not_stretch_the_figure(toy):
    """A mark outside the frame counted in the layout: the figure of a sharp peak was four times as tall as wide."""
    near = page(toy).pictures[0]
    assert "Arrows" not in near.caption
    bridges = [cell.cell.key for cell in toy.cells if cell.cell.settings["kind"] == "bridge"]
    far = changed(toy, lambda cell: cell.key in bridges, lambda v: v | {"log_evidence": v["log_evidence"] - 900.0})
    picture = page(far).pictures[0]
    assert "Arrows at the lower edge are sampled estimates that lie below it." in picture.caption
    tall = picture.figure.get_figheight()
    as_png(picture.figure)
    assert picture.figure.get_figheight() == tall


def test_the_page_of_the_toy_study(toy):
    made = page(toy)
    assert made.name == "evidence"
    assert [row.label for row in made.key_table.rows] == [
        "best fit, no Occam factor",
        "MacKay's Occam factor (5.2)",
        "Occam factor by the Hessian",
        "Laplace with the prior",
        "importance sampling",
        "quadrature (exact)",
    ]
    chosen = toy["choice.mackay"].values
    assert made.key_table.rows[1].cells[0] == f"{chosen['sigma']:.5g}"
    assert made.key_table.rows[5].cells[2:] == ("0.000", "–", "–")
    text = " ".join(made.findings)
    assert f"the exact evidence is largest at σ = {toy['choice.quadrature'].values['sigma']:.4g}" in text
    assert "The Occam factor: at the best width on the curve" in text
    assert "Sampled: the 1 estimate by NUTS and bridge sampling is within 3 standard errors of quadrature" in text
    assert [picture.name for picture in made.pictures] == ["curves", "errors", "occam", "modes"]
    assert len(draw(made, dpi=30)) == 4


def test_the_curve_is_sorted_and_its_errors_are_against_quadrature(toy):
    curve = ladder(toy, "curve")
    assert np.all(np.diff(curve.sigma) > 0)
    assert {1.311, 8.0, 10.0} <= set(curve.sigma.tolist())
    assert np.allclose(curve.error("quadrature"), 0.0)
    assert np.all(curve.error("without_occam") > 0.0)


# --- words that follow the numbers -----------------------------------------------------------------------------------


def changed(result, chosen, change, checks=None):
    """The result with other values (and checks) in the cells that `chosen` says."""
    return replace(
        result,
        cells=tuple(
            replace(c, values=change(c.values), checks=checks or c.checks) if chosen(c.cell) else c
            for c in result.cells
        ),
    )


def with_points(result, change):
    def each(values):
        return {"points": [change(point) for point in values["points"]]}

    return changed(result, lambda cell: cell.settings["kind"] == "ladder", each)


def test_the_verdict_on_the_width_depends_on_the_loss(toy):
    assert loss(toy, "without_occam") < 0.1
    assert "The choice of method matters little here" in findings(toy)[0]
    best = toy["choice.quadrature"].values["exact"]
    worse = changed(toy, lambda cell: cell.key == "choice.without_occam", lambda v: v | {"exact": best - 2.5})
    said = findings(worse)[0]
    assert "The choice of method matters" in said
    assert "(best fit, no Occam factor) loses 2.5 nats" in said
    edge = changed(toy, lambda cell: cell.key == "choice.laplace", lambda v: v | {"at_edge": True})
    assert (
        "At the end of the range, so the true maximum may lie beyond it: Laplace with the prior." in findings(edge)[0]
    )
    assert page(edge).key_table.rows[3].cells[0].endswith(" (edge)")


def test_the_verdict_on_errors_flips_at_one_nat(toy):
    assert "None of them exceeds 1 nat." in findings(toy)[1]

    def shifted(point):
        values = point["log_evidence"]
        return point | {"log_evidence": values | {"mackay": values["quadrature"] + 1.2}}

    said = findings(with_points(toy, shifted))[1]
    assert "MacKay's Occam factor (5.2): +1.20 at" in said
    assert "enough to change the reading of a Bayes factor: MacKay's Occam factor (5.2)." in said


def test_a_good_width_with_a_poor_evidence_is_called_that(toy):
    def shifted(point):
        values = point["log_evidence"]
        return point | {"log_evidence": values | {"mackay": values["quadrature"] + 7.25}}

    far = with_points(toy, shifted)
    assert answer(far).badge == "fails"
    assert "picks a good kernel width" in answer(far).verdict
    assert "off by up to 7.2 nats" in answer(far).verdict
    best = toy["choice.quadrature"].values["exact"]
    poor = changed(far, lambda cell: cell.key == "choice.mackay", lambda v: v | {"exact": best - 2.5})
    assert "picks a poor kernel width here, which loses 2.5 nats" in answer(poor).verdict


def test_an_error_of_quadrature_counts_by_its_share_in_the_evidence_over_widths():
    def point(error, below, sigma=1.0):
        return {"sigma": sigma, "quadrature_error": error, "log_evidence": {"quadrature": -100.0 - below}}

    def judged(*points):
        return _fine_enough(list(points), -100.0)

    assert judged(point(0.9e-4, 0.0)).passed
    assert not judged(point(1.1e-4, 0.0)).passed
    assert not judged(point(1.1e-4, -3.0)).passed  # above the main width
    assert not judged(point(1.1e-4, MATTERS)).passed
    assert judged(point(1.1e-4, MATTERS + 1.0)).passed
    assert not judged(point(1.1e-2, MATTERS + 1.0), point(1e-9, 0.0)).passed
    far = judged(point(3.0, MATTERS + 30.0, sigma=33.0))
    assert far.passed
    assert far.value == pytest.approx(np.expm1(3.0) * np.exp(-30.0), rel=1e-9, abs=0.0)
    assert "share as evidence of σ = 33" in far.sentence
    assert not judged(point(60.0, MATTERS + 50.0)).passed  # it may be the best width after all
    assert not judged(point(float("nan"), 500.0), point(1e-9, 0.0)).passed


def test_widths_whose_exact_integral_is_less_exact_are_named(toy):
    assert not any("known to" in sentence for sentence in findings(toy))
    widths = [p["sigma"] for cell in toy.cells if cell.cell.key.startswith("curve") for p in cell.values["points"]]
    top = max(widths)

    def coarse(point):
        if point["sigma"] < top:
            return point
        low = point["log_evidence"] | {"quadrature": point["log_evidence"]["quadrature"] - 250.0}
        return point | {"quadrature_error": 2.5e-3, "log_evidence": low}

    said = next(sentence for sentence in findings(with_points(toy, coarse)) if "known to" in sentence)
    assert said.startswith(f"At σ = {top:.3g} the exact integral itself is known to 0.0025 nats only")
    assert "no choice of a width depends on it" in said


def test_the_verdict_tells_what_the_priors_centre_accounts_for(toy):
    centred = with_points(toy, lambda p: p | {"prior_offset": 0.0})
    assert "ignores where it is centred" not in findings(centred)[1]
    away = with_points(toy, lambda p: p | {"prior_offset": 3.25 if p["sigma"] == 10.0 else 0.0})
    assert (
        "At σ = 10, where the mode is farthest from the centre, this alone makes it 3.25 nats too large."
        in findings(away)[1]
    )


def test_the_verdict_on_modes(toy):
    assert findings(toy)[3].startswith("Modes: one at every width")
    two = with_points(
        toy, lambda p: p | {"n_modes_posterior": 2, "missed_mass": 0.3} if p["sigma"] in (8.0, 10.0) else p
    )
    said = findings(two)[3]
    assert "the posterior of (log μ, log ζ) has more than one at 2 widths from σ = 8 to 10" in said
    assert "the modes that it leaves out hold up to 0.30 times as much posterior mass" in said


def test_the_verdict_on_importance_sampling(toy):
    fine = with_points(
        toy,
        lambda p: (
            p | {"k_hat": 0.2, "log_evidence": p["log_evidence"] | {"importance": p["log_evidence"]["quadrature"]}}
        ),
    )
    assert "k̂ is nowhere above 0.7" in findings(fine)[4]
    doubtful = with_points(fine, lambda p: p | {"k_hat": 0.9} if p["sigma"] == 8.0 else p)
    assert "Its k̂ exceeds 0.7, so it cannot be relied on, for σ = 8." in findings(doubtful)[4]
    unknown = with_points(fine, lambda p: p | {"k_hat": None} if p["sigma"] == 10.0 else p)
    assert "for σ = 10." in findings(unknown)[4]

    def far(p):
        values = p["log_evidence"]
        away = values["quadrature"] + 5 * p["importance_error"]
        return p | {"log_evidence": values | {"importance": away}} if p["sigma"] == 8.0 else p

    assert (
        "beyond 3 at 1, where chance would put about 0.0, and farthest at σ = 8" in findings(with_points(fine, far))[4]
    )


def test_the_verdict_on_sampling(toy):
    def at(z):
        return changed(
            toy,
            lambda cell: cell.key == "collapsed-1.311",
            lambda v: v | {"z": z, "log_evidence": v["exact"] + z * v["error"]},
        )

    assert findings(at(2.9))[5].startswith("Sampled: the 1 estimate by NUTS and bridge sampling is within 3")
    said = findings(at(-3.5))[5]
    assert said.startswith("Sampled: 1 of 1 estimate")
    assert "σ = 1.311 by collapsed NUTS" in said
    assert "3.5 standard errors)" in said
    assert "more than chance explains" in said
    bad = Check("R-hat", 1.3, 1.01, False, "R-hat of log_mu is 1.3.")
    broken = changed(toy, lambda cell: cell.key == "collapsed-1.311", lambda v: v, (bad,))
    assert "A check failed for collapsed-1.311: do not rely on these chains." in findings(broken)[5]


def test_an_error_bar_wider_than_the_prior_is_told(toy):
    capped = with_points(toy, lambda p: p | {"occam": p["occam"] | {"capped": p["sigma"] == 10.0}})
    assert "For σ between 10 and 10 an error bar is wider than the prior" in findings(capped)[2]
