"""Pairs of models: log Bayes factors by each rung against the exact ones, and where the wording flips."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import hypot
from typing import NamedTuple

from bayes_lssvm.comparison.words import kass_raftery
from validation.harness import StudyResult

ANALYTIC = {
    "mackay": "MacKay's Occam factor (5.2)",
    "hessian": "exact Hessian over μ and ζ",
    "laplace": "Laplace over everything",
}
DESIGN = {"ccd": "composite design"}
EXACT = {"quadrature": "quadrature"}
SAMPLED = {
    "nuts": "collapsed NUTS, bridge",
    "gp": "GP NUTS, bridge",
    "weights": "weight-space NUTS, bridge",
    "importance": "importance draws",
}
RUNGS: dict[str, str] = {**ANALYTIC, **DESIGN, **EXACT, **SAMPLED}
"""Rungs of the ladder by name, in the order of pages; of the sampled ones, the first that was run stands for all."""


class Evidence(NamedTuple):
    """log p(D | H) by one rung, and the error that it knows of (nan where it knows none)."""

    value: float
    error: float


class Flip(NamedTuple):
    """A pair of models for which a rung's words are not the exact ones.

    Attributes
    ----------
    first, second : str
        Names of models; the log Bayes factors are those of the first against the second.
    exact, approximate : float
    error : float
        Standard error of the approximate one; 0 where it has none.
    exact_words, approximate_words : str
    """

    rung: str
    first: str
    second: str
    exact: float
    approximate: float
    error: float
    exact_words: str
    approximate_words: str

    @property
    def within_error(self) -> bool:
        """Whether the two differ by less than three standard errors, so that only the border was near."""
        return abs(self.approximate - self.exact) <= 3.0 * self.error


Ladder = dict[str, dict[str, Evidence]]


def evidences(result: StudyResult) -> Ladder:
    """Rung to model to evidence, of the cells that have one."""
    found: Ladder = {rung: {} for rung in RUNGS}
    for finished in result.cells:
        value = finished.values.get("log_evidence")
        if value is not None:
            error = finished.values.get("error")
            settings = finished.cell.settings
            found[settings["method"]][settings["model"]] = Evidence(value, float("nan") if error is None else error)
    return found


def sampled(table: Ladder) -> dict[str, Evidence]:
    """Of each model, the sampled evidence that stands for all: by NUTS where it was run."""
    found: dict[str, Evidence] = {}
    for rung in reversed(SAMPLED):
        found.update(table[rung])
    return found


def words(log_bayes_factor: float, first: str, second: str) -> str:
    """Kass and Raftery's words with the model they speak for; a bare mention speaks for none."""
    strength = kass_raftery(log_bayes_factor)
    if strength.startswith("not worth"):
        return "bare mention"
    return f"{strength} for {first if log_bayes_factor > 0 else second}"


def compare(rung: str, exact: Mapping[str, Evidence], other: Mapping[str, Evidence]) -> tuple[Flip, ...]:
    """The pairs whose words change, of the models that both have."""
    found = []
    for a, b in combinations([name for name in exact if name in other], 2):
        true = exact[a].value - exact[b].value
        given = other[a].value - other[b].value
        error = hypot(*(e if e == e else 0.0 for e in (other[a].error, other[b].error)))
        said, meant = words(given, a, b), words(true, a, b)
        if said != meant:
            found.append(Flip(rung, a, b, true, given, error, meant, said))
    return tuple(found)


def n_pairs(exact: Mapping[str, Evidence], other: Mapping[str, Evidence]) -> int:
    """Pairs of models that both have."""
    count = sum(name in other for name in exact)
    return count * (count - 1) // 2


def worst_pair(exact: Mapping[str, Evidence], other: Mapping[str, Evidence]) -> tuple[str, str, float]:
    """The pair whose log Bayes factor is farthest from the exact one, and by how many nats."""
    off = {name: other[name].value - exact[name].value for name in exact if name in other}
    high, low = max(off, key=lambda name: off[name]), min(off, key=lambda name: off[name])
    return high, low, off[high] - off[low]
