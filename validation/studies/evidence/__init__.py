"""Study: log p(D | σ) of the RBF kernel along σ, by every rung of the ladder of approximations.

For each width the best fit p(D | μ_MP, ζ_MP, σ), 5.2 with MacKay's error bars and with the exact Hessian, Laplace's
method with the prior in it, importance sampling and quadrature over (log μ, log ζ); at some widths NUTS with bridge
sampling. Then the width that each rung selects, and at what loss of exact evidence. log μ and log ζ ~ Normal(0, 3).

Cells: "curve-<i>", "near-<i>" (blocks of widths), "choice.<rung>", "profile-<σ>", "collapsed-<σ>", "weights-<σ>" and
"gp-<σ>".

What quadrature may err by is judged by its share: an error of ε nats at a width whose evidence is v nats below that of
the main width changes a choice, a Bayes factor or an average over widths by (e^ε − 1) e^{−v} at most. Where v is at
most `MATTERS` it counts in full, and beyond as (e^ε − 1) e^{−(v − MATTERS)}; the page names the widths where ε itself
is larger than the limit.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.checks import Check
from bayes_lssvm.marginal.ladder import QUADRATURE_ERROR
from validation.harness import Cell, CellResult, Size, Study, StudyData
from validation.ladder import PRIOR, best_width, four_figures, spread_rows

from .bridged import bridged
from .choice import chosen_width
from .rungs import RUNGS, gamma_profile, rung, rungs_at

__all__ = ["MATTERS", "PRIOR", "RUNGS", "STUDY"]

MATTERS = 10.0
"""Nats below the best width: what lies lower has no weight in any comparison."""
RIPLEY_RANGE = (0.2, 10.0)
RIPLEY_SAMPLED = (0.5, 1.311, 4.0, 8.0, 10.0)
RIPLEY_PROFILES = (1.311, 8.0, 10.0)
RANGE = (1.0 / 6.0, 8.0)  # times the width at the evidence's maximum
SAMPLED = (0.4, 1.0, 3.0, 6.0)
PROFILES = (1.0, 6.0, 8.0)
NEAR = (0.92, 1.10)
_BLOCK = 7  # widths a cell


class Effort(NamedTuple):
    """How much is computed at a size.

    Attributes
    ----------
    n_curve, n_near : int
        Widths over the whole range, and close to the maximum.
    draws, warmup : int
        Of each of four chains.
    most_sampled : int
        Widths that are sampled.
    weights_draws : int
        Of each chain of weight space, at the main width and at the widest that is sampled; 0 for none.
    gp_draws : int
        Of each chain of the Gaussian process at the main width; 0 for none.
    most_rows, most_gp_rows : int
        Data with more rows are represented by so many of them; the Gaussian process is left out beyond its own limit.
    """

    n_curve: int
    n_near: int
    draws: int
    warmup: int
    most_sampled: int
    weights_draws: int
    gp_draws: int
    most_rows: int
    most_gp_rows: int


EFFORT: dict[Size, Effort] = {
    "toy": Effort(8, 5, 1000, 500, 1, 0, 0, 40, 0),
    "quick": Effort(42, 14, 1000, 500, 5, 500, 0, 600, 0),
    "full": Effort(84, 28, 4000, 1000, 12, 2000, 1000, 1500, 300),
}


def cells(data: StudyData, size: Size) -> list[Cell]:
    """Blocks of widths, the rungs' choices, and widths that are sampled."""
    effort = EFFORT[size]
    rows = effort.most_rows if len(data.y) > effort.most_rows else None
    widths = _widths(data, rows, effort)
    common = {"rows": rows}
    cells = []
    for part, grid in (("curve", widths.curve), ("near", widths.near)):
        for i in range(0, len(grid), _BLOCK):
            block = {"kind": "ladder", "part": part, "widths": grid[i : i + _BLOCK], "main": widths.main, **common}
            cells.append(_cell(f"{part}-{i // _BLOCK:02d}", block))
    for name in RUNGS:
        cells.append(_cell(f"choice.{name}", {"kind": "choice", "rung": name, "range": list(widths.range), **common}))
    cells += [_cell(f"profile-{s:g}", {"kind": "profile", "sigma": s, **common}) for s in widths.profiles]
    lengths = {"draws": effort.draws, "warmup": effort.warmup}
    for s in widths.sampled:
        settings = {"kind": "bridge", "program": "collapsed", "sigma": s, **lengths, **common}
        cells.append(_cell(f"collapsed-{s:g}", settings))
    if effort.weights_draws:
        own = {"kind": "bridge", "program": "weights", "draws": effort.weights_draws, "warmup": 300, **common}
        cells += [_cell(f"weights-{s:g}", {**own, "sigma": s}) for s in widths.weighed]
    if effort.gp_draws and len(data.y) <= effort.most_gp_rows:
        settings = {
            "kind": "bridge",
            "program": "gp",
            "sigma": widths.main,
            "draws": effort.gp_draws,
            "warmup": 300,
        }
        cells.append(_cell(f"gp-{widths.main:g}", {**settings, **common}))
    return cells


def compute(cell: Cell, data: StudyData) -> CellResult:
    """One block of widths, one choice, one profile or one width by NUTS."""
    settings, seed = cell.settings, cell.seed
    X, y = spread_rows(data.X, data.y, settings["rows"])
    if settings["kind"] == "ladder":
        points = [rungs_at(sigma, X, y, seed + i) for i, sigma in enumerate(settings["widths"])]
        return CellResult({"points": points}, (_fine_enough(points, rung("quadrature", settings["main"], X, y, seed)),))
    if settings["kind"] == "choice":
        low, high = settings["range"]
        return CellResult(chosen_width(settings["rung"], low, high, X, y, seed))
    if settings["kind"] == "profile":
        return CellResult(gamma_profile(settings["sigma"], X, y))
    return bridged(settings["program"], settings["sigma"], X, y, settings, seed)


def _fine_enough(points: list[dict[str, Any]], main: float) -> Check:
    """The quadrature's errors by their shares beside the log evidence at the main width, the largest of them."""
    heights = np.array([point["log_evidence"]["quadrature"] for point in points])
    errors = np.array([point["quadrature_error"] for point in points])
    shares = np.exp(np.minimum(heights - main + MATTERS, 0.0))
    # what has no error of its own is not known at all
    weighed = np.where(np.isnan(errors), np.nan, np.minimum(errors, np.expm1(np.minimum(errors, 700.0)) * shares))
    worst = int(np.argmax(np.nan_to_num(weighed, nan=np.inf)))
    error, sigma = float(weighed[worst]), points[worst]["sigma"]
    far = f", its share as evidence of σ = {sigma:g}" if shares[worst] < 1.0 else ""
    sentence = f"The quadrature's error is {error:.1e} nats by its own estimate{far} (at most {QUADRATURE_ERROR:g})."
    return Check("quadrature error", error, QUADRATURE_ERROR, bool(error <= QUADRATURE_ERROR), sentence)


class _Widths(NamedTuple):
    """Where the evidence is computed, by what is done there."""

    range: tuple[float, float]
    curve: list[float]
    near: list[float]
    sampled: list[float]
    profiles: list[float]
    main: float

    @property
    def weighed(self) -> list[float]:
        """Widths that weight space samples."""
        return sorted({self.main, max(self.sampled)})


def _widths(data: StudyData, rows: int | None, effort: Effort) -> _Widths:
    """Widths to four figures: the last ones differ between computers, and cells are known by them."""
    best = best_width(*spread_rows(data.X, data.y, rows))
    if data.name == "ripley":
        low, high = RIPLEY_RANGE
        sampled, profiles, main = list(RIPLEY_SAMPLED), list(RIPLEY_PROFILES), 1.311
    else:
        low, high = four_figures(RANGE[0] * best), four_figures(RANGE[1] * best)
        sampled, profiles = [four_figures(m * best) for m in SAMPLED], [four_figures(m * best) for m in PROFILES]
        main = best
    curve = sorted({four_figures(s) for s in np.geomspace(low, high, effort.n_curve)} | set(profiles))
    near = [four_figures(s) for s in np.linspace(NEAR[0] * best, NEAR[1] * best, effort.n_near)]
    if effort.most_sampled > len(sampled):
        sampled = sorted(
            {*sampled, *(four_figures(s) for s in np.geomspace(low, high, effort.most_sampled - len(sampled)))}
        )
    elif effort.most_sampled < len(sampled):
        sampled = [main]
    return _Widths((low, high), curve, near, sampled, profiles, main)


def _cell(key: str, settings: dict[str, Any]) -> Cell:
    # seeds differ between cells, so that their Monte-Carlo errors are independent
    return Cell(key, settings, zlib.crc32(key.encode()) >> 1)


STUDY = Study(
    name="evidence",
    title="The evidence and the kernel width",
    cells=cells,
    compute=compute,
    version=2,
)
