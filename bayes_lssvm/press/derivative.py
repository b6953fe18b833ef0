"""PRESS as a function of the kernel matrix and of γ, with its derivative (paper 1, section 1.3.1).

With R = C⁻¹ without the row and column of the bias, R = M⁻¹ − ρρᵀ/1ᵀρ (or M⁻¹ where there is no bias), α = Ry, c_i =
R_ii and r_i = α_i/c_i,

    Q = ½ Σ w_i r_i²,     dα = −R dM α,     dc_i = −(R dM R)_ii                                          (13)

so that dQ = Σ_ij W_ij dM_ij for the symmetric matrix

    W = R diag(w_i r_i²/c_i) R − ½ (βαᵀ + αβᵀ),     β = Rg,  g_i = w_i r_i/c_i.

Paper 1 forms R (∂K/∂η_j) R for each kernel parameter, O(N³) apiece. W is formed once, by a Cholesky factor, its
inverse and one symmetric product, 2N³ operations in all, and `Kernel.contract` turns it into the derivatives in all
parameters in O(N²d) time and O(N² + Nd) memory. As M = Ω + diag(1/(γw_i)), dQ/dlog γ = −Σ_i W_ii/(γw_i).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from ..base.typing import Array
from ..linalg.blas import mirror_lower
from ..linalg.factor import not_positive_definite, projected_inverse

__all__ = ["PressDerivative", "press_derivative"]


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
    noise = 1.0 / (gamma * weights)
    R = projected_inverse(K, noise, bias=bias)
    c = np.diagonal(R).copy()
    if not np.all(c > 0.0):
        raise not_positive_definite(noise)
    alpha = blas.dsymv(1.0, R, y, lower=1)
    residuals = alpha / c
    beta = blas.dsymv(1.0, R, weights * residuals / c, lower=1)
    # R diag(h) R as the product of R diag(√h) with its transpose: half the operations of a general product
    scaled = R * np.sqrt(weights * residuals**2 / c)
    W = blas.dsyrk(1.0, scaled, lower=1)
    del scaled
    W = blas.dsyr2(-0.5, beta, alpha, lower=1, a=W, overwrite_a=1)
    # the transpose of a symmetric matrix has the memory order that kernel matrices have
    W = mirror_lower(np.asarray(W)).T
    value = 0.5 * float(np.sum(weights * residuals**2))
    return PressDerivative(value, -float(np.diagonal(W) @ noise), W, alpha, residuals, R)
