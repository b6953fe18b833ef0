"""Where does Laplace hold? Its evidence of known posteriors, against what can be said of it before any sampling.

The 36 posteriors of posteriordb that `models.reference` has as programs, and two families whose evidence is an integral
over one parameter, so that it is known to rounding however far from a Gaussian the posterior is:

    regression    y ~ Normal(Xβ, σ²I), n rows and d columns, β and σ flat; Laplace's error depends on n and d alone
    schools       J groups with standard errors s around a mean, not centred; the funnel of small variances

The truth is that integral, or the bridge on all 10⁴ reference draws, which are independent to all intents. Against it
stand Laplace's evidence in the unconstrained parameters, the next order of its expansion, importance sampling from the
mode, and the verdict of `trust_model`, whose limits were set on other models. It draws by NUTS at full size alone: at
quick size all that it knows is known before any sampling.

The same draws test the bridge: its value from each chain of 1000 draws alone, against the truth or against the nine
other chains, in standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.checks import Check
from bayes_lssvm.base.typing import Array
from bayes_lssvm.evidence import trust_model
from bayes_lssvm.evidence.numpyro_model import UnconstrainedModel
from bayes_lssvm.sampling.bridge import bridge
from models.reference import REFERENCES, exact, reference_folder
from models.reference.files import file_hash
from models.reference.regression import FLAT
from models.reference.small import eight_schools
from validation.harness import Cell, CellResult, Size, Study
from validation.harness.splits import seed_of

LIMIT = 0.5
"""Nats: an error of Laplace's evidence that matters."""
FIGURES = ("dim", "n_modes", "missed", "correction", "skewness", "k_hat", "k_hat_gaussian", "expected_error")
"""What `trust_model` knows of a mode before it draws."""
LARGEST_ERROR = 0.05  # nats, of the truth

_CHUNK = 500
_COLUMNS = {"toy": (1,), "quick": (1, 8), "full": (1, 8)}
_SPARE = {"toy": (4,), "quick": (2, 4, 10, 30), "full": (2, 4, 10, 30)}  # rows beyond columns
_GROUPS = {"toy": (), "quick": (4, 20), "full": (4, 20)}
_ERRORS = (1.0, 5.0, 20.0)  # of the groups, whose true spread is 5


class Problem(NamedTuple):
    """A program with its arguments; its evidence where that is known, and reference draws of its sites."""

    program: Callable[..., Any]
    args: tuple[Any, ...]
    log_evidence: float | None
    draws: dict[str, Array] | None


class Truth(NamedTuple):
    """The evidence, its standard error (0 where it is exact), and z-scores of the bridge on single chains."""

    log_evidence: float
    error: float
    z_scores: list[float]


def cells(data: None, size: Size) -> list[Cell]:
    """Every reference, then both families; toy has no references, and only full draws by NUTS."""
    if size != "toy" and reference_folder() is None:
        raise ValueError(
            "Its reference posteriors are not here: set BAYES_LSSVM_DATA to a folder that holds posteriordb, or take "
            "the size toy, which needs no files."
        )
    made: list[tuple[str, dict[str, Any]]] = [
        (name, {"kind": "reference", "family": reference.family, "sha256": file_hash(name)})
        for name, reference in REFERENCES.items()
        if size != "toy"
    ]
    for d in _COLUMNS[size]:
        for n in (d + spare for spare in _SPARE[size]):
            made.append((f"regression-d{d}-n{n}", {"kind": "regression", "family": "few rows", "d": d, "n": n}))
    for groups in _GROUPS[size]:
        for sd in _ERRORS:
            key = f"schools-j{groups}-s{sd:g}"
            made.append((key, {"kind": "schools", "family": "groups", "groups": groups, "sd": sd}))
    return [Cell(key, {**settings, "sample": size == "full"}, _seed(key)) for key, settings in made]


def _seed(name: str) -> int:
    return seed_of(name, 0) % 2**31


def problem_of(cell: Cell) -> Problem:
    """What a cell is about."""
    s = cell.settings
    if s["kind"] == "reference":
        reference = REFERENCES[cell.key]
        args = reference.args()
        known = None if reference.exact is None else reference.exact(*args)
        return Problem(reference.program, args, known, reference.site_draws())
    rng = np.random.default_rng(cell.seed)
    if s["kind"] == "regression":
        X, y = rng.normal(size=(s["n"], s["d"])), rng.normal(size=s["n"])
        return Problem(FLAT, (X, y), exact.regression(FLAT, X, y), None)
    sd = np.full(s["groups"], s["sd"])
    y = 3.0 + 5.0 * rng.normal(size=len(sd)) + sd * rng.normal(size=len(sd))
    return Problem(eight_schools, (y, sd), exact.eight_schools(y, sd), None)


def truth_of(problem: Problem, seed: int) -> Truth:
    """The evidence, and how well the bridge finds it from a tenth of the draws."""
    if problem.draws is None:
        assert problem.log_evidence is not None
        return Truth(problem.log_evidence, 0.0, [])
    density = UnconstrainedModel.of(problem.program, problem.args, {}, problem.draws, chunk=_CHUNK)
    points = density.unconstrain(problem.draws)
    known = problem.log_evidence

    def bridged(part: Array, key: int) -> tuple[float, float]:
        found = bridge(part, density.log_density, seed=np.random.default_rng([seed, key]))
        return found.log_z, found.standard_error

    def z_score(i: int) -> float:
        value, error = bridged(points[i : i + 1], 2 * i + 1)
        other = (known, 0.0) if known is not None else bridged(np.delete(points, i, axis=0), 2 * i + 2)
        return (value - other[0]) / float(np.hypot(error, other[1]))

    value, error = (known, 0.0) if known is not None else bridged(points, 0)
    return Truth(value, error, [z_score(i) for i in range(len(points))])


def compute(cell: Cell, data: None) -> CellResult:
    """Laplace, its figures and the verdict on it beside the truth."""
    problem = problem_of(cell)
    truth = truth_of(problem, cell.seed)
    sampled = cell.settings["sample"]
    found = trust_model(problem.program, problem.args, sample=sampled, seed=cell.seed, chunk=_CHUNK)
    figures = found.figures.as_dict()  # of the mode alone
    z = truth.log_evidence
    values = {
        "log_evidence": z,
        "truth_error": truth.error,
        "exact": problem.log_evidence is not None,
        "laplace": figures["log_evidence"] - z,
        "next_order": figures["log_evidence"] + figures["correction"] - z,
        "importance": figures["importance"] - z,
        "believed": figures["log_evidence"] - found.error - z,
        **{name: figures[name] for name in FIGURES},
        "verdict": found.verdict,
        "error_bars": found.error_bars,
        "z_scores": truth.z_scores,
    }
    sentence = f"The truth has a standard error of {truth.error:.4f} nats (at most {LARGEST_ERROR:g})"
    check = Check("error of the truth", truth.error, LARGEST_ERROR, truth.error <= LARGEST_ERROR, sentence)
    return CellResult(values, (check,))


STUDY = Study(
    name="laplace-reference",
    title="Laplace's method: when is its evidence right?",
    cells=cells,
    compute=compute,
    needs_data=False,
    own_data="posteriors and reference draws of posteriordb (Magnusson et al. 2025; BSD-3-Clause), and simulated sets",
)
"""A cell is one posterior."""
