"""Level 2: the hyperparameters μ (weights) and ζ (noise) from the evidence (paper 0, section 4 and appendix B).

The evidence of level 1 is exact. With p(b) = 1, the eigenvalues λ_i of the centred kernel matrix and t = Vᵀy,

    log p(D | μ, ζ) = −½ log N + Σ_{i=1}^{N−1} log Normal(t_i; 0, λ_i/μ + 1/ζ)
                    = −J3(μ, ζ) − ½ log N − ½ (N−1) log 2π                                          (4.2, 4.3)

Eliminating μ by 4.7, 2μ(E_W + γE_D) = N − 1, leaves a function of γ = ζ/μ alone,

    J4(γ) = Σ log(λ_i + 1/γ) + (N−1) log(E_W + γE_D)                                                (4.8)

which is not convex: `optimise` scans log γ, polishes every minimum and says when the best one lies at an end, γ → 0
(no signal) or γ → ∞ (interpolation). −J4/2 is also the exact marginal over a flat log μ, up to a constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ..base.typing import Array
from ..linalg.spectrum import CentredSpectrum, Reduction

Status = Literal["interior", "no signal", "interpolation"]

# The scan of log γ: sums of sigmoids in log γ cannot hide a minimum between points half a nat apart.
MIN_GAMMA_LAMBDA = 1e-8
SCAN_STEP = 0.5
# Against noise alone, a maximised gain below this many nats is what chance gives (see docs/theory/levels.md).
NO_SIGNAL_GAIN = 2.0


class Mode(NamedTuple):
    """A local minimum of J4."""

    gamma: float
    j4: float


@dataclass(frozen=True)
class Level2:
    """The most probable μ and ζ of a model, and how they were found.

    Attributes
    ----------
    mu, zeta, gamma : float
        μ_MP, ζ_MP and γ_MP = ζ_MP/μ_MP.
    gamma_eff : float
        Effective number of parameters (4.4), between 1 and N.
    d_eff : float
        γ_eff − 1, computed without the cancellation.
    e_w, e_d : float
        E_W and E_D at the mode.
    log_evidence : float
        log p(D | μ_MP, ζ_MP), all constants kept.
    status : "interior", "no signal" or "interpolation"
        "no signal": noise alone explains the targets within `NO_SIGNAL_GAIN` nats. "interpolation": the best γ is the
        largest that double precision can hold.
    at_boundary : bool
        Whether γ_MP is an end of the scanned range and not a stationary point.
    log_gain : float
        log p(D | μ_MP, ζ_MP) minus the same for γ → 0, where all is noise.
    modes : tuple of Mode
        Every local minimum of J4, the best one first.
    """

    n: int
    mu: float
    zeta: float
    gamma: float
    gamma_eff: float
    d_eff: float
    e_w: float
    e_d: float
    log_evidence: float
    status: Status
    at_boundary: bool
    log_gain: float
    modes: tuple[Mode, ...]


def _one(values: Array) -> float:
    return float(np.asarray(values).ravel()[0])


def e_w(reduction: Reduction, gamma: float) -> float:
    """E_W = ½ wᵀw at w_MP (4.12)."""
    return 0.5 * _one(reduction.sums(np.array([gamma])).w)


def e_d(reduction: Reduction, gamma: float) -> float:
    """E_D = ½ Σ e_i² at (w_MP, b_MP): 4.11 with all N − 1 dimensions, as B.1's first form demands."""
    return 0.5 / gamma**2 * _one(reduction.sums(np.array([gamma])).q2)


def gamma_eff(reduction: Reduction, gamma: float) -> float:
    """γ_eff = 1 + Σ γλ_i / (1 + γλ_i) (4.4)."""
    return 1.0 + _one(reduction.sums(np.array([gamma])).d_eff)


def log_evidence(reduction: Reduction, mu: float, zeta: float) -> float:
    """Log p(D | μ, ζ) with p(b) = 1 and all constants."""
    n = reduction.n
    return float(-j3(reduction, mu, zeta) - 0.5 * np.log(n) - 0.5 * (n - 1) * np.log(2 * np.pi))


def log_evidences(reduction: Reduction, log_mu: Array, log_zeta: Array) -> Array:
    """Log p(D | μ, ζ) for many pairs, of shape (n,); γ is held at the largest that can be computed."""
    n = reduction.n
    gamma = np.exp(np.minimum(log_zeta - log_mu, np.log(reduction.gamma_max)))
    # a thousand at a time: every γ takes a vector of length N
    parts = [reduction.values(gamma[i : i + 1000]) for i in range(0, len(gamma), 1000)]
    log_det, q1 = (np.concatenate(found) for found in zip(*parts, strict=True))
    return np.asarray(0.5 * ((n - 1) * (log_mu - np.log(2.0 * np.pi)) - np.exp(log_mu) * q1 - log_det - np.log(n)))


def j3(reduction: Reduction, mu: float, zeta: float) -> float:
    """J3(μ, ζ) = μE_W + ζE_D + ½ Σ log(μ + ζλ_i) − ½N_eff log μ − ½(N−1) log ζ, free of the rank (4.2)."""
    log_det, q1 = reduction.values(np.array([zeta / mu]))
    # Σ_{N_eff} log(μ + ζλ) − N_eff log μ = Σ_{N−1} log(1 + γλ) = log_det + (N−1) log γ; then −(N−1) log ζ
    return 0.5 * mu * _one(q1) + 0.5 * _one(log_det) - 0.5 * (reduction.n - 1) * float(np.log(mu))


def j3_gradient(reduction: Reduction, mu: float, zeta: float) -> Array:
    """∂J3/∂μ and ∂J3/∂ζ (4.5, 4.6)."""
    gamma = zeta / mu
    sums = reduction.sums(np.array([gamma]))
    weights = 0.5 * _one(sums.w) - 0.5 * _one(sums.d_eff) / mu  # E_W − (γ_eff − 1)/(2μ)
    noise = 0.5 * _one(sums.q2) / gamma**2 - 0.5 * _one(sums.tr1) / (gamma * zeta)  # E_D − (N − γ_eff)/(2ζ)
    return np.array([weights, noise])


def log_evidence_gradient(reduction: Reduction, mu: float, zeta: float) -> Array:
    """Gradient of log p(D | μ, ζ) in (log μ, log ζ)."""
    return -j3_gradient(reduction, mu, zeta) * np.array([mu, zeta])


def log_evidence_hessian(reduction: Reduction, mu: float, zeta: float) -> Array:
    """Exact Hessian of log p(D | μ, ζ) in (log μ, log ζ), of shape (2, 2), in O(N)."""
    return reduction.evidence_hessian(mu, zeta)


def j4(reduction: Reduction, gamma: Array | float) -> Array:
    """J4(γ) (4.8) for each γ."""
    log_det, q1 = reduction.values(np.atleast_1d(np.asarray(gamma, dtype=float)))
    return np.asarray(log_det + (reduction.n - 1) * np.log(0.5 * q1))


def j4_gradient(reduction: Reduction, gamma: Array | float) -> Array:
    """∂J4/∂γ (4.9) for each γ."""
    gamma = np.atleast_1d(np.asarray(gamma, dtype=float))
    sums = reduction.sums(gamma)
    # Σ 1/(γ + λγ²) = tr_1/γ², and E_D/(E_W + γE_D) = q_2/(γ² q_1)
    return np.asarray((-sums.tr1 + (reduction.n - 1) * sums.q2 / sums.q1) / gamma**2)


def _slope(reduction: Reduction, log_gamma: float) -> float:
    gamma = float(np.exp(log_gamma))
    return gamma * _one(j4_gradient(reduction, gamma))


def _interior_modes(reduction: Reduction, grid: Array, costs: Array) -> list[Mode]:
    modes = []
    depth = 1e-12 * float(np.abs(costs).max())  # ripples of rounding on a flat cost are no modes
    for i in range(1, len(grid) - 1):
        if costs[i] <= costs[i - 1] and costs[i] < costs[i + 1] and max(costs[i - 1], costs[i + 1]) > costs[i] + depth:
            low, high = float(grid[i - 1]), float(grid[i + 1])
            try:
                root = brentq(lambda u: _slope(reduction, u), low, high, xtol=1e-10, rtol=1e-14)
            except ValueError:  # no change of sign: flat to rounding, and the grid's minimum is as good as any
                root = float(grid[i])
            modes.append(Mode(float(np.exp(root)), _one(j4(reduction, float(np.exp(root))))))
    return modes


def optimise(reduction: Reduction) -> Level2:
    """μ_MP and ζ_MP: the best minimum of J4 over the whole range of γ, with the ends of the range named.

    Parameters
    ----------
    reduction : TridiagonalReduction or CentredSpectrum
        A kernel matrix with its targets, reduced.
    """
    n = reduction.n
    if not reduction.total > 0.0:
        raise ValueError("All targets are equal, so there is nothing to infer; μ and ζ are not defined.")
    high = np.log(reduction.gamma_max)
    # a kernel that does not vary over the data (λ_max at rounding) leaves a short range, and no signal
    low = min(np.log(MIN_GAMMA_LAMBDA / reduction.lambda_max), high - 1.0)
    grid = np.linspace(low, high, int(np.ceil((high - low) / SCAN_STEP)) + 1)
    costs = j4(reduction, np.exp(grid))
    j4_noise = (n - 1) * np.log(0.5 * reduction.total)  # the limit γ → 0

    modes = sorted(_interior_modes(reduction, grid, costs), key=lambda mode: mode.j4)
    rounding = 1e-9 * abs(j4_noise) + 1e-9
    best_interior = modes[0].j4 if modes else np.inf
    # a gain that chance could give is no interpolation: a constant kernel has one from rounding alone
    at_top = costs[-1] < min(best_interior, j4_noise - 2.0 * NO_SIGNAL_GAIN) - rounding
    at_boundary = at_top or best_interior >= j4_noise - rounding
    gamma = float(np.exp(high if at_top else low)) if at_boundary else modes[0].gamma
    best = float(costs[-1] if at_top else j4_noise) if at_boundary else modes[0].j4
    log_gain = 0.5 * (j4_noise - best)

    status: Status = "interpolation" if at_top else "no signal" if log_gain < NO_SIGNAL_GAIN else "interior"
    return _at_gamma(reduction, gamma, status, bool(at_boundary), float(log_gain), tuple(modes))


def at_gamma(reduction: Reduction, gamma: float, mu: float | None = None) -> Level2:
    """Level 2 at a γ that was chosen by other means, and a μ; ζ = γμ.

    Parameters
    ----------
    reduction : TridiagonalReduction or CentredSpectrum
    gamma : float
        Held at the largest that can be computed, which `status` then tells.
    mu : float, optional
        By default the most probable one given γ (4.7).
    """
    if not reduction.total > 0.0:
        raise ValueError("All targets are equal, so there is nothing to infer; μ and ζ are not defined.")
    at_top = gamma >= reduction.gamma_max
    gamma = min(float(gamma), float(reduction.gamma_max))
    cost = _one(j4(reduction, gamma))
    log_gain = 0.5 * float((reduction.n - 1) * np.log(0.5 * reduction.total) - cost)
    status: Status = "interpolation" if at_top else "no signal" if log_gain < NO_SIGNAL_GAIN else "interior"
    found = _at_gamma(reduction, gamma, status, at_top, log_gain, (Mode(gamma, cost),))
    if mu is None:
        return found
    zeta = mu * gamma
    return replace(found, mu=float(mu), zeta=zeta, log_evidence=log_evidence(reduction, mu, zeta))


def _at_gamma(
    reduction: Reduction,
    gamma: float,
    status: Status,
    at_boundary: bool,
    log_gain: float,
    modes: tuple[Mode, ...],
) -> Level2:
    n = reduction.n
    sums = reduction.sums(np.array([gamma]))
    q1 = _one(sums.q1)
    mu = (n - 1) / q1  # 4.7
    d_eff = _one(sums.d_eff)
    return Level2(
        n=n,
        mu=mu,
        zeta=gamma * mu,
        gamma=gamma,
        gamma_eff=1.0 + d_eff,
        d_eff=d_eff,
        e_w=0.5 * _one(sums.w),
        e_d=0.5 * _one(sums.q2) / gamma**2,
        log_evidence=log_evidence(reduction, mu, gamma * mu),
        status=status,
        at_boundary=at_boundary,
        log_gain=log_gain,
        modes=modes,
    )


class FixedPoint(NamedTuple):
    """Where an iteration for (μ, ζ) ended."""

    mu: float
    zeta: float
    iterations: int
    converged: bool


def mackay_fixed_point(
    reduction: Reduction,
    *,
    mu: float = 1.0,
    zeta: float = 1.0,
    tolerance: float = 1e-10,
    max_iter: int = 10_000,
) -> FixedPoint:
    """MacKay's re-estimation: μ ← (γ_eff − 1)/(2E_W), ζ ← (N − γ_eff)/(2E_D), until both stand still.

    It finds the mode in whose basin it starts, slowly where the data say little: `optimise` is the better tool, and
    this one is here to be compared with.
    """
    return _iterate(reduction, mu, zeta, tolerance, max_iter, None)


def cheap_and_cheerful(
    spectrum: CentredSpectrum,
    *,
    mu: float = 1.0,
    zeta: float = 1.0,
    tolerance: float = 1e-10,
    max_iter: int = 10_000,
    n_parameters: int | None = None,
) -> FixedPoint:
    """MacKay's (1995) shortcut without γ_eff: μ ← k/(2E_W), ζ ← N/(2E_D), as if all k weights were well determined.

    k defaults to the number of nonzero eigenvalues. It needs no trace, and it over-counts: with a flexible kernel it
    can run away, which `converged` tells.
    """
    k = spectrum.rank if n_parameters is None else n_parameters
    return _iterate(spectrum, mu, zeta, tolerance, max_iter, float(k))


def _iterate(
    reduction: Reduction, mu: float, zeta: float, tolerance: float, max_iter: int, count: float | None
) -> FixedPoint:
    n = reduction.n
    low, high = MIN_GAMMA_LAMBDA / reduction.lambda_max, reduction.gamma_max
    for iteration in range(1, max_iter + 1):
        gamma = zeta / mu
        sums = reduction.sums(np.array([gamma]))
        weights, noise = _one(sums.w), _one(sums.q2) / gamma**2  # 2 E_W, 2 E_D
        well_determined = _one(sums.d_eff) if count is None else count
        remaining = _one(sums.tr1) / gamma if count is None else float(n)  # N − γ_eff
        new_mu, new_zeta = well_determined / weights, remaining / noise
        step = max(abs(np.log(new_mu / mu)), abs(np.log(new_zeta / zeta)))
        mu, zeta = float(new_mu), float(new_zeta)
        if not low < zeta / mu < high:
            return FixedPoint(mu, zeta, iteration, False)
        if step < tolerance:
            return FixedPoint(mu, zeta, iteration, True)
    return FixedPoint(mu, zeta, max_iter, False)
