"""Large γ: how far it can be computed, and what may lie beyond.

Eigenvalues of the centred kernel matrix carry its rounding δ, a few eps‖Ω‖. Where all of them stand far above it, or
are known to be zero (`linalg.repeats`), any γ can be computed. Where some do not, 1/γ has to stay above it: γ ≤ γ_max.

Beyond, an eigenvalue λ ± δ that stands above δ is known well enough, but of the k others no more is known than that
they lie between 0 and a few δ, and of the targets no more than their squared length T in those k directions together.
If T/k is far more than δ/μ, what a kernel could give there, it is noise, and each direction has its share; T' = T k/(k
+ 9) is taken, because shares of few directions may be uneven. If not, the targets may be free of noise, and T' = 0.
Then with each of the k eigenvalues at ℓ, as the data like it best,

    log_det(s) ≥ Σ log(λ_i − δ + s) + k log(ℓ + s),    q_1(s) ≥ Σ t_i²/(λ_i + δ + s) + T'/(ℓ + s)

give the most that the integral beyond can be. It is small where the targets have noise, and can be many times the rest
where they have none: there the integrand rises with a power of γ until the prior of ζ ends it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base.errors import BayesLSSVMWarning, warn
from ...base.typing import Array
from ...linalg.reduction import FARTHEST, RESOLVED, ROUNDING_ERROR, Reduction, unresolved
from ...priors import LogPrior
from ..log_mu import NEGLIGIBLE, LogMu, log_sum_exp, support_of_log_gamma

_VISIBLE_TAIL = 1e-4  # of the evidence; smaller ones count in the error
_STRIDE, _STEP = 16, 1.0
_WELL_ABOVE = 20.0  # times the rounding
_UNEVEN, _AS_LARGE = 9.0, 1e4  # see T' above
_SHARES = np.linspace(0.0, 1.0, 5)  # see `log_det_and_q1`


def warn_of_tail(tail: float) -> None:
    """Say so where the evidence may miss something at an end of the range of γ or of the kernel's parameter."""
    if tail > _VISIBLE_TAIL:
        warn(
            f"The log evidence may miss a tail of up to {np.log1p(tail):.2g} nats, which is included in its error: "
            "the range of γ or of the kernel's parameter ends, in double precision or by the kernel's bounds, "
            "where the integrand has not yet vanished. This happens with targets without noise (repeated rows, a "
            "smooth function) and with wide priors; a narrower prior of ζ cures it.",
            BayesLSSVMWarning,
        )


def log_mass_beyond(reduction: Reduction, prior_mu: LogPrior, prior_zeta: LogPrior, floor: float) -> float:
    """The log of the most that the integral beyond γ_max can be, to e^floor; −inf where γ has no such end."""
    top, last = float(np.log(reduction.gamma_max)), min(support_of_log_gamma(prior_mu, prior_zeta)[1], FARTHEST)
    if top >= last or unresolved(reduction) < RESOLVED:
        return -np.inf
    most = _Most.of(reduction)
    best: list[Array] = []
    start = top
    while start < last:
        u = np.arange(start, min(start + _STRIDE, last), _STEP)
        pairs = [most.log_det_and_q1(u, share) for share in _SHARES]
        log_det, q1 = (np.concatenate(found) for found in zip(*pairs, strict=True))
        at = np.tile(u, len(_SHARES))
        log_mu = LogMu(reduction.n, at, log_det, q1, prior_mu, prior_zeta, reduction.log_constant)
        best.append(log_mu.log_height().reshape(len(_SHARES), -1).max(axis=0))
        if best[-1][-1] < max(floor, *(float(b.max()) for b in best)) - NEGLIGIBLE:
            break
        start += _STRIDE
    return float(log_sum_exp(np.concatenate(best))) + float(np.log(_STEP)) + 1.0  # √2π < e


class _Most(NamedTuple):
    """What is known of the spectrum: eigenvalues above rounding with the targets there, and sums over the others."""

    eigenvalues: Array
    squares: Array  # t_i²
    rounding: float  # δ
    n_small: int  # k
    small_squares: float  # T'
    n_zeros: int
    within: float

    @classmethod
    def of(cls, reduction: Reduction) -> _Most:
        eigenvalues, squares = reduction.components()
        rounding = ROUNDING_ERROR * reduction.kernel_norm
        above = eigenvalues > _WELL_ABOVE * rounding
        n_small, rest = int((~above).sum()), float(squares[~above].sum())
        signal = float(squares[above].sum() / eigenvalues[above].sum()) if above.any() else 0.0  # 1/μ
        has_noise = rest > _AS_LARGE * rounding * n_small * signal
        sure = rest * n_small / (n_small + _UNEVEN) if has_noise else 0.0
        known = (eigenvalues[above], squares[above], rounding, n_small, sure)
        return cls(*known, reduction.n_zeros, reduction.within)

    def log_det_and_q1(self, u: Array, share: float) -> tuple[Array, Array]:
        """Bounds at log γ = u, with ℓ + s a share of the way from its largest value to s, in logs."""
        s = np.exp(-u)
        at = np.exp(-share * u + (1.0 - share) * np.log(s + (_WELL_ABOVE + 1.0) * self.rounding))
        log_det = np.log(self.eigenvalues - self.rounding + s[:, None]).sum(axis=1)
        log_det = log_det + self.n_small * np.log(at) - self.n_zeros * u
        q1 = (self.squares / (self.eigenvalues + self.rounding + s[:, None])).sum(axis=1)
        q1 = q1 + self.small_squares / at + self.within / s
        return log_det, np.maximum(q1, 1e-300)
