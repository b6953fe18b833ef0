"""One kernel for all members: the sum of their evidences as a function of the kernel's parameters.

Members have μ and ζ of their own, solved anew for every kernel by level 2. They share the kernel's parameters θ:

    F(θ) = Σ_l log p(D_l | μ_l(θ), ζ_l(θ), θ)   (+ Σ_l log Occam factor of 5.2).

Members with the same inputs share one reduction of the kernel matrix. The gradient comes from the eigensystem λ, V of
the centred kernel matrix, where the derivative is a sum over members that costs hardly more than one:

    ∂F/∂Ω = V diag(Σ_l [(ω_l s_l − κ_l)/(λ + s_l)² − ½/(λ + s_l)]) Vᵀ + Σ_l [a_l α_lα_lᵀ + b_l (α_lβ_lᵀ + β_lα_lᵀ)],

with s = 1/γ, α = Ry, β = Rα, and the coefficients of `bayes_lssvm.levels.objective`, where one member is derived.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.typing import AnyArray, Array
from ..kernels import Kernel, check_positive_semidefinite
from ..levels.level2 import Level2, optimise
from ..levels.level3 import log_occam, mackay_error_bars
from ..levels.objective import BOUNDARY_MARGIN
from ..linalg.spectrum import CentredSpectrum
from .reduction import SharedReduction, optimise_all


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
    """

    bits: tuple[int, ...]
    rows: AnyArray
    targets: Array


def tasks_of(code: Array, labels: AnyArray, *, whole: bool = True) -> tuple[Task, ...]:
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
            found.append(Task(tuple(bits), rows, targets))
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
    """

    X: Array
    tasks: tuple[Task, ...]
    occam: bool
    prior_sd: tuple[float, float]

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
            found = optimise_all(SharedReduction.from_kernel_matrix(K, task.targets), tolerance=1e-6)
            total += float(found.log_evidence.sum()) - BOUNDARY_MARGIN * int(found.at_boundary.sum())
            if self.occam:
                total += float(self._log_occam(found.d_eff, len(K)).sum())
        return total

    def _log_occam(self, d_eff: Array, n: int) -> Array:
        """Log of the Occam factor of 5.2 for each member, no error bar wider than the prior (see level 3)."""
        with np.errstate(divide="ignore"):
            counts = np.stack([d_eff, np.maximum(n - 1.0 - d_eff, 0.0)])
            logs = 0.5 * np.log(2.0 / counts) - np.log(np.array(self.prior_sd))[:, None]
        return np.asarray(np.minimum(logs, 0.0).sum(axis=0))

    def value_and_gradient(self, kernel: Kernel) -> tuple[float, Array]:
        """F and its gradient in the kernel's log parameters; one eigendecomposition for each task."""
        value, gradient = 0.0, np.zeros(kernel.log_params.size)
        for task in self.tasks:
            X = self.X[task.rows]
            K = kernel(X)
            check_positive_semidefinite(kernel, K)
            spectrum = CentredSpectrum.from_kernel_matrix(K, task.targets[:, 0])
            members = [spectrum.with_targets(y) for y in task.targets.T]
            results = [optimise(member) for member in members]
            value += sum(r.log_evidence + (log_occam(r, self.prior_sd).total if self.occam else 0.0) for r in results)
            T = np.stack([member.t for member in members], axis=1)  # [N-1, B]
            gradient += kernel.contract(X, self._derivative_in_kernel_matrix(spectrum, T, results), K)
        return value, gradient

    def _derivative_in_kernel_matrix(self, spectrum: CentredSpectrum, T: Array, results: list[Level2]) -> Array:
        """W = ∂F/∂Ω of shape (N, N) for the members of one task."""
        n, s = spectrum.n, np.array([1.0 / r.gamma for r in results])
        inverse = 1.0 / (spectrum.eigenvalues[:, None] + s)  # [N-1, B]
        q1, q2, q3 = ((T**2 * inverse**k).sum(axis=0) for k in (1, 2, 3))
        tr1, tr2 = inverse.sum(axis=0), (inverse**2).sum(axis=0)
        slope = np.array([self._occam_slope(r) for r in results])  # ω: ∂(log Occam)/∂γ_eff
        h_s = -tr2 + (n - 1) * (2.0 * q3 / q1 - (q2 / q1) ** 2)
        still = np.array([r.at_boundary for r in results]) | (h_s == 0.0)
        along = np.where(still, 0.0, -slope * (s * tr2 - tr1) / np.where(still, 1.0, h_s))  # κ
        diagonal = (-0.5 * inverse + (slope * s - along) * inverse**2).sum(axis=1)
        V = spectrum.vectors
        alpha, beta = V @ (T * inverse), V @ (T * inverse**2)  # [N, B]
        own, mixed = 0.5 * (n - 1) / q1 - along * (n - 1) * q2 / q1**2, along * (n - 1) / q1
        cross = (alpha * (0.5 * own) + beta * mixed) @ alpha.T
        return np.asarray((V * diagonal) @ V.T + cross + cross.T)

    def _occam_slope(self, result: Level2) -> float:
        bars = mackay_error_bars(result)
        slope = 0.0
        if self.occam:  # an error bar capped at the prior's width does not move
            slope -= 0.5 / result.d_eff if bars.log_mu < self.prior_sd[0] else 0.0
            slope += 0.5 / (result.n - result.gamma_eff) if bars.log_zeta < self.prior_sd[1] else 0.0
        return slope
