"""Map of trust: on which data do the closed forms of the evidence framework hold?

Data are simulated from the model with a known RBF kernel, over the number of points N, the signal-to-noise ratio, the
dimension of the inputs and the kernel's width:

    x_i ~ Normal(0, I_d),   f ~ Normal(0, K_σ/μ),   y = f + e,   e_i ~ Normal(0, 1/ζ)
    signal-to-noise = v ζ/μ,   v = (tr K − 1ᵀK1/N)/(N − 1)

v/μ is the expected sample variance of f: what the bias takes up is no signal. The variances add up to one, and without
signal f = 0. Widths are given in units of √(2d), the root mean square distance of two points, so that they mean the
same in every dimension. One problem takes the kernel for much wider than it is: there the posterior can have two modes.

Each set gets the whole ladder over (log μ, log ζ) with the kernel held and one prior, Normal(0, 3²) each: eq 5.2 with
MacKay's error bars, the same with the exact Hessian of the evidence, Laplace's method with the prior in it, the
importance-corrected one with its k̂, and quadrature, which is exact. Grades are those of `bayes_lssvm.trust`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import chi2

from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.base.typing import Array
from bayes_lssvm.estimators import BayesianLSSVR
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level3 import Level3
from bayes_lssvm.marginal import HyperPosterior, marginalise
from bayes_lssvm.marginal.density import Density
from bayes_lssvm.marginal.draws.importance import importance
from bayes_lssvm.marginal.gaussian import Mode, find_modes
from bayes_lssvm.priors import HyperPrior, Normal
from bayes_lssvm.trust import LIMITS
from validation.harness import Cell, CellResult, Check, Size, StudyData

PRIOR = HyperPrior(Normal(0.0, 3.0), Normal(0.0, 3.0))
GAUSSIAN_TAIL = 0.9973  # a Gaussian's mass within three standard deviations
QUADRATURE_LIMIT = 1e-3  # nats; the errors that are measured are told apart down to a hundredth
_TOLERANCE = 1e-5
_DRAWS = 1000
_NEW_POINTS = 100
_MOST_MISTAKEN = 300  # points, where the kernel is taken for another; more cost much and say the same
_LOUDEST_MISTAKEN = 10.0  # beyond it γ can go where double precision ends, and the integral is cut off
_JITTER = 1e-9  # of the kernel's diagonal, so that a wide kernel can be factorised


class Problem(NamedTuple):
    """Where a set comes from: `width` is σ/√(2d), `assumed` what it is taken for, `snr` the signal-to-noise ratio."""

    n: int
    d: int
    width: float
    assumed: float
    snr: float

    @property
    def sigma(self) -> float:
        """The true kernel's width."""
        return float(self.width * np.sqrt(2.0 * self.d))

    @property
    def assumed_sigma(self) -> float:
        """The width with which the data are looked at."""
        return float(self.assumed * np.sqrt(2.0 * self.d))


class Simulated(NamedTuple):
    """One set: inputs of shape (N, d), targets, signal and noise of shape (N,), and the true μ and ζ.

    Without signal μ is infinite.
    """

    X: Array
    y: Array
    signal: Array
    noise: Array
    mu: float
    zeta: float


def simulate(problem: Problem, seed: int, index: int) -> Simulated:
    """Set number `index`: a function of the problem, the seed and the number alone."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    n, snr = problem.n, problem.snr
    X = rng.normal(size=(n, problem.d))
    K = RBF(problem.sigma)(X)
    z, e = rng.normal(size=(2, n))
    zeta = 1.0 + snr
    noise = e / np.sqrt(zeta)
    if snr == 0.0:
        return Simulated(X, noise, np.zeros(n), noise, float("inf"), zeta)
    visible = (np.trace(K) - K.sum() / n) / (n - 1)
    mu = float(visible) * zeta / snr
    signal = np.linalg.cholesky(K + _JITTER * np.eye(n)) @ z / np.sqrt(mu)
    return Simulated(X, signal + noise, signal, noise, mu, zeta)


def measure(problem: Problem, seed: int, index: int) -> dict[str, Any]:
    """What the ladder says of one set; None where a method has no answer."""
    data, kernel = simulate(problem, seed, index), RBF(problem.assumed_sigma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)  # what they would say is what is counted here
        model = BayesianLSSVR(kernel, refine=False, standardise=False, prior_sd=3.0).fit(data.X, data.y)
        exact = marginalise(
            data.X, data.y, kernel=kernel, prior=PRIOR, fixed_kernel=True, tolerance=_TOLERANCE, progress=False
        )
    density = Density(data.X, data.y, kernel, PRIOR.components(0))
    modes = find_modes(density)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 1)))
    drawn = importance(density, modes, draws=_DRAWS, rng=rng, progress=False)
    closed = model.level3_
    z = exact.log_evidence
    sd = exact.sd()
    found: dict[str, Any] = {
        "no_mode": bool(closed.level2.at_boundary),
        "status": closed.level2.status,
        "log_gain": closed.level2.log_gain,
        "gamma_eff": closed.level2.gamma_eff,
        "quadrature_error": exact.log_evidence_error,
        "mackay": closed.log_evidence - z,
        "hessian": _hessian_laplace(closed) - z,
        "laplace": modes[0].log_mass - z,
        "importance": drawn.log_evidence - z,
        "k_hat": drawn.k_hat,
        "n_modes": len(modes),
        "missed": float(np.exp(logsumexp([m.log_mass for m in modes[1:]]) - modes[0].log_mass)) if modes[1:] else 0.0,
        "tail_mass": _tail_mass(modes[0], exact),
        "change": _worst_change(model, exact, data.X, rng),
    }
    found |= _error_bar_ratios(closed, sd)
    return found | {"trusted": is_trusted(found)}


def _hessian_laplace(closed: Level3) -> float:
    """5.2 with the determinant of the exact Hessian at (μ_MP, ζ_MP); nan where there is no mode to stand on."""
    if closed.level2.at_boundary:
        return float("nan")
    return closed.log_evidence_without_occam + closed.log_occam_factor_hessian


def _error_bar_ratios(closed: Level3, sd: dict[str, float]) -> dict[str, float | None]:
    """Error bars at (μ_MP, ζ_MP) over the exact standard deviations; MacKay's are at most the prior's, as in 5.2."""
    found: dict[str, float | None] = {}
    for name in ("log_mu", "log_zeta"):
        mackay, hessian = getattr(closed.mackay, name), getattr(closed.hessian, name)
        has_mode = not closed.level2.at_boundary
        found[f"mackay_{name}"] = min(mackay, 3.0) / sd[name] if has_mode else None
        found[f"hessian_{name}"] = hessian / sd[name] if has_mode and np.isfinite(hessian) else None
    return found


def _tail_mass(mode: Mode, exact: HyperPosterior) -> float:
    """Posterior mass farther than 3 standard deviations from Laplace's Gaussian, in its own metric."""
    factor = np.linalg.cholesky(mode.covariance)
    z = np.linalg.solve(factor, (exact.nodes[:, :2] - mode.position).T)
    return float(exact.weights[(z**2).sum(axis=0) > chi2.ppf(GAUSSIAN_TAIL, 2)].sum())


def _worst_change(model: BayesianLSSVR, exact: HyperPosterior, X: Array, rng: np.random.Generator) -> float:
    """Largest change of a predicted mean or standard deviation, in standard deviations, at the data and between."""
    pairs = rng.integers(len(X), size=(2, _NEW_POINTS))
    points = np.vstack([X[:_NEW_POINTS], 0.5 * (X[pairs[0]] + X[pairs[1]])])
    fixed, spread = model.predict(points, return_std=True)
    mean, std = exact.predict(points, return_std=True)
    return float((np.maximum(np.abs(mean - fixed), np.abs(std - spread)) / std).max())


def is_trusted(found: dict[str, Any]) -> bool:
    """Whether every check of `bayes_lssvm.trust` on a held kernel is good; no answer is no trust."""
    ratios = [found["mackay_log_mu"], found["mackay_log_zeta"]]
    if found["status"] != "interior" or any(ratio is None for ratio in ratios):
        return False
    graded = [
        ("evidence", abs(found["mackay"])),
        *(("error bars", abs(float(np.log(ratio)))) for ratio in ratios),
        ("k_hat", found["k_hat"]),
        ("missed modes", found["missed"]),
        ("tail mass", found["tail_mass"]),
        ("regression", found["change"]),
    ]
    return all(value <= LIMITS[name][0] for name, value in graded)


# --- the study -------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    """A dimension, the kernel's width and what it is taken for."""

    d: int
    width: float
    assumed: float


class Grid(NamedTuple):
    """What a size covers: numbers of points with the sets of each, ratios and places."""

    sets: dict[int, int]
    snrs: tuple[float, ...]
    places: tuple[Place, ...]


NARROW, WIDE, MISTAKEN = Place(2, 0.5, 0.5), Place(2, 2.0, 2.0), Place(2, 0.5, 4.0)
_ALL = (NARROW, WIDE, Place(10, 0.5, 0.5), Place(10, 2.0, 2.0), MISTAKEN)
GRIDS: dict[Size, Grid] = {
    "toy": Grid({12: 4, 40: 4}, (0.0, 1.0, 10.0), (NARROW, WIDE, MISTAKEN)),
    "quick": Grid({10: 20, 30: 20, 100: 20, 300: 8}, (0.0, 0.3, 1.0, 3.0, 10.0), _ALL),
    "full": Grid({10: 40, 30: 40, 100: 40, 300: 20, 1000: 10}, (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0), _ALL),
}


@dataclass(frozen=True)
class MapOfTrust:
    """A cell is one N, one signal-to-noise ratio and one place, with several sets."""

    name: str = "map-of-trust"
    title: str = "Map of trust: where the evidence framework works"
    version: int = 1
    needs_data: bool = False

    def cells(self, data: StudyData | None, size: Size) -> list[Cell]:
        """One cell for each point of the grid; each has a seed of its own."""
        grid = GRIDS[size]
        wanted = [
            (Problem(n, place.d, place.width, place.assumed, snr), sets)
            for place in grid.places
            for n, sets in grid.sets.items()
            for snr in grid.snrs
            if place.assumed == place.width or (n <= _MOST_MISTAKEN and snr <= _LOUDEST_MISTAKEN)
        ]
        return [
            Cell(
                key=f"d{p.d}_w{p.width:g}_a{p.assumed:g}_n{p.n}_s{p.snr:g}",
                settings={**p._asdict(), "sigma": p.sigma, "assumed_sigma": p.assumed_sigma, "sets": sets},
                seed=_seed_of(p),
            )
            for p, sets in wanted
        ]

    def compute(self, cell: Cell, data: StudyData | None) -> CellResult:
        """Every set of a cell, as columns."""
        problem = Problem(**{name: cell.settings[name] for name in Problem._fields})
        sets = [measure(problem, cell.seed, index) for index in range(cell.settings["sets"])]
        return CellResult({"sets": _columns(sets)}, (_quadrature_check(sets),))


def _seed_of(problem: Problem) -> int:
    """The same for a problem whatever grid it is in, and the same data whatever the kernel is taken for."""
    words = [problem.n, problem.d, round(1000 * problem.width), round(1000 * problem.snr)]
    return int(np.random.SeedSequence([2002, *words]).generate_state(1)[0])


def _columns(sets: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [found[name] for found in sets] for name in sets[0]}


def _quadrature_check(sets: Sequence[dict[str, Any]]) -> Check:
    worst = max(float(found["quadrature_error"]) for found in sets)
    passed = worst <= QUADRATURE_LIMIT
    sentence = (
        f"The largest error of the quadrature, by its own account, is {worst:.1e} nats, "
        f"{'below' if passed else 'above'} {QUADRATURE_LIMIT:g}"
        f"{'.' if passed else ': the errors of the closed forms are not known that well.'}"
    )
    return Check("quadrature error", worst, QUADRATURE_LIMIT, passed, sentence)


STUDY = MapOfTrust()
