"""Large matrix products by SciPy's BLAS only, and symmetric matrices of which one triangle is computed.

NumPy's and SciPy's wheels carry an OpenBLAS each, with threads of its own that go on spinning for a while after a call.
Code that alternates between `@` and LAPACK lets the two fight for the cores: on two cores the evidence took three times
as long. LAPACK is SciPy's, so the products that stand next to it are too.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from ..base.typing import AnyArray, Array

_SIZE = 128
_UPPER = np.triu(np.ones((_SIZE, _SIZE), dtype=bool), 1)


def product(A: Array, B: Array, room: Array | None = None) -> Array:
    """A @ B in C order, without copies where A and B are contiguous; in the memory of `room`, if it is given.

    `room` is one-dimensional and holds at least as many numbers as the product.
    """
    if B.ndim == 1:
        return np.asarray(blas.dgemv(1.0, A, B) if A.flags.f_contiguous else blas.dgemv(1.0, A.T, B, trans=1))
    left, trans_left = (A.T, 0) if A.flags.c_contiguous else (A, 1)
    right, trans_right = (B.T, 0) if B.flags.c_contiguous else (B, 1)
    if room is None:
        return np.asarray(blas.dgemm(1.0, right, left, trans_a=trans_right, trans_b=trans_left)).T
    shape = len(A), B.shape[1]
    C = room[: shape[0] * shape[1]].reshape(shape)
    blas.dgemm(1.0, right, left, trans_a=trans_right, trans_b=trans_left, beta=0.0, c=C.T, overwrite_c=1)
    return C


def square(R: Array) -> Array:
    """R² for a symmetric contiguous R."""
    return mirror_lower(np.asarray(blas.dsyrk(1.0, R if R.flags.f_contiguous else R.T, lower=1))).T


def squared_norm(A: Array) -> float:
    """Σ A_ij²; einsum calls no BLAS."""
    return float(np.einsum("i,i->", A.ravel(order="K"), A.ravel(order="K")))


def trace_of_product(R: AnyArray, A: AnyArray) -> float:
    """Σ_ij R_ij A_ij of symmetric matrices in Fortran order from their lower triangles; R has zeros above its own."""
    total = -float(np.diagonal(R) @ np.diagonal(A))
    for start in range(0, len(R), _SIZE):  # sums of so few columns are good in single precision, too
        columns = slice(start, start + _SIZE)
        total += 2.0 * float(np.einsum("ij,ij->", R[start:, columns].T, A[start:, columns].T))
    return total


def multiple_of_identity(K: Array) -> float | None:
    """The c of K = cI, where that is K to the last digit; None else, as a rule after a look at the first row."""
    n, c = len(K), float(K[0, 0])
    least = np.finfo(float).eps * abs(c)
    if np.abs(K[0, 1:]).max(initial=0.0) > least or not np.all(np.diagonal(K) == c):
        return None
    beside = np.ravel(K, order="K")[1:].reshape(n - 1, n + 1)[:, :-1]
    return c if np.abs(beside).max(initial=0.0) <= least else None


def fortran_copy(K: Array) -> Array:
    """A copy of a symmetric matrix in Fortran order; the transpose is the same matrix and copies without reordering."""
    return np.array(K.T if K.flags.c_contiguous else K, dtype=float, order="F")


def mirror_lower(A: Array) -> Array:
    """Copy the lower triangle of A into the upper one, in place and by blocks that fit the cache."""
    for start in range(0, len(A), _SIZE):
        stop = min(start + _SIZE, len(A))
        A[start:stop, stop:] = A[stop:, start:stop].T
        block = A[start:stop, start:stop]
        np.copyto(block, block.T.copy(), where=_UPPER[: stop - start, : stop - start])
    return A
