"""The model in weight space: a linear model in features φ(x) with Gaussian weights.

    log μ, log ζ ~ prior;   w ~ Normal(0, I/μ);   b flat or Normal(0, v);   y ~ Normal(Φw + b, I/ζ)

Φ is the kernel's explicit feature map (linear, polynomial) or its empirical one: any factor Φ Φᵀ = K(X, X) gives the
same distribution of the latent values at the data. Noise of equal variance stays so under a rotation, so the data can
be rotated by Qᵀ of [Φ 1] = QR: the first n_f + 1 targets then have mean R [w; b], the others mean 0. The density is
the same, and a step costs O(n_f² + N) instead of O(N n_f).

`centred=True` samples w itself, which suits few weights and informative data; `centred=False` samples z = w √μ, which
suits many weights and weak signals; `whitened=True` samples them through the map of `whitening`, which suits both: the
features are rotated to orthogonal columns first, after which a step costs O(N).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayes_lssvm.base.errors import require_positive
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Kernel, check_positive_semidefinite
from bayes_lssvm.priors import HyperPrior, LogPrior, as_hyper_prior
from models.data import checked_inputs, checked_targets
from models.kernels import gram
from models.priors import sample_bias, to_numpyro
from models.whitening import orthogonal, sample_through


def features(kernel: Kernel, X: Array, *, empirical: bool = False) -> Array:
    """Feature vectors of the inputs, of shape (N, n_f), with Φ Φᵀ = K(X, X).

    Parameters
    ----------
    empirical : bool
        Take V √λ of the eigendecomposition of K(X, X) instead of the kernel's explicit feature map. Eigenvalues at
        the level of rounding are left out, so a singular matrix has fewer columns than rows.
    """
    X = checked_inputs(X)
    if not empirical:
        return np.asarray(kernel.feature_map(X), dtype=float)
    K = gram(kernel, X)
    check_positive_semidefinite(kernel, K)
    eigenvalues, vectors = np.linalg.eigh(K)
    kept = eigenvalues > len(K) * np.finfo(float).eps * eigenvalues[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(eigenvalues[kept]))


@dataclass(frozen=True)
class WeightSpace:
    """The program; call it with `data(…)`.

    Parameters
    ----------
    prior : HyperPrior, LogPrior or None
        Of log μ and log ζ; proper.
    centred : bool
        Sample the weights w, or z = w √μ.
    bias_variance : float or None
        v of b ~ Normal(0, v); None for a flat prior, p(b) = 1.
    whitened : bool
        Sample weights and bias by the coordinates u of `whitening` instead; w is then given in the basis of the
        features' right singular vectors.
    """

    prior: HyperPrior | LogPrior | None = field(default_factory=HyperPrior)
    centred: bool = True
    bias_variance: float | None = None
    whitened: bool = False

    def __post_init__(self) -> None:
        prior = as_hyper_prior(self.prior)
        HyperPrior(prior.mu, prior.zeta).require_proper(0, "nuts")  # the kernel has no part in this program
        if self.bias_variance is not None:
            require_positive("The variance of the bias", self.bias_variance)
        object.__setattr__(self, "prior", prior)

    @property
    def hyperparameters(self) -> tuple[str, ...]:
        """The sites over which the posterior may have several modes."""
        return ("log_mu", "log_zeta")

    def data(self, phi: Array, y: Array, *, rotate: bool = True) -> tuple[Array, Array]:
        """Design matrix [Φ 1] of shape (m, n_f + 1) and targets of shape (N,): the arguments of the program.

        With `rotate`, and where it saves work, both are rotated: m = n_f + 1 < N. A whitened program has them rotated
        in any case, features of rank r to r orthogonal columns: m and n_f + 1 are r + 1 at most.
        """
        phi = checked_inputs(phi)
        y = checked_targets(y, len(phi))
        if self.whitened:
            U, s, _ = np.linalg.svd(phi)
            rank = int(np.sum(s > max(phi.shape) * np.finfo(float).eps * s[0]))
            phi, y, ones = np.vstack([np.diag(s[:rank]), np.zeros((len(y) - rank, rank))]), U.T @ y, U.sum(axis=0)
            return _gathered(np.column_stack([phi, ones]), y, rank)
        design = np.column_stack([phi, np.ones(len(phi))])
        if not rotate or design.shape[1] >= len(design):
            return design, y
        Q, R = np.linalg.qr(design, mode="complete")
        return R[: design.shape[1]], Q.T @ y

    def __call__(self, design: jax.Array, targets: jax.Array | None = None) -> None:
        """The generative program; without targets it draws them, for a design that was not rotated."""
        assert isinstance(self.prior, HyperPrior)
        n_rows, n_columns = design.shape
        log_mu = numpyro.sample("log_mu", to_numpyro(self.prior.mu))
        log_zeta = numpyro.sample("log_zeta", to_numpyro(self.prior.zeta))
        sd = jnp.exp(-0.5 * log_mu)
        shape = [n_columns - 1]
        if self.whitened and targets is not None:
            own = 0.0 if self.bias_variance is None else 1.0 / self.bias_variance
            s, ones = jnp.diag(design[:, :-1]), design[:, -1]
            to_weights = orthogonal(s, ones, targets[:n_rows], log_mu, log_zeta, own)
            z, b = sample_through(to_weights, n_columns - 1, self.bias_variance)
            w = numpyro.deterministic("w", sd * z)
        elif self.centred:
            w = numpyro.sample("w", dist.Normal(0.0, sd).expand(shape).to_event(1))
        else:
            z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand(shape).to_event(1))
            w = numpyro.deterministic("w", sd * z)
        if not self.whitened or targets is None:
            b = sample_bias(self.bias_variance)
        fitted = design @ jnp.append(w, b)
        n = n_rows if targets is None else len(targets)
        mean = jnp.concatenate([fitted, jnp.zeros(n - n_rows)])
        numpyro.sample("y", dist.Normal(mean, jnp.exp(-0.5 * log_zeta)).to_event(1), obs=targets)


def _gathered(design: Array, y: Array, rank: int) -> tuple[Array, Array]:
    """Rows from the rank on have the bias only: they are rotated so that the first of them has all of it."""
    if rank >= len(design):
        return design, y
    Q, R = np.linalg.qr(design[rank:, -1:], mode="complete")
    design[rank, -1] = R[0, 0]
    return design[: rank + 1], np.concatenate([y[:rank], Q.T @ y[rank:]])
