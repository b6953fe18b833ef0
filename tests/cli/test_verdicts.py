"""The badge of a model card: every state of it, from measured rows, and that the closed forms never change it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayes_lssvm import LeftOutDisplay, trust
from bayes_lssvm.cli.verdicts import badge, closed_forms, interval_grades, on_closed_forms
from bayes_lssvm.estimators.grades import calibration_grades
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.calibration import calibration
from bayes_lssvm.trust import Grade


def classes(true, said, n=600):
    """Grades of rows whose second class has probability `true` and is given `said`, halves of the rows apart."""
    rng = np.random.default_rng(3)
    half = np.arange(n) % 2 == 0
    p = np.where(half, *true)
    labels = (rng.random(n) < p).astype(int)
    q = np.where(half, *said) + rng.uniform(-0.01, 0.01, n)
    return calibration_grades(calibration(np.column_stack([1 - q, q]), labels, np.arange(n)), ["no", "yes"])


@pytest.mark.parametrize(
    ("true", "said", "kind", "word"),
    [
        ((0.1, 0.8), (0.1, 0.8), "good", "calibrated probabilities"),
        ((0.12, 0.8), (0.06, 0.84), "doubtful", "nearly calibrated: use its probabilities with care"),
        ((0.2, 0.8), (0.08, 0.8), "bad", "not calibrated: do not use its probabilities as they are"),
        ((0.5, 0.5), (0.48, 0.52), "doubtful", "no better than the class frequencies"),
        ((0.5, 0.5), (0.1, 0.9), "bad", "worse than the class frequencies: do not use it"),
    ],
)
def test_the_badge_of_classes_follows_their_left_out_rows(true, said, kind, word):
    assert badge(classes(true, said)) == (kind, word)


def rows(noise, claimed, slope=1.0, n=400):
    rng = np.random.default_rng(5)
    x = rng.normal(size=n)
    return LeftOutDisplay(slope * x + noise * rng.normal(size=n), x, np.full(n, claimed))


@pytest.mark.parametrize(
    ("display", "kind", "word"),
    [
        (rows(0.5, 0.5), "good", "intervals cover as they should"),
        (rows(0.5, 0.59), "doubtful", "use its intervals with care"),
        (rows(0.5, 0.2), "bad", "intervals do not cover: do not use them as they are"),
        (rows(0.5, 3.0), "bad", "intervals do not cover: do not use them as they are"),
        (rows(1.0, 1.12, slope=0.5), "doubtful", "no better than predicting the mean"),
        (rows(0.5, 1.5, slope=-1.0), "bad", "worse than predicting the mean: do not use it"),
    ],
)
def test_the_badge_of_numbers_follows_their_left_out_rows(display, kind, word):
    assert badge(interval_grades(display)) == (kind, word)


def test_coverage_says_on_which_side():
    assert "too few" in interval_grades(rows(0.5, 0.2))[1].sentence
    assert "too many" in interval_grades(rows(0.5, 3.0))[1].sentence


def test_what_was_not_checked_has_no_colour():
    assert badge(()) == ("none", "not checked on left-out rows")
    assert badge([Grade("reliability", np.nan, "not checked", "")]).kind == "none"


def test_the_closed_forms_have_a_line_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, "a", "b")
    report = trust(X, y, kernel=RBF(2.0), fixed_kernel=True, progress=False)
    assert {"log score", "reliability"} == {c.name for c in report.checks} - {c.name for c in closed_forms(report)}
    own = [c for c in report.checks if c not in closed_forms(report)]
    for level, words in (
        ("good", "hold here too"),
        ("doubtful", "only roughly right"),
        ("bad", "do not compare kernels"),
        ("not checked", ""),
    ):
        forms = tuple(c._replace(level=level) for c in closed_forms(report))
        changed = replace(report, checks=(*own, *forms))
        assert words in on_closed_forms(changed)
        assert bool(on_closed_forms(changed)) == bool(words)
    assert on_closed_forms(None) == ""
