"""Kernels by name, and from the plain dictionaries that model files hold; with `register`, kernels of one's own too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..base.errors import UnknownKernelError
from ._base import Kernel, Product, Scaled, Sum
from ._discrete import Categorical, Constant, White
from ._inner import MLP, Linear, Polynomial
from ._on_inputs import OnInputs
from ._periodic import Periodic
from ._precomputed import Precomputed
from ._sklearn import FromSklearn, read_sklearn
from ._stationary import ARD, RBF, Matern, RationalQuadratic

Kind = TypeVar("Kind", bound=type[Kernel])


@dataclass(frozen=True)
class _Entry:
    """A class of kernels, and how one is made of the numbers of its dictionary."""

    kind: type[Kernel]
    make: Callable[..., Kernel]


def _half(width: int) -> float:
    return float(np.sqrt(width / 2.0))


# Default parameters by name, for standardised inputs of the given width.
_BY_NAME: dict[str, Callable[[int], Kernel]] = {
    "linear": lambda width: Linear(),
    "poly": lambda width: Polynomial(3, 1.0),
    "poly2": lambda width: Polynomial(2, 1.0),
    "poly3": lambda width: Polynomial(3, 1.0),
    "rbf": lambda width: RBF(float(np.sqrt(width))),
    "ard": lambda width: ARD((float(np.sqrt(width)),) * width),
    "mlp": lambda width: MLP(1.0 / width, 1.0),
    "matern12": lambda width: Matern(_half(width), 0.5),
    "matern32": lambda width: Matern(_half(width), 1.5),
    "matern52": lambda width: Matern(_half(width), 2.5),
    "rq": lambda width: RationalQuadratic(_half(width), 1.0),
    "periodic": lambda width: Periodic(float(np.sqrt(width)), 1.0),
    "categorical": lambda width: Categorical(float(np.sqrt(width))),
    "constant": lambda width: Constant(),
    "white": lambda width: White(),
}
KERNEL_NAMES = tuple(_BY_NAME)
PRECOMPUTED = "precomputed"
_OWN = (Linear, Polynomial, RBF, MLP, Matern, RationalQuadratic, Periodic, Categorical, Constant, White, Precomputed)
_BY_KIND: dict[str, _Entry] = {kind.__name__: _Entry(kind, kind) for kind in _OWN} | {
    "ARD": _Entry(ARD, lambda scales: ARD(tuple(scales))),
    "FromSklearn": _Entry(FromSklearn, read_sklearn),
    "Sum": _Entry(Sum, lambda parts: Sum(tuple(_from_dict(part) for part in parts))),
    "Product": _Entry(Product, lambda parts: Product(tuple(_from_dict(part) for part in parts))),
    "Scaled": _Entry(Scaled, lambda factor, kernel: Scaled(float(factor), _from_dict(kernel))),
    "OnInputs": _Entry(OnInputs, lambda kernel, columns: OnInputs(_from_dict(kernel), tuple(columns))),
}
_PROTECTED = frozenset(_BY_KIND)


def register(
    kind: Kind, *, name: str | None = None, default: Callable[[int], Kernel] | None = None, make: Any = None
) -> Kind:
    """Let model files hold kernels of a class of one's own, and estimators know one by name.

    Parameters
    ----------
    kind : subclass of Kernel
        Its `to_dict` gives {"kind": the name of the class, …} with the arguments of `make` beside it, as plain
        numbers, strings and lists. May be used as a decorator.
    name : str, optional
        What `kernel=` of the estimators and `as_kernel` shall take for it.
    default : function of the number of inputs, optional
        The kernel of that name for standardised inputs; the class without arguments by default.
    make : callable, optional
        Makes the kernel from what `to_dict` gave but "kind"; the class itself by default.

    Returns
    -------
    kind : the class

    Notes
    -----
    The registry is of this process: a program that loads a model registers the class first, as a rule by importing
    the module that defines and registers it. A class of the same name takes the place of an earlier one.

    Examples
    --------
    >>> from bayes_lssvm.kernels import Linear, as_kernel, register
    >>> class Plain(Linear):
    ...     pass
    ...
    >>> register(Plain, name="plain") is Plain
    True
    >>> type(as_kernel("plain", n_features=2)).__name__
    'Plain'
    """
    if not (isinstance(kind, type) and issubclass(kind, Kernel)):
        raise ValueError(f"register takes a class of kernels (a subclass of bayes_lssvm.kernels.Kernel), got {kind!r}.")
    if kind.__name__ in _PROTECTED:
        raise ValueError(f"bayes_lssvm has a kernel {kind.__name__} of its own; give the class another name.")
    if name is not None and (
        not isinstance(name, str) or not name.isidentifier() or name.lower() in (*KERNEL_NAMES, PRECOMPUTED)
    ):
        raise ValueError(
            f"The name of a kernel is a word that bayes_lssvm does not use itself ({', '.join(KERNEL_NAMES)}), got "
            f"{name!r}."
        )
    _BY_KIND[kind.__name__] = _Entry(kind, kind if make is None else make)
    if name is not None:
        _BY_NAME[name.lower()] = (lambda width: kind()) if default is None else default
    return kind


def as_kernel(kernel: Kernel | str, n_features: int) -> Kernel:
    """A kernel object from an object or from a name such as "linear", "poly2", "rbf", "ard", "matern32", "periodic".

    Examples
    --------
    >>> from bayes_lssvm.kernels import as_kernel
    >>> as_kernel("poly2", n_features=4)
    Polynomial(degree=2, scale=1.0)
    """
    if isinstance(kernel, str):
        if kernel.lower() == PRECOMPUTED:
            raise ValueError(
                'kernel="precomputed" is for LSSVC, LSSVR, BayesianLSSVC, BayesianLSSVR, MulticlassLSSVC and the '
                "fully Bayesian estimators, which take kernel matrices instead of inputs. Here inputs are needed."
            )
        if kernel.lower() not in _BY_NAME:
            raise ValueError(f"There is no kernel named {kernel!r}; the names are {', '.join(_BY_NAME)}.")
        kernel = _BY_NAME[kernel.lower()](n_features)
    if not isinstance(kernel, Kernel):
        raise ValueError(
            f"kernel must be a name ({', '.join(_BY_NAME)}) or an object of bayes_lssvm.kernels, got {kernel!r}."
        )
    kernel.check_width(n_features)
    return kernel


def kernel_to_dict(kernel: Kernel) -> dict[str, Any]:
    """`kernel.to_dict()` for a file; refuses a kernel of a class that `kernel_from_dict` could not bring back.

    Examples
    --------
    >>> from bayes_lssvm.kernels import RBF, kernel_to_dict
    >>> kernel_to_dict(RBF(2.0))
    {'kind': 'RBF', 'sigma': 2.0}
    """
    _require_registered(kernel)
    return kernel.to_dict()


def _require_registered(kernel: Kernel) -> None:
    entry = _BY_KIND.get(type(kernel).__name__)
    if entry is None or entry.kind is not type(kernel):
        raise UnknownKernelError(
            f"{kernel!r} belongs to a class that cannot be restored from a file: call "
            f"bayes_lssvm.kernels.register({type(kernel).__name__}) before saving, and in every program that loads "
            "the file."
        )
    for part in (*getattr(kernel, "parts", ()), getattr(kernel, "kernel", None)):
        if isinstance(part, Kernel):
            _require_registered(part)


def kernel_from_dict(spec: dict[str, Any]) -> Kernel:
    """The kernel whose `to_dict` gave `spec`; the classes are looked up by name, nothing is evaluated.

    Examples
    --------
    >>> from bayes_lssvm.kernels import RBF, kernel_from_dict, kernel_to_dict
    >>> kernel_from_dict(kernel_to_dict(2.0 * RBF(1.0)))
    2 * RBF(sigma=1.0)
    """
    try:
        return _from_dict(spec)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{spec!r} does not describe a kernel ({error}).") from error


def _from_dict(spec: dict[str, Any]) -> Kernel:
    kind = spec.get("kind")
    if not isinstance(kind, str) or kind not in _BY_KIND:
        raise UnknownKernelError(
            f"There is no kernel of kind {kind!r} in this version of bayes_lssvm. If it is one of your own, import the "
            "module that defines it and call bayes_lssvm.kernels.register with its class first."
        )
    return _BY_KIND[kind].make(**{key: value for key, value in spec.items() if key != "kind"})
