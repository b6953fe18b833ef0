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

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.errors import quiet
from bayes_lssvm.base.typing import Array
from bayes_lssvm.estimators import BayesianLSSVR
from bayes_lssvm.kernels import RBF
from bayes_lssvm.marginal.ladder import quadrature_check
from bayes_lssvm.trust import LIMITS, ladder, worst_change
from validation.harness import Cell, CellResult, Size, Study
from validation.ladder import PRIOR

_TOLERANCE = 1e-5
_DRAWS = 1000
_NEW_POINTS = 100
_MOST_MISTAKEN = 300  # points, where the kernel is taken for another; more cost much and say the same
_LOUDEST_MISTAKEN = 10.0  # beyond it γ can go where double precision ends, and the integral is cut off
_JITTER = 1e-9  # of the kernel's diagonal, so that a wide kernel can be factorised


class Simulation(NamedTuple):
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


def simulate(problem: Simulation, seed: int, index: int) -> Simulated:
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


def measure(problem: Simulation, seed: int, index: int) -> dict[str, Any]:
    """What the ladder says of one set; None where a method has no answer."""
    data, kernel = simulate(problem, seed, index), RBF(problem.assumed_sigma)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 1)))
    with quiet():  # what warnings would say is what is counted here
        model = BayesianLSSVR(kernel, refine=False, prior="flat", standardise=False, prior_sd=3.0).fit(data.X, data.y)
        found = ladder(
            data.X,
            data.y,
            kernel=kernel,
            prior=PRIOR,
            fixed_kernel=True,
            tolerance=_TOLERANCE,
            draws=_DRAWS,
            seed=rng,
            progress=False,
        )
    level2 = model.level3_.level2
    exact, laplace = found["quadrature"], found["laplace"]
    z, nodes, modes = exact.log_evidence, exact.integral.nodes, laplace.integral.diagnostics
    pairs = rng.integers(len(data.X), size=(2, _NEW_POINTS))
    points = np.vstack([data.X[:_NEW_POINTS], 0.5 * (data.X[pairs[0]] + data.X[pairs[1]])])
    measured: dict[str, Any] = {
        "no_mode": bool(level2.at_boundary),
        "status": level2.status,
        "log_gain": level2.log_gain,
        "gamma_eff": level2.gamma_eff,
        "quadrature_error": exact.error,
        "mackay": found["mackay"].log_evidence - z,
        "hessian": float("nan") if level2.at_boundary else found["hessian"].log_evidence - z,
        "laplace": laplace.log_evidence - z,
        "importance": found["importance"].log_evidence - z,
        "k_hat": found["importance"].integral.diagnostics["k_hat"],
        "n_modes": modes["n_modes"],
        "missed": modes["missed_mass"],
        "tail_mass": laplace.mass_beyond(nodes[:, :2], exact.integral.weights),
        "change": worst_change(model, exact.integral, points),
    }
    for name in ("log_mu", "log_zeta"):
        for method in ("mackay", "hessian"):  # error bars at (μ_MP, ζ_MP) over the exact standard deviations
            ratio = found[method].sd[name] / exact.sd[name]
            measured[f"{method}_{name}"] = None if level2.at_boundary or np.isnan(ratio) else ratio
    return measured | {"trusted": is_trusted(measured)}


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


def cells(data: None, size: Size) -> list[Cell]:
    """One cell for each point of the grid; each has a seed of its own."""
    grid = GRIDS[size]
    wanted = [
        (Simulation(n, place.d, place.width, place.assumed, snr), sets)
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


def compute(cell: Cell, data: None) -> CellResult:
    """Every set of a cell, as columns."""
    problem = Simulation(**{name: cell.settings[name] for name in Simulation._fields})
    sets = [measure(problem, cell.seed, index) for index in range(cell.settings["sets"])]
    return CellResult({"sets": _columns(sets)}, (quadrature_check(max(_columns(sets)["quadrature_error"])),))


def _seed_of(problem: Simulation) -> int:
    """The same for a problem whatever grid it is in, and the same data whatever the kernel is taken for."""
    words = [problem.n, problem.d, round(1000 * problem.width), round(1000 * problem.snr)]
    return int(np.random.SeedSequence([2002, *words]).generate_state(1)[0])


def _columns(sets: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [found[name] for found in sets] for name in sets[0]}


STUDY = Study(
    name="map-of-trust",
    title="Map of trust: where the evidence framework works",
    cells=cells,
    compute=compute,
    needs_data=False,
)
"""A cell is one N, one signal-to-noise ratio and one place, with several sets."""
