"""The page of multiclass calibration: decodings of LS-SVMs and calibrated SVMs, scored on the same test rows.

`python -m reports.pages.multiclass_calibration` prints the tables of docs/guide/multiclass.md and writes the file that
they are kept in.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from bayes_lssvm.base.files import write_bytes
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
    "Can the probabilities of several classes be believed? Members of a coding give P(+1 | x) each; Bayes' rule, "
    "pairwise coupling or plain votes bring them together. scikit-learn's SVC with calibrated margins stands beside "
    "them. All methods see the same training rows and are scored on the same test rows."
)
METHODS = (
    "Each randomisation splits a data set 2/3 to 1/3 within classes. LS-SVMs have one kernel for all members, RBF at "
    "the maximum of the summed evidence, or linear. SVC has C and one kernel width by a grid, and its margins "
    "calibrated by cross-validation: a sigmoid for each class against the rest, or one temperature of a softmax.",
    f"Differences are from “{REFERENCE}”. Accuracy and log score are means over randomisations with paired standard "
    "errors. ECE is that of the test points of all randomisations together, as few points in a bin bias it upwards, "
    "and its difference has a standard error by the jackknife over randomisations. These share rows, so that errors "
    "for new data of the same kind are larger.",
)


def page(result: StudyResult) -> Page:
    """A table for each score."""
    rows = summaries(result.cells)
    if not rows:
        raise ValueError("No randomisation has come through.")
    log_score, *others = (score_table(rows, key, title, digits) for key, title, digits in SCORES)
    return Page(
        introduction=INTRODUCTION,
        verdict=verdict(rows),
        key_table=log_score,
        sections=(Section("Calibration error and accuracy", tables=tuple(others)),),
        methods=METHODS,
        result=result,
    )


def verdict(rows: Sequence[Summary]) -> tuple[str, ...]:
    """The best log score and the smallest calibration error of each data set, and what the reference lacks to them."""
    said = []
    for name in dict.fromkeys(row.data for row in rows):
        own = [row for row in rows if row.data == name]
        best, calibrated = max(own, key=lambda r: r.log_score.value), min(own, key=lambda r: r.ece.value)
        said.append(
            f"{name}: the best log score has {_method(best, best.log_score, 3)}; the smallest calibration error has "
            f"{_method(calibrated, calibrated.ece, 3)}."
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
