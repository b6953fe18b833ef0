"""Error bars by NUTS, with Monte-Carlo errors, beside the exact ones of the same problem.

    collapsed      weights and bias integrated out (`marginalise(method="nuts")`)
    weight space   weights, bias, log μ and log ζ (`models.WeightSpace`)
    gp             a Gaussian process with a Cholesky factor at every step (`models.GaussianProcess`)

The last two share no algebra with the closed forms. The Monte-Carlo error of a correlation r is that of the mean of its
influence z₁z₂ − ½r(z₁² + z₂²), z being standardised draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm import BayesLSSVMWarning, marginalise
from bayes_lssvm.base.arviz import datatree, rhat_and_ess
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.marginal import HyperPosterior
from bayes_lssvm.sampling.diagnostics import Diagnostics
from models import GaussianProcess, WeightSpace, features, sample
from models.sampling import Sampled
from validation.harness import CellResult, Check

from .analytic import PRIOR, exact, moments, names_of, pair, quadrature_check
from .problems import Problem

# In standard errors. A page of a hundred figures has one beyond 3 every fourth time, and one beyond 4 hardly ever.
DISAGREEMENT = 4.0


class Run(NamedTuple):
    """Chains of the hyperparameters, of shape (chains, draws) each, with what the sampler says of them."""

    points: dict[str, Array]
    statistics: dict[str, AnyArray]
    diagnostics: Diagnostics
    notes: dict[str, Any]


def sampled(problem: Problem, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> CellResult:
    """One program's error bars of a problem, their Monte-Carlo errors and their distances from quadrature.

    Parameters
    ----------
    settings : dict
        program, draws, warmup, and for weight space `attempts`, a list of (centred, target_accept).
    """
    reference = exact(problem, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)  # a check that fails is kept as one
        run = _PROGRAMS[settings["program"]](problem, X, y, settings, seed)
    points = {name: run.points[name] for name in names_of(reference)}
    values, errors = _estimates(points)
    truth = moments(reference)
    z = {
        kind: {name: (values[kind][name] - truth[kind][name]) / errors[kind][name] for name in values[kind]}
        for kind in values
    }
    checks = (*run.diagnostics.checks, quadrature_check(reference), _agreement_check(z))
    record = {**values, "errors": errors, "exact": truth, "z": z, "n_rows": len(y), **run.notes}
    record["min_ess"] = run.diagnostics.min_ess
    return CellResult(record, checks, datatree({"posterior": points, "sample_stats": run.statistics}))


def _agreement_check(z: Mapping[str, Mapping[str, float]]) -> Check:
    worst = max(
        ((abs(value), kind, name) for kind, part in z.items() for name, value in part.items()),
        key=lambda item: item[0] if np.isfinite(item[0]) else np.inf,
    )
    what = f"the {worst[1]} of {worst[2].replace(' ', ' and ')}"
    sentence = f"Farthest from quadrature is {what}: {worst[0]:.1f} Monte-Carlo standard errors (at most "
    sentence += f"{DISAGREEMENT:g})."
    return Check("distance from quadrature", worst[0], DISAGREEMENT, bool(worst[0] <= DISAGREEMENT), sentence)


def _estimates(points: Mapping[str, Array]) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Means, standard deviations and correlations of draws, and the Monte-Carlo errors of each."""
    statistics = rhat_and_ess(points)
    mean = {name: float(x.mean()) for name, x in points.items()}
    sd = {name: float(x.std()) for name, x in points.items()}
    scores = {name: (x - mean[name]) / sd[name] for name, x in points.items()}
    names = list(points)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    correlation = {pair(a, b): float(np.mean(scores[a] * scores[b])) for a, b in pairs}
    influence = {
        pair(a, b): scores[a] * scores[b] - 0.5 * correlation[pair(a, b)] * (scores[a] ** 2 + scores[b] ** 2)
        for a, b in pairs
    }
    errors = {
        "mean": {name: float(v) for name, v in statistics.mcse_mean.items()},
        "sd": {name: float(v) for name, v in statistics.mcse_sd.items()},
        "correlation": {name: float(v) for name, v in rhat_and_ess(influence).mcse_mean.items()},
    }
    return {"mean": mean, "sd": sd, "correlation": correlation}, errors


# --- the three programs ----------------------------------------------------------------------------------------------


def _collapsed(problem: Problem, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> Run:
    found: HyperPosterior = marginalise(
        X,
        y,
        kernel=problem.function,
        prior=PRIOR,
        method="nuts",
        fixed_kernel=not problem.free,
        draws=settings["draws"],
        warmup=settings["warmup"],
        check=False,
        seed=seed,
        progress=False,
    )
    assert found.chains is not None
    points = {name: found.chains.points[..., i] for i, name in enumerate(names_of(found))}
    diagnostics = Diagnostics.from_dict(found.diagnostics["chains"])
    # weights other than one would make plain moments of the draws wrong
    if found.diagnostics["correction"]["corrected"]:
        raise ValueError("The table of the collapsed sampler is too coarse for these data: its draws need weights.")
    return Run(points, found.chains.statistics, diagnostics, {})


def _weight_space(problem: Problem, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> Run:
    """The first parametrisation of those given whose chains pass, or the one with the most effective draws.

    No parametrisation suits all data, and which one does is not known beforehand.
    """
    phi = features(problem.function, X, empirical=isinstance(problem.function, RBF))
    tried: list[tuple[bool, Sampled]] = []
    for centred, target in settings["attempts"]:
        program = WeightSpace(prior=PRIOR, centred=centred)
        found = sample(program, *program.data(phi, y), seed=seed, target_accept=target, **_lengths(settings))
        tried.append((centred, found))
        if found.diagnostics.ok:
            break
    centred, best = max(tried, key=lambda pair: (pair[1].diagnostics.ok, pair[1].diagnostics.min_ess))
    return _run_of(best, {"centred": centred, "n_attempts": len(tried), "n_features": phi.shape[1]})


def _gp(problem: Problem, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> Run:
    program = GaussianProcess(problem.function, prior=PRIOR, fixed_kernel=not problem.free)
    return _run_of(sample(program, *program.data(X, y), seed=seed, **_lengths(settings)), {})


def _lengths(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {"draws": settings["draws"], "warmup": settings["warmup"], "check": False, "progress": False}


def _run_of(found: Sampled, notes: dict[str, Any]) -> Run:
    # weights are left out: there may be hundreds, and no figure shows them
    points = {name: values for name, values in found.draws.items() if name.startswith("log_")}
    return Run(points, {**found.stats, "lp": found.log_density}, found.diagnostics, notes)


_PROGRAMS = {"collapsed": _collapsed, "weight-space": _weight_space, "gp": _gp}
