"""Level 2 with a proper prior: the mode of the posterior of (log μ, log ζ), and Laplace's method there.

With x = (log μ, log ζ) and a prior for each,

    log p(D, x) = log p(D | μ, ζ) + log p(log μ) + log p(log ζ)
    log p(D | H) ≃ log p(D, x̂) + log 2π − ½ log det A,      A = −∇² log p(D, x̂)

where 5.2 takes the mode of the evidence alone and the error bars as separate. A proper prior of ζ is what keeps labels
±1 from being taken for targets without noise: the mode exists, and the volume of the posterior is finite.

The gradient in the kernel matrix is exact. With s = μ/ζ, R, α, β = Rα, η = Rβ as in `levels.objective` and

    A₁ = s·tr_1,   A₂ = s²·tr_2,   A₃ = s³·tr_3,   u = μq_1,   p = μs·q_2,   r = μs²·q_3,   w = μs³·q_4

the first derivatives of log p(D | μ, ζ) in x are ½(N−1 − A₁ − u + p) and ½(A₁ − p), its Hessian has the entries
½(A₂ − A₁ − u + 3p − 2r), ½(A₁ − A₂ − 2p + 2r), ½(A₂ − A₁ + p − 2r), and dA₁ = −s·tr R²dΩ, dA₂ = −2s²·tr R³dΩ,
du = −μ·αᵀdΩα, dp = −2μs·αᵀdΩβ, dr = −μs²(2αᵀdΩη + βᵀdΩβ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base.typing import Array
from ..linalg.reduction import Reduction
from ..priors import LogPrior
from .level2 import MIN_GAMMA_LAMBDA, SCAN_STEP, Level2, at_gamma

_WORTH_CLIMBING = 5.0  # nats behind the best peak of the scan
_MOST_PEAKS = 4
_STEPS = 60
_LARGEST_STEP = 2.0
_SHORT = 1e-4  # a step within reach of Newton's method
_FARTHEST_BACK = np.expm1(-10.0)  # a step in log μ
_STILL = 1e-9
_LAST = 1e-5  # a full step of Newton's method, after which its square is left
_SCANNED = 1e-3  # of a step in log μ, which squares in the next one; Newton's method goes on from the peaks
_LEAST_CURVATURE = 1e-3  # at an end of the range, where there is no mode
_THIRD = 1e-3  # step of the differences of a prior's curvature


@dataclass(frozen=True)
class Level2Posterior:
    """The mode of the posterior of (log μ, log ζ) and the Gaussian that fits it.

    Attributes
    ----------
    level2 : Level2
        μ and ζ at the mode, and what belongs to them.
    log_density : float
        log p(D | μ, ζ) + log p(log μ) + log p(log ζ) there.
    precision : array of shape (2, 2)
        Minus the Hessian.
    log_evidence : float
        Laplace's approximation of log p(D | H).
    has_mode : bool
        Whether the density is stationary there; it is not where the prior's support or the largest γ ends the range.
    alone : bool
        Whether a scan of the whole range of γ has seen no other peak, however low.
    """

    level2: Level2
    log_density: float
    precision: Array
    log_evidence: float
    has_mode: bool
    alone: bool = False


class _Local(NamedTuple):
    """The log density at a point, its gradient, and minus its Hessian."""

    position: Array
    value: float
    gradient: Array
    precision: Array


Priors = tuple[LogPrior, LogPrior]


def most_probable(reduction: Reduction, prior_mu: LogPrior, prior_zeta: LogPrior) -> Level2Posterior:
    """The best mode over the whole range of γ: peaks of a scan, each climbed by Newton's method in O(N) a step."""
    priors = (prior_mu, prior_zeta)
    starts, alone = _scanned_peaks(reduction, priors)
    climbed = [_climbed(reduction, priors, start) for start in starts]
    best = max(climbed, key=lambda peak: peak.value)
    mu, zeta = np.exp(best.position).tolist()
    curvatures = np.linalg.eigvalsh(best.precision)
    has_mode = bool(curvatures[0] > 0.0 and np.abs(best.gradient).max() < 1e-3 * max(1.0, curvatures[-1]))
    volume = float(np.log(2.0 * np.pi) - 0.5 * np.log(np.maximum(curvatures, _LEAST_CURVATURE)).sum())
    level2 = at_gamma(reduction, zeta / mu, mu)
    return Level2Posterior(level2, best.value, best.precision, best.value + volume, has_mode, alone)


def _local(reduction: Reduction, priors: Priors, x: Array) -> _Local | None:
    """The density around a point; None outside the prior's support, or beyond the largest γ."""
    own = sum(float(prior.log_density(x[i])) for i, prior in enumerate(priors))
    if not np.isfinite(own) or x[1] - x[0] > np.log(reduction.gamma_max):
        return None
    found = reduction.local_evidence(*np.exp(x).tolist())
    slope = np.array([float(prior.gradient(x[i])) for i, prior in enumerate(priors)])
    bend = np.array([float(prior.curvature(x[i])) for i, prior in enumerate(priors)])
    return _Local(x, found.value + own, found.gradient + slope, np.diag(bend) - found.hessian)


def _scanned_peaks(reduction: Reduction, priors: Priors) -> tuple[list[_Local], bool]:
    """Peaks over a grid of log γ of the density with log μ at its best, the promising ones, and if there is but one."""
    high = float(np.log(reduction.gamma_max))
    low = min(float(np.log(MIN_GAMMA_LAMBDA / reduction.lambda_max)), high - 1.0)
    grid = np.linspace(low, high, int(np.ceil((high - low) / SCAN_STEP)) + 1)
    log_det, q1 = reduction.values(np.exp(grid))
    m = reduction.n - 1
    u = _best_log_mu(m, q1, grid, priors)
    own = priors[0].log_density(u) + priors[1].log_density(u + grid)
    values = 0.5 * (m * u - log_det - np.exp(u) * q1) + own
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    tops = np.flatnonzero((values >= padded[:-2]) & (values > padded[2:]))
    alone = len(tops) == 1
    tops = tops[np.argsort(-values[tops])][:_MOST_PEAKS]
    close = [k for k in tops.tolist() if values[k] > values[tops[0]] - _WORTH_CLIMBING]
    starts = [_local(reduction, priors, _between(grid, u, padded, k)) for k in close]
    return [start for start in starts if start is not None], alone


def _between(grid: Array, u: Array, padded: Array, k: int) -> Array:
    """(log μ, log ζ) at the vertex of the parabola through a peak of the scan and its neighbours."""
    left, top, right = padded[k : k + 3].tolist()
    if not np.isfinite(left + right):  # an end of the range; a shade below the largest γ, which rounding may pass
        return np.array([u[k], u[k] + min(grid[k], grid[-1] - 1e-9)])
    bend = left - 2.0 * top + right
    share = 0.5 * (left - right) / bend if bend < 0.0 else 0.0  # of a step
    log_gamma = float(grid[k] + share * (grid[1] - grid[0]))
    log_mu = float(np.interp(log_gamma, grid, u))
    return np.array([log_mu, log_mu + log_gamma])


def _best_log_mu(m: int, q1: Array, log_gamma: Array, priors: Priors) -> Array:
    """The best log μ for each γ, of ½(N−1)u − ½e^u q_1 + priors, which is concave for log-concave priors.

    A slope a − be^u, as a Gamma prior has one too, is zero at u + log(1 + slope/be^u). Such a step is right from afar,
    and near the end it is Newton's.
    """
    lows, highs = zip(priors[0].support, priors[1].support, strict=True)
    low, high = np.maximum(lows[0], lows[1] - log_gamma), np.minimum(highs[0], highs[1] - log_gamma)
    u = np.clip(np.log(m / q1), low, np.maximum(low, high))
    for _ in range(50):
        pull = np.exp(u) * q1
        slope = 0.5 * (m - pull) + priors[0].gradient(u) + priors[1].gradient(u + log_gamma)
        bend = 0.5 * pull + priors[0].curvature(u) + priors[1].curvature(u + log_gamma)
        step = np.log1p(np.maximum(slope / np.maximum(bend, 1e-12), _FARTHEST_BACK))
        moved = np.clip(u + step, low, np.maximum(low, high))
        if np.abs(moved - u).max() < _SCANNED:
            return moved
        u = moved
    return u


def _climbed(reduction: Reduction, priors: Priors, here: _Local) -> _Local:
    """Damped Newton steps; a direction of the wrong curvature is climbed along its slope, and a prior's end is kept."""
    low, high = np.array([prior.support for prior in priors]).T
    for _ in range(_STEPS):
        outwards = np.where(here.gradient > 0.0, here.position >= high, here.position <= low)
        # what is held at an end does not move, and the step along the other axis is that axis's own
        gradient = np.where(outwards, 0.0, here.gradient)
        precision = np.where(outwards[:, None] | outwards, np.eye(len(outwards)), here.precision)
        curvatures, axes = np.linalg.eigh(precision)
        step = axes @ ((axes.T @ gradient) / np.maximum(np.abs(curvatures), _LEAST_CURVATURE))
        step *= min(1.0, _LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        near = curvatures[0] > 0.0 and np.abs(step).max() < _SHORT
        size = 1.0
        while size > 1e-9:
            there = _local(reduction, priors, np.clip(here.position + size * step, low, high))
            # near the mode rounding hides the gain of a step that the gradient still asks for
            if there is not None and (there.value >= here.value or near):
                break
            size *= 0.5
        else:
            return here
        moved = float(np.abs(there.position - here.position).max())
        here = there
        if moved < (_LAST if near else _STILL):
            return here
    return here


class LaplaceDerivative(NamedTuple):
    """The numbers in W = −½R + square·R² + cube·R³ + own·ααᵀ + mixed·(αβᵀ + βαᵀ) + far·(αηᵀ + ηαᵀ + ββᵀ)."""

    square: float
    cube: float
    own: float
    mixed: float
    far: float


def laplace_derivative(
    found: Level2Posterior,
    priors: Priors,
    q: Sequence[float],
    tr: Sequence[float],
) -> LaplaceDerivative:
    """How Laplace's evidence changes with Ω: explicitly, through the volume, and through the mode that moves with Ω.

    Parameters
    ----------
    q, tr : q_1 … q_4 and tr_1 … tr_3
    """
    mu, zeta = found.level2.mu, found.level2.zeta
    if not found.has_mode:  # nothing moves that could be followed
        return LaplaceDerivative(0.0, 0.0, 0.5 * mu, 0.0, 0.0)
    return derivative_around(mu, zeta, found.precision, priors, q, tr)


def derivative_around(
    mu: float, zeta: float, precision: Array, priors: Priors, q: Sequence[float], tr: Sequence[float]
) -> LaplaceDerivative:
    """The same at μ and ζ near the mode, with minus the Hessian there, of shape (2, 2)."""
    s = mu / zeta
    volume, pull = volume_slopes(mu, zeta, precision, priors, q, tr)
    move = np.linalg.solve(precision, pull)
    c1, c2, cu, cp, cr = volume + 0.5 * np.array([move[1] - move[0], 0.0, -move[0], move[0] - move[1], 0.0])
    return LaplaceDerivative(-c1 * s, -2.0 * c2 * s**2, (0.5 - cu) * mu, -cp * mu * s, -cr * mu * s**2)


def volume_slopes(
    mu: float, zeta: float, precision: Array, priors: Priors, q: Sequence[float], tr: Sequence[float]
) -> tuple[Array, Array]:
    """Derivatives of the volume −½ log det A in (A₁, A₂, u, p, r), and by way of them in (log μ, log ζ).

    The parameters are those of `laplace_derivative`, and A itself, of shape (2, 2).
    """
    s = mu / zeta
    A1, A2, A3 = s * tr[0], s**2 * tr[1], s**3 * tr[2]
    u, p, r, w = mu * q[0], mu * s * q[1], mu * s**2 * q[2], mu * s**3 * q[3]
    P = np.linalg.inv(precision)
    aa, ac, cc = float(P[0, 0]), float(P[0, 1]), float(P[1, 1])
    delta = aa - 2.0 * ac + cc
    # ½ tr(P·Hessian) as a form in (A₁, A₂, u, p, r)
    volume = np.array([-0.25 * delta, 0.25 * delta, -0.25 * aa, 0.25 * (3.0 * aa - 4.0 * ac + cc), -0.5 * delta])
    along_mu = np.array([A1 - A2, 2.0 * (A2 - A3), u - p, 2.0 * (p - r), 3.0 * (r - w)])
    along_zeta = np.array([A2 - A1, 2.0 * (A3 - A2), p, 2.0 * r - p, 3.0 * w - 2.0 * r])
    third = [_third(prior, x) for prior, x in zip(priors, np.log([mu, zeta]), strict=True)]
    return volume, np.array([volume @ along_mu + 0.5 * aa * third[0], volume @ along_zeta + 0.5 * cc * third[1]])


def _third(prior: LogPrior, x: float) -> float:
    """∂³ log p(x), by differences of the curvature."""
    ends = prior.curvature(np.array([x - _THIRD, x + _THIRD]))
    return float(ends[0] - ends[1]) / (2.0 * _THIRD)
