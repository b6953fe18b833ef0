"""Kernel matrices in JAX as functions of the logs of their parameters, written independently of `bayes_lssvm`.

What does not depend on the parameters is computed once (`fixed_part`): squared distances for RBF, one matrix of them
for each input for ARD, differences for periodic and distances for Matérn kernels, inner products for linear and
polynomial ones. `matrix` does the rest at every step. Sums, products and multiples follow from their parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import (
    ARD,
    RBF,
    Categorical,
    Constant,
    Kernel,
    Linear,
    Matern,
    OnInputs,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    White,
)

FixedPart = Any  # an array, or a tuple of fixed parts for sums and products


# What a kernel needs of the differences x − z, of shape (d, n, m).
_OF_DIFFERENCES: dict[type[Kernel], Callable[[AnyArray], AnyArray]] = {
    RBF: lambda differences: (differences**2).sum(axis=0),
    ARD: lambda differences: differences**2,
    Matern: lambda differences: np.sqrt((differences**2).sum(axis=0)),
    RationalQuadratic: lambda differences: (differences**2).sum(axis=0),
    Periodic: lambda differences: differences,
    Categorical: lambda differences: (differences != 0.0).sum(axis=0).astype(float),
    White: lambda differences: (differences == 0.0).all(axis=0).astype(float),
}


def fixed_part(kernel: Kernel, X: Array, Z: Array) -> FixedPart:
    """What K(X, Z) needs of the inputs, of shapes (n, d) and (m, d)."""
    if type(kernel) in _OF_DIFFERENCES:
        return _OF_DIFFERENCES[type(kernel)](X.T[:, :, None] - Z.T[:, None, :])
    if isinstance(kernel, Linear) and kernel.origin:
        return (X - np.array(kernel.origin)) @ (Z - np.array(kernel.origin)).T
    if isinstance(kernel, Linear | Polynomial):
        return X @ Z.T
    if isinstance(kernel, Constant):
        return np.ones((len(X), len(Z)))
    if isinstance(kernel, OnInputs):
        columns = list(kernel.columns)
        return fixed_part(kernel.kernel, X[:, columns], Z[:, columns])
    if isinstance(kernel, Sum | Product):
        return tuple(fixed_part(part, X, Z) for part in kernel.parts)
    if isinstance(kernel, Scaled):
        return fixed_part(kernel.kernel, X, Z)
    raise ValueError(
        f"{kernel!s} has no form in JAX, so its parameters cannot be sampled. Hold them (fixed_kernel=True), or use "
        f"{', '.join(kind.__name__ for kind in _MATRICES)}, and sums, products and multiples of these."
    )


def fixed_diagonal(kernel: Kernel, X: Array) -> FixedPart:
    """What the diagonal K(x, x) needs: the diagonal of `fixed_part`, row by row."""
    parts = [fixed_part(kernel, x[None, :], x[None, :]) for x in X]
    return jax.tree.map(lambda *rows: np.concatenate([row[..., 0] for row in rows], axis=-1), *parts)


def _matern(kernel: Any, theta: jax.Array, fixed: FixedPart) -> jax.Array:
    rho = jnp.sqrt(2.0 * kernel.nu) * fixed / theta[0]
    return {0.5: 1.0, 1.5: 1.0 + rho, 2.5: 1.0 + rho + rho**2 / 3.0}[kernel.nu] * jnp.exp(-rho)


def _periodic(kernel: Any, theta: jax.Array, fixed: FixedPart) -> jax.Array:
    return jnp.exp(-2.0 * (jnp.sin(jnp.pi * fixed / theta[1]) ** 2).sum(axis=0) / theta[0] ** 2)


# K from the kernel (what it has besides parameters), its parameters and its fixed part.
_MATRICES: dict[type[Kernel], Callable[[Any, jax.Array, FixedPart], jax.Array]] = {
    RBF: lambda kernel, theta, fixed: jnp.exp(-fixed / theta[0] ** 2),
    ARD: lambda kernel, theta, fixed: jnp.exp(-jnp.tensordot(theta**-2.0, fixed, axes=1)),
    Linear: lambda kernel, theta, fixed: jnp.asarray(fixed),
    Polynomial: lambda kernel, theta, fixed: (1.0 + fixed / theta[0]) ** kernel.degree,
    Matern: _matern,
    RationalQuadratic: lambda kernel, theta, fixed: (1.0 + fixed / (2.0 * theta[1] * theta[0] ** 2)) ** -theta[1],
    Periodic: _periodic,
    Categorical: lambda kernel, theta, fixed: jnp.exp(-fixed / theta[0] ** 2),
    Constant: lambda kernel, theta, fixed: jnp.asarray(fixed),
    White: lambda kernel, theta, fixed: jnp.asarray(fixed),
}


def matrix(kernel: Kernel, log_params: jax.Array, fixed: FixedPart) -> jax.Array:
    """K from its fixed part and log parameters; the values that `kernel` carries itself do not matter."""
    theta = jnp.exp(log_params)
    if type(kernel) in _MATRICES:
        return _MATRICES[type(kernel)](kernel, theta, fixed)
    if isinstance(kernel, OnInputs):
        return matrix(kernel.kernel, log_params, fixed)
    if isinstance(kernel, Scaled):
        return theta[0] * matrix(kernel.kernel, log_params[1:], fixed)
    assert isinstance(kernel, Sum | Product)
    edges = np.cumsum([part.log_params.size for part in kernel.parts])[:-1]
    pieces = jnp.split(log_params, edges)
    blocks = [matrix(k, p, f) for k, p, f in zip(kernel.parts, pieces, fixed, strict=True)]
    total = blocks[0]
    for block in blocks[1:]:
        total = total + block if isinstance(kernel, Sum) else total * block
    return total


def gram(kernel: Kernel, X: Array) -> AnyArray:
    """K(X, X) at the kernel's own parameters, by the library's kernel: what a program with a fixed kernel is given."""
    return np.asarray(kernel(X))
