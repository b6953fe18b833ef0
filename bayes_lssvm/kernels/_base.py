"""What every kernel offers, the kernels that are made of kernels, and what kernels with positive parameters share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigvalsh

from ..base.errors import NotPositiveSemidefiniteError, require_positive
from ..base.rounding import negative_rounding
from ..base.typing import AnyArray, Array

# Widths tried first, in units of √d: standardised inputs lie about √(2d) apart.
START_FACTORS = 2.0 ** np.arange(-5, 6)
BOUND_FACTORS = (1e-2, 1e3)
WEAK_SD = 3.0  # of the log of a parameter of which the size is known only
WIDTH_SD = 1.0  # of the log of a width: far wider than the inputs is a linear kernel in disguise


class Kernel(ABC):
    """A kernel function: blocks of its matrix, its diagonal and its derivatives in log parameters.

    Examples
    --------
    >>> from bayes_lssvm.kernels import RBF, Kernel
    >>> kernel = RBF(2.0)
    >>> isinstance(kernel, Kernel), kernel.param_names
    (True, ('sigma',))
    >>> kernel.with_log_params([0.0])
    RBF(sigma=1.0)
    """

    alike_in_inputs: ClassVar[bool] = False
    """Whether the inputs can be swapped with no change in the kernel; a class of one's own may say so."""

    flattens: ClassVar[bool] = False
    """Whether every parameter is a width: ∂²K/∂θ² is about −2 ∂K/∂θ where its log θ is large."""

    @property
    @abstractmethod
    def log_params(self) -> Array:
        """Logs of the free parameters, of shape (P,)."""

    @property
    @abstractmethod
    def param_names(self) -> tuple[str, ...]:
        """Names of the free parameters, in the order of `log_params`."""

    @abstractmethod
    def with_log_params(self, log_params: Array) -> Kernel:
        """The same kernel with other parameters."""

    @abstractmethod
    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        """The block K(X, Z) of shape (n, m); K(X, X), exactly symmetric, if Z is None."""

    @abstractmethod
    def diag(self, X: Array) -> Array:
        """K(x, x) for each row of X, of shape (n,)."""

    def rows(self, X: Array, Z: Array, room: Array) -> Array:
        """K(X, Z), in the memory of `room` of at least nm numbers where the kernel can make use of it."""
        return self(X, Z)

    @abstractmethod
    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        """The matrices ∂K(X, Z)/∂log θ_p one after the other, so that only one is in memory."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and names from which `kernel_from_dict` makes the kernel again."""

    @property
    def is_psd(self) -> bool:
        """Whether every matrix of this kernel is positive semi-definite by construction."""
        return True

    def contract(self, X: Array, W: Array, K: Array | None = None) -> Array:
        """Σ_ij W_ij ∂K_ij/∂log θ_p for each parameter: the gradient of any function of the kernel matrix.

        Parameters
        ----------
        X : array of shape (N, d)
        W : symmetric array of shape (N, N)
            Derivative of the function with respect to the kernel matrix.
        K : array of shape (N, N), optional
            K(X, X) where the caller has it, to save its evaluation.
        """
        return np.array([np.vdot(W, dK) for dK in self.gradient(X)])

    def contract_rows(self, X: Array, Z: Array, W: Array, K: Array) -> Array:
        """Σ_ij W_ij ∂K(x_i, z_j)/∂log θ_p for each parameter, from W and K = K(X, Z) of shape (n, m).

        W may be overwritten.
        """
        return np.array([float(np.einsum("ij,ij->i", W, dK).sum()) for dK in self.gradient(X, Z)])

    def lower_with_slope(self, X: Array, dtype: type[np.floating[Any]] = np.float64) -> tuple[AnyArray, AnyArray]:
        """K(X, X) and ∂K(X, X)/∂log θ of a kernel with one parameter, for work that uses up the first.

        Both are in Fortran order and of the precision asked for. Only their lower triangles are filled; above, the
        second is finite.
        """
        (dK,) = self.gradient(X)
        return np.array(self(X).T, dtype, order="F"), np.asarray(dK.T, dtype, order="F")  # symmetric

    def slopes_times(self, X: Array, v: Array, K: Array | None = None) -> Array:
        """∂K(X, X)/∂log θ_p v for each parameter, of shape (N, P), for a vector v; K is K(X, X) where it is known."""
        return np.column_stack([np.empty((len(v), 0)), *(dK @ v for dK in self.gradient(X))])

    def blocks(self, X: Array, Z: Array | None = None) -> Callable[[Kernel], Array]:
        """A function from kernels of this family to their block K(X, Z).

        The blocks may share work and memory: each is valid until the next one is asked for.
        """
        return lambda kernel: kernel(X, Z)

    def on(self, X: Array) -> Matrices:
        """Matrices of kernels of this family on the same points, and their gradients; they may share work."""
        return Matrices(X)

    def starting_points(self, X: Array) -> Array:
        """Log parameters from which a search may start, of shape (S, P); the present ones come first."""
        return self.log_params[None, :]

    def log_bounds(self, X: Array) -> Array:
        """Box in which log parameters are searched, of shape (P, 2)."""
        return np.stack([self.log_params - np.log(1e4), self.log_params + np.log(1e4)], axis=1)

    def log_prior(self, X: Array) -> Array:
        """Mean and standard deviation of the default prior of each log parameter for standardised inputs, (P, 2)."""
        return np.tile([0.0, WEAK_SD], (len(self.log_params), 1))

    def unchanged_below(self, X: Array) -> float | None:
        """Log parameter below which K(X, X) no longer changes; None where the limits of the kernel are not known.

        Where it is known, an integral over the parameter may leave `log_bounds`: see `up_to_constant` too.
        """
        return None

    def up_to_constant(self, X: Array) -> Array:
        """K(X, X) but for a constant, which centring removes: where all entries are nearly equal, without rounding."""
        return self(X)

    def within_bounds(self, X: Array) -> tuple[Kernel, float]:
        """A kernel within `log_bounds`, and the factor that makes this one of it, but for a constant.

        Itself and 1, unless `up_to_constant` has something to say.
        """
        return self, 1.0

    def check_width(self, n_features: int) -> None:  # noqa: B027 - most kernels take any width
        """Refuse inputs whose width contradicts the kernel's parameters."""

    def parameters_of(self, columns: AnyArray) -> AnyArray:
        """Which of `log_params` the kernel has on inputs X[:, columns], of shape (P,): those of a column go with it."""
        return np.arange(self.log_params.size)

    def moved(self, columns: AnyArray) -> Kernel | None:
        """The same kernel for inputs X[:, columns]; None where that is not known, as of most classes of one's own.

        Where it is, the order of the columns has no say in a search of the parameters.
        """
        return self if self.alike_in_inputs else None

    def feature_map(self, X: Array) -> Array:
        """φ(X) of shape (n, n_f) with K(x, z) = φ(x)ᵀφ(z), for kernels whose feature space is finite."""
        raise ValueError(
            f"{self!r} has no finite explicit feature map. Linear and Polynomial kernels (and their sums, "
            "products and scalings) have one; for other kernels use the dual forms."
        )

    def __str__(self) -> str:
        """The kernel with its numbers shortened to four digits."""
        return re.sub(r"\d+\.\d+(e[+-]?\d+)?", lambda number: f"{float(number[0]):.4g}", repr(self))

    def __add__(self, other: object) -> Kernel:
        return Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return Product((self, other))
        return self.__rmul__(other)

    def __rmul__(self, other: object) -> Kernel:
        if isinstance(other, int | float | np.integer | np.floating):
            return Scaled(float(other), self)
        return NotImplemented


@dataclass(frozen=True)
class Matrices:
    """K(X, X) of one kernel after the other on the same points, as a search of the parameters needs them.

    Attributes
    ----------
    X : array of shape (N, d)

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import RBF
    >>> matrices = RBF().on(np.array([[0.0], [2.0]]))
    >>> [float(matrices(RBF(sigma))[0, 1].round(3)) for sigma in (1.0, 2.0)]
    [0.018, 0.368]
    """

    X: Array

    def __call__(self, kernel: Kernel) -> Array:
        """K(X, X), of shape (N, N)."""
        return kernel(self.X)

    def contract(self, kernel: Kernel, W: Array, K: Array) -> Array:
        """As `Kernel.contract`, at these points."""
        return kernel.contract(self.X, W, K)


def _split(values: Array, parts: tuple[Kernel, ...]) -> list[Array]:
    edges = np.cumsum([part.log_params.size for part in parts])[:-1]
    return np.split(np.asarray(values, dtype=float), edges)


@dataclass(frozen=True)
class _Composite(Kernel):
    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise ValueError(f"A {type(self).__name__} of kernels needs two parts or more.")
        # a + b + c is one sum of three, not a sum of a sum
        flat = tuple(p for part in self.parts for p in (part.parts if type(part) is type(self) else (part,)))
        object.__setattr__(self, "parts", flat)

    @property
    def log_params(self) -> Array:
        return np.concatenate([part.log_params for part in self.parts])

    @property
    def param_names(self) -> tuple[str, ...]:
        return tuple(f"{i}.{name}" for i, part in enumerate(self.parts) for name in part.param_names)

    @property
    def is_psd(self) -> bool:
        return all(part.is_psd for part in self.parts)

    def with_log_params(self, log_params: Array) -> Kernel:
        pieces = _split(log_params, self.parts)
        return type(self)(tuple(p.with_log_params(v) for p, v in zip(self.parts, pieces, strict=True)))

    def starting_points(self, X: Array) -> Array:
        # The i-th start of every part together: a grid of all combinations would grow with the number of parts.
        starts = [part.starting_points(X) for part in self.parts]
        count = max(len(s) for s in starts)
        return np.stack([np.concatenate([s[min(i, len(s) - 1)] for s in starts]) for i in range(count)])

    def log_bounds(self, X: Array) -> Array:
        return np.concatenate([part.log_bounds(X) for part in self.parts])

    def log_prior(self, X: Array) -> Array:
        return np.concatenate([part.log_prior(X) for part in self.parts])

    def check_width(self, n_features: int) -> None:
        for part in self.parts:
            part.check_width(n_features)

    def parameters_of(self, columns: AnyArray) -> AnyArray:
        firsts = np.cumsum([0, *(part.log_params.size for part in self.parts)])
        own = [first + part.parameters_of(columns) for first, part in zip(firsts, self.parts, strict=False)]
        return np.concatenate(own)

    def moved(self, columns: AnyArray) -> Kernel | None:
        parts = [part.moved(columns) for part in self.parts]
        known = tuple(part for part in parts if part is not None)
        return type(self)(known) if len(known) == len(parts) else None

    def to_dict(self) -> dict[str, Any]:
        return {"kind": type(self).__name__, "parts": [part.to_dict() for part in self.parts]}


class Sum(_Composite):
    """K = K₁ + K₂ + …: the feature vectors stacked (paper 0, section 2).

    Examples
    --------
    >>> from bayes_lssvm.kernels import RBF, Linear
    >>> RBF(1.0) + Linear()
    RBF(sigma=1.0) + Linear()
    """

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        total = self.parts[0](X, Z)
        for part in self.parts[1:]:
            total += part(X, Z)
        return total

    def diag(self, X: Array) -> Array:
        return np.sum([part.diag(X) for part in self.parts], axis=0)

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        for part in self.parts:
            yield from part.gradient(X, Z)

    def contract(self, X: Array, W: Array, K: Array | None = None) -> Array:
        return np.concatenate([part.contract(X, W) for part in self.parts])

    def unchanged_below(self, X: Array) -> float | None:
        """That of the only part with a parameter."""
        free = [part for part in self.parts if part.log_params.size]
        return free[0].unchanged_below(X) if len(free) == 1 else None

    def up_to_constant(self, X: Array) -> Array:
        return np.sum([part.up_to_constant(X) for part in self.parts], axis=0)

    def feature_map(self, X: Array) -> Array:
        return np.hstack([part.feature_map(X) for part in self.parts])

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


class Product(_Composite):
    """K = K₁ · K₂ · …: the feature vectors' outer products.

    Examples
    --------
    >>> from bayes_lssvm.kernels import RBF, Periodic
    >>> RBF(3.0) * Periodic(length_scale=1.0, period=2.0)
    RBF(sigma=3.0) * Periodic(length_scale=1.0, period=2.0)
    """

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        total = self.parts[0](X, Z)
        for part in self.parts[1:]:
            total *= part(X, Z)
        return total

    def diag(self, X: Array) -> Array:
        return np.prod([part.diag(X) for part in self.parts], axis=0)

    def _others(self, i: int, X: Array, Z: Array | None) -> Array:
        rest = [part(X, Z) for j, part in enumerate(self.parts) if j != i]
        return np.multiply.reduce(rest)

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        for i, part in enumerate(self.parts):
            if part.log_params.size:
                others = self._others(i, X, Z)
                for dK in part.gradient(X, Z):
                    yield dK * others

    def contract(self, X: Array, W: Array, K: Array | None = None) -> Array:
        pieces = [
            part.contract(X, W * self._others(i, X, None)) if part.log_params.size else np.empty(0)
            for i, part in enumerate(self.parts)
        ]
        return np.concatenate(pieces)

    def feature_map(self, X: Array) -> Array:
        phi = self.parts[0].feature_map(X)
        for part in self.parts[1:]:
            phi = np.einsum("ni,nj->nij", phi, part.feature_map(X)).reshape(len(phi), -1)
        return phi

    def __repr__(self) -> str:
        return " * ".join(f"({p!r})" if isinstance(p, Sum) else repr(p) for p in self.parts)


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """K = factor · K₁. Alone, the factor only trades with μ; it matters inside a sum.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import RBF
    >>> kernel = 2.0 * RBF(1.0)
    >>> kernel(np.array([[0.0], [1.0]])).round(3)
    array([[2.   , 0.736],
           [0.736, 2.   ]])
    """

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise ValueError(f"A kernel can only be multiplied by a positive finite number, got {self.factor!r}.")

    @property
    def log_params(self) -> Array:
        return np.concatenate([[np.log(self.factor)], self.kernel.log_params])

    @property
    def param_names(self) -> tuple[str, ...]:
        return ("factor", *self.kernel.param_names)

    @property
    def is_psd(self) -> bool:
        return self.kernel.is_psd

    def with_log_params(self, log_params: Array) -> Kernel:
        values = np.asarray(log_params, dtype=float)
        return Scaled(float(np.exp(values[0])), self.kernel.with_log_params(values[1:]))

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        K = self.kernel(X, Z)
        K *= self.factor
        return K

    def diag(self, X: Array) -> Array:
        return self.factor * self.kernel.diag(X)

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        yield self(X, Z)
        for dK in self.kernel.gradient(X, Z):
            yield self.factor * dK

    def contract(self, X: Array, W: Array, K: Array | None = None) -> Array:
        K = self(X) if K is None else K
        inner = self.kernel.contract(X, W, None) if self.kernel.log_params.size else np.empty(0)
        return np.concatenate([[np.vdot(W, K)], self.factor * inner])

    def starting_points(self, X: Array) -> Array:
        inner = self.kernel.starting_points(X)
        return np.hstack([np.full((len(inner), 1), np.log(self.factor)), inner])

    def log_bounds(self, X: Array) -> Array:
        centre = np.log(self.factor)
        return np.vstack([[centre - np.log(1e6), centre + np.log(1e6)], self.kernel.log_bounds(X)])

    def log_prior(self, X: Array) -> Array:
        return np.vstack([[0.0, WEAK_SD], self.kernel.log_prior(X)])

    def check_width(self, n_features: int) -> None:
        self.kernel.check_width(n_features)

    def parameters_of(self, columns: AnyArray) -> AnyArray:
        return np.append(0, 1 + self.kernel.parameters_of(columns))

    def moved(self, columns: AnyArray) -> Kernel | None:
        inner = self.kernel.moved(columns)
        return None if inner is None else Scaled(self.factor, inner)

    def feature_map(self, X: Array) -> Array:
        return np.sqrt(self.factor) * self.kernel.feature_map(X)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "Scaled", "factor": self.factor, "kernel": self.kernel.to_dict()}

    def __repr__(self) -> str:
        inner = f"({self.kernel!r})" if isinstance(self.kernel, Sum) else repr(self.kernel)
        return f"{self.factor:.6g} * {inner}"


class OneWidth(Kernel):
    """Where the width σ of a kernel of all inputs is looked for: about √d, the distance of standardised points."""

    def starting_points(self, X: Array) -> Array:
        typical = np.log(START_FACTORS * np.sqrt(X.shape[1]))
        return np.concatenate([self.log_params, typical])[:, None]

    def log_bounds(self, X: Array) -> Array:
        return np.log(np.array([BOUND_FACTORS]) * np.sqrt(X.shape[1]))

    def log_prior(self, X: Array) -> Array:
        return np.array([[0.5 * np.log(max(X.shape[1], 1)), WIDTH_SD]])


@dataclass(frozen=True)
class Parametric(Kernel):
    """A frozen dataclass whose fields named in `free` are positive parameters, searched in their logs.

    A kernel of one's own adds `__call__`, `diag` and `gradient`, and is registered by `register` so that model files
    can hold it.

    Examples
    --------
    >>> from bayes_lssvm.kernels import Matern, Parametric
    >>> issubclass(Matern, Parametric), Matern(2.0).param_names
    (True, ('length_scale',))
    """

    free: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self.free:
            what = f"The {name} of a {type(self).__name__} kernel"
            object.__setattr__(self, name, require_positive(what, getattr(self, name)))

    @property
    def log_params(self) -> Array:
        return np.log(np.array([getattr(self, name) for name in self.free], dtype=float))

    @property
    def param_names(self) -> tuple[str, ...]:
        return self.free

    def with_log_params(self, log_params: Array) -> Self:
        values = np.exp(np.asarray(log_params, dtype=float)).tolist()
        return replace(self, **dict(zip(self.free, values, strict=True)))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": type(self).__name__} | {field.name: getattr(self, field.name) for field in fields(self)}


def check_positive_semidefinite(kernel: Kernel, K: Array) -> None:
    """Refuse a kernel matrix that is not finite, or has a negative eigenvalue where its kernel could have one.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import MLP, check_positive_semidefinite
    >>> check_positive_semidefinite(MLP(1.0, 1.0), np.eye(2))
    """
    if not np.isfinite(K.sum()):
        raise ValueError(
            f"The matrix of {kernel!s} on these data has entries that are not finite: its parameters are too extreme "
            "for inputs of this size."
        )
    if kernel.is_psd:
        return
    eigenvalues = eigvalsh(K)
    if eigenvalues[0] < -negative_rounding(len(K), float(np.abs(eigenvalues).max())):
        raise NotPositiveSemidefiniteError(
            f"The matrix of {kernel!r} on these data is not positive semi-definite (smallest eigenvalue "
            f"{eigenvalues[0]:.3g}, largest {eigenvalues[-1]:.3g}), so it is not an inner product and the "
            "evidence is not defined. Use other parameters, or a Linear, Polynomial or RBF kernel."
        )
