"""The posterior as a Gaussian at its mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from ..base.errors import BayesLSSVMWarning, warn
from ..base.typing import Array
from .gaussian import find_modes
from .posterior import HyperPosterior, Sampler, with_gamma
from .predictions import PredictionNode, rows_of_gaussian
from .rules.design import design
from .rules.transport import quasi_uniform
from .task import KERNEL_NODES, Task

_GAUSSIAN_NODES = 2**12


def by_laplace(task: Task, record: dict[str, Any]) -> HyperPosterior:
    """Laplace's method over all hyperparameters with the exact Hessian."""
    modes = find_modes(task.density)
    mode = modes[0]
    missed = float(np.exp(logsumexp([m.log_mass for m in modes[1:]]) - mode.log_mass)) if len(modes) > 1 else 0.0
    if missed > 0.05:
        warn(
            f"The posterior has {len(modes)} modes, and the others have {missed:.0%} of the best one's mass, which "
            'Laplace\'s method leaves out; method="quadrature" does not.',
            BayesLSSVMWarning,
        )
    factor = np.linalg.cholesky(mode.covariance)
    dimension = len(mode.position)

    def draw(uniforms: Array) -> Array:
        return np.asarray(mode.position + norm.ppf(np.clip(uniforms, 1e-15, 1.0 - 1e-15)) @ factor.T)

    z = norm.ppf(quasi_uniform(dimension, _GAUSSIAN_NODES))
    z -= z.mean(axis=0)
    z = np.linalg.solve(np.linalg.cholesky(z.T @ z / len(z)), z.T).T  # mean and covariance are exact
    return task.posterior(
        "laplace",
        log_evidence=mode.log_mass,
        log_evidence_error=np.nan,
        nodes=with_gamma(mode.position + z @ factor.T),
        weights=np.full(len(z), 1.0 / len(z)),
        sampler=Sampler(draw, dimension, draw),
        provenance=record,
        diagnostics={"n_modes": len(modes), "modes": [m.position.tolist() for m in modes], "missed_mass": missed},
        make_prediction_nodes=lambda: _nodes_of_gaussian(task, mode.position, mode.covariance),
    )


def _nodes_of_gaussian(task: Task, mean: Array, covariance: Array) -> tuple[PredictionNode, ...]:
    if task.n_kernel == 0:
        return (PredictionNode(task.kernel, 1.0, rows_of_gaussian(mean, covariance)),)
    if task.n_kernel == 1:
        nodes, weights = np.polynomial.hermite_e.hermegauss(KERNEL_NODES)
        z = nodes[:, None]
    else:
        z, log_weights = design(task.n_kernel, 1.1)
        weights = np.exp(log_weights - 0.5 * (z**2).sum(axis=1))
    factor = np.linalg.cholesky(covariance[2:, 2:])
    gain = np.linalg.solve(covariance[2:, 2:], covariance[2:, :2]).T
    given = covariance[:2, :2] - gain @ covariance[2:, :2]
    found = []
    for row, weight in zip(z @ factor.T, weights / weights.sum(), strict=True):
        kernel = task.kernel.with_log_params(mean[2:] + row)
        found.append(PredictionNode(kernel, float(weight), rows_of_gaussian(mean[:2] + gain @ row, given)))
    return tuple(found)
