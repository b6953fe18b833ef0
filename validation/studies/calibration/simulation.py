"""Data drawn from the model itself, with the hyperparameters that made them.

    log μ, log ζ, log σ ~ prior,    y ~ Normal(b 1, K_σ/μ + I/ζ),    b = 0

The inputs X are one fixed design. The covariance is factorised as it stands (Cholesky), so that nothing here shares
algebra with the evidence that is being checked.

Why b = 0 is exact although p(b) = 1 has no draws. The evidence p(D | μ, ζ, σ) depends on y through t = Vᵀy only, where
V spans the complement of the constant vector, and Vᵀ(y + b1) = Vᵀy. So the posterior of the hyperparameters is the same
for every b, and t has the same distribution for every b: Normal(0, Vᵀ(K/μ + I/ζ)V), which is proper. The same holds for
a new target, whose prediction moves with b as the target itself does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF, Kernel
from bayes_lssvm.priors import HyperPrior, Normal

_DESIGN, _SETS, _METHODS = 0, 1, 2  # branches of the seed


class SimulatedSet(NamedTuple):
    """One data set with its truth.

    Attributes
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
    x_new : array of shape (1, d)
    y_new : float
        The target at `x_new`, noise included.
    truth : dict
        The hyperparameters behind the data: "log_mu", "log_zeta", "log_gamma", "log_sigma", ….
    """

    X: Array
    y: Array
    x_new: Array
    y_new: float
    truth: dict[str, float]


class Simulator(Protocol):
    """What a calibration run needs: sets by number, a seed for each, and a description that tells problems apart."""

    def simulate(self, index: int) -> SimulatedSet:
        """The data set of that number, the same one each time."""

    def method_seed(self, index: int) -> int:
        """Seed for a method that draws random numbers on that set."""

    def description(self) -> dict[str, Any]:
        """Plain values that name the problem."""


@dataclass(frozen=True)
class Setting:
    """Sets simulated from the LS-SVM model.

    Parameters
    ----------
    n, n_inputs : int
        Size of the design, whose rows are standard normal.
    kernel : Kernel
        With `fixed_kernel` its parameters are the true ones; otherwise they are drawn from the prior.
    prior : HyperPrior
        Of log μ, log ζ and the logs of the kernel's parameters: in the simulation and in the inference.
    fixed_kernel : bool
        Whether the kernel's parameters are known.
    truth : tuple of float, optional
        (log μ, log ζ, log θ …) held for every set. Coverage is then the frequentist one, over repeated data, and no
        theorem makes the exact posterior uniform.
    seed : int
    """

    n: int = 20
    n_inputs: int = 2
    kernel: Kernel = field(default_factory=lambda: RBF(1.5))
    prior: HyperPrior = field(default_factory=lambda: HyperPrior(Normal(0.0, 1.0), Normal(0.0, 1.0), Normal(0.0, 1.0)))
    fixed_kernel: bool = False
    truth: tuple[float, ...] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n < 3:
            raise ValueError(f"A simulated set needs 3 points or more, got n = {self.n}.")
        self.prior.require_proper(self.n_free, "simulation")
        if self.truth is not None and len(self.truth) != 2 + self.n_free:
            raise ValueError(
                f"truth must hold log mu, log zeta and {self.n_free} kernel parameters, got {len(self.truth)} numbers."
            )

    @property
    def n_free(self) -> int:
        """Number of kernel parameters that are not known."""
        return 0 if self.fixed_kernel else self.kernel.log_params.size

    def _generator(self, *branch: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=branch))

    def design(self) -> Array:
        """The inputs X, of shape (N, d), common to all sets."""
        return self._generator(_DESIGN).normal(size=(self.n, self.n_inputs))

    def method_seed(self, index: int) -> int:
        """Seed for a method that draws random numbers on set `index`."""
        return int(np.random.SeedSequence(self.seed, spawn_key=(_METHODS, index)).generate_state(1)[0])

    def simulate(self, index: int) -> SimulatedSet:
        """Data set `index`: a function of the seed and the index alone, whatever the number of sets."""
        rng = self._generator(_SETS, index)
        parts = self.prior.components(self.n_free)
        drawn = [float(part.sample(1, rng)[0]) for part in parts]  # drawn in any case, so that a truth moves no other
        values = np.array(drawn if self.truth is None else self.truth)
        kernel = self.kernel if self.fixed_kernel else self.kernel.with_log_params(values[2:])
        X, x_new = self.design(), rng.normal(size=(1, self.n_inputs))
        mu, zeta = np.exp(values[:2])
        covariance = kernel(np.vstack([X, x_new])) / mu + np.eye(self.n + 1) / zeta
        targets = np.linalg.cholesky(covariance) @ rng.normal(size=self.n + 1)
        names = () if self.fixed_kernel else kernel.param_names
        truth = {"log_mu": values[0], "log_zeta": values[1], "log_gamma": values[1] - values[0]}
        truth |= {f"log_{name}": value for name, value in zip(names, values[2:], strict=True)}
        plain = {name: float(value) for name, value in truth.items()}
        return SimulatedSet(X, targets[:-1], x_new, float(targets[-1]), plain)

    def description(self) -> dict[str, Any]:
        """Plain values that name the setting."""
        return {
            "n": self.n,
            "n_inputs": self.n_inputs,
            "kernel": repr(self.kernel),
            "prior": repr(self.prior),
            "fixed_kernel": self.fixed_kernel,
            "truth": None if self.truth is None else list(self.truth),
            "seed": self.seed,
        }
