"""Methods without draws: quadrature, eq 5.2 inside a rule, a composite design, and Laplace's Gaussian at the mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from ...base.errors import BayesLSSVMWarning, warn
from ...base.typing import AnyArray, Array
from ...levels.level3 import evaluate
from ...linalg.reduction import Reduction
from ..gaussian import factor_in_order
from ..log_mu import DEEP_ENOUGH, log_sum_exp
from ..posterior import HyperPosterior, Sampler, with_gamma
from ..predictions import PredictionNode, gauss_rule, rows_of_gaussian
from ..request import Request, exact_nodes, node_of, tail_of_gamma
from .cut import warn_of_tail
from .design import central_composite, design
from .kernel import Quadrature, quadrature
from .level2 import GammaRows, Level2Integral
from .transport import Conditionals, ExactConditional, GaussianConditional, along_a_line, among_kernels, quasi_uniform

_HERMITE = 9
_DEPTHS, _MOST_STORED = (DEEP_ENOUGH, 20.0, 15.0), 1_000_000  # nats, and nodes: wide priors leave fewer of the far ones
_FEW, _COARSE = 60, 0.26  # data points, and steps of the rule that predictions take from it
_GAUSSIAN_NODES = 2**12


def by_quadrature(request: Request, record: dict[str, Any]) -> HyperPosterior:
    """Exact integrals over μ and ζ, and a trapezoidal rule over at most one kernel parameter."""
    rule = _rule(request, None, "quadrature")
    warn_of_tail(rule.tail)
    if rule.tail <= request.tolerance and rule.error > 10.0 * request.tolerance:
        warn(
            f"The quadrature stopped at an error of about {rule.error:.1e} nats (wanted {request.tolerance:.1e}): "
            "the evidence in the kernel's parameter, or a prior, is not smooth enough, or rounding limits the "
            "accuracy.",
            BayesLSSVMWarning,
        )
    return _from_rule(request, rule, "quadrature", record, _exact_conditionals(request, rule))


def by_mackay(request: Request, record: dict[str, Any]) -> HyperPosterior:
    """Eq 5.2 with MacKay's error bars for μ and ζ; a rule over at most one kernel parameter."""
    widths = request.prior.mu.width, request.prior.zeta.width

    def inner(reductions: Sequence[Reduction], *_: Any) -> list[Level2Integral]:
        return [gaussian(reduction) for reduction in reductions]

    def gaussian(reduction: Reduction) -> Level2Integral:
        found = evaluate(reduction, prior_sd=widths)
        mean = np.log([found.level2.mu, found.level2.zeta])
        sd = np.minimum([found.mackay.log_mu, found.mackay.log_zeta], widths)  # as in 5.2's Occam factor
        z, weight = np.polynomial.hermite_e.hermegauss(_HERMITE)
        log_mu, log_zeta = (mean[i] + sd[i] * z for i in (0, 1))
        log_weights = np.add.outer(*2 * (np.log(weight / weight.sum()),)).ravel() + found.log_evidence
        grid = np.meshgrid(log_mu, log_zeta, indexing="ij")
        rows = GammaRows(mean, sd, np.empty(0))  # the Gaussians' means and widths
        return Level2Integral(grid[0].ravel(), grid[1].ravel(), log_weights, found.log_evidence, 0.0, 0.0, rows)

    rule = _rule(request, inner, "mackay")
    conditionals = tuple(
        GaussianConditional(tuple(node.integral.rows[0]), tuple(node.integral.rows[1])) for node in rule.nodes
    )
    return _from_rule(request, rule, "mackay", record, conditionals, error=np.nan)


def by_design(request: Request, record: dict[str, Any]) -> HyperPosterior:
    """A central composite design over two or more kernel parameters, exact integrals over μ and ζ."""
    if request.n_kernel < 2:
        raise ValueError(
            f'method="ccd" is a design for kernels with two or more free parameters; {request.kernel!s} has '
            f'{request.n_kernel} here. Use method="quadrature".'
        )
    request.prior.require_proper(request.n_kernel, "ccd")
    modes = request.modes
    rule = central_composite(request.density, modes, seed=request.seed, progress=request.progress)
    warn_of_tail(rule.tail)
    posterior = _from_rule(request, rule, "ccd", record, _exact_conditionals(request, rule))
    by_nodes = float(logsumexp([node.log_weight for node in rule.nodes]))
    posterior.diagnostics.update(
        n_modes=len(modes), log_evidence_laplace=modes[0].log_mass, log_evidence_design=by_nodes
    )
    return posterior


def _rule(request: Request, inner: Callable[..., list[Level2Integral]] | None, method: str) -> Quadrature:
    return quadrature(
        request.X,
        request.y,
        request.kernel,
        request.prior,
        fixed_kernel=request.fixed_kernel,
        tolerance=request.tolerance,
        progress=request.progress,
        inner=inner,
        method=method,
        weights=request.weights,
    )


def _exact_conditionals(request: Request, rule: Quadrature) -> tuple[ExactConditional, ...]:
    n = len(request.y)
    return tuple(ExactConditional(n, node.integral.rows, request.prior.mu, request.prior.zeta) for node in rule.nodes)


def _from_rule(
    request: Request,
    rule: Quadrature,
    method: str,
    record: dict[str, Any],
    conditionals: Conditionals,
    error: float | None = None,
) -> HyperPosterior:
    """Flatten a rule into weighted nodes."""
    free = request.n_kernel
    own = [node.integral.log_weights - node.integral.log_z + node.log_weight for node in rule.nodes]
    top = max(float(logs.max()) for logs in own)
    depth = next((d for d in _DEPTHS if sum(int((logs > top - d).sum()) for logs in own) < _MOST_STORED), _DEPTHS[-1])
    points, log_weights = [], []
    for node, logs in zip(rule.nodes, own, strict=True):
        kept = logs > min(top - depth, float(logs.max()) - 1.0)
        theta = np.broadcast_to(node.kernel.log_params[:free], (int(kept.sum()), free))
        points.append(np.column_stack([node.integral.log_mu[kept], node.integral.log_zeta[kept], theta]))
        log_weights.append(logs[kept] + node.log_weight - log_sum_exp(logs[kept]))  # a kernel keeps all of its share
    weights = np.exp(np.concatenate(log_weights) - top)
    thetas = np.array([node.kernel.log_params[:free] for node in rule.nodes])
    shares = np.array([node.log_weight for node in rule.nodes])
    shares = np.exp(shares - log_sum_exp(shares))
    at_nodes = among_kernels(thetas, shares / shares.sum(), conditionals)
    draw = at_nodes
    if rule.positions is not None and rule.grid is not None and rule.log_density is not None and len(rule.nodes) > 1:
        draw = along_a_line(rule.positions, conditionals, rule.grid, rule.log_density, rule.stretch)
    return request.posterior(
        method,
        log_evidence=rule.log_evidence,
        log_evidence_error=rule.error + float(np.log1p(rule.tail)) if error is None else error,
        tail=rule.tail,
        nodes=with_gamma(np.vstack(points)),
        weights=weights / weights.sum(),
        sampler=Sampler(draw, 3 if len(rule.nodes) > 1 else 2, at_nodes),
        provenance=record,
        diagnostics={"n_kernels": rule.n_reductions},
        make_prediction_nodes=lambda: _nodes_of_rule(request, rule, shares, method),
    )


def _nodes_of_rule(request: Request, rule: Quadrature, shares: Array, method: str) -> tuple[PredictionNode, ...]:
    chosen = np.arange(len(rule.nodes))
    if rule.positions is not None and len(rule.nodes) > 1 and method == "quadrature":
        if len(request.y) > _FEW:
            positions, weights = gauss_rule(rule.positions, shares, request.nodes.kernel)
            return exact_nodes(request, rule.stretch(positions), weights)
        # few points leave a posterior with long tails, which polynomials do not follow: the rule itself, only coarser
        chosen = _every(rule.positions, _COARSE)
    total = shares[chosen].sum()
    return tuple(
        node_of(request, rule.nodes[k].kernel, float(shares[k] / total), rule.nodes[k].integral)
        for k in chosen
        if shares[k] > 1e-6 * total
    )


def _every(positions: Array, longest: float) -> AnyArray:
    """Nodes of a coarser grid of equal steps, none longer than this."""
    step = float(np.diff(positions).min())
    stride = 2 ** max(int(np.floor(np.log2(longest / step))), 0)
    return np.flatnonzero(np.round((positions - positions[0]) / step).astype(int) % stride == 0)


def by_laplace(request: Request, record: dict[str, Any]) -> HyperPosterior:
    """Laplace's method over all hyperparameters with the exact Hessian."""
    modes = request.modes
    mode = modes[0]
    missed = float(np.exp(logsumexp([m.log_mass for m in modes[1:]]) - mode.log_mass)) if len(modes) > 1 else 0.0
    if missed > 0.05:
        warn(
            f"The posterior has {len(modes)} modes, and together the others carry {missed:.0%} as much mass as the "
            "best one, which Laplace's "
            'method leaves out; method="quadrature" does not.',
            BayesLSSVMWarning,
        )
    warn_of_tail(tail_of_gamma(request, mode.position, mode.log_mass))
    factor = factor_in_order(mode.covariance, request.density.ordered()[1])
    dimension = len(mode.position)

    def draw(uniforms: Array) -> Array:
        return np.asarray(mode.position + norm.ppf(np.clip(uniforms, 1e-15, 1.0 - 1e-15)) @ factor.T)

    z = norm.ppf(quasi_uniform(dimension, _GAUSSIAN_NODES))
    z -= z.mean(axis=0)
    z = np.linalg.solve(np.linalg.cholesky(z.T @ z / len(z)), z.T).T  # mean and covariance are exact
    return request.posterior(
        "laplace",
        log_evidence=mode.log_mass,
        log_evidence_error=np.nan,
        nodes=with_gamma(mode.position + z @ factor.T),
        weights=np.full(len(z), 1.0 / len(z)),
        sampler=Sampler(draw, dimension, draw),
        provenance=record,
        diagnostics={"n_modes": len(modes), "modes": [m.position.tolist() for m in modes], "missed_mass": missed},
        make_prediction_nodes=lambda: _nodes_of_gaussian(request, mode.position, mode.covariance),
    )


def _nodes_of_gaussian(request: Request, mean: Array, covariance: Array) -> tuple[PredictionNode, ...]:
    if request.n_kernel == 0:
        return (PredictionNode(request.kernel, 1.0, rows_of_gaussian(mean, covariance)),)
    if request.n_kernel == 1:
        nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE)
        z = nodes[:, None]
    else:
        z, log_weights = design(request.n_kernel, 1.1)
        weights = np.exp(log_weights - 0.5 * (z**2).sum(axis=1))
    factor = factor_in_order(covariance[2:, 2:], request.density.ordered()[1][2:] - 2)
    gain = np.linalg.solve(covariance[2:, 2:], covariance[2:, :2]).T
    given = covariance[:2, :2] - gain @ covariance[2:, :2]
    found = []
    for row, weight in zip(z @ factor.T, weights / weights.sum(), strict=True):
        kernel = request.kernel.with_log_params(mean[2:] + row)
        found.append(PredictionNode(kernel, float(weight), rows_of_gaussian(mean[:2] + gain @ row, given)))
    return tuple(found)
