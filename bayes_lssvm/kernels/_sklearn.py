"""scikit-learn's Gaussian process kernels as they are: values and gradients are scikit-learn's own.

A composite comes as a whole. scikit-learn's theta are the logs of the free parameters, and so are ours; what is "fixed"
there stays fixed, and its bounds are those of the search. The amplitude of a whole kernel (`ConstantKernel`) trades
with μ, and `WhiteKernel` with ζ: leave them out at the top.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base.errors import UnknownKernelError
from ..base.typing import Array
from ._base import Kernel

_SHIFTS = np.log([1.0, 0.125, 0.25, 0.5, 2.0, 4.0, 8.0])
_HOME = "sklearn.gaussian_process.kernels"
_PSD = ("RBF", "Matern", "RationalQuadratic", "DotProduct", "ConstantKernel", "WhiteKernel", "Sum", "Product")


class FromSklearn(Kernel):
    """A kernel of scikit-learn's; `from_sklearn` makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from bayes_lssvm.kernels import FromSklearn
    >>> FromSklearn(RBF(1.0))(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """

    def __init__(self, peer: Any) -> None:
        self._peer = peer

    @property
    def peer(self) -> Any:
        """The scikit-learn kernel, a copy of its own."""
        return self._peer.clone_with_theta(self._peer.theta)

    @property
    def log_params(self) -> Array:
        return np.array(self._peer.theta, dtype=float)

    @property
    def param_names(self) -> tuple[str, ...]:
        names: list[str] = []
        for found in self._peer.hyperparameters:
            if not found.fixed:
                names += (
                    [f"{found.name}_{i}" for i in range(found.n_elements)] if found.n_elements > 1 else [found.name]
                )
        return tuple(names)

    @property
    def is_psd(self) -> bool:
        """Whether all its parts are known to be; `ExpSineSquared` of several inputs, for one, is not."""
        kinds = [type(part) for part in _parts(self._peer)]
        return all(kind.__module__ == _HOME and kind.__name__ in _PSD for kind in kinds)

    def with_log_params(self, log_params: Array) -> FromSklearn:
        return FromSklearn(self._peer.clone_with_theta(np.asarray(log_params, dtype=float)))

    def check_width(self, n_features: int) -> None:
        try:
            self._peer(np.zeros((1, n_features)))
        except ValueError as error:
            raise ValueError(f"The kernel {self!r} does not take inputs of {n_features} columns: {error}") from None

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        if Z is not None:
            return np.array(self._peer(X, Z), dtype=float)
        K = np.asarray(self._peer(X), dtype=float)
        return 0.5 * (K + K.T)  # symmetric to the last bit

    def diag(self, X: Array) -> Array:
        return np.array(self._peer.diag(X), dtype=float)

    def gradient(self, X: Array, Z: Array | None = None) -> Iterator[Array]:
        # scikit-learn has gradients of square matrices only, and all at once
        rows = X if Z is None else np.vstack([X, Z])
        whole = self._peer(rows, eval_gradient=True)[1]
        for p in range(whole.shape[2]):
            yield np.ascontiguousarray(whole[:, :, p] if Z is None else whole[: len(X), len(X) :, p])

    def starting_points(self, X: Array) -> Array:
        """The present parameters, and all of them smaller or larger by the same factor."""
        return self.log_params + _SHIFTS[:, None] * np.ones(self.log_params.size)

    def log_bounds(self, X: Array) -> Array:
        return np.array(self._peer.bounds, dtype=float).reshape(-1, 2)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "FromSklearn", "peer": _plain(self._peer)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FromSklearn) and _state(self._peer) == _state(other._peer)

    def __hash__(self) -> int:
        return hash(_state(self._peer))

    def __repr__(self) -> str:
        return f"from_sklearn({self._peer!r})"


def from_sklearn(kernel: Any) -> FromSklearn:
    """A kernel of scikit-learn's Gaussian processes as a kernel of this library.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Any kernel that gives one matrix, composites and kernels of your own included. Those of
        `sklearn.gaussian_process.kernels` can be saved and loaded.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import DotProduct, Matern
    >>> from bayes_lssvm.kernels import from_sklearn
    >>> from_sklearn(Matern(2.0, nu=1.5) + DotProduct(sigma_0=0.5)).param_names
    ('k1__length_scale', 'k2__sigma_0')
    """
    from sklearn.gaussian_process import kernels as peers

    if not isinstance(kernel, peers.Kernel):
        raise ValueError(f"from_sklearn takes a kernel of sklearn.gaussian_process.kernels, got {kernel!r}.")
    if isinstance(kernel, peers.CompoundKernel):
        raise ValueError(
            "A CompoundKernel is a list of kernels, each with its own matrix, not one kernel; use them one by "
            "one, or add them."
        )
    if not np.isfinite(kernel.theta).all():
        raise ValueError(f"The parameters of {kernel!r} do not have finite logarithms; give positive finite ones.")
    return FromSklearn(kernel.clone_with_theta(kernel.theta))


def _parts(peer: Any) -> Iterator[Any]:
    """A scikit-learn kernel and the kernels in it."""
    yield peer
    for value in peer.get_params(deep=False).values():
        if hasattr(value, "clone_with_theta"):
            yield from _parts(value)


def _plain(peer: Any) -> dict[str, Any]:
    """Names and plain numbers of a kernel of scikit-learn itself."""
    from sklearn.gaussian_process import kernels as peers

    if getattr(peers, type(peer).__name__, None) is not type(peer):
        raise UnknownKernelError(
            f"{peer!r} is not one of scikit-learn's own kernels, so it cannot be restored from a file. Write it as "
            "a subclass of bayes_lssvm.kernels.Kernel and register it."
        )
    return {"class": type(peer).__name__, "params": {name: _value(v) for name, v in peer.get_params(False).items()}}


def _value(value: Any) -> Any:
    if hasattr(value, "clone_with_theta"):
        return _plain(value)
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_value(v) for v in value] if isinstance(value, list | tuple) else value


def _state(peer: Any) -> str:
    """What makes two kernels equal: classes and parameters."""
    params = peer.get_params(deep=False)
    inner = {n: _state(v) if hasattr(v, "clone_with_theta") else repr(_value(v)) for n, v in params.items()}
    return f"{type(peer).__module__}.{type(peer).__qualname__}({sorted(inner.items())})"


def read_sklearn(peer: dict[str, Any]) -> FromSklearn:
    """The kernel whose `to_dict` gave this; classes are looked up among scikit-learn's kernels."""
    return from_sklearn(_read(peer))


def _read(spec: dict[str, Any]) -> Any:
    from sklearn.gaussian_process import kernels as peers

    kind = getattr(peers, str(spec["class"]), None)
    if not (isinstance(kind, type) and issubclass(kind, peers.Kernel)):
        raise ValueError(f"scikit-learn has no kernel {spec['class']!r}")
    arguments = {}
    for name, value in spec["params"].items():
        if isinstance(value, dict) and "class" in value:
            value = _read(value)
        elif isinstance(value, list):
            value = tuple(map(tuple, value)) if value and isinstance(value[0], list) else tuple(value)
        arguments[name] = value
    return kind(**arguments)
