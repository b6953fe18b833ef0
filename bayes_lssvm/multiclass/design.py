"""All members of a code book designed with one kernel: refined by the sum of their evidences, then levels 1 to 3."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.errors import EvidenceDivergenceWarning, InterpolationWarning, NoSignalWarning
from ..base.memory import require_matrices
from ..base.progress import tqdm
from ..base.threads import few_threads
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from .criterion import PapersRule
from .members import Complaint
from .objective import SharedObjective
from .posterior import SharedMember, SharedPosterior
from .search import SharedRefinement, refine_shared
from .tasks import tasks_of

_MATRICES = 6


@dataclass(frozen=True)
class SharedDesign:
    """All members of a code book at one kernel, task by task.

    Attributes
    ----------
    kernel : Kernel
    posteriors : tuple of SharedPosterior
    refinement : SharedRefinement or None
        None where the kernel was given.

    Examples
    --------
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.kernels import RBF
    >>> from bayes_lssvm.multiclass import code_book, design_shared
    >>> iris = load("iris")
    >>> design = design_shared(
    ...     iris.data, iris.target, code_book("ova", 3), RBF(2.0), refine=False, occam=True, prior_sd=(3.0, 3.0)
    ... )
    >>> design.kernel
    RBF(sigma=2.0)
    """

    kernel: Kernel
    posteriors: tuple[SharedPosterior, ...]
    refinement: SharedRefinement | None

    @property
    def members(self) -> list[SharedMember]:
        """The members in the order of the bits."""
        return sorted((m for posterior in self.posteriors for m in posterior.members), key=lambda member: member.bit)

    def outputs(self, X: Array) -> Array:
        """Outputs z of each bit for each row of X, of shape (n, L)."""
        return self._gather([posterior.outputs(X) for posterior in self.posteriors])

    def log_ratios(self, X: Array, moderation: str) -> Array:
        """Log p(x | y=+1) − log p(x | y=−1) of each bit for each row of X, of shape (n, L)."""
        return self._gather([posterior.log_ratios(X, moderation) for posterior in self.posteriors])

    def output_moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of each bit's output for each row of X, each of shape (n, L)."""
        pairs = [posterior.latent_moments(X) for posterior in self.posteriors]
        return self._gather([mean for mean, _ in pairs]), self._gather([variance for _, variance in pairs])

    def complaints(self) -> list[Complaint]:
        """What the binary estimator would have warned of."""
        found = []
        for member in self.members:
            level2 = member.level3_.level2
            if level2.status == "no signal":
                message = (
                    f"No signal: the model explains the targets only {level2.log_gain:.2f} nats better than noise."
                )
                found.append(Complaint(member.bit, NoSignalWarning, message))
            elif level2.status == "interpolation":
                message = (
                    "Interpolation: the evidence keeps growing up to the largest γ that can be computed, "
                    f"{level2.gamma:.3g}."
                )
                found.append(Complaint(member.bit, InterpolationWarning, message))
            elif member.occam and member.level3_.occam_capped:
                message = (
                    f"γ_eff = {level2.gamma_eff:.4g} is so close to 1 or to N = {level2.n} that the evidence "
                    "(5.3) diverges."
                )
                found.append(Complaint(member.bit, EvidenceDivergenceWarning, message))
        return found

    def _gather(self, parts: list[Array]) -> Array:
        bits = [member.bit for posterior in self.posteriors for member in posterior.members]
        return np.hstack(parts)[:, np.argsort(bits)]


@few_threads
def design_shared(
    X: Array,
    labels: AnyArray,
    code: Array,
    kernel: Kernel,
    *,
    weights: Array | None = None,
    refine: bool,
    occam: bool,
    prior_sd: tuple[float, float],
    seed: int = 0,
) -> SharedDesign:
    """Design all members of a code book with one kernel.

    Parameters
    ----------
    X : array of shape (N, d)
        Inputs, standardised as a rule.
    labels : array of int of shape (N,)
        Numbers of the classes, rows of the code book.
    code : array of shape (M, L)
    kernel : Kernel
    weights : array of shape (N,), optional
        Of the points.
    refine : bool
        Whether its parameters go to the maximum of the sum of the members' evidences.
    occam : bool
        Whether these have the Occam factor.
    prior_sd : pair of floats
        Prior widths of log μ and log ζ.
    seed : int
        Chooses subsets in the search.

    Examples
    --------
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.kernels import RBF
    >>> from bayes_lssvm.multiclass import code_book, design_shared
    >>> iris = load("iris")
    >>> design = design_shared(
    ...     iris.data, iris.target, code_book("ova", 3), RBF(2.0), refine=False, occam=True, prior_sd=(3.0, 3.0)
    ... )
    >>> len(design.posteriors), len(design.posteriors[0].members)
    (1, 3)
    """
    tasks = tasks_of(code, labels, weights)
    require_matrices(
        max(len(t.rows) for t in tasks), _MATRICES + len(tasks), 'Design on a random subset, or use coding="ovo".'
    )
    refinement = None
    if refine:
        objective = SharedObjective(X, tasks, PapersRule(occam, prior_sd), weights)
        refinement = refine_shared(kernel, objective, labels, code, seed)
        kernel = refinement.kernel
    bar = tqdm(tasks, desc="members", disable=None if len(tasks) > 1 else True, leave=False)
    posteriors = tuple(SharedPosterior.fit(kernel, X[t.rows], t, occam=occam, prior_sd=prior_sd) for t in bar)
    return SharedDesign(kernel, posteriors, refinement)
