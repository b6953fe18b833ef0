"""Level 1 in a feature space of finite size: outputs, variances, and outputs of rows that were left out.

With C + sI = U(Λ + s)Uᵀ for the centred features and s = 1/γ,

    w = (C + sI)⁻¹g,    b = ȳ − φ̄ᵀw,    σ_z² = [φ̃ᵀ(I + C/s)⁻¹φ̃ + K(x, x) − ‖φ‖²]/μ + 1/(Nζ),

where φ̃ = φ(x) − φ̄, and K(x, x) − ‖φ‖² is the share of the features that the map leaves out: they have the variance of
the prior, and without them the error bars would vanish far from the data (paper 0, appendix A: the variance only grows
by leaving eigenvectors out). A training row is left out by what it adds to the sums (paper 1, eq 12):

    R_ii = [1 − 1/N − φ̃ᵀ(C + sI)⁻¹φ̃]/s,      z_i^(−i) = y_i − α_i/R_ii,      α_i = (y_i − z_i)/s.

With weights, N is Σw, and a row's leverage 1/N + φ̃ᵀ(C + sI)⁻¹φ̃ and its precision 1/s have the factor w_i.
Bits that are trained on the same rows share U, so that B of them cost hardly more than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base.typing import Array
from ..base.weights import one_of_each
from .objective import Task


class Rows(NamedTuple):
    """Rows in the terms of a posterior: outputs without bias of shape (n, B), squared projections, and the rest."""

    output: Array  # [n, B]
    squares: Array  # [n, r]  (φ̃ᵀu)²
    outside: Array  # [n]  what of ‖φ̃‖² lies outside of U, and K(x, x) − ‖φ‖²


@dataclass(frozen=True)
class FixedSizePosterior:
    """Gaussian posterior of z(x) = wᵀφ(x) + b for the bits of one task.

    Attributes
    ----------
    w, b : arrays of shape (m, B) and (B,)
    mu, zeta : arrays of shape (B,)
    mass : float
        Σw of the training rows, N without weights.
    eigenvalues, vectors : arrays of shape (r,) and (m, r)
        Λ and U.
    centre : array of shape (m,)
        φ̄.
    """

    w: Array
    b: Array
    mu: Array
    zeta: Array
    mass: float
    eigenvalues: Array
    vectors: Array
    centre: Array

    @classmethod
    def of(cls, task: Task, mu: Array, zeta: Array) -> FixedSizePosterior:
        """The posterior at the hyperparameters of each bit."""
        U, lam = task.reduction.vectors, task.reduction.eigenvalues
        w = U @ ((task.centred.crosses @ U) / (lam + (mu / zeta)[:, None])).T
        b = task.centred.target_means - task.centred.feature_mean @ w
        return cls(w, b, mu, zeta, task.centred.mass, lam, U, task.centred.feature_mean)

    def rows(self, phi: Array, diagonal: Array) -> Rows:
        """Rows with features φ of shape (n, m) and K(x, x) of shape (n,)."""
        # below zero by rounding, which a direction of no eigenvalue gives back: where landmarks are nearly dependent, φ
        # is rounded by far more than what is left of K(x, x), and the sum with φ̃ᵀ(I + C/s)⁻¹φ̃ is not
        lack = diagonal - np.einsum("ij,ij->i", phi, phi)
        centred = phi - self.centre
        squares = np.square(centred @ self.vectors)
        if self.vectors.shape[1] < len(self.vectors):  # fewer rows than features
            lack = lack + np.maximum(np.einsum("ij,ij->i", centred, centred) - squares.sum(axis=1), 0.0)
        return Rows(phi @ self.w, squares, lack)

    def moments(self, phi: Array, diagonal: Array) -> tuple[Array, Array]:
        """z_MP and σ_z², each of shape (n, B)."""
        rows = self.rows(phi, diagonal)
        spread = np.maximum(self._spread(rows) + rows.outside[:, None], 0.0)
        variance = spread / self.mu + 1.0 / (self.mass * self.zeta)
        return rows.output + self.b, variance

    def _spread(self, rows: Rows) -> Array:
        """φ̃ᵀ(I + C/s)⁻¹φ̃ within U, of shape (n, B)."""
        s = self.mu / self.zeta
        return np.asarray(rows.squares @ (s / (self.eigenvalues[:, None] + s)))

    def left_out_moments(
        self, phi: Array, diagonal: Array, y: Array, weights: Array | None = None, *, whole: bool = False
    ) -> tuple[Array, Array]:
        """Z and σ_z² of training rows with targets y of shape (n, B), each by the model of all other rows.

        Rows with weights of shape (n,) are left out as a whole; or one of the rows that they count for, with `whole`.
        """
        s, rows = self.mu / self.zeta, self.rows(phi, diagonal)
        w = np.ones((len(y), 1)) if weights is None else weights[:, None]
        # 1 − leverage, which a row alone at the end of the data may take to rounding
        freedom = np.maximum(1.0 - w * (1.0 / self.mass + self._spread(rows) / s), np.finfo(float).eps)
        residuals, variances = (y - rows.output - self.b) / freedom, np.maximum(s / freedom - s, 0.0) / (w * self.mu)
        if whole:
            residuals, variances = one_of_each(residuals, variances, w, self.zeta)
        return y - residuals, np.maximum(variances + rows.outside[:, None] / self.mu, 0.0)
