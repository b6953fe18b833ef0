"""What members that share a kernel are judged by: the papers' rule, or Laplace's evidence with a prior for each member.

The papers' rule takes μ and ζ at the mode of the evidence, with the Occam factor of 5.2 or without it. Labels ±1 that a
kernel can interpolate look to it like targets without noise, and with many scales to choose there mostly is such a
kernel. A prior of ζ that has seen one wrong label rules that out (`levels.default_prior`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from ..base.typing import Array
from ..base.weights import weighted_mean
from ..kernels import Kernel
from ..levels.default_prior import prior_of_labels
from ..levels.level2 import Level2, optimise, optimise_all
from ..levels.level2_posterior import LaplaceDerivative, laplace_derivative, most_probable
from ..levels.level3 import log_occam, occam_slope
from ..levels.objective import BOUNDARY_MARGIN, derivative_coefficients
from ..linalg.spectrum import CentredSpectrum, TridiagonalReduction
from ..priors import HyperPrior, LogPrior, within_support
from ..search.order import OrderedSearch
from .tasks import Task


class Judged(NamedTuple):
    """The members of one task at one kernel.

    Attributes
    ----------
    value : float
        Their sum.
    noise : array of shape (B,)
        s = 1/γ of each.
    derivatives : list of LaplaceDerivative
        How each changes with the kernel matrix.
    """

    value: float
    noise: Array
    derivatives: list[LaplaceDerivative]


class Criterion(Protocol):
    """The criterion of a shared kernel."""

    def ordered(self, search: OrderedSearch) -> Criterion:
        """The same for kernels whose parameters stand in the order of a search."""

    def bounds(self, kernel: Kernel, X: Array) -> Array:
        """The box of the kernel's log parameters, of shape (P, 2)."""

    def of_kernel(self, kernel: Kernel) -> tuple[float, Array]:
        """Log prior density of the kernel's parameters, and its gradient."""

    def rank(self, kernel: Kernel, reduction: TridiagonalReduction, task: Task) -> float:
        """Sum over the members of a task, less `BOUNDARY_MARGIN` for each that has no mode."""

    def judge(self, kernel: Kernel, members: Sequence[CentredSpectrum], task: Task) -> Judged:
        """Sum over the members of a task, from the same spectrum with the targets of each, and its derivatives."""


@dataclass(frozen=True)
class PapersRule:
    """log p(D | μ_MP, ζ_MP), with the Occam factor of 5.2 and these prior widths of log μ and log ζ or without it."""

    occam: bool
    prior_sd: tuple[float, float]

    def ordered(self, search: OrderedSearch) -> PapersRule:
        return self

    def bounds(self, kernel: Kernel, X: Array) -> Array:
        return kernel.log_bounds(X)

    def of_kernel(self, kernel: Kernel) -> tuple[float, Array]:
        return 0.0, np.zeros(kernel.log_params.size)

    def rank(self, kernel: Kernel, reduction: TridiagonalReduction, task: Task) -> float:
        return sum(
            self._value(result) - (BOUNDARY_MARGIN if result.at_boundary else 0.0) for result in optimise_all(reduction)
        )

    def judge(self, kernel: Kernel, members: Sequence[CentredSpectrum], task: Task) -> Judged:
        results = [optimise(member) for member in members]
        s = np.array([1.0 / result.gamma for result in results])
        q, tr = _powers(members, s, 3, 2)
        slope = np.array([occam_slope(result, self.prior_sd) if self.occam else 0.0 for result in results])
        still = np.array([result.at_boundary for result in results])
        c = derivative_coefficients(members[0].n, s, slope, (q[0], q[1], q[2]), (tr[0], tr[1]), still=still)
        each = zip(c.square.tolist(), c.own.tolist(), c.mixed.tolist(), strict=True)
        forms = [LaplaceDerivative(square, 0.0, own, mixed, 0.0) for square, own, mixed in each]
        return Judged(sum(map(self._value, results)), s, forms)

    def _value(self, result: Level2) -> float:
        return result.log_evidence + (log_occam(result, self.prior_sd).total if self.occam else 0.0)


@dataclass(frozen=True)
class WithPriors:
    """Laplace's evidence with a prior of log μ and log ζ for each member, times that of the kernel's parameters, once.

    Attributes
    ----------
    n_inputs : int
    given : HyperPrior or None
        Of every member; the default one for its labels otherwise.
    """

    n_inputs: int
    given: HyperPrior | None = None

    def ordered(self, search: OrderedSearch) -> WithPriors:
        return replace(self, given=search.prior(self.given))

    def bounds(self, kernel: Kernel, X: Array) -> Array:
        return within_support(kernel.log_bounds(X), self._prior(kernel, 0.5))

    def _prior(self, kernel: Kernel, plus: float) -> HyperPrior:
        return self.given or prior_of_labels(kernel, np.empty((0, self.n_inputs)), plus)

    def _of(self, kernel: Kernel, task: Task) -> list[tuple[LogPrior, LogPrior]]:
        """Those of log μ and log ζ of each member."""
        shares = np.atleast_1d(weighted_mean(task.targets > 0, task.weights)).tolist()
        priors = [self._prior(kernel, share) for share in shares]
        return [(prior.mu, prior.zeta) for prior in priors]

    def of_kernel(self, kernel: Kernel) -> tuple[float, Array]:
        prior = self._prior(kernel, 0.5)
        at = list(zip(prior.components(kernel.log_params.size)[2:], kernel.log_params, strict=True))
        value = sum(float(part.log_density(x)) for part, x in at)
        return value, np.array([float(part.gradient(x)) for part, x in at])

    def rank(self, kernel: Kernel, reduction: TridiagonalReduction, task: Task) -> float:
        total = 0.0
        for k, priors in enumerate(self._of(kernel, task)):
            found = most_probable(reduction.alone(k), *priors)
            total += found.log_evidence - (0.0 if found.has_mode else BOUNDARY_MARGIN)
        return total

    def judge(self, kernel: Kernel, members: Sequence[CentredSpectrum], task: Task) -> Judged:
        own = self._of(kernel, task)
        found = [most_probable(member, *priors) for member, priors in zip(members, own, strict=True)]
        s = np.array([1.0 / each.level2.gamma for each in found])
        q, tr = _powers(members, s, 4, 3)
        forms = [
            laplace_derivative(each, priors, q[:, k].tolist(), tr[:, k].tolist())
            for k, (each, priors) in enumerate(zip(found, own, strict=True))
        ]
        return Judged(sum(each.log_evidence for each in found), s, forms)


def _powers(members: Sequence[CentredSpectrum], s: Array, most_q: int, most_tr: int) -> tuple[Array, Array]:
    """q_1 … and tr_1 … of each member, of shapes (most_q, B) and (most_tr, B)."""
    inverse = 1.0 / (members[0].eigenvalues[:, None] + s)  # [N-1, B]
    t2 = np.square([member.t for member in members]).T
    q = np.array([(t2 * inverse**k).sum(axis=0) for k in range(1, most_q + 1)])
    return q, np.array([(inverse**k).sum(axis=0) for k in range(1, most_tr + 1)])
