"""`marginalise`: the posterior of the hyperparameters of a model on given data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.memory import keep_freed_matrices, require_matrices
from ..base.provenance import provenance
from ..base.threads import few_threads
from ..base.typing import Array
from ..kernels import Kernel, as_kernel
from ..priors import HyperPrior, LogPrior, as_hyper_prior
from .draws.methods import by_importance, by_nuts
from .posterior import HyperPosterior
from .request import Request
from .rules.methods import by_design, by_laplace, by_mackay, by_quadrature
from .surface import Surface, surface_of

METHODS: dict[str, Callable[[Request, dict[str, Any]], HyperPosterior]] = {
    "quadrature": by_quadrature,
    "mackay": by_mackay,
    "laplace": by_laplace,
    "importance": by_importance,
    "ccd": by_design,
    "nuts": by_nuts,
}


@few_threads
def marginalise(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    kernel: Kernel | str = "rbf",
    prior: HyperPrior | LogPrior | None = None,
    method: str = "quadrature",
    standardise: bool = True,
    task: str = "auto",
    fixed_kernel: bool = False,
    tolerance: float = 1e-6,
    draws: int | None = None,
    chains: int = 4,
    warmup: int = 500,
    check: bool = True,
    seed: int | np.random.Generator = 0,
    progress: bool = True,
) -> HyperPosterior:
    """Integrate μ, ζ and the kernel's parameters out.

    Parameters
    ----------
    X : array or table of shape (N, d)
    y : array of shape (N,)
        Two labels of any kind, or real numbers.
    sample_weight : array of shape (N,), optional
        Row i has the noise precision ζw_i; weight zero leaves it out.
    kernel : Kernel or str
        Its parameters are integrated out too, unless `fixed_kernel`; more than one of them by "laplace", "importance",
        "ccd" or "nuts" only.
    prior : HyperPrior, LogPrior or None
        Priors of the log parameters; Normal(0, 3) each by default. A flat one is for "laplace" only.
    method : {"quadrature", "mackay", "laplace", "importance", "ccd", "nuts"}
        Exact to the tolerance: "quadrature". Closed forms: "mackay" (5.2) and "laplace" (exact Hessian). By draws, with
        a Monte-Carlo error: "importance" and "nuts". A design for several kernel parameters: "ccd".
    standardise : bool
        Standardise the inputs, and real targets, as the estimators do; new inputs and predictions are in the units of
        the data, μ and ζ are for standardised targets. With False the kernel sees the inputs as they are.
    task : {"auto", "classification", "regression"}
        "auto": classification if the targets are text or have two values.
    fixed_kernel : bool
        Hold the kernel's parameters and integrate over μ and ζ only.
    tolerance : float
        Change of the log evidence, in nats, at which a rule is fine enough.
    draws : int or None
        For "importance" (4000, or 1000 where the kernel is free), and for each chain of "nuts" (1000).
    chains, warmup : int
        For "nuts".
    check : bool
        For "nuts": chains that fail a check are an error; with False, a warning.
    seed : int or Generator
        Of the draws; a generator, which "importance" uses up as it needs, is not for "nuts".
    progress : bool
        Show a progress bar on a terminal where the work is long.

    Returns
    -------
    HyperPosterior

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import marginalise
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(40, 1))
    >>> y = np.sinc(x[:, 0]) + 0.1 * rng.normal(size=40)
    >>> posterior = marginalise(x, y, kernel="rbf", tolerance=1e-3, progress=False)
    >>> posterior.method, sorted(posterior.mean())[:3]
    ('quadrature', ['gamma', 'log_gamma', 'log_mu'])
    """
    surface, (X, y, weights) = surface_of(X, y, sample_weight, standardise=standardise, task=task)
    return with_surface(
        surface,
        X,
        y,
        weights,
        kernel=kernel,
        prior=prior,
        method=method,
        fixed_kernel=fixed_kernel,
        tolerance=tolerance,
        draws=draws,
        chains=chains,
        warmup=warmup,
        check=check,
        seed=seed,
        progress=progress,
    )


def with_surface(
    surface: Surface,
    X: Array,
    y: Array,
    weights: Array | None = None,
    *,
    method: str = "quadrature",
    **options: Any,
) -> HyperPosterior:
    """The posterior on data as the model sees them, which came to it through this surface."""
    return integrated(request_of(surface, X, y, weights, **options), method)


def request_of(
    surface: Surface,
    X: Array,
    y: Array,
    weights: Array | None = None,
    *,
    kernel: Kernel | str,
    prior: HyperPrior | LogPrior | None = None,
    fixed_kernel: bool = False,
    tolerance: float = 1e-6,
    draws: int | None = None,
    chains: int = 4,
    warmup: int = 500,
    check: bool = True,
    seed: int | np.random.Generator = 0,
    progress: bool = True,
) -> Request:
    """What several methods may be asked for; the modes that some of them stand on are found once."""
    for name, value in (("draws", draws), ("chains", chains), ("warmup", warmup)):
        if value is not None and (not isinstance(value, int | np.integer) or value < 1):
            raise ValueError(f"{name} must be a positive whole number, got {value!r}.")
    require_matrices(len(X), 6, "Integrate on a random subset.")
    keep_freed_matrices(len(X))
    chosen, hyper_prior = as_kernel(kernel, X.shape[1]), as_hyper_prior(prior)
    options = (fixed_kernel, tolerance, draws, chains, warmup, check, seed, progress)
    return Request(X, y, chosen, hyper_prior, *options, surface, weights)


def integrated(request: Request, method: str) -> HyperPosterior:
    """The posterior by one method."""
    X, y, weights, seed = request.X, request.y, request.weights, request.seed
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    settings = {
        "kernel": request.kernel,
        "prior": request.prior,
        "method": method,
        "fixed_kernel": request.fixed_kernel,
        "tolerance": request.tolerance,
        "seed": "generator" if isinstance(seed, np.random.Generator) else seed,
    }
    found = METHODS[method](request, provenance(settings=settings, data=(X, y) if weights is None else (X, y, weights)))
    # the density of the targets, not of their standardised values; one dimension went to the bias
    scale = float(np.log(request.surface.target_scale))
    return replace(found, log_evidence=found.log_evidence - (len(y) - 1) * scale)
