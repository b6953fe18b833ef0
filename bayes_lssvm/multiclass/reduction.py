"""Level 2 of many members at once: one reduction of the kernel matrix serves every set of targets.

The centred kernel matrix is brought to tridiagonal form T = QᵀMΩMQ once; member l keeps its targets as t_l = QᵀMy_l.
With s = 1/γ all that levels 2 and 3 need of a member comes from T + sI by solves that cost O(N):

    log_det(s) and tr_1(s), the same for all members,      q_1 = t_lᵀ(T + s)⁻¹t_l,      q_2 = t_lᵀ(T + s)⁻²t_l.

Blocks for different γ and different members are stacked into one tridiagonal system, uncoupled by zeros, so that a
whole scan is one call of LAPACK. The minima of J4 (4.8) are found as in `bayes_lssvm.levels.level2.optimise`: a scan of
log γ, then every bracket narrowed, here all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import AnyArray, Array
from ..levels.level2 import MIN_GAMMA_LAMBDA, NO_SIGNAL_GAIN, SCAN_STEP
from ..linalg.blas import squared_norm
from ..linalg.spectrum import TINY, SpectralSums, centre_and_reflect, largest_gamma, log_product


@dataclass(frozen=True)
class SharedReduction:
    """T = QᵀMΩMQ with the targets of L members.

    Attributes
    ----------
    diagonal, off_diagonal : arrays of shape (N − 1,) and (N − 2,)
    targets : array of shape (L, N − 1)
        t_l = QᵀMy_l.
    totals : array of shape (L,)
        ‖My_l‖².
    """

    diagonal: Array
    off_diagonal: Array
    targets: Array
    totals: Array
    lambda_max: float
    kernel_norm: float

    @property
    def n(self) -> int:
        """Number of data points N."""
        return len(self.diagonal) + 1

    @property
    def gamma_max(self) -> float:
        """The largest γ at which 1/γ stands above the rounding of the eigenvalues."""
        return largest_gamma(self.lambda_max, self.kernel_norm)

    @classmethod
    def from_kernel_matrix(cls, K: Array, Y: Array) -> SharedReduction:
        """Reduce the kernel matrix Ω of shape (N, N) with targets Y of shape (N, L)."""
        A, _, v, tau = centre_and_reflect(K, Y[:, 0])
        centred = Y - Y.mean(axis=0)
        t = np.asfortranarray((centred - np.outer(tau * v, v @ centred))[1:])  # [N-1, L]
        lwork = int(lapack.dsytrd_lwork(len(A), lower=1)[0])
        reflectors, d, e, factors, info = lapack.dsytrd(A, lower=1, lwork=lwork, overwrite_a=1)
        if info != 0:  # pragma: no cover - only for an illegal argument
            raise RuntimeError(f"LAPACK sytrd failed with info = {info}.")
        if len(d) > 2:
            # Q leaves e₁ alone; below it the reflectors stand as those of a QR decomposition
            below = np.asfortranarray(reflectors[1:, : len(factors)])
            t[1:], _, info = lapack.dormqr("L", "T", below, factors, t[1:], lwork=64 * t.shape[1])
        left, right = np.append(0.0, np.abs(e)), np.append(np.abs(e), 0.0)
        bound = float(np.max(np.abs(d) + left + right))  # Gershgorin
        norm = max(float(np.sqrt(squared_norm(K))), TINY)
        targets = np.ascontiguousarray(t.T)
        return cls(d, e, targets, np.einsum("ij,ij->i", targets, targets), max(bound, TINY), norm)

    def scan(self, gamma: Array) -> tuple[Array, Array]:
        """log_det of shape (G,) and q_1 of shape (G, L) for every γ and every member.

        With T + s = LDLᵀ, q_1 = Σ_i z_i²/D_i for Lz = t. The recurrence runs down the rows for all γ and members at
        once, which is several times faster than a solve for each.
        """
        m = len(self.diagonal)
        D, E = (part.reshape(len(gamma), -1) for part in self._factor(1.0 / gamma, reverse=False))
        log_det = log_product(D)
        inverse, below = (1.0 / D).T[:, :, None], E.T[:, :, None]  # [N-1, G, 1]
        z = np.tile(self.targets[:, 0], (len(gamma), 1))  # [G, L]
        q1 = z * z * inverse[0]
        square = np.empty_like(z)
        for i in range(1, m):
            z *= below[i - 1]
            np.subtract(self.targets[:, i], z, out=z)
            np.multiply(z, z, out=square)
            square *= inverse[i]
            q1 += square
        return log_det, q1

    def sums(self, gamma: Array, member: AnyArray) -> SpectralSums:
        """The sums of `linalg.spectrum`, each of shape (B,), for B pairs of a γ and the number of a member."""
        m, s = len(self.diagonal), 1.0 / gamma
        forward, E = self._factor(s, reverse=False)
        backward, _ = self._factor(s, reverse=True)
        D = forward.reshape(len(s), m)
        inverse_diagonal = 1.0 / (D + backward.reshape(len(s), m)[:, ::-1] - (self.diagonal + s[:, None]))
        tr1 = inverse_diagonal.sum(axis=1)
        right = self.targets[member]
        x, _ = lapack.dpttrs(forward, E[:-1], right.ravel())
        x = np.asarray(x).reshape(len(s), m)
        q1, q2 = np.einsum("ij,ij->i", right, x), np.einsum("ij,ij->i", x, x)
        d_eff, w = np.maximum(m - s * tr1, 0.0), np.maximum(q1 - s * q2, 0.0)
        return SpectralSums(log_product(D), q1, q2, tr1, d_eff, w)

    def _factor(self, s: Array, *, reverse: bool) -> tuple[Array, Array]:
        """D and the subdiagonal of L, T + sI = LDLᵀ, for each s, stacked; a zero ends each block."""
        m = len(self.diagonal)
        d, e = (self.diagonal[::-1], self.off_diagonal[::-1]) if reverse else (self.diagonal, self.off_diagonal)
        stacked_e = np.zeros((len(s), m))
        stacked_e[:, : m - 1] = e
        factors = stacked_e.ravel()
        D, factors[:-1], info = lapack.dpttrf((d + s[:, None]).ravel(), factors[:-1], overwrite_d=1)
        if info != 0:
            raise NotPositiveSemidefiniteError(
                "The centred kernel matrix is not positive semi-definite. The evidence needs a kernel that is an inner "
                "product."
            )
        return np.asarray(D), factors


class Optima(NamedTuple):
    """μ_MP, ζ_MP and what belongs to them for each member, each of shape (L,)."""

    gamma: Array
    mu: Array
    d_eff: Array
    log_evidence: Array
    at_boundary: AnyArray


def optimise_all(reduction: SharedReduction, *, tolerance: float = 1e-8) -> Optima:
    """The best minimum of J4 for every member; `tolerance` is that of log γ."""
    n, members = reduction.n, len(reduction.targets)
    if not np.all(reduction.totals > 0.0):
        raise ValueError("All targets of a member are equal, so there is nothing to infer.")
    high = np.log(reduction.gamma_max)
    low = min(np.log(MIN_GAMMA_LAMBDA / reduction.lambda_max), high - 1.0)
    grid = np.linspace(low, high, int(np.ceil((high - low) / SCAN_STEP)) + 1)
    log_det, q1 = reduction.scan(np.exp(grid))
    costs = log_det[:, None] + (n - 1) * np.log(0.5 * q1)  # [G, L]
    noise = (n - 1) * np.log(0.5 * reduction.totals)  # the limit γ → 0

    point, member = _grid_minima(costs)
    best_cost, best_root = np.full(members, np.inf), np.full(members, low)
    if len(member):
        root = _narrow(reduction, member, grid[point - 1], grid[point + 1], tolerance)
        found = reduction.sums(np.exp(root), member)
        for k, cost in enumerate(found.log_det + (n - 1) * np.log(0.5 * found.q1)):
            if cost < best_cost[member[k]]:
                best_cost[member[k]], best_root[member[k]] = cost, root[k]

    rounding = 1e-9 * np.abs(noise) + 1e-9
    at_top = costs[-1] < np.minimum(best_cost, noise - 2.0 * NO_SIGNAL_GAIN) - rounding
    at_boundary = at_top | (best_cost >= noise - rounding)
    gamma = np.exp(np.where(at_boundary, np.where(at_top, high, low), best_root))
    sums = reduction.sums(gamma, np.arange(members))
    mu = (n - 1) / sums.q1  # 4.7
    log_evidence = 0.5 * ((n - 1) * (np.log(mu / (2.0 * np.pi)) - 1.0) - sums.log_det - np.log(n))
    return Optima(gamma, mu, sums.d_eff, log_evidence, at_boundary)


def _grid_minima(costs: Array) -> tuple[AnyArray, AnyArray]:
    """Rows and columns where a column has a minimum inside that is more than a ripple of rounding."""
    here, before, after = costs[1:-1], costs[:-2], costs[2:]
    depth = 1e-12 * np.abs(costs).max(axis=0)
    rows, columns = np.nonzero((here <= before) & (here < after) & (np.maximum(before, after) > here + depth))
    return rows + 1, columns


def _narrow(reduction: SharedReduction, member: AnyArray, low: Array, high: Array, tolerance: float) -> Array:
    """Roots of ∂J4/∂log γ in all brackets together: regula falsi with the Illinois rule."""
    n = reduction.n

    def slope(u: Array, which: AnyArray) -> Array:
        sums = reduction.sums(np.exp(u), which)
        return np.asarray(np.exp(-u) * (-sums.tr1 + (n - 1) * sums.q2 / sums.q1))

    root = 0.5 * (low + high)
    a, b, fa, fb = low.copy(), high.copy(), slope(low, member), slope(high, member)
    last = np.zeros(len(root))  # the side that moved last
    active = np.flatnonzero((fa < 0.0) & (fb > 0.0))  # the others are flat to rounding: their grid point serves
    for _ in range(60):
        if active.size == 0:
            break
        new = (a[active] * fb[active] - b[active] * fa[active]) / (fb[active] - fa[active])
        f = slope(new, member[active])
        moved = np.abs(new - root[active])
        root[active] = new
        side = np.where(f < 0.0, -1.0, 1.0)
        again = side == last[active]  # an end that stays twice counts half, or it would stay for ever
        left, right = active[side < 0], active[side > 0]
        fb[active[again & (side < 0)]] *= 0.5
        fa[active[again & (side > 0)]] *= 0.5
        a[left], fa[left] = new[side < 0], f[side < 0]
        b[right], fb[right] = new[side > 0], f[side > 0]
        last[active] = side
        done = (f == 0.0) | (moved < tolerance) | (b[active] - a[active] < tolerance)
        active = active[~done]
    return root
