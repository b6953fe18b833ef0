"""The curvature and the slope of the fitted function as penalties (paper 1, section 4.2), with their derivatives.

    Ω(θ) = 1/(2ℓ) Σ_i Σ_j H_ij²,     H_ij = ∂²ŷ(x)/∂x_j² at x = x_i                                (section 4.2)

for the model of all ℓ points, ŷ(x) = Σ_m α_m K(x, x_m) + b. For K = exp(−Σ_j η_j (x_j − z_j)²),

    H_ij = Σ_m α_m K_im (4η_j² Δ_imj² − 2η_j),     Δ_imj = x_ij − x_mj.

With G = H/ℓ and T_im = Σ_j G_ij (4η_j² Δ_imj² − 2η_j), the reverse sweep is

    dΩ = Σ_im α_m T_im dK_im + Σ_m ā_m dα_m + Σ_j dη_j Σ_im G_ij α_m K_im (8η_j Δ_imj² − 2),     ā_m = Σ_i K_im T_im,

and dα = −R dM α. The slope has D_ij = ∂ŷ(x)/∂x_j = −2η_j Σ_m α_m K_im Δ_imj for H_ij ("a penalty term based on the
first-order partial derivatives is also feasible"), T_im = −2 Σ_j G_ij η_j Δ_imj with G = D/ℓ, and ∂D_ij/∂η_j = D_ij/η_j
at fixed α and K. All sums over Δ and Δ² are expanded into matrix products: O(N²d) time, O(N² + Nd) memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from ..base.typing import Array
from ..kernels import ARD, RBF, Kernel
from ..linalg.blas import product
from ..linalg.factor import projected_inverse

__all__ = ["CurvatureDerivative", "curvature_derivative", "slope_derivative"]


class CurvatureDerivative(NamedTuple):
    """A penalty of the fitted function at one kernel and γ, and how it changes.

    Attributes
    ----------
    value : float
        Ω.
    along_log_gamma : float
        ∂Ω/∂log γ.
    along_log_params : array of shape (P,)
        ∂Ω/∂log θ for the kernel's parameters.
    """

    value: float
    along_log_gamma: float
    along_log_params: Array


def curvature_derivative(
    kernel: Kernel,
    X: Array,
    y: Array,
    gamma: float,
    weights: Array,
    *,
    bias: bool = True,
    K: Array | None = None,
    inverse: Array | None = None,
) -> CurvatureDerivative:
    """Ω(θ) of section 4.2 with its derivatives, for RBF and ARD kernels.

    Parameters
    ----------
    kernel : RBF or ARD
    X : array of shape (N, d)
    y : array of shape (N,)
    gamma : float
    weights : array of shape (N,)
    bias : bool
    K, inverse : arrays of shape (N, N), optional
        The kernel matrix and R where the caller has them.
    """
    fit = _Fit.of(kernel, X, y, gamma, weights, bias, K, inverse, "curvature")
    eta, A, A2 = fit.eta, fit.A, fit.A**2
    rows = fit.B.sum(axis=1)[:, None]
    squares = A2 * rows - 2.0 * A * product(fit.B, A) + product(fit.B, A2)  # Σ_m α_m K_im Δ_imj²
    H = 4.0 * eta**2 * squares - 2.0 * eta * rows
    G = H / len(y)
    G4 = 4.0 * eta**2 * G
    T = product(np.ascontiguousarray(G4), A2.T.copy()) - 2.0 * product(np.ascontiguousarray(G4 * A), A.T.copy())
    T += (np.sum(G4 * A2, axis=1) - 2.0 * (G @ eta))[:, None]
    explicit = np.sum(G * (8.0 * eta * squares - 2.0 * rows), axis=0)
    return fit.swept(0.5 * float(np.vdot(H, G)), T, explicit)


def slope_derivative(
    kernel: Kernel,
    X: Array,
    y: Array,
    gamma: float,
    weights: Array,
    *,
    bias: bool = True,
    K: Array | None = None,
    inverse: Array | None = None,
) -> CurvatureDerivative:
    """1/(2ℓ) Σ_ij (∂ŷ_i/∂x_ij)² with its derivatives, for RBF and ARD kernels; as `curvature_derivative`."""
    fit = _Fit.of(kernel, X, y, gamma, weights, bias, K, inverse, "slope")
    sums = fit.A * fit.B.sum(axis=1)[:, None] - product(fit.B, fit.A)  # Σ_m α_m K_im Δ_imj
    D = -2.0 * fit.eta * sums
    G = D / len(y)
    steep = np.ascontiguousarray(-2.0 * G * fit.eta)
    T = np.sum(steep * fit.A, axis=1)[:, None] - product(steep, fit.A.T.copy())
    return fit.swept(0.5 * float(np.vdot(D, G)), T, np.sum(-2.0 * G * sums, axis=0))


class _Fit(NamedTuple):
    """The model of all points, and what both penalties need of it."""

    kernel: Kernel
    X: Array
    noise: Array  # [N]  1/(γw)
    K: Array
    R: Array
    alpha: Array
    eta: Array  # [d]
    A: Array  # [N, d]  inputs about their means: differences do not change, cancellation shrinks
    B: Array  # [N, N]  α_m K_im

    @classmethod
    def of(
        cls, kernel: Kernel, X: Array, y: Array, gamma: float, weights: Array, bias: bool, K: Array | None,
        inverse: Array | None, what: str,
    ) -> _Fit:  # fmt: skip
        if not isinstance(kernel, RBF | ARD):
            raise ValueError(f"The {what} penalty is defined for RBF and ARD kernels only, not for {kernel!s}.")
        noise = 1.0 / (gamma * weights)
        K = kernel(X) if K is None else K
        R = projected_inverse(K, noise, bias=bias) if inverse is None else inverse
        alpha = blas.dsymv(1.0, R, y, lower=1)
        eta = np.broadcast_to(np.exp(-2.0 * kernel.log_params), X.shape[1:])
        return cls(kernel, X, noise, K, R, alpha, eta, X - X.mean(axis=0), K * alpha)

    def swept(self, value: float, T: Array, along_eta: Array) -> CurvatureDerivative:
        """The reverse sweep: T of shape (N, N) as above, and Σ_i G_i · ∂/∂η of shape (d,) at fixed α and K."""
        adjoint = np.einsum("im,im->m", self.K, T)  # ā
        along_matrix = 0.5 * (T * self.alpha + (T * self.alpha).T)
        pulled = blas.dsymv(1.0, self.R, adjoint, lower=1)
        along_m = np.outer(-0.5 * pulled, self.alpha)
        along_matrix += along_m
        along_matrix += along_m.T
        explicit = along_eta * self.eta * -2.0  # η = s⁻²: dη/dlog s = −2η
        along_params = self.kernel.contract(self.X, along_matrix, self.K)
        along_params += explicit.sum(keepdims=True) if isinstance(self.kernel, RBF) else explicit
        return CurvatureDerivative(value, float((pulled * self.alpha) @ self.noise), along_params)
