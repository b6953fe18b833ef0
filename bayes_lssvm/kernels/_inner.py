"""Kernels of the inner product xᵀz: linear, polynomial and multilayer perceptron."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial, lgamma
from typing import Any, ClassVar

import numpy as np

from ..base.errors import require_positive
from ..base.typing import AnyArray, Array
from ._base import WEAK_SD, Kernel


def _inner(X: Array, Z: Array | None) -> Array:
    X = np.asarray(X, dtype=float)
    return X @ (X if Z is None else Z).T  # NumPy uses a symmetric product where both are one array


def _squared_norms(X: Array) -> Array:
    return np.einsum("ij,ij->i", X, X)


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """K(x, z) = xᵀz, or (x − o)ᵀ(z − o) with an origin o. Its scale is 1/μ, so it has no parameter.

    Alone and in sums the bias makes every origin the same; in a product it is where the other kernel's functions have
    no say.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import Linear
    >>> Linear()(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 5., 11.],
           [11., 25.]])
    """

    origin: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        origin = tuple(float(o) for o in self.origin)
        if not np.isfinite(origin).all():
            raise ValueError(f"The origin of a linear kernel must be finite, got {self.origin!r}.")
        object.__setattr__(self, "origin", origin)

    def _from_origin(self, X: Array) -> Array:
        self.check_width(X.shape[1])
        return X - np.array(self.origin) if self.origin else X

    def moved(self, columns: AnyArray) -> Linear:
        return Linear(tuple(np.array(self.origin)[columns].tolist())) if self.origin else self

    @property
    def log_params(self) -> Array:
        return np.empty(0)

    @property
    def param_names(self) -> tuple[str, ...]:
        return ()

    def with_log_params(self, log_params: Array) -> Linear:
        return self

    def check_width(self, n_features: int) -> None:
        if self.origin and n_features != len(self.origin):
            raise ValueError(
                f"The origin of {self!r} has {len(self.origin)} numbers but the inputs have {n_features} columns."
            )

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        return _inner(self._from_origin(X), None if Z is None else self._from_origin(Z))

    def diag(self, X: Array) -> Array:
        return _squared_norms(self._from_origin(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        return iter(())

    def feature_map(self, X: Array) -> Array:
        return np.array(self._from_origin(X), dtype=float)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "Linear"} | ({"origin": list(self.origin)} if self.origin else {})

    def __repr__(self) -> str:
        return f"Linear(origin={self.origin})" if self.origin else "Linear()"


@dataclass(frozen=True)
class Polynomial(Kernel):
    """K(x, z) = (1 + xᵀz / scale)^degree (papers 0 and 3).

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import Polynomial
    >>> Polynomial(degree=2, scale=1.0)(np.array([[1.0], [2.0]]))
    array([[ 4.,  9.],
           [ 9., 25.]])
    """

    alike_in_inputs: ClassVar[bool] = True

    degree: int = 3
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.degree) or int(self.degree) != self.degree or self.degree < 1:
            raise ValueError(f"The degree of a polynomial kernel is a whole number ≥ 1, got {self.degree!r}.")
        object.__setattr__(self, "degree", int(self.degree))
        object.__setattr__(self, "scale", require_positive("The scale of a polynomial kernel", self.scale))

    @property
    def log_params(self) -> Array:
        return np.array([np.log(self.scale)])

    @property
    def param_names(self) -> tuple[str, ...]:
        return ("scale",)

    def with_log_params(self, log_params: Array) -> Polynomial:
        return Polynomial(self.degree, float(np.exp(log_params[0])))

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        K = _inner(X, Z)
        K /= self.scale
        K += 1.0
        K **= self.degree
        return K

    def diag(self, X: Array) -> Array:
        return (1.0 + _squared_norms(X) / self.scale) ** self.degree

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        u = _inner(X, Z) / self.scale
        yield -self.degree * (1.0 + u) ** (self.degree - 1) * u

    def starting_points(self, X: Array) -> Array:
        typical = np.log(max(X.shape[1], 1)) + np.log([0.1, 1.0, 10.0, 100.0])
        return np.concatenate([self.log_params, typical])[:, None]

    def log_bounds(self, X: Array) -> Array:
        centre = np.log(max(X.shape[1], 1))
        return np.array([[centre - np.log(1e4), centre + np.log(1e5)]])

    def log_prior(self, X: Array) -> Array:
        return np.array([[np.log(max(X.shape[1], 1)), WEAK_SD]])

    def feature_map(self, X: Array) -> Array:
        """All monomials up to the degree, weighted so that their inner product is the kernel.

        (1 + Σ_k x_k z_k / c)^d = Σ_a multinomial(d; a) Π_k (x_k z_k / c)^{a_k}, with a_0 = d − Σ a_k.
        """
        n, width = X.shape
        n_monomials = round(np.exp(lgamma(width + self.degree + 1) - lgamma(width + 1) - lgamma(self.degree + 1)))
        if n_monomials > 200_000:
            raise ValueError(
                f"The feature map of {self!r} on {width} inputs has {n_monomials} columns; use the dual forms."
            )
        columns = []
        for total in range(self.degree + 1):
            for picks in combinations_with_replacement(range(width), total):
                counts = np.bincount(picks, minlength=width) if picks else np.zeros(width, dtype=int)
                ways = factorial(self.degree) / factorial(self.degree - total)
                ways /= np.prod([factorial(int(c)) for c in counts])
                column = np.full(n, np.sqrt(ways / self.scale**total))
                for k in picks:
                    column *= X[:, k]
                columns.append(column)
        return np.stack(columns, axis=1)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "Polynomial", "degree": self.degree, "scale": self.scale}


@dataclass(frozen=True)
class MLP(Kernel):
    """K(x, z) = tanh(κ xᵀz + θ): positive semi-definite for some (κ, θ) and data only.

    κ > 0 is searched in its log; θ too where it is positive, and is held fixed otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import MLP
    >>> MLP(kappa=0.5, theta=1.0)(np.array([[1.0], [2.0]])).round(3)
    array([[0.905, 0.964],
           [0.964, 0.995]])
    """

    alike_in_inputs: ClassVar[bool] = True

    kappa: float = 1.0
    theta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kappa", require_positive("The gain kappa of an MLP kernel", self.kappa))
        if not np.isfinite(self.theta):
            raise ValueError(f"The offset theta of an MLP kernel must be finite, got {self.theta!r}.")
        object.__setattr__(self, "theta", float(self.theta))

    @property
    def log_params(self) -> Array:
        return np.log([self.kappa, self.theta] if self.theta > 0 else [self.kappa])

    @property
    def param_names(self) -> tuple[str, ...]:
        return ("kappa", "theta") if self.theta > 0 else ("kappa",)

    @property
    def is_psd(self) -> bool:
        return False

    def with_log_params(self, log_params: Array) -> MLP:
        values = np.exp(np.asarray(log_params, dtype=float))
        return MLP(float(values[0]), float(values[1]) if self.theta > 0 else self.theta)

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        K = _inner(X, Z)
        K *= self.kappa
        K += self.theta
        return np.tanh(K, out=K)

    def diag(self, X: Array) -> Array:
        return np.tanh(self.kappa * _squared_norms(X) + self.theta)

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        slope = 1.0 - self(X, Z) ** 2
        yield slope * self.kappa * _inner(X, Z)
        if self.theta > 0:
            yield slope * self.theta

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "MLP", "kappa": self.kappa, "theta": self.theta}
