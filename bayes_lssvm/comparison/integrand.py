"""log p(D | θ) + log p(log θ) as a function of the kernel's log parameters, with μ and ζ of each member integrated out.

It is there twice: exactly, with its own error, by the quadrature of `marginal.rules.level2`; and by Laplace's method
over μ and ζ, with its gradient in log θ, which finds the modes. A parameter whose prior ends is stretched over the
whole line, x = low + (high − low)/(1 + e^{−z}), so that rules and proposals need not know of edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import Array
from ..kernels import Kernel, check_positive_semidefinite
from ..levels.default_prior import default_prior
from ..levels.objective import Objective
from ..linalg.reduction import Reduction
from ..linalg.repeats import reduced
from ..marginal.rules.level2 import Level2Integral, integrate
from ..priors import Flat, HyperPrior, LogPrior

if TYPE_CHECKING:
    from .problem import Member, Problem

_INNER_TOLERANCE = 1e-7  # nats, of the integral over μ and ζ


class Value(NamedTuple):
    """The log density at a point of the free coordinates, and what its integral over μ and ζ knows of its error."""

    log_density: float
    error: float


@dataclass(frozen=True)
class Integrand:
    """The log density over the free coordinates z of one kernel's log parameters.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    priors : tuple of HyperPrior
        One for each member; the kernel's parts are those of the first.
    free : bool
        Whether the kernel's parameters are integrated out.
    """

    problem: Problem
    kernel: Kernel
    priors: tuple[HyperPrior, ...]
    free: bool = True
    parts: tuple[LogPrior, ...] = field(init=False)
    known: dict[bytes, Value] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "parts", self.priors[0].components(self.kernel.log_params.size if self.free else 0)[2:]
        )

    @property
    def dimension(self) -> int:
        """Number of parameters that are integrated out."""
        return len(self.parts)

    # --- coordinates -------------------------------------------------------------------------------------------------

    def log_params(self, z: Array) -> Array:
        """The kernel's log parameters at points z of shape (…, P)."""
        x = np.array(z, dtype=float)
        for i, (low, high) in self._ends():
            x[..., i] = low + (high - low) * expit(x[..., i])
        return x

    def coordinates(self, log_params: Array) -> Array:
        """The point z of log parameters of shape (P,), drawn in where they stand at the end of a prior."""
        z = np.array(log_params, dtype=float)
        for i, (low, high) in self._ends():
            share = np.clip((z[i] - low) / (high - low), 1e-6, 1.0 - 1e-6)
            z[i] = np.log(share) - np.log1p(-share)
        return z

    def log_prior(self, z: Array) -> Array:
        """Log prior density of points z of shape (…, P), in these coordinates."""
        x, z = self.log_params(z), np.asarray(z, dtype=float)
        total = sum((part.log_density(x[..., i]) for i, part in enumerate(self.parts)), np.zeros(z.shape[:-1]))
        for i, (low, high) in self._ends():
            total = total + np.log(high - low) + log_expit(z[..., i]) + log_expit(-z[..., i])
        return np.asarray(total)

    def prior_draws(self, n: int, rng: np.random.Generator) -> Array:
        """Draws of z of shape (n, P) from the prior."""
        columns = [part.sample(n, rng) for part in self.parts]
        for i, (low, high) in self._ends():
            share = np.clip((columns[i] - low) / (high - low), 1e-12, 1.0 - 1e-12)
            columns[i] = np.log(share) - np.log1p(-share)
        return np.stack(columns, axis=1)

    def _ends(self) -> list[tuple[int, tuple[float, float]]]:
        return [(i, part.support) for i, part in enumerate(self.parts) if np.isfinite(part.support).all()]

    # --- values ------------------------------------------------------------------------------------------------------

    def kernel_at(self, z: Array) -> Kernel:
        """The kernel of a point."""
        return self.kernel.with_log_params(self.log_params(z)) if self.free and self.dimension else self.kernel

    def __call__(self, z: Array) -> Value:
        """The log density at one point, which is kept; −inf where the kernel is not one."""
        z = np.asarray(z, dtype=float)
        key = z.tobytes()
        if key not in self.known:
            try:
                self.known[key] = self.value(z)
            except (NotPositiveSemidefiniteError, FloatingPointError, OverflowError):
                self.known[key] = Value(-np.inf, 0.0)
        return self.known[key]

    def log_density(self, z: Array) -> float:
        """The log density at one point."""
        return self(z).log_density

    def value(self, z: Array) -> Value:
        """The log density at one point and its error, computed anew."""
        own = float(self.log_prior(z))
        if not np.isfinite(own):
            return Value(-np.inf, 0.0)
        integrals = self.integrals(self.kernel_at(z))
        error = sum(found.error + float(np.log1p(found.tail)) for found in integrals)
        return Value(own + sum(found.log_z for found in integrals), error)

    def integrals(self, kernel: Kernel, tolerance: float = _INNER_TOLERANCE) -> tuple[Level2Integral, ...]:
        """The integral over (log μ, log ζ) of each member at one kernel."""
        return tuple(
            integrate(_reduction(member, kernel), prior.mu, prior.zeta, tolerance=tolerance)
            for member, prior in zip(self.problem.members, self.priors, strict=True)
        )

    def laplace(self, z: Array) -> tuple[float, Array]:
        """The log density by Laplace's method over μ and ζ, and its gradient in z."""
        kernel, z = self.kernel_at(z), np.asarray(z, dtype=float)
        flat = (Flat(),) * self.dimension
        value, slope = float(self.log_prior(z)), np.zeros(self.dimension)
        for member, prior in zip(self.problem.members, self.priors, strict=True):
            objective = Objective(
                member.X, member.y, prior=HyperPrior(prior.mu, prior.zeta, flat), weights=member.weights
            )
            found = objective.evaluate(kernel, gradient=True)
            assert found.gradient is not None
            value, slope = value + found.value, slope + found.gradient
        x = self.log_params(z)
        slope = slope + np.array([float(part.gradient(x[i])) for i, part in enumerate(self.parts)])
        for i, (low, high) in self._ends():
            share = float(expit(z[i]))
            slope[i] = slope[i] * (high - low) * share * (1.0 - share) + 1.0 - 2.0 * share
        return value, slope


def _reduction(member: Member, kernel: Kernel) -> Reduction:
    K = kernel(member.X if member.repeats is None else member.repeats.X)
    check_positive_semidefinite(kernel, K)
    return reduced(K, member.y, member.repeats, member.weights)


def default_priors(problem: Problem, kernel: Kernel) -> tuple[HyperPrior, ...]:
    """The library's weak, proper prior for each member (`levels.default_prior`)."""
    classes = problem.classes is not None
    return tuple(
        default_prior(kernel, member.X, member.y, classes=classes, weights=member.weights) for member in problem.members
    )
