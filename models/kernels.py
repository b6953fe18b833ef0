"""Kernel matrices in JAX as functions of the logs of their parameters, written independently of `bayes_lssvm`.

What does not depend on the parameters is computed once (`fixed_part`): squared distances for RBF, one matrix of them
for each input for ARD, inner products for linear and polynomial kernels. `matrix` does the rest at every step. Sums,
products and multiples follow from their parts.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import ARD, RBF, Kernel, Linear, Polynomial, Product, Scaled, Sum

FixedPart = Any  # an array, or a tuple of fixed parts for sums and products


def fixed_part(kernel: Kernel, X: Array, Z: Array) -> FixedPart:
    """What K(X, Z) needs of the inputs, of shapes (n, d) and (m, d)."""
    if isinstance(kernel, RBF | ARD):
        squares = (X.T[:, :, None] - Z.T[:, None, :]) ** 2  # [d, n, m]
        return squares if isinstance(kernel, ARD) else squares.sum(axis=0)
    if isinstance(kernel, Linear | Polynomial):
        return X @ Z.T
    if isinstance(kernel, Sum | Product):
        return tuple(fixed_part(part, X, Z) for part in kernel.parts)
    if isinstance(kernel, Scaled):
        return fixed_part(kernel.kernel, X, Z)
    raise ValueError(
        f"{kernel!s} has no form in JAX, so its parameters cannot be sampled. Hold them (fixed_kernel=True), or use "
        "RBF, ARD, Linear, Polynomial, and sums, products and multiples of these."
    )


def fixed_diagonal(kernel: Kernel, X: Array) -> FixedPart:
    """What the diagonal K(x, x) needs: the diagonal of `fixed_part`, row by row."""
    parts = [fixed_part(kernel, x[None, :], x[None, :]) for x in X]
    return jax.tree.map(lambda *rows: np.concatenate([row[..., 0] for row in rows], axis=-1), *parts)


def matrix(kernel: Kernel, log_params: jax.Array, fixed: FixedPart) -> jax.Array:
    """K from its fixed part and log parameters; the values that `kernel` carries itself do not matter."""
    theta = jnp.exp(log_params)
    if isinstance(kernel, RBF):
        return jnp.exp(-fixed / theta[0] ** 2)
    if isinstance(kernel, ARD):
        return jnp.exp(-jnp.tensordot(theta**-2.0, fixed, axes=1))
    if isinstance(kernel, Linear):
        return jnp.asarray(fixed)
    if isinstance(kernel, Polynomial):
        return (1.0 + fixed / theta[0]) ** kernel.degree
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
