"""PRESS as a function of the kernel matrix and of γ, with its derivative (paper 1, section 1.3.1).

With R = C⁻¹ without the row and column of the bias, R = M⁻¹ − ρρᵀ/1ᵀρ (or M⁻¹ where there is no bias), α = Ry, c_i =
R_ii and r_i = α_i/c_i,

    Q = ½ Σ w_i r_i²,     dα = −R dM α,     dc_i = −(R dM R)_ii                                          (13)

so that dQ = Σ_ij W_ij dM_ij for the symmetric matrix

    W = R diag(w_i r_i²/c_i) R − ½ (βαᵀ + αβᵀ),     β = Rg,  g_i = w_i r_i/c_i.

For any other function F of the residuals, with slopes f_i = ∂F/∂r_i, f_i takes the place of w_i r_i.

Paper 1 forms R (∂K/∂η_j) R for each kernel parameter, O(N³) apiece. W is formed once, by a Cholesky factor, its
inverse and one symmetric product, 2N³ operations in all, and `Kernel.contract` turns it into the derivatives in all
parameters in O(N²d) time and O(N² + Nd) memory. As M = Ω + diag(1/(γw_i)), dQ/dlog γ = −Σ_i W_ii/(γw_i).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from ..base.typing import Array
from ..linalg.blas import mirror_lower, product
from ..linalg.factor import not_positive_definite, projected_inverse

__all__ = ["PressDerivative", "left_out_derivative", "press_derivative"]


class PressDerivative(NamedTuple):
    """PRESS at one kernel matrix and γ, and how it changes with them.

    Attributes
    ----------
    value : float
        Q = ½ Σ w_i r_i².
    along_log_gamma : float
        ∂Q/∂log γ.
    matrix : array of shape (N, N)
        W = ∂Q/∂Ω, symmetric.
    alpha : array of shape (N,)
        Support values of the model of all points.
    residuals : array of shape (N,)
        Leave-one-out residuals r_i.
    inverse : array of shape (N, N)
        R, symmetric.
    """

    value: float
    along_log_gamma: float
    matrix: Array
    alpha: Array
    residuals: Array
    inverse: Array


def press_derivative(K: Array, y: Array, gamma: float, weights: Array, *, bias: bool = True) -> PressDerivative:
    """PRESS and its derivative with respect to the kernel matrix and log γ.

    Parameters
    ----------
    K : array of shape (N, N)
    y : array of shape (N,)
        With a bias, centring the targets beforehand saves digits and changes nothing else.
    gamma : float
    weights : array of shape (N,)
    bias : bool
    """
    left_out = _LeftOut.of(K, y, gamma, weights, bias=bias)
    R, c, residuals = left_out.inverse, left_out.diagonal, left_out.residuals
    # R diag(h) R as the product of R diag(√h) with its transpose: half the operations of a general product
    scaled = R * np.sqrt(weights * residuals**2 / c)
    W = blas.dsyrk(1.0, scaled, lower=1)
    del scaled
    value = 0.5 * float(np.sum(weights * residuals**2))
    return left_out.derivative(value, np.asarray(W), weights * residuals)


def left_out_derivative(
    K: Array,
    y: Array,
    gamma: float,
    weights: Array,
    function: Callable[[Array], tuple[float, Array]],
    *,
    bias: bool = True,
) -> PressDerivative:
    """A function of the leave-one-out residuals, with its derivative with respect to the kernel matrix and log γ.

    Parameters
    ----------
    function : callable
        Its value and its slopes ∂F/∂r_i for residuals of shape (N,).
    """
    left_out = _LeftOut.of(K, y, gamma, weights, bias=bias)
    value, slopes = function(left_out.residuals)
    R = left_out.inverse
    W = product(R * (slopes * left_out.residuals / left_out.diagonal), R)
    return left_out.derivative(value, np.asfortranarray(W), slopes)


class _LeftOut(NamedTuple):
    """R, its diagonal, α = Ry, the residuals, and the noise 1/(γw_i)."""

    inverse: Array
    diagonal: Array
    alpha: Array
    residuals: Array
    noise: Array

    @classmethod
    def of(cls, K: Array, y: Array, gamma: float, weights: Array, *, bias: bool) -> _LeftOut:
        noise = 1.0 / (gamma * weights)
        R = projected_inverse(K, noise, bias=bias)
        c = np.diagonal(R).copy()
        if not np.all(c > 0.0):
            raise not_positive_definite(noise)
        alpha = blas.dsymv(1.0, R, y, lower=1)
        return cls(R, c, alpha, alpha / c, noise)

    def derivative(self, value: float, W: Array, slopes: Array) -> PressDerivative:
        """W = R diag(f_i r_i/c_i) R, given in its lower triangle, becomes the whole derivative."""
        beta = blas.dsymv(1.0, self.inverse, slopes / self.diagonal, lower=1)
        W = blas.dsyr2(-0.5, beta, self.alpha, lower=1, a=W, overwrite_a=1)
        # the transpose of a symmetric matrix has the memory order that kernel matrices have
        W = mirror_lower(np.asarray(W)).T
        along = -float(np.diagonal(W) @ self.noise)
        return PressDerivative(value, along, W, self.alpha, self.residuals, self.inverse)
