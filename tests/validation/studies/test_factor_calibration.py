"""Are Bayes factors calibrated? The simulation, the evidences of one set, and every number of the page."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from bayes_lssvm import compare, marginalise
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.level3 import evaluate
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from reports.pages.factor_calibration import page
from reports.pages.factor_calibration.figures import reliability
from reports.pages.factor_calibration.outcomes import outcomes_of
from validation.harness import Cell, FinishedCell, StudyResult, run
from validation.registry import get_study
from validation.studies.factor_calibration import LEVEL_2, METHODS, PAIRS, PLANS, STUDY, evidences, prior_of, simulate


def test_the_study_is_in_the_registry_and_a_stopped_run_has_some_of_everything():
    study = get_study("factor-calibration")
    assert study is STUDY
    for size, plan in PLANS.items():
        cells = study.cells(None, size)
        assert len({cell.key for cell in cells}) == len(cells)
        for pair, counts in plan.sets.items():
            for n, sets in counts.items():
                own = [c.settings for c in cells if c.settings["pair"] == pair and c.settings["n"] == n]
                numbers = [s["start"] + i for s in own for i in range(s["sets"])]
                assert sorted(numbers) == list(range(sets))
    first = {cell.settings["pair"] for cell in study.cells(None, "full")[:9]}
    assert first == set(PAIRS)


def test_sets_come_from_the_priors_that_the_methods_have():
    """Over many sets the first kernel has its prior's share, and the targets the variance that the priors say."""
    pair, n = PAIRS["rbf-linear"], 6
    sets = [simulate(pair, n, 3, index) for index in range(4000)]
    first = np.array([own.first for own in sets])
    assert abs(first.mean() - pair.prior) < 4.0 * 0.5 / np.sqrt(len(sets))
    again = simulate(pair, n, 3, 17)
    np.testing.assert_array_equal(again.y, sets[17].y)
    # f has variance K(x, x)/μ at a point: 1/μ for RBF, |x|²/μ with mean d/μ for linear; noise adds 1/ζ
    mean_of = [math.exp(-part.mean + 0.5 * part.sd**2) for part in LEVEL_2]  # of 1/μ and 1/ζ
    for chosen, size in ((first, 1.0), (~first, float(pair.d))):
        squares = np.array([np.mean(own.y**2) for own, took in zip(sets, chosen, strict=True) if took])
        expected = size * mean_of[0] + mean_of[1]
        assert abs(squares.mean() - expected) < 4.0 * squares.std() / np.sqrt(len(squares))


def test_evidences_are_those_of_the_library():
    data = simulate(PAIRS["rbf-linear"], 14, 5, 2)
    kernel, prior = RBF(1.0), prior_of(RBF(1.0), data.X)
    found = evidences(kernel, data.X, data.y, 0, sampled=False)
    rule = marginalise(data.X, data.y, kernel=kernel, prior=prior, standardise=False, progress=False)
    assert found["integrated"] == pytest.approx(rule.log_evidence, abs=1e-3)
    both = [
        compare(data.X, data.y, [kernel], kernel_parameters="maximised", occam=occam, prior_sd=1.0, progress=False)
        for occam in (False, True)
    ]
    assert found["maximised"] == pytest.approx(both[0].best.log_evidence, abs=1e-6)
    assert found["mackay"] == pytest.approx(both[1].best.log_evidence, abs=1e-6)
    assert found["hessian"] > found["integrated"]  # the kernel's parameter is not paid for
    assert abs(found["laplace"] - found["integrated"]) < 0.5
    # without parameters there is nothing to maximise: 5.2 is that of the kernel itself
    linear = evidences(Linear(), data.X, data.y, 0, sampled=False)
    spectrum = TridiagonalReduction.from_kernel_matrix(Linear()(data.X), data.y)
    assert linear["mackay"] == pytest.approx(evaluate(spectrum, prior_sd=1.0).log_evidence, abs=1e-6)
    assert linear["laplace"] == linear["hessian"]


def test_the_smallest_study_runs_and_makes_its_page(tmp_path):
    result = run(STUDY, None, size="toy", folder=tmp_path, progress=False)
    assert not result.failed
    assert page(result).findings[0].startswith(("Yes: ", "No: "))


@pytest.mark.slow
def test_chains_and_integrals_agree():
    data = simulate(PAIRS["rbf-linear"], 20, 6, 1)
    for kernel in PAIRS["rbf-linear"].kernels:
        found = evidences(kernel, data.X, data.y, 0, sampled=True)
        off = abs(found["sampled"] - found["integrated"])
        assert off < found["integrated_error"] + 4.0 * found["sampled_error"]


# --- the page's numbers, from cells that were made up ---------------------------------------------------------------

FIRST = [True, True, False, False, True, False, True, False]
FACTORS = {
    "maximised": [5.0, 4.0, 3.5, 3.25, 6.0, -0.5, 2.0, 3.0],
    "mackay": [4.0, 3.0, 3.2, 2.5, 5.0, -1.0, 1.0, 2.0],
    "hessian": [3.5, 2.0, 2.0, 1.5, 4.0, -1.5, 0.5, 1.0],
    "laplace": [2.5, 1.5, -1.0, -0.25, 3.0, -2.0, -0.5, -1.0],
    "integrated": [2.0, 1.0, -1.5, -0.5, 3.5, -2.5, 0.25, -0.75],
}
SAMPLED = [2.1, 0.9, -1.4, -0.6]


@pytest.fixture(scope="module")
def made_up():
    def cell(n, rows):
        sets = {name: values[rows] for name, values in FACTORS.items()} | {"first": FIRST[rows]}
        sets["sampled"] = SAMPLED if n == 20 else [None] * 4
        settings = {"pair": "ard-rbf", "n": n, "start": 0, "sets": 4, "sampled": n == 20}
        return FinishedCell(Cell(f"ard-rbf_n{n}_000", settings), {"sets": sets})

    cells = (cell(20, slice(0, 4)), cell(60, slice(4, 8)))
    return StudyResult(STUDY.name, STUDY.title, "toy", None, cells, {}, Path())


def probability(log_odds):
    return 1.0 / (1.0 + math.exp(-log_odds))


def test_every_number_of_the_key_table(made_up):
    table = page(made_up).key_table
    rows = {row.label.strip(): dict(zip(table.header[1:], row.cells, strict=True)) for row in table.rows if row.cells}
    exact = [math.log(probability(b if true else -b)) for b, true in zip(FACTORS["integrated"], FIRST, strict=True)]
    names = dict(
        zip(METHODS, ("maximised", "MacKay (5.2)", "Hessian", "Laplace", "integrated", "sampled"), strict=True)
    )
    for method, factors in {**FACTORS, "sampled": SAMPLED}.items():
        true = FIRST[: len(factors)]
        p = [probability(b) for b in factors]
        score = [math.log(v if t else 1.0 - v) for v, t in zip(p, true, strict=True)]
        brier = sum((v - t) ** 2 for v, t in zip(p, true, strict=True))
        expected = sum(v * (1.0 - v) for v in p)
        spread = math.sqrt(sum(v * (1.0 - v) * (1.0 - 2.0 * v) ** 2 for v in p))
        sure = [(v > 0.5) == t for v, t in zip(p, true, strict=True) if max(v, 1.0 - v) >= 0.95]
        gaps = np.array(score) - np.array(exact[: len(score)])
        cells = rows[names[method]]
        assert cells["sets"] == str(len(factors))
        assert float(cells["mean P of the preferred"]) == pytest.approx(np.mean([max(v, 1 - v) for v in p]), abs=6e-4)
        assert float(cells["preferred is true"]) == pytest.approx(
            np.mean([(b > 0) == t for b, t in zip(factors, true, strict=True)]), abs=6e-4
        )
        assert signed(cells["z of the score"]) == pytest.approx((brier - expected) / spread, abs=0.051)
        share = (sum(true) - sum(p)) / math.sqrt(expected)
        assert signed(cells["z of the share"]) == pytest.approx(share, abs=0.051)
        assert cells["wrong at P ≥ 0.95"] == f"{sure.count(False)} of {len(sure)}"
        assert signed(cells["mean log P(true)"]) == pytest.approx(np.mean(score), abs=6e-4)
        if method != "integrated":
            gap, error = map(signed, cells["minus integrated"].split(" ± "))
            assert gap == pytest.approx(gaps.mean(), abs=6e-4)
            assert error == pytest.approx(gaps.std(ddof=1) / math.sqrt(len(gaps)), abs=6e-4)


def signed(text):
    return float(text.replace("−", "-"))


def test_scores_by_the_number_of_points_and_the_sentences(made_up):
    shown = page(made_up)
    (table,) = shown.sections[0].tables
    rows = {row.label.strip(): row.cells for row in table.rows if row.cells}
    for n, part in (("N = 20", slice(0, 4)), ("N = 60", slice(4, 8))):
        scores = {
            m: [math.log(probability(b if t else -b)) for b, t in zip(f[part], FIRST[part], strict=True)]
            for m, f in FACTORS.items()
        }
        assert signed(rows[n][1]) == pytest.approx(np.mean(scores["integrated"]), abs=6e-4)
        gap = np.mean(scores["mackay"]) - np.mean(scores["integrated"])
        assert signed(rows[n][3].split(" ± ")[0]) == pytest.approx(gap, abs=6e-4)
    assert "in 100 % of 8 simulated sets" in shown.findings[0]  # the sign of each integrated factor is right
    promised = np.mean([max(probability(b), probability(-b)) for b in FACTORS["mackay"]])
    assert f"({promised:.2f}, and 62 %)" in shown.findings[0]
    assert "0.100 nats at the median and 0.10 at most" in shown.findings[-1]


def test_the_diagram_has_the_shares_of_its_bins(made_up):
    rows = reliability(outcomes_of(made_up)["ard-rbf"]["integrated"])
    p = np.array([probability(b) for b in FACTORS["integrated"]])
    found = {}
    for value, true in zip(p, FIRST, strict=True):
        found.setdefault(int(value / 0.2), []).append((value, true))
    expected = [np.mean(found[k], axis=0) for k in sorted(found)]
    np.testing.assert_allclose(rows[:, :2], expected)
    assert np.all((rows[:, 2] < rows[:, 1] + 1e-12) | (rows[:, 1] == 0.0))
