"""The evidence of a structure of kernels, its parameters climbed and then integrated out by Laplace's method.

    log p(D | S) ≃ log p(D, θ̂ | S) + ½P log 2π − ½ log det A,      A = −∇² log p(D, θ̂ | S)

over the P log parameters θ of the kernel, with μ and ζ integrated out by Laplace's method before (`levels.objective`)
and every parameter under its default prior. A is taken by differences of the gradient, and nowhere flatter than the
prior. A structure that grew out of another starts from its parameters, and from usual ones, with those of the new part
at each of its starting points.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..base.typing import Array
from ..kernels import Kernel, Periodic
from ..levels.default_prior import default_prior
from ..levels.objective import Evaluation, Objective
from .climb import Stop, climb
from .starts import rank_or_nothing, spread_subset
from .structure import Move, Part, Structure, bare
from .volume import bounded_gaussian

__all__ = ["BudgetSpentError", "Growth", "Scored"]

_SIFTED = 150  # points on which starts are sifted
_KEPT = 6  # starts that are tried with usual parameters of the other parts too
# How many starts are climbed from, how many nats they may be behind the best, and how far apart they are: a period has
# a narrow peak of its own, of which a start may see only the foot.
_CLIMBS, _BEHIND = 2, 2.0
_CLIMBS_OF_PERIODS, _BEHIND_OF_PERIODS = 3, 45.0
_APART = 0.15
_HOPELESS = 100.0  # nats of the best start behind the best structure
_CLIMB = Stop(1e-6, 2e-2, 50)
_STEP = 1e-3


class BudgetSpentError(RuntimeError):
    """No evaluations are left."""


@dataclass(frozen=True)
class Scored:
    """A structure at its most probable parameters, with its evidence.

    Attributes
    ----------
    structure : Structure
    log_evidence : float
        log p(D | S), the kernel's parameters integrated out by Laplace's method.
    """

    structure: Structure
    log_evidence: float


@dataclass
class Growth:
    """Evidence of structures on given data, within a budget.

    Parameters
    ----------
    X : array of shape (N, d)
        Standardised.
    y : array of shape (N,)
        ±1 or real targets.
    classes : bool
        Whether the targets are labels.
    budget : int
        Evaluations of the evidence of one kernel, with or without a gradient.
    seed : int
        Chooses the points on which starts are sifted, where there are many.
    weights : array of shape (N,), optional
        Row i has the noise precision ζw_i.
    """

    X: Array
    y: Array
    classes: bool
    budget: int
    seed: int = 0
    weights: Array | None = None
    spent: int = field(init=False, default=0)
    _few: tuple[Array, Array, Array | None] = field(init=False, repr=False)
    _promising: dict[str, Array] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._few = (self.X, self.y, self.weights)
        if len(self.y) > 2 * _SIFTED:
            rows = spread_subset(self.y, _SIFTED, np.random.default_rng(self.seed))
            self._few = (self.X[rows], self.y[rows], None if self.weights is None else self.weights[rows])

    def score(self, move: Move, best_so_far: float = -np.inf) -> Scored:
        """The best of a move's variants; the choice among them is paid for.

        One whose best start is hopelessly behind the best structure so far is not climbed, and has that start's value.
        """
        starts = [(variant, *start) for variant in move.variants for start in self._starts(variant, move.fresh)]
        starts.sort(key=lambda start: -start[2])
        variant, x, top = starts[0]
        if top < best_so_far - _HOPELESS and len(self._few[1]) == len(self.y):
            return Scored(variant.with_log_params(x), top)
        climbed = [self._climbed(variant, x) for variant, x, _ in _worth_climbing(starts)]
        best = max(climbed, key=lambda scored: scored.log_evidence)
        return replace(best, log_evidence=best.log_evidence - float(np.log(len(move.variants))))

    def _evaluate(self, kernel: Kernel, *, gradient: bool, few: bool = False) -> Evaluation:
        if self.spent >= self.budget:
            raise BudgetSpentError
        self.spent += 1
        X, y, weights = self._few if few else (self.X, self.y, self.weights)
        prior = default_prior(kernel, self.X, self.y, classes=self.classes, weights=self.weights)
        return Objective(X, y, prior=prior, weights=weights).evaluate(kernel, gradient=gradient)

    def _starts(self, structure: Structure, fresh: tuple[int, int] | None) -> list[tuple[Array, float]]:
        """Starts in log parameters with their promise, the best first."""
        kernel, usual = structure.kernel, structure.usual().kernel.log_params
        box = kernel.log_bounds(self.X)
        if fresh is None:
            found = self._sifted(kernel, np.stack([kernel.log_params, usual]), box)
        else:
            place, new = structure.place(fresh), self._fresh(structure, fresh)
            found = self._sifted(kernel, _with(kernel.log_params, place, new), box)[:_KEPT]
            best = np.stack([x for x, _ in found])[:, place]
            if _is_term(structure, fresh):
                self._promising[structure.terms[fresh[0]][fresh[1]].base.name] = best
            found = found + self._sifted(kernel, _with(usual, place, best), box)
        top = max(found, key=lambda start: start[1])[0]
        for at, part in _places(structure):
            if at != fresh and isinstance(bare(part.kernel), Periodic):
                # the period may have been a harmonic until now; beside a new term all periods are tried again
                name, place = part.base.name, structure.place(at)
                scan = fresh is not None and _is_term(structure, fresh)
                rows = part.kernel.starting_points(self.X) if scan else self._promising.get(name, np.empty((0, 2)))
                more = self._sifted(kernel, _with(top, place, rows), box)[:_KEPT]
                if scan:
                    self._promising[name] = np.stack([x for x, _ in more])[:, place]
                found = found + more
        return sorted(found, key=lambda start: -start[1])

    def _fresh(self, structure: Structure, fresh: tuple[int, int]) -> Array:
        """Starts of a new part: what promised most as a term of its own, so that periods are not scanned each time."""
        part = structure.terms[fresh[0]][fresh[1]]
        if not _is_term(structure, fresh) and part.base.name in self._promising:
            return self._promising[part.base.name]
        return part.kernel.starting_points(self.X)

    def _sifted(self, kernel: Kernel, rows: Array, box: Array) -> list[tuple[Array, float]]:
        rows = np.unique(np.clip(rows, box[:, 0], box[:, 1]), axis=0)

        def rank(candidate: Kernel) -> float:
            return self._evaluate(candidate, gradient=False, few=True).rank

        ranks = [rank_or_nothing(rank, kernel.with_log_params(x)) for x in rows]
        return [(rows[k], ranks[k]) for k in np.argsort(-np.array(ranks), kind="stable")]

    def _climbed(self, structure: Structure, start: Array) -> Scored:
        kernel = structure.kernel

        def density(x: Array) -> tuple[float, Array]:
            found = self._evaluate(kernel.with_log_params(x), gradient=True)
            assert found.gradient is not None
            return found.value, found.gradient

        if not len(start):
            return Scored(structure, density(start)[0])
        end = climb(density, start, kernel.log_bounds(self.X), _CLIMB)
        slope = density(end.position)[1]
        precision = [slope - density(end.position + step)[1] for step in _STEP * np.eye(len(start))]
        _, volume = bounded_gaussian(np.stack(precision) / _STEP, kernel.log_prior(self.X)[:, 1])
        return Scored(structure.with_log_params(end.position), end.value + volume)


def _worth_climbing(starts: list[tuple[Structure, Array, float]]) -> list[tuple[Structure, Array, float]]:
    """The best starts that differ, from a list with the best first."""
    periodic = any(isinstance(bare(part.kernel), Periodic) for _, part in _places(starts[0][0]))
    most, behind = (_CLIMBS_OF_PERIODS, _BEHIND_OF_PERIODS) if periodic else (_CLIMBS, _BEHIND)
    close = [start for start in starts if start[2] >= starts[0][2] - behind]
    kept: list[tuple[Structure, Array, float]] = []
    for start in close:
        if all(np.abs(start[1] - other[1]).max(initial=0.0) > _APART or start[0] != other[0] for other in kept):
            kept.append(start)
    return kept[:most]


def _is_term(structure: Structure, at: tuple[int, int]) -> bool:
    """Whether a part is the last term, alone."""
    return at == (len(structure.terms) - 1, 0) and len(structure.terms[-1]) == 1


def _places(structure: Structure) -> list[tuple[tuple[int, int], Part]]:
    return [((i, j), part) for i, term in enumerate(structure.terms) for j, part in enumerate(term)]


def _with(x: Array, place: slice, values: Array) -> Array:
    """Copies of x with each of the values of shape (S, p) in that place."""
    rows = np.tile(x, (len(values), 1))
    rows[:, place] = values
    return rows
