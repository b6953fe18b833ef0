"""Paper 2, section 5: the handwritten digits of the US Postal Service, 45 members of one versus one with RBF kernel.

A cell is one member: it is designed by the evidence framework on the training rows of its two digits, and stores its
outputs z and log p(x | y=+1) − log p(x | y=−1) at the 2007 test rows. Decodings are computed from these in `table`.
Inputs are standardised once for all members with the 7291 training rows, as step 1 of the paper's section 4 says.

Where the file of the digits is not here, and at the sizes for tests, scikit-learn's own digits (8 × 8 pixels) stand in:
two thirds of the rows train. They say that the program runs, and stand beside no figure of the paper.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.provenance import data_hash
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.datasets import load
from bayes_lssvm.multiclass import code_book
from bayes_lssvm.multiclass.members import log_ratio_of, output_of
from validation.harness import Cell, CellResult, Size, StudyResult
from validation.harness.splits import random_split, seed_of

from ..table import Entry, Published, ReproducedTable, table_study
from .algorithms import Decoded, decode, scored

DECODINGS = {"hamming": "Hamming", "bayes": "Bayes"}
TEST_ROWS = 2007
PRINTED = {"hamming": 95.2, "bayes": 94.7}
"""Paper 2, page 57: test set performances of LS-SVMs with 1vs1 coding on usps, in %. It prints no spread."""
WITHIN = 0.7
"""Points that ours may differ by and still count as the same result."""


class Digits(NamedTuple):
    """Training and test part of a set of digits."""

    X_train: Array
    y_train: AnyArray
    X_test: Array
    y_test: AnyArray


@cache
def digits(name: str) -> Digits:
    """The postal digits ("usps"), scikit-learn's ("digits"), or 90 rows of the first three of these ("three")."""
    if name == "usps":
        usps = load("usps")
        return Digits(*usps.Xy, *usps.test_Xy)
    X, y = load_digits(return_X_y=True)
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if name == "three":
        rows = np.concatenate([np.flatnonzero(y == digit)[:30] for digit in range(3)])
        X, y = X[rows], y[rows]
    split = random_split(name, len(y), 2 * len(y) // 3, 0)
    return Digits(X[split.train], y[split.train], X[split.test], y[split.test])


def absence() -> str:
    """Why the postal digits cannot be had here, as a sentence; empty where they can."""
    try:
        digits("usps")
    except FileNotFoundError as error:
        return f"usps is left out, and scikit-learn's digits stand in: {error}"
    return ""


def cells(data: None, size: Size) -> list[Cell]:
    """One for each pair of digits."""
    name = {"toy": "three", "quick": "digits", "full": "digits" if absence() else "usps"}[size]
    found = digits(name)
    sha, seed = data_hash(*found), seed_of(name, 0)
    return [
        Cell(
            f"{name}.standardised.{first}-{second}",
            {
                "data": name,
                "scaling": "standardised",
                "first": first,
                "second": second,
                "kernel": "rbf",
                "sha256": sha,
            },
            seed,
        )
        for first, second in combinations(np.unique(found.y_train).tolist(), 2)
    ]


def compute(cell: Cell, data: None) -> CellResult:
    """Design the member, and evaluate it at all test rows."""
    s = cell.settings
    X, y, X_test, _ = digits(s["data"])
    scale = Standardiser.fit(X)
    X, X_test = scale(X), scale(X_test)
    rows = (y == s["first"]) | (y == s["second"])
    targets = np.where(y[rows] == s["second"], 1, -1)
    member = BayesianLSSVC(s["kernel"], moderation="target", prior="flat", standardise=False, random_state=cell.seed)
    member.fit(X[rows], targets)
    facts = {
        "points": int(rows.sum()),
        "sigma": float(np.exp(member.kernel_.log_params[0])),
        "mu": float(member.mu_),
        "zeta": float(member.zeta_),
        "gamma_eff": float(member.gamma_eff_),
    }
    ratio = log_ratio_of(member, X_test, float((targets > 0).mean()))
    return CellResult({"outputs": output_of(member, X_test), "log_ratios": ratio, **facts})


STUDY = table_study(
    name="paper2-usps",
    title="Paper 2, section 5: handwritten digits, 45 LS-SVMs one against one",
    cells=cells,
    compute=compute,
)
"""The 45 members as a study."""


def decoded(result: StudyResult) -> tuple[Decoded, Digits] | None:
    """All decodings of the members; None where one of them is missing."""
    if any(finished.error for finished in result.cells):
        return None
    found = digits(result.cells[0].cell.settings["data"])
    classes = np.unique(found.y_train)
    # the cells are in the order of the columns: pairs of classes, the later one +1
    outputs = np.stack([np.asarray(f.values["outputs"], dtype=np.float64) for f in result.cells], axis=1)
    ratios = np.stack([np.asarray(f.values["log_ratios"], dtype=np.float64) for f in result.cells], axis=1)
    return decode(classes, code_book("ovo", len(classes)), outputs, ratios), found


def scores(result: StudyResult) -> dict[str, dict[str, float]]:
    """Scores of every decoding on the test rows; empty where members are missing."""
    both = decoded(result)
    return {} if both is None else scored(both[0], both[1].y_test, both[0].classes)


def published(decoding: str) -> Published:
    """The paper's figure with the binomial standard error of 2007 test rows, as it prints none."""
    p = PRINTED[decoding]
    return Published(p, math.sqrt(p * (100.0 - p) / TEST_ROWS), "se")


def table(result: StudyResult) -> ReproducedTable:
    """Both decodings, ours beside theirs."""
    name = result.cells[0].cell.settings["data"]
    ours = scores(result)
    entries = []
    for decoding, column in DECODINGS.items():
        found = (ours[decoding]["accuracy"],) if ours else ()
        entries.append(Entry(name, column, found, published(decoding) if name == "usps" else None))
    sentences = []
    if name != "usps":
        small = f"The size {result.size!r} takes scikit-learn's digits in place of usps."
        sentences = [absence() if result.size == "full" else small]
    return ReproducedTable(
        name=result.study,
        title=STUDY.title,
        source="Paper 2, section 5",
        measure="test set accuracy, %",
        higher_is_better=True,
        rows=(name,),
        columns=tuple(DECODINGS.values()),
        entries=tuple(entries),
        absent=tuple(sentences),
        digits=2,
    )
