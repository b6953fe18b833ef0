"""The models of all rows but some, at new points: from one factor, without a refit.

Outputs are linear in the targets. With M = Ω + diag(1/(γw_i)), ρ = M⁻¹1 and R = M⁻¹ − ρρᵀ/1ᵀρ, the leading block of C⁻¹
for the bordered matrix C of paper 1 (eqs 7 and 11),

    f(x) = h(x)ᵀy,      h(x) = [C⁻¹ (k(x), 1)]_1…N = M⁻¹k(x) + ρ (1 − ρᵀk(x))/1ᵀρ.

Let the rows of a block B be left out. The model of the others has support values α' with α'_B = 0 and an output f_B at
the rows of B. It is the solution of the whole system for the targets y', which are y but for y'_B = f_B: there the
errors are zero, and so are the support values. So 0 = α'_B = α_B − R_BB (y_B − f_B), and

    e_B = y_B − f_B = R_BB⁻¹ α_B,      f_−B(x) = f(x) − h_B(x)ᵀ e_B.

For one row this is paper 1's eq 12, e_i = α_i/R_ii, and its prediction anywhere, f_−i(x) = f(x) − h_i(x) α_i/R_ii.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..base.errors import require_positive
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..levels.level1 import BLOCK_DOUBLES
from ..linalg.blas import product
from ..linalg.factor import Factor, not_positive_definite, require_total


@dataclass(frozen=True)
class LeftOutModels:
    """All models that leave a row out, or a block of rows, at given hyperparameters.

    Attributes
    ----------
    kernel, X : the kernel and the training inputs of shape (N, d)
    inverse_factor : array of shape (N, N)
        S = L⁻¹ with M = LLᵀ.
    rho : array of shape (N,)
    total : float
        1ᵀρ.
    alpha : array of shape (N, L)
        Support values of the model of all rows, for L sets of targets.
    intercept : array of shape (L,)
    """

    kernel: Kernel
    X: Array
    inverse_factor: Array
    rho: Array
    total: float
    alpha: Array
    intercept: Array

    @classmethod
    def of(cls, kernel: Kernel, X: Array, y: Array, gamma: float, weights: Array | None = None) -> LeftOutModels:
        """From one Cholesky factor, for targets y of shape (N,), or (N, L) for L sets at the same γ."""
        noise = 1.0 / (require_positive("gamma", gamma) * (np.ones(len(X)) if weights is None else weights))
        y = y.reshape(len(y), -1)
        offset = y.mean(axis=0)  # taken out first, so that it costs no digits
        S = Factor.of(kernel(X), noise).inverse_factor()
        solved = product(S.T, product(S, np.column_stack([np.ones(len(X)), y - offset])))
        rho, nu = solved[:, 0].copy(), solved[:, 1:]
        total = require_total(rho, noise)
        b = nu.sum(axis=0) / total  # eq 10
        return cls(kernel, X, S, rho, total, nu - rho[:, None] * b, offset + b)

    @property
    def n(self) -> int:
        """Number of training rows."""
        return len(self.X)

    def errors(self, blocks: Sequence[AnyArray] | None = None) -> Array:
        """Error y_i − f_−B(x_i) of each row by the model without its block, of shape (N, L).

        Blocks are arrays of the numbers of their rows; by default every row is a block of its own.
        """
        if blocks is None:
            return self.alpha / self._diagonal()[:, None]
        found = np.empty_like(self.alpha)
        for rows in blocks:
            found[rows] = self._block(rows).solve(self.alpha[rows])
        return found

    def variances(self, blocks: Sequence[AnyArray] | None = None) -> Array:
        """Variances of those errors times μ, the noise of the row included: the diagonal of R_BB⁻¹, of shape (N,)."""
        if blocks is None:
            return 1.0 / self._diagonal()
        found = np.empty(self.n)
        for rows in blocks:
            S = self._block(rows).inverse_factor()
            found[rows] = np.einsum("ji,ji->i", S, S)
        return found

    def _diagonal(self) -> Array:
        """R_ii of all rows."""
        diagonal = np.einsum("ji,ji->i", self.inverse_factor, self.inverse_factor) - self.rho**2 / self.total
        if not np.all(diagonal > 0.0):
            raise not_positive_definite(0.0)
        return diagonal

    def _block(self, rows: AnyArray) -> Factor:
        """A factor of R_BB."""
        columns = np.asfortranarray(self.inverse_factor[:, rows])
        R = product(columns.T, columns) - np.outer(self.rho[rows], self.rho[rows] / self.total)
        return Factor.in_place(np.asfortranarray(R), 0.0)

    def smoother(self, X_new: Array) -> tuple[Array, Array]:
        """Rows h(x) of shape (n, N), and outputs f(x) of shape (n, L)."""
        K = self.kernel(X_new, self.X)
        outputs = product(K, np.ascontiguousarray(self.alpha)) + self.intercept
        h = product(product(K, self.inverse_factor.T), self.inverse_factor)
        h += np.outer((1.0 - product(K, self.rho)) / self.total, self.rho)
        return h, outputs

    def predictions(self, X_new: Array, errors: Array, blocks: Sequence[AnyArray] | None = None) -> Iterator[Array]:
        """f_−B(x) for each row of X_new and each training row's block, in pieces of shape (n, N, L).

        `errors` are those of the same blocks. Rows of one block have the same model.
        """
        step = max(1, BLOCK_DOUBLES // max(self.n * self.alpha.shape[1], 1))
        for start in range(0, len(X_new), step):
            h, outputs = self.smoother(X_new[start : start + step])
            moved = h[:, :, None] * errors  # [n, N, L]
            for rows in blocks or ():
                moved[:, rows] = moved[:, rows].sum(axis=1, keepdims=True)
            yield outputs[:, None, :] - moved
