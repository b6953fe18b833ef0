"""Paper 2, section 5: the postal digits with SVMs as members, and what both kinds of member cost.

A cell is one of the 45 pairs of digits: an SVM with RBF kernel whose C and σ come from ten-fold cross-validation, as in
Table III, with its outputs at all test rows. Beside it an LS-SVM of the same σ is solved on the same rows and evaluated
at the same test rows, so that the times of training and of evaluation are measured side by side in one process. Times
are CPU seconds and are no part of what a second run has to give again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from bayes_lssvm import LSSVC
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.multiclass import code_book
from validation.harness import Cell, CellResult, Size, StudyResult

from ..table import Entry, Published, ReproducedTable, table_study
from . import usps
from .algorithms import decode, scored
from .svm import CrossValidatedSVC, fit_at

DECODINGS = {"hamming": "Hamming", "hinge": "loss"}
PRINTED = {"hamming": 95.1, "hinge": 94.0}
"""Paper 2, page 57: test set performances of SVMs with 1vs1 coding on usps, in %. It prints no spread."""
PRINTED_SECONDS = {
    "SVM": {"design": 47680.0, "training": 389.0, "evaluation": 28.0},
    "LS-SVM": {"design": 7670.0, "training": 31.0, "evaluation": 59.0},
}
"""The same page, on a Pentium III with 733 MHz: seconds of a binary classifier."""
GAMMA = 10.0  # of the LS-SVM whose time is taken: a Cholesky factor costs the same for any
Found = TypeVar("Found")


def cells(data: None, size: Size) -> list[Cell]:
    """One for each pair of digits, those of `usps` with members of the other kind."""
    return [
        Cell(cell.key.replace("standardised", "svm"), {**cell.settings, "members": "svm"}, cell.seed)
        for cell in usps.cells(data, size)
    ]


def timed(work: Callable[[], Found]) -> tuple[Found, float]:
    """What a function returns, and its CPU seconds."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def compute(cell: Cell, data: None) -> CellResult:
    """Design the member, evaluate it at all test rows, and time both kinds."""
    s = cell.settings
    X, y, X_test, _ = usps.digits(s["data"])
    scale = Standardiser.fit(X)
    rows = (y == s["first"]) | (y == s["second"])
    X, X_test = scale(X)[rows], scale(X_test)
    targets = np.where(y[rows] == s["second"], 1, -1)
    member, design = timed(lambda: CrossValidatedSVC(s["kernel"], random_state=cell.seed % 2**32).fit(X, targets))
    _, training = timed(lambda: fit_at(X, targets, member.C_, member.sigma_))
    outputs, evaluation = timed(lambda: member.decision_function(X_test))
    squares = LSSVC(RBF(member.sigma_), GAMMA, standardise=False)
    fitted, ls_training = timed(lambda: squares.fit(X, targets))
    _, ls_evaluation = timed(lambda: fitted.decision_function(X_test))
    seconds: dict[str, Any] = {
        "SVM": {"design": design, "training": training, "evaluation": evaluation},
        "LS-SVM": {"training": ls_training, "evaluation": ls_evaluation},
    }
    facts = {"points": int(rows.sum()), "C": member.C_, "sigma": member.sigma_, "support": len(member.svc_.support_)}
    return CellResult({"outputs": outputs, "seconds": seconds, **facts})


STUDY = table_study(
    name="paper2-usps-svm",
    title="Paper 2, section 5: handwritten digits, 45 SVMs one against one",
    cells=cells,
    compute=compute,
)
"""The 45 members as a study."""


def scores(result: StudyResult) -> dict[str, dict[str, float]]:
    """Scores of every decoding on the test rows; empty where members are missing."""
    found = usps.digits(result.cells[0].cell.settings["data"])
    classes = np.unique(found.y_train)
    book = code_book("ovo", len(classes))
    done = [f for f in result.cells if f.error is None]
    if len(done) < book.shape[1]:
        return {}
    outputs: Array = np.stack([np.asarray(f.values["outputs"], dtype=np.float64) for f in done], axis=1)
    return scored(decode(classes, book, outputs, None), found.y_test, classes)


def mean_seconds(result: StudyResult) -> dict[str, dict[str, float]]:
    """Mean CPU seconds of a member by kind and by what it does."""
    done = [f.values["seconds"] for f in result.cells if f.error is None]
    return {
        kind: {what: float(np.mean([one[kind][what] for one in done])) for what in own}
        for kind, own in (done[0] if done else {}).items()
    }


def published(decoding: str) -> Published:
    """The paper's figure with the binomial standard error of 2007 test rows, as it prints none."""
    p = PRINTED[decoding]
    return Published(p, math.sqrt(p * (100.0 - p) / usps.TEST_ROWS), "se")


def table(result: StudyResult) -> ReproducedTable:
    """Both decodings, ours beside theirs."""
    name = result.cells[0].cell.settings["data"]
    ours = scores(result)
    entries = tuple(
        Entry(
            name,
            column,
            (ours[decoding]["accuracy"],) if ours else (),
            published(decoding) if name == "usps" else None,
        )
        for decoding, column in DECODINGS.items()
    )
    sentences: tuple[str, ...] = ()
    if name != "usps":
        small = f"The size {result.size!r} takes scikit-learn's digits in place of usps."
        sentences = (usps.absence() if result.size == "full" else small,)
    elif not ours:
        sentences = (f"{len(result.cells)} of 45 members have been computed; nothing is decoded before all have.",)
    return ReproducedTable(
        name=result.study,
        title=STUDY.title,
        source="Paper 2, section 5, SVM",
        measure="test set accuracy, %",
        higher_is_better=True,
        rows=(name,),
        columns=tuple(DECODINGS.values()),
        entries=entries,
        absent=sentences,
        digits=2,
    )
