"""The Gaussian process classifier with a Bernoulli likelihood, which paper 0 compares with in section 7.1.

    log μ, log θ ~ prior;   b ~ Normal(0, v);   f ~ Normal(b, (K_θ + εI)/μ);   P(y = +1) = 1/(1 + e^{−f})

f is sampled through independent normals η, f = b + L η/√μ with L Lᵀ = K_θ + εI, so that its scale and its width can
move without the latent values resisting. At a new point f_* is Gaussian given θ, μ, b and η,

    mean b + aᵀη/√μ,   variance (K(x, x) + ε − aᵀa)/μ,   a = L⁻¹ K(X, x),

and the probability is the mean of the logistic function over it, by Gauss–Hermite quadrature, averaged over the draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.linalg import solve_triangular
from numpy.polynomial.hermite_e import hermegauss

from bayes_lssvm.base.errors import require_positive
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import Kernel
from bayes_lssvm.priors import HyperPrior, LogPrior, as_hyper_prior
from models.data import checked_inputs, checked_labels
from models.kernels import FixedPart, fixed_diagonal, fixed_part, matrix
from models.log_density import double_precision
from models.priors import sample_bias, sample_kernel_parameters, to_numpyro

_NODES = 64


@dataclass(frozen=True)
class BernoulliGP:
    """The program; call it with `data(X, y)`.

    Parameters
    ----------
    kernel : Kernel
        Its parameters are sampled, unless `fixed_kernel`.
    prior : HyperPrior, LogPrior or None
        Of log μ (1/μ is the latent variance) and the kernel's log parameters; there is no ζ.
    fixed_kernel : bool
        Hold the kernel's parameters.
    bias_variance : float
        v of b ~ Normal(0, v), on the scale of log odds.
    jitter : float
        ε, relative to the kernel: what keeps L finite where K is singular to working precision.
    """

    kernel: Kernel
    prior: HyperPrior | LogPrior | None = field(default_factory=HyperPrior)
    fixed_kernel: bool = False
    bias_variance: float = 10.0
    jitter: float = 1e-6

    def __post_init__(self) -> None:
        prior = as_hyper_prior(self.prior)
        HyperPrior(mu=prior.mu, kernel=prior.kernel).require_proper(len(self.sampled_params), "nuts")
        require_positive("The variance of the bias", self.bias_variance)
        require_positive("The jitter", self.jitter)
        object.__setattr__(self, "prior", prior)

    @property
    def sampled_params(self) -> tuple[str, ...]:
        """Names of the kernel's parameters that are sampled."""
        return () if self.fixed_kernel else self.kernel.param_names

    def data(self, X: Array, y: Array) -> tuple[FixedPart, Array]:
        """What the kernel needs of the inputs, and labels 0 and 1 from −1 and +1."""
        X = checked_inputs(X)
        self.kernel.check_width(X.shape[1])
        return fixed_part(self.kernel, X, X), (checked_labels(y, len(X)) + 1.0) / 2.0

    def factor(self, log_theta: jax.Array, inputs: FixedPart) -> jax.Array:
        """L of shape (N, N), at the kernel's own parameters if they are held."""
        if self.fixed_kernel:
            log_theta = jnp.asarray(self.kernel.log_params)
        K = matrix(self.kernel, log_theta, inputs)
        return jnp.linalg.cholesky(K + self.jitter * jnp.eye(len(K)))

    def __call__(self, inputs: FixedPart, y: jax.Array | None = None) -> None:
        """The generative program; without y it draws labels 0 and 1."""
        assert isinstance(self.prior, HyperPrior)
        log_mu = numpyro.sample("log_mu", to_numpyro(self.prior.mu))
        log_theta = sample_kernel_parameters(self.prior, self.sampled_params)
        b = sample_bias(self.bias_variance)
        L = self.factor(log_theta, inputs)
        eta = numpyro.sample("eta", dist.Normal(0.0, 1.0).expand([len(L)]).to_event(1))
        f = numpyro.deterministic("f", b + jnp.exp(-0.5 * log_mu) * (L @ eta))
        numpyro.sample("y", dist.Bernoulli(logits=f).to_event(1), obs=y)

    def predict_proba(self, draws: Mapping[str, AnyArray], X: Array, X_new: Array, *, thin: int = 1) -> Array:
        """[P(y=−1 | x, D), P(y=+1 | x, D)] at each row of X_new, averaged over every `thin`-th draw.

        Parameters
        ----------
        draws : dict of arrays of shape (chains, draws, …)
            The posterior's, from `sample`.
        X : array of shape (N, d)
            The training inputs.
        """
        if thin < 1:
            raise ValueError(f"thin must be 1 or more, got {thin!r}.")
        X, X_new = checked_inputs(X), np.asarray(X_new, dtype=float)
        if X_new.ndim != 2 or X_new.shape[1] != X.shape[1] or not np.isfinite(X_new).all():
            raise ValueError(f"New inputs must be finite and of shape (n, {X.shape[1]}), got {X_new.shape}.")
        kept = {name: np.asarray(v)[:, ::thin].reshape(-1, *np.shape(v)[2:]) for name, v in draws.items()}
        theta = [kept[f"log_{name}"] for name in self.sampled_params]
        log_theta = np.stack(theta, axis=1) if theta else np.zeros((len(kept["b"]), 0))
        with double_precision():
            own = fixed_part(self.kernel, X, X)
            cross, diagonal = fixed_part(self.kernel, X, X_new), fixed_diagonal(self.kernel, X_new)
            columns = (log_theta, kept["log_mu"], kept["b"], kept["eta"])
            positive = np.asarray(_averaged(self, own, cross, diagonal, jax.tree.map(jnp.asarray, columns)))
        return np.stack([1.0 - positive, positive], axis=1)


def _averaged(
    program: BernoulliGP, own: FixedPart, cross: FixedPart, diagonal: FixedPart, columns: tuple[jax.Array, ...]
) -> jax.Array:
    nodes, weights = hermegauss(_NODES)

    def one(row: tuple[jax.Array, ...]) -> jax.Array:
        log_theta, log_mu, b, eta = row
        if program.fixed_kernel:
            log_theta = jnp.asarray(program.kernel.log_params)
        a = solve_triangular(program.factor(log_theta, own), matrix(program.kernel, log_theta, cross), lower=True)
        sd = jnp.exp(-0.5 * log_mu)
        mean = b + sd * (a.T @ eta)  # [n]
        variance = matrix(program.kernel, log_theta, diagonal) + program.jitter - (a**2).sum(axis=0)
        spread = sd * jnp.sqrt(jnp.maximum(variance, 0.0))
        return jax.nn.sigmoid(mean[:, None] + spread[:, None] * nodes) @ (weights / weights.sum())

    probabilities: jax.Array = jax.jit(lambda rows: jax.lax.map(one, rows).mean(axis=0))(columns)
    return probabilities
