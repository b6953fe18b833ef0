"""The same objective on fewer points, spread evenly over the targets: where a search on all of them begins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..levels.objective import Objective
from .starts import spread_subset

__all__ = ["SIFTED", "SUBSET", "on_some", "stages", "subset_size"]

SUBSET, SIFTED = 300, 150  # points on which starts are climbed, and those of several parameters sifted
_SHARE = 5  # one point of so many in the subset for one parameter, where these are more
_LAST, _TIMES = 2.0, 2.5  # times as many points from the last stage to all, and from stage to stage
_FIRST = 1.3  # times the subset that a stage has at least


def subset_size(n: int) -> int:
    """How many of N points a search of one parameter begins with: evaluations there cost next to nothing."""
    return max(SUBSET, n // _SHARE)


def on_some(objective: Objective, size: int, rng: np.random.Generator) -> Objective:
    """The objective on `size` points of all."""
    chosen = spread_subset(objective.y, size, rng)
    return objective.at_rows(objective.X[chosen], chosen)


def stages(objective: Objective, subset: int, rng: np.random.Generator) -> Iterator[Objective]:
    """The objective on more and more points than the subset has, up to all."""
    sizes, size = [], len(objective.y) / _LAST
    while size > _FIRST * subset:
        sizes.append(int(size))
        size /= _TIMES
    for count in reversed(sizes):
        yield on_some(objective, count, rng)
    yield objective
