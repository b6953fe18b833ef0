"""A kernel of some of the inputs: with sums, functions that add up; with products, inputs that interact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.typing import AnyArray, Array
from ._base import Kernel


@dataclass(frozen=True, repr=False)
class OnInputs(Kernel):
    """K(x, z) = K₁ of the inputs `columns` of x and z, counted from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm.kernels import RBF, Linear, OnInputs
    >>> kernel = OnInputs(RBF(1.0), [0]) + OnInputs(Linear(), [1])
    >>> kernel(np.array([[0.0, 1.0], [0.0, 2.0]]))
    array([[2., 3.],
           [3., 5.]])
    """

    kernel: Kernel
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        columns = tuple(int(c) for c in self.columns)
        if not columns or min(columns) < 0 or len(set(columns)) < len(columns) or columns != tuple(self.columns):
            raise ValueError(
                "The inputs of a kernel are different whole numbers, counted from 0, and at least one; got "
                f"{self.columns!r}."
            )
        object.__setattr__(self, "columns", columns)
        self.kernel.check_width(len(columns))

    def _of(self, X: Array) -> Array:
        return np.ascontiguousarray(np.asarray(X)[:, list(self.columns)])

    def _pair(self, X: Array, Z: Array | None) -> tuple[Array, Array | None]:
        return self._of(X), None if Z is None else self._of(Z)

    @property
    def log_params(self) -> Array:
        return self.kernel.log_params

    @property
    def param_names(self) -> tuple[str, ...]:
        return self.kernel.param_names

    @property
    def is_psd(self) -> bool:
        return self.kernel.is_psd

    def with_log_params(self, log_params: Array) -> OnInputs:
        return OnInputs(self.kernel.with_log_params(log_params), self.columns)

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        return self.kernel(*self._pair(X, Z))

    def diag(self, X: Array) -> Array:
        return self.kernel.diag(self._of(X))

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        return self.kernel.gradient(*self._pair(X, Z))

    def contract(self, X: Array, W: Array, K: Array | None = None) -> Array:
        return self.kernel.contract(self._of(X), W, K)

    def blocks(self, X: Array, Z: Array | None = None) -> Callable[[Kernel], Array]:
        inner = self.kernel.blocks(*self._pair(X, Z))

        def block(kernel: Kernel) -> Array:
            assert isinstance(kernel, OnInputs)
            return inner(kernel.kernel)

        return block

    def starting_points(self, X: Array) -> Array:
        return self.kernel.starting_points(self._of(X))

    def log_bounds(self, X: Array) -> Array:
        return self.kernel.log_bounds(self._of(X))

    def log_prior(self, X: Array) -> Array:
        return self.kernel.log_prior(self._of(X))

    def check_width(self, n_features: int) -> None:
        if max(self.columns) >= n_features:
            raise ValueError(
                f"{self!s} is a kernel of input {max(self.columns)}, but the inputs have {n_features} columns, counted "
                "from 0."
            )

    def moved(self, columns: AnyArray) -> OnInputs:
        places = np.argsort(columns)
        return OnInputs(self.kernel, tuple(places[list(self.columns)].tolist()))

    def feature_map(self, X: Array) -> Array:
        return self.kernel.feature_map(self._of(X))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "OnInputs", "kernel": self.kernel.to_dict(), "columns": list(self.columns)}

    def __repr__(self) -> str:
        return f"OnInputs({self.kernel!r}, {self.columns})"
