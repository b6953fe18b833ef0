"""Densities that the estimators integrate: a likelihood and a proper prior, in unconstrained parameters.

The one that this project is about is the LS-SVM's evidence with weights and bias integrated out,

    log p(D | μ, ζ, θ) = −½ log N + Σ log Normal(t_i; 0, λ_i/μ + 1/ζ)

over (log μ, log ζ), or over the logs of the kernel's parameters θ too, at one tridiagonal reduction a value of θ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from bayes_lssvm.base.progress import tqdm
from bayes_lssvm.base.provenance import data_hash
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Kernel
from bayes_lssvm.levels.level2 import log_evidences
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction
from bayes_lssvm.priors import Box, HyperPrior, LogPrior, Normal, as_hyper_prior

Density = Callable[[Array], Array]
_BAR_FROM = 500  # kernels: fewer are done before a bar could be read


@dataclass(frozen=True)
class Target:
    """A posterior density with its parts.

    Attributes
    ----------
    names : tuple of str
        One for each of the d parameters.
    log_likelihood, log_prior : callable
        Map points of shape (m, d) to (m,), constants kept; the prior integrates to one over R^d.
    sample_prior : callable
        Maps (n, numpy Generator) to draws of shape (n, d).
    prior_transform : callable or None
        Maps points of the unit cube of shape (m, d) to the parameters, uniform to prior; nested sampling needs it.
    source : str
        What the target was made of, for provenance.
    """

    names: tuple[str, ...]
    log_likelihood: Density
    log_prior: Density
    sample_prior: Callable[[int, np.random.Generator], Array]
    prior_transform: Density | None = None
    source: str = ""

    @property
    def dim(self) -> int:
        """Number of parameters d."""
        return len(self.names)

    def log_density(self, x: Array) -> Array:
        """Log of likelihood times prior; the likelihood is not asked where the prior is zero."""
        total = np.array(self.log_prior(x), dtype=float)
        inside = np.isfinite(total)
        if np.any(inside):
            total[inside] += self.log_likelihood(x[inside])
        return total


def lssvm_target(
    X: Array, y: Array, kernel: Kernel, *, prior: HyperPrior | LogPrior | None = None, fixed_kernel: bool = False
) -> Target:
    """The LS-SVM's hyperparameters with weights and bias integrated out.

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
    kernel : Kernel
    prior : HyperPrior, LogPrior or None
        Proper priors of the log parameters; Normal(0, 3) each by default.
    fixed_kernel : bool
        Hold the kernel's parameters: the target is over (log μ, log ζ).
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    hyper_prior, n_kernel = as_hyper_prior(prior), 0 if fixed_kernel else kernel.log_params.size
    # the parts that are used: with a fixed kernel its prior has no say
    mu, zeta = hyper_prior.mu, hyper_prior.zeta
    hyper_prior = HyperPrior(mu, zeta, () if n_kernel == 0 else hyper_prior.kernel)
    hyper_prior.require_proper(n_kernel, "evidence estimators")
    parts = hyper_prior.components(n_kernel)

    if n_kernel == 0:
        spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)

        def log_likelihood(x: Array) -> Array:
            return log_evidences(spectrum, x[:, 0], x[:, 1])
    else:

        def log_likelihood(x: Array) -> Array:
            values = np.empty(len(x))
            thetas, which = np.unique(x[:, 2:], axis=0, return_inverse=True)
            hidden = None if len(thetas) >= _BAR_FROM else True
            for i, theta in enumerate(tqdm(thetas, desc="kernels reduced", leave=False, disable=hidden)):
                reduction = TridiagonalReduction.from_kernel_matrix(kernel.with_log_params(theta)(X), y)
                rows = which.ravel() == i
                values[rows] = log_evidences(reduction, x[rows, 0], x[rows, 1])
            return values

    def sample_prior(n: int, rng: np.random.Generator) -> Array:
        return np.column_stack([part.sample(n, rng) for part in parts])

    return Target(
        names=("log_mu", "log_zeta", *(f"log_{name}" for name in kernel.param_names[:n_kernel])),
        log_likelihood=log_likelihood,
        log_prior=hyper_prior.log_density,
        sample_prior=sample_prior,
        prior_transform=_transform_of(parts),
        source=f"LS-SVM {kernel!r}, {hyper_prior!r}, data {data_hash(X, y)[:12]}",
    )


def _transform_of(parts: tuple[LogPrior, ...]) -> Density | None:
    """Quantile functions of the parts side by side, where all are known."""
    if not all(isinstance(part, Normal | Box) for part in parts):
        return None

    def quantile(part: LogPrior, u: Array) -> Array:
        if isinstance(part, Normal):
            return np.asarray(part.mean + part.sd * ndtri(u))
        low, high = part.support
        return low + (high - low) * u

    def transform(u: Array) -> Array:
        return np.stack([quantile(part, u[..., i]) for i, part in enumerate(parts)], axis=-1)

    return transform


def settings_of(target: Target, **settings: Any) -> dict[str, Any]:
    """The settings of a run on a target, for its provenance."""
    return {"target": target.source, "parameters": ", ".join(target.names), **settings}
