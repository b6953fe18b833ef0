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


class Effort(NamedTuple):
    """How much is sampled at a size.

    Attributes
    ----------
    collapsed, weight_space, cholesky : (draws, warm-up)
        Of each of four chains; the last of programs that factorise a matrix at every step: the Gaussian process, and
        weight space with σ free.
    weight_space_problems, gp_problems : tuple of str
        Names of the problems that these programs sample.
    weight_space_rows, gp_rows : int
        At most so many rows; quadrature then sees the same rows.
    """

    collapsed: tuple[int, int]
    weight_space: tuple[int, int]
    cholesky: tuple[int, int]
    weight_space_problems: tuple[str, ...]
    gp_problems: tuple[str, ...]
    weight_space_rows: int
    gp_rows: int


EFFORT: dict[Size, Effort] = {
    "toy": Effort((1000, 500), (500, 300), (150, 75), ("linear",), (), 40, 40),
    "quick": Effort((1000, 500), (1000, 300), (300, 50), ("linear", "rbf-main", "rbf-free"), ("rbf-free",), 250, 250),
    "full": Effort(
        (4000, 1000),
        (4000, 1000),
        (1000, 300),
        ("linear", "rbf-main", "rbf-wide", "rbf-free", "permuted"),
        ("rbf-main", "rbf-wide", "rbf-free"),  # minutes each
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
        cells.append(_cell(problem, "weight-space", *(effort.cholesky if problem.free else effort.weight_space)))
    for name in effort.gp_problems:
        cells.append(_cell(_on(by_name[name], data, effort.gp_rows), "gp", *effort.cholesky))
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


def _cell(problem: Problem, program: str, draws: int | None = None, warmup: int | None = None) -> Cell:
    settings: dict[str, Any] = {"problem": problem.settings, "program": program}
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
    version=2,
)
