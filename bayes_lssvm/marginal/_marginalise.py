"""`marginalise`: the posterior of the hyperparameters of a model on given data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_X_y

from .._errors import BayesLSSVMWarning, warn
from .._memory import require_matrices
from ..kernels import Kernel, as_kernel
from ..priors import HyperPrior, LogPrior, as_hyper_prior
from ..provenance import provenance
from ._kernel_quadrature import quadrature
from ._posterior import HyperPosterior

_METHODS = ("quadrature",)


def marginalise(
    X: Any,
    y: Any,
    *,
    kernel: Kernel | str = "rbf",
    prior: HyperPrior | LogPrior | None = None,
    method: str = "quadrature",
    fixed_kernel: bool = False,
    tolerance: float = 1e-7,
    progress: bool = True,
) -> HyperPosterior:
    """Integrate μ, ζ and the kernel's parameter out.

    Parameters
    ----------
    X : array of shape (N, d)
        Inputs as the kernel shall see them (standardised, as a rule).
    y : array of shape (N,)
        Targets: ±1 for classes, real numbers for regression.
    kernel : Kernel or str
        With one parameter at most, unless `fixed_kernel`.
    prior : HyperPrior, LogPrior or None
        Priors of the log parameters; Normal(0, 3) each by default.
    method : {"quadrature"}
    fixed_kernel : bool
        Hold the kernel's parameters and integrate over μ and ζ only.
    tolerance : float
        Change of the log evidence, in nats, at which the rule is fine enough.
    """
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(_METHODS)}, got {method!r}.")
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
    y = np.asarray(y, dtype=float)
    require_matrices(len(X), 6, "Integrate on a random subset.")
    chosen, hyper_prior = as_kernel(kernel, X.shape[1]), as_hyper_prior(prior)
    rule = quadrature(X, y, chosen, hyper_prior, fixed_kernel=fixed_kernel, tolerance=tolerance, progress=progress)
    if rule.tail > 1e-6:
        warn(
            f"The integrand is still {rule.tail:.1e} of its maximum at an end of the range, so the log evidence misses "
            "a tail; a narrower prior would cut it.",
            BayesLSSVMWarning,
        )
    elif rule.error > 10.0 * tolerance:
        warn(
            f"The quadrature stopped at an error of about {rule.error:.1e} nats (wanted {tolerance:.1e}): the evidence "
            "is not smooth in the kernel's parameter on these data.",
            BayesLSSVMWarning,
        )
    settings = {"kernel": chosen, "prior": hyper_prior, "method": method, "tolerance": tolerance}
    integrated = () if fixed_kernel else chosen.param_names
    record = provenance(settings=settings, data=(X, y))
    return HyperPosterior.from_quadrature(rule, integrated, hyper_prior, X, y, record)
