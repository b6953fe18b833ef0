"""One function for each rung of the ladder, from data and prior to a posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from .._errors import BayesLSSVMWarning, warn
from .._typing import Array
from ..kernels import Kernel
from ..level3 import evaluate
from ..priors import HyperPrior
from ..spectrum import TridiagonalReduction
from ._density import Density
from ._design import central_composite, design
from ._importance import importance
from ._kernel_quadrature import Quadrature, quadrature
from ._laplace import find_modes
from ._level2_quadrature import GammaRows, Level2Integral, integrate
from ._posterior import HyperPosterior, Sampler, names_with_gamma, with_gamma
from ._predictions import PredictionNode, gauss_rule, rows_of, rows_of_draws, rows_of_gaussian
from ._transport import (
    Draw,
    ExactConditional,
    GaussianConditional,
    along_a_line,
    among_kernels,
    quasi_uniform,
)

_KERNEL_NODES = 9  # of the Gauss rule over one kernel parameter, for predictions
_MOST_KERNELS = 48  # over which draws of several kernel parameters are averaged in predictions
_MOST_ROWS = 256
_GAUSSIAN_NODES = 2**12
_HERMITE = 9
_FEWEST_EFFECTIVE = 100.0


@dataclass(frozen=True)
class Task:
    """What is to be integrated, and how the caller wants it done."""

    X: Array
    y: Array
    kernel: Kernel
    prior: HyperPrior
    fixed_kernel: bool
    tolerance: float
    draws: int | None
    chains: int
    warmup: int
    check: bool
    seed: int
    progress: bool

    @property
    def n_kernel(self) -> int:
        """Number of kernel parameters that are free."""
        return 0 if self.fixed_kernel else self.kernel.log_params.size

    @property
    def density(self) -> Density:
        """The log posterior density."""
        return Density(self.X, self.y, self.kernel, self.prior.components(self.n_kernel))

    def posterior(self, method: str, **fields: Any) -> HyperPosterior:
        """A posterior with what all methods share filled in."""
        return HyperPosterior(
            method=method,
            kernel=self.kernel,
            prior=self.prior,
            names=names_with_gamma(self.density.names),
            X=self.X,
            y=self.y,
            **fields,
        )


# --- rules -----------------------------------------------------------------------------------------------------------


def by_quadrature(task: Task, record: dict[str, Any]) -> HyperPosterior:
    """Exact integrals over μ and ζ, and a trapezoidal rule over at most one kernel parameter."""
    rule = _rule(task, integrate, "quadrature")
    if rule.tail > 1e-6:
        warn(
            f"The integrand is still {rule.tail:.1e} of its maximum at an end of the range, so the log evidence misses "
            "a tail; a narrower prior would cut it.",
            BayesLSSVMWarning,
        )
    elif rule.error > 10.0 * task.tolerance:
        warn(
            f"The quadrature stopped at an error of about {rule.error:.1e} nats (wanted {task.tolerance:.1e}): the "
            "evidence in the kernel's parameter, or a prior, is not smooth enough.",
            BayesLSSVMWarning,
        )
    return _from_rule(task, rule, "quadrature", record, _exact_conditionals(task, rule))


def by_mackay(task: Task, record: dict[str, Any]) -> HyperPosterior:
    """Eq 5.2 with MacKay's error bars for μ and ζ; a rule over at most one kernel parameter."""
    widths = task.prior.mu.width, task.prior.zeta.width

    def inner(reduction: TridiagonalReduction, *_: Any) -> Level2Integral:
        found = evaluate(reduction, prior_sd=widths)
        mean = np.log([found.level2.mu, found.level2.zeta])
        sd = np.minimum([found.mackay.log_mu, found.mackay.log_zeta], widths)  # as in 5.2's Occam factor
        z, weight = np.polynomial.hermite_e.hermegauss(_HERMITE)
        log_mu, log_zeta = (mean[i] + sd[i] * z for i in (0, 1))
        log_weights = np.add.outer(*2 * (np.log(weight / weight.sum()),)).ravel() + found.log_evidence
        grid = np.meshgrid(log_mu, log_zeta, indexing="ij")
        rows = GammaRows(mean, sd, np.empty(0))  # the Gaussians' means and widths
        return Level2Integral(grid[0].ravel(), grid[1].ravel(), log_weights, found.log_evidence, 0.0, 0.0, rows)

    rule = _rule(task, inner, "mackay")
    conditionals = tuple(
        GaussianConditional(tuple(node.integral.rows[0]), tuple(node.integral.rows[1])) for node in rule.nodes
    )
    return _from_rule(task, rule, "mackay", record, conditionals, error=np.nan)


def by_design(task: Task, record: dict[str, Any]) -> HyperPosterior:
    """A central composite design over two or more kernel parameters, exact integrals over μ and ζ."""
    if task.n_kernel < 2:
        raise ValueError(
            f'method="ccd" is a design for kernels with two or more free parameters; {task.kernel!s} has '
            f'{task.n_kernel} here. Use method="quadrature".'
        )
    task.prior.require_proper(task.n_kernel, "ccd")
    modes = find_modes(task.density)
    rule = central_composite(task.density, modes[0], progress=task.progress)
    posterior = _from_rule(task, rule, "ccd", record, _exact_conditionals(task, rule))
    posterior.diagnostics.update(n_modes=len(modes), log_evidence_laplace=modes[0].log_mass)
    return posterior


def _rule(task: Task, inner: Callable[..., Level2Integral], method: str) -> Quadrature:
    return quadrature(
        task.X,
        task.y,
        task.kernel,
        task.prior,
        fixed_kernel=task.fixed_kernel,
        tolerance=task.tolerance,
        progress=task.progress,
        inner=inner,
        method=method,
    )


def _exact_conditionals(task: Task, rule: Quadrature) -> tuple[Draw, ...]:
    n = len(task.y)
    return tuple(ExactConditional(n, node.integral.rows, task.prior.mu, task.prior.zeta) for node in rule.nodes)


def _from_rule(
    task: Task,
    rule: Quadrature,
    method: str,
    record: dict[str, Any],
    conditionals: tuple[Draw, ...],
    error: float | None = None,
) -> HyperPosterior:
    """Flatten a rule into weighted nodes."""
    free = task.n_kernel
    points = [
        np.column_stack(
            [
                node.integral.log_mu,
                node.integral.log_zeta,
                np.broadcast_to(node.kernel.log_params[:free], (len(node.integral.log_mu), free)),
            ]
        )
        for node in rule.nodes
    ]
    log_weights = np.concatenate(
        [node.integral.log_weights - node.integral.log_z + node.log_weight for node in rule.nodes]
    )
    thetas = np.array([node.kernel.log_params[:free] for node in rule.nodes])
    shares = np.exp(np.array([node.log_weight for node in rule.nodes]) - rule.log_evidence)
    at_nodes = among_kernels(thetas, shares / shares.sum(), conditionals)
    log_density = np.array([node.log_density for node in rule.nodes])
    on_a_line = free == 1 and len(rule.nodes) > 1
    draw = along_a_line(thetas[:, 0], log_density, conditionals) if on_a_line else at_nodes
    return task.posterior(
        method,
        log_evidence=rule.log_evidence,
        log_evidence_error=rule.error if error is None else error,
        tail=rule.tail,
        nodes=with_gamma(np.vstack(points)),
        weights=np.exp(log_weights - logsumexp(log_weights)),
        sampler=Sampler(draw, 3 if len(rule.nodes) > 1 else 2, at_nodes),
        provenance=record,
        diagnostics={"n_kernels": rule.n_reductions},
        make_prediction_nodes=lambda: _nodes_of_rule(task, rule, shares, method),
    )


def _nodes_of_rule(task: Task, rule: Quadrature, shares: Array, method: str) -> tuple[PredictionNode, ...]:
    if task.n_kernel == 1 and len(rule.nodes) > 1 and method == "quadrature":
        thetas = np.array([node.kernel.log_params[0] for node in rule.nodes])
        return _exact_nodes(task, *gauss_rule(thetas, shares, _KERNEL_NODES))
    return tuple(
        PredictionNode(node.kernel, float(share), rows_of(node.integral))
        for node, share in zip(rule.nodes, shares / shares.sum(), strict=True)
        if share > 1e-6 * shares.sum()
    )


def _exact_nodes(task: Task, thetas: Array, shares: Array) -> tuple[PredictionNode, ...]:
    """Kernels at given log parameters, of shape (K,) or (K, P), with μ and ζ given each of them integrated exactly."""
    nodes = []
    for theta, share in zip(np.reshape(thetas, (len(shares), -1)), shares / np.sum(shares), strict=True):
        kernel = task.kernel.with_log_params(theta)
        integral = integrate(task.density.reduction(kernel), task.prior.mu, task.prior.zeta)
        nodes.append(PredictionNode(kernel, float(share), rows_of(integral)))
    return tuple(nodes)


# --- the Gaussian at the mode ----------------------------------------------------------------------------------------


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
        nodes, weights = np.polynomial.hermite_e.hermegauss(_KERNEL_NODES)
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


# --- draws -----------------------------------------------------------------------------------------------------------


def by_importance(task: Task, record: dict[str, Any]) -> HyperPosterior:
    """Student proposals at the modes with Pareto-smoothed weights."""
    task.prior.require_proper(task.n_kernel, "importance")
    modes = find_modes(task.density)
    draws = task.draws if task.draws is not None else (4000 if task.n_kernel == 0 else 1000)
    rng = np.random.default_rng(task.seed)
    found = importance(task.density, modes, draws=draws, rng=rng, progress=task.progress)
    if found.effective_size < _FEWEST_EFFECTIVE:
        warn(
            f"{draws} draws are worth only {found.effective_size:.0f}: the proposal at the mode is far narrower than "
            'the posterior; use method="quadrature" or "nuts", or a narrower prior.',
            BayesLSSVMWarning,
        )
    elif found.k_hat > 0.7:
        warn(
            f"Pareto k̂ is {found.k_hat:.2f} (above 0.7): the proposal at the mode misses part of the posterior, so "
            'that the weights and the evidence cannot be trusted; use method="quadrature" or "nuts".',
            BayesLSSVMWarning,
        )
    weights = np.exp(found.log_weights)
    return task.posterior(
        "importance",
        log_evidence=found.log_evidence,
        log_evidence_error=found.error,
        nodes=with_gamma(found.points),
        weights=weights / weights.sum(),
        provenance=record,
        diagnostics={"k_hat": found.k_hat, "effective_size": found.effective_size, "n_modes": len(modes)},
        make_prediction_nodes=lambda: _nodes_of_draws(task, found.points, weights / weights.sum()),
    )


def _nodes_of_draws(task: Task, points: Array, weights: Array) -> tuple[PredictionNode, ...]:
    """Kernels that stand for the draws: a Gauss rule of one parameter, a random selection of several."""
    if task.n_kernel == 1:
        return _exact_nodes(task, *gauss_rule(points[:, 2], weights, _KERNEL_NODES))
    # evenly spaced in the cumulated weights: heavy draws are taken more than once, none is favoured
    most = _MOST_ROWS if task.n_kernel == 0 else _MOST_KERNELS
    chosen = np.searchsorted(np.cumsum(weights)[:-1], (np.arange(most) + 0.5) / most)
    if task.n_kernel == 0:
        rows = rows_of_draws(points[chosen, 0], points[chosen, 1], np.ones(most))
        return (PredictionNode(task.kernel, 1.0, rows),)
    distinct, counts = np.unique(chosen, return_counts=True)
    return _exact_nodes(task, points[distinct, 2:], counts.astype(float))


METHODS: dict[str, Callable[[Task, dict[str, Any]], HyperPosterior]] = {
    "mackay": by_mackay,
    "laplace": by_laplace,
    "importance": by_importance,
    "quadrature": by_quadrature,
    "ccd": by_design,
}
