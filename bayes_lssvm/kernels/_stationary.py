"""Kernels of the distance r = ‖x − z‖: the radial basis function, its version with a scale for each input, and others.

The parameters of Matérn's and the rational quadratic kernel are those of Rasmussen and Williams (2006, section 4.2) and
of scikit-learn: `length_scale` is ℓ of exp(−r²/2ℓ²), so that an RBF kernel of the same smoothness has σ = √2 ℓ.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..base.errors import require_positive
from ..base.typing import AnyArray, Array
from ..linalg.blas import mirror_lower, product
from ._base import BOUND_FACTORS, START_FACTORS, WEAK_SD, WIDTH_SD, Kernel, Matrices, OneWidth, Parametric

_VANISHED = float(np.log(28.0))  # exp(−28²) is zero
_ALIKE = 1e-5  # d²/σ² of the farthest points, below which all entries of a matrix are one, as good as
_ROWS = 256
_CANCELLED = 0.02  # distance over lengths, both squared, below which more than a digit and a half would be lost
_POINTS_AN_INPUT = 16  # up to which distances are kept: they are some per cent of an evidence, and 16 times the inputs
_PAIRS = 2**16  # of points whose differences are taken at a time


class _Points(NamedTuple):
    """Points as they are given, and round a centre in units of the scales."""

    given: Array
    centred: Array

    def rows(self, which: slice) -> _Points:
        return _Points(self.given[which], self.centred[which])


def _centred(X: Array, Z: Array | None, scales: Array | float) -> tuple[_Points, _Points]:
    """Both sets of points round the second one's mean, then in units of the scales.

    Distances do not change, the cancellation in a² + b² − 2ab shrinks, and the division does not round an offset.
    """
    others = np.asarray(X if Z is None else Z, dtype=float)
    centre = others.mean(axis=0)
    of_Z = _Points(others, _in_units(others, centre, scales))
    if Z is None or Z is X:
        return of_Z, of_Z
    points = np.asarray(X, dtype=float)
    return _Points(points, _in_units(points, centre, scales)), of_Z


def _in_units(points: Array, centre: Array, scales: Array | float) -> Array:
    found = points - centre
    found /= scales
    return found


def _minus_squared_distances(
    points: _Points, others: _Points, scales: Array | float, *, room: Array | None = None, own: int | None = None
) -> Array:
    """−‖a_i − b_j‖² from one matrix product, so without an n·m·d array; in the memory of `room`, if it is given.

    a² + b² − 2ab has the rounding of a² + b². Where that is far more than the distance, as for all points but one if
    that one is far away, differences are taken first; so the matrix of a Gaussian has the rounding of its entries.
    They are those of the points as given: a far point moves the centre, and then what is centred has lost digits too.
    With `own`, the points are others[own:], whose distances from themselves are zero.
    """
    A, B = points.centred, others.centred
    a2, b2 = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
    left, d = np.empty((len(A), A.shape[1] + 2)), A.shape[1]
    np.multiply(2.0, A, out=left[:, :d])
    left[:, d], left[:, d + 1] = -a2, -1.0
    D = product(left, np.column_stack([B, np.ones(len(B)), b2]).T, room)
    themselves = None if own is None else D.reshape(-1)[own :: D.shape[1] + 1]  # a view
    if themselves is not None:
        themselves[...] = -np.inf  # known, and not to be looked at for every row
    # what rounding made positive is close; rows that hold nothing close are told by their maximum alone, NaN never is
    rows = np.flatnonzero(~(D.max(axis=1) <= -_CANCELLED * (a2 + b2.max())))
    here = D if len(rows) == len(D) else D[rows]
    close = np.flatnonzero(np.add.outer(-_CANCELLED * a2[rows], -_CANCELLED * b2) < here)
    for start in range(0, len(close), _PAIRS):
        i, j = np.divmod(close[start : start + _PAIRS], len(B))
        i = rows[i]
        difference = (points.given[i] - others.given[j]) / scales
        # a sum for each pair by itself: einsum's last digit depends on where in the block a pair stands
        D[i, j] = -np.square(difference, out=difference).sum(axis=1)
    if themselves is not None:
        themselves[...] = 0.0
    return D


def _of_distances(
    function: Callable[[Array], Array],
    X: Array,
    Z: Array | None,
    scales: Array | float,
    room: Array | None = None,
    at_zero: float = 1.0,
) -> Array:
    """A function of −Σ (x_k − z_k)²/s_k², known at 0; for Z = None only one triangle is computed and mirrored."""
    A, B = _centred(X, Z, scales)
    if Z is not None:
        return function(_minus_squared_distances(A, B, scales, room=room))
    n = len(X)
    K = np.empty((n, n))
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        some, before = A.rows(slice(start, stop)), A.rows(slice(stop))
        K[start:stop, :stop] = function(_minus_squared_distances(some, before, scales, own=start))
    mirror_lower(K)
    np.fill_diagonal(K, at_zero)
    return K


def _scaled_distances(X: Array, Z: Array | None, scale: float) -> Array:
    """−‖x − z‖²/scale²; exactly symmetric, with zeros on its diagonal, for Z = None."""
    D = _minus_squared_distances(*_centred(X, Z, scale), scale, own=0 if Z is None else None)
    if Z is None:
        mirror_lower(D)
        np.fill_diagonal(D, 0.0)
    return D


def _exp(D: Array) -> Array:
    return np.exp(D, out=D)


def _slope_of_exp(D: Array) -> Array:
    """∂exp(−r²/σ²)/∂log σ from D = −r²/σ²."""
    slope = np.exp(D)
    slope *= D
    slope *= -2.0
    return slope


def _contract_squared_differences(X: Array, W: Array, K: Array) -> Array:
    """Σ_ij W_ij K_ij (x_ik − x_jk)² for each input k and symmetric W and K, in O(N²d) time and O(Nd) memory."""
    A = X - X.mean(axis=0)
    total = np.zeros(X.shape[1])
    for start in range(0, len(A), _ROWS):
        rows = slice(start, start + _ROWS)
        B = W[rows] * K[rows]
        total += np.einsum("i,ik->k", B.sum(axis=1), A[rows] ** 2) - np.einsum("ik,ik->k", A[rows], product(B, A))
    return 2.0 * total


def _contract_between(X: Array, Z: Array, W: Array, K: Array) -> Array:
    """Σ_ij W_ij K_ij (x_ik − z_jk)² for each input k, by one product instead of an n × m array for each input."""
    centre = Z.mean(axis=0)
    A, B, P = X - centre, Z - centre, np.multiply(W, K, out=W)
    own, other = np.einsum("ij->i", P) @ A**2, np.einsum("ij->j", P) @ B**2
    return np.asarray(own + other - 2.0 * np.einsum("ik,ik->k", A, product(P, B)))


@dataclass(frozen=True)
class _KeptDistances(Matrices):
    """RBF kernels of many widths on the same points, whose squared distances are computed once."""

    D: Array  # −‖x_i − x_j‖², of shape (N, N)

    def __call__(self, kernel: Kernel) -> Array:
        assert isinstance(kernel, RBF)
        return _exp(self.D * kernel.sigma**-2)

    def contract(self, kernel: Kernel, W: Array, K: Array) -> Array:
        assert isinstance(kernel, RBF)
        return np.array([-2.0 / kernel.sigma**2 * np.einsum("ij,ij,ij->i", W, K, self.D).sum()])


@dataclass(frozen=True)
class RBF(OneWidth):
    """K(x, z) = exp(−‖x − z‖² / σ²).

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import RBF
    >>> RBF(sigma=2.0)(np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    alike_in_inputs: ClassVar[bool] = True

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
        return _of_distances(_exp, X, Z, self.sigma)

    def rows(self, X: Array, Z: Array, room: Array) -> Array:
        return _of_distances(_exp, X, Z, self.sigma, room)

    def blocks(self, X: Array, Z: Array | None = None) -> Callable[[Kernel], Array]:
        """The distances are computed once; each width costs its exponentials."""
        D = _scaled_distances(X, Z, 1.0)
        K = np.empty_like(D)

        def block(kernel: Kernel) -> Array:
            assert isinstance(kernel, RBF)
            np.multiply(D, kernel.sigma**-2, out=K)
            return np.exp(K, out=K)

        return block

    def on(self, X: Array) -> Matrices:
        """With many inputs the distances are computed once for all widths."""
        if type(self) is not RBF or len(X) > _POINTS_AN_INPUT * X.shape[1]:
            return Matrices(X)
        return _KeptDistances(X, _scaled_distances(X, None, 1.0))

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        yield _of_distances(_slope_of_exp, X, Z, self.sigma, at_zero=0.0)

    def lower_with_slope(self, X: Array, dtype: type[np.floating[Any]] = np.float64) -> tuple[AnyArray, AnyArray]:
        """Both from the same distances, −2K log K being the slope."""
        points, _ = _centred(X, None, self.sigma)
        n = len(X)
        K, dK = np.empty((n, n), dtype), np.empty((n, n), dtype)
        for start in range(0, n, _ROWS):
            rows, right = slice(start, min(start + _ROWS, n)), slice(start, n)
            D = _minus_squared_distances(points.rows(rows), points.rows(right), self.sigma, own=0)
            D = np.asarray(D, dtype)
            np.exp(D, out=K[rows, right])
            D *= -2.0
            np.multiply(D, K[rows, right], out=dK[rows, right])
            dK[rows, :start] = 0.0
        return K.T, dK.T

    def contract(self, X: Array, W: Array, K: Array | None = None) -> Array:
        K = self(X) if K is None else K
        return np.array([2.0 / self.sigma**2 * _contract_squared_differences(X, W, K).sum()])

    def contract_rows(self, X: Array, Z: Array, W: Array, K: Array) -> Array:
        return np.array([2.0 / self.sigma**2 * _contract_between(X, Z, W, K).sum()])

    def unchanged_below(self, X: Array) -> float:
        """Where exp(−d²/σ²) of the nearest two points, d apart, is zero in double precision."""
        D = -_scaled_distances(X, None, 1.0)
        apart = D[D > 0.0]
        return 0.5 * float(np.log(apart.min())) - _VANISHED if apart.size else 0.0

    def up_to_constant(self, X: Array) -> Array:
        """K, or K − 1 for a width far beyond all distances."""
        if float((np.ptp(X, axis=0) ** 2).sum()) > _ALIKE * self.sigma**2:
            return self(X)
        D = _scaled_distances(X, None, self.sigma)
        return np.expm1(D, out=D)

    def within_bounds(self, X: Array) -> tuple[Kernel, float]:
        """For a width far beyond all distances K = 1 − d²/σ², as good as: a multiple of any other such width's."""
        widest = float(np.exp(self.log_bounds(X)[0, 1]))
        return (self, 1.0) if self.sigma <= widest else (RBF(widest), (widest / self.sigma) ** 2)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "RBF", "sigma": self.sigma}


@dataclass(frozen=True)
class ARD(Kernel):
    """K(x, z) = exp(−Σ_i (x_i − z_i)² / s_i²): a large s_i says that input i hardly matters (paper 4).

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import ARD
    >>> ARD([1.0, 10.0])(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))[0].round(3)
    array([1.   , 0.368, 0.99 ])
    """

    flattens: ClassVar[bool] = True

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

    def parameters_of(self, columns: AnyArray) -> AnyArray:
        return np.asarray(columns)

    def moved(self, columns: AnyArray) -> ARD:
        return ARD(tuple(np.asarray(self.scales)[columns].tolist()))

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        self.check_width(X.shape[1])
        return _of_distances(_exp, X, Z, np.asarray(self.scales))

    def rows(self, X: Array, Z: Array, room: Array) -> Array:
        self.check_width(X.shape[1])
        return _of_distances(_exp, X, Z, np.asarray(self.scales), room)

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        K = self(X, Z)
        Z = X if Z is None else Z
        for i, scale in enumerate(self.scales):
            yield 2.0 * K * ((X[:, i, None] - Z[None, :, i]) / scale) ** 2

    def contract(self, X: Array, W: Array, K: Array | None = None) -> Array:
        K = self(X) if K is None else K
        return 2.0 * _contract_squared_differences(X, W, K) / np.square(self.scales)

    def contract_rows(self, X: Array, Z: Array, W: Array, K: Array) -> Array:
        return 2.0 * _contract_between(X, Z, W, K) / np.square(self.scales)

    def slopes_times(self, X: Array, v: Array, K: Array | None = None) -> Array:
        """By products of K with vectors: (x − z)² = x² − 2xz + z²."""
        K, A = self(X) if K is None else K, X - X.mean(axis=0)
        both = np.column_stack([v, A * v[:, None], A**2 * v[:, None]])
        own, mixed, other = np.split(product(K, both), [1, 1 + A.shape[1]], axis=1)
        return np.asarray((A**2 * own - 2.0 * A * mixed + other) * 2.0 / np.square(self.scales))

    def starting_points(self, X: Array) -> Array:
        # As many inputs, so many ways to start: spherical kernels of several widths (paper 4 starts from one).
        spherical = np.log(START_FACTORS * np.sqrt(X.shape[1]))[:, None] * np.ones(X.shape[1])
        return np.vstack([self.log_params, spherical])

    def log_bounds(self, X: Array) -> Array:
        return np.tile(np.log(np.array([BOUND_FACTORS]) * np.sqrt(X.shape[1])), (len(self.scales), 1))

    def log_prior(self, X: Array) -> Array:
        return np.tile([0.5 * np.log(max(X.shape[1], 1)), WEAK_SD], (len(self.scales), 1))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "ARD", "scales": list(self.scales)}


def _typical(X: Array) -> float:
    """√(d/2): standardised inputs lie about √(2d) apart."""
    return float(np.sqrt(max(X.shape[1], 1) / 2.0))


@dataclass(frozen=True)
class _Radial(Parametric):
    """A kernel of r/ℓ that is 1 at 0."""

    length_scale: float = 1.0

    free: ClassVar[tuple[str, ...]] = ("length_scale",)
    alike_in_inputs: ClassVar[bool] = True

    @abstractmethod
    def _values(self, U: Array) -> Array:
        """K from U = −r²/ℓ², which may be overwritten."""

    @abstractmethod
    def _slopes(self, U: Array) -> Iterator[Array]:
        """∂K/∂log θ for each parameter from U = −r²/ℓ²."""

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        return _of_distances(self._values, X, Z, self.length_scale)

    def rows(self, X: Array, Z: Array, room: Array) -> Array:
        return _of_distances(self._values, X, Z, self.length_scale, room)

    def blocks(self, X: Array, Z: Array | None = None) -> Callable[[Kernel], Array]:
        """The distances are computed once."""
        D = _scaled_distances(X, Z, 1.0)

        def block(kernel: Kernel) -> Array:
            assert isinstance(kernel, _Radial)
            return kernel._values(D * kernel.length_scale**-2)

        return block

    def diag(self, X: Array) -> Array:
        return np.ones(len(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        yield from self._slopes(_scaled_distances(X, Z, self.length_scale))

    def starting_points(self, X: Array) -> Array:
        starts = np.tile(self.log_params, (len(START_FACTORS) + 1, 1))
        starts[1:, 0] = np.log(START_FACTORS * _typical(X))
        return starts

    def log_bounds(self, X: Array) -> Array:
        return np.log(np.array([BOUND_FACTORS]) * _typical(X))

    def log_prior(self, X: Array) -> Array:
        return np.array([[np.log(_typical(X)), WIDTH_SD]])


@dataclass(frozen=True)
class Matern(_Radial):
    """Matérn's kernel with ν = 1/2, 3/2 or 5/2: functions that have 0, 1 or 2 derivatives.

    With ρ = √(2ν) r/ℓ it is e^−ρ, (1 + ρ)e^−ρ or (1 + ρ + ρ²/3)e^−ρ.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import Matern
    >>> Matern(length_scale=1.0, nu=1.5)(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.483],
           [0.483, 1.   ]])
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu of a Matern kernel is 0.5, 1.5 or 2.5 (nu → ∞ is the RBF kernel), got {self.nu!r}.")
        object.__setattr__(self, "nu", float(self.nu))
        super().__post_init__()

    def _distances(self, U: Array) -> Array:
        return np.sqrt(-2.0 * self.nu * U)

    def _values(self, U: Array) -> Array:
        rho = self._distances(U)
        decay = np.exp(-rho, out=U)
        if self.nu == 1.5:
            decay *= 1.0 + rho
        elif self.nu == 2.5:
            decay *= 1.0 + rho * (1.0 + rho / 3.0)
        return decay

    def _slopes(self, U: Array) -> Iterator[Array]:
        rho = self._distances(U)
        slope = rho * np.exp(-rho)
        if self.nu == 1.5:
            slope *= rho
        elif self.nu == 2.5:
            slope *= rho * (1.0 + rho) / 3.0
        yield slope


@dataclass(frozen=True)
class RationalQuadratic(_Radial):
    """K(x, z) = (1 + r²/2αℓ²)^−α: a mixture of Gaussians of many widths, wider the smaller α is; α → ∞ is the RBF.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import RationalQuadratic
    >>> RationalQuadratic(length_scale=1.0, alpha=0.5)(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    alpha: float = 1.0

    free: ClassVar[tuple[str, ...]] = ("length_scale", "alpha")

    def _values(self, U: Array) -> Array:
        U /= -2.0 * self.alpha
        np.log1p(U, out=U)
        U *= -self.alpha
        return np.exp(U, out=U)

    def _slopes(self, U: Array) -> Iterator[Array]:
        v = U / (-2.0 * self.alpha)
        log_base, share = np.log1p(v), self.alpha * v / (1.0 + v)
        K = np.exp(-self.alpha * log_base)
        yield 2.0 * share * K
        yield (share - self.alpha * log_base) * K

    def log_bounds(self, X: Array) -> Array:
        return np.vstack([super().log_bounds(X), np.log([1e-3, 1e4])])

    def log_prior(self, X: Array) -> Array:
        # α far above 1 is an RBF kernel in disguise
        return np.vstack([super().log_prior(X), [0.0, WIDTH_SD]])
