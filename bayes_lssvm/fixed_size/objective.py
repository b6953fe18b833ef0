"""The evidence of a low-rank kernel matrix as a function of the kernel, landmarks held, with its gradient.

With A = K(Z, Z)⁻¹K(Z, X), Nyström's Q = K(X, Z)A has dQ = dK(X, Z)A + AᵀdK(Z, X) − AᵀdK(Z, Z)A. For a function with
the derivative W in Q therefore

    dF = 2 Σ_i dk_iᵀ(AW)_i − Σ (AWAᵀ)∘dK(Z, Z),        k_i = k(Z, x_i).

W is that of `levels.objective` in R, α, β and η, each of which is linear in a row's features and target:

    ΦᵀRᵏ = (C + s)⁻ᵏΦ̃ᵀ,  Φᵀα = (C + s)⁻¹g,  Φᵀβ = (C + s)⁻²g,  Φᵀη = (C + s)⁻³g,
    α_i = [ỹ_i − φ̃_iᵀ(C + s)⁻¹g]/s,    β_i = [α_i − φ̃_iᵀ(C + s)⁻²g]/s,    η_i = [β_i − φ̃_iᵀ(C + s)⁻³g]/s,

so that (AW)_i is L⁻ᵀ(Pφ̃_i + a sum over bits) with one matrix P: a second pass, which is a sum over rows as the first.
With weights, φ_i, y_i and k_i are those of the row times √w_i, so that it adds w_i times as much.
Several bits share the kernel, and their evidences add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, solve_triangular

from ..base.typing import AnyArray, Array
from ..levels.level2_posterior import Level2Posterior, laplace_derivative, most_probable
from ..linalg.blas import product
from ..linalg.low_rank import LowRankReduction
from ..priors import HyperPrior
from .features import NystromMap
from .statistics import Centred, Statistics, some_rows


class Task(NamedTuple):
    """Bits that are trained on the same rows: their numbers, their codes of shape (C, B), and their sums."""

    bits: tuple[int, ...]
    code: Array | None
    centred: Centred
    reduction: LowRankReduction


def tasks_of(statistics: Statistics, code: Array | None) -> list[Task]:
    """The bits of a code of shape (C, L) by the classes that take part; or the only task, of real targets."""
    if code is None:
        centred = statistics.centred()
        return [Task((0,), None, centred, statistics.reduction(centred))]
    by_classes: dict[bytes, list[int]] = {}
    for bit, column in enumerate(code.T):
        by_classes.setdefault((column != 0).tobytes(), []).append(bit)
    found = []
    for bits in by_classes.values():
        centred = statistics.centred(code[:, bits])
        found.append(Task(tuple(bits), code[:, bits], centred, statistics.reduction(centred)))
    return found


def posteriors_of(task: Task, priors: list[HyperPrior]) -> list[Level2Posterior]:
    """Level 2 of each bit of a task, with the priors of all bits."""
    return [most_probable(task.reduction.alone(k), priors[bit].mu, priors[bit].zeta) for k, bit in enumerate(task.bits)]


@dataclass(frozen=True)
class RowDerivative:
    """What a row adds to the gradient: (AW)_i, for the bits of one task.

    Attributes
    ----------
    matrix : array of shape (m, m)
        L⁻ᵀP.
    centre : array of shape (m,)
        φ̄.
    solves : array of shape (3, B, m)
        (C + s)⁻ᵏg.
    forms : array of shape (3, B, m)
        What α_i, β_i and η_i are multiplied with: columns of L⁻ᵀGF.
    noise : array of shape (B,)
        s.
    code, target_means : arrays of shape (C, B) or None, and (B,)
    """

    matrix: Array
    centre: Array
    solves: Array
    forms: Array
    noise: Array
    code: Array | None
    target_means: Array

    @property
    def takes_all(self) -> bool:
        """Whether all classes take part."""
        return self.code is None or bool((self.code != 0).any(axis=1).all())

    def part(self, targets: AnyArray) -> AnyArray:
        """Which rows are of classes that take part."""
        if self.code is None:
            return np.ones(len(targets), dtype=bool)
        return np.asarray((self.code != 0).any(axis=1)[targets])

    def of_rows(self, phi: Array, targets: AnyArray) -> Array:
        """(AW)_i of rows that take part, with features of shape (n, m), which are overwritten."""
        y = targets[:, None] if self.code is None else self.code[targets]  # [n, B]
        centred = np.subtract(phi, self.centre, out=phi)
        found = product(centred, self.matrix.T).T  # [m, n]
        residual, residuals = y - self.target_means, []
        for solve in self.solves:
            residual = (residual - centred @ solve.T) / self.noise
            residuals.append(residual)
        forms, stacked = np.concatenate(self.forms), np.concatenate(residuals, axis=1)
        found = blas.dgemm(1.0, forms, stacked, beta=1.0, c=found, trans_a=1, trans_b=1, overwrite_c=1)
        return np.asarray(found).T


def derivatives(
    task: Task, found: list[Level2Posterior], priors: list[HyperPrior], features: NystromMap
) -> tuple[RowDerivative, Array]:
    """What rows add to the gradient, and AWAᵀ of shape (m, m)."""
    U, lam = task.reduction.vectors, task.reduction.eigenvalues
    diagonal, solves, forms, noise = np.zeros_like(lam), [], [], []
    outer = np.zeros((len(U), len(U)))
    for k, (bit, posterior) in enumerate(zip(task.bits, found, strict=True)):
        s = 1.0 / posterior.level2.gamma
        q, tr = task.reduction.powers(s, k)
        c = laplace_derivative(posterior, (priors[bit].mu, priors[bit].zeta), q.tolist(), tr.tolist())
        inverse = 1.0 / (lam + s)
        diagonal += -0.5 * inverse + c.square * inverse**2 + c.cube * inverse**3
        g = task.centred.crosses[k] @ U
        G = np.stack([U @ (inverse**j * g) for j in (1, 2, 3)])  # [3, m]: Φᵀα, Φᵀβ, Φᵀη
        F = np.array([[c.own, c.mixed, c.far], [c.mixed, c.far, 0.0], [c.far, 0.0, 0.0]])
        solves.append(G)
        forms.append(F @ G)
        outer += G.T @ F @ G
        noise.append(s)
    P = (U * diagonal) @ U.T
    whole = (U * (diagonal * lam)) @ U.T + outer
    back = solve_triangular(features.L, np.eye(len(features.L)), lower=True).T  # L⁻ᵀ
    row = RowDerivative(
        back @ P,
        task.centred.feature_mean,
        np.stack(solves, axis=1),
        np.stack(forms, axis=1) @ back.T,
        np.array(noise),
        task.code,
        task.centred.target_means,
    )
    return row, back @ whole @ back.T


def block_gradient(
    features: NystromMap,
    rows: Sequence[RowDerivative],
    X: Array,
    targets: AnyArray,
    weights: Array | None = None,
    room: Array | None = None,
) -> Array:
    """2 Σ_i dk_iᵀ(AW)_i over the rows of a block, for each of the kernel's log parameters; `room` as for features."""
    K, phi = features.with_rows(X, room)
    if len(rows) == 1 and rows[0].takes_all:
        V = rows[0].of_rows(phi, targets)
    else:
        V = np.zeros(phi.shape)
        for row in rows:
            part = row.part(targets)
            if part.any():  # a block may hold none of these classes
                V[part] += row.of_rows(some_rows(phi, np.flatnonzero(part)), targets[part])
    if weights is not None:
        V *= weights[:, None]
    return 2.0 * features.kernel.contract_rows(X, features.Z, V, K)


def landmark_gradient(features: NystromMap, outer: Array) -> Array:
    """−Σ (AWAᵀ)∘dK(Z, Z)."""
    return -np.array([float(np.vdot(outer, dK)) for dK in features.kernel.gradient(features.Z)])
