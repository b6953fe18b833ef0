"""Paper 2, Table III: SVMs with linear and RBF kernel, four codings, Hamming and loss function decoding, ten data sets.

Splits, class orders and code books are those of Table II, so that the two tables are paired. The loss is the hinge
loss, max(0, 1 − y z).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from validation.harness import Cell, Size, StudyResult

from ..table import Reason, ReproducedTable, table_study
from .algorithms import fit_svm
from .data import cells_of, laid_out
from .draws import moc_draws
from .orders import design, moc_orders
from .reasons import reason
from .svm import FOLDS, LINEAR_C, RBF_C, RBF_WIDTHS
from .table2_published import Key
from .table3_published import TABLE_III

DECODINGS = {"hamming": "Hamming", "hinge": "loss"}
METHOD: dict[str, Any] = {
    "members": "SVC, own C and sigma by cross-validation",
    "folds": FOLDS,
    "orders": "of minimal output coding, all",
    "grid": {"linear C": LINEAR_C, "rbf C": RBF_C, "rbf sigma/sqrt(d)": RBF_WIDTHS},  # RBF: σ first, then C
}
OPEN = {"led": {"drawn_orders": 12, "other_draws": 12}}
"""Minimal output coding of a generated set with many classes: how many orders of the classes, of which there are too
many for all of them, and how many other draws of the rows it is tried with."""


def cells(data: None, size: Size) -> list[Cell]:
    """The cells of the table, with what `OPEN` says of minimal output coding."""
    found = []
    for cell in cells_of(METHOD, data, size):
        tried = OPEN.get(cell.settings["data"], {}) if cell.settings["coding"] == "moc" else {}
        found.append(replace(cell, settings={**cell.settings, **tried}))
    return found


STUDY = table_study(
    name="paper2-table3",
    title="Paper 2, Table III: multiclass SVMs, codings and decodings",
    cells=cells,
    compute=partial(design, fit_svm, DECODINGS),
)
"""Table III as a study."""
_OTHERWISE = {
    "hamming": "The candidates for C and σ are ours; the paper does not print its own.",
    "hinge": "The loss weighs the sizes of the outputs, and these grow with C, whose candidates the paper does not "
    "print.",
}
_MANY_CLASSES = Reason(
    "Minimal output coding depends on the order of the classes, which the paper does not print, and other orders are "
    "not part of the table here."
)


def table(result: StudyResult) -> ReproducedTable:
    """Table III, ours beside theirs."""

    def why(key: Key) -> Reason:
        name, kernel, decoding, coding = key
        orders = moc_orders(result, name, kernel, DECODINGS)
        otherwise = _MANY_CLASSES if coding == "moc" and not orders else Reason(_OTHERWISE[decoding])
        return reason(result, key, TABLE_III[key], orders, otherwise, moc_draws(result, name, kernel, DECODINGS))

    return laid_out(result, TABLE_III, DECODINGS, why, title=STUDY.title, source="Paper 2, Table III")
