"""The LS-SVM in an explicit feature space, by definitions alone: nothing here calls the library's closed forms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayes_lssvm.kernels import Kernel
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction


def relative_error(value, reference):
    """‖value − reference‖ / ‖reference‖."""
    value, reference = np.asarray(value, dtype=float), np.asarray(reference, dtype=float)
    return float(np.linalg.norm(value - reference) / np.linalg.norm(reference))


def labels(n, n_plus, rng):
    """±1 in random order, n_plus of them +1."""
    return rng.permutation(np.where(np.arange(n) < n_plus, 1.0, -1.0))


def complex_step(function, x, step=1e-100):
    """f'(x) of an analytic function, free of cancellation."""
    return function(x + 1j * step).imag / step


@dataclass(frozen=True)
class FeatureSpace:
    """Data, hyperparameters and a kernel with a finite feature map, and the primal model they define."""

    kernel: Kernel
    X: np.ndarray
    y: np.ndarray
    mu: float
    zeta: float

    @classmethod
    def random(cls, kernel, *, n, width, n_plus, mu=1.0, zeta=1.0, separation=0.4, seed=0):
        rng = np.random.default_rng(seed)
        y = labels(n, n_plus, rng)
        # the classes overlap, and the inputs have a mean, so that centring matters
        X = rng.normal(size=(n, width)) + 0.3 + separation * y[:, None] * np.linspace(0.0, 1.0, width)
        return cls(kernel, X, y, mu, zeta)

    @property
    def n(self):
        return len(self.y)

    @property
    def gamma(self):
        return self.zeta / self.mu

    @cached_property
    def phi(self):  # [N, n_f]; Υ of the papers is its transpose
        return self.kernel.feature_map(self.X)

    @property
    def n_f(self):
        return self.phi.shape[1]

    @cached_property
    def design(self):  # [N, n_f + 1]
        return np.column_stack([self.phi, np.ones(self.n)])

    @cached_property
    def weight_decay(self):
        """∂²E_W/∂(w, b)²: no decay of the bias."""
        return np.diag(np.append(np.ones(self.n_f), 0.0))

    @cached_property
    def hessian(self):
        """H of J2 = μE_W + ζE_D (3.7)."""
        return self.mu * self.weight_decay + self.zeta * self.design.T @ self.design

    @cached_property
    def covariance(self):
        return np.linalg.inv(self.hessian)

    @cached_property
    def mean(self):
        """[w; b] at the minimum of J2."""
        return np.linalg.solve(self.hessian, self.zeta * self.design.T @ self.y)

    @cached_property
    def errors(self):
        return self.y - self.design @ self.mean

    @property
    def e_w(self):
        return 0.5 * float(self.mean[:-1] @ self.mean[:-1])

    @property
    def e_d(self):
        return 0.5 * float(self.errors @ self.errors)

    @cached_property
    def centred_eigenvalues(self):
        """Eigenvalues of G = ΥMΥᵀ in feature space, those above rounding."""
        centred = self.phi - self.phi.mean(axis=0)
        singular = np.linalg.svd(centred, compute_uv=False)
        return singular[singular > 1e-10 * singular[0]] ** 2

    @cached_property
    def M(self):
        return np.eye(self.n) - 1.0 / self.n

    @cached_property
    def centred_kernel(self):
        """MΩM from the features."""
        return self.M @ self.phi @ self.phi.T @ self.M

    def log_evidence(self, mu=None, zeta=None):
        """∫ p(D | w, b, ζ) p(w | μ) dw db with p(b) = 1, by the Gaussian integral in the primal.

        exp(−J2) integrates to exp(−J2_MP) (2π)^((n_f+1)/2) det(H)^(−1/2); the normalisers of the n_f weights and of the
        N errors take (2π)^(−(n_f+N)/2) μ^(n_f/2) ζ^(N/2), which leaves one factor (2π)^½ for the bias. Complex μ and ζ
        are allowed.
        """
        mu, zeta = self.mu if mu is None else mu, self.zeta if zeta is None else zeta
        H = mu * self.weight_decay + zeta * self.design.T @ self.design
        mean = np.linalg.solve(H, zeta * self.design.T @ self.y)
        errors = self.y - self.design @ mean
        j2 = 0.5 * mu * (mean[:-1] @ mean[:-1]) + 0.5 * zeta * (errors @ errors)
        sign, log_abs = np.linalg.slogdet(H)
        log_det = log_abs + np.log(sign)
        constants = 0.5 * self.n_f * np.log(mu) + 0.5 * self.n * np.log(zeta / (2 * np.pi)) + 0.5 * np.log(2 * np.pi)
        return -j2 + constants - 0.5 * log_det

    @cached_property
    def spectrum(self):
        return CentredSpectrum.from_kernel_matrix(self.kernel(self.X), self.y)

    @cached_property
    def tridiagonal(self):
        return TridiagonalReduction.from_kernel_matrix(self.kernel(self.X), self.y)
