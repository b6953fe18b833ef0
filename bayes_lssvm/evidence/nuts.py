"""NUTS on a NumPyro model in coordinates that a Gaussian at its mode whitens.

    x = m + L z,        z sampled by NUTS

With m the mode and LLᵀ the inverse of minus the Hessian there, a posterior that Laplace's method describes well is a
standard Gaussian in z, and warm-up is short. Without a mode m = 0 and L = I, and NUTS adapts as usual.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.streams import stream
from ..base.typing import Array
from ..sampling.diagnostics import Diagnostics, Thresholds, diagnose
from ..sampling.precision import double_precision
from .laplace import Mode
from .numpyro_model import UnconstrainedModel

MAX_TREE_DEPTH = 10
_CHAINS_KEY = 0xC4A1  # key of the stream of the chains
_DISPERSION = 1.5  # of the starting points around modes, in standard deviations


class NutsDraws(NamedTuple):
    """Draws after warm-up.

    Attributes
    ----------
    points : array of shape (chains, draws, d)
        Unconstrained parameters.
    diagnostics : Diagnostics
        Of each of them, with the sampler's own.
    """

    points: Array
    diagnostics: Diagnostics


def nuts(
    density: UnconstrainedModel,
    modes: Sequence[Mode] = (),
    *,
    seed: int,
    chains: int = 4,
    warmup: int = 500,
    draws: int = 1000,
    target_accept: float = 0.9,
    progress: bool = True,
    thresholds: Thresholds | None = None,
) -> NutsDraws:
    """Draw from the posterior of a model.

    Parameters
    ----------
    density : UnconstrainedModel
    modes : sequence of Mode
        The first one whitens; chains start around all of them in turn, and at random points if there is none.
    seed : int
        Of a stream of its own.
    chains, warmup, draws : int
        Chains, steps of adaptation of each, and draws of each after them.
    target_accept : float
    progress : bool
        Show a bar, on a terminal.
    thresholds : Thresholds, optional
        What the chains are checked against.
    """
    d = density.dim
    m, L = (modes[0].position, np.linalg.cholesky(modes[0].covariance)) if modes else (np.zeros(d), np.eye(d))
    z = np.linalg.solve(L, (_starts(density, modes, chains, seed) - m).T).T
    with double_precision("NUTS"):
        import jax
        import jax.numpy as jnp
        from numpyro.infer import MCMC, NUTS

        shift, scale = jnp.asarray(m), jnp.asarray(L)

        def potential(z: Any) -> Any:
            return density.potential(shift + scale @ z)

        kernel = NUTS(potential_fn=potential, target_accept_prob=target_accept, max_tree_depth=MAX_TREE_DEPTH)
        run = MCMC(
            kernel,
            num_warmup=warmup,
            num_samples=draws,
            num_chains=chains,
            chain_method="vectorized",
            progress_bar=progress and sys.stderr.isatty(),
        )
        key = jax.random.fold_in(jax.random.key(seed), _CHAINS_KEY)
        start = jnp.asarray(z if chains > 1 else z[0])
        run.run(key, init_params=start, extra_fields=("diverging", "energy", "num_steps", "accept_prob"))
        drawn = np.asarray(run.get_samples(group_by_chain=True))
        extra = {name: np.asarray(v) for name, v in run.get_extra_fields(group_by_chain=True).items()}
    points = m + drawn @ L.T
    diagnostics = diagnose(
        {name: points[..., i] for i, name in enumerate(density.names)},
        diverging=extra["diverging"],
        energy=extra["energy"],
        tree_depth_hits=extra["num_steps"] >= 2**MAX_TREE_DEPTH - 1,
        acceptance=extra["accept_prob"],
        thresholds=thresholds,
    )
    return NutsDraws(points, diagnostics)


def _starts(density: UnconstrainedModel, modes: Sequence[Mode], chains: int, seed: int) -> Array:
    """Starting points of finite density, of shape (chains, d): spread around the modes, or at random."""
    if not modes:
        candidates = density.starts(20 * chains, seed)
    else:
        rng = stream(seed, "starts of chains")
        factors = [np.linalg.cholesky(mode.covariance) for mode in modes]
        noise = _DISPERSION * rng.standard_normal((20 * chains, density.dim))
        candidates = np.stack(
            [modes[i % len(modes)].position + factors[i % len(modes)] @ row for i, row in enumerate(noise)]
        )
    finite = candidates[np.isfinite(density.log_density(candidates))]
    if len(finite) < chains:
        raise ValueError(
            f"The log density is finite at {len(finite)} of {len(candidates)} starting points, too few to start "
            "the chains. Look for extreme values in the data, and for priors that allow impossible parameters."
        )
    return finite[:chains]
