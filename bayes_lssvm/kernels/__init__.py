"""Positive definite kernels K(x, z) = φ(x)ᵀφ(z) (paper 0, eq 2.5) with gradients in the logs of their parameters.

With r = ‖x − z‖ and ρ = √(2ν) r/ℓ:

| kernel                      | K(x, z)                                 | parameters in logs    |
| --------------------------- | --------------------------------------- | --------------------- |
| `Linear()`                  | xᵀz                                     | none                  |
| `Polynomial(degree, scale)` | (1 + xᵀz / scale)^degree                | scale                 |
| `RBF(sigma)`                | exp(−r² / σ²)                           | sigma                 |
| `ARD(scales)`               | exp(−Σ_i (x_i − z_i)² / s_i²)           | one scale an input    |
| `MLP(kappa, theta)`         | tanh(κ xᵀz + θ)                         | kappa, theta if > 0   |
| `Matern(length_scale, nu)`  | e^−ρ, (1 + ρ)e^−ρ, (1 + ρ + ρ²/3)e^−ρ   | length_scale          |
| `RationalQuadratic(length_scale, alpha)` | (1 + r²/2αℓ²)^−α           | length_scale, alpha   |
| `Periodic(length_scale, period)` | exp(−2 Σ_i sin²(π(x_i − z_i)/p)/ℓ²) | length_scale, period  |
| `Categorical(sigma)`        | exp(−(inputs that differ) / σ²)         | sigma                 |
| `Constant()`, `White()`     | 1; 1 where x = z                        | none                  |
| `OnInputs(k, columns)`      | k of some of the inputs                 | those of k            |
| `from_sklearn(k)`           | a Gaussian process kernel of scikit-learn | its own             |
| `k1 + k2`, `k1 * k2`, `c * k` | sums, products, scaling               | those of the parts, c |

Kernels are immutable values: `with_log_params` returns a new one. The widths σ follow paper 0, K = exp(−r²/σ²), so
that LS-SVMlab's sig2 is σ²/2 and scikit-learn's length scale is σ/√2. A `length_scale` is scikit-learn's. Kernels of
one's own are subclasses of `Kernel` or `Parametric`; `register` lets model files hold them.
"""

from ._base import Kernel, Matrices, Parametric, Product, Scaled, Sum, check_positive_semidefinite
from ._discrete import Categorical, Constant, White
from ._inner import MLP, Linear, Polynomial
from ._on_inputs import OnInputs
from ._periodic import Periodic
from ._precomputed import EXTRA, Precomputed
from ._registry import KERNEL_NAMES, PRECOMPUTED, as_kernel, kernel_from_dict, kernel_to_dict, register
from ._sklearn import FromSklearn, from_sklearn
from ._stationary import ARD, RBF, Matern, RationalQuadratic

__all__ = [
    "ARD",
    "EXTRA",
    "KERNEL_NAMES",
    "MLP",
    "PRECOMPUTED",
    "RBF",
    "Categorical",
    "Constant",
    "FromSklearn",
    "Kernel",
    "Linear",
    "Matern",
    "Matrices",
    "OnInputs",
    "Parametric",
    "Periodic",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sum",
    "White",
    "as_kernel",
    "check_positive_semidefinite",
    "from_sklearn",
    "kernel_from_dict",
    "kernel_to_dict",
    "register",
]
