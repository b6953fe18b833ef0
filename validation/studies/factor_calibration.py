"""Are Bayes factors calibrated? P(H | D) of two kernels against how often each is the one that made the data.

For each set one of two hypotheses is drawn by prior odds that are known, then all of its parameters from the priors
that every method has, then inputs and targets:

    H ~ P(H),   log μ, log ζ, log θ ~ p(· | H),   x_i ~ Normal(0, I_d),   f ~ Normal(0, K_θ/μ),   y_i ~ Normal(f_i, 1/ζ)

The exact P(H | D) is then calibrated by construction: of the sets that get P(H | D) = p a share p comes from H. (p(b) =
1 is no distribution, but b changes the mean of the targets alone, which says nothing of H.) So the integrated evidence
has to be calibrated, or it is wrong; a closed form is off by what its approximations lose.

| method       | μ and ζ                             | kernel parameters                                  |
| ------------ | ----------------------------------- | -------------------------------------------------- |
| `maximised`  | at their most probable values       | at the maximum                                     |
| `mackay`     | 5.2, MacKay's error bars            | at its maximum, as in paper 0                      |
| `hessian`    | exact Hessian, with the prior       | at its maximum                                     |
| `laplace`    | the same                            | Laplace's method, with their prior                 |
| `integrated` | quadrature                          | a lattice or importance sampling: `compare`        |
| `sampled`    | NUTS on `models.GaussianProcess`, with bridge sampling over everything (on the fewest points) | |
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.checks import Check
from bayes_lssvm.base.errors import quiet
from bayes_lssvm.base.typing import Array
from bayes_lssvm.comparison.evidence import kernel_evidence
from bayes_lssvm.comparison.maximised import maximised_candidates
from bayes_lssvm.comparison.problem import as_problem
from bayes_lssvm.comparison.ranking import Candidate
from bayes_lssvm.kernels import ARD, RBF, Kernel, Linear, Matern
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.priors import Flat, HyperPrior, Normal
from models import GaussianProcess
from validation.harness import Cell, CellResult, Size, Study
from validation.ladder import distance_check
from validation.sampled import sample_program

LEVEL_2 = Normal(0.0, 1.0), Normal(2.0, 1.0)
"""Priors of log μ and log ζ: a signal of about the size one, and noise of a third of it, within a factor of e."""
METHODS = ("maximised", "mackay", "hessian", "laplace", "integrated", "sampled")
LARGEST_ERROR = 0.6
"""Nats, of an integrated log Bayes factor."""

_JITTER = 1e-9
_TOLERANCE = 0.2  # nats, where evidences are drawn
_SAMPLER = {"draws": 1000, "warmup": 500, "chains": 2}


class Pair(NamedTuple):
    """Two hypotheses about data with d inputs, and the prior probability of the first."""

    label: str
    first: Kernel
    second: Kernel
    d: int
    prior: float = 0.5

    @property
    def kernels(self) -> tuple[Kernel, Kernel]:
        return self.first, self.second


PAIRS: dict[str, Pair] = {
    "ard-rbf": Pair("ARD against RBF", ARD((1.0, 1.0, 1.0)), RBF(1.0), 3),
    "rbf-matern": Pair("RBF against Matérn 3/2", RBF(1.0), Matern(1.0, 1.5), 1),
    "rbf-linear": Pair("RBF against linear", RBF(1.0), Linear(), 2),
}


def prior_of(kernel: Kernel, X: Array) -> HyperPrior:
    """The prior from which parameters are drawn, and which every method has: the kernel's own, as in `compare`."""
    return HyperPrior(*LEVEL_2, tuple(Normal(mean, sd) for mean, sd in kernel.log_prior(X).tolist()))


class Simulated(NamedTuple):
    """One set: inputs of shape (N, d), targets of shape (N,), and whether it comes from the pair's first kernel."""

    X: Array
    y: Array
    first: bool


def simulate(pair: Pair, n: int, seed: int, index: int) -> Simulated:
    """Set number `index`: a function of the pair, the number of points, the seed and the number alone."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,)))
    first = bool(rng.uniform() < pair.prior)
    X = rng.normal(size=(n, pair.d))
    kernel = pair.first if first else pair.second
    parts = prior_of(kernel, X).components(len(kernel.log_params))
    log_mu, log_zeta, *theta = (float(part.sample(1, rng)[0]) for part in parts)
    K = kernel.with_log_params(np.array(theta))(X) if theta else kernel(X)
    root = np.linalg.cholesky(K + _JITTER * np.trace(K) / n * np.eye(n))
    z, e = rng.normal(size=(2, n))
    return Simulated(X, np.exp(-0.5 * log_mu) * (root @ z) + np.exp(-0.5 * log_zeta) * e, first)


def evidences(kernel: Kernel, X: Array, y: Array, seed: int, *, sampled: bool) -> dict[str, float]:
    """Log p(D | H) by every method, and the errors of the integrated and of the sampled one."""
    prior = prior_of(kernel, X)
    bare = HyperPrior(prior.mu, prior.zeta, (Flat(),) * len(kernel.log_params))

    def best(start: Kernel, **how: Any) -> Candidate:
        settings: dict[str, Any] = {"occam": True, "objective": None, "prior_sd": (prior.mu.width, prior.zeta.width)}
        return maximised_candidates(X, y, [start], refine=True, seed=seed, progress=False, **(settings | how))[0][0]

    mackay = best(kernel)
    hessian = best(mackay.kernel, objective=lambda _: Objective(X, y, prior=bare)).log_evidence
    problem = as_problem(X, y, task="regression")
    whole = kernel_evidence(problem, kernel, prior=prior, tolerance=_TOLERANCE, seed=seed, progress=False)
    found = {
        "maximised": best(kernel, occam=False).log_evidence,
        "mackay": mackay.log_evidence,
        "hessian": hessian,
        "laplace": float(whole.laplace) if whole.n_parameters else hessian,
        "integrated": whole.log_evidence,
        "integrated_error": float(whole.error),
    }
    if sampled:
        program = GaussianProcess(kernel, prior, fixed_kernel=not len(kernel.log_params))
        drawn = sample_program(program, program.data(X, y), _SAMPLER, seed, bridge=True)
        found |= {"sampled": drawn.log_evidence, "sampled_error": drawn.error}
    return found


def measure(pair: Pair, n: int, seed: int, index: int, *, sampled: bool) -> dict[str, Any]:
    """Log Bayes factors of the first kernel against the second on one set, and which of them is true."""
    data = simulate(pair, n, seed, index)
    with quiet():  # where closed forms have no mode is part of what is measured
        first, second = (evidences(kernel, data.X, data.y, seed + index, sampled=sampled) for kernel in pair.kernels)
    measured: dict[str, Any] = {"first": data.first}
    measured |= {name: first[name] - second[name] if name in first else None for name in METHODS}
    measured["integrated_error"] = first["integrated_error"] + second["integrated_error"]
    measured["sampled_error"] = float(np.hypot(first["sampled_error"], second["sampled_error"])) if sampled else None
    return measured


# --- the study -------------------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """What a size covers: sets of each pair by their number of points, how many to a cell, and whether chains are run.

    Chains are run on the first cell of the fewest points.
    """

    sets: dict[str, dict[int, int]]
    block: int = 4
    sampled: bool = False


PLANS: dict[Size, Plan] = {
    "toy": Plan({"rbf-linear": {12: 4}}),
    "quick": Plan(
        {
            "ard-rbf": {20: 8, 60: 4, 300: 4},
            "rbf-matern": {20: 20, 60: 16, 300: 4},
            "rbf-linear": {20: 20, 60: 20, 300: 4},
        },
        sampled=True,
    ),
    "full": Plan(
        {
            "ard-rbf": {20: 60, 60: 60, 300: 24},
            "rbf-matern": {20: 120, 60: 120, 300: 48},
            "rbf-linear": {20: 120, 60: 120, 300: 48},
        },
        sampled=True,
    ),
}


def cells(data: None, size: Size) -> list[Cell]:
    """Blocks of sets of one pair and one N."""
    plan = PLANS[size]
    most = max(max(own.values()) for own in plan.sets.values())
    return [
        Cell(
            key=f"{name}_n{n}_{start:03d}",
            settings={
                "pair": name,
                "n": n,
                "start": start,
                "sets": min(plan.block, sets - start),
                "sampled": plan.sampled and n == min(own) and start == 0,
            },
            seed=int(np.random.SeedSequence([1995, len(name), PAIRS[name].d, n]).generate_state(1)[0] % 2**31),
        )
        for start in range(0, most, plan.block)  # a run that is stopped has some of everything
        for name, own in plan.sets.items()
        for n, sets in own.items()
        if start < sets
    ]


def compute(cell: Cell, data: None) -> CellResult:
    """Every set of a block, as columns."""
    s = cell.settings
    found = [
        measure(PAIRS[s["pair"]], s["n"], cell.seed, index, sampled=s["sampled"])
        for index in range(s["start"], s["start"] + s["sets"])
    ]
    columns = {name: [own[name] for own in found] for name in found[0]}
    worst = max(columns["integrated_error"])
    sentence = f"Integrated log Bayes factors have errors of at most {worst:.2f} nats (at most {LARGEST_ERROR:g})."
    checks = [Check("error of integrated factors", worst, LARGEST_ERROR, worst <= LARGEST_ERROR, sentence)]
    if s["sampled"]:
        checks.append(_distance(columns))
    return CellResult({"sets": columns}, tuple(checks))


def _distance(columns: dict[str, list[Any]]) -> Check:
    """Whether chains and integrals agree within what both declare."""
    drawn, whole, own, declared = (
        np.array(columns[name], dtype=float) for name in ("sampled", "integrated", "sampled_error", "integrated_error")
    )
    z = float(np.max((np.abs(drawn - whole) - declared) / own))
    return distance_check(max(z, 0.0), "A sampled log Bayes factor, less the error of the integrated one,")


STUDY = Study(
    name="factor-calibration",
    title="Are Bayes factors calibrated?",
    cells=cells,
    compute=compute,
    needs_data=False,
)
"""A cell is a block of sets of one pair of kernels and one N."""
