"""One kernel for all members: the sum of their evidences as a function of the kernel's parameters.

Members have μ and ζ of their own, solved anew for every kernel by level 2. They share the kernel's parameters θ:

    F(θ) = Σ_l log p(D_l | μ_l(θ), ζ_l(θ), θ)   (+ Σ_l log Occam factor of 5.2).

Members with the same inputs share one reduction of the kernel matrix. The gradient comes from the eigensystem λ, V of
the centred kernel matrix, where the derivative is a sum over members that costs hardly more than one:

    ∂F/∂Ω = V diag(Σ_l [c_l/(λ + s_l)² − ½/(λ + s_l)]) Vᵀ + Σ_l [a_l α_lα_lᵀ + b_l (α_lβ_lᵀ + β_lα_lᵀ)],

with s = 1/γ, α = Ry, β = Rα, and the coefficients c, a, b of `bayes_lssvm.levels.objective.derivative_coefficients`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.typing import AnyArray, Array
from ..kernels import Kernel, check_positive_semidefinite
from ..levels.level2 import Level2, optimise, optimise_all
from ..levels.level3 import log_occam, occam_slope
from ..levels.objective import BOUNDARY_MARGIN, derivative_coefficients
from ..linalg.repeats import spectrum_of
from ..linalg.spectrum import CentredSpectrum, TridiagonalReduction


@dataclass(frozen=True)
class Task:
    """Members that are trained on the same points.

    Attributes
    ----------
    bits : tuple of int
        Columns of the code book.
    rows : array of int of shape (n,)
        Their training points.
    targets : array of shape (n, B)
        ±1.
    weights : array of shape (n,) or None
        Of the points.
    """

    bits: tuple[int, ...]
    rows: AnyArray
    targets: Array
    weights: Array | None = None


def tasks_of(code: Array, labels: AnyArray, weights: Array | None = None, *, whole: bool = True) -> tuple[Task, ...]:
    """The members of a code book for the numbers of the classes, of shape (N,), grouped by their training points.

    With `whole=False`, bits for which one side or the third point is missing, as in a subset, are left out.
    """
    by_classes: dict[bytes, list[int]] = {}
    for bit, column in enumerate(code.T):
        by_classes.setdefault((column != 0).tobytes(), []).append(bit)
    found = []
    for bits in by_classes.values():
        rows = np.flatnonzero(code[labels, bits[0]] != 0)
        targets = code[np.ix_(labels[rows], np.array(bits))]
        if not whole:
            two_sided = (np.abs(targets.sum(axis=0)) < len(rows)) & (len(rows) >= 3)
            bits, targets = [b for b, kept in zip(bits, two_sided, strict=True) if kept], targets[:, two_sided]
        if bits:
            found.append(Task(tuple(bits), rows, targets, None if weights is None else weights[rows]))
    return tuple(found)


@dataclass(frozen=True)
class SharedObjective:
    """F(θ) on given data.

    Parameters
    ----------
    X : array of shape (N, d)
    tasks : tuple of Task
    occam : bool
    prior_sd : pair of floats
        Prior widths of log μ and log ζ.
    weights : array of shape (N,), optional
        Those of the tasks, for all points.
    """

    X: Array
    tasks: tuple[Task, ...]
    occam: bool
    prior_sd: tuple[float, float]
    weights: Array | None = None

    @property
    def n_members(self) -> int:
        """Number of members."""
        return sum(len(task.bits) for task in self.tasks)

    def rank(self, kernel: Kernel) -> float:
        """F with `BOUNDARY_MARGIN` taken off for each member whose γ has no mode; one reduction for each task."""
        total = 0.0
        for task in self.tasks:
            K = kernel(self.X[task.rows])
            check_positive_semidefinite(kernel, K)
            for result in optimise_all(TridiagonalReduction.from_kernel_matrix(K, task.targets, task.weights)):
                total += self._value(result) - (BOUNDARY_MARGIN if result.at_boundary else 0.0)
        return total

    def _value(self, result: Level2) -> float:
        return result.log_evidence + (log_occam(result, self.prior_sd).total if self.occam else 0.0)

    def value_and_gradient(self, kernel: Kernel) -> tuple[float, Array]:
        """F and its gradient in the kernel's log parameters; one eigendecomposition for each task."""
        value, gradient = 0.0, np.zeros(kernel.log_params.size)
        for task in self.tasks:
            X = self.X[task.rows]
            K = kernel(X)
            check_positive_semidefinite(kernel, K)
            spectrum = spectrum_of(K, X, task.targets[:, 0], task.weights)
            members = [spectrum.with_targets(y) for y in task.targets.T]
            results = [optimise(member) for member in members]
            value += sum(map(self._value, results))
            T = np.stack([member.t for member in members], axis=1)  # [N-1, B]
            gradient += kernel.contract(X, self._derivative_in_kernel_matrix(spectrum, T, results), K)
        return value, gradient

    def _derivative_in_kernel_matrix(self, spectrum: CentredSpectrum, T: Array, results: list[Level2]) -> Array:
        """W = ∂F/∂Ω of shape (N, N) for the members of one task."""
        n, s = spectrum.n, np.array([1.0 / r.gamma for r in results])
        inverse = 1.0 / (spectrum.eigenvalues[:, None] + s)  # [N-1, B]
        q1, q2, q3 = ((T**2 * inverse**k).sum(axis=0) for k in (1, 2, 3))
        tr1, tr2 = inverse.sum(axis=0), (inverse**2).sum(axis=0)
        slope = np.array([occam_slope(r, self.prior_sd) if self.occam else 0.0 for r in results])
        still = np.array([r.at_boundary for r in results])
        c = derivative_coefficients(n, s, slope, (q1, q2, q3), (tr1, tr2), still=still)
        diagonal = (-0.5 * inverse + c.square * inverse**2).sum(axis=1)
        V = spectrum.vectors
        alpha, beta = V @ (T * inverse), V @ (T * inverse**2)  # [N, B]
        cross = (alpha * (0.5 * c.own) + beta * c.mixed) @ alpha.T
        return np.asarray((V * diagonal) @ V.T + cross + cross.T)
