"""Priors of the hyperparameters, in logs: one object for Laplace, importance sampling, quadrature and sampling.

Every parameter (log μ, log ζ, the logs of the kernel's parameters) has a prior of its own:

| prior                | density of the log parameter         | proper |
| -------------------- | ------------------------------------ | ------ |
| `Normal(mean, sd)`   | Gaussian; the default, (0, 3)        | yes    |
| `Box(low, high)`     | constant between the bounds          | yes    |
| `Gamma(shape, rate)` | the parameter itself has a Gamma law | yes    |
| `Flat()`             | 1 everywhere, as in paper 0, 4.1     | no     |

With a flat prior the posterior is improper: at γ → 0 the evidence tends to a constant, and at γ → ∞ too where the
centred kernel has full rank. Methods that integrate refuse it; Laplace approximations, which look at the mode only,
accept it. Other priors are subclasses of `LogPrior`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaln, polygamma

from .base.typing import Array

__all__ = ["Box", "Flat", "Gamma", "HyperPrior", "ImproperPriorError", "LogPrior", "Normal"]

_STEP = 1e-4  # of differences, in the log parameter


class ImproperPriorError(ValueError):
    """A prior without a finite integral where the evidence needs one.

    Examples
    --------
    >>> from bayes_lssvm import marginalise
    >>> from bayes_lssvm.priors import Flat, ImproperPriorError
    >>> try:
    ...     marginalise([[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.2, 2.8], kernel="linear", prior=Flat())
    ... except ImproperPriorError:
    ...     print("quadrature needs a proper prior")
    ...
    quadrature needs a proper prior
    """


class LogPrior(ABC):
    """The prior of one log parameter.

    Examples
    --------
    >>> from bayes_lssvm.priors import LogPrior, Normal
    >>> issubclass(Normal, LogPrior)
    True
    """

    @abstractmethod
    def log_density(self, x: Array) -> Array:
        """Log density at each x; −inf outside the support."""

    @abstractmethod
    def gradient(self, x: Array) -> Array:
        """Derivative of the log density."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draws of shape (n,)."""

    @property
    @abstractmethod
    def width(self) -> float:
        """Standard deviation: the denominator of the Occam factor (5.2); 1 for a flat prior, whose density is 1."""

    @property
    def support(self) -> tuple[float, float]:
        """Where the density is positive."""
        return -np.inf, np.inf

    def curvature(self, x: Array) -> Array:
        """−∂² log density at each x; by differences of the gradient unless a subclass knows better."""
        x = np.asarray(x, dtype=float)
        return np.asarray((self.gradient(x - _STEP) - self.gradient(x + _STEP)) / (2.0 * _STEP))

    @property
    def proper(self) -> bool:
        """Whether the density integrates to one."""
        return True


@dataclass(frozen=True)
class Normal(LogPrior):
    """Gaussian in the log parameter: sd = 3 spans a factor of 400 either way within two standard deviations.

    Examples
    --------
    >>> from bayes_lssvm.priors import Normal
    >>> Normal(0, 3).width, Normal(0, 3).log_density(0.0).round(3)
    (3, np.float64(-2.018))
    """

    mean: float = 0.0
    sd: float = 3.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and np.isfinite(self.sd) and self.sd > 0):
            raise ValueError(f"A Normal prior needs a finite mean and a positive sd, got {self.mean!r}, {self.sd!r}.")

    def log_density(self, x: Array) -> Array:
        z = (np.asarray(x, dtype=float) - self.mean) / self.sd
        return np.asarray(-0.5 * z**2 - np.log(self.sd) - 0.5 * np.log(2.0 * np.pi))

    def gradient(self, x: Array) -> Array:
        return np.asarray(-(np.asarray(x, dtype=float) - self.mean) / self.sd**2)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.normal(self.mean, self.sd, n)

    @property
    def width(self) -> float:
        return self.sd

    def curvature(self, x: Array) -> Array:
        return np.full_like(np.asarray(x, dtype=float), 1.0 / self.sd**2)


@dataclass(frozen=True)
class Box(LogPrior):
    """Constant between two bounds of the log parameter.

    Examples
    --------
    >>> from bayes_lssvm.priors import Box
    >>> Box(-2, 2).support, Box(-2, 2).log_density([0.0, 5.0]).round(3)
    ((-2, 2), array([-1.386,   -inf]))
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"A Box prior needs finite bounds with low < high, got {self.low!r}, {self.high!r}.")

    def log_density(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        inside = (x >= self.low) & (x <= self.high)
        return np.where(inside, -np.log(self.high - self.low), -np.inf)

    def gradient(self, x: Array) -> Array:
        return np.zeros_like(np.asarray(x, dtype=float))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return rng.uniform(self.low, self.high, n)

    @property
    def width(self) -> float:
        return (self.high - self.low) / float(np.sqrt(12.0))

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True)
class Gamma(LogPrior):
    """The parameter itself is Gamma-distributed: log x has the density ∝ exp(shape·log x − rate·x).

    For a noise precision it says that `2·shape` errors were seen before, of mean square rate/shape: Gamma(½, 2) is one
    label ±1 that the model was sure of and that was wrong, an error of 2.

    Examples
    --------
    >>> from bayes_lssvm.priors import Gamma
    >>> Gamma(2.0, 1.0).log_density(0.0).round(3)
    np.float64(-1.0)
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.shape) and np.isfinite(self.rate) and self.shape > 0 and self.rate > 0):
            raise ValueError(f"A Gamma prior needs a positive shape and rate, got {self.shape!r}, {self.rate!r}.")

    def log_density(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        constant = self.shape * np.log(self.rate) - gammaln(self.shape)
        with np.errstate(over="ignore"):
            return np.asarray(constant + self.shape * x - self.rate * np.exp(x))

    def gradient(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(self.shape - self.rate * np.exp(np.asarray(x, dtype=float)))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        # log of Gamma(shape) is that of Gamma(shape + 1) plus log(u)/shape, which does not underflow
        return np.asarray(
            np.log(rng.gamma(self.shape + 1.0, 1.0, n)) + np.log(rng.uniform(size=n)) / self.shape - np.log(self.rate)
        )

    @property
    def width(self) -> float:
        return float(np.sqrt(polygamma(1, self.shape)))

    def curvature(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(self.rate * np.exp(np.asarray(x, dtype=float)))


@dataclass(frozen=True)
class Flat(LogPrior):
    """Density 1 everywhere: for Laplace approximations only.

    Examples
    --------
    >>> from bayes_lssvm.priors import Flat
    >>> Flat().proper
    False
    """

    def log_density(self, x: Array) -> Array:
        return np.zeros_like(np.asarray(x, dtype=float))

    def gradient(self, x: Array) -> Array:
        return np.zeros_like(np.asarray(x, dtype=float))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        raise ImproperPriorError("A flat prior has no distribution to draw from; use Normal or Box.")

    @property
    def width(self) -> float:
        return 1.0

    @property
    def proper(self) -> bool:
        return False


@dataclass(frozen=True)
class HyperPrior:
    """Independent priors of log μ, log ζ and the logs of the kernel's parameters.

    Parameters
    ----------
    mu, zeta : LogPrior
    kernel : LogPrior or tuple of LogPrior
        One for all parameters of the kernel, or one each.

    Examples
    --------
    >>> from bayes_lssvm import BayesianLSSVC
    >>> from bayes_lssvm.priors import Gamma, HyperPrior, Normal
    >>> prior = HyperPrior(mu=Normal(0, 1), zeta=Gamma(0.5, 2.0), kernel=Normal(1, 1))
    >>> BayesianLSSVC(prior=prior).prior is prior
    True
    """

    mu: LogPrior = field(default_factory=Normal)
    zeta: LogPrior = field(default_factory=Normal)
    kernel: LogPrior | tuple[LogPrior, ...] = field(default_factory=lambda: Normal(0.0, 3.0))

    def components(self, n_kernel: int) -> tuple[LogPrior, ...]:
        """Priors of (log μ, log ζ, log θ₁, …) for a kernel with that many parameters."""
        kernel = self.kernel if isinstance(self.kernel, tuple) else (self.kernel,) * n_kernel
        if len(kernel) != n_kernel:
            raise ValueError(
                f"The prior has {len(kernel)} kernel components, but the kernel has {n_kernel} parameters."
            )
        return (self.mu, self.zeta, *kernel)

    def log_density(self, x: Array) -> Array:
        """Joint log density of points x of shape (…, 2 + P)."""
        x = np.asarray(x, dtype=float)
        parts = self.components(x.shape[-1] - 2)
        return np.asarray(sum(part.log_density(x[..., i]) for i, part in enumerate(parts)))

    def to_dict(self) -> dict[str, Any] | None:
        """Plain names and numbers from which `hyper_prior_from_dict` makes it again; None with a class of your own."""
        kernel = self.kernel if isinstance(self.kernel, tuple) else (self.kernel,)
        parts = [self.mu, self.zeta, *kernel]
        if not all(type(part) in _BY_NAME.values() for part in parts):
            return None
        specs = [{"kind": type(part).__name__, **asdict(part)} for part in parts]  # type: ignore[call-overload]
        return {"mu": specs[0], "zeta": specs[1], "kernel": specs[2:] if isinstance(self.kernel, tuple) else specs[2]}

    def require_proper(self, n_kernel: int, method: str) -> None:
        """Refuse a flat component, with the reason."""
        if not all(part.proper for part in self.components(n_kernel)):
            raise ImproperPriorError(
                f'method="{method}" integrates over the hyperparameters, and a flat prior makes the integral infinite: '
                "the evidence tends to a constant as γ → 0, and as γ → ∞ where the centred kernel has full rank. Use "
                "Normal or Box priors, or a Laplace approximation."
            )


_INSIDE = 1e-9  # of a prior's support, where rounding cannot leave it


def within_support(bounds: Array, prior: HyperPrior | None) -> Array:
    """A box of a kernel's log parameters, of shape (P, 2), as far as the prior has them."""
    if prior is None:
        return bounds
    support = np.array([part.support for part in prior.components(len(bounds))[2:]]) + np.array([_INSIDE, -_INSIDE])
    return np.clip(bounds, support[:, :1], support[:, 1:])


_BY_NAME: dict[str, type[LogPrior]] = {"Normal": Normal, "Box": Box, "Gamma": Gamma, "Flat": Flat}


def hyper_prior_from_dict(spec: dict[str, Any]) -> HyperPrior:
    """The prior whose `to_dict` gave `spec`."""

    def part(own: dict[str, Any]) -> LogPrior:
        return _BY_NAME[own["kind"]](**{name: value for name, value in own.items() if name != "kind"})

    kernel = spec["kernel"]
    parts = tuple(part(own) for own in kernel) if isinstance(kernel, list) else part(kernel)
    return HyperPrior(part(spec["mu"]), part(spec["zeta"]), parts)


def as_hyper_prior(prior: HyperPrior | LogPrior | None) -> HyperPrior:
    """A prior of all parameters from one for each, one for all, or None for the default."""
    if prior is None:
        return HyperPrior()
    if isinstance(prior, LogPrior):
        return HyperPrior(prior, prior, prior)
    if not isinstance(prior, HyperPrior):
        raise ValueError(f"prior must be a HyperPrior, a Normal, a Box, a Gamma or a Flat, got {prior!r}.")
    return prior
