"""The cells of the map: what was measured on their sets, and from which N on it is good enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.trust import LIMITS
from validation.harness import StudyResult

ENOUGH = 0.9  # share of the sets that must be good
METHODS = {"mackay": "MacKay (5.2)", "hessian": "Hessian", "laplace": "Laplace"}
NATS = LIMITS["evidence"][0]


@dataclass(frozen=True)
class Spot:
    """A cell of the map: its place and what was measured on its sets, as columns of shape (sets,)."""

    n: int
    d: int
    sigma: float
    assumed_sigma: float
    snr: float
    sets: dict[str, list[Any]]

    @property
    def mistaken(self) -> bool:
        """Whether the fit has another width than the truth."""
        return self.assumed_sigma != self.sigma

    def column(self, name: str) -> Array:
        """A measured quantity; nan where a set has none."""
        return np.array([np.nan if value is None else value for value in self.sets[name]], dtype=float)

    def share(self, good: AnyArray) -> float:
        """Share of the sets that are good."""
        return float(np.mean(good))

    @property
    def trusted(self) -> float:
        """Share of the sets on which every check is good."""
        return self.share(self.column("trusted") == 1.0)

    def within(self, method: str) -> float:
        """Share of the sets whose evidence is within half a nat; no answer is not within."""
        return self.share(np.abs(self.column(method)) <= NATS)


Share = Callable[[Spot], float]


def spots_of(result: StudyResult) -> list[Spot]:
    """The map's cells that were computed."""
    places = ("n", "d", "sigma", "assumed_sigma", "snr")
    return [
        Spot(**{name: f.cell.settings[name] for name in places}, sets=f.values["sets"])
        for f in result.cells
        if f.error is None
    ]


def problems_of(spots: Sequence[Spot]) -> dict[str, list[Spot]]:
    """Spots by dimension and width, under the name that the page gives them."""
    found: dict[str, list[Spot]] = {}
    for spot in spots:
        width = f"σ = {spot.sigma:.3g}"
        if spot.mistaken:
            width = f"true {width}, fitted with σ = {spot.assumed_sigma:.3g}"
        found.setdefault(f"d = {spot.d}, {width}", []).append(spot)
    return found


def thresholds(spots: Sequence[Spot], share: Share) -> dict[float, int | None]:
    """For each signal-to-noise ratio the N from which on the share is large enough; None where there is none."""
    found: dict[float, int | None] = {}
    for snr in sorted({spot.snr for spot in spots}):
        found[snr] = None
        for spot in sorted((s for s in spots if s.snr == snr), key=lambda s: -s.n):
            if share(spot) < ENOUGH:
                break
            found[snr] = spot.n
    return found


def median(values: Array) -> float:
    """Median of what there is, where at least half of the sets have a value."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if 2 * len(known) >= len(values) and len(known) else float("nan")
