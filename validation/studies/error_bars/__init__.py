"""Study: error bars of log μ, log ζ and log σ by every method, and how far each is from the exact ones.

For every kernel the posterior standard deviations and correlations come from MacKay's formulas, from the Hessian, from
quadrature (exact), from NUTS with weights and bias integrated out, and for some kernels from NUTS on the programs of
`models`, which know nothing of the closed forms. Priors: log μ, log ζ ~ Normal(0, 3), log σ ~ Normal(0, 1), b flat.

A cell is one kernel and one method; its key is "<problem>.<method>".
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any, NamedTuple

from validation.harness import Cell, CellResult, Size, Study, StudyData

from .analytic import closed_forms, quadrature
from .problems import Problem, problems
from .sampled import sampled

__all__ = [
    "STUDY",
    "Problem",
    "problems",
]

# Parametrisations of the weights in the order they are tried: (centred, target acceptance). A kernel with few features
# and much signal wants centred weights, many features want the other kind, and so do data without signal, with short
# steps.
_FEW_WEIGHTS = [[True, 0.8], [False, 0.95]]
_MANY_WEIGHTS = [[False, 0.9], [True, 0.95]]
_NO_SIGNAL = [[False, 0.98], [False, 0.995]]


class Effort(NamedTuple):
    """How much is sampled at a size.

    Attributes
    ----------
    collapsed, weight_space, gp : (draws, warm-up)
        Of each of four chains.
    weight_space_problems, gp_problems : tuple of str
        Names of the problems that these programs sample.
    weight_space_rows, gp_rows : int
        At most so many rows; quadrature then sees the same rows.
    """

    collapsed: tuple[int, int]
    weight_space: tuple[int, int]
    gp: tuple[int, int]
    weight_space_problems: tuple[str, ...]
    gp_problems: tuple[str, ...]
    weight_space_rows: int
    gp_rows: int


EFFORT: dict[Size, Effort] = {
    "toy": Effort((1000, 500), (500, 300), (500, 300), ("linear",), (), 40, 40),
    "quick": Effort((1000, 500), (1000, 500), (1000, 300), ("linear", "rbf-main"), ("rbf-main",), 250, 80),
    "full": Effort(
        (4000, 1000),
        (4000, 1000),
        (1000, 300),
        ("linear", "rbf-main", "permuted"),
        ("rbf-main", "rbf-wide", "rbf-free"),  # minutes each; weight space samples the others
        250,
        250,
    ),
}


def cells(data: StudyData, size: Size) -> list[Cell]:
    """For each problem the closed forms, quadrature and collapsed NUTS; for some the other programs."""
    effort, found = EFFORT[size], problems(data, size)
    cells = []
    for problem in found:
        cells += [_cell(problem, "closed-forms"), _cell(problem, "quadrature")]
        cells.append(_cell(problem, "collapsed", *effort.collapsed))
    by_name = {problem.name: problem for problem in found} | {"rbf-wide": _widest(found)}
    for name in effort.weight_space_problems:
        problem = _on(by_name[name], data, effort.weight_space_rows)
        attempts = _FEW_WEIGHTS if problem.kernel["kind"] == "Linear" else _MANY_WEIGHTS
        attempts = _NO_SIGNAL if problem.permuted else attempts
        cells.append(_cell(problem, "weight-space", *effort.weight_space, attempts=attempts))
    for name in effort.gp_problems:
        cells.append(_cell(_on(by_name[name], data, effort.gp_rows), "gp", *effort.gp))
    return cells


def compute(cell: Cell, data: StudyData) -> CellResult:
    """Error bars of one problem by one method."""
    settings = dict(cell.settings)
    problem, method = Problem(**settings.pop("problem")), settings["program"]
    X, y = problem.data(data)
    if method == "closed-forms":
        return closed_forms(problem, X, y)
    if method == "quadrature":
        return quadrature(problem, X, y)
    return sampled(problem, X, y, settings, cell.seed)


def _cell(problem: Problem, program: str, draws: int | None = None, warmup: int | None = None, **more: Any) -> Cell:
    settings: dict[str, Any] = {"problem": problem.settings, "program": program, **more}
    if draws is not None:
        settings |= {"draws": draws, "warmup": warmup}
    key = f"{problem.name}.{program}"
    # seeds differ between cells: with one for all, the samplers' errors would be the same luck over and over
    return Cell(key, settings, zlib.crc32(key.encode()) >> 1)


def _widest(found: tuple[Problem, ...]) -> Problem:
    fixed = [p for p in found if p.kernel["kind"] == "RBF" and not p.free and not p.permuted]
    return max(fixed, key=lambda p: float(p.kernel["sigma"]))


def _on(problem: Problem, data: StudyData, rows: int) -> Problem:
    """The problem on fewer rows, under a name of its own, where the data have more."""
    if len(data.y) <= rows or (problem.rows is not None and problem.rows <= rows):
        return problem
    return replace(problem, name=f"{problem.name}-n{rows}", label=f"{problem.label}, {rows} rows", rows=rows)


STUDY = Study(
    name="error-bars",
    title="Error bars of the hyperparameters",
    cells=cells,
    compute=compute,
)
