"""Tables of the page: calibration and score by method, and the loss of score by the number of points."""

from __future__ import annotations

import numpy as np

from reports.frame.page import Row, Table
from reports.frame.words import NONE, number
from validation.studies.factor_calibration import PAIRS

from .outcomes import NAMES, SURE, Outcomes, loss
from .sentences import Found, not_calibrated


def key_table(found: Found) -> Table:
    """For each pair and method: what was promised and what came."""
    rows = []
    for pair, own in found.items():
        rows.append(Row(PAIRS[pair].label))
        rows += [Row("  " + NAMES[name], _cells(part, own["integrated"])) for name, part in own.items()]
    header = (
        "method",
        "sets",
        "mean P of the preferred",
        "preferred is true",
        "z of the score",
        "z of the share",
        f"wrong at P ≥ {SURE:g}",
        "mean log P(true)",
        "minus integrated",
    )
    return Table("Promised and observed accuracy", header, tuple(rows), not_calibrated(found))


def _cells(part: Outcomes, exact: Outcomes) -> tuple[str, ...]:
    sure = part.promised >= SURE
    gap, error = loss(part, exact)
    return (
        str(len(part.first)),
        f"{part.promised.mean():.3f}",
        f"{part.right.mean():.3f}",
        number(part.z, "+.1f"),
        number(part.z_share, "+.1f"),
        f"{int((~part.right[sure]).sum())} of {int(sure.sum())}",
        number(float(part.log_scores.mean()), ".3f"),
        NONE if part.method == "integrated" else f"{number(gap, '+.3f')} ± {error:.3f}",
    )


def table_by_n(found: Found) -> Table:
    """How much of the log score each closed form loses, by N."""
    names = [name for name in NAMES if name not in ("integrated", "sampled")]
    rows = []
    for pair, own in found.items():
        rows.append(Row(PAIRS[pair].label))
        exact = own["integrated"]
        for n in np.unique(exact.n):
            here = exact.n == n
            lost = [loss(own[name].of(own[name].n == n), exact) for name in names]
            cells = (f"{int(here.sum())}", number(float(exact.log_scores[here].mean()), ".3f"))
            rows.append(Row(f"  N = {n}", cells + tuple(f"{number(gap, '+.3f')} ± {error:.3f}" for gap, error in lost)))
    header = ("", "sets", "integrated", *(NAMES[name] for name in names))
    note = (
        "Mean log P(true kernel | D) of the integrated evidence, and the differences of the other methods from "
        "it, with standard errors."
    )
    return Table("Log scores by the number of points", header, tuple(rows), note)
