"""The page of the predictive scores: plug-in and fully Bayesian classifiers on the same test rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from reports.draw.thumbnail import bars
from reports.frame.answer import Answer, State
from reports.frame.index import FIELD_HEADING
from reports.frame.page import Page, Row, Table
from validation.harness import StudyResult
from validation.harness.scores import Gain
from validation.studies.predictive_scores import Comparison, comparisons

INTRODUCTION = (
    "The plug-in classifier fixes μ, ζ and σ at their most probable values; the fully Bayesian one integrates "
    "them out. Both see the same training rows and are scored on the same test rows. Does integration improve the "
    "probabilities?"
)
METHODS = (
    "Ripley's data have a test set of their own. The others are split 2/3 to 1/3 within classes, randomisation by "
    "randomisation, and numbers are means over them.",
    "The log score is the mean log probability of the true class, in nats: larger is better. The Brier score is "
    "the mean squared error of the probability, and ECE the expected calibration error in ten bins of equal "
    "count: smaller is better. The gain has the standard error of the paired difference over randomisations, "
    "which share rows, so errors for new data of the same kind are larger.",
)


def page(result: StudyResult) -> Page:
    """Scores of both classifiers, and the gain."""
    rows = comparisons(result.cells)
    if not rows:
        raise ValueError("No randomisation was completed.")
    return Page(
        answer=answer(rows),
        introduction=INTRODUCTION,
        findings=findings(rows),
        key_table=key_table(rows),
        methods=METHODS,
        result=result,
        thumbnail=thumbnail(rows),
        group=FIELD_HEADING,
        related=("moderated-output", "field"),
    )


SMALL_GAIN = 0.02  # nats a point
RULE = (
    "Asks whether fixing the hyperparameters is good enough. Holds where integrating them out is clearly better on no "
    f"data set, with care where the clear gains are below {SMALL_GAIN:g} nats a point, fails beyond."
)


def badge(clear_gains: Sequence[float]) -> State:
    """From the clear gains in log score by integration, in nats a point."""
    if not clear_gains:
        return "holds"
    return "with care" if max(clear_gains) <= SMALL_GAIN else "fails"


def answer(rows: Sequence[Comparison]) -> Answer:
    """Is it worth integrating the hyperparameters out?"""
    gains = {row.data: row.gain for row in rows if row.method != "plug-in"}
    better = {data: g.mean for data, g in gains.items() if g.clear and g.mean > 0.0}
    worse = [data for data, g in gains.items() if g.clear and g.mean < 0.0]
    largest = max(gains, key=lambda data: abs(gains[data].mean))
    return Answer(
        badge(list(better.values())),
        f"Integrating the hyperparameters out gives clearly better probabilities on {len(better)} of {len(gains)} data "
        f"sets and clearly worse ones on {len(worse)}.",
        (f"The largest change of the log score is {shown(gains[largest])} nats a point, on {largest}.",),
        RULE,
    )


def thumbnail(rows: Sequence[Comparison]) -> Figure:
    """The gains by data set."""
    gains = {row.data: row.gain.mean for row in rows if row.method != "plug-in"}
    return bars(dict(list(gains.items())[:6]), "gain in log score by integration, nats", form="+.3f")


def findings(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """What integration gains on each data set, and whether that is more than chance."""
    return tuple(_sentence(row) for row in rows if row.method != "plug-in")


def _sentence(row: Comparison) -> str:
    said = f"{row.data}: integrating the hyperparameters out changes the log score by {shown(row.gain)} nats a point"
    if math.isnan(row.gain.error):
        return f"{said}, on one test set, which has no error bar."
    clear = "clearly better" if row.gain.mean > 0 else "clearly worse"
    return f"{said}, {clear if row.gain.clear else 'no more than chance explains'} over {row.n_splits} randomisations."


def shown(gain: Gain) -> str:
    """A difference with its error, where there is one."""
    error = "" if math.isnan(gain.error) else f" ± {gain.error:.4f}"
    return f"{gain.mean:+.4f}".replace("-", "−") + error


def key_table(rows: Sequence[Comparison]) -> Table:
    """Scores by data set and classifier."""
    found: list[Row] = []
    for row in rows:
        if row.method == "plug-in":
            found.append(Row(f"{row.data}, {row.n_splits} test set{'s' if row.n_splits > 1 else ''}"))
        s = row.scores
        numbers = (f"{s.log_score:.4f}", f"{s.brier:.4f}", f"{s.calibration_error:.4f}")
        gain = "" if row.method == "plug-in" else shown(row.gain)
        cells = (f"{100 * s.accuracy:.1f}", *(number.replace("-", "−") for number in numbers), gain)
        found.append(Row(f"  {row.method}", cells))
    header = ("classifier", "% correct", "log score", "Brier", "ECE", "gain in log score")
    return Table("Scores of the test rows", header, tuple(found))
