"""Bayes factors between kernels: linear, polynomial, RBF and sums, by every rung of the ladder of approximations.

The log Bayes factor of two models is the difference of their log evidences. Each cell is one model by one rung
(`rungs`); the prior of a model is the same on every rung (`models`). The reference is quadrature over everything that
is not integrated in closed form. `compare` pairs models up and says where the wording of Kass and Raftery (1995)
changes when an approximation takes the reference's place.

| size  | points at most | sampled                                                                            |
| ----- | -------------- | ---------------------------------------------------------------------------------- |
| toy   | 40             | collapsed NUTS with one kernel parameter free, importance draws with none or two   |
| quick | 500            | collapsed NUTS with none or one; kernels with an RBF part by GP NUTS up to 300     |
|       |                | points, importance draws with two parameters beyond                                |
| full  | 1000           | all of these (NUTS with two: up to 300 points), weight space up to 40 weights      |
"""

from __future__ import annotations

from typing import Any, NamedTuple

from validation.harness import Cell, CellResult, Size, Study, StudyData
from validation.ladder import PRIOR, spread_rows

from .comparison import ANALYTIC, RUNGS, SAMPLED, Evidence, Flip, compare, evidences, words
from .models import MODELS, Model
from .rungs import evidence_by_rung
from .weights import n_features

__all__ = [
    "ANALYTIC",
    "MODELS",
    "PRIOR",
    "RUNGS",
    "SAMPLED",
    "STUDY",
    "Evidence",
    "Flip",
    "Model",
    "compare",
    "evidences",
    "words",
]


class _Effort(NamedTuple):
    """What a size means."""

    points: int
    models: tuple[str, ...]
    nuts: dict[str, int]
    importance: int
    nuts_for: tuple[int, ...]
    importance_for: tuple[int, ...]
    weights: dict[str, int] | None = None
    gp: dict[str, int] | None = None
    tolerance: float = 1e-4  # nats, of a rule over two kernel parameters; fifty times that inside an approximation


_FOUR = {"chains": 4}
_EFFORT: dict[Size, _Effort] = {
    "toy": _Effort(
        points=40,
        models=("linear", "poly2", "rbf", "scaled-rbf"),
        nuts={**_FOUR, "warmup": 300, "draws": 400},
        importance=1000,
        nuts_for=(1,),
        importance_for=(0, 2),
    ),
    "quick": _Effort(
        points=500,
        models=tuple(MODELS),
        nuts={**_FOUR, "warmup": 500, "draws": 1000},
        importance=2000,
        nuts_for=(0, 1),
        importance_for=(2,),
        gp={**_FOUR, "warmup": 60, "draws": 300},
    ),
    "full": _Effort(
        points=1000,
        models=tuple(MODELS),
        nuts={**_FOUR, "warmup": 500, "draws": 2000},
        importance=4000,
        nuts_for=(0, 1, 2),
        importance_for=(0, 1, 2),
        weights={**_FOUR, "warmup": 1000, "draws": 3000},
        gp={**_FOUR, "warmup": 150, "draws": 500},
    ),
}
_MANY = 300  # points; beyond, a factorisation at every step of NUTS, or at thousands of draws, takes too long
_FEWER_DRAWS = 1000
_CHOLESKY_CHAINS = {**_FOUR, "warmup": 300, "draws": 500}
_MOST_WEIGHTS = 40


def cells(data: StudyData, size: Size) -> list[Cell]:
    """Models by rungs."""
    effort, d = _EFFORT[size], data.X.shape[1]
    n = min(effort.points, len(data.X))
    found = []
    for number, name in enumerate(effort.models):
        common = {"model": name, "kernel": MODELS[name].kernel.to_dict(), "prior": PRIOR.to_dict(), "n": n}
        for place, (method, own) in enumerate(_methods(effort, name, n, d).items()):
            settings = {**common, "method": method, **own}
            found.append(Cell(f"{name}.{method}", settings, seed=100 * number + place))
    return found


def compute(cell: Cell, data: StudyData) -> CellResult:
    """The log evidence of one model by one rung."""
    X, y = spread_rows(data.X, data.y, cell.settings["n"])
    return evidence_by_rung(cell.settings, cell.seed, X, y)


def _methods(effort: _Effort, name: str, n: int, d: int) -> dict[str, dict[str, Any]]:
    """Rungs of a model and what they need."""
    free = MODELS[name].free
    exact, rough = {"tolerance": effort.tolerance}, {"tolerance": 50.0 * effort.tolerance}
    found: dict[str, dict[str, Any]] = {"quadrature": exact, "mackay": rough, "hessian": rough, "laplace": {}}
    if free > 1:
        found["ccd"] = {}
    by_gp = effort.gp is not None and n <= _MANY and MODELS[name].degree is None
    if by_gp and effort.gp is not None:
        found["gp"] = effort.gp
    # with one parameter, NUTS has no factorisation to wait for; at quick size an independent program does for draws
    if free in effort.importance_for and (n <= _MANY or free != 1) and not (by_gp and effort.weights is None):
        found["importance"] = {"draws": min(effort.importance, _FEWER_DRAWS) if n > _MANY else effort.importance}
    if free in effort.nuts_for and (free < 2 or n <= _MANY):
        found["nuts"] = effort.nuts if free < 2 else _CHOLESKY_CHAINS
    if effort.weights is not None and _few_weights(name, d):
        found["weights"] = effort.weights
    return found


def _few_weights(name: str, d: int) -> bool:
    degree = MODELS[name].degree
    return degree is not None and n_features(degree, d) <= _MOST_WEIGHTS


STUDY = Study(
    name="bayes-factors",
    title="Bayes factors between kernels",
    cells=cells,
    compute=compute,
    version=2,
)
