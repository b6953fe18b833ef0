"""The model in function space: a Gaussian process with noise.

    log μ, log ζ, log θ ~ prior;   b flat or Normal(0, v);   y ~ Normal(b, K_θ/μ + I/ζ)

The plain program: a covariance matrix and its Cholesky factor at every step. The kernel's parameters θ (σ, the scales
of ARD, …) are sampled, or held. b is a site like the others: integrated into the covariance as v·11ᵀ, a broad prior
would make the matrix numerically indefinite from v ≈ 10⁴ on. A wide kernel is nearly a constant, so that b is the less
known the wider it is: with `whitened_bias` the site is u of b = b̂ + u/√(1ᵀC⁻¹1 + 1/v), b̂ the weighted mean of the
targets under C = K_θ/μ + I/ζ (`whitening`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.linalg import solve_triangular

from bayes_lssvm.base.errors import require_positive
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Kernel, check_positive_semidefinite
from bayes_lssvm.priors import HyperPrior, LogPrior, as_hyper_prior
from models.data import checked_inputs, checked_targets
from models.kernels import FixedPart, fixed_part, gram, matrix
from models.priors import sample_bias, sample_kernel_parameters, to_numpyro
from models.whitening import sample_through


@dataclass(frozen=True)
class GaussianProcess:
    """The program; call it with `data(X, y)`.

    Parameters
    ----------
    kernel : Kernel
        Its parameters are sampled, and their values here do not matter, unless `fixed_kernel`.
    prior : HyperPrior, LogPrior or None
        Of log μ, log ζ and the kernel's log parameters; proper.
    fixed_kernel : bool
        Hold the kernel's parameters; any kernel will do then.
    bias_variance : float or None
        v of b ~ Normal(0, v); None for a flat prior, p(b) = 1.
    whitened_bias : bool
        Sample b in the coordinate of its posterior given the hyperparameters.
    """

    kernel: Kernel
    prior: HyperPrior | LogPrior | None = field(default_factory=HyperPrior)
    fixed_kernel: bool = False
    bias_variance: float | None = None
    whitened_bias: bool = False

    def __post_init__(self) -> None:
        prior = as_hyper_prior(self.prior)
        prior.require_proper(len(self.sampled_params), "nuts")
        if self.bias_variance is not None:
            require_positive("The variance of the bias", self.bias_variance)
        object.__setattr__(self, "prior", prior)

    @property
    def sampled_params(self) -> tuple[str, ...]:
        """Names of the kernel's parameters that are sampled."""
        return () if self.fixed_kernel else self.kernel.param_names

    @property
    def whitened(self) -> bool:
        """There are no weights that could stand in the way."""
        return True

    @property
    def hyperparameters(self) -> tuple[str, ...]:
        """The sites over which the posterior may have several modes: all of them, but for a whitened b."""
        bias = () if self.whitened_bias else ("b",)
        return ("log_mu", "log_zeta", *(f"log_{name}" for name in self.sampled_params), *bias)

    def data(self, X: Array, y: Array) -> tuple[FixedPart, Array]:
        """What the kernel needs of the inputs, and the targets: the arguments of the program."""
        X = checked_inputs(X)
        y = checked_targets(y, len(X))
        self.kernel.check_width(X.shape[1])
        if not self.fixed_kernel:
            return fixed_part(self.kernel, X, X), y
        K = gram(self.kernel, X)
        check_positive_semidefinite(self.kernel, K)
        return K, y

    def __call__(self, inputs: FixedPart, y: jax.Array | None = None) -> None:
        """The generative program; without y it draws the targets."""
        assert isinstance(self.prior, HyperPrior)
        log_mu = numpyro.sample("log_mu", to_numpyro(self.prior.mu))
        log_zeta = numpyro.sample("log_zeta", to_numpyro(self.prior.zeta))
        log_theta = sample_kernel_parameters(self.prior, self.sampled_params)
        K = inputs if self.fixed_kernel else matrix(self.kernel, log_theta, inputs)  # [N, N]
        covariance = K * jnp.exp(-log_mu) + jnp.exp(-log_zeta) * jnp.eye(len(K))
        L = jnp.linalg.cholesky(covariance)
        whiten = self.whitened_bias and y is not None
        b = self._bias_through(L, jnp.asarray(y)) if whiten else sample_bias(self.bias_variance)
        numpyro.sample("y", dist.MultivariateNormal(b * jnp.ones(len(K)), scale_tril=L), obs=y)

    def _bias_through(self, L: jax.Array, y: jax.Array) -> jax.Array:
        """The site u, and b through its map."""
        own = 0.0 if self.bias_variance is None else 1.0 / self.bias_variance
        ones, targets = solve_triangular(L, jnp.column_stack([jnp.ones(len(y)), y]), lower=True).T
        precision = ones @ ones + own

        def to_bias(u: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
            return jnp.zeros(0), (ones @ targets) / precision + u[0] * precision**-0.5, -0.5 * jnp.log(precision)

        return sample_through(to_bias, 0, self.bias_variance)[1]
