"""The map of trust: simulated data, the ladder on each set, and a verdict that follows the numbers."""

from __future__ import annotations

import dataclasses
import io
import warnings

import numpy as np
import pytest
from PIL import Image

from bayes_lssvm.base.errors import NoSignalWarning
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level3 import evidence_of
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.marginal import laplace_evidence, marginalise
from bayes_lssvm.priors import HyperPrior, Normal
from bayes_lssvm.trust import LIMITS, trust
from reports.draw.style import as_png
from reports.pages.map_of_trust import page
from reports.pages.map_of_trust.figures import figure_map, outline
from reports.pages.map_of_trust.sentences import findings, threshold_words
from reports.pages.map_of_trust.spots import Spot, problems_of, spots_of, thresholds
from reports.pages.map_of_trust.tables import key_table
from validation.harness import run
from validation.registry import get_study
from validation.studies.map_of_trust import GRIDS, PRIOR, STUDY, Simulation, is_trusted, measure, simulate

TOY = Simulation(n=40, d=2, width=0.5, assumed=0.5, snr=3.0)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return run(get_study("map-of-trust"), None, size="toy", folder=tmp_path_factory.mktemp("map"), progress=False)


@pytest.fixture(scope="module")
def shown(result):
    return page(result)


# --- simulated data


def test_a_set_is_a_function_of_problem_seed_and_number():
    first, again = simulate(TOY, 7, 3), simulate(TOY, 7, 3)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first.y, simulate(TOY, 7, 4).y)
    assert not np.array_equal(first.y, simulate(TOY, 8, 3).y)


@pytest.mark.parametrize("width", [0.5, 2.0])
@pytest.mark.parametrize("snr", [0.3, 10.0])
def test_simulated_sets_have_the_stated_signal_to_noise_ratio(snr, width):
    """Sample variances, over which the bias has no hold, average to the stated ratio and add up to one."""
    sets = [simulate(Simulation(30, 2, width, width, snr), 1, index) for index in range(600)]
    signal = np.array([one.signal.var(ddof=1) for one in sets])
    noise = np.array([one.noise.var(ddof=1) for one in sets])
    for found, expected in ((signal, snr / (1.0 + snr)), (noise, 1.0 / (1.0 + snr))):
        error = found.std() / np.sqrt(len(found))
        assert abs(found.mean() - expected) < 4.0 * error
    assert {one.zeta for one in sets} == {1.0 + snr}
    assert np.array_equal(sets[0].y, sets[0].signal + sets[0].noise)


def test_targets_come_from_the_model():
    """Whitened by the true covariance, they are standard normal: Kᵢⱼ/μ + δᵢⱼ/ζ is what was drawn from."""
    z = []
    for index in range(100):
        one = simulate(TOY, 2, index)
        covariance = RBF(TOY.sigma)(one.X) / one.mu + np.eye(TOY.n) / one.zeta
        z.append(np.linalg.solve(np.linalg.cholesky(covariance), one.y))
    squares = np.concatenate(z) ** 2
    assert abs(squares.mean() - 1.0) < 4.0 * np.sqrt(2.0 / len(squares))


def test_without_signal_targets_are_noise():
    one = simulate(TOY._replace(snr=0.0), 1, 0)
    assert np.array_equal(one.y, one.noise)
    assert not one.signal.any()
    assert one.zeta == 1.0


# --- what is measured


def test_a_set_is_measured_as_the_library_would():
    found, data, kernel = measure(TOY, 7, 3), simulate(TOY, 7, 3), RBF(TOY.sigma)
    exact = marginalise(data.X, data.y, kernel=kernel, prior=Normal(0, 3), fixed_kernel=True, standardise=False)
    closed = evidence_of(kernel(data.X), data.y)
    spectrum = CentredSpectrum.from_kernel_matrix(kernel(data.X), data.y)
    assert found["mackay"] == pytest.approx(closed.log_evidence - exact.log_evidence, abs=1e-5)
    assert found["hessian"] == pytest.approx(
        closed.log_evidence_without_occam + closed.log_occam_factor_hessian - exact.log_evidence, abs=1e-5
    )
    laplace = laplace_evidence(spectrum, HyperPrior()).log_evidence
    assert found["laplace"] == pytest.approx(laplace - exact.log_evidence, abs=1e-5)
    assert found["mackay_log_mu"] == pytest.approx(closed.mackay.log_mu / exact.sd()["log_mu"], rel=1e-4)
    assert found["hessian_log_zeta"] == pytest.approx(closed.hessian.log_zeta / exact.sd()["log_zeta"], rel=1e-4)
    assert abs(found["importance"]) < 0.1


def test_grades_are_those_of_trust():
    """On sets with a clear verdict `trust` says the same; it standardises the targets, which hardly moves anything."""
    for problem, expected in ((Simulation(100, 2, 2.0, 2.0, 10.0), True), (Simulation(30, 2, 2.0, 2.0, 0.0), False)):
        found, data = measure(problem, 5, 0), simulate(problem, 5, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoSignalWarning)
            report = trust(
                data.X, data.y, kernel=RBF(problem.sigma), fixed_kernel=True, standardise=False, task="regression"
            )
        assert found["trusted"] is expected
        assert (report.verdict == "good") is expected


def test_no_mode_is_no_answer_and_no_trust():
    problem = Simulation(30, 2, 0.5, 0.5, 0.0)
    lost = next(f for f in (measure(problem, 1, i) for i in range(20)) if f["no_mode"])
    assert np.isnan(lost["hessian"])
    assert lost["mackay_log_mu"] is None
    assert lost["status"] == "no signal"
    assert not lost["trusted"]
    assert np.isfinite(lost["laplace"])  # the prior gives it a mode


GOOD = {
    "status": "interior", "mackay": 0.1, "mackay_log_mu": 0.9, "mackay_log_zeta": 1.0, "k_hat": 0.2, "missed": 0.0,
    "tail_mass": 0.01, "change": 0.1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "no signal"),
        ("mackay", -LIMITS["evidence"][0] - 0.01),
        ("mackay_log_mu", float(np.exp(-LIMITS["error bars"][0]) - 0.01)),
        ("mackay_log_zeta", None),
        ("k_hat", LIMITS["k_hat"][0] + 0.01),
        ("missed", LIMITS["missed modes"][0] + 0.01),
        ("tail_mass", LIMITS["tail mass"][0] + 0.01),
        ("change", LIMITS["regression"][0] + 0.01),
    ],
)
def test_one_bad_check_is_enough(name, value):
    assert is_trusted(GOOD)
    assert not is_trusted({**GOOD, name: value})


# --- the study


def test_cells_are_the_grid_and_keep_their_seeds_between_sizes():
    toy, full = ({cell.key: cell for cell in STUDY.cells(None, size)} for size in ("toy", "full"))
    grid = GRIDS["full"]
    # one place has no N = 1000 and no signal-to-noise of 30
    assert len(full) == len(grid.sets) * len(grid.places) * len(grid.snrs) - len(grid.snrs) - len(grid.sets) + 1
    right = [cell for cell in full.values() if cell.settings["assumed"] == cell.settings["width"]]
    assert len({cell.seed for cell in right}) == len(right) == 140
    assert {10, 1000} <= set(grid.sets)
    assert 0.0 in grid.snrs
    quick = {cell.key: cell.seed for cell in STUDY.cells(None, "quick")}
    shared = set(quick) & set(full)
    assert shared
    assert all(quick[key] == full[key].seed for key in shared)
    assert len(toy) == 18


def test_the_toy_map_rests_on_checked_integrals(result):
    assert result.failed == ()
    assert {check.name for f in result.cells for check in f.checks} == {"quadrature error"}
    assert PRIOR.mu == Normal(0.0, 3.0)
    for spot in spots_of(result):
        assert len(spot.column("mackay")) == 4
        assert np.isfinite(spot.column("laplace")).all()


# --- the page


def test_the_page_has_a_verdict_a_map_and_words(shown, result):
    text = "\n".join(shown.findings)
    assert "signal-to-noise" in text
    assert "Without signal level 2 has no mode" in text
    assert [picture.name for picture in shown.pictures] == ["map", "errors", "error_bars"]
    assert all(len(picture.alt) > 60 and len(picture.caption) > 60 for picture in shown.pictures)
    assert shown.result is result
    headings = [row.label for row in shown.key_table.rows if not row.cells]
    assert headings == ["d = 2, σ = 1", "d = 2, σ = 4", "d = 2, true σ = 1, fitted with σ = 8"]
    assert "Fitted with a kernel 8 times as wide as the true one" in text
    with Image.open(io.BytesIO(as_png(shown.pictures[0].figure, dpi=60))) as image:
        assert image.width >= 400


def made_up(share, *, mackay=0.1, hessian=0.0, n_modes=1, assumed=1.0):
    """A map whose sets are good with the share that a function of N and the ratio gives."""
    spots = []
    for n in (10, 100, 1000):
        for snr in (0.0, 1.0, 10.0):
            good = round(10 * share(n, snr))
            columns = {
                "trusted": [True] * good + [False] * (10 - good),
                "mackay": [mackay] * good + [2.0] * (10 - good),
                "hessian": [hessian] * 9 + [None],
                "laplace": [0.0] * 10,
                "no_mode": [snr == 0.0] * 10,
                "n_modes": [n_modes] * 10,
                "k_hat": [0.1] * 10,
                "tail_mass": [0.01] * 10,
                "change": [0.1] * good + [1.0] * (10 - good),
            }
            columns |= {f"{m}_{p}": [0.8] * 10 for m in ("mackay", "hessian") for p in ("log_mu", "log_zeta")}
            spots.append(Spot(n, 2, 1.0, assumed, snr, columns))
    return spots


def test_the_verdict_flips_with_the_numbers():
    nowhere = findings(made_up(lambda n, snr: 0.8))
    assert nowhere[0].startswith("Nowhere on this map")
    assert nowhere[2] == "d = 2, σ = 1: every check is good nowhere; the evidence (5.2) is within 0.5 nats nowhere."
    assert nowhere[-1].endswith("other than d = 2, σ = 1, where even N = 1000 is not enough.")
    some = findings(made_up(lambda n, snr: 1.0 if n >= 100 and snr >= 1 else 0.5))
    assert "4 of the 9 cells" in some[0]
    assert "at least 1 and N of at least 100" in some[0]
    assert "every check is good from N = 100 at ratios 1 and 10; the ev" in some[2]
    assert some[-1].endswith("in 90 % of the sets of every problem from N = 100 on.")
    everywhere = findings(made_up(lambda n, snr: 1.0))
    assert "9 of the 9 cells" in everywhere[0]
    assert any("has one mode on every set" in sentence for sentence in everywhere)
    assert any("two modes or more in 100" in s for s in findings(made_up(lambda n, snr: 1.0, n_modes=2)))
    assert not any("too large" in sentence for sentence in everywhere)
    off = [s for s in findings(made_up(lambda n, snr: 1.0, hessian=0.7)) if "too large" in s]
    assert off[0].startswith(
        "At signal-to-noise 10 and N ≥ 100 the evidence (5.2) is 0.70 nats too large at the median, even"
    )


def test_a_mistaken_kernel_has_its_own_sentence():
    right, wrong = made_up(lambda n, snr: 1.0), made_up(lambda n, snr: 0.0, n_modes=2, assumed=4.0)
    assert not any("Fitted with" in sentence for sentence in findings(right))
    (sentence,) = [s for s in findings([*right, *wrong]) if s.startswith("Fitted with a kernel 4 times as wide")]
    assert "two modes or more in 100 % of the sets and every check is good in 0 %" in sentence
    assert "at N = 1000 the evidence (5.2) is off by a median of 2.0 nats" in sentence
    assert list(problems_of([*right, *wrong])) == ["d = 2, σ = 1", "d = 2, true σ = 1, fitted with σ = 4"]


def test_a_mistaken_kernel_sees_the_same_data():
    """Two modes appear on data on which the true kernel has one."""
    wrong = TOY._replace(assumed=4.0, snr=10.0)
    assert np.array_equal(simulate(wrong, 3, 0).y, simulate(TOY._replace(snr=10.0), 3, 0).y)
    modes = [measure(wrong, 3, index)["n_modes"] for index in range(8)]
    assert max(modes) == 2
    cells = {cell.key: cell for cell in STUDY.cells(None, "toy")}
    assert cells["d2_w0.5_a4_n40_s10"].seed == cells["d2_w0.5_a0.5_n40_s10"].seed


def test_a_threshold_must_hold_for_all_larger_n():
    """A good cell with a bad one to its right is no threshold."""
    spots = made_up(lambda n, snr: 0.0 if n == 100 else 1.0)
    assert set(thresholds(spots, lambda s: s.trusted).values()) == {1000}
    spots = made_up(lambda n, snr: 0.0 if n == 1000 else 1.0)
    assert set(thresholds(spots, lambda s: s.trusted).values()) == {None}
    assert threshold_words({0.0: None, 1.0: 100, 3.0: 30}) == "from N = 30 at ratio 3, from N = 100 at ratio 1"
    assert threshold_words({0.0: None}) == "nowhere"


def test_no_answer_is_not_within_half_a_nat():
    (spot, *_) = made_up(lambda n, snr: 1.0)
    assert spot.within("hessian") == pytest.approx(0.9)
    assert spot.within("mackay") == 1.0


def test_the_key_table_says_from_which_n_on():
    table = key_table(problems_of(made_up(lambda n, snr: 1.0 if n >= 100 and snr >= 1 else 0.5)))
    cells = {row.label.strip(): row.cells for row in table.rows}
    assert cells["10"] == ("100", "10", "10", "100")
    assert cells["0 (no signal)"][0] == "–"


def test_the_region_that_can_be_trusted_is_outlined():
    region = np.array([[False, True, True], [False, False, True]])
    assert len(outline(region, 0.0)) == 8  # the border of three cells in an L
    assert outline(np.zeros((2, 2), dtype=bool), 0.0) == []
    drawn = figure_map(problems_of(made_up(lambda n, snr: 1.0 if snr >= 1 else 0.0)))
    lines = drawn.axes[0].collections
    assert len(lines[0].get_segments()) == len(outline(np.array([[False] * 3, [True] * 3, [True] * 3]), 0.06))


def test_cells_that_failed_are_left_out(result):
    broken = dataclasses.replace(result.cells[0], values={}, error="It broke.")
    partial = dataclasses.replace(result, cells=(broken, *result.cells[1:]))
    assert len(spots_of(partial)) == len(result.cells) - 1
    assert page(partial).findings
