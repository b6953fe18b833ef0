"""Feature vectors of a kernel as functions of its log parameters: what makes σ a site of weight space.

| map       | Φ_θ of shape (N, n_f)                                   | Φ_θ Φ_θᵀ is                                    |
| --------- | ------------------------------------------------------- | ---------------------------------------------- |
| `Exact`   | the Cholesky factor of K_θ + εI, n_f = N                | K_θ + εI; the noise gives ε back (`jitter`)    |
| `Hilbert` | sines on a box about the data, scaled by K's spectrum   | near K_σ if the box is wide and the sines many |
| `Fourier` | cosines and sines at random frequencies                 | K_σ on average                                 |

(Solin and Särkkä 2020, Hilbert space methods for reduced-rank Gaussian process regression; Rahimi and Recht 2008,
Random features for large-scale kernel machines.) The exact map takes a factorisation of N rows at every step, which a
few hundred rows allow. The others are for more rows, and for RBF kernels: with K = exp(−‖x − z‖²/σ²) the spectral
density in d dimensions is S(ω) = (πσ²)^{d/2} exp(−σ²‖ω‖²/4). `kernel_error` says how far they are from the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from bayes_lssvm.base.errors import require_positive
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import RBF, Kernel
from models.data import checked_inputs
from models.kernels import FixedPart, fixed_part, matrix
from models.log_density import double_precision

_MOST_SINES = 2000


class FeatureMap(Protocol):
    """What weight space needs of a kernel."""

    @property
    def kernel(self) -> Kernel:
        """The kernel; the values of its parameters do not matter."""

    @property
    def jitter(self) -> float:
        """ε of Φ Φᵀ = K + εI."""

    def fixed(self, X: Array) -> FixedPart:
        """What the features need of the inputs."""

    def __call__(self, log_theta: jax.Array, fixed: FixedPart) -> jax.Array:
        """Φ_θ of shape (N, n_f)."""


@dataclass(frozen=True)
class Exact:
    """The Cholesky factor of K_θ + εI.

    Rounding makes K_θ indefinite by about N·eps·λ_max, 10⁻¹¹ for a few hundred rows of an RBF kernel; ε stands clear of
    that. εI in the kernel is noise of variance ε/μ, so the program takes as much off the noise 1/ζ, and the model is
    the exact one wherever εγ < 1.
    """

    kernel: Kernel
    jitter: float = 1e-9

    def __post_init__(self) -> None:
        require_positive("The jitter", self.jitter)

    def fixed(self, X: Array) -> FixedPart:
        """As for the kernel's matrix."""
        self.kernel.check_width(X.shape[1])
        return fixed_part(self.kernel, X, X)

    def __call__(self, log_theta: jax.Array, fixed: FixedPart) -> jax.Array:
        """A lower triangular matrix."""
        K = matrix(self.kernel, log_theta, fixed)
        return jnp.linalg.cholesky(K + self.jitter * jnp.eye(len(K)))


@dataclass(frozen=True)
class Hilbert:
    """Sines that vanish at the sides of a box, for an RBF kernel of one to three inputs or so.

    Parameters
    ----------
    n : int
        Sines along each input; there are n^d features.
    reach : float
        The box is so many times as wide as the data. Kernels wider than the room at its sides are not represented.
    """

    n: int = 24
    reach: float = 2.0
    kernel: Kernel = field(default_factory=lambda: RBF(1.0))
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _require_rbf(self.kernel)
        require_positive("The number of sines", self.n)
        if not self.reach > 1.0:
            raise ValueError(f"The box must be wider than the data, so reach must be above 1; got {self.reach!r}.")

    def fixed(self, X: Array) -> FixedPart:
        """The sines at the inputs, of shape (N, n^d), and their squared frequencies."""
        d = X.shape[1]
        if self.n**d > _MOST_SINES:
            raise ValueError(
                f"{self.n} sines along each of {d} inputs are {self.n**d:.3g} features, more than {_MOST_SINES}; take "
                "fewer of them, or Fourier features, whose number does not grow with the inputs."
            )
        centre = 0.5 * (X.max(axis=0) + X.min(axis=0))
        half = self.reach * np.maximum(0.5 * np.ptp(X, axis=0), np.finfo(float).tiny)  # [d]
        orders = np.array(list(product(range(1, self.n + 1), repeat=d)))  # [n_f, d]
        frequencies = 0.5 * np.pi * orders / half
        waves = np.sin(frequencies * (X - centre + half)[:, None, :])  # [N, n_f, d]
        return waves.prod(axis=2) / np.sqrt(half.prod()), (frequencies**2).sum(axis=1)

    def __call__(self, log_theta: jax.Array, fixed: FixedPart) -> jax.Array:
        """Sines times √S at their frequencies; d is where S(0) comes from."""
        waves, squared, d = fixed[0], fixed[1], self._inputs(fixed)
        log_scale = 0.25 * d * (jnp.log(jnp.pi) + 2.0 * log_theta[0]) - 0.125 * jnp.exp(2.0 * log_theta[0]) * squared
        return waves * jnp.exp(log_scale)

    def _inputs(self, fixed: FixedPart) -> int:
        return round(float(np.log(fixed[0].shape[1]) / np.log(self.n))) if self.n > 1 else 1


@dataclass(frozen=True)
class Fourier:
    """Cosines and sines at frequencies drawn from the spectrum of an RBF kernel of any number of inputs.

    Parameters
    ----------
    n : int
        Frequencies; there are 2n features, and the kernel's error is about 1/√n.
    seed : int
    """

    n: int = 200
    seed: int = 0
    kernel: Kernel = field(default_factory=lambda: RBF(1.0))
    jitter: float = 0.0

    def __post_init__(self) -> None:
        _require_rbf(self.kernel)
        require_positive("The number of frequencies", self.n)

    def fixed(self, X: Array) -> FixedPart:
        """Phases of the waves at σ = 1, of shape (N, n)."""
        return X @ np.random.default_rng(self.seed).normal(0.0, np.sqrt(2.0), (X.shape[1], self.n))

    def __call__(self, log_theta: jax.Array, fixed: FixedPart) -> jax.Array:
        """Phases are divided by σ."""
        phases = fixed * jnp.exp(-log_theta[0])
        return jnp.concatenate([jnp.cos(phases), jnp.sin(phases)], axis=1) * self.n**-0.5


class KernelError(NamedTuple):
    """How far Φ_θ Φ_θᵀ is from K_θ.

    Attributes
    ----------
    largest : float
        Largest difference of an entry.
    relative : float
        Norm of the difference over the norm of K.
    nats : float
        Change of log p(D | μ, ζ, θ) at the given log μ and log ζ, targets and bias included; nan without targets.
    """

    largest: float
    relative: float
    nats: float


def kernel_error(
    features: FeatureMap, X: Array, log_theta: AnyArray, y: Array | None = None, point: tuple[float, float] = (0.0, 0.0)
) -> KernelError:
    """The error of a feature map at given log parameters of its kernel.

    Parameters
    ----------
    X : array of shape (N, d)
    log_theta : array of shape (P,)
    y : array of shape (N,), optional
        Targets: what the error does to their log density, with the bias at its best, is computed from dense matrices.
    point : (float, float)
        log μ and log ζ there.
    """
    X, theta = checked_inputs(X), np.atleast_1d(np.asarray(log_theta, dtype=float))
    with double_precision():
        phi = np.asarray(features(jnp.asarray(theta), jax.tree.map(jnp.asarray, features.fixed(X))))
        K = np.asarray(matrix(features.kernel, jnp.asarray(theta), fixed_part(features.kernel, X, X)))
    given = phi @ phi.T - features.jitter * np.eye(len(K))
    nats = np.nan if y is None else _log_density(given, y, *point) - _log_density(K, y, *point)
    return KernelError(float(np.abs(given - K).max()), float(np.linalg.norm(given - K) / np.linalg.norm(K)), nats)


def _log_density(K: Array, y: Array, log_mu: float, log_zeta: float) -> float:
    """Of y ~ Normal(b, K/μ + I/ζ) at the b of largest density."""
    covariance = K * np.exp(-log_mu) + np.eye(len(K)) * np.exp(-log_zeta)
    solved = np.linalg.solve(covariance, np.column_stack([y, np.ones(len(y))]))
    b = solved[:, 0].sum() / solved[:, 1].sum()
    residual = solved[:, 0] - b * solved[:, 1]
    return float(-0.5 * (y - b) @ residual - 0.5 * np.linalg.slogdet(2.0 * np.pi * covariance)[1])


def _require_rbf(kernel: Any) -> None:
    if not isinstance(kernel, RBF):
        raise ValueError(f"Sines and random waves stand for RBF kernels; {kernel!s} needs its exact features (Exact).")
