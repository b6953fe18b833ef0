"""How far Laplace's approximation of a model can be trusted, before any sampling: cheap figures.

| figure      | says                                                                       | costs              |
| ----------- | -------------------------------------------------------------------------- | ------------------ |
| modes       | masses that a Gaussian at the best mode misses                             | climbs from starts |
| next order  | the terms that follow Laplace's, in nats, and the largest skewness         | 2d Hessians        |
| k̂           | whether weights from the Gaussian, or a Student density, at the mode hold  | n densities each   |
| importance  | the evidence by those weights                                              | nothing more       |
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.grades import LIMITS
from ..base.typing import Array
from .estimate import EvidenceEstimate
from .importance import DEGREES, K_HAT_LIMIT, importance
from .laplace import Mode, NextOrder, find_modes, next_order
from .numpyro_model import DEFAULT_CHUNK, UnconstrainedModel

_NAN = float("nan")
_FINITE_VARIANCE = 0.5  # k̂ below which the weights' variance is finite


@dataclass(frozen=True)
class LaplaceFigures:
    """Laplace's approximation of a model and what can be said of it without sampling.

    Attributes
    ----------
    names : tuple of str
        The unconstrained parameters.
    modes : tuple of Mode
        That climbs from several starts found, the one of the largest mass first; empty where there is none.
    next_order : NextOrder
        The correction of the next order in nats, and the largest skewness.
    gaussian, student : EvidenceEstimate or None
        Importance sampling from the Gaussians at the modes, and from Student densities with the same scale; None
        without a mode.
    improper : tuple of str
        Sites with an improper prior, which counts with density one.
    seconds : float

    Examples
    --------
    >>> import numpy as np, numpyro, numpyro.distributions as dist
    >>> from bayes_lssvm.evidence import laplace_figures
    >>> def model(y):
    ...     mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
    ...     numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)
    ...
    >>> found = laplace_figures(model, (np.array([0.1, -0.4, 0.9]),), starts=2, draws=500)
    >>> found.improper
    ()
    """

    names: tuple[str, ...]
    modes: tuple[Mode, ...]
    next_order: NextOrder
    gaussian: EvidenceEstimate | None
    student: EvidenceEstimate | None
    improper: tuple[str, ...]
    seconds: float

    @property
    def dim(self) -> int:
        """Number of unconstrained parameters."""
        return len(self.names)

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation at the best mode; NaN without one."""
        return self.modes[0].log_mass if self.modes else _NAN

    @property
    def sd(self) -> Array:
        """Laplace's error bars of the unconstrained parameters."""
        return np.sqrt(np.diag(self.modes[0].covariance)) if self.modes else np.full(self.dim, _NAN)

    @property
    def missed(self) -> float:
        """Nats by which the masses of all modes exceed that of the best."""
        masses = np.array([mode.log_mass for mode in self.modes])
        return float(np.log(np.exp(masses - masses[0]).sum())) if self.modes else _NAN

    @property
    def k_hat(self) -> float:
        """Of the Student proposal; NaN without a mode."""
        return _NAN if self.student is None else float(self.student.diagnostics["k_hat"])

    @property
    def k_hat_gaussian(self) -> float:
        """Of the Gaussian itself; NaN without a mode."""
        return _NAN if self.gaussian is None else float(self.gaussian.diagnostics["k_hat"])

    @property
    def correction(self) -> float:
        """What the next order adds to Laplace's log evidence, in nats."""
        return self.next_order.correction

    @property
    def skewness(self) -> float:
        """The largest standardised third derivative of the log density at the mode."""
        return self.next_order.skewness

    @property
    def weighted(self) -> EvidenceEstimate | None:
        """Importance sampling from the Student densities, if its k̂ is below 0.7.

        Gaussian weights are no estimate to rely on, even with a small k̂: draws that never leave the middle do not know
        of a tail.
        """
        return self.student if self.k_hat < K_HAT_LIMIT else None

    @property
    def expected_error(self) -> float:
        """Laplace minus the truth in nats, as the figures have it.

        Below a k̂ of 0.5, where weights have a variance, it is what importance sampling says. Above, it is the larger in
        size of that (up to 0.7) and of minus the next order and the other modes. NaN without a mode.
        """
        by_weights = _NAN if self.weighted is None else self.log_evidence - self.weighted.log_z
        by_order = -self.correction - self.missed
        if self.k_hat < _FINITE_VARIANCE or np.isnan(by_order):
            return by_weights
        return by_order if np.isnan(by_weights) else max(by_weights, by_order, key=abs)

    @property
    def flagged(self) -> bool:
        """Whether the evidence is not to be trusted: an error beyond half a nat is expected, or k̂ is 0.7 or more."""
        return self.weighted is None or not abs(self.expected_error) <= LIMITS["evidence"][0]

    def as_dict(self) -> dict[str, float]:
        """The figures by name."""
        return {
            "dim": float(self.dim),
            "log_evidence": self.log_evidence,
            "n_modes": float(len(self.modes)),
            "missed": self.missed,
            "k_hat": self.k_hat,
            "k_hat_gaussian": self.k_hat_gaussian,
            "importance": _NAN if self.weighted is None else self.weighted.log_z,
            "correction": self.correction,
            "cubic": self.next_order.cubic,
            "quartic": self.next_order.quartic,
            "skewness": self.skewness,
            "expected_error": self.expected_error,
            "seconds": self.seconds,
        }


def laplace_figures(
    model: Callable[..., Any],
    args: tuple[Any, ...] = (),
    *,
    kwargs: Mapping[str, Any] | None = None,
    starts: int = 10,
    draws: int = 2000,
    seed: int = 0,
    chunk: int = DEFAULT_CHUNK,
) -> LaplaceFigures:
    """Laplace's approximation of a NumPyro model, with the cheap figures that say how far to trust it.

    Parameters
    ----------
    model : callable
        A NumPyro model with continuous parameters.
    args, kwargs : tuple and dict
        Its arguments, observed data included.
    starts : int
        Points from which modes are looked for: one half uniform in [−2, 2] of the unconstrained parameters, one half
        from the prior.
    draws : int
        Of each importance proposal.
    seed : int
    chunk : int
        Densities that are evaluated at a time; less needs less memory.

    Examples
    --------
    >>> import numpy as np, numpyro, numpyro.distributions as dist
    >>> from bayes_lssvm.evidence import laplace_figures
    >>> def model(y):
    ...     mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
    ...     numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)
    ...
    >>> found = laplace_figures(model, (np.array([0.1, -0.4, 0.9]),), starts=2, draws=500)
    >>> len(found.modes), found.names
    (1, ('mean',))
    """
    return figures_of(UnconstrainedModel.of(model, tuple(args), kwargs or {}, chunk=chunk), starts, draws, seed)


def figures_of(density: UnconstrainedModel, starts: int, draws: int, seed: int) -> LaplaceFigures:
    """The figures of a model that has been looked at already."""
    if starts < 1:
        raise ValueError(f"starts must be 1 or more, got {starts}.")
    began = time.perf_counter()
    modes = find_modes(density, density.starts(starts, seed))
    order, gaussian, student = NextOrder(_NAN, _NAN, _NAN, _NAN), None, None
    if modes:
        order = next_order(density, modes[0])
        settings = {"model": density.title, "fitted_to": "mode"}
        parts = [(mode.position, mode.covariance) for mode in modes]
        masses = np.exp([mode.log_mass - modes[0].log_mass for mode in modes])
        gaussian, student = (
            importance(_finite(density), parts, weights=masses, seed=seed, n=draws, degrees=degrees, **settings)
            for degrees in (np.inf, DEGREES)
        )
    seconds = time.perf_counter() - began
    return LaplaceFigures(density.names, modes, order, gaussian, student, density.improper, seconds)


def _finite(density: UnconstrainedModel) -> Callable[[Array], Array]:
    """The log density, −inf where a program overflows far from its mode."""
    return lambda x: np.nan_to_num(density.log_density(x), nan=-np.inf, posinf=-np.inf)
