"""Draws of the programs as ArviZ data, with the groups that `HyperPosterior.to_arviz` has.

A program's draws of log μ, log ζ and the kernel's log parameters are taken as they are, and its chains with their
statistics. What ArviZ asks for beside them, latent values with pointwise log likelihoods, replicated targets, draws
from the prior, is drawn given these as for the library's own posteriors: the programs have the weights, or the latent
function, integrated out or rotated, and ArviZ needs one log likelihood for each target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Kernel
from bayes_lssvm.marginal.export import Chains, PosteriorState
from bayes_lssvm.marginal.groups import to_datatree
from bayes_lssvm.priors import HyperPrior, LogPrior, as_hyper_prior
from models.data import checked_inputs, checked_targets
from models.sampling import Sampled

if TYPE_CHECKING:
    from xarray import DataTree


def to_arviz(
    sampled: Sampled,
    kernel: Kernel,
    X: Array,
    y: Array,
    *,
    prior: HyperPrior | LogPrior | None = None,
    seed: int = 0,
) -> DataTree:
    """A DataTree of the draws of `WeightSpace` or `GaussianProcess`.

    Parameters
    ----------
    sampled : Sampled
        With sites log_mu and log_zeta, and those of the kernel's parameters that were free.
    kernel : Kernel
        Its parameters where they were held; otherwise the draws say them.
    X, y : arrays
        The data that the program was given.
    prior : HyperPrior, LogPrior or None
        The program's.
    seed : int
        Of latent values, replicated targets and draws from the prior.
    """
    missing = [name for name in ("log_mu", "log_zeta") if name not in sampled.draws]
    if missing:
        raise ValueError(f"The draws have no {' and no '.join(missing)}: this is for programs with Gaussian noise.")
    X = checked_inputs(X)
    y = checked_targets(y, len(X))
    free = [f"log_{name}" for name in kernel.param_names if f"log_{name}" in sampled.draws]
    names = ("log_mu", "log_zeta", *free)
    points = np.stack([np.asarray(sampled.draws[name], dtype=float) for name in names], axis=-1)
    state = PosteriorState(
        method="nuts",
        kernel=kernel,
        prior=as_hyper_prior(prior),
        log_evidence=np.nan,
        log_evidence_error=np.nan,
        names=(*names[:2], "log_gamma", *free),
        nodes=np.empty((0, len(names) + 1)),
        weights=np.empty(0),
        X=X,
        y=y,
        provenance=sampled.provenance,
        diagnostics=sampled.diagnostics.as_dict(),
    )
    statistics = {**sampled.stats, "lp": sampled.log_density}
    return to_datatree(state, Chains(points, statistics), np.random.default_rng(seed))
