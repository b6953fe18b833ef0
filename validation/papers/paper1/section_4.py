"""Sections 4.1 and 4.2 of paper 1 as a study: what it proposes beside its own regularisation, and does not try.

A cell is a small set of Table 1 and a partition of its Table 2. Every way chooses the elliptical kernel and γ of an
LS-SVM, which then predicts by its sign:

    press             the least PRESS
    Gaussian prior    criterion 15, the paper's own
    Laplace prior     section 4.2, with inputs removed
    curvature, slope  penalties on the second and the first derivatives of the fit, section 4.2
    evidence          of paper 0 (5.2), climbed from the best spherical kernel to its end
    stopped early     the same climb where the fewest left-out labels are wrong, section 4.1

All but the evidence descend from the starts of `select_by_press`. Sets with more training rows are left out for the
time that the curvature takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import ARD, Kernel
from bayes_lssvm.press.leave_one_out import leave_one_out
from bayes_lssvm.press.selection import select_by_press
from validation.harness import Cell, CellResult, Size, Study, StudyResult
from validation.harness.scores import Gain, paired_gain
from validation.harness.splits import seed_of

from .early_stopping import climb_and_stop
from .published import TABLE_1
from .table2 import SHIPPED, partition, rows_of

__all__ = ["PLAIN", "STUDY", "WAYS", "Compared", "compared", "overall"]

PLAIN = "PRESS"
CRITERIA = {
    PLAIN: "press",
    "Gaussian prior": "press-br",
    "Laplace prior": "press-laplace",
    "curvature": "press-curvature",
    "slope": "press-slope",
}
EVIDENCE, STOPPED = "evidence", "stopped early"
WAYS = (*CRITERIA, EVIDENCE, STOPPED)
MOST_ROWS = 250
RESTARTS = 1
PARTITIONS: dict[Size, int] = {"toy": 1, "quick": 3, "full": 20}
_TITLES = {b.name: b for b in TABLE_1}


def _sources(size: Size) -> dict[str, str]:
    """Name to source of the sets: at full size the benchmark's own files, or else copies that the library ships."""
    small = {b.name: f"ida_{b.name}" for b in TABLE_1 if b.n_train <= MOST_ROWS}
    shipped = {name: SHIPPED[name] for name in small if name in SHIPPED}
    return {"toy": {"titanic": "tit"}, "quick": shipped, "full": small}[size]


def cells(data: None, size: Size) -> list[Cell]:
    """One partition of all sets whose file is there first, then the next."""
    found = []
    for number in range(PARTITIONS[size]):
        for name, source in _sources(size).items():
            try:
                sha256 = rows_of(source).sha256
            except FileNotFoundError:
                continue
            n_train = _TITLES[name].n_train
            settings = {
                "set": name,
                "source": source,
                "sha256": sha256,
                "partition": partition(source, n_train, number)[1],
                "number": number,
                "n_train": n_train,
                "restarts": RESTARTS,
            }
            found.append(Cell(f"{name}.{number:02d}", settings, seed_of(source, number)))
    return found


def compute(cell: Cell, data: None) -> CellResult:
    """Test errors in % by every way."""
    s = cell.settings
    rows = rows_of(s["source"])
    split, _ = partition(s["source"], s["n_train"], s["number"])
    y, y_test = rows.y[split.train].astype(float), rows.y[split.test]
    scaled = Standardiser.fit(rows.X[split.train])
    Z, T = scaled(rows.X[split.train]), scaled(rows.X[split.test])
    found: dict[str, dict[str, Any]] = {}
    for way, criterion in CRITERIA.items():
        chosen = select_by_press(
            ARD((float(np.sqrt(Z.shape[1])),) * Z.shape[1]), Z, y, criterion=criterion, n_restarts=RESTARTS,
            seed=cell.seed, progress=False,
        )  # fmt: skip
        fitted = _tested(chosen.kernel, chosen.gamma, chosen.inputs(Z), y, chosen.inputs(T), y_test)
        found[way] = {**fitted, "inputs": int(chosen.selected.sum()), "status": chosen.status}
    climbed = climb_and_stop(Z, y, cell.seed)
    for way, step in ((EVIDENCE, climbed.end), (STOPPED, climbed.chosen)):
        found[way] = {**_tested(step.kernel, step.gamma, Z, y, T, y_test), "log_evidence": step.log_evidence}
    found[STOPPED] |= {"step": climbed.best, "steps": len(climbed.steps)}
    return CellResult({"ways": found})


def _tested(kernel: Kernel, gamma: float, Z: Array, y: Array, T: Array, y_test: AnyArray) -> dict[str, float]:
    model = leave_one_out(kernel(Z), y, gamma)
    labels = np.where(kernel(T, Z) @ model.alpha + model.intercept >= 0.0, 1, -1)
    return {"error": 100.0 * float(np.mean(labels != y_test)), "loo_error": 100.0 * float(model.error_rate)}


STUDY = Study(
    name="second-level",
    title="Paper 1, section 4: other cures for over-fitting in model selection",
    cells=cells,
    compute=compute,
    needs_data=False,
    own_data="small data sets of paper 1's benchmark",
)


class Compared(NamedTuple):
    """A way on a set: errors by partition in %, and how many points fewer than by PRESS alone (positive is better)."""

    errors: tuple[float, ...]
    gain: Gain

    @property
    def mean(self) -> float:
        """Mean error in %."""
        return float(np.mean(self.errors))


def compared(result: StudyResult) -> dict[str, dict[str, Compared]]:
    """Set to way to its errors."""
    found: dict[str, dict[str, Compared]] = {}
    done = [f for f in result.cells if f.error is None]
    for name in dict.fromkeys(f.cell.settings["set"] for f in done):
        own = [f.values["ways"] for f in done if f.cell.settings["set"] == name]
        plain = np.array([ways[PLAIN]["error"] for ways in own])
        found[name] = {}
        for way in WAYS:
            errors = np.array([ways[way]["error"] for ways in own])
            found[name][way] = Compared(tuple(errors.tolist()), paired_gain(-errors, -plain))
    return found


def overall(found: Mapping[str, Mapping[str, Compared]]) -> dict[str, Gain]:
    """Way to its gain over PRESS alone, a mean over the sets, which are independent."""
    gains = {way: [by_way[way].gain.mean for by_way in found.values()] for way in WAYS if way != PLAIN}
    return {way: paired_gain(own, np.zeros(len(own))) for way, own in gains.items()}
