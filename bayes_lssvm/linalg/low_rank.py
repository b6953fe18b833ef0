"""The reduction of a kernel matrix of low rank, Q = ΦΦᵀ, from sums over its rows: nothing of size N is kept.

With m features φ(x), C = Σ (φ_i − φ̄)(φ_i − φ̄)ᵀ = UΛUᵀ has the m eigenvalues of MQM that need not be zero; the other
N − 1 − m are known to be. With g = Σ (φ_i − φ̄)(y_i − ȳ) the targets have t = Λ^{−½}Uᵀg in the directions of the first,
and the rest of their length in those of the zeros. Levels 2 and 3 run on it unchanged.

Where Q is an approximation of a kernel matrix Ω from below, as by Nyström's method, d_i = K(x_i, x_i) − ‖φ_i‖² ≥ 0 is
what each row lacks. For E = Ω − Q ⪰ 0,

    yᵀ(Ω + s)⁻¹y ≤ yᵀ(Q + s)⁻¹y,      log det(Ω + s) ≤ log det(Q + s) + Σ log(1 + d_i/s),

the second by Hadamard's inequality, and the same on the complement of 1, where eigenvalues interlace. With that sum
added to log_det the evidence is a lower bound of the exact one at every (μ, ζ). A histogram of d is enough: by Jensen's
inequality a bin's mean, as often as it has rows, gives no less than the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from ..base.rounding import ROUNDING
from ..base.typing import AnyArray, Array
from .reduction import TINY, LocalEvidence, SpectralSums, largest_gamma, log_constant, without_rounding


@dataclass(frozen=True)
class LowRankReduction:
    """Spectrum of MQM with L sets of targets.

    Attributes
    ----------
    n : int
        N.
    eigenvalues : array of shape (r,)
        λ_i in ascending order; r is m, or N − 1 if there are fewer rows.
    vectors : array of shape (m, r)
        U.
    t : array of shape (L, r)
        Λ^{−½}Uᵀg of each set; zero where rounding hides it.
    rests : array of shape (L,)
        Squared length of the targets outside of the span.
    kernel_norm : float
        A bound of ‖Q‖, the scale of rounding.
    log_constant : float
        −½ log N, or with weights −½ log Σw_i + ½ Σ log w_i; Q is then W^½ΦΦᵀW^½, and d_i has the factor w_i.
    lacking : array of shape (2, B) or None
        Numbers of rows and mean d in the bins of a histogram; with it, log_det is that of the lower bound.
    """

    n: int
    eigenvalues: Array
    vectors: Array
    t: Array
    rests: Array
    kernel_norm: float
    log_constant: float
    lacking: Array | None = None

    @classmethod
    def of(
        cls, n: int, centred: Array, crosses: Array, totals: Array, norm: float, constant: float | None = None
    ) -> LowRankReduction:
        """From C of shape (m, m), g of each set of targets, of shape (L, m), and their squared lengths ‖My‖²."""
        eigenvalues, U = eigh(centred, driver="evd", check_finite=False)
        norm = max(norm, TINY)
        eigenvalues = without_rounding(eigenvalues, norm)
        if len(eigenvalues) > n - 1:  # more features than rows: the smallest are zero
            eigenvalues, U = eigenvalues[-(n - 1) :], U[:, -(n - 1) :]
        told = eigenvalues > ROUNDING * norm
        t = np.where(told, (crosses @ U) / np.sqrt(np.where(told, eigenvalues, 1.0)), 0.0)
        # t has the more rounding the smaller λ is; what is too much is taken from there, where t tells least
        excess = np.maximum((t**2).sum(axis=1) - totals, 0.0)[:, None]
        taken = np.clip(excess - (np.cumsum(t**2, axis=1) - t**2), 0.0, t**2)
        t = np.sign(t) * np.sqrt(t**2 - taken)
        rests = np.maximum(totals - (t**2).sum(axis=1), 0.0)
        return cls(n, eigenvalues, U, t, rests, norm, log_constant(n) if constant is None else constant)

    def bounded(self, counts: Array, means: Array) -> LowRankReduction:
        """The reduction whose evidence is the lower bound, for a histogram of d."""
        kept = counts > 0
        return replace(self, lacking=np.stack([counts[kept], means[kept]]))

    @property
    def n_zeros(self) -> int:
        return self.n - 1 - len(self.eigenvalues)

    @property
    def within(self) -> float:
        return float(self.rests[0])

    @property
    def totals(self) -> Array:
        return np.asarray((self.t**2).sum(axis=1) + self.rests)

    @property
    def lambda_max(self) -> float:
        return max(float(self.eigenvalues[-1]), TINY)

    @property
    def gamma_max(self) -> float:
        return largest_gamma(self.lambda_max, self.kernel_norm)

    def alone(self, target: int) -> LowRankReduction:
        """The reduction with one of its sets of targets."""
        return replace(self, t=self.t[target : target + 1], rests=self.rests[target : target + 1])

    def components(self) -> tuple[Array, Array]:
        """λ_i and t_i² of the first set of targets; the known zeros are left out."""
        return self.eigenvalues, self.t[0] ** 2

    def values(self, gamma: Array, target: AnyArray | None = None) -> tuple[Array, Array]:
        """log_det of shape (G,), and q_1 of shape (G,), or (G, L) for several sets of targets."""
        s = 1.0 / np.atleast_1d(np.asarray(gamma, dtype=float))
        inverse = 1.0 / (self.eigenvalues + s[:, None])  # [G, r]
        log_det = self.n_zeros * np.log(s) - np.log(inverse).sum(axis=1) + self._lack(s)[0]
        if target is None:
            q1 = inverse @ (self.t**2).T + self.rests / s[:, None]
            return log_det, q1[:, 0] if len(self.t) == 1 else q1
        return log_det, np.einsum("gr,gr->g", inverse, self.t[target] ** 2) + self.rests[target] / s

    def sums(self, gamma: Array, target: int | AnyArray = 0) -> SpectralSums:
        """The sums for each γ and one set of targets, or the sets of these numbers, one for each γ."""
        s = 1.0 / np.atleast_1d(np.asarray(gamma, dtype=float))
        which = np.zeros(len(s), dtype=np.intp) + target
        inverse, t2, rest = 1.0 / (self.eigenvalues + s[:, None]), self.t[which] ** 2, self.rests[which]
        lack, slope, _ = self._lack(s)
        return SpectralSums(
            log_det=self.n_zeros * np.log(s) - np.log(inverse).sum(axis=1) + lack,
            q1=(inverse * t2).sum(axis=1) + rest / s,
            q2=(inverse**2 * t2).sum(axis=1) + rest / s**2,
            tr1=inverse.sum(axis=1) + (self.n_zeros - slope) / s,
            d_eff=inverse @ self.eigenvalues + slope,
            w=(inverse**2 * t2) @ self.eigenvalues,
        )

    def powers(self, s: float, target: int = 0) -> tuple[Array, Array]:
        """q_1 … q_4 and tr_1 … tr_3 at s = 1/γ, which the gradient needs; without the bound's share."""
        inverse = 1.0 / (self.eigenvalues + s)
        t2, rest = self.t[target] ** 2, float(self.rests[target])
        q = np.array([float(inverse**k @ t2) + rest / s**k for k in range(1, 5)])
        return q, np.array([float((inverse**k).sum()) + self.n_zeros / s**k for k in range(1, 4)])

    def local_evidence(self, mu: float, zeta: float) -> LocalEvidence:
        """Log p(D | μ, ζ) of the first set of targets, with its derivatives in (log μ, log ζ)."""
        s = mu / zeta
        lam = np.append(self.eigenvalues, 0.0)
        weight = np.append(np.ones(len(self.eigenvalues)), self.n_zeros)
        t2 = np.append(self.t[0] ** 2, self.rests[0])
        a, c = lam / mu, 1.0 / zeta
        v = a + c
        first, second = -0.5 * weight / v + 0.5 * t2 / v**2, 0.5 * weight / v**2 - t2 / v**3
        value = -0.5 * float(weight @ np.log(2.0 * np.pi * v) + t2 @ (1.0 / v)) + self.log_constant
        mixed = float(np.sum(second * a * c))
        weights, noise = float(np.sum(second * a**2 + first * a)), float(np.sum(second * c**2 + first * c))
        gradient = -np.array([float(np.sum(first * a)), float(np.sum(first * c))])
        hessian = np.array([[weights, mixed], [mixed, noise]])
        lack, slope, bend = (float(found[0]) for found in self._lack(np.array([s])))
        gradient += 0.5 * slope * np.array([1.0, -1.0])
        hessian -= 0.5 * bend * np.array([[1.0, -1.0], [-1.0, 1.0]])
        return LocalEvidence(value - 0.5 * lack, gradient, hessian)

    def _lack(self, s: Array) -> tuple[Array, Array, Array]:
        """Σ log(1 + d/s) for each s, with minus its first and its second derivative in log s; zero without a bound."""
        if self.lacking is None:
            return np.zeros_like(s), np.zeros_like(s), np.zeros_like(s)
        counts, d = self.lacking
        share = d / (d + s[:, None])  # [G, B]
        return np.log1p(d / s[:, None]) @ counts, share @ counts, (share * (1.0 - share)) @ counts
