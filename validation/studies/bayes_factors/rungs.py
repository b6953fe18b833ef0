"""log p(D | H) of one model by one rung of the ladder.

| rung         | μ and ζ                                     | kernel parameters                      | sampled |
| ------------ | ------------------------------------------- | -------------------------------------- | ------- |
| `mackay`     | eq 5.2, MacKay's error bars                 | a rule                                 |         |
| `hessian`    | Laplace with the exact Hessian and the prior| a rule                                 |         |
| `laplace`    | Laplace over everything at once             | the same                               |         |
| `ccd`        | exact                                       | central composite design (two or more) |         |
| `quadrature` | exact                                       | a rule: the reference                  |         |
| `importance` | Student draws at the modes                  | the same                               | yes     |
| `nuts`       | collapsed NUTS, bridge sampling             | the same                               | yes     |
| `weights`    | NUTS on the weights too, bridge sampling    | the same                               | yes     |
| `gp`         | NUTS on a Gaussian process, bridge sampling | the same                               | yes     |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Kernel, kernel_from_dict
from bayes_lssvm.levels.level3 import evaluate
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.marginal import laplace_evidence
from bayes_lssvm.marginal.ladder import bridge_check, quadrature_check
from bayes_lssvm.marginal.rules.lattice import integrate_on_lattice
from bayes_lssvm.marginal.rules.level2 import integrate
from bayes_lssvm.priors import HyperPrior, hyper_prior_from_dict
from bayes_lssvm.trust import ladder
from models import GaussianProcess
from validation.harness import CellResult
from validation.sampled import NUTS_EVERY, SampledPosterior, lengths, sample_collapsed, sample_program, why

from .comparison import ANALYTIC
from .models import MODELS
from .weights import weight_space

Inner = Callable[[TridiagonalReduction, HyperPrior], float]


def _mackay(reduction: TridiagonalReduction, prior: HyperPrior) -> float:
    return evaluate(reduction, prior_sd=(prior.mu.width, prior.zeta.width)).log_evidence


def _hessian(reduction: TridiagonalReduction, prior: HyperPrior) -> float:
    return laplace_evidence(reduction, HyperPrior(prior.mu, prior.zeta)).log_evidence


def _exact(reduction: TridiagonalReduction, prior: HyperPrior) -> float:
    return float(integrate(reduction, prior.mu, prior.zeta).log_z)


INNER: dict[str, Inner] = {"mackay": _mackay, "hessian": _hessian, "quadrature": _exact}


def evidence_by_rung(settings: dict[str, Any], seed: int, X: Array, y: Array) -> CellResult:
    """One model by one rung, from a cell's settings."""
    method, kernel = settings["method"], kernel_from_dict(settings["kernel"])
    prior = hyper_prior_from_dict(settings["prior"])
    if method in ("weights", "gp"):
        return _by_program(settings, seed, X, y, kernel, prior)
    if method == "hessian" or (method in INNER and kernel.log_params.size > 1):
        return _by_lattice(INNER[method], settings["tolerance"], kernel, prior, X, y)
    return _by_library(settings, seed, X, y, kernel, prior)


def _by_library(
    settings: dict[str, Any], seed: int, X: Array, y: Array, kernel: Kernel, prior: HyperPrior
) -> CellResult:
    method = settings["method"]
    if method == "nuts":
        found = why(sample_collapsed(X, y, settings, seed, kernel=kernel, prior=prior), X, y, kernel)
        return _of_draws(found)
    options: dict[str, Any] = {"seed": seed, "progress": False, **lengths(settings)}
    rung = ladder(X, y, kernel=kernel, prior=prior, rungs=(method,), **options)[method]
    values = {"log_evidence": rung.log_evidence, "error": rung.error, "mean": rung.mean, "sd": rung.sd}
    checks = () if method in ANALYTIC else rung.checks  # where an approximation fails is what the study shows
    return CellResult(values, checks)


# --- rules of our own ------------------------------------------------------------------------------------------------


def _by_lattice(inner: Inner, tolerance: float, kernel: Kernel, prior: HyperPrior, X: Array, y: Array) -> CellResult:
    """`inner` over μ and ζ at each kernel of a lattice over the kernel's parameters."""
    parts = prior.components(kernel.log_params.size)[2:]
    block = kernel.blocks(X)

    def log_density(theta: Array) -> float:
        own = float(sum(part.log_density(value) for part, value in zip(parts, theta, strict=True)))
        at = kernel.with_log_params(theta)
        return inner(TridiagonalReduction.from_kernel_matrix(block(at), y), prior) + own

    if not parts:
        return CellResult({"log_evidence": log_density(np.empty(0)), "error": None, "n_kernels": 1})
    centre, covariance = _gaussian_of_kernel(X, y, kernel, prior)
    # an approximation over μ and ζ costs more, and may have corners that no lattice is fine enough for; the exact one
    # falls off so slowly in a factor of a sum that 4000 kernels can be one halving short of the tolerance
    most = 8000 if inner is _exact else 1000
    scale = np.asarray(np.linalg.cholesky(covariance), dtype=float)
    found = integrate_on_lattice(log_density, centre, scale, tolerance=tolerance, most=most)
    values = {"log_evidence": found.log_integral, "n_kernels": found.n_values}
    if inner is not _exact:  # what the rule knows is not the error of the approximation inside
        return CellResult({**values, "error": None, "rule_error": found.error})
    return CellResult({**values, "error": found.error}, (quadrature_check(found.error),))


def _gaussian_of_kernel(X: Array, y: Array, kernel: Kernel, prior: HyperPrior) -> tuple[Array, Array]:
    """Where the kernel's log parameters are, roughly: mean and covariance of Laplace's Gaussian."""
    rough = ladder(X, y, kernel=kernel, prior=prior, rungs=("laplace",), progress=False)["laplace"]
    gaussian, first = rough.integral, rough.integral.names.index("log_gamma") + 1
    return (gaussian.weights @ gaussian.nodes)[first:], gaussian.covariance()[first:, first:]


def _by_program(
    settings: dict[str, Any], seed: int, X: Array, y: Array, kernel: Kernel, prior: HyperPrior
) -> CellResult:
    """NUTS on a program of its own, with bridge sampling over all of its sites."""
    if settings["method"] == "gp":
        gp = GaussianProcess(kernel, prior=prior, whitened_bias=True)
        drawn = sample_program(gp, gp.data(X, y), settings, seed, bridge=True, nuts_every=NUTS_EVERY)
    else:
        degree = MODELS[settings["model"]].degree
        assert degree is not None
        program, arguments = weight_space(degree, prior, X, y)
        drawn = sample_program(program, arguments, settings, seed, bridge=True, target_accept=0.9)
    return _of_draws(why(drawn, X, y, kernel))


def _of_draws(drawn: SampledPosterior) -> CellResult:
    values = {
        "log_evidence": drawn.log_evidence,
        "error": drawn.error,
        "mean": {name: float(x.mean()) for name, x in drawn.points.items()},
        "sd": {name: float(x.std()) for name, x in drawn.points.items()},
    }
    return CellResult(values, (*drawn.checks, bridge_check(drawn.concerns)), drawn.tree())
