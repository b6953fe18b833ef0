"""The sums of levels 2 and 3 at one γ, from the Cholesky factor that a posterior has anyway.

With S = L⁻¹, LLᵀ = MΩMᵀ + sW⁻¹ and s = 1/γ, the constant vector is an eigenvector of its own with the eigenvalue s, so
that on its complement, for weights w (one each by default) and v = W⁻¹α,

    R = SᵀS − (γ/Σw) wwᵀ      log_det = −2 Σ log S_ii + Σ log w_i − log s      q_2 = αᵀv      q_3 = ‖Sv‖²
    tr_1 = ‖SW^{−½}‖² − γ     tr_2 = ‖W^{−½}SᵀSW^{−½}‖² − γ²

The last is a third of N³ multiplications; a tridiagonal reduction, which serves every γ, costs seven times as much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

from ..base.typing import AnyArray, Array
from .blas import squared_norm
from .reduction import LocalEvidence, SpectralSums, evidence_by_sums, largest_gamma, log_constant

_SAME = 1e-9  # of γ


@dataclass(frozen=True)
class OneGamma:
    """A kernel matrix with one set of targets, as levels 2 and 3 see it at one γ.

    Attributes
    ----------
    n : int
    gamma : float
    log_det : float
    q : tuple of three floats
        q_1 … q_3.
    tr : tuple of two floats
        tr_1 and tr_2.
    totals : array of shape (1,)
        The centred sum of squares of the targets.
    log_constant : float
    kernel_norm : float
        Norm of Ω, the scale of rounding.
    """

    n: int
    gamma: float
    log_det: float
    q: tuple[float, float, float]
    tr: tuple[float, float]
    totals: Array
    log_constant: float
    kernel_norm: float

    @classmethod
    def of(
        cls, S: Array, alpha: Array, y: Array, gamma: float, kernel_norm: float, weights: Array | None = None
    ) -> OneGamma:
        """From S of shape (N, N) in Fortran order, α = Ry of shape (N,), and targets y of shape (N,)."""
        n, w = len(y), np.ones(len(y)) if weights is None else weights
        centred = y - np.average(y, weights=weights)
        log_det = float(-2.0 * np.log(np.diag(S)).sum() + np.log(w).sum() + np.log(gamma))
        v = alpha / w
        Sv = blas.dtrmv(S, v, lower=1)
        own = np.array(S, order="F") if weights is None else S / np.sqrt(w)
        tr1 = squared_norm(own) - gamma
        product, _ = lapack.dlauum(own, lower=1, overwrite_c=1)  # SᵀS, its lower triangle
        tr2 = 2.0 * squared_norm(product) - float(np.sum(np.square(np.diagonal(product)))) - gamma**2
        q = (float(centred @ alpha), float(alpha @ v), float(Sv @ Sv))
        totals = np.array([float(w @ centred**2)])
        return cls(n, gamma, log_det, q, (tr1, tr2), totals, log_constant(n, weights), kernel_norm)

    @property
    def gamma_max(self) -> float:
        return largest_gamma(self.kernel_norm, self.kernel_norm)

    def _require(self, gamma: Array | float) -> None:
        if not np.all(np.abs(np.asarray(gamma) / self.gamma - 1.0) < _SAME):
            raise ValueError(f"These sums are for γ = {self.gamma!r} alone, not for {gamma!r}.")

    def values(self, gamma: Array, target: AnyArray | None = None) -> tuple[Array, Array]:
        self._require(gamma)
        return np.array([self.log_det]), np.array([self.q[0]])

    def sums(self, gamma: Array, target: int | AnyArray = 0) -> SpectralSums:
        self._require(gamma)
        s = 1.0 / self.gamma
        d_eff, w = self.n - 1 - s * self.tr[0], self.q[0] - s * self.q[1]
        found = (self.log_det, self.q[0], self.q[1], self.tr[0], max(d_eff, 0.0), max(w, 0.0))
        return SpectralSums(*(np.array([value]) for value in found))

    def local_evidence(self, mu: float, zeta: float) -> LocalEvidence:
        self._require(zeta / mu)
        found = evidence_by_sums(self.n - 1, mu, mu / zeta, self.log_det, self.q, self.tr)
        return found._replace(value=found.value + self.log_constant)
