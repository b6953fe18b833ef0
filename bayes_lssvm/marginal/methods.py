"""The rungs of the ladder by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .by_gaussian import by_laplace
from .draws.posteriors import by_importance, by_nuts
from .posterior import HyperPosterior
from .rules.posteriors import by_design, by_mackay, by_quadrature
from .task import Task

METHODS: dict[str, Callable[[Task, dict[str, Any]], HyperPosterior]] = {
    "quadrature": by_quadrature,
    "mackay": by_mackay,
    "laplace": by_laplace,
    "importance": by_importance,
    "ccd": by_design,
    "nuts": by_nuts,
}
