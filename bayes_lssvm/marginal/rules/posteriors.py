"""Posteriors by rules over the kernel's parameters: quadrature, eq 5.2 inside a rule, and a composite design."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ...base.errors import BayesLSSVMWarning, warn
from ...base.typing import Array
from ...levels.level3 import evaluate
from ...linalg.spectrum import TridiagonalReduction
from ..gaussian import find_modes
from ..posterior import HyperPosterior, Sampler, with_gamma
from ..predictions import PredictionNode, gauss_rule, rows_of
from ..task import KERNEL_NODES, Task, exact_nodes
from .design import central_composite
from .kernel import Quadrature, quadrature
from .level2 import GammaRows, Level2Integral, integrate
from .transport import Conditionals, ExactConditional, GaussianConditional, along_a_line, among_kernels

_HERMITE = 9
_VISIBLE_TAIL = 1e-4  # of the integrand's maximum; smaller ones count in the error


def by_quadrature(task: Task, record: dict[str, Any]) -> HyperPosterior:
    """Exact integrals over μ and ζ, and a trapezoidal rule over at most one kernel parameter."""
    rule = _rule(task, integrate, "quadrature")
    if rule.tail > _VISIBLE_TAIL:
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


def _exact_conditionals(task: Task, rule: Quadrature) -> tuple[ExactConditional, ...]:
    n = len(task.y)
    return tuple(ExactConditional(n, node.integral.rows, task.prior.mu, task.prior.zeta) for node in rule.nodes)


def _from_rule(
    task: Task,
    rule: Quadrature,
    method: str,
    record: dict[str, Any],
    conditionals: Conditionals,
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
        log_evidence_error=rule.error + rule.tail if error is None else error,
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
        return exact_nodes(task, *gauss_rule(thetas, shares, KERNEL_NODES))
    return tuple(
        PredictionNode(node.kernel, float(share), rows_of(node.integral))
        for node, share in zip(rule.nodes, shares / shares.sum(), strict=True)
        if share > 1e-6 * shares.sum()
    )
