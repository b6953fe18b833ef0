"""The page of multiclass calibration: decodings of LS-SVMs and calibrated SVMs, scored on the same test rows.

`python -m reports.pages.multiclass_calibration` prints the tables of docs/guide/multiclass.md and writes the file that
they are kept in.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from bayes_lssvm.base.files import write_bytes
from reports.draw.thumbnail import bars
from reports.frame.answer import Answer, State
from reports.frame.index import FIELD_HEADING
from reports.frame.page import Page, Row, Section, Table
from validation.harness import SIZES, Size, StudyResult, run
from validation.harness.scores import Gain
from validation.studies.multiclass_calibration import (
    REFERENCE,
    SCORES,
    STUDY,
    Compared,
    Summary,
    record,
    summaries,
    tables,
)

INTRODUCTION = (
    "Can the probabilities of several classes be trusted? Each member of a coding, a binary classifier, gives "
    "P(+1 | x); Bayes' rule, pairwise coupling or plain votes combine them. scikit-learn's SVC with calibrated "
    "margins is shown for comparison. All methods see the same training rows and are scored on the same test rows."
)
METHODS = (
    "Each randomisation splits a data set 2/3 to 1/3 within classes. LS-SVMs have one kernel for all members, RBF at "
    "the maximum of the summed evidence, or linear. SVC has C and one kernel width by a grid, and its margins "
    "calibrated by cross-validation: a sigmoid for each class against the rest, or one temperature of a softmax.",
    f"Differences are from “{REFERENCE}”. Accuracy and log score are means over randomisations with paired "
    "standard errors. ECE is that of the test points of all randomisations together, as few points in a bin bias "
    "it upwards, and its difference has a standard error by the jackknife over randomisations. These share rows, "
    "so errors for new data of the same kind are larger.",
)


def page(result: StudyResult) -> Page:
    """A table for each score."""
    rows = summaries(result.cells)
    if not rows:
        raise ValueError("No randomisation was completed.")
    log_score, *others = (score_table(rows, key, title, digits) for key, title, digits in SCORES)
    return Page(
        answer=answer(rows),
        introduction=INTRODUCTION,
        findings=findings(rows),
        key_table=log_score,
        sections=(Section("Calibration error and accuracy", tables=tuple(others)),),
        methods=METHODS,
        result=result,
        thumbnail=thumbnail(rows),
        group=FIELD_HEADING,
        related=("paper2-table2", "field"),
    )


RULE = (
    f"Counts the data sets on which no method has a clearly better log score than “{REFERENCE}”. Holds where these "
    "are all, with care where they are at least half, fails otherwise."
)


def badge(unbeaten: int, of: int) -> State:
    """From the number of data sets on which no method is clearly better."""
    if unbeaten == of:
        return "holds"
    return "with care" if 2 * unbeaten >= of else "fails"


def answer(rows: Sequence[Summary]) -> Answer:
    """Can the reference's probabilities be believed?"""
    names = list(dict.fromkeys(row.data for row in rows))
    beaten = [
        name
        for name in names
        if any(
            row.log_score.difference > 0.0 and Gain(row.log_score.difference, row.log_score.error).clear
            for row in rows
            if row.data == name and row.method != REFERENCE
        )
    ]
    own = [row.ece.value for row in rows if row.method == REFERENCE]
    return Answer(
        badge(len(names) - len(beaten), len(names)),
        f"No method has clearly better probabilities than “{REFERENCE}” on {len(names) - len(beaten)} of {len(names)} "
        "data sets.",
        (f"Its calibration error (ECE) lies between {min(own):.3f} and {max(own):.3f}.",) if own else (),
        RULE,
    )


def thumbnail(rows: Sequence[Summary]) -> Figure:
    """Mean log score of the methods."""
    methods = list(dict.fromkeys(row.method for row in rows))
    means = {m: [row.log_score.value for row in rows if row.method == m] for m in methods}
    shown = {m[:24]: -sum(v) / len(v) for m, v in means.items()}
    return bars(
        dict(sorted(shown.items(), key=lambda p: p[1])[:6]), "mean log loss, nats", form=".2f", own=(REFERENCE[:24],)
    )


def findings(rows: Sequence[Summary]) -> tuple[str, ...]:
    """The best log score and the smallest calibration error of each data set, and what the reference lacks to them."""
    said = []
    for name in dict.fromkeys(row.data for row in rows):
        own = [row for row in rows if row.data == name]
        best, calibrated = max(own, key=lambda r: r.log_score.value), min(own, key=lambda r: r.ece.value)
        said.append(
            f"{name}: the best log score is that of {_method(best, best.log_score, 3)}; the smallest calibration "
            f"error is that of {_method(calibrated, calibrated.ece, 3)}."
        )
    return tuple(said)


def _method(row: Summary, score: Compared, digits: int) -> str:
    value = f"{score.value:.{digits}f}".replace("-", "−")
    if row.method == REFERENCE:
        return f"“{row.method}” ({value})"
    clear = "clearly" if Gain(score.difference, score.error).clear else "not clearly"
    return f"“{row.method}” ({value}, {clear} other than “{REFERENCE}”)"


def score_table(rows: Sequence[Summary], key: str, title: str, digits: int) -> Table:
    """Methods by data sets, with the differences from the reference."""
    names, methods = (tuple(dict.fromkeys(getattr(row, field) for row in rows)) for field in ("data", "method"))
    found: dict[tuple[str, str], Compared] = {(row.method, row.data): getattr(row, key) for row in rows}
    cells = [Row(m, tuple(_cell(found[m, name], m == REFERENCE, digits) for name in names)) for m in methods]
    return Table(title[0].upper() + title[1:], ("method", *names), tuple(cells), f"In brackets: minus {REFERENCE}.")


def _cell(score: Compared, is_reference: bool, digits: int) -> str:
    rest = "" if is_reference else f" ({score.difference:+.{digits}f} ± {score.error:.{digits}f})"
    return f"{score.value:.{digits}f}{rest}".replace("-", "−")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study, write what the documentation shows and print it."""
    parser = argparse.ArgumentParser(prog="python -m reports.pages.multiclass_calibration", description=main.__doc__)
    default = Path(__file__).resolve().parents[2] / "docs" / "figures" / "multiclass_calibration.json"
    parser.add_argument("--output", type=Path, default=default, help="file to write (default: that of docs)")
    parser.add_argument("--cells", type=Path, default=Path("output/cells"), help="folder of the study's cells")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(argv)
    size: Size = options.size
    rows = summaries(run(STUDY, None, size=size, folder=options.cells, jobs=options.jobs).cells)
    names = list(dict.fromkeys(row.data for row in rows))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(options.output, json.dumps(record(rows, names, n_splits=rows[0].n_splits), indent=1).encode())
    print(tables(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
