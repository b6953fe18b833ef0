"""Kernels ranked by the evidence at their best parameters: 5.2, as the papers have it.

The number of a kernel's parameters is not paid for, so that a kernel with many of them looks better than it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..base.progress import tqdm
from ..base.typing import Array
from ..kernels import Kernel
from ..levels.level3 import as_prior_sd, level3_at
from ..levels.objective import Objective
from ..search.refinement import refine_objective
from .ranking import Candidate


def maximised_candidates(
    X: Array,
    y: Array,
    kernels: Sequence[Kernel],
    *,
    refine: bool,
    occam: bool,
    prior_sd: float | tuple[float, float],
    objective: Callable[[Kernel], Objective] | None,
    seed: int,
    progress: bool,
    weights: Array | None = None,
) -> tuple[list[Candidate], bool]:
    """Each kernel at its best parameters, and whether the evidence is Laplace's, with a prior in it.

    `objective` is the evidence of each kernel, such as one with a prior in it; by default that of the papers (5.2).
    """
    papers = Objective(X, y, occam, as_prior_sd(prior_sd), weights=weights)
    candidates, laplace = [], False
    for kernel in tqdm(kernels, desc="comparing kernels", disable=None if progress else True, leave=False):
        own = papers if objective is None else objective(kernel)
        chosen = refine_objective(own, kernel, seed).optima[0] if refine else own.evaluate(kernel)
        level3 = level3_at(chosen.reduction, chosen.level2, prior_sd=prior_sd)
        value = level3.log_evidence if occam else level3.log_evidence_without_occam
        if chosen.posterior is not None:
            value, laplace = chosen.posterior.log_evidence, True
        candidates.append(Candidate(chosen.kernel, value, level3=level3))
    return candidates, laplace
