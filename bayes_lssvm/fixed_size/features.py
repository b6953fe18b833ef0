"""Feature maps of finite size: Nyström's, whitened, and the explicit ones of linear and polynomial kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from ..base.typing import Array
from ..kernels import Kernel

_PANEL = 64  # landmarks of a block
_RANK = 1e-14  # of the mean K(z, z): what a landmark must add to those before it


@dataclass(frozen=True)
class NystromMap:
    """φ(x) = L⁻¹k(Z, x) with LLᵀ = K(Z, Z): whitened, so that sums over rows keep their digits.

    Attributes
    ----------
    kernel : Kernel
    Z : array of shape (m, d)
        Landmarks; those that add nothing to others are left out.
    L : array of shape (m, m)
        Lower triangular, in Fortran order.
    """

    kernel: Kernel
    Z: Array
    L: Array

    @classmethod
    def of(cls, kernel: Kernel, landmarks: Array) -> NystromMap:
        """The map of landmarks of shape (m, d), in their order as far as rounding allows."""
        K = np.asfortranarray(kernel(landmarks))
        L, info = lapack.dpotrf(K, lower=1, clean=1)
        floor = _RANK * float(np.trace(K)) / len(K)
        if info == 0 and float(np.diag(L).min()) ** 2 > floor:
            return cls(kernel, np.ascontiguousarray(landmarks), L)
        L, pivot, rank, _ = lapack.dpstrf(K, tol=floor, lower=1)
        rows = np.sort(pivot[:rank] - 1)  # the independent ones, in the order given, so that the first of them nest
        L, info = lapack.dpotrf(np.asfortranarray(kernel(landmarks[rows])), lower=1, clean=1)
        if info != 0:  # pragma: no cover - pivoting has left out what has no factor
            raise np.linalg.LinAlgError("the landmarks have no factor")
        return cls(kernel, np.ascontiguousarray(landmarks[rows]), L)

    @property
    def size(self) -> int:
        return len(self.Z)

    def room(self, rows: int) -> Array:
        """Memory for kernel rows and features of so many rows, which a pass gives for all of its blocks.

        New memory for each goes back to the system and comes again page by page, where glibc is told to keep little, as
        in Dask's workers: a fifth of the time at m = 500.
        """
        return np.empty((2, rows * len(self.Z)))

    def __call__(self, X: Array, room: Array | None = None) -> Array:
        return self.with_rows(X, room)[1]

    def with_rows(self, X: Array, room: Array | None = None) -> tuple[Array, Array]:
        """K(X, Z) and the features, which lie in `room`, if it is given, until its next use."""
        if room is None:
            K = self.kernel(X, self.Z)
            return K, self.whitened(K)
        K = self.kernel.rows(X, self.Z, room[0])
        return K, self.whitened(K, room[1])

    def whitened(self, rows: Array, room: Array | None = None) -> Array:
        """Features, in Fortran order, from kernel rows K(X, Z) of shape (n, m); in the memory of `room`, if given.

        By a solve. A product with L⁻¹ loses half of the digits where landmarks are nearly dependent, and the lower
        bound of the evidence was then violated by up to 5e-5 nats. The solve goes by blocks of landmarks, each of which
        is taken from all later ones at once: most of it is products then, and long ones, at which BLAS is fastest.
        """
        if room is None:
            phi = np.array(rows, order="F")
        else:
            phi = room[: rows.size].reshape(rows.shape, order="F")
            phi[...] = rows
        for start, (triangle, below) in zip(range(0, phi.shape[1], _PANEL), self._panels, strict=True):
            own, later = phi[:, start : start + _PANEL], phi[:, start + _PANEL :]
            blas.dtrsm(1.0, triangle, own, side=1, lower=1, trans_a=1, overwrite_b=1)
            if len(below):
                blas.dgemm(-1.0, own, below, beta=1.0, c=later, trans_b=1, overwrite_c=1)
        return phi

    @cached_property
    def _panels(self) -> list[tuple[Array, Array]]:
        """L by blocks of columns, the triangle and what is below it: BLAS would copy them for every block of rows."""
        columns = [self.L[start:, start : start + _PANEL] for start in range(0, len(self.L), _PANEL)]
        return [(np.asfortranarray(own[:_PANEL]), np.asfortranarray(own[_PANEL:])) for own in columns]

    def first(self, m: int) -> NystromMap:
        """The map of the first m landmarks, whose features are the first m."""
        return NystromMap(self.kernel, self.Z[:m], np.asfortranarray(self.L[:m, :m]))


@dataclass(frozen=True)
class ExplicitMap:
    """The kernel's own feature map, which is exact."""

    kernel: Kernel
    size: int

    @classmethod
    def of(cls, kernel: Kernel, n_features: int) -> ExplicitMap | None:
        """The map of a kernel on `n_features` inputs, or None where its feature space is not finite."""
        try:
            return cls(kernel, kernel.feature_map(np.zeros((1, n_features))).shape[1])
        except ValueError:
            return None

    def room(self, rows: int) -> Array | None:
        """Memory that `__call__` can make use of: none."""
        return None

    def __call__(self, X: Array, room: Array | None = None) -> Array:
        return np.ascontiguousarray(self.kernel.feature_map(X))


FeatureMap = NystromMap | ExplicitMap


def in_blocks(features: FeatureMap, X: Array, rows: int = 1024) -> Iterator[tuple[slice, Array]]:
    """Slices of X, and the features of their rows."""
    for start in range(0, len(X), rows):
        part = slice(start, start + rows)
        yield part, features(X[part])
