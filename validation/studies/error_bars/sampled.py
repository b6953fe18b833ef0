"""Error bars by NUTS, with Monte-Carlo errors, beside the exact ones of the same problem.

    collapsed      weights and bias integrated out (`marginalise(method="nuts")`)
    weight space   weights, bias, log μ, log ζ and, where it is free, log σ (`models.WeightSpace`, `KernelWeightSpace`)
    gp             a Gaussian process with a Cholesky factor at every step (`models.GaussianProcess`)

The last two share no algebra with the closed forms. The Monte-Carlo error of a correlation r is that of the mean of its
influence z₁z₂ − ½r(z₁² + z₂²), z being standardised draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.checks import Check
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.sampling.chains import rhat_and_ess
from models import Exact, GaussianProcess, KernelWeightSpace, WeightSpace, features
from validation.harness import CellResult
from validation.ladder import PRIOR, distance_check
from validation.sampled import NUTS_EVERY, SampledPosterior, sample_collapsed, sample_program, why

from .analytic import climbed, moments, pair
from .problems import Problem


class Run(NamedTuple):
    """Chains of a problem's hyperparameters, and how they came about."""

    posterior: SampledPosterior
    notes: dict[str, Any]


def sampled(problem: Problem, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> CellResult:
    """One program's error bars of a problem, their Monte-Carlo errors and their distances from quadrature.

    Parameters
    ----------
    settings : dict
        program, draws and warmup.
    """
    reference = climbed(("quadrature",), problem, X, y)["quadrature"]
    run = _PROGRAMS[settings["program"]](problem, X, y, settings, seed)
    posterior = why(run.posterior, X, y, problem.function)
    points = {name: posterior.points[name] for name in reference.mean}
    values, errors = _estimates(points)
    truth = moments(reference)
    z = {
        kind: {name: (values[kind][name] - truth[kind][name]) / errors[kind][name] for name in values[kind]}
        for kind in values
    }
    checks = (*posterior.checks, *reference.checks, _agreement_check(z))
    record = {**values, "errors": errors, "exact": truth, "z": z, "n_rows": len(y), **run.notes}
    record |= {"min_ess": posterior.diagnostics.min_ess, "n_attempts": posterior.attempts}
    return CellResult(record, checks, posterior.tree())


def _agreement_check(z: Mapping[str, Mapping[str, float]]) -> Check:
    worst = max(
        ((abs(value), kind, name) for kind, part in z.items() for name, value in part.items()),
        key=lambda item: item[0] if np.isfinite(item[0]) else np.inf,
    )
    return distance_check(worst[0], f"Farthest off, the {worst[1]} of {worst[2].replace(' ', ' and ')},")


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
    held = not problem.free
    return Run(sample_collapsed(X, y, settings, seed, kernel=problem.function, prior=PRIOR, fixed_kernel=held), {})


def _weight_space(problem: Problem, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> Run:
    program: WeightSpace | KernelWeightSpace
    if problem.free:
        program = KernelWeightSpace(Exact(problem.function), prior=PRIOR)
        return Run(
            sample_program(program, program.data(X, y), settings, seed, nuts_every=NUTS_EVERY), {"n_features": len(y)}
        )
    program = WeightSpace(prior=PRIOR, whitened=True)
    design, targets = program.data(features(problem.function, X, empirical=isinstance(problem.function, RBF)), y)
    return Run(sample_program(program, (design, targets), settings, seed), {"n_features": design.shape[1] - 1})


def _gp(problem: Problem, X: Array, y: Array, settings: Mapping[str, Any], seed: int) -> Run:
    # a wide kernel and b say nearly the same, so that chains that move b itself are slow and have to be run again
    program = GaussianProcess(problem.function, prior=PRIOR, fixed_kernel=not problem.free, whitened_bias=True)
    return Run(sample_program(program, program.data(X, y), settings, seed, nuts_every=NUTS_EVERY), {})


_PROGRAMS = {"collapsed": _collapsed, "weight-space": _weight_space, "gp": _gp}
