"""Where every row is a landmark the model is the exact one, and its kernel matrix is no larger than its sums.

Whitened features lose digits where landmarks are nearly dependent: one that others explain but for a share ε of K(z, z)
has a feature that is known to rounding/√ε, and leaving it out costs √ε. Either is about 1e-8, times support values that
grow with γ, in directions that hardly appear near the rows and do far from them. The kernel matrix itself has no such
directions. With its centred eigensystem λ, V (`linalg.spectrum`), t = Vᵀy and s = 1/γ,

    α = V(λ + s)⁻¹t,    z(x) = Σ α_i K(x, x_i) + b,    b = ȳ − αᵀK̄,    K̄ = Ω1/N,
    σ_z² = [K(x, x) − 2 θ̄ + K̿ − Σ p²/(λ + s)]/μ + 1/(Nζ),    p = Vᵀ(θ(x) − K̄),    θ(x) = K(X, x),
    z_i − z_i^(−i) is that of paper 1, eq 12, with R_ii = Σ V_i²/(λ + s),

with weighted means and Σw in the place of N where rows have weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.typing import AnyArray, Array
from ..base.weights import one_of_each, weighted_mean
from ..kernels import Kernel
from ..levels.level2_posterior import Level2Posterior, most_probable
from ..linalg.blas import product
from ..linalg.spectrum import CentredSpectrum
from ..priors import HyperPrior
from .blocks import ROWS


@dataclass(frozen=True)
class CompleteTask:
    """Bits that are trained on the same rows, all of which are landmarks.

    Attributes
    ----------
    bits : tuple of int
    rows : array of int of shape (n,)
        Which of all rows take part.
    X : array of shape (n, d)
    targets : array of shape (n, B)
    spectra : tuple of CentredSpectrum
        Of each bit; λ and V are those of all.
    """

    kernel: Kernel
    bits: tuple[int, ...]
    rows: AnyArray
    X: Array
    targets: Array
    spectra: tuple[CentredSpectrum, ...]

    @classmethod
    def of(
        cls, kernel: Kernel, bits: Sequence[int], rows: AnyArray, X: Array, targets: Array, weights: Array | None
    ) -> CompleteTask:
        """From the inputs of all rows of shape (N, d), their targets for these bits of shape (N, B) and weights."""
        X, Y = X[rows], targets[rows]
        first = CentredSpectrum.from_kernel_matrix(kernel(X), Y[:, 0], None if weights is None else weights[rows])
        return cls(kernel, tuple(bits), rows, X, Y, tuple(first.with_targets(column) for column in Y.T))

    def posteriors(self, priors: list[HyperPrior]) -> list[Level2Posterior]:
        """Level 2 of each bit, with the priors of all bits."""
        pairs = zip(self.spectra, self.bits, strict=True)
        return [most_probable(own, priors[bit].mu, priors[bit].zeta) for own, bit in pairs]

    def posterior(self, mu: Array, zeta: Array) -> CompletePosterior:
        """The posterior at the hyperparameters of each bit."""
        first, s = self.spectra[0], mu / zeta
        inverse = 1.0 / (first.eigenvalues[:, None] + s)
        alpha = product(first.vectors, np.stack([own.t for own in self.spectra], axis=1) * inverse)
        level = float(first.kernel_means.mean())
        means = np.array([own.y_mean for own in self.spectra])
        return CompletePosterior(self, mu, zeta, alpha, means - (first.kernel_means - level) @ alpha, inverse, level)


@dataclass(frozen=True)
class CompletePosterior:
    """Gaussian posterior of z(x) for the bits of one task.

    Attributes
    ----------
    mu, zeta : arrays of shape (B,)
    alpha : array of shape (n, B)
        Support values; each column adds up to zero.
    b : array of shape (B,)
        Beside kernel rows from which `level` was subtracted.
    inverse : array of shape (n − 1, B)
        1/(λ + s).
    level : float
        About the mean of K, so that nearly constant rows lose no digits where α is large.
    """

    task: CompleteTask
    mu: Array
    zeta: Array
    alpha: Array
    b: Array
    inverse: Array
    level: float

    def moments(self, X: Array) -> tuple[Array, Array]:
        """z_MP and σ_z² at standardised inputs of shape (n, d), each of shape (n, B)."""
        z, variance = np.empty((len(X), len(self.b))), np.empty((len(X), len(self.b)))
        spectrum = self.task.spectra[0]
        means = spectrum.kernel_means - self.level
        for start in range(0, len(X), ROWS):
            part = slice(start, start + ROWS)
            K = self.task.kernel(X[part], self.task.X)
            K -= self.level
            z[part] = product(K, self.alpha) + self.b
            squared = self.task.kernel.diag(X[part]) - self.level
            squared = squared - 2.0 * weighted_mean(K.T, spectrum.weights) + weighted_mean(means, spectrum.weights)
            projected = product(K - means, spectrum.vectors)
            left = np.maximum(squared[:, None] - product(projected**2, self.inverse), 0.0)
            variance[part] = left / self.mu + 1.0 / (spectrum.total * self.zeta)
        return z, variance

    def left_out_moments(self, *, whole: bool) -> tuple[Array, Array]:
        """Z and σ_z² of the task's own rows, each by the model of all others, or of one row less, with `whole`."""
        spectrum = self.task.spectra[0]
        diagonal = np.maximum(product(spectrum.vectors**2, self.inverse), np.finfo(float).tiny)
        w = np.ones((len(diagonal), 1)) if spectrum.weights is None else spectrum.weights[:, None]
        residuals = self.alpha / diagonal
        variances = np.maximum(1.0 / diagonal - self.mu / (self.zeta * w), 0.0) / self.mu
        if whole:
            residuals, variances = one_of_each(residuals, variances, w, self.zeta)
        return self.task.targets - residuals, variances


def complete_tasks(
    kernel: Kernel, X: Array, targets: AnyArray, code: Array | None, weights: Array | None
) -> list[CompleteTask]:
    """The tasks of a code of shape (C, L) for numbers of classes of shape (N,); or the only task, of real targets."""
    if code is None:
        return [CompleteTask.of(kernel, (0,), np.arange(len(X)), X, np.asarray(targets, float)[:, None], weights)]
    by_classes: dict[bytes, list[int]] = {}
    for bit, column in enumerate(code.T):
        by_classes.setdefault((column != 0).tobytes(), []).append(bit)
    y, found = code[targets], []
    for bits in by_classes.values():
        rows = np.flatnonzero(y[:, bits[0]])
        found.append(CompleteTask.of(kernel, bits, rows, X, y[:, bits], weights))
    return found
