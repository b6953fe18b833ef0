"""The evidence of several outputs with one kernel: the sum of theirs, as a function of the kernel's parameters.

Each output l has targets y_l, and μ_l and ζ_l of its own, solved anew for every kernel by level 2 with its prior. They
share the kernel's parameters θ, whose prior counts once:

    F(θ) = Σ_l log p(D_l | θ) + log p(log θ),

log p(D_l | θ) by Laplace's method in (log μ_l, log ζ_l) (`levels.level2_posterior`). One reduction of the kernel matrix
serves all outputs. The gradient has a factor for each, as each has its own γ; the derivatives in the kernel matrix are
added before they are contracted to those in θ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base.typing import AnyArray, Array
from ..kernels import Kernel, check_positive_semidefinite
from ..linalg.one_target import OneTarget
from ..linalg.spectrum import TridiagonalReduction
from ..priors import HyperPrior
from .level2_posterior import Level2Posterior, most_probable
from .objective import Evaluation, Objective


@dataclass(frozen=True, kw_only=True)
class OutputsObjective(Objective):
    """F(θ) on given data; `y` is the first output, by which rows are put in order and subsets are spread.

    Parameters
    ----------
    outputs : array of shape (N, L)
    priors : tuple of HyperPrior
        One for each output; their parts for the kernel's parameters are those of `prior`.
    """

    outputs: Array
    priors: tuple[HyperPrior, ...]

    @classmethod
    def of(cls, X: Array, outputs: Array, priors: tuple[HyperPrior, ...], weights: Array | None = None) -> Objective:
        """For inputs X of shape (N, d) and outputs of shape (N, L)."""
        return cls(X, outputs[:, 0], prior=priors[0], weights=weights, outputs=outputs, priors=priors)

    def at_rows(self, X: Array, rows: AnyArray, sign: float = 1.0) -> Objective:
        return replace(super().at_rows(X, rows, sign), outputs=sign * self.outputs[rows])  # type: ignore[call-arg]

    def evaluate(self, kernel: Kernel, *, gradient: bool = False) -> Evaluation:
        K = kernel(self.X)
        check_positive_semidefinite(kernel, K)
        reduction = TridiagonalReduction.from_kernel_matrix(K, self.outputs, self.weights)
        own = [prior.components(len(kernel.log_params))[:2] for prior in self.priors]
        found = [most_probable(OneTarget.of(reduction, k), *parts) for k, parts in enumerate(own)]
        assert self.prior is not None
        parts = list(zip(self.prior.components(len(kernel.log_params))[2:], kernel.log_params, strict=True))
        value = sum(each.log_evidence for each in found) + sum(float(part.log_density(x)) for part, x in parts)
        slope = None
        if gradient:
            W = np.zeros_like(K)
            for each, y, prior in zip(found, self.outputs.T, own, strict=True):
                alone = Objective(self.X, y, prior=self.prior, weights=self.weights)
                W += alone.laplace_derivative(K, each, (prior[0], prior[1]))
            slope = kernel.contract(self.X, W, K) + np.array([float(part.gradient(x)) for part, x in parts])
        return Evaluation(kernel, value, found[0].level2, reduction, slope, posterior=_together(found))


def _together(found: list[Level2Posterior]) -> Level2Posterior:
    """What a search asks of them: the evidence of all, and whether each has a mode."""
    log_evidence, has_mode = sum(each.log_evidence for each in found), all(each.has_mode for each in found)
    return replace(found[0], log_evidence=log_evidence, has_mode=has_mode)
