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
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayes_lssvm import marginalise
from bayes_lssvm.base.arviz import datatree
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Kernel, kernel_from_dict
from bayes_lssvm.levels.level3 import evaluate
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.marginal import HyperPosterior, laplace_evidence
from bayes_lssvm.marginal.rules.level2 import integrate
from bayes_lssvm.priors import HyperPrior, hyper_prior_from_dict
from bayes_lssvm.sampling.diagnostics import Diagnostics
from validation.harness import CellResult, Check

from .lattice import integrate_on_lattice
from .models import MODELS

QUADRATURE_LIMIT = 1e-3
K_HAT_LIMIT = 0.7

Inner = Callable[[TridiagonalReduction, HyperPrior], float]


def _mackay(reduction: TridiagonalReduction, prior: HyperPrior) -> float:
    return evaluate(reduction, prior_sd=(prior.mu.width, prior.zeta.width)).log_evidence


def _hessian(reduction: TridiagonalReduction, prior: HyperPrior) -> float:
    return laplace_evidence(reduction, HyperPrior(prior.mu, prior.zeta)).log_evidence


def _exact(reduction: TridiagonalReduction, prior: HyperPrior) -> float:
    return float(integrate(reduction, prior.mu, prior.zeta).log_z)


INNER: dict[str, Inner] = {"mackay": _mackay, "hessian": _hessian, "quadrature": _exact}


def compute(settings: dict[str, Any], seed: int, X: Array, y: Array) -> CellResult:
    """One model by one rung, from a cell's settings."""
    method, kernel = settings["method"], kernel_from_dict(settings["kernel"])
    prior = hyper_prior_from_dict(settings["prior"])
    if method == "weights":
        return _by_weights(settings, seed, X, y, prior)
    if method == "hessian" or (method in INNER and kernel.log_params.size > 1):
        return _by_lattice(INNER[method], settings["tolerance"], kernel, prior, X, y)
    return _by_library(settings, seed, X, y, kernel, prior)


def _by_library(
    settings: dict[str, Any], seed: int, X: Array, y: Array, kernel: Kernel, prior: HyperPrior
) -> CellResult:
    method = settings["method"]
    options = {name: settings[name] for name in ("draws", "warmup", "chains") if name in settings}
    found = marginalise(
        X, y, kernel=kernel, prior=prior, method=method, check=False, seed=seed, progress=False, **options
    )
    checks: tuple[Check, ...] = ()
    draws = None
    if method == "quadrature":
        checks = (_rule_check(found.log_evidence_error),)
    elif method == "importance":
        k_hat = float(found.diagnostics["k_hat"])
        sentence = f"Pareto k̂ is {k_hat:.2f} (must be below {K_HAT_LIMIT})"
        checks = (Check("Pareto k", k_hat, K_HAT_LIMIT, k_hat < K_HAT_LIMIT, sentence),)
    elif method == "nuts":
        assert found.chains is not None
        checks = (
            *Diagnostics.from_dict(found.diagnostics["chains"]).checks,
            _bridge_check(found.diagnostics["bridge"]["concerns"]),
        )
        names = [name for name in found.names if name != "log_gamma"]
        points = {name: found.chains.points[..., i] for i, name in enumerate(names)}
        draws = datatree({"posterior": points, "sample_stats": found.chains.statistics})
    return CellResult(_values(found), checks, draws)


def _values(found: HyperPosterior) -> dict[str, Any]:
    names = [name for name in found.names if name != "log_gamma"]
    mean, sd = found.mean(), found.sd()
    return {
        "log_evidence": found.log_evidence,
        "error": found.log_evidence_error,
        "mean": {name: mean[name] for name in names},
        "sd": {name: sd[name] for name in names},
    }


def _rule_check(error: float) -> Check:
    sentence = f"the rule's own estimate of its error is {error:.1e} nats (must be below {QUADRATURE_LIMIT:g})"
    return Check("quadrature error", error, QUADRATURE_LIMIT, error < QUADRATURE_LIMIT, sentence)


def _bridge_check(concerns: tuple[str, ...]) -> Check:
    sentence = "bridge sampling: " + ("; ".join(concerns) if concerns else "nothing looks wrong")
    return Check("bridge", float(len(concerns)), 0.0, not concerns, sentence)


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
    centre, covariance = _about(X, y, kernel, prior)
    # an approximation over μ and ζ costs more, and may have corners that no lattice is fine enough for
    most = 4000 if inner is _exact else 1000
    scale = np.asarray(np.linalg.cholesky(covariance), dtype=float)
    found = integrate_on_lattice(log_density, centre, scale, tolerance=tolerance, most=most)
    values = {"log_evidence": found.log_integral, "n_kernels": found.n_values}
    if inner is not _exact:  # what the rule knows is not the error of the approximation inside
        return CellResult({**values, "error": None, "rule_error": found.error})
    return CellResult({**values, "error": found.error}, (_rule_check(found.error),))


def _about(X: Array, y: Array, kernel: Kernel, prior: HyperPrior) -> tuple[Array, Array]:
    """Where the kernel's log parameters are, roughly: mean and covariance of Laplace's Gaussian."""
    rough = marginalise(X, y, kernel=kernel, prior=prior, method="laplace", progress=False)
    columns = [i for i, name in enumerate(rough.names) if name not in ("log_mu", "log_zeta", "log_gamma")]
    mean = rough.weights @ rough.nodes
    return mean[columns], rough.covariance()[np.ix_(columns, columns)]


def _by_weights(settings: dict[str, Any], seed: int, X: Array, y: Array, prior: HyperPrior) -> CellResult:
    """NUTS on the weights, the bias and all hyperparameters, and bridge sampling over all of them."""
    from models import sample  # JAX, which the other rungs can do without
    from validation.estimates import bridge_numpyro

    from .weights import weight_space

    degree = MODELS[settings["model"]].degree
    assert degree is not None
    program, arguments = weight_space(degree, prior, X, y)
    drawn = sample(
        program,
        *arguments,
        seed=seed,
        chains=settings["chains"],
        warmup=settings["warmup"],
        draws=settings["draws"],
        target_accept=0.9,
        check=False,
        progress=False,
    )
    estimate = bridge_numpyro(program, arguments, draws=drawn.draws, seed=seed)
    concerns = tuple(c for c in estimate.concerns if "is improper" not in c)  # the bias, as on every rung
    values = {
        "log_evidence": estimate.log_z,
        "error": estimate.standard_error,
        "mean": {name: float(x.mean()) for name, x in drawn.draws.items() if name.startswith("log_")},
        "sd": {name: float(x.std()) for name, x in drawn.draws.items() if name.startswith("log_")},
    }
    return CellResult(values, (*drawn.diagnostics.checks, _bridge_check(concerns)), drawn.to_arviz())
