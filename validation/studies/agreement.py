"""Do four ways to the same posterior agree? Weight-space NUTS, GP NUTS, collapsed NUTS and quadrature.

The programs of `models` know nothing of the closed forms. For each data set and kernel their draws of log μ, log ζ (and
the kernel's log parameter, where it is free) are compared with quadrature in units of Monte-Carlo standard errors, and
the evidence by bridge sampling in units of its own standard error. The bias is flat in all of them, so that log Z means
the same everywhere.

    python -m validation.studies.agreement            all cells (about half an hour on one core)
    python -m validation.studies.agreement linear     the cells whose name has "linear" in it
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tqdm.auto import tqdm

from bayes_lssvm import datasets, marginalise
from bayes_lssvm.base.arviz import rhat_and_ess
from bayes_lssvm.base.files import write_bytes
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF, Kernel, Linear, Polynomial
from bayes_lssvm.marginal import HyperPosterior
from bayes_lssvm.priors import HyperPrior, Normal
from models import GaussianProcess, WeightSpace, features, sample
from validation.estimates import bridge_numpyro

PRIOR = HyperPrior(Normal(0.0, 3.0), Normal(0.0, 3.0), Normal(0.0, 1.0))
Program = Literal["weight space", "gp", "collapsed"]


@dataclass(frozen=True)
class Cell:
    """One comparison: data, kernel, and how the posterior is sampled.

    Attributes
    ----------
    centred : bool
        Parametrisation of the weights.
    draws, warmup : int
        Of each of four chains.
    """

    name: str
    data: str
    kernel: Kernel
    program: Program
    fixed_kernel: bool = True
    centred: bool = True
    draws: int = 1000
    warmup: int = 500


@dataclass(frozen=True)
class Agreement:
    """Differences from quadrature in units of Monte-Carlo standard errors.

    Attributes
    ----------
    mean_z, sd_z : dict
        (sampled − exact)/standard error, of posterior means and standard deviations, by parameter.
    log_z_difference, log_z_error : float
        Bridge sampling minus quadrature, in nats, and its own standard error.
    min_ess : float
    seconds : float
        Of sampling, compilation included.
    """

    cell: str
    mean_z: dict[str, float]
    sd_z: dict[str, float]
    log_z_difference: float
    log_z_error: float
    min_ess: float
    diagnostics_ok: bool
    seconds: float

    @property
    def worst(self) -> float:
        """The largest difference of a mean or a standard deviation, in its standard errors."""
        return max(abs(z) for z in (*self.mean_z.values(), *self.sd_z.values()))

    @property
    def log_z_score(self) -> float:
        """The difference of the evidence in its standard errors."""
        return abs(self.log_z_difference) / self.log_z_error


def _cells() -> Iterator[Cell]:
    poly3 = Polynomial(3, 1.0)
    for data, sigma in (("ripley", 1.311), ("pima", 5.5)):
        for label, kernel in (("linear", Linear()), ("poly3", poly3), ("rbf", RBF(sigma))):
            yield Cell(f"{data} {label}, collapsed", data, kernel, "collapsed")
            if data == "pima" and label == "poly3":
                continue  # 164 features: weight space takes minutes, and shows nothing that RBF does not
            empirical = label == "rbf"
            draws = 6000 if empirical else 4000
            yield Cell(
                f"{data} {label}, weight space", data, kernel, "weight space", centred=not empirical, draws=draws
            )
            if data == "ripley":  # a Cholesky factor of 768 rows at every step takes too long
                yield Cell(f"{data} {label}, gp", data, kernel, "gp")
    yield Cell("ripley rbf free, collapsed", "ripley", RBF(1.0), "collapsed", fixed_kernel=False)
    yield Cell("ripley rbf free, gp", "ripley", RBF(1.0), "gp", fixed_kernel=False)


CELLS = tuple(_cells())


def load(name: str) -> tuple[Array, Array]:
    """Standardised inputs and labels ±1."""
    X, labels = datasets.load("pid" if name == "pima" else name).Xy
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), np.where(labels == np.unique(labels)[1], 1.0, -1.0)


def run(cell: Cell, *, seed: int = 0, draws: int | None = None, progress: bool = True) -> Agreement:
    """Sample one cell and compare it with quadrature; `draws` overrides the cell's."""
    X, y = load(cell.data)
    exact = marginalise(X, y, kernel=cell.kernel, prior=PRIOR, fixed_kernel=cell.fixed_kernel, progress=progress)
    count = draws or cell.draws
    if cell.program == "collapsed":
        found = marginalise(
            X,
            y,
            kernel=cell.kernel,
            prior=PRIOR,
            method="nuts",
            fixed_kernel=cell.fixed_kernel,
            draws=count,
            warmup=cell.warmup,
            seed=seed,
            progress=progress,
        )
        assert found.chains is not None
        names = [name for name in exact.names if name != "log_gamma"]
        points = {name: found.chains.points[..., i] for i, name in enumerate(names)}
        ok, seconds = bool(found.diagnostics["chains"]["ok"]), float("nan")
        evidence = found.log_evidence, found.log_evidence_error
    else:
        program, arguments = _program(cell, X, y)
        sampled = sample(
            program, *arguments, seed=seed, draws=count, warmup=cell.warmup, progress=progress, check=False
        )
        points = {name: sampled.draws[name] for name in exact.names if name != "log_gamma"}
        ok, seconds = sampled.diagnostics.ok, sampled.seconds
        estimate = bridge_numpyro(program, arguments, draws=sampled.draws, seed=seed)
        evidence = estimate.log_z, estimate.standard_error
    return _agreement(cell, exact, points, evidence, ok, seconds)


def _program(cell: Cell, X: Array, y: Array) -> tuple[Callable[..., None], tuple[Any, ...]]:
    if cell.program == "gp":
        gp = GaussianProcess(cell.kernel, prior=PRIOR, fixed_kernel=cell.fixed_kernel)
        return gp, gp.data(X, y)
    program = WeightSpace(prior=PRIOR, centred=cell.centred)
    return program, program.data(features(cell.kernel, X, empirical=isinstance(cell.kernel, RBF)), y)


def _agreement(
    cell: Cell,
    exact: HyperPosterior,
    points: dict[str, Array],
    evidence: tuple[float, float],
    ok: bool,
    seconds: float,
) -> Agreement:
    statistics = rhat_and_ess(points)
    mean, sd = exact.mean(), exact.sd()
    return Agreement(
        cell=cell.name,
        mean_z={n: float((x.mean() - mean[n]) / statistics.mcse_mean[n]) for n, x in points.items()},
        sd_z={n: float((x.std() - sd[n]) / statistics.mcse_sd[n]) for n, x in points.items()},
        log_z_difference=evidence[0] - exact.log_evidence,
        log_z_error=evidence[1],
        min_ess=float(min(float(statistics.ess_bulk[n]) for n in points)),
        diagnostics_ok=ok,
        seconds=seconds,
    )


def table(rows: Sequence[Agreement]) -> str:
    """The results as a Markdown table."""
    lines = ["| cell | worst mean or sd, in s.e. | log Z − exact | in its s.e. | min ESS | chains |"]
    lines.append("| --- " * 6 + "|")
    lines += [
        f"| {r.cell} | {r.worst:.1f} | {r.log_z_difference:+.4f} ± {r.log_z_error:.4f} | {r.log_z_score:.1f} | "
        f"{r.min_ess:.0f} | {'ok' if r.diagnostics_ok else 'FAILED A CHECK'} |"
        for r in rows
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m validation.studies.agreement`: run the cells and print the table; 1 if one of them disagrees."""
    parser = argparse.ArgumentParser(prog="python -m validation.studies.agreement", description=main.__doc__)
    parser.add_argument("words", nargs="*", help="only cells whose name has all of these in it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, help="of each chain, instead of each cell's own")
    parser.add_argument("--output", type=Path, help="write the results as JSON too")
    options = parser.parse_args(argv)
    chosen = [cell for cell in CELLS if all(word in cell.name for word in options.words)]
    if not chosen:
        parser.error(
            f"no cell has {' and '.join(options.words)} in its name; there are: {', '.join(c.name for c in CELLS)}"
        )
    rows = []
    for cell in tqdm(chosen, desc="cells", disable=None):
        rows.append(run(cell, seed=options.seed, draws=options.draws))
        if options.output:  # after each cell, so that nothing is lost
            write_bytes(options.output, json.dumps([asdict(row) for row in rows], indent=1).encode())
    print(table(rows))
    return int(any(row.worst > 4.0 or row.log_z_score > 3.0 or not row.diagnostics_ok for row in rows))


if __name__ == "__main__":
    sys.exit(main())
