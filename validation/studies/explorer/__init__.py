"""Study: one data set with two inputs at many widths σ of the RBF kernel, for a page on which a reader moves σ.

At each width, with log μ and log ζ ~ Normal(0, 3):

| what           | by                                                                                               |
| -------------- | ------------------------------------------------------------------------------------------------ |
| `log_evidence` | every rung of the ladder, 5.2 to quadrature                                                      |
| `parts`        | the log evidence as a sum: fit, Occam factors of weights, bias, μ and ζ, and what 5.2 leaves out |
| `posterior`    | the exact log density of (log μ, log ζ) on a grid, and the Gaussians that stand in for it        |
| `plane`        | class probabilities, or the mean of real targets, on a grid over the two inputs                  |

Widths are equally spaced in log σ about the maximum of 5.2. A cell is one width, "sigma-<i>", and each has all that
a stop of the page's slider shows; "data" has the points.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.marginal.ladder import quadrature_check
from validation.harness import Cell, CellResult, Size, Study, StudyData
from validation.ladder import best_width, four_figures, ladder_at, spread_rows

from .packed import unpack
from .parts import PARTS, SUBTOTAL
from .plane import on_the_plane, window_of
from .rungs import RUNGS, rungs_at
from .surface import LEVELS, RADIUS, in_the_window, posterior_at

__all__ = ["LEVELS", "PARTS", "RADIUS", "RUNGS", "STUDY", "SUBTOTAL", "unpack"]

RANGE = 8.0
"""The narrowest width is the best one divided by this, and the widest is it times this."""


class Effort(NamedTuple):
    """How much is computed at a size: widths (an odd number), points a side of both grids, and rows at most."""

    widths: int
    density: int
    plane: int
    most_rows: int


EFFORT: dict[Size, Effort] = {
    "toy": Effort(5, 14, 12, 40),
    "quick": Effort(41, 48, 56, 500),
    "full": Effort(61, 56, 64, 1000),
}


def cells(data: StudyData, size: Size) -> list[Cell]:
    """The data, and one cell for each width."""
    if data.X.shape[1] != 2:
        columns = ", ".join(data.feature_names[:6]) + (", …" if data.X.shape[1] > 6 else "")
        raise ValueError(
            f"The explorer draws a map over two inputs, and {data.name} has {data.X.shape[1]} ({columns}). Give a file "
            "with two columns beside the target."
        )
    effort = EFFORT[size]
    rows = effort.most_rows if len(data.y) > effort.most_rows else None
    best = best_width(*spread_rows(data.X, data.y, rows))
    common: dict[str, Any] = {"rows": rows, "density": effort.density, "plane": effort.plane}
    found = [Cell("data", {"rows": rows})]
    for i, sigma in enumerate(np.geomspace(best / RANGE, best * RANGE, effort.widths).tolist()):
        key = f"sigma-{i:02d}"
        # seeds differ between widths, so that the errors of their draws are independent
        found.append(Cell(key, {"sigma": four_figures(sigma), **common}, zlib.crc32(key.encode()) >> 1))
    return found


def compute(cell: Cell, data: StudyData) -> CellResult:
    """One width, or the points that the map shows."""
    settings = cell.settings
    X, y = spread_rows(data.X, data.y, settings["rows"])
    if cell.key == "data":
        return CellResult({"X": np.round(X, 4), "y": np.round(y, 4), "window": window_of(X)})
    sigma = settings["sigma"]
    found = ladder_at(sigma, X, y, RUNGS, cell.seed)
    values, added_up = rungs_at(sigma, found, X, y)
    values["posterior"] = posterior_at(sigma, found, X, y, settings["density"])
    values |= on_the_plane(sigma, X, y, settings["plane"], data.task)
    checks = (quadrature_check(values["quadrature_error"]), added_up, in_the_window(values["posterior"]["mass"]))
    return CellResult(values, checks)


STUDY = Study(name="explorer", title="Explore the kernel width", cells=cells, compute=compute)
