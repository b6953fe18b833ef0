"""NUTS on the collapsed evidence against programs with a Cholesky factor at every step, in effective draws a second.

All on Ripley's data, standardised, log μ, log ζ ~ Normal(0, 3²), log σ ~ Normal(0, 1); chains one after the other, the
same number of chains, warm-up steps and draws for all. The figure is the smallest bulk effective sample size of the
hyperparameters over the seconds of a warm call. Our seconds are all that a user waits for: kernels, tables, sampling,
quantiles of log μ and the exact check. Those of the peers are their chains alone, warm-up included, compilation not.

PyMC is measured where this interpreter has it, or by another one that the environment variable
BAYES_LSSVM_PYMC_PYTHON names.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bayes_lssvm import datasets
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.marginal.density import Density
from bayes_lssvm.marginal.draws.collapsed import collapsed_nuts
from bayes_lssvm.marginal.draws.nuts import sample_table
from bayes_lssvm.marginal.draws.surfaces import fixed_kernel_surface, one_parameter_surface
from bayes_lssvm.marginal.draws.table import scattered_starts, tabulate
from bayes_lssvm.priors import HyperPrior, Normal
from bayes_lssvm.sampling.chains import rhat_and_ess
from bayes_lssvm.sampling.diagnostics import ChainsDidNotMixWarning
from benchmarks.timing import Measured, seconds
from models.gaussian_process import GaussianProcess
from models.sampling import sample

PRIOR = HyperPrior(Normal(0, 3), Normal(0, 3), Normal(0, 1))
KERNEL = RBF(1.311)
PYMC_VARIABLE = "BAYES_LSSVM_PYMC_PYTHON"


class Lengths(NamedTuple):
    """How long the chains are."""

    chains: int
    warmup: int
    draws: int


class Speed(NamedTuple):
    """Effective draws, and the seconds they took."""

    ess: float
    seconds: float

    @property
    def rate(self) -> float:
        """Effective draws a second."""
        return self.ess / self.seconds

    def __str__(self) -> str:
        return f"{self.rate:,.3g} ESS/s ({self.ess:.0f} in {self.seconds:.3g} s)"


def _least_ess(draws: dict[str, Array]) -> float:
    return float(min(np.min(values) for values in rhat_and_ess(draws).ess_bulk.values()))


def ripley(step: int) -> tuple[Array, Array]:
    """Ripley's training data, every so many points, standardised, with labels ±1."""
    data = datasets.load("ripley")
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0, ddof=1)
    return X[::step], np.where(data.target == 1, 1.0, -1.0)[::step]


def collapsed(X: Array, y: Array, *, fixed: bool, lengths: Lengths, seeds: range) -> list[Speed]:
    """Whole calls, from data to checked draws, one for each seed."""
    parts = PRIOR.components(0 if fixed else 1)
    found = []
    for seed in seeds:
        start = time.perf_counter()
        result = collapsed_nuts(X, y, KERNEL, parts, fixed_kernel=fixed, seed=seed, progress=False, **lengths._asdict())
        duration = time.perf_counter() - start
        found.append(Speed(_least_ess({"x": result.points}), duration))
    return found


def chains_alone(X: Array, y: Array, *, fixed: bool, lengths: Lengths, seeds: range) -> float:
    """Median seconds of the sampler, its table being there."""
    parts = PRIOR.components(0 if fixed else 1)
    density = Density(X, y, KERNEL, parts)
    table = tabulate(fixed_kernel_surface(density) if fixed else one_parameter_surface(density), parts)
    starts = scattered_starts(table, lengths.chains, np.random.default_rng(0))
    starts = np.column_stack([np.zeros(lengths.chains), starts])
    call = partial(sample_table, table, starts, warmup=lengths.warmup, draws=lengths.draws, target_accept=0.8)
    return statistics.median(seconds(partial(call, seed=seed)) for seed in seeds)


def plain_program(X: Array, y: Array, *, fixed: bool, lengths: Lengths) -> Speed:
    """The Gaussian process of `models/`, compiled before the clock starts."""
    program = GaussianProcess(KERNEL, PRIOR, fixed_kernel=fixed)
    data = program.data(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainsDidNotMixWarning)
        call = partial(sample, program, *data, warmup=lengths.warmup, check=False, progress=False)
        call(seed=1, chains=1, draws=4)
        found = call(seed=2, chains=lengths.chains, draws=lengths.draws)
    names = [name for name in found.draws if name.startswith("log_")]
    return Speed(_least_ess({name: found.draws[name] for name in names}), found.seconds)


_PYMC_PROGRAM = """
import json, sys
import numpy as np
import pymc as pm

data, lengths = np.load(sys.argv[1]), json.loads(sys.argv[2])
X, y = data["X"], data["y"]
with pm.Model():
    log_mu, log_zeta = pm.Normal("log_mu", 0.0, 3.0), pm.Normal("log_zeta", 0.0, 3.0)
    log_sigma, b = pm.Normal("log_sigma", 0.0, 1.0), pm.Flat("b")
    # exp(-d^2 / sigma^2) is ExpQuad with length scale sigma / sqrt(2)
    covariance = pm.math.exp(-log_mu) * pm.gp.cov.ExpQuad(X.shape[1], ls=pm.math.exp(log_sigma) / np.sqrt(2.0))
    gp = pm.gp.Marginal(mean_func=pm.gp.mean.Constant(b), cov_func=covariance)
    gp.marginal_likelihood("y", X=X, y=y, sigma=pm.math.exp(-0.5 * log_zeta))
    found = pm.sample(
        draws=lengths["draws"], tune=lengths["warmup"], chains=lengths["chains"], cores=1, random_seed=1,
        progressbar=False, compute_convergence_checks=False,
    )
posterior = found.posterior
names = ("log_mu", "log_zeta", "log_sigma")
np.savez(sys.argv[3], seconds=posterior.attrs["sampling_time"], **{n: posterior[n].values for n in names})
"""


def pymc_interpreter() -> str | None:
    """The Python that has PyMC, if there is one."""
    named = os.environ.get(PYMC_VARIABLE)
    return named or (sys.executable if importlib.util.find_spec("pymc") else None)


def pymc_marginal(X: Array, y: Array, *, lengths: Lengths, python: str) -> Speed:
    """`pm.gp.Marginal` with σ free, in an interpreter of its own; PyMC reports the time of its chains itself."""
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder) / "data.npz", Path(folder) / "draws.npz"
        np.savez(given, X=X, y=y)
        arguments = [str(given), json.dumps(lengths._asdict()), str(answer)]
        done = subprocess.run([python, "-c", _PYMC_PROGRAM, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"PyMC in {python} failed:\n{done.stderr[-2000:]}")
        with np.load(answer) as found:
            draws = {name: found[name] for name in found.files if name.startswith("log_")}
            return Speed(_least_ess(draws), float(found["seconds"]))


def comparison(step: int, lengths: Lengths, repeats: int, *, fixed: bool) -> Iterator[Measured]:
    """Our sampler before and after its peers."""
    X, y = ripley(step)
    collapsed(X, y, fixed=fixed, lengths=lengths, seeds=range(1))
    runs = collapsed(X, y, fixed=fixed, lengths=lengths, seeds=range(1, 1 + repeats))
    peers = {"plain NumPyro GP": plain_program(X, y, fixed=fixed, lengths=lengths)}
    python = pymc_interpreter()
    if python is not None and not fixed:
        peers["PyMC gp.Marginal"] = pymc_marginal(X, y, lengths=lengths, python=python)
    runs += collapsed(X, y, fixed=fixed, lengths=lengths, seeds=range(1 + repeats, 1 + 2 * repeats))
    ours = Speed(statistics.median(run.ess for run in runs), statistics.median(run.seconds for run in runs))
    alone = chains_alone(X, y, fixed=fixed, lengths=lengths, seeds=range(repeats))
    for name, peer in peers.items():
        yield Measured(
            f"NUTS, σ {'fixed' if fixed else 'free'}, N={len(y)} (chains alone {ours.ess / alone:,.3g} ESS/s)",
            str(ours),
            f"{name} {peer}",
            ours.rate / peer.rate,
            100.0 if fixed else 10.0,
            False,
        )


def rows(*, quick: bool) -> Iterator[Measured]:
    """The sampler with σ fixed and free; the quick ones are small, to see that they run."""
    step, lengths, repeats = (10, Lengths(2, 50, 50), 1) if quick else (1, Lengths(4, 500, 1000), 5)
    yield from comparison(step, lengths, repeats, fixed=True)
    yield from comparison(step, lengths, repeats, fixed=False)
