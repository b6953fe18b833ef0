"""The moderated output: how class probabilities depend on what is done with the hyperparameters.

One cell a method (`methods`), each with P(y = +1 | x) at test points and on a map of the plane (for more than two
inputs: of the first two principal components through the mean; for one input: a line), and a cell "points" with the
places and the labels. Data without a test set of their own are split 2/3 to 1/3 within classes, by seed 0.

| size  | training points at most | side of the map | draws averaged (LS-SVM, Bernoulli) |
| ----- | ----------------------- | --------------- | ---------------------------------- |
| toy   | 40                      | 13              | 40, 40                             |
| quick | 300                     | 41              | 120, 400                           |
| full  | 500                     | 61              | 400, 800                           |
"""

from __future__ import annotations

from typing import Any

from validation.harness import Cell, CellResult, Size, Study, StudyData

from .methods import METHODS
from .points import describe, points_of

__all__ = ["LABELS", "METHODS", "STUDY"]

LABELS = {
    "plug-in": "plug-in",
    "mu-zeta": "over μ, ζ",
    "mu-zeta-sigma": "over μ, ζ, σ",
    "nuts": "NUTS draws averaged",
    "bernoulli": "Bernoulli GP",
}
"""Methods by name, for readers, in the order of pages."""

_PLACES: dict[Size, dict[str, int]] = {
    "toy": {"points": 40, "test": 100, "grid": 13},
    "quick": {"points": 300, "test": 1000, "grid": 41},
    "full": {"points": 500, "test": 2000, "grid": 61},
}
_DRAWS: dict[Size, dict[str, dict[str, int]]] = {
    "toy": {
        "nuts": {"chains": 2, "warmup": 200, "draws": 1000, "averaged": 40},
        "bernoulli": {"chains": 2, "warmup": 500, "draws": 1000, "averaged": 40},
    },
    "quick": {
        "nuts": {"chains": 4, "warmup": 400, "draws": 600, "averaged": 120},
        "bernoulli": {"chains": 4, "warmup": 500, "draws": 1500, "averaged": 400},
    },
    "full": {
        "nuts": {"chains": 4, "warmup": 500, "draws": 2000, "averaged": 400},
        "bernoulli": {"chains": 4, "warmup": 500, "draws": 3000, "averaged": 800},
    },
}


def cells(data: StudyData, size: Size) -> list[Cell]:
    """The points, and one cell a method."""
    if data.task != "classification":
        raise ValueError(
            f"The study 'moderated-output' compares class probabilities, but {data.target_name!r} of {data.name} holds "
            "real numbers. For regression run error-bars, evidence or bayes-factors."
        )
    places = dict(_PLACES[size])
    found = [Cell("points", {"method": "points", **places})]
    for number, method in enumerate(METHODS):
        settings: dict[str, Any] = {"method": method, **places, **_DRAWS[size].get(method, {})}
        found.append(Cell(method, settings, seed=number))
    return found


def compute(cell: Cell, data: StudyData) -> CellResult:
    """Probabilities by one method, or the points."""
    points = points_of(data, cell.settings)
    if cell.settings["method"] == "points":
        return CellResult(describe(points, data))
    return METHODS[cell.settings["method"]](points, cell.settings, cell.seed)


STUDY = Study(
    name="moderated-output",
    title="Class probabilities by the moderated output",
    cells=cells,
    compute=compute,
    version=2,
)
