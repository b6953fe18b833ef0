"""A noise variance that varies with x: its logarithm h(x) as a second LS-SVM (paper 4's volatility model).

Let r_i be the leave-one-out error of row i, v_i the variance of the function there without the row, and s_i² the noise
variance that is believed so far. If it is right, r_i²/(s_i² + v_i) is χ² of one degree of freedom, and so is q_i/s_i²
for

    q_i = r_i² s_i²/(s_i² + v_i).

Errors of fitted rows would be too small, the more so the higher a row's leverage, and squared left-out errors too
large, by v_i; q has neither bias where h has settled. The lecture regresses log q on x, with the noise of log χ²₁, of
variance π²/2. That is how the kernel of h and its weight precision μ are chosen here, by the evidence. h itself is the
most probable function under the density of q,

    cost(h) = ½ Σ (h_i + q_i e^{−h_i}) + ½μ‖w‖²,

which is convex in h and knows of each q_i as much as there is to know: the information is ½ for each row, where log q
has 2/π². Each step of Fisher's scoring is an LS-SVM with the targets z = h + q e^{−h} − 1 and the noise precision ½. At
the mode Laplace's method gives the evidence of h over that of a constant, for which both have the same flat level:

    log_gain = cost(constant) − cost(h) − ½ Σ log(1 + λ_i/2μ),      λ_i of the centred kernel matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.typing import Array
from ..kernels import Kernel
from ..linalg.factor import ProjectedInverse
from ..linalg.spectrum import TridiagonalReduction
from .level1 import DualPosterior

__all__ = ["LogVariance", "corrected_squares"]

INFORMATION = 0.5
"""Of a squared error about the log of its variance."""
_STEPS = 200
_LARGEST = 200.0  # of a log variance
_STILL = 1e-8
_SMALLEST = 1e-6  # of the mean square: an error of zero says that a row is quiet, not that it has no noise


def corrected_squares(residuals: Array, latent: Array, noise: Array) -> Array:
    """The q of leave-one-out errors, variances of the function without each row, and noise variances, of shape (N,)."""
    q = residuals**2 * noise / (noise + latent)
    return np.maximum(q, _SMALLEST * float(np.mean(q)))


@dataclass(frozen=True)
class LogVariance:
    """h at its mode, with the Gaussian around it.

    Attributes
    ----------
    posterior : DualPosterior
        Of h, made of the last targets z.
    targets : array of shape (N,)
        z.
    log_gain : float
        Laplace's evidence of h over that of a constant variance, in nats; the kernel and μ as they were given.
    cost : float
        What of it is not likelihood: ½μ‖w‖² + ½ Σ log(1 + λ_i/2μ).
    level : float
        Mean of h over the rows.
    """

    posterior: DualPosterior
    targets: Array
    log_gain: float
    cost: float
    level: float

    @classmethod
    def fit(cls, kernel: Kernel, X: Array, q: Array, mu: float) -> LogVariance:
        """The most probable h for corrected squares q of shape (N,), from the mean square on."""
        K, s = kernel(X), mu / INFORMATION
        inverse = ProjectedInverse.of(K, s)
        a, h = np.zeros_like(q), np.full_like(q, np.log(np.mean(q)))

        def cost(h: Array, a: Array) -> float:
            with np.errstate(over="ignore"):
                return 0.5 * float(np.sum(h + q * np.exp(-h))) + 0.5 * mu * float(a @ (K @ a))

        start = now = cost(h, a)
        for _ in range(_STEPS):
            z = h + q * np.exp(-h) - 1.0
            alpha = inverse.apply(z)
            along_h, along_a = z - s * alpha - h, alpha - a  # the solution has the outputs z − sα
            size = 1.0
            while size > 1e-6 and not cost(h + size * along_h, a + size * along_a) <= now:
                size *= 0.5
            h, a = h + size * along_h, a + size * along_a
            now = cost(h, a)
            if float(np.abs(along_h).max()) * size < _STILL:
                break
        z = h + q * np.exp(-h) - 1.0
        posterior = DualPosterior.from_kernel_matrix(kernel, X, K, z, mu=mu, zeta=INFORMATION)
        log_det, _ = TridiagonalReduction.from_kernel_matrix(K, z).values(np.array([1.0 / s]))
        occam = 0.5 * (float(log_det[0]) - (len(q) - 1) * float(np.log(s)))
        penalty = 0.5 * mu * float(a @ (K @ a))
        level = float(posterior.latent_mean(X).mean())
        return cls(posterior, z, start - now - occam, penalty + occam, level)

    def precisions(self) -> Array:
        """Relative noise precisions exp(h̄ − h) of the rows, of geometric mean one."""
        return np.exp(self.level - self.posterior.latent_mean(self.posterior.X))

    def variances(self, X: Array) -> Array:
        """E[exp(h − h̄)] at the rows of X: noise variances in units of the rows' geometric mean."""
        mean, variance = self.posterior.latent_moments(X)
        return np.exp(np.minimum(mean - self.level + 0.5 * variance, _LARGEST))
