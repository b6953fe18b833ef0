"""The calibration study: blocks of simulated sets through the runner, and a verdict that follows the counts."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest
from PIL import Image

from reports.draw.style import as_png
from reports.pages.calibration import figure_nuts, findings, grade, key_table, page
from validation.harness import Check, run
from validation.registry import get_study
from validation.studies.calibration import SCENARIOS, Record, Results, collect, evaluate, methods_of, rows_of
from validation.studies.calibration.study import PLANS, STUDY, _checks


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return run(get_study("calibration"), None, size="toy", folder=tmp_path_factory.mktemp("sbc"), progress=False)


@pytest.fixture(scope="module")
def shown(result):
    return page(result)


# --- the study


@pytest.mark.parametrize("size", ["toy", "quick", "full"])
def test_blocks_cover_every_set_once(size):
    cells = STUDY.cells(None, size)
    for part in PLANS[size]:
        own = [c.settings for c in cells if (c.settings["scenario"], c.settings["method"]) == part[:2]]
        numbers = [i for s in own for i in range(s["start"], s["stop"])]
        assert sorted(numbers) == list(range(part.sets))
    assert all(cell.settings["setting"]["seed"] == cell.seed for cell in cells)


def test_the_full_study_has_sets_enough():
    full = {(part.scenario, part.method): part.sets for part in PLANS["full"]}
    for scenario in ("known_20", "known_100", "free_20"):
        assert all(full[scenario, method] >= 500 for method in ("quadrature", "laplace", "hessian", "mackay"))
    assert full == {(name, m): own.n_sets for name, own in SCENARIOS.items() for m in own.methods}


def test_blocks_are_what_the_calibration_itself_computes(result):
    """The same PITs and statuses as `evaluate`, from other blocks."""
    found = collect(result.cells)["known_20"]
    scenario = SCENARIOS["known_20"]
    for name in ("mackay", "quadrature"):
        again = evaluate(scenario.setting, methods_of(scenario.setting, [name]), n_sets=12)[name]
        for stored, fresh in zip(found[name].records, again.records, strict=False):
            assert (stored.index, stored.status, stored.truth) == (fresh.index, fresh.status, fresh.truth)
            assert stored.pit == pytest.approx(fresh.pit, abs=1e-9)
            assert stored.fallback == pytest.approx(fresh.fallback)


def test_collected_results_go_into_the_tables_of_the_calibration(result):
    found = collect(result.cells)
    assert list(found) == ["known_20", "known_100"]
    assert {name: len(one.records) for name, one in found["known_20"].items()} == {
        "quadrature": 100, "laplace": 100, "hessian": 100, "mackay": 100,
    }  # fmt: skip
    rows = {row.quantity: row for row in rows_of(found["known_20"]["quadrature"])}
    assert rows["log_mu"].tests is not None
    assert rows["log_mu"].failures == 0
    assert {row.failures for row in rows_of(found["known_20"]["mackay"])} != {0}  # some sets have no mode


def test_a_missing_block_leaves_the_sets_that_all_methods_have(result):
    cells = [
        dataclasses.replace(f, values={}, error="It broke.")
        if f.cell.settings["scenario"] == "known_100" and f.cell.settings["method"] == "mackay"
        else f
        for f in result.cells
    ]
    found = collect(cells)
    assert set(found["known_100"]) == {"quadrature", "laplace", "hessian"}
    part = dataclasses.replace(result.cells[0], values={"records": result.cells[0].values["records"][:40]})
    shorter = collect([part, *result.cells[1:]])
    scenario = part.cell.settings["scenario"]
    lengths = {len(one.records) for one in shorter[scenario].values()}
    assert len(lengths) == 1
    assert page(dataclasses.replace(result, cells=tuple(cells))).findings


def record(index, status="ok", pit=0.5, **more):
    return Record(index, {"log_mu": 0.0}, {"log_mu": pit, **more} if status == "ok" else {}, status, {}, {}, ())


def test_a_method_that_should_always_answer_is_checked():
    good = [record(i) for i in range(9)]
    assert _checks("mackay", good) == ()
    (check,) = _checks("quadrature", [*good, record(9, "ValueError: no.")])
    assert isinstance(check, Check)
    assert (check.value, check.passed) == (0.1, False)
    assert "9 of 10 simulated sets; set 9: ValueError: no." in check.sentence
    assert _checks("nuts", [*good, record(9, "ChainsDidNotMixError: R-hat.")])[0].passed
    assert not _checks("nuts", [*good[:8], record(8, "x"), record(9, "x")])[0].passed


# --- the page


def test_the_page_has_a_verdict_tables_and_figures(shown, result):
    assert result.failed == ()
    text = "\n".join(shown.findings)
    assert "The exact posterior (quadrature) is calibrated as far as 130 sets can tell" in text
    assert "MacKay's error bars: intervals of 90 % are too short" in text
    assert "have no mode" in text
    assert [picture.name for picture in shown.pictures] == ["coverage", "ranks", "ecdf"]
    assert all(len(picture.alt) > 60 and len(picture.caption) > 60 for picture in shown.pictures)
    assert shown.key_table.rows[0].label == "known kernel, N = 20, 100 sets"
    assert [table.title for table in shown.sections[-1].tables] == ["Known kernel, N = 20", "Known kernel, N = 100"]
    for picture in shown.pictures:
        with Image.open(io.BytesIO(as_png(picture.figure, dpi=60))) as image:
            assert image.width >= 400


def uniform(n, power=1.0, lost=0):
    """Results whose PIT is uniform to the power, the last `lost` of them without a posterior."""
    grid = (np.arange(n) + 0.5) / n
    names = ("log_mu", "log_zeta", "log_gamma", "log_likelihood", "y_new")
    mixed = [np.random.default_rng(i).permutation(grid) ** power for i in range(len(names))]
    return tuple(
        Record(
            i,
            {},
            {} if i >= n - lost else {name: float(own[i]) for name, own in zip(names, mixed, strict=True)},
            "ok" if i < n - lost else "no mode: no signal",
            {"log_gain": 5.0, "gamma_eff": 4.0},
            dict.fromkeys(names, 0.0) if i >= n - lost else {},
            (),
        )
        for i in range(n)
    )


def results(power, n=200):
    return {
        "known_20": {
            "quadrature": Results("quadrature", uniform(n, power)),
            "mackay": Results("mackay", uniform(n, 1.0, lost=20)),
        }
    }


def test_the_verdict_flips_with_the_numbers():
    right = findings(results(1.0))
    assert right[0].startswith("The exact posterior (quadrature) is calibrated as far as 200 sets can tell: all 5")
    wrong = findings(results(3.0))
    assert wrong[0].startswith("The exact posterior (quadrature) is NOT calibrated: outside the 95 % band are log μ")
    assert findings(results(1.0, n=50))[0].endswith("50 sets are too few to test whether it is calibrated.")


def closed(method, scale):
    """Results whose intervals are too short (scale > 1) or too long (scale < 1): PITs drawn away from ½, or to it."""
    own = []
    for one in uniform(400):
        pit = {name: float(np.clip(0.5 + scale * (value - 0.5), 0.0, 1.0)) for name, value in one.pit.items()}
        own.append(dataclasses.replace(one, pit=pit))
    return {"known_20": {method: Results(method, tuple(own))}}


def test_error_bars_are_short_honest_or_wide():
    assert grade(closed("mackay", 1.2), "mackay") == "too short in 2 of 2 cases"
    assert grade(closed("mackay", 1.0), "mackay") == "honest within what chance allows"
    assert grade(closed("mackay", 0.8), "mackay") == "wider than necessary"
    (sentence, *_) = findings(closed("mackay", 1.2))
    assert sentence.startswith("MacKay's error bars: intervals of 90 % are too short in 2 of 2 cases.")
    assert "log μ in 75 % (71–79)" in sentence


def test_nuts_has_its_own_row_and_figure():
    own = {"nuts_known_20": {"nuts": Results("nuts", uniform(150, lost=10))}}
    (sentence,) = findings(own)
    assert sentence.startswith("NUTS is calibrated")
    assert sentence.endswith("10 of its sets have no posterior and are left out.")
    rows = [row.label.strip() for row in key_table(own).rows]
    assert rows == ["NUTS, known kernel, N = 20, 150 sets", "NUTS"]
    drawn = figure_nuts(own)
    assert len(drawn.axes[0].get_lines()) == 5  # four curves that there are, and the axis


@pytest.mark.slow
def test_a_block_of_nuts_goes_through_the_runner(tmp_path):
    """Four sets of the sampled scenarios, as the full study computes them."""
    wanted = {("nuts_known_20", 0), ("nuts_free_20", 0)}
    for cell in STUDY.cells(None, "full"):
        if (cell.settings["scenario"], cell.settings["start"]) in wanted:
            few = dataclasses.replace(cell, settings={**cell.settings, "stop": 4})
            found = STUDY.compute(few, None)
            assert len(found.values["records"]) == 4
            assert [check.name for check in found.checks] == ["sets without a posterior"]
            for kept in found.values["records"]:
                assert kept["status"] == "ok" or kept["status"].startswith("ChainsDidNotMixError")
                assert all(0.0 <= value <= 1.0 for value in kept["pit"].values())
