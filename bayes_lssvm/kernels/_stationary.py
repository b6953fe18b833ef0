"""Kernels of the difference x − z: the radial basis function and its version with a scale for each input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import require_positive
from ..base.typing import Array
from ..linalg.blas import mirror_lower, product
from ._base import Kernel

# Widths tried first, in units of √d: standardised inputs lie about √(2d) apart.
_START_FACTORS = 2.0 ** np.arange(-5, 6)
_BOUND_FACTORS = (1e-2, 1e3)
_ROWS = 256
_CANCELLED = 0.02  # distance over lengths, both squared, below which more than a digit and a half would be lost


def _centred(X: Array, Z: Array | None, scales: Array | float) -> tuple[Array, Array]:
    """Both sets of points round the second one's mean, then in units of the scales.

    Distances do not change, the cancellation in a² + b² − 2ab shrinks, and the division does not round an offset.
    """
    Z = X if Z is None else Z
    centre = Z.mean(axis=0)
    B = (Z - centre) / scales
    return (B if Z is X else (X - centre) / scales), B


def _minus_squared_distances(A: Array, B: Array) -> Array:
    """−‖a_i − b_j‖² from one matrix product, so without an n·m·d array.

    a² + b² − 2ab has the rounding of a² + b². Where that is far more than the distance, as for all points but one if
    that one is far away, differences are taken first; so the matrix of a Gaussian has the rounding of its entries.
    """
    a2, b2 = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
    D = product(np.column_stack([2.0 * A, -a2, -np.ones(len(A))]), np.column_stack([B, np.ones(len(B)), b2]).T)
    np.minimum(D, 0.0, out=D)
    close = -_CANCELLED * np.add.outer(a2, b2) < D
    for i in np.flatnonzero(close.any(axis=1)):
        columns = np.flatnonzero(close[i])
        difference = A[i] - B[columns]
        D[i, columns] = -np.einsum("jk,jk->j", difference, difference)
    return D


def _gaussian(X: Array, Z: Array | None, scales: Array | float) -> Array:
    """exp(−Σ (x_k − z_k)²/s_k²); for Z = None only one triangle is computed and mirrored."""
    A, B = _centred(X, Z, scales)
    if Z is not None:
        D = _minus_squared_distances(A, B)
        return np.exp(D, out=D)
    K = np.empty((len(A), len(A)))
    for start in range(0, len(A), _ROWS):
        stop = min(start + _ROWS, len(A))
        np.exp(_minus_squared_distances(A[start:stop], A[:stop]), out=K[start:stop, :stop])
    mirror_lower(K)
    np.fill_diagonal(K, 1.0)
    return K


def _contract_squared_differences(X: Array, B: Array) -> Array:
    """Σ_ij B_ij (x_ik − x_jk)² for each input k and symmetric B, in O(N²d) time and O(Nd) memory."""
    A = X - X.mean(axis=0)
    return 2.0 * (np.einsum("i,ik->k", B.sum(axis=1), A**2) - np.einsum("ik,ik->k", A, product(B, A)))


@dataclass(frozen=True)
class RBF(Kernel):
    """K(x, z) = exp(−‖x − z‖² / σ²)."""

    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", require_positive("The width sigma of an RBF kernel", self.sigma))

    @property
    def log_params(self) -> Array:
        return np.array([np.log(self.sigma)])

    @property
    def param_names(self) -> tuple[str, ...]:
        return ("sigma",)

    def with_log_params(self, log_params: Array) -> RBF:
        return RBF(float(np.exp(log_params[0])))

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        return _gaussian(X, Z, self.sigma)

    def blocks(self, X: Array, Z: Array | None = None) -> Callable[[Kernel], Array]:
        """The distances are computed once; each width costs its exponentials."""
        D = _minus_squared_distances(*_centred(X, Z, 1.0))
        if Z is None:
            D = mirror_lower(D)
            np.fill_diagonal(D, 0.0)

        K = np.empty_like(D)

        def block(kernel: Kernel) -> Array:
            assert isinstance(kernel, RBF)
            np.multiply(D, kernel.sigma**-2, out=K)
            return np.exp(K, out=K)

        return block

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        U = _minus_squared_distances(*_centred(X, Z, self.sigma))
        yield -2.0 * U * np.exp(U)

    def contract(self, X: Array, W: Array, K: Array | None = None) -> Array:
        B = W * (self(X) if K is None else K)
        return np.array([2.0 / self.sigma**2 * _contract_squared_differences(X, B).sum()])

    def starting_points(self, X: Array) -> Array:
        typical = np.log(_START_FACTORS * np.sqrt(X.shape[1]))
        return np.concatenate([self.log_params, typical])[:, None]

    def log_bounds(self, X: Array) -> Array:
        return np.log(np.array([_BOUND_FACTORS]) * np.sqrt(X.shape[1]))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "RBF", "sigma": self.sigma}


@dataclass(frozen=True)
class ARD(Kernel):
    """K(x, z) = exp(−Σ_i (x_i − z_i)² / s_i²): a large s_i says that input i hardly matters (paper 4)."""

    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        scales = tuple(float(s) for s in np.atleast_1d(np.asarray(self.scales, dtype=float)))
        if not scales:
            raise ValueError("An ARD kernel needs one scale for each input, got none.")
        for s in scales:
            require_positive("Each scale of an ARD kernel", s)
        object.__setattr__(self, "scales", scales)

    @property
    def log_params(self) -> Array:
        return np.log(self.scales)

    @property
    def param_names(self) -> tuple[str, ...]:
        return tuple(f"scale_{i}" for i in range(len(self.scales)))

    def with_log_params(self, log_params: Array) -> ARD:
        return ARD(tuple(np.exp(np.asarray(log_params, dtype=float))))

    def check_width(self, n_features: int) -> None:
        if n_features != len(self.scales):
            raise ValueError(
                f"The ARD kernel has {len(self.scales)} scales but the inputs have {n_features} columns; "
                "give one scale for each column."
            )

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        self.check_width(X.shape[1])
        return _gaussian(X, Z, np.asarray(self.scales))

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        K = self(X, Z)
        Z = X if Z is None else Z
        for i, scale in enumerate(self.scales):
            yield 2.0 * K * ((X[:, i, None] - Z[None, :, i]) / scale) ** 2

    def contract(self, X: Array, W: Array, K: Array | None = None) -> Array:
        B = W * (self(X) if K is None else K)
        return 2.0 * _contract_squared_differences(X, B) / np.square(self.scales)

    def starting_points(self, X: Array) -> Array:
        # As many inputs, so many ways to start: spherical kernels of several widths (paper 4 starts from one).
        spherical = np.log(_START_FACTORS * np.sqrt(X.shape[1]))[:, None] * np.ones(X.shape[1])
        return np.vstack([self.log_params, spherical])

    def log_bounds(self, X: Array) -> Array:
        return np.tile(np.log(np.array([_BOUND_FACTORS]) * np.sqrt(X.shape[1])), (len(self.scales), 1))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "ARD", "scales": list(self.scales)}
