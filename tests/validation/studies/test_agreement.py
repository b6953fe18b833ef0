"""Four ways to the same posterior agree: the study at toy size with its page, and its cheaper comparisons in full."""

from __future__ import annotations

import dataclasses

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
    (found,) = toy.cells
    assert found.cell.key == "ripley-linear-weight-space"
    assert found.cell.settings["draws"] == 500
    assert [check.name for check in found.checks] == ["chains", "moments", "evidence"]


def test_the_page_says_whether_they_agree(toy):
    shown = page(toy)
    assert shown.verdict[0] == "All 1 comparisons agree with quadrature."
    assert [row.label for row in shown.key_table.rows] == ["ripley linear, weight space"]
    (check, *others) = toy.cells[0].checks
    failed = dataclasses.replace(toy.cells[0], checks=(dataclasses.replace(check, passed=False), *others))
    assert page(dataclasses.replace(toy, cells=(failed,))).verdict[0] == "Not agreed: ripley linear, weight space."


def test_every_data_set_and_kernel_is_there():
    names = {comparison.name for comparison in COMPARISONS.values()}
    for kernel in ("linear", "poly3", "rbf"):
        assert {f"ripley {kernel}, {program}" for program in ("collapsed", "weight space", "gp")} <= names
        assert f"pima {kernel}, collapsed" in names
    assert "ripley rbf free, gp" in names
    assert [cell.key for cell in STUDY.cells(None, "full")] == list(COMPARISONS)


CHEAP = [c for c in COMPARISONS.values() if c.program == "collapsed" or (c.program == "weight space" and c.centred)]


@pytest.mark.slow
@pytest.mark.parametrize("comparison", CHEAP, ids=lambda comparison: comparison.name)
def test_samplers_agree_with_quadrature(comparison):
    found = compare(comparison, seed=0)
    assert [check.sentence for check in checks_of(found) if not check.passed] == []
    assert found.log_z_error <= (0.005 if comparison.program == "collapsed" else 0.02)
