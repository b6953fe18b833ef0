"""Paper 1, section 4: the evidence stopped early, and the study of what the section proposes."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.levels.solvers import solve_cholesky
from reports.frame.html import as_html, draw
from reports.pages import second_level
from validation.harness import run
from validation.harness.scores import Gain
from validation.papers.paper1 import section_4
from validation.papers.paper1.early_stopping import climb_and_stop

quiet = pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")


def left_out_errors(kernel, gamma, X, y):
    """The share of labels that models of all other rows get wrong, by refits."""
    wrong = 0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fitted = solve_cholesky(kernel(X[rest]), y[rest], gamma)
        output = kernel(X[[i]], X[rest]) @ fitted.alpha + fitted.intercept
        wrong += int(np.sign(output[0]) != y[i])
    return wrong / len(y)


def test_the_climb_is_stopped_where_the_fewest_left_out_labels_are_wrong():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 6))
    y = np.where(np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=40) > 0.0, 1.0, -1.0)
    found = climb_and_stop(X, y, 0)
    evidences = [step.log_evidence for step in found.steps]
    errors = [step.loo_error for step in found.steps]
    assert evidences == sorted(evidences)
    assert 0 < found.best < len(found.steps) - 1  # neither the spherical kernel nor the end
    assert found.chosen.loo_error == min(errors) < found.end.loo_error
    assert min(errors) not in errors[: found.best]  # the first of its kind
    for step in (found.steps[0], found.chosen, found.end):
        assert step.loo_error == pytest.approx(left_out_errors(step.kernel, step.gamma, X, y))
    assert len(set(found.steps[0].kernel.scales)) == 1


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return run(section_4.STUDY, None, size="toy", folder=tmp_path_factory.mktemp("cells"), progress=False)


@quiet
def test_gains_are_differences_of_test_errors(toy):
    (cell,) = toy.cells
    ways = cell.values["ways"]
    assert tuple(ways) == section_4.WAYS
    found = section_4.compared(toy)["titanic"]
    for way in section_4.WAYS:
        assert found[way].errors == (ways[way]["error"],)
        assert found[way].gain.mean == pytest.approx(ways["PRESS"]["error"] - ways[way]["error"])
        assert 0.0 < ways[way]["error"] < 50.0
    assert ways["stopped early"]["loo_error"] <= ways["evidence"]["loo_error"]
    assert section_4.overall({"titanic": found})["slope"].mean == found["slope"].gain.mean


@quiet
def test_the_page_of_section_4(toy):
    page = second_level.page(toy)
    text = as_html(page, draw(page, dpi=60), command="x", record="x.json")
    assert "stopped before its end" in text
    assert "nan" not in " ".join(page.findings)


def test_the_badge_of_section_4():
    assert second_level.badge({"slope": (0, 2), "curvature": (1, 0)}) == "holds"
    assert second_level.badge({"slope": (1, 2), "curvature": (0, 0)}) == "with care"
    assert second_level.badge({"slope": (0, 0), "curvature": (0, 3)}) == "fails"
    assert second_level.counts({"a": Gain(1.0, 0.4), "b": Gain(-1.0, 0.4), "c": Gain(-1.0, 0.6)}) == (1, 1)
