"""Kernels by name, and from the plain dictionaries that model files hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._base import Kernel, Product, Scaled, Sum
from ._inner import MLP, Linear, Polynomial
from ._stationary import ARD, RBF

# Default parameters by name, for standardised inputs of the given width.
_BY_NAME: dict[str, Callable[[int], Kernel]] = {
    "linear": lambda width: Linear(),
    "poly": lambda width: Polynomial(3, 1.0),
    "poly2": lambda width: Polynomial(2, 1.0),
    "poly3": lambda width: Polynomial(3, 1.0),
    "rbf": lambda width: RBF(float(np.sqrt(width))),
    "ard": lambda width: ARD((float(np.sqrt(width)),) * width),
    "mlp": lambda width: MLP(1.0 / width, 1.0),
}
KERNEL_NAMES = tuple(_BY_NAME)


def as_kernel(kernel: Kernel | str, n_features: int) -> Kernel:
    """A kernel object from an object or from one of the names "linear", "poly2", "poly3", "rbf", "ard", "mlp"."""
    if isinstance(kernel, str):
        if kernel.lower() not in _BY_NAME:
            raise ValueError(f"There is no kernel named {kernel!r}; the names are {', '.join(KERNEL_NAMES)}.")
        kernel = _BY_NAME[kernel.lower()](n_features)
    if not isinstance(kernel, Kernel):
        raise ValueError(
            f"kernel must be a name ({', '.join(KERNEL_NAMES)}) or an object of bayes_lssvm.kernels, got {kernel!r}."
        )
    kernel.check_width(n_features)
    return kernel


def kernel_from_dict(spec: dict[str, Any]) -> Kernel:
    """The kernel whose `to_dict` gave `spec`; the classes are looked up by name, nothing is evaluated."""
    try:
        return _from_dict(spec)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{spec!r} does not describe a kernel ({error}).") from error


def _from_dict(spec: dict[str, Any]) -> Kernel:
    kind = spec.get("kind")
    if kind in ("Sum", "Product"):
        parts = tuple(_from_dict(part) for part in spec["parts"])
        return Sum(parts) if kind == "Sum" else Product(parts)
    if kind == "Scaled":
        return Scaled(float(spec["factor"]), _from_dict(spec["kernel"]))
    simple: dict[str, Callable[..., Kernel]] = {
        "Linear": Linear,
        "Polynomial": Polynomial,
        "RBF": RBF,
        "ARD": lambda scales: ARD(tuple(scales)),
        "MLP": MLP,
    }
    if kind not in simple:
        raise ValueError(f"There is no kernel of kind {kind!r} in this version of bayes_lssvm.")
    return simple[str(kind)](**{key: value for key, value in spec.items() if key != "kind"})
