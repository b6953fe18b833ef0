"""Positive definite kernels K(x, z) = φ(x)ᵀφ(z) (paper 0, eq 2.5) with gradients in the logs of their parameters.

| kernel                      | K(x, z)                       | parameters in logs    |
| --------------------------- | ----------------------------- | --------------------- |
| `Linear()`                  | xᵀz                           | none                  |
| `Polynomial(degree, scale)` | (1 + xᵀz / scale)^degree      | scale                 |
| `RBF(sigma)`                | exp(−‖x − z‖² / σ²)           | sigma                 |
| `ARD(scales)`               | exp(−Σ_i (x_i − z_i)² / s_i²) | one scale an input    |
| `MLP(kappa, theta)`         | tanh(κ xᵀz + θ)               | kappa, theta if > 0   |
| `k1 + k2`, `k1 * k2`, `c * k` | sums, products, scaling     | those of the parts, c |

Kernels are immutable values: `with_log_params` returns a new one. The widths follow paper 0, K = exp(−d²/σ²), so
that LS-SVMlab's sig2 is σ²/2 and scikit-learn's length scale is σ/√2.
"""

from ._base import Kernel, Product, Scaled, Sum, check_positive_semidefinite
from ._inner import MLP, Linear, Polynomial
from ._registry import KERNEL_NAMES, as_kernel, kernel_from_dict
from ._stationary import ARD, RBF

__all__ = [
    "ARD",
    "KERNEL_NAMES",
    "MLP",
    "RBF",
    "Kernel",
    "Linear",
    "Polynomial",
    "Product",
    "Scaled",
    "Sum",
    "as_kernel",
    "check_positive_semidefinite",
    "kernel_from_dict",
]
