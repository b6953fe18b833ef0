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
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.typing import AnyArray, Array
from ..linalg.reduction import LocalReduction, Reduction, largest_log_gamma
from ..linalg.roots import roots_in_brackets

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


def e_w(reduction: LocalReduction, gamma: float) -> float:
    """E_W = ½ wᵀw at w_MP (4.12)."""
    return 0.5 * _one(reduction.sums(np.array([gamma])).w)


def e_d(reduction: LocalReduction, gamma: float) -> float:
    """E_D = ½ Σ e_i² at (w_MP, b_MP): 4.11 with all N − 1 dimensions, as B.1's first form demands."""
    return 0.5 / gamma * (_one(reduction.sums(np.array([gamma])).q2) / gamma)


def gamma_eff(reduction: LocalReduction, gamma: float) -> float:
    """γ_eff = 1 + Σ γλ_i / (1 + γλ_i) (4.4)."""
    return 1.0 + _one(reduction.sums(np.array([gamma])).d_eff)


def log_evidence(reduction: LocalReduction, mu: float, zeta: float) -> float:
    """Log p(D | μ, ζ) with p(b) = 1 and all constants."""
    log_det, q1 = reduction.values(np.array([zeta / mu]))
    return _one(_log_evidence(reduction, mu, log_det, q1))


def _log_evidence(reduction: LocalReduction, mu: Any, log_det: Array, q1: Array) -> Array:
    constant = reduction.log_constant - 0.5 * (reduction.n - 1) * np.log(2 * np.pi)
    return np.asarray(constant - _j3(reduction.n, mu, log_det, q1))


def log_evidences(reduction: Reduction, log_mu: Array, log_zeta: Array) -> Array:
    """Log p(D | μ, ζ) for many pairs, of shape (n,); γ is held at the largest that can be computed."""
    gamma = np.exp(np.minimum(log_zeta - log_mu, largest_log_gamma(reduction)))
    # a thousand at a time: every γ takes a vector of length N
    parts = [reduction.values(gamma[i : i + 1000]) for i in range(0, len(gamma), 1000)]
    log_det, q1 = (np.concatenate(found) for found in zip(*parts, strict=True))
    fit = 0.5 * ((reduction.n - 1) * (log_mu - np.log(2.0 * np.pi)) - np.exp(log_mu) * q1 - log_det)
    return np.asarray(fit + reduction.log_constant)


def j3(reduction: LocalReduction, mu: float, zeta: float) -> float:
    """J3(μ, ζ) = μE_W + ζE_D + ½ Σ log(μ + ζλ_i) − ½N_eff log μ − ½(N−1) log ζ, free of the rank (4.2)."""
    log_det, q1 = reduction.values(np.array([zeta / mu]))
    return _one(_j3(reduction.n, mu, log_det, q1))


def _j3(n: int, mu: Any, log_det: Array, q1: Array) -> Array:
    # Σ_{N_eff} log(μ + ζλ) − N_eff log μ = Σ_{N−1} log(1 + γλ) = log_det + (N−1) log γ; then −(N−1) log ζ
    return np.asarray(0.5 * mu * q1 + 0.5 * log_det - 0.5 * (n - 1) * np.log(mu))


def j3_gradient(reduction: LocalReduction, mu: float, zeta: float) -> Array:
    """∂J3/∂μ and ∂J3/∂ζ (4.5, 4.6)."""
    s = mu / zeta  # γ² may be beyond doubles
    sums = reduction.sums(np.array([zeta / mu]))
    weights = 0.5 * _one(sums.w) - 0.5 * _one(sums.d_eff) / mu  # E_W − (γ_eff − 1)/(2μ)
    noise = 0.5 * s * (s * _one(sums.q2) - _one(sums.tr1) / zeta)  # E_D − (N − γ_eff)/(2ζ)
    return np.array([weights, noise])


def log_evidence_gradient(reduction: LocalReduction, mu: float, zeta: float) -> Array:
    """Gradient of log p(D | μ, ζ) in (log μ, log ζ)."""
    return -j3_gradient(reduction, mu, zeta) * np.array([mu, zeta])


def log_evidence_hessian(reduction: LocalReduction, mu: float, zeta: float) -> Array:
    """Exact Hessian of log p(D | μ, ζ) in (log μ, log ζ), of shape (2, 2), in O(N)."""
    return reduction.local_evidence(mu, zeta).hessian


def j4(reduction: LocalReduction, gamma: Array | float, target: AnyArray | None = None) -> Array:
    """J4(γ) (4.8) for each γ, of shape (G,), or (G, L) for several sets of targets if their numbers are not given."""
    log_det, q1 = reduction.values(np.atleast_1d(np.asarray(gamma, dtype=float)), target)
    return np.asarray((log_det + (reduction.n - 1) * np.log(0.5 * q1).T).T)


def j4_gradient(reduction: Reduction, gamma: Array | float, target: int | AnyArray = 0) -> Array:
    """∂J4/∂γ (4.9) for each γ, and one set of targets or one for each γ."""
    gamma = np.atleast_1d(np.asarray(gamma, dtype=float))
    sums = reduction.sums(gamma, target)
    # Σ 1/(γ + λγ²) = tr_1/γ², and E_D/(E_W + γE_D) = q_2/(γ² q_1)
    return np.asarray((-sums.tr1 + (reduction.n - 1) * sums.q2 / sums.q1) / gamma**2)


def optimise(reduction: Reduction) -> Level2:
    """μ_MP and ζ_MP: the best minimum of J4 over the whole range of γ, with the ends of the range named.

    Parameters
    ----------
    reduction : Reduction
        A kernel matrix with its targets, reduced: a `TridiagonalReduction` or a `CentredSpectrum`.
    """
    return optimise_all(reduction)[0]


def optimise_all(reduction: Reduction) -> list[Level2]:
    """`optimise` for each set of targets of a reduction, all of them together."""
    n = reduction.n
    _require_variance(reduction)
    high = np.log(reduction.gamma_max)
    # a kernel that does not vary over the data (λ_max at rounding) leaves a short range, and no signal
    low = min(np.log(MIN_GAMMA_LAMBDA / reduction.lambda_max), high - 1.0)
    grid = np.linspace(low, high, int(np.ceil((high - low) / SCAN_STEP)) + 1)
    costs = j4(reduction, np.exp(grid)).reshape(len(grid), -1)  # [G, L]
    j4_noise = (n - 1) * np.log(0.5 * reduction.totals)  # the limit γ → 0

    modes = _interior_modes(reduction, grid, costs)
    rounding = 1e-9 * np.abs(j4_noise) + 1e-9
    best = np.array([found[0].j4 if found else np.inf for found in modes])
    # a gain that chance could give is no interpolation: a constant kernel has one from rounding alone
    at_top = costs[-1] < np.minimum(best, j4_noise - 2.0 * NO_SIGNAL_GAIN) - rounding
    at_boundary = at_top | (best >= j4_noise - rounding)
    inside = np.array([found[0].gamma if found else np.nan for found in modes])
    gamma = np.where(at_boundary, np.exp(np.where(at_top, high, low)), inside)
    log_gain = 0.5 * (j4_noise - np.where(at_boundary, np.where(at_top, costs[-1], j4_noise), best))
    return _at_gammas(reduction, gamma, at_top, at_boundary, log_gain, modes)


def _require_variance(reduction: LocalReduction) -> None:
    if not np.all(reduction.totals > 0.0):
        raise ValueError("All targets are equal, so there is nothing to infer; μ and ζ are not defined.")


def _interior_modes(reduction: Reduction, grid: Array, costs: Array) -> list[tuple[Mode, ...]]:
    """The minima of J4 inside the grid for each set of targets, the best one first."""
    here, before, after = costs[1:-1], costs[:-2], costs[2:]
    depth = 1e-12 * np.abs(costs).max(axis=0)  # ripples of rounding on a flat cost are no modes
    below, target = np.nonzero((here <= before) & (here < after) & (np.maximum(before, after) > here + depth))
    found: list[list[Mode]] = [[] for _ in reduction.totals]
    if len(target):

        def slope(u: Array, which: AnyArray) -> Array:  # ∂J4/∂log γ
            gamma = np.exp(u)
            return gamma * j4_gradient(reduction, gamma, target[which])

        # no change of sign: flat to rounding, and the grid's minimum is as good as any
        gamma = np.exp(roots_in_brackets(slope, grid[below], grid[below + 2], grid[below + 1]))
        for which, *mode in zip(target.tolist(), gamma.tolist(), j4(reduction, gamma, target).tolist(), strict=True):
            found[which].append(Mode(*mode))
    return [tuple(sorted(modes, key=lambda mode: mode.j4)) for modes in found]


def at_gamma(reduction: LocalReduction, gamma: float, mu: float | None = None) -> Level2:
    """Level 2 at a γ that was chosen by other means, and a μ; ζ = γμ.

    Parameters
    ----------
    reduction : TridiagonalReduction or CentredSpectrum
    gamma : float
        Held at the largest that can be computed, which `status` then tells.
    mu : float, optional
        By default the most probable one given γ (4.7).
    """
    _require_variance(reduction)
    at_top = gamma >= reduction.gamma_max
    gamma = min(float(gamma), float(reduction.gamma_max))
    cost = _one(j4(reduction, gamma))
    log_gain = 0.5 * ((reduction.n - 1) * np.log(0.5 * reduction.totals[:1]) - cost)
    top = np.array([at_top])
    (found,) = _at_gammas(reduction, np.array([gamma]), top, top, log_gain, [(Mode(gamma, cost),)])
    if mu is None:
        return found
    zeta = mu * gamma
    return replace(found, mu=float(mu), zeta=zeta, log_evidence=log_evidence(reduction, mu, zeta))


def _at_gammas(
    reduction: LocalReduction,
    gamma: Array,
    at_top: AnyArray,
    at_boundary: AnyArray,
    log_gain: Array,
    modes: list[tuple[Mode, ...]],
) -> list[Level2]:
    """Level 2 of each set of targets at a γ of its own, μ by 4.7."""
    n, every = reduction.n, np.arange(len(gamma))
    sums = reduction.sums(gamma, every)
    mu = (n - 1) / sums.q1  # 4.7
    zeta = gamma * mu
    values = _log_evidence(reduction, mu, *reduction.values(zeta / mu, every))  # of the μ and ζ that are returned
    found = []
    for k, (g, gain) in enumerate(zip(gamma.tolist(), log_gain.tolist(), strict=True)):
        status: Status = "interpolation" if at_top[k] else "no signal" if gain < NO_SIGNAL_GAIN else "interior"
        level2 = Level2(
            n=n,
            mu=float(mu[k]),
            zeta=float(zeta[k]),
            gamma=g,
            gamma_eff=1.0 + float(sums.d_eff[k]),
            d_eff=float(sums.d_eff[k]),
            e_w=0.5 * float(sums.w[k]),
            e_d=0.5 * float(sums.q2[k]) / g**2,
            log_evidence=float(values[k]),
            status=status,
            at_boundary=bool(at_boundary[k]),
            log_gain=gain,
            modes=modes[k],
        )
        found.append(level2)
    return found
