"""Level 1 with rows added and hyperparameters held: in O(N²) for each row, without a new factorisation.

R = C − ρρᵀ/1ᵀρ, with C = (Ω + W⁻¹/γ)⁻¹ and ρ = C1, does not change where the features are moved, φ(x) → φ(x) − c: the
bias takes it up. The factor of the first fit is that of the kernel matrix about the mean m̂_Υ of its rows. It stays so
when rows are added: about that same point, the matrix of all rows has the old one in its corner, and `linalg.append`
borders its inverse factor S. With û = S1/‖S1‖ then

    θᵀRθ' = (Sθ)ᵀ(I − ûûᵀ)(Sθ'),      α = Sᵀ(I − ûûᵀ)Sy,      R_ii = Σ_j S_ji² − (Sᵀû)_i².

New rows have the means of the kernel over all rows, so that every moment is that of a fit to all rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import blas

from ..base.typing import Array
from ..base.weights import one_of_each, weighted_mean
from ..linalg.append import append_rows
from ..linalg.blas import product
from .level1 import DualPosterior


@dataclass(frozen=True)
class GrownPosterior(DualPosterior):
    """The posterior of rows that came in parts.

    Attributes
    ----------
    n_first : int
        Number of rows of the first part, about whose mean the factor is.
    and those of `DualPosterior`; `inverse_factor` is L⁻¹ with LLᵀ = Ω̃ + W⁻¹/γ, Ω̃ about that mean.
    """

    n_first: int = 0

    @classmethod
    def of(cls, first: DualPosterior) -> GrownPosterior:
        """A posterior as it was fitted, to which rows can be added."""
        return first if isinstance(first, GrownPosterior) else cls(**vars(first), n_first=first.n)

    @cached_property
    def direction(self) -> Array:
        """û of shape (N,)."""
        found = product(self.inverse_factor, np.ones(self.n))
        return np.asarray(found / np.linalg.norm(found))

    @cached_property
    def inverse_diagonal(self) -> Array:
        """R_ii of shape (N,)."""
        S = self.inverse_factor
        diagonal = np.einsum("ji,ji->i", S, S) - product(S.T, self.direction) ** 2
        return np.maximum(diagonal, np.finfo(float).tiny)

    @property
    def gamma_eff(self) -> float:
        """Effective number of parameters, N − tr(RW⁻¹)/γ (4.4)."""
        w = np.ones(self.n) if self.weights is None else self.weights
        return self.n - self.mu / self.zeta * float(np.sum(self.inverse_diagonal / w))

    def with_rows(self, X: Array, y: Array, weights: Array | None = None) -> GrownPosterior:
        """With rows X of shape (k, d) and their weights; y of shape (N + k,) are the targets of all rows."""
        below, corner = self.kernel(X, self.X), self.kernel(X)
        old, new = (np.ones(m) if w is None else w for m, w in ((self.n, self.weights), (len(X), weights)))
        first = np.zeros(self.n)
        first[: self.n_first] = old[: self.n_first] / old[: self.n_first].sum()
        own, about = product(below, first), self.kernel(self.X, self.X[: self.n_first]) @ first[: self.n_first]
        level = float(first @ about)
        noise = self.mu / (self.zeta * new)
        S = append_rows(
            self.inverse_factor,
            below - own[:, None] - about + level,
            corner - own[:, None] - own + level + np.diag(noise),
        )
        total = old.sum() + new.sum()
        means = np.append(
            (self.kernel_means * old.sum() + product(below.T, new)) / total,
            (product(below, old) + product(corner, new)) / total,
        )
        whole = None if self.weights is None and weights is None else np.append(old, new)
        grown = GrownPosterior(
            self.kernel, np.vstack([self.X, X]), y, 0.0, self.mu, self.zeta, S, means, whole, self.n_first
        )
        return grown.with_targets(y)

    def with_targets(self, y: Array) -> GrownPosterior:
        """The same rows with other targets of shape (N,): O(N²)."""
        alpha, intercept = self.support(y)
        return replace(self, alpha=alpha, intercept=float(intercept))

    def support(self, y: Array) -> tuple[Array, Array]:
        """α and b for targets y of shape (N,), or (N, L) for L outputs."""
        level = weighted_mean(y, self.weights)
        p = product(self.inverse_factor, np.ascontiguousarray(y - level))
        p -= np.multiply.outer(self.direction, self.direction @ p)
        alpha = product(self.inverse_factor.T, p)
        return alpha, level - (self.kernel_means - self.kernel_means.mean()) @ alpha

    def whiten(self, rows: Array) -> Array:
        rows -= rows.mean(axis=1, keepdims=True)  # which R does not see
        p = np.asarray(blas.dtrmm(1.0, self.inverse_factor, rows.T, side=0, lower=1, overwrite_b=1)).T
        return np.asarray(p - np.outer(product(np.ascontiguousarray(p), self.direction), self.direction))

    def left_out_moments(self, y: Array) -> tuple[Array, Array]:
        gamma, w = self.zeta / self.mu, np.ones(self.n) if self.weights is None else self.weights
        variances = np.maximum(1.0 / self.inverse_diagonal - 1.0 / (gamma * w), 0.0) / self.mu
        residuals, variances = one_of_each(self.alpha / self.inverse_diagonal, variances, self.weights, self.zeta)
        return y - residuals, variances
