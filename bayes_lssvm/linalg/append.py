"""Rows added to a Cholesky factor: the inverse factor of a matrix with k rows and columns more, in O(kN²).

With A = LLᵀ and S = L⁻¹, the bordered matrix has

    [ A    A₂₁ᵀ ]   [ L  0 ] [ Lᵀ Bᵀ ]                                             [  S        0   ]
    [ A₂₁  A₂₂  ] = [ B  D ] [ 0  Dᵀ ] ,    B = A₂₁Sᵀ,    DDᵀ = A₂₂ − BBᵀ,    S' = [ −D⁻¹BS   D⁻¹ ].
"""

from __future__ import annotations

import numpy as np

from ..base.typing import Array
from .blas import product
from .factor import Factor


def append_rows(S: Array, below: Array, corner: Array) -> Array:
    """S' of shape (N + k, N + k) in Fortran order.

    Parameters
    ----------
    S : array of shape (N, N)
        L⁻¹, lower triangular with zeros above.
    below : array of shape (k, N)
        A₂₁.
    corner : array of shape (k, k)
        A₂₂.
    """
    n, k = len(S), len(corner)
    B = product(below, S.T)
    D = Factor.of(corner - product(B, np.ascontiguousarray(B.T)), 0.0).inverse_factor()
    found = np.zeros((n + k, n + k), order="F")
    found[:n, :n] = S
    found[n:, :n] = -product(D, product(B, S))
    found[n:, n:] = D
    return found
