"""The Cholesky factor of Ω + diag(noise), and the inverse that forgets constants.

With M = Ω + diag(noise) = LLᵀ, C = M⁻¹ and ρ = C1, the model with a bias needs

    R = C − ρρᵀ/1ᵀρ,    α = Ry,    log det M = 2 Σ log L_ii,

and for equal noise s, R is the inverse of the centred matrix on the complement of 1: R = M(MΩM + sI)⁻¹M with the
centring M. A matrix that has no factor is refused in one way everywhere, by `NotPositiveSemidefiniteError`.
Matrices in single precision are taken as they are, and so are their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import get_lapack_funcs

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import Array
from .blas import fortran_copy, mirror_lower


def not_positive_definite(noise: float | Array) -> NotPositiveSemidefiniteError:
    """The error of a matrix Ω + diag(noise) that has no Cholesky factor."""
    return NotPositiveSemidefiniteError(
        f"The kernel matrix plus 1/γ = {float(np.min(noise)):.3g} is not numerically positive definite: γ is too "
        "large, or the kernel is not positive semi-definite on these data."
    )


def require_total(rho: Array, noise: float | Array) -> float:
    """1ᵀρ = 1ᵀM⁻¹1, which is positive unless rounding has eaten M."""
    total = float(rho.sum())
    if not total > 0.0:
        raise not_positive_definite(noise)
    return total


@dataclass(frozen=True)
class Factor:
    """L of M = Ω + diag(noise) = LLᵀ.

    Attributes
    ----------
    L : array of shape (N, N)
        Lower triangular in Fortran order, with zeros above.
    noise : float or array of shape (N,)
    """

    L: Array
    noise: float | Array

    @classmethod
    def of(cls, K: Array, noise: float | Array) -> Factor:
        """Factorise a symmetric matrix K of shape (N, N), which is left alone."""
        return cls.in_place(fortran_copy(K), noise)

    @classmethod
    def in_place(cls, K: Array, noise: float | Array) -> Factor:
        """Factorise in the memory of K, a symmetric matrix in Fortran order."""
        np.einsum("ii->i", K)[...] += noise  # a view of the diagonal; indices of it take as long as a row of L
        L, info = get_lapack_funcs("potrf", (K,))(K, lower=1, clean=1, overwrite_a=1)
        if info != 0:
            raise not_positive_definite(noise)
        return cls(L, noise)

    @property
    def log_det(self) -> float:
        """Log det M."""
        return 2.0 * float(np.log(np.diag(self.L), dtype=float).sum())

    def solve(self, B: Array) -> Array:
        """M⁻¹B."""
        return np.asarray(lapack.dpotrs(self.L, B, lower=1)[0])

    def whiten(self, B: Array) -> Array:
        """L⁻¹B."""
        return np.asarray(lapack.dtrtrs(self.L, B, lower=1)[0])

    def inverse_factor(self) -> Array:
        """S = L⁻¹ with M⁻¹ = SᵀS; it takes the memory of L."""
        return self._inverted(lapack.dtrtri)

    def inverse(self) -> Array:
        """M⁻¹, its lower triangle only; it takes the memory of L."""
        return self._inverted(get_lapack_funcs("potri", (self.L,)))

    def _inverted(self, routine: Callable[..., tuple[Array, int]]) -> Array:
        inverse, info = routine(self.L, lower=1, overwrite_c=1)
        if info != 0:
            raise not_positive_definite(self.noise)
        return np.asarray(inverse)


@dataclass(frozen=True)
class ProjectedInverse:
    """R by its parts.

    Attributes
    ----------
    C : array of shape (N, N)
        M⁻¹, its lower triangle only.
    rho : array of shape (N,)
        ρ = C1.
    total : float
        1ᵀρ.
    log_det : float
        log det M.
    """

    C: Array
    rho: Array
    total: float
    log_det: float

    @classmethod
    def of(cls, K: Array, noise: float | Array) -> ProjectedInverse:
        """From the kernel matrix K of shape (N, N), which is left alone."""
        return cls.in_place(fortran_copy(K), noise)

    @classmethod
    def in_place(cls, K: Array, noise: float | Array) -> ProjectedInverse:
        """From the lower triangle of K, in Fortran order; the parts take its memory."""
        factor = Factor.in_place(K, noise)
        log_det, C = factor.log_det, factor.inverse()
        rho = get_blas_funcs("symv", (C,))(1.0, C, np.ones(len(C), C.dtype), lower=1)
        return cls(C, rho, require_total(rho, noise), log_det)

    @property
    def trace(self) -> float:
        """Trace of R."""
        return float(np.trace(self.C)) - float(self.rho @ self.rho) / self.total

    def apply(self, y: Array) -> Array:
        """α = Ry; digits are saved where y has mean zero."""
        alpha = blas.dsymv(1.0, self.C, y, lower=1)
        alpha -= self.rho * (float(self.rho @ y) / self.total)
        return np.asarray(alpha)

    def lower(self) -> Array:
        """R, its lower triangle only; it takes the memory of C."""
        syr = get_blas_funcs("syr", (self.C,))
        return np.asarray(syr(-1.0 / self.total, self.rho, lower=1, a=self.C, overwrite_a=1))


def projected_inverse(K: Array, noise: float | Array, *, bias: bool = True) -> Array:
    """R, or M⁻¹ without a bias: the whole symmetric matrix, in Fortran order."""
    return mirror_lower(ProjectedInverse.of(K, noise).lower() if bias else Factor.of(K, noise).inverse())
