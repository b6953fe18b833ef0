"""One kernel for all members: the sum of their evidences as a function of the kernel's parameters.

Members have μ and ζ of their own, solved anew for every kernel by level 2. They share the kernel's parameters θ:

    F(θ) = Σ_l log p(D_l | μ_l(θ), ζ_l(θ), θ)   (+ Σ_l log Occam factor of 5.2),

or, with priors, the sum of their Laplace evidences, and the log prior density of θ (`criterion`).

Members with the same inputs share one reduction of the kernel matrix. The gradient comes from the eigensystem λ, V of
the centred kernel matrix, where the derivative is a sum over members that costs hardly more than one:

    ∂F/∂Ω = V diag(Σ_l [c_l/(λ + s_l)² + d_l/(λ + s_l)³ − ½/(λ + s_l)]) Vᵀ
            + Σ_l [a_l α_lα_lᵀ + b_l (α_lβ_lᵀ + β_lα_lᵀ) + e_l (α_lη_lᵀ + η_lα_lᵀ + β_lβ_lᵀ)],

with s = 1/γ, α = Ry, β = Rα, η = Rβ, and the coefficients c, d, a, b, e of `levels.level2_posterior`; d and e are zero
for the papers' rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.typing import Array
from ..kernels import Kernel, check_positive_semidefinite
from ..linalg.repeats import spectrum_of
from ..linalg.spectrum import CentredSpectrum, TridiagonalReduction
from .criterion import Criterion, Judged
from .tasks import Task


@dataclass(frozen=True)
class SharedObjective:
    """F(θ) on given data.

    Parameters
    ----------
    X : array of shape (N, d)
    tasks : tuple of Task
    criterion : Criterion
    weights : array of shape (N,), optional
        Those of the tasks, for all points.
    """

    X: Array
    tasks: tuple[Task, ...]
    criterion: Criterion
    weights: Array | None = None

    @property
    def n_members(self) -> int:
        """Number of members."""
        return sum(len(task.bits) for task in self.tasks)

    def rank(self, kernel: Kernel) -> float:
        """F with `BOUNDARY_MARGIN` taken off for each member that has no mode; one reduction for each task."""
        total = self.criterion.of_kernel(kernel)[0]
        for task in self.tasks:
            K = kernel(self.X[task.rows])
            check_positive_semidefinite(kernel, K)
            targets = task.targets if len(task.bits) > 1 else task.targets[:, 0]
            reduction = TridiagonalReduction.from_kernel_matrix(K, targets, task.weights)
            total += self.criterion.rank(kernel, reduction, task)
        return total

    def value_and_gradient(self, kernel: Kernel) -> tuple[float, Array]:
        """F and its gradient in the kernel's log parameters; one eigendecomposition for each task."""
        value, gradient = self.criterion.of_kernel(kernel)
        for task in self.tasks:
            X = self.X[task.rows]
            K = kernel(X)
            check_positive_semidefinite(kernel, K)
            spectrum = spectrum_of(K, X, task.targets[:, 0], task.weights)
            members = [spectrum.with_targets(y) for y in task.targets.T]
            judged = self.criterion.judge(kernel, members, task)
            value += judged.value
            T = np.stack([member.t for member in members], axis=1)  # [N-1, B]
            gradient = gradient + kernel.contract(X, _derivative_in_kernel_matrix(spectrum, T, judged), K)
        return value, gradient


def _derivative_in_kernel_matrix(spectrum: CentredSpectrum, T: Array, judged: Judged) -> Array:
    """W = ∂F/∂Ω of shape (N, N) for the members of one task, whose Vᵀy are the columns of T."""
    inverse, V = 1.0 / (spectrum.eigenvalues[:, None] + judged.noise), spectrum.vectors  # [N-1, B]
    square, cube, own, mixed, far = np.array(judged.derivatives).T  # [B]
    diagonal = (-0.5 * inverse + square * inverse**2 + cube * inverse**3).sum(axis=1)
    alpha, beta, eta = (V @ (T * inverse**k) for k in (1, 2, 3))  # [N, B]
    half = (alpha * (0.5 * own) + beta * mixed + eta * far) @ alpha.T + (beta * (0.5 * far)) @ beta.T
    return np.asarray((V * diagonal) @ V.T + half + half.T)
