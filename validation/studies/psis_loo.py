"""PSIS-LOO against exact leave-one-out: how good is what everyone uses, where the truth is known?

The evidence of an LS-SVM with μ, ζ and the kernel's parameters integrated out is known by quadrature, and with it

    log p(y_i | D_−i) = log p(D) − log p(D_−i)

for every point: exact leave-one-out, nothing plugged in and nothing sampled. Given the hyperparameters, leave-one-out
densities are Gaussian in closed form (paper 1, eq 12), so that the same follows from the posterior of all points alone,

    log p(y_i | D_−i) = −log E[1 / p(y_i | D_−i, μ, ζ, θ) | D]

as long as the posterior without the point lies where the nodes of the other one are. Where quadrature is cheap the
first form is taken for all points, elsewhere the second, and the first for those three that are predicted worst.

Against it stand three approximations, on the same data and prior:

    latent      PSIS-LOO by ArviZ as it comes: draws of the latent function too, likelihood p(y_i | z_i, ζ)
    collapsed   PSIS-LOO on the same draws of μ, ζ and θ, with the latent function integrated out
    plug-in     the closed form at the draw of highest posterior density

Given the hyperparameters, z_i | D ~ Normal(m, v) and the weight of a draw is 1/p(y_i | z_i, ζ), so that its tail has
the shape k = ζv = h_ii, the leverage of the point. PSIS fails where a point determines its own output.

| size  | problems                                                                            |
| ----- | ----------------------------------------------------------------------------------- |
| toy   | 25 rows of the diabetes data, linear kernel; 400 draws                              |
| quick | Ripley's data, four kernels; diabetes with 150 rows and with 20; 4000 draws         |
| full  | the same with 20 000 draws                                                          |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes

from bayes_lssvm import datasets, marginalise
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF, Kernel, Linear
from bayes_lssvm.marginal import HyperPosterior
from bayes_lssvm.marginal.left_out import integrated, left_out
from validation.harness import Cell, CellResult, Check, Size, Study
from validation.psis import psis_loo

LIMIT = 1e-3
"""Nats: what the two forms of an exact density may differ by."""
DRAWS: dict[Size, int] = {"toy": 400, "quick": 4000, "full": 20_000}
_CHECKED, _STORED = 3, 1000


@dataclass(frozen=True)
class Problem:
    """Data with a kernel.

    Attributes
    ----------
    step, rows : int
        Every how many-th row of the data, and how many of them.
    held : bool
        Whether the kernel's parameters are held, and not integrated over.
    refitted : bool
        Whether every point is left out by a quadrature of its own.
    """

    label: str
    data: str
    kernel: Kernel
    rows: int
    step: int = 1
    held: bool = False
    refitted: bool = False


PROBLEMS = {
    "ripley-linear": Problem("Ripley, linear", "ripley", Linear(), 125, 2),
    "ripley-rbf": Problem("Ripley, RBF, σ free", "ripley", RBF(1.0), 125, 2),
    "ripley-0.2": Problem("Ripley, RBF, σ = 0.2", "ripley", RBF(0.2), 125, 2, held=True, refitted=True),
    "ripley-0.1": Problem("Ripley, RBF, σ = 0.1", "ripley", RBF(0.1), 125, 2, held=True, refitted=True),
    "diabetes-rbf": Problem("diabetes, RBF, σ free", "diabetes", RBF(3.0), 150),
    "diabetes-few": Problem("diabetes, 20 rows, RBF, σ free", "diabetes", RBF(3.0), 20, refitted=True),
    "toy": Problem("diabetes, 25 rows, linear", "diabetes", Linear(), 25, refitted=True),
}


class Pointwise(NamedTuple):
    """Log densities of left-out targets by every method, of shape (N,) each, and what tells of their errors."""

    exact: Array
    reweighted: Array
    latent: Array
    collapsed: Array
    plug_in: Array
    k_latent: Array
    k_collapsed: Array
    leverage: Array


def cells(data: None, size: Size) -> list[Cell]:
    """One cell for each problem."""
    names = [name for name in PROBLEMS if (name == "toy") == (size == "toy")]
    return [Cell(name, {"draws": DRAWS[size], "rows": PROBLEMS[name].rows}, seed) for seed, name in enumerate(names)]


def load(problem: Problem) -> tuple[Array, Array]:
    """Standardised inputs, and labels ±1 or standardised targets."""
    if problem.data == "ripley":
        X, labels = datasets.load("ripley").Xy
        y = np.where(np.asarray(labels) == 1, 1.0, -1.0)
    else:
        X, y = load_diabetes(return_X_y=True)
    X, y = (values[:: problem.step][: problem.rows] for values in (X, y))
    if problem.data != "ripley":
        y = (y - y.mean()) / y.std(ddof=1)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y


def posterior_of(problem: Problem, X: Array, y: Array) -> HyperPosterior:
    """By quadrature, with the default prior."""
    return marginalise(X, y, kernel=problem.kernel, fixed_kernel=problem.held, standardise=False)


def evidence_ratio(problem: Problem, posterior: HyperPosterior, i: int) -> float:
    """Log p(D) − log p(D_−i)."""
    X, y = np.delete(posterior.X, i, axis=0), np.delete(posterior.y, i)
    return posterior.log_evidence - posterior_of(problem, X, y).log_evidence


def pointwise(problem: Problem, posterior: HyperPosterior, draws: int, seed: int) -> tuple[Pointwise, float]:
    """Every method on one posterior, and the k̂ that ArviZ calls good."""
    kernel, X, y = posterior.kernel, posterior.X, posterior.y
    at_nodes = left_out(np.delete(posterior.nodes, 2, axis=1), kernel, X, y)  # without log γ
    reweighted = exact = integrated(at_nodes.log_density, posterior.weights)
    if problem.refitted:
        exact = np.array([evidence_ratio(problem, posterior, i) for i in range(len(y))])
    tree: Any = posterior.to_arviz(draws=draws, seed=seed)
    latent = psis_loo(tree)
    names = [name for name in posterior.names if name != "log_gamma"]
    points = np.stack([tree["posterior"][name].values.ravel() for name in names], axis=1)
    at_draws = left_out(points, kernel, X, y).log_density
    tree["log_likelihood"]["y"].values[:] = at_draws.reshape(tree["log_likelihood"]["y"].shape)
    collapsed = psis_loo(tree)
    found = Pointwise(
        exact=exact,
        reweighted=reweighted,
        latent=latent.elpd_i,
        collapsed=collapsed.elpd_i,
        plug_in=at_draws[int(np.argmax(tree["sample_stats"]["lp"].values))],
        k_latent=latent.k_hat,
        k_collapsed=collapsed.k_hat,
        leverage=posterior.weights @ at_nodes.leverage,
    )
    return found, latent.good_k


def compute(cell: Cell, data: None) -> CellResult:
    """Leave-one-out of one problem by every method; where nothing else is exact, a few points by both forms."""
    problem = PROBLEMS[cell.key]
    posterior = posterior_of(problem, *load(problem))
    found, good_k = pointwise(problem, posterior, cell.settings["draws"], cell.seed)
    values = {**{name: array.tolist() for name, array in found._asdict().items()}, "good_k": good_k}
    tree = posterior.to_arviz(draws=min(cell.settings["draws"], _STORED), seed=cell.seed)
    kept = tree.filter(lambda group: not group.name or not group.name.startswith("prior"))
    if problem.refitted:
        return CellResult(values, draws=kept)
    worst = np.argsort(found.exact)[:_CHECKED].tolist()
    off = max(abs(evidence_ratio(problem, posterior, i) - found.exact[i]) for i in worst)
    sentence = f"Exact densities are within {off:.1e} nats of the ratio of two evidences (at most {LIMIT:g})"
    return CellResult(values, (Check("ratio of evidences", off, LIMIT, off <= LIMIT, sentence),), kept)


STUDY = Study(
    name="psis-loo",
    title="Leave-one-out: PSIS-LOO against the exact answer",
    cells=cells,
    compute=compute,
    version=2,
    needs_data=False,
    own_data="Ripley's synthetic data, and the diabetes data of Efron et al. (2004) from scikit-learn",
)
"""A cell is one problem; its values are leave-one-out log densities by method."""
