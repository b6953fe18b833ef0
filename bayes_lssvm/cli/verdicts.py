"""What a model card says first: a badge on what the user gets, and a line on the closed forms behind it.

The badge rests on left-out rows alone: whether probabilities (or intervals) come true as often as they say, and whether
the model knows more than a forecast without inputs. The closed forms of the evidence framework are another matter:
probabilities can be right where they are not, so that they have a line of their own and never change the badge.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.grades import Grade, level_of, worst
from ..displays.left_out import LeftOutDisplay
from ..estimators.grades import TrustReport
from . import html

_PROBABILITY = 0.9  # of the intervals whose coverage is graded
_BADGES = {
    ("log score", "bad"): "worse than the class frequencies: do not use it",
    ("reliability", "bad"): "not calibrated: do not use its probabilities as they are",
    ("log score", "doubtful"): "no better than the class frequencies",
    ("reliability", "doubtful"): "nearly calibrated: use its probabilities with care",
    ("error", "bad"): "worse than predicting the mean: do not use it",
    ("coverage", "bad"): "intervals do not cover: do not use them as they are",
    ("error", "doubtful"): "no better than predicting the mean",
    ("coverage", "doubtful"): "use its intervals with care",
}
_GOOD = {"log score": "calibrated probabilities", "error": "intervals cover as they should"}
_FORMS = {
    "good": "The closed forms of the evidence framework hold here too: they agree with the exact integrals.",
    "doubtful": "The closed forms of the evidence framework are only roughly right here; the figures for left-out "
    "rows do not depend on them.",
    "bad": "The closed forms of the evidence framework do not hold here, so do not compare kernels by them; the "
    "figures for left-out rows do not depend on them.",
}


def badge(grades: Sequence[Grade]) -> html.Badge:
    """The badge of a model, from the grades of its left-out rows; the worst of them names it."""
    level = worst(grades)
    if level == "not checked":
        return html.Badge("none", "not checked on left-out rows")
    if level == "good":
        return html.Badge("good", _GOOD[grades[0].name])
    first = next(grade for grade in grades if grade.level == level)
    return html.Badge(level, _BADGES[first.name, level])


def interval_grades(display: LeftOutDisplay) -> tuple[Grade, Grade]:
    """How much a regression knows about left-out rows, and whether its intervals hold as many as they say."""
    n = len(display.y_true)
    alone = (display.y_true - display.y_true.mean()) * n / (n - 1)  # by the mean of the other rows
    gains = alone**2 - (display.y_true - display.y_pred) ** 2
    spread = float(gains.std(ddof=1) / np.sqrt(n))
    ahead = float(gains.mean()) / spread if spread > 0.0 else 0.0
    level = level_of("log score", -ahead)
    words = {"good": "clearly better than", "doubtful": "no better than", "bad": "worse than"}[level]
    error = Grade("error", ahead, level, f"Left-out rows are predicted {words} by the mean of the other rows.")
    share = display.coverage(_PROBABILITY)
    deviate = abs(share - _PROBABILITY) / float(np.sqrt(_PROBABILITY * (1.0 - _PROBABILITY) / n))
    level = level_of("reliability", deviate)
    words = "as many as they should" if level == "good" else "too many" if share > _PROBABILITY else "too few"
    sentence = f"The {_PROBABILITY:.0%} intervals hold {share:.1%} of the left-out targets, {words}."
    return error, Grade("coverage", deviate, level, sentence)


def on_closed_forms(report: TrustReport | None) -> str:
    """One line on the closed forms; empty where they were not checked."""
    return "" if report is None else _FORMS.get(worst(closed_forms(report)), "")


def closed_forms(report: TrustReport) -> tuple[Grade, ...]:
    """The checks of a report that compare closed forms with integrals."""
    return tuple(check for check in report.checks if check.name not in ("log score", "reliability"))
