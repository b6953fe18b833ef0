"""Four ways to the same posterior agree: the study at toy size with its page, and its cheaper comparisons in full."""

from __future__ import annotations

import dataclasses
from importlib.util import find_spec

import pytest

from reports.pages.agreement import page
from validation.harness import run
from validation.registry import get_study
from validation.studies.agreement import COMPARISONS, STUDY, checks_of, compare


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return run(get_study("agreement"), None, size="toy", folder=tmp_path_factory.mktemp("agreement"), progress=False)


def test_a_comparison_at_toy_size_passes_its_checks(toy):
    assert toy.failed == ()
    assert [f.cell.key for f in toy.cells] == [f"ripley-linear-{way}" for way in ("weight-space", "importance", "smc")]
    assert [f.cell.settings["draws"] for f in toy.cells] == [500, 500, 125]
    assert [check.name for check in toy.cells[0].checks] == ["chains", "moments", "evidence"]
    for found in toy.cells[1:]:
        assert [check.name for check in found.checks] == ["draws", "evidence"]


def test_the_page_says_whether_they_agree(toy):
    shown = page(toy)
    assert shown.findings[0] == "All 3 comparisons agree with quadrature."
    ways = ("weight space", "importance", "smc")
    assert [row.label for row in shown.key_table.rows] == [f"ripley linear, {way}" for way in ways]
    assert [row.cells[0] == "–" for row in shown.key_table.rows] == [False, True, True]
    assert [row.label for row in shown.sections[0].tables[0].rows if not row.cells] == ["ripley linear, weight space"]
    (check, *others) = toy.cells[0].checks
    failed = dataclasses.replace(toy.cells[0], checks=(dataclasses.replace(check, passed=False), *others))
    assert (
        page(dataclasses.replace(toy, cells=(failed, *toy.cells[1:]))).findings[0]
        == "In disagreement: ripley linear, weight space."
    )


def test_every_data_set_and_kernel_is_there():
    names = {comparison.name for comparison in COMPARISONS.values()}
    for kernel in ("linear", "poly3", "rbf"):
        assert {f"ripley {kernel}, {program}" for program in ("collapsed", "weight space", "gp")} <= names
        assert f"pima {kernel}, collapsed" in names
    assert "ripley rbf free, gp" in names
    here = [key for key, c in COMPARISONS.items() if c.program != "nested" or find_spec("dynesty") is not None]
    assert [cell.key for cell in STUDY.cells(None, "full")] == here


CHEAP = [c for c in COMPARISONS.values() if c.program == "collapsed" or (c.program == "weight space" and c.centred)]


LONG = [pytest.param(program, marks=pytest.mark.slow) for program in ("smc", "nested")]


@pytest.mark.parametrize("program", ["importance", *LONG])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_evidence_without_chains_agrees_with_quadrature(program, kernel):
    if program == "nested":
        pytest.importorskip("dynesty")
    found = compare(COMPARISONS[f"ripley-{kernel}-{program}"], seed=0)
    assert [check.sentence for check in checks_of(found) if not check.passed] == []
    assert found.log_z_error <= {"importance": 0.01, "smc": 0.03, "nested": 0.1}[program]
    off = dataclasses.replace(found, log_z_difference=4.0 * found.log_z_error)
    assert [check.name for check in checks_of(off) if not check.passed] == ["evidence"]


@pytest.mark.slow
@pytest.mark.parametrize("comparison", CHEAP, ids=lambda comparison: comparison.name)
def test_samplers_agree_with_quadrature(comparison):
    found = compare(comparison, seed=0)
    assert [check.sentence for check in checks_of(found) if not check.passed] == []
    assert found.log_z_error <= (0.005 if comparison.program == "collapsed" else 0.02)
