"""Weight space with the kernel's parameters free: features that move with σ.

    log μ, log ζ, log θ ~ prior;   w ~ Normal(0, I/μ);   b flat or Normal(0, v);   y ~ Normal(Φ_θ w + b, I/ζ)

Φ_θ is a map of `feature_maps`: exact, or with an error that can be measured. w and b are sampled through `whitening`,
or (`whitened=False`) as z = √μ w and b themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from bayes_lssvm.base.errors import require_positive
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.priors import HyperPrior, LogPrior, as_hyper_prior
from models.data import checked_inputs, checked_targets
from models.feature_maps import Exact, FeatureMap
from models.kernels import FixedPart
from models.priors import sample_bias, sample_kernel_parameters, to_numpyro
from models.whitening import dense, sample_through

_LEAST_NOISE = 1e-3  # share of 1/ζ that is left when the features' jitter is taken off


@dataclass(frozen=True)
class KernelWeightSpace:
    """The program; call it with `data(X, y)`.

    Parameters
    ----------
    features : FeatureMap
        `Exact(kernel)` for a few hundred rows; `Hilbert` or `Fourier` for more.
    prior : HyperPrior, LogPrior or None
        Of log μ, log ζ and the kernel's log parameters; proper.
    whitened : bool
        Sample weights and bias through the map of `whitening`.
    bias_variance : float or None
        v of b ~ Normal(0, v); None for a flat prior, p(b) = 1.
    """

    features: FeatureMap = field(default_factory=lambda: Exact(RBF(1.0)))
    prior: HyperPrior | LogPrior | None = field(default_factory=HyperPrior)
    whitened: bool = True
    bias_variance: float | None = None

    def __post_init__(self) -> None:
        prior = as_hyper_prior(self.prior)
        prior.require_proper(len(self.sampled_params), "nuts")
        if self.bias_variance is not None:
            require_positive("The variance of the bias", self.bias_variance)
        object.__setattr__(self, "prior", prior)

    @property
    def sampled_params(self) -> tuple[str, ...]:
        """Names of the kernel's parameters, all of which are sampled."""
        return self.features.kernel.param_names

    @property
    def hyperparameters(self) -> tuple[str, ...]:
        """The sites over which the posterior may have several modes."""
        return ("log_mu", "log_zeta", *(f"log_{name}" for name in self.sampled_params))

    def data(self, X: Array, y: Array) -> tuple[FixedPart, Array]:
        """What the features need of the inputs, and the targets: the arguments of the program."""
        X = checked_inputs(X)
        return self.features.fixed(X), checked_targets(y, len(X))

    def __call__(self, inputs: FixedPart, y: jax.Array | None = None) -> None:
        """The generative program; without y it draws the targets."""
        assert isinstance(self.prior, HyperPrior)
        log_mu = numpyro.sample("log_mu", to_numpyro(self.prior.mu))
        log_zeta = numpyro.sample("log_zeta", to_numpyro(self.prior.zeta))
        phi = self.features(sample_kernel_parameters(self.prior, self.sampled_params), inputs)  # [N, n_f]
        # Φ Φᵀ = K + εI has noise of variance ε/μ in it, which is part of 1/ζ
        noise = jnp.maximum(1.0 - self.features.jitter * jnp.exp(log_zeta - log_mu), _LEAST_NOISE)
        log_precision, n_f = log_zeta - jnp.log(noise), phi.shape[1]
        if self.whitened and y is not None:
            own = 0.0 if self.bias_variance is None else 1.0 / self.bias_variance
            to_weights = dense(phi, jnp.ones(len(phi)), y, log_mu, log_precision, own)
            z, b = sample_through(to_weights, n_f, self.bias_variance)
        else:
            z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([n_f]).to_event(1))
            b = sample_bias(self.bias_variance)
        w = numpyro.deterministic("w", jnp.exp(-0.5 * log_mu) * z)
        numpyro.sample("y", dist.Normal(phi @ w + b, jnp.exp(-0.5 * log_precision)).to_event(1), obs=y)
