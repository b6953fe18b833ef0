"""Methods by draws: importance sampling, and NUTS on the evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import BayesLSSVMWarning, warn
from ...base.typing import Array
from ...sampling.bridge import BridgeEstimate, bridge
from ...sampling.diagnostics import Thresholds, diagnose
from ..export import Chains
from ..posterior import HyperPosterior, with_gamma
from ..predictions import PredictionNode, gauss_rule, rows_of_draws
from ..request import Request, exact_nodes, tail_of_gamma
from ..rules.cut import warn_of_tail
from .collapsed import CollapsedDraws, collapsed_nuts
from .importance import importance

_MOST_KERNELS = 48  # over which draws of several kernel parameters are averaged in predictions
_MOST_ROWS = 256
_FEWEST_EFFECTIVE = 100.0
_ONE_IN = 1000  # trajectories may diverge where there are jumps of kernel parameters
_MOST_EXACT = 1000  # draws for the evidence, where each costs a factorisation


def by_importance(request: Request, record: dict[str, Any]) -> HyperPosterior:
    """Student proposals at the modes with Pareto-smoothed weights."""
    request.prior.require_proper(request.n_kernel, "importance")
    modes = request.modes
    draws = request.draws if request.draws is not None else (4000 if request.n_kernel == 0 else 1000)
    rng = np.random.default_rng(request.seed)
    found = importance(request.density, modes, draws=draws, rng=rng, progress=request.progress)
    if found.effective_size < _FEWEST_EFFECTIVE:
        warn(
            f"{draws} draws are worth only {found.effective_size:.0f} independent ones: the proposal is unlike the "
            'posterior, or the draws are few; use method="quadrature" or "nuts", more draws or a narrower prior.',
            BayesLSSVMWarning,
        )
    elif found.k_hat > 0.7:
        warn(
            f"Pareto k̂ is {found.k_hat:.2f} (above 0.7): the proposal misses part of the posterior, "
            'so the weights and the evidence cannot be trusted; use method="quadrature" or "nuts".',
            BayesLSSVMWarning,
        )
    tail = tail_of_gamma(request, modes[0].position, found.log_evidence)
    warn_of_tail(tail)
    weights = np.exp(found.log_weights)
    return request.posterior(
        "importance",
        log_evidence=found.log_evidence,
        log_evidence_error=found.error + float(np.log1p(tail)),
        tail=tail,
        nodes=with_gamma(found.points),
        weights=weights / weights.sum(),
        provenance=record,
        diagnostics={
            "k_hat": found.k_hat_of_modes,
            "k_hat_of_weights": found.k_hat,
            "effective_size": found.effective_size,
            "n_modes": len(modes),
        },
        make_prediction_nodes=lambda: nodes_of_draws(request, found.points, weights / weights.sum()),
    )


def nodes_of_draws(request: Request, points: Array, weights: Array) -> tuple[PredictionNode, ...]:
    """Kernels that stand for the draws: a Gauss rule of one parameter, a random selection of several."""
    if request.n_kernel == 1:
        return exact_nodes(request, *gauss_rule(points[:, 2], weights, request.nodes.kernel))
    # evenly spaced in the cumulated weights: heavy draws are taken more than once, none is favoured
    most = _MOST_ROWS if request.n_kernel == 0 else _MOST_KERNELS
    chosen = np.searchsorted(np.cumsum(weights)[:-1], (np.arange(most) + 0.5) / most)
    if request.n_kernel == 0:
        rows = rows_of_draws(points[chosen, 0], points[chosen, 1], np.ones(most))
        return (PredictionNode(request.kernel, 1.0, rows),)
    distinct, counts = np.unique(chosen, return_counts=True)
    return exact_nodes(request, points[distinct, 2:], counts.astype(float))


def by_nuts(request: Request, record: dict[str, Any]) -> HyperPosterior:
    """NUTS on the evidence, the weights and the bias integrated out, and the evidence from its draws by a bridge."""
    request.prior.require_proper(request.n_kernel, "nuts")
    found = collapsed_nuts(
        request.X,
        request.y,
        request.kernel,
        request.prior.components(request.n_kernel),
        weights=request.weights,
        fixed_kernel=request.fixed_kernel,
        chains=request.chains,
        warmup=request.warmup,
        draws=1000 if request.draws is None else request.draws,
        seed=request.whole_seed,
        progress=request.progress,
    )
    diagnostics = diagnose(
        {name: found.points[..., i] for i, name in enumerate(request.density.names)},
        diverging=found.diverging,
        energy=found.energy,
        tree_depth_hits=found.at_max_depth,
        acceptance=found.accept,
        # in the far tails where only jumps lead, a trajectory may diverge: it ends there, and jumps lead out again
        thresholds=Thresholds(divergences=found.diverging.size // _ONE_IN if request.n_kernel > 1 else 0),
    )
    if request.check:
        diagnostics.require()
    else:
        diagnostics.warn()
    warn_of_tail(found.tail)
    weights = np.exp(found.log_weights.ravel() - found.log_weights.max())
    weights /= weights.sum()
    points = found.points.reshape(-1, found.points.shape[2])
    estimate = _bridged(request, found, points, weights)
    statistics = {
        "lp": found.log_density,
        "diverging": found.diverging,
        "energy": found.energy,
        "n_steps": found.steps,
        "tree_depth": found.tree_depth,
        "acceptance_rate": found.accept,
    }
    return request.posterior(
        "nuts",
        log_evidence=estimate.log_z,
        log_evidence_error=estimate.standard_error + float(np.log1p(found.tail)),
        tail=found.tail,
        nodes=with_gamma(points),
        weights=weights,
        provenance=record,
        diagnostics={
            "chains": diagnostics.as_dict(),
            "bridge": estimate.diagnostics,
            "correction": found.correction._asdict(),
            "n_kernels": found.n_reductions,
        },
        chains=Chains(found.points, statistics),
        make_prediction_nodes=lambda: nodes_of_draws(request, points, weights),
    )


def _bridged(request: Request, found: CollapsedDraws, points: Array, weights: Array) -> BridgeEstimate:
    """The evidence, from a density that is cheap to evaluate, or from fewer draws of the exact one."""
    if request.n_kernel <= 1 and not found.correction.corrected:
        return bridge(found.points, found.log_density_at, seed=request.whole_seed)
    if found.correction.corrected:
        chosen = np.searchsorted(np.cumsum(weights)[:-1], (np.arange(_MOST_EXACT) + 0.5) / _MOST_EXACT)
        draws = points[np.sort(chosen)][None]
    else:
        step = max(1, -(-len(points) // _MOST_EXACT))
        draws = found.points[:, ::step]
    return bridge(draws, request.density.values, seed=request.whole_seed)
