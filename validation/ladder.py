"""What the studies of the ladder share: prior, rows, a width to start from, and a bound on disagreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayes_lssvm.base.checks import Check
from bayes_lssvm.base.errors import quiet
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.priors import HyperPrior, Normal
from bayes_lssvm.search.refinement import refine
from bayes_lssvm.search.starts import spread_subset
from bayes_lssvm.trust import Ladder, ladder

PRIOR = HyperPrior(Normal(0.0, 3.0), Normal(0.0, 3.0), Normal(0.0, 1.0))
"""log μ, log ζ ~ Normal(0, 3²), log parameters of a kernel ~ Normal(0, 1), on every rung; inputs are standardised."""
DISAGREEMENT = 4.0
"""In standard errors. A page of a hundred figures has one beyond 3 every fourth time, and one beyond 4 hardly ever."""
SENSIBLE_WIDTHS = (0.1, 8.0)  # times the square root of the number of inputs

IMPORTANCE_DRAWS = 4000


def ladder_at(sigma: float, X: Array, y: Array, rungs: Sequence[str], seed: int) -> Ladder:
    """The ladder at one width; its warnings are the studies' results, and come back as numbers."""
    options: dict[str, Any] = {"fixed_kernel": True, "draws": IMPORTANCE_DRAWS, "seed": seed, "progress": False}
    with quiet():
        return ladder(X, y, kernel=RBF(sigma), prior=PRIOR, rungs=rungs, **options)


def spread_rows(X: Array, y: Array, most: int | None, seed: int = 0) -> tuple[Array, Array]:
    """All rows, or so many of them, spread evenly over the targets: the same ones in every cell."""
    if most is None or most >= len(y):
        return X, y
    chosen = spread_subset(y, most, np.random.default_rng(seed))
    return X[chosen], y[chosen]


def best_width(X: Array, y: Array) -> float:
    """σ at the maximum of 5.2, to four figures: the last ones differ between computers, and cells are known by them.

    Without signal, or with a linear one, the evidence has no maximum; the nearest end of what is a width for
    standardised inputs stands in for it, and a warning about the search would say nothing of what is computed.
    """
    with quiet():
        kernel = refine(RBF(1.0), X, y, occam=True).kernel
    assert isinstance(kernel, RBF)
    return four_figures(float(np.clip(kernel.sigma, *sensible_widths(X.shape[1]))))


def sensible_widths(d: int) -> tuple[float, float]:
    """The narrowest and the widest kernel for d standardised inputs."""
    return SENSIBLE_WIDTHS[0] * float(np.sqrt(d)), SENSIBLE_WIDTHS[1] * float(np.sqrt(d))


def four_figures(value: float) -> float:
    """The number rounded to four figures."""
    return float(f"{value:.4g}")


def distance_check(z: float, what: str) -> Check:
    """Whether something is `z` of its standard errors from quadrature, and no more than chance allows."""
    sentence = f"{what} is {abs(z):.1f} Monte-Carlo standard errors from quadrature (at most {DISAGREEMENT:g})."
    return Check("distance from quadrature", abs(z), DISAGREEMENT, bool(abs(z) <= DISAGREEMENT), sentence)
