"""Do several ways to the same posterior agree? Weight-space NUTS, GP NUTS, collapsed NUTS and quadrature.

The programs of `models` know nothing of the closed forms. For each data set and kernel their draws of log μ, log ζ (and
the kernel's log parameter, where it is free) are compared with quadrature in units of Monte-Carlo standard errors, and
the evidence by bridge sampling in units of its own standard error. Importance sampling, tempered SMC and nested
sampling (where dynesty is installed) have the evidence alone, of the hyperparameters with weights and bias integrated
out. The bias is flat in all of them, so that log Z means the same everywhere. A cell is one of these comparisons.

| size  | comparisons                                                                                          |
| ----- | ---------------------------------------------------------------------------------------------------- |
| toy   | the linear kernel on Ripley's data: weight space, importance sampling, SMC, an eighth of the draws |
| quick | the linear kernel on Ripley's data, in all ways                                                      |
| full  | all (about half an hour on one core)                                                                 |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from bayes_lssvm import datasets, marginalise
from bayes_lssvm.base.typing import Array
from bayes_lssvm.evidence import log_evidence
from bayes_lssvm.kernels import RBF, Kernel, Linear, Polynomial
from bayes_lssvm.marginal import HyperPosterior
from bayes_lssvm.sampling.chains import rhat_and_ess
from models import GaussianProcess, WeightSpace, features, sample
from validation.estimates import (
    EvidenceEstimate,
    importance_sampling,
    lssvm_target,
    nested_sampling,
    tempered_smc,
)
from validation.harness import Cell, CellResult, Check, Size, Study
from validation.ladder import PRIOR

MOMENT_LIMIT, EVIDENCE_LIMIT = 4.0, 3.0
"""Standard errors by which a posterior's mean or standard deviation, and the evidence, may be off."""
Program = Literal["weight space", "gp", "collapsed", "importance", "smc", "nested"]
ESTIMATORS: dict[str, tuple[Callable[..., EvidenceEstimate], str]] = {
    "importance": (importance_sampling, "n"),
    "smc": (tempered_smc, "n_particles"),
    "nested": (nested_sampling, "n_live"),
}
"""Those of the evidence alone, and what their number of draws is called."""


@dataclass(frozen=True)
class Comparison:
    """Data, kernel, and how the posterior is sampled.

    Attributes
    ----------
    centred : bool
        Parametrisation of the weights.
    draws, warmup : int
        Of each of four chains; of the proposal, particles of a run, live points.
    """

    name: str
    data: str
    kernel: Kernel
    program: Program
    fixed_kernel: bool = True
    centred: bool = True
    draws: int = 1000
    warmup: int = 500

    @property
    def key(self) -> str:
        """The name, for a file."""
        return self.name.replace(",", "").replace(" ", "-")


@dataclass(frozen=True)
class Agreement:
    """Differences from quadrature in units of Monte-Carlo standard errors.

    Attributes
    ----------
    mean_z, sd_z : dict
        (sampled − exact)/standard error, of posterior means and standard deviations, by parameter.
    log_z_difference, log_z_error : float
        Estimate minus quadrature, in nats, and its own standard error.
    min_ess : float or None
        None where there are no chains; `mean_z` and `sd_z` are empty then.
    """

    mean_z: dict[str, float]
    sd_z: dict[str, float]
    log_z_difference: float
    log_z_error: float
    min_ess: float | None
    diagnostics_ok: bool

    @property
    def worst(self) -> float:
        """The largest difference of a mean or a standard deviation, in its standard errors."""
        return max((abs(z) for z in (*self.mean_z.values(), *self.sd_z.values())), default=0.0)

    @property
    def log_z_score(self) -> float:
        """The difference of the evidence in its standard errors."""
        return abs(self.log_z_difference) / self.log_z_error


def _comparisons() -> Iterator[Comparison]:
    poly3 = Polynomial(3, 1.0)
    for data, sigma in (("ripley", 1.311), ("pima", 5.5)):
        for label, kernel in (("linear", Linear()), ("poly3", poly3), ("rbf", RBF(sigma))):
            yield Comparison(f"{data} {label}, collapsed", data, kernel, "collapsed")
            if data == "pima" and label == "poly3":
                continue  # 164 features: weight space takes minutes, and shows nothing that RBF does not
            empirical = label == "rbf"
            draws = 6000 if empirical else 4000
            yield Comparison(
                f"{data} {label}, weight space", data, kernel, "weight space", centred=not empirical, draws=draws
            )
            if data == "ripley":  # a Cholesky factor of 768 rows at every step takes too long
                yield Comparison(f"{data} {label}, gp", data, kernel, "gp")
    yield Comparison("ripley rbf free, collapsed", "ripley", RBF(1.0), "collapsed", fixed_kernel=False)
    yield Comparison("ripley rbf free, gp", "ripley", RBF(1.0), "gp", fixed_kernel=False)
    for label, kernel in (("linear", Linear()), ("rbf", RBF(1.311))):
        yield Comparison(f"ripley {label}, importance", "ripley", kernel, "importance", draws=4000, warmup=0)
        yield Comparison(f"ripley {label}, smc", "ripley", kernel, "smc", draws=1000, warmup=0)
        yield Comparison(f"ripley {label}, nested", "ripley", kernel, "nested", draws=500, warmup=0)


COMPARISONS = {comparison.key: comparison for comparison in _comparisons()}


def load(name: str) -> tuple[Array, Array]:
    """Standardised inputs and labels ±1."""
    X, labels = datasets.load("pid" if name == "pima" else name).Xy
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), np.where(labels == np.unique(labels)[1], 1.0, -1.0)


def compare(comparison: Comparison, seed: int) -> Agreement:
    """Sample the posterior and compare it with quadrature."""
    X, y = load(comparison.data)
    common: dict[str, Any] = {"kernel": comparison.kernel, "prior": PRIOR, "fixed_kernel": comparison.fixed_kernel}
    exact = marginalise(X, y, progress=False, **common, standardise=False)
    if comparison.program in ESTIMATORS:
        estimator, effort_name = ESTIMATORS[comparison.program]
        found = estimator(lssvm_target(X, y, **common), seed=seed, **{effort_name: comparison.draws})
        return Agreement({}, {}, found.log_z - exact.log_evidence, found.standard_error, None, not found.concerns)
    effort: dict[str, Any] = {"draws": comparison.draws, "warmup": comparison.warmup, "seed": seed, "progress": False}
    if comparison.program == "collapsed":
        drawn = marginalise(X, y, method="nuts", **common, **effort, standardise=False)
        assert drawn.chains is not None
        names = [name for name in exact.names if name != "log_gamma"]
        points = {name: drawn.chains.points[..., i] for i, name in enumerate(names)}
        ok = bool(drawn.diagnostics["chains"]["ok"])
        evidence = drawn.log_evidence, drawn.log_evidence_error
    else:
        program, arguments = _program(comparison, X, y)
        sampled = sample(program, *arguments, check=False, **effort)
        points = {name: sampled.draws[name] for name in exact.names if name != "log_gamma"}
        ok = sampled.diagnostics.ok
        estimate = log_evidence(program, arguments, draws=sampled.draws, seed=seed, methods=("bridge",))
        evidence = estimate.value, estimate.standard_error
    return _agreement(exact, points, evidence, ok)


def _program(comparison: Comparison, X: Array, y: Array) -> tuple[Callable[..., None], tuple[Any, ...]]:
    if comparison.program == "gp":
        gp = GaussianProcess(comparison.kernel, prior=PRIOR, fixed_kernel=comparison.fixed_kernel)
        return gp, gp.data(X, y)
    program = WeightSpace(prior=PRIOR, centred=comparison.centred)
    return program, program.data(features(comparison.kernel, X, empirical=isinstance(comparison.kernel, RBF)), y)


def _agreement(exact: HyperPosterior, points: dict[str, Array], evidence: tuple[float, float], ok: bool) -> Agreement:
    statistics = rhat_and_ess(points)
    mean, sd = exact.mean(), exact.sd()
    return Agreement(
        mean_z={n: float((x.mean() - mean[n]) / statistics.mcse_mean[n]) for n, x in points.items()},
        sd_z={n: float((x.std() - sd[n]) / statistics.mcse_sd[n]) for n, x in points.items()},
        log_z_difference=evidence[0] - exact.log_evidence,
        log_z_error=evidence[1],
        min_ess=float(min(float(statistics.ess_bulk[n]) for n in points)),
        diagnostics_ok=ok,
    )


def checks_of(found: Agreement) -> tuple[Check, ...]:
    """Whether the draws are good, and moments and evidence within what chance allows."""
    worst, score, ok = found.worst, found.log_z_score, found.diagnostics_ok
    words = "pass" if ok else "FAIL"
    evidence = f"is {score:.1f} of its standard errors from quadrature's."
    if not found.mean_z:
        return (
            Check("draws", float(ok), 1.0, ok, f"The draws of the estimate {words} its own checks."),
            Check("evidence", score, EVIDENCE_LIMIT, score <= EVIDENCE_LIMIT, f"log Z {evidence}"),
        )
    moments = f"The worst mean or standard deviation is {worst:.1f} standard errors from quadrature's."
    return (
        Check("chains", float(ok), 1.0, ok, f"The chains {words} their checks."),
        Check("moments", worst, MOMENT_LIMIT, worst <= MOMENT_LIMIT, moments),
        Check("evidence", score, EVIDENCE_LIMIT, score <= EVIDENCE_LIMIT, f"log Z by bridge sampling {evidence}"),
    )


def cells(data: None, size: Size) -> list[Cell]:
    """The comparisons of a size."""
    return [Cell(c.key, {**asdict(c), "kernel": repr(c.kernel)}) for c in _of_size(size)]


def compute(cell: Cell, data: None) -> CellResult:
    """One comparison."""
    comparison = replace(COMPARISONS[cell.key], draws=cell.settings["draws"])
    found = compare(comparison, cell.seed)
    return CellResult(asdict(found), checks_of(found))


def _of_size(size: Size) -> list[Comparison]:
    here = [c for c in COMPARISONS.values() if c.program != "nested" or find_spec("dynesty") is not None]
    if size == "full":
        return here
    linear = [c for c in here if c.name.startswith("ripley linear")]
    if size == "quick":
        return linear
    return [replace(c, draws=c.draws // 8) for c in linear if c.program in ("weight space", "importance", "smc")]


STUDY = Study(
    name="agreement",
    title="Four ways to the same posterior",
    cells=cells,
    compute=compute,
    needs_data=False,
    own_data="Ripley's data and Pima Indians Diabetes, as each comparison says",
)
"""A cell is a comparison."""
